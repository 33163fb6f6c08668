//! What bounds the time of a command.

use super::device_use::{CEILING_LEAST, DeviceUse, DirectReads, UNSURE_MOST};
use super::memory_use::MemoryUse;
use super::write_use::{DurableWrites, SyncUse, WriteUse};
use crate::ceiling::MemoryReads;
use crate::commands::{computes_alone, left_running};
use crate::decision::{Decision, Named};
use crate::finding::{Code, Severity};
use crate::ratio::Ratio;
use crate::row::{Row, start};
use crate::summary::ServedBy;
use model::named;
use model::plan::Role;
use model::rehearsal::FileUse;
use schemars::JsonSchema;
use serde::Serialize;

named! {
    /// What bounds the time of a command.
    CommandBound "bound" {
        /// Computing, on one processor.
        OneProcessor "one processor",
        /// Computing, on all processors.
        AllProcessors "all processors",
        /// Memory, which gives no more: processors computed all the time, or waited for it.
        Memory "memory",
        /// A limit of a control group.
        Limit "limit",
        /// Starting its process.
        Start "start",
        /// Its device, which gives no more.
        Device "device",
        /// Its device, which takes no more.
        Writes "writes",
        /// Its requests to its device, which would give more to larger ones, or to more at once.
        Requests "requests",
        /// Its syncs, each like a lone commit.
        Syncs "syncs",
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
    /// Whether devices read for it or what it wrote was durable: then it may have waited for them.
    pub uses_devices: bool,
    /// What it gets of its device; null if no device read for it, or that was not measured.
    pub device: Option<DeviceUse>,
    /// What it takes of memory through calls that read; null if that is unknown, or was not
    /// measured.
    pub memory: Option<MemoryUse>,
    /// What it makes durable, of what its device takes; null if that is nothing, or was not
    /// measured.
    pub writes: Option<WriteUse>,
    /// Its syncs, held against lone commits; null if it called few, or those were not measured.
    pub syncs: Option<SyncUse>,
    /// The time of a program that does nothing, as a share of its time; null if not measured.
    pub start: Option<Ratio>,
}

/// A command that ran for this share of its time computed all the time (docs/method).
pub const BUSY: f64 = 0.90;
/// A command that ran for less of its time waited for something else (docs/method).
const IDLE: f64 = 0.50;
/// With more pressure than this, it may have waited for a processor (docs/method).
const PRESSURE_MOST: f64 = 0.10;
/// With more than this share of its time for its start, that bounds it (docs/method).
const START_LEAST: f64 = 0.50;
/// A device that had requests of it for this share of its time is what it waited for (docs/method).
const WAITED_LEAST: f64 = 0.50;

/// What bounds each requested command.
pub(crate) fn bounded(rows: &[Row]) -> Vec<BoundedCommand> {
    // What others did after its end is in its counters.
    let ends_whole = |row: &Row| row.measured.trials.iter().all(|it| left_running(it) == 0);
    let is_asked = |row: &&Row| row.measured.role == Role::Asked && row.stands() && ends_whole(row);
    let commands = rows.iter().filter(is_asked).filter(|row| row.measured.case.command().is_some());
    let beside = BoundingRows {
        reads: DirectReads::of(rows),
        writes: DurableWrites::of(rows),
        memory: MemoryReads::of(rows),
        start: start(rows),
    };
    commands.filter_map(|row| of(row, &beside)).collect()
}

/// What was measured beside commands.
struct BoundingRows<'a, 'r> {
    reads: DirectReads<'a, 'r>,
    writes: DurableWrites<'a, 'r>,
    memory: MemoryReads<'a, 'r>,
    start: Option<&'a Row<'r>>,
}

fn of(row: &Row, beside: &BoundingRows) -> Option<BoundedCommand> {
    let times = row.measured.ns_per_op();
    let mut found = BoundedCommand {
        case: Named::of(&row.summary)?,
        bound: CommandBound::Unknown,
        processors: row.summary.spent.map(|spent| spent.processors),
        uses_devices: uses_devices(row),
        device: beside.reads.used_by(row),
        memory: MemoryUse::of(row, &beside.memory),
        writes: beside.writes.used_by(row),
        syncs: beside.writes.syncs_of(row),
        start: beside.start.and_then(|start| Ratio::of_any(&start.measured.ns_per_op(), &times)),
    };
    found.bound = bound(row, &found);
    Some(found)
}

fn bound(row: &Row, found: &BoundedCommand) -> CommandBound {
    let is_limit = |code: Code, severity| code == Code::Throttled && severity == Severity::Doubt;
    if row.summary.findings.iter().any(|it| is_limit(it.code, it.severity)) {
        return CommandBound::Limit;
    }
    let is_start = found.start.and_then(|share| share.low).is_some_and(|low| low > START_LEAST);
    if is_start && !found.uses_devices {
        return CommandBound::Start;
    }
    let all = f64::from(row.measured.host.parallelism());
    let is_alone = row.measured.facts.is_some_and(computes_alone);
    let device = found.device.as_ref();
    let takes_all = found.memory.as_ref().is_some_and(|it| it.decision == Decision::Yes);
    let computing = |bound| if takes_all { CommandBound::Memory } else { bound };
    let are_all = |syncs: &SyncUse| syncs.decision == Decision::Yes;
    match found.processors {
        Some(used) if all > 1.0 && used >= BUSY * all => computing(CommandBound::AllProcessors),
        // Of several threads, two may have computed while one waited.
        Some(used) if used >= BUSY && (is_alone || all == 1.0) => {
            computing(CommandBound::OneProcessor)
        }
        _ if device.is_some_and(is_at_ceiling) => CommandBound::Device,
        _ if found.writes.as_ref().is_some_and(WriteUse::is_at_ceiling) => CommandBound::Writes,
        _ if device.is_some_and(are_requests_slow) && waits(row) => CommandBound::Requests,
        _ if found.syncs.as_ref().is_some_and(are_all) && waits(row) => CommandBound::Syncs,
        Some(used) if is_idle(row, used, found) && has_processors(row) => CommandBound::Waiting,
        _ => CommandBound::Unknown,
    }
}

fn is_at_ceiling(device: &DeviceUse) -> bool {
    device.of_ceiling.low.is_some_and(|low| low >= CEILING_LEAST)
}

/// A command that no processor ran for this share of its time may have waited for its requests
/// (docs/method). The rest includes what the OS computes for them.
const WAITS_LEAST: f64 = 0.45;

fn waits(row: &Row) -> bool {
    let waited = row.summary.command.as_deref().and_then(|figures| figures.waited_share);
    waited.is_some_and(|share| share >= WAITS_LEAST)
}

/// Whether its requests got less than the device gives, and as much as like requests of another
/// program: so they were too small, or too few at once.
fn are_requests_slow(device: &DeviceUse) -> bool {
    let is_waited_for = device.requests.is_some_and(|it| it.busy_share >= WAITED_LEAST);
    let are_like = device.of_alike.and_then(|share| share.low);
    let gets_as_much = are_like.is_some_and(|low| low >= CEILING_LEAST);
    device.is_below_ceiling() && is_waited_for && gets_as_much
}

/// Whether it neither computed for half of its time nor waited for a device meanwhile.
fn is_idle(row: &Row, used: f64, found: &BoundedCommand) -> bool {
    let requests = found.device.as_ref().and_then(|device| device.requests);
    match requests.filter(|_| is_unwritten(row)) {
        // It may be busy for longer, but not by much.
        Some(requests) => used + requests.busy_share * UNSURE_MOST < IDLE,
        None => used < IDLE && !found.uses_devices,
    }
}

/// Whether it may have waited for a device: one read for it, or made its data durable, or that is
/// not known.
fn uses_devices(row: &Row) -> bool {
    let is_served_without = row
        .summary
        .served_by
        .is_some_and(|by| matches!(by, ServedBy::PageCache | ServedBy::NoIo | ServedBy::Ram));
    !(is_served_without && is_unwritten(row))
}

/// A command that makes fewer bytes dirty, and syncs none, does not wait until they are written
/// (docs/method).
const DIRTIED_FEW: u64 = 1 << 20;

/// Whether it wrote nothing for which it waited.
fn is_unwritten(row: &Row) -> bool {
    let waits = |file: &FileUse| file.opens.wait_for_device();
    if row.measured.facts.is_none_or(|facts| facts.written_files().any(waits)) {
        return false;
    }
    let figures = row.summary.command.as_deref();
    let is_little = |bytes: Option<u64>| bytes.is_some_and(|bytes| bytes < DIRTIED_FEW);
    figures.is_some_and(|it| is_little(it.dirtied_bytes) && it.syncs == Some(0))
}

/// Whether hardly any task of the machine waited for a processor.
fn has_processors(row: &Row) -> bool {
    let pressure = row
        .measured
        .total_share(|trial| Some((trial.evidence.pressure_cpu_ns?, trial.evidence.window_ns)));
    pressure.is_some_and(|share| share <= PRESSURE_MOST)
}
