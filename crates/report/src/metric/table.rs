//! Figures of cases, of trials, or of both.

use super::families::{LATENCY, OPERATIONS, THROUGHPUT};
use super::families::{no_labels, percentile_labels, rate_labels, throughput_labels};
use super::{CaseMetric, Metric, PLAIN, TrialMetric, Unit};
use crate::words::{self, NONE};
use crate::writes;
use assess::percentile::Percentile;
use assess::stats::Estimate;
use assess::summary::{Latency, Summary};
use assess::trend::FigureUnit;
use assess::writing::Writing;
use model::case::Sync;
use model::units;

/// Operations per second; for a memory loop, only if its main figure is the time per operation.
pub(super) fn operations(summary: &Summary) -> Option<Estimate> {
    let is_counted =
        summary.case.io().is_some() || FigureUnit::of(&summary.case) == FigureUnit::NsPerOp;
    summary.iops.filter(|_| is_counted)
}

fn iops(summary: &Summary) -> String {
    operations(summary).map_or(NONE.to_string(), |iops| words::per_second(iops.median))
}

pub(super) fn writing(summary: &Summary) -> Option<&Writing> {
    summary.writing.as_deref()
}

fn sync(summary: &Summary) -> Option<&Latency> {
    Some(&writing(summary)?.sync)
}

/// The latency until data is durable: of separate syncs, or of writes that sync themselves.
pub(crate) fn until_durable(summary: &Summary) -> Option<&Latency> {
    match summary.case.write()?.sync {
        Sync::Dsync => Some(&summary.latency),
        _ => sync(summary),
    }
}

fn said_sync(summary: &Summary, of: fn(&Latency) -> Option<Percentile>) -> String {
    words::percentile(until_durable(summary).and_then(of))
}

/// The median of the syncs; if there are too few, the longest.
fn said_sync_median(summary: &Summary) -> String {
    match until_durable(summary) {
        Some(Latency { p50: None, max_ns: Some(longest), .. }) => {
            format!("≤{}", units::nanoseconds(*longest as f64))
        }
        _ => said_sync(summary, |it| it.p50),
    }
}

/// In the order of the CSV columns; some have none.
pub(crate) const FIGURES: &[Metric] = &[
    Metric {
        name: "bytes",
        unit: Unit::Bytes,
        meaning: "moved by all threads",
        trial: TrialMetric::Always(|it| it.bytes),
        column: "bytes",
        json: ("", "bytes"),
        ..PLAIN
    },
    Metric {
        name: "operations",
        unit: Unit::Number,
        meaning: "by all threads",
        trial: TrialMetric::Always(|it| it.ops),
        column: "operations",
        json: ("", "ops"),
        ..PLAIN
    },
    Metric {
        name: "elapsed",
        unit: Unit::Nanoseconds,
        meaning: "from the first thread's start to the last one's end",
        trial: TrialMetric::Always(|it| it.elapsed_ns),
        column: "elapsed_ns",
        json: ("", "elapsed_s"),
        ..PLAIN
    },
    Metric {
        name: "synced",
        unit: Unit::Nanoseconds,
        meaning: "from the first thread's start until the last sync returned",
        trial: TrialMetric::Whole(|it| it.synced_ns),
        column: "synced_ns",
        json: ("", "synced_s"),
        ..PLAIN
    },
    Metric {
        name: "throughput",
        title: "throughput",
        unit: Unit::BytesPerSecond,
        meaning: "the trial's figure",
        case: CaseMetric::Estimate(|it| it.throughput),
        trial: TrialMetric::Real(|it| it.throughput),
        column: "throughput_bytes_per_second",
        json: ("", "throughput"),
        said: Some(|it| words::main_figure(it).0),
        gauge: Some((THROUGHPUT, throughput_labels)),
        ..PLAIN
    },
    Metric {
        name: "acknowledged",
        title: "acknowledged",
        unit: Unit::BytesPerSecond,
        meaning: "acknowledged throughput: until the last write returned",
        legend: "until the last write returned",
        case: CaseMetric::Estimate(|it| writing(it)?.acknowledged),
        trial: TrialMetric::Real(|it| it.acknowledged),
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
        legend: "throughput including the final sync, unless contradicted",
        case: CaseMetric::Estimate(|it| writing(it)?.durable),
        trial: TrialMetric::Real(|it| it.durable),
        column: "durable_bytes_per_second",
        json: ("", "durable"),
        said: Some(|it| writes::durable(it).0),
        gauge: Some((THROUGHPUT, |it| rate_labels(it, "durable"))),
        ..PLAIN
    },
    Metric {
        name: "iops",
        title: "op/s",
        unit: Unit::PerSecond,
        meaning: "over the same time as the throughput",
        case: CaseMetric::Estimate(|it| it.iops),
        trial: TrialMetric::Real(|it| it.iops),
        column: "operations_per_second",
        json: ("", "iops"),
        said: Some(iops),
        gauge: Some((OPERATIONS, no_labels)),
        ..PLAIN
    },
    Metric {
        name: "p50",
        title: "p50",
        unit: Unit::Nanoseconds,
        meaning: "service time (closed loop) of an operation: median",
        case: CaseMetric::Percentile(|it| it.latency.p50),
        trial: TrialMetric::Whole(|it| it.latencies.p50_ns),
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
        case: CaseMetric::Percentile(|it| it.latency.p90),
        gauge: Some((LATENCY, |_| percentile_labels("operation", "90"))),
        ..PLAIN
    },
    Metric {
        name: "p99",
        title: "p99",
        unit: Unit::Nanoseconds,
        meaning: "99th percentile",
        case: CaseMetric::Percentile(|it| it.latency.p99),
        trial: TrialMetric::Whole(|it| it.latencies.p99_ns),
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
        case: CaseMetric::Percentile(|it| it.latency.p99_9),
        trial: TrialMetric::Whole(|it| it.latencies.p99_9_ns),
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
        case: CaseMetric::Percentile(|it| it.latency.p99_99),
        gauge: Some((LATENCY, |_| percentile_labels("operation", "99.99"))),
        ..PLAIN
    },
    Metric {
        name: "max",
        title: "max",
        unit: Unit::Nanoseconds,
        meaning: "maximum",
        case: CaseMetric::Plain(|it| Some(it.latency.max_ns? as f64)),
        trial: TrialMetric::Whole(|it| it.latencies.max_ns),
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
        case: CaseMetric::Percentile(|it| sync(it)?.p50),
        trial: TrialMetric::Whole(|it| it.syncs.p50_ns),
        column: "sync_p50_ns",
        json: ("sync_latency_ns", "p50"),
        gauge: Some((LATENCY, |_| percentile_labels("sync", "50"))),
        said: Some(said_sync_median),
        legend: "service time (closed loop) of the syncs alone, or of a write with O_DSYNC; ≤ \
                 the longest where they are few",
        ..PLAIN
    },
    Metric {
        name: "sync_p90",
        title: "sync p90",
        unit: Unit::Nanoseconds,
        meaning: "90th percentile of those syncs",
        case: CaseMetric::Percentile(|it| sync(it)?.p90),
        gauge: Some((LATENCY, |_| percentile_labels("sync", "90"))),
        said: Some(|it| said_sync(it, |it| it.p90)),
        ..PLAIN
    },
    Metric {
        name: "sync_p99",
        title: "sync p99",
        unit: Unit::Nanoseconds,
        meaning: "99th percentile of those syncs",
        case: CaseMetric::Percentile(|it| sync(it)?.p99),
        trial: TrialMetric::Whole(|it| it.syncs.p99_ns),
        column: "sync_p99_ns",
        json: ("sync_latency_ns", "p99"),
        gauge: Some((LATENCY, |_| percentile_labels("sync", "99"))),
        said: Some(|it| said_sync(it, |it| it.p99)),
        ..PLAIN
    },
    Metric {
        name: "sync_p99_9",
        title: "sync p99.9",
        unit: Unit::Nanoseconds,
        meaning: "99.9th percentile of those syncs",
        case: CaseMetric::Percentile(|it| sync(it)?.p99_9),
        trial: TrialMetric::Whole(|it| it.syncs.p99_9_ns),
        column: "sync_p99_9_ns",
        json: ("sync_latency_ns", "p99_9"),
        gauge: Some((LATENCY, |_| percentile_labels("sync", "99.9"))),
        said: Some(|it| said_sync(it, |it| it.p99_9)),
        ..PLAIN
    },
    Metric {
        name: "sync_p99_99",
        title: "sync p99.99",
        unit: Unit::Nanoseconds,
        meaning: "99.99th percentile of those syncs",
        case: CaseMetric::Percentile(|it| sync(it)?.p99_99),
        gauge: Some((LATENCY, |_| percentile_labels("sync", "99.99"))),
        said: Some(|it| said_sync(it, |it| it.p99_99)),
        ..PLAIN
    },
    Metric {
        name: "sync_max",
        title: "sync max",
        unit: Unit::Nanoseconds,
        meaning: "maximum of those syncs",
        case: CaseMetric::Plain(|it| Some(sync(it)?.max_ns? as f64)),
        trial: TrialMetric::Whole(|it| it.syncs.max_ns),
        column: "sync_max_ns",
        json: ("sync_latency_ns", "max"),
        gauge: Some((LATENCY, |_| percentile_labels("sync", "100"))),
        said: Some(|it| words::ns(until_durable(it).and_then(|it| it.max_ns).map(|ns| ns as f64))),
        ..PLAIN
    },
    Metric {
        name: "span_cpu",
        unit: Unit::Nanoseconds,
        meaning: "CPU time of the worker from the first thread's start to the last one's end",
        trial: TrialMetric::Whole(|it| it.span_cpu_ns),
        column: "span_cpu_ns",
        json: ("spent", "cpu_s"),
        ..PLAIN
    },
    Metric {
        name: "span_user",
        unit: Unit::Nanoseconds,
        meaning: "the part of it in user mode",
        trial: TrialMetric::Whole(|it| it.span_user_ns),
        column: "span_user_ns",
        json: ("spent", "user_s"),
        ..PLAIN
    },
    Metric {
        name: "span_system",
        unit: Unit::Nanoseconds,
        meaning: "the part of it in the kernel",
        trial: TrialMetric::Whole(|it| it.span_system_ns),
        column: "span_system_ns",
        json: ("spent", "system_s"),
        ..PLAIN
    },
];
