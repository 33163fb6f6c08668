//! The measured bounds that apply to a case.

use crate::row::{Row, fastest};
use crate::summary::{Ceiling, CeilingKind, ServedBy};
use model::case::{Cache, Kernel, MemoryWork};

/// A working set this many times the last-level cache is read from memory (METHODOLOGY.md, after
/// rule (a) of STREAM).
const CACHES_LEAST: u64 = 4;

/// Whether the arrays of `row` are far larger than the caches.
pub(crate) fn is_beyond_caches(row: &Row, work: &MemoryWork) -> bool {
    work.working_set >= CACHES_LEAST * row.measured.host.last_level_cache
}

/// The row that reads memory fastest with `threads` threads, or with the nearest lower number
/// that was measured. Its arrays are far larger than the caches.
pub(crate) fn memory_read<'a, 'r>(rows: &'a [Row<'r>], threads: u32) -> Option<&'a Row<'r>> {
    let reads = |row: &Row| {
        let work = row.measured.case.memory().filter(|work| work.kernel == Kernel::Read)?;
        (row.stands() && work.threads <= threads && is_beyond_caches(row, work))
            .then_some(work.threads)
    };
    let nearest = rows.iter().filter_map(reads).max()?;
    fastest(rows.iter().filter(|row| reads(row) == Some(nearest)))
}

/// Throughput of `row` divided by that of one thread reading memory. None for what moves no
/// bytes in bulk: the null engine, and the chase, which measures latency.
pub(crate) fn of_memory(row: &Row, rows: &[Row]) -> Option<f64> {
    if row.measured.n() == 0 || !moves_bulk(row) {
        return None;
    }
    row.share_of(memory_read(rows, 1).filter(|base| base.measured.case.threads() == 1)?)
}

fn moves_bulk(row: &Row) -> bool {
    match row.measured.case.memory() {
        Some(work) => work.kernel.is_bulk(),
        None => row.file().is_some(),
    }
}

/// What bounds `row`: reading memory with as many threads for what memory and the page cache
/// serve, the fastest direct row for what a device serves. No case is its own ceiling, and a
/// memory read has none: nothing that is measured here is above it.
pub(crate) fn ceiling(row: &Row, rows: &[Row]) -> Option<Ceiling> {
    let is_read = row.measured.case.memory().is_some_and(|work| work.kernel == Kernel::Read);
    if !moves_bulk(row) || is_read {
        return None;
    }
    let (kind, base) = match row.summary.served_by? {
        ServedBy::Ram | ServedBy::PageCache => {
            (CeilingKind::Memory, memory_read(rows, row.measured.case.threads())?)
        }
        ServedBy::Device => (CeilingKind::Device, fastest_direct(rows)?),
        ServedBy::Mixed | ServedBy::NoIo | ServedBy::Unverified => return None,
    };
    if std::ptr::eq(row, base) {
        return None;
    }
    Some(Ceiling { kind, share: row.share_of(base)? })
}

fn fastest_direct<'a, 'r>(rows: &'a [Row<'r>]) -> Option<&'a Row<'r>> {
    let is_direct = |row: &&Row| {
        row.is_served(ServedBy::Device) && row.file().is_some_and(|w| w.cache == Cache::Direct)
    };
    fastest(rows.iter().filter(is_direct))
}
