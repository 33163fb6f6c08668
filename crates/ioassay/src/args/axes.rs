//! Axes of cases, as flags.

use clap::Args;

/// What the help calls them.
pub(crate) const AXES: &str = "Axes (one value, or several with commas)";

/// Axes of cases; each takes one value or several with commas between them.
#[derive(Debug, Args)]
#[command(next_help_heading = AXES)]
pub struct AxisArgs {
    /// Programs that measure: rust (this one's own worker), or peers by name (see `ioassay peers
    /// list`); `compilers` for the whole matrix of them
    #[arg(long, value_delimiter = ',')]
    pub peer: Vec<String>,
    /// To read: null, read, pread, buffered, mmap, uring, load. To write: null, write, pwrite,
    /// buffered, mmap, uring. To copy: write, uring, copy-file-range, sendfile, splice
    #[arg(long, value_delimiter = ',')]
    pub engine: Vec<String>,
    /// Bytes an operation: 4KiB, 4MB, 1B
    #[arg(long, value_delimiter = ',')]
    pub block: Vec<String>,
    /// Threads; `cores` for one each, `sweep` for 1, 2, 4 … up to twice the cores
    #[arg(long, value_delimiter = ',')]
    pub threads: Vec<String>,
    /// Operations in flight for each thread
    #[arg(long, value_delimiter = ',')]
    pub depth: Vec<String>,
    /// warm, cold, direct, as-is
    #[arg(long, value_delimiter = ',')]
    pub cache: Vec<String>,
    /// sequential, random, strided
    #[arg(long, value_delimiter = ',')]
    pub pattern: Vec<String>,
    /// Blocks from one step of a strided pattern to the next
    #[arg(long, value_delimiter = ',')]
    pub stride: Vec<String>,
    /// contiguous or interleaved: how blocks are dealt out to threads
    #[arg(long, value_delimiter = ',')]
    pub share: Vec<String>,
    /// What is done with the bytes: none, page, sum, count (of the 4-byte value 10)
    #[arg(long, value_delimiter = ',')]
    pub touch: Vec<String>,
    /// Instruction set of sums, counts and kernels: auto, scalar, sse2, avx2, avx512, neon; `best`
    /// for the widest of this processor, `each` for all that it has
    #[arg(long, value_delimiter = ',')]
    pub isa: Vec<String>,
    /// What the OS is told: none, sequential, random, willneed, populate, hugepage; touch-ahead
    /// for six threads that touch each page of a mapping ahead of the reader
    #[arg(long, value_delimiter = ',')]
    pub advice: Vec<String>,
    /// How io_uring learns of requests: enter, sqpoll
    #[arg(long, value_delimiter = ',')]
    pub submission: Vec<String>,
    /// What makes written data durable: none, fdatasync, fsync, dsync, msync, sync-file-range
    #[arg(long, value_delimiter = ',')]
    pub sync: Vec<String>,
    /// Blocks from one sync to the next; 0 for one at the end only. In a recipe it is `every`
    #[arg(long = "sync-every", value_delimiter = ',', value_name = "EVERY")]
    pub every: Vec<String>,
    /// What a file that is written has at the start: none, fallocate, overwrite, append
    #[arg(long, value_delimiter = ',')]
    pub allocation: Vec<String>,
    /// What is written: random, constant, zero
    #[arg(long, value_delimiter = ',')]
    pub fill: Vec<String>,
    /// Operations of a trial, over all threads; `all` for each block once, 0 for no limit
    #[arg(long, value_delimiter = ',')]
    pub ops: Vec<String>,
    /// Bytes of the test file: 256MiB, 1GiB
    #[arg(long, value_delimiter = ',')]
    pub size: Vec<String>,
    /// The longest a trial lasts: 500ms, 2s
    #[arg(long, value_delimiter = ',')]
    pub time: Vec<String>,
    /// Loops over memory: read, write, write-nt, copy, copy-nt, triad, triad-nt, count, chase,
    /// touch-pages, first-touch, read-pages
    #[arg(long, value_delimiter = ',')]
    pub kernel: Vec<String>,
    /// Bytes of all arrays of a memory case: 32KiB, 1GiB; `dram` for four times the last cache,
    /// `sweep` for 8KiB, 16KiB … up to that, `modest` for 256MiB or less
    #[arg(long, value_delimiter = ',')]
    pub working_set: Vec<String>,
    /// What arrays are mapped by: base, huge
    #[arg(long, value_delimiter = ',')]
    pub pages: Vec<String>,
}

impl AxisArgs {
    /// The axes that were given, by name.
    pub fn given(&self) -> Vec<(&'static str, &Vec<String>)> {
        let axes = [
            ("peer", &self.peer),
            ("engine", &self.engine),
            ("block", &self.block),
            ("threads", &self.threads),
            ("depth", &self.depth),
            ("cache", &self.cache),
            ("pattern", &self.pattern),
            ("stride", &self.stride),
            ("share", &self.share),
            ("touch", &self.touch),
            ("isa", &self.isa),
            ("advice", &self.advice),
            ("submission", &self.submission),
            ("sync", &self.sync),
            ("every", &self.every),
            ("allocation", &self.allocation),
            ("fill", &self.fill),
            ("ops", &self.ops),
            ("size", &self.size),
            ("time", &self.time),
            ("kernel", &self.kernel),
            ("working_set", &self.working_set),
            ("pages", &self.pages),
        ];
        axes.into_iter().filter(|(_, values)| !values.is_empty()).collect()
    }
}
