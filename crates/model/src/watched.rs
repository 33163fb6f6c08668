//! Which devices of a storage are watched, and what a sync means there.

use crate::host::{Storage, WriteCache};
use crate::layer::{Amplification, Layer};
use std::path::Path;

impl Storage {
    /// The layer whose counters of reads and writes are watched: the lowest that counts and whose
    /// amplification is known, for the lower it is, the more of what others do is seen.
    pub fn watched(&self) -> Option<&Layer> {
        let rank = |layer: &&Layer| (layer.may_count(), layer.is_exact());
        // Of equals `max_by_key` takes the last.
        self.layers.iter().rev().max_by_key(rank)
    }

    /// The names of the devices whose counters of reads and writes are watched.
    pub fn watched_nodes(&self) -> Vec<&str> {
        match self.watched() {
            Some(layer) => layer.nodes.iter().map(String::as_str).collect(),
            None => self.devices.iter().map(|device| device.name.as_str()).collect(),
        }
    }

    /// The names of the devices whose counters of flushes are watched: those at the bottom, for
    /// what stands on others passes a flush on and does not count it.
    pub fn flushed_nodes(&self) -> Vec<&str> {
        match self.layers.first() {
            Some(layer) => layer.nodes.iter().map(String::as_str).collect(),
            None => self.devices.iter().map(|device| device.name.as_str()).collect(),
        }
    }

    /// How many flushes the devices at the bottom count together for one of the file system, as far
    /// as that is certain: one device below it passes each on to all that it stands on.
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

    /// Whether the counters of reads and writes that are watched may be believed.
    pub fn counts_bytes(&self) -> bool {
        self.watched().is_none_or(Layer::may_count)
    }

    /// Whether the counters of flushes may be believed.
    pub fn counts_flushes(&self) -> bool {
        self.layers.first().is_none_or(|layer| layer.counts.flushes != Some(false))
    }

    /// What is mounted so that a sync flushes nothing; of an older record by the options of its
    /// mount, which was all that it kept.
    pub fn barriers_off(&self) -> Vec<String> {
        let of_mount = barrier_option(self.mount_options.split(','));
        match of_mount.filter(|_| self.barriers_off.is_empty()) {
            Some(option) => vec![unflushed(&self.file_system, &self.mount_point, option)],
            None => self.barriers_off.clone(),
        }
    }

    /// Whether a sync flushes nothing for how something is mounted.
    pub fn are_barriers_off(&self) -> bool {
        !self.barriers_off().is_empty()
    }

    /// Whether a sync does not even write what is dirty: an overlay that is mounted `volatile`.
    pub fn drops_syncs(&self) -> bool {
        self.file_system == "overlay" && self.mount_options.split(',').any(|o| o == "volatile")
    }

    /// What the devices that are watched read for each byte read.
    pub fn reads(&self) -> Amplification {
        self.watched().map_or(self.of_devices(), |layer| layer.reads)
    }

    /// What the devices that are watched write for each byte written.
    pub fn writes(&self) -> Amplification {
        self.watched().map_or(self.of_devices(), |layer| layer.writes)
    }

    /// What an older record tells, which names the devices at the bottom alone.
    fn of_devices(&self) -> Amplification {
        if self.devices.len() > 1 { Amplification::SOME } else { Amplification::ONE }
    }
}

/// Which of the options of a mount keeps syncs of its files from flushing the caches of devices.
pub fn barrier_option<'a>(mut options: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let off = ["nobarrier", "barrier=0", "barrier=none", "fsync_mode=nobarrier", "volatile"];
    options.find(|option| off.contains(option))
}

/// What flushes nothing, and by which option: `ext4 at '/data' (nobarrier)`.
pub fn unflushed(file_system: &str, point: &Path, option: &str) -> String {
    format!("{file_system} at '{}' ({option})", point.display())
}
