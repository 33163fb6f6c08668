//! The interface between engines and the timed loop, and the engines that read.
//!
//! An engine belongs to one thread, which creates it before the barrier and drops it after the
//! clock has stopped.

pub mod null;
pub mod read;
pub mod pread;
pub mod ahead;
pub mod mmap;
pub mod load;
pub mod ring;
pub mod uring;

use model::case::{Advice, Atomic, Cache, ReadWork, WriteWork};
use rustix::io::ReadWriteFlags;
use std::fs::{File, OpenOptions};
use std::io;
use std::num::NonZeroU64;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// What the timed loop needs from an engine.
pub trait BlockIo {
    /// Whether touching the bytes is itself the I/O, as with a mapping. If so, the clock must be
    /// read after the loads and stores that may fault.
    const LOADS_ARE_IO: bool;

    /// Whether a pass runs to completion even if the time is up. An engine that does a whole pass's
    /// work at its start would otherwise charge all of it to a partial pass.
    const ENDS_WITH_PASS: bool = false;

    /// Whether it writes a file, which may then need a sync.
    const WRITES: bool = false;

    /// Whether an operation moves its block. If not, the loop counts no operations or bytes and
    /// records only the syncs.
    const MOVES: bool = true;

    /// Whether some operations of an engine that writes may read.
    const MIXES: bool = false;

    /// Called before the first block of each pass, within the timed region.
    fn begin_pass(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Whether [`BlockIo::begin_pass`] does work; its time is then reported separately.
    fn loads(&self) -> bool {
        false
    }

    /// Starts moving the `length` bytes at `offset` through `slot`, which must be free.
    fn submit(&mut self, slot: usize, offset: u64, length: usize) -> io::Result<()>;

    /// Starts reading the `length` bytes at `offset` through `slot`, which must be free. Only an
    /// engine that mixes is asked to.
    fn submit_read(&mut self, slot: usize, offset: u64, length: usize) -> io::Result<()> {
        let _ = (slot, offset, length);
        Err(io::Error::other("this engine only writes"))
    }

    /// Waits for a submitted block. Returns its slot, now free again, and its bytes, if they
    /// reached the program. All `length` bytes have arrived: a short or failed operation is an
    /// error.
    fn reap(&mut self) -> io::Result<(usize, &[u8])>;

    /// Waits up to `most_ns` for a submitted block to complete. Returns whether [`BlockIo::reap`]
    /// would return one without waiting, as far as the engine can know.
    fn is_ready(&mut self, most_ns: u64) -> io::Result<bool> {
        let _ = most_ns;
        Ok(true)
    }

    /// Hands the OS the reaped blocks that the engine still buffers. The loop calls it on engines
    /// that write, before each sync and at the end, with nothing in flight.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Bytes of reaped blocks that are still buffered in the program.
    fn kept(&self) -> u64 {
        0
    }

    /// Makes everything written durable. The loop calls it if the case has separate sync calls,
    /// with nothing in flight and everything flushed.
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Called after the clock has stopped, even after an error. Stops background threads and
    /// releases whatever would keep the file in the page cache. Anonymous memory stays until the
    /// engine is dropped: its pages are evidence.
    fn let_go(&mut self) {}
}

/// Why a job could not be done.
#[derive(Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// This machine does not support it.
    Unavailable(String),
    /// It failed.
    Failed(String),
}

impl Obstacle {
    /// An [`Obstacle::Failed`] that names the file.
    pub fn failed(tried: &str, path: &Path, error: &io::Error) -> Obstacle {
        Obstacle::Failed(format!("{tried} {} failed: {error}", path.display()))
    }
}

/// Opens the job's file read-only, with O_DIRECT if the case bypasses the page cache.
pub fn open(path: &Path, work: &ReadWork) -> Result<File, Obstacle> {
    let mut options = OpenOptions::new();
    options.read(true);
    if work.io.cache == Cache::Direct {
        options.custom_flags(libc::O_DIRECT);
    }
    options.open(path).map_err(|error| match error.raw_os_error() {
        Some(libc::EINVAL) if work.io.cache == Cache::Direct => {
            Obstacle::Unavailable(format!("opening {} with O_DIRECT: {error}", path.display()))
        }
        _ => Obstacle::failed("opening", path, &error),
    })
}

/// The flags of a call that reads or writes a block.
pub fn flags(cache: Cache) -> libc::c_int {
    if cache == Cache::DontCache { libc::RWF_DONTCACHE } else { 0 }
}

/// The flags of a call that writes a block.
pub fn flags_of_write(work: &WriteWork) -> libc::c_int {
    let atomic = if work.atomic == Atomic::Yes { libc::RWF_ATOMIC } else { 0 };
    flags(work.io.cache) | atomic
}

/// For `preadv2` and `pwritev2`: the page cache keeps nothing that the call brings there.
pub const DONT_CACHE: ReadWriteFlags =
    ReadWriteFlags::from_bits_retain(libc::RWF_DONTCACHE as libc::c_uint);

/// The part of the file that a thread reads, for advice to the OS; the whole file unless it is one
/// run.
#[derive(Debug, Clone, Copy)]
pub struct Range {
    /// First byte.
    pub offset: u64,
    /// Number of bytes.
    pub length: u64,
}

/// Passes the advice for `range` to the OS with `posix_fadvise(2)`.
pub fn advise(file: &File, work: &ReadWork, range: Range) -> io::Result<()> {
    // `posix_fadvise` takes a length of 0 as "to the end of the file".
    let Some(length) = NonZeroU64::new(range.length) else { return Ok(()) };
    let advice = match work.advice {
        Advice::None => return Ok(()),
        Advice::Sequential => rustix::fs::Advice::Sequential,
        Advice::Random => rustix::fs::Advice::Random,
        Advice::WillNeed => rustix::fs::Advice::WillNeed,
        Advice::Populate | Advice::HugePage | Advice::TouchAhead => {
            return Err(io::Error::other("advice for a mapping, but this engine has none"));
        }
    };
    rustix::fs::fadvise(file, range.offset, Some(length), advice).map_err(|error| {
        let text = format!("posix_fadvise '{}' failed: {error}", work.advice);
        io::Error::new(io::Error::from(error).kind(), text)
    })
}

/// An error that names the operation, its offset and its length.
pub fn io_error(tried: &str, offset: u64, length: usize, error: io::Error) -> io::Error {
    let text = format!("{tried} of {length} bytes at offset {offset} failed: {error}");
    io::Error::new(error.kind(), text)
}

/// The error for a file that is shorter than expected.
pub fn ended_early(offset: u64, length: usize, got: usize) -> io::Error {
    let text = format!("the file ended: got {got} of {length} bytes at offset {offset}");
    io::Error::new(io::ErrorKind::UnexpectedEof, text)
}
