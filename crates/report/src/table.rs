//! The table for any recipe: a row for each case.

use crate::bounding_words;
use crate::document::{Block, Remark};
use crate::frame;
use crate::grid::{Grid, GridCell, LAST, left};
use crate::group::grouped;
use crate::labels::{self, CaseLabels};
use crate::metric::{self, Metric};
use crate::phrases;
use crate::style::Paint;
use crate::words;
use crate::writes;
use assess::Assessment;
use assess::course::{Change, TimeSeries};
use assess::finding::Verdict;
use assess::summary::Summary;
use model::plan::Role;
use model::units;

/// All cases in tables, and what else is known of them. Figures of void cases are in brackets.
pub(crate) fn table(assessment: &Assessment) -> Vec<Block> {
    match assessment.cases.is_empty() {
        true => vec![Block::plain("No case was measured.")],
        false => parts(assessment, &|_| true),
    }
}

/// The tables of the view for these cases; none if there are none.
pub(crate) fn parts(assessment: &Assessment, is_here: &dyn Fn(&Summary) -> bool) -> Vec<Block> {
    let groups = groups(assessment, is_here);
    if groups.is_empty() {
        return Vec::new();
    }
    let has_figures = assessment.cases.iter().any(|summary| summary.n > 0);
    let others = assessment.view().more.iter().filter(|_| has_figures);
    let all = [shown(assessment)].into_iter().chain(others.map(|columns| asked(columns)));
    let words = words_of(assessment, &groups);
    // Once, below the first.
    let words = std::iter::once(words.as_slice()).chain(std::iter::repeat(&[][..]));
    all.zip(words).map(|(shown, words)| part(assessment, &groups, &shown, words)).collect()
}

/// What the short words in the names of these rows say.
fn words_of(assessment: &Assessment, groups: &[Heading]) -> Vec<Remark> {
    let labels = CaseLabels::below_axes(assessment, &assessment.view().group);
    let names = groups.iter().flat_map(|(heading, all)| all.iter().map(move |it| (heading, *it)));
    let names: Vec<String> = names.map(|(heading, it)| name(it, heading, &labels)).collect();
    let said = phrases::letters(names.iter().map(String::as_str));
    said.into_iter().map(Remark::of_all).collect()
}

/// What else a reader should know of the cases: response times, rows that are not shown, and what
/// the tool itself costs.
pub(crate) fn beside_tables(assessment: &Assessment, name: &dyn Fn(&str) -> String) -> Vec<Block> {
    let said = beside(assessment, name).into_iter().chain(overhead(assessment));
    responses(assessment).into_iter().chain(said.map(Block::aside)).collect()
}

/// The columns of a table of response times.
const RESPONSES: [&str; 7] =
    ["response_p50", "response_p99", "offered", "begun", "response_p99_9", "response_max", "p50"];

/// A table of the requested cases with a rate; empty without one, or if the view shows response
/// times itself.
fn responses(assessment: &Assessment) -> Option<Block> {
    let view = &assessment.view();
    let is_shown = view
        .columns
        .iter()
        .chain(view.more.iter().flatten())
        .any(|column| column.starts_with("response"));
    let is_open = |summary: &Summary| summary.role == Role::Asked && summary.open.is_some();
    let groups = groups(assessment, &is_open);
    let columns = RESPONSES.map(str::to_string);
    let is_needed = !is_shown && !groups.is_empty();
    is_needed.then(|| part(assessment, &groups, &asked(&columns), &[]))
}

/// The version of each compiler or other program, once.
pub(crate) fn versions(assessment: &Assessment) -> Vec<String> {
    let mut versions: Vec<String> =
        assessment.header.peers.iter().filter_map(|peer| peer.version.clone()).collect();
    versions.sort();
    versions.dedup();
    versions
}

/// A metric and the rank of its column.
type Shown = (&'static Metric, u8);

/// A heading and its cases.
type Heading<'a> = (String, Vec<&'a Summary>);

/// A table with explanations of its rows' words, its columns and its marks.
fn part(assessment: &Assessment, groups: &[Heading], shown: &[Shown], words: &[Remark]) -> Block {
    let metrics: Vec<&Metric> = shown.iter().map(|(metric, _)| *metric).collect();
    let all = groups.iter().flat_map(|(_, summaries)| summaries).copied();
    let measured: Vec<&Summary> = all.filter(|it| it.n > 0).collect();
    let mut legend: Vec<Remark> = words.to_vec();
    legend.extend(metric::legend(&metrics, &measured, assessment));
    let is_void = |summary: &&Summary| summary.verdict == Verdict::Void;
    legend.extend(measured.iter().any(is_void).then(|| Remark::of_all(words::VOID)));
    legend.push(frame::figures_are(assessment));
    Block::table(rows(assessment, groups, shown), legend)
}

/// The columns that the view requests; the usual ones if it names none.
fn shown(assessment: &Assessment) -> Vec<Shown> {
    match assessment.view().columns.as_slice() {
        [] => usual(assessment),
        columns => asked(columns),
    }
}

/// An interval's rank exceeds its figure's by this, so it is omitted before the figure and the next
/// few columns.
const INTERVAL_RANKS: u8 = 4;

/// The metrics with these names; the last is omitted first. Always includes the verdict.
fn asked(columns: &[String]) -> Vec<Shown> {
    let known = columns.iter().filter_map(|name| Metric::known(name));
    let figures = known.filter(|metric| metric.name != "verdict");
    let ranked = figures.zip((0..LAST).chain(std::iter::repeat(LAST - 1)));
    let with_interval = |(figure, rank): Shown| {
        let interval = metric::interval_of(figure);
        let interval = interval.map(|interval| (interval, rank.saturating_add(INTERVAL_RANKS)));
        [(figure, rank)].into_iter().chain(interval)
    };
    ranked.flat_map(with_interval).chain([(Metric::named("verdict"), 0)]).collect()
}

/// Up to this block size, people ask for operations per second.
const SMALL: u64 = 64 << 10;

/// The columns if the view names none.
fn usual(assessment: &Assessment) -> Vec<Shown> {
    // If any case writes, each row must say which rate its figure is.
    let rate = if writes::any(assessment) { 0 } else { 1 };
    // The figure that people ask for if all blocks are small.
    let asked = assessment.measured().filter(|summary| summary.role == Role::Asked);
    let blocks: Vec<u64> = asked.filter_map(|it| Some(it.case.io()?.block)).collect();
    let iops = match blocks.iter().filter(|block| **block <= SMALL).count() {
        0 => 9,
        small if small == blocks.len() => 2,
        _ => 3,
    };
    let shown = [
        ("rounds", 7),
        ("throughput", 0),
        ("interval", 0),
        ("rate", rate),
        ("acknowledged", 1),
        ("spread", 5),
        ("iops", iops),
        ("p50", 2),
        ("p99", 3),
        ("p99_9", 8),
        ("idle", 6),
        ("sync_p50", 2),
        ("sync_p99", 3),
        ("cpu_per_op", 4),
        ("ceiling", 10),
        ("served_by", 1),
        ("verdict", 0),
    ];
    shown.map(|(name, rank)| (Metric::named(name), rank)).to_vec()
}

fn rows(assessment: &Assessment, groups: &[Heading], shown: &[Shown]) -> Grid {
    let labels = CaseLabels::below_axes(assessment, &assessment.view().group);
    let metrics = shown.iter().map(|(metric, rank)| metric.in_grid(*rank));
    let mut grid = Grid::new([left("case", 0)].into_iter().chain(metrics).collect());
    for (heading, summaries) in groups {
        if !heading.is_empty() {
            let common = labels.said_of_group(heading, summaries);
            let common = if common.is_empty() { common } else { format!(": {common}") };
            grid.heading(&format!("{heading}{common}"));
        }
        for summary in summaries {
            let name = name(summary, heading, &labels);
            let name = GridCell::of_case(&summary.id, name, Paint::Plain);
            let cells = shown.iter().map(|(metric, _)| {
                GridCell::new(metric.short_cell(summary, assessment), metric.paint(summary))
            });
            grid.row([name].into_iter().chain(cells).collect());
        }
    }
    grid
}

/// The cases by heading: for requested cases, from the group axes of the view; for others, their
/// role. Cases without a heading come first.
fn groups<'a>(assessment: &'a Assessment, is_here: &dyn Fn(&Summary) -> bool) -> Vec<Heading<'a>> {
    let heading = |summary: &Summary| match summary.role {
        Role::Asked => labels::heading(&assessment.view().group, &summary.case),
        Role::Baseline => "baselines".to_string(),
        Role::Twin => "measured a second time (A/A)".to_string(),
        Role::Elsewhere => "measured by others".to_string(),
    };
    let is_row = |it: &&Summary| is_here(it) && !is_beside(it, assessment);
    let mut groups = grouped(assessment.measured().filter(is_row), |summary| heading(summary));
    groups.sort_by_key(|(heading, _)| !heading.is_empty());
    groups
}

/// The name of a row, without words that its heading has already.
fn name(summary: &Summary, heading: &str, labels: &CaseLabels) -> String {
    match (summary.role, heading) {
        (Role::Asked, "") => labels.short(&summary.id),
        (Role::Asked, _) => format!("  {}", labels.below(summary)),
        _ => labels.short(&summary.id),
    }
}

/// Whether a case gets no row: if the view names its columns, they suit only requested cases.
fn is_beside(summary: &Summary, assessment: &Assessment) -> bool {
    summary.role == Role::Baseline && !assessment.view().columns.is_empty()
}

/// A sentence with all cases without rows, except for the null engine, which has its own.
fn beside(assessment: &Assessment, name: &dyn Fn(&str) -> String) -> Option<String> {
    let is_told = |summary: &&Summary| {
        summary.n > 0 && is_beside(summary, assessment) && !summary.case.is_null()
    };
    let told: Vec<&Summary> = assessment.measured().filter(is_told).collect();
    if !assessment.header.plan.commands.is_empty() && !told.is_empty() {
        return Some(format!("measured beside them: {}", bounding_words::said(&told, name)));
    }
    let say = |summary: &&Summary| {
        let (median, _) = words::main_figure(summary);
        let verdict = match summary.verdict {
            Verdict::Sound => String::new(),
            verdict => format!(" ({verdict})"),
        };
        format!("{} {}{verdict}", name(&summary.id), words::figure(summary, median))
    };
    let others: Vec<String> = told.iter().map(say).collect();
    (!others.is_empty()).then(|| format!("measured beside them: {}", words::listed(&others)))
}

/// The tool's own overhead.
fn overhead(assessment: &Assessment) -> Option<String> {
    let is_null = |summary: &&Summary| {
        summary.case.is_null() && summary.open.is_none() && summary.verdict.stands()
    };
    let null = assessment.cases.iter().find(is_null)?;
    Some(format!(
        "{} itself costs {} an operation (the null engine in the same loop)",
        assessment.header.tool.name,
        units::nanoseconds(null.ns_per_op?.median)
    ))
}

/// The time series of each write, in words; only those that say more than the figure.
pub(crate) fn courses(assessment: &Assessment, name: &dyn Fn(&str) -> String) -> Vec<String> {
    let said = |summary: &Summary| {
        let course = summary.course.as_ref().filter(|_| summary.case.write().is_some())?;
        // With --sustain, the time includes syncs.
        let is_synced = summary.case.write().is_some_and(|work| work.sync.claims_durable());
        let what = match (
            summary.case.is_mixed(),
            is_synced && assessment.header.plan.sustain.is_some(),
        ) {
            (true, _) => "reads and writes",
            (false, true) => "durable",
            (false, false) => "acknowledged",
        };
        let steady = assessment.header.plan.sustain.and_then(|_| said_steady(course, what));
        let change = course.change.map(|change| said_change(change, what));
        let said: Vec<String> = change.into_iter().chain(steady).collect();
        (!said.is_empty()).then(|| format!("{}: {}.", name(&summary.id), said.join("; ")))
    };
    assessment.cases.iter().filter_map(said).collect()
}

/// `what` has the rates: what was acknowledged or durable, or of a mix all operations.
fn said_change(change: Change, what: &str) -> String {
    let (before, after) = (units::rate(change.before), units::rate(change.after));
    let bytes = units::bytes_rounded(change.at_bytes);
    let at = units::nanoseconds(change.at_ns as f64);
    if change.before > change.after {
        return format!("{what} in a burst of {before} until {bytes} ({at}), then at {after}");
    }
    format!("{what} at {before} until {bytes} ({at}), then faster, at {after}")
}

fn said_steady(course: &TimeSeries, what: &str) -> Option<String> {
    let steady = match (course.is_steady?, course.sustained) {
        (true, Some(rate)) => format!("steady at the end, {what} at {}", units::rate(rate)),
        (true, None) => "steady at the end".to_string(),
        (false, _) => "not steady at the end".to_string(),
    };
    let step = units::nanoseconds(course.step_ns as f64);
    let all = course.rates.len();
    Some(match (course.snia, course.is_steady) {
        // Five steps pass more often than ten, and may have been long before the end.
        (Some(Some(first)), Some(false)) => format!(
            "{steady}: the last ten steps are outside the SNIA's limits, although five in a row \
             were within them (SNIA-5 in steps of {step}: met at step {} of {all})",
            first + 1
        ),
        (Some(Some(first)), _) => {
            let met_ns = (first + 1) as u64 * course.step_ns;
            let is_early = course.change.is_some_and(|change| met_ns <= change.at_ns);
            let early = if is_early { ", before the rate changed" } else { "" };
            let met = format!("met at step {} of {all}{early}", first + 1);
            format!("{steady}; SNIA-5 in steps of {step}: {met}")
        }
        (Some(None), _) => format!("{steady}; SNIA-5 in steps of {step}: not met in {all}"),
        (None, _) => steady,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_window_of_five_steps_does_not_contradict_an_end_that_is_not() {
        let of = |is_steady, snia| TimeSeries {
            step_ns: 500_000_000,
            rates: vec![1e8; 20],
            snia: Some(snia),
            is_steady: Some(is_steady),
            sustained: None,
            change: None,
        };
        let said = |is_steady, snia| {
            said_steady(&of(is_steady, snia), "acknowledged").expect("it is known")
        };
        assert_eq!(
            said(false, Some(8)),
            "not steady at the end: the last ten steps are outside the SNIA's limits, although \
             five in a row were within them (SNIA-5 in steps of 500 ms: met at step 9 of 20)"
        );
        let met = "steady at the end; SNIA-5 in steps of 500 ms: met at step 9 of 20";
        assert_eq!(said(true, Some(8)), met);
        // What was steady before a step is not what the row shows.
        let change = Change { before: 9e8, after: 1e8, at_bytes: 1 << 30, at_ns: 5_000_000_000 };
        let stepped = TimeSeries { change: Some(change), ..of(true, Some(8)) };
        let said_of = said_steady(&stepped, "acknowledged").expect("it is known");
        assert_eq!(said_of, format!("{met}, before the rate changed"));
        let not = "not steady at the end; SNIA-5 in steps of 500 ms: not met in 20";
        assert_eq!(said(false, None), not);
    }
}
