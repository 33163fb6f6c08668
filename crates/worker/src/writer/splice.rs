//! `splice(2)`: the OS moves pages from one file into a pipe, and from there to the other.

use super::{WriteCall, WriteTarget};
use crate::engine::BlockIo;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

/// EINVAL: the file system does not support splicing.
const CANNOT: &[i32] = &[libc::ENOSYS, libc::EOPNOTSUPP, libc::EXDEV, libc::EINVAL];
const TO_PIPE: WriteCall = WriteCall::new("splice to a pipe", CANNOT);
const FROM_PIPE: WriteCall = WriteCall::new("splice from a pipe", CANNOT);

/// The default limit of a pipe's size in bytes.
const PIPE_BYTES_MAX: usize = 1 << 20;

/// Copies through a pipe.
#[derive(Debug)]
pub struct Splice {
    source: File,
    target: WriteTarget,
    /// The ends of the pipe: read and write.
    pipe: (OwnedFd, OwnedFd),
    offset: u64,
    length: usize,
}

impl Splice {
    /// An engine that copies blocks of up to `block` bytes from `source` to `target`.
    pub fn new(source: File, target: WriteTarget, block: usize) -> io::Result<Splice> {
        let pipe = pipe_with(PipeFlags::CLOEXEC)?;
        // A smaller pipe also works: it moves a block in parts. Unprivileged users have limits on
        // the size of a pipe and on the total.
        if let Err(error) = fcntl_setpipe_size(&pipe.1, block.min(PIPE_BYTES_MAX)) {
            log::debug!("cannot enlarge a pipe to {block} bytes: {error}");
        }
        Ok(Splice { source, target, pipe, offset: 0, length: 0 })
    }
}

impl BlockIo for Splice {
    const LOADS_ARE_IO: bool = false;
    const WRITES: bool = true;

    #[inline]
    fn submit(&mut self, _slot: usize, offset: u64, length: usize) -> io::Result<()> {
        (self.offset, self.length) = (offset, length);
        Ok(())
    }

    #[inline]
    fn reap(&mut self) -> io::Result<(usize, &[u8])> {
        let (offset, length) = (self.offset, self.length);
        let (out, into) = &self.pipe;
        let flags = SpliceFlags::MOVE;
        let mut copied = 0;
        while copied < length {
            let mut from = offset + copied as u64;
            let (source, rest) = (&self.source, length - copied);
            let answer = splice(source, Some(&mut from), into, None, rest, flags);
            let part = TO_PIPE.moved(offset, length, copied, answer.map_err(io::Error::from))?;
            FROM_PIPE.whole(offset + copied as u64, part, |moved| {
                let mut to = offset + (copied + moved) as u64;
                let target = &self.target.file;
                Ok(splice(out, None, target, Some(&mut to), part - moved, flags)?)
            })?;
            copied += part;
        }
        Ok((0, &[]))
    }

    fn sync(&mut self) -> io::Result<()> {
        self.target.sync()
    }
}
