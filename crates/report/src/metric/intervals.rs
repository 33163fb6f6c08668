//! Which column has the interval of which figure.

use super::Metric;

/// The figures with an interval, which is shown in the next column.
const INTERVALS: [(&str, &str); 6] = [
    ("time", "time_interval"),
    ("throughput", "interval"),
    ("iops", "iops_interval"),
    ("memory_by_file", "memory_by_file_interval"),
    ("acknowledged", "acknowledged_interval"),
    ("durable", "durable_interval"),
];

/// Whether this metric is only shown beside its figure.
pub(super) fn is_one(name: &str) -> bool {
    INTERVALS.iter().any(|(_, interval)| *interval == name)
}

/// The metric for the interval of a figure.
pub(crate) fn interval_of(metric: &Metric) -> Option<&'static Metric> {
    let (_, interval) = INTERVALS.iter().find(|(rate, _)| *rate == metric.name)?;
    Some(Metric::named(interval))
}
