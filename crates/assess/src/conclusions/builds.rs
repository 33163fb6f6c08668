//! How far builds of one loop are apart: the effect of a compiler and its options.

use crate::decision::{Decided, differs_by};
use crate::row::{Row, grouped};
use model::case::MemoryWork;
use model::plan::Role;

/// One loop, built by several peers.
#[derive(Debug, Clone, PartialEq)]
pub struct Builds {
    /// The number of measured builds.
    pub count: usize,
    /// The fastest compared with the slowest.
    pub apart: Decided,
}

/// Each loop over the same arrays that at least two peers ran.
pub(crate) fn builds(rows: &[Row]) -> Vec<Builds> {
    let is_build = |row: &&Row| row.measured.role == Role::Asked && row.stands() && !row.is_own();
    let loops = grouped(rows.iter().filter(is_build), |row| {
        let MemoryWork { kernel, working_set, pages, threads, .. } = *row.measured.case.memory()?;
        row.summary.throughput.map(|_| (kernel, working_set, pages, threads))
    });
    loops.iter().filter_map(|members| apart(members)).collect()
}

fn apart(members: &[&Row]) -> Option<Builds> {
    let by_rate = |a: &&&Row, b: &&&Row| a.throughput().total_cmp(&b.throughput());
    let (slowest, fastest) = (members.iter().min_by(by_rate)?, members.iter().max_by(by_rate)?);
    let rates = [fastest, slowest].map(|row| row.measured.rates());
    let apart = differs_by([fastest, slowest], [&rates[0], &rates[1]])?;
    (members.len() > 1).then_some(Builds { count: members.len(), apart })
}
