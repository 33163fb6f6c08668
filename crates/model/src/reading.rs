//! Work that reads a file.

use crate::cache::Cache;
use crate::io::Io;
use crate::memory::Isa;
use crate::named;

named! {
    /// A way to move a block from a file to the program.
    Engine "engine" {
        /// Moves nothing, to measure the tool's own overhead.
        Null "null",
        /// `read(2)` at the file's own offset, one open file a thread.
        Read "read",
        /// `pread(2)`.
        Pread "pread",
        /// `mmap(2)`: the block is touched in the page cache itself.
        Mmap "mmap",
        /// io_uring with registered buffers and files.
        Uring "uring",
        /// Loads the file into anonymous memory, then touches it there.
        Load "load",
        /// Through a buffer of the program's own of 4 KiB that each seek empties, as C's stdio.
        Buffered "buffered",
    }
}

named! {
    /// The use of a block's bytes.
    Touch "touch" {
        /// Nothing: they are delivered and ignored.
        None "none",
        /// One word in every 4 KiB is read.
        Page "page",
        /// Every byte is added up, and the sum is checked.
        Sum "sum",
        /// The 4-byte value 10 is counted, and the count is checked.
        Count "count",
    }
}

named! {
    /// Advice to the OS about the use of the file.
    Advice "advice" {
        /// Nothing.
        None "none",
        /// It will be read in order.
        Sequential "sequential",
        /// It will be read in no order: no readahead.
        Random "random",
        /// It will be needed soon: begin to read it now.
        WillNeed "willneed",
        /// Map every page at once, before the first touch (mmap only).
        Populate "populate",
        /// Use huge pages (mmap and load only).
        HugePage "hugepage",
        /// Not said to the OS: six other threads touch a byte of every page ahead of the one
        /// that reads (mmap only).
        TouchAhead "touch-ahead",
    }
}

named! {
    /// How io_uring learns of new requests.
    Submission "submission" {
        /// By a system call.
        Enter "enter",
        /// By a thread of the OS that polls the queue.
        Sqpoll "sqpoll",
    }
}

/// Reads a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReadWork {
    /// Which blocks, in which order.
    pub io: Io,
    /// How a block is moved.
    pub engine: Engine,
    /// The use of the bytes.
    pub touch: Touch,
    /// The instruction set of a sum or a count.
    pub isa: Isa,
    /// The advice.
    pub advice: Advice,
    /// How io_uring learns of requests.
    pub submission: Submission,
}

impl ReadWork {
    /// Whether the file is passed more than once if time allows. A cold file is not, for the
    /// second time it would be warm; nor is any where the number of operations is given.
    pub fn repeats(&self) -> bool {
        self.io.cache != Cache::Cold && self.io.ops == 0
    }
}
