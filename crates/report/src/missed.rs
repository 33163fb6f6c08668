//! Missing figures: trials that failed or were unavailable, and baselines without a valid figure.

use crate::concerned::whom;
use crate::style::{Paint, Style};
use crate::words::{self, count, sentence};
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
pub(crate) type Missed<'a> = (&'a Failure, Vec<String>, usize);

/// The reasons why trials failed or were unavailable, each once.
pub(crate) fn failures(assessment: &Assessment) -> Vec<Missed<'_>> {
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
    reasons
}

/// The failures as a line for each reason.
pub(crate) fn said_failures(assessment: &Assessment, name: &dyn Fn(&str) -> String) -> Vec<String> {
    let say =
        |(failure, ids, trials): &Missed| said_failure(&failure.to_string(), ids, *trials, name);
    failures(assessment).iter().map(say).collect()
}

fn said_failure(
    reason: &str,
    ids: &[String],
    trials: usize,
    name: &dyn Fn(&str) -> String,
) -> String {
    format!("{}, {}: {reason}", whom(ids, name), count(trials, "trial"))
}

/// A failure, after a word for the outcome: failed or unavailable.
pub(crate) fn missed(missed: &Missed, style: &Style, name: &dyn Fn(&str) -> String) -> String {
    let (failure, ids, trials) = missed;
    let said = said_failure(failure.reason(), ids, *trials, name);
    style.wrap(&format!("{} ", failure.name()), Paint::Void, &sentence(&said))
}
