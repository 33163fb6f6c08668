//! What a command makes durable, held against durable writes in the same run.

use super::commits::is_commit;
use super::device_use::CEILING_LEAST;
use crate::commands::{computes_alone, has};
use crate::counted::{Counted, a_second};
use crate::decision::Decision;
use crate::durable_commands::CommandDurability;
use crate::measured::{Measured, Rounds};
use crate::ratio::Ratio;
use crate::row::{Row, fastest};
use model::case::{Cache, Op, WriteWork};
use model::plan::Role;
use model::rehearsal::FactSheet;
use schemars::JsonSchema;
use serde::Serialize;

/// What a command writes to its device, and the ceiling of that.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WriteUse {
    /// Bytes a second that it made durable, as a share of the fastest durable direct writes.
    pub of_ceiling: Ratio,
    /// The case id of those writes.
    pub ceiling: String,
    /// The size of their blocks.
    pub ceiling_block: u64,
    /// How many of them are in flight.
    pub ceiling_depth: u32,
}

impl WriteUse {
    /// Whether it surely gets less than the device takes.
    pub fn is_below_ceiling(&self) -> bool {
        self.of_ceiling.high.is_some_and(|high| high < CEILING_LEAST)
    }

    /// Whether it surely gets all that the device takes, but for a part that does not matter.
    pub(super) fn is_at_ceiling(&self) -> bool {
        let is_at = |low: f64| (CEILING_LEAST..=CEILING_MOST).contains(&low);
        self.of_ceiling.low.is_some_and(is_at)
    }
}

/// What surely gets more than this share of a ceiling shows that it is none (docs/method).
const CEILING_MOST: f64 = 1.05;

/// The syncs of a command, held against lone commits: small writes, each with its sync.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SyncUse {
    /// Its sync calls in a run, as its rehearsal saw them.
    pub syncs: u64,
    /// The time of as many lone commits, as a share of its time.
    pub of_time: Ratio,
    /// The case id of the commits.
    pub commit: String,
    /// The bytes that such a commit writes.
    pub commit_bytes: u64,
    /// Whether that is all of its time, so that its syncs bound it, each like a lone commit.
    pub decision: Decision,
}

/// If the time of lone commits is at most this share of its time, and at least [`CEILING_LEAST`],
/// that is what its syncs take (docs/method).
const COMMITS_MOST: f64 = 1.20;

impl SyncUse {
    fn decide(of_time: &Ratio) -> Decision {
        match of_time.low.zip(of_time.high) {
            Some((low, high)) if low >= CEILING_LEAST && high <= COMMITS_MOST => Decision::Yes,
            Some((low, high)) if high < CEILING_LEAST || low > COMMITS_MOST => Decision::No,
            _ => Decision::Undecided,
        }
    }
}

/// Fewer syncs in a run than this are no stream of commits (docs/method).
pub const SYNCS_LEAST: u64 = 10;
/// Of fewer bytes in a run, a device shows no rate (docs/method).
const WRITTEN_LEAST: u64 = 1 << 20;

/// Durable writes of the same run.
#[derive(Debug)]
pub(super) struct DurableWrites<'a, 'r> {
    /// Large direct ones.
    bulk: Option<&'a Row<'r>>,
    /// Small ones, each with its sync.
    commits: Option<&'a Row<'r>>,
}

impl<'a, 'r> DurableWrites<'a, 'r> {
    pub(super) fn of(rows: &'a [Row<'r>]) -> DurableWrites<'a, 'r> {
        let durable = |is_it: fn(&WriteWork) -> bool| {
            let is_one = move |row: &&Row| {
                let is_durable = row.stands() && !row.summary.is_not_durable();
                let is_beside = row.measured.role == Role::Baseline && is_durable;
                is_beside
                    && row.write().is_some_and(|work| work.sync.claims_durable() && is_it(work))
            };
            fastest(rows.iter().filter(is_one))
        };
        let is_bulk = |work: &WriteWork| {
            work.op == Op::Write && work.io.cache == Cache::Direct && !is_commit(work)
        };
        DurableWrites { bulk: durable(is_bulk), commits: durable(is_commit) }
    }

    /// What `row`, a command, gets of the device; `None` if it made nothing durable there, or not
    /// enough was measured or counted.
    pub(super) fn used_by(&self, row: &Row) -> Option<WriteUse> {
        let measured = &row.measured;
        let top = self.bulk?;
        let facts = measured.facts.filter(|facts| drops_nothing(facts))?;
        let is_durable = CommandDurability::of(measured) == Some(CommandDurability::Durable);
        if !is_durable || !is_on_first_storage(measured, facts) {
            return None;
        }
        if !measured.trials.iter().all(|trial| reached_device(measured, trial)) {
            return None;
        }
        let io = top.write()?.io;
        Some(WriteUse {
            of_ceiling: Ratio::of_any(&written_rates(measured), &top.measured.rates())?,
            ceiling: top.summary.id.clone(),
            ceiling_block: io.block,
            ceiling_depth: io.depth.saturating_mul(io.threads),
        })
    }

    /// What the syncs of `row`, a command, would take as lone commits; `None` if it called few,
    /// some may be unseen, or several threads may have called them at once.
    pub(super) fn syncs_of(&self, row: &Row) -> Option<SyncUse> {
        let measured = &row.measured;
        let commit = self.commits?;
        let facts = measured.facts.filter(|facts| computes_alone(facts))?;
        let syncs = facts.durable_syncs().filter(|syncs| *syncs >= SYNCS_LEAST)?;
        if !is_on_first_storage(measured, facts) {
            return None;
        }
        let times = commit.measured.ns_per_op();
        let times: Rounds =
            times.iter().map(|round| round.with(round.value * syncs as f64)).collect();
        let of_time = Ratio::of_any(&times, &measured.ns_per_op())?;
        Some(SyncUse {
            syncs,
            of_time,
            commit: commit.summary.id.clone(),
            commit_bytes: commit.write()?.io.block,
            decision: SyncUse::decide(&of_time),
        })
    }
}

/// Whether all files that it wrote are on the storage where the writes were measured, and its
/// counters are of that storage.
fn is_on_first_storage(measured: &Measured, facts: &FactSheet) -> bool {
    let numbers = measured.places.numbers(facts.written_files()).unwrap_or_default();
    measured.places.own_number() == 0 && numbers.into_iter().eq([0])
}

/// Whether no page that it made dirty was dropped before it was written, as of a removed file.
fn drops_nothing(facts: &FactSheet) -> bool {
    let dropped = facts.totals.and_then(|totals| Some(totals.io?.cancelled_write_bytes));
    dropped == Some(0)
}

/// Whether the devices wrote what it made dirty, and that was much: data that became smaller on its
/// way is no measure of a device.
fn reached_device(measured: &Measured, trial: &Counted) -> bool {
    let both = measured.written_at_most(trial).zip(trial.evidence.task_write_bytes);
    both.is_some_and(|(all, own)| own >= WRITTEN_LEAST && has(all, own))
}

/// Bytes a second that a command wrote, in each round.
fn written_rates(measured: &Measured) -> Rounds {
    let rate = |trial: &Counted| {
        Some(trial.at(a_second(trial.evidence.task_write_bytes?, trial.wall_ns())?))
    };
    measured.trials.iter().filter_map(rate).collect()
}
