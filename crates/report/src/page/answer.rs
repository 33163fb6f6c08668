//! The answer of a record, and how far to trust its figures.

use super::sheet::badge;
use crate::answer;
use crate::text::{Span, Text};
use crate::words;
use assess::Assessment;
use assess::summary::Summary;
use maud::{Markup, html};
use model::plan::Role;

/// What the verdicts mean, for a first-time reader.
const MEANINGS: &str = "sound: nothing speaks against the figure; doubtful: something does; void: \
                        it is not what it claims to be, or there is none; unavailable: this \
                        machine cannot do it";

/// The answer in sentences, with a large first paragraph, and a count of the verdicts.
pub(super) fn said(assessment: &Assessment) -> Markup {
    let paragraphs = answer::answer(assessment);
    html! {
        @for (index, text) in paragraphs.iter().enumerate() {
            p.answer.hero[index == 0] { (shown(text)) }
        }
        (tally(assessment))
    }
}

/// A text with its figures in bold.
fn shown(text: &Text) -> Markup {
    html! {
        @for span in text.spans() {
            @match span {
                Span::Words(words) => (words),
                Span::Figure(figure) => strong { (figure) },
                Span::Case { name, .. } => (name),
                Span::Command(command) => code { (command) },
            }
        }
    }
}

/// The number of cases with each verdict.
pub(super) fn tally(assessment: &Assessment) -> Markup {
    let counts: Vec<(usize, &str)> = words::counts(&assessment.tally()).collect();
    let all: usize = counts.iter().map(|(count, _)| count).sum();
    if all == 0 {
        return html! { p.answer { "No case was measured." } };
    }
    html! {
        ul.tally aria-label="Cases by verdict" {
            @for (count, word) in &counts {
                li class=(class(word)) { span.count { (count) } " " (badge(class(word), word)) }
            }
        }
        p.hint { (counted(assessment, all)) " " (MEANINGS) "." }
    }
}

/// The CSS class of a verdict; cases without a figure look like void ones.
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
