//! Which engine reads fastest, where cases differ only in it.

use crate::labels::Labels;
use crate::phrases::joined;
use crate::sentence::{Sentence, said_ratio};
use assess::Assessment;
use assess::decision::{Decided, Lead};
use assess::finding::Verdict;
use assess::summary::Summary;
use model::axis::Axis;
use model::case::{Case, OWN_PEER};
use model::plan::Role;

/// If there are more, the table of comparisons is the place for them.
const MOST: usize = 4;

/// A sentence for each kind of read that several engines did.
pub(super) fn answer(assessment: &Assessment, labels: &Labels) -> Vec<Sentence> {
    let said = assessment.engines.iter().filter_map(|lead| said(assessment, lead, labels));
    said.take(MOST).collect()
}

/// `In warm 4KiB random reads, mmap is faster than pread, 1.35× (1.20-1.51); it is no faster than
/// uring, 1.01× (0.99-1.02).`
fn said(assessment: &Assessment, lead: &Lead, labels: &Labels) -> Option<Sentence> {
    let find = |id: &str| assessment.cases.iter().find(|summary| summary.id == id);
    let best = find(&lead.best().row.id)?;
    let name = engine(&best.case)?;
    let mut clauses = Vec::new();
    for (index, decided) in lead.against().iter().enumerate() {
        let other = engine(&find(&decided.rows()[1].id)?.case)?;
        clauses.push(clause(decided, if index == 0 { name } else { "it" }, other));
    }
    if clauses.is_empty() {
        return None;
    }
    clauses.extend(left_out(assessment, best, lead).into_iter().map(Sentence::plain));
    let words = labels.words(&best.id).into_iter().filter(|word| word.axis != "engine");
    let start = match joined(words.map(|word| word.short)) {
        title if title.is_empty() => "Of the engines, ".to_string(),
        title => format!("In {title} reads, "),
    };
    Some(Sentence::of_clauses(&start, &clauses))
}

fn clause(decided: &Decided, name: &str, other: &str) -> Sentence {
    let ratio = said_ratio(&decided.ratio());
    let words = [
        &format!("{name} is faster than {other}"),
        &format!("{name} is no faster than {other}"),
        &format!("it is undecided whether {name} is faster than {other}"),
    ];
    Sentence::decided(decided, words.map(String::as_str), |says| format!("{says}, {ratio}"))
}

/// The engines that were to be compared too, each with the reason why it is not.
fn left_out(assessment: &Assessment, best: &Summary, lead: &Lead) -> Vec<String> {
    let kind = but_for_engine(&best.case);
    let is_alike = |case: &Case| case.peer == OWN_PEER && but_for_engine(case) == kind;
    let is_compared = |summary: &Summary| {
        summary.id == best.id || lead.against().iter().any(|one| one.rows()[1].id == summary.id)
    };
    let asked = assessment.cases.iter().filter(|summary| summary.role == Role::Asked);
    let others = asked.filter(|summary| is_alike(&summary.case) && !is_compared(summary));
    let measured = others.filter_map(|summary| {
        let name = engine(&summary.case)?;
        Some(match summary.verdict {
            Verdict::Sound if summary.served_by == best.served_by => {
                format!("{name} has no round in common with it")
            }
            Verdict::Sound => format!("{name} read from elsewhere"),
            Verdict::Doubtful => format!("{name} is doubtful, so it is left out"),
            Verdict::Void | Verdict::Unavailable => format!("{name} has no valid figure"),
        })
    });
    let skipped = assessment.skips.iter().filter(|skip| is_alike(&skip.case));
    let skipped = skipped.filter_map(|skip| engine(&skip.case));
    measured.chain(skipped.map(|name| format!("{name} was not measured"))).collect()
}

fn but_for_engine(case: &Case) -> Option<Case> {
    case.read()?;
    Axis::named("engine")?.at_baseline(case)
}

fn engine(case: &Case) -> Option<&'static str> {
    Some(case.read()?.engine.name())
}
