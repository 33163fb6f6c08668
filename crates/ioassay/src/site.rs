//! Runs a trial: sets the cache state, and collects evidence before and after the worker runs.

mod carryover;
mod making;
mod names;
mod commands;
mod reading_back;
mod workers;

pub(crate) use self::carryover::Carryover;
use crate::barrier::Barrier;
use crate::beside::{self, Companion};
use crate::calming::Calming;
use crate::clock;
use crate::file_storages::NO_NUMBERS;
use crate::files::{Files, Maker};
use crate::fixture::TestFile;
use crate::guard::Guard;
use crate::names::NamesInUse;
use crate::progress::Progress;
use crate::scratch::Scratch;
use crate::stage::Stage;
use crate::stop::Stop;
use crate::validation::{validate, worded};
use crate::worker_process::{PATIENCE, WorkerProcess};
use anyhow::{Result, bail};
use model::case::{Advice, Cache, Case, OWN_PEER, Op};
use model::evidence::{Evidence, Probe};
use model::host::Storage;
use model::plan::Plan;
use model::random::mix;
use model::sample::Sample;
use model::shape::{Calibrated, chosen};
use model::trial::{Job, Outcome, Trial};
use model::vitals::Vitals;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use witness::counters::Witness;
use witness::{IdleCounters, MemoryGroup};

/// Where trials run: a machine, its storage and its workers.
pub struct Site<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// Creates new files for another invocation.
    pub maker: &'a Maker<'a>,
    /// Their storage; none if no file is used.
    pub storage: Option<&'a Storage>,
    /// The storage of the source of copies, if elsewhere.
    pub source: Option<&'a Storage>,
    /// More storages that hold data files of commands.
    pub further: &'a [Storage],
    /// On which of them files are, by the numbers of devices: 0 is `storage`.
    pub numbers: &'a BTreeMap<u64, usize>,
    /// The progress display.
    pub progress: &'a Progress,
    /// Whether to stop.
    pub stop: &'a Stop,
    /// Returns the command that starts a peer's worker, or why this machine cannot run it.
    pub worker: &'a dyn Fn(&str) -> Result<Command, String>,
    /// How long a worker may take beyond a trial's time.
    pub patience: Duration,
    /// The control group that limits the workers' memory, if any.
    pub memory: Option<&'a MemoryGroup>,
    /// Where a trial waits for those on other hosts, if there are any.
    pub barrier: Option<&'a dyn Barrier>,
    /// How long it waits for devices to become quiet.
    pub calming: Calming,
    /// The shapes of loops that were measured before the run.
    pub calibrated: &'a [Calibrated],
}

/// The turn of a case in a round.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turn {
    pub(crate) case: usize,
    pub(crate) invocation: u32,
    pub(crate) round: u32,
    pub(crate) at_ms: u64,
}

impl Turn {
    /// Its trial with this outcome and no other data.
    pub(crate) fn not_done(self, outcome: Outcome) -> Trial {
        Trial::without_data((self.case, self.invocation, self.round), self.at_ms, outcome)
    }

    /// Its trial, which failed for this reason.
    pub(crate) fn failed(self, reason: String) -> Trial {
        self.not_done(Outcome::Failed { reason })
    }
}

impl<'a> Site<'a> {
    /// Where the trials of the maker's plan run, if nothing limits their memory and no other host
    /// takes part.
    pub fn new(
        maker: &'a Maker<'a>,
        worker: &'a dyn Fn(&str) -> Result<Command, String>,
        progress: &'a Progress,
        stop: &'a Stop,
    ) -> Site<'a> {
        Site {
            plan: maker.plan,
            maker,
            storage: maker.environment.storage,
            progress,
            stop,
            worker,
            memory: None,
            source: maker.source.map(|source| &source.storage),
            patience: PATIENCE,
            barrier: None,
            calming: Calming::default(),
            calibrated: &[],
            further: &[],
            numbers: &NO_NUMBERS,
        }
    }
}

impl Site<'_> {
    /// What can be seen now of the paths to its storages, and of the machine. It is not asked
    /// between trials.
    pub(crate) fn vitals(&self, at_ms: u64) -> Vitals {
        let storages = self.storage.into_iter().chain(self.source).chain(self.further);
        let places: Vec<&Path> = storages.map(|storage| storage.directory.as_path()).collect();
        Vitals { at_ms, ..witness::vitals(&places) }
    }

    /// The seed of a trial of case `index` in `round`.
    pub(crate) fn seed(&self, index: usize, round: u32) -> u64 {
        let seed = self.plan.seed_of(&self.plan.cases[index].case);
        mix(seed ^ (u64::from(round) << 32 | index as u64))
    }

    /// Runs the trial of a turn with the files of its invocation, in `scratch` if its case
    /// continues in the same file.
    ///
    /// # Errors
    /// If our own worker cannot be started: then nothing can be measured.
    pub(crate) fn trial(
        &self,
        left: &mut Carryover,
        (turn, files): (Turn, &Files),
        scratch: Option<&Scratch>,
    ) -> Result<Trial> {
        let Turn { case: index, round, .. } = turn;
        let case = &self.plan.cases[index].case;
        let mut trial = turn.not_done(Outcome::Unavailable { reason: String::new() });
        let seed = self.seed(index, round);
        let shared = self.plan.is_overwritten_beside(case).then_some(seed);
        let made = match scratch {
            Some(_) => None,
            None => match self.make_ready(case, shared, files, left) {
                Ok(made) => made,
                Err(outcome) => return Ok(Trial { outcome, ..trial }),
            },
        };
        let target = scratch.or(made.as_ref());
        let read = if shared.is_some() { files.shared(case) } else { files.to_read(case) };
        let names = match self.make_names(files, (index, round), left) {
            Ok(names) => names,
            Err(outcome) => return Ok(Trial { outcome, ..trial }),
        };
        let names = names.as_deref();
        let data = match self.data_files(case, left) {
            Ok(data) => data,
            Err(reason) => return Ok(turn.failed(reason)),
        };
        let command = self.plan.command(case).zip(data.as_ref());
        let stage = Stage { target, read, names, shared, goes_on: scratch.is_some(), command };
        if case.peer != OWN_PEER && left.guard.is_none() {
            left.guard = stage.read.and_then(Guard::of);
        }
        let seed = names.map_or(seed, NamesInUse::seed);
        let mut job = stage.job(case, seed, self.plan.part(case));
        job.shape = chosen(self.calibrated, case.walk());
        (job.cpus, job.folder) = (beside::cpus(self.plan, case), files.folder_of_journal(case)?);
        let outcome = self.outcome(left, &job, &stage, (case, files), &mut trial);
        trial.outcome = outcome.inspect_err(|_| self.undo(&stage))?;
        trial.outcome = worded(trial.outcome, |reason| match &*case.peer {
            OWN_PEER => stage.named(reason),
            peer => format!("the peer {peer}: {}", stage.named(reason)),
        });
        self.conclude(&stage, &mut trial.outcome);
        // Whatever became of the trial, that is the cause.
        if let Some(reason) = stage.read.filter(|_| !case.is_null()).and_then(TestFile::loss) {
            trial.outcome = Outcome::Failed { reason };
        }
        // Without a digest, there is nothing to compare with the content.
        let Outcome::Done(sample) = &trial.outcome else { return Ok(trial) };
        if sample.digest().is_none() {
            return Ok(trial);
        }
        trial.expected_digest = stage.expected_digest(&job, sample);
        if !stage.goes_on {
            self.read_back(&job, &stage, &mut trial);
        }
        Ok(trial)
    }

    /// The outcome of `job`, which the worker of its peer performs.
    ///
    /// # Errors
    /// As for [`Site::trial`].
    fn outcome(
        &self,
        left: &mut Carryover,
        job: &Job,
        stage: &Stage,
        (case, files): (&Case, &Files),
        trial: &mut Trial,
    ) -> Result<Outcome> {
        Ok(match self.worker(left, case) {
            // Stopping a worker while it starts is not a failure: the run ends anyway.
            Err(Outcome::Failed { reason }) if case.peer == OWN_PEER && !self.stop.is_asked() => {
                bail!(reason)
            }
            Err(outcome) => outcome,
            Ok(mut live) => {
                let outcome = self.act(left, &mut live, job, stage, (case, files), trial);
                match outcome {
                    Ok(outcome) => {
                        self.keep(left, case, live);
                        let outcome = validate(job, outcome, trial.evidence.window_ns);
                        beside::outcome_beside(outcome, &trial.beside)
                    }
                    Err(reason) => Outcome::Failed { reason },
                }
            }
        })
    }

    /// Runs `job` of `case`, with the actors beside it, in the state that it claims. Adds evidence,
    /// and what the actors did, to `trial`.
    ///
    /// # Errors
    /// As for [`Site::perform`].
    fn act(
        &self,
        left: &mut Carryover,
        worker: &mut WorkerProcess,
        job: &Job,
        stage: &Stage,
        (case, files): (&Case, &Files),
        trial: &mut Trial,
    ) -> Result<Outcome, String> {
        let mut companions = Vec::new();
        for (number, actor) in (0..).zip(self.plan.beside(case)) {
            let own = match left.beside.pop() {
                Some(own) => own,
                None => match self.start(OWN_PEER) {
                    Ok(own) => own,
                    Err(outcome) => return Ok(outcome),
                },
            };
            let files = (files, stage.lasting(), self.calibrated);
            companions.push(Companion::of((actor, number), own, job, files)?);
        }
        companions.iter().for_each(|it| it.make_ready(self.probe()));
        let after_write = left.traces.wrote && stage.file().is_some();
        let state = self.prove_state(case, stage, after_write || !companions.is_empty());
        left.traces.wrote |= stage.names.is_some();
        if stage.file().is_some() {
            let is_written = |it: &Companion| it.actor.case.write().is_some();
            left.traces.wrote = stage.target.is_some() || companions.iter().any(is_written);
        }
        state?;
        if case.is_open() && stage.file().is_some() {
            self.stop.wait(crate::load::GAP);
        }
        let cached = stage.cached().filter(|_| case.cache() != Some(Cache::Direct));
        trial.evidence.folio_bytes = cached.and_then(TestFile::folio_bytes);
        let outcome = self.perform(worker, job, stage, &mut companions, &mut trial.evidence);
        note_disturbed(case, stage, &trial.evidence);
        let outcome = outcome?;
        if !matches!(outcome, Outcome::Done(_)) {
            // It did not begin, or failed: the actors, which may go on, end with their workers.
            return Ok(outcome);
        }
        (trial.beside, left.beside) = beside::finish(companions, self.probe(), self.stop)?;
        Ok(outcome)
    }

    /// Brings files and devices into the state that the case claims.
    fn prove_state(&self, case: &Case, stage: &Stage, after_write: bool) -> Result<(), String> {
        if stage.goes_on {
            return Ok(());
        }
        if stage.target.is_some() || stage.names.is_some() || after_write {
            self.settle(case, stage);
        }
        if let (Some((_, data)), Some(cache)) = (stage.command, case.cache()) {
            return data.set(cache, self.stop);
        }
        let file = stage.cached().filter(|_| !case.is_null());
        let (Some(io), Some(file)) = (case.io(), file) else { return Ok(()) };
        // The source of a copy may be elsewhere.
        let source = self.source.filter(|_| stage.read.is_some() && stage.target.is_some());
        let probe = source.or(self.storage).and_then(|storage| storage.residency_probe);
        if file.set_cache(io, probe, (self.progress, self.stop))? {
            self.settle(case, stage);
        }
        Ok(())
    }

    /// How to see what is cached of the target's files.
    fn probe(&self) -> Option<Probe> {
        self.storage.and_then(|storage| storage.residency_probe)
    }

    /// Sets the initial state and runs the worker, with evidence collected before and after.
    ///
    /// # Errors
    /// Why the worker is unusable, or why the trial must not run.
    fn perform(
        &self,
        worker: &mut WorkerProcess,
        job: &Job,
        stage: &Stage,
        companions: &mut [Companion],
        evidence: &mut Evidence,
    ) -> Result<Outcome, String> {
        if let Some(outcome) = beside::prepare(companions, job)? {
            return Ok(outcome);
        }
        if let Some(outcome) = worker.prepare(job)? {
            return Ok(outcome);
        }
        let begins_ns = self.barrier.map(Barrier::begin).transpose()?;
        beside::begin(companions)?;
        let mut counters = Witness::new(worker.pid(), stage.file(), self.storage);
        if let Some(source) = self.source.filter(|_| stage.read.is_some()) {
            counters = counters.with_limits_of(source);
        }
        if stage.names.is_some() {
            counters = counters.with_names();
        }
        counters = commands::watching(counters, stage, self.further);
        let idle = job.case.is_open().then(IdleCounters::now);
        // The actors' counters are read as near to the devices' as can be: what they did between
        // both cannot be told from what others did.
        let before = counters.before_with(|| beside::before(companions));
        if let Some(begins_ns) = begins_ns {
            clock::wait_until(begins_ns);
        }
        let mut outcome = worker.perform(job.case.time().saturating_add(slack(&job.case)))?;
        let folio_bytes = evidence.folio_bytes;
        let after = counters.after_with(|| beside::after(companions));
        *evidence = witness::counters::between(&before, &after);
        if job.case.write().is_some_and(|work| work.op == Op::Copy) {
            evidence.shared_bytes = stage.file().and_then(|(file, _)| witness::shared_bytes(file));
        }
        evidence.folio_bytes = folio_bytes;
        let cpus = outcome.sample().and_then(Sample::cpus);
        let slept = idle.zip(cpus).map(|(idle, cpus)| idle.added_on(&cpus));
        evidence.idle_states = slept.unwrap_or_default();
        commands::complete(evidence, stage, &mut outcome);
        // Hosts wait for each other's end. One whose trial failed says so at once, so that it fails
        // on all.
        if let (Some(barrier), Outcome::Done(_)) = (self.barrier, &outcome) {
            barrier.end()?;
        }
        // Files and memory held by one worker must not affect the next one, or a cache state.
        worker.dismiss()?;
        Ok(outcome)
    }
}

/// Notes if a trial may have changed how its file is cached: any but one that only used a warm
/// file, alone, and read nothing again.
fn note_disturbed(case: &Case, stage: &Stage, evidence: &Evidence) {
    let Some(file) = stage.cached().filter(|_| !case.is_null()) else { return };
    let is_as_before = case.cache() == Some(Cache::Warm)
        && case.beside.is_empty()
        && case.read().is_none_or(|work| work.advice != Advice::HugePage)
        // If it is unknown what was read, it may have been read again in another way.
        && evidence.task_read_bytes == Some(0);
    if !is_as_before {
        file.disturbed();
    }
}

/// How much longer than its time a trial may legitimately take. A pass of the engine `load`,
/// populating a mapping and a sync all run to completion. 64 MB/s is a slow disk.
fn slack(case: &Case) -> Duration {
    Duration::from_millis(case.file_size().map_or(0, |size| size >> 16))
}
