//! Whether an open loop followed its schedule.

use super::context::{Context, Draft, graded};
use crate::finding::Severity;
use crate::open_loop::OpenLoop;
use crate::row::Row;
use crate::summary::Latency;
use model::case::Case;
use model::units::{nanoseconds, percent};

/// With a smaller share of the due operations begun in time, the load is not held (METHODOLOGY.md).
const HELD_LEAST: f64 = 0.99;
/// From these shares of a response time on, the generator's own is noted, or makes it doubtful
/// (METHODOLOGY.md).
const BEHIND: [f64; 2] = [0.05, 0.10];

/// Operations were due that had not begun when the time was up (METHODOLOGY.md).
pub(super) fn load_not_held(context: &Context) -> Option<Draft> {
    let open = context.summary.open.as_ref().filter(|_| context.moves())?;
    if open.achieved >= HELD_LEAST {
        return None;
    }
    let message = format!(
        "{} of the operations that were due had not begun when the time was up: the longer a \
         trial, the longer its response times",
        percent(1.0 - open.achieved)
    );
    let remedy = "read the rate that it achieved; for response times, ask for a lower rate";
    Draft::new(Severity::Doubt, message, remedy)
}

/// The same schedule without any I/O takes a large part of the response time, or is not held
/// either (METHODOLOGY.md).
pub(super) fn generator_behind(row: &Row, rows: &[Row]) -> Option<Draft> {
    let open = row.summary.open.as_ref().filter(|_| !row.measured.case.is_null())?;
    let null = rows.iter().find(|null| is_null_of(null.measured.case, row.measured.case))?;
    let own = null.summary.open.as_ref()?;
    let remedy = "use more threads if there are processors for them, or a lower rate";
    if own.achieved < HELD_LEAST {
        let message = format!(
            "without any I/O, ioassay itself begins only {} of these operations in time",
            percent(own.achieved)
        );
        return Draft::new(Severity::Doubt, message, remedy);
    }
    let (name, own_ns, ns, share) = largest_share(own, open)?;
    let message = format!(
        "without any I/O, this schedule has a {name} of {}, which is {} of the {} here",
        nanoseconds(own_ns),
        percent(share),
        nanoseconds(ns)
    );
    Draft::new(graded(share, BEHIND)?, message, remedy)
}

/// Whether `null` follows the schedule of `case` and moves nothing.
fn is_null_of(null: &Case, case: &Case) -> bool {
    let schedule = |case: &Case| case.io().map(|io| (io.rate, io.arrival, io.threads));
    null.is_null() && schedule(null) == schedule(case)
}

/// The response time of which the generator's own is the largest share: its name, the generator's,
/// the case's and the share.
fn largest_share(own: &OpenLoop, open: &OpenLoop) -> Option<(&'static str, f64, f64, f64)> {
    let both = |name, of: fn(&Latency) -> Option<u64>| {
        let (own_ns, ns) = (of(&own.response)? as f64, of(&open.response)? as f64);
        (ns > 0.0).then(|| (name, own_ns, ns, own_ns / ns))
    };
    let all = [
        both("median", |latency| Some(latency.p50?.ns)),
        both("p99", |latency| Some(latency.p99?.ns)),
    ];
    all.into_iter().flatten().max_by(|a, b| a.3.total_cmp(&b.3))
}
