//! The trials of one case that count.

use crate::caches::Caches;
use crate::invocations::{Round, exchangeable};
use crate::stats::{Estimate, Looks};
use model::case::{Advice, Case, Engine, FileWork, Op, WriteEngine, WriteWork};
use model::evidence::Evidence;
use model::host::{Fixture, Host, Storage};
use model::layer::Amplification;
use model::named;
use model::plan::Role;
use model::record::Record;
use model::sample::{Sample, Span};
use model::trial::{Outcome, ReadBack, Trial};
use std::time::Duration;

named! {
    /// What the machine did to a trial for which it is left out.
    Gate "gate" {
        /// The hypervisor gave the machine's CPU time to others.
        Steal "steal",
        /// A control group's CPU quota held the worker back.
        Throttled "throttled",
        /// Others read from the devices.
        Foreign "foreign",
        /// The OS took a part of a warm file out of the page cache.
        Reclaimed "reclaimed",
    }
}

/// What a trial of `case` did in a second: bytes, or operations where only a sync is called. None
/// unless it was done, took time and moved something.
///
/// What claims to be durable took until its last sync had returned; all else until its last
/// operation had (METHODOLOGY.md).
pub fn rate(case: &Case, trial: &Trial) -> Option<f64> {
    let sample = trial.sample()?;
    let amount = if only_syncs(case) { sample.ops() } else { sample.bytes() };
    a_second(amount, timed_ns(case, sample))
}

/// An amount in so many nanoseconds, by the second; none where either is 0.
pub(crate) fn a_second(amount: u64, ns: u64) -> Option<f64> {
    (amount > 0 && ns > 0).then(|| amount as f64 / ns as f64 * NS_PER_SECOND)
}

/// Whether nothing is moved: only a sync is called.
pub(crate) fn only_syncs(case: &Case) -> bool {
    case.write().is_some_and(|work| work.op == Op::Sync)
}

/// Whether it claims that what was written is durable.
pub(crate) fn claims_durable(case: &Case) -> bool {
    case.write().is_some_and(|work| work.sync.claims_durable())
}

/// The nanoseconds that a rate is by. Where no sync is told of they are those of the operations.
pub(crate) fn timed_ns(case: &Case, sample: &Sample) -> u64 {
    if claims_durable(case) { wall_ns(sample) } else { sample.elapsed_ns() }
}

/// From the first thread's start to the last thread's end, its last sync included.
fn wall_ns(sample: &Sample) -> u64 {
    sample.elapsed_ns().max(sample.synced_ns().unwrap_or(0))
}

/// Threads that touch the pages ahead of the one that reads, where that is the advice.
const TOUCHING_AHEAD: u32 = 6;

pub(crate) const NS_PER_SECOND: f64 = 1e9;

/// What was counted in a window counts for what was timed in it if it is not longer than this many
/// times that (METHODOLOGY.md).
const WINDOW_MOST: f64 = 1.05;

/// How the reason of a trial begins that the machine could not do.
pub(crate) const UNAVAILABLE: &str = "unavailable: ";

/// An estimate whose mean is that of all its parts by all their wholes, each of a trial. Where
/// trials do the same work that is the harmonic mean of their rates, where they last as long the
/// arithmetic one: the rate of a program that does them all.
pub(crate) fn with_mean_of(
    estimate: Option<Estimate>,
    parts: impl Iterator<Item = (f64, f64)>,
) -> Option<Estimate> {
    let estimate = estimate?;
    let (part, whole) = parts.fold((0.0, 0.0), |sum, (part, whole)| (sum.0 + part, sum.1 + whole));
    let mean = if whole > 0.0 { part / whole } else { estimate.mean };
    Some(Estimate { mean: mean.clamp(estimate.min, estimate.max), ..estimate })
}

/// One value of a quantity a round.
pub(crate) type Rounds = Vec<Round>;

/// One case with its trials, and where they were made.
#[derive(Debug)]
pub(crate) struct Measured<'a> {
    pub(crate) case: &'a Case,
    pub(crate) role: Role,
    /// The trials that count: [`rate`] has a value for each.
    pub(crate) trials: Vec<Counted<'a>>,
    /// Those that would, but were left out for what the machine did to them, with what that was.
    pub(crate) excluded: Vec<(Gate, Counted<'a>)>,
    /// The others.
    pub(crate) failed: Vec<Lost>,
    pub(crate) host: &'a Host,
    /// What is known of its caches: from the OS, or where it tells nothing from other cases.
    pub(crate) caches: Caches,
    pub(crate) storage: Option<&'a Storage>,
    /// Where the file is that copies read.
    pub(crate) source: Option<&'a Storage>,
    /// Whether its rounds were looked at to decide how many there shall be.
    pub(crate) looks: Looks,
    /// How long its trials followed each other without a pause, if they did.
    pub(crate) sustain: Option<Duration>,
    /// The file that was read, if it is known which.
    pub(crate) fixture: Option<&'a Fixture>,
}

/// A trial that was not done.
#[derive(Debug)]
pub(crate) struct Lost {
    pub(crate) invocation: u32,
    pub(crate) round: u32,
    /// What went wrong.
    pub(crate) reason: String,
}

/// A trial that was done and counts.
#[derive(Debug)]
pub(crate) struct Counted<'a> {
    pub(crate) invocation: u32,
    pub(crate) round: u32,
    pub(crate) sample: &'a Sample,
    pub(crate) evidence: &'a Evidence,
    pub(crate) expected_digest: Option<u64>,
    pub(crate) read_back: Option<ReadBack>,
    /// Bytes a second, or operations where only a sync is called: [`rate`].
    pub(crate) rate: f64,
    /// The nanoseconds that the rate is by.
    pub(crate) timed_ns: u64,
}

impl Measured<'_> {
    /// What the devices that are watched write for each byte written; each byte once, where no
    /// storage is known.
    pub(crate) fn writes(&self) -> Amplification {
        self.storage.map_or(Amplification::ONE, Storage::writes)
    }

    /// The bytes that devices read for anyone, however many of them read a byte. None where that
    /// is not known.
    pub(crate) fn read_once(&self, trial: &Counted) -> Option<u64> {
        let times = self.storage.map_or(Amplification::ONE, Storage::reads).exact()?;
        trial.evidence.device_read_bytes?.checked_div(times.into())
    }

    /// The most bytes of files that can be on devices by what these wrote: less are, where they
    /// wrote one more often than they must.
    pub(crate) fn written_at_most(&self, trial: &Counted) -> Option<u64> {
        trial.evidence.device_write_bytes?.checked_div(self.writes().least.into())
    }
}

impl<'a> Measured<'a> {
    /// The trials of case `index` of the plan.
    pub(crate) fn of(record: &'a Record, index: usize) -> Measured<'a> {
        let header = &record.header;
        let planned = &header.plan.cases[index];
        let (mut trials, mut failed) = (Vec::new(), Vec::new());
        for trial in record.trials.iter().filter(|trial| trial.case == index) {
            match Counted::of(&planned.case, trial) {
                Ok(counted) => trials.push(counted),
                Err(reason) => {
                    let Trial { invocation, round, .. } = *trial;
                    failed.push(Lost { invocation, round, reason });
                }
            }
        }
        Measured {
            case: &planned.case,
            role: planned.role,
            trials,
            excluded: Vec::new(),
            failed,
            host: &header.host,
            caches: Caches::of(&header.host),
            storage: header.storage.as_ref(),
            source: header.source_storage.as_ref().or(header.storage.as_ref()),
            looks: Looks::of(record),
            sustain: header.plan.sustain,
            fixture: fixture_of(&planned.case, &header.fixtures),
        }
    }

    /// The work that reads a file, unless the null engine does it, which reads none.
    pub(crate) fn file(&self) -> Option<&'a FileWork> {
        self.case.file().filter(|work| work.engine != Engine::Null)
    }

    /// The work that writes a file, unless the null engine does it, which writes none.
    pub(crate) fn write(&self) -> Option<&'a WriteWork> {
        self.case.write().filter(|work| work.engine != WriteEngine::Null)
    }

    /// How many trials count.
    pub(crate) fn n(&self) -> usize {
        self.trials.len()
    }

    /// All trials that were done, those that were left out included, in the order of rounds.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Counted<'a>> {
        let excluded = self.excluded.iter().map(|(_, trial)| trial);
        let mut all: Vec<&Counted> = self.trials.iter().chain(excluded).collect();
        all.sort_by_key(|trial| trial.round);
        all.into_iter()
    }

    /// What went wrong, each reason once with how often.
    pub(crate) fn failures(&self) -> Vec<(String, usize)> {
        let mut failures: Vec<(String, usize)> = Vec::new();
        for Lost { reason, .. } in &self.failed {
            match failures.iter_mut().find(|(known, _)| known == reason) {
                Some((_, count)) => *count += 1,
                None => failures.push((reason.clone(), 1)),
            }
        }
        failures
    }

    /// Threads of the worker that have something to do at the same time: those of the case, and
    /// those that touch pages ahead of them.
    pub(crate) fn threads_at_work(&self) -> u32 {
        let is_ahead = self.file().is_some_and(|work| work.advice == Advice::TouchAhead);
        self.case.threads().saturating_add(if is_ahead { TOUCHING_AHEAD } else { 0 })
    }

    /// The rate of each round.
    pub(crate) fn rates(&self) -> Rounds {
        self.trials.iter().map(|trial| trial.at(trial.rate)).collect()
    }

    /// Nanoseconds of a thread for an operation, in each round: elapsed · threads / operations.
    /// With several in flight it is a part of the time that each of them takes.
    pub(crate) fn ns_per_op(&self) -> Rounds {
        let threads = f64::from(self.case.threads());
        let ns = |trial: &Counted| {
            let (ops, elapsed_ns) = (trial.sample.ops(), trial.sample.elapsed_ns());
            let ns = threads * elapsed_ns as f64 / ops as f64;
            (ops > 0 && elapsed_ns > 0).then_some(trial.at(ns))
        };
        self.trials.iter().filter_map(ns).collect()
    }

    /// Bytes a second of each round, without loading; only rounds that loaded anything.
    pub(crate) fn loaded_rates(&self) -> Rounds {
        let rate = |trial: &Counted| Some(trial.at(trial.loaded_throughput()?));
        self.trials.iter().filter_map(rate).collect()
    }

    /// What could as well have come in another order: the rates of its rounds, or of its
    /// invocations where there are several, for rounds share an invocation.
    pub(crate) fn units(&self) -> Vec<f64> {
        exchangeable(&self.rates())
    }

    /// The estimate of a quantity that has one value a round; none of no rounds.
    pub(crate) fn estimate_of(&self, rounds: &[Round]) -> Option<Estimate> {
        Estimate::of_rounds(rounds, self.looks)
    }

    /// The same of what `value` has of each trial.
    pub(crate) fn estimate(&self, value: impl Fn(&Counted) -> Option<f64>) -> Option<Estimate> {
        let at = |trial: &Counted| Some(trial.at(value(trial)?));
        self.estimate_of(&self.trials.iter().filter_map(at).collect::<Rounds>())
    }

    /// One value of each trial, where `value` has one.
    pub(crate) fn values(&self, value: impl Fn(&Counted) -> Option<f64>) -> Vec<f64> {
        self.trials.iter().filter_map(value).collect()
    }
}

impl<'a> Counted<'a> {
    fn of(case: &Case, trial: &'a Trial) -> Result<Counted<'a>, String> {
        match (&trial.outcome, rate(case, trial)) {
            (Outcome::Done(sample), Some(rate)) => Ok(Counted {
                invocation: trial.invocation,
                round: trial.round,
                sample,
                evidence: &trial.evidence,
                expected_digest: trial.expected_digest,
                read_back: trial.read_back,
                rate,
                timed_ns: timed_ns(case, sample),
            }),
            (Outcome::Done(_), None) => Err("failed: it ended at once or moved no bytes".into()),
            (Outcome::Unavailable { reason }, _) => Err(format!("{UNAVAILABLE}{reason}")),
            (Outcome::Failed { reason }, _) => Err(format!("failed: {reason}")),
        }
    }

    /// A value of its round.
    pub(crate) fn at(&self, value: f64) -> Round {
        Round { invocation: self.invocation, round: self.round, value }
    }

    /// Nanoseconds from the first thread's start to the last thread's end, its last sync included.
    pub(crate) fn wall_ns(&self) -> u64 {
        wall_ns(self.sample)
    }

    /// What was counted from the first thread's start to the last thread's end: what the worker
    /// `told` of that. The evidence is of a longer window, in which the worker also tells what it
    /// timed, so what was `seen` there takes its place only where that is hardly longer.
    pub(crate) fn in_span(&self, told: Option<u64>, seen: Option<u64>) -> Option<u64> {
        let is_near = self.evidence.window_ns as f64 <= WINDOW_MOST * self.wall_ns() as f64;
        told.or(seen.filter(|_| is_near))
    }

    /// CPU time of the whole worker, the threads of the OS that work for it included.
    pub(crate) fn cpu_ns(&self) -> Option<u64> {
        self.in_span(self.sample.usage.cpu_ns, self.evidence.cpu_ns)
    }

    /// What its threads told, summed up; none unless all did.
    pub(crate) fn sum_of_spans(&self, of: fn(&Span) -> Option<u64>) -> Option<u64> {
        let spans = self.sample.spans.iter();
        spans.map(of).try_fold(0, |sum: u64, told| Some(sum.saturating_add(told?)))
    }

    /// How long its threads were ready to run and had no processor.
    pub(crate) fn run_delay_ns(&self) -> Option<u64> {
        self.in_span(self.sum_of_spans(|span| span.run_delay_ns), self.evidence.run_delay_ns)
    }

    /// CPU time of the threads of the case, without those that work for them.
    pub(crate) fn own_cpu_ns(&self) -> Option<u64> {
        self.in_span(self.sum_of_spans(|span| span.cpu_ns), self.evidence.cpu_ns)
    }

    /// Nanoseconds from the first thread's start to the last thread's.
    pub(crate) fn start_skew_ns(&self) -> u64 {
        let starts = || self.sample.spans.iter().map(|span| span.start_ns);
        starts().max().unwrap_or(0).saturating_sub(starts().min().unwrap_or(0))
    }

    /// Whether the digest is the one that what was read, or read back, must have; none where
    /// nothing was summed.
    pub(crate) fn is_right(&self) -> Option<bool> {
        let read = self.expected_digest.map(|expected| self.sample.digest() == expected);
        let read_back = self.read_back.map(|seen| seen.digest == seen.expected);
        [read, read_back].into_iter().flatten().reduce(|all, this| all && this)
    }

    /// What was done, as [`rate`] counts it, and the seconds that it took.
    pub(crate) fn done(&self) -> (f64, f64) {
        let seconds = self.timed_ns as f64 / NS_PER_SECOND;
        (self.rate * seconds, seconds)
    }

    /// Nanoseconds of loading, of the thread that loaded longest; none if none loaded.
    pub(crate) fn load_ns(&self) -> Option<u64> {
        self.sample.spans.iter().map(|span| span.load_ns).max().filter(|load_ns| *load_ns > 0)
    }

    /// Bytes a second without loading: by the thread that took longest for the rest.
    fn loaded_throughput(&self) -> Option<f64> {
        let (bytes, seconds) = self.loaded()?;
        Some(bytes / seconds)
    }

    /// The bytes of a trial that loaded anything, and the seconds that the thread took which took
    /// longest for the rest.
    pub(crate) fn loaded(&self) -> Option<(f64, f64)> {
        self.load_ns()?;
        let rest_ns =
            |span: &Span| span.end_ns.saturating_sub(span.start_ns).saturating_sub(span.load_ns);
        let longest_ns = self.sample.spans.iter().map(rest_ns).max().filter(|ns| *ns > 0)?;
        Some((self.sample.bytes() as f64, longest_ns as f64 / NS_PER_SECOND))
    }
}

/// The file of the case's size; where there is only one file, that one.
fn fixture_of<'a>(case: &Case, fixtures: &'a [Fixture]) -> Option<&'a Fixture> {
    let size = case.file()?.size;
    let of_size = fixtures.iter().find(|fixture| fixture.size == size);
    of_size.or(match fixtures {
        [only] => Some(only),
        _ => None,
    })
}
