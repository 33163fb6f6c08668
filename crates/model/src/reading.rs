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
        /// `read(2)` at the file offset, with one open file per thread.
        Read "read",
        /// `pread(2)`.
        Pread "pread",
        /// `mmap(2)`: the block is accessed in place in the page cache.
        Mmap "mmap",
        /// io_uring with registered buffers and files.
        Uring "uring",
        /// Loads the file into anonymous memory, then accesses it there.
        Load "load",
        /// Through a 4 KiB user-space buffer that each seek discards, like C stdio.
        Buffered "buffered",
    }
}

/// Where the program finds the bytes of a block that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockPlace {
    /// Nowhere: none were read.
    Nowhere,
    /// In a buffer of a few blocks.
    Buffer,
    /// In the page cache, through a mapping.
    Mapping,
    /// In memory, where its thread loaded its whole part of the file before.
    Memory,
}

/// How an engine asks the OS for blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadCalls {
    /// Not at all.
    Without,
    /// By a call for each block, which waits for it.
    Each,
    /// The same with flags.
    EachWithFlags,
    /// By calls of another size than the block.
    Gathered,
    /// Through a queue of io_uring, with flags.
    Queued,
}

/// What the rest of the program knows of an engine: a new one has its place in both lists, and
/// whatever depends on them follows.
impl Engine {
    /// Where the program finds a block.
    pub const fn place(self) -> BlockPlace {
        match self {
            Engine::Null => BlockPlace::Nowhere,
            Engine::Read | Engine::Pread | Engine::Uring | Engine::Buffered => BlockPlace::Buffer,
            Engine::Mmap => BlockPlace::Mapping,
            Engine::Load => BlockPlace::Memory,
        }
    }

    /// How it asks the OS.
    pub const fn calls(self) -> ReadCalls {
        match self {
            Engine::Null | Engine::Mmap => ReadCalls::Without,
            Engine::Read => ReadCalls::Each,
            Engine::Pread => ReadCalls::EachWithFlags,
            Engine::Load | Engine::Buffered => ReadCalls::Gathered,
            Engine::Uring => ReadCalls::Queued,
        }
    }

    /// Whether its calls have flags.
    pub(crate) fn has_flags(self) -> bool {
        matches!(self.calls(), ReadCalls::EachWithFlags | ReadCalls::Queued)
    }
}

named! {
    /// What the program does with a block's bytes.
    Touch "touch" {
        /// Nothing: they are delivered and ignored.
        None "none",
        /// Reads one word in every 4 KiB.
        Page "page",
        /// Sums every byte and verifies the sum.
        Sum "sum",
        /// Counts the 4-byte value 10 and verifies the count.
        Count "count",
    }
}

named! {
    /// Advice to the OS about the use of the file.
    Advice "advice" {
        /// None.
        None "none",
        /// It will be read sequentially.
        Sequential "sequential",
        /// It will be read randomly: disables readahead.
        Random "random",
        /// It will be needed soon: start reading it now.
        WillNeed "willneed",
        /// Map every page at once, before the first access (mmap only).
        Populate "populate",
        /// Use huge pages (mmap and load only).
        HugePage "hugepage",
        /// No advice to the OS: six other threads touch a byte of every page ahead of the reading
        /// thread (mmap only).
        TouchAhead "touch-ahead",
    }
}

named! {
    /// How io_uring is used: each value but the last two adds to the one before.
    Submission "submission" {
        /// With a system call for each request.
        Plain "plain",
        /// With a system call for several requests.
        Batch "batch",
        /// The same with a registered ring, files and buffers.
        Fixed "fixed",
        /// The same, and completions are only worked on when they are asked for
        /// (`DEFER_TASKRUN`), if the OS has that.
        Enter "enter",
        /// The same, and completions are found by polling the device (`IOPOLL`).
        Iopoll "iopoll",
        /// Like `fixed`, but through a kernel thread that polls the queue.
        Sqpoll "sqpoll",
    }
}

impl Submission {
    /// Whether the ring, files and buffers are registered.
    pub fn registers(self) -> bool {
        !matches!(self, Submission::Plain | Submission::Batch)
    }

    /// Whether a processor looks for completions, or for operations, all the time.
    pub fn polls(self) -> bool {
        matches!(self, Submission::Iopoll | Submission::Sqpoll)
    }
}

/// Reads a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReadWork {
    /// The blocks and their order.
    pub io: Io,
    /// How a block is moved.
    pub engine: Engine,
    /// What is done with the bytes.
    pub touch: Touch,
    /// The instruction set for a sum or count.
    pub isa: Isa,
    /// The advice.
    pub advice: Advice,
    /// How requests are submitted to io_uring.
    pub submission: Submission,
}

impl Default for ReadWork {
    fn default() -> ReadWork {
        ReadWork {
            io: Io::default(),
            engine: Engine::Pread,
            touch: Touch::Sum,
            isa: Isa::Auto,
            advice: Advice::None,
            submission: Submission::Enter,
        }
    }
}

impl ReadWork {
    /// Whether the file is read more than once if time allows. A cold file is not, because the
    /// second pass would be warm; nor is any file with a fixed number of operations.
    pub fn repeats(&self) -> bool {
        self.io.cache != Cache::Cold && self.io.ops == 0
    }
}
