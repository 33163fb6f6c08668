//! The table that suits any recipe: a row for each case.

use crate::frame;
use crate::grid::{Cell, Grid, left};
use crate::labels::{Labels, common_line};
use crate::metric::{self, Metric, Small};
use crate::style::{Paint, Style};
use crate::versus;
use crate::words;
use crate::writes;
use assess::Assessment;
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
        out.push_str(&rows(assessment, &names).render(style));
        if assessment.measured().any(|summary| summary.latency.p50.is_some()) {
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

/// What the table says of cases, each with the rank of its column.
fn shown(assessment: &Assessment) -> Vec<(&'static Metric, u8)> {
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
        ("accepted", 1),
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
    let mut role = Role::Asked;
    for summary in assessment.measured() {
        if summary.role != role {
            let is_twin = summary.role == Role::Twin;
            grid.heading(if is_twin { "measured a second time (A/A)" } else { "controls" });
            role = summary.role;
        }
        let name = Cell::new(names.short(&summary.id), Paint::Plain);
        let cells = shown
            .iter()
            .map(|(metric, _)| Cell::new(metric.cell(summary, assessment), metric.paint(summary)));
        grid.row([name].into_iter().chain(cells).collect());
    }
    grid
}
