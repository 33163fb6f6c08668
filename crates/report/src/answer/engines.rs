//! Which engine reads fastest, where cases differ only in it.

use crate::labels::CaseLabels;
use crate::phrases::joined;
use crate::sentence::{Sentence, ratio_of};
use crate::text::text;
use assess::Assessment;
use assess::decision::{Decided, Decision, Lead};
use assess::finding::Verdict;
use assess::summary::{ServedBy, Summary};
use model::axis::Axis;
use model::case::{Case, OWN_PEER};
use model::plan::Role;

/// If there are more, the table of comparisons is the place for them.
const MOST: usize = 4;

/// Which engine is the fastest for a kind of read that several did, and the questions about it.
pub(super) struct EngineLead {
    /// What served the bytes.
    pub(super) served_by: Option<ServedBy>,
    /// `in warm 4KiB random reads, mmap is fastest: 1.35× pread (1.20-1.51), 2.10× uring`.
    pub(super) line: Option<Sentence>,
    pub(super) open: Vec<Sentence>,
}

/// The fastest engine for each kind of read that several engines did.
pub(super) fn leads(assessment: &Assessment, labels: &CaseLabels) -> Vec<EngineLead> {
    let leads = assessment.conclusions.engines.iter();
    leads.filter_map(|lead| said(assessment, lead, labels)).take(MOST).collect()
}

fn said(assessment: &Assessment, lead: &Lead, labels: &CaseLabels) -> Option<EngineLead> {
    let best = assessment.row(&lead.best().row.id)?;
    let name = engine(&best.case)?;
    if lead.against().is_empty() {
        return None;
    }
    let words = labels.words(&best.id).into_iter().filter(|word| word.axis != "engine");
    let title = joined(words.map(|word| word.short));
    let place = if title.is_empty() { "reads".to_string() } else { format!("{title} reads") };
    let mut clauses = Vec::new();
    for decided in lead.against() {
        clauses.push(clause(
            decided,
            [name, engine(&assessment.row(&decided.rows()[1].id)?.case)?],
            &place,
        ));
    }
    let (open, closed): (Vec<Sentence>, Vec<Sentence>) =
        clauses.into_iter().partition(Sentence::is_open);
    let is_fastest = if lead.decision() == Decision::Yes { "is fastest: " } else { "is " };
    let start = Sentence::plain(format!("in {place} {name} {is_fastest}"));
    let line = (!closed.is_empty()).then(|| {
        let others = left_out(assessment, best, lead).into_iter().map(Sentence::plain);
        let compared = Sentence::joined(closed, ", ");
        let compared = Sentence::joined([start, compared], "");
        Sentence::joined([compared].into_iter().chain(others), "; ")
    });
    Some(EngineLead { served_by: best.served_by, line, open })
}

fn clause(decided: &Decided, [name, other]: [&str; 2], place: &str) -> Sentence {
    let asks = format!("whether {name} is faster than {other} in {place}");
    Sentence::decided(decided, asks, |is_faster| match is_faster {
        true => ratio_of(decided, other),
        false => text!("no faster than {}, {}", other, ratio_of(decided, "")),
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
