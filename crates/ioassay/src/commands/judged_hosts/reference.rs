//! An earlier run of commands on the same hosts, which a new one is held against.

use crate::args::judge::JudgeArgs;
use crate::commands::candidate::CandidateHost;
use crate::commands::reference::ReferenceRecord;
use crate::commands::{compare, joint_report, judge};
use crate::status::Status;
use crate::store;
use anyhow::{Context, Result, bail};
use assess::invocations::INVOCATIONS_LEAST;
use assess::records::{RecordComparison, apart};
use model::plan::Plan;
use report::Style;
use std::path::{Path, PathBuf};

/// The records of an earlier run.
pub(super) struct JointReference<'a> {
    folder: &'a Path,
    /// Those of the hosts, in their order.
    records: Vec<PathBuf>,
}

impl<'a> JointReference<'a> {
    /// The run in `folder`.
    ///
    /// # Errors
    /// If that has not all records of one run on `hosts`.
    pub(super) fn open(folder: &'a Path, hosts: &[&str]) -> Result<JointReference<'a>> {
        let shown = folder.display();
        let found = store::records_of(folder).with_context(|| {
            format!(
                "failed to read '{shown}': with --hosts, --against names the folder with the \
                 records of all hosts of a run"
            )
        })?;
        let Some(records) = joint_report::of_one_run(&found)?.filter(|it| !it.is_empty()) else {
            bail!("the records in '{shown}' are not those of one run on several hosts in lockstep");
        };
        let headers = records.iter().map(|path| store::header(path)).collect::<Result<Vec<_>>>()?;
        let of = headers[0].plan.rank.map_or(0, |rank| rank.of as usize);
        if of != records.len() {
            bail!("the folder '{shown}' has the records of {} of {of} hosts", records.len());
        }
        let called: Vec<&str> =
            headers.iter().map(|header| header.called.as_deref().unwrap_or_default()).collect();
        if called != hosts {
            bail!(
                "the run in '{shown}' is on the hosts {}, and --hosts names {}: a gate holds the \
                 same hosts against each other, in the same order",
                called.join(","),
                hosts.join(",")
            );
        }
        Ok(JointReference { folder, records })
    }

    /// Refuses a run on these hosts that could not be held against it, before that is measured.
    ///
    /// # Errors
    /// If a host is asked something else than then, or too little is known to decide anything.
    pub(super) fn check(&self, guests: &[CandidateHost], plan: &Plan) -> Result<()> {
        for ((number, guest), path) in (0..).zip(guests).zip(&self.records) {
            let record = store::read(path)?;
            let then = ReferenceRecord { path, record, limits: &[], folder: None };
            then.check_same_question(&guest.header_before(number, plan, "")?)?;
            let measured = then.invocations();
            if measured.min(plan.invocations as usize) < INVOCATIONS_LEAST {
                bail!(
                    "invocations: {measured} in '{}', {} in this run: a gate of several hosts \
                     needs {INVOCATIONS_LEAST} or more in each",
                    path.display(),
                    plan.invocations
                );
            }
        }
        Ok(())
    }

    /// Applies the limits to the run of these records.
    ///
    /// # Errors
    /// If a record cannot be read, or there is nothing to compare.
    pub(super) fn hold(
        &self,
        args: &JudgeArgs,
        records: &[PathBuf],
        style: &Style,
    ) -> Result<Status> {
        let judged = |records: &[PathBuf]| {
            let read = |host: usize| store::read(&records[host]);
            assess::judged_of_hosts(records.len(), read)?.context("no host took part")
        };
        let mut versus = assess::compare(judged(&self.records)?, judged(records)?, &[]);
        self.note_others(&mut versus, records)?;
        let now = records.first().and_then(|path| path.parent()).unwrap_or(Path::new("."));
        let sides = [self.folder, now].map(compare::shown);
        judge::hand_out(args, (&versus, sides.each_ref().map(String::as_str)), style)
    }

    /// Adds what differs on the other hosts: all are known under the header of the first.
    fn note_others(&self, versus: &mut RecordComparison, records: &[PathBuf]) -> Result<()> {
        for (then, now) in self.records.iter().zip(records).skip(1) {
            let (then, now) = (store::header(then)?, store::header(now)?);
            let called = now.called.as_deref().unwrap_or(&now.host.name).to_string();
            versus.others.extend(apart(&then, &now).into_iter().map(|mut other| {
                other.what = format!("{} on {called}", other.what);
                other
            }));
        }
        Ok(())
    }
}
