//! Rates as shares of what a closed loop does: `rate = "50%"`.
//!
//! What it does is measured before the run, so a plan has such cases only then.

use anyhow::{Result, bail};
use model::case::Case;
use model::sweep::{Sweep, product};

/// The largest share in percent.
const PERCENT_MAX: u32 = 1000;

/// A case whose rates are shares of what it does in a closed loop.
#[derive(Debug, Clone, PartialEq)]
pub struct Relative {
    /// The case with any rate.
    open: Case,
    /// The shares in percent.
    pub percents: Vec<u32>,
}

impl Relative {
    /// The cases of a sweep whose rates are shares; `complete` finishes each.
    ///
    /// # Errors
    /// If a value is invalid for its axis.
    pub(super) fn all_of(mut sweep: Sweep, complete: impl Fn(&mut Case)) -> Result<Vec<Relative>> {
        let percents = take_percents(&mut sweep)?;
        if percents.is_empty() {
            return Ok(Vec::new());
        }
        let rates = sweep.iter_mut().filter(|(axis, _)| axis == "rate");
        rates.for_each(|(_, values)| *values = vec!["1".to_string()]);
        let of = |mut open: Case| {
            complete(&mut open);
            Relative { open, percents: percents.clone() }
        };
        Ok(product(&sweep)?.into_iter().map(of).collect())
    }

    /// The case at `rate` operations per second.
    pub fn at(&self, rate: u64) -> Case {
        self.open.at_rate(rate)
    }

    /// The case in a closed loop, alone: what runs beside it must not change the rates.
    pub fn closed(&self) -> Case {
        self.open.at_rate(0).alone()
    }
}

/// The shares among the rates of a sweep; instead of them, it gets the closed loop.
///
/// # Errors
/// If a share is no whole number of percent.
pub(super) fn take_percents(sweep: &mut Sweep) -> Result<Vec<u32>> {
    let Some((_, rates)) = sweep.iter_mut().find(|(axis, _)| axis == "rate") else {
        return Ok(Vec::new());
    };
    let (shares, mut others): (Vec<String>, _) =
        std::mem::take(rates).into_iter().partition(|rate| rate.trim().ends_with('%'));
    if !shares.is_empty() && !others.iter().any(|rate| rate == "closed") {
        others.insert(0, "closed".to_string());
    }
    *rates = others;
    shares.iter().map(|share| percent(share)).collect()
}

fn percent(text: &str) -> Result<u32> {
    match text.trim().trim_end_matches('%').trim_end().parse() {
        Ok(percent @ 1..=PERCENT_MAX) => Ok(percent),
        _ => bail!(
            "'{text}' is not a share of what a closed loop does: write a whole number from 1% to \
             {PERCENT_MAX}%"
        ),
    }
}
