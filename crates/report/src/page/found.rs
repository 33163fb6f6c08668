//! Findings, failures and skips.

use super::sheet::{badge, class_of_severity, list};
use crate::frame;
use crate::missed;
use crate::words::{count, sentence};
use assess::{Assessment, RunFinding};
use maud::{Markup, html};

/// Longer lists of cases are collapsed.
const OPEN_MAX: usize = 3;

/// What it means that there are no findings.
fn nothing(assessment: &Assessment) -> &'static str {
    let any_figure = assessment.measured().any(|summary| summary.n > 0);
    if any_figure { "Nothing was found." } else { "Without a figure, there is nothing to judge." }
}

/// All findings: the severity, the observation, the remedy and the cases of each. Then the notes
/// that belong to no case.
pub(super) fn findings(assessment: &Assessment, link: &dyn Fn(&str) -> Markup) -> Markup {
    let notes: Vec<String> = frame::notes(assessment).iter().map(|text| sentence(text)).collect();
    html! {
        @if assessment.findings.is_empty() { p { (nothing(assessment)) } }
        @for found in &assessment.findings { (finding(found, link)) }
        @if !notes.is_empty() {
            h3 { "Notes" }
            (list(&notes, &|note| html! { (note) }))
        }
    }
}

/// One finding.
pub(super) fn finding(found: &RunFinding, link: &dyn Fn(&str) -> Markup) -> Markup {
    let finding = &found.finding;
    let class = class_of_severity(finding.severity);
    html! {
        article class={ "finding " (class) } {
            h3 { (badge(class, finding.severity.name())) " " (finding.code) }
            p { (sentence(&finding.message)) }
            @if !finding.remedy.is_empty() {
                p { strong { "What to do: " } (sentence(&finding.remedy)) }
            }
            (cases(&found.cases, link))
            (baselines(&found.baselines, link))
            p.hint {
                "Meaning, cause and fix: " code { "ioassay explain " (finding.code) }
            }
        }
    }
}

/// The cases concerned: a few on one line, or more in a collapsed list.
pub(super) fn cases(ids: &[String], link: &dyn Fn(&str) -> Markup) -> Markup {
    html! {
        @match ids.len() {
            0 => {},
            number if number <= OPEN_MAX => p {
                @if number == 1 { "Case: " } @else { "Cases: " }
                @for (index, id) in ids.iter().enumerate() {
                    @if index > 0 { ", " }
                    (link(id))
                }
            },
            number => details {
                summary { (count(number, "case")) }
                (list(ids, &|id| link(id)))
            },
        }
    }
}

/// The baselines concerned.
fn baselines(ids: &[String], link: &dyn Fn(&str) -> Markup) -> Markup {
    html! {
        @if !ids.is_empty() {
            details {
                summary { (count(ids.len(), "baseline")) }
                (list(ids, &|id| link(id)))
            }
        }
    }
}

/// Why trials failed, and of which cases; empty if none failed.
pub(super) fn failures(assessment: &Assessment, link: &dyn Fn(&str) -> Markup) -> Markup {
    html! {
        @for (reason, ids, trials) in missed::failures(assessment) {
            article.finding.void {
                p { strong { (count(trials, "trial")) ": " } (sentence(&reason.to_string())) }
                (cases(&ids, link))
            }
        }
    }
}

/// What was skipped, by reason; empty if nothing was.
pub(super) fn skips(assessment: &Assessment, name: &dyn Fn(&str) -> String) -> Markup {
    html! {
        @for (reason, ids) in frame::by_reason(&assessment.skips) {
            article.finding.note {
                p { (sentence(reason)) }
                (cases(&ids, &|id| html! { (name(id)) }))
            }
        }
    }
}
