//! `pwrite(2)`: one call per block, one block in flight.

use super::{Call, Target};
use crate::engine::BlockIo;
use crate::source::Source;
use std::io;
use std::os::unix::fs::FileExt;

const PWRITE: Call = Call::new("pwrite", &[]);

/// Writes at explicit offsets.
#[derive(Debug)]
pub struct Pwrite {
    target: Target,
    source: Source,
    offset: u64,
}

impl Pwrite {
    /// An engine that writes the blocks of `source` to `target`.
    pub fn new(target: Target, source: Source) -> Pwrite {
        Pwrite { target, source, offset: 0 }
    }
}

impl BlockIo for Pwrite {
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
        PWRITE.whole(offset, block.len(), |moved| {
            file.write_at(&block[moved..], offset + moved as u64)
        })?;
        Ok((0, &[]))
    }

    fn sync(&mut self) -> io::Result<()> {
        self.target.sync()
    }
}
