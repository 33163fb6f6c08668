//! Medians with exact intervals, percentiles with theirs.

/// The value of a quantity over the rounds of a case: the median with an exact 95 %
/// order-statistic interval, and what else people ask for beside it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// How many rounds.
    pub n: usize,
    /// The median.
    pub median: f64,
    /// Lower end of the 95 % interval of the median; none below 6 rounds, where there is none.
    pub low: Option<f64>,
    /// Upper end of it.
    pub high: Option<f64>,
    /// The arithmetic mean.
    pub mean: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

/// A percentile of latencies with its 95 % interval, which is exact for independent operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Percentile {
    /// The percentile in nanoseconds.
    pub ns: u64,
    /// Lower end of its interval.
    pub low_ns: u64,
    /// Upper end of its interval.
    pub high_ns: u64,
    /// Whether at least 100 operations lie above it; else it rests on as few as 10.
    pub solid: bool,
}
