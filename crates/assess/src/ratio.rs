//! The ratio of two cases, from the rounds that measured both.

use crate::invocations::{Round, TwoLevel, exchangeable};
use crate::measured::Rounds;
use crate::stats::{Estimate, median};
use schemars::JsonSchema;
use serde::Serialize;

/// The ratio of two quantities: the median over paired rounds, with its interval.
///
/// A run's drifts affect both values of a round, so they cancel in its ratio. It therefore resolves
/// far smaller differences than the ratio of two medians (docs/method).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Ratio {
    /// The median, computed on logarithms: the inverse ratio is its reciprocal.
    pub median: f64,
    /// Lower end of the 95 % interval; null with fewer than 6 pairs of one invocation.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
    /// Number of rounds that measured both; 0 for a ratio of the two medians.
    pub pairs: usize,
    /// Number of invocations; with one, the interval is valid within this run.
    pub invocations: usize,
}

impl Ratio {
    /// The ratio of `values` to `base`; none if they have no round in common.
    pub(crate) fn of(values: &Rounds, base: &Rounds) -> Option<Ratio> {
        Ratio::of_logs(&log_ratios(values, base))
    }

    /// The ratio from the logarithm of each pair; `None` without pairs.
    pub(crate) fn of_logs(logs: &[Round]) -> Option<Ratio> {
        if let Some(two) = TwoLevel::of_logs(logs) {
            let half = two.half_width();
            return Some(Ratio {
                pairs: logs.len(),
                invocations: two.logs.len(),
                median: two.centre.exp(),
                low: Some((two.centre - half).exp()),
                high: Some((two.centre + half).exp()),
            });
        }
        let logs: Vec<f64> = logs.iter().map(|round| round.value).collect();
        let estimate = Estimate::of(&logs)?;
        Some(Ratio {
            pairs: estimate.n,
            invocations: 1,
            median: estimate.median.exp(),
            low: estimate.low.map(f64::exp),
            high: estimate.high.map(f64::exp),
        })
    }

    /// The ratio the other way round.
    pub fn inverse(&self) -> Ratio {
        let inverse = |value: f64| 1.0 / value;
        Ratio {
            median: inverse(self.median),
            low: self.high.map(inverse),
            high: self.low.map(inverse),
            ..*self
        }
    }

    /// The same where nothing is known of how sure it is.
    pub(crate) fn without_interval(self) -> Ratio {
        Ratio { low: None, high: None, ..self }
    }

    /// The same, or the ratio of the two medians, without an interval, if they share no round.
    /// `None` if one of them has no rounds at all.
    pub(crate) fn of_any(values: &Rounds, base: &Rounds) -> Option<Ratio> {
        let of_medians = || {
            let middle = |rounds: &Rounds| median(&exchangeable(rounds));
            let ratio = middle(values)? / middle(base)?;
            Some(Ratio { pairs: 0, invocations: 1, median: ratio, low: None, high: None })
        };
        Ratio::of(values, base).or_else(of_medians)
    }
}

/// The logarithms of the ratios of `values` to `base`, for the rounds that both have.
pub(crate) fn log_ratios(values: &Rounds, base: &Rounds) -> Rounds {
    let base_of = |round: &Round| base.iter().find(|other| other.round == round.round);
    let log = |round: &Round| Some(round.with((round.value / base_of(round)?.value).ln()));
    values.iter().filter_map(log).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rounds(values: impl IntoIterator<Item = (u32, f64)>) -> Rounds {
        let of_one = |(round, value)| Round { round, value, ..Round::default() };
        values.into_iter().map(of_one).collect()
    }

    #[test]
    fn only_rounds_that_both_have_are_paired() {
        let base = rounds([(0, 10.0), (1, 20.0), (2, 40.0), (7, 1.0)]);
        let twice = rounds([(2, 80.0), (0, 20.0), (1, 40.0), (9, 5.0)]);
        let ratio = Ratio::of(&twice, &base).expect("three rounds are common");
        assert_eq!((ratio.pairs, ratio.low), (3, None));
        assert!((ratio.median - 2.0).abs() < 1e-12);
        assert_eq!(Ratio::of(&rounds([(9, 5.0)]), &base), None);
        let of_medians =
            Ratio { pairs: 0, invocations: 1, median: 5.0 / 15.0, low: None, high: None };
        assert_eq!(Ratio::of_any(&rounds([(9, 5.0)]), &base), Some(of_medians));
        assert_eq!(Ratio::of_any(&twice, &base), Ratio::of(&twice, &base));
        assert_eq!(Ratio::of_any(&twice, &Rounds::new()), None);
    }

    proptest! {
        /// A shared drift of any size cancels in the ratio.
        #[test]
        fn a_shared_drift_cancels(drift in proptest::collection::vec(1.0f64..1e9, 6..30)) {
            let rounds = |factor: f64| {
                rounds((0..).zip(&drift).map(|(round, level)| (round, factor * level)))
            };
            let ratio = Ratio::of(&rounds(3.0), &rounds(2.0)).expect("all rounds are common");
            let turned = Ratio::of(&rounds(2.0), &rounds(3.0)).expect("all rounds are common");
            for value in [Some(ratio.median), ratio.low, ratio.high] {
                prop_assert!((value.expect("there are 6 or more") - 1.5).abs() < 1e-9);
            }
            prop_assert!((ratio.median * turned.median - 1.0).abs() < 1e-9);
        }
    }
}
