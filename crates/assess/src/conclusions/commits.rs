//! Which rows show what a commit costs: a small write that waits for its sync.

use crate::summary::Summary;
use model::case::{Op, Sync, WriteEngine, WriteWork};

/// A commit writes a few pages; anything larger is a copy. In bytes.
const COMMIT_MOST: u64 = 16 << 10;

/// The ids of the rows that show what syncs do, in their order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Commits {
    /// The rows that sync and have valid figures.
    pub synced: Vec<String>,
    /// Those of one thread whose small writes each wait for their sync.
    pub commits: Vec<String>,
}

/// The rows of a run that sync.
pub fn commits<'a>(cases: impl Iterator<Item = &'a Summary>) -> Commits {
    let mut found = Commits::default();
    for summary in cases.filter(|summary| summary.verdict.stands()) {
        let Some(work) = summary.case.write().filter(|work| is_synced(work)) else { continue };
        found.synced.push(summary.id.clone());
        if is_commit(work) && !summary.is_not_durable() {
            found.commits.push(summary.id.clone());
        }
    }
    found
}

fn is_synced(work: &WriteWork) -> bool {
    work.engine != WriteEngine::Null && work.sync != Sync::None
}

/// Whether it is small writes of one thread, each with its sync. With a rollback journal, the sync
/// is a whole transaction.
pub(super) fn is_commit(work: &WriteWork) -> bool {
    let is_each = work.every == 1 || work.sync == Sync::Dsync;
    let is_one = work.io.threads == 1 && work.io.depth == 1 && work.op == Op::Write;
    let has_one_size = work.io.sizes.is_none();
    is_each
        && is_one
        && has_one_size
        && work.io.block <= COMMIT_MOST
        && work.atomic.journal().is_none()
}
