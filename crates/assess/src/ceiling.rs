//! The measured bounds that apply to a case.

use crate::decision::{Decided, Decision, is_faster};
use crate::finding::Verdict;
use crate::measured::Measured;
use crate::ratio::Ratio;
use crate::row::{Row, fastest};
use crate::stats::Estimate;
use crate::summary::{Ceiling, CeilingKind, ServedBy};
use model::case::{Cache, Engine, Io, Kernel, MemoryWork, Op, Pages, ReadWork, Touch, WriteWork};
use model::pattern::Pattern;

/// Direct rows with at least so many bytes in flight show what a device gives, not its latency.
const BULK_IN_FLIGHT: u128 = 1 << 20;

/// Whether that many bytes are known to be far more than the caches of the threads of a case hold.
pub(crate) fn is_beyond_caches(bytes: u64, measured: &Measured) -> bool {
    measured.caches.are_exceeded(bytes, measured.case.threads()) == Some(true)
}

/// What the figures of a row are held against. Computed for all rows before any is changed.
#[derive(Debug)]
pub(crate) struct Bounds {
    /// The ceiling of the throughput.
    pub(crate) ceiling: Option<Held>,
    /// The throughput as a share of one thread reading memory.
    pub(crate) of_memory: Option<f64>,
    /// The ceiling of the throughput without loading.
    pub(crate) loaded_ceiling: Option<Held>,
    /// The throughput without loading as a share of one thread reading memory.
    pub(crate) loaded_of_memory: Option<f64>,
    /// What the memory bus carries, by the kernel's stores.
    pub(crate) bus: Option<Estimate>,
}

/// A throughput held against the row that bounds it.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) kind: CeilingKind,
    /// The throughput over that of the bound.
    pub(crate) share: Ratio,
    /// Id of the row that is the bound.
    pub(crate) base: String,
    /// Whether the bound is known to be one: nothing speaks against it, and of a device more in
    /// flight was seen to give no more.
    pub(crate) is_firm: bool,
}

impl Held {
    pub(crate) fn ceiling(&self) -> Ceiling {
        Ceiling { kind: self.kind, share: self.share.median }
    }
}

/// The rows that bound others, looked for once: a record may have thousands of cases.
#[derive(Debug)]
pub(crate) struct Bases<'a, 'r> {
    /// Those that read memory.
    memory: Vec<&'a Row<'r>>,
    /// The one that reads the device fastest, and whether more in flight gave no more.
    read: Option<(&'a Row<'r>, bool)>,
    /// The one that writes to it fastest.
    written: Option<(&'a Row<'r>, bool)>,
}

impl<'a, 'r> Bases<'a, 'r> {
    pub(crate) fn of(rows: &'a [Row<'r>]) -> Bases<'a, 'r> {
        let device = |writes| {
            let base = fastest_direct(rows, writes)?;
            Some((base, plateau(rows, base).is_some()))
        };
        Bases {
            memory: rows.iter().filter(|row| reads_memory(row)).collect(),
            read: device(false),
            written: device(true),
        }
    }

    fn memory(&self) -> impl Iterator<Item = &'a Row<'r>> {
        self.memory.iter().copied()
    }

    /// What memory gives to as many threads as `row` has; where that was not measured, to the next
    /// larger number, or to the most if they had all processors: the others can have no more.
    fn memory_bound(&self, row: &Row) -> Option<&'a Row<'r>> {
        let threads = row.measured.case.threads();
        let known = || self.memory().map(|row| row.measured.case.threads());
        let above = known().filter(|known| *known >= threads).min();
        let all = known().max().filter(|most| *most >= row.measured.host.parallelism());
        memory_read(self.memory(), above.or(all)?)
    }
}

/// What bounds `row`: reading memory with as many threads for what memory and the page cache
/// serve, the fastest direct row for what a device serves: one that reads for what is read, one
/// that writes for what is written.
pub(crate) fn bounds(row: &Row, bases: &Bases) -> Bounds {
    let served_by = row.summary.served_by.filter(|by| moves_bulk(row, *by));
    let loaded_by = row.summary.loaded.map(|loaded| loaded.served_by);
    let loaded_by = loaded_by.filter(|by| moves_bulk(row, *by) && is_beyond_if_loaded(row));
    let memory = memory_read(bases.memory(), 1);
    Bounds {
        ceiling: served_by.and_then(|by| held(row, by, bases, &|base| row.share_of(base))),
        of_memory: served_by.and(memory).and_then(|m| Some(row.share_of(m)?.median)),
        loaded_ceiling: loaded_by
            .and_then(|by| held(row, by, bases, &|base| row.loaded_share_of(base))),
        loaded_of_memory: loaded_by.and(memory).and_then(|m| Some(row.loaded_share_of(m)?.median)),
        bus: served_by.and_then(|_| bus(row)),
    }
}

/// What the memory bus carries if nothing stays in a cache: an ordinary store fetches its line
/// first, one that is not temporal does not.
fn bus(row: &Row) -> Option<Estimate> {
    let kernel = row.measured.case.memory()?.kernel;
    let factor = kernel.bus_arrays()? as f64 / kernel.arrays() as f64;
    Some(row.summary.throughput?.scaled(factor))
}

/// Whether the bytes that the figure of `row` counts were all moved, by memory itself or by what
/// is slower. A null moves none and a chase a few. Arrays that fit into the caches are not
/// memory's. Of a mapping in memory of which a word of each page is touched, only that is moved.
fn moves_bulk(row: &Row, served_by: ServedBy) -> bool {
    if let Some(work) = row.measured.case.memory() {
        return work.kernel.is_bulk() && is_beyond_caches(work.working_set, &row.measured);
    }
    let in_memory = matches!(served_by, ServedBy::Ram | ServedBy::PageCache | ServedBy::Mixed);
    if let Some(work) = row.write() {
        return work.op != Op::Sync;
    }
    row.read().is_some_and(|work| {
        let is_touched_in_place = match work.engine {
            Engine::Mmap => in_memory,
            // Only what is touched after it was loaded: loading itself moves all.
            Engine::Load => served_by == ServedBy::Ram,
            _ => false,
        };
        !(is_touched_in_place && work.touch == Touch::Page)
    })
}

/// A file in memory of the program's own is an array like any other.
fn is_beyond_if_loaded(row: &Row) -> bool {
    let is_small = |work: &ReadWork| {
        work.engine == Engine::Load && !is_beyond_caches(work.io.size, &row.measured)
    };
    !row.read().is_some_and(is_small)
}

/// No row is its own ceiling, and those that are memory's ceilings have none.
fn held(
    row: &Row,
    served_by: ServedBy,
    bases: &Bases,
    share_of: &dyn Fn(&Row) -> Option<Ratio>,
) -> Option<Held> {
    let is_sound = |base: &Row| base.summary.verdict == Verdict::Sound;
    let (kind, base, is_firm) = match served_by {
        ServedBy::Ram | ServedBy::PageCache => {
            let base = bases.memory_bound(row).filter(|_| !reads_memory(row))?;
            (CeilingKind::Memory, base, is_sound(base))
        }
        ServedBy::Device => {
            let bound = if row.write().is_some() { bases.written } else { bases.read };
            let (base, is_plateau) = bound?;
            (CeilingKind::Device, base, is_sound(base) && is_plateau)
        }
        ServedBy::Mixed | ServedBy::NoIo | ServedBy::Unverified => return None,
    };
    if std::ptr::eq(row, base) {
        return None;
    }
    Some(Held { kind, share: share_of(base)?, base: base.summary.id.clone(), is_firm })
}

/// Whether `row` is one of those that say what memory gives: this program's own reading of huge
/// pages, far beyond the caches.
fn reads_memory(row: &Row) -> bool {
    let is_base = |work: &MemoryWork| {
        let reads = work.kernel == Kernel::Read && work.pages == Pages::Huge;
        reads && is_beyond_caches(work.working_set, &row.measured)
    };
    row.stands() && row.is_own() && row.measured.case.memory().is_some_and(is_base)
}

/// The row that reads memory fastest with exactly `threads` threads.
pub(crate) fn memory_read<'a, 'r: 'a>(
    rows: impl IntoIterator<Item = &'a Row<'r>>,
    threads: u32,
) -> Option<&'a Row<'r>> {
    let is_it = |row: &&Row| reads_memory(row) && row.measured.case.threads() == threads;
    fastest(rows.into_iter().filter(is_it))
}

fn fastest_direct<'a, 'r>(rows: &'a [Row<'r>], writes: bool) -> Option<&'a Row<'r>> {
    let is_direct = |row: &&Row| {
        let is_alike = |flow: Flow| flow.writes == writes && flow.cache == Cache::Direct;
        // A run that writes often has no direct row but that of a log: small blocks, one at a time.
        let shows_rate = |flow: Flow| !flow.writes || flow.bytes_in_flight >= BULK_IN_FLIGHT;
        let is_bound = |flow: Flow| is_alike(flow) && shows_rate(flow);
        row.is_served(ServedBy::Device) && Flow::of(row).is_some_and(is_bound)
    };
    fastest(rows.iter().filter(is_direct))
}

/// The row that shows best how fast the device can be read: with much in flight, or in order so
/// that the OS reads ahead.
pub(crate) fn device_read<'a, 'r>(rows: &'a [Row<'r>]) -> Option<&'a Row<'r>> {
    let is_bulk = |flow: Flow| match flow.cache {
        Cache::Direct => flow.bytes_in_flight >= BULK_IN_FLIGHT,
        _ => flow.pattern == Pattern::Sequential,
    };
    let reads = |row: &&Row| Flow::of(row).is_some_and(|flow| !flow.writes && is_bulk(flow));
    fastest(rows.iter().filter(|row| row.is_served(ServedBy::Device)).filter(reads))
}

/// How bytes flow to or from a file.
#[derive(Debug, Clone, Copy)]
struct Flow {
    writes: bool,
    cache: Cache,
    pattern: Pattern,
    bytes_in_flight: u128,
}

impl Flow {
    /// None where a row moves no bytes of a file.
    fn of(row: &Row) -> Option<Flow> {
        let bytes_in_flight = |block: u64, depth: u32, threads: u32| {
            u128::from(block) * u128::from(depth) * u128::from(threads)
        };
        if let Some(work) = row.write().filter(|work| work.op != Op::Sync) {
            let WriteWork { io: Io { cache, pattern, block, depth, threads, .. }, .. } = *work;
            let bytes_in_flight = bytes_in_flight(block, depth, threads);
            return Some(Flow { writes: true, cache, pattern, bytes_in_flight });
        }
        let ReadWork { io: Io { cache, pattern, block, depth, threads, .. }, .. } = *row.read()?;
        let bytes_in_flight = bytes_in_flight(block, depth, threads);
        Some(Flow { writes: false, cache, pattern, bytes_in_flight })
    }
}

/// What shows that `top`, the fastest row of a device, had enough in flight: a row with twice as
/// much is not faster, or `top` is not faster than one with half as much. None where no sound row
/// decides it.
pub(crate) fn plateau(rows: &[Row], top: &Row) -> Option<Decided> {
    let of_top = Flow::of(top)?;
    let asked = |other: &Row| {
        let flow = Flow::of(other).filter(|_| other.is_served(ServedBy::Device))?;
        let alike = (flow.writes, flow.cache, flow.pattern)
            == (of_top.writes, of_top.cache, of_top.pattern);
        if alike && flow.bytes_in_flight >= 2 * of_top.bytes_in_flight {
            return is_faster(other, top);
        }
        let has_less = alike && 2 * flow.bytes_in_flight <= of_top.bytes_in_flight;
        if has_less { is_faster(top, other) } else { None }
    };
    rows.iter().filter_map(asked).find(|decided| decided.decision() == Decision::No)
}
