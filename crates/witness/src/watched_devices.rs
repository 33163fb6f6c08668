//! The devices of storages whose counters a witness reads.

use crate::processes::{open, read_file};
use crate::traffic::{self, SECTOR, Traffic};
use model::evidence::StorageTraffic;
use model::host::Storage;
use std::fs::File;

/// The `stat` file of each device that counts reliably; `None` if any of them cannot be read.
#[derive(Debug, Default)]
pub(crate) struct Devices {
    /// Devices that count reads and writes.
    pub(crate) moved: Option<Vec<File>>,
    /// Devices that count flushes.
    pub(crate) flushed: Option<Vec<File>>,
    /// The disks below loop devices.
    pub(crate) disks: Option<Vec<File>>,
}

impl Devices {
    /// Skips counters that did not move in the canary test: their zero would mean nothing.
    pub(crate) fn of(storage: &Storage) -> Devices {
        let open_all = |names: Vec<&str>| {
            let files: Option<Vec<File>> =
                names.into_iter().map(|name| open(&traffic::stat_of(name))).collect();
            files.filter(|files| !files.is_empty())
        };
        Devices {
            moved: open_all(storage.watched_nodes()).filter(|_| storage.counts_bytes()),
            flushed: open_all(storage.flushed_nodes()).filter(|_| storage.counts_flushes()),
            disks: open_all(storage.followed_nodes()),
        }
    }
}

/// The counters of a further storage at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FurtherTraffic {
    pub(crate) moved: Option<Traffic>,
    pub(crate) flushes: Option<u64>,
}

/// The sum of what these devices count now; `None` if one of them cannot be read.
pub(crate) fn sum(devices: &Option<Vec<File>>, buffer: &mut [u8]) -> Option<Traffic> {
    let stat = |device| traffic::parse_stat(read_file(device, buffer)?);
    traffic::sum(devices.as_ref()?.iter().map(stat))
}

/// What the devices of a further storage did between two moments.
pub(crate) fn moved_on((before, after): (&FurtherTraffic, &FurtherTraffic)) -> StorageTraffic {
    let delta = |of: fn(&Traffic) -> u64| of(&after.moved?).checked_sub(of(&before.moved?));
    StorageTraffic {
        read_bytes: delta(|it| it.sectors_read).map(|n| n * SECTOR),
        reads: delta(|it| it.reads),
        write_bytes: delta(|it| it.sectors_written).map(|n| n * SECTOR),
        writes: delta(|it| it.writes),
        flushes: after
            .flushes
            .zip(before.flushes)
            .and_then(|(after, before)| after.checked_sub(before)),
    }
}
