//! Moves nothing, so the loop's time is the tool's own overhead.

use super::BlockIo;
use std::collections::VecDeque;
use std::io;

/// The null engine. Slots come back in the order of submission.
#[derive(Debug)]
pub struct Null {
    submitted: VecDeque<usize>,
}

impl Null {
    /// An engine for `depth` operations in flight.
    pub fn new(depth: usize) -> Null {
        Null { submitted: VecDeque::with_capacity(depth) }
    }
}

impl BlockIo for Null {
    const LOADS_ARE_IO: bool = false;

    #[inline]
    fn submit(&mut self, slot: usize, _offset: u64, _length: usize) -> io::Result<()> {
        self.submitted.push_back(slot);
        Ok(())
    }

    #[inline]
    fn reap(&mut self) -> io::Result<(usize, &[u8])> {
        let slot = self.submitted.pop_front().expect("the loop reaps only what it submitted");
        Ok((slot, &[]))
    }
}
