//! What a trial of a command needs before and after.

use super::Site;
use crate::data_files::{self, DataFiles};
use crate::stage::Stage;
use model::case::Case;
use model::evidence::Evidence;
use model::trial::Outcome;

impl Site<'_> {
    /// The files of the command that `case` runs, after what runs before each of its runs.
    pub(super) fn data_files(&self, case: &Case) -> Result<Option<DataFiles>, String> {
        let command = self.plan.command(case);
        let Some((command, cache)) = command.zip(case.cache()) else { return Ok(None) };
        data_files::prepare(command, self.stop)?;
        let probe = self.storage.and_then(|storage| storage.residency_probe);
        DataFiles::open(command, cache, probe).map(Some)
    }

    /// Runs what the command of a trial needs after each of its runs.
    pub(super) fn conclude(&self, stage: &Stage, outcome: &mut Outcome) {
        let Some((command, _)) = stage.command else { return };
        if let Err(reason) = data_files::conclude(command, self.stop) {
            *outcome = Outcome::Failed { reason };
        }
    }
}

/// Takes from the evidence what ioassay did to read the command's output: the OS counts both
/// together.
pub(super) fn leave_out_reading(outcome: &Outcome, evidence: &mut Evidence) {
    let Outcome::Done(sample) = outcome else { return };
    let Some(reading) = sample.exit.and_then(|exit| exit.reading) else { return };
    let without = |all: u64| all.checked_sub(reading.bytes);
    evidence.task_rchar_bytes = evidence.task_rchar_bytes.and_then(without);
}
