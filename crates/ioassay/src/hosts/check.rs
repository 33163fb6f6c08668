//! What hosts are like before anything is measured on them: whether they can be reached, how far
//! their clocks are apart, and whether they share a directory.

use super::mark::{first_seen, who_sees};
use super::remote::Remote;
use crate::version;
use anyhow::{Context, Result, bail};
use model::agent::{Answer, Order, shown};
use report::{HostCheck, HostFacts};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::thread;

/// Hosts that are looked at at a time: more would delay each other's answers.
const LOOKERS: usize = 8;

/// A host that is being checked.
struct CheckedHost {
    called: String,
    agent: Result<Remote>,
    found: Option<HostFacts>,
}

/// Checks the hosts, each with its agent: what they are like, and which of them share `directory`.
///
/// # Errors
/// If the OS starts no threads.
pub fn check(hosts: Vec<(String, Result<Remote>)>, directory: &Path) -> Result<Vec<HostCheck>> {
    let guest = |(called, agent)| CheckedHost { called, agent, found: None };
    let mut guests: Vec<CheckedHost> = hosts.into_iter().map(guest).collect();
    // To look takes a hundred round trips, and hosts are many.
    let each = guests.len().div_ceil(LOOKERS).max(1);
    thread::scope(|scope| {
        for some in guests.chunks_mut(each) {
            let look = |guest: &mut CheckedHost| guest.look(directory);
            let look = move || some.iter_mut().for_each(look);
            thread::Builder::new().spawn_scoped(scope, look)?;
        }
        io::Result::Ok(())
    })
    .context("failed to start threads that look at hosts")?;
    find_sharers(&mut guests, directory);
    Ok(guests.into_iter().map(CheckedHost::checked).collect())
}

impl CheckedHost {
    /// Asks what it is like. If that fails, the host cannot be used.
    fn look(&mut self, directory: &Path) {
        let Ok(agent) = &mut self.agent else { return };
        match look(agent, directory) {
            Ok(found) => self.found = Some(found),
            Err(error) => self.agent = Err(error),
        }
    }

    fn checked(self) -> HostCheck {
        let reason = self.agent.as_ref().err().map(|error| format!("{error:#}"));
        let found = self.found.filter(|_| reason.is_none());
        HostCheck { called: self.called, found, reason }
    }
}

/// What a host is like; which others share its directory is found later.
fn look(agent: &mut Remote, directory: &Path) -> Result<HostFacts> {
    agent.greet()?;
    let offsets = agent.offsets()?;
    match agent.ask(&Order::Look { directory: directory.to_path_buf() })? {
        Answer::Place { host, storage, boot } => Ok(HostFacts {
            host,
            storage,
            boot,
            other_build: (agent.commit() != version::commit().as_deref())
                .then(|| agent.commit().unwrap_or("unknown").to_owned()),
            clock_ahead_ns: i64::try_from(offsets.utc.ahead_ns).unwrap_or(i64::MAX),
            clock_error_ns: offsets.utc.error_ns,
            shares_with: Vec::new(),
        }),
        other => bail!("it sent '{}' instead of what it is like", shown(&other)),
    }
}

/// Finds which hosts share the directory. Most often all do, as a file of the first one shows.
/// Those that do not see it are asked about each other.
fn find_sharers(guests: &mut [CheckedHost], directory: &Path) {
    let (mut group, mut lost) = (Vec::new(), Vec::new());
    let mut able = agents(guests);
    let Some((owner, first)) = (!able.is_empty()).then(|| able.remove(0)) else { return };
    match who_sees(directory, first, able) {
        Ok(seen) => {
            group.push(owner);
            for (index, sees) in seen {
                match sees {
                    Ok(true) => group.push(index),
                    Ok(false) => {}
                    Err(error) => lost.push((index, error)),
                }
            }
        }
        Err(error) => lost.push((owner, error)),
    }
    let known: BTreeSet<usize> =
        group.iter().copied().chain(lost.iter().map(|(index, _)| *index)).collect();
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    let mut rest = agents(guests);
    rest.retain(|(index, _)| !known.contains(index));
    for (index, first) in first_seen(directory, rest) {
        match first {
            Ok(first) => groups.entry(first).or_default().push(index),
            Err(error) => lost.push((index, error)),
        }
    }
    for (index, error) in lost {
        guests[index].agent = Err(error);
    }
    let groups = std::iter::once(group).chain(groups.into_values());
    groups.for_each(|group| tell_sharers(guests, group));
}

/// The agents that can be asked, with the numbers of their hosts.
fn agents(guests: &mut [CheckedHost]) -> Vec<(usize, &mut Remote)> {
    let numbered = guests.iter_mut().enumerate();
    numbered.filter_map(|(index, guest)| Some((index, guest.agent.as_mut().ok()?))).collect()
}

/// Notes for each host of a group the others.
fn tell_sharers(guests: &mut [CheckedHost], mut group: Vec<usize>) {
    group.sort_unstable();
    let names: Vec<String> = group.iter().map(|index| guests[*index].called.clone()).collect();
    for index in &group {
        let own = guests[*index].called.clone();
        let others = names.iter().filter(|name| **name != own).cloned();
        if let Some(found) = &mut guests[*index].found {
            found.shares_with = others.collect();
        }
    }
}
