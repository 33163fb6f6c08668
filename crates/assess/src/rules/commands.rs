//! What other modules of rules look for, in commands: the page cache, devices and durability.
//!
//! A command claims nothing itself. Its case claims the state of the files that it reads, and its
//! own calls claim that data went past the page cache or is durable.

use super::context::{Context, Draft, lost, much_of};
use crate::commands::{asked_bytes, devices_agree, dirty_bytes, has, read_size, written_bytes};
use crate::counted::Counted;
use crate::durable_commands::{CommandDurability, dirty_share};
use crate::finding::Severity;
use crate::measured::{Measured, SHARE_NOISE};
use crate::summary::ServedBy;
use model::case::{Cache, CommandWork};
use model::evidence::Residency;
use model::host::{Medium, Storage};
use model::rehearsal::{FactSheet, FileUse};
use model::units::{bytes_rounded, percent};

/// The work, if the case claims that files are in this state.
pub(super) fn claims<'c>(context: &'c Context, cache: Cache) -> Option<&'c CommandWork> {
    context.measured.case.command().filter(|work| work.cache == cache)
}

fn share_before(context: &Context) -> Option<f64> {
    context.total_share(|trial| {
        let Residency { cached, pages, .. } = trial.evidence.residency_before?;
        Some((cached, pages))
    })
}

/// Whether it writes to a file that it reads: then pages come into the page cache without a read.
fn overwrites(context: &Context) -> bool {
    let Some(facts) = context.measured.facts else { return true };
    facts.read_files().any(|file| {
        facts.written_files().any(|it| (it.device, it.inode) == (file.device, file.inode))
    })
}

/// Claimed cold, but a part of its files was cached, or came into the page cache without a device
/// read for it (docs/method). What it reads a second time is not a leak.
pub(super) fn cache_leak(context: &Context) -> Option<Draft> {
    claims(context, Cache::Cold)?;
    let remedy = "stop other programs that use these files; compressed ones cannot be judged";
    if let Some(share) = share_before(context).filter(|share| *share > SHARE_NOISE) {
        let message = format!(
            "claimed cold, but the page cache held {} of the files when a run began",
            percent(share)
        );
        return Draft::sized(share, Severity::Void, message, remedy);
    }
    if overwrites(context) || !context.is_served(&[ServedBy::PageCache, ServedBy::Mixed]) {
        return None;
    }
    let page = context.measured.host.page;
    let share = context.total_share(|trial| {
        let evidence = &trial.evidence;
        let (before, after) = (evidence.residency_before?, evidence.residency_after?);
        let came = after.cached.saturating_sub(before.cached).saturating_mul(page);
        Some((came.saturating_sub(evidence.task_read_bytes?), came))
    })?;
    if share <= SHARE_NOISE {
        return None;
    }
    let message = format!(
        "claimed cold, but {} of what came into the page cache was not read by a device for it: \
         another program read the files meanwhile, or they are compressed",
        percent(share)
    );
    Draft::sized(share, Severity::Void, message, remedy)
}

/// Claimed warm, but a part of its files was not cached, or devices read them (docs/method).
pub(super) fn not_warm(context: &Context) -> Option<Draft> {
    claims(context, Cache::Warm)?;
    let facts = context.measured.facts;
    let any = |of: fn(&FileUse) -> u64| {
        facts.is_some_and(|facts| facts.read_files().any(|file| of(file) > 0))
    };
    let asks_devices = match (any(|file| file.opens.direct), any(|file| file.hints.dont_need)) {
        (true, false) => Some("opens files with O_DIRECT"),
        (false, true) => Some("evicts files itself (POSIX_FADV_DONTNEED)"),
        (true, true) => Some("opens files with O_DIRECT, and evicts some itself"),
        (false, false) => None,
    };
    let size = read_size(context.measured)?;
    let fetched = context.total_share(|trial| Some((trial.evidence.task_read_bytes?, size)));
    let fetched = fetched.filter(|share| *share > SHARE_NOISE);
    if let Some((share, asks)) = fetched.zip(asks_devices) {
        let message = format!(
            "warm means nothing to this command: it {asks}, so devices read {} their bytes",
            much_of(share)
        );
        let remedy = "read it as the time of the devices";
        return Draft::sized(share, Severity::Note, message, remedy);
    }
    let missing = share_before(context).map(|share| 1.0 - share);
    let missing = missing.filter(|share| *share > SHARE_NOISE);
    let seen = match (missing, fetched) {
        (None, None) => return None,
        (_, Some(share)) => {
            format!("devices had to read {} the bytes of its files", much_of(share))
        }
        (Some(share), None) => {
            format!("{} of its files were not in the page cache when a run began", percent(share))
        }
    };
    let message = format!(
        "claimed warm, but {seen}: memory is short, another program pushed them out, or the OS \
         reclaimed them"
    );
    let size = fetched.or(missing);
    Draft::sized(size, Severity::Void, message, "use smaller files, or free memory")
}

/// As they are, a part of its files was cached (docs/method).
pub(super) fn partly_cached(context: &Context) -> Option<Draft> {
    claims(context, Cache::AsIs).filter(|_| context.is_served(&[ServedBy::Mixed]))?;
    let share = share_before(context)?;
    // What it reads again comes from the page cache, wherever it was before.
    if !(SHARE_NOISE..=1.0 - SHARE_NOISE).contains(&share) {
        return None;
    }
    let message = format!(
        "over all its runs, the page cache held {} of its files at the start, and devices the \
         rest: the time describes neither",
        percent(share)
    );
    let remedy = "ask for --cache warm or cold, which are proved";
    Draft::sized(share, Severity::Doubt, message, remedy)
}

/// No probe can see how much of its files is cached (docs/method).
pub(super) fn cache_unseen(context: &Context) -> Option<Draft> {
    context.measured.case.command()?;
    context.measured.storage.filter(|storage| storage.medium == Medium::Block)?;
    context.measured.facts?.read_files().next()?;
    let is_seen = |trial: &Counted| {
        trial.evidence.residency_before.is_some() || trial.evidence.residency_after.is_some()
    };
    if context.measured.trials.iter().any(is_seen) {
        return None;
    }
    let message = "no probe can see how much of its files is in the page cache: only what devices \
                   read shows it"
        .to_string();
    let remedy = "use your own files, on Linux 6.5 or later, where cachestat(2) is allowed";
    Draft::new(Severity::Note, message, remedy)
}

/// Claimed warm or cold, but nothing showed that before its runs, and what devices read in them
/// does not prove it (docs/method).
pub(super) fn state_unproved(context: &Context) -> Option<Draft> {
    let measured = context.measured;
    let cache = measured.case.command()?.cache;
    let is_unseen = |trial: &&Counted| trial.evidence.residency_before.is_none();
    let unseen: Vec<&Counted> = measured.trials.iter().filter(is_unseen).collect();
    if !matches!(cache, Cache::Warm | Cache::Cold) || unseen.is_empty() {
        return None;
    }
    let why = match read_size(measured).filter(|_| measured.facts.is_some_and(|it| !it.sampled)) {
        _ if !counts_reads(measured) => "is in no counter that can be trusted here".to_string(),
        None => "proves nothing, because its files are not all known".to_string(),
        Some(_) if unseen.iter().any(|trial| !devices_agree(measured, trial)) => {
            "is not what was counted for it".to_string()
        }
        Some(size) => {
            let read = unseen.iter().filter_map(|trial| trial.evidence.task_read_bytes);
            let least = read.min().filter(|least| cache == Cache::Cold && !has(*least, size))?;
            format!("was only {} of the {} of its files", bytes_rounded(least), bytes_rounded(size))
        }
    };
    let message = format!(
        "claimed {cache}, but nothing shows what was cached of its files when a run began, and \
         what devices read {why}"
    );
    let remedy = "use files of your own, of which the OS shows what is cached";
    Draft::new(Severity::Void, message, remedy)
}

/// Whether the counters of processes have what devices read of all files that it read in its
/// rehearsal; without one, of those on its storage.
fn counts_reads(measured: &Measured) -> bool {
    let counts = |storage: Option<&Storage>| storage.is_some_and(Storage::counts_reads);
    let places = &measured.places;
    let of = |file: &FileUse| places.number(file).and_then(|number| places.storage(number));
    match measured.facts {
        Some(facts) => {
            let mut read = facts.read_files().filter(|file| file.bytes_before != Some(0));
            counts(measured.storage) && read.all(|file| counts(of(file)))
        }
        None => counts(measured.storage),
    }
}

/// Devices may read this share more than was asked for (docs/method).
const OVER_READ_MOST: f64 = 0.05;

/// Devices read more than it asked for or, if that is unknown, more than its files have
/// (docs/method).
pub(super) fn over_read(context: &Context) -> Option<Draft> {
    context.measured.case.command()?;
    if !context.is_served(&[ServedBy::Device, ServedBy::Mixed]) {
        return None;
    }
    let measured = context.measured;
    let size = read_size(measured)?;
    let of_asked = context.total_share(|trial| {
        Some((trial.evidence.task_read_bytes?, asked_bytes(measured, trial)?))
    });
    let of_files = || context.total_share(|trial| Some((trial.evidence.task_read_bytes?, size)));
    let (share, of, why) = match of_asked {
        Some(share) => (share, "the bytes that it asked for", "readahead fetched what it did not"),
        None => (of_files()?, "the bytes of its files", "parts were read more than once"),
    };
    if share <= 1.0 + OVER_READ_MOST {
        return None;
    }
    let message = format!("devices read {:.1} times {of}: {why}", share);
    let remedy = "advise the OS of a random order (POSIX_FADV_RANDOM, MADV_RANDOM), or free memory";
    Draft::sized(share, Severity::Note, message, remedy)
}

/// It opened files with `O_DIRECT`, but no device read them (docs/method).
pub(super) fn direct_ignored(context: &Context) -> Option<Draft> {
    context.measured.case.command()?;
    let facts = context.measured.facts?;
    let mut direct = facts.read_files().filter(|file| file.opens.direct > 0);
    let first = direct.next().filter(|_| facts.read_files().all(|file| file.opens.direct > 0))?;
    if !context.is_served(&[ServedBy::PageCache, ServedBy::Ram]) {
        return None;
    }
    // One that reads little of what it opens proves nothing.
    let asked = context.measured.median_count(|trial| asked_bytes(context.measured, trial));
    if asked.zip(read_size(context.measured)).is_some_and(|(asked, size)| asked < size) {
        return None;
    }
    let message = format!(
        "it opened '{}' with O_DIRECT, but no device read anything: this file system accepts the \
         flag and ignores it",
        first.path.text
    );
    let remedy = "use a file system that does not ignore O_DIRECT";
    Draft::new(Severity::Doubt, message, remedy)
}

/// What it wrote was only acknowledged when it had ended (docs/method).
pub(super) fn acknowledged_only(context: &Context) -> Option<Draft> {
    let measured = context.measured;
    measured.case.command()?;
    if CommandDurability::of(measured) != Some(CommandDurability::Acknowledged) {
        return None;
    }
    let median_of = |of: fn(&Measured, &Counted) -> Option<u64>| {
        measured.median_count(|trial| of(measured, trial))
    };
    let (dirty, all) = (median_of(dirty_bytes), median_of(written_bytes));
    let synced = measured.facts.and_then(FactSheet::durable_syncs).filter(|syncs| *syncs > 0);
    let message = match (dirty.filter(|dirty| *dirty > 0).zip(all), synced) {
        (Some((dirty, all)), _) => format!(
            "{} of the {} that it wrote were on no device when it ended{}",
            bytes_rounded(dirty),
            bytes_rounded(all),
            match synced {
                Some(syncs) => format!(", although it called {syncs} syncs"),
                None => String::new(),
            }
        ),
        (None, _) => {
            "it called no sync: what it wrote was only acknowledged when it ended, by the \
                      OS or by a device's cache"
                .to_string()
        }
    };
    let remedy = "compare it only with commands that do not sync either";
    Draft::sized(dirty_share(measured), Severity::Note, message, remedy)
}

/// It called syncs, but a power cut may lose what it wrote (docs/method).
pub(super) fn not_durable(context: &Context) -> Option<Draft> {
    let measured = context.measured;
    measured.case.command()?;
    if CommandDurability::of(measured) != Some(CommandDurability::NotDurable) {
        return None;
    }
    let storage = CommandDurability::not_durable_on(measured)?;
    let is_lost = storage.medium == Medium::Ram || storage.loses_parts();
    let called = match measured.facts.and_then(FactSheet::durable_syncs) {
        Some(1) => "it called a sync".to_string(),
        Some(syncs) if syncs > 0 => format!("it called {syncs} syncs"),
        _ => "it asked for synced writes".to_string(),
    };
    let (seen, remedy) = if is_lost {
        (lost(Some(storage)), "use a directory on a disk")
    } else if storage.drops_syncs() {
        ("its mount ignores every sync".to_string(), "use a mount that syncs")
    } else {
        let seen = "a device with a write cache completed no flush: a power cut loses what that \
                    cache holds";
        (seen.to_string(), "find what swallows the sync, such as a preloaded library (eatmydata)")
    };
    Draft::new(Severity::Doubt, format!("{called}, but {seen}"), remedy)
}
