//! io_uring with registered buffers and files: many blocks in flight, reaped in batches.

use super::{WriteCall, WriteTarget};
use crate::engine::ring::{Flight, Ring};
use crate::engine::{BlockIo, Obstacle, flags_of_write};
use crate::source::BlockSource;
use io_uring::{opcode, types};
use model::case::{Submission, WriteWork};
use std::{io, iter};

const URING_WRITE: WriteCall =
    WriteCall::new("io_uring write", &[libc::ENOSYS, libc::EOPNOTSUPP, libc::EXDEV]);

/// Writes through a ring.
pub struct UringWriter {
    // Dropped first, before the memory that the ring uses.
    pub(super) ring: Ring,
    source: BlockSource,
    pub(super) flights: Box<[Flight]>,
    /// Whether the OS accepted the memory for registration.
    pub(super) registered: bool,
    /// The source's first region among the registered memory.
    first_region: u16,
    target: WriteTarget,
    /// The flags of each write.
    flags: libc::c_int,
}

impl UringWriter {
    /// A ring for as many blocks of `source` in flight as `work` has. The thread that will use it
    /// must call this.
    pub fn new(
        target: WriteTarget,
        source: BlockSource,
        work: &WriteWork,
    ) -> Result<UringWriter, Obstacle> {
        // SAFETY: there is no other memory.
        unsafe { UringWriter::beside(target, source, work, iter::empty()) }
    }

    /// The same with `others` registered before the source's memory.
    ///
    /// # Safety
    /// The others must stay valid until this is dropped.
    pub(super) unsafe fn beside<'a>(
        target: WriteTarget,
        source: BlockSource,
        work: &WriteWork,
        others: impl ExactSizeIterator<Item = &'a [u8]>,
    ) -> Result<UringWriter, Obstacle> {
        let depth = work.io.depth;
        let mut ring = Ring::new(depth, Submission::Enter, &[&target.file])?;
        let first_region = others.len() as u16;
        let regions = others.map(|other| -> &[u8] { other }).chain(source.regions());
        // SAFETY: a source's regions never move, and the source is dropped after the ring. The
        // caller guarantees the others.
        let registered = unsafe { ring.register(regions)? };
        let flights = vec![Flight::default(); depth as usize].into_boxed_slice();
        let flags = flags_of_write(work);
        Ok(UringWriter { ring, source, flights, registered, first_region, target, flags })
    }

    /// Queues a write for the rest of the block in `slot`.
    #[inline]
    fn queue(&mut self, slot: usize) -> io::Result<()> {
        let Flight { offset, moved, .. } = self.flights[slot];
        let block = &self.source.block(slot)[moved..];
        let (address, length) = (block.as_ptr(), block.len() as u32);
        let (file, offset) = (types::Fixed(0), offset + moved as u64);
        let entry = if self.registered {
            let region = self.first_region + self.source.region(slot) as u16;
            opcode::WriteFixed::new(file, address, length, region)
                .offset(offset)
                .rw_flags(self.flags)
                .build()
        } else {
            opcode::Write::new(file, address, length).offset(offset).rw_flags(self.flags).build()
        };
        // SAFETY: the source is dropped after the ring. It changes no byte of this block until the
        // next one is made in this slot, and the loop submits only to free slots.
        unsafe { self.ring.queue(slot, entry) }
    }

    /// Whether the write in `slot` is complete after this `answer`. If not, the rest is queued.
    #[inline]
    pub(super) fn is_whole(&mut self, slot: usize, answer: io::Result<usize>) -> io::Result<bool> {
        let flight = &mut self.flights[slot];
        let Flight { offset, length, moved } = *flight;
        flight.moved += URING_WRITE.moved(offset, length, moved, answer)?;
        if flight.moved >= length {
            return Ok(true);
        }
        self.queue(slot)?;
        Ok(false)
    }
}

impl BlockIo for UringWriter {
    const LOADS_ARE_IO: bool = false;
    const WRITES: bool = true;

    fn begin_pass(&mut self) -> io::Result<()> {
        self.source.begin_pass();
        Ok(())
    }

    #[inline]
    fn submit(&mut self, slot: usize, offset: u64, length: usize) -> io::Result<()> {
        self.source.make(slot, offset, length);
        self.flights[slot] = Flight { offset, length, moved: 0 };
        self.queue(slot)?;
        self.ring.tell_batch()
    }

    #[inline]
    fn is_ready(&mut self, most_ns: u64) -> io::Result<bool> {
        self.ring.is_ready(most_ns)
    }

    #[inline]
    fn reap(&mut self) -> io::Result<(usize, &[u8])> {
        loop {
            let (slot, answer) = self.ring.wait()?;
            if self.is_whole(slot, answer)? {
                return Ok((slot, &[]));
            }
        }
    }

    fn sync(&mut self) -> io::Result<()> {
        self.target.sync()
    }
}
