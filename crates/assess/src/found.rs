//! The findings of a whole run, each with the cases that it concerns.

use crate::finding::{Code, Finding, Severity};
use crate::path::judge_path;
use crate::platform::judge_platform;
use crate::row::Row;
use crate::rules;
use model::host::{Host, Storage};
use model::plan::Role;
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A finding and its cases. The worst has the largest figure of this finding, such as the largest
/// share that others read; if the finding has no figure, or the figures are equal, it is the first.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RunFinding {
    /// The finding on the worst of its cases.
    #[serde(flatten)]
    pub finding: Finding,
    /// Ids of the requested cases that have a finding of this code and severity: the worst, then
    /// the others.
    pub cases: Vec<String>,
    /// Ids of the other measured ones: baselines, and cases measured again; without a requested
    /// one, the worst first. If both lists are empty, the finding concerns the whole run.
    pub baselines: Vec<String>,
}

impl RunFinding {
    /// Whether it concerns the whole run.
    pub fn is_of_run(&self) -> bool {
        self.cases.is_empty() && self.baselines.is_empty()
    }

    /// From all rows that have it, in the order of the plan.
    fn of(rows: &[(&Row, &Finding)]) -> Option<RunFinding> {
        let is_asked = |(row, _): &&(&Row, &Finding)| row.measured.role == Role::Asked;
        let (mut asked, mut others): (Vec<_>, Vec<_>) = rows.iter().partition(is_asked);
        // A requested row tells more than any baseline.
        let told = if asked.is_empty() { &mut others } else { &mut asked };
        let worst = worst(told)?;
        told[..=worst].rotate_right(1);
        let finding = told[0].1.clone();
        let ids = |rows: Vec<(&Row, &Finding)>| {
            rows.into_iter().map(|(row, _)| row.summary.id.clone()).collect()
        };
        Some(RunFinding { finding, cases: ids(asked), baselines: ids(others) })
    }

    /// Adds the cases that have it on another host.
    pub(crate) fn join(&mut self, other: &RunFinding) -> bool {
        let rank = |found: &RunFinding| (!found.cases.is_empty(), found.finding.size);
        let mut added = other.clone();
        let is_worse = rank(other) > rank(self);
        if is_worse {
            std::mem::swap(self, &mut added);
        }
        add_new(&mut self.cases, added.cases);
        add_new(&mut self.baselines, added.baselines);
        is_worse
    }
}

/// The index of the worst, the first of equals.
fn worst(rows: &[(&Row, &Finding)]) -> Option<usize> {
    let sizes = rows.iter().map(|(_, finding)| finding.size).enumerate();
    sizes.reduce(|most, next| if next.1 > most.1 { next } else { most }).map(|(index, _)| index)
}

/// Adds ids that are not yet there.
fn add_new(known: &mut Vec<String>, ids: Vec<String>) {
    let new: Vec<String> = ids.into_iter().filter(|id| !known.contains(id)).collect();
    known.extend(new);
}

/// What findings of one entry have in common.
type EntryKind = (Reverse<Severity>, Code);

/// The findings of all rows, one entry for each code and severity, most severe first. A message is
/// about one case: a requested one, if any has this finding.
pub(crate) fn findings<'a, 'r: 'a>(
    rows: impl Iterator<Item = &'a Row<'r>> + Clone,
    host: &Host,
    storage: Option<&Storage>,
) -> Vec<RunFinding> {
    let mut kinds: BTreeMap<EntryKind, Vec<(&Row, &Finding)>> = BTreeMap::new();
    for row in rows.clone() {
        for finding in &row.summary.findings {
            let kind = (Reverse(finding.severity), finding.code);
            kinds.entry(kind).or_default().push((row, finding));
        }
    }
    let mut all: Vec<RunFinding> = kinds.values().filter_map(|rows| RunFinding::of(rows)).collect();
    let served = rows.filter_map(|row| row.summary.served_by);
    let virtual_device = rules::virtual_device(storage, served);
    all.extend(virtual_device.map(|finding| {
        let (cases, baselines) = (Vec::new(), Vec::new());
        RunFinding { finding, cases, baselines }
    }));
    all.extend(of_path(host, storage));
    all.extend(of_platform(host, storage));
    all.sort_by_key(|found| (Reverse(found.finding.severity), found.finding.code));
    all
}

/// What is odd on the path to the medium: of each kind one, the first from the top.
fn of_path(host: &Host, storage: Option<&Storage>) -> Vec<RunFinding> {
    let Some(top) = storage.and_then(|storage| storage.path.as_deref()) else { return Vec::new() };
    let mut all: Vec<RunFinding> = Vec::new();
    for hop in judge_path(top, host.hypervisor.is_some()).hops {
        for finding in hop.findings {
            if all.iter().all(|known| known.finding.code != finding.code) {
                all.push(RunFinding { finding, cases: Vec::new(), baselines: Vec::new() });
            }
        }
    }
    all
}

/// What is odd about the machine's memory and processors.
fn of_platform(host: &Host, storage: Option<&Storage>) -> Vec<RunFinding> {
    let Some(platform) = host.platform.as_deref() else { return Vec::new() };
    let top = storage.and_then(|storage| storage.path.as_deref());
    let judged = judge_platform(platform, top, host.hypervisor.is_some());
    let of_run = |finding| RunFinding { finding, cases: Vec::new(), baselines: Vec::new() };
    judged.findings.into_iter().map(of_run).collect()
}
