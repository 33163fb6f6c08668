//! Medians with exact intervals, percentiles with theirs.

use crate::binomial;
use model::plan::ROUNDS_MIN;
use model::sample::Latencies;

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

impl Estimate {
    /// The estimate from one value a round, in any order; none of no values.
    ///
    /// # Panics
    /// If a value is not finite: no counter and no clock gives one.
    pub fn of(values: &[f64]) -> Option<Estimate> {
        let sorted = sorted(values);
        let (n, median) = (sorted.len(), middle(&sorted)?);
        let interval = median_ranks(n).map(|(low, high)| (sorted[low - 1], sorted[high - 1]));
        Some(Estimate {
            n,
            median,
            low: interval.map(|(low, _)| low),
            high: interval.map(|(_, high)| high),
            mean: sorted.iter().sum::<f64>() / n as f64,
            min: sorted[0],
            max: sorted[n - 1],
        })
    }

    /// Half the width of the interval as a share of the median; none without an interval, or
    /// where the median is not above 0.
    pub fn relative_half_width(&self) -> Option<f64> {
        let (low, high) = (self.low?, self.high?);
        (self.median > 0.0).then(|| (high - low) / 2.0 / self.median)
    }
}

/// Whether a case with these throughputs, one a round, needs no more rounds: there are at least
/// [`ROUNDS_MIN`], and half the width of the interval is at most the share `precision` of the
/// median. It is the least number of rounds that protects the coverage (method.md §5.3).
pub fn is_settled(throughputs: &[f64], precision: f64) -> bool {
    let half_width = || Estimate::of(throughputs)?.relative_half_width();
    throughputs.len() >= ROUNDS_MIN as usize && half_width().is_some_and(|half| half <= precision)
}

/// The median: of an even number of values, the mean of the two in the middle.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    middle(&sorted(values))
}

fn sorted(values: &[f64]) -> Vec<f64> {
    assert!(values.iter().all(|value| value.is_finite()), "a measured value is finite");
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

fn middle(sorted: &[f64]) -> Option<f64> {
    let n = sorted.len();
    let upper = *sorted.get(n / 2)?;
    Some(if n % 2 == 1 { upper } else { f64::midpoint(sorted[n / 2 - 1], upper) })
}

/// The ranks, from 1, of the narrowest symmetric interval that holds the median of any
/// distribution with at least 95 %: `low` is the largest rank with P(X < low) ≤ 2.5 %, where X
/// counts the values below the median (Hahn and Meeker; method.md §5.2). None for 5 or fewer.
fn median_ranks(n: usize) -> Option<(usize, usize)> {
    if n == 0 {
        return None;
    }
    let [low, _] = binomial::quantiles(n as u64, 0.5, BOTH_TAILS);
    let low = low as usize;
    (low > 0).then_some((low, n + 1 - low))
}

/// What an interval of 95 % leaves out below, and the rest.
const BOTH_TAILS: [f64; 2] = [0.025, 0.975];

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

/// Fewer operations than this above a percentile say nothing about it (method.md L2).
const ABOVE_MIN: u64 = 10;
/// As many operations above a percentile make it solid (method.md L2).
const ABOVE_SOLID: u64 = 100;
const PARTS: u64 = 10_000;

impl Percentile {
    /// The latency that all but `tail` of 10 000 operations do not exceed: the p99 has a tail of
    /// 100. None where fewer than 10 operations lie above it.
    ///
    /// # Panics
    /// If `tail` is not inside 0 to 10 000.
    pub fn of(latencies: &Latencies, tail: u64) -> Option<Percentile> {
        assert!(tail > 0 && tail < PARTS, "a tail of {tail} in {PARTS} is no percentile");
        let n = latencies.count();
        let above = u128::from(n) * u128::from(tail);
        let at_least = |count: u64| above >= u128::from(count) * u128::from(PARTS);
        if !at_least(ABOVE_MIN) {
            return None;
        }
        let rank = n - (above / u128::from(PARTS)) as u64;
        let below = (PARTS - tail) as f64 / PARTS as f64;
        let [low, high] = binomial::quantiles(n, below, BOTH_TAILS);
        Some(Percentile {
            ns: value_at(latencies, rank),
            low_ns: value_at(latencies, low.max(1)),
            high_ns: value_at(latencies, (high + 1).min(n)),
            solid: at_least(ABOVE_SOLID),
        })
    }
}

/// The latency of rank `rank`, from 1, in ascending order.
fn value_at(latencies: &Latencies, rank: u64) -> u64 {
    let mut seen = 0;
    for (ns, count) in &latencies.counts {
        seen += count;
        if seen >= rank {
            return *ns;
        }
    }
    latencies.max_ns
}
