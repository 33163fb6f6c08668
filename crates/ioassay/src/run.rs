//! Carries out a plan: for each trial it sets the cache state, takes evidence, lets the worker
//! work, takes evidence again and appends the trial to the record at once.

use crate::courier::Courier;
use crate::fixture::TestFile;
use crate::progress::Progress;
use crate::stop::Stop;
use crate::store::Store;
use anyhow::{Result, bail};
use model::case::{Cache, Case, OWN_PEER, Work};
use model::evidence::Evidence;
use model::host::Storage;
use model::plan::Plan;
use model::random::{Rng, mix};
use model::record::{End, Line};
use model::sample::{Sample, Span};
use model::trial::{Job, Outcome, Trial};
use model::units;
use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};
use witness::counters::Witness;

/// All that a run needs and that outlives a trial.
pub struct Run<'a> {
    /// What is done.
    pub plan: &'a Plan,
    /// The files, by size.
    pub files: &'a BTreeMap<u64, TestFile>,
    /// What they are on; none where no file is read.
    pub storage: Option<&'a Storage>,
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
}

impl Run<'_> {
    /// Makes all trials. Answers how the run ended.
    ///
    /// # Errors
    /// When no worker can be started or the record cannot be written. Whatever goes wrong in a
    /// trial is data of that trial, and the run goes on.
    pub fn carry_out(mut self) -> Result<End> {
        let began = Instant::now();
        let mut couriers = Couriers::new();
        let mut open: Vec<usize> = (0..self.plan.cases.len()).collect();
        let mut throughputs = vec![Vec::new(); open.len()];
        let mut rng = Rng::new(mix(self.plan.seed));
        let mut done = 0;
        self.progress.rounds_begin(u64::from(self.plan.rounds) * open.len() as u64);
        'rounds: for round in 0..self.plan.rounds {
            let left = u64::from(self.plan.rounds - round);
            let planned = done + left * open.len() as u64;
            for case in order_of_round(self.plan, &open, &mut rng) {
                if self.stop.is_asked() {
                    break 'rounds;
                }
                self.progress.trial(done, planned, round, &self.plan.cases[case].case.id());
                let at_ms = began.elapsed().as_millis() as u64;
                let trial = self.trial(&mut couriers, case, round, at_ms)?;
                if self.stop.is_asked() {
                    // The trial was cut short: it says nothing.
                    break 'rounds;
                }
                throughputs[case].extend(assess::throughput(&trial));
                self.store.append(&Line::Trial(trial))?;
                done += 1;
            }
            open.retain(|&case| !assess::is_settled(&throughputs[case], self.plan.precision));
        }
        let end = if self.stop.is_asked() { End::Interrupted } else { End::Complete };
        self.store.append(&Line::End(end.clone()))?;
        self.progress.end();
        Ok(end)
    }

    /// The live worker of `peer`. One that failed was dropped, and a new one is started.
    fn courier(&self, couriers: &mut Couriers, peer: &str) -> Result<Courier, Outcome> {
        if let Some(live) = couriers.remove(peer) {
            return Ok(live);
        }
        let command = (self.worker)(peer).map_err(|reason| Outcome::Unavailable { reason })?;
        Courier::start(command, self.stop, self.patience)
            .map_err(|error| Outcome::Failed { reason: format!("{error:#}") })
    }

    /// Makes one trial.
    ///
    /// # Errors
    /// When this program's own worker cannot be started: then nothing can be measured.
    fn trial(
        &mut self,
        couriers: &mut Couriers,
        index: usize,
        round: u32,
        at_ms: u64,
    ) -> Result<Trial> {
        let case = &self.plan.cases[index].case;
        let file = case.file().and_then(|work| self.files.get(&work.size));
        let seed = mix(self.plan.seed ^ (u64::from(round) << 32 | index as u64));
        let path = file.map(|file| file.path().to_path_buf());
        let job = Job { case: case.clone(), seed, file: path, source: None };
        let mut evidence = Evidence::default();
        let outcome = match self.courier(couriers, &case.peer) {
            Err(Outcome::Failed { reason }) if case.peer == OWN_PEER => bail!(reason),
            Err(outcome) => outcome,
            Ok(mut live) => match self.perform(&mut live, &job, file, &mut evidence) {
                Ok(outcome) => {
                    couriers.insert(case.peer.clone(), live);
                    believe(&job, outcome, evidence.window_ns)
                }
                Err(reason) => Outcome::Failed { reason },
            },
        };
        let outcome = name_peer(case, outcome);
        let expected_digest = match (&outcome, &case.work) {
            (Outcome::Done(sample), Work::Memory(work)) => work.expected_digest(seed, sample),
            (Outcome::Done(sample), Work::File(work)) => {
                let answers = file.and_then(|file| file.answers(work.touch));
                answers.and_then(|table| job.expected_digest(table, sample))
            }
            _ => None,
        };
        let read_back = None;
        Ok(Trial { case: index, round, at_ms, outcome, evidence, expected_digest, read_back })
    }

    fn prove_cache(&self, case: &Case, file: Option<&TestFile>) -> Result<(), String> {
        let probe = self.storage.and_then(|storage| storage.residency_probe);
        match (case.file(), file) {
            (Some(work), Some(file)) => file.set_cache(work, probe),
            _ => Ok(()),
        }
    }

    /// The cache state, and the worker's part, with what the OS counted around it.
    ///
    /// # Errors
    /// The reason why the worker is of no more use, or why the trial must not be made.
    fn perform(
        &self,
        courier: &mut Courier,
        job: &Job,
        file: Option<&TestFile>,
        evidence: &mut Evidence,
    ) -> Result<Outcome, String> {
        self.prove_cache(&job.case, file)?;
        if let Some(outcome) = courier.prepare(job)? {
            return Ok(outcome);
        }
        let mut counters = Witness::new(courier.pid(), file.map(TestFile::file), self.storage);
        let before = counters.before();
        let outcome = courier.perform(job.case.time() + slack(&job.case))?;
        *evidence = witness::counters::between(&before, &counters.after());
        // What one worker keeps must not be in the way of the next, or of a cache state.
        courier.dismiss()?;
        Ok(outcome)
    }
}

/// Live workers, by peer.
type Couriers = BTreeMap<String, Courier>;

/// What went wrong with another program than this one's own worker names it.
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

/// How much longer than its time a trial may take by right: a pass of the engine `load`, and a
/// mapping that is populated, come to an end whatever the time says. 64 MB/s is a slow disk.
fn slack(case: &Case) -> Duration {
    Duration::from_millis(case.file().map_or(0, |work| work.size >> 16))
}

/// The outcome, if it can be: a sample tells of each thread once and of no other, of the bytes of
/// its operations, of each latency, and of no more time than went by here. Else the worker
/// babbles or lies, and nothing that it says can be verified.
fn believe(job: &Job, outcome: Outcome, window_ns: u64) -> Outcome {
    let Outcome::Done(sample) = &outcome else { return outcome };
    match doubt(job, sample, window_ns) {
        None => outcome,
        Some(reason) => Outcome::Failed { reason: format!("the worker told of {reason}") },
    }
}

fn doubt(job: &Job, sample: &Sample, window_ns: u64) -> Option<String> {
    let mut threads: Vec<u32> = sample.spans.iter().map(|span| span.thread).collect();
    threads.sort_unstable();
    if !threads.iter().copied().eq(0..job.case.threads()) {
        return Some(format!("the threads {threads:?}, not of {}", job.case.threads()));
    }
    if sample.bytes() == 0 || sample.elapsed_ns() == 0 {
        return Some("no bytes, or of no time that they took".to_string());
    }
    let is_wrong = |span: &&Span| job.expected_bytes(span) != Some(span.bytes);
    if let Some(Span { bytes, ops, thread, .. }) = sample.spans.iter().find(is_wrong) {
        return Some(format!("{bytes} bytes in {ops} operations of thread {thread}"));
    }
    let latencies = sample.latencies.count();
    if job.case.file().is_some() && latencies != sample.ops() {
        return Some(format!("{latencies} latencies of {} operations", sample.ops()));
    }
    // Clocks of one machine drift apart by far less than this.
    let most_ns = window_ns.saturating_add(window_ns / 100);
    (sample.elapsed_ns() > most_ns).then(|| {
        let (told, seen) = (sample.elapsed_ns() as f64, window_ns as f64);
        let (told, seen) = (units::nanoseconds(told), units::nanoseconds(seen));
        format!("a trial of {told}, and no more than {seen} went by")
    })
}

/// The open cases in random order; those of one cache state together, so that a file is not
/// warmed and evicted more than once a round. The order of the states is random too.
fn order_of_round(plan: &Plan, open: &[usize], rng: &mut Rng) -> Vec<usize> {
    let mut order = open.to_vec();
    rng.shuffle(&mut order);
    let mut states: Vec<Option<Cache>> =
        [None].into_iter().chain(Cache::ALL.iter().copied().map(Some)).collect();
    rng.shuffle(&mut states);
    let state = |case: &usize| plan.cases[*case].case.file().map(|work| work.cache);
    order.sort_by_key(|case| states.iter().position(|known| *known == state(case)));
    order
}
