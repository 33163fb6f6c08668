//! One trial of a run on several hosts.

use super::remote::Offsets;
use crate::beside;
use crate::site::Turn;
use anyhow::{Result, bail};
use model::agent::{Answer, Order, shown};
use model::case::Case;
use model::trial::{Outcome, Trial};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// From giving the last host its order until all begin: more than the longest way takes.
const LEAD: Duration = Duration::from_millis(50);

/// What giving a host its order takes.
const TELLING: Duration = Duration::from_micros(20);

/// What reading the idle states of CPUs takes, if there are hundreds of them.
const READING_IDLE: Duration = Duration::from_millis(30);

/// The longest lead: agents refuse to wait for longer than 10 s.
const LEAD_MAX: Duration = Duration::from_secs(8);

/// How long a host may take to prepare a trial beyond what reading its file takes, and to tell its
/// result.
pub(super) const PREPARING: Duration = Duration::from_secs(90);

/// How long an agent may take to end its trial when another is lost. A worker that the OS keeps in
/// a call is given up before.
pub(super) const RELEASE: Duration = Duration::from_secs(15);

/// Makes `trial` the one that was ordered, whatever the agent called it.
pub(super) fn claim(turn: Turn, trial: &mut Trial) {
    let Turn { case, invocation, round, at_ms } = turn;
    (trial.case, trial.invocation, trial.round, trial.at_ms) = (case, invocation, round, at_ms);
}

/// What hosts answered.
#[derive(Debug, Default)]
pub(super) struct HostAnswers {
    /// By the number of the host.
    pub(super) heard: Vec<(usize, Answer)>,
    /// Why hosts were lost.
    pub(super) lost: Vec<String>,
}

/// What hosts did before they began.
#[derive(Debug, Default)]
pub(super) struct Prepared {
    /// The hosts that can begin.
    pub(super) ready: BTreeSet<usize>,
    /// The trials of hosts that cannot.
    pub(super) early: Vec<(usize, Trial)>,
    /// Why none begins.
    pub(super) reason: Option<String>,
}

impl Prepared {
    /// What the hosts, which are `called` so, answered.
    ///
    /// # Errors
    /// If one sent something else.
    pub(super) fn of(answers: HostAnswers, called: impl Fn(usize) -> String) -> Result<Prepared> {
        let mut prepared =
            Prepared { reason: answers.lost.first().cloned(), ..Prepared::default() };
        for (index, answer) in answers.heard {
            match answer {
                Answer::Ready => drop(prepared.ready.insert(index)),
                Answer::Trial(trial) => prepared.early.push((index, *trial)),
                other => bail!("an agent sent '{}' instead of being ready", shown(&other)),
            }
        }
        if let Some(reason) = &prepared.reason {
            // They were ended while they prepared it.
            let ended = || Outcome::Failed { reason: reason.clone() };
            prepared.early.iter_mut().for_each(|(_, trial)| trial.outcome = ended());
        } else if let Some((index, _)) = prepared.early.first() {
            prepared.reason = Some(format!("it could not begin on {}", called(*index)));
        }
        Ok(prepared)
    }
}

/// How a trial ended.
#[derive(Debug)]
pub(super) struct TrialEnd {
    /// By the number of the host.
    pub(super) told: Vec<(usize, Answer)>,
    /// Why it failed on all hosts.
    pub(super) reason: Option<String>,
    /// The first host on which it failed by itself, which says why.
    pub(super) failed: Option<usize>,
}

impl TrialEnd {
    /// The trials of the hosts whose clocks were so far ahead before and after.
    ///
    /// # Errors
    /// If one sent something else.
    pub(super) fn trials(
        self,
        (before, after): (&BTreeMap<usize, Offsets>, &BTreeMap<usize, Offsets>),
    ) -> Result<Vec<(usize, Trial)>> {
        let TrialEnd { told, reason, failed } = self;
        let of = |(index, answer)| {
            let Answer::Trial(mut trial) = answer else {
                bail!("an agent sent '{}' instead of a trial", shown(&answer))
            };
            let clocks = before.get(&index).zip(after.get(&index));
            trial.clock =
                clocks.and_then(|(before, after)| before.monotonic.until(after.monotonic));
            if let Some(reason) = reason.as_ref().filter(|_| failed != Some(index)) {
                // It was ended because of that, or ended beside fewer hosts.
                trial.outcome = Outcome::Failed { reason: reason.clone() };
            }
            Ok((index, *trial))
        };
        told.into_iter().map(of).collect()
    }
}

/// Whether a host answered with a trial that has no sample.
pub(super) fn is_failed(answer: &Answer) -> bool {
    let Answer::Trial(trial) = answer else { return false };
    trial.sample().is_none()
}

/// From the order to begin until `hosts` do: the actors beside the case begin before, the pages of
/// its file are counted in the page cache, which takes 8 ms for a GiB, and an open loop reads the
/// idle states of CPUs.
pub(super) fn lead(case: &Case, hosts: usize) -> Duration {
    let beside = if case.beside.is_empty() { Duration::ZERO } else { beside::LEAD };
    let counting = Duration::from_millis(case.file_size().unwrap_or(0) >> 27);
    let telling = TELLING.saturating_mul(u32::try_from(hosts).unwrap_or(u32::MAX));
    let idle = if case.is_open() { READING_IDLE } else { Duration::ZERO };
    let parts = [beside, counting, telling, idle];
    parts.into_iter().fold(LEAD, Duration::saturating_add).min(LEAD_MAX)
}

/// The time that reading the whole file of a case takes on a slow disk, with 16 MB/s.
pub(super) fn reading(case: &Case) -> Duration {
    Duration::from_millis(case.file_size().unwrap_or(0) >> 14)
}

/// How long a host may take to prepare a trial of a case. What a user runs before a command takes
/// as long as it takes.
pub(super) fn preparing(case: &Case) -> Duration {
    match case.command() {
        Some(_) => Duration::MAX,
        None => PREPARING.saturating_add(reading(case)),
    }
}

/// How long a trial of a case takes; nothing, if nobody knows it.
pub(super) fn expected(case: &Case) -> Duration {
    if case.command().is_some() { Duration::ZERO } else { case.time() }
}

/// Ends a trial: what the others measure without the lost host is not what its case says.
pub(super) fn end_trial(called: &str, error: &anyhow::Error) -> Order {
    Order::Cancel { reason: lost(called, error) }
}

/// Why a trial failed on the other hosts.
pub(super) fn lost(called: &str, error: &anyhow::Error) -> String {
    format!("{called} was lost: {error:#}")
}
