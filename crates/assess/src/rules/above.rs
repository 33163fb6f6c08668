//! Whether a figure is above what bounds it.

use super::context::Fault;
use crate::ceiling::{Bounds, Held, is_beyond_caches};
use crate::finding::Severity;
use crate::row::Row;
use crate::summary::CeilingKind;
use model::case::{Case, Kernel};

/// A row wholly above its ceiling by more than this is not explained by noise (METHODOLOGY.md).
const ABOVE_MOST: f64 = 1.05;

/// Writing goes no faster than this many times reading, by the same threads: 2.4 times was seen
/// (METHODOLOGY.md).
const WRITING_MOST: f64 = 4.0;

/// The throughput, or that without loading, is above its ceiling (METHODOLOGY.md). What counts is
/// the interval of the paired rounds; within noise of the ceiling a row may well lie above it.
pub(super) fn above_ceiling(row: &Row, bounds: &Bounds) -> Option<Fault> {
    let whole = bounds.ceiling.as_ref().and_then(|held| above(row, held, ""));
    let loaded = bounds.loaded_ceiling.as_ref();
    let loaded = loaded.and_then(|held| above(row, held, ", without loading,"));
    [whole, loaded].into_iter().flatten().max_by_key(|fault| fault.severity)
}

fn above(row: &Row, held: &Held, part: &str) -> Option<Fault> {
    let share = held.share;
    if share.median <= 1.0 {
        return None;
    }
    let least = share.low.unwrap_or(0.0);
    let interval = match (share.low, share.high) {
        (Some(low), Some(high)) => format!("95 % interval {low:.3}-{high:.3}"),
        _ => "too few common rounds for an interval".to_string(),
    };
    let seen = format!(
        "the figure{part} is {:.3} of its ceiling, '{}' ({interval})",
        share.median, held.base
    );
    let (severity, cause, remedy) = cause(row, held, least);
    Fault::new(severity, format!("{seen}: {cause}"), remedy)
}

/// How grave it is to be above the ceiling by at least the share `least`, why, and what to do.
fn cause(row: &Row, held: &Held, least: f64) -> (Severity, &'static str, &'static str) {
    let case = row.measured.case;
    let is_loose = writes(case) && held.kind == CeilingKind::Memory;
    if is_loose && least <= WRITING_MOST {
        let cause = "stores need not wait for what they bring, so writing may be faster than \
                     reading, which bounds it only loosely";
        (Severity::Note, cause, "compare it with other rows that write")
    } else if least <= ABOVE_MOST {
        let cause = "that is within what both vary by";
        (Severity::Note, cause, "read it as 'as fast as its ceiling'")
    } else if held.kind == CeilingKind::Memory && fits_caches(row) {
        let cause = "the file is small enough for the processor's caches to serve it";
        (Severity::Doubt, cause, "use a file of at least four times the last-level cache")
    } else if !held.is_firm && held.kind == CeilingKind::Device {
        let cause = "the direct rows did not show what the device gives at most";
        let remedy = "add direct rows with more in flight, until more gives no more";
        (Severity::Doubt, cause, remedy)
    } else if held.kind == CeilingKind::Device && writes(case) {
        let cause = "what the two do besides writing is not the same, such as syncs, and what the \
                     file has at the start";
        (Severity::Doubt, cause, "compare it with direct rows that differ in the cache only")
    } else if !held.is_firm {
        (Severity::Doubt, "the ceiling itself is doubtful", "see what was found on the ceiling")
    } else {
        let cause = "one of the two is not what it claims: its time is wrong, bytes were skipped, \
                     or a cache served where none is meant";
        (Severity::Void, cause, "believe neither; look at the worker of this row and its evidence")
    }
}

fn writes(case: &Case) -> bool {
    let stores = case.memory().map(|work| !matches!(work.kernel, Kernel::Read | Kernel::Count));
    stores.unwrap_or(case.write().is_some())
}

fn fits_caches(row: &Row) -> bool {
    let size = row.measured.case.file_size();
    size.is_some_and(|size| !is_beyond_caches(size, &row.measured))
}
