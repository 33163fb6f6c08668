//! The page cache: how much of a file is in it, and how to evict or load a file and verify it.
//!
//! A probe must first be tested on the file system, see [`storage`](crate::storage()). On
//! overlayfs, cachestat reports 0 for every file. mincore reports everything as cached for files
//! that you neither own nor can write.

mod window;

use crate::error::{Error, descriptor_path};
use model::evidence::{Probe, Residency};
use model::pattern::{BlockOrder, Pattern};
use model::zipf::Theta;
use rustix::fs::{Advice, OFlags};
use rustix::io::Errno;
use rustix::ioctl::{Getter, Opcode, opcode};
use rustix::mm::ProtFlags;
use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::thread::Builder;
use std::time::Duration;
pub(crate) use window::Window;

/// Attempts to evict a file: writeback of dirty pages is a race (docs/method).
const EVICT_ATTEMPTS: u32 = 5;
/// Pause between attempts.
const EVICT_PAUSE: Duration = Duration::from_millis(50);
/// Maximum number of times a file is read to cache it.
const WARM_PASSES: u32 = 3;
/// Bytes read at once while warming.
const WARM_BLOCK: usize = 1 << 20;
/// Threads that read pages in random order.
pub const READERS: u64 = 16;
/// Bytes that mincore checks per call; the answer takes 256 KiB.
const WINDOW: u64 = 1 << 30;
/// The number of cachestat(2) on every architecture with the common system call table.
const SYS_CACHESTAT: libc::c_long = 451;

/// All of a file.
pub const WHOLE: Range<u64> = 0..u64::MAX;
/// Pages are evicted up to the next multiple of this many bytes: a folio that reaches beyond what
/// is evicted would stay as a whole, and those of 4 KiB pages have up to 2 MiB.
const FOLIO_MOST: u64 = 4 << 20;

/// A part of an open file.
pub type FileRange<'a> = (&'a File, Range<u64>);

/// How much of `file`, which may be a block device, is in the page cache.
///
/// # Errors
/// The OS's error. cachestat fails before Linux 6.5, in some sandboxes, and on files that this user
/// neither owns nor can write.
pub fn residency(file: &File, probe: Probe) -> io::Result<Residency> {
    residency_of_range(file, probe, 0..length(file)?)
}

/// How many of the pages that `range` of `file` covers are in the page cache. There are no pages
/// past the end of the file.
///
/// # Errors
/// As for [`residency`].
pub fn residency_of_range(file: &File, probe: Probe, range: Range<u64>) -> io::Result<Residency> {
    let page = rustix::param::page_size() as u64;
    let end = range.end.min(length(file)?).next_multiple_of(page);
    let start = range.start / page * page;
    let pages = end.saturating_sub(start) / page;
    if pages == 0 {
        return Ok(Residency { probe, pages, cached: 0, dirty: None });
    }
    let (cached, dirty) = match probe {
        Probe::Cachestat => {
            let counts = cachestat(file, start..end)?;
            (counts.cached, Some((counts.dirty + counts.writeback).min(pages)))
        }
        Probe::Mincore => (mincore(file, start..end)?, None),
    };
    Ok(Residency { probe, pages, cached: cached.min(pages), dirty })
}

/// How many pages of `range` are cached.
pub(crate) fn look(file: &File, probe: Probe, range: Range<u64>) -> Result<Residency, Error> {
    residency_of_range(file, probe, range)
        .map_err(Error::refused_on("look for cached pages of", file))
}

/// `_IOR(0x12, 114, size_t)` of `linux/fs.h`: the size of a block device in bytes.
const BLKGETSIZE64: Opcode = opcode::read::<usize>(0x12, 114);

/// Size of `file` in bytes. Works for block devices, too, whose metadata lacks it.
///
/// # Errors
/// The OS's.
pub fn length(file: &File) -> io::Result<u64> {
    let metadata = file.metadata()?;
    if !metadata.file_type().is_block_device() {
        return Ok(metadata.len());
    }
    // SAFETY: for this request, the kernel writes 64 bits, which fit into `u64`. The request number
    // encodes `size_t` for historical reasons.
    unsafe { Ok(rustix::ioctl::ioctl(file, Getter::<BLKGETSIZE64, u64>::new())?) }
}

/// `struct cachestat_range` of `linux/mman.h`.
#[repr(C)]
struct CachestatRange {
    offset: u64,
    length: u64,
}

/// `struct cachestat` of `linux/mman.h`, in pages.
#[repr(C)]
#[derive(Default)]
struct Cachestat {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

fn cachestat(file: &File, range: Range<u64>) -> io::Result<Cachestat> {
    let asked = CachestatRange { offset: range.start, length: range.end - range.start };
    let mut counts = Cachestat::default();
    let flags: libc::c_uint = 0;
    // SAFETY: the descriptor is open while `file` is borrowed. Both structures have the layout of
    // the kernel's headers and outlive the call, and the kernel writes only to the second.
    let answer = unsafe {
        libc::syscall(SYS_CACHESTAT, file.as_raw_fd(), &raw const asked, &raw mut counts, flags)
    };
    if answer == 0 { Ok(counts) } else { Err(io::Error::last_os_error()) }
}

/// Cached pages in `range`, which must be page-aligned, window by window.
fn mincore(file: &File, range: Range<u64>) -> io::Result<u64> {
    let page = rustix::param::page_size() as u64;
    let mut answer = vec![0; (WINDOW.min(range.end - range.start) / page) as usize];
    let mut cached = 0;
    let mut start = range.start;
    while start < range.end {
        let length = WINDOW.min(range.end - start);
        let window = Window::map(file, start, length as usize, ProtFlags::empty())?;
        cached += window.cached_pages(&mut answer[..(length / page) as usize])?;
        start += length;
    }
    Ok(cached)
}

/// Evicts `range` of `file` from the page cache: writes the file back, drops the pages and verifies
/// with `probe` that none is left; others may add to the file. It needs only read permission and
/// never touches other files. Pages next to the range may go, too.
///
/// # Errors
/// [`Error::Stayed`] with the likely cause if pages stayed after 5 attempts; otherwise the OS's
/// error for the failed step.
pub fn evict(file: &File, range: Range<u64>, probe: Probe) -> Result<Residency, Error> {
    let mut residency = look(file, probe, range.clone())?;
    if residency.cached == 0 {
        return Ok(residency);
    }
    if is_kept_in_memory(file) {
        let cause = "its file system keeps files only there";
        return Err(Error::Stayed { residency, cause });
    }
    for attempt in 0..EVICT_ATTEMPTS {
        if attempt > 0 {
            std::thread::sleep(EVICT_PAUSE);
        }
        write_back(file).map_err(Error::refused_on("write back", file))?;
        drop_pages(file, &range).map_err(Error::refused_on("evict", file))?;
        residency = look(file, probe, range.clone())?;
        if residency.cached == 0 {
            return Ok(residency);
        }
    }
    let cause = match residency.dirty {
        Some(dirty) if dirty > 0 => "another process writes them: wait until it is done",
        _ if is_device(file) => {
            "a mounted file system or another process uses them: use cache 'direct', or read a \
             part of the device without them (--offset, --length)"
        }
        _ => "another process maps, locks or reads the file: stop it first",
    };
    Err(Error::Stayed { residency, cause })
}

/// Drops the clean pages of `range` that nobody uses.
fn drop_pages(file: &File, range: &Range<u64>) -> io::Result<()> {
    let start = range.start / FOLIO_MOST * FOLIO_MOST;
    let end = range.end.checked_next_multiple_of(FOLIO_MOST);
    let end = end.filter(|end| length(file).is_ok_and(|length| *end < length));
    // Without a length, all that follows is dropped.
    let length = end.and_then(|end| NonZeroU64::new(end - start));
    Ok(rustix::fs::fadvise(file, start, length, Advice::DontNeed)?)
}

/// Evicts `file` where no probe shows whether that works.
///
/// # Errors
/// The OS's error.
pub fn evict_unseen(file: &File) -> Result<(), Error> {
    write_back(file).map_err(Error::refused_on("write back", file))?;
    drop_pages(file, &WHOLE).map_err(Error::refused_on("evict", file))
}

/// Reads `file` into the page cache where no probe shows whether that works.
///
/// # Errors
/// The OS's error.
pub fn warm_unseen(file: &File) -> Result<(), Error> {
    read_range(file, &WHOLE).map_err(Error::refused_on("read", file))
}

/// Writes dirty pages back, so that they can be evicted, or cost nobody who comes later. Those of a
/// device that is open only for reading are left alone: they are those of others, whose disk a sync
/// would also flush.
///
/// # Errors
/// The OS's.
pub fn write_back(file: &File) -> Result<(), Errno> {
    if is_device(file) && rustix::fs::fcntl_getfl(file)? & OFlags::ACCMODE == OFlags::RDONLY {
        return Ok(());
    }
    match rustix::fs::fsync(file) {
        // A file that cannot be written has no dirty pages.
        Ok(()) | Err(Errno::ROFS | Errno::INVAL) => Ok(()),
        Err(answer) => Err(answer),
    }
}

/// Whether `file` exists only in the page cache.
pub fn is_kept_in_memory(file: &File) -> bool {
    // From linux/magic.h: tmpfs, ramfs, hugetlbfs.
    const IN_MEMORY: [u64; 3] = [0x0102_1994, 0x8584_58f6, 0x9584_58f6];
    // A device's node is on such a file system, but the device is not.
    if is_device(file) {
        return false;
    }
    rustix::fs::fstatfs(file).is_ok_and(|fs| IN_MEMORY.contains(&(fs.f_type as u64 & 0xffff_ffff)))
}

fn is_device(file: &File) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.file_type().is_block_device())
}

/// Reads `range` of `file` into the page cache, unless it is there, and verifies that with `probe`.
/// For a large file, one page in a thousand may be missing (docs/method).
///
/// # Errors
/// [`Error::NotWarm`] if it is not cached after 3 passes; otherwise the OS's error for the failed
/// step.
pub fn warm(file: &File, range: Range<u64>, probe: Probe) -> Result<Residency, Error> {
    read_until_warm(file, range, probe, read_range)
}

/// The same, one page at a time in random order and without readahead, as an index or a database
/// reads it: the OS then caches each page by itself.
///
/// # Errors
/// As for [`warm`], and if `is_stopped`: of a large file on a slow disk, this takes hours.
pub fn warm_at_random(
    file: &File,
    range: Range<u64>,
    probe: Probe,
    is_stopped: &(dyn Fn() -> bool + Sync),
) -> Result<Residency, Error> {
    read_until_warm(file, range, probe, |file, range| {
        rustix::fs::fadvise(file, 0, None, Advice::Random)?;
        let read = read_pages(file, range, is_stopped);
        // The advice holds for as long as the file is open.
        rustix::fs::fadvise(file, 0, None, Advice::Normal)?;
        read
    })
}

fn read_until_warm(
    file: &File,
    range: Range<u64>,
    probe: Probe,
    read: impl Fn(&File, &Range<u64>) -> io::Result<()>,
) -> Result<Residency, Error> {
    let found = look(file, probe, range.clone())?;
    if found.cached == found.pages {
        return Ok(found);
    }
    let mut passes = 0;
    loop {
        read(file, &range).map_err(Error::refused_on("read", file))?;
        passes += 1;
        let residency = look(file, probe, range.clone())?;
        if is_warm(&residency) {
            return Ok(residency);
        }
        if passes == WARM_PASSES {
            return Err(Error::NotWarm { residency, passes });
        }
    }
}

/// Whether at least 99.9 % of the pages are cached.
pub fn is_warm(residency: &Residency) -> bool {
    residency.cached.saturating_mul(1000) >= residency.pages.saturating_mul(999)
}

/// Reads only this range: readahead would bring more of a user's file into the page cache than
/// necessary.
pub(crate) fn read_only(file: &File, range: Range<u64>) -> io::Result<()> {
    let reader = File::open(descriptor_path(file))?;
    // Where advice is refused, as by a filter of system calls, more is read.
    if let Err(error) = rustix::fs::fadvise(&reader, 0, None, Advice::Random) {
        log::debug!("readahead is not turned off: {error}");
    }
    read_range(&reader, &range)
}

fn read_range(file: &File, range: &Range<u64>) -> io::Result<()> {
    let mut block = vec![0; WARM_BLOCK];
    let mut offset = range.start;
    while offset < range.end {
        let length = (range.end - offset).min(WARM_BLOCK as u64) as usize;
        match file.read_at(&mut block[..length], offset) {
            Ok(0) => return Ok(()),
            Ok(count) => offset += count as u64,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads each page of `range` once, in random order, by several threads: one read in flight would
/// take a network's disk minutes.
fn read_pages(
    file: &File,
    range: &Range<u64>,
    is_stopped: &(dyn Fn() -> bool + Sync),
) -> io::Result<()> {
    let page = rustix::param::page_size();
    let first = range.start / page as u64;
    let end = length(file)?.min(range.end).div_ceil(page as u64);
    let pages = end.saturating_sub(first);
    let order = BlockOrder::new(Pattern::Random, pages, 1, Theta::USUAL, 0);
    let read = |thread: u64| -> io::Result<()> {
        let mut buffer = vec![0; page];
        for step in (thread..pages).step_by(READERS as usize) {
            if is_stopped() {
                return Err(io::Error::other("the run was stopped"));
            }
            let offset = (first + order.block(step)) * page as u64;
            while let Err(error) = file.read_at(&mut buffer, offset) {
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let start = |thread| Builder::new().spawn_scoped(scope, move || read(thread));
        let threads = (0..READERS).map(start).collect::<io::Result<Vec<_>>>()?;
        let ends =
            threads.into_iter().map(|thread| thread.join().expect("a reader does not panic"));
        ends.collect()
    })
}

/// Drops the whole machine's page cache, so every process has to read from storage again.
///
/// Writes dirty pages back first, because they cannot be dropped (docs/method).
///
/// # Errors
/// [`Error::NotDropped`] without root.
pub fn drop_all() -> Result<(), Error> {
    rustix::fs::sync();
    // 1 drops pages, and 2 drops directory entries and inodes.
    std::fs::write("/proc/sys/vm/drop_caches", "3").map_err(|answer| Error::NotDropped { answer })
}
