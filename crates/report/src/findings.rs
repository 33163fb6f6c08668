//! What was found in a run, the same in every view: failures, findings, skips and notes.

use crate::busy::{ShownFinding, shown};
use crate::concerned::{concerned, concerned_names, rows_of};
use crate::document::{Block, FindingBlock};
use crate::group::grouped;
use crate::missed::{failures, without_figure};
use crate::style::Paint;
use crate::text::{Text, text};
use crate::words::{count, listed, severity_paint};
use assess::campaign::Campaign;
use assess::finding::{Code, Severity};
use assess::{Assessment, RunFinding};
use model::plan::Skip;
use model::units;
use std::time::Duration;

/// What was found: failures, findings, skips and notes. `name` returns a case's name in this view,
/// whose tables have the marks of findings if it `has_marks`.
pub(crate) fn findings(
    assessment: &Assessment,
    has_marks: bool,
    name: &dyn Fn(&str) -> String,
) -> Vec<Block> {
    let mut all = failures(assessment, name);
    let of_machine = |shown: &ShownFinding| is_of_machine(&shown.found);
    let shown = shown(assessment);
    let rows = |shown: &ShownFinding| match has_marks {
        true => concerned(shown, assessment, name),
        false => {
            let rows = rows_of(&shown.found, false, None, name);
            [rows.clone(), rows]
        }
    };
    all.extend(shown.iter().map(|shown| finding(shown, rows(shown), name)));
    if shown.iter().all(of_machine) {
        all.push(note(nothing(assessment).to_string()));
    }
    all.extend(skips(&assessment.skips, name));
    all.extend(notes(assessment).into_iter().map(note));
    if all.is_empty() { Vec::new() } else { vec![Block::Findings(all)] }
}

/// Whether it is found in every run of a machine, so that the header says it.
pub(crate) fn is_of_machine(found: &RunFinding) -> bool {
    found.finding.code == Code::VirtualDevice && found.is_of_run()
}

/// What it means that there are no findings.
fn nothing(assessment: &Assessment) -> &'static str {
    match assessment.measured().any(|summary| summary.n > 0) {
        true => "no problem was found",
        false => "without a figure, there is nothing to judge",
    }
}

/// A note.
pub(crate) fn note(text: String) -> FindingBlock {
    FindingBlock::of_kind("note", Paint::Faint, text)
}

/// When the run was resumed, if it was.
fn resumed(assessment: &Assessment) -> Option<String> {
    let times: Vec<String> = assessment.resumed.iter().map(|one| one.began.clone()).collect();
    let each = if times.len() > 1 { ", each time" } else { "" };
    (!times.is_empty()).then(|| {
        let times = listed(&times);
        format!("the run was interrupted, and resumed at {times}{each} with a new invocation")
    })
}

/// What the time of a campaign was spent on.
pub(crate) fn campaign(assessment: &Assessment) -> Option<String> {
    let Campaign { for_s, planned_rounds, further_rounds, is_full } = assessment.campaign?;
    let time = units::time(Duration::try_from_secs_f64(for_s).ok()?);
    let planned = count(assessment.header.plan.rounds as usize, "planned round");
    let full = if is_full { "; the run ended early, because its record was full" } else { "" };
    let said = match (planned_rounds, further_rounds) {
        (0, 0) => format!("{time} was too short for the first of the {planned}"),
        (_, 0) => format!("{time} was enough for {planned_rounds} of the {planned}"),
        _ => format!(
            "{time} was enough for the {planned}, and then for {} of the cases with the widest \
             intervals",
            count(further_rounds, "further round")
        ),
    };
    Some(said + full)
}

/// Notes: interruptions, baselines without figures, the warm-up of runtimes, which no figure
/// includes, and observations about the machine and the storage.
pub(crate) fn notes(assessment: &Assessment) -> Vec<String> {
    let mut longest: Vec<(&str, u64)> = Vec::new();
    for summary in &assessment.cases {
        let Some(ns) = summary.warm_up_ns else { continue };
        match longest.iter_mut().find(|(peer, _)| *peer == summary.case.peer) {
            Some((_, known)) => *known = (*known).max(ns),
            None => longest.push((&summary.case.peer, ns)),
        }
    }
    let say = |(peer, ns): &(&str, u64)| {
        format!(
            "{peer} was warmed up before the clock of a trial started, for up to {}: that is in no \
             figure",
            units::nanoseconds(*ns as f64)
        )
    };
    let host = assessment.header.host.notes.iter();
    let storage = assessment.header.storage.iter().flat_map(|storage| &storage.notes);
    let unasked = resumed(assessment)
        .into_iter()
        .chain(campaign(assessment))
        .chain(without_figure(assessment));
    unasked.chain(longest.iter().map(say)).chain(host.chain(storage).cloned()).collect()
}

/// A finding of a run, with its rows and these in brief; notes need no remedy.
fn finding(
    shown: &ShownFinding,
    [rows, brief_rows]: [Text; 2],
    name: &dyn Fn(&str) -> String,
) -> FindingBlock {
    let assess::finding::Finding { severity, message, remedy, .. } = &shown.found.finding;
    let is_told = *severity != Severity::Note && !remedy.is_empty();
    FindingBlock {
        kind: severity.name(),
        paint: severity_paint(*severity),
        code: Some(shown.name()),
        rows,
        brief_rows,
        cases: shown.found.cases.iter().map(|id| (id.clone(), name(id))).collect(),
        text: message.into(),
        remedy: is_told.then(|| remedy.into()),
        is_in_header: is_of_machine(&shown.found),
    }
}

/// Skips, grouped by reason.
pub(crate) fn skips(skips: &[Skip], name: &dyn Fn(&str) -> String) -> Vec<FindingBlock> {
    let said = said_skips(skips, name).into_iter();
    said.map(|text| FindingBlock::of_kind("skip", Paint::Faint, text)).collect()
}

/// Skips as a line for each reason.
fn said_skips(skips: &[Skip], name: &dyn Fn(&str) -> String) -> Vec<Text> {
    let say = |(reason, ids): &(String, Vec<String>)| {
        text!("{}: {}", concerned_names(ids, name), reason.as_str())
    };
    by_reason(skips).iter().map(say).collect()
}

/// The ids of skipped cases by reason, in order of first appearance. Where many peers have the
/// same, the names of the cases tell which.
pub(crate) fn by_reason(skips: &[Skip]) -> Vec<(String, Vec<String>)> {
    let of_any = |skip: &&Skip| {
        let named = format!("the peer {} ", skip.case.peer);
        skip.reason.replacen(&named, "the peer ", 1)
    };
    let said = |(of_any, skips): (String, Vec<&Skip>)| {
        let is_of_one = skips.iter().all(|skip| skip.reason == skips[0].reason);
        let reason = if is_of_one { skips[0].reason.clone() } else { of_any };
        (reason, skips.iter().map(|skip| skip.case.id()).collect())
    };
    grouped(skips, of_any).into_iter().map(said).collect()
}
