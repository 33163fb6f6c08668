//! The storage of a directory or a file, and what works there, tested on a canary file.

use crate::canary::{self, Aligned, CANARY, Canary, DIRECT_BLOCK, open_direct};
use crate::counting;
use crate::device::{Backing, Finder};
use crate::error::{Error, descriptor_path};
use crate::mounts::{self, Mount};
use crate::page_cache::read_only;
use crate::root::Root;
use crate::space::Space;
use crate::{ext4, limits, page_cache, path, sysfs, zfs};
use model::evidence::{Probe, Residency};
use model::host::{AtomicWrites, Direct, Medium, Storage};
use model::watched::{WRITES_NOTHING, unflushed};
use rustix::fs::{Advice, AtFlags, IFlags, Statx, StatxAttributes, StatxFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

/// Inspects the storage of `directory`, and tests what works there with a canary file of 1 MiB,
/// which it removes at once.
///
/// # Errors
/// [`Error::NotWritable`] if no file can be created there; otherwise the OS's error for the failed
/// step.
pub fn storage(directory: &Path) -> Result<Storage, Error> {
    let directory = std::path::absolute(directory).map_err(Error::refused("find", directory))?;
    let canary = Canary::create(&directory)?;
    let mount = mounts::mount_of(&canary.file)?;
    let backing = Finder::new(&Root::machine()).backing(&mount);
    let mut storage = describe(&directory, &mount, &canary.file, backing)?;
    try_canary(&canary.file, &mut storage);
    try_syncs(&canary, &mount, &mut storage);
    counting::try_files(&directory, &mut storage);
    Ok(storage)
}

/// Tests whether syncs do anything, where no mount option and no device's counter shows it.
fn try_syncs(canary: &Canary, mount: &Mount, storage: &mut Storage) {
    let is_zfs = mount.file_system == "zfs";
    let is_ignored = || zfs::ignores_syncs(&Root::machine(), &mount.source, || canary.sync());
    if is_zfs && is_ignored() == Some(true) {
        storage.barriers_off.push(unflushed("zfs", &mount.point, WRITES_NOTHING));
    }
}

/// Inspects the storage of a user's own file. Never opens it for writing or evicts it.
///
/// A canary file beside it tests what requires writing or evicting. Without one, these are assumed
/// to work, and a note says so: evicting the file later gives proof or an error.
///
/// # Errors
/// [`Error::NotAFile`] if it is not a regular file; otherwise the OS's error for the failed step.
pub fn storage_of(path: &Path) -> Result<Storage, Error> {
    // The canary belongs beside the file, not beside a link to it.
    let path = std::fs::canonicalize(path).map_err(Error::refused("find", path))?;
    // Opening something else, such as a pipe, could block forever.
    let metadata = std::fs::metadata(&path).map_err(Error::refused("look at", &path))?;
    if !metadata.is_file() {
        return Err(Error::NotAFile { path });
    }
    let file = File::open(&path).map_err(Error::refused("open", &path))?;
    let mount = mounts::mount_of(&file)?;
    let directory = path.parent().unwrap_or(Path::new("/"));
    let finder = Finder::new(&Root::machine());
    let (backing, at) = finder.backing_of_file(&mount, &path);
    let is_like_new = finder.has_new_files_at(&mount, &backing);
    // On an overlay, it may be where new files are not.
    let stored = File::open(&at).map_err(Error::refused("open", &at))?;
    let mut storage = describe(directory, &mount, &stored, backing)?;
    let canary = match is_like_new {
        true => canary::beside(directory, &mount),
        false => {
            Err(canary::elsewhere("a new file would be on another layer of the overlay", directory))
        }
    };
    match &canary {
        Ok(canary) => {
            try_canary(&canary.file, &mut storage);
            counting::try_files(directory, &mut storage);
        }
        Err(error) => {
            log::debug!("cannot create a canary file: {error}");
            let note = "cannot create a canary file beside the file: eviction, and whether \
                        O_DIRECT bypasses the page cache, were not tested";
            storage.notes.push(note.to_string());
            counting::try_nothing(&mut storage);
        }
    }
    look_at_file(&file, &mut storage);
    if canary.is_err() {
        storage.evictable =
            storage.residency_probe.is_some() && !page_cache::is_kept_in_memory(&stored);
    }
    Ok(storage)
}

/// Readahead in bytes on a file's device: the file system's own setting, whatever is below it.
/// `number` is the device's, as in `8:0`.
pub(crate) fn read_ahead(root: &Root, number: &str) -> Option<u64> {
    let path = root.at(format!("/sys/class/bdi/{number}/read_ahead_kb"));
    sysfs::number(&path)?.checked_mul(1 << 10)
}

/// Everything that is known without testing.
fn describe(
    directory: &Path,
    mount: &Mount,
    file: &File,
    backing: Backing,
) -> Result<Storage, Error> {
    let root = Root::machine();
    let limits = limits::limits(&root, backing.nodes());
    let stored_on = backing.stored_on.clone();
    let options = ext4::options(&root, stored_on.as_ref().unwrap_or(mount));
    let options = options.as_deref();
    let Backing { mut medium, devices, layers, size, barriers_off, weak_parts, mut notes, .. } =
        backing;
    notes.extend(notes_of(mount, file));
    let space = rustix::fs::fstatvfs(file).map_err(Error::refused("look at", directory))?;
    let space = Space::from_statvfs(space);
    if space.is_none() {
        notes.push(format!(
            "{}: it reports no size, so ioassay does not check whether files fit",
            mount.file_system
        ));
    }
    if space.is_some_and(|space| size > 0 && space.capacity > size) {
        medium = Medium::Unseen;
        notes.push(format!("{}: it is larger than its known devices together", mount.file_system));
    }
    let device = file.metadata().map_err(Error::refused("look at", directory))?.dev();
    let number = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    Ok(Storage {
        directory: directory.to_path_buf(),
        file_system: mount.file_system.clone(),
        mount_point: mount.point.clone(),
        mount_options: mount.options.join(","),
        medium,
        devices,
        layers,
        read_ahead: read_ahead(&root, &number),
        barriers_off,
        weak_parts,
        limits,
        capacity: space.map(|space| space.capacity),
        free: space.map(|space| space.free),
        atomic: atomic_writes(file),
        journal: options.map(ext4::has_journal),
        journals_data: options.and_then(|options| ext4::journals_data(options, file)),
        syncs_writes: rustix::fs::ioctl_getflags(file).ok().map(|it| it.contains(IFlags::SYNC)),
        path: Some(Box::new(path::of_mounted(&root, mount))),
        lacks_sys: is_on_devices(mount) && !root.at("/sys/dev/block").exists(),
        notes,
        ..Storage::default()
    })
}

/// Whether a file system is on block devices, which `/sys` shows.
fn is_on_devices(mount: &Mount) -> bool {
    !mount.device.starts_with("0:") || mount.file_system == "btrfs"
}

/// Notes about a file system or its files.
fn notes_of(mount: &Mount, file: &File) -> Vec<String> {
    let kind = &mount.file_system;
    let mut notes = Vec::new();
    if mount.options.iter().any(|option| option.starts_with("compress")) {
        notes.push(format!(
            "{kind}: files may be compressed; random data, as in test files, cannot be"
        ));
    }
    if kind == "btrfs" {
        notes.push(
            "btrfs: even with O_DIRECT it copies compressed reads and checksummed writes, unseen \
             by any probe; a directory with 'chattr +C' avoids both"
                .to_string(),
        );
    }
    if kind == "zfs" {
        notes.push("zfs: it has its own cache, which no probe can see".to_string());
    }
    let attributes = [
        (StatxAttributes::DAX, "files are read from persistent memory, without a page cache (DAX)"),
        (StatxAttributes::ENCRYPTED, "files are encrypted"),
        (StatxAttributes::VERITY, "reads of this file are verified (fs-verity)"),
    ];
    let known = statx(file).map_or(StatxAttributes::empty(), |statx| statx.stx_attributes);
    let found = attributes.iter().filter(|(attribute, _)| known.contains(*attribute));
    notes.extend(found.map(|(_, note)| format!("{kind}: {note}")));
    notes
}

fn statx(file: &File) -> Option<Statx> {
    let flags = StatxFlags::BASIC_STATS | StatxFlags::DIOALIGN | WRITE_ATOMIC;
    rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, flags).ok()
}

/// `STATX_WRITE_ATOMIC` of `<linux/stat.h>`.
const WRITE_ATOMIC: StatxFlags = StatxFlags::from_bits_retain(libc::STATX_WRITE_ATOMIC);

/// Which writes to `file` are atomic; `None` if the OS does not say.
pub(crate) fn atomic_writes(file: &File) -> Option<AtomicWrites> {
    let told = statx(file).filter(|told| told.stx_mask & WRITE_ATOMIC.bits() != 0)?;
    let (least, most) = (told.stx_atomic_write_unit_min, told.stx_atomic_write_unit_max);
    Some(AtomicWrites { least, most })
}

/// Tests everything with a canary file.
fn try_canary(canary: &File, storage: &mut Storage) {
    storage.residency_probe = probe_that_sees(canary, CANARY, &mut storage.notes);
    storage.direct = direct(canary, &mut storage.notes);
    let Some(probe) = storage.residency_probe else {
        storage.keeps_pages = nothing_is_kept(canary).then_some(false);
        return;
    };
    if let Err(error) = page_cache::evict(canary, page_cache::WHOLE, probe) {
        storage.notes.push(format!("cannot evict a file here: {error}"));
        return;
    }
    storage.evictable = true;
    storage.keeps_pages = keeps_pages(canary, probe, |canary| read_only(canary, 0..CANARY));
    if let Direct::Accepted { bypasses: bypasses @ None, .. } = &mut storage.direct {
        match bypasses_cache(canary, probe) {
            Ok(answer) => *bypasses = Some(answer),
            Err(error) => storage.notes.push(format!("O_DIRECT could not be tested: {error}")),
        }
    }
}

/// Whether any page is cached after a file was evicted, read by `read` and opened again. What
/// writing left in the cache proves nothing, because a file may be created in one way and opened in
/// another. `None` if the probe fails.
fn keeps_pages(
    canary: &File,
    probe: Probe,
    read: impl Fn(&File) -> io::Result<()>,
) -> Option<bool> {
    read(canary).ok()?;
    // A measuring program opens the file again, and FUSE may drop its pages at that moment.
    let opened = File::open(descriptor_path(canary)).ok()?;
    let residency = page_cache::residency_of_range(&opened, probe, 0..CANARY).ok()?;
    Some(residency.cached > 0)
}

/// Whether every usable probe reports that nothing of a just-read file is cached, or that it cannot
/// be mapped because it has no pages. A single probe could be wrong.
fn nothing_is_kept(canary: &File) -> bool {
    let says = |probe| {
        read_only(canary, 0..CANARY)?;
        page_cache::residency_of_range(canary, probe, 0..CANARY)
    };
    let is_none = |residency: Residency| residency.cached == 0;
    let by_mapping = match says(Probe::Mincore) {
        Ok(residency) => is_none(residency),
        Err(error) => Errno::from_io_error(&error) == Some(Errno::NODEV),
    };
    may_ask_mincore(canary) && by_mapping && says(Probe::Cachestat).map_or(true, is_none)
}

/// Rechecks what may differ for the file itself: permissions and file flags.
fn look_at_file(file: &File, storage: &mut Storage) {
    let page = rustix::param::page_size() as u64;
    let mut notes = Vec::new();
    let is_uncached = |probe| {
        page_cache::residency_of_range(file, probe, 0..page).is_ok_and(|first| first.cached == 0)
    };
    let uncached = [Probe::Cachestat, Probe::Mincore].map(|probe| (probe, is_uncached(probe)));
    storage.residency_probe = probe_that_sees(file, page, &mut notes);
    if uncached.iter().any(|(probe, was)| *was && Some(*probe) == storage.residency_probe) {
        // Testing must not change the state: evict the page that was read to test the probe.
        let dropped =
            rustix::fs::fadvise(file, 0, std::num::NonZeroU64::new(page), Advice::DontNeed);
        if let Err(error) = dropped {
            log::debug!("the first page stays cached: {error}");
        }
    }
    let of_canary = storage.direct;
    storage.direct = direct(file, &mut notes);
    if let Direct::Accepted { bypasses: bypasses @ None, .. } = &mut storage.direct
        && let Direct::Accepted { bypasses: of_canary, .. } = of_canary
    {
        *bypasses = of_canary;
    }
    notes.retain(|note| !storage.notes.contains(note));
    storage.notes.append(&mut notes);
}

/// The probe that reports the first `length` bytes of a just-read file as cached.
///
/// mincore always reports that, unless you own the file or can write it, so otherwise it is not
/// used (docs/method).
pub(crate) fn probe_that_sees(file: &File, length: u64, notes: &mut Vec<String>) -> Option<Probe> {
    let mut denials = Vec::new();
    for probe in [Probe::Cachestat, Probe::Mincore] {
        if probe == Probe::Mincore && !may_ask_mincore(file) {
            denials.push("mincore answers only for files that you own or can write".to_string());
            continue;
        }
        let residency = read_only(file, 0..length)
            .and_then(|()| page_cache::residency_of_range(file, probe, 0..length));
        match residency {
            Ok(residency) if residency.cached == residency.pages => {
                if !denials.is_empty() {
                    notes.push(format!("{}: using {probe}", denials.join("; ")));
                }
                return Some(probe);
            }
            Ok(_) => denials.push(format!("{probe} does not see a file that was just read")),
            Err(error) => denials.push(format!("{probe} is refused ({error})")),
        }
    }
    notes.push(format!("{}: what is cached is unknown", denials.join("; ")));
    None
}

/// Whether mincore answers correctly about `file` for this process: it must own the file, have an
/// owner's privileges, or be allowed to write it.
fn may_ask_mincore(file: &File) -> bool {
    let owner = file.metadata().map(|metadata| metadata.uid()).ok();
    if owner == Some(rustix::process::geteuid().as_raw()) {
        return true;
    }
    let is_privileged = rustix::thread::capabilities(None)
        .is_ok_and(|sets| sets.effective.contains(rustix::thread::CapabilitySet::FOWNER));
    let path = descriptor_path(file);
    is_privileged
        || rustix::fs::accessat(
            rustix::fs::CWD,
            &path,
            rustix::fs::Access::WRITE_OK,
            AtFlags::EACCESS,
        )
        .is_ok()
}

/// Opens and reads `file` with O_DIRECT. If it certainly does not bypass the page cache, the result
/// says so.
pub(crate) fn direct(file: &File, notes: &mut Vec<String>) -> Direct {
    let Ok(reader) = open_direct(file) else { return Direct::Refused };
    let statx = statx(file).filter(|statx| statx.stx_mask & StatxFlags::DIOALIGN.bits() != 0);
    let told = statx.map(|statx| (statx.stx_dio_mem_align, statx.stx_dio_offset_align));
    let least = told.map_or(0, |(_, offset)| offset).max(512);
    let mut block = Box::new(Aligned([0; DIRECT_BLOCK]));
    let accepted = (least.trailing_zeros()..=DIRECT_BLOCK.trailing_zeros())
        .map(|shift| 1u32 << shift)
        .find(|&align| reader.read_at(&mut block.0[..align as usize], u64::from(align)).is_ok());
    let Some(offset_align) = accepted else { return Direct::Refused };
    let falls_back = told.is_some_and(|(memory, _)| memory == 0);
    if falls_back {
        notes.push("according to statx, O_DIRECT goes through the page cache".into());
    }
    let is_certain = falls_back || page_cache::is_kept_in_memory(file);
    Direct::Accepted { offset_align, bypasses: is_certain.then_some(false) }
}

/// Whether O_DIRECT leaves nothing in the page cache of a canary file (docs/method).
fn bypasses_cache(canary: &File, probe: Probe) -> Result<bool, Error> {
    page_cache::evict(canary, page_cache::WHOLE, probe)?;
    leaves_nothing_cached(canary, probe, 0..CANARY)
}

/// Whether an O_DIRECT read of `range`, which must not be cached, leaves none of it in the page
/// cache.
pub(crate) fn leaves_nothing_cached(
    file: &File,
    probe: Probe,
    range: Range<u64>,
) -> Result<bool, Error> {
    let reader = open_direct(file).map_err(Error::refused_on("open with O_DIRECT", file))?;
    let mut block = Box::new(Aligned([0; DIRECT_BLOCK]));
    for offset in range.clone().step_by(DIRECT_BLOCK) {
        reader
            .read_at(&mut block.0, offset)
            .map_err(Error::refused_on("read with O_DIRECT", file))?;
    }
    Ok(page_cache::look(file, probe, range)?.cached == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_that_leave_nothing_cached_are_seen() {
        let directory = tempfile::tempdir_in(".").unwrap();
        let made = Canary::create(directory.path()).unwrap();
        let canary = &made.file;
        let Some(probe) = probe_that_sees(canary, CANARY, &mut Vec::new()) else { return };
        let keeps = |read: fn(&File) -> io::Result<()>| {
            // On an in-memory file system, files stay cached however they are read.
            page_cache::evict(canary, page_cache::WHOLE, probe).ok()?;
            keeps_pages(canary, probe, read)
        };
        let past_the_cache = |_: &File| Ok(());
        assert_ne!(keeps(past_the_cache), Some(true));
        assert_ne!(keeps(|file| read_only(file, 0..CANARY)), Some(false));
        assert!(!nothing_is_kept(canary));
    }
}
