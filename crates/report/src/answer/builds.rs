//! How much builds of the same loop differ.

use crate::sentence::{Paragraphs, Sentence, said_ratio};
use crate::words;
use assess::Assessment;
use assess::builds::Builds;

/// How much builds of the same loop differ, if several were measured.
pub(super) fn answer(assessment: &Assessment, name: &dyn Fn(&str) -> String) -> Paragraphs {
    let all = assessment.builds.iter().filter_map(|builds| said(assessment, builds, name));
    vec![all.collect()]
}

fn said(
    assessment: &Assessment,
    builds: &Builds,
    name: &dyn Fn(&str) -> String,
) -> Option<Sentence> {
    let figure = |id: &str| {
        let summary = assessment.cases.iter().find(|case| case.id == id)?;
        Some(format!("{} ({})", words::main_figure(summary).0, name(id)))
    };
    let [fastest, slowest] = builds.apart.rows();
    let figures = format!(
        "{} builds of the same loop go from {} to {}",
        builds.count,
        figure(&slowest.id)?,
        figure(&fastest.id)?
    );
    let ratio = said_ratio(&builds.apart.ratio());
    let words = [
        "the compiler and its options make that difference here",
        "that difference does not matter",
        "it is undecided whether they differ",
    ];
    Some(Sentence::decided(&builds.apart, words, |says| format!("{figures}, {ratio}: {says}.")))
}
