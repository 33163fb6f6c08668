//! Block devices that are measured directly, without a file system. Nothing here writes to one.

mod users;

use crate::canary::{Aligned, DIRECT_BLOCK, open_direct};
use crate::counting;
use crate::device::{Backing, Finder};
use crate::error::Error;
use crate::limits;
use crate::page_cache;
use crate::path;
use crate::root::Root;
use crate::storage;
use crate::sysfs;
use model::evidence::Probe;
use model::host::{Direct, NO_FILE_SYSTEM, Storage, ZeroBlocks};
use model::list::listed;
use model::pattern::{BlockOrder, Pattern};
use model::zipf::Theta;
use rustix::fs::{Advice, Mode, OFlags};
use rustix::io::Errno;
use std::fs::{File, Metadata};
use std::num::NonZeroU64;
use std::ops::Range;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use users::{SharingDevices, Users};

/// Bytes of a device that are read to test what works on it.
const HEAD: u64 = 1 << 20;
/// Size of a block that is looked at for zeros, in bytes.
const LOOK_BYTES: usize = 4096;
/// How many are looked at: if a hundredth of all are zeros, one is found with 92 %. A rotating disk
/// takes three seconds for them.
const LOOKS: u64 = 256;
/// Where such bytes may be, in parts of a device: a file system uses those at its start.
const PLACES: [u64; 4] = [0, 1, 2, 3];

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

/// The storage of the block device at `path` when all of it is written: all of it is free. Tests
/// what works by reading some of it.
///
/// # Errors
/// As for [`disk`].
pub fn storage_of_disk(path: &Path) -> Result<Storage, Error> {
    let (_, storage) = inspect(path)?;
    Ok(Storage { free: storage.capacity, ..storage })
}

/// The same of one that is only read, by others as well: a note says who uses it.
///
/// # Errors
/// As for [`disk`], except that the device may be in use.
pub fn storage_of_read_disk(path: &Path) -> Result<Storage, Error> {
    let (number, mut storage) = inspect(path)?;
    let root = Root::machine();
    let users = Users::of_machine(&root)?;
    let family = SharingDevices::of(&root, &number);
    let uses = family.map_or(Vec::new(), |family| users.uses(&family));
    if !uses.is_empty() {
        storage.notes.push(format!(
            "{}: what others do there counts as well, and they share the device's page cache",
            listed(&uses)
        ));
    }
    Ok(storage)
}

/// The number of the block device at `path`, and its storage when used without a file system.
fn inspect(path: &Path) -> Result<(String, Storage), Error> {
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
        atomic: storage::atomic_writes(&node.file),
        discards: discards(&block),
        path: Some(Box::new(path::of_device(&root, &block))),
        notes,
        ..Storage::default()
    };
    try_bytes(&node.file, size, &mut storage);
    if let Err(error) = counting::try_reads(&node.file, size.min(HEAD), &mut storage) {
        log::debug!("its counters were not tested: {error}");
    }
    counting::try_nothing(&mut storage);
    Ok((node.number, storage))
}

/// Whether the device at `block` in sysfs, or the disk of which it is a partition, can discard
/// blocks; `None` if it does not say.
fn discards(block: &Path) -> Option<bool> {
    let block = std::fs::canonicalize(block).ok()?;
    let disk = if block.join("partition").exists() { block.parent()? } else { &block };
    Some(sysfs::number(&disk.join("queue/discard_max_bytes"))? > 0)
}

/// Tests what works on some bytes of a device of `size`.
fn try_bytes(device: &File, size: u64, storage: &mut Storage) {
    let length = size.min(HEAD);
    if length == 0 {
        return storage.notes.push("the device has no bytes: nothing was tested".to_string());
    }
    storage.residency_probe = storage::probe_that_sees(device, length, &mut storage.notes);
    storage.direct = storage::direct(device, &mut storage.notes);
    let Some(probe) = storage.residency_probe else { return };
    let at = |part: &u64| size / HEAD / PLACES.len() as u64 * part * HEAD;
    let places = PLACES.iter().map(|part| at(part)..at(part) + length);
    let mut tries = places.map(|range| (evict_bytes(device, probe, &range), range));
    let range = match tries.find(|(stayed, _)| !matches!(stayed, Ok(1..))) {
        Some((Ok(_), range)) => range,
        Some((Err(error), _)) => return storage.notes.push(error.to_string()),
        None => {
            let note = "pages of the device stay in the page cache: another process or a mounted \
                        file system uses them";
            return storage.notes.push(note.to_string());
        }
    };
    storage.evictable = true;
    if let Direct::Accepted { bypasses: bypasses @ None, .. } = &mut storage.direct {
        match storage::leaves_nothing_cached(device, probe, range) {
            Ok(answer) => *bypasses = Some(answer),
            Err(error) => storage.notes.push(format!("O_DIRECT could not be tested: {error}")),
        }
    }
}

/// Looks at blocks in random places of `range` of a device; `None` if one cannot be read, or there
/// is none. It goes past the page cache where the device allows that.
pub fn zero_blocks(device: &File, range: Range<u64>) -> Option<ZeroBlocks> {
    let blocks = range.end.saturating_sub(range.start) / LOOK_BYTES as u64;
    let order = BlockOrder::new(Pattern::Random, blocks.max(1), 1, Theta::USUAL, range.end);
    let reader = open_direct(device).or_else(|_| device.try_clone()).ok()?;
    let mut block = Box::new(Aligned([0; DIRECT_BLOCK]));
    let (looked, mut zeros) = (blocks.min(LOOKS), 0);
    for step in 0..looked {
        let offset = range.start + order.block(step) * LOOK_BYTES as u64;
        let bytes = &mut block.0[..LOOK_BYTES];
        reader.read_exact_at(bytes, offset).ok()?;
        zeros += u64::from(bytes.iter().all(|byte| *byte == 0));
    }
    (looked > 0).then_some(ZeroBlocks { looked, zeros })
}

/// Reads these bytes of a device, evicts them and returns how many pages stayed. It does not write
/// back dirty pages: that is up to the program that dirtied them.
fn evict_bytes(device: &File, probe: Probe, range: &Range<u64>) -> Result<u64, Error> {
    page_cache::read_only(device, range.clone()).map_err(Error::refused_on("read", device))?;
    let length = NonZeroU64::new(range.end - range.start);
    rustix::fs::fadvise(device, range.start, length, Advice::DontNeed)
        .map_err(Error::refused_on("evict", device))?;
    Ok(page_cache::look(device, probe, range.clone())?.cached)
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
        let found = std::fs::metadata(&path).map_err(Error::refused("look at", &path))?;
        let Some(number) = number_of(&found) else { return Err(Error::NotADisk { path }) };
        let file = File::open(&path).map_err(Error::refused("open", &path))?;
        let opened = file.metadata().map_err(Error::refused("look at", &path))?;
        if number_of(&opened).as_ref() != Some(&number) {
            let answer = std::io::Error::other("it became another device meanwhile: try again");
            return Err(Error::refused("open", &path)(answer));
        }
        Ok(DeviceNode { file, path, number })
    }

    fn size(&self) -> Result<u64, Error> {
        page_cache::length(&self.file).map_err(Error::refused("ask for the size of", &self.path))
    }
}

/// The `major:minor` of a block device; `None` for anything else.
fn number_of(node: &Metadata) -> Option<String> {
    let device = node.rdev();
    let number = || format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    node.file_type().is_block_device().then(number)
}

/// Whether the OS refuses exclusive access to a device, for reading. `O_EXCL` without `O_CREAT` is
/// defined for block devices only (open(2)).
fn is_claimed(path: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).is_err_and(|error| error == Errno::BUSY)
}
