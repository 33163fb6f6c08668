//! The processes of a program, and the sum of what they did.
//!
//! A process's counters include those of the children that it waited for. So the sum over all that
//! live stays right when one ends, if its parent is another of them.

use super::group;
use super::process::{self, ProcessCounts, SeenProcess};
use crate::processes;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Where the processes are found.
#[derive(Debug)]
pub(super) enum TreeOrigin {
    /// A process and its descendants.
    Process(u32),
    /// The directory of a control group.
    Group(PathBuf),
}

/// The processes.
#[derive(Debug)]
pub(super) struct Tree {
    origin: TreeOrigin,
    members: BTreeMap<u32, TreeMember>,
    /// What those did before that joined later, of which their parents may count it again.
    joined: ProcessCounts,
    /// The last known counters of those that ended without a parent in the tree.
    left: ProcessCounts,
    /// The number of those in this interval.
    lost: u32,
    /// The highest sum so far: in a look, a process may have ended that its parent has not counted.
    most: ProcessCounts,
    /// Whether there was a look before.
    has_begun: bool,
}

#[derive(Debug)]
struct TreeMember {
    start: u64,
    parent: u32,
    counts: ProcessCounts,
    is_hidden: bool,
    loses_children: bool,
}

impl Tree {
    pub(super) fn of(origin: TreeOrigin) -> Tree {
        Tree {
            origin,
            members: BTreeMap::new(),
            joined: ProcessCounts::default(),
            left: ProcessCounts::default(),
            lost: 0,
            most: ProcessCounts::default(),
            has_begun: false,
        }
    }

    /// The processes now.
    pub(super) fn pids(&self) -> impl Iterator<Item = u32> {
        self.members.keys().copied()
    }

    /// Those whose bytes are not seen.
    pub(super) fn hidden(&self) -> usize {
        self.members.values().filter(|member| member.is_hidden).count()
    }

    /// How many were lost since the last call.
    pub(super) fn take_lost(&mut self) -> u32 {
        std::mem::take(&mut self.lost)
    }

    /// What all did so far.
    pub(super) fn sum(&self) -> ProcessCounts {
        self.most
    }

    /// Looks at all processes. Those that began before `last` ticks, when the last look was, and
    /// are new here, have joined. Returns whether the program still runs.
    pub(super) fn look(&mut self, last: u64) -> bool {
        let mut found: BTreeMap<u32, SeenProcess> = BTreeMap::new();
        for pid in self.find() {
            if let Some(seen) = process::see(pid)
                && !seen.is_of_kernel
            {
                found.insert(pid, seen);
            }
        }
        let runs = match self.origin {
            TreeOrigin::Process(pid) => self.is_there(pid, &found),
            TreeOrigin::Group(_) => true,
        };
        if !runs {
            // What its last processes did since the last look is not known: that it ended says so.
            return false;
        }
        self.drop_ended(&found);
        for (pid, seen) in found {
            self.update(pid, seen, last);
        }
        self.has_begun = true;
        let all = self.members.values().map(|member| member.counts);
        let sum = all.fold(self.left, ProcessCounts::plus).since(self.joined);
        self.most = self.most.most(sum);
        true
    }

    fn is_there(&self, pid: u32, found: &BTreeMap<u32, SeenProcess>) -> bool {
        let is_same = |seen: &SeenProcess| match self.members.get(&pid) {
            Some(member) => member.start == seen.start,
            None => !self.has_begun,
        };
        found.get(&pid).is_some_and(|seen| !seen.is_dead() && is_same(seen))
    }

    /// The numbers of all processes, parents first, without this program's own.
    fn find(&self) -> Vec<u32> {
        let mut found = match &self.origin {
            TreeOrigin::Process(pid) => {
                let below = processes::descendants(*pid).unwrap_or_default();
                [*pid].into_iter().chain(below).collect()
            }
            TreeOrigin::Group(directory) => group::processes(directory),
        };
        if let TreeOrigin::Process(_) = self.origin {
            // What lost its parent is another's child now, and still works for the program.
            let listed: BTreeSet<u32> = found.iter().copied().collect();
            found.extend(self.members.keys().filter(|pid| !listed.contains(pid)));
        }
        let own = std::process::id();
        found.retain(|pid| *pid != own);
        found
    }

    /// Forgets those that ended, whose counters their parents have, or nobody.
    fn drop_ended(&mut self, found: &BTreeMap<u32, SeenProcess>) {
        let is_same = |member: &TreeMember, seen: &SeenProcess| member.start == seen.start;
        let is_gone = |(pid, member): &(&u32, &TreeMember)| {
            found.get(pid).is_none_or(|seen| !is_same(member, seen))
        };
        let gone: Vec<u32> = self.members.iter().filter(is_gone).map(|(pid, _)| *pid).collect();
        let ended: BTreeMap<u32, TreeMember> =
            gone.into_iter().filter_map(|pid| Some((pid, self.members.remove(&pid)?))).collect();
        for member in ended.values() {
            if self.is_lost(member, &ended) {
                self.left = self.left.plus(member.counts);
                self.lost = self.lost.saturating_add(1);
            }
        }
    }

    /// Whether nobody in the tree has the counters of one that ended. If its parent ended in the
    /// same look, too, it is taken to have waited for it, as shells do: who waited for that has
    /// both.
    fn is_lost(&self, member: &TreeMember, ended: &BTreeMap<u32, TreeMember>) -> bool {
        let mut parent = member.parent;
        for _ in 0..=ended.len() {
            if let Some(alive) = self.members.get(&parent) {
                return alive.loses_children;
            }
            match ended.get(&parent) {
                Some(above) if !above.loses_children => parent = above.parent,
                _ => return true,
            }
        }
        true
    }

    fn update(&mut self, pid: u32, seen: SeenProcess, last: u64) {
        match self.members.get_mut(&pid) {
            // The OS no longer shows the bytes of one that only waits for its parent.
            Some(member) if seen.is_dead() => member.parent = seen.parent,
            Some(member) => {
                member.parent = seen.parent;
                // It may have become another user's.
                if !seen.is_hidden || member.is_hidden {
                    (member.counts, member.is_hidden) = (seen.counts, seen.is_hidden);
                }
            }
            None if seen.is_dead() => {}
            None => {
                if self.has_begun && seen.start < last {
                    self.joined = self.joined.plus(seen.counts);
                }
                let loses_children = process::loses_children(pid);
                let SeenProcess { start, parent, counts, is_hidden, .. } = seen;
                let member = TreeMember { start, parent, counts, is_hidden, loses_children };
                self.members.insert(pid, member);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(parent: u32, loses_children: bool) -> TreeMember {
        let counts = ProcessCounts { read_bytes: 10, ..ProcessCounts::default() };
        TreeMember { start: 1, parent, counts, is_hidden: false, loses_children }
    }

    /// Of processes 1, its child 2 and its grandchild 3, only process 1 stays, if at all.
    #[test]
    fn one_that_ended_is_lost_unless_a_parent_that_stays_waited() {
        for (stays, loses_children, lost) in [(true, false, 0), (true, true, 2), (false, false, 3)]
        {
            let mut tree = Tree::of(TreeOrigin::Process(1));
            for (pid, parent) in [(1, 900_000_000), (2, 1), (3, 2)] {
                tree.members.insert(pid, member(parent, loses_children));
            }
            let seen = SeenProcess {
                name: "x".to_string(),
                parent: 900_000_000,
                start: 1,
                state: 'S',
                is_of_kernel: false,
                counts: ProcessCounts::default(),
                is_hidden: false,
            };
            let found = stays.then_some((1, seen)).into_iter().collect();
            tree.drop_ended(&found);
            assert_eq!(tree.take_lost(), lost, "{stays} {loses_children}");
            assert_eq!(tree.left.read_bytes, 10 * u64::from(lost));
        }
    }
}
