//! What the user sees of hosts while they measure: the view of a run on one host, of all of them.
//! Where there is no terminal, notes take its place.

use super::member::Member;
use crate::progress::{NextTrial, Progress, TrialHosts};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The view of all hosts. If each is measured by itself, their threads share it.
#[derive(Debug)]
pub struct HostsView {
    progress: Mutex<Progress>,
}

impl HostsView {
    /// Of hosts in lockstep.
    pub fn together(progress: Progress) -> HostsView {
        HostsView { progress: Mutex::new(progress) }
    }

    /// Of so many hosts, each by itself.
    pub fn of_fleet(progress: Progress, hosts: usize) -> HostsView {
        HostsView::together(progress.of_fleet(hosts))
    }

    /// The part of all hosts in lockstep.
    pub fn all(&self) -> RunView<'_> {
        RunView { view: self, alone: None }
    }

    /// The part of a host that is measured by itself, with its number and its name.
    pub fn host<'a>(&'a self, number: usize, called: &'a str) -> RunView<'a> {
        RunView { view: self, alone: Some((number, called)) }
    }

    /// Writes something else to the terminal, in whose way the lines would be.
    pub fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        self.lock().aside(write)
    }

    /// Removes the lines.
    pub fn end(&self) {
        self.lock().end();
    }

    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The part of a run in the view. It says nothing if there is no terminal.
#[derive(Debug, Clone, Copy)]
pub struct RunView<'a> {
    view: &'a HostsView,
    /// The host, if it is measured by itself.
    alone: Option<(usize, &'a str)>,
}

impl RunView<'_> {
    /// Whether nobody sees it.
    pub(super) fn is_hidden(self) -> bool {
        self.view.lock().is_hidden()
    }

    /// So many hosts write their files.
    pub fn making(self, hosts: usize) {
        self.view.lock().making(self.hosts(hosts));
    }

    /// The rounds start. Those of a host by itself are a part of those of all.
    pub(super) fn rounds_begin(self) {
        if self.alone.is_none() {
            self.view.lock().rounds_begin();
        }
    }

    /// A trial starts on those of its hosts that are not lost.
    pub(super) fn trial(self, members: &[Member], next: &NextTrial) {
        let live = members.iter().filter(|member| member.agent.is_some());
        self.view.lock().trial_of(self.hosts(live.count()), next);
    }

    /// A trial has failed.
    pub(super) fn fail(self) {
        self.view.lock().fail();
    }

    /// A host is lost, or cannot be measured.
    pub fn lose(self, called: &str) {
        self.view.lock().lose(called, self.alone.map(|(number, _)| number));
    }

    /// A host that is measured by itself is done.
    pub fn over(self) {
        let mut progress = self.view.lock();
        self.alone.iter().for_each(|(number, _)| progress.host_over(*number));
    }

    /// Judges records between trials, for the screen only. While those of another host are judged,
    /// it does not wait.
    pub(super) fn judge(self, members: &[Member]) {
        let Some(mut findings) = self.view.lock().take_findings() else { return };
        let first = self.alone.map_or(0, |(number, _)| number);
        findings.judge((first, members.len()), |index| {
            (members[index].called.as_str(), members[index].store.path())
        });
        self.view.lock().put_findings(findings);
    }

    fn hosts(&self, hosts: usize) -> TrialHosts<'_> {
        match self.alone {
            None => TrialHosts::Together(hosts),
            Some((number, called)) => TrialHosts::Alone(number, called),
        }
    }
}
