//! The table of cases.

use super::CASES_MAX;
use super::sheet::{badge, class_of, scroll};
use crate::answer;
use crate::metric::{self, Metric, Small};
use crate::survey;
use crate::words::{self, NONE};
use assess::Assessment;
use assess::summary::Summary;
use maud::{Markup, html};
use model::plan::Role;
use model::view::Layout;
use std::collections::HashSet;

/// The metrics that the table shows.
const SHOWN: [&str; 18] = [
    "throughput",
    "interval",
    "rate",
    "ceiling",
    "served_by",
    "acknowledged",
    "offered",
    "begun",
    "iops",
    "response_p50",
    "response_p99",
    "p50",
    "p99",
    "sync_p50",
    "sync_p99",
    "idle",
    "cpu_per_op",
    "rounds",
];

/// Explains the columns and the marks.
fn legend(assessment: &Assessment, columns: &[&Metric]) -> String {
    let measured: Vec<&Summary> = assessment.measured().filter(|summary| summary.n > 0).collect();
    let figures = words::figures_are(assessment);
    let figures = format!("throughput: {figures}, in brackets where the case is void");
    let all = [figures].into_iter();
    let all = all.chain(metric::legend(columns, &measured, assessment));
    // The column of the rate says where the throughput is the durable one.
    let durable = columns.iter().any(|metric| metric.name == "rate");
    let durable = durable.then(|| format!("durable: {}", Metric::named("durable").legend));
    let all: Vec<String> = all.chain(durable).chain([words::UNITS.to_string()]).collect();
    words::sentence(&all.join("; "))
}

/// A row for each case; `link` links to its evidence.
pub(super) fn table(assessment: &Assessment, link: &dyn Fn(&str) -> Markup) -> Markup {
    if assessment.cases.is_empty() {
        return html! {};
    }
    let columns = columns(assessment);
    let mut left = CASES_MAX;
    let mut groups = groups(assessment);
    for (_, cases) in &mut groups {
        cases.truncate(left);
        left -= cases.len();
    }
    groups.retain(|(_, cases)| !cases.is_empty());
    let width = columns.len() + 2;
    let rows = html! {
        thead {
            tr {
                th.t scope="col" { "case" }
                th.t scope="col" { "verdict" }
                @for column in &columns { th.t[column.is_text()] scope="col" { (column.title) } }
            }
        }
        @for (title, cases) in &groups {
            tbody {
                @if !title.is_empty() {
                    tr { th.group scope="rowgroup" colspan=(width) { (title) } }
                }
                @for summary in cases { (row(summary, assessment, &columns, link)) }
            }
        }
    };
    let common = answer::labels(assessment).common_to_all("rows");
    let all = assessment.measured().count();
    html! {
        @if all > CASES_MAX {
            p.hint {
                "The first " (CASES_MAX) " of " (all) " cases: 'ioassay report' with --csv or "
                "--json has all."
            }
        }
        @if !common.is_empty() { p.hint { (words::capital(&common)) "." } }
        (scroll("Cases with their figures and verdicts", rows))
        p.hint { (legend(assessment, &columns)) }
    }
}

/// The cases under their headings: the rungs of the ladder in a survey, otherwise their roles.
fn groups(assessment: &Assessment) -> Vec<(&'static str, Vec<&Summary>)> {
    let of = |role: Role| assessment.measured().filter(move |summary| summary.role == role);
    let twins = || ("measured a second time (A/A)", of(Role::Twin).collect::<Vec<_>>());
    if assessment.view.layout == Layout::Ladder {
        let mut groups = survey::rungs(assessment);
        let on_rungs: HashSet<&str> = groups
            .iter()
            .flat_map(|(_, cases)| cases.iter().map(|summary| summary.id.as_str()))
            .collect();
        let is_beside = |summary: &&Summary| !on_rungs.contains(summary.id.as_str());
        let rest = assessment.cases.iter().filter(is_beside).collect();
        groups.push(("the program itself", rest));
        groups.push(twins());
        return groups;
    }
    vec![
        ("", of(Role::Asked).collect()),
        ("baselines: what bounds the figures", of(Role::Baseline).collect()),
        twins(),
    ]
}

fn row(
    summary: &Summary,
    assessment: &Assessment,
    columns: &[&Metric],
    link: &dyn Fn(&str) -> Markup,
) -> Markup {
    html! {
        tr {
            th.t scope="row" { (link(&summary.id)) }
            td.t { (badge(class_of(summary.verdict), summary.verdict.name())) }
            @for column in columns {
                @let text = column.cell(summary, assessment);
                td.t[column.is_text()].long[text.split(' ').count() > 2] { (text) }
            }
        }
    }
}

/// The columns that are not empty.
fn columns(assessment: &Assessment) -> Vec<&'static Metric> {
    let shows_iops = metric::small_blocks(assessment.measured()) != Small::None;
    let is_used = |metric: &&Metric| {
        let mut texts = assessment.measured().map(|summary| metric.cell(summary, assessment));
        (metric.name != "iops" || shows_iops) && texts.any(|text| !text.is_empty() && text != NONE)
    };
    SHOWN.into_iter().map(Metric::named).filter(is_used).collect()
}
