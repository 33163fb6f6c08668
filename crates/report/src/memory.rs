//! Memory: the ladder of caches by working set, each loop in DRAM, and what the two show.

use crate::frame;
use crate::grid::{Cell, Grid, left, right};
use crate::labels::{Labels, common_line};
use crate::phrases::joined;
use crate::style::{Paint, Style};
use crate::words::{self, NONE, figure, listed};
use assess::Assessment;
use assess::summary::Summary;
use model::case::MemoryWork;
use model::units;

/// Fewer working sets are no ladder.
const STEPS_LEAST: usize = 3;

/// A ladder of working sets where there is one, and a row for each other case.
pub(crate) fn memory(assessment: &Assessment, style: &Style) -> String {
    let series = series(assessment);
    let labels = Labels::of(assessment);
    let mut out = frame::head(assessment, style);
    out.push_str(&common_line(&labels, style));
    out.push_str(&style.wrap("", Paint::Plain, &caches(assessment)));
    if !series.is_empty() {
        let title = "by working set: bytes a second, or the time of a load that waits for the \
                     last one";
        out.push_str(&format!("\n{}", style.wrap("", Paint::Strong, title)));
        out.push_str(&ladder(&series, &labels).render(style));
    }
    let on_ladder = |summary: &&Summary| series.iter().any(|column| column.holds(summary));
    let rest: Vec<&Summary> = assessment.cases.iter().filter(|s| !on_ladder(s)).collect();
    if !rest.is_empty() {
        out.push_str(&format!("\n{}", rows(&rest, &labels).render(style)));
    }
    out.push_str(&frame::below(assessment, style, &|id| labels.name(id)));
    out
}

fn caches(assessment: &Assessment) -> String {
    let host = &assessment.host;
    let sizes: Vec<String> = host.caches.iter().map(|bytes| units::bytes(*bytes)).collect();
    if sizes.is_empty() {
        return "the OS reports no caches".to_string();
    }
    format!("data caches, as the OS reports them: {}", listed(&sizes))
}

/// A column of the ladder: cases that differ in their working set only.
struct Series<'a> {
    alike: MemoryWork,
    peer: &'a str,
    steps: Vec<(u64, &'a Summary)>,
}

impl Series<'_> {
    fn holds(&self, summary: &Summary) -> bool {
        self.steps.iter().any(|(_, step)| step.id == summary.id)
    }

    /// Its label: that of any of its cases, without what differs among them.
    fn title(&self, labels: &Labels) -> String {
        let phrases =
            self.steps.first().map_or(Vec::new(), |(_, first)| labels.phrases(&first.case));
        let told = phrases.into_iter().filter(|phrase| phrase.axis != "working_set");
        joined(told.map(|phrase| phrase.short))
    }
}

fn series(assessment: &Assessment) -> Vec<Series<'_>> {
    let mut all: Vec<Series> = Vec::new();
    for summary in &assessment.cases {
        let Some(work) = summary.case.memory() else { continue };
        let alike = MemoryWork { working_set: 0, time: Default::default(), ..*work };
        let peer = summary.case.peer.as_str();
        let step = (work.working_set, summary);
        match all.iter_mut().find(|series| series.alike == alike && series.peer == peer) {
            Some(series) => series.steps.push(step),
            None => all.push(Series { alike, peer, steps: vec![step] }),
        }
    }
    all.retain(|series| series.steps.len() >= STEPS_LEAST);
    all
}

fn ladder(series: &[Series], labels: &Labels) -> Grid {
    let mut sets: Vec<u64> =
        series.iter().flat_map(|series| series.steps.iter().map(|(set, _)| *set)).collect();
    sets.sort_unstable();
    sets.dedup();
    let mut columns = vec![right("working set", 0)];
    columns.extend(series.iter().map(|series| right(&series.title(labels), 0)));
    let mut grid = Grid::new(columns);
    for set in sets {
        let mut row = vec![Cell::new(units::bytes(set), Paint::Plain)];
        row.extend(series.iter().map(|series| {
            match series.steps.iter().find(|(step, _)| *step == set) {
                Some((_, summary)) => median(summary),
                None => Cell::new("", Paint::Plain),
            }
        }));
        grid.row(row);
    }
    grid
}

/// The median of a figure: in brackets if it is void, with a mark if it is in doubt.
fn median(summary: &Summary) -> Cell {
    let (median, _) = words::main_figure(summary);
    let mark = if summary.verdict == assess::finding::Verdict::Doubtful { "?" } else { "" };
    Cell::new(figure(summary, format!("{median}{mark}")), words::verdict_paint(summary))
}

fn rows(summaries: &[&Summary], labels: &Labels) -> Grid {
    let mut grid = Grid::new(vec![
        left("loop", 0),
        right("figure", 0),
        left("95 % CI", 0),
        right("bus (est.)", 2),
        right("ceiling", 1),
        right("n", 3),
        left("verdict", 0),
    ]);
    for summary in summaries {
        let (median, interval) = words::main_figure(summary);
        let paint = words::verdict_paint(summary);
        let said = |text: String| Cell::new(figure(summary, text), paint);
        let bus = summary.bus.map_or(NONE.to_string(), |bus| units::rate(bus.median));
        grid.row(vec![
            Cell::new(labels.short(&summary.id), Paint::Plain),
            said(median),
            said(interval),
            said(bus),
            said(words::ceiling(summary)),
            Cell::new(summary.n.to_string(), Paint::Plain),
            Cell::new(words::verdict(summary), paint),
        ]);
    }
    grid
}
