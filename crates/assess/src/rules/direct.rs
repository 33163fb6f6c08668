//! Whether `O_DIRECT` went past the page cache.

use super::cache::{leaked, leaks, said_between};
use super::commands;
use super::context::{Context, Draft, RuleTable, much_of};
use crate::counted::Counted;
use crate::finding::{Code, Severity};
use crate::hits::fetched_bytes;
use crate::served::{SHARE_NOISE, unreached_share};
use crate::summary::ServedBy;
use model::case::{Cache, Op, WriteWork};
use model::host::{Direct, Medium, Storage};
use model::units::percent;

/// The rules of this module.
pub(super) const RULES: RuleTable =
    &[(Code::DirectIgnored, direct_ignored), (Code::FileInUse, file_in_use)];

/// Claimed direct, but the bytes went through the page cache: inspecting the storage showed it, the
/// cached part of the file grew, or the cache served hits or kept what was written
/// (docs/method).
fn direct_ignored(context: &Context) -> Option<Draft> {
    passed_by_cache(context)
        .or_else(|| copied_through_cache(context))
        .or_else(|| commands::direct_ignored(context))
}

fn passed_by_cache(context: &Context) -> Option<Draft> {
    let reads = context.claims(Cache::Direct);
    let writes = context.write().filter(|work| work.io.cache == Cache::Direct);
    if reads.is_none() && writes.is_none() {
        return None;
    }
    let storage = context.measured.storage.filter(|storage| storage.medium != Medium::Ram)?;
    // The copies of btrfs sometimes leave pages behind; `copied_through_cache` reports them.
    let grown_share = grown_share(context)
        .filter(|_| !is_summed_up_by_btrfs(context) && !is_known_to_be_direct(context));
    let (size, seen) = if matches!(storage.direct, Direct::Accepted { bypasses: Some(false), .. }) {
        // By a canary, or by what statx says of the file: a note on the storage tells which.
        let on = storage.noun();
        let seen = "O_DIRECT went through the page cache when the storage was inspected";
        (None, format!("on {on}, {seen}"))
    } else if let Some(share) = grown_share {
        let seen = format!("pages with {} the bytes appeared in the page cache", much_of(share));
        (Some(share), seen)
    } else if let Some(work) = reads {
        let trials = context.how_many(|trial| leaks(context, work, trial));
        let hits = leaked(context)?;
        let seen =
            format!("{} of the bytes came without a device read (in {trials})", said_between(hits));
        (Some(hits.most), seen)
    } else if let Some(share) = cached_reads(context) {
        let seen =
            format!("{} of the bytes that it read came without a device read", percent(share));
        (Some(share), seen)
    } else {
        let kept = kept(context)?;
        (Some(kept), format!("{} of the bytes had not reached a device at the end", percent(kept)))
    };
    let message =
        format!("claimed direct, but {seen}: this file system accepts O_DIRECT and ignores it");
    let remedy = "use another cache state, or another file system (on btrfs, a directory with \
                  'chattr +C' and no compression)";
    Draft::sized(size, Severity::Void, message, remedy)
}

/// Another program brought pages of the user's file into the page cache, which was read directly.
fn file_in_use(context: &Context) -> Option<Draft> {
    let share = grown_share(context).filter(|_| is_known_to_be_direct(context))?;
    let message = format!(
        "another program uses this file: pages with {} the bytes that this case read appeared \
         in the page cache, though devices read all of them for it. O_DIRECT was honored; where \
         such pages are written to, the OS writes them back before a direct read",
        much_of(share)
    );
    let remedy = "measure a copy, or while nothing else uses the file, to see the storage alone";
    Draft::sized(share, Severity::Note, message, remedy)
}

/// Whether direct reads of a user's own file, which others may use, are known to have gone past the
/// page cache: a canary was, the OS says nothing else of this file, and devices read all that was
/// asked for. Of a compressed file they may read more than that, for copies in the page cache.
fn is_known_to_be_direct(context: &Context) -> bool {
    let Context { measured, summary, .. } = context;
    let own = measured.fixture.filter(|fixture| fixture.seed.is_none());
    let layout = own.and_then(|fixture| fixture.layout.as_ref());
    // Below a device's blocks, no file system of this machine encodes them.
    let is_plain = layout.is_some_and(|layout| layout.encoded == 0)
        || measured.storage.is_some_and(Storage::is_raw);
    let direct = measured.storage.map(|storage| storage.direct);
    let is_counted = |trial: &Counted| trial.evidence.task_read_bytes.is_some();
    context.claims(Cache::Direct).is_some()
        && is_plain
        && matches!(direct, Some(Direct::Accepted { bypasses: Some(true), .. }))
        && measured.trials.iter().all(is_counted)
        && summary.hit_share.is_some_and(|share| share <= SHARE_NOISE)
}

/// The share of the bytes for which pages of the file appeared in the page cache, above the noise.
fn grown_share(context: &Context) -> Option<f64> {
    let page = context.measured.host.page;
    let grown = |trial: &Counted| {
        let (before, after) = (trial.evidence.residency_before?, trial.evidence.residency_after?);
        Some((
            after.cached.saturating_sub(before.cached).saturating_mul(page),
            trial.sample.bytes(),
        ))
    };
    context.total_share(grown).filter(|share| *share > SHARE_NOISE)
}

/// The share of the bytes that a mixed case read for which no device did, above the noise. Where no
/// device of this machine reads anything, that says nothing.
fn cached_reads(context: &Context) -> Option<f64> {
    context.write().filter(|work| work.read_share > 0)?;
    context.measured.storage.filter(|storage| storage.medium == Medium::Block)?;
    let fetched = |trial: &Counted| {
        let fetched = fetched_bytes(context.measured, trial)?;
        let read = trial.sample.read_bytes();
        Some((read.saturating_sub(fetched), read))
    };
    context.total_share(fetched).filter(|share| *share > SHARE_NOISE)
}

/// The share of direct writes that no device had at the end, above the noise. After a sync it is
/// not in the page cache either: rule Compressed reports that.
fn kept(context: &Context) -> Option<f64> {
    let by_cache = context.is_served(&[ServedBy::PageCache, ServedBy::Mixed]);
    context.write().filter(|work| by_cache && !work.sync.claims_durable())?;
    if context.measured.storage?.cached_loop().is_some() {
        // The page cache outside took them: rule LoopCached reports that.
        return None;
    }
    unreached_share(context.measured).filter(|share| *share > SHARE_NOISE)
}

/// btrfs copies direct writes of checksummed data through the page cache. Probes seldom see the
/// pages: they are gone when the write returns.
fn copied_through_cache(context: &Context) -> Option<Draft> {
    if !is_summed_up_by_btrfs(context) {
        return None;
    }
    let seen = match (grown_share(context), release(&context.measured.host.os)) {
        (Some(share), _) => format!("pages with {} the bytes appeared there", much_of(share)),
        (None, Some(os)) if os < BTRFS_COPIES => return None,
        (None, _) => "all writes, since Linux 6.14".to_string(),
    };
    let message = format!(
        "claimed direct, but btrfs copies checksummed data through the page cache ({seen}): the \
         figure includes that copy"
    );
    let remedy = "write to a directory with 'chattr +C' (ioassay can't see it, so this doubt \
                  remains), or mount with 'nodatasum'";
    Draft::sized(grown_share(context), Severity::Doubt, message, remedy)
}

/// Whether the case writes directly to a file on btrfs whose data is checksummed.
fn is_summed_up_by_btrfs(context: &Context) -> bool {
    let writes = |work: &&WriteWork| work.io.cache == Cache::Direct && work.op != Op::Sync;
    let sums_up = |option: &str| !matches!(option, "nodatasum" | "nodatacow");
    context.write().filter(writes).is_some()
        && context.measured.storage.is_some_and(|storage| {
            storage.file_system == "btrfs" && storage.mount_options.split(',').all(sums_up)
        })
}

/// The first release that copies all of it.
const BTRFS_COPIES: (u32, u32) = (6, 14);

/// The first two numbers of an OS's release: `Linux 6.18.44`.
fn release(os: &str) -> Option<(u32, u32)> {
    let mut numbers = os.split_whitespace().nth(1)?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}
