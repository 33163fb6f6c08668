//! The trials of a case, one by one.

use crate::document::{Block, Table};
use crate::grid::{Grid, GridCell, left, right};
use crate::style::Paint;
use crate::words::{self, NONE, per_second};
use assess::summary::Summary;
use assess::trials::{Fate, Figures};
use model::units;

/// If there are more, only the first are shown.
const TRIALS_MAX: usize = 40;

/// A column: its heading and its text for a trial.
type TrialColumn = (&'static str, fn(&Figures) -> Option<String>);

const COLUMNS: [TrialColumn; 21] = [
    ("throughput", |trial| {
        // What a plain write acknowledges is its throughput.
        let is_mixed = trial.read_ops.is_some();
        trial.throughput.filter(|_| is_mixed || trial.acknowledged.is_none()).map(units::rate)
    }),
    ("acknowledged", |trial| trial.acknowledged.map(units::rate)),
    ("durable", |trial| trial.durable.map(units::rate)),
    ("op/s", |trial| trial.iops.filter(|_| trial.throughput.is_none()).map(per_second)),
    ("bytes", |trial| Some(trial.bytes).filter(|bytes| *bytes > 0).map(units::bytes_rounded)),
    ("resp. p50", |trial| trial.responses.p50_ns.map(response)),
    ("resp. p99", |trial| trial.responses.p99_ns.map(response)),
    ("unsent", |trial| trial.unsent.map(|unsent| unsent.to_string())),
    ("p50", |trial| trial.latencies.p50_ns.map(time)),
    ("p99", |trial| trial.latencies.p99_ns.map(time)),
    ("longest", |trial| trial.latencies.max_ns.map(time)),
    ("sync p50", |trial| trial.syncs.p50_ns.map(time)),
    ("sync p99", |trial| trial.syncs.p99_ns.map(time)),
    ("user", |trial| trial.span_user_ns.map(time)),
    ("system", |trial| trial.span_system_ns.map(time)),
    ("cached before", |trial| Some(units::percent(trial.evidence.residency_before?.share()))),
    ("read for it", |trial| trial.evidence.task_read_bytes.map(units::bytes_rounded)),
    ("read for all", |trial| trial.evidence.device_read_bytes.map(units::bytes_rounded)),
    ("written", |trial| {
        trial
            .evidence
            .device_write_bytes
            .filter(|_| trial.acknowledged.is_some())
            .map(units::bytes_rounded)
    }),
    ("flushes", |trial| {
        trial
            .evidence
            .device_flushes
            .filter(|_| trial.acknowledged.is_some())
            .map(|flushes| flushes.to_string())
    }),
    ("stolen", |trial| trial.evidence.steal_ns.filter(|ns| *ns > 0).map(time)),
];

fn response(ns: u64) -> String {
    words::response(Some(ns))
}

fn time(ns: u64) -> String {
    units::nanoseconds(ns as f64)
}

/// A row for each trial, and how many are not shown. Nothing without trials.
pub(crate) fn table(summary: &Summary) -> Vec<Block> {
    let shown = summary.trials.iter().take(TRIALS_MAX);
    let columns = COLUMNS.iter().map(|(title, _)| right(title, 1));
    let ends = [right("round", 0)].into_iter().chain(columns).chain([left("counted", 0)]);
    let mut grid = Grid::new(ends.collect());
    for trial in shown {
        let figures = COLUMNS.iter().map(|(_, cell)| {
            trial.figures.as_ref().and_then(cell).unwrap_or_else(|| NONE.to_string())
        });
        let round = [trial.round.to_string()].into_iter();
        let texts = round.chain(figures).chain([fate(&trial.fate)]);
        grid.row(texts.map(|text| GridCell::new(text, Paint::Plain)).collect());
    }
    if grid.is_empty() {
        return Vec::new();
    }
    let all = summary.trials.len();
    let more = (all > TRIALS_MAX).then(|| format!("The first {TRIALS_MAX} of {all} trials."));
    [Block::Table(Table::new(grid))].into_iter().chain(more.map(Block::aside)).collect()
}

/// The outcome of a trial in a few words; why trials failed is listed with the case.
fn fate(fate: &Fate) -> String {
    match fate {
        Fate::Counted => "yes".to_string(),
        Fate::Excluded(gate) => format!("left out: {gate}"),
        Fate::Lost(failure) => failure.name().to_string(),
    }
}
