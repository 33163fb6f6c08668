//! Resolves a mount to the block devices below it, whose counters see its bytes.

use crate::ext4::{self, Journal};
use crate::host;
use crate::loops::Identity;
use crate::mounts::{Mount, mount_of_path};
use crate::root::Root;
use crate::sysfs::{self, chosen, entries, file_name, is_numbered, number, text};
use crate::topology::{self, DeviceTree, Multiplier};
use crate::traffic;
use backing::Blocks;
use model::host::{Device, HeldContent, LoopFile, Medium, WeakPart};
use model::layer::{Amplification, Layer};
use model::list::listed;
use model::path::WriteCache;
use std::fs::File;
use std::path::{Path, PathBuf};

mod backing;
mod overlay;

pub(crate) use backing::Backing;
pub(crate) use overlay::stored_on;

/// Maximum nesting followed, for overlays on loop devices on overlays.
const DEPTH: u32 = 8;

/// Finds the devices below a mount.
pub(crate) struct Finder {
    root: Root,
    /// Whether this machine is virtual. If so, its disks are too, and what they report about
    /// themselves is unreliable (docs/method).
    is_guest: bool,
}

impl Finder {
    pub(crate) fn new(root: &Root) -> Finder {
        Finder { root: root.clone(), is_guest: host::hypervisor(root).is_some() }
    }

    /// The storage below `mount`.
    pub(crate) fn backing(&self, mount: &Mount) -> Backing {
        self.ground_at(mount, DEPTH)
    }

    /// The storage below the block device `major:minor`, without a file system.
    pub(crate) fn ground_of_number(&self, number: &str) -> Backing {
        let block = sysfs::block(&self.root, number);
        self.ground_of_blocks("block device", &Blocks::of(vec![block]), DEPTH)
    }

    fn ground_at(&self, mount: &Mount, depth: u32) -> Backing {
        let kind = mount.file_system.as_str();
        if depth == 0 {
            return unseen(format!("{kind}: its layers are nested too deeply to follow"));
        }
        let mut backing = match kind {
            "tmpfs" | "ramfs" | "devtmpfs" | "hugetlbfs" => Backing::of(Medium::Ram, Vec::new()),
            "overlay" => self.ground_of_overlay(mount, depth),
            "btrfs" => self.ground_of_btrfs(mount, depth),
            "bcachefs" => {
                let sources = mount.source.to_string_lossy();
                let nodes =
                    sources.split(':').map(Path::new).map(|node| block_of_node(&self.root, node));
                let nodes: Vec<PathBuf> = nodes.collect();
                let spread = if nodes.len() > 1 { Multiplier::MORE } else { Multiplier::SPLIT };
                let blocks = Blocks { spread, copies: spread, ..Blocks::of(nodes) };
                self.ground_of_blocks(kind, &blocks, depth)
            }
            // Even if the mount names a device, another process reads from it.
            _ if kind.starts_with("fuse") => unseen(format!(
                "{kind}: another process serves this file system, and ioassay cannot see what it \
                 caches"
            )),
            _ if mount.device.starts_with("0:") => unseen(format!(
                "{kind}: this file system is on no block device of this machine, and ioassay \
                 cannot see what is cached elsewhere"
            )),
            _ => self.ground_of_device(mount, depth),
        };
        backing.barriers_off.extend(mount.barriers_off());
        backing.stored_on.get_or_insert_with(|| mount.clone());
        backing
    }

    /// The storage below a file system on a block device, and on others if it keeps a part apart.
    fn ground_of_device(&self, mount: &Mount, depth: u32) -> Backing {
        let kind = mount.file_system.as_str();
        let named = |option| {
            let nodes = mount.values(option);
            nodes.map(|node| block_of_node(&self.root, Path::new(node))).collect::<Vec<PathBuf>>()
        };
        // xfs may have some files' data on a device of its own.
        let data = [vec![sysfs::block(&self.root, &mount.device)], named("rtdev")].concat();
        let mut journal = [named("logdev"), named("jdev")].concat();
        let of_ext4 = ext4::journal(&self.root, mount);
        if let Journal::On(block) = &of_ext4 {
            journal.push(block.clone());
        }
        let names: Vec<String> = journal.iter().map(|block| file_name(block)).collect();
        let blocks = Blocks { journal, ..Blocks::of(data) };
        let mut backing = self.ground_of_blocks(kind, &blocks, depth);
        if !names.is_empty() {
            backing.notes.push(format!("{kind}: its journal is on {}", listed(&names)));
        }
        if of_ext4 == Journal::Unseen && backing.medium == Medium::Block {
            let holds = HeldContent::Journal;
            backing.weak_parts.push(WeakPart { device: None, holds, is_copied: false });
        }
        backing
    }

    /// A btrfs mount names only one of its members.
    fn ground_of_btrfs(&self, mount: &Mount, depth: u32) -> Backing {
        let Some(file_system) = btrfs_of(&self.root, &mount.source) else {
            return unseen("btrfs: its devices cannot be found in /sys".to_string());
        };
        let members: Vec<PathBuf> = entries(&file_system.join("devices")).collect();
        let spread = Multiplier::of_btrfs(&file_system);
        let copies = Multiplier::of_members(&file_system);
        let blocks = Blocks { spread, copies, ..Blocks::of(members) };
        self.ground_of_blocks("btrfs", &blocks, depth)
    }

    /// The storage below several block devices.
    fn ground_of_blocks(&self, kind: &str, blocks: &Blocks, depth: u32) -> Backing {
        let nodes = |paths: &[PathBuf]| -> Vec<DeviceTree> {
            paths.iter().filter_map(|block| DeviceTree::of(&self.root, block)).collect()
        };
        let (data, journal) = (nodes(&blocks.data), nodes(&blocks.journal));
        let tops = [data.clone(), journal].concat();
        if !tops.is_empty() && tops.len() < blocks.data.len() + blocks.journal.len() {
            return unseen(format!("{kind}: some of its devices cannot be found in /sys"));
        }
        let disks = topology::disks(&tops);
        let of_data = topology::disks(&data);
        let backings: Vec<Backing> =
            disks.iter().map(|disk| self.ground_of_disk(disk, depth)).collect();
        let is_of_data = |disk: &PathBuf| of_data.contains(disk);
        let all = || disks.iter().zip(&backings);
        let medium = match () {
            () if backings.is_empty() => {
                return unseen(format!("{kind}: its devices cannot be found in /sys"));
            }
            () if all().all(|(disk, it)| it.medium == Medium::Ram || !is_of_data(disk)) => {
                Medium::Ram
            }
            () if backings.iter().any(|backing| backing.medium == Medium::Unseen) => Medium::Unseen,
            () => Medium::Block,
        };
        let mut of_each: Vec<Vec<WeakPart>> = all()
            .filter(|(disk, _)| is_of_data(disk))
            .map(|(disk, backing)| backing.weak_parts_of(disk, HeldContent::Data))
            .collect();
        let loses = |parts: &Vec<WeakPart>| parts.iter().any(|part| !part.is_copied);
        if topology::are_mirrors(&data, blocks.copies) && !of_each.iter().all(loses) {
            of_each.iter_mut().flatten().for_each(|part| part.is_copied = true);
        }
        let mut weak_parts = of_each.concat();
        for (disk, backing) in all().filter(|(disk, _)| !is_of_data(disk)) {
            weak_parts.extend(backing.weak_parts_of(disk, HeldContent::Journal));
        }
        if medium == Medium::Ram {
            weak_parts.clear();
        }
        let layers = topology::layers(&tops, blocks.spread);
        let sectors =
            blocks.data.iter().chain(&blocks.journal).map(|block| number(&block.join("size")));
        let size = sectors.sum::<Option<u64>>().map_or(0, |sectors| sectors.saturating_mul(512));
        let notes = note_of_layers(&layers).into_iter().collect();
        let stopping = tops.iter().flat_map(DeviceTree::stopping);
        let barriers_off = stopping.map(|name| without_flush(&name)).collect();
        let all = Backing { layers, size, barriers_off, weak_parts, ..Backing::of(medium, notes) };
        backings.into_iter().fold(all, |mut all, backing| {
            all.devices.extend(backing.devices);
            all.notes.extend(backing.notes);
            all.barriers_off.extend(backing.barriers_off);
            all.below_files.extend(backing.below_files);
            all
        })
    }

    /// A single disk, at `path` in sysfs.
    fn ground_of_disk(&self, path: &Path, depth: u32) -> Backing {
        let told = |file: &str| text(&path.join(file)).filter(|text| !text.is_empty());
        let flag = |file: &str| sysfs::flag(&path.join(file));
        let mut device = Device {
            name: file_name(path),
            model: told("device/model"),
            firmware: firmware(path),
            rotational: flag("queue/rotational"),
            scheduler: told("queue/scheduler").and_then(|text| chosen(&text)),
            nr_requests: number(&path.join("queue/nr_requests")),
            read_ahead: number(&path.join("queue/read_ahead_kb")).map(|kib| kib << 10),
            write_cache: told("queue/write_cache").and_then(|text| text.parse().ok()),
            fua: flag("queue/fua"),
            io_poll: flag("queue/io_poll"),
            loop_direct: flag("loop/dio"),
            ..Device::default()
        };
        if path.join("loop").is_dir() {
            return self.ground_of_loop(path, device, depth);
        }
        let is_memory = is_memory(&device.name);
        let driver = std::fs::read_link(path.join("device/driver")).unwrap_or_default();
        // What this OS makes itself, such as zram0 or nbd0, belongs to no device in /sys.
        let is_presented = path.join("device").exists() && transport_of_network(path).is_none();
        device.is_virtual = (self.is_guest && is_presented)
            || device.name.starts_with("vd")
            || device.name.starts_with("xvd")
            || driver.file_name().is_some_and(|driver| driver == "virtio_blk");
        let medium = if is_memory { Medium::Ram } else { Medium::Block };
        let notes = note_of_disk(path, &device.name).into_iter().collect();
        Backing { devices: vec![device], ..Backing::of(medium, notes) }
    }

    /// A loop device counts the bytes that pass through it, so it is its own bottom device; the
    /// file behind it determines the medium. Each flush becomes an fsync of that file, which
    /// flushes the device below, with or without direct I/O.
    fn ground_of_loop(&self, path: &Path, mut device: Device, depth: u32) -> Backing {
        let name = device.name.clone();
        let mut notes = Vec::new();
        // Without direct I/O, O_DIRECT has no effect below (docs/method).
        if device.loop_direct == Some(false) {
            notes.push(format!(
                "{name}: a loop device without direct I/O: O_DIRECT inside is the page cache \
                 outside"
            ));
        }
        let file = text(&path.join("loop/backing_file"));
        let below = file.and_then(|file| self.ground_of_file(Path::new(&file), depth));
        let Some((mut found, below)) = below else {
            notes.push(format!("{name}: ioassay cannot reach the file behind this loop device"));
            let devices = vec![device];
            return Backing { devices, ..Backing::of(Medium::Unseen, notes) };
        };
        if STORES_EACH_BYTE.contains(&found.file_system.as_str()) {
            found.disks = self.disks_that_count(&below);
        }
        let below_files = below.nodes().map(str::to_string).collect();
        let Backing { medium, mut barriers_off, weak_parts, devices, notes: notes_below, .. } =
            below;
        notes.extend(notes_below);
        device.file = Some(LoopFile { devices, ..found });
        if stops_flushes(&device) && medium == Medium::Block {
            barriers_off.push(without_flush(&device.name));
        }
        let devices = vec![device];
        Backing { devices, below_files, barriers_off, weak_parts, ..Backing::of(medium, notes) }
    }

    /// A loop device's file, which may be a block device, with its file system, and what is below.
    fn ground_of_file(&self, file: &Path, depth: u32) -> Option<(LoopFile, Backing)> {
        let depth = depth.checked_sub(1)?;
        let kind = "block device";
        let on = |file_system: &str, journals_data| {
            let (devices, disks) = (Vec::new(), Vec::new());
            LoopFile { file_system: file_system.to_string(), devices, disks, journals_data }
        };
        let node = Identity::at(&self.root.at(file)).and_then(|file| file.number());
        if let Some(number) = node {
            let block = sysfs::block(&self.root, &number);
            let below = self.ground_of_blocks(kind, &Blocks::of(vec![block]), depth);
            return Some((on(kind, None), below));
        }
        let mount = mount_of_path(&self.root, file)?;
        let journals_data = || {
            let options = ext4::options(&self.root, &mount)?;
            ext4::journals_data(&options, &File::open(self.root.at(file)).ok()?)
        };
        Some((on(&mount.file_system, journals_data()), self.ground_at(&mount, depth)))
    }

    /// The disks of a loop device's file whose counters show each byte that reaches them; none if
    /// one of them may move fewer bytes, or does not count.
    fn disks_that_count(&self, below: &Backing) -> Vec<String> {
        let moves_all = |layer: &Layer| layer.reads.least > 0 && layer.writes.least > 0;
        let counts = |device: &Device| {
            let path = self.root.at("/sys/class/block").join(&device.name);
            let has_counted = text(&path.join("stat")).and_then(|stat| traffic::parse_stat(&stat));
            let has_counted = has_counted.is_some_and(|it| it.reads > 0 && it.writes > 0);
            has_counted && number(&path.join("queue/iostats")) != Some(0)
        };
        let of_device = |device: &Device| match &device.file {
            Some(file) => file.disks.clone(),
            None if counts(device) => vec![device.name.clone()],
            None => Vec::new(),
        };
        let disks: Vec<Vec<String>> = below.devices.iter().map(of_device).collect();
        let is_told = below.medium == Medium::Block
            && below.layers.iter().all(moves_all)
            && disks.iter().all(|names| !names.is_empty());
        if is_told { disks.concat() } else { Vec::new() }
    }
}

/// File systems that store each byte of a file as it is, so that the disks below move as much.
const STORES_EACH_BYTE: [&str; 4] = ["ext2", "ext3", "ext4", "xfs"];

fn unseen(note: String) -> Backing {
    Backing::of(Medium::Unseen, vec![note])
}

/// Whether a loop device says that it has no cache, so that the OS sends it no flush, though one is
/// below: the page cache, or that of a disk.
fn stops_flushes(device: &Device) -> bool {
    let caches = |below: &&Device| below.write_cache == Some(WriteCache::Back);
    device.write_cache == Some(WriteCache::Through)
        && (device.loop_direct == Some(false) || device.and_below().iter().skip(1).any(caches))
}

/// Describes a device that prevents syncs from flushing: `loop1 (write through)`.
fn without_flush(name: &str) -> String {
    format!("{name} ({})", WriteCache::Through)
}

/// A note about how many times a byte is written.
fn note_of_layers(layers: &[Layer]) -> Option<String> {
    let (bottom, top) = (layers.first()?, layers.last()?);
    let below = || bottom.nodes.join(", ");
    match bottom.writes {
        Amplification::ONE => None,
        Amplification { least, most: Some(most) } => {
            let times = if least == most { most.to_string() } else { format!("{least} to {most}") };
            Some(format!("{}: together they write each byte {times} times", below()))
        }
        Amplification { most: None, .. } => Some(format!(
            "how often each byte is written to {} is unknown: writes are counted at {}",
            below(),
            top.nodes.join(", ")
        )),
    }
}

/// A note about a disk that differs from what its name suggests.
fn note_of_disk(path: &Path, name: &str) -> Option<String> {
    let is = |kind| is_numbered(name, kind);
    if is("nbd") || is("rbd") || is("drbd") {
        return Some(format!("{name}: this device is across a network"));
    }
    if is("nullb") {
        return Some(format!("{name}: this device stores nothing"));
    }
    if is("pmem") {
        return Some(format!("{name}: this device is persistent memory"));
    }
    let transport = transport_of_network(path)?;
    Some(format!("{name}: this device is across a network ({transport})"))
}

/// How an NVMe disk is reached across a network; `None` for other disks.
fn transport_of_network(path: &Path) -> Option<String> {
    // A multipath NVMe disk has no transport of its own, but each of its controllers does.
    let controllers = entries(&path.join("device")).map(|path| path.join("transport"));
    let transport = text(&path.join("device/transport"));
    let transport = transport.or_else(|| controllers.filter_map(|path| text(&path)).next())?;
    ["tcp", "rdma", "fc"].contains(&transport.as_str()).then_some(transport)
}

/// The firmware's revision of the disk at `path`. NVMe, SCSI and MMC use different names for it.
pub(crate) fn firmware(path: &Path) -> Option<String> {
    let revisions = ["device/firmware_rev", "device/rev", "device/fwrev"];
    revisions.iter().filter_map(|file| text(&path.join(file))).find(|text| !text.is_empty())
}

/// Whether the disk of this name is in memory.
pub(crate) fn is_memory(name: &str) -> bool {
    is_numbered(name, "zram") || is_numbered(name, "ram")
}

/// The directory in sysfs of the btrfs that has the device node `node`.
pub(crate) fn btrfs_of(root: &Root, node: &Path) -> Option<PathBuf> {
    let node = block_of_node(root, node);
    let is_of_node = |file_system: &PathBuf| {
        node.file_name().is_some_and(|name| file_system.join("devices").join(name).exists())
    };
    entries(&root.at("/sys/fs/btrfs")).find(is_of_node)
}

/// The sysfs directory of a device node, whose name may be a link, as in `/dev/mapper/x`.
fn block_of_node(root: &Root, node: &Path) -> PathBuf {
    let node = root.resolved(node);
    let by_name = || root.at("/sys/class/block").join(node.file_name().unwrap_or_default());
    sysfs::block_of_node(root, &node).unwrap_or_else(by_name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysfs::tests::Sys;
    use std::fs;
    use std::os::unix::fs::symlink;

    impl Sys {
        fn backing(&self, mount: &Mount) -> Backing {
            Finder { root: self.root(), is_guest: false }.backing(mount)
        }

        #[track_caller]
        fn check(&self, mount: &Mount, medium: Medium, names: &[&str]) -> Backing {
            let backing = self.backing(mount);
            let found: Vec<&str> = backing.devices.iter().map(|d| d.name.as_str()).collect();
            assert_eq!((backing.medium, found), (medium, names.to_vec()), "{backing:#?}");
            backing
        }
    }

    fn mount(file_system: &str, device: &str, source: &str, options: &str) -> Mount {
        Mount {
            id: 1,
            device: device.to_string(),
            root: "/".into(),
            point: "/mnt".into(),
            file_system: file_system.to_string(),
            source: source.into(),
            options: options.split(',').map(str::to_string).collect(),
        }
    }

    fn ext4(minor: u32) -> Mount {
        mount("ext4", &format!("8:{minor}"), "/dev/x", "rw")
    }

    #[test]
    fn a_partition_is_of_its_disk() {
        let sys = Sys::new();
        let files = [
            ("device/model", "  ZEBRA SSD  "),
            ("device/rev", "4B2Q"),
            ("queue/rotational", "0"),
            ("queue/scheduler", "none [mq-deadline] kyber"),
            ("queue/nr_requests", "1023"),
            ("queue/read_ahead_kb", "128"),
            ("queue/write_cache", "write back"),
        ];
        sys.block("pci/sda", 0, &files);
        sys.block("pci/sda/sda1", 1, &[("partition", "1")]);
        let backing = sys.check(&ext4(1), Medium::Block, &["sda"]);
        let model = Some("ZEBRA SSD".to_string());
        let read_ahead = Some(128 << 10);
        let disk = Device {
            name: "sda".to_string(),
            model,
            firmware: Some("4B2Q".to_string()),
            rotational: Some(false),
            scheduler: Some("mq-deadline".to_string()),
            nr_requests: Some(1023),
            is_virtual: false,
            read_ahead,
            write_cache: Some(WriteCache::Back),
            fua: None,
            io_poll: None,
            loop_direct: None,
            file: None,
        };
        assert_eq!(backing.devices, [disk]);
        assert_eq!(backing.notes, [] as [String; 0]);
    }

    #[test]
    fn mapped_and_raid_devices_are_what_they_are_made_of_each_once() {
        let sys = Sys::new();
        let sda = sys.block("pci/sda", 0, &[]);
        let sda1 = sys.block("pci/sda/sda1", 1, &[("partition", "1")]);
        let sda2 = sys.block("pci/sda/sda2", 2, &[("partition", "2")]);
        let sdb = sys.block("pci/sdb", 16, &[]);
        let md0 = sys.block("virtual/md0", 32, &[]);
        for slave in [&sda1, &sdb] {
            sys.slave(&md0, slave);
        }
        let mapped = sys.block("virtual/dm-0", 33, &[]);
        for slave in [&md0, &sda2] {
            sys.slave(&mapped, slave);
        }
        fs::create_dir(sda.join("slaves")).unwrap();
        sys.check(&ext4(33), Medium::Block, &["sda", "sdb"]);
    }

    #[test]
    fn a_btrfs_is_on_all_its_members() {
        let sys = Sys::new();
        let (sda, sdb) = (sys.block("pci/sda", 0, &[]), sys.block("pci/sdb", 16, &[]));
        let devices = sys.path().join("fs/btrfs/some-uuid/devices");
        fs::create_dir_all(&devices).unwrap();
        fs::create_dir_all(sys.path().join("fs/btrfs/features")).unwrap();
        for disk in [sda, sdb] {
            symlink(&disk, devices.join(file_name(&disk))).unwrap();
        }
        sys.check(&mount("btrfs", "0:40", "/dev/sdb", "rw"), Medium::Block, &["sda", "sdb"]);
        sys.check(&mount("btrfs", "0:41", "/dev/sdz", "rw"), Medium::Unseen, &[]);
        let of_two = mount("bcachefs", "0:42", "/dev/sda:/dev/sdb", "rw");
        sys.check(&of_two, Medium::Block, &["sda", "sdb"]);
    }

    #[test]
    fn a_write_cache_is_what_the_os_says_or_unknown() {
        let sys = Sys::new();
        for (minor, told, expected) in [
            (0, "write back", Some(WriteCache::Back)),
            (1, "write through", Some(WriteCache::Through)),
            (2, "none", None),
        ] {
            sys.block(&format!("pci/sd{minor}"), minor, &[("queue/write_cache", told)]);
            assert_eq!(sys.backing(&ext4(minor)).devices[0].write_cache, expected, "{told}");
        }
        sys.block("pci/sdx", 3, &[]);
        assert_eq!(sys.backing(&ext4(3)).devices[0].write_cache, None);
    }

    #[test]
    fn writes_through_the_cache_are_what_the_os_says_or_unknown() {
        let sys = Sys::new();
        for (minor, told, expected) in [(0, "1", Some(true)), (1, "0", Some(false))] {
            sys.block(&format!("pci/sd{minor}"), minor, &[("queue/fua", told)]);
            assert_eq!(sys.backing(&ext4(minor)).devices[0].fua, expected, "{told}");
        }
        sys.block("pci/sdx", 2, &[]);
        assert_eq!(sys.backing(&ext4(2)).devices[0].fua, None);
    }

    #[test]
    fn a_disk_of_a_hypervisor_is_virtual() {
        let sys = Sys::new();
        let by_driver = sys.block("pci/sda", 0, &[]);
        fs::create_dir(by_driver.join("device")).unwrap();
        symlink("../../bus/virtio/drivers/virtio_blk", by_driver.join("device/driver")).unwrap();
        sys.block("pci/xvda", 1, &[]);
        sys.block("pci/nvme0n1", 2, &[("device/model", "X")]);
        let is_virtual = |minor| sys.backing(&ext4(minor)).devices[0].is_virtual;
        assert_eq!([0, 1, 2].map(is_virtual), [true, true, false]);
        let guest = Finder { root: sys.root(), is_guest: true };
        assert!(guest.backing(&ext4(2)).devices[0].is_virtual);
    }

    /// The OS makes these, and a server across a network presents the others.
    #[test]
    fn a_device_that_no_hypervisor_presents_is_not_virtual() {
        let sys = Sys::new();
        for (minor, name) in (0..).zip(["loop0", "nbd0", "zram0", "drbd0", "nullb0"]) {
            sys.block(&format!("virtual/block/{name}"), minor, &[("size", "1")]);
        }
        sys.block("virtual/nvme9n1", 5, &[("device/transport", "tcp")]);
        let guest = Finder { root: sys.root(), is_guest: true };
        for minor in 0..6 {
            let backing = guest.backing(&ext4(minor));
            assert!(!backing.devices[0].is_virtual, "{backing:#?}");
        }
    }

    #[test]
    fn a_device_that_is_no_disk_is_told_of() {
        let sys = Sys::new();
        for (minor, name, files, medium, note) in [
            (0, "ram0", [("size", "1")], Medium::Ram, ""),
            (1, "zram3", [("size", "1")], Medium::Ram, ""),
            (2, "nbd0", [("size", "1")], Medium::Block, "across a network"),
            (3, "pmem0", [("size", "1")], Medium::Block, "persistent memory"),
            (4, "nullb0", [("size", "1")], Medium::Block, "stores nothing"),
            (5, "nvme1n1", [("device/transport", "tcp")], Medium::Block, "network (tcp)"),
            (6, "nvme2n1", [("device/transport", "pcie")], Medium::Block, ""),
        ] {
            sys.block(&format!("virtual/{name}"), minor, &files);
            let backing = sys.check(&ext4(minor), medium, &[name]);
            let notes = backing.notes.join("|");
            assert!(notes.contains(note) && notes.is_empty() == note.is_empty(), "{notes}");
        }
    }

    #[test]
    fn a_loop_device_whose_file_cannot_be_reached_is_unseen() {
        let sys = Sys::new();
        let files = [("loop/backing_file", "/nowhere/image"), ("loop/dio", "1")];
        sys.block("virtual/loop0", 0, &files);
        let backing = sys.check(&ext4(0), Medium::Unseen, &["loop0"]);
        assert!(backing.notes[0].contains("cannot reach"), "{backing:?}");
    }

    #[test]
    fn what_is_not_on_a_block_device_is_unseen_and_says_so() {
        let sys = Sys::new();
        sys.block("pci/sda", 0, &[]);
        for (mount, note) in [
            (mount("nfs4", "0:50", "server:/export", "rw"), "nfs4: this file system is on no"),
            (mount("fuse.sshfs", "0:51", "me@host:", "rw"), "another process serves"),
            (mount("fuseblk", "8:0", "/dev/sda", "rw"), "another process serves"),
            (mount("ext4", "8:77", "/dev/sdz", "rw"), "cannot be found in /sys"),
            (mount("overlay", "0:52", "overlay", "lowerdir=/no/a:/no/b"), "cannot reach"),
        ] {
            let backing = sys.check(&mount, Medium::Unseen, &[]);
            assert!(backing.notes.len() == 1 && backing.notes[0].contains(note), "{backing:?}");
        }
        sys.check(&mount("tmpfs", "0:53", "tmpfs", "rw"), Medium::Ram, &[]);
    }

    /// The weak parts in words: `journal ram0`, `data ? copied`.
    fn weak(backing: &Backing) -> Vec<String> {
        let words = |part: &WeakPart| {
            let device = part.device.as_deref().unwrap_or("?");
            let copied = if part.is_copied { " copied" } else { "" };
            format!("{} {device}{copied}", part.holds)
        };
        backing.weak_parts.iter().map(words).collect()
    }

    /// A disk, one in memory, and a journal of an ext4 on the second, or on the first.
    #[test]
    fn a_journal_apart_is_judged_by_its_own_device() {
        let sys = Sys::new();
        sys.block("pci/sda", 0, &[]);
        sys.block("pci/sdb", 1, &[]);
        sys.block("virtual/ram0", 2, &[]);
        let journals = sys.path().with_file_name("proc").join("fs/jbd2");
        let list = |names: &[&str]| {
            let _ = fs::remove_dir_all(&journals);
            names.iter().for_each(|name| fs::create_dir_all(journals.join(name)).unwrap());
        };
        for (names, devices, expected) in [
            (&["sda-8", "ram0"][..], &["sda"][..], &[][..]),
            (&["ram0"], &["ram0", "sda"], &["journal ram0"]),
            (&["sdb", "sdb-8"], &["sda", "sdb"], &[]),
            // No device of these has an inode in its name; which of two it is, nothing tells.
            (&["sda-x"], &["sda"], &["journal ?"]),
            (&["sdb", "ram0"], &["sda"], &["journal ?"]),
            (&[], &["sda"], &["journal ?"]),
        ] {
            list(names);
            let backing = sys.check(&ext4(0), Medium::Block, devices);
            assert_eq!(weak(&backing), expected, "{names:?}");
        }
        let options = sys.path().with_file_name("proc").join("fs/ext4/sda");
        fs::create_dir_all(&options).unwrap();
        fs::write(options.join("options"), "rw\nbarrier\n").unwrap();
        list(&["ram0"]);
        assert_eq!(weak(&sys.check(&ext4(0), Medium::Block, &["sda"])), [""; 0]);
        // Data in memory is memory, wherever the journal is.
        list(&["sdb"]);
        assert_eq!(weak(&sys.check(&ext4(2), Medium::Ram, &["ram0", "sdb"])), [""; 0]);
        for (log, expected) in [("ram0", &["journal ram0"][..]), ("sdb", &[])] {
            let xfs = mount("xfs", "8:0", "/dev/sda", &format!("rw,logdev=/dev/{log}"));
            assert_eq!(weak(&sys.backing(&xfs)), expected, "{log}");
        }
        let files = mount("xfs", "8:0", "/dev/sda", "rw,rtdev=/dev/ram0");
        assert_eq!(weak(&sys.backing(&files)), ["data ram0"]);
    }

    #[test]
    fn a_member_in_memory_is_weak_unless_each_other_has_a_copy() {
        let sys = Sys::new();
        let (sda, ram0) = (sys.block("pci/sda", 0, &[]), sys.block("virtual/ram0", 1, &[]));
        let file_system = sys.path().join("fs/btrfs/some-uuid");
        fs::create_dir_all(file_system.join("devices")).unwrap();
        for disk in [&sda, &ram0] {
            symlink(disk, file_system.join("devices").join(file_name(disk))).unwrap();
        }
        let btrfs = mount("btrfs", "0:40", "/dev/sda", "rw");
        for (data, metadata, expected) in [
            ("raid0", "raid0", "data ram0"),
            ("single", "dup", "data ram0"),
            ("dup", "dup", "data ram0"),
            ("raid1", "single", "data ram0"),
            ("raid1", "dup", "data ram0"),
            ("raid1", "raid1", "data ram0 copied"),
        ] {
            let allocation = file_system.join("allocation");
            let _ = fs::remove_dir_all(&allocation);
            for (kind, profile) in [("data", data), ("metadata", metadata), ("system", metadata)] {
                let profile = allocation.join(kind).join(profile);
                fs::create_dir_all(&profile).unwrap();
                fs::write(profile.join("total_bytes"), "4096").unwrap();
            }
            let backing = sys.check(&btrfs, Medium::Block, &["ram0", "sda"]);
            assert_eq!(weak(&backing), [expected], "{data} {metadata}");
        }
        for (level, expected) in [("raid0", "data ram0"), ("raid1", "data ram0 copied")] {
            let files = [("md/level", level), ("md/raid_disks", "2"), ("md/degraded", "0")];
            let minor = if level == "raid0" { 10 } else { 11 };
            let md = sys.block(&format!("virtual/md{minor}"), minor, &files);
            [&sda, &ram0].iter().for_each(|disk| sys.slave(&md, disk));
            let xfs = mount("xfs", &format!("8:{minor}"), "/dev/md", "rw");
            assert_eq!(weak(&sys.backing(&xfs)), [expected], "{level}");
        }
    }

    #[test]
    fn a_device_that_says_it_has_no_cache_stops_flushes_to_one_that_has() {
        for (upper, lower, expected) in [
            ("write through", "write back", &["dm-0 (write through)"][..]),
            ("write through", "write through", &[]),
            ("write back", "write back", &[]),
        ] {
            let sys = Sys::new();
            let disk = sys.block("pci/sda", 0, &[("queue/write_cache", lower)]);
            let mapped = sys.block("virtual/dm-0", 1, &[("queue/write_cache", upper)]);
            sys.slave(&mapped, &disk);
            assert_eq!(sys.backing(&ext4(1)).barriers_off, expected, "{upper} {lower}");
        }
        let below = |write_cache| Device { write_cache, ..Device::default() };
        let with = |write_cache, loop_direct, devices| {
            let (file_system, disks) = ("ext4".to_string(), Vec::new());
            let file = Some(LoopFile { file_system, devices, disks, journals_data: None });
            stops_flushes(&Device { write_cache, loop_direct, file, ..Device::default() })
        };
        let (back, through) = (Some(WriteCache::Back), Some(WriteCache::Through));
        assert!(with(through, Some(true), vec![below(back)]));
        assert!(with(through, Some(false), vec![below(through)]));
        assert!(!with(through, Some(true), vec![below(through)]));
        assert!(!with(back, Some(true), vec![below(back)]));
    }

    /// The file on the lower layer is of other bytes than the one with its name on the upper.
    #[test]
    fn a_file_of_an_overlay_is_on_the_first_layer_that_has_it() {
        let sys = Sys::new();
        sys.block("pci/sda", 0, &[]);
        let root = sys.root();
        for name in ["merged", "upper", "lower/in"] {
            fs::create_dir_all(root.at(format!("/mnt/{name}"))).unwrap();
        }
        let mounts = "1 0 8:0 / / rw - xfs /dev/sda rw\n\
            2 1 0:50 / /mnt/upper rw - tmpfs tmpfs rw\n\
            3 1 0:51 / /mnt/merged rw - overlay overlay \
            rw,lowerdir=/mnt/lower,upperdir=/mnt/upper\n";
        fs::create_dir_all(root.at("/proc/self")).unwrap();
        fs::write(root.at("/proc/self/mountinfo"), mounts).unwrap();
        let overlay = mount_of_path(&root, Path::new("/mnt/merged/x")).unwrap();
        let place = |name: &str, layer: &str, other: bool| {
            // Both names are of one file, as both paths of an overlay are.
            let at = root.at(format!("/mnt/{layer}/{name}"));
            fs::write(&at, name).unwrap();
            let merged = root.at(format!("/mnt/merged/{name}"));
            fs::create_dir_all(merged.parent().unwrap()).unwrap();
            if other { fs::write(merged, "elsewhere") } else { fs::hard_link(at, merged) }.unwrap();
        };
        place("in/old", "lower", false);
        place("new", "upper", false);
        place("lost", "lower", true);
        let finder = Finder { root: sys.root(), is_guest: false };
        for (name, medium, at) in [
            ("in/old", Medium::Block, "/mnt/lower/in/old"),
            ("new", Medium::Ram, "/mnt/upper/new"),
            ("lost", Medium::Unseen, "/mnt/merged/lost"),
        ] {
            let path = Path::new("/mnt/merged").join(name);
            let (backing, found) = finder.backing_of_file(&overlay, &path);
            assert_eq!((backing.medium, found.as_path()), (medium, Path::new(at)), "{name}");
        }
    }
}
