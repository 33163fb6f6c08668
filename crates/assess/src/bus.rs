//! An estimate of the bytes on the memory bus.

use crate::row::Row;
use crate::stats::Estimate;
use crate::summary::{ServedBy, Summary};
use model::case::MemoryWork;

/// Ordinary stores with at least this share of the throughput of non-temporal ones are as fast
/// (docs/method).
const AS_FAST: f64 = 0.95;

/// An estimate of the bytes on the memory bus, if nothing stays in a cache. An ordinary store
/// fetches its cache line first, a non-temporal one does not.
///
/// `None` if both are as fast among `rows`: then something else than these bytes bounds them, or
/// the processor does not fetch them.
pub(crate) fn bus(row: &Row, rows: &[Row]) -> Option<Estimate> {
    let work =
        row.measured.case.memory().filter(|_| row.summary.served_by == Some(ServedBy::Ram))?;
    let factor = work.kernel.bus_arrays()? as f64 / work.kernel.arrays() as f64;
    let is_as_fast = |other: &Row| {
        let is_asked = other.stands() && is_non_temporal(other, row);
        is_asked && row.share_of(other).is_some_and(|share| share.median >= AS_FAST)
    };
    let estimate = row.summary.throughput?.scaled(factor);
    (!rows.iter().any(is_as_fast)).then_some(estimate)
}

/// Whether `other` is the same loop as `row`, with non-temporal stores.
fn is_non_temporal(other: &Row, row: &Row) -> bool {
    let of = |row: &Row| row.measured.case.memory().copied();
    let (Some(plain), Some(bypassing)) = (of(row), of(other)) else { return false };
    plain.kernel.non_temporal().is_some_and(|kernel| {
        let MemoryWork { time, .. } = bypassing;
        row.measured.case.peer == other.measured.case.peer
            && bypassing == MemoryWork { kernel, time, ..plain }
    })
}

impl Summary {
    /// Whether its estimate of the bytes on the memory bus is left out because non-temporal stores
    /// are no faster.
    pub fn lacks_bus(&self) -> bool {
        let is_plain = |work: &MemoryWork| work.kernel.non_temporal().is_some();
        self.case.memory().is_some_and(is_plain)
            && self.served_by == Some(ServedBy::Ram)
            && self.throughput.is_some()
            && self.bus.is_none()
    }
}
