//! What it costs to make data durable: a row for each sync by what was written before it, and
//! the answer for a database's log.

use crate::frame;
use crate::grid::{Cell, Grid, left, right};
use crate::labels::{Labels, common_line};
use crate::phrases::joined;
use crate::sentence::{Sentence, paragraph};
use crate::style::{Paint, Style};
use crate::words::{self, NONE, count, figure};
use crate::writes::{self, durable, sync_name};
use assess::Assessment;
use assess::finding::Code;
use assess::percentile::Percentile;
use assess::stats::Estimate;
use assess::summary::{Latency, Summary};
use model::case::{Allocation, Cache, Op, Sync, WriteEngine, WriteWork};
use model::pattern::Pattern;
use model::units;

const LEGEND: &str = "timed: how many syncs; percentiles are service times (closed loop) of \
                      the sync alone, without the writes before it; flushes/syncs: of a \
                      trial, the flushes that the devices completed for anyone, and the \
                      syncs; durable: throughput including the final sync, unless \
                      contradicted";

/// Syncs by what was written before them, and what a commit costs.
pub(crate) fn syncs(assessment: &Assessment, style: &Style) -> String {
    let names = Labels::of(assessment);
    let name = |id: &str| names.name(id);
    let mut out = frame::head(assessment, style);
    out.push_str(&common_line(&names, style));
    out.push_str(&style.wrap("", Paint::Faint, LEGEND));
    out.push('\n');
    let groups = groups(assessment);
    if groups.is_empty() {
        out.push_str("no case was measured\n");
    } else {
        out.push_str(&rows(&groups, &names).render(style));
        out.extend(marks(&groups).map(|text| style.wrap("", Paint::Faint, &text)));
    }
    let commits = commits(&standing(&groups)).map(|grid| grid.render(style));
    out.extend(commits.map(|grid| format!("\n{grid}")));
    out.push_str(&frame::below(assessment, style, &name));
    out
}

/// Rows with one way to sync.
struct Group<'a> {
    sync: Sync,
    rows: Vec<(&'a WriteWork, &'a Summary)>,
}

fn groups(assessment: &Assessment) -> Vec<Group<'_>> {
    let mut groups: Vec<Group> = Vec::new();
    for summary in &assessment.cases {
        let work = summary.case.write().filter(|work| work.engine != WriteEngine::Null);
        let Some(work) = work.filter(|work| work.sync != Sync::None) else { continue };
        match groups.iter_mut().find(|group| group.sync == work.sync) {
            Some(group) => group.rows.push((work, summary)),
            None => groups.push(Group { sync: work.sync, rows: vec![(work, summary)] }),
        }
    }
    groups
}

impl Group<'_> {
    /// What most rows find, which is said once: a file that is written over, if any does.
    fn usual(&self) -> Allocation {
        let has = |allocation| self.rows.iter().any(|(work, _)| work.allocation == allocation);
        if has(Allocation::Overwrite) { Allocation::Overwrite } else { self.rows[0].0.allocation }
    }

    fn title(&self) -> String {
        let to = match self.usual() {
            Allocation::Overwrite => "a file that is written over",
            Allocation::Append => "a file that grows at its end, as a log",
            Allocation::Fallocate => "a file of preallocated blocks",
            Allocation::None => "a new file",
        };
        let is_usual = |(work, _): &(&WriteWork, _)| work.allocation == self.usual();
        let unless = if self.rows.iter().all(is_usual) { "" } else { ", unless said" };
        match self.sync {
            Sync::Dsync => {
                format!("O_DSYNC, {to}{unless}: the write itself is durable when it returns")
            }
            sync => format!("{}, {to}{unless}", sync_name(sync)),
        }
    }
}

/// How what is written lies in the file, in a word.
fn placed(allocation: Allocation) -> &'static str {
    match allocation {
        Allocation::Overwrite => "written over",
        Allocation::Append => "appended",
        Allocation::Fallocate => "preallocated",
        Allocation::None => "of a new file",
    }
}

/// What comes before a sync: what the heading has not said.
fn label(group: &Group, work: &WriteWork, summary: &Summary, names: &Labels) -> String {
    let is_said = |axis: &str| match axis {
        "sync" => true,
        "allocation" => work.allocation == group.usual(),
        _ => false,
    };
    let phrases = names.phrases(&summary.case).into_iter();
    let told = joined(phrases.filter(|p| !is_said(p.axis)).map(|phrase| phrase.short));
    if told.is_empty() { format!("  {}", names.short(&summary.id)) } else { format!("  {told}") }
}

/// Percentiles of what makes the data durable: of the sync, or of the write that is one.
fn latency<'a>(work: &WriteWork, summary: &'a Summary) -> Option<&'a Latency> {
    match work.sync {
        Sync::Dsync => Some(&summary.latency),
        _ => Some(&summary.writing.as_ref()?.sync),
    }
}

fn rows(groups: &[Group], names: &Labels) -> Grid {
    let mut grid = Grid::new(vec![
        left("", 0),
        right("timed", 4),
        right("p50", 0),
        right("p99", 0),
        right("p99.9", 1),
        right("max", 3),
        right("flushes/syncs", 2),
        right("durable", 0),
        left("95 % CI", 5),
        left("verdict", 0),
    ]);
    for group in groups {
        grid.heading(&group.title());
        for (work, summary) in &group.rows {
            grid.row(cells(work, summary, label(group, work, summary, names)));
        }
    }
    grid
}

fn cells(work: &WriteWork, summary: &Summary, label: String) -> Vec<Cell> {
    let paint = words::verdict_paint(summary);
    let said = |text: String| Cell::new(figure(summary, text), paint);
    let latency = latency(work, summary);
    let tail = |of: fn(&Latency) -> Option<Percentile>| match latency.and_then(of) {
        Some(p) if !p.solid && paint == Paint::Plain => {
            Cell::new(words::percentile(Some(p)), Paint::Faint)
        }
        percentile => said(words::percentile(percentile)),
    };
    let timed = latency.map(|latency| latency.count).filter(|count| *count > 0);
    let longest = latency.and_then(|latency| latency.max_ns).map(|ns| ns as f64);
    let (durable, interval) = durable(summary);
    vec![
        Cell::new(label, Paint::Plain),
        said(timed.map_or(NONE.to_string(), |count| count.to_string())),
        tail(|latency| latency.p50),
        tail(|latency| latency.p99),
        tail(|latency| latency.p99_9),
        said(words::ns(longest)),
        said(flushes(summary)),
        said(durable),
        said(interval),
        Cell::new(words::verdict(summary), paint),
    ]
}

/// Flushes by syncs of a trial: `1024/1020`.
fn flushes(summary: &Summary) -> String {
    let Some(writing) = &summary.writing else { return NONE.to_string() };
    let or_none = |count: Option<u64>| count.map_or(NONE.to_string(), |count| count.to_string());
    match (writing.flushes_per_trial, writing.syncs_per_trial) {
        (None, None) => NONE.to_string(),
        (flushes, syncs) => format!("{}/{}", or_none(flushes), or_none(syncs)),
    }
}

/// The marks that are in the table, explained.
fn marks(groups: &[Group]) -> Option<String> {
    let rows = || groups.iter().flat_map(|group| &group.rows);
    let all: Vec<Option<Percentile>> = rows()
        .filter(|(_, summary)| summary.n > 0)
        .filter_map(|(work, summary)| latency(work, summary))
        .flat_map(|latency| [latency.p50, latency.p99, latency.p99_9])
        .collect();
    let is_thin = all.iter().flatten().any(|percentile| !percentile.solid);
    let thin = is_thin.then_some("~ fewer than 100 took longer than this");
    let none = all.contains(&None).then_some("- too few to say");
    let writes_through = rows().any(|(work, _)| work.sync == Sync::Dsync).then_some(
        "O_DSYNC may write through to the medium (FUA), which is counted as a write and not as a \
         flush",
    );
    let marks: Vec<&str> = thin.into_iter().chain(none).chain(writes_through).collect();
    (!marks.is_empty()).then(|| marks.join("; "))
}

/// The rows that have figures that stand.
fn standing<'a>(groups: &[Group<'a>]) -> Vec<(&'a WriteWork, &'a Summary)> {
    let stands = |(_, summary): &(&WriteWork, &Summary)| summary.verdict.stands();
    groups.iter().flat_map(|group| group.rows.iter().copied()).filter(stands).collect()
}

/// What is known of what a sync comes to, for the rows that stand.
pub(crate) fn answer(assessment: &Assessment) -> Vec<String> {
    let names = Labels::of(assessment);
    let said = closing(assessment, &standing(&groups(assessment)));
    let paragraph = |sentences: Vec<Sentence>| paragraph(&sentences, &|id: &str| names.name(id));
    said.map(paragraph).into_iter().collect()
}

fn closing(assessment: &Assessment, standing: &[(&WriteWork, &Summary)]) -> Option<Vec<Sentence>> {
    if standing.is_empty() {
        return Some(vec![Sentence::plain("No sync has a valid figure.")]);
    }
    let cache = writes::said_cache(assessment.storage.as_ref()).map(Sentence::plain);
    let below = [said_commits(standing), said_flushes(standing), cache, host_cache(assessment)];
    let below: Vec<Sentence> = below.into_iter().flatten().collect();
    (!below.is_empty()).then_some(below)
}

/// A commit is of a few pages: what is larger is no longer a commit, but a copy.
const COMMIT_MOST: u64 = 16 << 10;

/// How many commits one writer makes that waits for each, as a database's log does.
fn commits(standing: &[(&WriteWork, &Summary)]) -> Option<Grid> {
    let mut grid = Grid::new(vec![
        left("", 0),
        right("a commit takes", 0),
        right("commits", 0),
        left("95 % CI", 1),
        left("verdict", 0),
    ]);
    grid.heading("one writer that waits for each commit");
    let commits: Vec<Commit> = standing.iter().filter_map(commit).collect();
    commits.iter().for_each(|commit| grid.row(commit.cells()));
    (!commits.is_empty()).then_some(grid)
}

/// Writes of which each is waited for.
struct Commit<'a> {
    what: String,
    rate: Estimate,
    each: Estimate,
    summary: &'a Summary,
}

fn commit<'a>((work, summary): &(&'a WriteWork, &'a Summary)) -> Option<Commit<'a>> {
    let is_each = work.every == 1 || work.sync == Sync::Dsync;
    let is_one = work.io.threads == 1 && work.io.depth == 1 && work.op == Op::Write;
    if !is_each || !is_one || work.io.block > COMMIT_MOST || words::is_not_durable(summary) {
        return None;
    }
    let (rate, each) = (summary.iops?, summary.ns_per_op?);
    let mut what = vec![format!("{} {}", units::bytes(work.io.block), placed(work.allocation))];
    what.extend((work.io.pattern == Pattern::Random).then(|| "at random".to_string()));
    what.extend((work.io.cache == Cache::Direct).then(|| "direct".to_string()));
    what.push(sync_name(work.sync));
    Some(Commit { what: what.join(", "), rate, each, summary })
}

impl Commit<'_> {
    fn cells(&self) -> Vec<Cell> {
        let Commit { what, rate, each, summary } = self;
        let paint = words::verdict_paint(summary);
        let said = |text: String| Cell::new(text, paint);
        vec![
            Cell::new(format!("  {what}"), Paint::Plain),
            said(units::nanoseconds(each.median)),
            said(words::per_second(rate.median)),
            said(words::interval(rate.low, rate.high, units::scaled)),
            said(words::verdict(summary).to_string()),
        ]
    }

    /// `240 µs (4KiB written over, fdatasync)`.
    fn said(&self) -> String {
        format!("{} ({})", units::nanoseconds(self.each.median), self.what)
    }
}

/// What a commit takes: the least and the greatest median of all ways.
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

/// Whether the devices flushed their caches as often as they were told to.
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
