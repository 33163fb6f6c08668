//! Carries out the agenda of a run on this host, with a fresh start for each invocation. Appends
//! each trial to the record immediately.

use crate::agenda::{Agenda, NextRound, lasted};
use crate::clock::RunClock;
use crate::crew::{Crew, PAUSE, RunState, carry_out, ended};
use crate::files::Files;
use crate::progress::{CrewPart, NextTrial, RunEnd};
use crate::resume::ResumedRun;
use crate::site::{Carryover, Site, Turn};
use crate::stage::{Stage, has_file};
use crate::stop::{EvenIfStopped, Stop};
use crate::store::Store;
use anyhow::{Error, Result};
use model::part::Part;
use model::record::{Invocation, RecordLine, Resumed, Side};
use model::trial::Outcome;
use model::vitals::{PartVitals, Vitals};
use std::time::{Duration, Instant};

/// A run on this host, or one side of a gate.
pub struct Run<'a> {
    /// Where its trials run.
    pub site: Site<'a>,
    /// The files of its invocation.
    files: Files,
    /// The record.
    pub store: &'a mut Store,
    /// What was measured before the run was interrupted, if it is resumed.
    pub before: Option<&'a ResumedRun>,
    /// Which side of a gate it is, if it is one.
    side: Option<Side>,
    /// The part of the run that goes on, if any.
    part: Option<PartBegun>,
    /// What trials leave to the next ones of their invocation.
    pub(crate) left_over: Carryover,
}

/// A part of a run that has begun.
struct PartBegun {
    invocation: u32,
    clock: RunClock,
    before: Vitals,
}

impl<'a> Run<'a> {
    /// A run that is recorded in `store`, after what was measured `before`. Its first trials use
    /// these files.
    pub fn new(
        (site, files): (Site<'a>, Files),
        store: &'a mut Store,
        before: Option<&'a ResumedRun>,
    ) -> Run<'a> {
        let left_over = Carryover::default();
        Run { site, files, store, before, side: None, part: None, left_over }
    }

    /// The same as this side of a gate.
    pub fn as_side(self, side: Side) -> Run<'a> {
        Run { side: Some(side), ..self }
    }

    /// Runs all trials. Returns its last files.
    ///
    /// # Errors
    /// If no worker can be started, new files cannot be created, or the record cannot be written.
    /// Whatever goes wrong in a trial is that trial's data, and the run continues.
    pub fn carry_out(mut self) -> Result<Files> {
        match self.site.plan.sustain {
            None => {
                let state = self.state();
                carry_out(&mut self, state)?;
            }
            Some(budget) => {
                let carried_out = self.sustain(budget);
                ended(&mut self, carried_out)?;
            }
        }
        self.site.progress.end();
        Ok(self.files)
    }

    /// Where it begins, or goes on.
    fn state(&self) -> RunState<'a> {
        let (agenda, lasted) = match self.before {
            None => (Agenda::new(self.site.plan), Duration::ZERO),
            Some(ResumedRun { record, .. }) => (Agenda::of_records(&[record]), lasted(record)),
        };
        RunState { agenda, clock: RunClock::start(lasted) }
    }

    /// Its number among the sides of the agenda.
    fn number(&self) -> usize {
        usize::from(self.side == Some(Side::B))
    }

    /// Shows what is found so far, on a terminal.
    fn show_findings(&self) {
        self.site.progress.judge((0, 1), |_| ("", self.store.path()));
    }

    /// Creates everything again for an invocation, after a pause; the previous one's workers have
    /// exited.
    pub(crate) fn begin_after(&mut self, pause: Duration, state: &RunState) -> Result<()> {
        let since = Instant::now();
        self.site.stop.wait(pause);
        let old = std::mem::take(&mut self.files);
        self.files = self.site.maker.make_anew(old, (self.site.progress, self.site.stop))?;
        self.record_invocation(state, since.elapsed(), None)?;
        self.begin_part(state.agenda.invocation(), state.clock);
        Ok(())
    }

    /// Notes what can be seen before the first trial of a part.
    fn begin_part(&mut self, invocation: u32, clock: RunClock) {
        self.part = Some(PartBegun { invocation, clock, before: self.site.vitals(clock.at_ms()) });
    }

    /// Records what was seen before and after the part whose last trial has just ended.
    fn end_part(&mut self) -> Result<()> {
        let Some(PartBegun { invocation, clock, before }) = self.part.take() else { return Ok(()) };
        let after = self.site.vitals(clock.at_ms());
        self.append(&RecordLine::Vitals(PartVitals { invocation, before, after }))
    }

    /// Records the start of an invocation that `made` was spent to prepare. The space of unlinked
    /// files may not be free yet.
    fn record_invocation(
        &mut self,
        state: &RunState,
        made: Duration,
        resumed: Option<Resumed>,
    ) -> Result<()> {
        let fixtures = match self.site.maker.makes_anew() {
            true => self.files.all().map(|file| file.fixture().clone()).collect(),
            false => Vec::new(),
        };
        let (number, at_ms) = (state.agenda.invocation(), state.clock.at_ms());
        let made_ms = made.as_millis() as u64;
        let again = if resumed.is_some() { state.agenda.again() } else { Vec::new() };
        self.left_over = Carryover::of_invocation_before();
        let anew = Invocation { number, at_ms, made_ms, fixtures, resumed, again };
        self.append(&RecordLine::Invocation(anew))
    }

    /// Runs its trials of a round, of `planned` in all. Returns whether all were run; otherwise,
    /// the run is stopped, or its time is over.
    pub(crate) fn turns(
        &mut self,
        next: &NextRound,
        planned: u64,
        state: &mut RunState,
    ) -> Result<bool> {
        for &case in &next.cases {
            if !state.agenda.has_case(self.number(), case) {
                continue;
            }
            if self.site.stop.is_asked() || state.is_over_for(self.number()) {
                return Ok(false);
            }
            let trial = NextTrial {
                done: state.agenda.trials(),
                planned,
                round: next.round,
                ends: state.agenda.ends(state.clock.passed()),
                case: &self.site.plan.cases[case].case,
                rates: &state.agenda.rates_of(case),
            };
            let part = self.side.map_or(CrewPart::ThisHost, CrewPart::Side);
            self.site.progress.trial(part, &trial);
            self.turn((case, next.round), state)?;
        }
        Ok(!self.site.stop.is_asked())
    }

    /// Runs and records one trial, unless its case failed too often or the run is stopped.
    fn turn(&mut self, (case, round): (usize, u32), state: &mut RunState) -> Result<()> {
        let (invocation, at_ms) = (state.agenda.invocation(), state.clock.at_ms());
        let (turn, files) = (Turn { case, invocation, round, at_ms }, &self.files);
        if let Some(reason) = state.agenda.refusal(case) {
            let trial = turn.failed(reason);
            state.agenda.add_of_side(self.number(), &trial);
            return self.append(&RecordLine::Trial(trial));
        }
        let mut trial = self.site.trial(&mut self.left_over, (turn, files), None)?;
        let complaint = self.left_over.complaint(files, self.site.storage);
        if let Some(reason) = complaint.clone() {
            trial.outcome = Outcome::Failed { reason };
        }
        if self.site.stop.is_asked() {
            // The trial was cut short, so it is not recorded.
            return Ok(());
        }
        self.site.progress.over(&trial);
        state.agenda.add_of_side(self.number(), &trial);
        self.append(&RecordLine::Trial(trial))?;
        complaint.map_or(Ok(()), |complaint| Err(changed(complaint)))
    }

    /// Runs one case after another; each case's trials follow each other without a pause, until its
    /// rate is steady or `budget` is used up. They all write to the same file.
    fn sustain(&mut self, budget: Duration) -> Result<()> {
        let began = Instant::now();
        self.begin_part(0, RunClock::start(Duration::ZERO));
        let sustained = self.sustain_each(budget, began);
        let written = self.end_part();
        sustained.and(written)
    }

    fn sustain_each(&mut self, budget: Duration, began: Instant) -> Result<()> {
        let files = &self.files;
        let all = self.site.plan.cases.len() as u64;
        self.site.progress.rounds_begin();
        for index in 0..self.site.plan.cases.len() {
            let case = &self.site.plan.cases[index].case;
            let case_began = Instant::now();
            let (mut trials, mut rates) = (Vec::new(), [Vec::new()]);
            let scratch = case.write().filter(|_| has_file(case)).map(|w| files.to_write(w));
            let scratch = scratch.transpose()?;
            for round in 0.. {
                if self.site.stop.is_asked() {
                    return Ok(());
                }
                let (done, planned, ends) = (index as u64, all, RunEnd::Steady);
                let next = NextTrial { done, planned, round, ends, case, rates: &rates };
                self.site.progress.trial(CrewPart::ThisHost, &next);
                let at_ms = began.elapsed().as_millis() as u64;
                let turn = Turn { case: index, invocation: 0, round, at_ms };
                let scratch = scratch.as_ref();
                let trial = self.site.trial(&mut self.left_over, (turn, files), scratch)?;
                if self.site.stop.is_asked() {
                    return Ok(());
                }
                self.site.progress.over(&trial);
                rates[0].extend(assess::rate(case, &trial));
                let is_bad = trial.sample().is_none();
                trials.push(trial);
                let is_over = case_began.elapsed() >= budget;
                let may_end = !self.site.plan.whole_time;
                let is_last = is_bad || is_over || (may_end && assess::is_steady(case, &trials));
                let trial = trials.last_mut().expect("one was just made");
                if is_last {
                    // Earlier, this would have been a pause.
                    let stage = Stage { target: scratch, goes_on: true, ..Stage::default() };
                    let job = stage.job(case, self.site.seed(index, round), Part::WHOLE);
                    self.site.read_back(&job, &stage, trial);
                }
                self.store.append(&RecordLine::Trial(trial.clone()))?;
                if is_last {
                    break;
                }
            }
            self.show_findings();
        }
        Ok(())
    }
}

impl Crew for Run<'_> {
    fn stop(&self) -> &Stop {
        self.site.stop
    }

    fn begin(&mut self, state: &RunState) -> Result<()> {
        self.site.progress.rounds_begin();
        if let Some(ResumedRun { resumed, made, .. }) = self.before {
            self.record_invocation(state, *made, Some(resumed.clone()))?;
        }
        self.begin_part(state.agenda.invocation(), state.clock);
        Ok(())
    }

    fn begin_anew(&mut self, state: &RunState) -> Result<()> {
        self.begin_after(PAUSE, state)
    }

    fn round(&mut self, next: &NextRound, state: &mut RunState) -> Result<bool> {
        let is_whole = self.turns(next, state.agenda.trials_planned(next), state)?;
        if is_whole {
            self.show_findings();
        }
        Ok(is_whole)
    }

    /// An error if peers changed the user's own file.
    fn dismiss(&mut self) -> Result<()> {
        // Links and drives are still awake.
        let written = self.end_part();
        let (files, storage) = (&self.files, self.site.storage);
        let complaint = self.left_over.complaint(files, storage);
        // A peer may still act when it is dismissed.
        self.left_over.workers.clear();
        self.left_over.beside.clear();
        let complaint = complaint.or_else(|| self.left_over.complaint(files, storage));
        complaint.map_or(written, |complaint| Err(changed(complaint)))
    }

    fn append(&mut self, line: &RecordLine) -> Result<()> {
        self.store.append(line)
    }
}

/// The error that peers changed the user's own file.
fn changed(complaint: String) -> Error {
    Error::msg(EvenIfStopped(complaint))
}
