//! Whether what a command wrote was durable when it had ended.

use crate::commands::{dirty_bytes, read_files, syncs, total, written_bytes, written_files};
use crate::counted::Counted;
use crate::measured::{Measured, SHARE_NOISE};
use model::host::{Device, Medium, Storage, WriteCache};
use model::named;
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
    /// What the evidence of all trials shows; `None` if it wrote no file that is still there.
    pub(crate) fn of(measured: &Measured) -> Option<CommandDurability> {
        let facts = measured.facts?;
        written_files(facts).next()?;
        let Some(storage) = measured.storage.filter(|_| are_together(facts)) else {
            return Some(CommandDurability::Unseen);
        };
        let is_dirty = dirty_share(measured).is_some_and(|share| share > SHARE_NOISE);
        let is_in_memory = storage.medium == Medium::Ram;
        Some(match is_synced(facts) {
            _ if is_dirty && !is_in_memory => CommandDurability::Acknowledged,
            None => CommandDurability::Unseen,
            Some(false) => CommandDurability::Acknowledged,
            Some(true) if is_in_memory => CommandDurability::NotDurable,
            Some(true) if dirty_share(measured).is_none() => CommandDurability::Unseen,
            Some(true) => flushed(measured, facts, storage),
        })
    }
}

/// Whether it called a sync that makes data durable, or wrote by a descriptor that syncs each
/// write; `None` if it may have.
fn is_synced(facts: &FactSheet) -> Option<bool> {
    let syncs = syncs(facts);
    let by_flag = written_files(facts).any(|file| total(&[file.opens.sync, file.opens.dsync]) > 0);
    if by_flag { Some(true) } else { syncs.map(|syncs| syncs > 0) }
}

/// Whether all files that it wrote are on the device whose counters were read: that of the largest
/// data file.
fn are_together(facts: &FactSheet) -> bool {
    let size = |file: &&model::rehearsal::FileUse| file.bytes_before.max(file.bytes_after);
    let largest = read_files(facts).chain(written_files(facts)).max_by_key(size);
    largest.is_some_and(|it| written_files(facts).all(|file| file.device == it.device))
}

/// The share of the bytes of the files that it wrote which were dirty when it had ended, over all
/// trials that report it.
pub(crate) fn dirty_share(measured: &Measured) -> Option<f64> {
    measured
        .total_share(|trial| Some((dirty_bytes(measured, trial)?, written_bytes(measured, trial)?)))
}

/// Whether the devices flushed in each trial that made pages dirty.
fn flushed(measured: &Measured, facts: &FactSheet, storage: &Storage) -> CommandDurability {
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
    let flushes = |trial: &Counted| trial.evidence.device_flushes;
    if measured.trials.iter().all(|trial| flushes(trial).is_some_and(|flushes| flushes > 0)) {
        return CommandDurability::Durable;
    }
    // A sync of what is clean needs no flush, and a synced write may go through the cache (FUA).
    let owes = |trial: &Counted| {
        let wrote = trial.evidence.task_write_bytes.is_some_and(|bytes| bytes > 0);
        wrote && flushes(trial) == Some(0)
    };
    let by_call = syncs(facts).is_some_and(|syncs| syncs > facts.syncs.synced_writes);
    let is_certain = by_call && storage.devices.iter().any(is_back);
    match is_certain && measured.trials.iter().any(owes) {
        true => CommandDurability::NotDurable,
        false => CommandDurability::Unseen,
    }
}
