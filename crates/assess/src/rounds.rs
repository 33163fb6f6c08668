//! A rate from round to round: whether the order of the rounds matters.

use crate::course::split;
use crate::permutation::{RARE, is_rare};
use crate::stats::{Estimate, median};

/// Two levels of a rate: that of the first rounds, and that of the rest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TwoLevels {
    /// Number of rounds before the step.
    pub(crate) at: usize,
    /// Their median.
    pub(crate) before: f64,
    /// The median of the rest.
    pub(crate) after: f64,
}

impl TwoLevels {
    /// The step from round to round, if there is one, by the same rules as within a trial.
    pub(crate) fn of(rates: &[f64]) -> Option<TwoLevels> {
        let at = split(rates)?;
        let (before, after) = rates.split_at(at);
        Some(TwoLevels { at, before: median(before)?, after: median(after)? })
    }
}

/// Minimum number of rounds or invocations for telling a drift from chance. With fewer, their
/// dependence is not tested (docs/method).
pub(crate) const UNITS_LEAST: usize = 10;
/// An interval that is narrower than this on either side, including drift, is narrow enough: the
/// precision at which a case is done (docs/method).
const PRECISE: f64 = 0.025;

/// The lag-1 autocorrelation of the ranks of the rounds' rates, if one this high is unlikely by
/// chance and it matters. It matters if the corrected interval is wider than the target.
///
/// Ranks keep a single slow round from deciding. With autocorrelation `r`, an interval is too
/// narrow by the square root of `(1+r)/(1-r)` (docs/method).
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

/// The autocorrelation of consecutive values; 0 if all are equal.
fn lag_one(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let square: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let next = values.iter().zip(values.iter().skip(1));
    let product: f64 = next.map(|(a, b)| (a - mean) * (b - mean)).sum();
    if square > 0.0 { product / square } else { 0.0 }
}

/// The rank of each value, from 0; the mean rank for equal values.
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
