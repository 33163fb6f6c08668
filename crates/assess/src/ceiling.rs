//! The ceilings of a case, from other rows of the run.

use crate::decision::{Decided, Decision, is_faster};
use crate::finding::Verdict;
use crate::measured::Measured;
use crate::ratio::Ratio;
use crate::row::{Row, fastest};
use crate::summary::{Ceiling, CeilingKind, ServedBy};
use model::case::{
    BlockPlace, BufferPages, Cache, Io, Kernel, MemoryWork, Op, Pages, ReadWork, Touch,
};
use model::pattern::Pattern;
use std::collections::BTreeMap;

/// Direct rows with at least this many bytes in flight show a device's throughput, not its latency.
const BULK_IN_FLIGHT: u128 = 1 << 20;

/// Whether that many bytes are known to far exceed the caches of the case's threads.
pub(crate) fn is_beyond_caches(bytes: u64, measured: &Measured) -> bool {
    measured.caches.are_exceeded(bytes, measured.case.threads()) == Some(true)
}

/// The ceilings of a row's figures, computed for all rows before any of them changes.
#[derive(Debug)]
pub(crate) struct RowCeilings {
    /// The ceiling of the throughput.
    pub(crate) ceiling: Option<CeilingShare>,
    /// Whether it is the fastest loop over memory that does the same, and so its own ceiling.
    pub(crate) is_fastest_loop: bool,
    /// The throughput as a share of one thread reading memory.
    pub(crate) of_memory: Option<f64>,
    /// The ceiling of the throughput without loading.
    pub(crate) loaded_ceiling: Option<CeilingShare>,
    /// The throughput without loading as a share of one thread reading memory.
    pub(crate) loaded_of_memory: Option<f64>,
}

/// A throughput compared with its ceiling.
#[derive(Debug)]
pub(crate) struct CeilingShare {
    pub(crate) kind: CeilingKind,
    /// The throughput divided by the ceiling's.
    pub(crate) share: Ratio,
    /// The id of the ceiling.
    pub(crate) base: String,
    /// Whether the ceiling is firm: it is sound and, for a device, a row showed that more I/Os in
    /// flight are not faster.
    pub(crate) is_firm: bool,
    /// Whether the row writes and the ceiling reads, which bounds it only loosely.
    pub(crate) is_loose: bool,
}

impl CeilingShare {
    pub(crate) fn ceiling(&self) -> Ceiling {
        Ceiling { kind: self.kind, share: self.share.median }
    }
}

/// The fastest memory-reading row for each number of threads.
#[derive(Debug)]
pub(crate) struct MemoryReads<'a, 'r>(BTreeMap<u32, &'a Row<'r>>);

impl<'a, 'r> MemoryReads<'a, 'r> {
    pub(crate) fn of(rows: &'a [Row<'r>]) -> MemoryReads<'a, 'r> {
        MemoryReads(fastest_by_threads(rows.iter().filter(|row| reads_memory(row))))
    }
    /// The row with exactly `threads` threads.
    pub(crate) fn with(&self, threads: u32) -> Option<&'a Row<'r>> {
        self.0.get(&threads).copied()
    }

    /// All rows, in order of their number of threads.
    pub(crate) fn all(&self) -> impl Iterator<Item = &'a Row<'r>> {
        self.0.values().copied()
    }

    /// The row with the most threads, and their number.
    pub(crate) fn of_most_threads(&self) -> Option<(u32, &'a Row<'r>)> {
        self.0.last_key_value().map(|(threads, row)| (*threads, *row))
    }
}

/// The fastest of the rows for each number of threads; of equal ones, the last.
fn fastest_by_threads<'a, 'r>(
    rows: impl Iterator<Item = &'a Row<'r>>,
) -> BTreeMap<u32, &'a Row<'r>> {
    let mut fastest: BTreeMap<u32, &Row> = BTreeMap::new();
    for row in rows {
        let best = fastest.entry(row.measured.case.threads()).or_insert(row);
        if row.throughput() >= best.throughput() {
            *best = row;
        }
    }
    fastest
}

/// What work does with the bytes of memory that its figure counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Motion {
    Reads,
    Writes,
    Copies,
    Triads,
}

impl Motion {
    /// `None` if the kernel moves few bytes.
    fn of(kernel: Kernel) -> Option<Motion> {
        match kernel {
            Kernel::Read | Kernel::Count => Some(Motion::Reads),
            Kernel::Write | Kernel::WriteNt => Some(Motion::Writes),
            Kernel::Copy | Kernel::CopyNt => Some(Motion::Copies),
            Kernel::Triad | Kernel::TriadNt => Some(Motion::Triads),
            Kernel::Chase | Kernel::TouchPages | Kernel::FirstTouch | Kernel::ReadPages => None,
        }
    }
}

/// The fastest loop for each motion, kind of pages and number of threads.
#[derive(Debug, Default)]
struct Loops<'a, 'r>(BTreeMap<(Motion, Pages), BTreeMap<u32, &'a Row<'r>>>);

impl<'a, 'r> Loops<'a, 'r> {
    fn of(rows: &'a [Row<'r>]) -> Loops<'a, 'r> {
        let mut groups: BTreeMap<(Motion, Pages), Vec<&Row>> = BTreeMap::new();
        for row in rows {
            let group = row.measured.case.memory().filter(|work| bounds_memory(row, work));
            let group = group.and_then(|work| Some((Motion::of(work.kernel)?, work.pages)));
            group.into_iter().for_each(|group| groups.entry(group).or_default().push(row));
        }
        let fastest = |rows: Vec<&'a Row<'r>>| fastest_by_threads(rows.into_iter());
        Loops(groups.into_iter().map(|(group, rows)| (group, fastest(rows))).collect())
    }

    /// The ceiling of `row`: the fastest loop that does the same, in the same pages. The page cache
    /// has pages of its own, which can be large: loops in huge pages bound what it serves. If no
    /// loop writes, one that reads bounds a file that is written. The fastest loop is its own
    /// ceiling.
    fn bound(&self, row: &Row) -> Option<&'a Row<'r>> {
        if let Some(work) = row.measured.case.memory() {
            return self.with_threads((Motion::of(work.kernel)?, work.pages), row);
        }
        let writes =
            row.write().and_then(|_| self.with_threads((Motion::Writes, Pages::Huge), row));
        writes.or_else(|| self.with_threads((Motion::Reads, Pages::Huge), row))
    }

    /// The fastest loop with as many threads as `row`. If that was not measured, with the next
    /// larger number of threads, or the largest if it had all processors.
    fn with_threads(&self, group: (Motion, Pages), row: &Row) -> Option<&'a Row<'r>> {
        let fastest = self.0.get(&group)?;
        let above = fastest.range(row.measured.case.threads()..).next();
        let all = || {
            fastest.last_key_value().filter(|(most, _)| **most >= row.measured.host.parallelism())
        };
        above.or_else(all).map(|(_, base)| *base)
    }
}

/// The ceiling rows, searched once because a record may have thousands of cases.
#[derive(Debug)]
pub(crate) struct Bases<'a, 'r> {
    /// Rows that read memory.
    memory: MemoryReads<'a, 'r>,
    /// The fastest loops over memory.
    loops: Loops<'a, 'r>,
    /// The fastest rows of the device.
    devices: Vec<FastestOfKind<'a, 'r>>,
}

/// The fastest row of the device among those of one kind.
#[derive(Debug)]
struct FastestOfKind<'a, 'r> {
    /// Whether they write, and whether their buffers are in huge pages.
    kind: (bool, bool),
    row: &'a Row<'r>,
    /// Whether more I/Os in flight were not faster.
    is_plateau: bool,
}

impl<'a, 'r> Bases<'a, 'r> {
    pub(crate) fn of(rows: &'a [Row<'r>]) -> Bases<'a, 'r> {
        let kinds = [(false, false), (false, true), (true, false), (true, true)];
        let device = |kind| {
            let row = fastest_direct(rows, kind)?;
            Some(FastestOfKind { kind, row, is_plateau: plateau(rows, row).is_some() })
        };
        let devices = kinds.into_iter().filter_map(device).collect();
        Bases { memory: MemoryReads::of(rows), loops: Loops::of(rows), devices }
    }

    /// The fastest row of the device that does what `row` does: in the same pages, if `row` moves
    /// them itself. The page cache has pages of its own, which can be large, so the fastest in any
    /// pages bounds what goes through it.
    fn device(&self, row: &Row) -> Option<&FastestOfKind<'a, 'r>> {
        let writes = row.write().is_some();
        let is_direct = row.measured.case.cache() == Some(Cache::Direct);
        let has_pages = |is_huge: bool| !is_direct || is_huge == has_huge_pages(row);
        let bounds = |one: &&FastestOfKind| one.kind.0 == writes && has_pages(one.kind.1);
        let rate = |one: &&FastestOfKind| one.row.throughput();
        self.devices.iter().filter(bounds).max_by(|a, b| rate(a).total_cmp(&rate(b)))
    }
}

/// The ceilings of `row`: for memory and the page cache, the fastest loop that does the same with
/// as many threads; for a device, the fastest comparable direct row.
pub(crate) fn bounds(row: &Row, bases: &Bases) -> RowCeilings {
    let served_by = row.summary.served_by.filter(|by| moves_bulk(row, *by));
    let loaded_by = row.summary.loaded.map(|loaded| loaded.served_by);
    let loaded_by = loaded_by.filter(|by| moves_bulk(row, *by) && is_beyond_if_loaded(row));
    let memory = bases.memory.with(1);
    let is_loop = served_by.is_some() && row.measured.case.memory().is_some();
    let fastest = bases.loops.bound(row).filter(|_| is_loop);
    RowCeilings {
        is_fastest_loop: fastest.is_some_and(|fastest| std::ptr::eq(fastest, row)),
        ceiling: served_by.and_then(|by| held(row, by, bases, &|base| row.share_of(base))),
        of_memory: served_by.and(memory).and_then(|m| Some(row.share_of(m)?.median)),
        loaded_ceiling: loaded_by
            .and_then(|by| held(row, by, bases, &|base| row.loaded_share_of(base))),
        loaded_of_memory: loaded_by.and(memory).and_then(|m| Some(row.loaded_share_of(m)?.median)),
    }
}

/// Whether memory, or something slower, moved all bytes that the figure of `row` counts. A null
/// moves none, a chase few, and arrays that fit into the caches stay there. Touching one word of
/// each mapped page moves only those words.
fn moves_bulk(row: &Row, served_by: ServedBy) -> bool {
    if let Some(work) = row.measured.case.memory() {
        return work.kernel.is_bulk() && is_beyond_caches(work.working_set, &row.measured);
    }
    let in_memory = matches!(served_by, ServedBy::Ram | ServedBy::PageCache | ServedBy::Mixed);
    if let Some(work) = row.write() {
        return work.op != Op::Sync;
    }
    row.read().is_some_and(|work| {
        let is_touched_in_place = match work.engine.place() {
            BlockPlace::Mapping => in_memory,
            // Only touching after the load: the load itself moves all bytes.
            BlockPlace::Memory => served_by == ServedBy::Ram,
            BlockPlace::Buffer | BlockPlace::Nowhere => false,
        };
        !(is_touched_in_place && work.touch == Touch::Page)
    })
}

/// A loaded file must exceed the caches, like an array.
fn is_beyond_if_loaded(row: &Row) -> bool {
    let is_small = |work: &ReadWork| {
        work.engine.place() == BlockPlace::Memory && !is_beyond_caches(work.io.size, &row.measured)
    };
    !row.read().is_some_and(is_small)
}

/// Compares a row with its ceiling. No row is its own ceiling.
fn held(
    row: &Row,
    served_by: ServedBy,
    bases: &Bases,
    share_of: &dyn Fn(&Row) -> Option<Ratio>,
) -> Option<CeilingShare> {
    let is_sound = |base: &Row| base.summary.verdict == Verdict::Sound;
    let (kind, base, is_firm) = match served_by {
        // Calls on names move no bytes that could be held against a bandwidth.
        _ if row.measured.case.metadata().is_some() => return None,
        ServedBy::Ram | ServedBy::PageCache => {
            let base = bases.loops.bound(row)?;
            (CeilingKind::Memory, base, is_sound(base))
        }
        ServedBy::Device if row.measured.case.is_mixed() => return None,
        ServedBy::Device => {
            let FastestOfKind { row: base, is_plateau, .. } = *bases.device(row)?;
            (CeilingKind::Device, base, is_sound(base) && is_plateau)
        }
        ServedBy::CpuCache
        | ServedBy::CpuCacheOrRam
        | ServedBy::NameCache
        | ServedBy::Mixed
        | ServedBy::NoIo
        | ServedBy::Unverified => return None,
    };
    if std::ptr::eq(row, base) {
        return None;
    }
    let is_loose = row.write().is_some() && base.measured.case.memory().is_some_and(is_read);
    let base_id = base.summary.id.clone();
    Some(CeilingShare { kind, share: share_of(base)?, base: base_id, is_firm, is_loose })
}

/// Whether `row` is a memory-bandwidth baseline row: ioassay's own reading of huge pages, far
/// beyond the caches.
fn reads_memory(row: &Row) -> bool {
    let is_base = |work: &MemoryWork| {
        let reads = work.kernel == Kernel::Read && work.pages == Pages::Huge;
        reads && bounds_memory(row, work)
    };
    row.measured.case.memory().is_some_and(is_base)
}

/// Whether `row` with this `work` can be a ceiling of memory: ioassay's own loop, far beyond the
/// caches.
fn bounds_memory(row: &Row, work: &MemoryWork) -> bool {
    row.stands() && row.is_own() && is_beyond_caches(work.working_set, &row.measured)
}

fn is_read(work: &MemoryWork) -> bool {
    Motion::of(work.kernel) == Some(Motion::Reads)
}

/// Whether the buffers of `row` are in huge pages, in which one request to a device can cover more.
/// In older records, none asked for them.
fn has_huge_pages(row: &Row) -> bool {
    row.measured.case.io().is_some_and(|io| io.pages == BufferPages::Huge)
}

fn fastest_direct<'a, 'r>(rows: &'a [Row<'r>], kind: (bool, bool)) -> Option<&'a Row<'r>> {
    let is_direct = |row: &&Row| {
        let is_alike =
            |flow: Flow| (flow.writes, flow.is_huge) == kind && flow.cache == Cache::Direct;
        // Often the only direct row of a writing run is a log's: small blocks at depth 1.
        let shows_rate = |flow: Flow| !flow.writes || flow.bytes_in_flight >= BULK_IN_FLIGHT;
        let is_bound = |flow: Flow| is_alike(flow) && shows_rate(flow);
        row.is_served(ServedBy::Device) && Flow::of(row).is_some_and(is_bound)
    };
    fastest(rows.iter().filter(is_direct))
}

/// The row that best shows the device's read rate: with many bytes in flight, or sequential with
/// readahead.
pub(crate) fn device_read<'a, 'r>(rows: &'a [Row<'r>]) -> Option<&'a Row<'r>> {
    let is_bulk = |flow: Flow| match flow.cache {
        Cache::Direct => flow.bytes_in_flight >= BULK_IN_FLIGHT,
        _ => flow.pattern == Pattern::Sequential,
    };
    let reads = |row: &&Row| Flow::of(row).is_some_and(|flow| !flow.writes && is_bulk(flow));
    fastest(rows.iter().filter(|row| row.is_served(ServedBy::Device)).filter(reads))
}

/// The I/O pattern between a file and memory.
#[derive(Debug, Clone, Copy)]
struct Flow {
    writes: bool,
    /// Whether its buffers are in huge pages.
    is_huge: bool,
    cache: Cache,
    pattern: Pattern,
    bytes_in_flight: u128,
}

impl Flow {
    /// `None` if a row moves no bytes of a file.
    fn of(row: &Row) -> Option<Flow> {
        // Beside others, a case shows what they leave of a device; on a schedule, the schedule.
        if !row.measured.case.beside.is_empty() || row.measured.case.is_open() {
            return None;
        }
        // No device gives a rate that bounds reads and writes alike.
        if row.measured.case.is_mixed() {
            return None;
        }
        let written = row.write().filter(|work| work.op != Op::Sync).map(|work| work.io);
        let Io { cache, pattern, block, depth, threads, .. } =
            written.or(row.read().map(|work| work.io))?;
        let bytes_in_flight = u128::from(block) * u128::from(depth) * u128::from(threads);
        let (writes, is_huge) = (written.is_some(), has_huge_pages(row));
        Some(Flow { writes, is_huge, cache, pattern, bytes_in_flight })
    }
}

/// The evidence that `top`, the fastest row of a device, had enough I/Os in flight. Either a row
/// with twice as many is not faster, or `top` is not faster than one with half as many. `None` if
/// no sound row decides it.
pub(crate) fn plateau(rows: &[Row], top: &Row) -> Option<Decided> {
    let of_top = Flow::of(top)?;
    let asked = |other: &Row| {
        let flow = Flow::of(other).filter(|_| other.is_served(ServedBy::Device))?;
        let alike = (flow.writes, flow.is_huge, flow.cache, flow.pattern)
            == (of_top.writes, of_top.is_huge, of_top.cache, of_top.pattern);
        if alike && flow.bytes_in_flight >= 2 * of_top.bytes_in_flight {
            return is_faster(other, top);
        }
        let has_less = alike && 2 * flow.bytes_in_flight <= of_top.bytes_in_flight;
        if has_less { is_faster(top, other) } else { None }
    };
    rows.iter().filter_map(asked).find(|decided| decided.decision() == Decision::No)
}
