//! The files that a plan needs, by purpose and size.

use crate::shared;
use model::case::{Allocation, Case, Op, Work, WriteEngine};
use model::part::Whose;
use model::plan::{Actor, ActorFile, Plan};
use std::collections::BTreeSet;
use std::ops::Range;

/// The actors that a case of `plan` names and that have files of their own, with their sizes.
pub(super) fn needed_actors(plan: &Plan) -> impl Iterator<Item = (&Actor, u64)> {
    let is_needed =
        |actor: &&Actor| plan.cases.iter().any(|it| it.case.beside.contains(&actor.name));
    let own = plan.actors.iter().filter(|actor| actor.file == ActorFile::Own);
    own.filter(is_needed).filter_map(|actor| Some((actor, actor.case.file_size()?)))
}

/// The parts of a file that the cases of `plan` read.
pub(super) fn read_parts_of(plan: &Plan) -> Vec<Range<u64>> {
    let cases = plan.cases.iter().map(|planned| &planned.case);
    let reads = cases.filter(|case| !case.is_null()).filter_map(Case::read);
    let ranges = reads.map(|work| work.io.range()).map(|range| (range.start, range.end));
    ranges.collect::<BTreeSet<_>>().into_iter().map(|(start, end)| start..end).collect()
}

/// The sizes of the files that a plan needs.
#[derive(Debug, Default)]
pub(super) struct FileNeeds {
    /// Files that are read.
    pub(super) read: BTreeSet<u64>,
    /// Files that are copied.
    pub(super) copied: BTreeSet<u64>,
    /// Files that cases or their actors overwrite.
    pub(super) kept: BTreeSet<u64>,
    /// Those of actors.
    pub(super) beside: Vec<u64>,
    /// The largest file that a trial creates.
    pub(super) made: u64,
    /// The number of names that exist at a time: those of the largest trial.
    pub(super) names: u64,
    /// Those that hosts share, if this host creates them.
    pub(super) shared: Vec<u64>,
}

impl FileNeeds {
    /// What `plan` needs. Without a source elsewhere, copies read the files that others read.
    pub(super) fn of(plan: &Plan, has_source: bool) -> FileNeeds {
        let beside = needed_actors(plan).map(|(_, size)| size).collect();
        let creates = plan.rank.is_some_and(|rank| rank.number == 0);
        let shared = shared::needed(plan).into_iter().filter(|_| creates);
        let shared = shared.map(|(_, size)| size).collect();
        let mut needs = FileNeeds { beside, shared, ..FileNeeds::default() };
        let is_own = |case: &Case| case.io().is_none_or(|io| io.files == Whose::Own);
        for planned in plan.cases.iter().filter(|planned| is_own(&planned.case)) {
            match &planned.case.work {
                Work::Memory(_) | Work::Command(_) => {}
                Work::Metadata(work) => {
                    let names = work.entries.saturating_mul(work.threads.into());
                    needs.names = needs.names.max(names);
                }
                Work::Write(work) if work.engine == WriteEngine::Null => {}
                Work::Read(work) if plan.is_overwritten_beside(&planned.case) => {
                    needs.kept.insert(work.io.size);
                }
                Work::Read(work) => {
                    needs.read.insert(work.io.size);
                }
                Work::Write(work) => {
                    if work.op == Op::Copy {
                        needs.copied.insert(work.io.size);
                    }
                    if work.allocation == Allocation::Overwrite {
                        needs.kept.insert(work.io.size);
                    } else {
                        needs.made = needs.made.max(work.io.size);
                    }
                }
            }
        }
        if !has_source {
            needs.read.append(&mut needs.copied);
        }
        needs
    }

    /// The sizes of all files in the directory at the same time.
    pub(super) fn of_target(&self) -> Vec<u64> {
        let all = self.read.iter().chain(&self.kept).chain(&self.beside).chain(&self.shared);
        all.copied().chain([self.made]).collect()
    }
}
