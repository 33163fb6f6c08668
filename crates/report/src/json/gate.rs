//! The checks of a gate.

use super::FORMAT;
use assess::gate::{self, Check, Rule};
use assess::records::{LeftOut, RecordComparison, RecordDifference};
use schemars::JsonSchema;
use serde::Serialize;

/// What a gate decided, by ioassay. Ratios are B over A.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "ioassay gate", rename = "Gate")]
pub(super) struct GateForm<'a> {
    /// Version of this form. It increases when a field changes its meaning or goes away; new fields
    /// may appear without.
    format: u32,
    /// The path of the record that it was held against; of commands in one record, the first one.
    a: &'a str,
    /// The path of the other record, or the other commands.
    b: &'a str,
    /// `exceeded` if a loss is proved to exceed its limit or a case is broken in B, `within` if all
    /// are proved to be within, else `cannot tell`.
    outcome: &'static str,
    /// What is missing in a record: it was stopped, cut off or damaged.
    missing: Vec<String>,
    /// Differences that make figures incomparable. Of two directories, they may be the question.
    obstacles: &'a [RecordDifference],
    /// Limits that watch no case, such as the syncs of reads: `throughput`, `time`, `p99`,
    /// `sync p99` or `cpu`.
    idle: Vec<String>,
    /// Each limit in each case that both records have.
    checks: Vec<OneCheck<'a>>,
    /// Requested cases that are not compared.
    left_out: &'a [LeftOut],
}

/// A limit in a case.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Check")]
struct OneCheck<'a> {
    /// The case's id in B.
    id: &'a str,
    /// What is watched: `throughput`, `time`, `p99`, `sync p99` or `cpu`.
    metric: String,
    /// The largest loss that passes, as a share.
    limit: f64,
    /// B over A; null if a side has no such figure.
    ratio: Option<f64>,
    /// Counted rounds of either side that have no such figure. If there are any, it cannot tell.
    unmeasured_rounds: usize,
    /// How many trials failed in B, if a larger share than in A, else 0. If there are any, B is not
    /// shown to be within the limit.
    failed_trials: usize,
    /// The lower end of the ratio's 95 % interval; null if too little is known for one.
    low: Option<f64>,
    /// Its upper end.
    high: Option<f64>,
    /// `exceeded`, `within` or `cannot tell`.
    outcome: &'static str,
    /// How many kept runs the interval is from; null if it is from the invocations of both records.
    kept_runs: Option<usize>,
    /// If it cannot tell: roughly how many invocations of both would decide; null if unknown.
    needs_invocations: Option<usize>,
    /// Whether a figure of either side is doubtful; the report of its record says why.
    is_in_doubt: bool,
}

impl<'a> GateForm<'a> {
    pub(super) fn of(
        versus: &'a RecordComparison,
        gate: &gate::Gate,
        [a, b]: [&'a str; 2],
    ) -> GateForm<'a> {
        let one = |check: &Check| OneCheck {
            id: &versus.of(&versus.pairs[check.pair])[1].id,
            metric: check.rule.watched.to_string(),
            limit: check.rule.limit,
            ratio: check.ratio,
            unmeasured_rounds: check.unmeasured,
            failed_trials: check.failed,
            low: check.interval.map(|(low, _)| low),
            high: check.interval.map(|(_, high)| high),
            outcome: gate::outcome(check.within),
            kept_runs: check.runs.map(|runs| runs.runs),
            needs_invocations: check.needs,
            is_in_doubt: check.is_in_doubt,
        };
        GateForm {
            format: FORMAT,
            a,
            b,
            outcome: gate::outcome(gate.within),
            missing: crate::records::missing(versus),
            obstacles: &versus.obstacles,
            idle: gate.idle.iter().map(|Rule { watched, .. }| watched.to_string()).collect(),
            checks: gate.checks.iter().map(one).collect(),
            left_out: &versus.left_out,
        }
    }
}
