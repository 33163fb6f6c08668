//! Percentiles and the distribution of latency over all rounds of a case.

use crate::form::FormOf;
use crate::percentile::{Distribution, Percentile};
use model::sample::Latencies;
use schemars::JsonSchema;
use serde::Serialize;

/// The response time of an operation that had not begun when the time of its trial was up: longer
/// than any other.
pub const UNSENT_NS: u64 = u64::MAX;

/// Latency percentiles over all rounds; `None` if the sample is too small.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Latency {
    /// Number of timed operations.
    pub count: u64,
    /// The median.
    pub p50: Option<Percentile>,
    /// 90 % were at most this.
    pub p90: Option<Percentile>,
    /// 99 %.
    pub p99: Option<Percentile>,
    /// 99.9 %.
    pub p99_9: Option<Percentile>,
    /// 99.99 %.
    pub p99_99: Option<Percentile>,
    /// The longest, exact.
    pub max_ns: Option<u64>,
    /// The distribution: latencies in nanoseconds, ascending, each with the share of operations
    /// that took longer, 0 to 1. Thinned for plotting: between two points, either the latency or
    /// the share changes by at least a twentieth.
    pub longer: Vec<(u64, f64)>,
}

/// A value for each published percentile; null if fewer than 10 operations took longer.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Intervals")]
pub(crate) struct Each<T> {
    /// The median.
    p50: Option<T>,
    /// The 90th percentile.
    p90: Option<T>,
    /// The 99th percentile.
    p99: Option<T>,
    /// The 99.9th percentile.
    p99_9: Option<T>,
    /// The 99.99th percentile.
    p99_99: Option<T>,
}

/// Latency percentiles in nanoseconds; null if fewer than 10 operations took longer.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Percentiles {
    #[serde(flatten)]
    each: Each<u64>,
    /// The longest latency, exact; null if no operation was timed.
    max: Option<u64>,
    /// Number of timed operations.
    count: u64,
}

/// The published form of the latency of operations.
#[derive(Serialize, JsonSchema)]
pub(crate) struct OfOperations {
    /// Service times (closed loop) over all rounds: percentiles in nanoseconds.
    latency_ns: Percentiles,
    /// The 95 % intervals of those percentiles.
    latency_ns_intervals: Each<Percentile>,
}

impl FormOf<Latency> for OfOperations {
    fn of(latency: &Latency) -> OfOperations {
        let (latency_ns, latency_ns_intervals) = latency.forms();
        OfOperations { latency_ns, latency_ns_intervals }
    }
}

/// The published form of the latency of syncs.
#[derive(Serialize, JsonSchema)]
pub(crate) struct OfSyncs {
    /// Percentiles of separate sync calls, in nanoseconds.
    sync_latency_ns: Percentiles,
    /// The 95 % intervals of those percentiles.
    sync_latency_ns_intervals: Each<Percentile>,
}

impl FormOf<Latency> for OfSyncs {
    fn of(latency: &Latency) -> OfSyncs {
        let (sync_latency_ns, sync_latency_ns_intervals) = latency.forms();
        OfSyncs { sync_latency_ns, sync_latency_ns_intervals }
    }
}

/// Between two points of a distribution, the latency grows by this factor, or the share that took
/// longer falls by it.
const POINTS_APART: f64 = 1.05;

impl Latency {
    /// The percentiles of all units together; the units are independent.
    pub(crate) fn of(units: &[Latencies]) -> Latency {
        let merged = Latencies::sum(units.iter());
        let count = merged.count();
        let distribution = Distribution::of(units);
        Latency {
            count,
            p50: distribution.percentile(5_000),
            p90: distribution.percentile(1_000),
            p99: distribution.percentile(100),
            p99_9: distribution.percentile(10),
            p99_99: distribution.percentile(1),
            max_ns: (count > 0).then_some(merged.max_ns),
            longer: longer(&merged),
        }
    }

    /// The percentiles, and their intervals beside them.
    pub(crate) fn forms(&self) -> (Percentiles, Each<Percentile>) {
        let Latency { count, p50, p90, p99, p99_9, p99_99, max_ns, .. } = *self;
        let intervals = Each { p50, p90, p99, p99_9, p99_99 };
        let [p50, p90, p99, p99_9, p99_99] =
            [p50, p90, p99, p99_9, p99_99].map(|percentile| percentile.map(|p| p.ns));
        let each = Each { p50, p90, p99, p99_9, p99_99 };
        (Percentiles { each, max: max_ns, count }, intervals)
    }
}

/// The share of operations that took longer, for each latency that is far enough from the previous
/// one.
fn longer(latencies: &Latencies) -> Vec<(u64, f64)> {
    let count = latencies.count();
    let mut longer: Vec<(u64, f64)> = Vec::new();
    let mut seen: u64 = 0;
    for &(ns, times) in &latencies.counts {
        seen = seen.saturating_add(times);
        let share = count.saturating_sub(seen) as f64 / count as f64;
        let is_apart = longer.last().is_none_or(|&(last_ns, last_share)| {
            ns as f64 >= last_ns as f64 * POINTS_APART || share * POINTS_APART <= last_share
        });
        if ns != UNSENT_NS && (is_apart || seen == count) {
            longer.push((ns.min(latencies.max_ns), share));
        }
    }
    longer
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Points that were dropped are between their neighbors: none is off by more than a step.
        #[test]
        fn a_distribution_is_that_of_all_operations(
            counts in proptest::collection::btree_map(1u64..1_000_000_000, 1u64..1_000, 1..300)
        ) {
            let counts: Vec<(u64, u64)> = counts.into_iter().collect();
            let max_ns = counts[counts.len() - 1].0;
            let latencies = Latencies { counts, max_ns };
            let points = longer(&latencies);
            let share_above = |ns: u64| {
                let above = latencies.counts.iter().filter(|(each, _)| *each > ns);
                above.map(|(_, count)| count).sum::<u64>() as f64 / latencies.count() as f64
            };
            for (ns, share) in &points {
                prop_assert!((share_above(*ns) - share).abs() < 1e-12, "{} {}", ns, share);
            }
            prop_assert!(points.is_sorted_by(|a, b| a.0 < b.0 && a.1 > b.1));
            prop_assert_eq!(points.last(), Some(&(max_ns, 0.0)));
            prop_assert_eq!(points[0].0, latencies.counts[0].0);
        }
    }

    #[test]
    fn a_distribution_is_thinned_to_what_can_be_seen() {
        let counts = (1_000..100_000).map(|ns| (ns, 1)).collect();
        let latencies = Latencies { counts, max_ns: 99_999 };
        let points = longer(&latencies).len();
        assert!((90..400).contains(&points), "{points}");
        assert_eq!(longer(&Latencies::default()), []);
    }
}
