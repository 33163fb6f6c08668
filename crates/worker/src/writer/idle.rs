//! Writes nothing: the sync call is the operation.

use super::WriteTarget;
use crate::engine::BlockIo;
use std::io;

/// An engine that only syncs.
#[derive(Debug)]
pub struct Idle {
    target: WriteTarget,
}

impl Idle {
    /// An engine for `target`.
    pub fn new(target: WriteTarget) -> Idle {
        Idle { target }
    }
}

impl BlockIo for Idle {
    const LOADS_ARE_IO: bool = false;
    const WRITES: bool = true;
    const MOVES: bool = false;

    fn submit(&mut self, _slot: usize, _offset: u64, _length: usize) -> io::Result<()> {
        Ok(())
    }

    fn reap(&mut self) -> io::Result<(usize, &[u8])> {
        Ok((0, &[]))
    }

    fn sync(&mut self) -> io::Result<()> {
        self.target.sync()
    }
}
