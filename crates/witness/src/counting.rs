//! Whether devices' counters work, tested with a canary file (docs/method).
//!
//! A counter that stays at zero while the block layer moves bytes proves nothing: counting may be
//! off (`queue/iostats`), or the driver may not count.

use crate::canary::{Aligned, CANARY, Canary, DIRECT_BLOCK, open_direct};
use crate::error::Error;
use crate::sysfs::number;
use crate::traffic::{self, SECTOR, Traffic};
use model::host::{Direct, Medium, Storage};
use model::layer::{Amplification, Counts, Layer};
use model::path::WriteCache;
use model::watched::{WRITES_NOTHING, unflushed};
use procfs::FromRead;
use procfs::process::Io;
use rustix::fs::Advice;
use std::fs::File;
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A counter works if it sees at least this share of a canary's bytes. If several devices each have
/// a part of them, all their counters must work.
const SEEN_LEAST: f64 = 0.75;
/// Bytes count as doubled if they are within this share of twice the expected number.
const TWICE_WITHIN: f64 = 0.02;

/// Tests all counters with a file in `directory`: writes, syncs and reads it.
pub(crate) fn try_files(directory: &Path, storage: &mut Storage) {
    if storage.medium == Medium::Ram || storage.layers.is_empty() {
        return;
    }
    if let Err(error) = write_and_read(directory, storage) {
        storage.notes.push(format!("cannot test whether the devices' counters count: {error}"));
    }
    try_nothing(storage);
}

fn write_and_read(directory: &Path, storage: &mut Storage) -> Result<(), Error> {
    let before = look(&storage.layers);
    let canary = Canary::create_named(directory)?;
    canary.sync().map_err(Error::refused("sync a canary file in", directory))?;
    let after = look(&storage.layers);
    test_writes(&canary, (&before, &after), storage);
    let may_flush = !storage.are_barriers_off()
        && storage.devices.iter().any(|device| device.write_cache == Some(WriteCache::Back));
    for ((layer, before), after) in storage.layers.iter_mut().zip(before).zip(after) {
        let flushes = after.and_then(|t| t.flushes).zip(before.and_then(|t| t.flushes));
        let has_counted = flushes.is_some_and(|(after, _)| after > 0);
        layer.counts.flushes = match flushes.map(|(after, before)| after > before) {
            Some(false) if !may_flush => None,
            // No flush came this time, but the device has counted flushes before.
            Some(false) if has_counted && layer.counts.writes == Some(true) => Some(true),
            moved => moved,
        };
    }
    try_reads(&canary.file, CANARY, storage)
}

/// Tests the write counters: `before` and `after` the canary was written and synced.
///
/// A sync that does nothing leaves the data in the page cache, which says nothing about a counter.
/// So if one did not move, the canary is written again past the page cache.
fn test_writes(
    canary: &Canary,
    (before, after): (&[Option<Traffic>], &[Option<Traffic>]),
    storage: &mut Storage,
) {
    let synced = written(before, after);
    let counts = |layers: &[Layer], sectors: &[Option<u64>]| -> Vec<Option<bool>> {
        let each = layers.iter().zip(sectors);
        each.map(|(layer, sectors)| counted(*sectors, CANARY, layer.writes.least)).collect()
    };
    let by_sync = counts(&storage.layers, &synced);
    let mut by_write = vec![None; by_sync.len()];
    if by_sync.contains(&Some(false)) && accepts_direct(storage) {
        let before = look(&storage.layers);
        match canary.write_directly() {
            Ok(()) => by_write = counts(&storage.layers, &written(&before, &look(&storage.layers))),
            Err(error) => log::debug!("cannot write a canary file directly: {error}"),
        }
    }
    let bytes = |sectors: Option<u64>| Some(sectors?.saturating_mul(SECTOR) as f64);
    let is_idle = |sectors| bytes(sectors).is_some_and(|b| b < (1.0 - SEEN_LEAST) * CANARY as f64);
    // What a layer above took may reach one below later, so no layer may have moved by the sync.
    let did_nothing = !synced.is_empty() && synced.iter().all(|sectors| is_idle(*sectors));
    if !storage.drops_syncs() && did_nothing && by_write.contains(&Some(true)) {
        let mount = unflushed(&storage.file_system, &storage.mount_point, WRITES_NOTHING);
        storage.barriers_off.push(mount);
    }
    let is_dropped = storage.drops_syncs();
    let told = by_sync.into_iter().zip(by_write);
    for (layer, (by_sync, by_write)) in storage.layers.iter_mut().zip(told) {
        layer.counts.writes = match (by_sync, by_write) {
            (Some(false), Some(true)) => Some(true),
            (Some(false), _) if is_dropped => None,
            (by_sync, _) => by_sync,
        };
    }
}

/// The sectors that each layer's devices wrote meanwhile.
fn written(before: &[Option<Traffic>], after: &[Option<Traffic>]) -> Vec<Option<u64>> {
    let each = before.iter().zip(after);
    each.map(|(before, after)| {
        Some((*after)?.sectors_written.saturating_sub((*before)?.sectors_written))
    })
    .collect()
}

fn accepts_direct(storage: &Storage) -> bool {
    matches!(storage.direct, Direct::Accepted { .. })
}

/// Tests the read counters with the first `length` bytes of a file.
pub(crate) fn try_reads(file: &File, length: u64, storage: &mut Storage) -> Result<(), Error> {
    let (was_asked, sectors) = read_counted(file, length, storage)?;
    let is_twice = |layer: &Layer, sectors, length| {
        is_mapped(layer) && is_counted_twice(sectors, length, layer.reads)
    };
    // Another process may have read as much meanwhile: what is doubled is so at any length.
    let again = if storage.layers.iter().zip(&sectors).any(|(l, s)| is_twice(l, *s, length)) {
        read_counted(file, length / 2, storage)?.1
    } else {
        vec![None; sectors.len()]
    };
    for ((layer, sectors), again) in storage.layers.iter_mut().zip(sectors).zip(again) {
        let counted = counted(sectors, length, layer.reads.least);
        layer.counts.reads = counted.filter(|counts| *counts || was_asked);
        if is_twice(layer, sectors, length) && is_twice(layer, again, length / 2) {
            let twice = Amplification::of(2);
            (layer.reads, layer.writes) = (twice.on(layer.reads), twice.on(layer.writes));
        }
    }
    Ok(())
}

/// Reads the first `length` bytes of a file. Returns whether they were requested from the block
/// layer, and the sectors that each layer's devices counted.
fn read_counted(
    file: &File,
    length: u64,
    storage: &Storage,
) -> Result<(bool, Vec<Option<u64>>), Error> {
    rustix::fs::fadvise(file, 0, NonZeroU64::new(length), Advice::DontNeed)
        .map_err(Error::refused_on("evict", file))?;
    let (read_before, before) = (own_reads(), look(&storage.layers));
    let past_cache = open_direct(file).ok().filter(|_| accepts_direct(storage));
    let reader = past_cache.as_ref().unwrap_or(file);
    let mut block = Box::new(Aligned([0; DIRECT_BLOCK]));
    for offset in (0..length).step_by(DIRECT_BLOCK) {
        reader.read_at(&mut block.0, offset).map_err(Error::refused_on("read again", file))?;
    }
    let after = look(&storage.layers);
    // Reads from the page cache prove nothing: the requests must have reached the block layer.
    let asked = own_reads().zip(read_before).map(|(after, before)| after.saturating_sub(before));
    let was_asked = asked.is_some_and(|bytes| bytes as f64 >= SEEN_LEAST * length as f64);
    let read = |(after, before): (Traffic, Traffic)| {
        after.sectors_read.saturating_sub(before.sectors_read)
    };
    let sectors = after.into_iter().zip(before).map(|(a, b)| a.zip(b).map(read)).collect();
    Ok((was_asked, sectors))
}

/// Checks without a canary whether counting is switched off.
///
/// Stacked devices count regardless of `queue/iostats`, and flushes are always counted.
pub(crate) fn try_nothing(storage: &mut Storage) {
    let Some(Layer { nodes, counts, .. }) = storage.layers.first_mut() else { return };
    let is_off = |node: &String| {
        let queue = Path::new("/sys/block").join(node).join("queue");
        number(&queue.join("iostats")) == Some(0)
    };
    if nodes.iter().any(is_off) {
        let Counts { reads, writes, .. } = counts;
        reads.get_or_insert(false);
        writes.get_or_insert(false);
    }
}

/// The current counters of each layer's devices.
fn look(layers: &[Layer]) -> Vec<Option<Traffic>> {
    let stat =
        |node: &String| traffic::parse_stat(&std::fs::read_to_string(traffic::stat_of(node)).ok()?);
    layers.iter().map(|layer| traffic::sum(layer.nodes.iter().map(stat))).collect()
}

/// Whether `sectors` cover `bytes`, each moved at least `least` times. `None` if the counter cannot
/// be read, or if it is 0 and the device may have moved none.
fn counted(sectors: Option<u64>, bytes: u64, least: u32) -> Option<bool> {
    let seen = sectors?.saturating_mul(SECTOR) as f64;
    match least {
        0 if seen == 0.0 => None,
        0 => Some(true),
        least => Some(seen >= SEEN_LEAST * bytes as f64 * f64::from(least)),
    }
}

/// Whether device-mapper made the layer's devices. Of these, one with an md target, such as an LVM
/// mirror, counts each request itself, and md counts it again, both reads and writes.
fn is_mapped(layer: &Layer) -> bool {
    layer.nodes.iter().all(|node| node.starts_with("dm-"))
}

/// Whether `sectors` are twice what `reads` implies for `bytes`.
fn is_counted_twice(sectors: Option<u64>, bytes: u64, reads: Amplification) -> bool {
    let Some((sectors, times)) = sectors.zip(reads.exact()) else { return false };
    let twice = 2.0 * f64::from(times) * bytes as f64;
    (sectors.saturating_mul(SECTOR) as f64 / twice - 1.0).abs() <= TWICE_WITHIN
}

/// Bytes that this process caused to be read from block devices.
fn own_reads() -> Option<u64> {
    let text = std::fs::read("/proc/self/io").ok()?;
    Some(Io::from_read(&text[..]).ok()?.read_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_twice_is_known() {
        let mib: u64 = (1 << 20) / SECTOR;
        for (sectors, reads, expected) in [
            (Some(2 * mib), Amplification::ONE, true),
            (Some(2 * mib + 8), Amplification::ONE, true),
            (Some(mib), Amplification::ONE, false),
            (Some(3 * mib / 2), Amplification::ONE, false),
            (Some(2 * mib), Amplification::of(2), false),
            (Some(4 * mib), Amplification::of(2), true),
            (Some(2 * mib), Amplification::SOME, false),
            (None, Amplification::ONE, false),
        ] {
            assert_eq!(is_counted_twice(sectors, 1 << 20, reads), expected, "{sectors:?}");
        }
    }

    #[test]
    fn a_counter_counts_that_saw_what_was_moved() {
        let mib = Some((1 << 20) / SECTOR);
        for (sectors, least, expected) in [
            (mib, 1, Some(true)),
            (mib, 2, Some(false)),
            (Some(8), 1, Some(false)),
            (Some(0), 1, Some(false)),
            (Some(8), 0, Some(true)),
            (Some(0), 0, None),
            (None, 1, None),
        ] {
            assert_eq!(counted(sectors, 1 << 20, least), expected, "{sectors:?} {least}");
        }
    }
}
