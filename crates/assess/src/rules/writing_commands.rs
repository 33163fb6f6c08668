//! What can be wrong with what a command writes, as far as counters prove it.

use super::context::{Context, Draft};
use crate::commands::{dirty_bytes, written_bytes};
use crate::counted::Counted;
use crate::finding::Severity;
use crate::measured::Measured;
use crate::stats::median;
use model::host::Medium;
use model::rehearsal::{FactSheet, FileUse};
use model::units::{bytes_rounded, percent};

/// A writer that waits this share of its time waits for the device (docs/method).
const WAITING_MOST: f64 = 0.10;
/// Reads of up to this share of the written bytes are metadata.
const READS_MOST: f64 = 0.01;
/// If devices wrote less than this share of what had to reach them, it became smaller on the way
/// (docs/method).
const STORED_LEAST: f64 = 0.90;
/// Of fewer bytes, metadata of the file system is a large part.
const WRITTEN_LEAST: u64 = 1 << 20;

/// The OS held a command back until the device caught up (docs/method). It synced nothing, read
/// nothing, and neither ran nor was ready to, while tasks waited for I/O and as much was dirty as
/// makes the OS hold writers back.
pub(super) fn throttled(context: &Context) -> Option<Draft> {
    let measured = context.measured;
    let facts = measured.facts.filter(|facts| writes_only_through_cache(facts))?;
    measured.storage.filter(|storage| storage.medium == Medium::Block)?;
    if !are_on_own_storage(measured, facts) {
        return None;
    }
    let reads = context.total_share(|trial| {
        Some((trial.evidence.task_read_bytes?, trial.evidence.task_write_bytes?))
    })?;
    if reads >= READS_MOST {
        return None;
    }
    let held_back = |trial: &Counted| match is_near_limit(trial)? {
        true => waiting_share(trial),
        false => Some(0.0),
    };
    let waiting = median(&measured.values(held_back)).filter(|it| *it >= WAITING_MOST)?;
    let of =
        |of: fn(&Counted) -> Option<u64>| bytes_rounded(measured.median_count(of).unwrap_or(0));
    let message = format!(
        "the OS held it back for {} of its time: it allows {} of dirty pages, and {} were dirty at \
         the end",
        percent(waiting),
        of(|trial| trial.evidence.dirty_limit),
        of(|trial| trial.evidence.dirty_after)
    );
    let remedy = "read its time as a mix of memory and device; write less than half of that limit \
                  to see memory, or let it sync to see the device";
    Draft::sized(waiting, Severity::Doubt, message, remedy)
}

/// Whether it wrote files, and all of them are on the storage of the case.
fn are_on_own_storage(measured: &Measured, facts: &FactSheet) -> bool {
    let numbers = measured.places.numbers(facts.written_files()).unwrap_or_default();
    numbers.into_iter().eq([measured.places.own_number()])
}

/// Whether it waits for a device only if the OS makes it wait: no sync, no direct write, no ring.
fn writes_only_through_cache(facts: &FactSheet) -> bool {
    let is_seen = !facts.sampled && facts.unseen.is_empty() && facts.queues.aio == 0;
    let is_plain = |file: &FileUse| !file.opens.wait_for_device();
    is_seen && facts.syncs.is_none() && facts.written_files().all(is_plain)
}

/// Whether the OS may have made a writer wait: it begins between its background limit and this
/// one, never below half of it (`dirty_freerun_ceiling` in `mm/page-writeback.c`).
fn is_near_limit(trial: &Counted) -> Option<bool> {
    Some(trial.evidence.dirty_after? >= trial.evidence.dirty_limit? / 2)
}

/// The share of its time in which it neither ran nor was ready to; at most that in which a task of
/// the machine waited for I/O, as one does that is held back.
fn waiting_share(trial: &Counted) -> Option<f64> {
    let evidence = &trial.evidence;
    let running_ns = trial
        .cpu_ns()?
        .saturating_add(trial.sum_of_spans(|span| span.run_delay_ns)?)
        .saturating_add(evidence.steal_ns?);
    let wall_ns = trial.wall_ns();
    let waited_ns = wall_ns.saturating_sub(running_ns).min(evidence.pressure_io_ns?);
    (wall_ns > 0).then(|| waited_ns as f64 / wall_ns as f64)
}

/// All that it made dirty is clean, yet the devices wrote less (docs/method). What it writes is
/// its own choice, so this is a note.
pub(super) fn compressed(context: &Context) -> Option<Draft> {
    let measured = context.measured;
    let facts = measured.facts.filter(|facts| is_all_to_be_stored(facts))?;
    measured.storage.filter(|storage| storage.medium == Medium::Block)?;
    if !are_on_own_storage(measured, facts) {
        return None;
    }
    let stored = context.total_share(|trial| {
        let owed = owed_bytes(measured, trial)?;
        Some((measured.written_at_most(trial)?.min(owed), owed))
    });
    let stored = stored.filter(|share| *share < STORED_LEAST)?;
    let message = format!(
        "none of what it wrote is dirty any more, but the devices wrote only {} of the bytes: \
         something below compresses them, or stores equal blocks once",
        percent(stored)
    );
    let remedy = "to measure the device, write random data where nothing compresses or shares it";
    Draft::sized(1.0 - stored, Severity::Note, message, remedy)
}

/// Whether devices had to get all that it made dirty: it removed no file that it wrote, dropped no
/// dirty page, and shared no block.
fn is_all_to_be_stored(facts: &FactSheet) -> bool {
    let is_gone = |file: &FileUse| {
        let wrote = file.opens.writing > 0 || file.mappings.writable > 0;
        (file.removed || file.replacements > 0) && wrote
    };
    let is_shared = |file: &FileUse| file.copies.target > 0 || file.copies.cloned_target > 0;
    let dropped = facts.totals.and_then(|totals| Some(totals.io?.cancelled_write_bytes));
    let is_seen = !facts.sampled && facts.unseen.is_empty() && facts.unlisted_files == 0;
    is_seen && dropped == Some(0) && !facts.files.iter().any(|it| is_gone(it) || is_shared(it))
}

/// Bytes that the devices had to write in a trial; `None` unless all of them are clean.
fn owed_bytes(measured: &Measured, trial: &Counted) -> Option<u64> {
    dirty_bytes(measured, trial).filter(|dirty| *dirty == 0)?;
    let owed = trial.evidence.task_write_bytes?.min(written_bytes(measured, trial)?);
    Some(owed).filter(|owed| *owed >= WRITTEN_LEAST)
}
