//! The form of a figure with what is known of its spread.

use schemars::JsonSchema;
use serde::Serialize;

/// A quantity over the rounds of a case.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Estimate {
    /// The median of the rounds.
    pub(crate) median: f64,
    /// Lower end of its exact 95 % interval; null with too few rounds.
    pub(crate) low: Option<f64>,
    /// Upper end of it.
    pub(crate) high: Option<f64>,
    /// The smallest.
    pub(crate) min: f64,
    /// The largest.
    pub(crate) max: f64,
    /// The mean; of rates that of all that was done by all the time that it took.
    pub(crate) mean: f64,
}

/// Percentiles in nanoseconds; null where too few operations were timed to say one.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Latency {
    /// Half were at most this.
    pub(crate) p50: Option<u64>,
    /// 90 %.
    pub(crate) p90: Option<u64>,
    /// 99 %.
    pub(crate) p99: Option<u64>,
    /// 99.9 %.
    pub(crate) p99_9: Option<u64>,
    /// 99.99 %.
    pub(crate) p99_99: Option<u64>,
    /// The longest.
    pub(crate) max: Option<u64>,
    /// How many operations were timed.
    pub(crate) count: u64,
}

/// The intervals of the percentiles.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LatencyIntervals {
    /// Of the median.
    pub(crate) p50: Option<Interval>,
    /// Of the 90th percentile.
    pub(crate) p90: Option<Interval>,
    /// Of the 99th.
    pub(crate) p99: Option<Interval>,
    /// Of the 99.9th.
    pub(crate) p99_9: Option<Interval>,
    /// Of the 99.99th.
    pub(crate) p99_99: Option<Interval>,
}

/// A 95 % interval of a percentile, in nanoseconds.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Interval {
    /// Its lower end; null with fewer than three rounds.
    pub(crate) low: Option<u64>,
    /// Its upper end.
    pub(crate) high: Option<u64>,
    /// Whether at least 100 operations lie above the percentile.
    pub(crate) solid: bool,
}

/// A ratio of paired rounds.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Ratio {
    /// The median.
    pub(crate) median: f64,
    /// Lower end of its 95 % interval.
    pub(crate) low: Option<f64>,
    /// Upper end of it.
    pub(crate) high: Option<f64>,
    /// Rounds in which both were measured.
    pub(crate) pairs: usize,
}
