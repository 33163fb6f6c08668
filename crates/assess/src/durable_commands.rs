//! Whether what a command wrote was durable when it had ended.

use crate::commands::{dirty_bytes, left_running, written_bytes};
use crate::counted::Counted;
use crate::measured::{Measured, SHARE_NOISE};
use model::host::{Device, Medium, Storage};
use model::named;
use model::path::WriteCache;
use model::rehearsal::FactSheet;

named! {
    /// Whether what a command wrote was durable when it had ended.
    CommandDurability "durability" {
        /// It called a sync, left nothing dirty, and the devices flushed their caches, or have
        /// none.
        Durable "durable",
        /// A part was only in the page cache, or it called no sync.
        Acknowledged "acknowledged",
        /// It called a sync, but the devices did not flush, or keep nothing.
        NotDurable "not durable",
        /// No counter shows it.
        Unseen "unseen",
    }
}

impl CommandDurability {
    /// What the evidence of all trials shows; `None` if it wrote no file that is still there, or
    /// only opened files for writing.
    pub(crate) fn of(measured: &Measured) -> Option<CommandDurability> {
        let facts = measured.facts?;
        facts.written_files().next().filter(|_| !wrote_nothing(measured))?;
        let Some(storages) = written_storages(measured) else {
            return Some(CommandDurability::Unseen);
        };
        let is_dirty = dirty_share(measured).is_some_and(|share| share > SHARE_NOISE);
        let is_in_memory = storages.iter().all(|(_, storage)| storage.medium == Medium::Ram);
        Some(match is_synced(facts) {
            _ if is_dirty && !is_in_memory => CommandDurability::Acknowledged,
            None => CommandDurability::Unseen,
            Some(false) => CommandDurability::Acknowledged,
            // What went on after its end may have synced it.
            Some(true) if measured.trials.iter().any(|it| left_running(it) > 0) => {
                CommandDurability::Unseen
            }
            Some(true) => worst(measured, facts, &storages),
        })
    }

    /// The storage that keeps what the command synced no better than it claims.
    pub(crate) fn not_durable_on<'a>(measured: &Measured<'a>) -> Option<&'a Storage> {
        let facts = measured.facts?;
        let storages = written_storages(measured)?;
        let is_it = |(number, storage): &(usize, &'a Storage)| {
            on_storage(measured, facts, (*number, *storage)) == CommandDurability::NotDurable
        };
        storages.into_iter().find(is_it).map(|(_, storage)| storage)
    }
}

/// The storages of the files that a command wrote, with their numbers; `None` if one was not
/// watched.
fn written_storages<'a>(measured: &Measured<'a>) -> Option<Vec<(usize, &'a Storage)>> {
    let places = measured.places;
    let numbers = places.numbers(measured.facts?.written_files())?;
    numbers.into_iter().map(|number| Some((number, places.storage(number)?))).collect()
}

/// Whether a sync made all durable: it is no better than on the worst of the storages.
fn worst(
    measured: &Measured,
    facts: &FactSheet,
    storages: &[(usize, &Storage)],
) -> CommandDurability {
    let each: Vec<CommandDurability> =
        storages.iter().map(|it| on_storage(measured, facts, *it)).collect();
    let order = [CommandDurability::NotDurable, CommandDurability::Unseen];
    order.into_iter().find(|it| each.contains(it)).unwrap_or(CommandDurability::Durable)
}

/// Whether a sync made durable what it wrote to one storage.
fn on_storage(
    measured: &Measured,
    facts: &FactSheet,
    (number, storage): (usize, &Storage),
) -> CommandDurability {
    match storage.medium {
        Medium::Ram => CommandDurability::NotDurable,
        _ if dirty_share(measured).is_none() => CommandDurability::Unseen,
        _ => flushed(measured, facts, (number, storage)),
    }
}

/// Whether it only opened files for writing: it made no page dirty, and none is dirty at the end.
/// In memory, the OS does not count what it writes.
fn wrote_nothing(measured: &Measured) -> bool {
    let is_block = |storages: Vec<(usize, &Storage)>| {
        storages.iter().all(|(_, storage)| storage.medium == Medium::Block)
    };
    let is_counted = written_storages(measured).is_some_and(is_block);
    let is_clean = |trial: &Counted| {
        trial.evidence.task_write_bytes == Some(0) && dirty_bytes(measured, trial) == Some(0)
    };
    is_counted && measured.n() > 0 && measured.trials.iter().all(is_clean)
}

/// Whether it called a sync that makes data durable, or wrote by a descriptor that syncs each
/// write; `None` if it may have.
fn is_synced(facts: &FactSheet) -> Option<bool> {
    let syncs = facts.durable_syncs();
    let by_flag = facts.written_files().any(|file| file.opens.sync_writes());
    if by_flag { Some(true) } else { syncs.map(|syncs| syncs > 0) }
}

/// The share of the bytes of the files that it wrote which were dirty when it had ended, over all
/// trials that report it.
pub(crate) fn dirty_share(measured: &Measured) -> Option<f64> {
    measured
        .total_share(|trial| Some((dirty_bytes(measured, trial)?, written_bytes(measured, trial)?)))
}

/// Whether the devices flushed in each trial that made pages dirty.
fn flushed(
    measured: &Measured,
    facts: &FactSheet,
    (number, storage): (usize, &Storage),
) -> CommandDurability {
    if storage.medium != Medium::Block || storage.has_unseen_parts() {
        return CommandDurability::Unseen;
    }
    if storage.loses_parts() || storage.drops_syncs() {
        return CommandDurability::NotDurable;
    }
    let is_back = |device: &Device| device.write_cache == Some(WriteCache::Back);
    let is_through = |device: &Device| device.write_cache == Some(WriteCache::Through);
    if storage.devices.iter().all(is_through) && !storage.is_flush_stopped() {
        return CommandDurability::Durable;
    }
    if storage.are_barriers_off() && storage.has_volatile_cache() {
        return CommandDurability::NotDurable;
    }
    let flushes = |trial: &Counted| measured.places.traffic(trial, number)?.flushes;
    if measured.trials.iter().all(|trial| flushes(trial).is_some_and(|flushes| flushes > 0)) {
        return CommandDurability::Durable;
    }
    // A sync of what is clean needs no flush, and a synced write may go through the cache (FUA).
    let owes = |trial: &Counted| {
        // What it wrote may be on another storage: then nothing of it was due here.
        let all = measured.places.numbers(facts.written_files());
        let is_only = all.is_some_and(|numbers| numbers.len() == 1);
        let wrote = trial.evidence.task_write_bytes.is_some_and(|bytes| bytes > 0);
        is_only && wrote && flushes(trial) == Some(0)
    };
    let by_call = facts.durable_syncs().is_some_and(|syncs| syncs > facts.syncs.synced_writes);
    let is_certain = by_call && storage.devices.iter().any(is_back);
    match is_certain && measured.trials.iter().any(owes) {
        true => CommandDurability::NotDurable,
        false => CommandDurability::Unseen,
    }
}
