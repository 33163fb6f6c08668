//! A survey as a card: what has room in a post to a forum or in an issue.

use crate::answer::{self, Answer};
use crate::busy::{ShownFinding, shown};
use crate::document::{Block, Document, Paragraph, Section};
use crate::findings::{self, is_of_machine};
use crate::frame;
use crate::grid::{Grid, GridCell, left, right};
use crate::labels::CaseLabels;
use crate::metric::Metric;
use crate::missed::failures;
use crate::origin;
use crate::sentence::lines_alone;
use crate::style::Paint;
use crate::survey::RowRate;
use crate::text::{self, Text, text};
use crate::words::{self, NONE, count, listed};
use assess::summary::Summary;
use assess::{Assessment, Tally};
use model::plan::Role;

/// The column that says what served the bytes.
const SERVED_BY: &str = "served_by";

/// A card has at most so many lines of Markdown.
const LINES_MOST: usize = 35;

/// Lines of the title, of the machine and of the table's head, and those between the parts.
const FRAME: usize = 8;

/// At most so many reasons why something is missing; the report has all.
const REASONS_MOST: usize = 4;

/// The card of a survey with this answer: the machine, the answer, the rows that bear it, and why
/// rows are missing. `document` has the title and the warnings of the report.
pub(crate) fn card<'a>(
    assessment: &Assessment,
    document: Document<'a>,
    answer: &Answer,
) -> Document<'a> {
    let labels = answer::labels(assessment);
    let is_shown = |summary: &&Summary| answer.rows.contains(&summary.id);
    let (shown, mut others): (Vec<&Summary>, Vec<&Summary>) =
        assessment.cases.iter().partition(is_shown);
    others.retain(|summary| summary.role == Role::Asked);
    let lines = lines_alone(&answer.sentences);
    let mut document = Document {
        about: vec![frame::in_a_line(assessment).into()],
        answer: lines.into_iter().map(Paragraph::plain).collect(),
        ..document
    };
    let mut notes = notes(assessment, &others, &|id| labels.name(id));
    let mut rows: Vec<_> =
        shown.iter().flat_map(|summary| rows(assessment, &labels, summary)).collect();
    // An empty line follows each warning.
    let taken = FRAME + 2 * document.warnings.len() + document.answer.len() + notes.len();
    let room = LINES_MOST.saturating_sub(taken);
    if rows.len() > room {
        let room = room.saturating_sub(1);
        notes.insert(
            0,
            format!("{} of the answer left out", count(rows.len() - room, "row")).into(),
        );
        rows.truncate(room);
    }
    let table = (!rows.is_empty()).then(|| Block::table(table(rows), []));
    let notes = Block::list(Paragraph::plain(""), notes);
    document.part(Section::new("", table.into_iter().chain([notes])));
    document
}

fn table(rows: Vec<Vec<GridCell>>) -> Grid {
    let mut grid = Grid::new(vec![
        left("", 0),
        right("throughput", 0),
        left("95 % CI", 0),
        right("p50", 0),
        right("p99", 0),
        left("served by", 0),
        left("verdict", 0),
    ]);
    rows.into_iter().for_each(|row| grid.row(row));
    grid
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

/// What the figures are, what the card leaves out and why, and how to see or make all of it.
fn notes(assessment: &Assessment, others: &[&Summary], name: &dyn Fn(&str) -> String) -> Vec<Text> {
    let figures = frame::figures_are(assessment).text;
    let left_out = match others {
        [] => "all measured cases are shown".to_string(),
        others => {
            let verdicts = words::verdicts(&Tally::of(others.iter().map(|other| other.verdict)));
            format!("{} left out: {}", count(others.len(), "case"), listed(&verdicts))
        }
    };
    let mut notes = vec![
        format!("{figures}; {}", words::SERVICE_TIME_SHORT).into(),
        format!("{left_out}; {}", found(assessment)).into(),
    ];
    notes.extend(reasons(assessment, name));
    let again = text::command(origin::repeating(assessment));
    let whole = text::command("ioassay report RECORD --markdown --all");
    notes.push(text!("made by {}; {} shows all", again, whole));
    notes
}

/// Why trials failed, cases were skipped, or were measured in another way.
fn reasons(assessment: &Assessment, name: &dyn Fn(&str) -> String) -> Vec<Text> {
    let skips = findings::skips(&assessment.skips, name);
    let notes = findings::notes(assessment).into_iter().map(findings::note);
    let all: Vec<Text> = failures(assessment, name)
        .into_iter()
        .chain(skips)
        .chain(notes)
        .map(|reason| text!("{}: {}", reason.kind, reason.text))
        .collect();
    let more = all.len().saturating_sub(REASONS_MOST);
    let told = all.into_iter().take(REASONS_MOST);
    told.chain((more > 0).then(|| format!("{more} more of these").into())).collect()
}

/// `found: WideInterval (doubt), Steal (note)`
fn found(assessment: &Assessment) -> String {
    let all = shown(assessment);
    let all = all.iter().filter(|shown| !is_of_machine(&shown.found));
    let said =
        |shown: &ShownFinding| format!("{} ({})", shown.name(), shown.found.finding.severity);
    let said: Vec<String> = all.map(said).collect();
    if said.is_empty() { "no findings".to_string() } else { format!("found: {}", said.join(", ")) }
}
