//! The findings of a whole run, each with the cases that it concerns.

use crate::finding::{Code, Finding, Severity};
use crate::path::{SharedHops, changes, judge_path, shared_hops};
use crate::platform::judge_platform;
use crate::row::Row;
use crate::rules;
use model::case::Work;
use model::host::Storage;
use model::list::listed;
use model::path::Hop;
use model::plan::Role;
use model::record::Header;
use model::vitals::PartVitals;
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;

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

    /// One about the whole run.
    fn of_run(finding: Finding) -> RunFinding {
        RunFinding { finding, cases: Vec::new(), baselines: Vec::new() }
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
    header: &Header,
    parts: &[PartVitals],
) -> Vec<RunFinding> {
    let storage = header.storage.as_ref();
    let mut kinds: BTreeMap<EntryKind, Vec<(&Row, &Finding)>> = BTreeMap::new();
    for row in rows.clone() {
        for finding in &row.summary.findings {
            let kind = (Reverse(finding.severity), finding.code);
            kinds.entry(kind).or_default().push((row, finding));
        }
    }
    let mut all: Vec<RunFinding> = kinds.values().filter_map(|rows| RunFinding::of(rows)).collect();
    let writes = rows.clone().any(|row| {
        matches!(row.measured.case.work, Work::Write(_) | Work::Metadata(_) | Work::Command(_))
    });
    let served = rows.filter_map(|row| row.summary.served_by);
    let virtual_device = rules::virtual_device(storage, served);
    all.extend(virtual_device.map(RunFinding::of_run));
    all.extend(of_paths(header, parts, writes));
    all.extend(of_platform(header));
    all.sort_by_key(|found| (Reverse(found.finding.severity), found.finding.code));
    all
}

/// What happened on the paths to the media while the run went on, and what is odd on them: of each
/// kind one, the first from the top. Some of it concerns only runs in which something is written.
fn of_paths(header: &Header, parts: &[PartVitals], writes: bool) -> Vec<RunFinding> {
    let is_guest = header.host.hypervisor.is_some();
    let mut all: Vec<RunFinding> = Vec::new();
    let odd = paths_of(header)
        .into_iter()
        .flat_map(|top| judge_path(top, is_guest).hops)
        .flat_map(|hop| hop.findings);
    let odd = odd.chain(shared_path(header));
    for finding in changes(parts, is_guest).into_iter().chain(odd) {
        let concerns = writes || finding.code != Code::WriteCacheOff;
        if concerns && all.iter().all(|known| known.finding.code != finding.code) {
            all.push(RunFinding::of_run(finding));
        }
    }
    all
}

/// All storages of a run.
fn storages(header: &Header) -> impl Iterator<Item = &Storage> {
    header.storage.iter().chain(&header.source_storage).chain(&header.further_storages)
}

/// The paths to them.
fn paths_of(header: &Header) -> Vec<&Hop> {
    storages(header).filter_map(|storage| storage.path.as_deref()).collect()
}

/// Two storages of a run have a disk or a link in common.
fn shared_path(header: &Header) -> Option<Finding> {
    let known = storages(header).filter(|storage| storage.path.is_some());
    let directories: Vec<&Path> = known.map(|storage| &*storage.directory).collect();
    let names = |shared: &SharedHops| -> Vec<String> {
        let mut names = Vec::new();
        for place in &shared.paths {
            let name = format!("'{}'", directories[*place].display());
            // The same storage may be listed twice.
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    };
    let all = shared_hops(&paths_of(header), header.host.hypervisor.is_some());
    let mut all = all.into_iter().map(|shared| (names(&shared), shared));
    let (names, shared) = all.find(|(names, _)| names.len() > 1)?;
    let message = format!(
        "{} share {}: what goes to one of them takes from the others",
        listed(&names),
        shared.words()
    );
    let remedy = "to know each by itself, measure them apart";
    Some(Finding::note(Code::SharedPath, message, remedy))
}

/// What is odd about the machine's memory and processors.
fn of_platform(header: &Header) -> Vec<RunFinding> {
    let Some(platform) = header.host.platform.as_deref() else { return Vec::new() };
    let judged = judge_platform(platform, &paths_of(header), header.host.hypervisor.is_some());
    judged.findings.into_iter().map(RunFinding::of_run).collect()
}
