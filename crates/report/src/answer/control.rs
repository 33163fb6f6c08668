//! How repeatable cases are: those that were measured twice in each round (A/A).

use crate::labels::CaseLabels;
use crate::sentence::{Sentence, missing, said_ratio_of};
use crate::text::{case, figure, text};
use crate::words::capital;
use assess::Assessment;
use assess::comparison::{Comparison, Difference};
use assess::control::apart;
use assess::decision::Named;
use assess::ratio::Ratio;
use model::case::{Cache, Case, Work};
use model::units::percent;

/// A line for each kind of case that was measured twice; none without a control.
pub(super) fn answer(assessment: &Assessment, labels: &CaseLabels) -> Vec<Sentence> {
    let Some(control) = &assessment.control else { return Vec::new() };
    if control.comparisons.is_empty() {
        return missing(
            "The repeatability is unknown: no case has a valid figure of both measurements.",
        );
    }
    control.comparisons.iter().filter_map(|found| said(assessment, found, labels)).collect()
}

/// `Cold reads are repeatable to within 19.7 %: mmap, measured twice in each round, gave 1.06×
/// (0.93-1.20), so a smaller difference may be the machine's.`
fn said(assessment: &Assessment, found: &Comparison, labels: &CaseLabels) -> Option<Sentence> {
    let summary = assessment.row(&found.base)?;
    let twin = assessment.twins.iter().find(|twin| twin.case == summary.case)?;
    let (kind, rows) = (kind(&summary.case), [Named::of(summary)?, Named::of(twin)?]);
    let Some(apart) = apart(found) else {
        let asks = format!("how repeatable {kind} are");
        return Some(Sentence::open(asks, "needs more rounds", &rows));
    };
    let apart = figure(percent(apart));
    let Comparison { pairs, invocations, ratio: median, low, high, .. } = *found;
    let ratio = Ratio { pairs, invocations, median, low, high };
    let (are, may) = match found.difference {
        Difference::Equivalent => (text!("repeatable"), text!("")),
        Difference::Different => (
            text!("not repeatable"),
            text!(", so a difference of up to {} may be the machine's", apart),
        ),
        Difference::Inconclusive | Difference::InDoubt => (
            text!("repeatable to within {}", apart),
            text!(", so a smaller difference may be the machine's"),
        ),
    };
    let text = text!(
        "{} are {}: {}, measured twice in each round, gave {}{}.",
        capital(&kind),
        are,
        case(&found.base, &|id| labels.name(id)),
        said_ratio_of(&ratio, "", &rows),
        may
    );
    Some(Sentence::figures(text, &rows))
}

/// The kinds of case with a control each: the kind of work in each cache state.
fn kind(case: &Case) -> String {
    let of = |cache: Cache, what: &str| match cache {
        Cache::AsIs => what.to_string(),
        _ => format!("{cache} {what}"),
    };
    match &case.work {
        Work::Memory(_) => "loops over memory".to_string(),
        Work::Metadata(work) => of(work.cache, "calls on names"),
        Work::Command(work) => of(work.cache, "commands"),
        Work::Read(work) => of(work.io.cache, "reads"),
        Work::Write(work) => of(work.io.cache, "writes"),
    }
}
