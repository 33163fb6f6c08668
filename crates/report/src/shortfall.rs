//! Why a command does not end with status 0: what is missing of what was asked for.

use crate::gate::closing;
use crate::goals;
use crate::goals_together;
use crate::words::{self, count, listed, per_second};
use assess::Assessment;
use assess::conclusions::load::Load;
use assess::decision::Decision;
use assess::finding::Severity;
use assess::fleet::{Fleet, FleetHost};
use assess::gate::Gate;
use assess::records::RecordComparison;
use assess::summary::Summary;
use assess::together::{Doubt, Joint, Together};
use model::plan::Role;

/// What is missing in a run; `None` if every requested case is sound or doubtful, and the goals are
/// met at the least rate. Baselines are reported, but are not asked for.
pub fn shortfall(assessment: &Assessment) -> Option<String> {
    let asked: Vec<&Summary> =
        assessment.cases.iter().filter(|summary| summary.role == Role::Asked).collect();
    let missing: Vec<&Summary> =
        asked.iter().copied().filter(|summary| !summary.verdict.stands()).collect();
    let first = missing.first().map(|first| {
        let all = said_missing(missing.len(), asked.len());
        let which = if missing.len() == 1 { "it" } else { "the first" };
        format!("{all}; {which} is {}: {}", first.id, reason(first))
    });
    let unmet = assessment.conclusions.loads.iter().filter_map(unmet);
    let missed = goals::missed(assessment);
    let all: Vec<String> = first.into_iter().chain(missed).chain(unmet).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

fn said_missing(missing: usize, asked: usize) -> String {
    let verb = if missing == 1 { "has" } else { "have" };
    format!("{missing} of {} {verb} no valid figure", count(asked, "requested case"))
}

/// Why a case has no valid figure.
fn reason(summary: &Summary) -> String {
    let void = summary.findings.iter().find(|finding| finding.severity == Severity::Void);
    match (void, summary.failures.first()) {
        (Some(finding), _) => {
            format!("{} ({}): {}", finding.severity, finding.code, finding.message)
        }
        (None, Some((failure, _))) => failure.to_string(),
        (None, None) => summary.verdict.to_string(),
    }
}

/// What the least rate of a load is.
const ASKED: &str = "the least rate that was asked for";

/// That a load does not meet its goals at the least rate.
fn unmet(load: &Load) -> Option<String> {
    let least = load.at_least.as_ref()?;
    let goals = listed(&load.goals.iter().map(ToString::to_string).collect::<Vec<_>>());
    let rate = per_second(least.rate as f64);
    match least.met {
        Decision::Yes => None,
        Decision::No => Some(format!("{goals} is not met at {rate}, {ASKED}")),
        Decision::Undecided => {
            Some(format!("it is undecided whether {goals} is met at {rate}, {ASKED}"))
        }
    }
}

/// The same of several hosts in lockstep.
pub fn shortfall_of_together(run: &Together) -> Option<String> {
    let has_all =
        |joint: &Joint| !joint.doubts.iter().any(|it| matches!(it, Doubt::RecordMissing { .. }));
    let stands = |joint: &&Joint| joint.verdict.stands() && has_all(joint);
    let missing: Vec<_> = run.cases.iter().filter(|joint| !stands(joint)).collect();
    let first = missing.first().map(|first| {
        format!("{}; the first is {}", said_missing(missing.len(), run.cases.len()), first.id)
    });
    let all: Vec<String> = first.into_iter().chain(goals_together::missed(run)).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// The same of several hosts, each by itself.
pub fn shortfall_of_fleet(fleet: &Fleet) -> Option<String> {
    let lacks = |host: &&FleetHost| !host.tally.stand();
    let hosts: Vec<String> = (fleet.hosts.iter().filter(lacks))
        .map(|host| format!("{} ({})", host.called, words::tally(&host.tally)))
        .collect();
    (!hosts.is_empty())
        .then(|| format!("not every requested case has a valid figure on {}", listed(&hosts)))
}

/// What a gate decides that does not pass, and why.
pub fn shortfall_of_gate(versus: &RecordComparison, gate: &Gate) -> String {
    closing(versus, gate).to_string()
}
