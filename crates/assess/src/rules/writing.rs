//! Whether written data is where the case claims.

use super::context::{Context, Draft, RuleTable, lost, to_flush, unseen_sync};
use super::{commands, names, writing_commands};
use crate::counted::Counted;
use crate::durable_commands::CommandDurability;
use crate::finding::{Code, Severity};
use crate::served::{SHARE_NOISE, shared_share, unreached_share};
use crate::stats::median;
use crate::summary::ServedBy;
use crate::writing::{Durability, durable_bytes, syncs_due};
use model::case::{Allocation, Cache, Fill, Op, Sync, WriteEngine, WriteWork};
use model::host::Medium;
use model::list::listed;
use model::plan::Actor;
use model::units::{bytes_rounded, percent, scaled};
use model::watched::SyncedBy;

/// The rules of this module.
pub(super) const RULES: RuleTable = &[
    (Code::NotDurable, not_durable),
    (Code::AcknowledgedOnly, acknowledged_only),
    (Code::DirtyStart, dirty_start),
    (Code::Compressed, compressed),
    (Code::NearlyFull, nearly_full),
    (Code::Allocating, allocating),
];

/// This many bytes may be dirty at the start: the OS always writes something itself.
const DIRTY_MOST: f64 = (16 << 20) as f64;
/// This share of a trial's bytes may be dirty at its start (docs/method).
const DIRTY_SHARE_MOST: f64 = 0.05;
/// With less than this share on the devices, the data was transformed (docs/method).
const STORED_LEAST: f64 = 0.90;
/// Less free space than this changes how an SSD writes (docs/method).
const FREE_LEAST: f64 = 0.15;

/// Claimed durable, but a power cut may lose it (docs/method).
fn not_durable(context: &Context) -> Option<Draft> {
    let of_others = || names::not_durable(context).or_else(|| commands::not_durable(context));
    write_not_durable(context).or_else(of_others)
}

fn write_not_durable(context: &Context) -> Option<Draft> {
    let (work, n) = (context.write()?, context.measured.n());
    let sync = work.sync;
    let durability = Durability::of(context.measured);
    let size = match durability {
        Durability::Dirty(share) => Some(share),
        Durability::Rewritten(times) => Some(1.0 - 1.0 / times),
        Durability::Untold(trials) | Durability::Unflushed(trials) => {
            Some(trials as f64 / n as f64)
        }
        _ => None,
    };
    let (severity, seen, remedy) = match durability {
        // Rule CountersUnseen reports what is not counted.
        Durability::NotClaimed
        | Durability::Holds
        | Durability::Uncounted
        | Durability::CacheUnknown
        | Durability::Through { .. } => return None,
        Durability::BarriersOff { is_through } => {
            let storage = context.measured.storage?;
            let is_nothing = is_through || work.op == Op::Sync;
            let severity = if is_nothing { Severity::Doubt } else { Severity::Void };
            let seen = format!(
                "{} flushes nothing: a power cut loses what the devices' caches hold{}",
                listed(&storage.barriers_off()),
                match is_through {
                    true =>
                        ", except for writes that the OS sends through them (FUA), which are not \
                         counted",
                    false => "",
                }
            );
            (severity, seen, to_flush(storage))
        }
        Durability::Dropped => dropped(context, work)?,
        Durability::Dirty(share) => {
            let seen = format!(
                "{} of the bytes were still dirty in the page cache after the last sync: it wrote \
                 nothing{}",
                percent(share),
                preloaded(context)
            );
            (Severity::Void, seen, SWALLOWED)
        }
        Durability::Unseen => {
            let (seen, remedy) = unseen_sync(context.measured.storage, &format!("'{sync}'"));
            (Severity::Doubt, seen, remedy)
        }
        Durability::InMemory => {
            (Severity::Doubt, lost(context.measured.storage), "use a directory on a disk")
        }
        Durability::Untold(trials) => (
            Severity::Void,
            format!("the worker reported no sync that returned (in {trials} of {n} trials)"),
            "the worker is wrong: trust neither of its rates",
        ),
        Durability::Rewritten(times) => rewritten(work, times),
        Durability::Unflushed(trials) => unflushed(context, work, trials)?,
    };
    Draft::sized(size, severity, format!("claimed durable by '{sync}', but {seen}"), remedy)
}

/// The remedy if something other than the file system makes syncs do nothing.
const SWALLOWED: &str = "find what swallows the sync, such as a preloaded library (eatmydata), a \
                         filter of system calls (systemd-nspawn --suppress-sync) or the mount \
                         option 'nobarrier'; until then use only the acknowledged rate";

/// A mount drops syncs. If nothing was written, the figure is the cost of a call that does nothing.
fn dropped(context: &Context, work: &WriteWork) -> Option<(Severity, String, &'static str)> {
    let mounts = listed(&context.measured.storage?.dropping());
    let seen = format!(
        "{mounts} ignores every sync: the data stays in the page cache, and a crash of the OS or a \
         power cut loses it"
    );
    let severity = if work.op == Op::Sync { Severity::Doubt } else { Severity::Void };
    let remedy = "measure on a mount that syncs, such as a volume of the container instead of its \
                  own overlay; here use only the acknowledged rate";
    Some((severity, seen, remedy))
}

/// Names the libraries that are preloaded into workers, if any.
fn preloaded(context: &Context) -> String {
    let preloaded = context.measured.host.setup.preloaded.as_ref();
    preloaded.map_or_else(String::new, |names| {
        format!(" ({names} is preloaded into programs, and may replace their syncs)")
    })
}

/// Some of what was written never had to become durable.
fn rewritten(work: &WriteWork, times: f64) -> (Severity, String, &'static str) {
    let seen = format!(
        "blocks were written {} times between syncs on average, and only their last version had to \
         become durable: {} of the bytes",
        scaled(times).trim_end(),
        percent(1.0 / times)
    );
    let remedy = match work.every {
        0 => {
            "measure without a rate, or mend the peer: what one sync at the end makes durable is \
              to be written once"
        }
        _ => "sync more often: choose a smaller --sync-every",
    };
    (Severity::Doubt, seen, remedy)
}

/// The devices have caches and did not flush them. A sync with nothing dirty claims nothing, and
/// some file systems know that there is nothing to flush.
fn unflushed(
    context: &Context,
    work: &WriteWork,
    trials: usize,
) -> Option<(Severity, String, &'static str)> {
    let flushes = context.summary.writing.as_ref()?.flushes_per_trial.unwrap_or(0);
    let due = median(&context.measured.values(|trial| Some(syncs_due(work, trial) as f64)))?;
    let of = |number: f64, what: &str, more: &str| {
        format!("{number} {what}{}", if number == 1.0 { "" } else { more })
    };
    let asked = match work.sync {
        Sync::Dsync => format!("{} per trial, each a sync", of(due, "write", "s")),
        _ => format!("{} per trial", of(due, "sync", "s")),
    };
    let (n, flushes) = (context.measured.n(), of(flushes as f64, "flush", "es"));
    let seen =
        format!("the devices completed {flushes} for {asked} (too few in {trials} of {n} trials)");
    if work.op == Op::Sync {
        let seen = format!("{seen}: nothing was dirty, and the sync returned without a flush");
        let remedy = "read the figure as the cost of the call, not of a flush";
        return Some((Severity::Doubt, seen, remedy));
    }
    let seen = format!("{seen}: a power cut loses what their caches hold{}", preloaded(context));
    Some((Severity::Void, seen, SWALLOWED))
}

/// Nothing made the data durable: the figure is how fast it was acknowledged (docs/method).
fn acknowledged_only(context: &Context) -> Option<Draft> {
    let names = || names::acknowledged_only(context);
    write_unsynced(context).or_else(names).or_else(|| commands::acknowledged_only(context))
}

fn write_unsynced(context: &Context) -> Option<Draft> {
    let work = context.write().filter(|work| !work.sync.claims_durable())?;
    let synced_by = context.measured.storage.and_then(|it| it.synced_by(work));
    let what = match (work.sync, work.io.cache) {
        _ if synced_by == Some(SyncedBy::Mount) => {
            "no sync was asked for, but the file system is mounted with 'sync', so each write \
             waited until it was stored: the figure is that of synchronous writes"
        }
        _ if synced_by == Some(SyncedBy::Flag) => {
            "no sync was asked for, but files in this directory have the flag of 'chattr +S', so \
             each write waited until it was stored: the figure is that of synchronous writes"
        }
        (Sync::FileRange, _) => {
            "sync_file_range flushes neither a device's cache nor metadata: the figure is how fast \
             the OS acknowledged the bytes"
        }
        (_, Cache::Direct) if work.read_share > 0 => {
            "O_DIRECT without a sync flushes neither a device's cache nor metadata: what was \
             written is only acknowledged by the device, or its cache"
        }
        (_, Cache::Direct) => {
            "O_DIRECT without a sync flushes neither a device's cache nor metadata: the figure is \
             how fast the device, or its cache, acknowledged the bytes"
        }
        _ => "nothing was synced: the figure is how fast the OS acknowledged the bytes",
    };
    let is_known = context.measured.storage.is_some_and(|s| s.medium == Medium::Block);
    let unreached = unreached_share(context.measured).filter(|_| is_known);
    let reached = unreached.map(|share| {
        format!("; at the end, {} of the bytes had reached a device", percent(1.0 - share))
    });
    let message = format!("{what}{}", reached.unwrap_or_default());
    let remedy = "ask for a sync, such as 'fdatasync', to get both rates";
    Draft::sized(unreached, Severity::Note, message, remedy)
}

/// Data of other processes, or of an earlier trial, was still dirty when a trial started
/// (docs/method).
fn dirty_start(context: &Context) -> Option<Draft> {
    let is_command = context.measured.case.command().is_some();
    let wrote = |trial: &Counted| match is_command {
        true => trial.evidence.task_write_bytes.unwrap_or(0),
        false => trial.sample.bytes(),
    };
    if context.write().is_none() && !(is_command && uses_devices(context)) {
        return None;
    }
    if context.measured.storage.is_some_and(|storage| storage.medium == Medium::Ram) {
        // A file kept in memory stays dirty forever.
        return None;
    }
    if context.measured.sustain.is_some() {
        // Sustained trials are pieces of one.
        return None;
    }
    let page = context.measured.host.page;
    let dirty = |trial: &Counted| {
        let of_file = trial.evidence.residency_before.and_then(|seen| seen.dirty);
        let of_file = of_file.map(|pages| pages.saturating_mul(page));
        // What an actor wrote before the trial began is what it does.
        let of_machine = trial.evidence.dirty_before.filter(|_| !has_writing_actor(context));
        of_machine.max(of_file).map(|bytes| bytes as f64)
    };
    let limit = |trial: &Counted| (DIRTY_SHARE_MOST * wrote(trial) as f64).max(DIRTY_MOST);
    let excess = median(&context.measured.values(|t| Some(dirty(t)? - limit(t))))?;
    if excess <= 0.0 {
        return None;
    }
    let bytes = median(&context.measured.values(dirty))?;
    let message = format!(
        "{} of the page cache were still dirty when a trial began: the device had to write that as \
         well",
        bytes_rounded(bytes as u64)
    );
    let remedy = "stop other programs that write, or wait until their data is written ('sync')";
    Draft::sized(bytes, Severity::Doubt, message, remedy)
}

fn has_writing_actor(context: &Context) -> bool {
    let beside = &context.measured.case.beside;
    let is_one = |actor: &Actor| beside.contains(&actor.name) && actor.case.write().is_some();
    context.measured.actors.iter().any(is_one)
}

/// Whether a command read from devices, or made data durable: then it waited for them.
fn uses_devices(context: &Context) -> bool {
    let is_durable = CommandDurability::of(context.measured) == Some(CommandDurability::Durable);
    is_durable || context.is_served(&[ServedBy::Device, ServedBy::Mixed])
}

/// The data is durable, yet the devices wrote fewer bytes than the case (docs/method). This is
/// only a note for zeros or a constant, which the case requests.
fn compressed(context: &Context) -> Option<Draft> {
    if context.measured.case.command().is_some() {
        return writing_commands::compressed(context);
    }
    let work = context.write().filter(|work| work.op != Op::Sync)?;
    context.measured.storage.filter(|storage| storage.medium == Medium::Block)?;
    context.summary.writing.as_ref()?.durable?;
    if shared_share(context.measured).is_some_and(|share| share > SHARE_NOISE) {
        // Rule NoIo reports what a copy only shares with its source.
        return None;
    }
    let stored = context.total_share(|trial| {
        let owed = durable_bytes(work, context.measured.part, trial.sample);
        Some((context.measured.written_at_most(trial)?.min(owed), owed))
    });
    let stored = stored.filter(|share| *share < STORED_LEAST)?;
    let cause = if work.engine == WriteEngine::CopyFileRange {
        "the copy shares blocks of its source, or they are compressed"
    } else {
        "something below compresses them, or stores equal blocks once"
    };
    let severity = if work.fill == Fill::Random { Severity::Doubt } else { Severity::Note };
    let message = format!(
        "all data is durable, but the devices wrote only {} of the bytes: {cause}",
        percent(stored)
    );
    let remedy = "to measure the device, write random data where nothing compresses or shares it";
    Draft::sized(1.0 - stored, severity, message, remedy)
}

/// The file system is nearly full (docs/method).
fn nearly_full(context: &Context) -> Option<Draft> {
    context.write().filter(|work| work.op != Op::Sync)?;
    let storage = context.measured.storage.filter(|storage| storage.medium != Medium::Ram)?;
    let (capacity, free_bytes) = storage.room()?;
    let free = free_bytes as f64 / capacity.max(1) as f64;
    if free >= FREE_LEAST {
        return None;
    }
    let message = format!(
        "only {} of {} are free ({}): an SSD then has a smaller cache and moves data around, and \
         files are fragmented",
        bytes_rounded(free_bytes),
        bytes_rounded(capacity),
        percent(free)
    );
    Draft::new(Severity::Note, message, "free some space, and give the device time to clean up")
}

/// Each durable write changes metadata too (docs/method).
fn allocating(context: &Context) -> Option<Draft> {
    let work = context.write().filter(|work| work.op == Op::Write)?;
    if context.measured.storage.is_some_and(|storage| storage.medium == Medium::Ram) {
        return None;
    }
    let is_each = work.every > 0 || work.sync == Sync::Dsync || work.io.cache == Cache::Direct;
    let what = match work.allocation {
        Allocation::Overwrite => return None,
        _ if !is_each => return None,
        Allocation::None => "gives the file new blocks and a new size",
        Allocation::Append => "extends the file, with new blocks",
        Allocation::Fallocate => "marks allocated blocks as written",
    };
    let message =
        format!("allocation '{}': each write {what}, so it also writes metadata", work.allocation);
    let remedy = "use allocation 'overwrite' for the cost of data alone, which is a different \
                  figure";
    Draft::new(Severity::Note, message, remedy)
}
