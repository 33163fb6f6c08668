//! Whether the page cache was as claimed.

use super::context::{Context, Fault};
use crate::finding::Severity;
use crate::measured::Counted;
use crate::served::{SHARE_NOISE, hit_share, unreached_share};
use crate::summary::ServedBy;
use model::case::{Cache, FileWork, Op, WriteEngine, WriteWork};
use model::evidence::Residency;
use model::host::{Direct, Medium};
use model::pattern::Pattern;
use model::units::percent;

/// Less than this of a file in the page cache is not warm (METHODOLOGY.md).
const WARM_LEAST: f64 = 0.999;

/// Fewer device reads than this for each random operation: readahead brought the other blocks.
const READS_PER_OPERATION_LEAST: f64 = 0.9;

/// Claimed cold, but the page cache served more than 1 % of the bytes, or readahead had brought
/// random blocks before they were asked for (METHODOLOGY.md).
pub(super) fn cache_leak(context: &Context) -> Option<Fault> {
    copy_leak(context).or_else(|| read_leak(context))
}

/// A copy of a source that was cold, of which the devices read less than was copied. Where they
/// read next to nothing `copy_file_range` shares the blocks of the source, which is no leak.
fn copy_leak(context: &Context) -> Option<Fault> {
    let is_cold = |work: &&WriteWork| work.op == Op::Copy && work.cache == Cache::Cold;
    let work = context.write().filter(is_cold)?;
    context.measured.source.filter(|source| source.medium == Medium::Block)?;
    let read = |trial: &Counted| Some((trial.evidence.task_read_bytes?, trial.sample.bytes()));
    let share = context.total_share(read).filter(|share| 1.0 - share > SHARE_NOISE)?;
    if work.engine == WriteEngine::CopyFileRange && share < SHARE_NOISE {
        return None;
    }
    let leaks = |(read, copied): (u64, u64)| (read as f64) < (1.0 - SHARE_NOISE) * copied as f64;
    let trials = context.how_many(|trial| read(trial).is_some_and(leaks));
    let message = format!(
        "claimed cold, but {} of the bytes were copied without a device read (in {trials}): part \
         of the source was cached, or is stored in another form",
        percent(1.0 - share)
    );
    let remedy = "copy a file of incompressible data that nobody else reads, or use cache 'direct'";
    Fault::new(Severity::Void, message, remedy)
}

fn read_leak(context: &Context) -> Option<Fault> {
    let work = context.claims(Cache::Cold)?;
    let Some(hit) = leaked(context) else { return read_ahead(context, work) };
    let trials = context.how_many(|trial| leaks(work, trial));
    let encoded = context.measured.fixture.and_then(|fixture| fixture.layout.as_ref());
    let cause = if encoded.is_some_and(|layout| layout.encoded > 0) {
        "part of the file is stored in another form, such as compressed, so less is read"
    } else {
        "part of it was cached before, or came in while the trial ran"
    };
    let message = format!(
        "claimed cold, but {} of the bytes came without a device read (in {trials}): {cause}",
        percent(hit)
    );
    let remedy = "use a file of incompressible data that nobody else reads, or cache 'direct'";
    Fault::new(Severity::Void, message, remedy)
}

/// Readahead around random blocks caches blocks that come later. Over a whole pass each is fetched
/// once and the bytes hide it; but a device read then served several operations, and most of
/// their latencies are those of the page cache. In a sequential pass that is what readahead is
/// for; in a random one it makes cold operations warm.
fn read_ahead(context: &Context, work: &FileWork) -> Option<Fault> {
    if work.pattern != Pattern::Random || !context.is_served(&[ServedBy::Device]) {
        return None;
    }
    let reads = |trial: &Counted| Some((trial.evidence.device_reads?, trial.sample.ops()));
    let share = context.total_share(reads).filter(|share| *share < READS_PER_OPERATION_LEAST)?;
    let message = format!(
        "claimed cold, but the device was read only {} times for 100 operations: readahead had \
         brought the other blocks before they were asked for, and their latencies are warm",
        (share * 100.0).round()
    );
    Fault::new(Severity::Doubt, message, "use advice 'random', which turns readahead off")
}

/// The hit share, if it is above the noise and the page cache is what served.
fn leaked(context: &Context) -> Option<f64> {
    let by_cache = context.is_served(&[ServedBy::PageCache, ServedBy::Mixed]);
    context.summary.hit_share.filter(|hit| by_cache && *hit > SHARE_NOISE)
}

fn leaks(work: &FileWork, trial: &Counted) -> bool {
    hit_share(work, trial).is_some_and(|hit| hit > SHARE_NOISE)
}

/// Claimed warm, but not all of the file was in the page cache before and after, or the worker
/// caused device reads of more than 1 % of the bytes (METHODOLOGY.md).
pub(super) fn not_warm(context: &Context) -> Option<Fault> {
    if context.measured.storage.is_some_and(|storage| storage.medium == Medium::Ram) {
        // A file that is kept in memory can neither be cached nor be evicted: rule Ram tells.
        return None;
    }
    let seen = match context.claims(Cache::Warm) {
        Some(_) => not_warm_to_read(context)?,
        None => not_warm_to_write(context)?,
    };
    let message = format!(
        "claimed warm, but {seen}: memory is short, or another program pushed the file out"
    );
    Fault::new(Severity::Void, message, "use a smaller file, or free memory")
}

fn cached_share(
    context: &Context,
    residency: impl Fn(&Counted) -> Option<Residency>,
) -> Option<f64> {
    context.total_share(|trial| residency(trial).map(|seen| (seen.cached, seen.pages)))
}

fn not_warm_to_read(context: &Context) -> Option<String> {
    let before = cached_share(context, |trial| trial.evidence.residency_before);
    let after = cached_share(context, |trial| trial.evidence.residency_after);
    let fetched = context.total_share(|t| Some((t.evidence.task_read_bytes?, t.sample.bytes())));
    let too_cold = |cached: &Option<f64>| cached.is_some_and(|share| share < WARM_LEAST);
    if too_cold(&before) || too_cold(&after) {
        let [before, after] =
            [before, after].map(|share| share.map_or("unknown".to_string(), percent));
        return Some(format!(
            "the page cache held {before} of the file before the trials and {after} after"
        ));
    }
    let fetched = fetched.filter(|share| *share > SHARE_NOISE)?;
    Some(format!("devices had to read {} of the bytes", percent(fetched)))
}

/// What is written over a cached file need not be in the cache afterwards: only before counts.
fn not_warm_to_write(context: &Context) -> Option<String> {
    context.write().filter(|work| work.cache == Cache::Warm && work.op == Op::Write)?;
    let before = cached_share(context, |trial| trial.evidence.residency_before);
    let before = before.filter(|share| *share < WARM_LEAST)?;
    Some(format!("the page cache held {} of the file before the trials", percent(before)))
}

/// Claimed direct, but the bytes went through the page cache: the file system is known to do so,
/// the cached part of the file grew, or it served hits or kept what was written (METHODOLOGY.md).
pub(super) fn direct_ignored(context: &Context) -> Option<Fault> {
    let reads = context.claims(Cache::Direct);
    let writes = context.write().filter(|work| work.cache == Cache::Direct);
    if reads.is_none() && writes.is_none() {
        return None;
    }
    let storage = context.measured.storage.filter(|storage| storage.medium != Medium::Ram)?;
    let page = context.measured.host.page;
    let grown = |trial: &Counted| {
        let (before, after) = (trial.evidence.residency_before?, trial.evidence.residency_after?);
        Some((
            after.cached.saturating_sub(before.cached).saturating_mul(page),
            trial.sample.bytes(),
        ))
    };
    let grown_share = context.total_share(grown).filter(|share| *share > SHARE_NOISE);
    let seen = if matches!(storage.direct, Direct::Accepted { bypasses: Some(false), .. }) {
        format!(
            "{} left a file in the page cache that was read with O_DIRECT to try it",
            storage.file_system
        )
    } else if let Some(share) = grown_share {
        format!("pages for {} of the bytes appeared in the page cache", percent(share))
    } else if let Some(work) = reads {
        let trials = context.how_many(|trial| leaks(work, trial));
        let hit = leaked(context)?;
        format!("{} of the bytes came without a device read (in {trials})", percent(hit))
    } else {
        format!("{} of the bytes had not reached a device at the end", percent(kept(context)?))
    };
    let message = format!(
        "claimed direct, but {seen}: this file system takes O_DIRECT and does not follow it"
    );
    let remedy = "use another cache state here, or another file system (on btrfs: a directory \
                  with 'chattr +C', without compression)";
    Fault::new(Severity::Void, message, remedy)
}

/// The share of what was written directly that no device had at the end, above the noise. After a
/// sync it is not in the page cache either: rule Compressed tells of that.
fn kept(context: &Context) -> Option<f64> {
    let by_cache = context.is_served(&[ServedBy::PageCache, ServedBy::Mixed]);
    context.write().filter(|work| by_cache && !work.sync.claims_durable())?;
    unreached_share(context.measured).filter(|share| *share > SHARE_NOISE)
}
