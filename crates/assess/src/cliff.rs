//! The cliff of a rate: where the fast part of writing ends.

use crate::course::{Change, JUDGED_NS, LOWER_MOST, TimeSeries, WINDOW};
use crate::course::{change, sequence, split_by, step_ns};
use crate::curve::{Curve, full_steps};
use crate::measured::Measured;
use crate::permutation::RARE;
use model::units::NS_PER_SECOND;
use schemars::JsonSchema;
use serde::Serialize;

/// A step in the rate of trials that follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Cliff {
    /// The levels, and where the step is. The level after it is that of all that followed.
    #[serde(flatten)]
    pub change: Change,
    /// Bytes moved in the two steps of the time series beside it: it happened within them.
    pub within_bytes: u64,
    /// An estimate of what a cache or credits had saved up: the bytes moved before the step beyond
    /// those that the level after it would have moved. Null if the rate rose.
    pub saved_bytes: Option<u64>,
}

/// A step is also searched for in the first quarter, in the first quarter of that, and so on: of
/// the whole, a short fast part is less than three steps (docs/method).
const PART: u64 = 4;

/// The step of the whole time series; without one, a fall in the longest first part that has one.
pub(crate) fn cliff(measured: &Measured, course: &TimeSeries) -> Option<Cliff> {
    if let Some(change) = course.change {
        return Some(Cliff::of(change, &course.rates, course.step_ns));
    }
    let (curve, lump_ns) = sequence(measured)?;
    let shorter = |length_ns: &u64| Some(length_ns / PART);
    let parts = std::iter::successors(Some(curve.length_ns()), shorter).skip(1);
    let parts: Vec<u64> = parts.take_while(|ns| full_steps(*ns, JUDGED_NS) >= WINDOW).collect();
    let p = RARE / parts.len() as f64;
    parts.iter().find_map(|part_ns| early_fall(&curve, *part_ns, step_ns(*part_ns, lump_ns), p))
}

/// The fall in the first `part_ns` of a curve, if what follows stays as low.
fn early_fall(curve: &Curve, part_ns: u64, step_ns: u64, p: f64) -> Option<Cliff> {
    let rates = curve.rates(step_ns);
    let at = split_by(rates.get(..full_steps(part_ns, step_ns))?, LOWER_MOST, p)?;
    let change = change(curve, &rates, at, step_ns);
    let is_fall = change.after <= LOWER_MOST * change.before;
    is_fall.then(|| Cliff::of(change, &rates, step_ns))
}

impl Cliff {
    /// At the step `change` of `rates`.
    fn of(change: Change, rates: &[f64], step_ns: u64) -> Cliff {
        let at = (change.at_ns / step_ns.max(1)) as usize;
        let beside = at.saturating_sub(1)..(at + 1).min(rates.len());
        let bytes = |rate: f64, ns: u64| (rate * ns as f64 / NS_PER_SECOND).round() as u64;
        let within_bytes = rates[beside].iter().map(|rate| bytes(*rate, step_ns)).sum();
        let saved = change.at_bytes.saturating_sub(bytes(change.after, change.at_ns));
        Cliff { change, within_bytes, saved_bytes: (!change.is_rise()).then_some(saved) }
    }
}
