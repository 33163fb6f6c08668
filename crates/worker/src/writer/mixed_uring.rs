//! io_uring of which some operations read the file and the rest write it.

use super::WriteTarget;
use super::uring::UringWriter;
use crate::buffer::Buffers;
use crate::engine::ring::Flight;
use crate::engine::{BlockIo, Obstacle, ended_early, io_error};
use crate::source::BlockSource;
use io_uring::{opcode, types};
use model::case::WriteWork;
use std::io;

/// Writes and reads through one ring.
pub struct MixedUring {
    // Dropped first, before the buffers that its ring uses.
    writer: UringWriter,
    buffers: Buffers,
    /// For each slot, whether its operation reads.
    reads: Box<[bool]>,
}

impl MixedUring {
    /// A ring for as many operations in flight as `work` has. The thread that will use it must call
    /// this.
    pub fn new(
        target: WriteTarget,
        source: BlockSource,
        work: &WriteWork,
    ) -> Result<MixedUring, Obstacle> {
        let depth = work.io.depth as usize;
        let buffers = Buffers::new(depth, work.io.block as usize, work.io.pages);
        let buffers = buffers.map_err(|error| {
            Obstacle::Failed(format!("allocating {depth} buffers failed: {error}"))
        })?;
        let slots = (0..depth).map(|slot| buffers.slot(slot));
        // SAFETY: the buffers never move, and they are dropped after the writer.
        let writer = unsafe { UringWriter::beside(target, source, work, slots)? };
        Ok(MixedUring { writer, buffers, reads: vec![false; depth].into_boxed_slice() })
    }

    /// Queues a read for the rest of the block in `slot`.
    #[inline]
    fn queue(&mut self, slot: usize) -> io::Result<()> {
        let Flight { offset, length, moved } = self.writer.flights[slot];
        let buffer = &mut self.buffers.slot_mut(slot)[moved..length];
        let (address, length) = (buffer.as_mut_ptr(), buffer.len() as u32);
        let (file, offset) = (types::Fixed(0), offset + moved as u64);
        let entry = if self.writer.registered {
            opcode::ReadFixed::new(file, address, length, slot as u16).offset(offset).build()
        } else {
            opcode::Read::new(file, address, length).offset(offset).build()
        };
        // SAFETY: the buffers are dropped after the ring. Nobody accesses the buffer of a slot in
        // flight: the loop gets its bytes only when it is reaped.
        unsafe { self.writer.ring.queue(slot, entry) }
    }

    /// Whether the read in `slot` is complete after this `answer`. If not, the rest is queued.
    #[inline]
    fn is_whole(&mut self, slot: usize, answer: io::Result<usize>) -> io::Result<bool> {
        let flight = &mut self.writer.flights[slot];
        let Flight { offset, length, moved } = *flight;
        match answer {
            Ok(0) => return Err(ended_early(offset, length, moved)),
            Ok(count) => flight.moved += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(io_error("io_uring read", offset, length, error)),
        }
        if flight.moved >= length {
            return Ok(true);
        }
        self.queue(slot)?;
        Ok(false)
    }
}

impl BlockIo for MixedUring {
    const LOADS_ARE_IO: bool = false;
    const WRITES: bool = true;
    const MIXES: bool = true;

    #[inline]
    fn submit(&mut self, slot: usize, offset: u64, length: usize) -> io::Result<()> {
        self.reads[slot] = false;
        self.writer.submit(slot, offset, length)
    }

    #[inline]
    fn submit_read(&mut self, slot: usize, offset: u64, length: usize) -> io::Result<()> {
        self.reads[slot] = true;
        self.writer.flights[slot] = Flight { offset, length, moved: 0 };
        self.queue(slot)?;
        self.writer.ring.tell_batch()
    }

    #[inline]
    fn reap(&mut self) -> io::Result<(usize, &[u8])> {
        loop {
            let (slot, answer) = self.writer.ring.wait()?;
            if !self.reads[slot] {
                if self.writer.is_whole(slot, answer)? {
                    return Ok((slot, &[]));
                }
            } else if self.is_whole(slot, answer)? {
                let length = self.writer.flights[slot].length;
                return Ok((slot, &self.buffers.slot(slot)[..length]));
            }
        }
    }

    fn sync(&mut self) -> io::Result<()> {
        self.writer.sync()
    }
}
