//! How much builds of the same loop differ.

use crate::sentence::{Paragraphs, Sentence, said_ratio};
use crate::words;
use assess::Assessment;
use assess::builds::Builds;

/// How much builds of the same loop differ, if several were measured.
pub(super) fn answer(assessment: &Assessment, name: &dyn Fn(&str) -> String) -> Paragraphs {
    let all = assessment.builds.iter().filter_map(|builds| said(assessment, builds, name));
    vec![all.flatten().collect()]
}

fn said(
    assessment: &Assessment,
    builds: &Builds,
    name: &dyn Fn(&str) -> String,
) -> Option<[Sentence; 2]> {
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
    let does = Sentence::decided(&builds.apart, "whether they differ", |differ| match differ {
        true => format!("That is {ratio}: the compiler and its options make the difference here."),
        false => format!("That is {ratio}, a difference that does not matter."),
    });
    Some([Sentence::figures(format!("{figures}."), builds.apart.rows()), does])
}
