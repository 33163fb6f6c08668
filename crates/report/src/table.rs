//! The table that suits any recipe: a row for each case.

use crate::frame;
use crate::grid::{Cell, Grid, left};
use crate::labels::{Labels, common_line};
use crate::metric::{self, Metric, Small};
use crate::phrases::joined;
use crate::style::{Paint, Style};
use crate::versus;
use crate::words;
use crate::writes;
use assess::Assessment;
use assess::summary::Summary;
use model::axis::Axis;
use model::plan::Role;

/// All cases of any recipe, as a table of at most the style's width: the columns that matter
/// least are left out. Figures of void cases stand in brackets.
pub(crate) fn table(assessment: &Assessment, style: &Style) -> String {
    let names = Labels::of(assessment);
    let mut out = frame::head(assessment, style);
    out.push_str(&common_line(&names, style));
    out.push('\n');
    if assessment.cases.is_empty() {
        out.push_str("no case was measured\n");
    } else {
        let table = rows(assessment, &names).render(style);
        // A narrow table has no room for percentiles.
        let head = table.lines().next().unwrap_or_default();
        let has_percentiles = [" p50", " p9", " max"].iter().any(|title| head.contains(title));
        out.push_str(&table);
        if has_percentiles && assessment.measured().any(|it| it.latency.p50.is_some()) {
            out.push_str(&style.wrap("", Paint::Faint, words::SERVICE_TIME));
        }
    }
    let versus = versus::list(assessment, &names, style);
    if !versus.is_empty() {
        out.push_str(&format!("\n{versus}"));
    }
    out.push_str(&frame::below(assessment, style, &|id| names.name(id)));
    out
}

/// What the table says of cases, each with the rank of its column: what the view asks for, of which
/// the last is left out first, or what is usual. The verdict is always there.
fn shown(assessment: &Assessment) -> Vec<(&'static Metric, u8)> {
    let known = |name: &String| metric::all().find(|metric| metric.name == name);
    let asked: Vec<&Metric> = assessment.view.columns.iter().filter_map(known).collect();
    if asked.is_empty() {
        return usual(assessment);
    }
    let is_verdict = |metric: &&Metric| metric.name == "verdict";
    let figures = asked.into_iter().filter(|metric| !is_verdict(metric));
    let ranked = figures.zip((0..=u8::MAX).chain(std::iter::repeat(u8::MAX)));
    let with_interval = |(figure, rank)| {
        let interval = metric::interval_of(figure).map(|interval| (interval, rank));
        [(figure, rank)].into_iter().chain(interval)
    };
    ranked.flat_map(with_interval).chain([(Metric::named("verdict"), 0)]).collect()
}

/// What the table says where the view asks for nothing.
fn usual(assessment: &Assessment) -> Vec<(&'static Metric, u8)> {
    // Which of its rates is the figure of a row that writes is said wherever one writes.
    let rate = if writes::any(assessment) { 0 } else { 1 };
    // The figure that people ask for where all blocks are small.
    let iops = match metric::small_blocks(assessment.measured()) {
        Small::All => 2,
        Small::Some => 3,
        Small::None => 9,
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

fn rows(assessment: &Assessment, names: &Labels) -> Grid {
    let shown = shown(assessment);
    let metrics = shown.iter().map(|(metric, rank)| metric.in_grid(*rank));
    let mut grid = Grid::new([left("case", 0)].into_iter().chain(metrics).collect());
    for (heading, summaries) in groups(assessment) {
        if !heading.is_empty() {
            grid.heading(&heading);
        }
        for summary in summaries {
            let name = Cell::new(name(summary, assessment, names), Paint::Plain);
            let cells = shown.iter().map(|(metric, _)| {
                Cell::new(metric.cell(summary, assessment), metric.paint(summary))
            });
            grid.row([name].into_iter().chain(cells).collect());
        }
    }
    grid
}

/// The cases under their headings: of requested ones what the group axes of the view say, of the
/// others why they were measured.
fn groups(assessment: &Assessment) -> Vec<(String, Vec<&Summary>)> {
    let group: Vec<&Axis> =
        assessment.view.group.iter().filter_map(|axis| Axis::named(axis)).collect();
    let heading = |summary: &Summary| match summary.role {
        Role::Asked => joined(group.iter().filter_map(|axis| axis.label(&summary.case))),
        Role::Baseline => "baselines".to_string(),
        Role::Twin => "measured a second time (A/A)".to_string(),
    };
    let mut groups: Vec<(String, Vec<&Summary>)> = Vec::new();
    for summary in assessment.measured() {
        let heading = heading(summary);
        match groups.iter_mut().find(|(known, _)| *known == heading) {
            Some((_, members)) => members.push(summary),
            None => groups.push((heading, vec![summary])),
        }
    }
    groups
}

/// What a row is called: what its heading has not said.
fn name(summary: &Summary, assessment: &Assessment, names: &Labels) -> String {
    let group = &assessment.view.group;
    if group.is_empty() || summary.role != Role::Asked {
        return names.short(&summary.id);
    }
    let phrases = names.phrases(&summary.case).into_iter();
    let own = phrases.filter(|phrase| !group.iter().any(|axis| axis == phrase.axis));
    match joined(own.map(|phrase| phrase.short)) {
        own if own.is_empty() => format!("  {}", names.short(&summary.id)),
        own => format!("  {own}"),
    }
}
