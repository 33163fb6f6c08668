//! The table that suits any recipe: a row for each case.

use crate::frame;
use crate::grid::{Cell, Grid, left, right};
use crate::labels::{Labels, common_line};
use crate::style::{Paint, Style};
use crate::versus;
use crate::words::{self, NONE, figure};
use crate::writes;
use assess::Assessment;
use assess::summary::Summary;
use model::host::Storage;
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

fn rows(assessment: &Assessment, names: &Labels) -> Grid {
    // Which of its rates is the figure of a row that writes is said wherever one writes.
    let kind_rank = if writes::any(assessment) { 0 } else { 1 };
    let mut grid = Grid::new(vec![
        left("case", 0),
        right("n", 7),
        right("throughput", 0),
        left("95 % CI", 0),
        left("rate", kind_rank),
        right("accepted", 1),
        left("min/mean/max", 5),
        right("op/s", 9),
        right("p50", 2),
        right("p99", 3),
        right("p99.9", 8),
        right("idle", 6),
        right("sync p50", 2),
        right("sync p99", 3),
        right("CPU/op", 4),
        right("ceiling", 10),
        left("served by", 1),
        left("verdict", 0),
    ]);
    let mut role = Role::Asked;
    for summary in assessment.measured() {
        if summary.role != role {
            let is_twin = summary.role == Role::Twin;
            grid.heading(if is_twin { "measured a second time (A/A)" } else { "controls" });
            role = summary.role;
        }
        grid.row(cells(summary, assessment.storage.as_ref(), names));
    }
    grid
}

fn cells(summary: &Summary, storage: Option<&Storage>, names: &Labels) -> Vec<Cell> {
    let verdict = words::verdict_paint(summary);
    let plain = |text: String| Cell::new(text, Paint::Plain);
    let said = |text: String| Cell::new(figure(summary, text), verdict);
    let (median, interval) = words::main_figure(summary);
    let or_none = |text: Option<String>| text.unwrap_or(NONE.to_string());
    let writing = summary.writing.as_ref();
    let spread = words::main_estimate(summary).map(|(all, say)| words::min_mean_max(&all, say));
    vec![
        plain(names.short(&summary.id)),
        plain(summary.n.to_string()),
        said(median),
        said(interval),
        plain(words::rate_kind(summary).to_string()),
        said(writes::accepted(writing).0),
        said(or_none(spread)),
        said(or_none(summary.iops.map(|iops| words::per_second(iops.median)))),
        said(words::percentile(summary.latency.p50)),
        said(words::percentile(summary.latency.p99)),
        said(words::percentile(summary.latency.p99_9)),
        said(or_none(summary.imbalance_percent.map(words::percent))),
        said(words::percentile(writing.and_then(|writing| writing.sync.p50))),
        said(words::percentile(writing.and_then(|writing| writing.sync.p99))),
        said(words::ns(summary.cpu_ns_per_op)),
        said(words::ceiling(summary)),
        plain(words::served_by(summary, storage)),
        Cell::new(words::verdict(summary), verdict),
    ]
}
