//! The cost of a commit, and whether the devices flushed.

use crate::sentence::{Paragraphs, Sentence, missing};
use crate::words::{self, count};
use crate::writes::{self, sync_name};
use assess::Assessment;
use assess::finding::Code;
use assess::stats::Estimate;
use assess::summary::Summary;
use model::case::{Allocation, Cache, Op, Sync, WriteEngine, WriteWork};
use model::pattern::Pattern;
use model::units;

/// The rows that sync and have valid figures.
fn standing(assessment: &Assessment) -> Vec<(&WriteWork, &Summary)> {
    let stands = assessment.cases.iter().filter(|summary| summary.verdict.stands());
    let writes = stands.filter_map(|summary| Some((summary.case.write()?, summary)));
    let is_synced = |work: &WriteWork| work.engine != WriteEngine::Null && work.sync != Sync::None;
    writes.filter(|(work, _)| is_synced(work)).collect()
}

/// The cost of commits and the effect of syncs, from the valid rows.
pub(super) fn answer(assessment: &Assessment) -> Paragraphs {
    let standing = standing(assessment);
    if standing.is_empty() {
        return missing("No sync has a valid figure.");
    }
    let cache = writes::said_cache(assessment.storage.as_ref()).map(Sentence::plain);
    let below = [said_commits(&standing), said_flushes(&standing), cache, host_cache(assessment)];
    vec![below.into_iter().flatten().collect()]
}

/// A commit writes a few pages; anything larger is a copy.
const COMMIT_MOST: u64 = 16 << 10;

/// A phrase for where the data is written.
fn placed(allocation: Allocation) -> &'static str {
    match allocation {
        Allocation::Overwrite => "written over",
        Allocation::Append => "appended",
        Allocation::Fallocate => "preallocated",
        Allocation::None => "of a new file",
    }
}

/// Writes that each wait for their sync.
struct Commit<'a> {
    what: String,
    each: Estimate,
    summary: &'a Summary,
}

fn commit<'a>((work, summary): &(&'a WriteWork, &'a Summary)) -> Option<Commit<'a>> {
    let is_each = work.every == 1 || work.sync == Sync::Dsync;
    let is_one = work.io.threads == 1 && work.io.depth == 1 && work.op == Op::Write;
    if !is_each || !is_one || work.io.block > COMMIT_MOST || words::is_not_durable(summary) {
        return None;
    }
    let each = summary.ns_per_op?;
    let mut what = vec![format!("{} {}", units::bytes(work.io.block), placed(work.allocation))];
    what.extend((work.io.pattern == Pattern::Random).then(|| "at random".to_string()));
    what.extend((work.io.cache == Cache::Direct).then(|| "direct".to_string()));
    what.push(sync_name(work.sync));
    Some(Commit { what: what.join(", "), each, summary })
}

impl Commit<'_> {
    /// `240 µs (4KiB written over, fdatasync)`.
    fn said(&self) -> String {
        format!("{} ({})", units::nanoseconds(self.each.median), self.what)
    }
}

/// The cost of a commit: the lowest and the highest median of all ways.
fn said_commits(standing: &[(&WriteWork, &Summary)]) -> Option<Sentence> {
    let mut commits: Vec<Commit> = standing.iter().filter_map(commit).collect();
    commits.sort_by(|a, b| a.each.median.total_cmp(&b.each.median));
    let (text, rows) = match commits.as_slice() {
        [] => return None,
        [one] => (format!("A commit takes {} at the median.", one.said()), vec![one.summary]),
        [first, .., last] => (
            format!("The medians of a commit go from {} to {}.", first.said(), last.said()),
            vec![first.summary, last.summary],
        ),
    };
    Some(Sentence::of_summaries(text, rows))
}

/// Whether the devices flushed their caches as often as a sync was called.
fn said_flushes(all: &[(&WriteWork, &Summary)]) -> Option<Sentence> {
    let counts = all.iter().filter_map(|(_, summary)| {
        let writing = summary.writing.as_ref()?;
        Some((writing.flushes_per_trial?, writing.syncs_per_trial?))
    });
    let counts: Vec<(u64, u64)> = counts.collect();
    let flushed = counts.iter().filter(|(flushes, syncs)| flushes >= syncs).count();
    let all = count(counts.len(), "valid sync row");
    Some(Sentence::plain(match (counts.len(), flushed) {
        (0, _) => return None,
        (1, 1) => "The one valid sync row flushed at least once per sync.".to_string(),
        (rows, flushed) if rows == flushed => {
            format!("All {all} flushed at least once per sync.")
        }
        (_, flushed) => {
            format!("Of {all}, {flushed} flushed at least once per sync, the others less often.")
        }
    }))
}

fn host_cache(assessment: &Assessment) -> Option<Sentence> {
    let found = assessment.findings.iter().find(|found| found.finding.code == Code::HostCache)?;
    let whom = match found.cases.len() {
        0 => String::new(),
        cases => format!(" in {}", count(cases, "row")),
    };
    Some(Sentence::plain(format!(
        "{} was found{whom}: those may be figures of a cache below the OS, not of a medium.",
        found.finding.code
    )))
}
