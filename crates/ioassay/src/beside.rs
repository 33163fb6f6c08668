//! Actors beside a trial, each in a worker process: with a file of its own or that of the case, or
//! on memory.

use crate::files::Files;
use crate::fixture::TestFile;
use crate::scratch::Scratch;
use crate::stop::Stop;
use crate::validation::{validate, worded};
use crate::worker_process::WorkerProcess;
use model::case::{Case, OWN_PEER, Work};
use model::evidence::{Evidence, Probe};
use model::plan::{Actor, ActorFile, Plan};
use model::random::mix;
use model::sample::Sample;
use model::shape::{Calibrated, chosen};
use model::trial::{Beside, Job, Outcome};
use model::units;
use std::time::{Duration, Instant};
use witness::counters::{Snapshot, Witness};
use witness::placement;

/// How long actors run before a trial begins. Then the device's queues are as full as they get.
pub(crate) const LEAD: Duration = Duration::from_millis(200);

/// How much longer than the trial's time they run, at least: reading counters takes a while, and so
/// may a trial's last operation.
const TAIL: Duration = Duration::from_millis(300);

/// How long actors work beside a trial that may take `time`. They go on until then, even if it ends
/// before: nothing tells a loop that is timed to stop.
pub(crate) fn time_beside(time: Duration) -> Duration {
    LEAD.saturating_add(time).saturating_add(TAIL.max(time / 4))
}

/// An actor with its worker.
#[derive(Debug)]
pub(crate) struct Companion<'a> {
    pub(crate) actor: &'a Actor,
    pub(crate) worker: WorkerProcess,
    /// None on memory.
    file: Option<&'a TestFile>,
    job: Job,
    /// When it began.
    since: Instant,
    counters: Option<(Witness<'static>, Snapshot)>,
    evidence: Evidence,
}

impl<'a> Companion<'a> {
    /// `actor` beside a trial with the job `of_case`; `number` tells it from the others. `shared`
    /// is the case's file, and `calibrated` the loops of the run.
    ///
    /// # Errors
    /// If it has no file.
    pub(crate) fn of(
        (actor, number): (&'a Actor, u64),
        worker: WorkerProcess,
        of_case: &Job,
        (files, shared, calibrated): (&'a Files, Option<&'a TestFile>, &[Calibrated]),
    ) -> Result<Companion<'a>, String> {
        let (file, contents) = match actor.file {
            ActorFile::Own => (files.of_actor(&actor.name), None),
            ActorFile::Case => (shared, of_case.shared),
        };
        if file.is_none() && actor.case.memory().is_none() {
            return Err(format!("there is no file for the actor '{}'", actor.name));
        }
        let mut own = actor.case.clone();
        own.set_time(time_beside(of_case.case.time()));
        let job = Job {
            case: own,
            seed: mix(of_case.seed ^ (number + 1)),
            file: file.map(|file| file.path().to_path_buf()),
            source: None,
            folder: None,
            shared: contents,
            shape: chosen(calibrated, actor.case.walk()),
            launch: None,
            cpus: Vec::new(),
            duty: actor.duty,
        };
        let (since, counters, evidence) = (Instant::now(), None, Evidence::default());
        Ok(Companion { actor, worker, file, job, since, counters, evidence })
    }

    /// Lets it find its file as a case finds one that it overwrites.
    pub(crate) fn make_ready(&self, probe: Option<Probe>) {
        let work = self.actor.case.write().filter(|_| self.actor.file == ActorFile::Own);
        if let (Some(work), Some(file)) = (work, self.file) {
            file.ready_to_overwrite(work, probe);
        }
    }

    /// Reads its counters just before the trial.
    fn before(&mut self) {
        if let Some((witness, snapshot)) = &mut self.counters {
            *snapshot = witness.before();
        }
    }

    /// Reads them just after it.
    fn after(&mut self) {
        if let Some((mut witness, before)) = self.counters.take() {
            self.evidence = witness::counters::between(&before, &witness.after());
        }
    }

    /// Waits for its end.
    fn finish(&mut self) -> Result<Outcome, String> {
        let outcome = self.worker.finish(self.job.case.time())?;
        let passed = u64::try_from(self.since.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.worker.dismiss()?;
        Ok(validate(&self.job, outcome, passed))
    }

    /// Its part of the trial; the data that it wrote is read back.
    fn result(
        self,
        outcome: Outcome,
        probe: Option<Probe>,
        stop: &Stop,
    ) -> (Beside, WorkerProcess) {
        let Companion { actor, worker, file, job, evidence, .. } = self;
        let name = actor.name.clone();
        let mut beside = Beside { name, outcome, evidence, expected_digest: None, read_back: None };
        if let Outcome::Done(sample) = &beside.outcome {
            match (&job.case.work, file) {
                // What it read of a shared file depends on when it did.
                (Work::Read(_), _) if job.shared.is_some() => {}
                (Work::Read(work), Some(file)) => {
                    let answers = file.answers(work.touch);
                    beside.expected_digest =
                        answers.and_then(|table| job.expected_digest(table, sample));
                }
                (Work::Write(work), Some(file)) => {
                    let content = work.content(job.seed);
                    let scratch = Scratch::Kept(file);
                    match scratch.read_back(&job, sample, content, probe, stop) {
                        Ok(read_back) => beside.read_back = read_back,
                        Err(error) => {
                            beside.outcome = Outcome::Failed { reason: format!("{error:#}") };
                        }
                    }
                }
                (Work::Memory(work), _) => {
                    beside.expected_digest = work.expected_digest(job.seed, sample);
                }
                (_, None) | (Work::Metadata(_) | Work::Command(_), _) => {}
            }
        }
        (beside, worker)
    }
}

/// The CPUs for a case on memory and the actors beside it, in the order in which their threads take
/// them; none if no case of the plan has actors on memory.
pub(crate) fn cpus(plan: &Plan, case: &Case) -> Vec<u32> {
    let is_placed = case.memory().is_some() && case.peer == OWN_PEER;
    let has_loads = || plan.actors.iter().any(|actor| actor.case.memory().is_some());
    let cpus = (is_placed && has_loads()).then(placement::by_core).flatten();
    cpus.map(|cpus| cpus.in_order().collect()).unwrap_or_default()
}

/// Sends their jobs to all actors beside a trial with the job `of_case`. Those on memory get the
/// CPUs that the case leaves. Returns an outcome if one cannot begin.
///
/// # Errors
/// Why a worker is unusable.
pub(crate) fn prepare(all: &mut [Companion], of_case: &Job) -> Result<Option<Outcome>, String> {
    let mut free = of_case.cpus.iter().copied().skip(of_case.case.threads() as usize);
    for companion in all {
        if let Some(work) = companion.job.case.memory() {
            companion.job.cpus = free.by_ref().take(work.threads as usize).collect();
        }
        let name = &companion.actor.name;
        let outcome = companion.worker.prepare(&companion.job).map_err(|e| of_actor(name, &e))?;
        if let Some(outcome) = outcome {
            return Ok(Some(worded(outcome, |reason| of_actor(name, reason))));
        }
    }
    Ok(None)
}

/// Lets all actors begin, and waits until they are at work.
///
/// # Errors
/// Why a worker is unusable.
pub(crate) fn begin(all: &mut [Companion]) -> Result<(), String> {
    for companion in &mut *all {
        companion.since = Instant::now();
        companion.worker.begin().map_err(|e| of_actor(&companion.actor.name, &e))?;
    }
    if !all.is_empty() {
        std::thread::sleep(LEAD);
    }
    for companion in all {
        // Their files are opened, and descendants found, before anything is counted.
        let witness = Witness::new(companion.worker.pid(), None, None);
        companion.counters = Some((witness, Snapshot::default()));
    }
    Ok(())
}

/// Reads the counters of all actors just before the trial.
pub(crate) fn before(all: &mut [Companion]) {
    all.iter_mut().for_each(Companion::before);
}

/// Reads the counters of all actors just after the trial.
pub(crate) fn after(all: &mut [Companion]) {
    all.iter_mut().for_each(Companion::after);
}

/// Waits for the end of all actors. Returns what they did, and their workers.
///
/// # Errors
/// Why a worker is unusable.
pub(crate) fn finish(
    all: Vec<Companion>,
    probe: Option<Probe>,
    stop: &Stop,
) -> Result<(Vec<Beside>, Vec<WorkerProcess>), String> {
    let mut ended = Vec::new();
    for mut companion in all {
        let outcome = companion.finish().map_err(|e| of_actor(&companion.actor.name, &e))?;
        ended.push((companion, outcome));
    }
    // Reading back uses the storage, so all must have ended.
    let results =
        ended.into_iter().map(|(companion, outcome)| companion.result(outcome, probe, stop));
    Ok(results.unzip())
}

/// The outcome of a trial beside actors: one that was not beside all of them, all the time, is not
/// what its case says.
pub(crate) fn outcome_beside(outcome: Outcome, beside: &[Beside]) -> Outcome {
    let Outcome::Done(sample) = &outcome else { return outcome };
    for actor in beside {
        let Outcome::Done(its) = &actor.outcome else {
            return worded(actor.outcome.clone(), |reason| of_actor(&actor.name, reason));
        };
        if let Some(reason) = gap(sample, its) {
            return Outcome::Failed { reason: of_actor(&actor.name, &reason) };
        }
    }
    outcome
}

/// Which part of a trial an actor missed, if any. All times are of the OS's monotonic clock.
fn gap(trial: &Sample, actor: &Sample) -> Option<String> {
    let start = |sample: &Sample| sample.spans.iter().map(|span| span.start_ns).min();
    let end = |sample: &Sample| sample.spans.iter().map(|span| span.end_ns).max();
    let latest = |sample: &Sample| sample.spans.iter().map(|span| span.start_ns).max();
    let earliest = |sample: &Sample| sample.spans.iter().map(|span| span.end_ns).min();
    let late = latest(actor)?.saturating_sub(start(trial)?);
    let early = end(trial)?.saturating_sub(earliest(actor)?);
    let said = |ns: u64| units::nanoseconds(ns as f64);
    match (late, early) {
        (0, 0) => None,
        (0, early) => Some(format!("it ended {} before the trial did", said(early))),
        (late, _) => Some(format!("it began {} after the trial did", said(late))),
    }
}

fn of_actor(name: &str, reason: &str) -> String {
    format!("the actor '{name}': {reason}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::sample::Span;

    fn sample(spans: &[(u64, u64)]) -> Sample {
        let span = |&(start_ns, end_ns): &(u64, u64)| Span { start_ns, end_ns, ..Span::default() };
        Sample { spans: spans.iter().map(span).collect(), ..Sample::default() }
    }

    fn outcome(spans: &[(u64, u64)]) -> Outcome {
        let beside = Beside {
            name: "writer".to_string(),
            outcome: Outcome::Done(sample(spans)),
            evidence: Evidence::default(),
            expected_digest: None,
            read_back: None,
        };
        outcome_beside(Outcome::Done(sample(&[(10, 90), (12, 100)])), &[beside])
    }

    #[test]
    fn a_trial_that_an_actor_missed_a_part_of_has_failed() {
        assert!(matches!(outcome(&[(5, 110), (10, 100)]), Outcome::Done(_)));
        for (spans, expected) in [
            ([(11, 110), (5, 110)], "the actor 'writer': it began 1.00 ns after the trial did"),
            ([(5, 99), (5, 110)], "the actor 'writer': it ended 1.00 ns before the trial did"),
        ] {
            assert_eq!(outcome(&spans), Outcome::Failed { reason: expected.to_string() });
        }
    }
}
