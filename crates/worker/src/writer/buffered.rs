//! Writes through an 8 KiB user-space buffer, like Rust's `BufWriter`.
//!
//! An adjacent block goes into the buffer, and one `write(2)` empties it when it is full. Any other
//! block needs a seek, which first empties the buffer. A block at least as large as the buffer
//! bypasses it. What remains at the end, or before a sync, is written then; only that write
//! acknowledges it.

use super::{WriteCall, WriteTarget};
use crate::engine::BlockIo;
use crate::source::BlockSource;
use model::writing::WRITE_BUFFER;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};

const WRITE: WriteCall = WriteCall::new("a write through a buffer", &[]);
const SEEK: WriteCall = WriteCall::new("a seek, before the write through a buffer", &[]);
const FLUSH: WriteCall = WriteCall::new("the flush of a buffer, after the write", &[]);

/// Writes through a buffer.
#[derive(Debug)]
pub struct Buffered {
    buffer: BufWriter<WriteTarget>,
    source: BlockSource,
    position: u64,
    offset: u64,
    length: usize,
}

impl Write for WriteTarget {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for WriteTarget {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

impl Buffered {
    /// An engine that writes the blocks of `source`. The offset of `target` must be 0 and not
    /// shared.
    pub fn new(target: WriteTarget, source: BlockSource) -> Buffered {
        let buffer = BufWriter::with_capacity(WRITE_BUFFER as usize, target);
        Buffered { buffer, source, position: 0, offset: 0, length: 0 }
    }
}

impl BlockIo for Buffered {
    const LOADS_ARE_IO: bool = false;
    const WRITES: bool = true;

    #[inline]
    fn submit(&mut self, slot: usize, offset: u64, length: usize) -> io::Result<()> {
        self.source.make(slot, offset, length);
        (self.offset, self.length) = (offset, length);
        Ok(())
    }

    #[inline]
    fn reap(&mut self) -> io::Result<(usize, &[u8])> {
        let (offset, length) = (self.offset, self.length);
        if self.position != offset && !self.buffer.get_ref().is_appended {
            let sought = self.buffer.seek(SeekFrom::Start(offset));
            self.position = sought.map_err(|error| SEEK.failed(offset, length, 0, &error))?;
        }
        let written = self.buffer.write_all(self.source.block(0));
        written.map_err(|error| WRITE.failed(offset, length, 0, &error))?;
        self.position += length as u64;
        Ok((0, &[]))
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.buffer.flush();
        flushed.map_err(|error| FLUSH.failed(self.offset, self.length, 0, &error))
    }

    fn kept(&self) -> u64 {
        self.buffer.buffer().len() as u64
    }

    fn sync(&mut self) -> io::Result<()> {
        self.buffer.get_ref().sync()
    }
}
