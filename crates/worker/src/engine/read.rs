//! `read(2)` at the file's own offset; `lseek(2)` only where the next block is not the next one.

use super::{BlockIo, Range, advise, ended_early, io_error};
use crate::buffer::Buffers;
use model::case::{Advice, FileWork};
use std::fs::File;
use std::io::{self, Read as _, Seek, SeekFrom};

/// Reads where the file stands.
#[derive(Debug)]
pub struct Read {
    file: File,
    buffers: Buffers,
    work: FileWork,
    range: Range,
    position: u64,
    offset: u64,
    length: usize,
}

impl Read {
    /// An engine for the `range` of `file`, whose offset must be 0 and nobody else's.
    pub fn new(file: File, work: &FileWork, range: Range) -> io::Result<Read> {
        let buffers = Buffers::new(1, work.block as usize)?;
        Ok(Read { file, buffers, work: work.clone(), range, position: 0, offset: 0, length: 0 })
    }
}

impl BlockIo for Read {
    const LOADS_ARE_IO: bool = false;

    fn begin_pass(&mut self) -> io::Result<()> {
        advise(&self.file, &self.work, self.range)
    }

    fn loads(&self) -> bool {
        self.work.advice != Advice::None
    }

    #[inline]
    fn submit(&mut self, _slot: usize, offset: u64, length: usize) -> io::Result<()> {
        (self.offset, self.length) = (offset, length);
        Ok(())
    }

    #[inline]
    fn reap(&mut self) -> io::Result<(usize, &[u8])> {
        if self.position != self.offset {
            self.position = self.file.seek(SeekFrom::Start(self.offset))?;
        }
        let mut filled = 0;
        while filled < self.length {
            match self.file.read(&mut self.buffers.slot_mut(0)[filled..]) {
                Ok(0) => return Err(ended_early(self.offset, self.length, filled)),
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(io_error("read", self.offset, self.length, error)),
            }
        }
        self.position += filled as u64;
        Ok((0, &self.buffers.slot(0)[..self.length]))
    }
}
