//! The number that a command prints about itself.

use crate::measured::Measured;
use crate::stats::Estimate;
use model::figure::PrintedFigure;
use schemars::JsonSchema;
use serde::Serialize;

/// The number that a command prints about itself, such as a rate. Nothing here says whether it is
/// right.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ToldFigure {
    /// Its unit; null if unknown. Rates of bytes that are printed in several units are in B/s.
    pub unit: Option<String>,
    /// The number.
    pub value: Estimate,
    /// The number of each round that printed one.
    pub rounds: Vec<ToldRound>,
    /// Rounds that count, but printed none.
    pub without: usize,
}

/// The number that a round printed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ToldRound {
    /// The invocation, from 0.
    pub invocation: u32,
    /// The round, numbered from 0 over all invocations.
    pub round: u32,
    /// The number.
    pub value: f64,
}

/// The unit of rates that are printed in several.
pub const BYTES_PER_SECOND: &str = "B/s";

impl ToldFigure {
    /// That of a case; `None` if no round printed one, or if units differ and are not all rates of
    /// bytes.
    pub(crate) fn of(measured: &Measured) -> Option<ToldFigure> {
        let figures = || measured.trials.iter().filter_map(|trial| trial.sample.figure.as_ref());
        let unit = figures().next()?.unit.clone();
        let is_same = figures().all(|figure| figure.unit == unit);
        let (unit, value): (_, fn(&PrintedFigure) -> Option<f64>) = match is_same {
            true => (unit, PrintedFigure::value),
            false if figures().all(|figure| figure.bytes_per_second().is_some()) => {
                (Some(BYTES_PER_SECOND.to_string()), PrintedFigure::bytes_per_second)
            }
            false => return None,
        };
        let rounds = measured.trials.iter().filter_map(|trial| {
            let value = trial.sample.figure.as_ref().and_then(value)?;
            Some(ToldRound { invocation: trial.invocation, round: trial.round, value })
        });
        let rounds: Vec<ToldRound> = rounds.collect();
        Some(ToldFigure {
            unit,
            value: measured.estimate(|trial| trial.sample.figure.as_ref().and_then(value))?,
            without: measured.n() - rounds.len(),
            rounds,
        })
    }
}
