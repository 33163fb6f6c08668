//! Copies with io_uring: each slot reads a block, then writes it, with many in flight.

use super::{WriteCall, WriteTarget};
use crate::buffer::Buffers;
use crate::engine::ring::{Flight, Ring};
use crate::engine::{BlockIo, Obstacle};
use io_uring::{opcode, types};
use model::case::{Io, Submission};
use std::fs::File;
use std::io;

const CANNOT: &[i32] = &[libc::ENOSYS, libc::EOPNOTSUPP, libc::EXDEV];
const READ: WriteCall = WriteCall::new("io_uring read", CANNOT);
const WRITE: WriteCall = WriteCall::new("io_uring write", CANNOT);

/// Copies through a ring.
pub struct UringCopy {
    // Dropped first, before the buffers that the ring uses.
    ring: Ring,
    buffers: Buffers,
    steps: Box<[SlotStep]>,
    /// Whether the OS accepted the buffers for registration.
    registered: bool,
    target: WriteTarget,
}

/// A slot's current step.
#[derive(Debug, Clone, Copy)]
enum SlotStep {
    Read(Flight),
    Write(Flight),
}

impl UringCopy {
    /// A ring for as many blocks in flight as `work` has. The thread that will use it must call
    /// this.
    pub fn new(source: &File, target: WriteTarget, work: &Io) -> Result<UringCopy, Obstacle> {
        // Registration keeps the files open.
        let mut ring = Ring::new(work.depth, Submission::Enter, &[source, &target.file])?;
        let slots = work.depth as usize;
        let buffers = Buffers::new(slots, work.block as usize, work.pages).map_err(|error| {
            Obstacle::Failed(format!("allocating {slots} buffers failed: {error}"))
        })?;
        // SAFETY: the buffers never move, and they are dropped after the ring.
        let registered = unsafe { ring.register((0..slots).map(|slot| buffers.slot(slot)))? };
        let steps = vec![SlotStep::Read(Flight::default()); slots].into_boxed_slice();
        Ok(UringCopy { ring, buffers, steps, registered, target })
    }

    /// Queues the rest of the step in `slot`.
    #[inline]
    fn queue(&mut self, slot: usize) -> io::Result<()> {
        let (SlotStep::Read(flight) | SlotStep::Write(flight)) = self.steps[slot];
        let Flight { offset, length, moved } = flight;
        let rest = &mut self.buffers.slot_mut(slot)[moved..length];
        let (address, length) = (rest.as_mut_ptr(), rest.len() as u32);
        let (buffer, offset) = (slot as u16, offset + moved as u64);
        let (source, target) = (types::Fixed(0), types::Fixed(1));
        let entry = match (self.steps[slot], self.registered) {
            (SlotStep::Read(_), true) => {
                opcode::ReadFixed::new(source, address, length, buffer).offset(offset).build()
            }
            (SlotStep::Read(_), false) => {
                opcode::Read::new(source, address, length).offset(offset).build()
            }
            (SlotStep::Write(_), true) => {
                opcode::WriteFixed::new(target, address, length, buffer).offset(offset).build()
            }
            (SlotStep::Write(_), false) => {
                opcode::Write::new(target, address, length).offset(offset).build()
            }
        };
        // SAFETY: the buffers are dropped after the ring, and nobody accesses the buffer of a slot
        // in flight.
        unsafe { self.ring.queue(slot, entry) }
    }
}

impl BlockIo for UringCopy {
    const LOADS_ARE_IO: bool = false;
    const WRITES: bool = true;

    #[inline]
    fn submit(&mut self, slot: usize, offset: u64, length: usize) -> io::Result<()> {
        self.steps[slot] = SlotStep::Read(Flight { offset, length, moved: 0 });
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
            let (call, mut flight) = match self.steps[slot] {
                SlotStep::Read(flight) => (READ, flight),
                SlotStep::Write(flight) => (WRITE, flight),
            };
            flight.moved += call.moved(flight.offset, flight.length, flight.moved, answer)?;
            let is_whole = flight.moved >= flight.length;
            self.steps[slot] = match self.steps[slot] {
                SlotStep::Read(_) if is_whole => SlotStep::Write(Flight { moved: 0, ..flight }),
                SlotStep::Read(_) => SlotStep::Read(flight),
                SlotStep::Write(_) if is_whole => return Ok((slot, &[])),
                SlotStep::Write(_) => SlotStep::Write(flight),
            };
            self.queue(slot)?;
        }
    }

    fn sync(&mut self) -> io::Result<()> {
        self.target.sync()
    }
}
