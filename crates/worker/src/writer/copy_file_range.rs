//! `copy_file_range(2)`: the file system copies the blocks, or shares them.

use super::{WriteCall, WriteTarget};
use crate::engine::BlockIo;
use rustix::fs::copy_file_range;
use std::fs::File;
use std::io;

const COPY_FILE_RANGE: WriteCall =
    WriteCall::new("copy_file_range", &[libc::ENOSYS, libc::EOPNOTSUPP, libc::EXDEV]);

/// Copies at explicit offsets.
#[derive(Debug)]
pub struct CopyFileRange {
    source: File,
    target: WriteTarget,
    offset: u64,
    length: usize,
}

impl CopyFileRange {
    /// An engine that copies from `source` to `target`.
    pub fn new(source: File, target: WriteTarget) -> CopyFileRange {
        CopyFileRange { source, target, offset: 0, length: 0 }
    }
}

impl BlockIo for CopyFileRange {
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
        let (source, target) = (&self.source, &self.target.file);
        COPY_FILE_RANGE.whole(offset, length, |moved| {
            let (mut from, mut to) = (offset + moved as u64, offset + moved as u64);
            let rest = length - moved;
            Ok(copy_file_range(source, Some(&mut from), target, Some(&mut to), rest)?)
        })?;
        Ok((0, &[]))
    }

    fn sync(&mut self) -> io::Result<()> {
        self.target.sync()
    }
}
