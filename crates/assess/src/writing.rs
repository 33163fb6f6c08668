//! The figures of a writing case: acknowledged and durable.

use crate::counted::{Counted, NS_PER_SECOND, a_second, only_syncs};
use crate::latency::Latency;
use crate::measured::{Measured, Rounds, with_mean_of};
use crate::stats::{Estimate, median};
use model::case::{Allocation, Cache, Op, Sync, WriteWork};
use model::host::{Device, Medium, WriteCache};
use model::sample::{Sample, Span};

/// What a case that writes comes to.
#[derive(Debug, Clone, PartialEq)]
pub struct Writing {
    /// The acknowledged rate in bytes per second, until the last write had returned. None if
    /// unknown, as for a program timed as a whole.
    pub accepted: Option<Estimate>,
    /// The durable rate in bytes per second, until the last sync had returned. None if the case
    /// claims none, or the evidence contradicts it.
    pub durable: Option<Estimate>,
    /// Percentiles of the syncs that were calls of their own.
    pub sync: Latency,
    /// How many of them a trial made: median of the rounds.
    pub syncs_per_trial: Option<u64>,
    /// Flushes of their caches that the devices completed in a trial: median of the rounds.
    pub flushes_per_trial: Option<u64>,
    /// Bytes the devices wrote in a trial: median of the rounds.
    pub device_write_bytes: Option<u64>,
    /// Bytes of the file that were in the page cache only when the clock had stopped: median.
    pub dirty_left: Option<u64>,
    /// Whether what was written was read back and was right in all trials; none where none was.
    pub read_back: Option<bool>,
    /// Whether all of it was read from below the page cache, by proof.
    pub read_back_past_cache: Option<bool>,
}

/// What a trial spent its time on: medians of the rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spent {
    /// Nanoseconds from the first thread's start to the last thread's end, syncs included.
    pub wall_ns: f64,
    /// CPU nanoseconds in the program itself; none where no tick of the OS fell into it.
    pub user_ns: Option<f64>,
    /// CPU nanoseconds in the OS.
    pub system_ns: Option<f64>,
    /// CPU time of the whole worker by wall time: 1 is one processor.
    pub processors: f64,
    /// The share of the threads' time in which they neither ran nor waited for a processor, 0 to
    /// 1: they waited for I/O, or for each other.
    pub blocked_share: Option<f64>,
}

/// Fewer flushes than this for each sync of a thread: not every sync was one (METHODOLOGY.md).
pub(crate) const FLUSHES_LEAST: f64 = 0.90;

/// The evidence about a claim of durability (METHODOLOGY.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// Nothing is claimed.
    NotClaimed,
    /// Nothing contradicts it.
    Holds,
    /// This machine's counters cannot see it.
    Unseen,
    /// The devices have caches, and do not count their flushes.
    Uncounted,
    /// They completed too few flushes, and whether they have caches is unknown.
    CacheUnknown,
    /// Writes through the caches may have taken the place of flushes.
    Through {
        /// Whether the OS says that all devices can.
        is_sure: bool,
        /// Whether as many writes were counted.
        is_counted: bool,
    },
    /// The mount flushes nothing.
    BarriersOff {
        /// Whether writes through the caches may have reached the medium all the same.
        is_through: bool,
    },
    /// The file system keeps its files in memory.
    InMemory,
    /// In this many trials, the worker reported no sync that returned.
    Untold(usize),
    /// In this many trials, the devices completed fewer flushes than there were syncs.
    Unflushed(usize),
}

impl Durability {
    /// By the evidence of all trials.
    pub(crate) fn of(measured: &Measured) -> Durability {
        let Some(work) = measured.write().filter(|work| work.sync.claims_durable()) else {
            return Durability::NotClaimed;
        };
        let count = |is_seen: &dyn Fn(&Counted) -> bool| {
            measured.trials.iter().filter(|trial| is_seen(trial)).count()
        };
        let is_untold = |trial: &Counted| work.sync.is_call() && trial.sample.synced_ns().is_none();
        let untold = count(&is_untold);
        let medium = measured.storage.map(|storage| storage.medium);
        let storage = match (medium, measured.storage) {
            (Some(Medium::Ram), _) => return Durability::InMemory,
            _ if untold > 0 && work.op != Op::Sync => return Durability::Untold(untold),
            (Some(Medium::Unseen), _) | (_, None) => return Durability::Unseen,
            (_, Some(storage)) => storage,
        };
        let may_cache = |device: &&Device| device.write_cache != Some(WriteCache::Through);
        let cached = || storage.devices.iter().filter(may_cache);
        if cached().next().is_none() && !storage.drops_syncs() {
            return Durability::Holds;
        }
        let caches = cached().any(|device| device.write_cache == Some(WriteCache::Back));
        let may_write_through = cached().all(|device| device.fua != Some(false));
        if storage.drops_syncs() || (storage.are_barriers_off() && caches) {
            // A write past the page cache that changes no metadata is sent through by itself.
            let is_plain =
                work.allocation == Allocation::Overwrite && work.io.cache == Cache::Direct;
            let is_through = may_write_through && is_plain && work.sync == Sync::Dsync;
            return Durability::BarriersOff { is_through: is_through && !storage.drops_syncs() };
        }
        let once = storage.writes().least.max(1);
        let through =
            |trial: &Counted| may_write_through && is_written_through(work, trial, once.into());
        let all = storage.flushes_of_a_sync();
        let is_flushed = |trial: &Counted| is_flushed(work, trial, all.into());
        let unflushed = count(&|trial| !through(trial) && is_flushed(trial) == Some(false));
        let uncounted = count(&|trial| !through(trial) && is_flushed(trial).is_none());
        let through = count(&|trial| is_flushed(trial) != Some(true) && through(trial));
        match (unflushed, uncounted, through) {
            (0, 0, 0) => Durability::Holds,
            (0, 0, _) => Durability::Through {
                is_sure: cached().all(|device| device.fua == Some(true)),
                is_counted: measured.trials.iter().all(|t| t.evidence.device_writes.is_some()),
            },
            (0, ..) => Durability::Uncounted,
            (trials, ..) if caches => Durability::Unflushed(trials),
            _ => Durability::CacheUnknown,
        }
    }

    /// Whether the rate until the last sync is that of durable data, as far as the evidence goes.
    fn is_durable(self) -> bool {
        let is_denied = matches!(
            self,
            Durability::NotClaimed
                | Durability::InMemory
                | Durability::Untold(_)
                | Durability::Unflushed(_)
                | Durability::BarriersOff { is_through: false }
        );
        !is_denied
    }
}

/// Whether the devices flushed their caches as often as the syncs ask for, where they tell.
///
/// Threads that sync at the same time may share a commit of the journal and its flush, so the
/// syncs of one thread count; and what one thread has in flight may share one too. The devices
/// count `all` flushes together for one of the file system.
fn is_flushed(work: &WriteWork, trial: &Counted, all: u64) -> Option<bool> {
    let flushes = trial.evidence.device_flushes? / all;
    let at_once = if work.sync == Sync::Dsync { work.io.depth } else { 1 };
    let of_one = syncs_due(work, trial) as f64 / f64::from(work.io.threads) / f64::from(at_once);
    Some(flushes as f64 >= (FLUSHES_LEAST * of_one).max(1.0))
}

/// Whether writes through to the medium (FUA) may have taken the place of flushes for `O_DSYNC`:
/// they are counted as writes, one at least for each operation; `times` of them for each write of
/// the file system.
fn is_written_through(work: &WriteWork, trial: &Counted, times: u64) -> bool {
    // Writes that are not counted may have been.
    let are_seen = |writes: u64| writes / times >= trial.sample.ops();
    work.sync == Sync::Dsync && trial.evidence.device_writes.is_none_or(are_seen)
}

/// The syncs that a trial owes, over all threads: those that the worker told of, or those that the
/// case asks for where they are more. With `O_DSYNC` each write is one.
pub(crate) fn syncs_due(work: &WriteWork, trial: &Counted) -> u64 {
    let Sample { spans, syncs, .. } = &trial.sample;
    let asked = match work.sync {
        Sync::Dsync => trial.sample.ops(),
        _ => work.sync_calls(spans),
    };
    syncs.count().max(asked)
}

/// The syncs of a trial that were calls of their own: those that the worker told of, else as many
/// as the case asks for.
pub(crate) fn syncs(work: &WriteWork, trial: &Counted) -> u64 {
    match trial.sample.syncs.count() {
        0 => work.sync_calls(&trial.sample.spans),
        told => told,
    }
}

/// The bytes that a device must have written once what the trial wrote is durable: a block that
/// was written twice before a sync need be stored once only.
pub(crate) fn distinct_bytes(work: &WriteWork, sample: &Sample) -> u64 {
    let of_span = |span: &Span| {
        let is_planned = span.thread < work.io.threads;
        let steps = if is_planned { work.io.steps(span.thread).count } else { work.io.blocks() };
        span.bytes.min(steps.saturating_mul(work.io.block))
    };
    let sum = sample.spans.iter().fold(0, |sum: u64, span| sum.saturating_add(of_span(span)));
    sum.min(work.io.size)
}

/// Bytes per second until the last write had returned. None where that took no time, and where a
/// program was timed as a whole: no operation of it was timed, and the sync ended with it.
fn accepted_rate(work: &WriteWork, trial: &Counted) -> Option<f64> {
    let sample = trial.sample;
    let is_whole = sample.latencies.count() == 0
        && sample.spans.iter().all(|span| span.synced_ns == Some(span.end_ns));
    if work.sync.is_call() && is_whole {
        return None;
    }
    a_second(sample.bytes(), sample.elapsed_ns())
}

/// The acknowledged rate of a trial, counted or left out, if it has one.
pub(crate) fn accepted_of(measured: &Measured, trial: &Counted) -> Option<f64> {
    let work = measured.write().filter(|work| work.op != Op::Sync)?;
    accepted_rate(work, trial)
}

/// Whether the rates of the trials are those of durable data, as far as the evidence goes.
pub(crate) fn is_durable(measured: &Measured) -> bool {
    !only_syncs(measured.case) && Durability::of(measured).is_durable()
}

/// The acknowledged rate of each round that has one.
pub(crate) fn accepted_rates(measured: &Measured) -> Rounds {
    let rate = |trial: &Counted| Some(trial.at(accepted_of(measured, trial)?));
    measured.trials.iter().filter_map(rate).collect()
}

/// The durable rate of each round; empty where it was not durable.
pub(crate) fn durable_rates(measured: &Measured) -> Rounds {
    if is_durable(measured) { measured.rates() } else { Rounds::new() }
}

impl Writing {
    /// What a case comes to, if it writes and a trial counts.
    pub(crate) fn of(measured: &Measured) -> Option<Writing> {
        let work = measured.write().filter(|_| measured.n() > 0)?;
        let median_of = |value: &dyn Fn(&Counted) -> Option<u64>| {
            let values = measured.values(|trial| Some(value(trial)? as f64));
            median(&values).map(|value| value.round() as u64)
        };
        let read_back = || measured.trials.iter().filter_map(|trial| trial.read_back);
        let page = measured.host.page;
        Some(Writing {
            accepted: with_mean_of(
                measured.estimate_of(&accepted_rates(measured)),
                measured.trials.iter().filter_map(|trial| {
                    accepted_of(measured, trial)?;
                    let sample = trial.sample;
                    Some((sample.bytes() as f64, sample.elapsed_ns() as f64 / NS_PER_SECOND))
                }),
            ),
            durable: with_mean_of(
                measured.estimate_of(&durable_rates(measured)),
                measured.trials.iter().map(Counted::done),
            ),
            sync: Latency::of(&measured.latencies(|trial| &trial.sample.syncs)),
            syncs_per_trial: median_of(&|trial| Some(syncs(work, trial)))
                .filter(|_| work.sync.is_call()),
            flushes_per_trial: median_of(&|trial| trial.evidence.device_flushes),
            device_write_bytes: median_of(&|trial| trial.evidence.device_write_bytes),
            dirty_left: median_of(&|trial| {
                Some(trial.evidence.residency_after?.dirty?.saturating_mul(page))
            }),
            read_back: read_back()
                .map(|seen| seen.digest == seen.expected)
                .reduce(|all, this| all && this),
            read_back_past_cache: read_back()
                .map(|seen| seen.is_past_cache)
                .reduce(|all, this| all && this),
        })
    }
}

/// The CPU nanoseconds of a trial in the program itself and in the OS. The OS splits in ticks what
/// it counts exactly, so the worker's are the exact time in the same proportion.
fn split(trial: &Counted) -> Option<(f64, f64)> {
    let (told, seen) = (trial.sample.usage, trial.evidence);
    let user_ns = trial.in_span(told.user_ns, seen.cpu_user_ns)? as f64;
    let system_ns = trial.in_span(told.system_ns, seen.cpu_system_ns)? as f64;
    let (cpu_ns, all_ns) = (trial.cpu_ns()? as f64, user_ns + system_ns);
    (all_ns > 0.0).then(|| (cpu_ns * user_ns / all_ns, cpu_ns * system_ns / all_ns))
}

impl Spent {
    /// What a trial of a case spent its time on, where the OS tells of its CPU time.
    pub(crate) fn of(measured: &Measured) -> Option<Spent> {
        let threads = f64::from(measured.case.threads());
        let median_of = |value: &dyn Fn(&Counted) -> Option<f64>| median(&measured.values(value));
        let wall_ns = |trial: &Counted| {
            let wall_ns = trial.wall_ns() as f64;
            (wall_ns > 0.0).then_some(wall_ns)
        };
        let cpu_ns = |trial: &Counted| Some(trial.cpu_ns()? as f64);
        Some(Spent {
            wall_ns: median_of(&wall_ns)?,
            user_ns: median_of(&|trial| Some(split(trial)?.0)),
            system_ns: median_of(&|trial| Some(split(trial)?.1)),
            processors: median_of(&|trial| Some(cpu_ns(trial)? / wall_ns(trial)?))?,
            blocked_share: median_of(&|trial| {
                let ran_ns = trial.own_cpu_ns()? as f64 + trial.run_delay_ns()? as f64;
                Some((1.0 - ran_ns / (threads * wall_ns(trial)?)).clamp(0.0, 1.0))
            }),
        })
    }
}
