//! The figures of a writing case: acknowledged and durable.

use crate::counted::{Counted, a_second, only_syncs};
use crate::form::As;
use crate::latency::{Latency, OfSyncs};
use crate::measured::{Measured, Rounds, with_mean_of};
use crate::served::SHARE_NOISE;
use crate::stats::Estimate;
use model::case::{Allocation, Cache, Io, Op, Sync, WriteEngine, WriteWork};
use model::host::{Device, Medium, Storage};
use model::part::Part;
use model::path::WriteCache;
use model::sample::{Sample, Span};
use model::units::NS_PER_SECOND;
use model::writing::WRITE_BUFFER;
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;

/// The results of a case that writes.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Writing {
    /// The acknowledged rate in bytes per second, until the last write returned. Null if unknown,
    /// as for a program timed as a whole.
    pub acknowledged: Option<Estimate>,
    /// The durable rate in bytes per second, until the last sync returned. Null if the case
    /// claims none, or the evidence contradicts it.
    pub durable: Option<Estimate>,
    /// Percentiles of separate sync calls.
    #[serde(flatten, with = "As::<OfSyncs>")]
    pub sync: Latency,
    /// The number of sync calls per trial: median of the rounds.
    pub syncs_per_trial: Option<u64>,
    /// Cache flushes that the devices completed per trial: median of the rounds.
    pub flushes_per_trial: Option<u64>,
    /// Bytes that the devices wrote per trial: median of the rounds.
    pub device_write_bytes: Option<u64>,
    /// Bytes of the file that were only in the page cache when the clock stopped: median of the
    /// rounds.
    #[serde(rename = "dirty_left_bytes")]
    pub dirty_left: Option<u64>,
    /// Whether everything that was read back was correct in all trials; null if nothing was read
    /// back.
    #[serde(rename = "read_back_verified")]
    pub read_back: Option<bool>,
    /// Whether all of it was verified to come from below the page cache.
    pub read_back_past_cache: Option<bool>,
}

/// With fewer flushes per sync of a thread than this, not every sync was flushed (docs/method).
pub(crate) const FLUSHES_LEAST: f64 = 0.90;

/// With a smaller share of bytes that had to become durable, a rate is not that of durable data
/// (docs/method).
const DURABLE_LEAST: f64 = 0.99;

/// The evidence about a claim of durability (docs/method).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Durability {
    /// Nothing is claimed.
    NotClaimed,
    /// Nothing contradicts it.
    Holds,
    /// This machine's counters cannot see it, or not where the journal is.
    Unseen,
    /// The devices have caches, but do not count flushes.
    Uncounted,
    /// The devices completed too few flushes, and whether they have caches is unknown.
    CacheUnknown,
    /// Write-through requests (FUA) may have replaced flushes.
    Through {
        /// Whether the OS reports that all devices support them.
        is_sure: bool,
        /// Whether enough writes were counted.
        is_counted: bool,
    },
    /// Syncs do nothing, not even write: a mount drops them.
    Dropped,
    /// This share of the bytes was still dirty in the page cache after the last sync.
    Dirty(f64),
    /// A mount or a device prevents flushes.
    BarriersOff {
        /// Whether FUA writes may have reached the medium anyway.
        is_through: bool,
    },
    /// The file system, or a part of it without a copy on a disk, is in memory.
    InMemory,
    /// In this many trials, the worker reported no sync that returned.
    Untold(usize),
    /// The trials wrote a block so often between two syncs, on average: all but the last version
    /// never had to become durable.
    Rewritten(f64),
    /// In this many trials, the devices completed fewer flushes than there were syncs.
    Unflushed(usize),
}

impl Durability {
    /// The result from the evidence of all trials.
    pub(crate) fn of(measured: &Measured) -> Durability {
        let synced = match Durability::of_syncs(measured) {
            Durability::Holds | Durability::Through { .. }
                if measured.storage.is_some_and(Storage::has_unseen_parts) =>
            {
                Durability::Unseen
            }
            seen => seen,
        };
        let work = measured.write().filter(|_| synced.is_durable());
        work.and_then(|work| rewrites(work, measured)).map_or(synced, Durability::Rewritten)
    }

    /// The evidence that syncs did what they claim.
    fn of_syncs(measured: &Measured) -> Durability {
        let Some(work) = measured.write().filter(|work| work.sync.claims_durable()) else {
            return Durability::NotClaimed;
        };
        let count = |is_seen: &dyn Fn(&Counted) -> bool| {
            measured.trials.iter().filter(|trial| is_seen(trial)).count()
        };
        let is_untold = |trial: &Counted| work.sync.is_call() && trial.sample.synced_ns().is_none();
        let untold = count(&is_untold);
        let is_lost = |it: &Storage| it.medium == Medium::Ram || it.loses_parts();
        if measured.storage.is_some_and(is_lost) {
            return Durability::InMemory;
        }
        if untold > 0 && work.op != Op::Sync {
            return Durability::Untold(untold);
        }
        // Also where what is below cannot be seen, as in a container on such an overlay.
        // Those of a mapping, and writes with O_DSYNC, pass the mount: counters judge them.
        let passes = matches!(work.sync, Sync::Msync | Sync::Dsync);
        if !passes && measured.storage.is_some_and(Storage::drops_syncs) {
            return Durability::Dropped;
        }
        if let Some(share) = dirty_share(work, measured) {
            return Durability::Dirty(share);
        }
        let seen = measured.storage.filter(|storage| storage.medium != Medium::Unseen);
        let Some(storage) = seen else { return Durability::Unseen };
        let may_cache = |device: &&Device| device.write_cache != Some(WriteCache::Through);
        let cached = || storage.devices.iter().filter(may_cache);
        let caches = cached().any(|device| device.write_cache == Some(WriteCache::Back));
        let may_write_through = cached().all(|device| device.fua != Some(false));
        if storage.are_barriers_off() && storage.has_volatile_cache() {
            // A direct write that changes no metadata can be sent as FUA.
            let is_plain =
                work.allocation == Allocation::Overwrite && work.io.cache == Cache::Direct;
            let is_sent = may_write_through && caches && !storage.is_flush_stopped();
            let is_through = is_sent && is_plain && work.sync == Sync::Dsync;
            return Durability::BarriersOff { is_through };
        }
        if cached().next().is_none() {
            return Durability::Holds;
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

    /// Whether the rate up to the last sync is that of durable data, as far as the evidence shows.
    fn is_durable(self) -> bool {
        !matches!(
            self,
            Durability::NotClaimed
                | Durability::InMemory
                | Durability::Untold(_)
                | Durability::Rewritten(_)
                | Durability::Dropped
                | Durability::Dirty(_)
                | Durability::Unflushed(_)
                | Durability::BarriersOff { is_through: false }
        )
    }
}

/// The share of the owed bytes that was still dirty after the last sync, above the noise.
fn dirty_share(work: &WriteWork, measured: &Measured) -> Option<f64> {
    let share = measured.total_share(|trial| {
        let dirty = trial.evidence.residency_after?.dirty?.saturating_mul(measured.host.page);
        // Passes over a file leave no more of it dirty than there is.
        let owed = durable_bytes(work, measured.part, trial.sample).min(work.io.size.max(1));
        Some((dirty.min(owed), owed))
    });
    share.filter(|share| *share > SHARE_NOISE)
}

/// Whether the devices flushed their caches as often as the syncs require, if they count flushes.
///
/// Threads that sync at the same time may share a journal commit and its flush, so only one
/// thread's syncs count. One thread's operations in flight may also share one. The devices count
/// `all` flushes in total for one by the file system.
fn is_flushed(work: &WriteWork, trial: &Counted, all: u64) -> Option<bool> {
    let flushes = trial.evidence.device_flushes? / all;
    let at_once = if work.sync == Sync::Dsync { work.io.depth } else { 1 };
    let of_one = syncs_due(work, trial) as f64 / f64::from(work.io.threads) / f64::from(at_once);
    let owes_none = work.read_share > 0 && trial.sample.written_ops() == 0;
    Some(owes_none || flushes as f64 >= (FLUSHES_LEAST * of_one).max(1.0))
}

/// Whether FUA writes may have replaced flushes for `O_DSYNC`. They count as writes, at least one
/// per operation, and `times` as many on the devices as in the file system.
fn is_written_through(work: &WriteWork, trial: &Counted, times: u64) -> bool {
    // Uncounted writes may have occurred.
    let are_seen = |writes: u64| writes / times >= write_calls(work, trial);
    work.sync == Sync::Dsync && trial.evidence.device_writes.is_none_or(are_seen)
}

/// The calls that wrote: small blocks share one of the engine that writes through a buffer of the
/// program.
fn write_calls(work: &WriteWork, trial: &Counted) -> u64 {
    let in_a_call = match work.engine {
        WriteEngine::Buffered => (WRITE_BUFFER / work.io.block.max(1)).max(1),
        _ => 1,
    };
    trial.sample.written_ops().div_ceil(in_a_call)
}

/// The syncs that a trial owes, over all threads: those that the worker reported, or those that the
/// case requests, if more. With `O_DSYNC`, each call that writes is one. A sync of a mix before
/// which only reads came has nothing to flush.
pub(crate) fn syncs_due(work: &WriteWork, trial: &Counted) -> u64 {
    let Sample { spans, syncs, .. } = &trial.sample;
    let asked = match work.sync {
        Sync::Dsync => write_calls(work, trial),
        _ => work.sync_calls(spans),
    };
    let due = syncs.count().max(asked);
    if work.read_share > 0 { due.min(trial.sample.written_ops()) } else { due }
}

/// The separate sync calls of a trial: those that the worker reported, or else as many as the case
/// requests.
pub(crate) fn syncs(work: &WriteWork, trial: &Counted) -> u64 {
    match trial.sample.syncs.count() {
        0 => work.sync_calls(&trial.sample.spans),
        told => told,
    }
}

/// The bytes of a trial that had to become durable: a block that is written again before the next
/// sync of its thread has to be stored only once.
pub(crate) fn durable_bytes(work: &WriteWork, part: Part, sample: &Sample) -> u64 {
    if work.sync == Sync::Dsync || work.op != Op::Write {
        return sample.written_bytes();
    }
    let io = Io { part, ..work.io };
    let write_share = 1.0 - f64::from(work.read_share) / 100.0;
    let of_span = |span: &Span| {
        let is_planned = span.thread < io.threads;
        let steps = if is_planned { io.steps(span.thread).count } else { io.blocks() };
        let between = if work.every == 0 { span.ops } else { work.every.min(span.ops) };
        let share = different_share(steps, between, write_share);
        span.bytes.saturating_sub(span.read_bytes) as f64 * share
    };
    let sum = sample.spans.iter().map(of_span).sum::<f64>().round() as u64;
    if work.every == 0 { sum.min(work.io.size) } else { sum }
}

/// The expected share of different blocks among those written by so many operations, which go
/// through `steps` blocks again and again. This share of the operations writes, by chance.
fn different_share(steps: u64, operations: u64, write_share: f64) -> f64 {
    let steps = steps.max(1);
    if operations <= steps {
        return 1.0;
    }
    let (passes, rest) = (operations / steps, operations % steps);
    let written = |passes: u64| 1.0 - (1.0 - write_share).powf(passes as f64);
    let blocks = rest as f64 * written(passes + 1) + (steps - rest) as f64 * written(passes);
    blocks / (operations as f64 * write_share)
}

/// How often the trials wrote a block between two syncs on average, if that was more than once for
/// more than 1 % of the bytes.
fn rewrites(work: &WriteWork, measured: &Measured) -> Option<f64> {
    let share = measured.total_share(|trial| {
        let sample = trial.sample;
        Some((durable_bytes(work, measured.part, sample), sample.written_bytes()))
    })?;
    (share > 0.0 && share < DURABLE_LEAST).then(|| 1.0 / share)
}

/// Bytes per second until the last write returned. `None` if that took no time, or if a program was
/// timed as a whole: it timed no operations, and its sync is included.
fn accepted_rate(work: &WriteWork, trial: &Counted) -> Option<f64> {
    let sample = trial.sample;
    let is_whole = sample.latencies.count() == 0
        && sample.spans.iter().all(|span| span.synced_ns == Some(span.end_ns));
    if work.sync.is_call() && is_whole {
        return None;
    }
    a_second(sample.written_bytes(), sample.elapsed_ns())
}

/// The acknowledged rate of a trial, counted or excluded, if it has one.
pub(crate) fn acknowledged_of(measured: &Measured, trial: &Counted) -> Option<f64> {
    let work = measured.write().filter(|work| work.op != Op::Sync)?;
    accepted_rate(work, trial)
}

/// Whether the rates of the trials are those of durable data, as far as the evidence shows.
pub(crate) fn is_durable(measured: &Measured) -> bool {
    !only_syncs(measured.case) && Durability::of(measured).is_durable()
}

/// The acknowledged rate of each round that has one.
pub(crate) fn acknowledged_rates(measured: &Measured) -> Rounds {
    let rate = |trial: &Counted| Some(trial.at(acknowledged_of(measured, trial)?));
    measured.at_the_end(measured.trials.iter().filter_map(rate).collect())
}

/// The durable rate of each round; empty if the data was not durable.
pub(crate) fn durable_rates(measured: &Measured) -> Rounds {
    let rate = |trial: &Counted| trial.at(trial.written_rate());
    let rates =
        if is_durable(measured) { measured.trials.iter().map(rate).collect() } else { vec![] };
    measured.at_the_end(rates)
}

impl Writing {
    /// The results of a case, if it writes and a trial counts.
    pub(crate) fn of(measured: &Measured) -> Option<Writing> {
        let work = measured.write().filter(|_| measured.n() > 0)?;
        let read_back = || measured.trials.iter().filter_map(|trial| trial.read_back);
        let page = measured.host.page;
        Some(Writing {
            acknowledged: with_mean_of(
                measured.estimate_of(&acknowledged_rates(measured)),
                measured.trials.iter().filter_map(|trial| {
                    acknowledged_of(measured, trial)?;
                    let sample = trial.sample;
                    let written = sample.written_bytes() as f64;
                    Some((written, sample.elapsed_ns() as f64 / NS_PER_SECOND))
                }),
            ),
            durable: with_mean_of(
                measured.estimate_of(&durable_rates(measured)),
                measured.trials.iter().map(|trial| {
                    let (_, seconds) = trial.done();
                    (trial.written_rate() * seconds, seconds)
                }),
            ),
            sync: Latency::of(&measured.latencies(|trial| Cow::Borrowed(&trial.sample.syncs))),
            syncs_per_trial: measured
                .median_count(|trial| Some(syncs(work, trial)))
                .filter(|_| work.sync.is_call()),
            flushes_per_trial: measured.median_count(|trial| trial.evidence.device_flushes),
            device_write_bytes: measured.median_count(|trial| trial.evidence.device_write_bytes),
            dirty_left: measured.median_count(|trial| {
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
