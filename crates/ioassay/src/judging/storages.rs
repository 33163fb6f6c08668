//! The storages that hold the data files of commands.

use crate::file_storages::FileStorages;
use anyhow::{Context, Result};
use model::command::JudgedCommand;
use model::host::Storage;
use model::judging::ReadyCommands;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// The most storages that are watched beside the first.
const FURTHER_MAX: usize = 7;

/// The storages that hold data files, and which file is where.
#[derive(Debug, Default)]
pub struct WatchedStorages {
    /// The largest file; `None` without any.
    pub largest: Option<PathBuf>,
    /// Its storage.
    pub first: Option<Storage>,
    /// Others, on other disks.
    further: Vec<Storage>,
    /// Their numbers by the numbers of devices: 0 is the first.
    numbers: BTreeMap<u64, usize>,
}

impl WatchedStorages {
    /// Those of all `commands`.
    ///
    /// # Errors
    /// If that of the largest file cannot be inspected.
    pub fn of(commands: &[JudgedCommand]) -> Result<WatchedStorages> {
        let mut found = WatchedStorages::default();
        for (device, path) in largest_by_device(commands) {
            let storage = witness::storage_of(&path)
                .with_context(|| format!("failed to inspect the storage of '{}'", path.display()));
            match storage {
                Ok(storage) => {
                    found.largest.get_or_insert(path);
                    found.add(device, storage);
                }
                Err(error) if found.first.is_none() => return Err(error),
                Err(error) => log::info!("{error:#}: it is not watched"),
            }
        }
        Ok(found)
    }

    /// Adds the storage of the files on `device`. One that shares only some of its disks with
    /// another is not watched, because a sum would count those twice.
    fn add(&mut self, device: u64, storage: Storage) {
        let nodes = nodes_of(&storage);
        let known: Vec<_> = self.first.iter().chain(&self.further).map(nodes_of).collect();
        let same = known.iter().position(|it| *it == nodes && !nodes.is_empty());
        let is_apart = known.iter().all(|it| it.is_disjoint(&nodes));
        match same {
            Some(number) => {
                self.numbers.insert(device, number);
            }
            None if self.first.is_none() => {
                self.first = Some(storage);
                self.numbers.insert(device, 0);
            }
            None if is_apart && self.further.len() < FURTHER_MAX => {
                self.further.push(storage);
                self.numbers.insert(device, self.further.len());
            }
            None => log::info!("the storage of '{}' is not watched", storage.directory.display()),
        }
    }

    /// The storage of the files on `device`, if it is watched.
    pub fn of_device(&self, device: u64) -> Option<&Storage> {
        self.all().of_device(device)
    }

    /// All of them. Without a data file, there is none.
    pub fn all(&self) -> FileStorages<'_> {
        let WatchedStorages { first, further, numbers, .. } = self;
        FileStorages { first: first.as_ref(), further, numbers }
    }

    /// Notes them in what is known of the commands.
    pub(super) fn note_in(&self, ready: &mut ReadyCommands) {
        ready.storage.clone_from(&self.first);
        ready.further_storages.clone_from(&self.further);
        ready.storage_numbers.clone_from(&self.numbers);
    }
}

/// The names of the disks whose counters are watched.
fn nodes_of(storage: &Storage) -> BTreeSet<String> {
    let watched = [storage.watched_nodes(), storage.flushed_nodes()].concat();
    watched.into_iter().map(str::to_string).collect()
}

/// The largest data file on each device, that of all first.
fn largest_by_device(commands: &[JudgedCommand]) -> Vec<(u64, PathBuf)> {
    let mut largest: BTreeMap<u64, (u64, PathBuf)> = BTreeMap::new();
    for path in commands.iter().flat_map(|command| command.reads.iter().chain(&command.writes)) {
        let Some(found) = path.metadata().ok().filter(|found| found.is_file()) else { continue };
        let entry = largest.entry(found.dev()).or_default();
        if entry.1.as_os_str().is_empty() || found.len() >= entry.0 {
            *entry = (found.len(), path.clone());
        }
    }
    let mut all: Vec<_> = largest.into_iter().collect();
    all.sort_by_key(|(_, (bytes, _))| std::cmp::Reverse(*bytes));
    all.into_iter().map(|(device, (_, path))| (device, path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::host::Device;

    fn on(disks: &[&str]) -> Storage {
        let device = |name: &&str| Device { name: name.to_string(), ..Device::default() };
        Storage { devices: disks.iter().map(device).collect(), ..Storage::default() }
    }

    #[test]
    fn a_disk_is_watched_once() {
        let mut found = WatchedStorages::default();
        for (device, disks) in [
            (10, &["vda"][..]),
            (11, &["vdb", "vdc"]),
            // Another partition of the first disk.
            (12, &["vda"]),
            // One of its disks is watched already.
            (13, &["vdb"]),
            // In memory.
            (14, &[]),
        ] {
            found.add(device, on(disks));
        }
        assert_eq!(found.first, Some(on(&["vda"])));
        assert_eq!(found.further, [on(&["vdb", "vdc"]), on(&[])]);
        assert_eq!(found.numbers, BTreeMap::from([(10, 0), (11, 1), (12, 0), (14, 2)]));
    }
}
