//! What is odd about a hop. A fact that is unknown is never odd, and in a virtual machine no link
//! is.

use super::allowance::{self, both, is_contradictory, link_words, of_link};
use super::is_down;
use crate::finding::{Code, Finding};
use model::list::listed;
use model::path::{
    ArrayHop, Bus, DiskHop, FileSystemHop, Hop, HopKind, LinkHop, LinkSpeed, MappedHop, MappedMaker,
};
use model::units::{bytes_rounded, degrees, percent, rate};

/// What is odd about `hop`, which is below the hops `above`, the top first.
pub(super) fn of(hop: &Hop, above: &[&Hop], is_guest: bool) -> Vec<Finding> {
    let found = match &hop.kind {
        HopKind::Link(_) if is_guest => Vec::new(),
        HopKind::Link(link) if is_contradictory(link) => vec![one_at_a_time(link)],
        HopKind::Link(link) => {
            vec![downgraded(hop, link), slow_port(link, above), one_at_a_time(link)]
        }
        HopKind::Array(array) => {
            vec![degraded(array), rebuilding(array)]
        }
        HopKind::FileSystem(file_system) => vec![lacks(file_system), busy(file_system)],
        HopKind::Mapped(mapped) => vec![snapshot(mapped), lacks_paths(hop, mapped)],
        HopKind::Disk(disk) => {
            vec![hot(hop, disk), cache_off(hop, disk, is_guest)]
        }
        _ => Vec::new(),
    };
    let of_place = of_place(hop, above);
    of_place.into_iter().chain(found.into_iter().flatten()).collect()
}

/// What is odd about where `hop` is: it can be below several partitions.
pub(super) fn of_place(hop: &Hop, above: &[&Hop]) -> Vec<Finding> {
    let found = match &hop.kind {
        HopKind::Array(array) => splits_stripes(hop, array, above),
        HopKind::Disk(disk) => misaligned(hop, disk, above),
        _ => None,
    };
    found.into_iter().collect()
}

/// Whether a link is slower than another speed in one respect, of those that are known of both.
fn is_slower(one: LinkSpeed, other: LinkSpeed) -> bool {
    let is_less = |one: Option<u64>, other: Option<u64>| one.zip(other).is_some_and(|(a, b)| a < b);
    is_less(one.rate, other.rate) || is_less(one.lanes, other.lanes)
}

/// A speed in words, with what it carries.
fn told(bus: Bus, speed: LinkSpeed) -> Option<String> {
    let words = link_words(bus, speed)?;
    Some(match of_link(bus, speed) {
        Some(most) => format!("{words} ({})", rate(most)),
        None => words,
    })
}

/// Whether a link may be slow only because nobody uses it now: PCIe saves power so, with all lanes.
pub fn may_rest(link: &LinkHop) -> bool {
    let most = both(link);
    let is_narrow = link.now.lanes.zip(most.lanes).is_some_and(|(now, most)| now < most);
    let is_slow = link.now.rate.zip(most.rate).is_some_and(|(now, most)| now < most);
    link.bus == Bus::Pcie && is_slow && !is_narrow
}

/// What a link could do by both of its ends or, at a SATA port without a setting, by its device.
fn possible(link: &LinkHop) -> LinkSpeed {
    match link.is_port_free {
        true => link.device_most,
        false => both(link),
    }
}

/// Both ends can do more than they agreed on.
fn downgraded(hop: &Hop, link: &LinkHop) -> Option<Finding> {
    let most = possible(link);
    if !is_slower(link.now, most) {
        return None;
    }
    let (now, most_words) = (told(link.bus, link.now)?, told(link.bus, most)?);
    let saves = match may_rest(link) {
        true => ", unless it saves power now and is faster when it is used",
        false => "",
    };
    let (ends, cause) = match link.is_port_free {
        true => ("its device", "an older port or a bad cable holds it"),
        false => ("both of its ends", "it was negotiated down"),
    };
    let message = format!(
        "the link of {} is {now}, but {ends} can do {most_words}: {cause}{saves}",
        hop.name
    );
    let remedy = match link.bus {
        _ if link.is_port_free => {
            "look in the kernel's log for what the port can do, and for link resets"
        }
        Bus::Sata | Bus::Sas => {
            "replace the cable or the bay, and look for link resets in the kernel's log"
        }
        _ => "reseat the device, leave out risers and cables, and look for link errors (lspci -vv)",
    };
    Some(Finding::note(Code::LinkDowngraded, message, remedy))
}

/// The device can do more than the port that it is plugged into. The other way round is no fault.
/// A port that is no narrower than a link nearer to the disk limits nothing.
fn slow_port(link: &LinkHop, above: &[&Hop]) -> Option<Finding> {
    let own = of_link(link.bus, link.now);
    let nearer = above.iter().filter_map(|hop| allowance::of(&hop.kind));
    let limits = own.is_none_or(|own| nearer.min_by(f64::total_cmp).is_none_or(|most| own < most));
    if !limits || !is_slower(link.port_most, link.device_most) {
        return None;
    }
    let (device, port) = (told(link.bus, link.device_most)?, told(link.bus, link.port_most)?);
    let place = match &link.slot {
        Some(slot) => format!("slot {slot}"),
        None => "its port".to_string(),
    };
    let what = if link.is_of_switch { "switch" } else { "device" };
    let message = format!(
        "the link of the {what} can do {device}, but {place} only {port}: the port limits it"
    );
    let remedy = match link.bus {
        Bus::Sata => "use another port, or look whether the firmware or libata.force limits it",
        Bus::Usb => "use another port and, if that does not help, another cable",
        _ => "use a port that can do as much, if there is one, or look at the firmware's settings",
    };
    Some(Finding::note(Code::SlowPort, message, remedy))
}

/// A USB device that can take several commands at once gets one at a time.
fn one_at_a_time(link: &LinkHop) -> Option<Finding> {
    let is_bulk_only = link.driver.as_deref() == Some("usb-storage");
    if !(is_bulk_only && link.queues == Some(true)) {
        return None;
    }
    let message = "the device can take several commands at once (UAS), but the driver usb-storage \
                   sends one at a time"
        .to_string();
    let remedy = "load the driver uas, unless the kernel's list of quirks excludes this device";
    Some(Finding::note(Code::SlowPort, message, remedy))
}

fn degraded(array: &ArrayHop) -> Option<Finding> {
    let missing = array.degraded.filter(|missing| *missing > 0)?;
    let level = array.level.as_deref().unwrap_or("array");
    let disks = match array.disks {
        Some(disks) => format!("{missing} of {disks} disks"),
        None => format!("{missing} disks"),
    };
    if array.action.as_deref() == Some("recover") && !array.spares.is_empty() {
        let message =
            format!("this {level} is degraded until it has rebuilt {}", listed(&array.spares));
        return Some(Finding::note(Code::Degraded, message, "let it rebuild the disk to its end"));
    }
    let message = format!("this {level} is degraded: it lacks {disks}");
    Some(Finding::note(
        Code::Degraded,
        message,
        "look at it with mdadm, and replace what is missing",
    ))
}

fn rebuilding(array: &ArrayHop) -> Option<Finding> {
    let action = array.action.as_deref()?;
    let does = pastime(action)?;
    let done = match array.done {
        Some(done) => format!(", {} done", percent(done as f64 / 1000.0)),
        None => String::new(),
    };
    let message = format!("the array {does} now ({action}{done}), which takes time of its disks");
    let remedy = "measure when it has ended (/proc/mdstat)";
    Some(Finding::note(Code::Rebuilding, message, remedy))
}

/// What an array does beside its work, in words.
pub(super) fn pastime(action: &str) -> Option<&'static str> {
    Some(match action {
        "resync" => "makes its copies alike",
        "recover" => "rebuilds a disk",
        "reshape" => "changes its shape",
        "check" => "checks its copies",
        "repair" => "checks and repairs its copies",
        _ => return None,
    })
}

fn lacks(file_system: &FileSystemHop) -> Option<Finding> {
    let missing = file_system.missing.filter(|missing| *missing > 0)?;
    let kind = &file_system.file_system;
    let message = format!("this {kind} is degraded: it lacks {missing} of its devices");
    Some(Finding::note(
        Code::Degraded,
        message,
        "look at it with btrfs-device, and replace what is missing",
    ))
}

fn busy(file_system: &FileSystemHop) -> Option<Finding> {
    let operation = busy_operation(file_system)?;
    let kind = &file_system.file_system;
    let message = format!("this {kind} is busy with an operation of its own: {operation}");
    Some(Finding::note(Code::Rebuilding, message, "measure when it has ended"))
}

/// The operation of a btrfs, if it does I/O: a balance that is paused does none.
pub(super) fn busy_operation(file_system: &FileSystemHop) -> Option<&str> {
    file_system.operation.as_deref().filter(|operation| BUSY.contains(operation))
}

/// Operations of btrfs that move what is stored (Linux, fs/btrfs/sysfs.c).
const BUSY: [&str; 5] = ["balance", "device add", "device remove", "device replace", "resize"];

/// Some of the paths of a multipath disk are down.
fn lacks_paths(hop: &Hop, mapped: &MappedHop) -> Option<Finding> {
    let down = hop.below.iter().filter(|below| is_down(below));
    let down: Vec<&str> = down.map(|hop| &hop.name[..]).collect();
    if mapped.maker != MappedMaker::Multipath || down.is_empty() {
        return None;
    }
    let message = format!(
        "this disk lacks {} of its {} paths: {}",
        down.len(),
        hop.below.len(),
        listed(&down)
    );
    let remedy =
        "look at it with multipath, and at the cable, the port and the switch of that path";
    Some(Finding::note(Code::Degraded, message, remedy))
}

fn snapshot(mapped: &MappedHop) -> Option<Finding> {
    if mapped.maker != MappedMaker::Snapshot {
        return None;
    }
    let message =
        "a snapshot is kept here: the first write of each part copies what was there".to_string();
    Some(Finding::note(Code::CopyOnWrite, message, "measure without the snapshot to know the disk"))
}

/// A partition above does not begin at a multiple of the disk's physical block.
fn misaligned(hop: &Hop, disk: &DiskHop, above: &[&Hop]) -> Option<Finding> {
    let HopKind::Partition(partition) = &above.last()?.kind else { return None };
    let (start, block) = (partition.start?, disk.physical_block?);
    let offset = u64::try_from(disk.alignment_offset.unwrap_or(0)).ok()?;
    if block == 0 || start % block == offset % block {
        return None;
    }
    let message = format!(
        "the partition begins in the middle of a physical block of {} ({block} bytes): a write of \
         one block changes two",
        hop.name
    );
    let remedy = "make the partition anew at a multiple of 1 MiB";
    Some(Finding::note(Code::Misaligned, message, remedy))
}

/// A partition above does not begin with a stripe of an array with parity: what fills a stripe of
/// the partition is in two of the array, and the array reads both before it writes.
fn splits_stripes(hop: &Hop, array: &ArrayHop, above: &[&Hop]) -> Option<Finding> {
    let HopKind::Partition(partition) = &above.last()?.kind else { return None };
    let has_parity = matches!(array.level.as_deref(), Some("raid4" | "raid5" | "raid6"));
    let (start, stripe) = (partition.start?, array.stripe?);
    if !has_parity || stripe == 0 || start % stripe == 0 {
        return None;
    }
    let message = format!(
        "the partition begins in the middle of a stripe of {} ({}): a write of a whole stripe \
         changes two, and reads them first",
        hop.name,
        bytes_rounded(stripe)
    );
    let remedy = "make the partition anew at a multiple of the stripe, or use the whole array";
    Some(Finding::note(Code::Misaligned, message, remedy))
}

/// A drive that rotates could acknowledge writes from its cache, but that is off. An SSD with
/// capacitors against a power cut loses nothing by that, and does not say that it has them.
fn cache_off(hop: &Hop, disk: &DiskHop, is_guest: bool) -> Option<Finding> {
    if is_guest || !(disk.cache_off == Some(true) && disk.rotational == Some(true)) {
        return None;
    }
    let message = format!(
        "the write cache of {} is off: each write waits until it is on the platter",
        hop.name
    );
    let remedy = "switch it on, unless programs rely on writes that they never sync, or the file \
                  system is mounted without barriers: only a sync that reaches the drive empties \
                  its cache";
    Some(Finding::note(Code::WriteCacheOff, message, remedy))
}

fn hot(hop: &Hop, disk: &DiskHop) -> Option<Finding> {
    let (now, most) = (disk.temperature?, disk.temperature_most?);
    // Some drives give no limit, or one that no drive could have.
    let is_limit = (40_000..=120_000).contains(&most);
    if !is_limit || now < most {
        return None;
    }
    let message = format!(
        "{} is at {}, and warns from {}: it may slow itself down",
        hop.name,
        degrees(now),
        degrees(most)
    );
    Some(Finding::note(Code::Hot, message, "cool the drive, and let it rest before you measure"))
}
