//! The report of a run.

use crate::answer;
use crate::card::card;
use crate::document::{Block, Document, Paragraph, Section, made_later};
use crate::evidence::evidence;
use crate::findings;
use crate::frame;
use crate::goals;
use crate::labels::CaseLabels;
use crate::origin;
use crate::picture::{has_pictures, pictures};
use crate::pivot;
use crate::survey;
use crate::table;
use crate::text::Text;
use crate::versus;
use assess::Assessment;
use model::view::Layout;

/// A run, in the view that its recipe asks for.
pub fn run(assessment: &Assessment) -> Document<'_> {
    let labels = answer::labels(assessment);
    let name = |id: &str| labels.name(id);
    let is_ladder = assessment.view().layout == Layout::Ladder;
    let title = frame::title(assessment);
    let head = || Document {
        origin: format!("{title} · {}", assessment.header.host.name),
        title: title.clone(),
        warnings: frame::missing(assessment).into_iter().map(Text::from).collect(),
        ..Document::default()
    };
    let answer = answer::answer(assessment);
    let mut document = Document {
        about: about(assessment),
        answer: answer.lines.iter().cloned().map(Paragraph::plain).collect(),
        ..head()
    };
    document.draw(has_pictures(assessment), || pictures(assessment));
    document.part(Section::new("Goals", goals::table(assessment, &labels)));
    document.part(Section::new("Cases", cases(assessment, &labels)));
    if !is_ladder {
        let courses = table::courses(assessment, &name);
        document.part(Section::new("Over time", courses.into_iter().map(Block::plain)));
    }
    // A survey compares neighbors on its ladder in its answer.
    let compared = versus::compared(assessment, &labels);
    document.part(Section { is_on_page_only: is_ladder, ..Section::new("Compared", compared) });
    document.part(Section::new("Findings", findings::findings(assessment, true, &name)));
    let has_cases = assessment.measured().next().is_some();
    document.on_page("Evidence", has_cases, || evidence(assessment));
    document.on_page("Host, storage and method", true, || origin::origin(assessment));
    document.part(Section::new("Again", origin::again(assessment)));
    let head = head();
    document.card = is_ladder.then(|| made_later(move || card(assessment, head, &answer)));
    document
}

/// Where and how it was measured, and what all rows have in common.
fn about(assessment: &Assessment) -> Vec<Text> {
    let mut lines = frame::surroundings(assessment);
    if assessment.view().layout != Layout::Ladder {
        lines.extend(CaseLabels::of(assessment).common_line());
        lines.extend(table::versions(assessment));
    }
    lines.into_iter().map(Text::from).collect()
}

/// The tables, and what else is known of the cases.
fn cases(assessment: &Assessment, labels: &CaseLabels) -> Vec<Block> {
    let tables = match assessment.view().layout {
        Layout::Ladder => return survey::survey(assessment),
        Layout::Pivot => pivot::pivot(assessment),
        _ => table::table(assessment),
    };
    let beside = table::beside_tables(assessment, &|id| labels.name(id));
    tables.into_iter().chain(beside).collect()
}
