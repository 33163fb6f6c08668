//! io_uring with registered buffers and files: many blocks in flight, reaped in batches.

use super::ring::{Flight, Ring};
use super::{BlockIo, Obstacle, Range, advise, ended_early, flags, io_error};
use crate::buffer::Buffers;
use io_uring::{opcode, squeue, types};
use model::case::{Advice, Cache, ReadWork};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Reads through a ring.
pub struct Uring {
    // Dropped first, before the buffers that the ring uses.
    ring: Ring,
    buffers: Buffers,
    flights: Box<[Flight]>,
    /// Whether the OS accepted the buffers for registration.
    registered: bool,
    /// The file in a request: its descriptor, or its registered index with the flag for that.
    target: (types::Fd, squeue::Flags),
    file: File,
    work: ReadWork,
    range: Range,
}

impl Uring {
    /// A ring for `range` of `file`. The thread that will use it must call this.
    pub fn new(file: File, work: &ReadWork, range: Range) -> Result<Uring, Obstacle> {
        let depth = work.io.depth as usize;
        let mut ring = Ring::new(work.io.depth, work.submission, &[&file])?;
        let buffers = Buffers::for_reads(&work.io);
        let buffers = buffers.map_err(|error| {
            Obstacle::Failed(format!("allocating {depth} buffers failed: {error}"))
        })?;
        // SAFETY: the buffers never move, and they are dropped after the ring.
        let registered = work.submission.registers()
            && unsafe { ring.register((0..depth).map(|slot| buffers.slot(slot)))? };
        let flights = vec![Flight::default(); depth].into_boxed_slice();
        let target = match work.submission.registers() {
            true => (types::Fd(0), squeue::Flags::FIXED_FILE),
            false => (types::Fd(file.as_raw_fd()), squeue::Flags::empty()),
        };
        Ok(Uring { ring, buffers, flights, registered, target, file, work: *work, range })
    }

    /// Queues a read for the rest of the block in `slot`.
    #[inline]
    fn queue(&mut self, slot: usize) -> io::Result<()> {
        let Flight { offset, length, moved } = self.flights[slot];
        let asked = self.buffers.asked(length);
        let buffer = &mut self.buffers.slot_mut(slot)[moved..asked];
        let (address, length) = (buffer.as_mut_ptr(), buffer.len() as u32);
        let offset = offset + moved as u64;
        let flags = flags(self.work.io.cache);
        let entry = if self.registered {
            opcode::ReadFixed::new(self.target.0, address, length, slot as u16)
                .offset(offset)
                .rw_flags(flags)
                .build()
        } else {
            opcode::Read::new(self.target.0, address, length).offset(offset).rw_flags(flags).build()
        };
        let entry = entry.flags(self.target.1);
        // SAFETY: the buffers are dropped after the ring. Nobody accesses the buffer of a slot in
        // flight: the loop gets its bytes only when it is reaped.
        unsafe { self.ring.queue(slot, entry) }
    }
}

impl BlockIo for Uring {
    const LOADS_ARE_IO: bool = false;

    fn begin_pass(&mut self) -> io::Result<()> {
        advise(&self.file, &self.work, self.range)
    }

    fn loads(&self) -> bool {
        self.work.advice != Advice::None
    }

    #[inline]
    fn submit(&mut self, slot: usize, offset: u64, length: usize) -> io::Result<()> {
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
            let (slot, read) = self.ring.wait()?;
            let flight = &mut self.flights[slot];
            let Flight { offset, length, moved } = *flight;
            match read {
                Ok(0) => return Err(ended_early(offset, length, moved)),
                Ok(count) => flight.moved += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let leaves_nothing = self.work.io.cache == Cache::DontCache;
                    let with = if leaves_nothing { " with RWF_DONTCACHE" } else { "" };
                    let tried = format!("io_uring read{with}");
                    return Err(io_error(&tried, offset, length, error));
                }
            }
            if self.flights[slot].moved >= length {
                return Ok((slot, &self.buffers.slot(slot)[..length]));
            }
            self.queue(slot)?;
        }
    }
}
