//! `pwrite(2)`: one call per block, one block in flight.

use super::{Call, Target};
use crate::engine::{BlockIo, DONT_CACHE};
use crate::source::Source;
use std::fs::File;
use std::io::{self, IoSlice};
use std::os::unix::fs::FileExt;

const PWRITE: Call = Call::new("pwrite", &[]);

const PWRITEV2: Call = Call::new("pwritev2 with RWF_DONTCACHE", &[libc::ENOSYS, libc::EOPNOTSUPP]);

/// Writes at explicit offsets; with `LEAVES_NOTHING`, by `pwritev2(2)` with `RWF_DONTCACHE`.
#[derive(Debug)]
pub struct Pwrite<const LEAVES_NOTHING: bool> {
    target: Target,
    source: Source,
    offset: u64,
}

impl<const LEAVES_NOTHING: bool> Pwrite<LEAVES_NOTHING> {
    const CALL: Call = if LEAVES_NOTHING { PWRITEV2 } else { PWRITE };

    /// An engine that writes the blocks of `source` to `target`.
    pub fn new(target: Target, source: Source) -> Self {
        Pwrite { target, source, offset: 0 }
    }
}

/// Writes a part of a block.
#[inline(always)]
fn write_at<const LEAVES_NOTHING: bool>(
    file: &File,
    bytes: &[u8],
    offset: u64,
) -> io::Result<usize> {
    if LEAVES_NOTHING {
        return Ok(rustix::io::pwritev2(file, &[IoSlice::new(bytes)], offset, DONT_CACHE)?);
    }
    file.write_at(bytes, offset)
}

impl<const LEAVES_NOTHING: bool> BlockIo for Pwrite<LEAVES_NOTHING> {
    const LOADS_ARE_IO: bool = false;
    const WRITES: bool = true;

    #[inline]
    fn submit(&mut self, slot: usize, offset: u64, length: usize) -> io::Result<()> {
        self.source.make(slot, offset, length);
        self.offset = offset;
        Ok(())
    }

    #[inline]
    fn reap(&mut self) -> io::Result<(usize, &[u8])> {
        let (file, block) = (&self.target.file, self.source.block(0));
        let offset = self.offset;
        Self::CALL.whole(offset, block.len(), |moved| {
            write_at::<LEAVES_NOTHING>(file, &block[moved..], offset + moved as u64)
        })?;
        Ok((0, &[]))
    }

    fn sync(&mut self) -> io::Result<()> {
        self.target.sync()
    }
}
