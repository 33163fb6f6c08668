//! How much builds of the same loop differ.

use crate::sentence::{Sentence, said_ratio, why_open};
use crate::words;
use assess::Assessment;
use assess::builds::Builds;
use assess::decision::Decision;

/// How much builds of the same loop differ; `None` if only one was measured.
pub(super) fn answer(
    assessment: &Assessment,
    name: &dyn Fn(&str) -> String,
) -> Option<Vec<Sentence>> {
    let all = assessment.builds.iter().filter_map(|builds| said(assessment, builds, name));
    let sentences: Vec<Sentence> = all.collect();
    (!sentences.is_empty()).then_some(sentences)
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
    Some(Sentence::decided(&builds.apart, |decision| match decision {
        Decision::Yes => {
            format!("{figures}, {ratio}: so much the compiler and its options are worth here.")
        }
        Decision::No => format!("{figures}, {ratio}: that is no difference that matters."),
        Decision::Undecided => {
            format!("{figures}, {ratio}: whether they differ is not decided ({}).", {
                why_open(&builds.apart)
            })
        }
    }))
}
