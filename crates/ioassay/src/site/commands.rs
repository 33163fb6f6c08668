//! What a trial of a command needs before and after.

use super::{Carryover, Site};
use crate::data_files::{self, DataFiles};
use crate::stage::Stage;
use model::case::Case;
use model::evidence::Evidence;
use model::host::Storage;
use model::trial::Outcome;
use witness::counters::Witness;

impl Site<'_> {
    /// The files of the command that `case` runs, after what runs before each of its runs. What an
    /// earlier run wrote is on devices then, so that writing it does not cost this one.
    pub(super) fn data_files(
        &self,
        case: &Case,
        left: &mut Carryover,
    ) -> Result<Option<DataFiles>, String> {
        let Some((number, cache)) = self.plan.command_number(case).zip(case.cache()) else {
            // What the last command wrote would slow down what is measured beside it.
            if let Some(last) = left.command {
                data_files::write_back(&self.plan.commands[last], self.stop);
            }
            return Ok(None);
        };
        let command = &self.plan.commands[number];
        data_files::prepare(command, self.stop)?;
        // At first, the rehearsals of all have written.
        let wrote = match left.command.replace(number) {
            Some(last) => &self.plan.commands[last..=last],
            None => &self.plan.commands[..],
        };
        wrote.iter().for_each(|command| data_files::write_back(command, self.stop));
        let probe = self.storage.and_then(|storage| storage.residency_probe);
        // A run that cannot begin is concluded, too: it was prepared.
        DataFiles::open(command, cache, probe).map(Some).inspect_err(|_| {
            if let Err(reason) = data_files::conclude(command, self.stop) {
                log::warn!("{reason}");
            }
        })
    }

    /// Runs what the command of a trial needs after each of its runs.
    pub(super) fn conclude(&self, stage: &Stage, outcome: &mut Outcome) {
        let Some((command, _)) = stage.command else { return };
        if let Err(reason) = data_files::conclude(command, self.stop) {
            *outcome = Outcome::Failed { reason };
        }
    }
}

/// What also watches the files of a command, and further storages, if the trial runs one.
pub(super) fn watching<'a>(
    counters: Witness<'a>,
    stage: &Stage<'a>,
    further: &[Storage],
) -> Witness<'a> {
    let Some((_, data)) = stage.command else { return counters };
    counters.with_files(data.files().collect(), data.probe()).with_further(further)
}

/// Completes the evidence of a command, if the trial runs one.
pub(super) fn complete(evidence: &mut Evidence, stage: &Stage, outcome: &Outcome) {
    let Some((command, data)) = stage.command else { return };
    only_its_own(outcome, evidence);
    evidence.written_after = data.written(command);
}

/// Takes from the evidence of a command what the worker did itself: it read what the command
/// printed, and its own threads waited for processors.
fn only_its_own(outcome: &Outcome, evidence: &mut Evidence) {
    let sample = outcome.sample();
    evidence.run_delay_ns = sample.and_then(|sample| sample.spans.first()?.run_delay_ns);
    let Some(exit) = sample.and_then(|sample| sample.exit) else { return };
    let reading = exit.reading.unwrap_or_default();
    let without = |all: Option<u64>, own: u64| all?.checked_sub(own);
    evidence.task_rchar_bytes = without(evidence.task_rchar_bytes, reading.bytes);
    evidence.task_read_calls = without(evidence.task_read_calls, reading.calls);
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::command::{Exit, OutputReading};
    use model::sample::{Sample, Span};

    #[test]
    fn what_the_worker_heard_is_not_what_the_command_read() {
        let reading = OutputReading { bytes: 30, calls: 2, cpu_ns: 1 };
        let exit = Exit { reading: Some(reading), ..Exit::default() };
        let span = Span { run_delay_ns: Some(5), ..Span::default() };
        let sample = Sample { exit: Some(exit), spans: vec![span], ..Sample::default() };
        let evidence = Evidence {
            task_rchar_bytes: Some(100),
            task_read_calls: Some(7),
            run_delay_ns: Some(9_000),
            ..Evidence::default()
        };
        let mut own = evidence.clone();
        only_its_own(&Outcome::Done(sample.clone()), &mut own);
        assert_eq!((own.task_rchar_bytes, own.task_read_calls), (Some(70), Some(5)));
        assert_eq!(own.run_delay_ns, Some(5));
        let silent = Sample { exit: Some(Exit::default()), ..Sample::default() };
        let mut own = evidence;
        only_its_own(&Outcome::Done(silent), &mut own);
        assert_eq!((own.task_rchar_bytes, own.task_read_calls), (Some(100), Some(7)));
        assert_eq!(own.run_delay_ns, None, "the worker's own says nothing of the command");
    }
}
