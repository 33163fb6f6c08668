//! Block devices that are measured directly, without a file system. Nothing here writes to one.

use crate::counting;
use crate::device::{Backing, Finder};
use crate::error::Error;
use crate::limits;
use crate::loops::{self, Identity, Loop};
use crate::mounts::{self, Mount};
use crate::page_cache;
use crate::path;
use crate::root::Root;
use crate::storage;
use crate::sysfs::{self, entries, file_name, text};
use model::evidence::Probe;
use model::host::{Direct, NO_FILE_SYSTEM, Storage};
use rustix::fs::{Advice, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::num::NonZeroU64;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Bytes at the start of a device that are read to test what works on it.
const HEAD: u64 = 1 << 20;
/// A block device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disk {
    /// Its name: `vda1`, `loop0`.
    pub name: String,
    /// Size in bytes.
    pub size: u64,
    /// The smallest unit that it reads or writes, in bytes.
    pub logical_block: u64,
    /// Why it must not be written to, as sentence parts: `vda1 is mounted at '/'`. Empty if it has
    /// no known user.
    pub objections: Vec<String>,
}

/// Inspects the block device at `path`, or the one that a link leads to, and finds its users.
///
/// The device is in use if it, a partition of it or its whole disk is mounted, used for swap or
/// part of another device. It is also in use if it backs a loop device, or if another device is the
/// same disk. A loop device is in use if another one has the same backing file, or if that file is.
/// An exclusive open for reading also detects mounts that this process cannot see. All this holds
/// only for the moment: open the device with `O_EXCL` before writing to it. A process that has the
/// device open without a claim, as a virtual machine may, remains undetected.
///
/// # Errors
/// [`Error::NotADisk`] if it is not a block device; otherwise the OS's error for the failed step.
pub fn disk(path: &Path) -> Result<Disk, Error> {
    let node = DeviceNode::open(path)?;
    let size = node.size()?;
    let logical_block = rustix::fs::ioctl_blksszget(&node.file)
        .map_err(Error::refused("ask for the logical block size of", &node.path))?;
    let root = Root::machine();
    let users = Users::of_machine(&root)?;
    let family = SharingDevices::of(&root, &node.number).ok_or_else(|| {
        let unlisted = std::io::Error::other(format!("/sys has no device {}", node.number));
        Error::refused("find out who uses", &node.path)(unlisted)
    })?;
    let mut objections = users.of(&family, None);
    let name = family.itself.name;
    if size == 0 {
        objections.push(format!("{name} has no bytes: nothing is attached to it"));
    }
    if objections.is_empty() && is_claimed(&node.path) {
        objections.push(format!(
            "the OS says that {name} is in use: mounted in another container, or part of another \
             device"
        ));
    }
    Ok(Disk { name, size, logical_block: u64::from(logical_block), objections })
}

/// The storage of the block device at `path` when used without a file system: all of it is free.
/// Tests what works by reading its first 1 MiB.
///
/// # Errors
/// As for [`disk`].
pub fn storage_of_disk(path: &Path) -> Result<Storage, Error> {
    let node = DeviceNode::open(path)?;
    let size = node.size()?;
    let root = Root::machine();
    let backing = Finder::new(&root).ground_of_number(&node.number);
    let limits = limits::limits(&root, backing.nodes());
    let block = sysfs::block(&root, &node.number);
    let Backing { medium, devices, layers, barriers_off, weak_parts, notes, .. } = backing;
    let mut storage = Storage {
        directory: node.path.clone(),
        file_system: NO_FILE_SYSTEM.to_string(),
        medium,
        devices,
        layers,
        read_ahead: storage::read_ahead(&root, &node.number),
        barriers_off,
        weak_parts,
        limits,
        capacity: Some(size),
        free: Some(size),
        atomic: storage::atomic_writes(&node.file),
        path: Some(Box::new(path::of_device(&root, &block))),
        notes,
        ..Storage::default()
    };
    try_head(&node.file, size.min(HEAD), &mut storage);
    if let Err(error) = counting::try_reads(&node.file, size.min(HEAD), &mut storage) {
        log::debug!("its counters were not tested: {error}");
    }
    counting::try_nothing(&mut storage);
    Ok(storage)
}

/// Tests what works on the first `length` bytes of a device.
fn try_head(device: &File, length: u64, storage: &mut Storage) {
    if length == 0 {
        return storage.notes.push("the device has no bytes: nothing was tested".to_string());
    }
    storage.residency_probe = storage::probe_that_sees(device, length, &mut storage.notes);
    storage.direct = storage::direct(device, &mut storage.notes);
    let Some(probe) = storage.residency_probe else { return };
    match evict_head(device, probe, length) {
        Ok(0) => storage.evictable = true,
        Ok(stayed) => {
            let note = format!(
                "{stayed} pages of the device stay in the page cache: another process or a mounted \
                 file system uses them"
            );
            return storage.notes.push(note);
        }
        Err(error) => return storage.notes.push(error.to_string()),
    }
    if let Direct::Accepted { bypasses: bypasses @ None, .. } = &mut storage.direct {
        match storage::leaves_nothing_cached(device, probe, length) {
            Ok(answer) => *bypasses = Some(answer),
            Err(error) => storage.notes.push(format!("O_DIRECT could not be tested: {error}")),
        }
    }
}

/// Evicts the cached head of a device and returns how many pages stayed. It does not write back
/// dirty pages: that is up to the program that dirtied them.
fn evict_head(device: &File, probe: Probe, length: u64) -> Result<u64, Error> {
    rustix::fs::fadvise(device, 0, NonZeroU64::new(length), Advice::DontNeed)
        .map_err(Error::refused_on("evict", device))?;
    Ok(page_cache::look(device, probe, length)?.cached)
}

/// An open device node.
struct DeviceNode {
    file: File,
    /// Its path, with links resolved.
    path: PathBuf,
    number: String,
}

impl DeviceNode {
    fn open(path: &Path) -> Result<DeviceNode, Error> {
        let path = std::fs::canonicalize(path).map_err(Error::refused("find", path))?;
        // Opening something else, such as a pipe, could block forever.
        let number = number_of(&path).map_err(Error::refused("look at", &path))?;
        let Some(number) = number else { return Err(Error::NotADisk { path }) };
        let file = File::open(&path).map_err(Error::refused("open", &path))?;
        Ok(DeviceNode { file, path, number })
    }

    fn size(&self) -> Result<u64, Error> {
        page_cache::length(&self.file).map_err(Error::refused("ask for the size of", &self.path))
    }
}

/// The `major:minor` of a block device; `None` for anything else.
fn number_of(path: &Path) -> std::io::Result<Option<String>> {
    let metadata = std::fs::metadata(path)?;
    let device = metadata.rdev();
    let number = || format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    Ok(metadata.file_type().is_block_device().then(number))
}

/// Whether the OS refuses exclusive access to a device, for reading. `O_EXCL` without `O_CREAT` is
/// defined for block devices only (open(2)).
fn is_claimed(path: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).is_err_and(|error| error == Errno::BUSY)
}

/// Swap devices and files.
fn swaps() -> Vec<Identity> {
    let text = std::fs::read("/proc/swaps").unwrap_or_default();
    parse_swaps(&text).iter().filter_map(|path| Identity::at(path)).collect()
}

/// The first field of every line except the heading.
fn parse_swaps(text: &[u8]) -> Vec<PathBuf> {
    let lines = text.split(|&byte| byte == b'\n').skip(1);
    lines
        .filter_map(|line| line.split(|byte| byte.is_ascii_whitespace()).next())
        .filter(|field| !field.is_empty())
        .map(mounts::path)
        .collect()
}

/// A device and those that share bytes with it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SharingDevices {
    itself: SharingDevice,
    /// Its partitions, or the disk that contains it.
    relatives: Vec<SharingDevice>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct SharingDevice {
    name: String,
    number: String,
    /// Its directory in sysfs.
    path: PathBuf,
}

impl SharingDevice {
    fn at(path: PathBuf) -> Option<SharingDevice> {
        Some(SharingDevice { name: file_name(&path), number: text(&path.join("dev"))?, path })
    }
}

impl SharingDevices {
    /// The family of device `number`, if sysfs has it.
    fn of(root: &Root, number: &str) -> Option<SharingDevices> {
        let itself = std::fs::canonicalize(sysfs::block(root, number)).ok()?;
        let is_partition = |path: &Path| path.join("partition").exists();
        let relatives: Vec<PathBuf> = match itself.parent().filter(|_| is_partition(&itself)) {
            Some(disk) => vec![disk.to_path_buf()],
            None => entries(&itself).filter(|path| is_partition(path)).collect(),
        };
        let relatives = relatives.into_iter().filter_map(SharingDevice::at).collect();
        Some(SharingDevices { itself: SharingDevice::at(itself)?, relatives })
    }
}

/// Everything that can use a device.
struct Users {
    root: Root,
    mounts: Vec<Mount>,
    swaps: Vec<Identity>,
    loops: Vec<Loop>,
}

/// Maximum nesting followed, for loop devices on loop devices.
const DEPTH: usize = 8;

impl Users {
    fn of_machine(root: &Root) -> Result<Users, Error> {
        Ok(Users {
            root: root.clone(),
            mounts: mounts::all(root)?,
            swaps: swaps(),
            loops: loops::all(root),
        })
    }

    /// Why a device of this family must not be written to. `by` is the loop device through which it
    /// would be written, if that is another one.
    fn of(&self, family: &SharingDevices, by: Option<&str>) -> Vec<String> {
        self.within(family, by, DEPTH)
    }

    fn within(&self, family: &SharingDevices, by: Option<&str>, depth: usize) -> Vec<String> {
        let mut objections = Vec::new();
        for SharingDevice { name, number, path } in
            std::iter::once(&family.itself).chain(&family.relatives)
        {
            let mut object = |what: String| objections.push(format!("{name} {what}"));
            if let Some(mount) = self.mounts.iter().find(|mount| mount.device == *number) {
                object(format!("is mounted at '{}'", mount.point.display()));
            }
            if self.is_in_btrfs(name) {
                object("is a member of a btrfs that is mounted".to_string());
            }
            if self.swaps.iter().any(|swap| swap.number().as_ref() == Some(number)) {
                object("is used for swap".to_string());
            }
            for holder in entries(&path.join("holders")) {
                object(format!("is part of {}", file_name(&holder)));
            }
            let is_of_it = |of: &&Loop| {
                by != Some(of.name.as_str())
                    && of.file.and_then(|f| f.number()).as_ref() == Some(number)
            };
            if let Some(of_it) = self.loops.iter().find(is_of_it) {
                object(format!("backs {}", of_it.name));
            }
            if let Some(twin) = self.twin_of(name, path) {
                object(format!("is the same disk as {twin}"));
            }
            if let Some(itself) = self.loops.iter().find(|known| known.name == *name) {
                objections.extend(self.of_file(itself, depth));
            }
        }
        // A read-only partition does not make its siblings read-only.
        if text(&family.itself.path.join("ro")).is_some_and(|ro| ro == "1") {
            objections.push(format!("{} is read-only", family.itself.name));
        }
        objections
    }

    /// Why the backing file of a loop device must not be written to.
    fn of_file(&self, itself: &Loop, depth: usize) -> Vec<String> {
        let Loop { name, path, file } = itself;
        let mut objections = Vec::new();
        for other in self.loops.iter().filter(|other| other.name != *name) {
            let is_same = file.zip(other.file).map(|(one, two)| one.is_same(&two));
            let at = format!("'{}'", other.path);
            match is_same.or((*path == other.path).then_some(true)) {
                Some(false) => {}
                Some(true) => objections
                    .push(format!("{name} and {} are made of the same file {at}", other.name)),
                None => objections.push(format!(
                    "{name} and {} (of {at}) may be made of the same file",
                    other.name
                )),
            }
        }
        let Some(file) = file else { return objections };
        if self.swaps.iter().any(|swap| swap.is_same(file)) {
            objections.push(format!("{name} is made of '{path}', which is used for swap"));
        }
        let below = file.number().and_then(|number| SharingDevices::of(&self.root, &number));
        if let Some(below) = below.filter(|_| depth > 0) {
            let of_below = self.within(&below, Some(name), depth - 1);
            objections
                .extend(of_below.iter().map(|what| format!("{name} is made of '{path}': {what}")));
        }
        objections
    }

    /// Another device that is the same disk on another path, according to the disk's identifier.
    fn twin_of(&self, name: &str, path: &Path) -> Option<String> {
        let told = |path: &Path| {
            let files = [path.join("wwid"), path.join("device/wwid")];
            files.iter().find_map(|file| text(file)).filter(|wwid| !wwid.is_empty())
        };
        let own = told(path)?;
        // The paths to a multipath NVMe disk are hidden and cannot be opened.
        let is_hidden =
            |disk: &Path| text(&disk.join("hidden")).is_some_and(|hidden| hidden == "1");
        let is_twin = |disk: &PathBuf| {
            file_name(disk) != name && !is_hidden(disk) && told(disk).as_ref() == Some(&own)
        };
        entries(&self.root.at("/sys/block")).find(is_twin).map(|disk| file_name(&disk))
    }

    /// A btrfs has its own device number, but lists its members while mounted.
    fn is_in_btrfs(&self, name: &str) -> bool {
        entries(&self.root.at("/sys/fs/btrfs"))
            .any(|known| known.join("devices").join(name).exists())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysfs::tests::Sys;
    use std::fs;

    fn mount(device: &str, point: &str) -> Mount {
        Mount {
            id: 1,
            device: device.to_string(),
            root: "/".into(),
            point: point.into(),
            file_system: "ext4".to_string(),
            source: "/dev/x".into(),
            options: Vec::new(),
        }
    }

    /// A disk `sda` with two partitions, and a disk `sdb`.
    fn disks() -> Sys {
        let sys = Sys::new();
        sys.block("sda", 0, &[("ro", "0"), ("queue/rotational", "0")]);
        sys.block("sda/sda1", 1, &[("partition", "1"), ("ro", "0")]);
        sys.block("sda/sda2", 2, &[("partition", "2"), ("ro", "0")]);
        sys.block("sdb", 16, &[("ro", "0")]);
        sys
    }

    #[track_caller]
    fn check(sys: &Sys, users: (&[Mount], &[u32]), minor: u32, expected: &[&str]) {
        let root = sys.root();
        let swaps = users.1.iter().map(|minor| Identity::of_node(8, *minor)).collect();
        let loops = loops::all(&root);
        let users = Users { root, mounts: users.0.to_vec(), swaps, loops };
        let family = SharingDevices::of(&users.root, &format!("8:{minor}")).unwrap();
        assert_eq!(users.of(&family, None), expected, "{family:#?}");
    }

    #[test]
    fn a_disk_that_nobody_uses_may_be_written() {
        let sys = disks();
        let elsewhere = [mount("8:99", "/"), mount("0:1", "/proc")];
        for minor in [0, 1, 2, 16] {
            check(&sys, (&elsewhere, &[98]), minor, &[]);
        }
    }

    #[test]
    fn a_mount_forbids_its_partition_and_the_disk_but_no_other_partition() {
        let sys = disks();
        let of_partition: &[Mount] = &[mount("8:1", "/home/a b"), mount("8:1", "/again")];
        for minor in [0, 1] {
            check(&sys, (of_partition, &[]), minor, &["sda1 is mounted at '/home/a b'"]);
        }
        for minor in [2, 16] {
            check(&sys, (of_partition, &[]), minor, &[]);
        }
        // A mount of the whole disk also uses each partition.
        for minor in [0, 1, 2] {
            check(&sys, (&[mount("8:0", "/")], &[]), minor, &["sda is mounted at '/'"]);
        }
    }

    #[test]
    fn swap_other_devices_and_btrfs_forbid_as_well() {
        let sys = disks();
        check(&sys, (&[], &[2]), 2, &["sda2 is used for swap"]);
        check(&sys, (&[], &[2]), 0, &["sda2 is used for swap"]);
        check(&sys, (&[], &[2]), 1, &[]);
        let mapped = sys.block("dm-0", 32, &[]);
        sys.slave(&mapped, &sys.path().join("devices/sdb"));
        check(&sys, (&[], &[]), 16, &["sdb is part of dm-0"]);
        check(&sys, (&[], &[]), 32, &[]);
        let members = sys.path().join("fs/btrfs/some-uuid/devices");
        fs::create_dir_all(&members).unwrap();
        fs::create_dir(sys.path().join("fs/btrfs/features")).unwrap();
        fs::write(members.join("sda1"), "").unwrap();
        let expected = ["sda1 is a member of a btrfs that is mounted"];
        check(&sys, (&[], &[]), 0, &expected);
        check(&sys, (&[mount("8:1", "/a")], &[]), 1, &["sda1 is mounted at '/a'", expected[0]]);
    }

    #[test]
    fn a_file_that_another_loop_device_is_made_of_forbids_as_well() {
        let sys = disks();
        let path = |name: &str| sys.path().join(name).display().to_string();
        fs::write(path("image"), "").unwrap();
        fs::hard_link(path("image"), path("link")).unwrap();
        fs::write(path("other"), "").unwrap();
        let files = ["image", "link", "other", "gone", "gone"].map(path);
        for (minor, file) in (40..).zip(&files) {
            sys.block(&format!("loop{minor}"), minor, &[("loop/backing_file", file)]);
        }
        let same = format!("loop40 and loop41 are made of the same file '{}'", files[1]);
        let unknown = |name: &str, other: u32, file: &str| {
            format!("{name} and loop{other} (of '{file}') may be made of the same file")
        };
        let of_gone = [43, 44].map(|other| unknown("loop40", other, &files[3]));
        check(&sys, (&[], &[]), 40, &[&same, &of_gone[0], &of_gone[1]]);
        let of_other = [43, 44].map(|other| unknown("loop42", other, &files[3]));
        check(&sys, (&[], &[]), 42, &[&of_other[0], &of_other[1]]);
        for gone in ["loop43", "loop44"] {
            fs::remove_dir_all(sys.path().join("devices").join(gone).join("loop")).unwrap();
        }
        check(&sys, (&[], &[]), 40, &[&same]);
        check(&sys, (&[], &[]), 42, &[]);
        check(&sys, (&[], &[]), 16, &[]);
    }

    #[test]
    fn another_way_to_the_same_disk_is_told() {
        let sys = disks();
        for (disk, minor) in [("sdc", 48), ("sdd", 49)] {
            sys.block(disk, minor, &[("device/wwid", "naa.5000")]);
        }
        sys.block("nvme0c0n1", 50, &[("device/wwid", "naa.5000"), ("hidden", "1")]);
        check(&sys, (&[], &[]), 48, &["sdc is the same disk as sdd"]);
    }

    #[test]
    fn what_is_read_only_is_told_of_the_device_itself() {
        let sys = disks();
        fs::write(sys.path().join("devices/sda/sda1/ro"), "1\n").unwrap();
        check(&sys, (&[], &[]), 1, &["sda1 is read-only"]);
        check(&sys, (&[], &[]), 0, &[]);
    }

    #[test]
    fn swap_devices_are_the_first_fields_and_may_have_blanks() {
        let text = b"Filename\t\t\tType\t\tSize\t\tUsed\t\tPriority\n\
                     /dev/vda2                               partition\t1048572\t0\t-2\n\
                     /a\\040file                               file\t8\t0\t-3\n";
        assert_eq!(parse_swaps(text), ["/dev/vda2", "/a file"].map(PathBuf::from));
        assert_eq!(parse_swaps(b"Filename Type Size Used Priority\n"), [] as [PathBuf; 0]);
        assert_eq!(parse_swaps(b""), [] as [PathBuf; 0]);
    }
}
