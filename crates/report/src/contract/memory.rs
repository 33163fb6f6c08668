//! The form of what is said about memory, and of the answer to "is disk faster than memory?".

use super::estimate::{Estimate, Ratio};
use assess::decision::Decision;
use model::case;
use schemars::JsonSchema;
use serde::Serialize;

/// The levels that one thread sees through pages of one size.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Levels<'a> {
    /// The program that chased.
    pub(crate) peer: &'a str,
    /// What its array was mapped by.
    #[schemars(extend("enum" = names!(case::Pages)))]
    pub(crate) pages: &'static str,
    /// From the smallest working set to the largest; each but the last ends in a knee.
    pub(crate) levels: Vec<Level>,
}

/// Working sets whose loads take about as long.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Level {
    /// Bytes of its smallest working set.
    pub(crate) from: u64,
    /// Bytes of its largest.
    pub(crate) to: u64,
    /// Nanoseconds a load: median of its working sets.
    pub(crate) ns: f64,
    /// The least of them.
    pub(crate) least_ns: f64,
    /// The greatest.
    pub(crate) greatest_ns: f64,
    /// Which level of cache the OS says is about that large; null if none.
    pub(crate) cache_level: Option<u32>,
    /// Bytes of that cache, as the OS says.
    pub(crate) cache_bytes: Option<u64>,
}

/// What more threads gave to a loop over memory.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Saturation<'a> {
    /// The program that ran it.
    pub(crate) peer: &'a str,
    /// Which loop.
    #[schemars(extend("enum" = names!(case::Kernel)))]
    pub(crate) kernel: &'static str,
    /// Written for which instruction set.
    #[schemars(extend("enum" = names!(case::Isa)))]
    pub(crate) isa: &'static str,
    /// What its arrays were mapped by.
    #[schemars(extend("enum" = names!(case::Pages)))]
    pub(crate) pages: &'static str,
    /// Bytes of all arrays of all threads.
    pub(crate) working_set: u64,
    /// Whether fewer threads than the most get as much as those.
    #[schemars(extend("enum" = names!(Decision)))]
    pub(crate) decision: &'static str,
    /// The fewest threads beyond which no number gives 5 % more; null: none, or not decided.
    pub(crate) threads: Option<u32>,
    /// The most threads that were tried.
    pub(crate) most_threads: u32,
    /// The highest throughput in bytes a second.
    pub(crate) highest: f64,
}

/// Is disk faster than memory? The answer for data of one size.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Counting<'a> {
    /// Bytes of the data.
    pub(crate) size: u64,
    /// Whether the processor's caches may hold a good part of it.
    pub(crate) fits_caches: bool,
    /// Reading memory, by threads.
    pub(crate) memory_reads: Vec<RowRate<'a>>,
    /// Counting in memory after loading, the fastest by threads.
    pub(crate) in_memory: Vec<RowRate<'a>>,
    /// The fastest that the page cache served.
    pub(crate) page_cache: Option<RowRate<'a>>,
    /// The fastest that a device served.
    pub(crate) device: Option<RowRate<'a>>,
    /// Whether counting from the device is faster than in memory with as many threads.
    #[schemars(extend("enum" = names!(Decision)))]
    pub(crate) disk_is_faster: &'static str,
    /// The claim that io_uring from disk beats mmap, in each cache state that was measured.
    pub(crate) claims: Vec<Claim<'a>>,
}

/// The figure of a row.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RowRate<'a> {
    /// The row's id.
    pub(crate) id: &'a str,
    /// Its threads.
    pub(crate) threads: u32,
    /// Bytes a second.
    pub(crate) throughput: Estimate,
    /// The same over that of reading memory with as many threads.
    pub(crate) of_read: Option<Ratio>,
    /// The same over that of counting in memory with as many threads.
    pub(crate) of_count: Option<Ratio>,
}

/// The claim that io_uring from disk, past the page cache, beats mmap.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Claim<'a> {
    /// Where the data was when mmap began.
    #[schemars(extend("enum" = names!(case::Cache)))]
    pub(crate) cache: &'static str,
    /// One thread that maps the file and counts.
    pub(crate) mmap: RowRate<'a>,
    /// The fastest direct row of io_uring with the highest depth.
    pub(crate) uring: RowRate<'a>,
    /// io_uring over mmap.
    pub(crate) ratio: Ratio,
    /// Whether the claim holds here.
    #[schemars(extend("enum" = names!(Decision)))]
    pub(crate) holds: &'static str,
    /// The same against rows that are fairer to memory.
    pub(crate) fair: Vec<Fair<'a>>,
}

/// io_uring from disk against another row.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Fair<'a> {
    /// The other row.
    pub(crate) figure: RowRate<'a>,
    /// io_uring over it.
    pub(crate) ratio: Ratio,
    /// Whether io_uring beats it.
    #[schemars(extend("enum" = names!(Decision)))]
    pub(crate) holds: &'static str,
}
