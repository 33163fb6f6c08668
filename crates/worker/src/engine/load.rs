//! Loads what the thread is to touch into anonymous memory by large reads, then gives the blocks
//! from there: the way of a program that reads its input before it begins.
//!
//! Each pass loads anew, within the timed region, into memory that was never touched, as for such
//! a program. A pass that was begun is brought to its end: see [`BlockIo::ENDS_WITH_PASS`].

use super::{BlockIo, Range, advise, ended_early, io_error};
use crate::memory::Memory;
use model::case::{Advice, Pages, ReadWork};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes per read: enough to keep every device busy.
const READ_BYTES: usize = 16 << 20;

/// Loads a range of a file.
#[derive(Debug)]
pub struct Load {
    file: File,
    work: ReadWork,
    range: Range,
    /// What the range is loaded into; none before the first pass.
    memory: Option<Memory>,
    /// Of the block that was submitted, from the start of the range.
    offset: usize,
    length: usize,
}

impl Load {
    /// An engine for the `range` of `file`, in which all its blocks lie.
    pub fn new(file: File, work: &ReadWork, range: Range) -> Load {
        Load { file, work: *work, range, memory: None, offset: 0, length: 0 }
    }

    /// Reads the range into the start of `buffer`.
    fn fill(&self, buffer: &mut [u8]) -> io::Result<()> {
        let (start, length) = (self.range.offset, self.range.length as usize);
        let mut filled = 0;
        while filled < length {
            let end = buffer.len().min(filled + READ_BYTES);
            let offset = start + filled as u64;
            match self.file.read_at(&mut buffer[filled..end], offset) {
                Ok(0) => return Err(ended_early(start, length, filled)),
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(io_error("pread", offset, end - filled, error)),
            }
        }
        Ok(())
    }
}

impl BlockIo for Load {
    const LOADS_ARE_IO: bool = true;
    const ENDS_WITH_PASS: bool = true;

    fn begin_pass(&mut self) -> io::Result<()> {
        // Request a whole block even if the file ends within it: O_DIRECT requires that.
        self.memory = None;
        let pages = if self.work.advice == Advice::HugePage {
            Some(Pages::Huge)
        } else {
            advise(&self.file, &self.work, self.range)?;
            None
        };
        // Whole blocks are asked for even where the file ends within one: O_DIRECT wants that.
        let length = self.range.length.next_multiple_of(self.work.io.block);
        let mut memory = Memory::map(length as usize, pages)?;
        self.fill(memory.bytes_mut())?;
        self.memory = Some(memory);
        Ok(())
    }

    fn loads(&self) -> bool {
        true
    }

    #[inline]
    fn submit(&mut self, _slot: usize, offset: u64, length: usize) -> io::Result<()> {
        (self.offset, self.length) = ((offset - self.range.offset) as usize, length);
        Ok(())
    }

    #[inline]
    fn reap(&mut self) -> io::Result<(usize, &[u8])> {
        let memory = self.memory.as_ref().expect("a pass was begun before its blocks are reaped");
        Ok((0, &memory.bytes()[self.offset..self.offset + self.length]))
    }
}
