//! The commands of a run on several hosts, to be compared as those of one: the time of a run is
//! from the first host's start to the last one's end, and its CPU time is that of all. What speaks
//! against a figure on one host speaks against that of all.

use super::gathering::JointRecords;
use super::{CommandOnHost, Joint};
use crate::finding::Finding;
use crate::gate_of_commands::compare_commands_with;
use crate::records::{Judged, RecordComparison};
use crate::summary::{ServedBy, Summary};
use model::record::Record;

/// Holds the other commands of a run on so many hosts against its first one; `read` returns the
/// record of each host. `None` without any.
///
/// # Errors
/// If a record cannot be read.
pub fn compare_commands_of_hosts<E>(
    hosts: usize,
    read: impl FnMut(usize) -> Result<Record, E>,
) -> Result<Option<RecordComparison>, E> {
    let all = AsOne::of(hosts, read)?;
    Ok(all.map(|all| compare_commands_with(&all.record, |summary| all.tell(summary))))
}

/// The run of commands on so many hosts, to be compared with another one of them.
///
/// # Errors
/// If a record cannot be read.
pub fn judged_of_hosts<E>(
    hosts: usize,
    read: impl FnMut(usize) -> Result<Record, E>,
) -> Result<Option<Judged>, E> {
    let all = AsOne::of(hosts, read)?;
    Ok(all.map(|all| Judged::of(all.record.clone()).with(|summary| all.tell(summary))))
}

/// All hosts as one.
struct AsOne {
    record: Record,
    /// The requested cases, each with what speaks against it on the host where it is worst.
    cases: Vec<(Joint, Vec<Finding>)>,
}

impl AsOne {
    fn of<E>(
        hosts: usize,
        mut read: impl FnMut(usize) -> Result<Record, E>,
    ) -> Result<Option<AsOne>, E> {
        let mut records = JointRecords::of(hosts, &mut read)?;
        let Some(record) = records.record() else { return Ok(None) };
        let plan = &record.header.plan;
        let findings: Vec<_> =
            (0..plan.cases.len()).map(|index| records.findings_of(index)).collect();
        let of = |joint: Joint| {
            let index = plan.cases.iter().position(|planned| planned.case == joint.case);
            let findings = index.map_or(Vec::new(), |index| findings[index].clone());
            (joint, findings)
        };
        let Some(together) = records.judge() else { return Ok(None) };
        let cases = together.cases.into_iter().map(of).collect();
        Ok(Some(AsOne { record, cases }))
    }

    /// Replaces what is said of a case without any host's evidence. One that all hosts failed has
    /// said so.
    fn tell(&self, summary: &mut Summary) {
        let known = self.cases.iter().find(|(joint, _)| joint.case == summary.case);
        let Some((joint, findings)) = known.filter(|(joint, _)| !joint.hosts.is_empty()) else {
            return;
        };
        summary.verdict = joint.verdict;
        summary.findings.clone_from(findings);
        summary.served_by = served_by(&joint.commands);
    }
}

/// What served a command on all of its hosts; `None` if that differs.
fn served_by(commands: &[CommandOnHost]) -> Option<ServedBy> {
    let first = commands.first()?.served_by;
    first.filter(|_| commands.iter().all(|it| it.served_by == first))
}
