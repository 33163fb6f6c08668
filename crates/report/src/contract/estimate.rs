//! The form of a figure with what is known of its spread.

use assess::stats::Holds;
use schemars::JsonSchema;
use serde::Serialize;

/// A quantity over the rounds of a case.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Estimate {
    /// The median of the rounds; with several invocations, of their medians.
    pub(crate) median: f64,
    /// Lower end of its 95 % interval; null with too few rounds.
    pub(crate) low: Option<f64>,
    /// Upper end of it.
    pub(crate) high: Option<f64>,
    /// The smallest.
    pub(crate) min: f64,
    /// The largest.
    pub(crate) max: f64,
    /// The mean; of rates that of all that was done by all the time that it took.
    pub(crate) mean: f64,
    /// Of how many invocations.
    pub(crate) invocations: usize,
    /// What the interval holds for: with one invocation, another run may have another figure.
    #[schemars(extend("enum" = names!(Holds)))]
    pub(crate) holds: &'static str,
    /// The standard deviation of the logarithm between invocations; null with one.
    pub(crate) between: Option<f64>,
    /// The same between the rounds of an invocation; null with one round in each too.
    pub(crate) within: Option<f64>,
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
    /// Of how many invocations; with one the interval holds within this run.
    pub(crate) invocations: usize,
}

/// How a run was repeated within itself.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Repetition {
    /// How often all was begun anew.
    pub(crate) invocations: u32,
    /// Whether each had new test files; else new workers only.
    pub(crate) has_new_files: bool,
    /// Whether there were enough rounds, or invocations where there are several, to see whether
    /// they depend on each other.
    pub(crate) is_dependence_checked: bool,
    /// Seconds that an invocation costs besides its rounds; null with one.
    pub(crate) invocation_s: Option<f64>,
    /// Seconds that a round costs; null with one invocation.
    pub(crate) round_s: Option<f64>,
    /// How many rounds in each invocation tell most in the same time; null where that is not known.
    pub(crate) advised_rounds: Option<u32>,
}
