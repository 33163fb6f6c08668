//! `pwrite(2)` and `pread(2)` on one file, one block in flight.

use super::WriteTarget;
use super::pwrite::Pwrite;
use crate::buffer::Buffers;
use crate::engine::BlockIo;
use crate::engine::pread::read_block;
use crate::source::BlockSource;
use model::case::Io;
use std::fs::File;
use std::io;

/// Writes and reads at explicit offsets.
#[derive(Debug)]
pub struct MixedPwrite {
    writer: Pwrite<0>,
    file: File,
    buffers: Buffers,
    /// The offset and the length of the operation in flight, if it reads.
    reading: Option<(u64, usize)>,
}

impl MixedPwrite {
    /// An engine that writes the blocks of `source` to `target` and reads blocks of it.
    ///
    /// # Errors
    /// If the OS has no memory or no descriptor left.
    pub fn new(target: WriteTarget, source: BlockSource, io: &Io) -> io::Result<MixedPwrite> {
        let (file, buffers) = (target.file.try_clone()?, Buffers::for_reads(io)?);
        Ok(MixedPwrite { writer: Pwrite::new(target, source), file, buffers, reading: None })
    }
}

impl BlockIo for MixedPwrite {
    const LOADS_ARE_IO: bool = false;
    const WRITES: bool = true;
    const MIXES: bool = true;

    #[inline]
    fn submit(&mut self, slot: usize, offset: u64, length: usize) -> io::Result<()> {
        self.reading = None;
        self.writer.submit(slot, offset, length)
    }

    #[inline]
    fn submit_read(&mut self, _slot: usize, offset: u64, length: usize) -> io::Result<()> {
        self.reading = Some((offset, length));
        Ok(())
    }

    #[inline]
    fn reap(&mut self) -> io::Result<(usize, &[u8])> {
        let Some((offset, length)) = self.reading else { return self.writer.reap() };
        let asked = self.buffers.asked(length);
        let buffer = &mut self.buffers.slot_mut(0)[..asked];
        let block = read_block::<false>(&self.file, buffer, offset, length)?;
        Ok((0, block))
    }

    fn sync(&mut self) -> io::Result<()> {
        self.writer.sync()
    }
}
