//! The cost of a commit, and whether the devices flushed.

use crate::labels::CaseLabels;
use crate::metric::until_durable;
use crate::sentence::{Sentence, figure_in, missing};
use crate::text::{Text, joined, text};
use crate::words::{self, count};
use crate::writes::{self, sync_name};
use assess::Assessment;
use assess::conclusions::commits::Commits;
use assess::finding::Code;
use assess::latency::{Latency, UNSENT_NS};
use assess::summary::Summary;
use model::case::{Allocation, Cache, JournalEnd, Op, Sync, WriteWork};
use model::pattern::Pattern;
use model::units;
use std::collections::HashSet;

/// The rows with these ids.
fn rows<'a>(assessment: &'a Assessment, ids: &[String]) -> Vec<(&'a WriteWork, &'a Summary)> {
    let ids: HashSet<&str> = ids.iter().map(String::as_str).collect();
    let is_one = |summary: &&Summary| ids.contains(summary.id.as_str());
    let rows = assessment.cases.iter().filter(is_one);
    rows.filter_map(|summary| Some((summary.case.write()?, summary))).collect()
}

/// How long a sync takes after a page, after nothing and after more; the cost of commits; and the
/// effect of syncs, from the valid rows.
pub(super) fn answer(assessment: &Assessment, _: &CaseLabels) -> Vec<Sentence> {
    let Commits { synced, commits } = &assessment.conclusions.commits;
    if synced.is_empty() {
        return missing("No sync has a valid figure.");
    }
    let (synced, commits) = (rows(assessment, synced), rows(assessment, commits));
    let cache = writes::said_cache(assessment.header.storage.as_ref()).map(Sentence::plain);
    let lines = after_a_page(&commits).into_iter().chain(after_others(&synced, &commits));
    let lines = lines.chain(said_commits(&commits)).chain(transactions(&synced));
    let lines = lines.chain(said_flushes(&synced));
    lines.chain(cache).chain(host_cache(assessment)).collect()
}

/// The sync of each kind in its first row that commits: `fsync after 4KiB takes 141 µs (p50) and
/// 608 µs (p99)`.
fn after_a_page(commits: &[(&WriteWork, &Summary)]) -> Option<Sentence> {
    let mut firsts: Vec<(Sync, Text, &Summary)> = Vec::new();
    for (work, summary) in commits {
        let is_known = firsts.iter().any(|(sync, ..)| *sync == work.sync);
        let Some((_, said)) = until_durable(summary).and_then(|it| quantiles(it, summary)) else {
            continue;
        };
        // Without a sync of its own, it is the write that waits.
        if !is_known && work.sync != Sync::Dsync {
            let what =
                text!("{} after {} takes {}", work.sync.name(), units::bytes(work.io.block), said);
            firsts.push((work.sync, what, summary));
        }
    }
    let texts: Vec<Text> = firsts.iter().map(|(_, text, _)| text.clone()).collect();
    let rows = firsts.iter().map(|(.., summary)| *summary);
    (!texts.is_empty()).then(|| Sentence::of_summaries(joined(&texts, "; "), rows))
}

/// The sync after nothing, and after more than a page, of the kind that the first such row has:
/// `fdatasync after nothing 63.6 µs (p50), after 1MiB 555 µs, after 16MiB 6.01 ms`.
fn after_others(
    synced: &[(&WriteWork, &Summary)],
    commits: &[(&WriteWork, &Summary)],
) -> Option<Sentence> {
    let written = |work: &WriteWork| match work.op {
        Op::Sync => 0,
        _ => work.io.block.saturating_mul(work.every),
    };
    let is_other = |(work, summary): &&(&WriteWork, &Summary)| {
        let is_commit = commits.iter().any(|(_, commit)| commit.id == summary.id);
        let is_one = work.io.threads == 1 && work.io.depth == 1 && work.sync != Sync::Dsync;
        let is_regular = work.op == Op::Sync || work.every > 0;
        is_one
            && is_regular
            && work.io.sizes.is_none()
            && work.atomic.journal().is_none()
            && !is_commit
            && !summary.is_not_durable()
    };
    let others = || synced.iter().filter(is_other);
    let (first, _) = others().next()?;
    let (mut texts, mut rows, mut known) = (Vec::new(), Vec::new(), HashSet::new());
    for (work, summary) in others().filter(|(work, _)| work.sync == first.sync) {
        let p50 = summary.writing.as_ref().and_then(|writing| writing.sync.p50);
        let Some(p50) = p50.filter(|_| known.insert(written(work))) else { continue };
        let after = match written(work) {
            0 => "nothing".to_string(),
            bytes => units::bytes(bytes),
        };
        let unit = if texts.is_empty() { " (p50)" } else { "" };
        let said = figure_in(words::percentile(Some(p50)), summary);
        texts.push(text!("after {} {}{}", after, said, unit));
        rows.push(*summary);
    }
    let text = text!("{} {}.", first.sync.name(), joined(&texts, ", "));
    (!texts.is_empty()).then(|| Sentence::of_summaries(text, rows))
}

/// A phrase for where the data is written.
fn placed(allocation: Allocation) -> &'static str {
    match allocation {
        Allocation::Overwrite => "written over",
        Allocation::Append => "appended",
        Allocation::Fallocate => "preallocated",
        Allocation::None => "of a new file",
    }
}

/// A row of one thread whose small writes each wait for their sync.
struct Commit<'a> {
    what: String,
    summary: &'a Summary,
}

fn commit<'a>((work, summary): &(&'a WriteWork, &'a Summary)) -> Commit<'a> {
    let mut what = vec![format!("{} {}", units::bytes(work.io.block), placed(work.allocation))];
    what.extend((work.io.pattern == Pattern::Random).then(|| "at random".to_string()));
    what.extend((work.io.cache == Cache::Direct).then(|| "direct".to_string()));
    what.extend((work.io.rate > 0).then(|| format!("{}/s due", work.io.rate)));
    what.push(sync_name(work.sync));
    let beside = &summary.case.beside;
    what.extend((!beside.is_empty()).then(|| format!("beside {}", beside.join("+"))));
    Commit { what: what.join(", "), summary }
}

/// `83.2 µs (p50) and 196 µs (p99)`, the latter if it is known; `None` without a median.
fn quantiles(latency: &Latency, summary: &Summary) -> Option<(u64, Text)> {
    let median = latency.p50?.ns;
    let said = |ns: u64| figure_in(units::nanoseconds(ns as f64), summary);
    if median == UNSENT_NS {
        return Some((median, "longer than the run for more than half of them".into()));
    }
    let p99 = match latency.p99 {
        Some(p99) if p99.ns == UNSENT_NS => ", and longer than the run for 1 % of them".into(),
        Some(p99) => text!(" and {} (p99)", said(p99.ns)),
        None => Text::default(),
    };
    Some((median, text!("{} (p50){}", said(median), p99)))
}

/// How long a duration of commits is, for the row where it is shortest and for that where it is
/// longest. `subject` takes one of the durations that `of` returns, as a number to sort by and in
/// words.
fn range<'a>(
    commits: &[Commit<'a>],
    subject: &str,
    of: impl Fn(&Summary) -> Option<(u64, Text)>,
) -> Option<Sentence> {
    let told = |commit: &Commit<'a>| {
        let (ns, text) = of(commit.summary)?;
        Some((ns, text!("{} for {}", text, &commit.what), commit.summary))
    };
    let mut all: Vec<(u64, Text, &Summary)> = commits.iter().filter_map(told).collect();
    all.sort_by_key(|(ns, ..)| *ns);
    let (text, rows) = match all.as_slice() {
        [] => return None,
        [(_, one, row)] => (text!("{}: {}.", subject, one), vec![*row]),
        [(_, first, row), .., (_, last, other)] => {
            (text!("{}: from {}, to {}.", subject, first, last), vec![*row, *other])
        }
    };
    Some(Sentence::of_summaries(text, rows))
}

/// How long a commit takes, which is a write and its sync. With a rate, its duration is the
/// response time.
fn said_commits(rows: &[(&WriteWork, &Summary)]) -> Vec<Sentence> {
    let commits: Vec<Commit> = rows.iter().map(commit).collect();
    let mean = |summary: &Summary| {
        let ns = summary.ns_per_op?.median;
        Some((ns as u64, figure_in(units::nanoseconds(ns), summary)))
    };
    let response = |summary: &Summary| quantiles(&summary.open.as_ref()?.response, summary);
    let took = "A commit, from when it was due until it was durable";
    [range(&commits, "A write with its sync, on average", mean), range(&commits, took, response)]
        .into_iter()
        .flatten()
        .collect()
}

/// How long it takes to commit a transaction with a rollback journal, which is several syncs: `A
/// transaction of 2 × 4KiB commits in 612 µs (p50) and 1.31 ms (p99) with a rollback journal that
/// is deleted, in …`.
fn transactions(synced: &[(&WriteWork, &Summary)]) -> Option<Sentence> {
    let (mut texts, mut rows, mut what) = (Vec::new(), Vec::new(), None);
    let is_alone = |summary: &Summary| summary.case.beside.is_empty();
    for (work, summary) in synced.iter().filter(|(_, it)| is_alone(it) && !it.is_not_durable()) {
        let Some(end) = work.atomic.journal() else { continue };
        let Some((_, said)) = until_durable(summary).and_then(|it| quantiles(it, summary)) else {
            continue;
        };
        let size = (work.every, work.io.block);
        // Transactions of another size have rows of their own in the table.
        if *what.get_or_insert(size) == size {
            texts.push(text!("{} {}", said, ended(end)));
            rows.push(*summary);
        }
    }
    let (blocks, block) = what?;
    let size = format!("{blocks} × {}", units::bytes(block));
    let text = text!("A transaction of {} commits in {}.", size, joined(&texts, ", in "));
    Some(Sentence::of_summaries(text, rows))
}

/// What becomes of a rollback journal.
fn ended(end: JournalEnd) -> &'static str {
    match end {
        JournalEnd::Delete => "with a rollback journal that is deleted",
        JournalEnd::Truncate => "with one that is truncated",
        JournalEnd::Persist => "with one whose header is overwritten",
    }
}

/// Whether the devices flushed their caches as often as a sync was called.
fn said_flushes(all: &[(&WriteWork, &Summary)]) -> Option<Sentence> {
    let counts = all.iter().filter_map(|(_, summary)| {
        let writing = summary.writing.as_ref()?;
        Some((writing.flushes_per_trial?, writing.syncs_per_trial?))
    });
    let counts: Vec<(u64, u64)> = counts.collect();
    let flushed = counts.iter().filter(|(flushes, syncs)| flushes >= syncs).count();
    let all = format!("{} whose flushes were counted", count(counts.len(), "row"));
    Some(Sentence::plain(match (counts.len(), flushed) {
        (0, _) => return None,
        (1, 1) => {
            "The one row whose flushes were counted flushed at least once per sync.".to_string()
        }
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
