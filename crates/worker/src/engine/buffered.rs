//! Through a buffer of the program's own, as by `fseek` and `fgetc` of C's stdio.
//!
//! The buffer has 4 KiB, which is what glibc gives to a file on most file systems. A block that
//! follows the last one is taken from the buffer, which one `read(2)` fills where it has run empty.
//! Any other block is sought: `lseek(2)`, and what was buffered is lost. It is lost even where it
//! holds that block, which glibc would find; so the two differ for blocks out of order within a
//! page. A block of the buffer's size or more goes past an empty buffer.

use super::{BlockIo, Range, advise, ended_early, io_error};
use crate::buffer::Buffers;
use model::case::{Advice, FileWork};
use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek, SeekFrom};

/// Bytes of the buffer.
const BUFFER_BYTES: usize = 4096;

/// Reads through a buffer.
#[derive(Debug)]
pub struct Buffered {
    file: BufReader<File>,
    buffers: Buffers,
    work: FileWork,
    range: Range,
    position: u64,
    offset: u64,
    length: usize,
}

impl Buffered {
    /// An engine for the `range` of `file`, whose offset must be 0 and nobody else's.
    pub fn new(file: File, work: &FileWork, range: Range) -> io::Result<Buffered> {
        let buffers = Buffers::new(1, work.block as usize)?;
        let (file, work) = (BufReader::with_capacity(BUFFER_BYTES, file), work.clone());
        Ok(Buffered { file, buffers, work, range, position: 0, offset: 0, length: 0 })
    }
}

impl BlockIo for Buffered {
    const LOADS_ARE_IO: bool = false;

    fn begin_pass(&mut self) -> io::Result<()> {
        advise(self.file.get_ref(), &self.work, self.range)
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
            match self.file.read(&mut self.buffers.slot_mut(0)[filled..self.length]) {
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
