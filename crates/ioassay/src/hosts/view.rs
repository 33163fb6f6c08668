//! What the user sees of hosts while they measure: the view of a run on one host, of all of them.
//! Where there is no terminal, notes take its place.

use super::member::Member;
use crate::progress::{CrewPart, NextTrial, Progress};

/// The part of hosts in the view: of all in lockstep, or of one that is measured by itself. It says
/// nothing if there is no terminal.
#[derive(Debug, Clone, Copy)]
pub struct HostsView<'a> {
    progress: &'a Progress,
    /// The host, if it is measured by itself.
    alone: Option<(usize, &'a str)>,
}

impl<'a> HostsView<'a> {
    /// The part of all hosts in lockstep.
    pub fn together(progress: &'a Progress) -> HostsView<'a> {
        HostsView { progress, alone: None }
    }

    /// The part of a host that is measured by itself, with its number and its name.
    pub fn alone(progress: &'a Progress, number: usize, called: &'a str) -> HostsView<'a> {
        HostsView { progress, alone: Some((number, called)) }
    }

    /// Whether nobody sees it.
    pub(super) fn is_hidden(self) -> bool {
        self.progress.is_hidden()
    }

    /// So many hosts write their files.
    pub fn making(self, hosts: usize) {
        self.progress.making(self.part(hosts));
    }

    /// The rounds start. Those of a host by itself are a part of those of all.
    pub(super) fn rounds_begin(self) {
        if self.alone.is_none() {
            self.progress.rounds_begin();
        }
    }

    /// A trial starts on those of its hosts that are not lost.
    pub(super) fn trial<'m>(self, members: impl Iterator<Item = &'m Member>, next: &NextTrial) {
        let live = members.filter(|member| member.agent.is_some());
        self.progress.trial(self.part(live.count()), next);
    }

    /// A trial has failed.
    pub(super) fn fail(self) {
        self.progress.fail();
    }

    /// A host is lost, or cannot be measured.
    pub fn lose(self, called: &str) {
        self.progress.lose(called, self.alone.map(|(number, _)| number));
    }

    /// A host that is measured by itself is done.
    pub fn over(self) {
        self.alone.iter().for_each(|(number, _)| self.progress.host_over(*number));
    }

    /// Judges records between trials, for the screen only.
    pub(super) fn judge(self, members: &[Member]) {
        let first = self.alone.map_or(0, |(number, _)| number);
        self.progress.judge((first, members.len()), |index| {
            (members[index].called.as_str(), members[index].store.path())
        });
    }

    fn part(self, hosts: usize) -> CrewPart<'a> {
        match self.alone {
            None => CrewPart::Hosts(hosts),
            Some((number, called)) => CrewPart::HostAlone(number, called),
        }
    }
}
