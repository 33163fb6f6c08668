//! What bounds the time of a command.

use crate::decision::Named;
use crate::finding::{Code, Severity};
use crate::row::Row;
use crate::rules::START_NS;
use crate::summary::ServedBy;
use model::named;
use model::plan::Role;
use schemars::JsonSchema;
use serde::Serialize;

named! {
    /// What bounds the time of a command.
    CommandBound "bound" {
        /// Computing, on one processor.
        OneProcessor "one processor",
        /// Computing, on all processors.
        AllProcessors "all processors",
        /// A limit of a control group.
        Limit "limit",
        /// Starting its process.
        Start "start",
        /// Waiting for something that is neither a device nor a processor, as far as counters show:
        /// a lock, a sleep, another program, a network.
        Waiting "waiting",
        /// Nothing that the evidence shows.
        Unknown "unknown",
    }
}

/// What bounds the time of a command, and from what that follows.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BoundedCommand {
    /// The case.
    pub case: Named,
    /// What bounds it.
    pub bound: CommandBound,
    /// CPU time divided by wall time, median of the rounds; null if not counted.
    pub processors: Option<f64>,
    /// Whether devices read for it or what it wrote was durable: then it may have waited for them,
    /// and how much they can do was not measured.
    pub uses_devices: bool,
}

/// A command that ran for this share of its time computed all the time (docs/method).
const BUSY: f64 = 0.90;
/// A command that ran for less of its time waited for something else (docs/method).
const IDLE: f64 = 0.50;
/// With more pressure than this, it may have waited for a processor (docs/method).
const PRESSURE_MOST: f64 = 0.10;
/// With more than this share of its time for its start, that bounds it (docs/method).
const START_LEAST: f64 = 0.50;

/// What bounds each requested command.
pub(crate) fn bounded(rows: &[Row]) -> Vec<BoundedCommand> {
    let is_asked = |row: &&Row| row.measured.role == Role::Asked && row.stands();
    let commands = rows.iter().filter(is_asked).filter(|row| row.measured.case.command().is_some());
    commands.filter_map(of).collect()
}

fn of(row: &Row) -> Option<BoundedCommand> {
    let processors = row.summary.spent.map(|spent| spent.processors);
    let uses_devices = uses_devices(row);
    Some(BoundedCommand {
        case: Named::of(&row.summary)?,
        bound: bound(row, processors, uses_devices),
        processors,
        uses_devices,
    })
}

fn bound(row: &Row, processors: Option<f64>, uses_devices: bool) -> CommandBound {
    let is_limit = |code: Code, severity| code == Code::Throttled && severity == Severity::Doubt;
    if row.summary.findings.iter().any(|it| is_limit(it.code, it.severity)) {
        return CommandBound::Limit;
    }
    let is_short = row.summary.ns_per_op.is_some_and(|it| START_NS > START_LEAST * it.median);
    if is_short && !uses_devices {
        return CommandBound::Start;
    }
    let all = f64::from(row.measured.host.parallelism());
    let is_alone = row.measured.facts.is_some_and(|facts| !facts.sampled && facts.threads <= 1);
    match processors {
        Some(used) if all > 1.0 && used >= BUSY * all => CommandBound::AllProcessors,
        // Of several threads, two may have computed while one waited.
        Some(used) if used >= BUSY && (is_alone || all == 1.0) => CommandBound::OneProcessor,
        Some(used) if used < IDLE && !uses_devices && has_processors(row) => CommandBound::Waiting,
        _ => CommandBound::Unknown,
    }
}

/// Whether it may have waited for a device: one read for it, or made its data durable, or that is
/// not known.
fn uses_devices(row: &Row) -> bool {
    let is_served_without = row
        .summary
        .served_by
        .is_some_and(|by| matches!(by, ServedBy::PageCache | ServedBy::NoIo | ServedBy::Ram));
    let figures = row.summary.command.as_deref();
    let is_unwritten = figures.is_some_and(|it| it.dirtied_bytes == Some(0) && it.syncs == Some(0));
    !(is_served_without && is_unwritten)
}

/// Whether hardly any task of the machine waited for a processor.
fn has_processors(row: &Row) -> bool {
    let pressure = row
        .measured
        .total_share(|trial| Some((trial.evidence.pressure_cpu_ns?, trial.evidence.window_ns)));
    pressure.is_some_and(|share| share <= PRESSURE_MOST)
}
