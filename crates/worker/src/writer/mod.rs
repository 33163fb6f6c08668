//! Ways to move a block from the program, or from another file, to a file.
//!
//! They run through the timed loop as those that read do. What they write is made by a
//! [`Source`](crate::source::Source) when a block is submitted: a store a page.

pub mod null;
pub mod idle;
pub mod write;
pub mod pwrite;
pub mod buffered;
pub mod mmap;
pub mod uring;
pub mod copy;
pub mod uring_copy;
pub mod copy_file_range;
pub mod sendfile;
pub mod splice;

use crate::engine::Obstacle;
use model::case::{Allocation, Cache, Sync, WriteEngine, WriteWork};
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The file that is written, and what makes it durable.
#[derive(Debug)]
pub struct Target {
    file: File,
    sync: Sync,
}

impl Target {
    /// Opens the file of a job, which must be there: it is neither made nor cut.
    pub fn open(path: &Path, work: &WriteWork) -> Result<Target, Obstacle> {
        let mut options = OpenOptions::new();
        // A mapping that is written needs a file that may be read.
        options.write(true).read(work.engine == WriteEngine::Mmap);
        options.append(work.allocation == Allocation::Append);
        let durable = if work.sync == Sync::Dsync { libc::O_DSYNC } else { 0 };
        let file = open(path, &mut options, durable, work.io.cache)?;
        Ok(Target { file, sync: work.sync })
    }

    /// Calls what makes the file durable.
    ///
    /// # Errors
    /// That of the OS, with the name of the call.
    ///
    /// # Panics
    /// If that is no call on a file.
    pub fn sync(&self) -> io::Result<()> {
        let synced = match self.sync {
            Sync::Fdatasync => self.file.sync_data(),
            Sync::Fsync => self.file.sync_all(),
            Sync::FileRange => sync_file_range(&self.file),
            Sync::None | Sync::Dsync | Sync::Msync => {
                panic!("{} is not a call on a file", self.sync)
            }
        };
        synced
            .map_err(|error| io::Error::new(error.kind(), format!("{} failed: {error}", self.sync)))
    }
}

/// Has the OS write all pages of `file`, and waits for it.
fn sync_file_range(file: &File) -> io::Result<()> {
    let flags = libc::SYNC_FILE_RANGE_WAIT_BEFORE
        | libc::SYNC_FILE_RANGE_WRITE
        | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    loop {
        // To the OS, no length is all that follows.
        // SAFETY: the call takes a file, which is open, and numbers.
        if unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, flags) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Opens the file that a copy reads.
pub fn open_source(path: &Path, work: &WriteWork) -> Result<File, Obstacle> {
    open(path, OpenOptions::new().read(true), 0, work.io.cache)
}

fn open(
    path: &Path,
    options: &mut OpenOptions,
    flags: libc::c_int,
    cache: Cache,
) -> Result<File, Obstacle> {
    let direct = if cache == Cache::Direct { libc::O_DIRECT } else { 0 };
    options.custom_flags(flags | direct).open(path).map_err(|error| match error.raw_os_error() {
        Some(libc::EINVAL) if cache == Cache::Direct => {
            Obstacle::Unavailable(format!("opening {} with O_DIRECT: {error}", path.display()))
        }
        _ => Obstacle::failed("opening", path, &error),
    })
}

/// Moves the own offset of `file`, which stands at `position`, to `offset`, unless it is there.
#[inline]
fn stand(mut file: &File, position: &mut u64, offset: u64) -> io::Result<()> {
    if *position != offset {
        *position = file.seek(SeekFrom::Start(offset))?;
    }
    Ok(())
}

/// A system call that moves bytes.
#[derive(Debug, Clone, Copy)]
struct Call {
    name: &'static str,
    /// The errors that mean that the OS, or a file system, cannot do it at all.
    cannot: &'static [i32],
}

impl Call {
    const fn new(name: &'static str, cannot: &'static [i32]) -> Call {
        Call { name, cannot }
    }

    /// Calls `step` until all `length` bytes of the block at `offset` are moved. It is told how
    /// many are, and answers how many more it has moved: a call may move fewer than it was asked
    /// to, and one that a signal interrupted is made again.
    ///
    /// # Errors
    /// See [`Call::failed`]; and when a call moves nothing.
    #[inline(always)]
    fn whole(
        self,
        offset: u64,
        length: usize,
        mut step: impl FnMut(usize) -> io::Result<usize>,
    ) -> io::Result<()> {
        let mut moved = 0;
        while moved < length {
            moved += self.moved(offset, length, moved, step(moved))?;
        }
        Ok(())
    }

    /// How many bytes a call has moved that was made after `moved` of the block were.
    #[inline(always)]
    fn moved(
        self,
        offset: u64,
        length: usize,
        moved: usize,
        answer: io::Result<usize>,
    ) -> io::Result<usize> {
        match answer {
            Ok(0) => {
                let error = io::Error::new(io::ErrorKind::WriteZero, "moved no bytes");
                Err(self.failed(offset, length, moved, &error))
            }
            Ok(count) => Ok(count),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
            Err(error) => Err(self.failed(offset, length, moved, &error)),
        }
    }

    /// The error of a call for the block at `offset`, of which `moved` bytes were moved before. Its
    /// kind is [`io::ErrorKind::Unsupported`] if it cannot be done here at all.
    #[cold]
    fn failed(self, offset: u64, length: usize, moved: usize, error: &io::Error) -> io::Error {
        let cannot = error.raw_os_error().is_some_and(|errno| self.cannot.contains(&errno));
        let kind = if cannot { io::ErrorKind::Unsupported } else { error.kind() };
        let name = self.name;
        let text = format!("{name} of {length} bytes at offset {offset} failed: {error}");
        io::Error::new(kind, format!("{text}, after {moved} of them"))
    }
}
