//! A disk: its queue, and how hot it is.

use crate::device::firmware;
use crate::sysfs::{chosen, entries, flag, number, text};
use model::path::DiskHop;
use std::path::Path;

/// What the OS tells of the disk at the sysfs directory `path`.
pub(super) fn disk(path: &Path) -> DiskHop {
    let queue = path.join("queue");
    let of = |name: &str| text(&path.join(name)).filter(|text| !text.is_empty());
    let count = |name: &str| number(&queue.join(name));
    let flag = |name: &str| flag(&queue.join(name));
    let heat = heat(path);
    DiskHop {
        model: of("device/model"),
        firmware: firmware(path),
        size: number(&path.join("size")).and_then(|sectors| sectors.checked_mul(512)),
        rotational: flag("rotational"),
        write_cache: of("queue/write_cache").and_then(|told| told.parse().ok()),
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
