//! Figures of cases, of trials, or of both.

use super::TrialMetric::{Always, Real, Whole};
use super::families::{LATENCY, OPERATIONS, THROUGHPUT};
use super::families::{no_labels, percentile_labels, rate_labels, throughput_labels};
use super::{CaseMetric, Metric, Unit, metric, percentile};
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
    metric("bytes", "", Unit::Bytes)
        .trial("bytes", ("", "bytes"), Always(|it| it.bytes))
        .meaning("moved by all threads"),
    metric("operations", "", Unit::Number)
        .trial("operations", ("", "ops"), Always(|it| it.ops))
        .meaning("by all threads"),
    metric("elapsed", "", Unit::Nanoseconds)
        .meaning("from the first thread's start to the last one's end")
        .trial("elapsed_ns", ("", "elapsed_s"), Always(|it| it.elapsed_ns)),
    metric("synced", "", Unit::Nanoseconds)
        .meaning("from the first thread's start until the last sync returned")
        .trial("synced_ns", ("", "synced_s"), Whole(|it| it.synced_ns)),
    metric("throughput", "throughput", Unit::BytesPerSecond)
        .meaning("the trial's figure")
        .case(CaseMetric::Estimate(|it| it.throughput))
        .trial("throughput_bytes_per_second", ("", "throughput"), Real(|it| it.throughput))
        .said(|it| words::main_figure(it).0)
        .gauge(THROUGHPUT, throughput_labels),
    metric("acknowledged", "acknowledged", Unit::BytesPerSecond)
        .meaning("acknowledged throughput: until the last write returned")
        .legend("until the last write returned")
        .case(CaseMetric::Estimate(|it| writing(it)?.acknowledged))
        .trial("acknowledged_bytes_per_second", ("", "acknowledged"), Real(|it| it.acknowledged))
        .gauge(THROUGHPUT, |it| rate_labels(it, "acknowledged")),
    metric("durable", "durable", Unit::BytesPerSecond)
        .meaning("until the last sync returned, if it made the data durable")
        .legend("throughput including the final sync, unless contradicted")
        .case(CaseMetric::Estimate(|it| writing(it)?.durable))
        .trial("durable_bytes_per_second", ("", "durable"), Real(|it| it.durable))
        .said(|it| writes::durable(it).0)
        .gauge(THROUGHPUT, |it| rate_labels(it, "durable")),
    metric("iops", "op/s", Unit::PerSecond)
        .meaning("over the same time as the throughput")
        .case(CaseMetric::Estimate(|it| it.iops))
        .trial("operations_per_second", ("", "iops"), Real(|it| it.iops))
        .said(iops)
        .gauge(OPERATIONS, no_labels),
    percentile("p50", "p50", ("operation", "50"), |it| it.latency.p50)
        .meaning("service time (closed loop) of an operation: median")
        .trial("p50_ns", ("latency_ns", "p50"), Whole(|it| it.latencies.p50_ns)),
    percentile("p90", "p90", ("operation", "90"), |it| it.latency.p90).meaning("90th percentile"),
    percentile("p99", "p99", ("operation", "99"), |it| it.latency.p99)
        .meaning("99th percentile")
        .trial("p99_ns", ("latency_ns", "p99"), Whole(|it| it.latencies.p99_ns)),
    percentile("p99_9", "p99.9", ("operation", "99.9"), |it| it.latency.p99_9)
        .meaning("99.9th percentile")
        .trial("p99_9_ns", ("latency_ns", "p99_9"), Whole(|it| it.latencies.p99_9_ns)),
    percentile("p99_99", "p99.99", ("operation", "99.99"), |it| it.latency.p99_99)
        .meaning("99.99th percentile"),
    metric("max", "max", Unit::Nanoseconds)
        .meaning("maximum")
        .case(CaseMetric::Plain(|it| Some(it.latency.max_ns? as f64)))
        .trial("max_ns", ("latency_ns", "max"), Whole(|it| it.latencies.max_ns))
        .gauge(LATENCY, |_| percentile_labels("operation", "100")),
    percentile("sync_p50", "sync p50", ("sync", "50"), |it| sync(it)?.p50)
        .meaning("service time (closed loop) of a sync that is a call of its own: median")
        .legend(
            "service time (closed loop) of the syncs alone, or of a write with O_DSYNC; ≤ \
                 the longest where they are few",
        )
        .trial("sync_p50_ns", ("sync_latency_ns", "p50"), Whole(|it| it.syncs.p50_ns))
        .said(said_sync_median),
    percentile("sync_p90", "sync p90", ("sync", "90"), |it| sync(it)?.p90)
        .meaning("90th percentile of those syncs")
        .said(|it| said_sync(it, |it| it.p90)),
    percentile("sync_p99", "sync p99", ("sync", "99"), |it| sync(it)?.p99)
        .meaning("99th percentile of those syncs")
        .trial("sync_p99_ns", ("sync_latency_ns", "p99"), Whole(|it| it.syncs.p99_ns))
        .said(|it| said_sync(it, |it| it.p99)),
    percentile("sync_p99_9", "sync p99.9", ("sync", "99.9"), |it| sync(it)?.p99_9)
        .meaning("99.9th percentile of those syncs")
        .trial("sync_p99_9_ns", ("sync_latency_ns", "p99_9"), Whole(|it| it.syncs.p99_9_ns))
        .said(|it| said_sync(it, |it| it.p99_9)),
    percentile("sync_p99_99", "sync p99.99", ("sync", "99.99"), |it| sync(it)?.p99_99)
        .meaning("99.99th percentile of those syncs")
        .said(|it| said_sync(it, |it| it.p99_99)),
    metric("sync_max", "sync max", Unit::Nanoseconds)
        .meaning("maximum of those syncs")
        .case(CaseMetric::Plain(|it| Some(sync(it)?.max_ns? as f64)))
        .trial("sync_max_ns", ("sync_latency_ns", "max"), Whole(|it| it.syncs.max_ns))
        .said(|it| words::ns(until_durable(it).and_then(|it| it.max_ns).map(|ns| ns as f64)))
        .gauge(LATENCY, |_| percentile_labels("sync", "100")),
    metric("span_cpu", "", Unit::Nanoseconds)
        .meaning("CPU time of the worker from the first thread's start to the last one's end")
        .trial("span_cpu_ns", ("spent", "cpu_s"), Whole(|it| it.span_cpu_ns)),
    metric("span_user", "", Unit::Nanoseconds)
        .trial("span_user_ns", ("spent", "user_s"), Whole(|it| it.span_user_ns))
        .meaning("the part of it in user mode"),
    metric("span_system", "", Unit::Nanoseconds)
        .trial("span_system_ns", ("spent", "system_s"), Whole(|it| it.span_system_ns))
        .meaning("the part of it in the kernel"),
];
