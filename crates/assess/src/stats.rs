//! Medians with exact intervals, percentiles with theirs.

use crate::binomial;
use model::plan::ROUNDS_MIN;

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
    /// The mean: of rates that of all that was done by all the time that it took, else the
    /// arithmetic one.
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

    /// The estimate of `factor` times the quantity.
    pub(crate) fn scaled(self, factor: f64) -> Estimate {
        let scale = |value: f64| value * factor;
        Estimate {
            n: self.n,
            median: scale(self.median),
            low: self.low.map(scale),
            high: self.high.map(scale),
            mean: scale(self.mean),
            min: scale(self.min),
            max: scale(self.max),
        }
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
/// median. It is the least number of rounds that protects the coverage (METHODOLOGY.md).
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
/// counts the values below the median (Hahn and Meeker; METHODOLOGY.md). None for 5 or fewer.
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

#[cfg(test)]
mod tests {
    use super::*;
    use model::random::Rng;
    use proptest::prelude::*;

    /// The table of METHODOLOGY.md.
    #[test]
    fn ranks_are_those_of_the_table() {
        for n in 0..=5 {
            assert_eq!(median_ranks(n), None, "{n}");
        }
        for (n, ranks) in [
            (6, (1, 6)),
            (7, (1, 7)),
            (8, (1, 8)),
            (9, (2, 8)),
            (10, (2, 9)),
            (12, (3, 10)),
            (15, (4, 12)),
            (20, (6, 15)),
            (30, (10, 21)),
        ] {
            assert_eq!(median_ranks(n), Some(ranks), "{n}");
        }
    }

    #[test]
    fn an_estimate_is_what_it_says() {
        assert_eq!(Estimate::of(&[]), None);
        let four = Estimate::of(&[4.0, 1.0, 3.0, 2.0]).expect("there are values");
        let (low, high) = (None, None);
        let expected = Estimate { n: 4, median: 2.5, low, high, mean: 2.5, min: 1.0, max: 4.0 };
        assert_eq!(four, expected);
        let nine: Vec<f64> = (1..=9).map(f64::from).collect();
        let nine = Estimate::of(&nine).expect("there are values");
        assert_eq!((nine.low, nine.median, nine.high), (Some(2.0), 5.0, Some(8.0)));
        assert_eq!(nine.relative_half_width(), Some(0.6));
        assert_eq!(four.relative_half_width(), None);
    }

    #[test]
    fn a_case_is_settled_by_rounds_and_precision() {
        let close = [100.0, 101.0, 99.0, 100.5, 99.5, 100.0, 100.0];
        assert!(is_settled(&close, 0.01));
        assert!(!is_settled(&close, 0.005));
        assert!(!is_settled(&close[..6], 0.5), "fewer than the least number of rounds");
        assert!(!is_settled(&[0.0; 10], 0.5), "nothing is known about nothing");
        assert!(!is_settled(&[], 0.5));
    }

    proptest! {
        #[test]
        fn an_interval_holds_its_median(values in proptest::collection::vec(0.0f64..1e12, 1..60)) {
            let estimate = Estimate::of(&values).expect("there are values");
            prop_assert_eq!(estimate.low.is_some(), values.len() >= 6);
            let low = estimate.low.unwrap_or(estimate.min);
            let high = estimate.high.unwrap_or(estimate.max);
            prop_assert!(estimate.min <= low && low <= estimate.median);
            prop_assert!(estimate.median <= high && high <= estimate.max);
            let mut turned = values;
            turned.reverse();
            prop_assert_eq!(Estimate::of(&turned).map(|e| e.median), Some(estimate.median));
        }
    }

    const SESSIONS: u32 = 4_000;

    /// One value around 1 with a coefficient of variation of 5 % (Box and Muller).
    fn normal(rng: &mut Rng) -> f64 {
        let radius = (-2.0 * (1.0 - rng.unit()).ln()).sqrt();
        1.0 + 0.05 * radius * (std::f64::consts::TAU * rng.unit()).cos()
    }

    /// The same, but 15 % of the values are half of it.
    fn with_outliers(rng: &mut Rng) -> f64 {
        let value = normal(rng);
        if rng.unit() < 0.15 { value / 2.0 } else { value }
    }

    /// Of many sessions, the share in which the interval held the true median.
    fn coverage(truth: f64, mut session: impl FnMut() -> Vec<f64>) -> f64 {
        let holds = |values: &[f64]| {
            let estimate = Estimate::of(values).expect("there are values");
            estimate.low.is_some_and(|low| low <= truth)
                && estimate.high.is_some_and(|high| truth <= high)
        };
        f64::from((0..SESSIONS).map(|_| u32::from(holds(&session()))).sum::<u32>())
            / f64::from(SESSIONS)
    }

    /// By the binomial distribution .9785 for 10 rounds and .9572 for 30, outliers or not.
    #[test]
    fn intervals_cover_the_median_as_often_as_they_say() {
        // With 15 % of values far below, the median is the 0.35/0.85 quantile of the others.
        let with_outliers_median = 1.0 - 0.05 * 0.222_9;
        for (n, expected) in [(10, 0.978_5), (30, 0.957_2)] {
            let mut rng = Rng::new(n);
            let plain = coverage(1.0, || (0..n).map(|_| normal(&mut rng)).collect());
            assert!((plain - expected).abs() < 0.01, "normal, {n} rounds: {plain}");
            let outliers = coverage(with_outliers_median, || {
                (0..n).map(|_| with_outliers(&mut rng)).collect()
            });
            assert!((outliers - expected).abs() < 0.01, "outliers, {n} rounds: {outliers}");
        }
    }

    /// Looking after each round and stopping when it looks good costs coverage; the least number
    /// of rounds keeps that within 3 points.
    #[test]
    fn stopping_early_costs_little_coverage() {
        let mut rng = Rng::new(3);
        let stopped = coverage(1.0, || {
            let mut values = Vec::new();
            while values.len() < 30 && !is_settled(&values, 0.025) {
                values.push(normal(&mut rng));
            }
            values
        });
        assert!(stopped > 0.92, "{stopped}");
    }
}
