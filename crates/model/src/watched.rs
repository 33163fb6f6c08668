//! Which of a storage's devices are watched, and what a sync does there.

use crate::case::{WriteEngine, WriteWork};
use crate::host::{Device, HeldContent, Medium, Storage, WeakPart};
use crate::layer::{Amplification, Layer};
use crate::list::listed;
use crate::path::WriteCache;
use std::collections::BTreeSet;
use std::path::Path;

/// File systems on devices whose reads the counters of processes show. Tests prove it
/// (docs/method).
pub const COUNTED_FILE_SYSTEMS: [&str; 4] = ["ext2", "ext3", "ext4", "xfs"];

/// What makes each write wait until it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncedBy {
    /// The mount option `sync`.
    Mount,
    /// The files' own flag, which new files have from their directory (`chattr +S`).
    Flag,
}

impl Device {
    /// Itself, and all devices below its file, if it is a loop device.
    pub fn and_below(&self) -> Vec<&Device> {
        let below = self.file.iter().flat_map(|file| &file.devices);
        std::iter::once(self).chain(below.flat_map(Device::and_below)).collect()
    }

    /// The disks below: of a loop device, those below its file, if known; otherwise itself.
    pub fn disks(&self) -> Vec<&Device> {
        match &self.file {
            Some(file) => file.devices.iter().flat_map(Device::disks).collect(),
            None => vec![self],
        }
    }

    /// How often the disk below writes a byte that this device writes, at most: the file system of
    /// a loop device's file may journal its data. `None` if nothing bounds it.
    fn disk_writes_most(&self) -> Option<u32> {
        let Some(file) = &self.file else { return Some(1) };
        let copies: u32 = match (file.file_system.as_str(), file.journals_data) {
            ("ext4", told) => {
                if told? {
                    2
                } else {
                    1
                }
            }
            ("ext2" | "xfs" | "block device", _) => 1,
            _ => return None,
        };
        let below = file.devices.iter().map(Device::disk_writes_most);
        copies.checked_mul(below.reduce(|a, b| Some(a?.max(b?))).flatten()?)
    }

    /// Its name and, if it is a loop device, what its file is on.
    pub fn in_words(&self) -> String {
        match &self.file {
            Some(file) => format!("{}, a file on {}", self.name, file.file_system),
            None => self.name.clone(),
        }
    }

    /// The names of the disks that count what it moves: below its file, if it is a loop device.
    pub(crate) fn followed(&self) -> Vec<&str> {
        match self {
            Device { file: Some(file), .. } => file.disks.iter().map(String::as_str).collect(),
            Device { loop_direct: Some(_), .. } => Vec::new(),
            Device { name, .. } => vec![name.as_str()],
        }
    }
}

impl Storage {
    /// Whether what devices read of its files is known to be in the counters of processes.
    pub fn counts_reads(&self) -> bool {
        self.medium == Medium::Block && COUNTED_FILE_SYSTEMS.contains(&self.file_system.as_str())
    }

    /// The names of all known devices that the bytes pass, also below the files of loop devices:
    /// any of them may have a limit.
    pub fn nodes(&self) -> BTreeSet<&str> {
        let devices: Vec<&Device> = self.devices.iter().flat_map(Device::and_below).collect();
        let below = devices.iter().filter_map(|device| device.file.as_ref());
        let of_layers = self.layers.iter().flat_map(|layer| &layer.nodes);
        let others = below.flat_map(|file| &file.disks).chain(of_layers).map(String::as_str);
        let limited = self.limits.iter().map(|limit| limit.device.as_str());
        devices.iter().map(|device| device.name.as_str()).chain(others).chain(limited).collect()
    }

    /// The layer whose read and write counters are watched: the lowest one with working counters
    /// and a known amplification. The lower it is, the more foreign traffic it shows.
    pub fn watched(&self) -> Option<&Layer> {
        let rank = |layer: &&Layer| (layer.may_count(), layer.is_exact());
        // `max_by_key` returns the last of equals.
        self.layers.iter().rev().max_by_key(rank)
    }

    /// The names of the devices whose read and write counters are watched.
    pub fn watched_nodes(&self) -> Vec<&str> {
        match self.watched() {
            Some(layer) => layer.nodes.iter().map(String::as_str).collect(),
            None => self.devices.iter().map(|device| device.name.as_str()).collect(),
        }
    }

    /// The names of the devices whose flush counters are watched: those at the bottom, because
    /// stacked devices pass flushes on without counting them.
    pub fn flushed_nodes(&self) -> Vec<&str> {
        match self.layers.first() {
            Some(layer) => layer.nodes.iter().map(String::as_str).collect(),
            None => self.devices.iter().map(|device| device.name.as_str()).collect(),
        }
    }

    /// The disks at the bottom, below loop devices as well.
    pub fn disks(&self) -> Vec<&Device> {
        self.devices.iter().flat_map(Device::disks).collect()
    }

    /// The names of the disks below loop devices, whose counters show what the page cache outside
    /// served or took. Empty without a loop device, or if one cannot be followed.
    pub fn followed_nodes(&self) -> Vec<&str> {
        if self.devices.iter().all(|device| device.loop_direct.is_none()) {
            return Vec::new();
        }
        let each: Vec<Vec<&str>> = self.devices.iter().map(Device::followed).collect();
        if each.iter().any(Vec::is_empty) {
            return Vec::new();
        }
        each.into_iter().flatten().collect::<BTreeSet<&str>>().into_iter().collect()
    }

    /// The most that the OS reads ahead of a thread, in bytes; `None` if nothing tells it.
    pub fn read_ahead_most(&self) -> Option<u64> {
        let of_devices = || self.devices.iter().filter_map(|device| device.read_ahead).max();
        self.read_ahead.or_else(of_devices)
    }

    /// The first loop device that reads and writes its file through the page cache; it may be below
    /// another one, which does not.
    pub fn cached_loop(&self) -> Option<&Device> {
        let mut all = self.devices.iter().flat_map(Device::and_below);
        all.find(|device| device.loop_direct == Some(false))
    }

    /// How many flushes the bottom devices count in total for one by the file system, as far as
    /// certain. A single device passes it on to all its components.
    pub fn flushes_of_a_sync(&self) -> u32 {
        let (Some(bottom), Some(top)) = (self.layers.first(), self.layers.last()) else { return 1 };
        let is_certain = top.nodes.len() == 1 && bottom.writes.exact().is_some();
        let caches = |name: &String| {
            let device = self.devices.iter().find(|device| device.name == *name);
            device.is_some_and(|device| device.write_cache == Some(WriteCache::Back))
        };
        let caching = bottom.nodes.iter().filter(|name| caches(name)).count().max(1);
        if is_certain { caching as u32 } else { 1 }
    }

    /// Whether the watched read and write counters are reliable.
    pub fn counts_bytes(&self) -> bool {
        self.watched().is_none_or(Layer::may_count)
    }

    /// Whether the flush counters are reliable.
    pub fn counts_flushes(&self) -> bool {
        self.layers.first().is_none_or(|layer| layer.counts.flushes != Some(false))
    }

    /// What prevents syncs from flushing. In older records, that of the file system itself may be
    /// known only from its mount options.
    pub fn barriers_off(&self) -> Vec<String> {
        let own = barrier_option(self.mount_options.split(','))
            .map(|option| unflushed(&self.file_system, &self.mount_point, option));
        let own = own.filter(|own| !self.barriers_off.contains(own));
        self.barriers_off.iter().cloned().chain(own).collect()
    }

    /// Whether a mount option or a device prevents syncs from flushing.
    pub fn are_barriers_off(&self) -> bool {
        !self.barriers_off().is_empty()
    }

    /// Whether a device does: then the OS sends it no writes through its cache (FUA) either.
    pub fn is_flush_stopped(&self) -> bool {
        let stops = format!(" ({})", WriteCache::Through);
        self.barriers_off.iter().any(|who| who.ends_with(&stops))
    }

    /// Whether a flush that does not happen leaves anything in a cache: that of a device, also
    /// below files, or the page cache below a loop device.
    pub fn has_volatile_cache(&self) -> bool {
        let is_volatile = |device: &Device| {
            device.write_cache == Some(WriteCache::Back) || device.loop_direct == Some(false)
        };
        self.devices.iter().flat_map(Device::and_below).any(is_volatile)
    }

    /// The parts in memory whose content no disk has: a power cut takes what lies there.
    pub fn lost_parts(&self) -> impl Iterator<Item = &WeakPart> {
        self.weak_parts.iter().filter(|part| part.device.is_some() && !part.is_copied)
    }

    /// Whether a power cut takes what a sync makes durable, though a part of it may be on disks.
    pub fn loses_parts(&self) -> bool {
        self.lost_parts().next().is_some()
    }

    /// Whether the device of a part cannot be seen that decides what a power cut takes.
    pub fn has_unseen_parts(&self) -> bool {
        self.weak_parts.iter().any(|part| part.device.is_none() && !part.is_copied)
    }

    /// Whether data of files may be read from memory, though the storage is on block devices.
    pub fn has_data_in_memory(&self) -> bool {
        self.weak_parts.iter().any(|part| part.device.is_some() && part.holds == HeldContent::Data)
    }

    /// The devices of parts in memory, in words: `loop2, a file on tmpfs`.
    pub fn in_words<'a>(&self, parts: impl Iterator<Item = &'a WeakPart>) -> String {
        let known: Vec<&Device> = self.devices.iter().flat_map(Device::and_below).collect();
        let words = |name: &str| {
            let device = known.iter().find(|device| device.name == name);
            device.map_or(name.to_string(), |device| device.in_words())
        };
        let names: BTreeSet<&str> = parts.filter_map(|part| part.device.as_deref()).collect();
        listed(&names.into_iter().map(words).collect::<Vec<String>>())
    }

    /// The mounts where a sync does nothing at all, as on an overlay mounted `volatile`: the data
    /// stays in the page cache, so not even counters of writes move.
    pub fn dropping(&self) -> Vec<String> {
        let drops = |mount: &String| DROPS.iter().any(|why| mount.ends_with(&format!("({why})")));
        self.barriers_off().into_iter().filter(drops).collect()
    }

    /// Whether there is such a mount.
    pub fn drops_syncs(&self) -> bool {
        !self.dropping().is_empty()
    }

    /// What the watched devices read for each byte read.
    pub fn reads(&self) -> Amplification {
        self.watched().map_or(self.of_devices(), |layer| layer.reads)
    }

    /// What the watched devices write for each byte written.
    pub fn writes(&self) -> Amplification {
        self.watched().map_or(self.of_devices(), |layer| layer.writes)
    }

    /// How often the watched devices write a byte at most, if the file system's own copies count as
    /// well; `None` if nothing bounds it. Data may be in the journal first: older records tell it
    /// only where the mount options do.
    pub fn own_writes_most(&self) -> Option<u32> {
        let is_twice = self.journals_data.unwrap_or_else(|| self.has_option("data=journal"));
        let copies = if is_twice { 2 } else { 1 };
        self.writes().most?.checked_mul(copies)
    }

    /// What makes each write of `work` wait until it is stored: the mount option `sync`, or the
    /// files' own flag. A store to a mapping does not wait.
    pub fn synced_by(&self, work: &WriteWork) -> Option<SyncedBy> {
        match self.syncs_writes {
            _ if work.engine == WriteEngine::Mmap => None,
            _ if self.has_option("sync") => Some(SyncedBy::Mount),
            told => told.unwrap_or(false).then_some(SyncedBy::Flag),
        }
    }

    /// Whether each write of `work` waits until it is stored.
    pub fn syncs_each_write(&self, work: &WriteWork) -> bool {
        self.synced_by(work).is_some()
    }

    /// The disk below loop devices, if they are all that the watched counters are of, and have one
    /// disk below. What it moves beyond what passes them is of others.
    pub fn below_loops(&self) -> Option<&str> {
        let is_loop = |name: &&str| {
            let device = self.devices.iter().find(|device| device.name == **name);
            device.is_some_and(|device| device.loop_direct.is_some())
        };
        let are_loops = self.watched_nodes().iter().all(is_loop) && self.counts_bytes();
        match self.followed_nodes()[..] {
            [disk] if are_loops => Some(disk),
            _ => None,
        }
    }

    /// How often the disk below loop devices writes a byte that these write, at most; `None` if
    /// nothing bounds it.
    pub fn disk_writes_most(&self) -> Option<u32> {
        let each = self.devices.iter().map(Device::disk_writes_most);
        each.reduce(|a, b| Some(a?.max(b?))).flatten()
    }

    fn has_option(&self, option: &str) -> bool {
        self.mount_options.split(',').any(|known| known == option)
    }

    /// The amplification for older records, which list only the bottom devices.
    fn of_devices(&self) -> Amplification {
        if self.devices.len() > 1 { Amplification::SOME } else { Amplification::ONE }
    }
}

/// What a canary file shows where no mount option says it: a sync moved no counter, and a direct
/// write did. A filter of system calls may do that, such as `systemd-nspawn --suppress-sync`.
pub const WRITES_NOTHING: &str = "a sync there writes nothing";

/// Why a sync does nothing at all. Linux 6.18 shows an overlay's `volatile` as `fsync=volatile`.
const DROPS: [&str; 3] = ["volatile", "fsync=volatile", WRITES_NOTHING];

/// Mount options that leave a sync without a flush of the devices' caches. `nostrictsync` is of
/// SMB: a sync writes to the server, which is not asked to flush.
const UNFLUSHED: [&str; 6] = [
    "nobarrier",
    "barrier=0",
    "barrier=none",
    "fsync_mode=nobarrier",
    "journal_flush_disabled",
    "nostrictsync",
];

/// The mount option, if any, that prevents syncs from flushing the devices' caches. One that makes
/// them do nothing at all counts for more.
pub fn barrier_option<'a>(options: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let first = |known: &[&str]| options.clone().find(|option| known.contains(option));
    first(&DROPS).or_else(|| first(&UNFLUSHED))
}

/// Describes a mount whose syncs do not flush: `ext4 at '/data' (nobarrier)`.
pub fn unflushed(file_system: &str, point: &Path, option: &str) -> String {
    format!("{file_system} at '{}' ({option})", point.display())
}
