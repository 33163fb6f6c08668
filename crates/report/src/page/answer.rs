//! What a record answers, and what its figures are worth.

use super::sheet::{badge, class_of};
use crate::conclusion;
use crate::words;
use assess::Assessment;
use assess::summary::Summary;
use maud::{Markup, html};
use model::plan::Role;

/// What a verdict means, for who sees it for the first time.
const MEANINGS: &str = "sound: nothing speaks against the figure; doubtful: something does; void: \
                        it is not what it claims to be, or there is none";

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
    let counts = counts(assessment);
    let all: usize = counts.iter().map(|(_, _, count)| count).sum();
    if all == 0 {
        return html! { p.answer { "No case was measured." } };
    }
    html! {
        ul.tally aria-label="What the figures are worth" {
            @for (word, class, count) in &counts {
                li class=(class) { span.count { (count) } " " (badge(class, word)) }
            }
        }
        p.hint { (counted(assessment, all)) " " (MEANINGS) "." }
    }
}

/// The words that cases end with, each with its class and how many have it, gravest last.
fn counts(assessment: &Assessment) -> Vec<(&'static str, &'static str, usize)> {
    let mut counts: Vec<(&str, &str, usize)> = Vec::new();
    let mut all: Vec<&Summary> = assessment.measured().collect();
    all.sort_by_key(|summary| summary.verdict);
    for summary in all {
        let (word, class) = (words::verdict(summary), class_of(summary.verdict));
        match counts.iter_mut().find(|(known, ..)| *known == word) {
            Some((.., count)) => *count += 1,
            None => counts.push((word, class, 1)),
        }
    }
    counts
}

fn counted(assessment: &Assessment, all: usize) -> String {
    let is_asked = |summary: &&Summary| summary.role == Role::Asked;
    let asked = assessment.measured().filter(is_asked).count();
    let controls = all - asked;
    let cases = words::count(asked, "case");
    match controls {
        0 => format!("{cases}."),
        controls => format!("{cases}, and {} that bound or check them.", controls),
    }
}
