//! The repetition within a run: what its intervals are valid for, and how it could learn more in
//! the same time.

use crate::form::{As, FormOf};
use crate::invocations::Spread;
use crate::middle::median;
use crate::rounds::UNITS_LEAST;
use crate::row::Row;
use model::plan::Role;
use model::record::{Invocation, Record};
use model::trial::Trial;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The repetition within a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Repetition {
    /// Number of invocations: as planned, or more if the run was resumed. If the run was given a
    /// time, those it had.
    pub invocations: u32,
    /// Number of rounds, over all invocations: as planned, or more if the run was resumed. If the
    /// run was given a time, those it had.
    pub rounds: u32,
    /// Whether each had new test files; otherwise only new workers.
    pub has_new_files: bool,
    /// Whether there were enough rounds (or invocations, if there are several) to test whether they
    /// depend on each other.
    pub is_dependence_checked: bool,
    /// The variation: medians over the requested cases; `None` with one invocation.
    #[serde(skip)]
    pub spread: Option<Spread>,
    /// The cost of an invocation besides its rounds, and of a round; `None` if unknown.
    #[serde(flatten, with = "As::<KnownCosts>")]
    pub costs: Option<Costs>,
    /// The number of rounds per invocation that gives most information in the same time: median
    /// over the requested cases (docs/method); null if unknown.
    pub advised_rounds: Option<u32>,
}

/// Costs in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Costs {
    /// The pause, and creating everything again.
    pub invocation_s: f64,
    /// Running all cases once.
    pub round_s: f64,
}

/// The published form of costs.
#[derive(Serialize, JsonSchema)]
struct KnownCosts {
    /// Seconds to begin an invocation: the pause, and creating everything again. Null with one
    /// invocation.
    invocation_s: Option<f64>,
    /// Seconds to run all cases once; null with one invocation.
    round_s: Option<f64>,
}

impl FormOf<Option<Costs>> for KnownCosts {
    fn of(costs: &Option<Costs>) -> KnownCosts {
        KnownCosts {
            invocation_s: costs.map(|costs| costs.invocation_s),
            round_s: costs.map(|costs| costs.round_s),
        }
    }
}

impl Repetition {
    /// The repetition of a record with these rows.
    pub(crate) fn of(record: &Record, rows: &[Row]) -> Repetition {
        let asked = || rows.iter().filter(|row| row.measured.role == Role::Asked && row.stands());
        let spreads: Vec<Spread> = asked().filter_map(|row| row.summary.rate()?.spread).collect();
        let costs = costs(record);
        let best = |costs: Costs| {
            let ratio = costs.invocation_s / costs.round_s;
            let of_each = spreads.iter().filter_map(|spread| spread.best_rounds(ratio));
            median(&of_each.map(f64::from).collect::<Vec<f64>>()).map(|rounds| rounds.ceil() as u32)
        };
        let units = |row: &Row| row.measured.units().len();
        let spread = usual(&spreads);
        let is_seen = spread.is_some_and(|spread| spread.between > 0.0);
        let plan = &record.header.plan;
        let invocations = planned_or_measured(record, plan.invocations, |trial| trial.invocation);
        Repetition {
            invocations: invocations.max(1),
            rounds: planned_or_measured(record, plan.rounds, |trial| trial.round),
            has_new_files: record.invocations.iter().any(|anew| !anew.fixtures.is_empty()),
            spread,
            costs,
            advised_rounds: costs.and_then(best).filter(|_| is_seen),
            is_dependence_checked: asked().map(units).min().is_some_and(|n| n >= UNITS_LEAST),
        }
    }
}

/// The medians of both components.
fn usual(spreads: &[Spread]) -> Option<Spread> {
    let between: Vec<f64> = spreads.iter().map(|spread| spread.between).collect();
    let within: Vec<f64> = spreads.iter().filter_map(|spread| spread.within).collect();
    Some(Spread { between: median(&between)?, within: median(&within) })
}

/// What was planned, or the different values `of` trials if there are more.
fn planned_or_measured(record: &Record, planned: u32, of: fn(&Trial) -> u32) -> u32 {
    let measured: BTreeSet<u32> = record.trials.iter().map(of).collect();
    let measured = measured.len() as u32;
    // The time of a campaign may have been over before all that was planned.
    if record.header.plan.budget.is_some() { measured } else { planned.max(measured) }
}

/// The costs of invocations and rounds, from when each invocation was ready and how long that took.
/// Skips the first, because what precedes it is not timed, and rounds that were interrupted.
fn costs(record: &Record) -> Option<Costs> {
    let anew = &record.invocations;
    let made: Vec<f64> = anew.iter().map(|one| one.made_ms as f64 / 1e3).collect();
    let mut rounds: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for trial in &record.trials {
        rounds.entry(trial.invocation).or_default().insert(trial.round);
    }
    let is_whole = |one: &Invocation| one.resumed.is_none();
    let round_s = anew.iter().enumerate().filter_map(|(index, next)| {
        let before = index.checked_sub(1).map(|before| &anew[before]);
        if !is_whole(next) || before.is_some_and(|before| !is_whole(before)) {
            return None;
        }
        let (number, began_ms) = before.map_or((0, 0), |before| (before.number, before.at_ms));
        let ms = next.at_ms.checked_sub(next.made_ms)?.checked_sub(began_ms)?;
        let rounds = rounds.get(&number)?;
        if rounds.iter().any(|round| record.header.plan.is_further(*round)) {
            // Further rounds have fewer cases.
            return None;
        }
        let rounds = rounds.len();
        (ms > 0).then(|| ms as f64 / 1e3 / rounds as f64)
    });
    let round_s = median(&round_s.collect::<Vec<f64>>())?;
    Some(Costs { invocation_s: median(&made)?, round_s })
}
