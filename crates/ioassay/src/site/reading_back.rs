//! Reads back what a trial wrote.

use super::Site;
use crate::fixture::TestFile;
use crate::stage::Stage;
use model::case::Op;
use model::trial::{Job, Outcome, Trial};

impl Site<'_> {
    /// Reads back what `job` wrote: data that cannot be read does not exist.
    pub(crate) fn read_back(&self, job: &Job, stage: &Stage, trial: &mut Trial) {
        if let (Some(names), Some(sample)) = (stage.names, trial.sample()) {
            match names.read_back(sample) {
                Ok(read_back) => trial.read_back = Some(read_back),
                Err(error) => trial.outcome = Outcome::Failed { reason: format!("{error:#}") },
            }
            return;
        }
        let (Some(work), Some(scratch)) = (job.case.write(), stage.target) else { return };
        let Some(sample) = trial.sample() else { return };
        let content = match (work.op, stage.read.and_then(TestFile::content)) {
            (Op::Copy, Some(content)) => content,
            (Op::Copy, None) => return,
            (Op::Write | Op::Sync, _) => work.content(job.seed),
        };
        let probe = self.probe();
        match scratch.read_back(job, sample, content, probe, self.stop) {
            Ok(read_back) => trial.read_back = read_back,
            Err(error) => trial.outcome = Outcome::Failed { reason: format!("{error:#}") },
        }
    }
}
