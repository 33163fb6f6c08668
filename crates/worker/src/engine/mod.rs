//! The interface of engines for the timed loop, and the ways to move a block from a file to the
//! program.
//!
//! An engine belongs to one thread: it is made by it before the barrier and dropped after the
//! clock has stopped.

pub mod null;
pub mod read;
pub mod pread;
pub mod ahead;
pub mod mmap;
pub mod load;
pub mod ring;
pub mod uring;

use model::case::{Advice, Cache, ReadWork};
use std::fs::{File, OpenOptions};
use std::io;
use std::num::NonZeroU64;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Moves blocks: what the timed loop asks of an engine.
pub trait BlockIo {
    /// Whether touching the bytes is itself the I/O, as with a mapping: the clock must then be
    /// read after the loads and the stores that may fault.
    const LOADS_ARE_IO: bool;

    /// Whether a pass that was begun is brought to its end, though the time be over: where a pass
    /// begins with the work of the whole pass, half of one would be charged with all of it.
    const ENDS_WITH_PASS: bool = false;

    /// Whether it writes a file, which may then have to be synced.
    const WRITES: bool = false;

    /// Whether an operation moves its block. Where it does not, the loop meters no operation and
    /// counts no byte: the syncs alone are told.
    const MOVES: bool = true;

    /// Called before the first block of each pass, within the timed region.
    fn begin_pass(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Whether there is work in [`BlockIo::begin_pass`]; it is then told apart.
    fn loads(&self) -> bool {
        false
    }

    /// Begins to move the `length` bytes at `offset` by way of `slot`, which must be free.
    fn submit(&mut self, slot: usize, offset: u64, length: usize) -> io::Result<()>;

    /// Waits for a block that was submitted: its slot, which is free again, and its bytes, if they
    /// came to the program. All `length` bytes have arrived; a short or failed operation is an
    /// error.
    fn reap(&mut self) -> io::Result<(usize, &[u8])>;

    /// Gives the OS what it still keeps of the blocks that were reaped. Called where it writes,
    /// when nothing is in flight: before each sync and at the end.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Bytes of blocks that were reaped and that the OS was not given yet.
    fn kept(&self) -> u64 {
        0
    }

    /// Has the OS make durable what was written. Called where it writes and syncs by a call, when
    /// nothing is in flight and all was flushed.
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Called when the clock has stopped, also after an error. Ends what goes on beside the thread
    /// and lets go of what would keep the file in the page cache. Memory that no file is behind
    /// stays until the engine is dropped: its pages are evidence.
    fn let_go(&mut self) {}
}

/// Why an engine could not be made.
#[derive(Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// This machine cannot do it.
    Unavailable(String),
    /// It went wrong.
    Failed(String),
}

impl Obstacle {
    /// For an error that means that something went wrong.
    pub fn failed(tried: &str, path: &Path, error: &io::Error) -> Obstacle {
        Obstacle::Failed(format!("{tried} {} failed: {error}", path.display()))
    }
}

/// Opens the file of a job: read-only, whatever the case; past the page cache if it says so.
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

/// The part of the file that this thread reads, if it is one run of bytes: what advice is about.
#[derive(Debug, Clone, Copy)]
pub struct Range {
    /// First byte.
    pub offset: u64,
    /// How many bytes.
    pub length: u64,
}

/// Tells the OS about the use of `file`, by `posix_fadvise(2)`.
pub fn advise(file: &File, work: &ReadWork, range: Range) -> io::Result<()> {
    // To the OS, advice about no bytes is advice about all that follow.
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

/// An error that names the operation and where it was tried.
fn io_error(tried: &str, offset: u64, length: usize, error: io::Error) -> io::Error {
    let text = format!("{tried} of {length} bytes at offset {offset} failed: {error}");
    io::Error::new(error.kind(), text)
}

/// The error for a file that ends before its size.
fn ended_early(offset: u64, length: usize, got: usize) -> io::Error {
    let text = format!("the file ended: got {got} of {length} bytes at offset {offset}");
    io::Error::new(io::ErrorKind::UnexpectedEof, text)
}
