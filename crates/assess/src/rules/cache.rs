//! Whether the page cache was as claimed.

use super::context::{Context, Draft, RuleTable, is_many_times, much_of};
use super::{commands, names};
use crate::counted::Counted;
use crate::finding::{Code, Severity};
use crate::hits::{Hits, hit_share, hole_share};
use crate::served::{SHARE_NOISE, WARM_LEAST, hit_above_loops};
use crate::summary::{ServedBy, Summary};
use model::case::{Advice, Cache, Op, ReadWork, Sync, WriteEngine, WriteWork};
use model::evidence::Residency;
use model::host::{Medium, Storage};
use model::list::listed;
use model::pattern::Pattern;
use model::units::{self, percent};

/// The rules of this module.
pub(super) const RULES: RuleTable = &[
    (Code::CacheLeak, cache_leak),
    (Code::NotWarm, not_warm),
    (Code::CacheKept, cache_kept),
    (Code::PartlyCached, partly_cached),
    (Code::CacheUnseen, cache_unseen),
    (Code::StateUnproved, commands::state_unproved),
    (Code::OverRead, over_read),
];

/// With fewer device reads per random operation, readahead brought the other blocks.
const READS_PER_OPERATION_LEAST: f64 = 0.9;

/// Devices may read this share more than is counted before we report it (docs/method).
const OVER_READ_MOST: f64 = 0.05;

/// Claimed cold, but the page cache served more than 1 % of the bytes, or readahead fetched random
/// blocks before they were requested (docs/method).
fn cache_leak(context: &Context) -> Option<Draft> {
    let of_files = copy_leak(context).or_else(|| read_leak(context));
    of_files.or_else(|| names::not_cold(context)).or_else(|| commands::cache_leak(context))
}

/// A copy of a cold source for which the devices read less than was copied. If they read almost
/// nothing, `copy_file_range` shares the source's blocks, which is not a leak.
fn copy_leak(context: &Context) -> Option<Draft> {
    let is_cold = |work: &&WriteWork| work.op == Op::Copy && work.io.cache == Cache::Cold;
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
         of the source was cached, or is compressed or otherwise transformed",
        percent(1.0 - share)
    );
    let remedy = "copy a file of incompressible data that no other program reads, or use cache \
                  'direct'";
    Draft::sized(1.0 - share, Severity::Void, message, remedy)
}

fn read_leak(context: &Context) -> Option<Draft> {
    let work = context.claims(Cache::Cold)?;
    let Some(hits) = leaked(context) else { return read_ahead(context, work) };
    let trials = context.how_many(|trial| leaks(context, work, trial));
    let encoded = context.measured.fixture.and_then(|fixture| fixture.layout.as_ref());
    let cause = if encoded.is_some_and(|layout| layout.encoded > 0) {
        "part of the file is compressed or otherwise transformed, so devices read less"
    } else {
        "part of the file was cached before, or another program read it meanwhile"
    };
    let message = format!(
        "claimed cold, but {} of the bytes came without a device read (in {trials}): {cause}",
        said_between(hits)
    );
    let remedy = "use a file of incompressible data that no other program reads, or cache 'direct'";
    Draft::sized(hits.most, Severity::Void, message, remedy)
}

/// Readahead around random blocks caches blocks that come later. Over a whole pass each is fetched
/// once, and the bytes hide it. But one device read then served several operations, and most of
/// their latencies are the page cache's. A sequential pass wants that; in a random one it makes
/// cold operations warm.
fn read_ahead(context: &Context, work: &ReadWork) -> Option<Draft> {
    if work.io.pattern != Pattern::Random || !context.is_served(&[ServedBy::Device]) {
        return None;
    }
    let reads = |trial: &Counted| Some((trial.evidence.device_reads?, trial.sample.ops()));
    let share = context.total_share(reads).filter(|share| *share < READS_PER_OPERATION_LEAST)?;
    let message = format!(
        "claimed cold, but only {} device reads served 100 operations: readahead fetched the other \
         blocks early, so their latencies are those of a warm cache",
        (share * 100.0).round()
    );
    let remedy = "use advice 'random', which turns readahead off";
    Draft::sized(1.0 - share, Severity::Doubt, message, remedy)
}

/// The hits of the file system's page cache, if they may be above the noise and it served.
pub(super) fn leaked(context: &Context) -> Option<Hits> {
    let by_cache = context.is_served(&[ServedBy::PageCache, ServedBy::Mixed]);
    let work = context.read().filter(|_| by_cache && context.summary.hit_share.is_some())?;
    hit_above_loops(context.measured, work).filter(|hits| hits.most > SHARE_NOISE)
}

/// A share that is known to lie between two, in words.
pub(super) fn said_between(Hits { least, most }: Hits) -> String {
    if least < 0.005 && most > 0.995 {
        "anything from none to all".to_owned()
    } else if most - least < 0.005 {
        percent(most)
    } else if least < 0.005 {
        format!("at most {}", percent(most))
    } else {
        format!("{} to {}", percent(least), percent(most))
    }
}

pub(super) fn leaks(context: &Context, work: &ReadWork, trial: &Counted) -> bool {
    hit_share(context.measured, work, trial).is_some_and(|hits| hits.most > SHARE_NOISE)
}

/// Claimed warm, but the worker caused device reads of more than 1 % of the bytes; or not all of
/// the file was in the page cache before and after, and it is unknown what devices read. If they
/// read next to nothing, the figure is still the page cache's: a note (docs/method).
fn not_warm(context: &Context) -> Option<Draft> {
    let medium = context.measured.storage.map(|storage| storage.medium);
    if medium == Some(Medium::Ram) {
        // A file kept in memory can't be cached or evicted: rule Ram reports it.
        return None;
    }
    if context.measured.case.metadata().is_some() {
        return names::not_warm(context);
    }
    if context.measured.case.command().is_some() {
        return commands::not_warm(context);
    }
    if context.claims(Cache::Warm).is_none() {
        let missing = not_warm_to_write(context)?;
        let seen =
            format!("the page cache held {} of the file before the trials", percent(1.0 - missing));
        return void(missing, &seen);
    }
    let fetched = context.total_share(|t| Some((t.evidence.task_read_bytes?, t.sample.bytes())));
    if let Some(fetched) = fetched.filter(|share| *share > SHARE_NOISE) {
        let seen = format!("devices had to read {} the bytes", much_of(fetched));
        return void(fetched, &seen);
    }
    let (missing, partly) = partly_cached_around(context)?;
    match fetched.filter(|_| medium == Some(Medium::Block)) {
        None => void(missing, &partly),
        Some(fetched) => {
            let message = format!(
                "claimed warm, and {partly}; devices had to read only {} of the bytes, so the \
                 figure is the page cache's",
                percent(fetched)
            );
            let remedy = "none needed; to be sure, free memory and run again";
            Draft::sized(missing, Severity::Note, message, remedy)
        }
    }
}

/// The claim is wrong, and so is the figure: this share was not cached.
fn void(missing: f64, seen: &str) -> Option<Draft> {
    let message = format!(
        "claimed warm, but {seen}: memory is short, another program pushed the file out, or the OS \
         reclaimed it"
    );
    Draft::sized(missing, Severity::Void, message, "use a smaller file, or free memory")
}

fn cached_share(
    context: &Context,
    residency: impl Fn(&Counted) -> Option<Residency>,
) -> Option<f64> {
    context.total_share(|trial| residency(trial).map(|seen| (seen.cached, seen.pages)))
}

/// How much of the file the page cache did not hold at worst, and how much it held, in words;
/// unless it was all.
fn partly_cached_around(context: &Context) -> Option<(f64, String)> {
    let before = cached_share(context, |trial| trial.evidence.residency_before);
    let after = cached_share(context, |trial| trial.evidence.residency_after);
    let too_cold = |cached: &Option<f64>| cached.is_some_and(|share| share < WARM_LEAST);
    if !too_cold(&before) && !too_cold(&after) {
        return None;
    }
    let missing =
        [before, after].into_iter().flatten().map(|share| 1.0 - share).reduce(f64::max)?;
    let [before, after] = [before, after].map(|share| share.map_or("unknown".to_string(), percent));
    let seen =
        format!("the page cache held {before} of the file before the trials and {after} after");
    Some((missing, seen))
}

/// The share that was not cached. An overwritten file need not be cached afterwards: only the share
/// before counts.
fn not_warm_to_write(context: &Context) -> Option<f64> {
    context.write().filter(|work| work.io.cache == Cache::Warm && work.op == Op::Write)?;
    let before = cached_share(context, |trial| trial.evidence.residency_before);
    before.filter(|share| *share < WARM_LEAST).map(|share| 1.0 - share)
}

/// With more of the pages than this in the page cache, the calls were ordinary ones.
const KEPT_MOST: f64 = 0.5;

/// What a time limit leaves in the page cache: up to two windows of readahead for each thread,
/// which it has not reached. `None` if readahead is unknown.
fn fetched_ahead(context: &Context) -> Option<u64> {
    let window = context.measured.storage?.read_ahead_most()?;
    Some(window.saturating_mul(2 * u64::from(context.measured.case.threads())))
}

/// Claimed to leave nothing in the page cache, but pages stayed there (docs/method).
fn cache_kept(context: &Context) -> Option<Draft> {
    if context.measured.case.cache() != Some(Cache::DontCache) {
        return None;
    }
    let (page, writes) = (context.measured.host.page, context.write());
    let ahead = if writes.is_some() { 0 } else { fetched_ahead(context)? };
    let kept = |trial: &Counted| {
        let (before, after) = (trial.evidence.residency_before?, trial.evidence.residency_after?);
        // What is not yet written cannot leave. mincore does not tell it apart.
        let is_synced = writes.is_none_or(|work| work.sync != Sync::None);
        let waiting = after.dirty.or(is_synced.then_some(0))?;
        let stayed = after.cached.saturating_sub(before.cached).saturating_sub(waiting);
        let moved = trial.sample.bytes().min(context.measured.case.file_size()?);
        Some((stayed.saturating_mul(page).saturating_sub(ahead), moved))
    };
    let share = context.total_share(kept).filter(|share| *share > SHARE_NOISE)?;
    let severity = if share > KEPT_MOST { Severity::Void } else { Severity::Doubt };
    let is_advised = context.read().is_some_and(|work| work.advice != Advice::None);
    let cause = match (severity, writes) {
        (Severity::Void, Some(_)) => {
            "this file system accepts RWF_DONTCACHE and ignores it for such writes"
        }
        (_, Some(_)) => "not all of it was dropped when it had been written",
        (Severity::Void, None) => "this file system ignores RWF_DONTCACHE, or they were there",
        (_, None) if is_advised => "its advice or another program brought them there",
        (_, None) => "the OS drops a page only if nothing else uses it at that moment",
    };
    let message = format!(
        "claimed dontcache, but pages with {} of the bytes stayed in the page cache: {cause}",
        percent(share)
    );
    let remedy = match writes {
        Some(_) => "write a new file, use cache 'direct', or try another kernel or file system",
        None if is_advised => {
            "use advice 'none' and a file that nobody else reads, or cache 'direct'"
        }
        None => "use a file that nobody else reads, or cache 'direct'",
    };
    Draft::sized(share, severity, message, remedy)
}

/// The case claims nothing about the page cache, and it served a part (docs/method).
fn partly_cached(context: &Context) -> Option<Draft> {
    read_partly_cached(context).or_else(|| commands::partly_cached(context))
}

fn read_partly_cached(context: &Context) -> Option<Draft> {
    context.claims(Cache::AsIs).filter(|_| context.is_served(&[ServedBy::Mixed]))?;
    let Summary { hit_share, hit_share_most, cacheable_share, .. } = context.summary;
    let hits = said_between(Hits { least: (*hit_share)?, most: (*hit_share_most)? });
    if let Some(most) = cacheable_share {
        let message = format!(
            "the page cache served {hits} of the bytes; within the memory limit, it could serve at \
             most {} of this pattern",
            percent(*most)
        );
        let remedy = "none: that is what the case asks";
        return Draft::sized(*hit_share_most, Severity::Note, message, remedy);
    }
    // Holes are not this rule's: NoIo reports them.
    if hit_share_most.is_some_and(|most| most <= SHARE_NOISE) {
        return None;
    }
    let others = match context.measured.fixture.is_some_and(|it| hole_share(it) > SHARE_NOISE) {
        true => "a device or holes",
        false => "a device",
    };
    let message = format!(
        "the page cache served {hits} of the bytes and {others} the rest: the figure describes \
         neither"
    );
    let remedy = "ask for cache 'warm' or 'cold', which are proved";
    Draft::sized(*hit_share_most, Severity::Doubt, message, remedy)
}

/// No probe can see how much of the file is cached (docs/method).
fn cache_unseen(context: &Context) -> Option<Draft> {
    file_unseen(context).or_else(|| commands::cache_unseen(context))
}

fn file_unseen(context: &Context) -> Option<Draft> {
    let writes =
        context.write().filter(|work| work.io.cache != Cache::AsIs).map(|work| work.io.cache);
    let cache = context.read().map(|work| work.io.cache).or(writes)?;
    context.measured.storage.filter(|storage| storage.medium == Medium::Block)?;
    let is_seen = |trial: &Counted| {
        trial.evidence.residency_before.is_some() || trial.evidence.residency_after.is_some()
    };
    if context.measured.trials.iter().any(is_seen) {
        return None;
    }
    let message = format!(
        "no probe can see how much of the file is in the page cache: only the device counters show \
         whether it is '{cache}'"
    );
    let remedy = "use your own file, on Linux 6.5 or later, where cachestat(2) is allowed";
    Draft::new(Severity::Note, message, remedy)
}

/// Devices read more than the figure counts (docs/method).
fn over_read(context: &Context) -> Option<Draft> {
    ahead_of_reads(context).or_else(|| commands::over_read(context))
}

/// An operation counts as its whole pages, the least that the page cache can read.
fn ahead_of_reads(context: &Context) -> Option<Draft> {
    let work = context.read()?;
    if !context.is_served(&[ServedBy::Device, ServedBy::Mixed]) {
        return None;
    }
    let page = context.measured.host.page.max(1);
    let of_operation = work.io.mean_in_pages(page);
    let share = context.total_share(|trial| {
        let wanted = (of_operation * trial.sample.ops() as f64) as u64;
        Some((trial.evidence.task_read_bytes?, wanted.max(trial.sample.bytes())))
    });
    let share = share.filter(|share| *share > 1.0 + OVER_READ_MOST)?;
    let much = match share {
        share if is_many_times(share) => format!("{share:.0} times"),
        share => format!("{} more than", percent(share - 1.0)),
    };
    let why = match work.advice {
        Advice::Populate => "advice 'populate' reads the whole file before the first block".into(),
        _ => format!(
            "readahead{} fetched what the case did not request",
            read_ahead_most(context.measured.storage).unwrap_or_default()
        ),
    };
    let message = format!("the devices read {much} the bytes that the figure counts: {why}");
    // Direct reads go through the page cache where the file system ignores the flag.
    let remedy = match (work.io.cache, work.advice) {
        (Cache::Direct, _) => "use a file system that does not ignore O_DIRECT",
        (_, Advice::Random) => "use cache 'direct' to read only what is requested",
        _ => "use advice 'random' or cache 'direct' to read only what is requested",
    };
    Draft::sized(share, Severity::Note, message, remedy)
}

/// The largest readahead, in words: that of the file system's own device or, in older records, of
/// the devices at the bottom.
fn read_ahead_most(storage: Option<&Storage>) -> Option<String> {
    let storage = storage?;
    if let Some(most) = storage.read_ahead {
        return (most > 0).then(|| format!(", up to {} at a time,", units::bytes(most)));
    }
    let of_devices = storage.devices.iter().filter_map(|device| {
        let most = device.read_ahead.filter(|bytes| *bytes > 0)?;
        Some(format!("{} at a time on {}", units::bytes(most), device.name))
    });
    let told: Vec<String> = of_devices.collect();
    (!told.is_empty()).then(|| format!(", up to {},", listed(&told)))
}
