//! Reads a record line by line.

use super::damage::{Damage, Problem, Wrong};
use super::head::Head;
use super::{End, Invocation, LINE_BYTES_MAX, MEMORY_BYTES_MAX, Record, RecordError, RecordLine};
use super::{TRIALS_MAX, at_most};
use crate::plan::{CASES_MAX, Pruned, TWINS_MAX};
use crate::printable::printable_json;
use crate::trial::Trial;
use crate::vitals::in_use;
use std::collections::{HashMap, HashSet};

/// How a line of [`RecordLine::Vitals`] begins, and no other.
const VITALS: &str = "{\"v";

/// Reads a record line by line, so that only one line of text is in memory at a time. The strings
/// of a record cannot send control sequences to a terminal (see [`crate::printable`]).
#[derive(Debug)]
pub struct Reader {
    record: Record,
    /// For each case of the recorded plan, its index among the readable cases.
    places: Vec<Option<usize>>,
    /// The index and line of each trial.
    told: HashMap<(usize, u32, u32), (usize, usize)>,
    /// The number of the last line read, from 1.
    pub(super) number: usize,
    /// The line number of the end.
    ended: Option<usize>,
    /// The number of the last line that could not be parsed, and why.
    broken: Option<(usize, Problem)>,
    /// The problems of lines.
    damage: Damage,
    /// The memory taken by the trials, in bytes.
    bytes: usize,
    /// The number of trials of each case, and the largest of them.
    trials: Vec<usize>,
    most_trials: usize,
}

impl Reader {
    /// Starts with the first line, the header.
    ///
    /// # Errors
    /// If it is not a readable header, or too large.
    pub fn begin(line: &str) -> Result<Reader, RecordError> {
        at_most("bytes of its first line", line.len(), LINE_BYTES_MAX)?;
        let Head { header, places, damage } = Head::read(&printable_json(line))?;
        let cases = places.len().saturating_add(header.plan.skips.len());
        at_most("cases", cases, CASES_MAX + TWINS_MAX)?;
        let (invocations, trials, pruned) = (Vec::new(), Vec::new(), Vec::new());
        let (vitals, end) = (Vec::new(), End::Missing);
        Ok(Reader {
            trials: vec![0; places.len()],
            most_trials: 0,
            record: Record { header, invocations, trials, pruned, vitals, end, damage },
            places,
            told: HashMap::new(),
            number: 1,
            ended: None,
            broken: None,
            damage: Damage::default(),
            bytes: 0,
        })
    }

    /// Reads the next line.
    ///
    /// # Errors
    /// If the record is too large.
    pub fn line(&mut self, line: &str) -> Result<(), RecordError> {
        at_most("bytes of a line", line.len(), LINE_BYTES_MAX)?;
        self.number += 1;
        if let Err(wrong) = self.take(&printable_json(line)) {
            self.damage.add(self.number, wrong);
        }
        at_most("trials of a case", self.most_trials, TRIALS_MAX)?;
        at_most("bytes of all trials", self.bytes, MEMORY_BYTES_MAX)
    }

    /// The record as read so far.
    pub fn end(mut self) -> Record {
        self.record.damage.extend(self.damage.texts());
        let Record { header, vitals, .. } = &mut self.record;
        let others = header.source_storage.iter_mut().chain(&mut header.further_storages);
        for path in header.storage.iter_mut().chain(others).filter_map(|it| it.path.as_mut()) {
            **path = in_use(path, vitals);
        }
        self.record
    }

    /// Processes a line after the first. Lines after the end are ignored, because a report at the
    /// end of the run did not include them. Only a run that was interrupted can be resumed.
    fn take(&mut self, line: &str) -> Result<(), Wrong> {
        let length = line.len();
        let parsed = serde_json::from_str(line);
        if parsed.as_ref().is_err_and(serde_json::Error::is_eof) && line.starts_with(VITALS) {
            // The run was stopped as its part came to its end, and lost no trial.
            return Ok(());
        }
        let line = parsed.map_err(|error: serde_json::Error| {
            let (problem, what) = match error.is_data() {
                true => (Problem::Unknown, "is of a kind that this version does not know"),
                false => (Problem::Broken, "is broken"),
            };
            self.broken = Some((self.number, problem));
            (problem, format!("{what}: {error}"))
        })?;
        if let RecordLine::Invocation(Invocation { resumed: Some(_), again, .. }) = &line
            && self.record.end != End::Complete
        {
            self.resume();
            self.withdraw(again);
        }
        if let Some(ended) = self.ended {
            let text = format!("comes after the end in line {ended} and is ignored");
            return Err((Problem::Late, text));
        }
        match line {
            RecordLine::Trial(trial) => return self.trial(trial),
            RecordLine::Pruned(pruned) => return self.pruned(pruned),
            RecordLine::Invocation(invocation) => {
                let files = size_of_val(&invocation.fixtures[..]);
                let command = invocation.resumed.iter().flat_map(|it| &it.tool.command);
                let command: usize = command.map(|word| word.len() + size_of::<String>()).sum();
                let again = size_of_val(&invocation.again[..]);
                self.bytes += size_of::<Invocation>() + files + command + again;
                self.record.invocations.push(invocation);
            }
            RecordLine::Vitals(vitals) => {
                self.bytes = self.bytes.saturating_add(length);
                self.record.vitals.push(vitals);
            }
            RecordLine::End(end) => {
                self.record.end = end;
                self.ended = Some(self.number);
            }
            RecordLine::Header { .. } => {
                return Err((Problem::SecondHeader, "is a second header".to_string()));
            }
        }
        Ok(())
    }

    /// The run continues. The line before this one may have been cut off when it was interrupted:
    /// what it said was measured again.
    fn resume(&mut self) {
        (self.record.end, self.ended) = (End::Missing, None);
        if let Some((number, problem)) = self.broken
            && number == self.number - 1
        {
            self.damage.take_back(problem);
        }
    }

    /// Forgets trials that the resumed run measures again, and that their cases were pruned.
    fn withdraw(&mut self, again: &[(usize, u32)]) {
        let known = again.iter().filter_map(|(case, round)| {
            let place = self.places.get(*case).copied().flatten()?;
            Some((place, *round))
        });
        let known: HashSet<(usize, u32)> = known.collect();
        if known.is_empty() {
            return;
        }
        self.record.trials.retain(|trial| !known.contains(&(trial.case, trial.round)));
        let is_again = |pruned: &Pruned| known.iter().any(|(case, _)| *case == pruned.case);
        self.record.pruned.retain(|pruned| !is_again(pruned));
        self.told.retain(|(case, _, round), _| !known.contains(&(*case, *round)));
        for (index, trial) in self.record.trials.iter().enumerate() {
            let key = (trial.case, trial.invocation, trial.round);
            self.told.entry(key).and_modify(|(place, _)| *place = index);
        }
    }

    /// The index of a case of the plan among the readable ones.
    fn place(&self, case: usize) -> Result<Option<usize>, Wrong> {
        let place = self.places.get(case).copied();
        let text = || format!("is about case {case}, which is not in the plan");
        place.ok_or_else(|| (Problem::NoCase, text()))
    }

    /// Adds a case without further trials.
    fn pruned(&mut self, pruned: Pruned) -> Result<(), Wrong> {
        let Some(case) = self.place(pruned.case)? else { return Ok(()) };
        if self.record.pruned.iter().any(|known| known.case == case) {
            let text = format!("prunes case {} again: only the first counts", pruned.case);
            return Err((Problem::PrunedAgain, text));
        }
        self.bytes = self.bytes.saturating_add(size_of::<Pruned>() + pruned.reason.len());
        self.record.pruned.push(Pruned { case, ..pruned });
        Ok(())
    }

    /// Adds a trial: a case has one in each round.
    fn trial(&mut self, trial: Trial) -> Result<(), Wrong> {
        // An unknown case is already reported.
        let Some(case) = self.place(trial.case)? else { return Ok(()) };
        let trial = Trial { case, ..trial };
        let key = (case, trial.invocation, trial.round);
        if let Some(&(first, line)) = self.told.get(&key) {
            return Err(match self.record.trials[first] == trial {
                true => {
                    (Problem::Repeated, format!("repeats the trial of line {line}: it counts once"))
                }
                false => (
                    Problem::Conflicting,
                    format!(
                        "has the same case and round as line {line} but other content: only the \
                         first counts"
                    ),
                ),
            });
        }
        self.told.insert(key, (self.record.trials.len(), self.number));
        self.bytes = self.bytes.saturating_add(trial.bytes());
        self.trials[case] += 1;
        self.most_trials = self.most_trials.max(self.trials[case]);
        self.record.trials.push(trial);
        Ok(())
    }
}
