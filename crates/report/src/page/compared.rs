//! Comparisons of cases within a record, and the A/A control.

use super::sheet::scroll;
use crate::control;
use crate::labels::Labels;
use crate::versus;
use crate::words::{self, NONE, times, times_interval};
use assess::Assessment;
use assess::comparison::{Comparison, Difference};
use maud::{Markup, html};

/// If there are more, those that found a difference come first, and the rest are only counted.
const SHOWN_MAX: usize = 100;

const LEGEND: &str = "ratio: of the rates of the same rounds, the first case over the second, the \
                      median of the rounds or of the invocations' medians; different: the 95 % \
                      interval excludes 1 and the effect is at least the least of interest; \
                      equivalent: the interval lies within that; in doubt: a figure of either is \
                      doubtful, by more than how it varies from round to round; n: about how many \
                      rounds it would take to decide";

/// The comparisons of a record.
pub(super) fn table(assessment: &Assessment, labels: &Labels) -> Markup {
    let all = &assessment.comparisons;
    if all.is_empty() {
        return html! {};
    }
    let mut shown: Vec<&Comparison> = all.iter().collect();
    if shown.len() > SHOWN_MAX {
        shown.sort_by_key(|found| found.difference != Difference::Different);
        shown.truncate(SHOWN_MAX);
    }
    let label = versus::label(labels);
    html! {
        @if all.len() > SHOWN_MAX {
            p.hint { (SHOWN_MAX) " of " (all.len()) " comparisons, those that differ first." }
        }
        (rows("Cases compared, round by round", &shown, &label))
        p.hint { (LEGEND) "." }
    }
}

fn rows(caption: &str, shown: &[&Comparison], label: &dyn Fn(&Comparison) -> String) -> Markup {
    scroll(
        caption,
        html! {
            thead {
                tr {
                    th.t scope="col" { "compared" }
                    th scope="col" { "ratio" }
                    th scope="col" { "95 % interval" }
                    th scope="col" { "pairs" }
                    th.t scope="col" { "finding" }
                }
            }
            tbody {
                @for found in shown {
                    tr class=(class_of(found.difference)) {
                        th.t scope="row" { (label(found)) }
                        td { (times(found.ratio)) }
                        td { (interval(found)) }
                        td { (found.pairs) }
                        td.t { (words::difference(found)) }
                    }
                }
            }
        },
    )
}

/// The ends of a ratio's interval.
pub(super) fn interval(found: &Comparison) -> String {
    times_interval(found.low, found.high).unwrap_or(NONE.to_string())
}

/// The CSS class of a comparison's row.
pub(super) fn class_of(difference: Difference) -> &'static str {
    match difference {
        Difference::Different => "different",
        Difference::Equivalent | Difference::Inconclusive | Difference::InDoubt => "faint",
    }
}

/// What the A/A control shows, or that there was none.
pub(super) fn control(assessment: &Assessment, name: &dyn Fn(&str) -> String) -> Markup {
    let Some(control) = &assessment.control else {
        return html! {
            p {
                "No case was measured twice. " code { "run --control" } " measures some twice: the "
                "difference shows what this machine cannot resolve."
            }
        };
    };
    let shown: Vec<&Comparison> = control.comparisons.iter().take(SHOWN_MAX).collect();
    html! {
        p { (control::said(assessment, control, name)) }
        @if !shown.is_empty() {
            (rows("The same case measured a second time", &shown, &|found| name(&found.base)))
        }
    }
}
