//! Carries out the agenda of a run on this host, with a fresh start for each invocation. Appends
//! each trial to the record immediately.

use crate::agenda::{Agenda, Turns, lasted};
use crate::clock::RunClock;
use crate::files::Files;
use crate::progress::{NextTrial, RunEnd};
use crate::resume::ResumedRun;
use crate::site::{Carryover, Site, TrialTurn};
use crate::stage::{Stage, has_file};
use crate::store::Store;
use crate::turns::PAUSE;
use anyhow::{Result, bail};
use model::part::Part;
use model::record::{End, Invocation, RecordLine, Resumed};
use model::trial::Outcome;
use std::time::{Duration, Instant};

/// The state of a run that outlives a trial.
pub struct Run<'a> {
    /// Where its trials run.
    pub site: Site<'a>,
    /// The record.
    pub store: &'a mut Store,
    /// What was measured before the run was interrupted, if it is resumed.
    pub before: Option<&'a ResumedRun>,
    /// Its number among the sides of the agenda: 0, or 1 for the second of a gate.
    side: usize,
    /// What trials leave to the next ones of their invocation.
    pub(crate) left_over: Carryover,
}

/// What decides which trial is next. The two sides of a gate share it.
pub(crate) struct RunState<'a> {
    pub(crate) agenda: Agenda<'a>,
    pub(crate) clock: RunClock,
}

impl<'a> RunState<'a> {
    /// Of a run that begins, or goes on after it had `lasted` so long.
    pub(crate) fn begin(agenda: Agenda<'a>, lasted: Duration) -> RunState<'a> {
        RunState { agenda, clock: RunClock::start(lasted) }
    }

    /// Whether another round fits into the time that the run is given.
    pub(crate) fn has_time(&self) -> bool {
        self.agenda.has_time(self.clock.passed())
    }
}

impl<'a> Run<'a> {
    /// A run that is recorded in `store`, after what was measured `before`.
    pub fn new(site: Site<'a>, store: &'a mut Store, before: Option<&'a ResumedRun>) -> Run<'a> {
        Run { site, store, before, side: 0, left_over: Carryover::default() }
    }

    /// The same as this side of a gate.
    pub fn as_side(self, side: usize) -> Run<'a> {
        Run { side, ..self }
    }

    /// Runs all trials, the first ones with `files`. Returns how the run ended, and its last files.
    ///
    /// # Errors
    /// If no worker can be started, new files cannot be created, or the record cannot be written.
    /// Whatever goes wrong in a trial is that trial's data, and the run continues.
    pub fn carry_out(mut self, files: Files) -> Result<(End, Files)> {
        let files = match self.site.plan.sustain {
            None => self.take_turns(files)?,
            Some(budget) => {
                self.sustain(budget, &files)?;
                files
            }
        };
        let end = if self.site.stop.is_asked() { End::Interrupted } else { End::Complete };
        self.store.append(&RecordLine::End(end.clone()))?;
        self.site.progress.end();
        Ok((end, files))
    }

    /// Runs the invocations one after another, and the rounds within each.
    fn take_turns(&mut self, mut files: Files) -> Result<Files> {
        let before = self.before;
        let plan = self.site.plan;
        let agenda =
            before.map_or_else(|| Agenda::new(plan), |it| Agenda::of_records(&[&it.record]));
        let lasted = before.map_or(Duration::ZERO, |before| lasted(&before.record));
        let mut state = RunState::begin(agenda, lasted);
        self.begin(&files, &state)?;
        while let Some(turns) = state.agenda.next(state.clock.passed()) {
            if turns.is_anew {
                self.dismiss(&files)?;
                files = match self.begin_anew(files, PAUSE, &state) {
                    Ok(files) => files,
                    // Even if something stops the run, the completed trials are valid.
                    Err(_) if self.site.stop.is_asked() => return Ok(Files::default()),
                    Err(error) => {
                        self.store.append(&RecordLine::End(End::Interrupted))?;
                        return Err(error);
                    }
                };
            }
            if state.has_time() && self.round(&files, &turns, &mut state)? {
                for pruned in state.agenda.end_round(&turns, state.clock.passed()) {
                    self.store.append(&RecordLine::Pruned(pruned))?;
                }
                self.show_findings();
            }
            if self.site.stop.is_asked() {
                break;
            }
        }
        self.dismiss(&files)?;
        Ok(files)
    }

    /// Begins, or goes on in another invocation.
    pub(crate) fn begin(&mut self, files: &Files, state: &RunState) -> Result<()> {
        self.site.progress.rounds_begin();
        let Some(ResumedRun { resumed, made, .. }) = self.before else { return Ok(()) };
        self.record_invocation(files, state, *made, Some(resumed.clone()))
    }

    /// Shows what is found so far, on a terminal.
    pub(crate) fn show_findings(&mut self) {
        self.site.progress.judge(self.store.path());
    }

    /// Creates everything again for an invocation, after a pause; the previous one's workers have
    /// exited.
    pub(crate) fn begin_anew(
        &mut self,
        old: Files,
        pause: Duration,
        state: &RunState,
    ) -> Result<Files> {
        let since = Instant::now();
        self.site.stop.wait(pause);
        let files = self.site.maker.make_anew(old, (self.site.progress, self.site.stop))?;
        self.record_invocation(&files, state, since.elapsed(), None)?;
        Ok(files)
    }

    /// Dismisses the workers of an invocation.
    ///
    /// # Errors
    /// If peers changed the user's own file.
    pub(crate) fn dismiss(&mut self, files: &Files) -> Result<()> {
        let (storage, left_over) = (self.site.storage, &mut self.left_over);
        let complaint = left_over.complaint(files, storage);
        // A peer may still act when it is dismissed.
        left_over.workers.clear();
        left_over.beside.clear();
        let complaint = complaint.or_else(|| left_over.complaint(files, storage));
        let Some(complaint) = complaint else { return Ok(()) };
        self.store.append(&RecordLine::End(End::Interrupted))?;
        bail!(complaint);
    }

    /// Records the start of an invocation that `made` was spent to prepare. The space of unlinked
    /// files may not be free yet.
    fn record_invocation(
        &mut self,
        files: &Files,
        state: &RunState,
        made: Duration,
        resumed: Option<Resumed>,
    ) -> Result<()> {
        let fixtures = match self.site.maker.makes_anew() {
            true => files.all().map(|file| file.fixture().clone()).collect(),
            false => Vec::new(),
        };
        let (number, at_ms) = (state.agenda.invocation(), state.clock.at_ms());
        let made_ms = made.as_millis() as u64;
        let again = if resumed.is_some() { state.agenda.again() } else { Vec::new() };
        self.left_over = Carryover::of_invocation_before();
        let anew = Invocation { number, at_ms, made_ms, fixtures, resumed, again };
        self.store.append(&RecordLine::Invocation(anew))
    }

    /// Runs its trials of a round. Returns whether all were run; otherwise, the run is stopped, or
    /// its time is over.
    pub(crate) fn round(
        &mut self,
        files: &Files,
        turns: &Turns,
        state: &mut RunState,
    ) -> Result<bool> {
        let planned = state.agenda.planned(self.side, turns);
        for &case in &turns.cases {
            if !state.agenda.has_case(self.side, case) {
                continue;
            }
            if self.site.stop.is_asked()
                || state.agenda.is_over_for(self.side, state.clock.passed())
            {
                return Ok(false);
            }
            let next = NextTrial {
                done: state.agenda.done_by(self.side),
                planned,
                round: turns.round,
                ends: state.agenda.ends(state.clock.passed()),
                case: &self.site.plan.cases[case].case,
                rates: &state.agenda.rates_of(self.side, case),
            };
            self.site.progress.trial(&next);
            self.turn(files, (case, turns.round), state)?;
        }
        Ok(!self.site.stop.is_asked())
    }

    /// Runs and records one trial, unless its case failed too often or the run is stopped.
    fn turn(
        &mut self,
        files: &Files,
        (case, round): (usize, u32),
        state: &mut RunState,
    ) -> Result<()> {
        let (invocation, at_ms) = (state.agenda.invocation(), state.clock.at_ms());
        let turn = TrialTurn { files, case, invocation, round, at_ms };
        if let Some(reason) = state.agenda.refusal(case) {
            let trial = turn.not_done(Outcome::Failed { reason });
            state.agenda.add_of_side(self.side, &trial);
            return self.store.append(&RecordLine::Trial(trial));
        }
        let mut trial = self.site.trial(&mut self.left_over, turn, None)?;
        let complaint = self.left_over.complaint(files, self.site.storage);
        if let Some(reason) = complaint.clone() {
            trial.outcome = Outcome::Failed { reason };
        }
        if self.site.stop.is_asked() {
            // The trial was cut short, so it is not recorded.
            return Ok(());
        }
        self.site.progress.over(&trial);
        state.agenda.add_of_side(self.side, &trial);
        self.store.append(&RecordLine::Trial(trial))?;
        if let Some(complaint) = complaint {
            self.store.append(&RecordLine::End(End::Interrupted))?;
            bail!(complaint);
        }
        Ok(())
    }

    /// Runs one case after another; each case's trials follow each other without a pause, until its
    /// rate is steady or `budget` is used up. They all write to the same file.
    fn sustain(&mut self, budget: Duration, files: &Files) -> Result<()> {
        let began = Instant::now();
        let all = self.site.plan.cases.len() as u64;
        self.site.progress.rounds_begin();
        for index in 0..self.site.plan.cases.len() {
            let case = &self.site.plan.cases[index].case;
            let case_began = Instant::now();
            let (mut trials, mut rates) = (Vec::new(), Vec::new());
            let scratch = case.write().filter(|_| has_file(case)).map(|w| files.to_write(w));
            let scratch = scratch.transpose()?;
            for round in 0.. {
                if self.site.stop.is_asked() {
                    return Ok(());
                }
                let (done, planned, ends) = (index as u64, all, RunEnd::Steady);
                self.site.progress.trial(&NextTrial {
                    done,
                    planned,
                    round,
                    ends,
                    case,
                    rates: &rates,
                });
                let at_ms = began.elapsed().as_millis() as u64;
                let turn = TrialTurn { files, case: index, invocation: 0, round, at_ms };
                let trial = self.site.trial(&mut self.left_over, turn, scratch.as_ref())?;
                if self.site.stop.is_asked() {
                    return Ok(());
                }
                self.site.progress.over(&trial);
                rates.extend(assess::rate(case, &trial));
                let is_bad = trial.sample().is_none();
                trials.push(trial);
                let is_over = case_began.elapsed() >= budget;
                let is_last = is_bad || is_over || assess::is_steady(case, &trials);
                let trial = trials.last_mut().expect("one was just made");
                if is_last {
                    // Earlier, this would have been a pause.
                    let stage =
                        Stage { target: scratch.as_ref(), goes_on: true, ..Stage::default() };
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
