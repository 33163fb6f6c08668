//! What a command gets of its device, held against direct reads in the same run.

use crate::commands::devices_agree;
use crate::counted::{Counted, a_second};
use crate::measured::{Measured, Rounds};
use crate::ratio::Ratio;
use crate::row::{Row, fastest};
use crate::summary::ServedBy;
use model::case::Cache;
use model::evidence::Evidence;
use model::plan::Role;
use schemars::JsonSchema;
use serde::Serialize;

/// What a command gets of its device, and with which requests.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DeviceUse {
    /// Bytes a second that devices read for it, as a share of the fastest direct reads.
    pub of_ceiling: Ratio,
    /// The case id of those reads.
    pub ceiling: String,
    /// The size of their blocks.
    pub ceiling_block: u64,
    /// How many of them are in flight.
    pub ceiling_depth: u32,
    /// Its requests; null if not counted, or if others had too many.
    pub requests: Option<DeviceRequests>,
    /// Its rate as a share of direct reads whose requests are like its own, in size and depth; null
    /// if none were measured.
    pub of_alike: Option<Ratio>,
}

/// The requests for reads that a device got from a command.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct DeviceRequests {
    /// Their mean size in bytes.
    pub bytes: f64,
    /// How many were in flight at once, on average over the time in which any were.
    pub depth: f64,
    /// The share of its time in which any were, at least.
    pub busy_share: f64,
}

/// From this share of what the device gives on, that bounds a command (docs/method).
pub const CEILING_LEAST: f64 = 0.80;

impl DeviceUse {
    /// Whether it surely gets less than the device gives.
    pub fn is_below_ceiling(&self) -> bool {
        self.of_ceiling.high.is_some_and(|high| high < CEILING_LEAST)
    }
}

/// Requests whose mean size and depth differ by at most this factor are alike (docs/method).
const ALIKE_MOST: f64 = 1.5;

/// What is known of requests only up to this factor is unknown (docs/method).
pub(super) const UNSURE_MOST: f64 = 1.25;
/// A request of others has at least so many bytes, but for very few.
const OTHERS_LEAST: u64 = 4096;

impl DeviceRequests {
    /// Those of all trials of a row. `None` with several devices, and if others had so many that
    /// its own are not known well enough.
    fn of(measured: &Measured) -> Option<DeviceRequests> {
        measured.storage.filter(|storage| storage.devices.len() == 1)?;
        let total = |of: &dyn Fn(&Evidence) -> Option<u64>| {
            let mut each = measured.trials.iter().map(|trial| of(&trial.evidence));
            each.try_fold(0u64, |sum, count| Some(sum.saturating_add(count?)))
        };
        let (own, all) = (total(&|it| it.task_read_bytes)?, total(&|it| it.device_read_bytes)?);
        let reads = total(&|it| it.device_reads)?;
        let of_others = all.saturating_sub(own) / OTHERS_LEAST;
        let own_least = reads.saturating_sub(of_others);
        // Any writes may have been in flight at another time than its reads, each by itself.
        let busy_ns = total(&|it| it.device_busy_ns)?;
        let busy_least_ns = busy_ns.saturating_sub(total(&|it| it.device_write_ns)?);
        let is_sure = |least: u64, most: u64| most as f64 <= least as f64 * UNSURE_MOST;
        if own_least == 0 || busy_least_ns == 0 {
            return None;
        }
        (is_sure(own_least, reads) && is_sure(busy_least_ns, busy_ns)).then_some(DeviceRequests {
            bytes: own as f64 / reads as f64,
            depth: total(&|it| it.device_read_ns)? as f64 / busy_ns as f64,
            busy_share: busy_least_ns as f64 / total(&|it| Some(it.window_ns))?.max(1) as f64,
        })
    }

    /// Whether both are alike in size and depth.
    fn are_like(&self, (bytes, depth): (f64, f64)) -> bool {
        let is_near = |one: f64, other: f64| (one / other).max(other / one) <= ALIKE_MOST;
        is_near(self.bytes, bytes) && is_near(self.depth, depth)
    }
}

/// The mean size and depth of the requests of direct reads: as counted or, if others had too many,
/// as they were made.
fn sizes_of(row: &Row) -> Option<(f64, f64)> {
    let io = row.read()?.io;
    let made = (io.block as f64, f64::from(io.depth.saturating_mul(io.threads)));
    Some(DeviceRequests::of(&row.measured).map_or(made, |it| (it.bytes, it.depth)))
}

/// What a device gives, as direct reads of the same run show it.
#[derive(Debug)]
pub(super) struct DirectReads<'a, 'r>(Vec<&'a Row<'r>>);

impl<'a, 'r> DirectReads<'a, 'r> {
    pub(super) fn of(rows: &'a [Row<'r>]) -> DirectReads<'a, 'r> {
        let is_direct = |row: &&Row| {
            let is_read = row.read().is_some_and(|work| work.io.cache == Cache::Direct);
            is_read && row.measured.role == Role::Baseline && row.is_served(ServedBy::Device)
        };
        DirectReads(rows.iter().filter(is_direct).collect())
    }

    /// What `row`, a command, gets of it; `None` if no device read for it, or not enough was
    /// measured or counted.
    pub(super) fn used_by(&self, row: &Row) -> Option<DeviceUse> {
        let measured = &row.measured;
        if !row.is_served(ServedBy::Device) && !row.is_served(ServedBy::Mixed) {
            return None;
        }
        if !measured.trials.iter().all(|trial| devices_agree(measured, trial)) {
            return None;
        }
        // The direct reads are of the first storage.
        let read = measured.facts.iter().flat_map(|facts| facts.read_files());
        if measured.places.numbers(read)?.into_iter().any(|number| number > 0) {
            return None;
        }
        let top = fastest(self.0.iter().copied())?;
        let io = top.read()?.io;
        let requests = DeviceRequests::of(measured);
        let is_alike = |other: &Row| {
            let both = requests.zip(sizes_of(other));
            both.is_some_and(|(own, other)| own.are_like(other))
        };
        let alike = fastest(self.0.iter().copied().filter(|other| is_alike(other)));
        let rates = device_rates(measured);
        let share = |base: &Row| Ratio::of_any(&rates, &base.measured.rates());
        Some(DeviceUse {
            of_ceiling: share(top)?,
            ceiling: top.summary.id.clone(),
            ceiling_block: io.block,
            ceiling_depth: io.depth.saturating_mul(io.threads),
            requests,
            of_alike: alike.and_then(share),
        })
    }
}

/// Bytes a second that devices read for a command, in each round.
fn device_rates(measured: &Measured) -> Rounds {
    let rate = |trial: &Counted| {
        let bytes = trial.evidence.task_read_bytes.filter(|bytes| *bytes > 0)?;
        Some(trial.at(a_second(bytes, trial.wall_ns())?))
    };
    measured.trials.iter().filter_map(rate).collect()
}
