//! The cost of touching a page of a file, compared with a page of memory.

use crate::counted::{Counted, a_second};
use crate::decision::Named;
use crate::measured::Rounds;
use crate::ratio::Ratio;
use crate::row::Row;
use model::case::{
    BlockPlace, Io, Kernel, MemoryWork, Op, Pages, ReadWork, Touch, WriteEngine, WriteWork,
};
use model::named;
use model::pattern::Pattern;
use schemars::JsonSchema;
use serde::Serialize;

named! {
    /// How a byte of each page is touched.
    Phase "phase" {
        /// Written.
        Write "write",
        /// Read.
        Read "read",
    }
}

/// A case that touches a byte of each page of a file, compared with one that does so in memory.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Touching {
    /// How the byte is touched.
    pub phase: Phase,
    /// Id of the case on a file.
    pub file: Named,
    /// Id of the case in memory: second touch, with as many threads, or the closest number
    /// measured; with base pages, if those were measured.
    pub memory: Named,
    /// Operations per second in memory divided by those on the file, from paired rounds. Writes to
    /// the file count when they are acknowledged.
    pub ratio: Ratio,
}

/// Every case that touches pages of a file, if the same was measured in memory. Uses only valid
/// rows of our own worker.
pub(crate) fn touchings(rows: &[Row]) -> Vec<Touching> {
    let touching = |file: &Row| {
        let (phase, size) = touched(file)?;
        let memory = nearest_memory(rows, phase, file, size)?;
        let ratio = Ratio::of_any(&ops_a_second(memory), &ops_a_second(file))?;
        let (file, memory) = (Named::of(&file.summary)?, Named::of(&memory.summary)?);
        Some(Touching { phase, file, memory, ratio })
    };
    rows.iter().filter(|row| is_held(row)).filter_map(touching).collect()
}

fn is_held(row: &Row) -> bool {
    row.is_own() && row.has_own_rate()
}

/// How a file's pages are touched, and its size; `None` if they are not just touched.
fn touched(row: &Row) -> Option<(Phase, u64)> {
    let page = row.measured.host.page;
    if let Some(work) = row.read() {
        return reads_pages(work, page).then_some((Phase::Read, work.io.size));
    }
    let work = row.measured.case.write()?;
    writes_pages(work, page).then_some((Phase::Write, work.io.size))
}

fn reads_pages(work: &ReadWork, page: u64) -> bool {
    let is_mapped = work.engine.place() == BlockPlace::Mapping
        && work.io.has_block(page)
        && work.touch == Touch::Page;
    is_mapped || steps_over_pages(&work.io, page)
}

/// Whether it writes one byte of each page and nothing else.
pub(crate) fn writes_pages(work: &WriteWork, page: u64) -> bool {
    let is_write = work.op == Op::Write && work.engine != WriteEngine::Null;
    is_write && steps_over_pages(&work.io, page)
}

/// Whether each operation touches one byte of a different page. With more operations than pages,
/// the first page would come again.
fn steps_over_pages(io: &Io, page: u64) -> bool {
    let is_strided = io.has_block(1) && io.pattern == Pattern::Strided && io.stride == page;
    is_strided && (1..=io.size.div_ceil(page.max(1))).contains(&io.ops)
}

/// The case in memory most similar to `file`, with this size.
fn nearest_memory<'a, 'r>(
    rows: &'a [Row<'r>],
    phase: Phase,
    file: &Row,
    size: u64,
) -> Option<&'a Row<'r>> {
    let (threads, page) = (file.measured.case.threads(), file.measured.host.page);
    let kernel = match phase {
        Phase::Write => Kernel::TouchPages,
        Phase::Read => Kernel::ReadPages,
    };
    let distance = |work: &MemoryWork| {
        let is_huge = work.pages == Pages::Huge;
        (work.threads.abs_diff(threads), is_huge, work.working_set.abs_diff(size))
    };
    rows.iter()
        .filter(|row| is_held(row))
        .filter_map(|row| Some((row, row.measured.case.memory()?)))
        .filter(|(_, work)| work.kernel == kernel && work.step == page)
        .min_by_key(|(_, work)| distance(work))
        .map(|(row, _)| row)
}

/// Operations per second in each round.
fn ops_a_second(row: &Row) -> Rounds {
    let rate =
        |trial: &Counted| Some(trial.at(a_second(trial.sample.ops(), trial.sample.elapsed_ns())?));
    row.measured.trials.iter().filter_map(rate).collect()
}
