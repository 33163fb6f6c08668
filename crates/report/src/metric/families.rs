//! The OpenMetrics families of cases' figures.

use super::{Family, GaugeLabels, label};
use assess::summary::Summary;
use assess::trend::FigureUnit;
use model::case::Work;

pub(super) const THROUGHPUT: Family = &[
    (
        "throughput_bytes_per_second",
        "Throughput of a case: the median of the counted rounds, or of the medians of the \
         invocations. No sample of a void case.",
    ),
    (
        "throughput_low_bytes_per_second",
        "Lower end of the 95 % interval of ioassay_throughput_bytes_per_second.",
    ),
    (
        "throughput_high_bytes_per_second",
        "Upper end of the 95 % interval of ioassay_throughput_bytes_per_second.",
    ),
];
pub(super) const OPERATIONS: Family = &[(
    "operations_per_second",
    "Operations a second of a case: the median of the counted rounds, or of the medians of the \
     invocations. No sample of a void case.",
)];
pub(super) const OPERATION: Family = &[(
    "operation_seconds",
    "Time of a thread for an operation, all it has in flight together: the median of the counted \
     rounds, or of the medians of the invocations. No sample of a void case.",
)];
pub(super) const LATENCY: Family = &[(
    "latency_seconds",
    "Latency of the operations or syncs of a case at a percentile; 100 is the maximum. No sample \
     of a void case, and none where too few were timed.",
)];

pub(super) const PAGES: Family = &[(
    "pages_read_beside_writes",
    "Pages of 4 KiB that the counted rounds read of a file which was overwritten meanwhile: any of \
     them, and those with parts of several writes. No sample of a void case.",
)];

/// The families, in order.
pub(crate) const FAMILIES: [Family; 5] = [THROUGHPUT, OPERATIONS, OPERATION, LATENCY, PAGES];

pub(super) fn no_labels(_: &Summary) -> Option<GaugeLabels> {
    Some(GaugeLabels::new())
}

/// The labels of a rate; `None` if bytes per second mean nothing in the case.
pub(super) fn rate_labels(summary: &Summary, quantity: &str) -> Option<GaugeLabels> {
    let served_by = summary.served_by.map_or(String::new(), |by| by.name().to_string());
    let level = summary.level.map(|level| label("level", level.to_string()));
    let labels = [label("quantity", quantity), label("served_by", served_by)];
    let labels = labels.into_iter().chain(level).collect();
    (FigureUnit::of(&summary.case) != FigureUnit::NsPerOp).then_some(labels)
}

/// The labels of the throughput; `None` for plain writes, which have two other rates, and for
/// calls on names and commands.
pub(super) fn throughput_labels(summary: &Summary) -> Option<GaugeLabels> {
    match &summary.case.work {
        Work::Read(_) => rate_labels(summary, "read"),
        Work::Memory(_) => rate_labels(summary, "memory"),
        Work::Write(work) if work.read_share > 0 => rate_labels(summary, "mixed"),
        Work::Write(_) | Work::Metadata(_) | Work::Command(_) => None,
    }
}

pub(super) fn percentile_labels(of: &str, percentile: &str) -> Option<GaugeLabels> {
    Some(vec![label("of", of), label("percentile", percentile)])
}
