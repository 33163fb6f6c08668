//! Missing figures: trials that failed or were unavailable, and baselines without a valid figure.

use crate::concerned::concerned_names;
use crate::document::FindingBlock;
use crate::style::Paint;
use crate::text::text;
use crate::words::{self, count};
use assess::Assessment;
use assess::failure::Failure;
use assess::summary::Summary;
use model::plan::Role;

/// Baselines without a valid figure; they bound and check nothing.
pub(crate) fn without_figure(assessment: &Assessment) -> Option<String> {
    let is_such = |summary: &&Summary| {
        let has_trials = summary.n > 0 || !summary.failures.is_empty();
        summary.role != Role::Asked && !summary.verdict.stands() && has_trials
    };
    let all: Vec<String> = (assessment.measured().filter(is_such))
        .map(|summary| format!("{} ({})", summary.id, summary.verdict))
        .collect();
    (!all.is_empty()).then(|| {
        format!(
            "{} without a valid figure: {}. This does not change the exit status",
            count(all.len(), "baseline"),
            words::listed(&all)
        )
    })
}

/// Missing trials: the reason, the ids of the cases, and the number of trials.
type Missed<'a> = (&'a Failure, Vec<String>, usize);

/// The reasons why trials failed or were unavailable, each once.
pub(crate) fn failures(
    assessment: &Assessment,
    name: &dyn Fn(&str) -> String,
) -> Vec<FindingBlock> {
    let mut reasons: Vec<Missed> = Vec::new();
    for summary in assessment.measured() {
        for (reason, trials) in &summary.failures {
            match reasons.iter_mut().find(|(known, ..)| *known == reason) {
                Some((_, ids, all)) => {
                    ids.push(summary.id.clone());
                    *all += trials;
                }
                None => reasons.push((reason, vec![summary.id.clone()], *trials)),
            }
        }
    }
    reasons.iter().map(|missed| finding(missed, name)).collect()
}

fn finding((failure, ids, trials): &Missed, name: &dyn Fn(&str) -> String) -> FindingBlock {
    let (trials, reason) = (count(*trials, "trial"), failure.reason());
    let text = text!("{}, {}: {}", concerned_names(ids, name), trials, reason);
    let cases = ids.iter().map(|id| (id.clone(), name(id))).collect();
    FindingBlock { cases, ..FindingBlock::of_kind(failure.name(), Paint::Void, text) }
}
