//! The ratio of two cases, from the rounds in which both were measured.

use crate::measured::Rounds;
use crate::stats::Estimate;

/// The ratio of two quantities: median of the ratios of paired rounds, with its interval.
///
/// The rounds of a run share its drifts; a ratio within a round does not see them, so it tells
/// far smaller differences than the ratio of two medians (method.md §5.5).
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
