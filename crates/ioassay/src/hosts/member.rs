//! A host that takes part in a run in lockstep.

use super::late::LateHosts;
use super::listening::{Waiting, hear_all};
use super::remote::{Offsets, PINGS, Remote};
use crate::stop::Stop;
use crate::store::Store;
use anyhow::{Context, Result};
use model::agent::Order;
use model::case::Case;
use model::metadata::Directories;
use model::part::Whose;
use model::plan::Plan;
use std::collections::BTreeSet;
use std::io;
use std::thread;
use std::time::Duration;

/// Hosts that are pinged at a time: more would delay each other's answers.
const PINGERS: usize = 8;

/// Pings of all hosts together. Beyond 64 hosts, each gets fewer than [`PINGS`]: its clock is known
/// less well, which the record says, but a trial does not wait for minutes.
const PINGS_OF_ALL: usize = 64 * PINGS;

/// Pings that each host gets, however many there are: one may be delayed.
const PINGS_LEAST: usize = 4;

/// A host that takes part.
#[derive(Debug)]
pub struct Member {
    /// What the user calls it.
    pub called: String,
    /// Its agent; `None` once it is lost.
    pub agent: Option<Remote>,
    /// Its record.
    pub store: Store,
}

impl Member {
    /// Its record and its agent, unless it is lost.
    pub(super) fn live(&mut self) -> Option<(&mut Store, &mut Remote)> {
        Some((&mut self.store, self.agent.as_mut()?))
    }
}

/// Why a case of `hosts`, by their numbers, cannot be tried any more: a host was lost that the
/// others need for it.
pub(super) fn loss(members: &[Member], hosts: &BTreeSet<usize>, case: &Case) -> Option<String> {
    let mut own = hosts.iter().map(|host| &members[*host]);
    if own.clone().all(|it| it.agent.is_none()) {
        return Some("all of its hosts were lost".to_string());
    }
    if let Some(work) = case.metadata() {
        // What a lost host left in a directory that all share would be listed.
        let is_lost = |it: &&Member| it.agent.is_none();
        let lost = match work.place {
            Directories::Shared => members.iter().find(is_lost),
            Directories::Own => own.find(is_lost),
        }?;
        return Some(format!("the host {}, whose names others use, was lost", lost.called));
    }
    let is_shared = case.io().is_some_and(|io| io.files == Whose::Shared);
    let creator = members.first().filter(|it| is_shared && it.agent.is_none())?;
    Some(format!("the host {}, which created the shared file, was lost", creator.called))
}

/// What a run lacks at its end.
#[derive(Debug, Default)]
pub struct Lacking {
    /// Why hosts were lost.
    pub lost: Vec<String>,
    /// What could not be cleaned up on the others.
    pub uncleaned: Vec<String>,
}

/// Lets all hosts run what is to run after the commands of a plan, however long that takes; `late`
/// says which are waited for. Returns what failed. If the run was stopped, they do so unasked.
pub(super) fn clean_up(
    plan: &Plan,
    members: &mut [Member],
    (late, stop): (&LateHosts, &Stop),
) -> Vec<String> {
    if plan.commands.is_empty() {
        return Vec::new();
    }
    let called: Vec<String> = members.iter().map(|it| it.called.clone()).collect();
    let agents = members.iter_mut().enumerate();
    let agents = agents.filter_map(|(index, member)| Some((index, member.agent.as_mut()?)));
    let (mut waiting, mut heard) = (Vec::new(), Vec::new());
    for (index, agent) in agents {
        match agent.tell(&Order::CleanUp) {
            Ok(()) => waiting.push((index, agent)),
            Err(error) => heard.push((index, Err(error))),
        }
    }
    late.begin_anew();
    let waits = |since: Duration, answered: usize, silent: &mut dyn Iterator<Item = usize>| {
        late.tell((since, answered), silent.map(|index| called[index].as_str()), "clean up");
    };
    let how = Waiting { late: &waits, ..Waiting::quietly(Duration::MAX) };
    let mut heard = hear_all(waiting, heard, &how);
    if stop.is_asked() {
        // Nobody waits for their answers.
        return Vec::new();
    }
    heard.sort_by_key(|(index, _)| *index);
    let failed = heard.into_iter().filter_map(|(index, answer)| Some((index, answer.err()?)));
    failed.map(|(index, error)| format!("on the host {}: {error:#}", called[index])).collect()
}

/// How far the clocks of the hosts that are not lost are ahead, by the number of the host.
///
/// # Errors
/// If the OS starts no threads.
pub(super) fn clocks(members: &mut [Member]) -> Result<Vec<(usize, Result<Offsets>)>> {
    let members = members.iter_mut().enumerate();
    let mut agents: Vec<(usize, &mut Remote)> =
        members.filter_map(|(index, member)| Some((index, member.agent.as_mut()?))).collect();
    // A ping takes a round trip, and hosts are many.
    let each = agents.len().div_ceil(PINGERS).max(1);
    let count = (PINGS_OF_ALL / agents.len().max(1)).clamp(PINGS_LEAST, PINGS);
    let ping = |agents: &mut [(usize, &mut Remote)]| -> Vec<_> {
        agents.iter_mut().map(|(index, agent)| (*index, agent.offsets_of(count))).collect()
    };
    thread::scope(|scope| {
        let start = |chunk| thread::Builder::new().spawn_scoped(scope, move || ping(chunk));
        let threads: io::Result<Vec<_>> = agents.chunks_mut(each).map(start).collect();
        let threads = threads.context("failed to start threads that ping hosts")?;
        let pinged = threads.into_iter().map(|it| it.join().unwrap_or_default());
        Ok(pinged.flatten().collect())
    })
}
