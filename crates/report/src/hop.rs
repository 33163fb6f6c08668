//! The hops of a path in words.

use crate::words::listed;
use assess::path::{SharedHops, is_contradictory, link_words, shared_hops};
use model::evidence::{Limit, Limited};
use model::path::{
    ArrayHop, Bus, DiskHop, FileSystemHop, Hop, HopKind, InterfaceHop, LinkHop, MappedHop,
    MappedMaker, WriteCache,
};
use model::units::{bytes, bytes_rounded, degrees, percent, rate, scaled};

/// What several paths have in common, a sentence for each set of them: `a and b both use the disk
/// sda (at most 600 MB/s: SATA 6 Gb/s of ata1). What goes to one takes from the others.`
pub(crate) fn said_shared<'a>(
    tops: &[&Hop],
    is_guest: bool,
    name: &dyn Fn(usize) -> &'a str,
) -> Vec<String> {
    let said = |shared: SharedHops| {
        let names: Vec<&str> = shared.paths.iter().map(|path| name(*path)).collect();
        let share = if names.len() == 2 { "both" } else { "all" };
        let (names, words) = (listed(&names), shared.words());
        format!("{names} {share} use {words}. What goes to one takes from the others.")
    };
    shared_hops(tops, is_guest).into_iter().map(said).collect()
}

/// What a hop is, in a few words, with what control groups allow on it.
pub(crate) fn what(hop: &Hop, is_guest: bool) -> String {
    let mut words = vec![of_kind(&hop.kind, is_guest)];
    let mut groups: Vec<&str> = hop.limits.iter().map(|limit| limit.group.as_str()).collect();
    groups.dedup();
    let told = |group: &str| {
        let limits = hop.limits.iter().filter(|limit| limit.group == group);
        let limits: Vec<String> = limits.map(of_limit).collect();
        format!("control group {group}: {}", listed(&limits))
    };
    words.extend(groups.into_iter().map(told));
    let is_of_paths =
        matches!(&hop.kind, HopKind::Mapped(it) if it.maker == MappedMaker::Multipath);
    words.extend(
        (is_of_paths && hop.below.len() > 1)
            .then(|| "carries the sum of its paths only if all are used at once".to_string()),
    );
    words.join(", ")
}

/// `reads at most 1.05 MB/s`
fn of_limit(limit: &Limit) -> String {
    match limit.what {
        Limited::ReadBytes => format!("reads at most {}", rate(limit.a_second as f64)),
        Limited::WriteBytes => format!("writes at most {}", rate(limit.a_second as f64)),
        Limited::Reads => format!("at most {} reads a second", limit.a_second),
        Limited::Writes => format!("at most {} writes a second", limit.a_second),
    }
}

/// What a hop of this kind is. A hypervisor often calls its disks rotating, whatever is below.
fn of_kind(kind: &HopKind, is_guest: bool) -> String {
    match kind {
        HopKind::FileSystem(file_system) => of_file_system(file_system),
        HopKind::Partition(partition) => match partition.start {
            Some(start) => format!("partition, begins at {}", bytes(start)),
            None => "partition".to_string(),
        },
        HopKind::Array(array) => of_array(array),
        HopKind::Mapped(mapped) => of_mapped(mapped),
        HopKind::Loop(device) => match device.direct {
            Some(true) => format!("loop device on {}, by direct I/O", device.file),
            Some(false) => format!("loop device on {}, through the page cache", device.file),
            None => format!("loop device on {}", device.file),
        },
        HopKind::Bcache(cache) => {
            let mode = cache.mode.as_deref().unwrap_or("mode unknown");
            format!("bcache, {mode}, {}", cache.state.as_deref().unwrap_or("state unknown"))
        }
        HopKind::Disk(disk) => of_disk(disk, is_guest),
        HopKind::Link(link) => of_link(link),
        HopKind::Interface(interface) => of_interface(interface),
        HopKind::Node => "NUMA node".to_string(),
        HopKind::Memory => "memory".to_string(),
        HopKind::Again => "see above: another way leads to it, too".to_string(),
        HopKind::Unseen { reason } => reason.clone(),
    }
}

/// Options that change what a byte costs, or what a sync does.
const TELLING: [&str; 12] = [
    "ro",
    "sync",
    "dirsync",
    "noatime",
    "discard",
    "nobarrier",
    "barrier",
    "data",
    "compress",
    "compress-force",
    "nodatacow",
    "dax",
];

fn of_file_system(file_system: &FileSystemHop) -> String {
    let name = |option: &String| option.split('=').next().unwrap_or_default().to_string();
    let telling = file_system.options.iter().filter(|option| TELLING.contains(&&name(option)[..]));
    let words = [&file_system.file_system].into_iter().chain(telling).cloned();
    words.collect::<Vec<String>>().join(", ")
}

fn of_array(array: &ArrayHop) -> String {
    let level = array.level.as_deref().unwrap_or("level unknown");
    let mut words = vec![match array.disks {
        Some(disks) => format!("md {level} of {disks}"),
        None => format!("md {level}"),
    }];
    words.extend(array.policy.as_ref().map(|policy| format!("consistent by {policy}")));
    let action = array.action.as_deref().filter(|action| *action != "idle");
    words.extend(action.map(|action| match array.done {
        Some(done) => format!("{action} {}", percent(done as f64 / 1000.0)),
        None => action.to_string(),
    }));
    let spares = &array.spares;
    words.extend((!spares.is_empty()).then(|| format!("not in sync: {}", listed(spares))));
    words.join(", ")
}

fn of_mapped(mapped: &MappedHop) -> String {
    match &mapped.mapped {
        Some(name) => format!("{} ({name})", mapped.maker),
        None => mapped.maker.to_string(),
    }
}

fn of_disk(disk: &DiskHop, is_guest: bool) -> String {
    let mut words = vec![disk.model.as_deref().unwrap_or("disk").trim().to_string()];
    words.extend(disk.volume_of.as_ref().map(|driver| format!("a volume of {driver}")));
    words.extend(disk.size.map(bytes_rounded));
    words.extend((disk.rotational == Some(true) && !is_guest).then(|| "rotating".to_string()));
    words.extend(disk.write_cache.map(|cache| match (cache, disk.cache_off) {
        (WriteCache::Back, _) => "write cache".to_string(),
        (WriteCache::Through, Some(true)) => "write cache off".to_string(),
        (WriteCache::Through, _) => "write through".to_string(),
    }));
    words.extend(disk.state.clone().filter(|state| state != "running"));
    let blocks = disk.logical_block.zip(disk.physical_block);
    words.extend(blocks.map(|(logical, physical)| match logical == physical {
        true => format!("blocks of {}", bytes_rounded(logical)),
        false => format!("blocks of {} on {}", bytes_rounded(logical), bytes_rounded(physical)),
    }));
    words.extend(disk.scheduler.as_ref().map(|scheduler| format!("scheduler {scheduler}")));
    words.extend(disk.temperature.map(degrees));
    words.join(", ")
}

fn of_link(link: &LinkHop) -> String {
    let now = link_words(link.bus, link.now);
    let mut words = vec![now.unwrap_or_else(|| format!("{}, speed unknown", link.bus))];
    words.extend(
        is_contradictory(link).then(|| "more than one of its ends can do, so unknown".to_string()),
    );
    words.extend(link.is_of_switch.then(|| "to a switch".to_string()));
    words.extend(link.slot.as_ref().map(|slot| format!("slot {slot}")));
    words.extend(link.driver.clone());
    let most = |speed| link_words(link.bus, speed).filter(|words_of| *words_of != words[0]);
    let device = if link.is_of_switch { "switch" } else { "device" };
    let ends = [(device, most(link.device_most)), ("port", most(link.port_most))];
    let ends: Vec<String> =
        ends.into_iter().filter_map(|(end, most)| Some(format!("{end} up to {}", most?))).collect();
    let is_told = matches!(link.bus, Bus::Pcie | Bus::Sata | Bus::Usb);
    let is_unknown = link.now.rate.is_some() && is_told && link.device_most.rate.is_none();
    let unknown = is_unknown.then(|| format!("what the {device} can do is unknown"));
    [words, ends, unknown.into_iter().collect()].concat().join(", ")
}

fn of_interface(interface: &InterfaceHop) -> String {
    let mut words = vec![match interface.speed {
        Some(speed) => format!("network, {}b/s", scaled(speed as f64 * 1e6)),
        None => "network, speed unknown".to_string(),
    }];
    let mode = interface.bond_mode.as_deref().unwrap_or("bond");
    let bonded = (!interface.bonded.is_empty()).then(|| listed(&interface.bonded));
    words.extend(bonded.map(|bonded| format!("{mode} of {bonded}")));
    words.push(format!("to {}", interface.server));
    let is_bond = interface.bonded.len() > 1;
    words.extend(is_bond.then(|| "one connection usually uses one of them".to_string()));
    words.join(", ")
}
