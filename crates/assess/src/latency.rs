//! Percentiles of latency over all rounds of a case.

use crate::stats::Percentile;
use model::sample::Latencies;

/// Percentiles of latency over all rounds; absent where the sample is too small for one.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Latency {
    /// How many operations were timed.
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
}

impl Latency {
    /// The percentiles of `all` together.
    pub(crate) fn of<'a>(all: impl Iterator<Item = &'a Latencies>) -> Latency {
        let merged = all.fold(Latencies::default(), |mut sum, latencies| {
            sum.add(latencies);
            sum
        });
        let count = merged.count();
        Latency {
            count,
            p50: Percentile::of(&merged, 5_000),
            p90: Percentile::of(&merged, 1_000),
            p99: Percentile::of(&merged, 100),
            p99_9: Percentile::of(&merged, 10),
            p99_99: Percentile::of(&merged, 1),
            max_ns: (count > 0).then_some(merged.max_ns),
        }
    }
}
