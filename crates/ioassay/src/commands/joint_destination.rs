//! Where the records of a run on several hosts go.

use super::candidate::CandidateHost;
use crate::hosts::interrupted::{InterruptedRun, JointBefore};
use crate::store::JointPlace;
use anyhow::Result;
use model::plan::Plan;
use std::path::{Path, PathBuf};

/// Where the records of a run go.
pub(super) enum JointDestination<'a> {
    /// A folder for new ones.
    New(JointPlace),
    /// Those in the folder of a run that goes on.
    Resumed(&'a Path, InterruptedRun),
}

impl<'a> JointDestination<'a> {
    /// The folder of the run to go on with, on hosts of these names, or a new place.
    ///
    /// # Errors
    /// If that is no such run, or there is no such place.
    pub(super) fn of(
        resume: Option<&'a Path>,
        names: &[String],
        place: impl FnOnce() -> Result<JointPlace>,
    ) -> Result<JointDestination<'a>> {
        let Some(folder) = resume else { return Ok(JointDestination::New(place()?)) };
        Ok(JointDestination::Resumed(folder, InterruptedRun::open(folder, names)?))
    }
}

impl JointDestination<'_> {
    /// The plan of the run, and where it goes on: those of the run that is resumed, if that had
    /// this plan on these hosts.
    ///
    /// # Errors
    /// What differs.
    pub(super) fn go_on(
        &self,
        plan: Plan,
        guests: &[CandidateHost],
    ) -> Result<(Plan, JointBefore)> {
        let Some(run) = self.resumed() else { return Ok((plan, JointBefore::default())) };
        for ((number, guest), record) in (0..).zip(guests).zip(&run.records) {
            guest.check_same(number, &plan, record)?;
        }
        // The order of its cases is that of the record.
        Ok((run.plan().clone(), run.before.clone()))
    }

    /// The run that goes on, if it is one.
    pub(super) fn resumed(&self) -> Option<&InterruptedRun> {
        match self {
            JointDestination::New(_) => None,
            JointDestination::Resumed(_, run) => Some(run),
        }
    }

    /// The folder, if there can be one.
    pub(super) fn folder(&self) -> Option<PathBuf> {
        match self {
            JointDestination::New(place) => place.folder().map(Path::to_path_buf),
            JointDestination::Resumed(folder, _) => Some(folder.to_path_buf()),
        }
    }
}
