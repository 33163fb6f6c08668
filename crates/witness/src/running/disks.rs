//! What the disks of the machine do for everyone.

use crate::processes::{open, read_file};
use crate::sysfs::{self, entries, file_name};
use crate::traffic::{self, SECTOR, Traffic};
use model::running::DiskCounts;
use std::fs::File;
use std::path::Path;

/// Devices in memory, and those whose bytes another device moves, too.
const NOT_DISKS: [&str; 5] = ["loop", "ram", "zram", "sr", "fd"];

/// The disks, with their counters open.
#[derive(Debug)]
pub(super) struct Disks {
    all: Vec<(String, File)>,
    /// The `major:minor` of each.
    numbers: Vec<String>,
}

impl Disks {
    pub(super) fn open() -> Disks {
        let mut disks = Disks { all: Vec::new(), numbers: Vec::new() };
        for directory in entries(Path::new("/sys/block")) {
            let name = file_name(&directory);
            let is_other = NOT_DISKS.iter().any(|it| is_named(&name, it));
            let is_empty = sysfs::number(&directory.join("size")).unwrap_or(0) == 0;
            let is_above_others = entries(&directory.join("slaves")).next().is_some();
            if is_other || is_empty || is_above_others {
                continue;
            }
            if let Some(file) = open(&traffic::stat_of(&name)) {
                disks.numbers.extend(sysfs::text(&directory.join("dev")));
                disks.all.push((name, file));
            }
        }
        disks
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.all.iter().map(|(name, _)| name.clone()).collect()
    }

    /// Their numbers: `major:minor`.
    pub(super) fn numbers(&self) -> impl Iterator<Item = &str> {
        self.numbers.iter().map(String::as_str)
    }

    pub(super) fn read(&self) -> Option<Traffic> {
        let mut buffer = [0; 1024];
        let stat = |(_, file): &(String, File)| traffic::parse_stat(read_file(file, &mut buffer)?);
        traffic::sum(self.all.iter().map(stat))
    }
}

/// Whether a device's name is this and a number.
fn is_named(name: &str, kind: &str) -> bool {
    name.strip_prefix(kind).is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// What was added from one moment to another; `None` if a counter went backwards.
pub(super) fn between(before: Traffic, after: Traffic) -> Option<DiskCounts> {
    let bytes = |after: u64, before: u64| after.checked_sub(before)?.checked_mul(SECTOR);
    Some(DiskCounts {
        read_bytes: bytes(after.sectors_read, before.sectors_read)?,
        write_bytes: bytes(after.sectors_written, before.sectors_written)?,
        reads: after.reads.checked_sub(before.reads)?,
        writes: after.writes.checked_sub(before.writes)?,
        flushes: after
            .flushes
            .zip(before.flushes)
            .and_then(|(after, before)| after.checked_sub(before)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_in_memory_are_no_disks() {
        for (name, kind, expected) in [
            ("loop0", "loop", true),
            ("sr0", "sr", true),
            ("sda", "sr", false),
            ("fdx", "fd", false),
        ] {
            assert_eq!(is_named(name, kind), expected, "{name}");
        }
    }
}
