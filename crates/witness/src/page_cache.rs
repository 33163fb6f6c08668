//! The page cache: how much of a file is in it, and how to evict or load a file and verify it.
//!
//! A probe must first be tested on the file system, see [`storage`](crate::storage()). On
//! overlayfs, cachestat reports 0 for every file. mincore reports everything as cached for files
//! that you neither own nor can write.

use crate::error::Error;
use model::evidence::{Probe, Residency};
use model::pattern::{BlockOrder, Pattern};
use model::zipf::Theta;
use rustix::fs::Advice;
use rustix::io::Errno;
use rustix::ioctl::{Getter, Opcode, opcode};
use rustix::mm::{MapFlags, ProtFlags};
use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::thread::Builder;
use std::time::Duration;

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

/// The size that means all of a file.
pub const WHOLE: u64 = u64::MAX;

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

/// How many pages of the first `size` bytes are cached.
pub(crate) fn look(file: &File, probe: Probe, size: u64) -> Result<Residency, Error> {
    residency_of_range(file, probe, 0..size)
        .map_err(Error::refused_on("look for cached pages of", file))
}

/// `_IOR(0x12, 114, size_t)` of `linux/fs.h`: the size of a block device in bytes.
const BLKGETSIZE64: Opcode = opcode::read::<usize>(0x12, 114);

/// Size of `file` in bytes. Works for block devices, too, whose metadata lacks it.
pub(crate) fn length(file: &File) -> io::Result<u64> {
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

/// A part of a file that is mapped only for queries.
pub(crate) struct Window {
    address: *mut c_void,
    length: usize,
}

impl Window {
    pub(crate) fn map(
        file: &File,
        offset: u64,
        length: usize,
        rights: ProtFlags,
    ) -> io::Result<Window> {
        // SAFETY: this creates a new private mapping at an address that the OS chooses, so it
        // touches no memory of this program. Nothing here accesses memory through it.
        let address = unsafe {
            rustix::mm::mmap(std::ptr::null_mut(), length, rights, MapFlags::PRIVATE, file, offset)
        }?;
        Ok(Window { address, length })
    }

    /// Where it is in this process.
    pub(crate) fn address(&self) -> u64 {
        self.address as u64
    }

    /// Advises the OS about it.
    pub(crate) fn advise(&self, advice: rustix::mm::Advice) -> io::Result<()> {
        // SAFETY: `map` mapped the range, and it stays mapped while `self` lives. The advice that
        // this crate gives fills the mapping, and changes no content.
        Ok(unsafe { rustix::mm::madvise(self.address, self.length, advice) }?)
    }

    /// `answer` must have one byte per page of the window.
    fn cached_pages(&self, answer: &mut [u8]) -> io::Result<u64> {
        let pages = self.length.div_ceil(rustix::param::page_size());
        assert_eq!(answer.len(), pages, "mincore answers one byte for each page of the window");
        // SAFETY: `map` mapped the range, and it stays mapped while `self` lives. The OS writes one
        // byte per page, and the assertion above guarantees that they fit.
        let outcome = unsafe { libc::mincore(self.address, self.length, answer.as_mut_ptr()) };
        if outcome != 0 {
            return Err(io::Error::last_os_error());
        }
        // Only the lowest bit is defined.
        Ok(answer.iter().filter(|&&byte| byte & 1 == 1).count() as u64)
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // SAFETY: `map` mapped the range, nothing else refers to it, and it is unmapped only here.
        let outcome = unsafe { rustix::mm::munmap(self.address, self.length) };
        debug_assert!(outcome.is_ok(), "a mapping of this program can be unmapped");
    }
}

/// Evicts `file` from the page cache: writes it back, drops it and verifies with `probe` that no
/// page of its first `size` bytes is left; others may add to it. It needs only read permission and
/// never touches other files.
///
/// # Errors
/// [`Error::Stayed`] with the likely cause if pages stayed after 5 attempts; otherwise the OS's
/// error for the failed step.
pub fn evict(file: &File, size: u64, probe: Probe) -> Result<Residency, Error> {
    let mut residency = look(file, probe, size)?;
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
        rustix::fs::fadvise(file, 0, None, Advice::DontNeed)
            .map_err(Error::refused_on("evict", file))?;
        residency = look(file, probe, size)?;
        if residency.cached == 0 {
            return Ok(residency);
        }
    }
    let cause = match residency.dirty {
        Some(dirty) if dirty > 0 => "another process writes them: wait until it is done",
        _ => "another process maps, locks or reads the file: stop it first",
    };
    Err(Error::Stayed { residency, cause })
}

/// Evicts `file` where no probe shows whether that works.
///
/// # Errors
/// The OS's error.
pub fn evict_unseen(file: &File) -> Result<(), Error> {
    write_back(file).map_err(Error::refused_on("write back", file))?;
    rustix::fs::fadvise(file, 0, None, Advice::DontNeed).map_err(Error::refused_on("evict", file))
}

/// Reads `file` into the page cache where no probe shows whether that works.
///
/// # Errors
/// The OS's error.
pub fn warm_unseen(file: &File) -> Result<(), Error> {
    read_whole(file).map_err(Error::refused_on("read", file))
}

/// Writes dirty pages back, so that they can be evicted, or cost nobody who comes later.
///
/// # Errors
/// The OS's.
pub fn write_back(file: &File) -> Result<(), Errno> {
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
    if file.metadata().is_ok_and(|metadata| metadata.file_type().is_block_device()) {
        return false;
    }
    rustix::fs::fstatfs(file).is_ok_and(|fs| IN_MEMORY.contains(&(fs.f_type as u64 & 0xffff_ffff)))
}

/// Reads all of `file` into the page cache, unless its first `size` bytes are there, and verifies
/// that with `probe`. For a large file, one page in a thousand may be missing (docs/method).
///
/// # Errors
/// [`Error::NotWarm`] if it is not cached after 3 passes; otherwise the OS's error for the failed
/// step.
pub fn warm(file: &File, size: u64, probe: Probe) -> Result<Residency, Error> {
    read_until_warm(file, size, probe, read_whole)
}

/// The same, one page at a time in random order and without readahead, as an index or a database
/// reads it: the OS then caches each page by itself.
///
/// # Errors
/// As for [`warm`], and if `is_stopped`: of a large file on a slow disk, this takes hours.
pub fn warm_at_random(
    file: &File,
    size: u64,
    probe: Probe,
    is_stopped: &(dyn Fn() -> bool + Sync),
) -> Result<Residency, Error> {
    read_until_warm(file, size, probe, |file| {
        rustix::fs::fadvise(file, 0, None, Advice::Random)?;
        let read = read_pages(file, is_stopped);
        // The advice holds for as long as the file is open.
        rustix::fs::fadvise(file, 0, None, Advice::Normal)?;
        read
    })
}

fn read_until_warm(
    file: &File,
    size: u64,
    probe: Probe,
    read: impl Fn(&File) -> io::Result<()>,
) -> Result<Residency, Error> {
    let found = look(file, probe, size)?;
    if found.cached == found.pages {
        return Ok(found);
    }
    let mut passes = 0;
    loop {
        read(file).map_err(Error::refused_on("read", file))?;
        passes += 1;
        let residency = look(file, probe, size)?;
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

fn read_whole(file: &File) -> io::Result<()> {
    let mut block = vec![0; WARM_BLOCK];
    let mut offset = 0;
    loop {
        match file.read_at(&mut block, offset) {
            Ok(0) => return Ok(()),
            Ok(count) => offset += count as u64,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Reads each page of `file` once, in random order, by several threads: one read in flight would
/// take a network's disk minutes.
fn read_pages(file: &File, is_stopped: &(dyn Fn() -> bool + Sync)) -> io::Result<()> {
    let page = rustix::param::page_size();
    let pages = length(file)?.div_ceil(page as u64);
    let order = BlockOrder::new(Pattern::Random, pages, 1, Theta::USUAL, 0);
    let read = |thread: u64| -> io::Result<()> {
        let mut buffer = vec![0; page];
        for step in (thread..pages).step_by(READERS as usize) {
            if is_stopped() {
                return Err(io::Error::other("the run was stopped"));
            }
            let offset = order.block(step) * page as u64;
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
