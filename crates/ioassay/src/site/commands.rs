//! What a trial of a command needs before and after.

use super::{Carryover, Site};
use crate::data_files::{self, DataFiles};
use crate::file_storages::FileStorages;
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
    ) -> Result<Option<DataFiles<'_>>, String> {
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
        let (first, further, numbers) = (self.storage, self.further, self.numbers);
        let storages = FileStorages { first, further, numbers };
        // A run that cannot begin is concluded, too: it was prepared.
        let opened = DataFiles::open(command, cache, storages).map(Some);
        opened.inspect_err(|_| data_files::undo(command, self.stop))
    }

    /// Undoes what was prepared for the command of a trial that there is none of.
    pub(super) fn undo(&self, stage: &Stage) {
        stage.command.iter().for_each(|(command, _)| data_files::undo(command, self.stop));
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
    counters.of_command(data.seen()).with_further(further)
}

/// Completes the evidence of a command, if the trial runs one.
pub(super) fn complete(evidence: &mut Evidence, stage: &Stage, outcome: &mut Outcome) {
    let Some((command, data)) = stage.command else { return };
    only_its_own(outcome, evidence);
    evidence.written_after = data.written(command);
}

/// Replaces in the evidence of a command what was counted of its worker as well: that waits for
/// processors, reads what the command printed, and answers.
fn only_its_own(outcome: &mut Outcome, evidence: &mut Evidence) {
    let sample = match outcome {
        Outcome::Done(sample) => Some(sample),
        _ => None,
    };
    let delay = sample.as_ref().and_then(|sample| sample.spans.first()?.run_delay_ns);
    evidence.run_delay_ns = delay;
    let Some(exit) = sample.and_then(|sample| sample.exit.as_mut()) else { return };
    // The OS reads the head of a program with calls that it counts: without any, it counts none.
    let io = exit.io.take().filter(|io| io.rchar > 0);
    evidence.task_read_bytes = io.map(|io| io.read_bytes);
    evidence.task_write_bytes = io.map(|io| io.write_bytes);
    evidence.task_rchar_bytes = io.map(|io| io.rchar);
    evidence.task_wchar_bytes = io.map(|io| io.wchar);
    evidence.task_read_calls = io.map(|io| io.syscr);
    evidence.task_write_calls = io.map(|io| io.syscw);
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::command::Exit;
    use model::sample::{Sample, Span};
    use model::task_io::TaskIo;

    #[test]
    fn what_its_worker_did_is_not_what_the_command_did() {
        let io = TaskIo { rchar: 70, syscr: 5, wchar: 4, syscw: 1, ..TaskIo::default() };
        let exit = Exit { io: Some(io), ..Exit::default() };
        let span = Span { run_delay_ns: Some(5), ..Span::default() };
        let sample = Sample { exit: Some(exit), spans: vec![span], ..Sample::default() };
        let evidence = Evidence {
            task_rchar_bytes: Some(100),
            task_read_calls: Some(7),
            task_read_bytes: Some(8),
            run_delay_ns: Some(9_000),
            ..Evidence::default()
        };
        let mut own = evidence.clone();
        let mut outcome = Outcome::Done(sample.clone());
        only_its_own(&mut outcome, &mut own);
        assert_eq!((own.task_rchar_bytes, own.task_read_calls), (Some(70), Some(5)));
        assert_eq!((own.task_wchar_bytes, own.task_write_calls), (Some(4), Some(1)));
        assert_eq!((own.task_read_bytes, own.task_write_bytes), (Some(0), Some(0)));
        assert_eq!(own.run_delay_ns, Some(5));
        assert_eq!(outcome.sample().unwrap().exit, Some(Exit::default()), "it is there once");
        // What the OS does not count is unseen.
        let nothing = Exit { io: Some(TaskIo::default()), ..Exit::default() };
        for exit in [Exit::default(), nothing] {
            let unseen = Sample { exit: Some(exit), ..Sample::default() };
            let mut own = evidence.clone();
            only_its_own(&mut Outcome::Done(unseen), &mut own);
            assert_eq!((own.task_rchar_bytes, own.task_read_bytes), (None, None));
            assert_eq!(own.run_delay_ns, None, "the worker's own says nothing of the command");
        }
    }
}
