//! `write(2)` at the file offset; it calls `lseek(2)` only if the next block is not adjacent.

use super::{WriteCall, WriteTarget, stand};
use crate::engine::BlockIo;
use crate::source::BlockSource;
use std::io::{self, Write as _};

const WRITE: WriteCall = WriteCall::new("write", &[]);

/// Writes at the file offset.
#[derive(Debug)]
pub struct Write {
    target: WriteTarget,
    source: BlockSource,
    position: u64,
    offset: u64,
}

impl Write {
    /// An engine that writes the blocks of `source`. The offset of `target` must be 0 and not
    /// shared.
    pub fn new(target: WriteTarget, source: BlockSource) -> Write {
        Write { target, source, position: 0, offset: 0 }
    }
}

impl BlockIo for Write {
    const LOADS_ARE_IO: bool = false;
    const WRITES: bool = true;

    fn begin_pass(&mut self) -> io::Result<()> {
        self.source.begin_pass();
        Ok(())
    }

    #[inline]
    fn submit(&mut self, slot: usize, offset: u64, length: usize) -> io::Result<()> {
        self.source.make(slot, offset, length);
        self.offset = offset;
        Ok(())
    }

    #[inline]
    fn reap(&mut self) -> io::Result<(usize, &[u8])> {
        if !self.target.is_appended {
            stand(&self.target.file, &mut self.position, self.offset)?;
        }
        let (mut file, block) = (&self.target.file, self.source.block(0));
        WRITE.whole(self.offset, block.len(), |moved| file.write(&block[moved..]))?;
        self.position += block.len() as u64;
        Ok((0, &[]))
    }

    fn sync(&mut self) -> io::Result<()> {
        self.target.sync()
    }
}
