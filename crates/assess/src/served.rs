//! What served or took the bytes, by the evidence and never by the request.

use crate::counted::Counted;
use crate::measured::Measured;
use model::case::{Advice, Cache, Engine, Op, ReadWork, Sync, Work, WriteWork};
use model::host::{Direct, Fixture, Medium, Storage};
use model::named;
use model::pattern::Pattern;

named! {
    /// What served the bytes that were read, or took those that were written, by the evidence.
    ServedBy "served_by" {
        /// Memory: a memory kernel, or a file system that is kept in memory.
        Ram "ram",
        /// The OS's page cache.
        PageCache "page-cache",
        /// Page cache and device.
        Mixed "mixed",
        /// They crossed the block layer; caches below it are unknown.
        Device "device",
        /// Nothing: the null engine, holes, extents never written, a sync that flushed nothing.
        NoIo "no-io",
        /// Something that this machine cannot see.
        Unverified "unverified",
    }
}

/// A share of bytes up to this is the noise of the counters: metadata, the file's odd tail
/// (METHODOLOGY.md).
pub(crate) const SHARE_NOISE: f64 = 0.01;

/// Holes that cover at least this share of a file decide what its figure means.
const HOLES_MOST: f64 = 0.5;

/// What served, or took, the bytes, and the share of those read that caused no device read, where
/// it can be told.
pub(crate) fn served(measured: &Measured) -> (ServedBy, Option<f64>) {
    match (&measured.case.work, measured.storage) {
        (Work::Memory(_), _) => (ServedBy::Ram, None),
        _ if measured.case.is_null() => (ServedBy::NoIo, None),
        (Work::Read(_) | Work::Write(_), None) => (ServedBy::Unverified, None),
        (Work::Write(work), Some(storage)) => match storage.medium {
            Medium::Ram => (ServedBy::Ram, None),
            Medium::Unseen => (ServedBy::Unverified, None),
            Medium::Block if work.op == Op::Sync => (flushed(measured), None),
            Medium::Block => (taken_by(measured, work), None),
        },
        (Work::Read(work), Some(storage)) => match storage.medium {
            Medium::Ram => (ServedBy::Ram, None),
            Medium::Unseen => (ServedBy::Unverified, None),
            Medium::Block => served_by_blocks(measured, work, storage),
        },
    }
}

fn served_by_blocks(
    measured: &Measured,
    work: &ReadWork,
    storage: &Storage,
) -> (ServedBy, Option<f64>) {
    if called_share(measured, work).is_some_and(|share| share <= SHARE_NOISE) {
        return (ServedBy::NoIo, None);
    }
    // Holes that are warm are pages of zeros, which the page cache serves like any others.
    if work.io.cache != Cache::Warm && measured.fixture.is_some_and(|f| hole_share(f) >= HOLES_MOST)
    {
        return (ServedBy::NoIo, None);
    }
    let hits: Vec<(f64, u64)> = measured
        .trials
        .iter()
        .filter_map(|trial| Some((hit_share(measured, work, trial)?, trial.sample.bytes())))
        .collect();
    let app: f64 = hits.iter().map(|(_, bytes)| *bytes as f64).sum();
    if app == 0.0 {
        return (ServedBy::Unverified, None);
    }
    if measured.trials.iter().all(read_nothing) {
        return match served_without_reads(measured, work, storage) {
            ServedBy::PageCache => (ServedBy::PageCache, Some(1.0)),
            other => (other, None),
        };
    }
    let hit = hits.iter().map(|(hit, bytes)| hit * *bytes as f64).sum::<f64>() / app;
    let served_by = match hit {
        hit if hit <= SHARE_NOISE => ServedBy::Device,
        hit if hit >= 1.0 - SHARE_NOISE => ServedBy::PageCache,
        _ => ServedBy::Mixed,
    };
    (served_by, Some(hit))
}

/// What took the bytes that were written: the page cache alone, where hardly any had reached a
/// device when the clock stopped.
///
/// The rate of what is only accepted goes until the last write had returned, but the counters
/// until `sync_file_range` had: what went through the page cache need not have reached a device
/// before.
fn taken_by(measured: &Measured, work: &WriteWork) -> ServedBy {
    let is_later = work.sync == Sync::FileRange && work.io.cache != Cache::Direct;
    match unreached_share(measured) {
        None => ServedBy::Unverified,
        Some(share) if share <= SHARE_NOISE && is_later => ServedBy::Mixed,
        Some(share) if share <= SHARE_NOISE => ServedBy::Device,
        Some(share) if share >= 1.0 - SHARE_NOISE => ServedBy::PageCache,
        Some(_) => ServedBy::Mixed,
    }
}

/// The share of the bytes written that had not reached a device when the clock stopped, as far as
/// its last sync: `1 - dev/app` (METHODOLOGY.md), over all trials that tell. What others write at
/// the same time hides some of it, trial by trial. None where no trial tells, or none writes.
///
/// Of what the devices wrote each byte counts as often as it is due there at least. Where that may
/// be more often, it is known only of what hardly reached them at all.
pub(crate) fn unreached_share(measured: &Measured) -> Option<f64> {
    let pairs = measured.trials.iter().filter_map(|trial| {
        let app = trial.sample.bytes();
        Some((app.saturating_sub(measured.written_at_most(trial)?), app))
    });
    let (unreached, app) = pairs
        .fold((0.0, 0.0), |sum, (unreached, app)| (sum.0 + unreached as f64, sum.1 + app as f64));
    let share = (app > 0.0).then(|| unreached / app)?;
    let is_told = measured.writes().exact().is_some() || share >= 1.0 - SHARE_NOISE;
    is_told.then_some(share)
}

/// What a sync without a write came to: the device, if it was told to flush.
fn flushed(measured: &Measured) -> ServedBy {
    let flushes = measured.values(|trial| Some(trial.evidence.device_flushes? as f64));
    match flushes.into_iter().reduce(f64::max) {
        None => ServedBy::Unverified,
        Some(most) if most > 0.0 => ServedBy::Device,
        Some(_) => ServedBy::NoIo,
    }
}

/// What serves the bytes once they are loaded, where `by` served the whole of the trials.
///
/// A file that was loaded is read from memory of the program's own, and one that was populated
/// from the page cache, wherever it came from. What `willneed` began to read may still be on its
/// way. A mapping alone loads nothing.
pub(crate) fn served_loaded(work: &ReadWork, by: ServedBy) -> ServedBy {
    match (work.engine, work.advice, by) {
        (Engine::Load, ..) => ServedBy::Ram,
        (_, Advice::Populate, ServedBy::Device | ServedBy::Mixed) => ServedBy::PageCache,
        (_, Advice::WillNeed, ServedBy::Device) => ServedBy::Mixed,
        _ => by,
    }
}

/// The share of a file for which nothing is stored; 0 where the file system does not tell.
pub(crate) fn hole_share(fixture: &Fixture) -> f64 {
    let unwritten = fixture.layout.as_ref().map_or(0, |layout| layout.unwritten);
    if fixture.size == 0 { 0.0 } else { unwritten as f64 / fixture.size as f64 }
}

/// The share of a trial's bytes that caused no read of a device: `1 - task/app` (METHODOLOGY.md).
/// The worker's own counter decides; where there is none, what the devices read for anyone, which
/// sees too few hits if others read too. None where neither is known.
///
/// Readahead fetches more than was asked for, and that hides hits from the counter. Over a whole
/// pass it cannot: a page that is cached is not fetched. In a random part of a pass it can, and
/// there the share of the file that was cached before is what is expected to hit.
pub(crate) fn hit_share(measured: &Measured, work: &ReadWork, trial: &Counted) -> Option<f64> {
    let fetched = trial.evidence.task_read_bytes.or(measured.read_once(trial))?;
    let app = trial.sample.bytes();
    let by_counter = (1.0 - fetched as f64 / app as f64).clamp(0.0, 1.0);
    let is_partial_random = work.io.pattern == Pattern::Random && app < work.io.size;
    if work.io.cache == Cache::Direct || !is_partial_random {
        return Some(by_counter);
    }
    let by_residency = trial.evidence.residency_before.map_or(0.0, |before| before.share());
    Some(by_counter.max(by_residency))
}

/// The share of the bytes of all trials that the worker's calls to read returned at most, where
/// those calls are how its engine moves bytes. None where nobody counted them.
pub(crate) fn called_share(measured: &Measured, work: &ReadWork) -> Option<f64> {
    if !matches!(work.engine, Engine::Read | Engine::Pread | Engine::Buffered) {
        return None;
    }
    let told = measured.trials.iter().filter_map(|trial| {
        Some((trial.evidence.task_rchar_bytes? as f64, trial.sample.bytes() as f64))
    });
    let (called, app) = told.fold((0.0, 0.0), |sum, (called, app)| (sum.0 + called, sum.1 + app));
    (app > 0.0).then(|| called / app)
}

/// Whether neither the worker nor any device read anything, as far as they are known.
fn read_nothing(trial: &Counted) -> bool {
    let evidence = trial.evidence;
    evidence.task_read_bytes.unwrap_or(0) == 0 && evidence.device_read_bytes.unwrap_or(0) == 0
}

/// What served bytes for which no device read anything.
fn served_without_reads(measured: &Measured, work: &ReadWork, storage: &Storage) -> ServedBy {
    if work.io.cache == Cache::Direct {
        let bypasses = !matches!(storage.direct, Direct::Accepted { bypasses: Some(false), .. });
        return if bypasses { ServedBy::NoIo } else { ServedBy::PageCache };
    }
    let cached = measured.values(|trial| Some(trial.evidence.residency_before?.share()));
    match cached.into_iter().reduce(f64::max) {
        None => ServedBy::Unverified,
        Some(share) if share <= SHARE_NOISE => ServedBy::NoIo,
        Some(_) => ServedBy::PageCache,
    }
}
