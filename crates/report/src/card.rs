//! A survey as a card: what has room in a post to a forum or in an issue.

use crate::answer::{self, Answer};
use crate::busy::{ShownFinding, shown};
use crate::document::{Block, Document, Paragraph, Section};
use crate::findings::is_of_machine;
use crate::frame;
use crate::grid::{Grid, GridCell, left, right};
use crate::labels::CaseLabels;
use crate::metric::Metric;
use crate::origin;
use crate::style::Paint;
use crate::survey::RowRate;
use crate::text::{self, Text, text};
use crate::words::{self, NONE, count, listed};
use assess::Assessment;
use assess::summary::Summary;
use model::plan::Role;

/// The column that says what served the bytes.
const SERVED_BY: &str = "served_by";

/// The card of a survey with this report and answer: the machine, the answer, and the rows that
/// bear it.
pub(crate) fn card<'a>(
    assessment: &Assessment,
    whole: &Document,
    answer: &Answer,
) -> Document<'a> {
    let labels = answer::labels(assessment);
    let is_shown = |summary: &&Summary| answer.rows.contains(&summary.id);
    let (shown, mut others): (Vec<&Summary>, Vec<&Summary>) =
        assessment.cases.iter().partition(is_shown);
    others.retain(|summary| summary.role == Role::Asked);
    let mut grid = Grid::new(vec![
        left("", 0),
        right("throughput", 0),
        left("95 % CI", 0),
        right("p50", 0),
        right("p99", 0),
        left("served by", 0),
        left("verdict", 0),
    ]);
    shown.iter().flat_map(|summary| rows(assessment, &labels, summary)).for_each(|it| grid.row(it));
    let notes = Block::list(Paragraph::plain(""), notes(assessment, &others));
    let mut document = Document {
        title: whole.title.clone(),
        origin: whole.origin.clone(),
        about: vec![frame::in_a_line(assessment).into()],
        warnings: whole.warnings.clone(),
        answer: whole.answer.clone(),
        ..Document::default()
    };
    document.part(Section::new("", vec![Block::table(grid, []), notes]));
    document
}

/// The rows of a case: one, or one for each rate of its writes. What served is of its last rate.
fn rows(assessment: &Assessment, labels: &CaseLabels, summary: &Summary) -> Vec<Vec<GridCell>> {
    let name = labels.name(&summary.id);
    let row = |name: String, shown: [&str; 4], by: Option<&str>| {
        let cell = |name: &str| Metric::named(name).short_cell(summary, assessment);
        let figures = shown.into_iter().map(cell);
        let by = by.map_or(NONE.to_string(), cell);
        let cells = [name].into_iter().chain(figures).chain([by, summary.verdict.to_string()]);
        cells.map(|text| GridCell::new(text, Paint::Plain)).collect()
    };
    let rates = RowRate::of(&summary.case);
    let of = |(index, rate): (usize, &RowRate)| {
        let by = (index + 1 == rates.len()).then_some(SERVED_BY);
        row(rate.label(name.clone()), rate.metrics(), by)
    };
    rates.iter().enumerate().map(of).collect()
}

/// What the figures are, what the card leaves out, and how to make all of it.
fn notes(assessment: &Assessment, others: &[&Summary]) -> Vec<Text> {
    let figures = frame::figures_are(assessment).text;
    let left_out = match others {
        [] => "all cases are shown".to_string(),
        others => {
            let is = |verdict| others.iter().filter(move |other| other.verdict == verdict).count();
            let mut verdicts: Vec<_> = others.iter().map(|other| other.verdict).collect();
            verdicts.sort();
            verdicts.dedup();
            let said: Vec<String> =
                verdicts.iter().map(|verdict| format!("{} {verdict}", is(*verdict))).collect();
            format!("{} left out: {}", count(others.len(), "case"), listed(&said))
        }
    };
    let found = found(assessment);
    let again = text::command(origin::repeating(assessment));
    vec![
        format!("{figures}; {}", words::SERVICE_TIME_SHORT).into(),
        format!("{left_out}; {found}").into(),
        text!("{}; {} shows all", again, text::command("--markdown --all")),
    ]
}

/// `found: WideInterval (doubt), Steal (note)`
fn found(assessment: &Assessment) -> String {
    let all = shown(assessment);
    let all = all.iter().filter(|shown| !is_of_machine(&shown.found));
    let said =
        |shown: &ShownFinding| format!("{} ({})", shown.name(), shown.found.finding.severity);
    let said: Vec<String> = all.map(said).collect();
    if said.is_empty() {
        "nothing was found".to_string()
    } else {
        format!("found: {}", said.join(", "))
    }
}
