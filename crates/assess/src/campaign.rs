//! Runs that are given a time.

use model::record::Record;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet};

/// What a run did with the time that it was given.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Campaign {
    /// The time in seconds.
    pub for_s: f64,
    /// How many of the planned rounds have all cases that were not pruned.
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
        let pruned: HashMap<usize, u32> =
            record.pruned.iter().map(|pruned| (pruned.case, pruned.round)).collect();
        let is_whole = |(round, cases): &&(u32, HashSet<usize>)| {
            let is_pruned = |case: usize| pruned.get(&case).is_some_and(|first| first <= round);
            (0..plan.cases.len()).all(|case| cases.contains(&case) || is_pruned(case))
        };
        let planned_rounds = planned.iter().filter(is_whole).count();
        Some(Campaign {
            for_s,
            planned_rounds,
            further_rounds: further.len(),
            is_full: record.is_full(),
        })
    }
}
