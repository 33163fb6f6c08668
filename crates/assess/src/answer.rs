//! The closing answer of a survey: is this disk faster than memory, and what bounds it?

use crate::ceiling::{is_beyond_caches, memory_read};
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
/// A row with at most half as much in flight that comes this near shows that more gives no more.
const PLATEAU: f64 = 0.95;

/// The answer, where one thread reading memory and a file were both measured.
pub(crate) fn answer(rows: &[Row]) -> Option<Answer> {
    let memory = memory_read(rows, 1).filter(|row| row.measured.case.threads() == 1)?;
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
                w.kernel == Kernel::Chase && w.threads == 1 && is_beyond_caches(row, w)
            };
            row.stands() && work.is_some_and(is_chase)
        })
        .filter_map(|row| Some(row.summary.ns_per_op?.median))
        .min_by(f64::total_cmp)
}

fn fastest_of(row: &Row, memory: &Row, rows: &[Row]) -> Option<Fastest> {
    let ratio = row.ratio(memory);
    Some(Fastest {
        id: row.summary.id.clone(),
        throughput: row.throughput(),
        of_memory: row.share_of(memory)?,
        low: ratio.and_then(|ratio| ratio.low),
        high: ratio.and_then(|ratio| ratio.high),
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

/// Whether `other` shows that the fastest row, `top`, had enough in flight: it had twice as much
/// and was no faster, or half as much and was hardly slower.
fn shows_plateau(other: &Row, top: &Row) -> bool {
    let (Some(work), Some(top_work)) = (other.file(), top.file()) else { return false };
    let alike = work.cache == top_work.cache && work.pattern == top_work.pattern;
    let (in_flight, top_in_flight) = (bytes_in_flight(work), bytes_in_flight(top_work));
    let has_more = in_flight >= 2 * top_in_flight;
    let has_less = 2 * in_flight <= top_in_flight;
    let is_near = other.throughput() >= PLATEAU * top.throughput();
    other.is_served(ServedBy::Device) && alike && (has_more || (has_less && is_near))
}

fn bytes_in_flight(work: &FileWork) -> u128 {
    u128::from(work.block) * u128::from(work.depth) * u128::from(work.threads)
}
