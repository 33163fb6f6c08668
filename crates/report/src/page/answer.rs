//! What a record answers, and what its figures are worth.

use super::sheet::badge;
use crate::conclusion;
use crate::words;
use assess::Assessment;
use assess::summary::Summary;
use maud::{Markup, html};
use model::plan::Role;

/// What a verdict means, for who sees it for the first time.
const MEANINGS: &str = "sound: nothing speaks against the figure; doubtful: something does; void: \
                        it is not what it claims to be, or there is none; unavailable: this \
                        machine cannot do it";

/// The verdicts counted, and the answer in sentences.
pub(super) fn said(assessment: &Assessment) -> Markup {
    let paragraphs = conclusion::answer(assessment);
    html! {
        (tally(assessment))
        @for text in &paragraphs { p.answer { (text) } }
    }
}

/// How many cases are worth what.
pub(super) fn tally(assessment: &Assessment) -> Markup {
    let counts: Vec<(usize, &str)> = words::counts(&assessment.tally()).collect();
    let all: usize = counts.iter().map(|(count, _)| count).sum();
    if all == 0 {
        return html! { p.answer { "No case was measured." } };
    }
    html! {
        ul.tally aria-label="What the figures are worth" {
            @for (count, word) in &counts {
                li class=(class(word)) { span.count { (count) } " " (badge(class(word), word)) }
            }
        }
        p.hint { (counted(assessment, all)) " " (MEANINGS) "." }
    }
}

/// The class of a word for what cases are worth: what has no figure is as grave as what is void.
fn class(word: &str) -> &'static str {
    match word {
        "sound" => "sound",
        "doubtful" => "doubtful",
        _ => "void",
    }
}

fn counted(assessment: &Assessment, all: usize) -> String {
    let is_asked = |summary: &&Summary| summary.role == Role::Asked;
    let asked = assessment.measured().filter(is_asked).count();
    let baselines = all - asked;
    let cases = words::count(asked, "case");
    match baselines {
        0 => format!("{cases}."),
        baselines => format!("{cases}, and {} that bound or check them.", baselines),
    }
}
