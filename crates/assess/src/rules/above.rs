//! Whether a figure is above what bounds it.

use super::context::Draft;
use crate::ceiling::{CeilingShare, RowCeilings, is_beyond_caches};
use crate::finding::Severity;
use crate::row::Row;
use crate::summary::CeilingKind;
use model::units::percent;

/// A row above its ceiling by more than this, with its whole interval, is not noise
/// (docs/method).
const ABOVE_MOST: f64 = 1.05;

/// Writing a file is at most this many times as fast as reading memory with the same threads; we
/// saw 2.4
/// (docs/method).
const WRITING_MOST: f64 = 4.0;

/// The throughput, or that without loading, is above its ceiling (docs/method). The interval of
/// the paired rounds decides: noise alone often lifts a row above its ceiling.
pub(super) fn above_ceiling(row: &Row, bounds: &RowCeilings) -> Option<Draft> {
    let whole = bounds.ceiling.as_ref().and_then(|held| above(row, held, ""));
    let loaded = bounds.loaded_ceiling.as_ref();
    let loaded = loaded.and_then(|held| above(row, held, ", without loading,"));
    [whole, loaded].into_iter().flatten().max_by_key(|fault| fault.severity)
}

fn above(row: &Row, held: &CeilingShare, part: &str) -> Option<Draft> {
    let share = held.share;
    if share.median <= 1.0 {
        return None;
    }
    let least = share.low.unwrap_or(0.0);
    let interval = match (share.low, share.high) {
        (Some(low), Some(high)) => format!("95 % interval {low:.3}-{high:.3}"),
        _ => "too few paired rounds for an interval".to_string(),
    };
    let seen = format!(
        "the figure{part} is {:.3} times its ceiling, '{}' ({interval})",
        share.median, held.base
    );
    let (severity, cause, remedy) = cause(row, held, least);
    Draft::sized(share.median, severity, format!("{seen}: {cause}"), remedy)
}

/// The severity, cause and remedy of a row whose interval begins at the share `least`.
fn cause(row: &Row, held: &CeilingShare, least: f64) -> (Severity, String, &'static str) {
    let case = row.measured.case;
    let (severity, cause, remedy) = if held.is_loose && least <= WRITING_MOST {
        let cause = "a store need not wait for its line, so writing can be faster than reading";
        (Severity::Note, cause, "add a row with --kernel write-nt, which bounds it closely")
    } else if held.share.low.is_none() {
        let cause = "without an interval, nothing tells chance from a fault";
        (Severity::Note, cause, "measure more rounds")
    } else if least <= ABOVE_MOST {
        let cause = "the excess is within the variation of both";
        (Severity::Note, cause, "read it as 'as fast as its ceiling'")
    } else if let Some(cause) = in_caches(row).filter(|_| held.kind == CeilingKind::Memory) {
        let remedy = "use a file at least four times as large as the last-level cache";
        return (Severity::Doubt, cause, remedy);
    } else if !held.is_firm && held.kind == CeilingKind::Device {
        let cause = "no direct row shows the most that the device can do";
        let remedy = "add direct rows with more in flight until the rate stops rising";
        (Severity::Doubt, cause, remedy)
    } else if held.kind == CeilingKind::Device && case.write().is_some() {
        let cause = "the two differ in more than the cache, such as in syncs or in what the file \
                     holds at the start";
        let remedy = "compare it with a direct row that differs only in the cache state";
        (Severity::Doubt, cause, remedy)
    } else if !held.is_firm {
        (Severity::Doubt, "the ceiling itself is doubtful", "see the findings on the ceiling's row")
    } else {
        let cause = "one of the two is not what it claims: its time is wrong, bytes were skipped, \
                     or a cache served where none should";
        (Severity::Void, cause, "trust neither; check this row's worker and its evidence")
    };
    (severity, cause.to_string(), remedy)
}

/// What the processor's caches may serve of a file that does not far exceed them.
fn in_caches(row: &Row) -> Option<String> {
    let size = row.measured.case.file_size()?;
    if is_beyond_caches(size, &row.measured) {
        return None;
    }
    Some(match row.measured.caches.hold(size, row.measured.case.threads()) {
        Some(share) if share < 1.0 => {
            format!("the processor's caches can hold up to {} of the file", percent(share))
        }
        Some(_) => "the processor's caches can hold the whole file".to_string(),
        None => "the size of the processor's caches, which may serve it, is unknown".to_string(),
    })
}
