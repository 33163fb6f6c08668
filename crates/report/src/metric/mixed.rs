//! Figures of cases of which some operations read and the rest write.

use super::families::{LATENCY, OPERATIONS, percentile_labels};
use super::{CaseMetric, Metric, PLAIN, TrialMetric, Unit, label};
use assess::latency::Latency;
use assess::mixed::Mixed;
use assess::summary::Summary;

fn mixed(summary: &Summary) -> Option<&Mixed> {
    summary.mixed.as_deref()
}

fn reads(summary: &Summary) -> Option<&Latency> {
    Some(&mixed(summary)?.reads)
}

fn writes(summary: &Summary) -> Option<&Latency> {
    Some(&mixed(summary)?.writes)
}

/// In the order of the CSV columns.
pub(crate) const MIXED: &[Metric] = &[
    Metric {
        name: "read_operations",
        unit: Unit::Number,
        meaning: "those of the operations that read, in a mixed case",
        trial: TrialMetric::Whole(|it| it.read_ops),
        column: "read_operations",
        json: ("", "read_ops"),
        ..PLAIN
    },
    Metric {
        name: "read_iops",
        title: "reads",
        unit: Unit::PerSecond,
        meaning: "operations per second that read, in a mixed case",
        legend: "operations per second that read",
        case: CaseMetric::Estimate(|it| mixed(it)?.read_iops),
        gauge: Some((OPERATIONS, |_| Some(vec![label("of", "reads")]))),
        ..PLAIN
    },
    Metric {
        name: "read_p50",
        title: "read p50",
        unit: Unit::Nanoseconds,
        meaning: "median latency of the reads of a mixed case",
        case: CaseMetric::Percentile(|it| reads(it)?.p50),
        trial: TrialMetric::Whole(|it| it.reads.p50_ns),
        column: "read_p50_ns",
        json: ("read_ns", "p50"),
        gauge: Some((LATENCY, |_| percentile_labels("read", "50"))),
        ..PLAIN
    },
    Metric {
        name: "read_p99",
        title: "read p99",
        unit: Unit::Nanoseconds,
        meaning: "99th percentile of the reads of a mixed case",
        case: CaseMetric::Percentile(|it| reads(it)?.p99),
        trial: TrialMetric::Whole(|it| it.reads.p99_ns),
        column: "read_p99_ns",
        json: ("read_ns", "p99"),
        gauge: Some((LATENCY, |_| percentile_labels("read", "99"))),
        ..PLAIN
    },
    Metric {
        name: "read_p99_9",
        title: "read p99.9",
        unit: Unit::Nanoseconds,
        meaning: "99.9th percentile of the reads of a mixed case",
        case: CaseMetric::Percentile(|it| reads(it)?.p99_9),
        trial: TrialMetric::Whole(|it| it.reads.p99_9_ns),
        column: "read_p99_9_ns",
        json: ("read_ns", "p99_9"),
        gauge: Some((LATENCY, |_| percentile_labels("read", "99.9"))),
        ..PLAIN
    },
    Metric {
        name: "write_iops",
        title: "writes",
        unit: Unit::PerSecond,
        meaning: "operations per second that wrote, in a mixed case",
        legend: "operations per second that wrote",
        case: CaseMetric::Estimate(|it| mixed(it)?.write_iops),
        gauge: Some((OPERATIONS, |_| Some(vec![label("of", "writes")]))),
        ..PLAIN
    },
    Metric {
        name: "write_p50",
        title: "write p50",
        unit: Unit::Nanoseconds,
        meaning: "median latency of the writes of a mixed case",
        case: CaseMetric::Percentile(|it| writes(it)?.p50),
        trial: TrialMetric::Whole(|it| it.writes.p50_ns),
        column: "write_p50_ns",
        json: ("write_ns", "p50"),
        gauge: Some((LATENCY, |_| percentile_labels("write", "50"))),
        ..PLAIN
    },
    Metric {
        name: "write_p99",
        title: "write p99",
        unit: Unit::Nanoseconds,
        meaning: "99th percentile of the writes of a mixed case",
        case: CaseMetric::Percentile(|it| writes(it)?.p99),
        trial: TrialMetric::Whole(|it| it.writes.p99_ns),
        column: "write_p99_ns",
        json: ("write_ns", "p99"),
        gauge: Some((LATENCY, |_| percentile_labels("write", "99"))),
        ..PLAIN
    },
    Metric {
        name: "write_p99_9",
        title: "write p99.9",
        unit: Unit::Nanoseconds,
        meaning: "99.9th percentile of the writes of a mixed case",
        case: CaseMetric::Percentile(|it| writes(it)?.p99_9),
        trial: TrialMetric::Whole(|it| it.writes.p99_9_ns),
        column: "write_p99_9_ns",
        json: ("write_ns", "p99_9"),
        gauge: Some((LATENCY, |_| percentile_labels("write", "99.9"))),
        ..PLAIN
    },
];
