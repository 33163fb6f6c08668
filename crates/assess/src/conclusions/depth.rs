//! How many operations in flight a device needs.

use crate::decision::{Decision, Named, Open, is_faster_by};
use crate::percentile::Percentile;
use crate::row::{Row, fastest, grouped};
use model::case::Case;
use model::plan::Role;
use schemars::JsonSchema;
use serde::Serialize;
use std::time::Duration;

/// A depth is enough if the fastest is at most this much faster: it then reaches 90 % of its rate
/// (docs/method).
const INTEREST: f64 = 1.0 / 0.9 - 1.0;

/// How the rate and the latency of a case grow with its depth.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Depths {
    /// The measured depths, ascending.
    pub depths: Vec<Depth>,
    /// The smallest depth that reaches at least 90 % of the highest rate; null if undecided.
    pub enough: Option<u32>,
    /// The depth with the highest rate.
    pub fastest: u32,
    /// What the first comparison that leaves it undecided would take.
    #[serde(skip)]
    pub open: Option<Open>,
}

/// One depth.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Depth {
    /// The case.
    pub case: Named,
    /// Operations in flight per thread.
    pub depth: u32,
    /// Operations per second, median of the rounds.
    pub iops: f64,
    /// Median service time in nanoseconds.
    pub p50_ns: Option<u64>,
    /// The 99th percentile.
    pub p99_ns: Option<u64>,
    /// The 95 % interval of the 99th percentile.
    pub p99_interval: Option<Percentile>,
}

impl Depth {
    /// Whether the whole interval of its p99 is below `limit`.
    pub fn is_below(&self, limit: Duration) -> bool {
        let high = self.p99_interval.and_then(|interval| interval.high_ns);
        high.is_some_and(|ns| u128::from(ns) < limit.as_nanos())
    }
}

/// The cases that differ only in their depth, in a closed loop; at least three.
pub(crate) fn depths(rows: &[Row]) -> Vec<Depths> {
    let is_asked = |row: &&Row| row.measured.role == Role::Asked && row.stands();
    let same = grouped(rows.iter().filter(is_asked), |row| without_depth(row.measured.case));
    same.iter().filter_map(|rows| of(rows)).collect()
}

fn without_depth(case: &Case) -> Option<Case> {
    let mut case = case.clone();
    let is_open = case.is_open();
    let io = case.io_mut().filter(|_| !is_open)?;
    (io.depth, io.time) = (1, Duration::ZERO);
    Some(case)
}

fn depth_of(row: &Row) -> u32 {
    row.measured.case.io().map_or(0, |io| io.depth)
}

fn of(rows: &[&Row]) -> Option<Depths> {
    let mut rows = rows.to_vec();
    rows.sort_by_key(|row| depth_of(row));
    rows.dedup_by_key(|row| depth_of(row));
    if rows.len() < 3 {
        return None;
    }
    let best = fastest(rows.iter().copied())?;
    let asked = |row: &Row| {
        let rates = [best, row].map(|row| row.measured.rates());
        is_faster_by([best, row], [&rates[0], &rates[1]], Some(INTEREST))
    };
    let is_more = |row: &Row| asked(row).map_or(Decision::Undecided, |faster| faster.decision());
    let others = || rows.iter().filter(|row| !std::ptr::eq(**row, best));
    let enough = others().find(|row| is_more(row) == Decision::No).map(|row| depth_of(row));
    let is_needed = others().all(|row| is_more(row) == Decision::Yes);
    let fastest = depth_of(best);
    let depths: Vec<Depth> = rows.iter().filter_map(|row| depth(row)).collect();
    let enough = enough.filter(|depth| *depth < fastest).or(is_needed.then_some(fastest));
    let open = others().find_map(|row| asked(row)?.open()).filter(|_| enough.is_none());
    Some(Depths { depths, enough, fastest, open })
}

fn depth(row: &Row) -> Option<Depth> {
    let latency = &row.summary.latency;
    Some(Depth {
        case: Named::of(&row.summary)?,
        depth: depth_of(row),
        iops: row.summary.iops?.median,
        p50_ns: latency.p50.map(|p50| p50.ns),
        p99_ns: latency.p99.map(|p99| p99.ns),
        p99_interval: latency.p99,
    })
}
