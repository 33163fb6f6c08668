//! Carries out a plan: the order of trials, and a fresh start for each invocation. Appends each
//! trial to the record immediately.

use crate::files::Files;
use crate::progress::{Ends, Next};
use crate::resume::Before;
use crate::site::{Left, Site, Turn};
use crate::so_far::SoFar;
use crate::stage::{Stage, has_file};
use crate::store::Store;
use crate::turns::{PAUSE, order_of_round, refusal};
use anyhow::{Result, bail};
use model::part::Part;
use model::record::{End, Invocation, Line, Resumed};
use model::trial::Outcome;
use std::ops::Range;
use std::time::{Duration, Instant};

/// The state of a run that outlives a trial.
pub struct Run<'a> {
    /// Where its trials run.
    pub site: Site<'a>,
    /// The record.
    pub store: &'a mut Store,
    /// What was measured before the run was interrupted, if it is resumed.
    pub before: Option<&'a Before>,
}

impl Run<'_> {
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
        self.store.append(&Line::End(end.clone()))?;
        self.site.progress.end();
        Ok((end, files))
    }

    /// Runs the invocations one after another, and the rounds within each.
    fn take_turns(&mut self, mut files: Files) -> Result<Files> {
        let before = self.before;
        let mut so_far =
            before.map_or_else(|| SoFar::new(self.site.plan), |before| SoFar::of(&before.record));
        self.site.progress.rounds_begin();
        if let Some(Before { resumed, made, .. }) = before {
            self.tell_anew(&files, &so_far, *made, Some(resumed.clone()))?;
        }
        let mut is_first = true;
        while let Some(rounds) = self.next_rounds(&mut so_far) {
            let since = Instant::now();
            if !std::mem::take(&mut is_first) {
                files = match self.begin_anew(files, PAUSE, &mut so_far) {
                    Ok(files) => files,
                    // Even if something stops the run, the completed trials are valid.
                    Err(_) if self.site.stop.is_asked() => return Ok(Files::default()),
                    Err(error) => {
                        self.store.append(&Line::End(End::Interrupted))?;
                        return Err(error);
                    }
                };
            }
            // The space of unlinked files may not be free yet.
            let mut left_over = match so_far.invocation {
                0 => Left::default(),
                _ => Left::of_invocation_before(),
            };
            self.invocation(&files, rounds, (&mut left_over, since), &mut so_far)?;
            self.dismiss(&files, &mut left_over)?;
            if self.site.stop.is_asked() {
                break;
            }
        }
        Ok(files)
    }

    /// The rounds of the next invocation: of those that were planned, the first with trials left.
    /// After them, if the run is given a time, as many of the cases with the widest intervals.
    pub(crate) fn next_rounds(&self, so_far: &mut SoFar) -> Option<Range<u32>> {
        let is_left = |rounds: &Range<u32>| rounds.clone().any(|round| !so_far.has_whole(round));
        if let Some(rounds) = self.site.plan.rounds_by_invocation().find(is_left) {
            return so_far.has_time(self.site.plan).then_some(rounds);
        }
        self.site.plan.budget?;
        let (cases, first) = so_far.widest(self.site.plan)?;
        so_far.open = cases;
        let last = first.saturating_add(self.site.plan.rounds_of(0).len() as u32);
        so_far.has_time(self.site.plan).then_some(first..last)
    }

    /// Creates everything again for an invocation, after a pause; the previous one's workers have
    /// exited.
    pub(crate) fn begin_anew(
        &mut self,
        old: Files,
        pause: Duration,
        so_far: &mut SoFar,
    ) -> Result<Files> {
        let since = Instant::now();
        self.site.stop.wait(pause);
        let files = self.site.maker.make_anew(old, (self.site.progress, self.site.stop))?;
        so_far.invocation += 1;
        self.tell_anew(&files, so_far, since.elapsed(), None)?;
        Ok(files)
    }

    /// Dismisses the workers of an invocation.
    ///
    /// # Errors
    /// If peers changed the user's own file.
    pub(crate) fn dismiss(&mut self, files: &Files, left_over: &mut Left) -> Result<()> {
        let storage = self.site.storage;
        let complaint = left_over.complaint(files, storage);
        // A peer may still act when it is dismissed.
        left_over.couriers.clear();
        left_over.beside.clear();
        let complaint = complaint.or_else(|| left_over.complaint(files, storage));
        let Some(complaint) = complaint else { return Ok(()) };
        self.store.append(&Line::End(End::Interrupted))?;
        bail!(complaint);
    }

    /// Records the start of an invocation that `made` was spent to prepare.
    fn tell_anew(
        &mut self,
        files: &Files,
        so_far: &SoFar,
        made: Duration,
        resumed: Option<Resumed>,
    ) -> Result<()> {
        let fixtures = match self.site.maker.makes_anew() {
            true => files.all().map(|file| file.fixture().clone()).collect(),
            false => Vec::new(),
        };
        let (number, at_ms) = (so_far.invocation, so_far.at_ms());
        let made_ms = made.as_millis() as u64;
        let again = Vec::new();
        let anew = Invocation { number, at_ms, made_ms, fixtures, resumed, again };
        self.store.append(&Line::Invocation(anew))
    }

    /// Runs the rounds of an invocation: each open case once per round, unless it was measured
    /// before the run was interrupted.
    fn invocation(
        &mut self,
        files: &Files,
        rounds: Range<u32>,
        (left_over, mut since): (&mut Left, Instant),
        so_far: &mut SoFar,
    ) -> Result<()> {
        for round in rounds {
            if !so_far.has_time(self.site.plan) {
                return Ok(());
            }
            let Some(trials) = self.round(files, round, left_over, so_far)? else {
                return Ok(());
            };
            if so_far.invocation == 0 {
                so_far.close_settled(self.site.plan);
            }
            for pruned in so_far.prune(self.site.plan) {
                self.store.append(&Line::Pruned(pruned))?;
            }
            so_far.add_round(since.elapsed(), trials);
            since = Instant::now();
            self.site.progress.judge(self.store.path());
        }
        Ok(())
    }

    /// Runs the trials of a round that are left. Returns how many there were; none if the run is
    /// stopped, or its time is over.
    pub(crate) fn round(
        &mut self,
        files: &Files,
        round: u32,
        left_over: &mut Left,
        so_far: &mut SoFar,
    ) -> Result<Option<usize>> {
        let mut order = order_of_round(self.site.plan, &so_far.open, round);
        order.retain(|case| !so_far.has(*case, round));
        let after = self.site.plan.rounds.saturating_sub(round.saturating_add(1));
        let after = u64::from(after) * so_far.open.len() as u64;
        let trials = order.len();
        let planned = so_far.done() + trials as u64 + after;
        for case in order {
            if self.site.stop.is_asked() || so_far.is_over(self.site.plan) {
                return Ok(None);
            }
            let next = Next {
                done: so_far.done(),
                planned,
                round,
                ends: so_far.ends(self.site.plan),
                case: &self.site.plan.cases[case].case,
                rates: &so_far.rates(case),
            };
            self.site.progress.trial(&next);
            self.turn(files, (case, round), left_over, so_far)?;
        }
        Ok((!self.site.stop.is_asked()).then_some(trials))
    }

    /// Runs and records one trial, unless its case failed too often or the run is stopped.
    fn turn(
        &mut self,
        files: &Files,
        (case, round): (usize, u32),
        left_over: &mut Left,
        so_far: &mut SoFar,
    ) -> Result<()> {
        let turn =
            Turn { files, case, invocation: so_far.invocation, round, at_ms: so_far.at_ms() };
        if let Some(reason) = refusal(so_far.failed[case]) {
            let trial = turn.not_done(Outcome::Failed { reason });
            so_far.add(self.site.plan, &trial);
            return self.store.append(&Line::Trial(trial));
        }
        let mut trial = self.site.trial(left_over, turn, None)?;
        so_far.failed[case] = match trial.outcome {
            Outcome::Failed { .. } => so_far.failed[case] + 1,
            Outcome::Done(_) | Outcome::Unavailable { .. } => 0,
        };
        let complaint = left_over.complaint(files, self.site.storage);
        if let Some(reason) = complaint.clone() {
            trial.outcome = Outcome::Failed { reason };
        }
        if self.site.stop.is_asked() {
            // The trial was cut short, so it is not recorded.
            return Ok(());
        }
        self.site.progress.over(&trial);
        so_far.add(self.site.plan, &trial);
        self.store.append(&Line::Trial(trial))?;
        if let Some(complaint) = complaint {
            self.store.append(&Line::End(End::Interrupted))?;
            bail!(complaint);
        }
        Ok(())
    }

    /// Runs one case after another; each case's trials follow each other without a pause, until its
    /// rate is steady or `budget` is used up. They all write to the same file.
    fn sustain(&mut self, budget: Duration, files: &Files) -> Result<()> {
        let began = Instant::now();
        let mut left_over = Left::default();
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
                let (done, planned, ends) = (index as u64, all, Ends::Steady);
                self.site.progress.trial(&Next { done, planned, round, ends, case, rates: &rates });
                let at_ms = began.elapsed().as_millis() as u64;
                let turn = Turn { files, case: index, invocation: 0, round, at_ms };
                let trial = self.site.trial(&mut left_over, turn, scratch.as_ref())?;
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
                self.store.append(&Line::Trial(trial.clone()))?;
                if is_last {
                    break;
                }
            }
            self.site.progress.judge(self.store.path());
        }
        Ok(())
    }
}
