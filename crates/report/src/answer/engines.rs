//! Which engine reads fastest, where cases differ only in it.

use crate::labels::CaseLabels;
use crate::phrases::joined;
use crate::sentence::{Sentence, said_ratio};
use crate::text::text;
use assess::Assessment;
use assess::decision::{Decided, Lead};
use assess::finding::Verdict;
use assess::summary::Summary;
use model::axis::Axis;
use model::case::{Case, OWN_PEER};
use model::plan::Role;

/// If there are more, the table of comparisons is the place for them.
const MOST: usize = 4;

/// The sentences for each kind of read that several engines did.
pub(super) fn answer(assessment: &Assessment, labels: &CaseLabels) -> Vec<Sentence> {
    let said =
        assessment.conclusions.engines.iter().filter_map(|lead| said(assessment, lead, labels));
    said.take(MOST).flatten().collect()
}

/// `In warm 4KiB random reads, mmap is faster than pread, 1.35× (1.20-1.51); it is no faster than
/// uring, 1.01× (0.99-1.02).` Those that are undecided are asked about.
fn said(assessment: &Assessment, lead: &Lead, labels: &CaseLabels) -> Option<Vec<Sentence>> {
    let find = |id: &str| assessment.cases.iter().find(|summary| summary.id == id);
    let best = find(&lead.best().row.id)?;
    let name = engine(&best.case)?;
    if lead.against().is_empty() {
        return None;
    }
    let words = labels.words(&best.id).into_iter().filter(|word| word.axis != "engine");
    let title = joined(words.map(|word| word.short));
    let start = match title.as_str() {
        "" => "Of the engines, ".to_string(),
        title => format!("In {title} reads, "),
    };
    let (mut clauses, mut open) = (Vec::new(), Vec::new());
    for decided in lead.against() {
        let other = engine(&find(&decided.rows()[1].id)?.case)?;
        let clause =
            clause(decided, [if clauses.is_empty() { name } else { "it" }, name, other], &title);
        if clause.is_open() { open.push(clause) } else { clauses.push(clause) }
    }
    clauses.extend(left_out(assessment, best, lead).into_iter().map(Sentence::plain));
    let closed = (!clauses.is_empty()).then(|| Sentence::of_clauses(&start, &clauses));
    Some(closed.into_iter().chain(open).collect())
}

fn clause(decided: &Decided, [subject, name, other]: [&str; 3], title: &str) -> Sentence {
    let ratio = said_ratio(&decided.ratio());
    let place = if title.is_empty() { String::new() } else { format!(" in {title} reads") };
    let asks = format!("whether {name} is faster than {other}{place}");
    Sentence::decided(decided, asks, |is_faster| match is_faster {
        true => text!("{} is faster than {}, {}", subject, other, ratio),
        false => text!("{} is no faster than {}, {}", subject, other, ratio),
    })
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
            _ => format!("{name} has no valid figure"),
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
