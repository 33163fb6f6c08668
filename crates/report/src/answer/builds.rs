//! How much builds of the same loop differ.

use crate::labels::CaseLabels;
use crate::sentence::{Paragraphs, Sentence, said_ratio};
use crate::text::{case, figure, text};
use crate::words;
use assess::Assessment;
use assess::conclusions::builds::Builds;

/// How much builds of the same loop differ, if several were measured.
pub(super) fn answer(assessment: &Assessment, labels: &CaseLabels) -> Paragraphs {
    let name = &|id: &str| labels.name(id);
    let all =
        assessment.conclusions.builds.iter().filter_map(|builds| said(assessment, builds, name));
    vec![all.flatten().collect()]
}

fn said(
    assessment: &Assessment,
    builds: &Builds,
    name: &dyn Fn(&str) -> String,
) -> Option<[Sentence; 2]> {
    let of = |id: &str| {
        let summary = assessment.cases.iter().find(|summary| summary.id == id)?;
        Some(text!("{} ({})", figure(words::main_figure(summary).0), case(id, name)))
    };
    let [fastest, slowest] = builds.apart.rows();
    let figures = text!(
        "{} builds of the same loop go from {} to {}.",
        builds.count,
        of(&slowest.id)?,
        of(&fastest.id)?
    );
    let ratio = said_ratio(&builds.apart.ratio());
    let does = Sentence::decided(&builds.apart, "whether they differ", |differ| match differ {
        true => {
            text!("That is {}: the compiler and its options make the difference here.", ratio)
        }
        false => text!("That is {}, a difference that does not matter.", ratio),
    });
    Some([Sentence::figures(figures, builds.apart.rows()), does])
}
