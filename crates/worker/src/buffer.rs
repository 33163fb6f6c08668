//! Memory that blocks are read into.

use memmap2::{Advice, MmapMut};
use std::io;

/// One buffer for each slot, page-aligned, written once so that no page fault is timed.
#[derive(Debug)]
pub struct Buffers {
    memory: MmapMut,
    block: usize,
    stride: usize,
}

/// O_DIRECT wants buffers at multiples of the device's block; a page is one of all of them.
const ALIGN: usize = 4096;

impl Buffers {
    /// `slots` buffers of `block` bytes.
    pub fn new(slots: usize, block: usize) -> io::Result<Buffers> {
        let stride = block.next_multiple_of(ALIGN);
        let memory = resident_memory(slots * stride)?;
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

/// Anonymous memory in huge pages where the OS gives them, every page of it written.
pub fn resident_memory(bytes: usize) -> io::Result<MmapMut> {
    let mut memory = MmapMut::map_anon(bytes.max(1))?;
    if let Err(error) = memory.advise(Advice::HugePage) {
        log::debug!("no huge pages for {bytes} bytes: {error}");
    }
    memory.fill(0xA5);
    Ok(memory)
}
