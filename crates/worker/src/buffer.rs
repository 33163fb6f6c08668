//! Memory for the blocks that an engine reads.

use crate::memory::{advise, cannot_map};
use memmap2::{Advice, MmapMut};
use std::io;

/// One page-aligned buffer per slot. Each is written once in advance, so no page fault is timed.
#[derive(Debug)]
pub struct Buffers {
    memory: MmapMut,
    block: usize,
    stride: usize,
}

/// O_DIRECT requires buffers aligned to the device's logical block, which is at most 4 KiB.
const ALIGN: usize = 4096;

impl Buffers {
    /// Allocates `slots` buffers of `block` bytes, in huge pages where whole ones fit. Registered
    /// buffers count against the locked-memory limit by the pages they occupy, and that limit is
    /// often low.
    ///
    /// # Errors
    /// If the OS cannot allocate them; the error states the size.
    pub fn new(slots: usize, block: usize) -> io::Result<Buffers> {
        let stride = block.checked_next_multiple_of(ALIGN);
        let bytes = stride.and_then(|stride| stride.checked_mul(slots));
        let (Some(stride), Some(bytes)) = (stride, bytes) else {
            let text = format!("no machine can address {slots} buffers of {block} bytes");
            return Err(io::Error::other(text));
        };
        let mut memory = MmapMut::map_anon(bytes).map_err(|error| cannot_map(bytes, &error))?;
        advise(&memory, Advice::HugePage, 0, bytes);
        memory.fill(0xA5);
        Ok(Buffers { memory, block, stride })
    }

    /// The buffer of `slot`.
    #[inline]
    pub fn slot(&self, slot: usize) -> &[u8] {
        let start = slot * self.stride;
        &self.memory[start..start + self.block]
    }

    /// The buffer of `slot`, to write to.
    #[inline]
    pub fn slot_mut(&mut self, slot: usize) -> &mut [u8] {
        let start = slot * self.stride;
        &mut self.memory[start..start + self.block]
    }
}
