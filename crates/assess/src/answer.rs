//! The closing answer of a survey: is this disk faster than memory, and what bounds it?

use crate::ceiling::{is_beyond_caches, memory_read, shows_plateau};
use crate::finding::{Code, Severity};
use crate::row::{Row, fastest};
use crate::summary::ServedBy;
use model::case::{FileWork, Kernel};
use model::pattern::Pattern;

/// The figures the answer rests on. All are throughputs in bytes per second.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// One thread reading memory.
    pub memory: f64,
    /// The fastest row that the page cache served, if any is not void.
    pub page_cache: Option<f64>,
    /// The fastest row that a device served, if any is not void.
    pub device: Option<Fastest>,
    /// Random 4 KiB reads from the device one at a time: nanoseconds at the median, if measured.
    pub device_latency_ns: Option<u64>,
    /// A load from memory that hits no cache, in nanoseconds, if measured.
    pub memory_latency_ns: Option<f64>,
}

/// The fastest row of a kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Fastest {
    /// Its case id.
    pub id: String,
    /// Its throughput.
    pub throughput: f64,
    /// Its share of memory's throughput: median of the paired ratios.
    pub of_memory: f64,
    /// Lower end of the 95 % interval of that share.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// What bounds it.
    pub bound: Bound,
}

/// What bounds the fastest device row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// More depth or threads gave no more: the device, or the path to it.
    Device,
    /// The reading threads used their CPUs up.
    Cpu,
    /// The tool's own overhead.
    Tool,
    /// Not known: nothing with more depth or threads was measured, more in flight may give more.
    Unknown,
}

/// Bytes of the random reads whose latency is told.
const LATENCY_BLOCK: u64 = 4096;

/// The answer, where one thread reading memory and a file were both measured.
pub(crate) fn answer(rows: &[Row]) -> Option<Answer> {
    let memory = memory_read(rows, 1)?;
    rows.iter().find(|row| row.file().is_some())?;
    let served = |by| rows.iter().filter(move |row| row.file().is_some() && row.is_served(by));
    let latency_ns = served(ServedBy::Device)
        .filter(|row| row.file().is_some_and(reads_one_at_a_time))
        .filter_map(|row| Some(row.summary.latency.p50?.ns))
        .min();
    Some(Answer {
        memory: memory.throughput(),
        page_cache: fastest(served(ServedBy::PageCache)).map(Row::throughput),
        device: fastest(served(ServedBy::Device)).and_then(|row| fastest_of(row, memory, rows)),
        device_latency_ns: latency_ns,
        memory_latency_ns: memory_latency_ns(rows),
    })
}

fn reads_one_at_a_time(work: &FileWork) -> bool {
    let one = work.depth == 1 && work.threads == 1 && work.block == LATENCY_BLOCK;
    one && work.pattern == Pattern::Random
}

fn memory_latency_ns(rows: &[Row]) -> Option<f64> {
    rows.iter()
        .filter(|row| {
            let work = row.measured.case.memory();
            let is_chase = |w: &model::case::MemoryWork| {
                let is_far = is_beyond_caches(w.working_set, &row.measured);
                w.kernel == Kernel::Chase && w.threads == 1 && is_far
            };
            row.stands() && work.is_some_and(is_chase)
        })
        .filter_map(|row| Some(row.summary.ns_per_op?.median))
        .min_by(f64::total_cmp)
}

fn fastest_of(row: &Row, memory: &Row, rows: &[Row]) -> Option<Fastest> {
    let share = row.share_of(memory)?;
    Some(Fastest {
        id: row.summary.id.clone(),
        throughput: row.throughput(),
        of_memory: share.median,
        low: share.low,
        high: share.high,
        bound: bound(row, rows),
    })
}

/// What bounds the fastest device row. That it is the device is said only if more in flight was
/// seen to give no more (METHODOLOGY.md).
fn bound(row: &Row, rows: &[Row]) -> Bound {
    let found =
        |code, least| row.summary.findings.iter().any(|f| f.code == code && f.severity >= least);
    if found(Code::OverheadBound, Severity::Doubt) {
        Bound::Tool
    } else if found(Code::CpuBound, Severity::Note) {
        Bound::Cpu
    } else if rows.iter().any(|other| shows_plateau(other, row)) {
        Bound::Device
    } else {
        Bound::Unknown
    }
}
