//! A disk: its queue, and how hot it is.

use super::{ata, linked};
use crate::device::firmware;
use crate::root::Root;
use crate::sysfs::{chosen, entries, file_name, flag, number, text};
use model::path::DiskHop;
use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;

/// What the OS tells of the disk at the sysfs directory `path`.
pub(super) fn disk(root: &Root, path: &Path) -> DiskHop {
    let queue = path.join("queue");
    let of = |name: &str| text(&path.join(name)).filter(|text| !text.is_empty());
    let count = |name: &str| number(&queue.join(name));
    let flag = |name: &str| flag(&queue.join(name));
    let block = |name: &str| count(name).filter(|bytes| is_block(*bytes));
    let heat = heat(path);
    DiskHop {
        // MMC has its model under another name, beside its type.
        model: of("device/model").or_else(|| of("device/type").and_then(|_| of("device/name"))),
        firmware: firmware(path),
        size: number(&path.join("size")).and_then(|sectors| sectors.checked_mul(512)),
        rotational: flag("rotational"),
        write_cache: of("queue/write_cache").and_then(|told| told.parse().ok()),
        fua: flag("fua"),
        logical_block: block("logical_block_size"),
        physical_block: block("physical_block_size"),
        optimal_io: count("optimal_io_size").filter(|bytes| *bytes > 0),
        alignment_offset: of("alignment_offset").and_then(|told| alignment(&told)),
        scheduler: of("queue/scheduler").and_then(|told| chosen(&told)),
        nr_requests: count("nr_requests"),
        request_most: count("max_sectors_kb").and_then(|kib| kib.checked_mul(1 << 10)),
        zoned: of("queue/zoned"),
        io_poll: flag("io_poll"),
        temperature: heat.0,
        temperature_most: heat.1,
        cache_off: ata::identity_of_disk(root, path).and_then(|words| ata::is_cache_off(&words)),
        state: of("device/state").filter(|state| SCSI_STATES.contains(&&state[..])),
        volume_of: raid_controller(path),
    }
}

/// The states of a SCSI device that are told here (Linux, scsi_sysfs.c). An NVMe device has others.
const SCSI_STATES: [&str; 5] = ["running", "blocked", "offline", "transport-offline", "quiesce"];

/// Whether a block can have so many bytes.
fn is_block(bytes: u64) -> bool {
    bytes.is_power_of_two() && bytes >= 512
}

/// The bytes before the first block's boundary: whole sectors. -1 if the OS says that no partition
/// can be aligned.
fn alignment(told: &str) -> Option<i64> {
    told.parse().ok().filter(|bytes: &i64| *bytes == -1 || (*bytes >= 0 && bytes % 512 == 0))
}

/// The driver of the RAID controller that made the disk at `path` from others; `None` if it passes
/// the disk on as it is, or if it does not tell.
fn raid_controller(path: &Path) -> Option<String> {
    let device = fs::canonicalize(path.join("device")).ok()?;
    let driver = device.ancestors().find_map(|above| {
        let driver = linked(&above.join("driver"))?;
        RAID_DRIVERS.contains(&&driver[..]).then_some(driver)
    })?;
    let is_volume = match driver.as_str() {
        // The first two channels are of disks that are passed on (MEGASAS_MAX_PD_CHANNELS).
        "megaraid_sas" => {
            let address = file_name(&device);
            let channel = address.split(':').nth(1)?.parse::<u32>().ok()?;
            channel >= 2
        }
        _ => text(&device.join("raid_level")).is_some_and(|level| level.starts_with("RAID")),
    };
    is_volume.then_some(driver)
}

/// The drivers of RAID controllers that tell volumes from disks.
const RAID_DRIVERS: [&str; 3] = ["megaraid_sas", "hpsa", "smartpqi"];

/// The temperature of an NVMe drive now, and that from which it warns. To read them asks the drive,
/// so this is done only if it is awake. The sensors of other drives are not asked: some would put
/// off their rest, or end it (Linux, drivetemp).
fn heat(path: &Path) -> (Option<i64>, Option<i64>) {
    let device = path.join("device");
    let is = |name: &str, words: &[&str]| {
        text(&device.join(name)).is_some_and(|told| words.contains(&&told[..]))
    };
    let is_away = is("transport", &["tcp", "rdma", "fc", "loop"]);
    let is_resting = is("device/power/runtime_status", &["suspended", "suspending"]);
    if is_away || is_resting || is("state", &["resetting", "connecting", "deleting", "dead"]) {
        return (None, None);
    }
    let folders = [device.clone(), device.join("device/hwmon")];
    let mut sensors = folders.iter().flat_map(|folder| entries(folder));
    let sensor = sensors.find(|it| text(&it.join("name")).as_deref() == Some("nvme"));
    let of = |name: &str| -> Option<i64> {
        let told = text(&sensor.as_ref()?.join(name))?.parse().ok();
        told.filter(|milli| TEMPERATURES.contains(milli))
    };
    (of("temp1_input"), of("temp1_max"))
}

/// The temperatures that a drive can have, in thousandths of a degree Celsius.
const TEMPERATURES: RangeInclusive<i64> = -100_000..=200_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_blocks_and_offsets_that_exist_are_known() {
        assert!(is_block(512) && is_block(4096) && is_block(16384));
        assert!(!is_block(0) && !is_block(255) && !is_block(520) && !is_block(u64::MAX));
        assert_eq!(alignment("0"), Some(0));
        assert_eq!(alignment("3584"), Some(3584));
        assert_eq!(alignment("-1"), Some(-1));
        for told in ["255", "-512", "", "99999999999999999999", "x"] {
            assert_eq!(alignment(told), None, "{told}");
        }
    }
}
