//! Engines that move a block from the program, or from another file, to a file.
//!
//! They use the same timed loop as the engines that read. A [`Source`](crate::source::Source)
//! prepares each block on submission, with one store per page.

pub mod null;
pub mod idle;
pub mod write;
pub mod pwrite;
pub mod mixed_pwrite;
pub mod journal;
pub mod buffered;
pub mod mmap;
pub mod uring;
pub mod mixed_uring;
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

/// The file to write, and how to make it durable.
#[derive(Debug)]
pub struct WriteTarget {
    file: File,
    sync: Sync,
    /// Each write goes to the end of the file, wherever the file offset is.
    is_appended: bool,
}

impl WriteTarget {
    /// Opens the job's file, which must exist. It is neither created nor truncated.
    pub fn open(path: &Path, work: &WriteWork) -> Result<WriteTarget, Obstacle> {
        let mut options = OpenOptions::new();
        // Linux requires read access to map a file, even for writing.
        let is_read = work.engine == WriteEngine::Mmap || work.read_share > 0;
        options.write(true).read(is_read);
        let is_appended = work.allocation == Allocation::Append;
        options.append(is_appended);
        let durable = if work.sync == Sync::Dsync { libc::O_DSYNC } else { 0 };
        let file = open(path, &mut options, durable, work.io.cache)?;
        Ok(WriteTarget { file, sync: work.sync, is_appended })
    }

    /// Makes the file durable with the case's sync call.
    ///
    /// # Errors
    /// The OS's error, with the name of the call.
    ///
    /// # Panics
    /// If the case's sync is not a call on a file.
    pub fn sync(&self) -> io::Result<()> {
        self.sync_file(&self.file)
    }

    /// The same of another `file`.
    fn sync_file(&self, file: &File) -> io::Result<()> {
        let synced = match self.sync {
            Sync::Fdatasync => file.sync_data(),
            Sync::Fsync => file.sync_all(),
            Sync::FileRange => sync_file_range(file),
            Sync::None | Sync::Dsync | Sync::Msync => {
                panic!("{} is not a call on a file", self.sync)
            }
        };
        synced
            .map_err(|error| io::Error::new(error.kind(), format!("{} failed: {error}", self.sync)))
    }
}

/// Writes back all pages of `file` and waits for completion.
fn sync_file_range(file: &File) -> io::Result<()> {
    let flags = libc::SYNC_FILE_RANGE_WAIT_BEFORE
        | libc::SYNC_FILE_RANGE_WRITE
        | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    loop {
        // A length of 0 means to the end of the file.
        // SAFETY: the call takes an open file and numbers.
        if unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, flags) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Opens the source of a copy.
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

/// Seeks `file` to `offset` unless its `position` is already there.
#[inline]
fn stand(mut file: &File, position: &mut u64, offset: u64) -> io::Result<()> {
    if *position != offset {
        *position = file.seek(SeekFrom::Start(offset))?;
    }
    Ok(())
}

/// A system call that moves bytes.
#[derive(Debug, Clone, Copy)]
struct WriteCall {
    name: &'static str,
    /// The errors that mean the OS or the file system does not support the call.
    cannot: &'static [i32],
}

impl WriteCall {
    const fn new(name: &'static str, cannot: &'static [i32]) -> WriteCall {
        WriteCall { name, cannot }
    }

    /// Calls `step` until it has moved all `length` bytes of the block at `offset`. `step` takes
    /// how many bytes were moved so far and returns how many more it moved. A call may move fewer
    /// bytes than requested; one interrupted by a signal is retried.
    ///
    /// # Errors
    /// As for [`Call::failed`], or if a call moves nothing.
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

    /// How many bytes a call moved, after `moved` bytes of the block had already been moved.
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

    /// The error of a call on the block at `offset` after it had moved `moved` bytes. Its kind is
    /// [`io::ErrorKind::Unsupported`] if the call is not supported here.
    #[cold]
    fn failed(self, offset: u64, length: usize, moved: usize, error: &io::Error) -> io::Error {
        let cannot = error.raw_os_error().is_some_and(|errno| self.cannot.contains(&errno));
        let kind = if cannot { io::ErrorKind::Unsupported } else { error.kind() };
        let name = self.name;
        let text = format!("{name} of {length} bytes at offset {offset} failed: {error}");
        io::Error::new(kind, format!("{text}, after {moved} of them"))
    }
}
