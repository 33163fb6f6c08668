//! Is disk faster than memory? The answer counts the same data in memory, in the page cache and on
//! disk. It also repeats the claim behind the question.
//!
//! Only valid rows of this program's own worker take part.

use crate::ceiling::{MemoryReads, is_beyond_caches};
use crate::decision::{Decided, Decision, Named, is_faster, is_faster_by};
use crate::form::{As, FormOf};
use crate::measured::Rounds;
use crate::ratio::Ratio;
use crate::row::{Row, fastest};
use crate::stats::Estimate;
use crate::summary::ServedBy;
use model::case::{Advice, Cache, Engine, Isa, Kernel, ReadWork, Touch};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

/// The answer for one data size.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CountingAnswer {
    /// Size of the data in bytes.
    pub size: u64,
    /// Whether the processor's last-level caches can hold all of the data, so that these may serve
    /// it instead of memory or the page cache.
    pub fits_caches: bool,
    /// The share of the data that these caches can hold at most, 0 to 1; null if their size is
    /// unknown. Up to a quarter, they serve next to nothing (docs/method).
    pub caches_hold: Option<f64>,
    /// Memory reads for each measured number of threads, ascending: the ceilings.
    pub memory_reads: Vec<RowRate>,
    /// Counting in the program's own memory after loading: the fastest row for each measured number
    /// of threads, ascending.
    pub in_memory: Vec<RowRate>,
    /// The fastest row that the page cache served.
    pub page_cache: Option<RowRate>,
    /// The fastest row that a device served.
    pub device: Option<RowRate>,
    /// Whether counting from the device is faster than counting in memory with as many threads.
    /// Without such a count, the comparison is with reading memory; undecided if neither was
    /// measured.
    #[serde(with = "As::<Decision>")]
    pub disk_is_faster: Option<Decided>,
    /// The claim that io_uring from disk beats mmap, in each measured cache state.
    pub claims: Vec<Claim>,
}

/// The figure of a row.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RowRate {
    /// The row's id.
    #[serde(rename = "id")]
    pub row: Named,
    /// Its threads.
    pub threads: u32,
    /// Bytes per second.
    pub throughput: Estimate,
    /// The throughput relative to reading memory with as many threads, if measured.
    pub of_read: Option<Ratio>,
    /// The throughput relative to counting in memory with as many threads, if measured.
    pub of_count: Option<Ratio>,
}

/// The claim that direct io_uring from disk beats mmap.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Claim {
    /// The cache state when mmap started.
    pub cache: Cache,
    /// One thread that maps the file and counts without advice.
    pub mmap: RowRate,
    /// The fastest direct row of io_uring with the highest depth.
    pub uring: RowRate,
    /// Whether the claim holds: io_uring is faster than mmap.
    #[serde(flatten, with = "As::<Held>")]
    pub holds: Decided,
    /// The same against rows that are fairer to memory: mappings that are populated or touched
    /// ahead, more threads, and a loaded file including its loading time.
    pub fair: Vec<Fair>,
}

/// io_uring from disk compared with another row.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Fair {
    /// The other row.
    pub figure: RowRate,
    /// Whether io_uring beats it.
    #[serde(flatten, with = "As::<Held>")]
    pub holds: Decided,
}

/// The published form of a claim's decision.
#[derive(Serialize, JsonSchema)]
struct Held {
    /// The throughput of io_uring over the other row's.
    ratio: Ratio,
    /// Whether io_uring is faster.
    holds: Decision,
}

impl FormOf<Decided> for Held {
    fn of(decided: &Decided) -> Held {
        Held { ratio: decided.ratio(), holds: decided.decision() }
    }
}

/// An answer for each data size, ascending, with a measured count in memory or both sides of the
/// claim.
pub(crate) fn counting_answers(rows: &[Row]) -> Vec<CountingAnswer> {
    let counts = rows.iter().filter_map(|row| Some(count_of(row)?.io.size));
    let sizes: BTreeSet<u64> = counts.collect();
    let reads = MemoryReads::of(rows);
    let answers = sizes.into_iter().map(|size| SizeCounts::new(rows, &reads, size).answer());
    answers.filter(|answer| !(answer.in_memory.is_empty() && answer.claims.is_empty())).collect()
}

/// The work of a valid row that counts a file.
fn count_of<'a>(row: &'a Row) -> Option<&'a ReadWork> {
    row.read().filter(|work| work.touch == Touch::Count && row.is_own() && row.has_own_rate())
}

/// The rows that count data of one size, and their comparisons.
struct SizeCounts<'a, 'r> {
    all: &'a [Row<'r>],
    reads: &'a MemoryReads<'a, 'r>,
    size: u64,
    /// The fastest count in memory for each number of threads.
    in_memory: Vec<MemoryCount<'a, 'r>>,
}

/// A row that counts in memory, with its figure.
struct MemoryCount<'a, 'r> {
    row: &'a Row<'r>,
    throughput: Estimate,
    rates: Rounds,
}

impl<'a, 'r> MemoryCount<'a, 'r> {
    /// A loaded file, without its loading time, or a counted array.
    fn of(row: &'a Row<'r>, size: u64) -> Option<MemoryCount<'a, 'r>> {
        if count_of(row).is_some_and(|work| work.engine == Engine::Load && work.io.size == size) {
            let throughput = row.summary.loaded?.throughput;
            return Some(MemoryCount { row, throughput, rates: row.measured.loaded_rates() });
        }
        let work = row.measured.case.memory().filter(|work| work.kernel == Kernel::Count)?;
        let is_memory = is_beyond_caches(work.working_set, &row.measured);
        let throughput = row.summary.throughput.filter(|_| is_memory && row.stands())?;
        row.is_own().then(|| MemoryCount { row, throughput, rates: row.measured.rates() })
    }

    fn threads(&self) -> u32 {
        self.row.measured.case.threads()
    }
}

impl<'a, 'r> SizeCounts<'a, 'r> {
    fn new(all: &'a [Row<'r>], reads: &'a MemoryReads<'a, 'r>, size: u64) -> SizeCounts<'a, 'r> {
        let mut in_memory: Vec<MemoryCount> =
            all.iter().filter_map(|row| MemoryCount::of(row, size)).collect();
        // Keeps the fastest row for each number of threads, which comes first.
        in_memory.sort_by(|a, b| {
            let by_rate = b.throughput.median.total_cmp(&a.throughput.median);
            a.threads().cmp(&b.threads()).then(by_rate)
        });
        in_memory.dedup_by_key(|loaded| loaded.threads());
        SizeCounts { all, reads, size, in_memory }
    }

    fn answer(&self) -> CountingAnswer {
        let is_served = |by| move |row: &&'a Row<'r>| row.is_served(by);
        let in_place =
            |row: &&'a Row<'r>| row.read().is_some_and(|work| work.engine != Engine::Load);
        let page_cache = self.rows().filter(is_served(ServedBy::PageCache)).filter(in_place);
        let device = fastest(self.rows().filter(is_served(ServedBy::Device)));
        let caches = self.all.first().map(|row| row.measured.caches);
        let threads = self.rows().map(|row| row.measured.case.threads()).max().unwrap_or(1);
        let caches_hold = caches.and_then(|caches| caches.hold(self.size, threads));
        CountingAnswer {
            size: self.size,
            fits_caches: caches_hold == Some(1.0),
            caches_hold,
            memory_reads: self.reads.all().filter_map(|row| self.figure(row)).collect(),
            in_memory: self
                .in_memory
                .iter()
                .filter_map(|loaded| self.figure_of(loaded.row, loaded.throughput, &loaded.rates))
                .collect(),
            page_cache: fastest(page_cache).and_then(|row| self.figure(row)),
            device: device.and_then(|row| self.figure(row)),
            disk_is_faster: device.and_then(|row| self.disk_is_faster(row)),
            claims: [Cache::Cold, Cache::Warm].into_iter().filter_map(|c| self.claim(c)).collect(),
        }
    }

    /// Rows that count a file of this size.
    fn rows(&self) -> impl Iterator<Item = &'a Row<'r>> {
        let (all, size) = (self.all, self.size);
        all.iter().filter(move |row| count_of(row).is_some_and(|work| work.io.size == size))
    }

    /// Whether counting from the device is faster than counting in memory with as many threads, or
    /// than reading it.
    fn disk_is_faster(&self, device: &Row) -> Option<Decided> {
        let threads = device.measured.case.threads();
        match self.in_memory.iter().find(|loaded| loaded.threads() == threads) {
            Some(count) => {
                let rates = [&device.measured.rates(), &count.rates];
                is_faster_by([device, count.row], rates, None)
            }
            None => is_faster(device, self.reads.with(threads)?),
        }
    }

    fn figure(&self, row: &Row) -> Option<RowRate> {
        let throughput = row.summary.throughput?;
        self.figure_of(row, throughput, &row.measured.rates())
    }

    fn figure_of(&self, row: &Row, throughput: Estimate, rates: &Rounds) -> Option<RowRate> {
        let threads = row.measured.case.threads();
        let read = self.reads.with(threads);
        let count = self.in_memory.iter().find(|loaded| loaded.threads() == threads);
        Some(RowRate {
            row: Named::of(&row.summary)?,
            threads,
            throughput,
            of_read: read.and_then(|read| Ratio::of_any(rates, &read.measured.rates())),
            of_count: count.and_then(|count| Ratio::of_any(rates, &count.rates)),
        })
    }

    /// The claim for one initial cache state. Both sides let the worker choose the instructions.
    fn claim(&self, cache: Cache) -> Option<Claim> {
        let in_state = || {
            let is_so = move |work: &ReadWork| work.io.cache == cache && work.isa == Isa::Auto;
            self.rows().filter(move |row| row.read().is_some_and(is_so))
        };
        let is_bare = |row: &&Row| {
            let bare = |w: &ReadWork| {
                w.engine == Engine::Mmap && w.advice == Advice::None && w.io.threads == 1
            };
            row.read().is_some_and(bare)
        };
        let (mmap, uring) = (fastest(in_state().filter(is_bare))?, self.deepest_uring()?);
        let is_fair = |row: &&Row| {
            let engine = row.read().map(|work| work.engine);
            matches!(engine, Some(Engine::Mmap | Engine::Load)) && !is_bare(row)
        };
        let fair =
            |row: &Row| Some(Fair { figure: self.figure(row)?, holds: is_faster(uring, row)? });
        Some(Claim {
            cache,
            mmap: self.figure(mmap)?,
            uring: self.figure(uring)?,
            holds: is_faster(uring, mmap)?,
            fair: in_state().filter(is_fair).filter_map(fair).collect(),
        })
    }

    fn deepest_uring(&self) -> Option<&'a Row<'r>> {
        let depth = |row: &Row| {
            let is_direct =
                |w: &&ReadWork| w.engine == Engine::Uring && w.io.cache == Cache::Direct;
            Some(row.read().filter(is_direct)?.io.depth)
        };
        let direct = || self.rows().filter(|row| row.is_served(ServedBy::Device));
        let deepest = direct().filter_map(depth).max()?;
        fastest(direct().filter(|row| depth(row) == Some(deepest)))
    }
}
