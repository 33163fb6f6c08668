//! How many threads it takes until memory gives no more.

use crate::ceiling::is_beyond_caches;
use crate::row::{Row, grouped};
use model::case::{Isa, Kernel, MemoryWork, Pages};

/// What more threads gave to a loop over memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Saturation {
    /// Which program ran it.
    pub peer: String,
    /// Which loop.
    pub kernel: Kernel,
    /// Written for which instruction set.
    pub isa: Isa,
    /// What its arrays were mapped by.
    pub pages: Pages,
    /// Bytes of all arrays of all threads.
    pub working_set: u64,
    /// The fewest threads that come within 5 % of the highest throughput, where more were tried;
    /// none where the most threads alone do: not saturated.
    pub threads: Option<u32>,
    /// The most threads that were tried.
    pub most_threads: u32,
    /// The highest throughput in bytes a second.
    pub highest: f64,
}

/// A throughput of this share of the highest is as good as that (METHODOLOGY.md).
const NEAR: f64 = 0.95;

/// Each loop over arrays beyond the caches that was measured with several numbers of threads.
pub(crate) fn saturations(rows: &[Row]) -> Vec<Saturation> {
    let loops = grouped(rows.iter().filter(|row| row.stands()), |row| {
        let case = row.measured.case;
        let MemoryWork { kernel, isa, pages, working_set, .. } = *case.memory()?;
        let is_memory = kernel.is_bulk() && is_beyond_caches(working_set, &row.measured);
        is_memory.then(|| (case.peer.clone(), kernel, isa, pages, working_set))
    });
    loops.iter().filter_map(|rows| saturation(rows)).collect()
}

/// What rows that differ in their threads only show; none if there is but one number of threads.
fn saturation(rows: &[&Row]) -> Option<Saturation> {
    let case = rows.first()?.measured.case;
    let MemoryWork { kernel, isa, pages, working_set, .. } = *case.memory()?;
    let threads = |row: &&Row| row.measured.case.threads();
    let (fewest, most) = (rows.iter().map(threads).min()?, rows.iter().map(threads).max()?);
    let highest = rows.iter().map(|row| row.throughput()).fold(0.0, f64::max);
    let near = rows.iter().filter(|row| row.throughput() >= NEAR * highest);
    (fewest < most).then(|| Saturation {
        peer: case.peer.clone(),
        kernel,
        isa,
        pages,
        working_set,
        threads: near.map(threads).min().filter(|enough| *enough < most),
        most_threads: most,
        highest,
    })
}
