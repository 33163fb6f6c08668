//! The answer of a record, and how far to trust its figures.

use super::sheet::badge;
use crate::answer;
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
            p.answer.hero[index == 0] { (with_strong_figures(text)) }
        }
        (tally(assessment))
    }
}

/// Units of figures in sentences: rates, times and shares.
const UNITS: [&str; 14] =
    ["B/s", "kB/s", "MB/s", "GB/s", "TB/s", "/s", "k/s", "M/s", "IOPS", "ns", "µs", "ms", "s", "%"];

/// A text with its figures in bold: numbers with units, and ratios.
fn with_strong_figures(text: &str) -> Markup {
    let is_number = |word: &str| {
        let word = word.trim_start_matches('(');
        word.starts_with(|c: char| c.is_ascii_digit())
            && word.chars().all(|c| c.is_ascii_digit() || c == '.')
    };
    let bare = |word: &'_ str| -> usize { word.trim_end_matches(['.', ',', ';', ':', ')']).len() };
    let words: Vec<&str> = text.split(' ').collect();
    let mut parts: Vec<(bool, String)> = Vec::new();
    let mut rest = words.as_slice();
    while let [word, others @ ..] = rest {
        let unit = others.first().filter(|_| is_number(word));
        let unit = unit.filter(|unit| UNITS.contains(&&unit[..bare(unit)]));
        let figure = match unit {
            Some(unit) => format!("{word} {unit}"),
            None => word.to_string(),
        };
        let is_figure = unit.is_some() || word[..bare(word)].ends_with('×');
        rest = if unit.is_some() { &others[1..] } else { others };
        parts.push((is_figure, figure));
    }
    html! {
        @for (index, (is_figure, text)) in parts.iter().enumerate() {
            @let (figure, after) = text.split_at(bare(text));
            @if index > 0 { " " }
            @if *is_figure { strong { (figure) } (after) } @else { (text) }
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

#[cfg(test)]
mod tests {
    use super::with_strong_figures;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(with_strong_figures(text).into_string(), expected);
    }

    #[test]
    fn figures_stand_out_and_other_numbers_do_not() {
        check(
            "it moves 1.89 GB/s, 0.11× (0.091-0.14) of the 16.6 GB/s at depth 8.",
            "it moves <strong>1.89 GB/s</strong>, <strong>0.11×</strong> (0.091-0.14) of the \
             <strong>16.6 GB/s</strong> at depth 8.",
        );
        check("A read takes 80.6 µs.", "A read takes <strong>80.6 µs</strong>.");
        check("2 threads & <b> 3", "2 threads &amp; &lt;b&gt; 3");
    }
}
