//! Runs that are given a time.

use model::record::Record;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};

/// What a run did with the time that it was given.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Campaign {
    /// The time in seconds.
    pub for_s: f64,
    /// How many of the planned rounds have all cases.
    pub planned_rounds: usize,
    /// How many rounds followed, of the cases with the widest intervals only.
    pub further_rounds: usize,
    /// Whether it had to end early, because the record had no room for more trials.
    pub is_full: bool,
}

impl Campaign {
    /// Of a record; `None` if its plan decides.
    pub(crate) fn of(record: &Record) -> Option<Campaign> {
        let plan = &record.header.plan;
        let for_s = plan.budget?.as_secs_f64();
        let mut cases: BTreeMap<u32, HashSet<usize>> = BTreeMap::new();
        for trial in &record.trials {
            cases.entry(trial.round).or_default().insert(trial.case);
        }
        let (further, planned): (Vec<_>, Vec<_>) =
            cases.into_iter().partition(|(round, _)| plan.is_further(*round));
        let is_whole = |cases: &HashSet<usize>| cases.len() == plan.cases.len();
        let planned_rounds = planned.iter().filter(|(_, cases)| is_whole(cases)).count();
        Some(Campaign {
            for_s,
            planned_rounds,
            further_rounds: further.len(),
            is_full: record.is_full(),
        })
    }
}
