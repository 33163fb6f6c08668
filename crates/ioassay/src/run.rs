//! Makes a trial: sets the cache state, takes evidence, lets the worker work and takes evidence
//! again.

use crate::belief::believe;
use crate::courier::Courier;
use crate::files::{Files, Maker};
use crate::fixture::{self, TestFile};
use crate::guard::Guard;
use crate::progress::Progress;
use crate::scratch::Scratch;
use crate::stage::{Stage, has_file};
use crate::stop::Stop;
use crate::store::Store;
use anyhow::{Result, bail};
use model::case::{Allocation, Case, OWN_PEER, Op, Work, WriteWork};
use model::evidence::Evidence;
use model::host::Storage;
use model::plan::Plan;
use model::random::mix;
use model::trial::{Job, Outcome, Trial};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::io;
use std::process::Command;
use std::time::{Duration, Instant};
use witness::MemoryGroup;
use witness::counters::Witness;

/// All that a run needs and that outlives a trial.
pub struct Run<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// How files are made anew for another invocation.
    pub maker: &'a Maker<'a>,
    /// Their storage; none if no file is used.
    pub storage: Option<&'a Storage>,
    /// The storage of the source of copies, if elsewhere.
    pub source: Option<&'a Storage>,
    /// Where trials are kept.
    pub store: &'a mut Store,
    /// What is shown meanwhile.
    pub progress: &'a mut Progress,
    /// Whether to go on.
    pub stop: &'a Stop,
    /// How the worker of a peer is started, or why this machine cannot.
    pub worker: &'a dyn Fn(&str) -> Result<Command, String>,
    /// How long a worker may take beyond the time of a trial.
    pub patience: Duration,
    /// The control group that limits the memory of workers, if one does.
    pub memory: Option<&'a MemoryGroup>,
}

/// After a trial that wrote, the devices get this long to become quiet (METHODOLOGY.md).
const SETTLE: Duration = Duration::from_secs(30);

/// Interval between stop checks.
const SETTLE_STEP: Duration = Duration::from_secs(1);

/// File systems such as XFS may free unlinked files some time later.
const ROOM_WAIT: Duration = Duration::from_secs(10);

/// Interval between checks of that.
const ROOM_STEP: Duration = Duration::from_millis(50);

/// One of the trials of a run.
pub(crate) struct Turn<'f> {
    /// The files of its invocation.
    pub(crate) files: &'f Files,
    pub(crate) case: usize,
    pub(crate) invocation: u32,
    pub(crate) round: u32,
    pub(crate) at_ms: u64,
}

impl Turn<'_> {
    /// Its trial, of which this is all that is known.
    pub(crate) fn not_done(&self, outcome: Outcome) -> Trial {
        Trial {
            case: self.case,
            invocation: self.invocation,
            round: self.round,
            at_ms: self.at_ms,
            outcome,
            evidence: Evidence::default(),
            expected_digest: None,
            read_back: None,
        }
    }
}

impl Run<'_> {
    /// The live worker of `peer`. One that failed was dropped, and a new one is started.
    #[expect(clippy::result_large_err, reason = "a trial has one outcome")]
    fn courier(&self, left: &mut Left, peer: &str) -> Result<Courier, Outcome> {
        if let Some(live) = left.couriers.remove(peer) {
            return Ok(live);
        }
        let command = (self.worker)(peer).map_err(|reason| Outcome::Unavailable { reason })?;
        let failed = |reason: String| Outcome::Failed { reason };
        let courier = Courier::start(command, self.stop, self.patience)
            .map_err(|error| failed(format!("{error:#}")))?;
        if let Some(group) = self.memory {
            group.add(courier.pid()).map_err(|error| failed(error.to_string()))?;
        }
        Ok(courier)
    }

    /// The seed of a trial of case `index` in `round`.
    pub(crate) fn seed(&self, index: usize, round: u32) -> u64 {
        mix(self.plan.seed ^ (u64::from(round) << 32 | index as u64))
    }

    /// Makes one trial; in `scratch`, if it is one of a case that goes on where it was.
    ///
    /// # Errors
    /// When this program's own worker cannot be started: then nothing can be measured.
    pub(crate) fn trial(
        &mut self,
        left: &mut Left,
        turn: Turn,
        scratch: Option<&Scratch>,
    ) -> Result<Trial> {
        let Turn { files, case: index, round, .. } = turn;
        let case = &self.plan.cases[index].case;
        let mut trial = turn.not_done(Outcome::Unavailable { reason: String::new() });
        let made = match (case.write().filter(|_| has_file(case)), scratch) {
            (Some(work), None) => match self.make(work, files, left) {
                Ok(made) => Some(made),
                Err(error) => return Ok(Trial { outcome: not_made(&error), ..trial }),
            },
            _ => None,
        };
        let target = scratch.or(made.as_ref());
        let stage = Stage { target, read: files.to_read(case), goes_on: scratch.is_some() };
        if case.peer != OWN_PEER && left.guard.is_none() {
            left.guard = stage.read.and_then(Guard::of);
        }
        let seed = self.seed(index, round);
        let job = stage.job(case, seed);
        trial.outcome = match self.courier(left, &case.peer) {
            // A worker that is stopped while it starts is no failure: the run ends anyway.
            Err(Outcome::Failed { reason }) if case.peer == OWN_PEER && !self.stop.is_asked() => {
                bail!(reason)
            }
            Err(outcome) => outcome,
            Ok(mut live) => {
                let after_write = left.wrote && stage.file().is_some();
                let outcome = self
                    .prove_state(case, &stage, after_write)
                    .and_then(|()| self.perform(&mut live, &job, &stage, &mut trial.evidence));
                if stage.file().is_some() {
                    left.wrote = stage.target.is_some();
                }
                match outcome {
                    Ok(outcome) => {
                        left.couriers.insert(case.peer.clone(), live);
                        believe(&job, outcome, trial.evidence.window_ns)
                    }
                    Err(reason) => Outcome::Failed { reason },
                }
            }
        };
        trial.outcome = name_peer(case, trial.outcome);
        // Without a digest there is nothing to hold against what the bytes are.
        let Outcome::Done(sample) = &trial.outcome else { return Ok(trial) };
        if sample.digest().is_none() {
            return Ok(trial);
        }
        trial.expected_digest = match &case.work {
            Work::Memory(work) => work.expected_digest(seed, sample),
            Work::Read(work) => {
                let answers = stage.read.and_then(|file| file.answers(work.touch));
                answers.and_then(|table| job.expected_digest(table, sample))
            }
            Work::Write(_) => None,
        };
        if !stage.goes_on {
            self.read_back(&job, &stage, &mut trial);
        }
        Ok(trial)
    }

    /// The file of `work`, if others still have room beside it.
    fn make<'f>(&self, work: &WriteWork, files: &'f Files, left: &mut Left) -> Result<Scratch<'f>> {
        let own = work.allocation != Allocation::Overwrite;
        if let Some(storage) = self.storage.filter(|_| own) {
            let began = Instant::now();
            let may_wait = || began.elapsed() < ROOM_WAIT && !self.stop.is_asked();
            // Room comes only of a file that was there: a disk that is full stays so.
            let was_unlinked = std::mem::take(&mut left.unlinked);
            loop {
                match fixture::check_free(storage, self.maker.free()?, work.io.size) {
                    Err(_) if was_unlinked && may_wait() => std::thread::sleep(ROOM_STEP),
                    answer => break answer?,
                }
            }
        }
        let made = files.to_write(work)?;
        left.unlinked |= own;
        Ok(made)
    }

    /// Reads back what `job` wrote: unreadable data does not exist.
    pub(crate) fn read_back(&self, job: &Job, stage: &Stage, trial: &mut Trial) {
        let (Some(work), Some(scratch)) = (job.case.write(), stage.target) else { return };
        let Some(sample) = trial.sample() else { return };
        let content = match (work.op, stage.read.and_then(TestFile::content)) {
            (Op::Copy, Some(content)) => content,
            (Op::Copy, None) => return,
            (Op::Write | Op::Sync, _) => work.content(job.seed),
        };
        let probe = self.storage.and_then(|storage| storage.residency_probe);
        match scratch.read_back(job, sample, content, probe, self.stop) {
            Ok(read_back) => trial.read_back = read_back,
            Err(error) => trial.outcome = Outcome::Failed { reason: format!("{error:#}") },
        }
    }

    /// Brings files and devices into the state that the case claims.
    fn prove_state(&self, case: &Case, stage: &Stage, after_write: bool) -> Result<(), String> {
        if stage.goes_on {
            return Ok(());
        }
        if stage.target.is_some() || after_write {
            self.settle(case, stage);
        }
        let Some(cache) = case.cache() else { return Ok(()) };
        let probe = |storage: Option<&Storage>| storage.and_then(|storage| storage.residency_probe);
        match (stage.read, stage.target) {
            // Of a copy it is the source that is cold or warm, which may be elsewhere.
            (Some(file), Some(_)) => file.set_cache(cache, probe(self.source.or(self.storage))),
            (Some(file), None) => file.set_cache(cache, probe(self.storage)),
            (None, Some(Scratch::Kept(file))) => file.set_cache(cache, probe(self.storage)),
            (None, Some(Scratch::Own(..)) | None) => Ok(()),
        }
    }

    /// Waits until an earlier trial's data is written: otherwise that would disturb this trial.
    fn settle(&self, case: &Case, stage: &Stage) {
        let Some(storage) = self.storage else { return };
        let began = Instant::now();
        while began.elapsed() < SETTLE && !self.stop.is_asked() {
            let settled = witness::settle(storage, stage.file(), SETTLE_STEP);
            log::debug!("before {}: {settled:?}", case.id());
            if settled.quiet {
                return;
            }
        }
    }

    /// The state before, and the worker's part, with what the OS counted around it.
    ///
    /// # Errors
    /// The reason why the worker is of no more use, or why the trial must not be made.
    fn perform(
        &self,
        courier: &mut Courier,
        job: &Job,
        stage: &Stage,
        evidence: &mut Evidence,
    ) -> Result<Outcome, String> {
        if let Some(outcome) = courier.prepare(job)? {
            return Ok(outcome);
        }
        let mut counters = Witness::new(courier.pid(), stage.file(), self.storage);
        let before = counters.before();
        let outcome = courier.perform(job.case.time().saturating_add(slack(&job.case)))?;
        *evidence = witness::counters::between(&before, &counters.after());
        // Files and memory that one worker keeps must not affect the next one, or a cache state.
        courier.dismiss()?;
        Ok(outcome)
    }
}

/// The outcome where no file could be made to write to: some file systems have no `fallocate`.
fn not_made(error: &anyhow::Error) -> Outcome {
    let reason = format!("{error:#}");
    let answer = error.root_cause().downcast_ref::<io::Error>().and_then(io::Error::raw_os_error);
    if answer == Some(Errno::OPNOTSUPP.raw_os_error()) {
        Outcome::Unavailable { reason }
    } else {
        Outcome::Failed { reason }
    }
}

/// State from one trial to the next.
#[derive(Default)]
pub(crate) struct Left {
    /// Live workers, by peer.
    pub(crate) couriers: BTreeMap<String, Courier>,
    /// Whether the last one that used a file wrote it.
    pub(crate) wrote: bool,
    /// Whether a file was made and unlinked since it was last waited for room.
    pub(crate) unlinked: bool,
    /// Of the user's own file, once a peer was given it.
    pub(crate) guard: Option<Guard>,
}

impl Left {
    /// The change of a user's own file by the peers, if any: then the run must end.
    pub(crate) fn complaint(&self, files: &Files) -> Option<String> {
        let guard = self.guard.as_ref()?;
        let peers = self.couriers.keys().map(String::as_str).filter(|peer| *peer != OWN_PEER);
        let peers = match peers.collect::<Vec<_>>().join(", ") {
            none if none.is_empty() => "a peer that has ended".to_string(),
            peers => format!("the peer {peers}"),
        };
        files.read().find_map(|file| guard.complaint(file, &peers))
    }
}

/// A peer's failure names the peer.
fn name_peer(case: &Case, outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Failed { reason } if case.peer != OWN_PEER => {
            Outcome::Failed { reason: format!("the peer {}: {reason}", case.peer) }
        }
        Outcome::Unavailable { reason } if case.peer != OWN_PEER => {
            Outcome::Unavailable { reason: format!("the peer {}: {reason}", case.peer) }
        }
        outcome => outcome,
    }
}

/// How much longer than its time a trial may take by right: a pass of the engine `load`, a mapping
/// that is populated, and a sync come to an end whatever the time says. 64 MB/s is a slow disk.
fn slack(case: &Case) -> Duration {
    Duration::from_millis(case.file_size().map_or(0, |size| size >> 16))
}
