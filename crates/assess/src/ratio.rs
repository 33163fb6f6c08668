//! The ratio of two cases, from the rounds in which both were measured.

use crate::measured::Rounds;
use crate::stats::Estimate;

/// The ratio of two quantities: median of the ratios of paired rounds, with its interval.
///
/// The rounds of a run share its drifts; a ratio within a round does not see them, so it tells
/// far smaller differences than the ratio of two medians (METHODOLOGY.md).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ratio {
    /// Rounds in which both were measured.
    pub(crate) pairs: usize,
    /// The median, computed on logarithms: the ratio turned over is its reciprocal.
    pub(crate) median: f64,
    /// Lower end of the exact 95 % interval; none below 6 pairs.
    pub(crate) low: Option<f64>,
    /// Upper end.
    pub(crate) high: Option<f64>,
}

impl Ratio {
    /// The ratio of `values` to `base`; none if they have no round in common.
    pub(crate) fn of(values: &Rounds, base: &Rounds) -> Option<Ratio> {
        let base_of = |round| base.iter().find(|(other, _)| *other == round);
        let logs: Vec<f64> = values
            .iter()
            .filter_map(|(round, value)| Some((value / base_of(*round)?.1).ln()))
            .collect();
        let estimate = Estimate::of(&logs)?;
        Some(Ratio {
            pairs: estimate.n,
            median: estimate.median.exp(),
            low: estimate.low.map(f64::exp),
            high: estimate.high.map(f64::exp),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_rounds_that_both_have_are_paired() {
        let base = vec![(0, 10.0), (1, 20.0), (2, 40.0), (7, 1.0)];
        let twice = vec![(2, 80.0), (0, 20.0), (1, 40.0), (9, 5.0)];
        let ratio = Ratio::of(&twice, &base).expect("three rounds are common");
        assert_eq!((ratio.pairs, ratio.low), (3, None));
        assert!((ratio.median - 2.0).abs() < 1e-12);
        assert_eq!(Ratio::of(&vec![(9, 5.0)], &base), None);
    }

    proptest! {
        /// A drift that both share, however large, is not in the ratio.
        #[test]
        fn a_shared_drift_cancels(drift in proptest::collection::vec(1.0f64..1e9, 6..30)) {
            let rounds = |factor: f64| -> Rounds {
                (0..).zip(&drift).map(|(round, level)| (round, factor * level)).collect()
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
