//! The summary of a case's trials.

use crate::actors::{ActorFigures, actors};
use crate::command_figures::CommandFigures;
use crate::counted::{Counted, counts_calls};
use crate::disturbance::Excluded;
use crate::failure::Failure;
use crate::finding::{Finding, Severity, Verdict};
use crate::form::{As, ByReason};
use crate::imbalance::imbalance_percent;
use crate::link_use::LinkUse;
use crate::measured::{Measured, with_mean_of};
use crate::mixed::Mixed;
use crate::names::NameFigures;
use crate::open_loop::OpenLoop;
use crate::served::{served, served_loaded};
use crate::shared::SharedFile;
use crate::stats::{Estimate, median};
use crate::told::ToldFigure;
use crate::trials::{TrialFigures, trials};
use crate::writing::Writing;
use model::axis::AxesForm;
use model::case::{Case, Op, Sync, Touch, WriteWork};
use model::evidence::Evidence;
use model::named;
use model::plan::Role;
use model::sample::Usage;
use model::units::NS_PER_SECOND;
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;
use std::cmp::Reverse;

pub use crate::course::{Change, TimeSeries};
pub use crate::latency::Latency;
use crate::latency::OfOperations;
pub use crate::served::ServedBy;
pub use crate::spent::Spent;

named! {
    /// The kind of ceiling of a figure.
    CeilingKind "ceiling" {
        /// Reading memory with as many threads.
        Memory "memory",
        /// The highest direct rate of the device in this run.
        Device "device",
    }
}

/// A figure relative to its ceiling.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Ceiling {
    /// The kind of ceiling.
    pub kind: CeilingKind,
    /// Throughput divided by the ceiling's.
    pub share: f64,
}

/// The figures of a case without its loading: mapping, populating, or reading the file into memory.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Loaded {
    /// Bytes per second: bytes of all threads by the longest span of a thread without its loading.
    pub throughput: Estimate,
    /// Nanoseconds of loading in a trial, for the thread that loaded longest.
    pub load_ns: Estimate,
    /// The source of the bytes after loading.
    pub served_by: ServedBy,
    /// Its throughput divided by that of one thread reading memory.
    pub of_memory: Option<f64>,
    /// Its ceiling.
    pub ceiling: Option<Ceiling>,
}

/// A case and the summary of its trials.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Summary {
    /// A short name, unique in the run.
    pub id: String,
    /// Its axes by name.
    #[serde(with = "AxesForm")]
    pub case: Case,
    /// Why it was measured. `asked`: to answer the question; `baseline`: to bound the answers;
    /// `twin`: to repeat another case.
    pub role: Role,
    /// Completed trials that count.
    pub n: usize,
    /// The failures of the other trials, each reason with its count.
    #[serde(with = "As::<Vec<ByReason<String>>>")]
    pub failures: Vec<(Failure, usize)>,
    /// The rounds excluded for disturbances by the machine; null if there are none.
    pub excluded: Option<Excluded>,
    /// How far to trust the figures. `void`: they do not mean what they say; `failed`: there is
    /// none, because trials failed; `unavailable`: there is none, because this machine cannot run
    /// the case; `not run`: there is none, because the run ended before.
    pub verdict: Verdict,
    /// The source that served the bytes, by the evidence. For writes: where they were when the
    /// clock stopped.
    pub served_by: Option<ServedBy>,
    /// The level of the processor's caches that served, from 1; null if it is unknown which, and if
    /// something else served.
    pub level: Option<u32>,
    /// The share of bytes that the page cache served, 0 to 1: they caused no device read, and no
    /// hole explains that. At least.
    pub hit_share: Option<f64>,
    /// The same: at most. It is larger if devices read more than the trial had to ask for.
    pub hit_share_most: Option<f64>,
    /// The largest share of operations that a cache as large as the memory limit can serve, 0 to 1,
    /// if it always holds the blocks that a zipf pattern uses most; null without either.
    pub cacheable_share: Option<f64>,
    /// Bytes per second, including mapping, populating and loading. For writes: until the last sync
    /// returned if durability is claimed, even where `durable` is null, else until the last write.
    /// For a mix: that of all operations. Null for a case that only syncs.
    pub throughput: Option<Estimate>,
    /// The figures without loading; null for writes, and if nothing is loaded.
    pub loaded: Option<Loaded>,
    /// An estimate of the bytes per second on the memory bus, if nothing stays in a cache. Only for
    /// kernels over arrays beyond the caches; null, too, for ordinary stores that are as fast as
    /// the same loop's non-temporal ones, which contradicts it.
    pub bus: Option<Estimate>,
    /// Operations per second, over the same time as the throughput.
    pub iops: Option<Estimate>,
    /// Nanoseconds per operation of a thread, over all its slots: elapsed · threads / operations,
    /// until the last operation returned. With `depth` operations in flight, each one has about
    /// `depth` times this latency. Null with a rate: a schedule says then when each begins.
    pub ns_per_op: Option<Estimate>,
    /// Latency percentiles.
    #[serde(flatten, with = "As::<OfOperations>")]
    pub latency: Latency,
    // Those of few cases are boxed: a record may have thousands of others.
    /// The figures of a case with a rate; null for a closed loop.
    pub open: Option<Box<OpenLoop>>,
    /// The figures of each kind of operation of a mixed case; null for others.
    pub mixed: Option<Box<Mixed>>,
    /// What was read of a file that was overwritten meanwhile; null if nothing was.
    pub shared: Option<SharedFile>,
    /// What the actors beside it did; empty for a case alone.
    pub beside: Vec<ActorFigures>,
    /// The figures of a case on names of files; null for others.
    pub names: Option<NameFigures>,
    /// The figures of a command; null for other work.
    pub command: Option<Box<CommandFigures>>,
    /// The figures of a writing case; null for others.
    pub writing: Option<Box<Writing>>,
    /// The rate over time; null if trials are too short.
    pub course: Option<TimeSeries>,
    /// How a trial spent its time; null if the OS does not report it.
    pub spent: Option<Spent>,
    /// Mean idle share of the threads in per cent; null for one thread, and with a rate.
    pub imbalance_percent: Option<f64>,
    /// Nanoseconds from the first thread's start to the last thread's: median of the rounds. Null
    /// for one thread.
    pub start_skew_ns: Option<f64>,
    /// Nanoseconds of setup before the clock of a trial starts: median of the rounds.
    pub setup_ns: Option<f64>,
    /// Nanoseconds of the longest setup in which the worker's runtime had to warm up; null if none
    /// had to. A runtime warms up once for all trials of a kind.
    pub warm_up_ns: Option<u64>,
    /// CPU nanoseconds per operation, over all threads, without the wait for one to be due: median
    /// of the rounds.
    pub cpu_ns_per_op: Option<f64>,
    /// The OS counters of a trial.
    pub counters: Counters,
    /// Bytes moved by a trial: median of the rounds. Null for calls on names and for commands.
    pub bytes_per_trial: Option<u64>,
    /// Bytes read from devices for the worker in a trial: median of the rounds.
    pub device_bytes: Option<u64>,
    /// Mean size in bytes of the OS's units of memory (folios) in which a warm file was cached:
    /// median of the rounds. Null if they are not seen.
    pub folio_bytes: Option<u64>,
    /// The number that a command prints about itself; null if none was looked for and found.
    pub told: Option<Box<ToldFigure>>,
    /// Its ceiling, and how close it comes.
    pub ceiling: Option<Ceiling>,
    /// What the links on the path to its device carry at most, and how much of that it got; of a
    /// command, over the whole of its runs. Null if that is unknown, as in virtual machines, if a
    /// cache served, and if bytes go both ways.
    pub link: Option<Box<LinkUse>>,
    /// Whether it is a ceiling of other cases, or the fastest loop over memory of its kind.
    pub is_ceiling: bool,
    /// Throughput divided by that of one thread reading memory.
    pub of_memory: Option<f64>,
    /// The findings, most severe first.
    pub findings: Vec<Finding>,
    /// Whether all bytes read, or read back, had the expected digest; null if nothing was summed.
    pub digest_verified: Option<bool>,
    /// What a trial counted, if every trial read the whole file once and all counts agree.
    pub counted: Option<u64>,
    /// The figures of each trial, in the order of rounds, including excluded ones.
    #[serde(skip)]
    pub trials: Vec<TrialFigures>,
}

/// The OS counters of a worker in a trial: medians of the rounds, null where unavailable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Counters {
    /// Page faults served from memory.
    pub minor_faults: Option<u64>,
    /// Page faults that waited for a device.
    pub major_faults: Option<u64>,
    /// Context switches because the worker waited.
    pub switches_voluntary: Option<u64>,
    /// Context switches because the scheduler took the CPU away.
    pub switches_involuntary: Option<u64>,
}

impl Counters {
    fn of(measured: &Measured) -> Counters {
        let median_of = |told: fn(&Usage) -> Option<u64>, seen: fn(&Evidence) -> Option<u64>| {
            measured.median_count(|it| it.in_span(told(&it.sample.usage), seen(&it.evidence)))
        };
        Counters {
            minor_faults: median_of(|told| told.minor_faults, |seen| seen.minor_faults),
            major_faults: median_of(|told| told.major_faults, |seen| seen.major_faults),
            switches_voluntary: median_of(
                |told| told.switches_voluntary,
                |seen| seen.switches_voluntary,
            ),
            switches_involuntary: median_of(
                |told| told.switches_involuntary,
                |seen| seen.switches_involuntary,
            ),
        }
    }
}

impl Summary {
    /// Whether it called a sync and yet has no durable rate, because the evidence contradicts it.
    pub fn is_not_durable(&self) -> bool {
        let is_synced = |work: &&WriteWork| work.op != Op::Sync && work.sync != Sync::None;
        let has_no_rate = self.writing.as_ref().is_some_and(|writing| writing.durable.is_none());
        self.n > 0 && has_no_rate && self.case.write().filter(is_synced).is_some()
    }

    /// Summarizes the trials of a case, without findings and ceilings.
    pub(crate) fn of(measured: &Measured, id: String) -> Summary {
        let of_done = (measured.n() > 0).then(|| served(measured));
        let (served_by, hits) = of_done.map_or((None, None), |(by, hits)| (Some(by), hits));
        let median_of = |value: &dyn Fn(&Counted) -> Option<f64>| median(&measured.values(value));
        let failures = measured.failures();
        let throughput = throughput(measured);
        Summary {
            id,
            case: measured.case.clone(),
            role: measured.role,
            n: measured.n(),
            verdict: verdict(measured.n(), &failures, &[]),
            failures,
            excluded: Excluded::of(measured),
            served_by,
            level: None,
            hit_share: hits.map(|hits| hits.least),
            hit_share_most: hits.map(|hits| hits.most),
            cacheable_share: measured.cacheable_share(),
            throughput,
            loaded: served_by.and_then(|by| Loaded::of(measured, by)),
            bus: None,
            iops: with_mean_of(
                measured.estimate_of(&measured.iops()),
                (measured.trials.iter())
                    .map(|trial| (trial.operations as f64, trial.timed_ns as f64 / NS_PER_SECOND)),
            ),
            ns_per_op: ns_per_op(measured),
            latency: Latency::of(
                &measured.latencies(|trial| Cow::Borrowed(&trial.sample.latencies)),
            ),
            open: OpenLoop::of(measured).map(Box::new),
            mixed: Mixed::of(measured).map(Box::new),
            shared: SharedFile::of(measured),
            beside: actors(measured),
            names: NameFigures::of(measured),
            command: CommandFigures::of(measured).map(Box::new),
            writing: Writing::of(measured).map(Box::new),
            course: TimeSeries::of(measured),
            spent: Spent::of(measured),
            // What a schedule asks of each thread differs by chance.
            imbalance_percent: median_of(&|trial| {
                let is_closed = !measured.case.is_open();
                is_closed.then(|| imbalance_percent(&trial.sample.spans, measured.case.time()))?
            }),
            start_skew_ns: median_of(&|trial| {
                (trial.sample.spans.len() > 1).then(|| trial.start_skew_ns() as f64)
            }),
            setup_ns: median_of(&|trial| Some(trial.sample.setup_ns as f64)),
            counters: Counters::of(measured),
            warm_up_ns: warm_up_ns(measured),
            cpu_ns_per_op: median_of(&|trial| trial.cpu_ns_per_op()),
            bytes_per_trial: bytes_per_trial(measured),
            device_bytes: measured.median_count(|it| it.evidence.task_read_bytes),
            folio_bytes: measured.median_count(|it| it.evidence.folio_bytes),
            told: ToldFigure::of(measured).map(Box::new),
            ceiling: None,
            link: LinkUse::of(measured, served_by, throughput).map(Box::new),
            is_ceiling: false,
            of_memory: None,
            findings: Vec::new(),
            digest_verified: digest_verified(measured),
            counted: counted(measured),
            trials: trials(measured),
        }
    }

    /// Its main rate: bytes per second, or operations per second if it moves none.
    pub(crate) fn rate(&self) -> Option<Estimate> {
        self.throughput.or(self.iops)
    }

    /// Adds findings to the earlier ones and updates the verdict.
    pub(crate) fn judge(&mut self, findings: Vec<Finding>) {
        self.findings.extend(findings);
        self.findings.sort_by_key(|finding| (Reverse(finding.severity), finding.code));
        self.verdict = verdict(self.n, &self.failures, &self.findings);
    }
}

impl Loaded {
    /// The figures without loading of a case that `by` served, without ceilings.
    fn of(measured: &Measured, by: ServedBy) -> Option<Loaded> {
        if measured.case.write().is_some() {
            return None;
        }
        Some(Loaded {
            throughput: with_mean_of(
                measured.estimate_of(&measured.loaded_rates()),
                measured.trials.iter().filter_map(Counted::loaded),
            )?,
            load_ns: measured.estimate(|trial| Some(trial.load_ns()? as f64))?,
            served_by: measured.case.read().map_or(by, |work| served_loaded(work, by)),
            of_memory: None,
            ceiling: None,
        })
    }
}

/// Bytes per second; `None` for calls, which move none.
fn throughput(measured: &Measured) -> Option<Estimate> {
    let rate = measured.estimate_of(&measured.rates());
    let done = measured.trials.iter().map(Counted::done);
    with_mean_of(rate.filter(|_| !counts_calls(measured.case)), done)
}

/// The longest warm-up of a worker's runtime; `None` without any.
fn warm_up_ns(measured: &Measured) -> Option<u64> {
    let all = measured.trials.iter().map(|trial| trial.sample.warm_up_ns);
    all.max().filter(|longest| *longest > 0)
}

/// The bytes that the median trial moved; `None` for calls on names.
fn bytes_per_trial(measured: &Measured) -> Option<u64> {
    let moves = measured.case.metadata().is_none() && measured.case.command().is_none();
    measured.median_count(|trial| moves.then(|| trial.sample.bytes()))
}

/// The time of a thread per operation; none if a schedule says when each begins.
fn ns_per_op(measured: &Measured) -> Option<Estimate> {
    if measured.case.is_open() {
        return None;
    }
    let threads = f64::from(measured.case.threads());
    let spent =
        |trial: &Counted| (threads * trial.sample.elapsed_ns() as f64, trial.operations as f64);
    with_mean_of(measured.estimate_of(&measured.ns_per_op()), measured.trials.iter().map(spent))
}

/// The verdict of the most severe finding, or why there is no figure. A case is unavailable if no
/// trial failed for another reason.
fn verdict(n: usize, failures: &[(Failure, usize)], findings: &[Finding]) -> Verdict {
    let is_unavailable =
        failures.iter().all(|(failure, _)| matches!(failure, Failure::Unavailable(_)));
    match findings.iter().map(|finding| finding.severity).max() {
        _ if n == 0 && failures.is_empty() => Verdict::NotRun,
        _ if n == 0 && is_unavailable => Verdict::Unavailable,
        _ if n == 0 => Verdict::Failed,
        Some(Severity::Void) => Verdict::Void,
        Some(Severity::Doubt) => Verdict::Doubtful,
        Some(Severity::Note) | None => Verdict::Sound,
    }
}

/// Whether every summed trial has the expected digest, including trials excluded for other reasons.
fn digest_verified(measured: &Measured) -> Option<bool> {
    measured.all().filter_map(Counted::is_right).reduce(|all, this| all && this)
}

/// What each trial counted, if every trial read the whole file once and all counts agree.
fn counted(measured: &Measured) -> Option<u64> {
    let work = measured.case.read().filter(|work| work.touch == Touch::Count)?;
    let (first, others) = measured.trials.split_first()?;
    let count = first.sample.digest()?;
    let agrees = |trial: &Counted| {
        trial.sample.bytes() == work.io.size && trial.sample.digest() == Some(count)
    };
    (agrees(first) && others.iter().all(agrees)).then_some(count)
}
