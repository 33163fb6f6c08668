//! Moves nothing, so the loop's time is the tool's own overhead, including the stamps.

use crate::engine::BlockIo;
use crate::source::BlockSource;
use std::collections::VecDeque;
use std::io;

/// The null engine. Slots come back in the order of submission.
#[derive(Debug)]
pub struct NullWriter<const MIXES: bool> {
    source: BlockSource,
    submitted: VecDeque<usize>,
}

impl<const MIXES: bool> NullWriter<MIXES> {
    /// An engine that prepares the blocks of `source`, with up to `depth` operations in flight.
    pub fn new(source: BlockSource, depth: usize) -> Self {
        NullWriter { source, submitted: VecDeque::with_capacity(depth) }
    }
}

impl<const MIXES: bool> BlockIo for NullWriter<MIXES> {
    const LOADS_ARE_IO: bool = false;
    const MIXES: bool = MIXES;

    #[inline]
    fn submit(&mut self, slot: usize, offset: u64, length: usize) -> io::Result<()> {
        self.source.make(slot, offset, length);
        self.submitted.push_back(slot);
        Ok(())
    }

    #[inline]
    fn submit_read(&mut self, slot: usize, _offset: u64, _length: usize) -> io::Result<()> {
        self.submitted.push_back(slot);
        Ok(())
    }

    #[inline]
    fn reap(&mut self) -> io::Result<(usize, &[u8])> {
        let slot = self.submitted.pop_front().expect("the loop reaps only what it submitted");
        // Without a use of the block, the compiler would remove the stamps.
        Ok((slot, std::hint::black_box(self.source.block(slot))))
    }
}
