//! Work that writes a file.

mod atomic;

pub use atomic::{Atomic, JournalEnd};

use crate::cache::{Cache, dontcache_refusal};
use crate::content::{Content, ContentKind};
use crate::io::Io;
use crate::list::those;
use crate::mix::Mix;
use crate::named;
use crate::pattern::Pattern;
use crate::sample::Span;

/// Size in bytes of the buffer of the engine that writes through one: that of Rust's `BufWriter`.
pub const WRITE_BUFFER: u64 = 8 << 10;

named! {
    /// The operation on the file.
    Op "op" {
        /// Writes blocks.
        Write "write",
        /// Copies blocks of another file into it.
        Copy "copy",
        /// Only calls the sync, to measure its cost with nothing dirty.
        Sync "sync",
    }
}

named! {
    /// A way to move a block from the program, or from another file, to a file.
    WriteEngine "engine" {
        /// Moves nothing, to measure the tool's own overhead, including the stamps.
        Null "null",
        /// `write(2)` at the file offset, with one open file per thread. A copy uses `read(2)` and
        /// `write(2)`.
        Write "write",
        /// `pwrite(2)`.
        Pwrite "pwrite",
        /// Through an 8 KiB user-space buffer, like a language's standard library.
        Buffered "buffered",
        /// `mmap(2)`: the block is stored directly into the page cache.
        Mmap "mmap",
        /// io_uring with registered buffers and files.
        Uring "uring",
        /// `copy_file_range(2)`.
        CopyFileRange "copy-file-range",
        /// `sendfile(2)`.
        Sendfile "sendfile",
        /// `splice(2)` through a pipe.
        Splice "splice",
    }
}

named! {
    /// What makes the data durable, or is mistaken for that.
    Sync "sync" {
        /// Nothing: the OS writes back when it likes.
        None "none",
        /// `fdatasync(2)`.
        Fdatasync "fdatasync",
        /// `fsync(2)`.
        Fsync "fsync",
        /// The file is opened with `O_DSYNC`, so each write is durable when it returns.
        Dsync "dsync",
        /// `msync(2)` with `MS_SYNC` (mmap only).
        Msync "msync",
        /// `sync_file_range(2)`, which waits for the writes but flushes neither device caches nor
        /// metadata. So the data is not durable.
        FileRange "sync-file-range",
    }
}

named! {
    /// The file's state at the start of a trial.
    Allocation "allocation" {
        /// Empty; it grows.
        None "none",
        /// Blocks that were allocated but never written (`fallocate(2)`).
        Fallocate "fallocate",
        /// Data, which is overwritten.
        Overwrite "overwrite",
        /// Empty, and each write appends (`O_APPEND`), as to a log.
        Append "append",
    }
}

named! {
    /// The content to write.
    Fill "fill" {
        /// Incompressible data with a unique stamp in every 4 KiB.
        Random "random",
        /// The byte 0xAB.
        Constant "constant",
        /// The byte 0.
        Zero "zero",
    }
}

/// Writes a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct WriteWork {
    /// The blocks and their order. The cache state applies to the file that is overwritten or
    /// copied.
    pub io: Io,
    /// The operation.
    pub op: Op,
    /// How a block is moved.
    pub engine: WriteEngine,
    /// What makes it durable.
    pub sync: Sync,
    /// Blocks per thread between syncs; 0 means only one at the end. There is always one at the
    /// end.
    pub every: u64,
    /// The file's state at the start.
    pub allocation: Allocation,
    /// The content to write.
    pub fill: Fill,
    /// How many operations in a hundred read a block in place of writing it.
    pub read_share: u8,
    /// What a power cut may leave of a block.
    pub atomic: Atomic,
}

impl Sync {
    /// Whether it claims that data is durable when it returns.
    pub fn claims_durable(self) -> bool {
        !matches!(self, Sync::None | Sync::FileRange)
    }

    /// Whether it is a separate call: neither absent nor part of each write.
    pub fn is_call(self) -> bool {
        !matches!(self, Sync::None | Sync::Dsync)
    }
}

impl WriteEngine {
    /// Whether it can only copy: the data never reaches the program.
    pub fn only_copies(self) -> bool {
        matches!(self, WriteEngine::CopyFileRange | WriteEngine::Sendfile | WriteEngine::Splice)
    }

    fn copies(self) -> bool {
        self.only_copies() || matches!(self, WriteEngine::Write | WriteEngine::Uring)
    }

    /// Whether it writes at offsets, by calls that have flags.
    fn has_flags(self) -> bool {
        matches!(self, WriteEngine::Pwrite | WriteEngine::Uring)
    }
}

impl Fill {
    /// The kind of content of a file filled this way.
    pub fn kind(self) -> ContentKind {
        match self {
            Fill::Random => ContentKind::Stamped,
            Fill::Constant => ContentKind::Constant,
            Fill::Zero => ContentKind::Zero,
        }
    }
}

impl Default for WriteWork {
    fn default() -> WriteWork {
        WriteWork {
            io: Io::default(),
            op: Op::Write,
            engine: WriteEngine::Pwrite,
            sync: Sync::None,
            every: 0,
            allocation: Allocation::None,
            fill: Fill::Random,
            read_share: 0,
            atomic: Atomic::No,
        }
    }
}

impl WriteWork {
    /// Whether a trial writes the file more than once if time allows. Only existing data can be
    /// overwritten repeatedly without changing the case. What one sync at the end makes durable is
    /// written once: of several versions, only the last would be. A rate asks for its operations
    /// whatever they overwrite.
    pub fn repeats(&self) -> bool {
        let stays = self.allocation == Allocation::Overwrite && self.io.cache != Cache::Cold;
        let is_claimed = self.sync.claims_durable() && self.sync.is_call();
        let has_one_sync = self.op != Op::Sync && is_claimed && self.every == 0;
        let ends_with_pass = has_one_sync && self.io.rate == 0;
        self.op != Op::Copy && stays && self.io.ops == 0 && !ends_with_pass
    }

    /// Whether it needs nothing of the file's old content: each write replaces whole pages of so
    /// many bytes.
    pub fn replaces_pages(&self, page: u64) -> bool {
        let fetches = self.engine == WriteEngine::Mmap || self.read_share > 0;
        self.op != Op::Sync && !fetches && self.io.least_block().is_multiple_of(page)
    }

    /// Whether several threads append to one file: the OS decides where each block goes.
    pub fn appends_together(&self) -> bool {
        self.allocation == Allocation::Append && self.io.threads > 1
    }

    /// The content written in a trial with `seed`, unless it is a copy.
    pub fn content(&self, seed: u64) -> Content {
        Content { seed, size: self.io.size, kind: self.fill.kind() }
    }

    /// Which operations of `thread` read in a trial with `seed`; `None` if all write.
    pub fn mix(&self, thread: u32, seed: u64) -> Option<Mix> {
        (self.read_share > 0).then(|| Mix::new(self.read_share, thread, seed))
    }

    /// The number of sync calls for the operations in `spans`: one after every `every` blocks of a
    /// thread, and one at its end. If nothing is written, each operation is one.
    pub fn sync_calls(&self, spans: &[Span]) -> u64 {
        if !self.sync.is_call() {
            return 0;
        }
        let of_thread = |span: &Span| match (self.op, self.every) {
            (Op::Sync, _) => span.ops,
            (_, 0) => 1,
            (_, every) => span.ops.div_ceil(every),
        };
        let spans = spans.iter().filter(|span| span.ops > 0);
        spans.fold(0, |sum, span| sum.saturating_add(of_thread(span)))
    }

    /// Why no machine can do this, or why it would not measure what it claims.
    pub(crate) fn refusal(&self) -> Option<String> {
        self.op_refusal()
            .or_else(|| self.engine_refusal())
            .or_else(|| self.sync_refusal())
            .or_else(|| self.file_refusal())
            .or_else(|| self.mix_refusal())
            .or_else(|| self.atomic_refusal())
    }

    fn op_refusal(&self) -> Option<String> {
        let engine = self.engine;
        let reason = match self.op {
            Op::Write if engine.only_copies() => format!("{engine} copies a file: use op copy"),
            Op::Copy if !engine.copies() => {
                let others = those(WriteEngine::ALL, WriteEngine::copies);
                format!("{engine} does not copy: use {others}")
            }
            Op::Copy if self.fill != Fill::Random => {
                "a copy writes what its source holds: use fill random".to_string()
            }
            Op::Copy if self.io.cache == Cache::Direct && engine.only_copies() => {
                format!("{engine} copies inside the page cache: O_DIRECT has no effect on it")
            }
            Op::Copy | Op::Sync if self.io.cache == Cache::DontCache => {
                format!("op {} has no 'dontcache': use op write", self.op)
            }
            Op::Sync if engine != WriteEngine::Pwrite || !self.sync.is_call() => {
                "op sync only calls a sync: use engine pwrite, and sync fdatasync or fsync"
                    .to_string()
            }
            Op::Sync if self.sync == Sync::Msync => "pwrite maps nothing to msync".to_string(),
            _ => return None,
        };
        Some(reason)
    }

    fn engine_refusal(&self) -> Option<String> {
        let engine = self.engine;
        let reason = match engine {
            WriteEngine::Null if self.io.cache != Cache::AsIs || self.sync != Sync::None => {
                "null moves no data: use cache 'as-is' and sync 'none'".to_string()
            }
            _ if self.io.depth > 1 && !matches!(engine, WriteEngine::Uring | WriteEngine::Null) => {
                format!("{engine} waits for each block: a thread has one in flight, so use depth 1")
            }
            WriteEngine::Mmap if self.io.cache == Cache::Direct => {
                "a mapping is the page cache: O_DIRECT has no effect on mmap".to_string()
            }
            _ if self.io.cache == Cache::DontCache && !engine.has_flags() => {
                dontcache_refusal(engine.name(), &those(WriteEngine::ALL, WriteEngine::has_flags))
            }
            WriteEngine::Mmap
                if matches!(self.allocation, Allocation::None | Allocation::Append) =>
            {
                "a mapping cannot grow a file: use allocation fallocate or overwrite".to_string()
            }
            WriteEngine::Buffered if self.io.cache == Cache::Direct => {
                "a program's own buffer is not aligned for O_DIRECT: use write".to_string()
            }
            _ => return None,
        };
        Some(reason)
    }

    fn sync_refusal(&self) -> Option<String> {
        let is_mapped = self.engine == WriteEngine::Mmap;
        let reason = match self.sync {
            Sync::Msync if !is_mapped => format!("{} maps nothing to msync", self.engine),
            Sync::Dsync if is_mapped => "O_DSYNC has no effect on stores: use msync".to_string(),
            Sync::None | Sync::Dsync if self.every > 0 => {
                format!(
                    "sync '{}' is not a call, so it can't come every {} blocks",
                    self.sync, self.every
                )
            }
            _ => return None,
        };
        Some(reason)
    }

    /// Reads are judged by what the devices read, so they must go past the page cache, and what
    /// they return is known only if the whole file is written before each trial.
    fn mix_refusal(&self) -> Option<String> {
        if self.read_share == 0 {
            return None;
        }
        let mixes = self.engine.has_flags() || self.engine == WriteEngine::Null;
        let reason = match self.op {
            _ if self.op != Op::Write || !mixes => {
                format!("{} of op {} has no reads: use pwrite or uring", self.engine, self.op)
            }
            _ if self.engine == WriteEngine::Null => return None,
            _ if self.io.cache != Cache::Direct => {
                "reads among writes must go past the page cache: use cache direct".to_string()
            }
            _ if self.allocation != Allocation::Overwrite => {
                "reads among writes need a file with content: use allocation overwrite".to_string()
            }
            _ if self.io.rate > 0 => {
                "reads among writes have no schedule: use a read with a rate, and an actor that \
                 writes beside it"
                    .to_string()
            }
            _ if self.every > 0 => {
                "reads among writes would be counted by a sync every few blocks: use one sync at \
                 the end, or dsync"
                    .to_string()
            }
            _ => return None,
        };
        Some(reason)
    }

    /// Whether all blocks of the file have the same size.
    fn has_like_blocks(&self) -> bool {
        self.io.sizes.is_none() && self.io.size.is_multiple_of(self.io.block)
    }

    fn file_refusal(&self) -> Option<String> {
        let moves_own_offset =
            matches!(self.engine, WriteEngine::Write | WriteEngine::Buffered | WriteEngine::Null);
        let is_overwritten = self.allocation == Allocation::Overwrite;
        let reason = match self.allocation {
            _ if self.io.pattern == Pattern::Zipf => {
                "blocks drawn by zipf come again, so what was written would not be known: use \
                 pattern 'random'"
                    .to_string()
            }
            Allocation::Append if self.io.pattern != Pattern::Sequential => {
                "appending has one order: use pattern sequential".to_string()
            }
            Allocation::Append if self.appends_together() && !self.has_like_blocks() => {
                "blocks that several threads append are known by their size: use blocks of one \
                 size, and a file size that is a multiple of it"
                    .to_string()
            }
            Allocation::Append if !moves_own_offset || self.op != Op::Write => {
                format!("{} writes at offsets, which O_APPEND ignores", self.engine)
            }
            _ if matches!(self.io.cache, Cache::Warm | Cache::Cold)
                && !is_overwritten
                && self.op == Op::Write =>
            {
                format!("the file is empty at the start, so it can't be '{}'", self.io.cache)
            }
            _ if self.op == Op::Sync && !is_overwritten => {
                "op sync needs an existing file: use allocation overwrite".to_string()
            }
            _ if self.op == Op::Copy && is_overwritten => {
                "a copy makes a new file: use allocation none or fallocate".to_string()
            }
            _ if self.io.cache == Cache::Direct
                && !self.io.size.is_multiple_of(self.io.least_block()) =>
            {
                "O_DIRECT writes whole blocks: use a size that is a multiple of the block"
                    .to_string()
            }
            _ => return None,
        };
        Some(reason)
    }
}
