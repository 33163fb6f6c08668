//! Whether the rate of writing became steady, by the rule of the SNIA, and where its fast part
//! ended.

use crate::cliff::{Cliff, cliff};
use crate::course::{SNIA_WINDOW, TimeSeries, excursion, is_within_limits, range};
use crate::decision::{Decision, Named};
use crate::form::{As, Seconds};
use crate::middle::mean;
use crate::row::Row;
use model::plan::Role;
use model::units::NS_PER_SECOND;
use schemars::JsonSchema;
use serde::Serialize;

/// How often a file is written before a round counts. The SNIA writes a device twice
/// (docs/method).
const PRECONDITIONING: u64 = 2;

/// Whether a case whose trials follow each other became steady.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SteadyState {
    /// The case.
    pub case: Named,
    /// Whether the last five rounds are within the SNIA's limits. Undecided with fewer than five
    /// that count.
    pub steady: Decision,
    /// Bytes that all trials moved.
    pub bytes: u64,
    /// Number of rounds: the steps of the time series. 0 if there is none.
    pub rounds: usize,
    /// Duration of a round in seconds; null without rounds.
    #[serde(rename = "round_s", with = "As::<Option<Seconds>>")]
    pub round_ns: Option<u64>,
    /// Bytes that precondition the test file: before the case has moved as many, no round counts.
    pub preconditioning_bytes: u64,
    /// The first round that counts, from 1; null if none does.
    pub counts_from: Option<usize>,
    /// What has been steady until the end; null if it is not.
    pub since: Option<SteadySince>,
    /// The range of the last five rounds, relative to their mean; null with fewer that count.
    pub range: Option<f64>,
    /// How much the line fitted to them rises, relative to their mean; negative if it falls.
    pub slope: Option<f64>,
    /// The step in the rate; null if there is none.
    pub cliff: Option<Cliff>,
}

/// The rounds of which each five in a row are within the SNIA's limits, until the last.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct SteadySince {
    /// The first of them, from 1.
    pub round: usize,
    /// Bytes written before it.
    pub at_bytes: u64,
    /// Bytes per second: the sustained figure of the row or, without one, the mean of the rounds.
    pub rate: f64,
}

/// The requested cases whose trials follow each other.
pub(super) fn steady_states(rows: &[Row]) -> Vec<SteadyState> {
    let is_asked = |row: &&Row| row.measured.role == Role::Asked && row.measured.sustain.is_some();
    rows.iter().filter(is_asked).filter_map(steady_state).collect()
}

fn steady_state(row: &Row) -> Option<SteadyState> {
    let work = row.write()?;
    // Of a mix, only writes precondition.
    let written = 100u64.checked_sub(work.read_share.into()).filter(|share| *share > 0)?;
    let preconditioning_bytes = work.io.size.saturating_mul(PRECONDITIONING * 100) / written;
    let course = row.summary.course.as_ref();
    let rates = course.map_or(&[][..], |course| &course.rates);
    let round_ns = course.map(|course| course.step_ns);
    let before = cumulated(rates, round_ns.unwrap_or(0));
    let counts = before.iter().position(|bytes| *bytes >= preconditioning_bytes as f64);
    let counting = &rates[counts.unwrap_or(rates.len())..];
    let last = counting.len().checked_sub(SNIA_WINDOW).map(|first| &counting[first..]);
    let since = course.zip(counts).and_then(|(course, counts)| {
        let index = counts + steady_from(counting)?;
        Some(SteadySince {
            round: index + 1,
            at_bytes: before[index].round() as u64,
            rate: course.sustained.unwrap_or_else(|| mean(&rates[index..])),
        })
    });
    Some(SteadyState {
        case: Named::of(&row.summary)?,
        steady: match (last, since) {
            (None, _) => Decision::Undecided,
            (Some(_), Some(_)) => Decision::Yes,
            (Some(_), None) => Decision::No,
        },
        bytes: row.measured.trials.iter().map(|trial| trial.sample.bytes()).sum(),
        rounds: rates.len(),
        round_ns,
        preconditioning_bytes,
        counts_from: counts.map(|index| index + 1),
        since,
        range: last.map(|window| range(window) / mean(window)),
        slope: last.map(|window| excursion(window) / mean(window)),
        cliff: course.and_then(|course: &TimeSeries| cliff(&row.measured, course)),
    })
}

/// The bytes moved before each step.
fn cumulated(rates: &[f64], step_ns: u64) -> Vec<f64> {
    let step_s = step_ns as f64 / NS_PER_SECOND;
    let add = |sum: &mut f64, rate: &f64| Some(std::mem::replace(sum, *sum + rate * step_s));
    rates.iter().scan(0.0, add).collect()
}

/// The first value from which on each five in a row are within the limits, until the last.
fn steady_from(rates: &[f64]) -> Option<usize> {
    let windows: Vec<bool> = rates.windows(SNIA_WINDOW).map(is_within_limits).collect();
    windows.last().filter(|is_steady| **is_steady)?;
    Some(windows.iter().rposition(|is_steady| !is_steady).map_or(0, |last| last + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Oracle: the definition, from its words.
    fn naive(rates: &[f64]) -> Option<usize> {
        let holds = |from: usize| {
            let windows = (from..).map_while(|at| rates.get(at..at + SNIA_WINDOW));
            let all: Vec<bool> = windows.map(is_within_limits).collect();
            !all.is_empty() && all.iter().all(|is_steady| *is_steady)
        };
        (0..rates.len()).find(|from| holds(*from))
    }

    proptest! {
        #[test]
        fn what_is_steady_until_the_end_is_found(
            rates in proptest::collection::vec(85.0f64..115.0, 0..30)
        ) {
            prop_assert_eq!(steady_from(&rates), naive(&rates));
        }
    }
}
