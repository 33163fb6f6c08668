//! Loads the thread's whole range into anonymous memory with large reads, then returns blocks from
//! there. Programs that read all their input before processing it do this.
//!
//! Each pass loads again, within the timed region, into fresh memory, as such a program would. A
//! pass always runs to completion: see [`BlockIo::ENDS_WITH_PASS`].

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
pub struct RangeLoader {
    file: File,
    work: ReadWork,
    range: Range,
    /// The loaded range; `None` before the first pass.
    memory: Option<Memory>,
    /// The submitted block's offset, relative to the start of the range.
    offset: usize,
    length: usize,
}

impl RangeLoader {
    /// An engine for `range` of `file`, which must contain all its blocks.
    pub fn new(file: File, work: &ReadWork, range: Range) -> RangeLoader {
        RangeLoader { file, work: *work, range, memory: None, offset: 0, length: 0 }
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

impl BlockIo for RangeLoader {
    const LOADS_ARE_IO: bool = true;
    const ENDS_WITH_PASS: bool = true;

    fn begin_pass(&mut self) -> io::Result<()> {
        // Unmap the previous pass's memory first, so there is never more than one copy.
        self.memory = None;
        let pages = if self.work.advice == Advice::HugePage {
            Some(Pages::Huge)
        } else {
            advise(&self.file, &self.work, self.range)?;
            None
        };
        // Request a whole block even if the file ends within it: O_DIRECT requires that.
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
