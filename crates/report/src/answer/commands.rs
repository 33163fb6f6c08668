//! How long each command takes, and what its time is of.

use crate::labels::CaseLabels;
use crate::sentence::{Sentence, figure_in, missing};
use crate::text::{Text, case, text};
use crate::words::percent;
use assess::Assessment;
use assess::summary::{ServedBy, Summary};
use model::plan::Role;
use model::units;

/// A line for each command in each state, the first of them in the order of the plan.
pub(super) fn answer(assessment: &Assessment, labels: &CaseLabels) -> Vec<Sentence> {
    let asked = assessment.cases.iter().filter(|summary| summary.role == Role::Asked);
    let rows: Vec<&Summary> = asked.filter(|summary| summary.verdict.stands()).collect();
    if rows.is_empty() {
        return missing("No command has a valid time.");
    }
    rows.into_iter().filter_map(|summary| said(summary, labels)).collect()
}

/// `wc big.txt, cold: 1.23 s; all that it read came from devices; it computed for 12 % of it.`
fn said(summary: &Summary, labels: &CaseLabels) -> Option<Sentence> {
    let time = figure_in(units::nanoseconds(summary.ns_per_op?.median), summary);
    let served: Option<Text> = served(summary).map(|words| text!("; {}", words));
    let spent = summary
        .spent
        .map(|spent| text!("; CPU time is {} of its wall time", percent(spent.processors)));
    let nothing = || Text::from("");
    let text = text!(
        "{}: {}{}{}.",
        case(&summary.id, &|id| labels.name(id)),
        time,
        served.unwrap_or_else(nothing),
        spent.unwrap_or_else(nothing)
    );
    Some(Sentence::of_summaries(text, [summary]))
}

/// What served what it read, in words.
fn served(summary: &Summary) -> Option<&'static str> {
    Some(match summary.served_by? {
        ServedBy::PageCache => "the page cache served all that it read, a device nothing",
        ServedBy::Device => "devices served all that it read",
        ServedBy::Mixed => "the page cache and devices served what it read",
        ServedBy::Ram => "the files that it read are in memory",
        ServedBy::NoIo => "it read no data file",
        ServedBy::Unverified => "what served its reads is unseen",
        ServedBy::CpuCache | ServedBy::CpuCacheOrRam | ServedBy::NameCache => return None,
    })
}
