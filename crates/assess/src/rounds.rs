//! How a rate goes from round to round: whether its rounds could as well have come in another
//! order.

use crate::course::split;
use crate::permutation::{RARE, is_rare};
use crate::stats::{Estimate, median};

/// Two levels of a rate: that of the first rounds, and that of the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Levels {
    /// How many rounds came before the step.
    pub(crate) at: usize,
    /// Their median.
    pub(crate) before: f64,
    /// The median of the others.
    pub(crate) after: f64,
}

impl Levels {
    /// The step from round to round, if there is one, by the same rules as within a trial.
    pub(crate) fn of(rates: &[f64]) -> Option<Levels> {
        let at = split(rates)?;
        let (before, after) = rates.split_at(at);
        Some(Levels { at, before: median(before)?, after: median(after)? })
    }
}

/// Fewer rounds than this, or invocations, do not tell a drift from chance: whether they depend on
/// each other is not checked then (METHODOLOGY.md).
pub(crate) const UNITS_LEAST: usize = 10;
/// An interval that is narrower than this on either side, drift included, is narrow enough: the
/// precision at which a case is done (METHODOLOGY.md).
const PRECISE: f64 = 0.025;

/// The lag-1 autocorrelation of the ranks of the rounds' rates, where chance would seldom give
/// them one as high, and where it matters: taken into account the interval is wider than what is
/// aimed at.
///
/// Ranks, so that one slow round decides nothing. An interval of rounds that depend on each other
/// by `r` is too narrow by the root of `(1+r)/(1-r)` (METHODOLOGY.md).
pub fn drift(rates: &[f64]) -> Option<f64> {
    if rates.len() < UNITS_LEAST {
        return None;
    }
    let ranks = ranks(rates);
    let r = lag_one(&ranks);
    let half_width = Estimate::of(rates)?.relative_half_width()?;
    let matters = r > 0.0 && half_width * ((1.0 + r) / (1.0 - r)).sqrt() > PRECISE;
    (matters && is_rare(&ranks, lag_one, RARE)).then_some(r)
}

/// The autocorrelation of values with those that come next; 0 where all are the same.
fn lag_one(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let square: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let next = values.iter().zip(values.iter().skip(1));
    let product: f64 = next.map(|(a, b)| (a - mean) * (b - mean)).sum();
    if square > 0.0 { product / square } else { 0.0 }
}

/// The rank of each value, from 0; of those that are equal, the mean.
fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let below = values.iter().filter(|other| *other < value).count();
        let equal = values.iter().filter(|other| *other == value).count();
        below as f64 + (equal as f64 - 1.0) / 2.0
    };
    values.iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_counted_from_the_least() {
        assert_eq!(ranks(&[30.0, 10.0, 20.0]), [2.0, 0.0, 1.0]);
        assert_eq!(ranks(&[7.0, 1.0, 7.0, 9.0]), [1.5, 0.0, 1.5, 3.0]);
        assert_eq!(ranks(&[]), [0.0; 0]);
    }

    #[test]
    fn what_follows_itself_correlates() {
        let rising: Vec<f64> = (0..30).map(f64::from).collect();
        assert!(lag_one(&rising) > 0.85);
        let turning: Vec<f64> = (0..30).map(|round| f64::from(round % 2)).collect();
        assert!(lag_one(&turning) < -0.9);
        assert_eq!(lag_one(&[5.0; 30]), 0.0);
        assert_eq!(lag_one(&[]), 0.0);
    }
}
