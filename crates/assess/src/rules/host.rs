//! Whether a cache below the OS took the written bytes.

use super::context::Draft;
use crate::ceiling::device_read;
use crate::counted::{Counted, a_second};
use crate::finding::Severity;
use crate::row::{Row, fastest};
use crate::stats::median;
use crate::summary::ServedBy;
use crate::writing::FLUSHES_LEAST;
use model::case::{BufferPages, Cache, Fill, Io, Op, ReadWork, WriteWork};
use model::host::Medium;
use model::units::{bytes_rounded, nanoseconds, rate};

/// Writing is at most this many times as fast as the same reading (docs/method).
const WRITING_MOST: f64 = 2.0;
/// A flush that reaches a medium takes at least this long (docs/method).
const SYNC_NS_LEAST: u64 = 20_000;
/// A device writes at most this many times as fast as it reads (docs/method).
const DRAINING_MOST: f64 = 4.0;
/// Below this share of the dirty limit, the OS has not begun to write on its own: by its usual
/// settings it begins at half, and we halve that to be sure.
const BACKGROUND: f64 = 0.25;

/// Durable or direct writes look as if a cache below the OS had taken them (docs/method).
pub(super) fn host_cache(row: &Row, rows: &[Row]) -> Option<Draft> {
    if !row.stands() {
        return None;
    }
    row.measured.storage.filter(|storage| storage.medium == Medium::Block)?;
    let of_write = |work: &WriteWork| {
        faster_than_read(row, work, rows)
            .or_else(|| fast_sync(row, work))
            .or_else(|| fast_drain(row, work, rows))
    };
    let (times, seen) = row.write().and_then(of_write).or_else(|| fast_syncs_of_command(row))?;
    let message = format!("{seen}: a cache of the device, or of the host below, took the bytes");
    let remedy = "write more than such a cache holds; until then, 'device' and 'durable' hold only \
                  as far as the OS can see";
    Draft::sized(times, Severity::Doubt, message, remedy)
}

/// How many times too fast something is, and what that is.
type TooFast = (f64, String);

/// Direct writes are far faster than direct reads of the same shape.
fn faster_than_read(row: &Row, work: &WriteWork, rows: &[Row]) -> Option<TooFast> {
    let has_own_rate = work.read_share == 0 && work.io.rate == 0;
    if work.op != Op::Write || work.io.cache != Cache::Direct || !has_own_rate {
        return None;
    }
    let is_same = |read: &ReadWork| {
        let shape = |io: Io| (io.block, io.sizes, io.depth, io.threads, io.pattern);
        let same_shape = shape(read.io) == shape(work.io);
        // The value of older records is not another one.
        let [read_huge, huge] = [read.io, work.io].map(|io| io.pages == BufferPages::Huge);
        let is_alike = same_shape && read_huge == huge;
        read.io.cache == Cache::Direct && read.io.rate == 0 && is_alike
    };
    let reads = rows
        .iter()
        .filter(|other| other.is_served(ServedBy::Device) && other.read().is_some_and(is_same));
    let base = fastest(reads)?;
    let ratio = row.ratio(base)?;
    let low = ratio.low.filter(|low| *low > WRITING_MOST)?;
    let seen = format!(
        "direct writes are {:.1} times as fast as direct reads of the same shape (95 % interval \
         {low:.1}-{:.1}; '{}')",
        ratio.median, ratio.high?, base.summary.id
    );
    Some((ratio.median, seen))
}

/// The devices flushed once per sync, but too fast. A sync with nothing to write needs no flush.
fn fast_sync(row: &Row, work: &WriteWork) -> Option<TooFast> {
    let writing = row.summary.writing.as_ref()?;
    if !work.sync.claims_durable() || work.op == Op::Sync {
        return None;
    }
    let least = FLUSHES_LEAST * writing.syncs_per_trial? as f64;
    let all = row.measured.storage.map_or(1, |storage| storage.flushes_of_a_sync());
    let is_each = |flushes: &u64| (flushes / u64::from(all)) as f64 >= least;
    let flushes = writing.flushes_per_trial.filter(is_each)?;
    let p50 = writing.sync.p50.filter(|p50| p50.high_ns.is_some_and(|ns| ns < SYNC_NS_LEAST))?;
    let seen = format!(
        "half of the syncs took at most {}, though the devices flushed {flushes} times per trial",
        nanoseconds(p50.ns as f64)
    );
    Some((SYNC_NS_LEAST as f64 / p50.ns.max(1) as f64, seen))
}

/// With fewer syncs, the time of a command says nothing of one.
const SYNCS_TO_JUDGE: u64 = 100;

/// The one thread of a command called so many syncs, each flushed, that one of them took less than
/// a medium needs, even if it did nothing else.
fn fast_syncs_of_command(row: &Row) -> Option<TooFast> {
    let measured = &row.measured;
    let facts = measured.facts.filter(|facts| facts.threads <= 1)?;
    let syncs = row.summary.command.as_deref()?.syncs.filter(|syncs| *syncs >= SYNCS_TO_JUDGE)?;
    let written = measured.places.numbers(facts.written_files())?;
    let is_own = |number: &usize| *number == measured.places.own_number();
    if !written.iter().all(is_own) || facts.syncs.msync > 0 {
        return None;
    }
    let all = u64::from(measured.storage?.flushes_of_a_sync());
    let each_ns = |trial: &Counted| {
        let flushes = trial.evidence.device_flushes?.checked_div(all)?;
        let is_each = flushes as f64 >= FLUSHES_LEAST * syncs as f64;
        is_each.then(|| trial.wall_ns() as f64 / syncs as f64)
    };
    let ns = median(&measured.values(each_ns)).filter(|ns| *ns < SYNC_NS_LEAST as f64)?;
    let seen = format!(
        "it called {syncs} syncs, for each of which the devices flushed, in at most {} each",
        nanoseconds(ns)
    );
    Some((SYNC_NS_LEAST as f64 / ns, seen))
}

/// Syncs wrote dirty data far faster than the device reads. All of their time counts, so the rate
/// is a lower bound. This applies only if so little was dirty that the OS had not begun to write
/// it.
fn fast_drain(row: &Row, work: &WriteWork, rows: &[Row]) -> Option<TooFast> {
    let through_cache = work.io.cache != Cache::Direct && work.sync.claims_durable();
    let is_plain = work.op == Op::Write && work.fill == Fill::Random && work.io.threads == 1;
    if !through_cache || !is_plain || work.every == 0 {
        return None;
    }
    let dirty = work.every.saturating_mul(work.io.block);
    let trials = &row.measured.trials;
    let limit = trials.iter().filter_map(|trial| trial.evidence.dirty_limit).min()?;
    if dirty as f64 > BACKGROUND * limit as f64 {
        return None;
    }
    let drain = |trial: &Counted| {
        let sync_ns = trial.sample.spans.iter().fold(0, |sum, span| span.sync_ns.max(sum));
        a_second(trial.sample.bytes(), sync_ns)
    };
    let (least, read) = (median(&row.measured.values(drain))?, device_read(rows)?);
    (least > DRAINING_MOST * read.throughput()).then(|| {
        let seen = format!(
            "syncs after every {} wrote at {}, but the device reads at {} ('{}')",
            bytes_rounded(dirty),
            rate(least),
            rate(read.throughput()),
            read.summary.id
        );
        (least / read.throughput(), seen)
    })
}
