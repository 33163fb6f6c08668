//! The number of threads that saturate memory.

use crate::ceiling::{MemoryReads, is_beyond_caches};
use crate::decision::{Decided, Decision, Named, Open, is_faster_by};
use crate::row::{Row, fastest, grouped};
use model::case::{Isa, Kernel, MemoryWork, Pages};
use schemars::JsonSchema;
use serde::Serialize;

/// How the throughput of a memory loop grows with the number of threads.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Saturation {
    /// The program that ran the loop.
    pub peer: String,
    /// The loop.
    pub kernel: Kernel,
    /// Its instruction set.
    pub isa: Isa,
    /// The pages of its arrays.
    pub pages: Pages,
    /// Total size in bytes of all threads' arrays.
    pub working_set: u64,
    /// Whether `threads` saturate memory: more give no higher throughput.
    pub decision: Decision,
    /// The smallest number of threads beyond which no tested number gives 5 % more; null if the
    /// largest number does, or may.
    pub threads: Option<u32>,
    /// The largest number of threads tested.
    pub most_threads: u32,
    /// The smallest number of threads that gives at least 90 % of the highest throughput.
    pub nearly: u32,
    /// The throughput with each number of threads, ascending.
    pub steps: Vec<ThreadStep>,
    /// The highest throughput in bytes per second.
    pub highest: f64,
    /// The same relative to the fastest row that reads memory in huge pages; null for such reads
    /// themselves, and without them.
    pub of_reads: Option<f64>,
    /// The compared rows.
    #[serde(skip)]
    pub rows: Vec<Named>,
    /// What a comparison that leaves it undecided would take.
    #[serde(skip)]
    pub open: Option<Open>,
}

/// The throughput with a number of threads.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Step")]
pub struct ThreadStep {
    /// The number of threads.
    pub threads: u32,
    /// Bytes per second.
    pub throughput: f64,
}

/// The smallest gain of more threads that counts (docs/method).
const INTEREST: f64 = 0.05;
/// Threads that give at least this share of the highest throughput nearly saturate memory
/// (docs/method).
const NEARLY_LEAST: f64 = 0.9;

/// Each loop over arrays beyond the caches that was measured with several numbers of threads.
pub(crate) fn saturations(rows: &[Row]) -> Vec<Saturation> {
    let loops = grouped(rows.iter().filter(|row| row.stands()), |row| {
        let case = row.measured.case;
        let MemoryWork { kernel, isa, pages, working_set, .. } = *case.memory()?;
        let is_memory = kernel.is_bulk() && is_beyond_caches(working_set, &row.measured);
        is_memory.then(|| (case.peer.clone(), kernel, isa, pages, working_set))
    });
    let reads = MemoryReads::of(rows);
    let reads = fastest(reads.all());
    loops.iter().filter_map(|rows| saturation(rows, reads)).collect()
}

/// The result for rows that differ only in their threads, beside the fastest of those that read
/// memory; `None` with a single number of threads.
fn saturation(rows: &[&Row], reads: Option<&Row>) -> Option<Saturation> {
    let case = rows.first()?.measured.case;
    let MemoryWork { kernel, isa, pages, working_set, .. } = *case.memory()?;
    let mut rows = rows.to_vec();
    rows.sort_by_key(|row| row.measured.case.threads());
    rows.dedup_by_key(|row| row.measured.case.threads());
    let (most, fewer) = rows.split_last()?;
    let last = give_more(fewer.last()?, &[most]);
    let after = |at: usize| give_more(rows[at], &rows[at + 1..]);
    let enough = (0..fewer.len()).find(|at| after(*at) == Decision::No);
    let threads = enough.map(|at| rows[at].measured.case.threads());
    let step = |row: &&Row| ThreadStep {
        threads: row.measured.case.threads(),
        throughput: row.throughput(),
    };
    let steps: Vec<ThreadStep> = rows.iter().map(step).collect();
    let best = fastest(rows.iter().copied())?;
    let is_near = |step: &&ThreadStep| step.throughput >= NEARLY_LEAST * best.throughput();
    let is_reading = best.is_own() && (kernel, pages) == (Kernel::Read, Pages::Huge);
    let others = reads.filter(|_| !is_reading);
    Some(Saturation {
        peer: case.peer.clone(),
        kernel,
        isa,
        pages,
        working_set,
        decision: match (threads, last) {
            (Some(_), _) => Decision::Yes,
            (None, Decision::Yes) => Decision::No,
            (None, _) => Decision::Undecided,
        },
        threads,
        most_threads: most.measured.case.threads(),
        nearly: steps.iter().find(is_near)?.threads,
        highest: best.throughput(),
        of_reads: others.and_then(|reads| Some(best.share_of(reads)?.median)),
        steps,
        rows: rows.iter().filter_map(|row| Named::of(&row.summary)).collect(),
        open: fewer.iter().find_map(|row| is_faster_than(row, most)?.open()),
    })
}

/// Whether any row of `more`, with more threads, is faster than `row`; *no* if none is.
fn give_more(row: &Row, more: &[&Row]) -> Decision {
    let gives_more = |other: &&Row| {
        let decided = is_faster_than(row, other);
        decided.map_or(Decision::Undecided, |decided| decided.decision())
    };
    let all: Vec<Decision> = more.iter().map(gives_more).collect();
    if all.contains(&Decision::Yes) {
        Decision::Yes
    } else if all.contains(&Decision::Undecided) {
        Decision::Undecided
    } else {
        Decision::No
    }
}

/// Whether `other` is faster than `row`.
fn is_faster_than(row: &Row, other: &Row) -> Option<Decided> {
    let [rates, others] = [row, other].map(|row| row.measured.rates());
    is_faster_by([other, row], [&others, &rates], Some(INTEREST))
}
