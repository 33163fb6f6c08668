//! How much builds of the same loop differ.

use crate::labels::CaseLabels;
use crate::sentence::{Sentence, figure_of, ratio_of};
use crate::text::{case, text};
use crate::words;
use assess::Assessment;
use assess::conclusions::builds::Builds;
use assess::decision::Named;

/// How much builds of the same loop differ, if several were measured.
pub(super) fn answer(assessment: &Assessment, labels: &CaseLabels) -> Vec<Sentence> {
    let name = &|id: &str| labels.name(id);
    let all = assessment.conclusions.builds.iter();
    all.filter_map(|builds| said(assessment, builds, name)).flatten().collect()
}

fn said(
    assessment: &Assessment,
    builds: &Builds,
    name: &dyn Fn(&str) -> String,
) -> Option<Vec<Sentence>> {
    let of = |row: &Named| {
        let summary = assessment.row(&row.id)?;
        let figure = figure_of(words::main_figure(summary).0, row);
        Some(text!("{} ({})", figure, case(&row.id, name)))
    };
    let [fastest, slowest] = builds.apart.rows();
    let figures = text!(
        "{} builds of the same loop go from {} to {}",
        builds.count,
        of(slowest)?,
        of(fastest)?
    );
    let does = Sentence::decided(&builds.apart, "whether they differ", |differ| {
        let matters = if differ { "matters" } else { "matters little" };
        let ratio = ratio_of(&builds.apart, "");
        text!("The build {} here: {}, {}.", matters, &figures, ratio)
    });
    let alone = does.is_open().then(|| Sentence::figures(figures, builds.apart.rows()));
    Some(alone.into_iter().chain([does]).collect())
}
