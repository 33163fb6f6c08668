//! Whether an open loop followed its schedule.

use super::context::{Context, Draft, RuleTable, graded};
use crate::finding::{Code, Severity};
use crate::open_loop::OpenLoop;
use crate::row::Row;
use crate::summary::Latency;
use model::arrival::Arrival;
use model::case::Case;
use model::units::{nanoseconds, percent};
use std::collections::HashMap;

/// The rules of this module.
pub(super) const RULES: RuleTable = &[(Code::LoadNotHeld, load_not_held)];

/// From these shares of a response time on, the generator's own is noted, or makes it doubtful
/// (docs/method).
const BEHIND: [f64; 2] = [0.05, 0.10];

/// Operations were due that had not begun when the time was up (docs/method).
fn load_not_held(context: &Context) -> Option<Draft> {
    let open = context.summary.open.as_ref().filter(|_| context.moves())?;
    if open.is_held() {
        return None;
    }
    let message = format!(
        "{} of the operations that were due had not begun when the time was up: the longer a \
         trial, the longer its response times",
        percent(1.0 - open.achieved)
    );
    let remedy = "read the rate that it achieved; for response times, ask for a lower rate";
    Draft::sized(1.0 - open.achieved, Severity::Doubt, message, remedy)
}

/// The same schedule without any I/O takes a large part of the response time, or is not held
/// either (docs/method).
pub(super) fn generator_behind(row: &Row, generators: &Generators) -> Option<Draft> {
    let open = row.summary.open.as_ref().filter(|_| !row.measured.case.is_null())?;
    let own = generators.row(row.measured.case)?.summary.open.as_ref()?;
    let remedy = "use more threads if there are processors for them, or a lower rate";
    if !own.is_held() {
        let message = format!(
            "without any I/O, ioassay itself begins only {} of these operations in time",
            percent(own.achieved)
        );
        return Draft::sized(1.0 - own.achieved, Severity::Doubt, message, remedy);
    }
    let (name, own_ns, ns, share) = largest_share(own, open)?;
    let message = format!(
        "without any I/O, this schedule has a {name} of {}, which is {} of the {} here",
        nanoseconds(own_ns),
        percent(share),
        nanoseconds(ns)
    );
    Draft::sized(share, graded(share, BEHIND)?, message, remedy)
}

/// The rows of the null engine on each schedule that it followed. Cases with a rate may be
/// thousands.
pub(crate) struct Generators<'a, 'r>(HashMap<LatenessRule, &'a Row<'r>>);

/// Rate, arrivals and threads.
type LatenessRule = (u64, Arrival, u32);

fn schedule(case: &Case) -> Option<LatenessRule> {
    case.io().map(|io| (io.rate, io.arrival, io.threads))
}

impl<'a, 'r> Generators<'a, 'r> {
    pub(crate) fn of(rows: &'a [Row<'r>]) -> Generators<'a, 'r> {
        let is_generator = |row: &&Row| row.measured.case.is_null() && row.measured.case.is_open();
        let mut first = HashMap::new();
        for row in rows.iter().filter(is_generator) {
            if let Some(schedule) = schedule(row.measured.case) {
                first.entry(schedule).or_insert(row);
            }
        }
        Generators(first)
    }

    /// That of the schedule of `case`.
    pub(super) fn row(&self, case: &Case) -> Option<&'a Row<'r>> {
        self.0.get(&schedule(case)?).copied()
    }
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
