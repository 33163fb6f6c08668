//! A disk: its queue, and what it is attached to.

use super::links;
use crate::root::Root;
use crate::sysfs::{chosen, entries, number, text};
use model::path::WriteCache;
use model::path::{DiskHop, Hop};
use std::path::Path;

/// What the OS tells of the disk at the sysfs directory `path`.
pub(super) fn disk(path: &Path) -> DiskHop {
    let queue = path.join("queue");
    let of = |name: &str| text(&path.join(name)).filter(|text| !text.is_empty());
    let count = |name: &str| number(&queue.join(name));
    let flag = |name: &str| match number(&queue.join(name)) {
        Some(0) => Some(false),
        Some(1) => Some(true),
        _ => None,
    };
    let heat = heat(path);
    DiskHop {
        model: of("device/model"),
        firmware: of("device/firmware_rev").or_else(|| of("device/rev")),
        size: number(&path.join("size")).and_then(|sectors| sectors.checked_mul(512)),
        rotational: flag("rotational"),
        write_cache: match of("queue/write_cache").as_deref() {
            Some("write back") => Some(WriteCache::Back),
            Some("write through") => Some(WriteCache::Through),
            _ => None,
        },
        fua: flag("fua"),
        logical_block: count("logical_block_size").filter(|bytes| *bytes > 0),
        physical_block: count("physical_block_size").filter(|bytes| *bytes > 0),
        optimal_io: count("optimal_io_size").filter(|bytes| *bytes > 0),
        alignment_offset: of("alignment_offset").and_then(|text| text.parse().ok()),
        scheduler: of("queue/scheduler").and_then(|told| chosen(&told)),
        nr_requests: count("nr_requests"),
        request_most: count("max_sectors_kb").and_then(|kib| kib.checked_mul(1 << 10)),
        zoned: of("queue/zoned"),
        io_poll: flag("io_poll"),
        temperature: heat.0,
        temperature_most: heat.1,
    }
}

/// The temperature of an NVMe drive now, and that from which it warns. The sensors of other drives
/// are not asked: some would put off their rest, or end it (Linux, drivetemp).
fn heat(path: &Path) -> (Option<i64>, Option<i64>) {
    let device = path.join("device");
    let folders = [device.clone(), device.join("device/hwmon")];
    let mut sensors = folders.iter().flat_map(|folder| entries(folder));
    let sensor = sensors.find(|it| text(&it.join("name")).as_deref() == Some("nvme"));
    let of = |name: &str| -> Option<i64> { text(&sensor.as_ref()?.join(name))?.parse().ok() };
    (of("temp1_input"), of("temp1_max"))
}

/// The links between the disk and the processors.
pub(super) fn below(root: &Root, path: &Path) -> Vec<Hop> {
    links::from_disk(root, path)
}
