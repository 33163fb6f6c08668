//! Figures: of cases, of trials, or of both.

use super::families::{LATENCY, OPERATION, OPERATIONS, THROUGHPUT};
use super::families::{no_labels, percentile_labels, rate_labels, throughput_labels};
use super::{Case, Metric, PLAIN, Trial, Unit};
use crate::words::{self, NONE};
use crate::writes;
use assess::summary::{Latency, Summary};
use assess::writing::Writing;

/// A loop over memory has operations, too, and nobody counts it in them.
fn iops(summary: &Summary) -> String {
    let iops = summary.iops.filter(|_| summary.case.io().is_some());
    iops.map_or(NONE.to_string(), |iops| words::per_second(iops.median))
}

fn writing(summary: &Summary) -> Option<&Writing> {
    summary.writing.as_ref()
}

fn sync(summary: &Summary) -> Option<&Latency> {
    Some(&writing(summary)?.sync)
}

/// In the order of the columns of CSV, as far as they have one.
pub(crate) const FIGURES: &[Metric] = &[
    Metric {
        name: "bytes",
        unit: Unit::Bytes,
        meaning: "moved by all threads",
        trial: Trial::Always(|it| it.bytes),
        column: "bytes",
        json: ("", "bytes"),
        ..PLAIN
    },
    Metric {
        name: "operations",
        unit: Unit::Number,
        meaning: "by all threads",
        trial: Trial::Always(|it| it.ops),
        column: "operations",
        json: ("", "ops"),
        ..PLAIN
    },
    Metric {
        name: "elapsed",
        unit: Unit::Nanoseconds,
        meaning: "from the first thread's start to the last one's end",
        trial: Trial::Always(|it| it.elapsed_ns),
        column: "elapsed_ns",
        json: ("", "elapsed_s"),
        ..PLAIN
    },
    Metric {
        name: "synced",
        unit: Unit::Nanoseconds,
        meaning: "from the first thread's start until the last sync returned",
        trial: Trial::Whole(|it| it.synced_ns),
        column: "synced_ns",
        json: ("", "synced_s"),
        ..PLAIN
    },
    Metric {
        name: "throughput",
        title: "throughput",
        unit: Unit::BytesPerSecond,
        meaning: "the trial's figure",
        case: Case::Estimate(|it| it.throughput),
        trial: Trial::Real(|it| it.throughput),
        column: "throughput_bytes_per_second",
        json: ("", "throughput"),
        said: Some(|it| words::main_figure(it).0),
        gauge: Some((THROUGHPUT, throughput_labels)),
    },
    Metric {
        name: "acknowledged",
        title: "acknowledged",
        unit: Unit::BytesPerSecond,
        meaning: "acknowledged throughput: until the last write returned",
        case: Case::Estimate(|it| writing(it)?.acknowledged),
        trial: Trial::Real(|it| it.acknowledged),
        column: "acknowledged_bytes_per_second",
        json: ("", "acknowledged"),
        gauge: Some((THROUGHPUT, |it| rate_labels(it, "acknowledged"))),
        ..PLAIN
    },
    Metric {
        name: "durable",
        title: "durable",
        unit: Unit::BytesPerSecond,
        meaning: "until the last sync returned, if it made the data durable",
        case: Case::Estimate(|it| writing(it)?.durable),
        trial: Trial::Real(|it| it.durable),
        column: "durable_bytes_per_second",
        json: ("", "durable"),
        said: Some(|it| writes::durable(it).0),
        gauge: Some((THROUGHPUT, |it| rate_labels(it, "durable"))),
    },
    Metric {
        name: "iops",
        title: "op/s",
        unit: Unit::PerSecond,
        meaning: "over the same time as the throughput",
        case: Case::Estimate(|it| it.iops),
        trial: Trial::Real(|it| it.iops),
        column: "operations_per_second",
        json: ("", "iops"),
        said: Some(iops),
        gauge: Some((OPERATIONS, no_labels)),
    },
    Metric {
        name: "p50",
        title: "p50",
        unit: Unit::Nanoseconds,
        meaning: "service time (closed loop) of an operation: median",
        case: Case::Percentile(|it| it.latency.p50),
        trial: Trial::Whole(|it| it.p50_ns),
        column: "p50_ns",
        json: ("latency_ns", "p50"),
        gauge: Some((LATENCY, |_| percentile_labels("operation", "50"))),
        ..PLAIN
    },
    Metric {
        name: "p90",
        title: "p90",
        unit: Unit::Nanoseconds,
        meaning: "90th percentile",
        case: Case::Percentile(|it| it.latency.p90),
        gauge: Some((LATENCY, |_| percentile_labels("operation", "90"))),
        ..PLAIN
    },
    Metric {
        name: "p99",
        title: "p99",
        unit: Unit::Nanoseconds,
        meaning: "99th percentile",
        case: Case::Percentile(|it| it.latency.p99),
        trial: Trial::Whole(|it| it.p99_ns),
        column: "p99_ns",
        json: ("latency_ns", "p99"),
        gauge: Some((LATENCY, |_| percentile_labels("operation", "99"))),
        ..PLAIN
    },
    Metric {
        name: "p99_9",
        title: "p99.9",
        unit: Unit::Nanoseconds,
        meaning: "99.9th percentile",
        case: Case::Percentile(|it| it.latency.p99_9),
        trial: Trial::Whole(|it| it.p99_9_ns),
        column: "p99_9_ns",
        json: ("latency_ns", "p99_9"),
        gauge: Some((LATENCY, |_| percentile_labels("operation", "99.9"))),
        ..PLAIN
    },
    Metric {
        name: "p99_99",
        title: "p99.99",
        unit: Unit::Nanoseconds,
        meaning: "99.99th percentile",
        case: Case::Percentile(|it| it.latency.p99_99),
        gauge: Some((LATENCY, |_| percentile_labels("operation", "99.99"))),
        ..PLAIN
    },
    Metric {
        name: "max",
        title: "max",
        unit: Unit::Nanoseconds,
        meaning: "maximum",
        case: Case::Plain(|it| Some(it.latency.max_ns? as f64)),
        trial: Trial::Whole(|it| it.max_ns),
        column: "max_ns",
        json: ("latency_ns", "max"),
        gauge: Some((LATENCY, |_| percentile_labels("operation", "100"))),
        ..PLAIN
    },
    Metric {
        name: "sync_p50",
        title: "sync p50",
        unit: Unit::Nanoseconds,
        meaning: "service time (closed loop) of a sync that is a call of its own: median",
        case: Case::Percentile(|it| sync(it)?.p50),
        trial: Trial::Whole(|it| it.sync_p50_ns),
        column: "sync_p50_ns",
        json: ("sync_latency_ns", "p50"),
        gauge: Some((LATENCY, |_| percentile_labels("sync", "50"))),
        ..PLAIN
    },
    Metric {
        name: "sync_p90",
        title: "sync p90",
        unit: Unit::Nanoseconds,
        meaning: "90th percentile of those syncs",
        case: Case::Percentile(|it| sync(it)?.p90),
        gauge: Some((LATENCY, |_| percentile_labels("sync", "90"))),
        ..PLAIN
    },
    Metric {
        name: "sync_p99",
        title: "sync p99",
        unit: Unit::Nanoseconds,
        meaning: "99th percentile of those syncs",
        case: Case::Percentile(|it| sync(it)?.p99),
        trial: Trial::Whole(|it| it.sync_p99_ns),
        column: "sync_p99_ns",
        json: ("sync_latency_ns", "p99"),
        gauge: Some((LATENCY, |_| percentile_labels("sync", "99"))),
        ..PLAIN
    },
    Metric {
        name: "sync_p99_9",
        title: "sync p99.9",
        unit: Unit::Nanoseconds,
        meaning: "99.9th percentile of those syncs",
        case: Case::Percentile(|it| sync(it)?.p99_9),
        trial: Trial::Whole(|it| it.sync_p99_9_ns),
        column: "sync_p99_9_ns",
        json: ("sync_latency_ns", "p99_9"),
        gauge: Some((LATENCY, |_| percentile_labels("sync", "99.9"))),
        ..PLAIN
    },
    Metric {
        name: "sync_p99_99",
        title: "sync p99.99",
        unit: Unit::Nanoseconds,
        meaning: "99.99th percentile of those syncs",
        case: Case::Percentile(|it| sync(it)?.p99_99),
        gauge: Some((LATENCY, |_| percentile_labels("sync", "99.99"))),
        ..PLAIN
    },
    Metric {
        name: "sync_max",
        title: "sync max",
        unit: Unit::Nanoseconds,
        meaning: "maximum of those syncs",
        case: Case::Plain(|it| Some(sync(it)?.max_ns? as f64)),
        trial: Trial::Whole(|it| it.sync_max_ns),
        column: "sync_max_ns",
        json: ("sync_latency_ns", "max"),
        gauge: Some((LATENCY, |_| percentile_labels("sync", "100"))),
        ..PLAIN
    },
    Metric {
        name: "span_cpu",
        unit: Unit::Nanoseconds,
        meaning: "CPU time of the worker from the first thread's start to the last one's end",
        trial: Trial::Whole(|it| it.span_cpu_ns),
        column: "span_cpu_ns",
        json: ("spent", "cpu_s"),
        ..PLAIN
    },
    Metric {
        name: "span_user",
        unit: Unit::Nanoseconds,
        meaning: "the part of it in user mode",
        trial: Trial::Whole(|it| it.span_user_ns),
        column: "span_user_ns",
        json: ("spent", "user_s"),
        ..PLAIN
    },
    Metric {
        name: "span_system",
        unit: Unit::Nanoseconds,
        meaning: "the part of it in the kernel",
        trial: Trial::Whole(|it| it.span_system_ns),
        column: "span_system_ns",
        json: ("spent", "system_s"),
        ..PLAIN
    },
    Metric {
        name: "operation",
        unit: Unit::Nanoseconds,
        meaning: "of a thread for an operation, all it has in flight together",
        case: Case::Estimate(|it| it.ns_per_op),
        gauge: Some((OPERATION, no_labels)),
        ..PLAIN
    },
    Metric {
        name: "rounds",
        title: "rounds",
        unit: Unit::Number,
        meaning: "trials that count",
        case: Case::Words(|it, _| it.n.to_string()),
        ..PLAIN
    },
    Metric {
        name: "interval",
        title: "95 % CI",
        unit: Unit::Text,
        meaning: "the 95 % interval of the throughput",
        said: Some(|it| words::main_figure(it).1),
        ..PLAIN
    },
    Metric {
        name: "acknowledged_interval",
        title: "95 % CI",
        unit: Unit::Text,
        meaning: "the 95 % interval of the acknowledged throughput",
        said: Some(|it| writes::acknowledged(writing(it)).1),
        ..PLAIN
    },
    Metric {
        name: "durable_interval",
        title: "95 % CI",
        unit: Unit::Text,
        meaning: "the 95 % interval of the durable throughput",
        said: Some(|it| writes::durable(it).1),
        ..PLAIN
    },
    Metric {
        name: "rate",
        title: "rate",
        unit: Unit::Text,
        meaning: "which rate the throughput is",
        case: Case::Words(|it, _| words::rate_kind(it).to_string()),
        ..PLAIN
    },
    Metric {
        name: "spread",
        title: "min/mean/max",
        unit: Unit::Text,
        meaning: "of the rounds",
        said: Some(words::spread),
        ..PLAIN
    },
    Metric {
        name: "idle",
        title: "idle",
        unit: Unit::Percent,
        meaning: "mean idle share of the threads",
        case: Case::Plain(|it| it.imbalance_percent),
        ..PLAIN
    },
    Metric {
        name: "cpu_per_op",
        title: "CPU/op",
        unit: Unit::Nanoseconds,
        meaning: "CPU time of an operation, over all threads",
        case: Case::Plain(|it| it.cpu_ns_per_op),
        ..PLAIN
    },
    Metric {
        name: "ceiling",
        title: "ceiling",
        unit: Unit::Number,
        meaning: "how near the throughput comes to what bounds it",
        said: Some(words::ceiling),
        ..PLAIN
    },
    Metric {
        name: "served_by",
        title: "served by",
        unit: Unit::Text,
        meaning: "what served the bytes, by the evidence",
        case: Case::Words(|it, all| words::served_by(it, all.storage.as_ref())),
        ..PLAIN
    },
    Metric {
        name: "verdict",
        title: "verdict",
        unit: Unit::Text,
        meaning: "what the figures are worth",
        case: Case::Words(|it, _| words::verdict(it).to_string()),
        ..PLAIN
    },
];
