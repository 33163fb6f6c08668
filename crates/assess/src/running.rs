//! Judges a program that was running already: what served its reads, what it spent its time on,
//! what bounds it, and what is not known.

mod whole;
mod reads;
mod bound;
mod found;

pub use bound::{BoundBy, RunningBound, TimeSpent};
pub use found::{RunningCode, RunningFinding};
pub use reads::{RunningReads, ServedReads};

use model::running::{Interval, RunningRecord};
use schemars::JsonSchema;
use serde::Serialize;

/// At most so many parts of the time are shown.
pub const PARTS_MAX: usize = 12;

/// The judgment of a program that was running already.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RunningAssessment {
    /// All intervals as one.
    pub whole: Interval,
    /// The same in at most 12 parts.
    pub parts: Vec<Interval>,
    /// What served its reads.
    pub reads: ServedReads,
    /// What it spent its time on.
    pub time: TimeSpent,
    /// What may bound it now, and whether it does.
    pub bounds: Vec<RunningBound>,
    /// Dirty bytes of its open files at the end; null if that is not seen of all.
    pub dirty_bytes: Option<u64>,
    /// What is wrong or not known, doubts first.
    pub findings: Vec<RunningFinding>,
}

/// Judges what was seen of a program.
pub fn running(record: &RunningRecord) -> RunningAssessment {
    let whole = whole::joined(&record.intervals);
    let parts = parts(record, PARTS_MAX);
    let reads = reads::of(record, &whole);
    let time = TimeSpent::of(record, &whole);
    let bounds = bound::all(record, &whole, &time);
    let dirty_bytes = found::dirty_bytes(record);
    let findings = found::all(record, &whole);
    RunningAssessment { whole, parts, reads, time, bounds, dirty_bytes, findings }
}

/// All intervals in at most so many parts.
pub fn parts(record: &RunningRecord, most: usize) -> Vec<Interval> {
    let size = record.intervals.len().div_ceil(most.max(1)).max(1);
    record.intervals.chunks(size).map(whole::joined).collect()
}
