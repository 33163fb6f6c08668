//! The trend of a recipe's figures from run to run.

use crate::document::{Block, Document, FindingBlock, Paragraph, Section};
use crate::goals;
use crate::grid::{Grid, GridCell, left, right};
use crate::labels::CaseLabels;
use crate::run::run;
use crate::sentence::lines;
use crate::sparkline::{STEPS_MAX, sparkline};
use crate::style::Paint;
use crate::text::Text;
use crate::words::{self, NONE, interval, say, tally, times};
use assess::Assessment;
use assess::trend::{Trend, Trends};

/// Marks a run without a valid figure in a line of blocks.
const GAP: char = '·';

/// With fewer runs, no step can be told from chance; many cases need a few more (docs/method).
const STEP_RUNS: usize = 10;

/// The trend of all cases after the run `last`, which is run `number`, counted from 1.
pub fn trend<'a>(trends: &Trends, last: &'a Assessment, number: usize) -> Document<'a> {
    let all = trends.all();
    let names = CaseLabels::of(last);
    let mut about = vec![tally(&last.tally())];
    let codes: Vec<String> = last.codes().iter().map(ToString::to_string).collect();
    if !codes.is_empty() {
        about.push(codes.join(", "));
    }
    let about = [about.join(" · ")].into_iter().chain(names.common_line());
    let fit = Vec::from_iter(goals::answer(last, &names));
    let title = format!("run {number} · {} · {}", last.header.plan.recipe, last.header.began);
    let mut document = Document {
        origin: format!("{title} · {}", last.header.host.name),
        title,
        about: about.map(Text::from).collect(),
        answer: lines(&fit).into_iter().map(Paragraph::plain).collect(),
        ..Document::default()
    };
    if all.is_empty() {
        document.part(Section::new("Trend", [Block::plain("No run has a valid figure.")]));
        return with_run(document, last);
    }
    let mut grid =
        Grid::new(vec![left("case", 0), left("runs", 0), right("last", 0), left("95 % CI", 1)]);
    for trend in &all {
        grid.row(cells(trend, &names));
    }
    let steps = all.iter().filter_map(|trend| step(trend, trends, &names)).collect();
    let mut blocks = vec![Block::table(grid, [])];
    blocks.extend(Block::findings(steps));
    if (2..STEP_RUNS).contains(&all[0].runs.len()) {
        blocks.push(Block::aside(format!(
            "telling a step from chance takes {STEP_RUNS} runs, and more with many cases"
        )));
    }
    document.part(Section::new("Trend", blocks));
    with_run(document, last)
}

/// The document with the report of the last run, which only a page has room for.
fn with_run<'a>(mut document: Document<'a>, last: &'a Assessment) -> Document<'a> {
    let run = run(last);
    document.warnings = run.warnings;
    let about = run.about.into_iter().map(Block::Aside);
    let answer = run.answer.into_iter().map(Block::Paragraph);
    document.on_page("The last run", true, || about.chain(answer).collect());
    let parts = run.parts.into_iter();
    document.parts.extend(parts.map(|part| Section { is_on_page_only: true, ..part }));
    document
}

fn cells(trend: &Trend, names: &CaseLabels) -> Vec<GridCell> {
    let plain = |text: String| GridCell::new(text, Paint::Plain);
    let say = say(trend.quantity);
    let last = trend.runs.last().copied().flatten();
    let ci = last.map_or(NONE.to_string(), |run| interval(run.low, run.high, say));
    vec![
        plain(names.short(&trend.id)),
        plain(blocks(trend)),
        plain(last.map_or(NONE.to_string(), |run| say(run.median))),
        plain(ci),
    ]
}

/// The last runs as blocks, from 0 to their highest figure.
fn blocks(trend: &Trend) -> String {
    let first = trend.runs.len().saturating_sub(STEPS_MAX);
    let last: Vec<Option<f64>> =
        trend.runs[first..].iter().map(|run| run.map(|run| run.median)).collect();
    let figures: Vec<f64> = last.iter().copied().flatten().collect();
    let line = sparkline(&figures);
    let mut blocks = line.chars();
    last.iter().map(|run| run.and_then(|_| blocks.next()).unwrap_or(GAP)).collect()
}

fn step(trend: &Trend, trends: &Trends, names: &CaseLabels) -> Option<FindingBlock> {
    let step = trend.step?;
    let say = words::say(trend.quantity);
    let at = trends.forgotten() + step.at + 1;
    let text = format!(
        "{}: {} until run {}, {} from run {at} on: {}",
        names.short(&trend.id),
        say(step.before),
        at - 1,
        say(step.after),
        times(step.after / step.before)
    );
    Some(FindingBlock::of_kind("step", Paint::Doubt, text))
}
