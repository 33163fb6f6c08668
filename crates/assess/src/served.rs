//! What served the reads or took the writes, according to the evidence, never to the request.

use crate::commands::{self, CommandReads};
use crate::counted::Counted;
use crate::hits::{Hits, fetched_bytes, hit_share, hole_reads_share};
use crate::measured::Measured;
pub(crate) use crate::measured::SHARE_NOISE;
use crate::names::{self, Flushed, NameSources};
pub use crate::served_by::ServedBy;
use model::case::{Advice, BlockPlace, Cache, Call, MetadataWork, NameSync, Op, ReadCalls};
use model::case::{ReadWork, Sync, Work, WriteWork};
use model::evidence::Residency;
use model::host::{Direct, Medium, Storage};
use model::plan::Role;

/// The bytes that an inode takes on common file systems. Reads of less than a hundredth for each
/// name are noise.
pub(crate) const INODE_BYTES: u64 = 256;

/// With less than this share of a file in the page cache, it is not warm (docs/method).
pub(crate) const WARM_LEAST: f64 = 0.999;

/// What served or took the bytes, and the share of reads that caused no device read, if known.
pub(crate) fn served(measured: &Measured) -> (ServedBy, Option<Hits>) {
    match served_as_on_disks(measured) {
        (ServedBy::Device, hits) if measured.is_partly_in_memory() => (ServedBy::Mixed, hits),
        served => served,
    }
}

/// The same, if all that is below the block layer is on disks.
fn served_as_on_disks(measured: &Measured) -> (ServedBy, Option<Hits>) {
    match (&measured.case.work, measured.storage) {
        // The caches' sizes decide, once all rows are there to show them.
        (Work::Memory(_), _) => (ServedBy::CpuCacheOrRam, None),
        // The program that does nothing reads no data.
        (Work::Command(_), _) if measured.role == Role::Baseline => (ServedBy::NoIo, None),
        (Work::Command(_), _) => {
            let by = match (commands::reads(measured), commands::medium(measured)) {
                (CommandReads::None, _) => ServedBy::NoIo,
                (_, None | Some(Medium::Unseen)) => ServedBy::Unverified,
                (_, Some(Medium::Ram)) => ServedBy::Ram,
                (CommandReads::Cached, _) => ServedBy::PageCache,
                (CommandReads::FromDevices, _) => ServedBy::Device,
                (CommandReads::FromBoth, _) => ServedBy::Mixed,
                (CommandReads::Unseen, _) => ServedBy::Unverified,
            };
            (by, None)
        }
        _ if measured.case.is_null() => (ServedBy::NoIo, None),
        (Work::Read(_) | Work::Write(_) | Work::Metadata(_), None) => (ServedBy::Unverified, None),
        (Work::Metadata(work), Some(storage)) => match storage.medium {
            Medium::Ram => (ServedBy::Ram, None),
            Medium::Unseen if names::are_answered_here(measured, work) => {
                (ServedBy::NameCache, None)
            }
            Medium::Unseen => (ServedBy::Unverified, None),
            Medium::Block => (served_names(measured, work), None),
        },
        (Work::Write(work), Some(storage)) => match storage.medium {
            Medium::Ram => (ServedBy::Ram, None),
            Medium::Unseen => (ServedBy::Unverified, None),
            Medium::Block if work.op == Op::Sync => (flushed(measured), None),
            Medium::Block => (taken_by(measured, work), None),
        },
        (Work::Read(work), Some(storage)) => match storage.medium {
            Medium::Ram => (ServedBy::Ram, None),
            Medium::Unseen => unless_cached(measured, work),
            Medium::Block => served_by_blocks(measured, work, storage),
        },
    }
}

/// What served reads that no counter shows: the page cache, if it held the file before and after
/// every trial. Otherwise something unseen may have.
fn unless_cached(measured: &Measured, work: &ReadWork) -> (ServedBy, Option<Hits>) {
    let is_through_cache = matches!(work.io.cache, Cache::Warm | Cache::AsIs);
    let is_whole = |seen: Option<Residency>| seen.is_some_and(|seen| seen.share() >= WARM_LEAST);
    let is_cached = |trial: &Counted| {
        is_whole(trial.evidence.residency_before) && is_whole(trial.evidence.residency_after)
    };
    match is_through_cache && measured.n() > 0 && measured.trials.iter().all(is_cached) {
        true => (ServedBy::PageCache, Some(Hits { least: 1.0, most: 1.0 })),
        false => (ServedBy::Unverified, None),
    }
}

fn served_by_blocks(
    measured: &Measured,
    work: &ReadWork,
    storage: &Storage,
) -> (ServedBy, Option<Hits>) {
    if called_share(measured, work).is_some_and(|share| share <= SHARE_NOISE) {
        return (ServedBy::NoIo, None);
    }
    let hits = mean_hits(measured, |trial| {
        let Hits { least, most } = hit_share(measured, work, trial)?;
        let below = cached_below(trial).unwrap_or(0.0);
        Some(Hits { least: least.max(below), most: most.max(below) })
    });
    let Some(hits) = hits else { return unless_cached(measured, work) };
    if measured.trials.iter().all(read_nothing) {
        return match served_without_reads(measured, work, storage) {
            ServedBy::PageCache => (ServedBy::PageCache, Some(Hits { least: 1.0, most: 1.0 })),
            other => (other, None),
        };
    }
    let enough = 1.0 - SHARE_NOISE;
    let served_by = match (hits, hole_reads_share(measured, work, hits.least)) {
        (Hits { least, .. }, _) if least >= enough => ServedBy::PageCache,
        (_, holes) if holes >= enough => ServedBy::NoIo,
        (Hits { most, .. }, holes) if most + holes <= SHARE_NOISE => ServedBy::Device,
        _ => ServedBy::Mixed,
    };
    (served_by, Some(hits))
}

/// The mean of the hits of each trial, by its bytes; `None` if no trial reports them.
fn mean_hits(measured: &Measured, hits: impl Fn(&Counted) -> Option<Hits>) -> Option<Hits> {
    let (mut least, mut most, mut app) = (0.0, 0.0, 0.0);
    for trial in &measured.trials {
        let Some(hits) = hits(trial) else { continue };
        let bytes = trial.sample.bytes() as f64;
        least += hits.least * bytes;
        most += hits.most * bytes;
        app += bytes;
    }
    (app > 0.0).then(|| Hits { least: least / app, most: most / app })
}

/// The hit share of the file system's own page cache, over all trials: without what a loop device
/// served from the page cache outside.
pub(crate) fn hit_above_loops(measured: &Measured, work: &ReadWork) -> Option<Hits> {
    mean_hits(measured, |trial| hit_share(measured, work, trial))
}

/// The share of a trial's bytes that the disks below loop devices did not read: the page cache
/// outside served at least that. `None` without loop devices that can be followed.
pub(crate) fn cached_below(trial: &Counted) -> Option<f64> {
    let (read, app) = (trial.evidence.disk_read_bytes? as f64, trial.sample.bytes() as f64);
    (app > 0.0).then(|| (1.0 - read / app).clamp(0.0, 1.0))
}

/// What took the writes: only the page cache, if hardly any bytes had reached a device when the
/// clock stopped.
///
/// The acknowledged rate's time ends when the last write returned, but the counters run until
/// `sync_file_range` returned. So writes through the page cache need not have reached a device
/// before.
fn taken_by(measured: &Measured, work: &WriteWork) -> ServedBy {
    let is_read_unseen = |trial: &Counted| fetched_bytes(measured, trial).is_none();
    if work.read_share > 0 && measured.trials.iter().any(is_read_unseen) {
        return ServedBy::Unverified;
    }
    // Nobody took them: the target refers to the blocks of its source.
    if shared_share(measured).is_some_and(|share| share >= 1.0 - SHARE_NOISE) {
        return ServedBy::NoIo;
    }
    let is_later = work.sync == Sync::FileRange && work.io.cache != Cache::Direct;
    match unreached_share(measured) {
        None if is_left_clean(measured, work) => ServedBy::Device,
        None => ServedBy::Unverified,
        Some(share) if share <= SHARE_NOISE && is_later => ServedBy::Mixed,
        Some(share) if share <= SHARE_NOISE => ServedBy::Device,
        Some(share) if share >= 1.0 - SHARE_NOISE => ServedBy::PageCache,
        Some(_) => ServedBy::Mixed,
    }
}

/// Whether each trial beside actors synced what it wrote through the page cache before it wrote a
/// block again, and left no page dirty. Then it was written, whosever bytes the devices counted.
fn is_left_clean(measured: &Measured, work: &WriteWork) -> bool {
    let is_clean = |trial: &Counted| {
        let dirty = trial.evidence.residency_after.and_then(|seen| seen.dirty);
        let noise = trial.sample.written_bytes().min(work.io.size) as f64 * SHARE_NOISE;
        let is_noise = |pages: u64| pages.saturating_mul(measured.host.page) as f64 <= noise;
        !trial.beside.is_empty() && dirty.is_some_and(is_noise)
    };
    let is_synced = work.sync.is_call() && work.sync.claims_durable();
    let is_once = (1..=work.io.steps(0).count).contains(&work.every);
    let is_through = is_synced && is_once && work.io.cache != Cache::Direct;
    is_through && measured.trials.iter().all(is_clean)
}

/// The share of written bytes that had not reached a device when the clock stopped, after the last
/// sync: `1 - dev/app` (docs/method), over all trials that report it. Foreign writes hide some
/// of it in each trial. `None` if no trial reports it, or none writes.
///
/// What the devices wrote is divided by their minimum amplification. If the amplification may be
/// higher, the result is valid only if hardly any bytes reached the devices.
pub(crate) fn unreached_share(measured: &Measured) -> Option<f64> {
    let pairs = measured.trials.iter().filter_map(|trial| {
        let app = trial.sample.written_bytes();
        Some((app.saturating_sub(measured.written_at_most(trial)?), app))
    });
    let (unreached, app) = pairs
        .fold((0.0, 0.0), |sum, (unreached, app)| (sum.0 + unreached as f64, sum.1 + app as f64));
    let share = (app > 0.0).then(|| unreached / app)?;
    (measured.is_written_once() || share >= 1.0 - SHARE_NOISE).then_some(share)
}

/// The share of the copied bytes that the target only shares with its source, over all trials that
/// report it. A copy that goes over its file again shares each byte of the file once.
pub(crate) fn shared_share(measured: &Measured) -> Option<f64> {
    let work = measured.write().filter(|work| work.op == Op::Copy)?;
    measured.total_share(|trial| {
        let target = trial.sample.written_bytes().min(work.io.size);
        Some((trial.evidence.shared_bytes?.min(target), target))
    })
}

/// What served the calls of a case on a file system with devices.
fn served_names(measured: &Measured, work: &MetadataWork) -> ServedBy {
    if work.call.changes() {
        return match work.sync {
            NameSync::None => ServedBy::PageCache,
            NameSync::Fsync => match names::flushed(measured) {
                Flushed::Unseen => ServedBy::Unverified,
                Flushed::Seldom(_) | Flushed::Off => ServedBy::PageCache,
                Flushed::Each => ServedBy::Device,
            },
        };
    }
    let read =
        |trial: &Counted| trial.evidence.task_read_bytes.or(trial.evidence.device_read_bytes);
    let told: Option<Vec<(u64, u64)>> = measured
        .trials
        .iter()
        .map(|trial| Some((read(trial)?, names::used(work, trial))))
        .collect();
    let Some(told) = told else { return ServedBy::Unverified };
    let (read, used) = told
        .iter()
        .fold((0.0, 0.0), |sum, (read, used)| (sum.0 + *read as f64, sum.1 + *used as f64));
    if read > SHARE_NOISE * INODE_BYTES as f64 * used {
        return ServedBy::Mixed;
    }
    if work.call == Call::Readdir {
        return ServedBy::PageCache;
    }
    let found = |trial| names::found(measured, work, trial);
    let found: Vec<NameSources> = measured.trials.iter().map(found).collect();
    if found.contains(&NameSources::Unseen) {
        ServedBy::Unverified
    } else if found.iter().all(|it| *it == NameSources::InCache) {
        ServedBy::NameCache
    } else {
        ServedBy::PageCache
    }
}

/// The result of a sync without a write: the device, if it received a flush.
fn flushed(measured: &Measured) -> ServedBy {
    let flushes = measured.values(|trial| Some(trial.evidence.device_flushes? as f64));
    match flushes.into_iter().reduce(f64::max) {
        None => ServedBy::Unverified,
        Some(most) if most > 0.0 => ServedBy::Device,
        Some(_) => ServedBy::NoIo,
    }
}

/// What serves the bytes once they are loaded, if `by` served the trials as a whole.
///
/// A loaded file is read from the program's own memory, and a populated one from the page cache,
/// wherever it came from. `willneed` may still be reading. A mapping alone loads nothing.
pub(crate) fn served_loaded(work: &ReadWork, by: ServedBy) -> ServedBy {
    match (work.engine.place(), work.advice, by) {
        (BlockPlace::Memory, ..) => ServedBy::Ram,
        (_, Advice::Populate, ServedBy::Device | ServedBy::Mixed) => ServedBy::PageCache,
        (_, Advice::WillNeed, ServedBy::Device) => ServedBy::Mixed,
        _ => by,
    }
}

/// The maximum share of all trials' bytes that the worker's read calls returned, for engines that
/// fill their buffers by such calls. `None` if it was not counted.
pub(crate) fn called_share(measured: &Measured, work: &ReadWork) -> Option<f64> {
    let engine = work.engine;
    if engine.place() != BlockPlace::Buffer || engine.calls() == ReadCalls::Queued {
        return None;
    }
    measured.total_share(|trial| Some((trial.evidence.task_rchar_bytes?, trial.sample.bytes())))
}

/// Whether neither the worker nor any device read anything, as far as known.
fn read_nothing(trial: &Counted) -> bool {
    let evidence = &trial.evidence;
    evidence.task_read_bytes.unwrap_or(0) == 0 && evidence.device_read_bytes.unwrap_or(0) == 0
}

/// What served bytes that no device read.
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
