//! The axes that reading and writing a file share.

use crate::cache::Cache;
use crate::pattern::{Order, Pattern, Share, Steps, Visits};
use std::time::Duration;

/// How a file is cut into operations, and in which order threads make them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Io {
    /// Where the data of the file is at the start. `direct` is `O_DIRECT`, for both files of a
    /// copy.
    pub cache: Cache,
    /// In which order.
    pub pattern: Pattern,
    /// Blocks from one step of a strided pattern to the next.
    pub stride: u64,
    /// Bytes of the file.
    pub size: u64,
    /// Bytes an operation.
    pub block: u64,
    /// Operations in flight, for each thread.
    pub depth: u32,
    /// Threads at work.
    pub threads: u32,
    /// How blocks are dealt out to the threads.
    pub share: Share,
    /// The most operations of a trial, over all threads; 0 is no limit.
    pub ops: u64,
    /// The longest a trial lasts. It ends sooner when every block of a cold file was read once, or
    /// a file that is not overwritten is full. A sync at the end is not counted.
    pub time: Duration,
}

impl Io {
    /// Blocks in the file; the last may be short.
    pub fn blocks(&self) -> u64 {
        self.size.div_ceil(self.block)
    }

    /// The blocks that `thread` visits in a trial with `seed`; the same in every pass.
    pub fn visits(&self, thread: u32, seed: u64) -> Visits {
        let order = Order::new(self.pattern, self.blocks(), self.stride, seed);
        Visits::new(order, self.steps(thread), self.block, self.size)
    }

    /// The steps of a pass that are `thread`'s.
    pub fn steps(&self, thread: u32) -> Steps {
        let blocks = if self.ops > 0 { self.ops.min(self.blocks()) } else { self.blocks() };
        Steps::of(self.share, blocks, u64::from(thread), u64::from(self.threads))
    }
}
