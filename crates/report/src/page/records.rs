//! A page that compares two records.

use super::sheet::{Section, Sheet, facts, list, pictures, scroll};
use super::{CASES_MAX, answer, compared, found, origin};
use crate::labels::Labels;
use crate::picture::pictures_of_records;
use crate::records::{self, closing, left_out, name, obstacles, origin as said_origin, speed};
use crate::words::{capital, sentence, times};
use assess::Assessment;
use assess::records::{Pair, RecordComparison};
use assess::summary::Summary;
use maud::{Markup, html};

const LEGEND: &str = "A and B: medians, as in the reports of the records; B/A: the ratio of the \
                      medians; p: the probability, corrected over all rows, that figures of one \
                      distribution are as far apart";

/// A comparison of two records as a page; `paths` are the records' paths.
pub fn page_of_records(versus: &RecordComparison, paths: [&str; 2]) -> String {
    let names = records::names(versus);
    let sections = vec![
        Section::new("answer", "Answer", answer(versus)),
        Section::new("figures", "Figures", pictures(&pictures_of_records(versus))),
        Section::new("cases", "Cases", table(versus, &names)),
        Section::new("left-out", "Not compared", not_compared(versus)),
        Section::new("apart", "What else differs", others(versus)),
        Section::new("a", "Record A", one(paths[0], &versus.a)),
        Section::new("b", "Record B", one(paths[1], &versus.b)),
    ];
    let sides = [("A", paths[0], &versus.a), ("B", paths[1], &versus.b)];
    let about = |(side, path, assessment): &(&str, &str, &Assessment)| {
        format!("{side}: {}", said_origin(path, assessment))
    };
    Sheet {
        title: format!("Two records of {} compared", versus.a.recipe),
        when: None,
        about: sides.iter().map(about).collect(),
        warnings: records::missing(versus).iter().map(|text| sentence(text)).collect(),
        sections,
    }
    .render()
}

fn answer(versus: &RecordComparison) -> Markup {
    let against = obstacles(&versus.obstacles);
    html! {
        p.answer { (closing(versus)) }
        @if !against.is_empty() {
            div.warning role="note" {
                p { strong { "A and B measure different things:" } }
                (list(&against, &|text| html! { (sentence(text)) }))
            }
        }
    }
}

fn table(versus: &RecordComparison, names: &Labels) -> Markup {
    let pairs = &versus.pairs;
    let common = names.common_to_all("rows");
    let rows = html! {
        thead {
            tr {
                th.t scope="col" { "case" }
                th scope="col" { "A" }
                th scope="col" { "B" }
                th scope="col" { "B/A" }
                th scope="col" { "95 % interval" }
                th scope="col" { "invocations" }
                th scope="col" { "p" }
                th.t scope="col" { "finding" }
            }
        }
        tbody { @for pair in pairs.iter().take(CASES_MAX) { (row(pair, versus.of(pair), names)) } }
    };
    html! {
        @if pairs.len() > CASES_MAX {
            p.hint {
                "The first " (CASES_MAX) " of " (pairs.len()) " cases: 'ioassay compare' with "
                "--json has all."
            }
        }
        @if !common.is_empty() { p.hint { (capital(&common)) "." } }
        (scroll("Cases of both records, compared", rows))
        p.hint { (LEGEND) "." }
    }
}

fn row(pair: &Pair, [a, b]: [&Summary; 2], names: &Labels) -> Markup {
    let found = &pair.comparison;
    html! {
        tr class=(compared::class_of(found.difference)) {
            th.t scope="row" { (name([a, b], names)) }
            td { (speed(a)) }
            td { (speed(b)) }
            td { (times(found.ratio)) }
            td { (compared::interval(found)) }
            td { (found.invocations) }
            td { (pair.p.map_or(crate::words::NONE.to_string(), probability)) }
            td.t { (crate::words::difference(found)) }
        }
    }
}

/// `0.012`, `< 0.001`.
fn probability(p: f64) -> String {
    if p < 0.001 { "< 0.001".to_string() } else { format!("{p:.3}") }
}

fn not_compared(versus: &RecordComparison) -> Markup {
    let texts = left_out(&versus.left_out);
    html! {
        @if !texts.is_empty() { (list(&texts, &|text| html! { (sentence(text)) })) }
    }
}

fn others(versus: &RecordComparison) -> Markup {
    let texts = records::others(versus);
    html! {
        @if !texts.is_empty() { (list(&texts, &|text| html! { (sentence(text)) })) }
    }
}

/// One of the records: its verdicts, its findings and its origin.
fn one(path: &str, assessment: &Assessment) -> Markup {
    let names = Labels::of(assessment);
    html! {
        (facts(vec![("file", path.to_string()), ("began", assessment.began.clone())]))
        (answer::tally(assessment))
        @for found in &assessment.findings {
            (found::finding(found, &|id| html! { (names.name(id)) }))
        }
        (found::failures(assessment, &|id| html! { (names.name(id)) }))
        details {
            summary { "Host, storage, method and command" }
            (origin::said(assessment))
            (origin::again(assessment))
        }
    }
}
