//! What has no figure: trials that failed or were unavailable, and baselines without any.

use crate::style::{Paint, Style};
use crate::words::{self, count, sentence};
use assess::Assessment;
use assess::finding::Verdict;
use assess::summary::Summary;
use model::plan::Role;

/// Baselines that have no figure which stands: what they would bound or check is not.
pub(crate) fn without_figure(assessment: &Assessment) -> Option<String> {
    let is_such = |summary: &&Summary| {
        let has_trials = summary.n > 0 || !summary.failures.is_empty();
        summary.role != Role::Asked && !summary.verdict.stands() && has_trials
    };
    let all: Vec<String> = (assessment.measured().filter(is_such))
        .map(|summary| format!("{} ({})", summary.id, words::verdict(summary)))
        .collect();
    (!all.is_empty()).then(|| {
        format!(
            "{} without a valid figure: {}. This does not change the exit status",
            count(all.len(), "baseline"),
            words::listed(&all)
        )
    })
}

/// Trials without a figure: the reason, the ids of the cases and the number of trials.
pub(crate) type Failure<'a> = (&'a str, Vec<String>, usize);

/// Why trials failed or were unavailable, each reason once.
pub(crate) fn failures(assessment: &Assessment) -> Vec<Failure<'_>> {
    let mut reasons: Vec<Failure> = Vec::new();
    for summary in assessment.measured() {
        for (reason, trials) in &summary.failures {
            match reasons.iter_mut().find(|(known, ..)| known == reason) {
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

/// The same, a line for each reason.
pub(crate) fn said_failures(assessment: &Assessment, name: &dyn Fn(&str) -> String) -> Vec<String> {
    let say = |(reason, ids, trials): &Failure| said_failure(reason, ids, *trials, name);
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

/// The same of one reason, under the word that says what became of the trials.
pub(crate) fn missed(failure: &Failure, style: &Style, name: &dyn Fn(&str) -> String) -> String {
    let (reason, ids, trials) = failure;
    let unavailable = Verdict::Unavailable.name();
    let parts = reason.split_once(": ").filter(|(fate, _)| *fate == unavailable);
    let (lead, why) = parts.unwrap_or(("failed", reason));
    let said = said_failure(why, ids, *trials, name);
    style.wrap(&format!("{lead} "), Paint::Void, &sentence(&said))
}

/// One case by its name, more by their number.
pub(crate) fn whom(ids: &[String], name: &dyn Fn(&str) -> String) -> String {
    match ids {
        [id] => name(id),
        ids => count(ids.len(), "case"),
    }
}
