//! Carries out a plan: the order of trials, and a fresh start for each invocation. Appends each
//! trial to the record immediately.

use crate::files::Files;
use crate::progress::{Ends, Next};
use crate::resume::Before;
use crate::run::{Left, Run, Turn};
use crate::so_far::SoFar;
use crate::stage::{Stage, has_file};
use crate::turns::order_of_round;
use anyhow::{Result, bail};
use model::record::{End, Invocation, Line, Resumed};
use model::trial::Outcome;
use std::ops::Range;
use std::time::{Duration, Instant};

/// The pause before each invocation except the first (METHODOLOGY.md).
const PAUSE: Duration = Duration::from_secs(1);

/// Interval between stop checks.
const PAUSE_STEP: Duration = Duration::from_millis(50);

/// After this many consecutive failures, a case is not tried again: a full disk or a hanging peer
/// would take the others' time. Its remaining trials are recorded as failed.
const FAILED_MOST: u32 = 3;

impl Run<'_> {
    /// Runs all trials, the first ones with `files`. Returns how the run ended, and its last files.
    ///
    /// # Errors
    /// If no worker can be started, new files cannot be created, or the record cannot be written.
    /// Whatever goes wrong in a trial is that trial's data, and the run continues.
    pub fn carry_out(mut self, files: Files) -> Result<(End, Files)> {
        let files = match self.plan.sustain {
            None => self.take_turns(files)?,
            Some(budget) => {
                self.sustain(budget, &files)?;
                files
            }
        };
        let end = if self.stop.is_asked() { End::Interrupted } else { End::Complete };
        self.store.append(&Line::End(end.clone()))?;
        self.progress.end();
        Ok((end, files))
    }

    /// Runs the invocations one after another, and the rounds within each.
    fn take_turns(&mut self, mut files: Files) -> Result<Files> {
        let before = self.before;
        let mut so_far =
            before.map_or_else(|| SoFar::new(self.plan), |before| SoFar::of(&before.record));
        self.progress.rounds_begin();
        if let Some(Before { resumed, made, .. }) = before {
            self.tell_anew(&files, &so_far, *made, Some(resumed.clone()))?;
        }
        let mut is_first = true;
        while let Some(rounds) = self.next_rounds(&mut so_far) {
            let since = Instant::now();
            if !std::mem::take(&mut is_first) {
                files = match self.begin_anew(files, &mut so_far) {
                    Ok(files) => files,
                    // Even if something stops the run, the completed trials are valid.
                    Err(_) if self.stop.is_asked() => return Ok(Files::default()),
                    Err(error) => {
                        self.store.append(&Line::End(End::Interrupted))?;
                        return Err(error);
                    }
                };
            }
            // The space of unlinked files may not be free yet.
            let mut left_over = Left { unlinked: so_far.invocation > 0, ..Left::default() };
            self.invocation(&files, rounds, (&mut left_over, since), &mut so_far)?;
            // A peer may still act when it is dismissed.
            left_over.couriers.clear();
            left_over.beside.clear();
            if let Some(complaint) = left_over.complaint(&files) {
                self.store.append(&Line::End(End::Interrupted))?;
                bail!(complaint);
            }
            if self.stop.is_asked() {
                break;
            }
        }
        Ok(files)
    }

    /// The rounds of the next invocation: of those that were planned, the first with trials left.
    /// After them, if the run is given a time, as many of the cases with the widest intervals.
    fn next_rounds(&self, so_far: &mut SoFar) -> Option<Range<u32>> {
        let is_left = |rounds: &Range<u32>| rounds.clone().any(|round| !so_far.has_whole(round));
        if let Some(rounds) = self.plan.rounds_by_invocation().find(is_left) {
            return so_far.has_time(self.plan).then_some(rounds);
        }
        self.plan.budget?;
        let (cases, first) = so_far.widest(self.plan)?;
        so_far.open = cases;
        let last = first.saturating_add(self.plan.rounds_of(0).len() as u32);
        so_far.has_time(self.plan).then_some(first..last)
    }

    /// Creates everything again for an invocation; the previous one's workers have exited.
    fn begin_anew(&mut self, old: Files, so_far: &mut SoFar) -> Result<Files> {
        let since = Instant::now();
        while since.elapsed() < PAUSE && !self.stop.is_asked() {
            std::thread::sleep(PAUSE_STEP);
        }
        let files = self.maker.make_anew(old, (self.progress, self.stop))?;
        so_far.invocation += 1;
        self.tell_anew(&files, so_far, since.elapsed(), None)?;
        Ok(files)
    }

    /// Records the start of an invocation that `made` was spent to prepare.
    fn tell_anew(
        &mut self,
        files: &Files,
        so_far: &SoFar,
        made: Duration,
        resumed: Option<Resumed>,
    ) -> Result<()> {
        let fixtures = match self.maker.makes_anew() {
            true => files.all().map(|file| file.fixture().clone()).collect(),
            false => Vec::new(),
        };
        let (number, at_ms) = (so_far.invocation, so_far.at_ms());
        let made_ms = made.as_millis() as u64;
        let anew = Invocation { number, at_ms, made_ms, fixtures, resumed };
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
            if !so_far.has_time(self.plan) {
                return Ok(());
            }
            let mut order = order_of_round(self.plan, &so_far.open, round);
            order.retain(|case| !so_far.has(*case, round));
            let after = self.plan.rounds.saturating_sub(round.saturating_add(1));
            let after = u64::from(after) * so_far.open.len() as u64;
            let trials = order.len();
            let planned = so_far.done() + trials as u64 + after;
            for case in order {
                if self.stop.is_asked() || so_far.is_over(self.plan) {
                    return Ok(());
                }
                let next = Next {
                    done: so_far.done(),
                    planned,
                    round,
                    ends: so_far.ends(self.plan),
                    case: &self.plan.cases[case].case,
                    rates: &so_far.rates[case],
                };
                self.progress.trial(&next);
                self.turn(files, (case, round), left_over, so_far)?;
            }
            if self.stop.is_asked() {
                return Ok(());
            }
            if so_far.invocation == 0 {
                so_far.close_settled(self.plan);
            }
            so_far.add_round(since.elapsed(), trials);
            since = Instant::now();
            self.progress.judge(self.store.path());
        }
        Ok(())
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
        if so_far.failed[case] >= FAILED_MOST {
            let reason = format!("not tried: the case failed {FAILED_MOST} times in a row");
            let trial = turn.not_done(Outcome::Failed { reason });
            so_far.add(self.plan, &trial);
            return self.store.append(&Line::Trial(trial));
        }
        let mut trial = self.trial(left_over, turn, None)?;
        so_far.failed[case] = match trial.outcome {
            Outcome::Failed { .. } => so_far.failed[case] + 1,
            Outcome::Done(_) | Outcome::Unavailable { .. } => 0,
        };
        let complaint = left_over.complaint(files);
        if let Some(reason) = complaint.clone() {
            trial.outcome = Outcome::Failed { reason };
        }
        if self.stop.is_asked() {
            // The trial was cut short, so it is not recorded.
            return Ok(());
        }
        self.progress.over(&trial);
        so_far.add(self.plan, &trial);
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
        let all = self.plan.cases.len() as u64;
        self.progress.rounds_begin();
        for index in 0..self.plan.cases.len() {
            let case = &self.plan.cases[index].case;
            let case_began = Instant::now();
            let (mut trials, mut rates) = (Vec::new(), Vec::new());
            let scratch = case.write().filter(|_| has_file(case)).map(|w| files.to_write(w));
            let scratch = scratch.transpose()?;
            for round in 0.. {
                if self.stop.is_asked() {
                    return Ok(());
                }
                let (done, planned, ends) = (index as u64, all, Ends::Steady);
                self.progress.trial(&Next { done, planned, round, ends, case, rates: &rates });
                let at_ms = began.elapsed().as_millis() as u64;
                let turn = Turn { files, case: index, invocation: 0, round, at_ms };
                let trial = self.trial(&mut left_over, turn, scratch.as_ref())?;
                if self.stop.is_asked() {
                    return Ok(());
                }
                self.progress.over(&trial);
                rates.extend(assess::rate(case, &trial));
                let is_bad = trial.sample().is_none();
                trials.push(trial);
                let is_over = case_began.elapsed() >= budget;
                let is_last = is_bad || is_over || assess::is_steady(case, &trials);
                let trial = trials.last_mut().expect("one was just made");
                if is_last {
                    // Earlier, this would have been a pause.
                    let stage = Stage { target: scratch.as_ref(), read: None, goes_on: true };
                    let job = stage.job(case, self.seed(index, round));
                    self.read_back(&job, &stage, trial);
                }
                self.store.append(&Line::Trial(trial.clone()))?;
                if is_last {
                    break;
                }
            }
            self.progress.judge(self.store.path());
        }
        Ok(())
    }
}
