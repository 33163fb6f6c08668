//! `read(2)` at the file offset, either directly or through a user-space buffer. It calls
//! `lseek(2)` only if the next block is not adjacent.
//!
//! The buffer works like C stdio with `fseek` and `fgetc`: 4 KiB, which is glibc's choice on most
//! file systems. An adjacent block comes from the buffer, and one `read(2)` refills an empty
//! buffer. Any other block needs a seek, which discards the buffer even if it holds that block.
//! glibc would find the block there, so the two differ for out-of-order blocks within a page. A
//! block at least as large as the buffer bypasses an empty buffer.

use super::{BlockIo, Range, advise, ended_early, io_error};
use crate::buffer::Buffers;
use model::case::{Advice, ReadWork};
use std::fs::File;
use std::io::{self, BufReader, Seek, SeekFrom};

/// Size of the buffer in bytes.
const BUFFER_BYTES: usize = 4096;

/// Reads at the file offset.
#[derive(Debug)]
pub struct Read<F> {
    file: F,
    buffers: Buffers,
    work: ReadWork,
    range: Range,
    position: u64,
    offset: u64,
    length: usize,
}

impl Read<File> {
    /// A direct engine for `range` of `file`, whose offset must be 0 and not shared.
    pub fn bare(file: File, work: &ReadWork, range: Range) -> io::Result<Read<File>> {
        Read::new(file, work, range)
    }
}

impl Read<BufReader<File>> {
    /// The same, through a buffer.
    pub fn buffered(
        file: File,
        work: &ReadWork,
        range: Range,
    ) -> io::Result<Read<BufReader<File>>> {
        Read::new(BufReader::with_capacity(BUFFER_BYTES, file), work, range)
    }
}

impl<F> Read<F> {
    fn new(file: F, work: &ReadWork, range: Range) -> io::Result<Read<F>> {
        let buffers = Buffers::for_reads(&work.io)?;
        Ok(Read { file, buffers, work: *work, range, position: 0, offset: 0, length: 0 })
    }
}

/// A file with its own offset, direct or buffered.
pub trait Standing: io::Read + Seek {
    /// The file itself.
    fn file(&self) -> &File;
}

impl Standing for File {
    fn file(&self) -> &File {
        self
    }
}

impl Standing for BufReader<File> {
    fn file(&self) -> &File {
        self.get_ref()
    }
}

impl<F: Standing> BlockIo for Read<F> {
    const LOADS_ARE_IO: bool = false;

    fn begin_pass(&mut self) -> io::Result<()> {
        advise(self.file.file(), &self.work, self.range)
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
        let asked = self.buffers.asked(self.length);
        let mut filled = 0;
        while filled < self.length {
            match self.file.read(&mut self.buffers.slot_mut(0)[filled..asked]) {
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
