//! Resolves a mount to the block devices below it, whose counters see its bytes.

use crate::ext4;
use crate::host;
use crate::loops::Identity;
use crate::mounts::{Mount, mount_of_path};
use crate::root::Root;
use crate::sysfs::{self, chosen, entries, file_name, number, text};
use crate::topology::{self, Node, Spread};
use crate::traffic;
use model::host::{Device, LoopFile, Medium, WriteCache};
use model::layer::{Amplification, Layer};
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Maximum nesting followed, for overlays on loop devices on overlays.
const DEPTH: u32 = 8;

/// The storage below a mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Backing {
    pub(crate) medium: Medium,
    /// Empty for memory and for storage that is not visible from here.
    pub(crate) devices: Vec<Device>,
    /// The layers down to the devices, the bottom first.
    pub(crate) layers: Vec<Layer>,
    /// The names of all block devices below the files of loop devices.
    pub(crate) below_files: BTreeSet<String>,
    /// Total size in bytes of the file system's block devices; 0 if unknown.
    pub(crate) size: u64,
    /// Mounts that prevent a sync from flushing.
    pub(crate) barriers_off: Vec<String>,
    /// The mount whose file system stores new files: below an overlay, another one. `None` without
    /// a file system.
    pub(crate) stored_on: Option<Mount>,
    /// Notes for the reader, one sentence each.
    pub(crate) notes: Vec<String>,
}

impl Backing {
    fn of(medium: Medium, notes: Vec<String>) -> Backing {
        let (devices, layers, barriers_off) = (Vec::new(), Vec::new(), Vec::new());
        let below_files = BTreeSet::new();
        let stored_on = None;
        Backing { medium, devices, layers, below_files, size: 0, barriers_off, stored_on, notes }
    }

    /// The names of all block devices that the bytes pass, also through files, each once: any of
    /// them may have a limit.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = &str> {
        let of_layers = self.layers.iter().flat_map(|layer| &layer.nodes).chain(&self.below_files);
        let names = self.devices.iter().map(|device| &device.name).chain(of_layers);
        names.map(String::as_str).collect::<BTreeSet<&str>>().into_iter()
    }
}

/// Finds the devices below a mount.
pub(crate) struct Finder {
    root: Root,
    /// Whether this machine is virtual. If so, its disks are too, and what they report about
    /// themselves is unreliable (METHODOLOGY.md).
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
        self.ground_of_blocks("block device", &[block], Spread::SPLIT, DEPTH)
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
                let nodes = sources.split(':').map(Path::new).map(|node| self.block_of_node(node));
                let nodes: Vec<PathBuf> = nodes.collect();
                let spread = if nodes.len() > 1 { Spread::MORE } else { Spread::SPLIT };
                self.ground_of_blocks(kind, &nodes, spread, depth)
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
            _ => {
                let mut blocks = vec![sysfs::block(&self.root, &mount.device)];
                // xfs may keep its log and some files' data on separate devices.
                let others = ["logdev", "rtdev"].iter().flat_map(|name| mount.values(name));
                blocks.extend(others.map(|node| self.block_of_node(Path::new(node))));
                self.ground_of_blocks(kind, &blocks, Spread::SPLIT, depth)
            }
        };
        backing.barriers_off.extend(mount.barriers_off());
        backing.stored_on.get_or_insert_with(|| mount.clone());
        backing
    }

    /// New files go to the upper layer. Without one, the first reachable lower layer represents all
    /// of them.
    fn ground_of_overlay(&self, mount: &Mount, depth: u32) -> Backing {
        let lower = mount.values("lowerdir").flat_map(|list| list.split(':'));
        let layers = mount.values("upperdir").chain(lower).chain(mount.values("lowerdir+"));
        let below = layers
            .filter_map(|layer| mount_of_path(&self.root, Path::new(layer)))
            // A path that means something else in this container may lead back to this mount.
            .find(|below| below.id != mount.id);
        let Some(below) = below else {
            return unseen("overlay: ioassay cannot reach its layers".to_string());
        };
        let mut backing = self.ground_at(&below, depth - 1);
        backing.notes.push(format!(
            "overlay: new and changed files are on {}; others are on lower layers, which may be \
             on other devices",
            below.file_system
        ));
        backing
    }

    /// A btrfs mount names only one of its members.
    fn ground_of_btrfs(&self, mount: &Mount, depth: u32) -> Backing {
        let node = self.block_of_node(&mount.source);
        let is_of_node = |file_system: &PathBuf| {
            node.file_name().is_some_and(|name| file_system.join("devices").join(name).exists())
        };
        let mut known = entries(&self.root.at("/sys/fs/btrfs"));
        let Some(file_system) = known.find(is_of_node) else {
            return unseen("btrfs: its devices cannot be found in /sys".to_string());
        };
        let members: Vec<PathBuf> = entries(&file_system.join("devices")).collect();
        self.ground_of_blocks("btrfs", &members, Spread::of_btrfs(&file_system), depth)
    }

    /// The sysfs directory of a device node, whose name may be a link, as in `/dev/mapper/x`.
    fn block_of_node(&self, node: &Path) -> PathBuf {
        let node = std::fs::canonicalize(self.root.at(node)).unwrap_or_else(|_| node.to_path_buf());
        self.root.at("/sys/class/block").join(node.file_name().unwrap_or_default())
    }

    /// The storage below several block devices, given by their sysfs directories. The file system
    /// spreads its bytes over them.
    fn ground_of_blocks(
        &self,
        kind: &str,
        blocks: &[PathBuf],
        spread: Spread,
        depth: u32,
    ) -> Backing {
        let tops: Vec<Node> =
            blocks.iter().filter_map(|block| Node::of(&self.root, block)).collect();
        if !tops.is_empty() && tops.len() < blocks.len() {
            return unseen(format!("{kind}: some of its devices cannot be found in /sys"));
        }
        let mut disks: Vec<PathBuf> = tops.iter().flat_map(Node::disks).collect();
        disks.sort_by_key(|disk| file_name(disk));
        disks.dedup();
        let backings: Vec<Backing> =
            disks.iter().map(|disk| self.ground_of_disk(disk, depth)).collect();
        let medium = match () {
            () if backings.is_empty() => {
                return unseen(format!("{kind}: its devices cannot be found in /sys"));
            }
            () if backings.iter().all(|backing| backing.medium == Medium::Ram) => Medium::Ram,
            () if backings.iter().any(|backing| backing.medium == Medium::Unseen) => Medium::Unseen,
            () => Medium::Block,
        };
        let layers = topology::layers(&tops, spread);
        let sectors = blocks.iter().map(|block| number(&block.join("size")));
        let size = sectors.sum::<Option<u64>>().map_or(0, |sectors| sectors.saturating_mul(512));
        let notes = note_of_layers(&layers).into_iter().collect();
        let all = Backing { layers, size, ..Backing::of(medium, notes) };
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
        let name = file_name(path);
        let read_ahead = number(&path.join("queue/read_ahead_kb")).map(|kib| kib << 10);
        let told = |file: &str| text(&path.join(file)).filter(|text| !text.is_empty());
        let model = told("device/model");
        // NVMe, SCSI and MMC use different names for it.
        let revisions = ["device/firmware_rev", "device/rev", "device/fwrev"];
        let firmware = revisions.iter().find_map(|file| told(file));
        let rotational = number(&path.join("queue/rotational")).map(|turns| turns == 1);
        let scheduler = told("queue/scheduler").and_then(|text| chosen(&text));
        let nr_requests = number(&path.join("queue/nr_requests"));
        let write_cache = text(&path.join("queue/write_cache")).and_then(|text| write_cache(&text));
        let fua = number(&path.join("queue/fua")).map(|fua| fua == 1);
        let io_poll = number(&path.join("queue/io_poll")).map(|polls| polls == 1);
        let loop_direct = number(&path.join("loop/dio")).map(|dio| dio == 1);
        let mut device = Device {
            name,
            model,
            firmware,
            rotational,
            scheduler,
            nr_requests,
            is_virtual: false,
            read_ahead,
            write_cache,
            fua,
            io_poll,
            loop_direct,
            file: None,
        };
        if path.join("loop").is_dir() {
            return self.ground_of_loop(path, device, depth);
        }
        let is_memory = is_numbered(&device.name, "zram") || is_numbered(&device.name, "ram");
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
        // Without direct I/O, O_DIRECT has no effect below (METHODOLOGY.md).
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
        let Backing { medium, barriers_off, devices, notes: notes_below, .. } = below;
        notes.extend(notes_below);
        device.file = Some(LoopFile { devices, ..found });
        let devices = vec![device];
        Backing { devices, below_files, barriers_off, ..Backing::of(medium, notes) }
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
            let below = self.ground_of_blocks(kind, &[block], Spread::SPLIT, depth);
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
            "how often {} write each byte is unknown: writes are counted at {}",
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

/// The OS's view of a write cache, from `/sys/block/X/queue/write_cache`, which root may change.
fn write_cache(text: &str) -> Option<WriteCache> {
    match text {
        "write back" => Some(WriteCache::Back),
        "write through" => Some(WriteCache::Through),
        _ => None,
    }
}

/// Whether `name` is `kind` followed by a number: `ram0` is of kind `ram`, `ramdisk` is not.
fn is_numbered(name: &str, kind: &str) -> bool {
    name.strip_prefix(kind).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
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
}
