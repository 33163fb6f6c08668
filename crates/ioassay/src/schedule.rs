//! Carries out a plan: the order of trials, and a fresh start for each invocation. Appends each
//! trial to the record immediately.

use crate::files::Files;
use crate::progress::Next;
use crate::run::{Left, Run, Turn};
use crate::stage::{Stage, has_file};
use crate::turns::order_of_round;
use anyhow::{Result, bail};
use model::random::{Rng, mix};
use model::record::{End, Invocation, Line};
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

/// The progress of a run.
struct SoFar {
    began: Instant,
    rng: Rng,
    /// Unfinished cases.
    open: Vec<usize>,
    /// The rates of each case.
    rates: Vec<Vec<f64>>,
    /// Number of consecutive failures of each case.
    failed: Vec<u32>,
    /// Number of finished trials.
    done: u64,
}

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
        let cases = self.plan.cases.len();
        let mut so_far = SoFar {
            began: Instant::now(),
            rng: Rng::new(mix(self.plan.seed)),
            open: (0..cases).collect(),
            rates: vec![Vec::new(); cases],
            failed: vec![0; cases],
            done: 0,
        };
        self.progress.rounds_begin();
        for (invocation, rounds) in (0..).zip(self.plan.rounds_by_invocation()) {
            if invocation > 0 {
                files = match self.begin_anew(files, invocation, so_far.began) {
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
            let mut left_over = Left { unlinked: invocation > 0, ..Left::default() };
            self.invocation(&files, invocation, rounds, &mut left_over, &mut so_far)?;
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

    /// Creates everything again for an invocation; the previous one's workers have exited.
    fn begin_anew(&mut self, old: Files, number: u32, began: Instant) -> Result<Files> {
        let since = Instant::now();
        while since.elapsed() < PAUSE && !self.stop.is_asked() {
            std::thread::sleep(PAUSE_STEP);
        }
        let files = self.maker.make_anew(old, (self.progress, self.stop))?;
        let fixtures = match self.maker.makes_anew() {
            true => files.all().map(|file| file.fixture().clone()).collect(),
            false => Vec::new(),
        };
        let at_ms = began.elapsed().as_millis() as u64;
        let made_ms = since.elapsed().as_millis() as u64;
        self.store.append(&Line::Invocation(Invocation { number, at_ms, made_ms, fixtures }))?;
        Ok(files)
    }

    /// Runs the rounds of an invocation: each open case once per round.
    fn invocation(
        &mut self,
        files: &Files,
        invocation: u32,
        rounds: Range<u32>,
        left_over: &mut Left,
        so_far: &mut SoFar,
    ) -> Result<()> {
        for round in rounds {
            let left = u64::from(self.plan.rounds - round);
            let planned = so_far.done + left * so_far.open.len() as u64;
            for case in order_of_round(self.plan, &so_far.open, &mut so_far.rng) {
                if self.stop.is_asked() {
                    return Ok(());
                }
                let next = Next {
                    done: so_far.done,
                    planned,
                    round,
                    rounds: Some(self.plan.rounds),
                    case: &self.plan.cases[case].case,
                    rates: &so_far.rates[case],
                };
                self.progress.trial(&next);
                let at_ms = so_far.began.elapsed().as_millis() as u64;
                let turn = Turn { files, case, invocation, round, at_ms };
                let failed = &mut so_far.failed[case];
                if *failed >= FAILED_MOST {
                    let reason = format!("not tried: the case failed {FAILED_MOST} times in a row");
                    self.store.append(&Line::Trial(turn.not_done(Outcome::Failed { reason })))?;
                    so_far.done += 1;
                    continue;
                }
                let mut trial = self.trial(left_over, turn, None)?;
                *failed = match trial.outcome {
                    Outcome::Failed { .. } => *failed + 1,
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
                so_far.rates[case].extend(assess::rate(&self.plan.cases[case].case, &trial));
                self.store.append(&Line::Trial(trial))?;
                so_far.done += 1;
                if let Some(complaint) = complaint {
                    self.store.append(&Line::End(End::Interrupted))?;
                    bail!(complaint);
                }
            }
            self.close_settled(so_far);
            self.progress.judge(self.store.path());
        }
        Ok(())
    }

    /// Closes cases that are settled. A case and its twin end together, because they are compared
    /// by shared rounds. With several invocations, no case ends early: each must have rounds in all
    /// of them.
    fn close_settled(&self, so_far: &mut SoFar) {
        if self.plan.invocations > 1 {
            return;
        }
        let SoFar { open, rates, .. } = so_far;
        let is_settled = |case: usize| assess::is_settled(&rates[case], self.plan.precision);
        let cases = &self.plan.cases;
        let is_open = |case: usize| {
            let same = |other: &usize| cases[*other].case == cases[case].case;
            (0..cases.len()).filter(same).any(|same| !is_settled(same))
        };
        open.retain(|&case| is_open(case));
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
                let (done, planned, rounds) = (index as u64, all, None);
                self.progress.trial(&Next { done, planned, round, rounds, case, rates: &rates });
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
