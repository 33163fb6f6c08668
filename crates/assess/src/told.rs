//! The number that a command prints about itself.

use crate::commands::moved_bytes;
use crate::counted::Counted;
use crate::measured::Measured;
use crate::stats::{Estimate, median};
use model::figure::PrintedFigure;
use model::named;
use model::units::NS_PER_SECOND;
use schemars::JsonSchema;
use serde::Serialize;

/// The number that a command prints about itself, such as a rate.
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
    /// What the OS counted beside it; null if it is no number of bytes and no rate of bytes, or if
    /// calls do not show all that the command read and wrote.
    pub counted: Option<CountedBeside>,
}

/// What the OS counted beside a number that a command prints.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct CountedBeside {
    /// Whether these bytes were read, written, or both: what is nearest to the number.
    pub moved: MovedBytes,
    /// Bytes that calls of a run moved so: median of the rounds.
    pub bytes: u64,
    /// The number divided by these bytes; a rate, by what they are as a mean over the whole run.
    pub times: f64,
    /// What that says of the number.
    pub verdict: ToldVerdict,
}

named! {
    /// Bytes that calls move.
    MovedBytes "moved" {
        /// Those that calls read.
        Read "read",
        /// Those that calls wrote.
        Written "written",
        /// All of them.
        Both "read and written",
    }
}

named! {
    /// What counters say of a number that a command prints.
    ToldVerdict "told" {
        /// It is that of the whole run, but for a tenth.
        Agrees "agrees",
        /// It may be that of a part of the run.
        Part "part",
        /// At this rate, what was moved takes longer than the run.
        TooLow "too low",
        /// It is more bytes than calls moved; or at this rate, they take at most half of the time.
        TooHigh "too high",
    }
}

/// What differs by less is the same (docs/method).
const SAME: f64 = 0.10;
/// A rate that is more than so many times that of the whole run is noted (docs/method).
const RATE_TIMES: f64 = 2.0;
/// Fewer bytes are no data.
const BYTES_LEAST: u64 = 64 << 10;

impl CountedBeside {
    fn of(measured: &Measured) -> Option<CountedBeside> {
        let figures = || measured.trials.iter().filter_map(|trial| trial.sample.figure.as_ref());
        let is_rate = figures().next()?.bytes_per_second().is_some();
        let claimed = |trial: &Counted| {
            let figure = trial.sample.figure.as_ref()?;
            let of_run = |rate: f64| rate * trial.wall_ns() as f64 / NS_PER_SECOND;
            if is_rate { figure.bytes_per_second().map(of_run) } else { figure.bytes() }
        };
        let all = [MovedBytes::Read, MovedBytes::Written, MovedBytes::Both].map(|moved| {
            let count = |trial: &Counted| Some(of_kind(moved_bytes(measured, trial)?, moved));
            let bytes = measured.median_count(count)?;
            let times = |trial: &Counted| {
                let times = claimed(trial)? / count(trial)? as f64;
                Some(times).filter(|times| times.is_finite())
            };
            let times = median(&measured.values(times)).filter(|times| *times > 0.0)?;
            let is_mixed = || {
                let less = |trial: &Counted| {
                    let (read, written) = moved_bytes(measured, trial)?;
                    Some(read.min(written))
                };
                measured.median_count(less).is_some_and(|less| less >= BYTES_LEAST)
            };
            let is_data = bytes >= BYTES_LEAST && (moved != MovedBytes::Both || is_mixed());
            is_data.then_some((moved, bytes, times))
        });
        let all: Vec<(MovedBytes, u64, f64)> = all.into_iter().flatten().collect();
        let apart = |times: f64| times.ln().abs();
        let nearest = all.iter().min_by(|a, b| apart(a.2).total_cmp(&apart(b.2)))?;
        let (moved, bytes, times) = *nearest;
        let is_each = |holds: &dyn Fn(f64) -> bool| all.iter().all(|(.., times)| holds(*times));
        let verdict = match is_rate {
            _ if (1.0 - SAME..=1.0 + SAME).contains(&times) => ToldVerdict::Agrees,
            true if is_each(&|times| times < 1.0 - SAME) => ToldVerdict::TooLow,
            true if is_each(&|times| times > RATE_TIMES) => ToldVerdict::TooHigh,
            false if is_each(&|times| times > 1.0 + SAME) => ToldVerdict::TooHigh,
            _ => ToldVerdict::Part,
        };
        Some(CountedBeside { moved, bytes, times, verdict })
    }
}

/// Those of one kind.
fn of_kind((read, written): (u64, u64), moved: MovedBytes) -> u64 {
    match moved {
        MovedBytes::Read => read,
        MovedBytes::Written => written,
        MovedBytes::Both => read.saturating_add(written),
    }
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
            counted: CountedBeside::of(measured),
        })
    }
}
