//! The page cache: how much of a file is in it, and how to put it in or out, with proof.
//!
//! A probe must first prove itself on the file system, see [`storage`](crate::storage()): cachestat
//! reports 0 for every file on overlayfs, and mincore reports "all" for a file that you neither own
//! nor can write.

use crate::error::Error;
use model::evidence::{Probe, Residency};
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
use std::time::Duration;

/// How often evicting a file is tried: writeback of dirty pages is a race (METHODOLOGY.md).
const EVICT_ATTEMPTS: u32 = 5;
/// How long is waited between two attempts.
const EVICT_PAUSE: Duration = Duration::from_millis(50);
/// How often a file is read until all of it is cached.
const WARM_PASSES: u32 = 3;
/// Bytes read at once while warming.
const WARM_BLOCK: usize = 1 << 20;
/// Bytes of a file that mincore looks at in one go: 256 KiB of memory for the answer.
const WINDOW: u64 = 1 << 30;
/// The number of cachestat(2) on every architecture that has the common table.
const SYS_CACHESTAT: libc::c_long = 451;

/// How much of `file`, which may be a block device, is in the page cache.
///
/// # Errors
/// What the OS answered: cachestat is refused before Linux 6.5, by some sandboxes and on files
/// that this user neither owns nor may write.
pub fn residency(file: &File, probe: Probe) -> io::Result<Residency> {
    residency_of_range(file, probe, 0..length(file)?)
}

/// How much of the pages that `range` of `file` touches is in the page cache. What lies beyond
/// the end of the file has no pages.
///
/// # Errors
/// As [`residency`].
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

/// `_IOR(0x12, 114, size_t)` of `linux/fs.h`: bytes of a block device.
const BLKGETSIZE64: Opcode = opcode::read::<usize>(0x12, 114);

/// Bytes of `file`. A block device has a length too, which its metadata does not tell.
pub(crate) fn length(file: &File) -> io::Result<u64> {
    let metadata = file.metadata()?;
    if !metadata.file_type().is_block_device() {
        return Ok(metadata.len());
    }
    // SAFETY: for this number the kernel writes 64 bits, which `u64` has room for; that the
    // number itself is built from another type is a slip of the kernel's, kept for ever.
    unsafe { Ok(rustix::ioctl::ioctl(file, Getter::<BLKGETSIZE64, u64>::new())?) }
}

/// `struct cachestat_range` of `linux/mman.h`.
#[repr(C)]
struct CachestatRange {
    offset: u64,
    length: u64,
}

/// `struct cachestat` of `linux/mman.h`, all in pages.
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
    // SAFETY: the descriptor is open while `file` is borrowed; both structures have the layout of
    // the kernel's headers, live through the call, and the kernel writes to the second alone.
    let answer = unsafe {
        libc::syscall(SYS_CACHESTAT, file.as_raw_fd(), &raw const asked, &raw mut counts, flags)
    };
    if answer == 0 { Ok(counts) } else { Err(io::Error::last_os_error()) }
}

/// Cached pages of `range`, which begins and ends at pages, window by window.
fn mincore(file: &File, range: Range<u64>) -> io::Result<u64> {
    let page = rustix::param::page_size() as u64;
    let mut answer = vec![0; (WINDOW.min(range.end - range.start) / page) as usize];
    let mut cached = 0;
    let mut start = range.start;
    while start < range.end {
        let length = WINDOW.min(range.end - start);
        let window = Window::map(file, start, length as usize)?;
        cached += window.cached_pages(&mut answer[..(length / page) as usize])?;
        start += length;
    }
    Ok(cached)
}

/// A part of a file, mapped only for queries: it can't be read or written.
struct Window {
    address: *mut c_void,
    length: usize,
}

impl Window {
    fn map(file: &File, offset: u64, length: usize) -> io::Result<Window> {
        // SAFETY: a new private mapping at an address that the OS chooses touches no memory of
        // this program, and without access rights nothing can be reached through it.
        let address = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                length,
                ProtFlags::empty(),
                MapFlags::PRIVATE,
                file,
                offset,
            )
        }?;
        Ok(Window { address, length })
    }

    /// `answer` takes one byte a page of the window.
    fn cached_pages(&self, answer: &mut [u8]) -> io::Result<u64> {
        let pages = self.length.div_ceil(rustix::param::page_size());
        assert_eq!(answer.len(), pages, "mincore answers one byte for each page of the window");
        // SAFETY: the range was mapped by `map` and stays so while `self` lives; the OS writes
        // one byte for each of its pages, and the assertion above says that they fit.
        let outcome = unsafe { libc::mincore(self.address, self.length, answer.as_mut_ptr()) };
        if outcome != 0 {
            return Err(io::Error::last_os_error());
        }
        // Only the lowest bit means anything.
        Ok(answer.iter().filter(|&&byte| byte & 1 == 1).count() as u64)
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by `map`, nothing else refers to it and it is unmapped
        // once.
        let outcome = unsafe { rustix::mm::munmap(self.address, self.length) };
        debug_assert!(outcome.is_ok(), "a mapping of this program can be unmapped");
    }
}

/// Takes all of `file` out of the page cache: written back first, then dropped, then proved by
/// `probe` to be gone. It needs no rights but that of reading, and never touches other files.
///
/// # Errors
/// [`Error::Stayed`] when pages stayed after 5 attempts, with the likely cause; or what the OS
/// answered to a step.
pub fn evict(file: &File, probe: Probe) -> Result<Residency, Error> {
    let look =
        || residency(file, probe).map_err(Error::refused_on("look for cached pages of", file));
    let mut residency = look()?;
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
        residency = look()?;
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

/// Brings dirty pages to the device: only clean ones can be dropped.
pub(crate) fn write_back(file: &File) -> Result<(), Errno> {
    match rustix::fs::fsync(file) {
        // What cannot be written to has nothing to write back.
        Ok(()) | Err(Errno::ROFS | Errno::INVAL) => Ok(()),
        Err(answer) => Err(answer),
    }
}

/// Whether the page cache is all there is below `file`.
pub(crate) fn is_kept_in_memory(file: &File) -> bool {
    // Of linux/magic.h: tmpfs, ramfs, hugetlbfs.
    const IN_MEMORY: [u64; 3] = [0x0102_1994, 0x8584_58f6, 0x9584_58f6];
    // The node of a device is, and what it leads to is not.
    if file.metadata().is_ok_and(|metadata| metadata.file_type().is_block_device()) {
        return false;
    }
    rustix::fs::fstatfs(file).is_ok_and(|fs| IN_MEMORY.contains(&(fs.f_type as u64 & 0xffff_ffff)))
}

/// Brings all of `file` into the page cache by reading it, and proves it by `probe`. Of a large
/// file a page in a thousand may be missing (METHODOLOGY.md).
///
/// # Errors
/// [`Error::NotWarm`] when it is not cached after 3 passes, or what the OS answered to a step.
pub fn warm(file: &File, probe: Probe) -> Result<Residency, Error> {
    let mut passes = 0;
    loop {
        read_whole(file).map_err(Error::refused_on("read", file))?;
        passes += 1;
        let residency =
            residency(file, probe).map_err(Error::refused_on("look for cached pages of", file))?;
        if is_warm(&residency) {
            return Ok(residency);
        }
        if passes == WARM_PASSES {
            return Err(Error::NotWarm { residency, passes });
        }
    }
}

/// Whether at least 99.9 % of the pages are cached.
fn is_warm(residency: &Residency) -> bool {
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

/// Empties the page cache of the whole machine: everybody on it reads anew.
///
/// Dirty pages are written back first, or they would stay (METHODOLOGY.md).
///
/// # Errors [`Error::NotDropped`] without root.
pub fn drop_all() -> Result<(), Error> {
    rustix::fs::sync();
    // 1 is for pages, 2 for directory entries and inodes.
    std::fs::write("/proc/sys/vm/drop_caches", "3").map_err(|answer| Error::NotDropped { answer })
}
