//! The forms of documents, for tests.

use super::build;
use crate::{Document, Listed, Picture, Style};
use assess::Assessment;
use assess::fleet::Fleet;
use assess::gate::Gate;
use assess::records::RecordComparison;
use assess::together::Together;
use assess::trend::Trends;
use model::plan::Plan;
use model::units::ParseError;
use model::view::{Layout, View};

pub(crate) fn text(assessment: &Assessment, style: &Style) -> String {
    crate::run(assessment).text(style)
}

/// All of a run, and no card.
pub(crate) fn markdown(assessment: &Assessment) -> String {
    Document { card: None, ..crate::run(assessment) }.markdown()
}

/// What `--markdown` prints of a survey.
pub(crate) fn card(assessment: &Assessment) -> String {
    crate::run(assessment).markdown()
}

pub(crate) fn page(assessment: &Assessment) -> String {
    crate::run(assessment).page()
}

pub(crate) fn pictures(assessment: &Assessment) -> Vec<Picture> {
    crate::run(assessment).pictures().cloned().collect()
}

pub(crate) fn picture_alone(assessment: &Assessment, name: &str) -> Result<String, ParseError> {
    crate::run(assessment).picture_alone(name)
}

fn of_records<'a>(versus: &'a RecordComparison, paths: [&str; 2]) -> Document<'a> {
    crate::records(versus, None, paths)
}

pub(crate) fn records(versus: &RecordComparison, paths: [&str; 2], style: &Style) -> String {
    of_records(versus, paths).text(style)
}

pub(crate) fn markdown_of_records(versus: &RecordComparison, paths: [&str; 2]) -> String {
    of_records(versus, paths).markdown()
}

pub(crate) fn page_of_records(versus: &RecordComparison, paths: [&str; 2]) -> String {
    of_records(versus, paths).page()
}

pub(crate) fn pictures_of_records(versus: &RecordComparison) -> Vec<Picture> {
    of_records(versus, ["a", "b"]).pictures().cloned().collect()
}

pub(crate) fn gate_of_run(
    versus: &RecordComparison,
    gate: &Gate,
    paths: [&str; 2],
    style: &Style,
) -> String {
    crate::gate_run(versus, gate, paths).text(style)
}

pub(crate) fn markdown_of_gate_run(
    versus: &RecordComparison,
    gate: &Gate,
    paths: [&str; 2],
) -> String {
    crate::gate_run(versus, gate, paths).markdown()
}

pub(crate) fn fleet(fleet: &Fleet, style: &Style) -> String {
    crate::fleet(fleet).text(style)
}

pub(crate) fn together(run: &Together, style: &Style) -> String {
    crate::together(run).text(style)
}

pub(crate) fn trend(trends: &Trends, last: &Assessment, number: usize, style: &Style) -> String {
    crate::trend(trends, last, number).text(style)
}

pub(crate) fn runs(records: &[Listed], unreadable: &[String], style: &Style) -> String {
    crate::runs(records, unreadable).text(style)
}

pub(crate) fn plan(plan: &Plan, style: &Style) -> String {
    crate::plan(plan, &[], Vec::new(), None).text(style)
}

/// A run in a layout that its recipe may not ask for.
fn in_layout(layout: Layout, assessment: &Assessment, style: &Style) -> String {
    let view = View { layout, ..assessment.view().clone() };
    text(&build::in_view(view, assessment.clone()), style)
}

pub(crate) fn survey(assessment: &Assessment, style: &Style) -> String {
    in_layout(Layout::Ladder, assessment, style)
}

pub(crate) fn pivot(assessment: &Assessment, style: &Style) -> String {
    in_layout(Layout::Pivot, assessment, style)
}

pub(crate) fn table(assessment: &Assessment, style: &Style) -> String {
    in_layout(Layout::Table, assessment, style)
}
