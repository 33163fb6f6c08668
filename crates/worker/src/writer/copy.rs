//! Copies with `read(2)` and `write(2)` through one buffer, each file at its own offset.

use super::{WriteCall, WriteTarget, stand};
use crate::buffer::Buffers;
use crate::engine::BlockIo;
use model::case::Io;
use std::fs::File;
use std::io::{self, Read, Write};

const READ: WriteCall = WriteCall::new("read", &[]);
const WRITE: WriteCall = WriteCall::new("write", &[]);

/// Copies at the files' offsets.
#[derive(Debug)]
pub struct Copy {
    source: File,
    target: WriteTarget,
    buffers: Buffers,
    read_position: u64,
    write_position: u64,
    offset: u64,
    length: usize,
}

impl Copy {
    /// An engine that copies blocks of `io`. The offsets of both files must be 0 and
    /// not shared.
    pub fn new(source: File, target: WriteTarget, io: &Io) -> io::Result<Copy> {
        let buffers = Buffers::new(1, io.block as usize, io.pages)?;
        let (read_position, write_position, offset, length) = (0, 0, 0, 0);
        Ok(Copy { source, target, buffers, read_position, write_position, offset, length })
    }
}

impl BlockIo for Copy {
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
        let block = &mut self.buffers.slot_mut(0)[..length];
        stand(&self.source, &mut self.read_position, offset)?;
        let mut source = &self.source;
        READ.whole(offset, length, |moved| source.read(&mut block[moved..]))?;
        self.read_position += length as u64;
        stand(&self.target.file, &mut self.write_position, offset)?;
        let mut target = &self.target.file;
        WRITE.whole(offset, length, |moved| target.write(&block[moved..]))?;
        self.write_position += length as u64;
        Ok((0, &[]))
    }

    fn sync(&mut self) -> io::Result<()> {
        self.target.sync()
    }
}
