//! A command on each of several hosts: which had its data cached, which read it from devices, and
//! which was late.

use crate::assessment::Assessment;
use crate::finding::Verdict;
use crate::host_round::HostRound;
use crate::middle::median;
use crate::stats::Estimate;
use crate::summary::{ServedBy, Summary};
use model::plan::Planned;
use model::record::Record;
use schemars::JsonSchema;
use serde::Serialize;

/// A command on one of several hosts, by the host's own evidence.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CommandOnHost {
    /// What the user calls the host.
    pub host: String,
    /// Nanoseconds of a run there.
    pub time_ns: Option<Estimate>,
    /// Bytes that its read calls returned: median of the rounds. Null if calls do not show all.
    pub asked_bytes: Option<u64>,
    /// Bytes that devices read for it: median of the rounds.
    pub device_read_bytes: Option<u64>,
    /// The share of the files that it reads that was cached before, 0 to 1: median of the rounds.
    /// Null if unseen.
    pub cached_share: Option<f64>,
    /// What served what it read there; null if it has no figure.
    pub served_by: Option<ServedBy>,
    /// How much later than on the first host it ended, in nanoseconds: median of the rounds in
    /// which all of them ran it.
    pub late_ns: Option<f64>,
    /// The host's own verdict.
    pub verdict: Verdict,
}

impl CommandOnHost {
    /// The command of the plan's case `index`, which has this summary in `record`; `None` if it is
    /// none.
    pub(super) fn of(
        host: &str,
        summary: &Summary,
        (record, index): (&Record, usize),
    ) -> Option<CommandOnHost> {
        summary.case.command()?;
        let figures = summary.command.as_deref();
        let trials = record.trials.iter().filter(|it| it.case == index && it.sample().is_some());
        let shares = trials.filter_map(|it| Some(it.evidence.residency_before?.share()));
        Some(CommandOnHost {
            host: host.to_string(),
            time_ns: summary.ns_per_op,
            asked_bytes: figures.and_then(|it| it.asked_bytes),
            device_read_bytes: figures.and_then(|it| it.device_read_bytes),
            cached_share: median(&shares.collect::<Vec<_>>()),
            served_by: summary.served_by,
            late_ns: None,
            verdict: summary.verdict,
        })
    }
}

/// The commands of a record's plan, by the number of their case.
pub(super) fn commands(
    called: &str,
    judged: &Assessment,
    record: &Record,
) -> Vec<Option<CommandOnHost>> {
    let of = |(index, planned): (usize, &Planned)| {
        let summary = judged.cases.iter().find(|summary| summary.case == planned.case)?;
        CommandOnHost::of(called, summary, (record, index))
    };
    record.header.plan.cases.iter().enumerate().map(of).collect()
}

/// How much later than the first host each of a case's `hosts` ended: median of the rounds.
pub(super) fn late_ns(rounds: &[&HostRound], hosts: usize) -> Vec<Option<f64>> {
    let late: Vec<Vec<u64>> = rounds.iter().map(|round| round.late_ns().collect()).collect();
    let of = |host: usize| {
        let values = late.iter().filter_map(|late| late.get(host));
        median(&values.map(|ns| *ns as f64).collect::<Vec<_>>())
    };
    (0..hosts).map(of).collect()
}

/// The number of different answers to what served a command on its hosts, of those that are known.
pub(super) fn kinds(commands: &[CommandOnHost]) -> usize {
    let mut kinds: Vec<ServedBy> = Vec::new();
    for served in commands.iter().filter_map(|it| it.served_by) {
        if served != ServedBy::Unverified && !kinds.contains(&served) {
            kinds.push(served);
        }
    }
    kinds.len()
}
