//! The trials of a case, one by one.

use super::sheet::scroll;
use crate::words::{self, NONE, per_second};
use assess::summary::Summary;
use assess::trials::{Fate, Figures, TrialFigures};
use maud::{Markup, html};
use model::units;

/// If there are more, only the first are shown.
const TRIALS_MAX: usize = 40;

/// A column: its heading and its text for a trial.
type Column = (&'static str, fn(&Figures) -> Option<String>);

const COLUMNS: [Column; 21] = [
    ("throughput", |trial| {
        // What a plain write acknowledges is its throughput.
        let is_mixed = trial.read_ops.is_some();
        trial.throughput.filter(|_| is_mixed || trial.acknowledged.is_none()).map(units::rate)
    }),
    ("acknowledged", |trial| trial.acknowledged.map(units::rate)),
    ("durable", |trial| trial.durable.map(units::rate)),
    ("op/s", |trial| trial.iops.filter(|_| trial.throughput.is_none()).map(per_second)),
    ("bytes", |trial| Some(trial.bytes).filter(|bytes| *bytes > 0).map(units::bytes_rounded)),
    ("resp. p50", |trial| trial.response_p50_ns.map(response)),
    ("resp. p99", |trial| trial.response_p99_ns.map(response)),
    ("unsent", |trial| trial.unsent.map(|unsent| unsent.to_string())),
    ("p50", |trial| trial.p50_ns.map(time)),
    ("p99", |trial| trial.p99_ns.map(time)),
    ("longest", |trial| trial.max_ns.map(time)),
    ("sync p50", |trial| trial.sync_p50_ns.map(time)),
    ("sync p99", |trial| trial.sync_p99_ns.map(time)),
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

/// A row for each trial; empty columns are omitted. Nothing without trials.
pub(super) fn table(summary: &Summary) -> Markup {
    let shown: Vec<&TrialFigures> = summary.trials.iter().take(TRIALS_MAX).collect();
    if shown.is_empty() {
        return html! {};
    }
    let figures = || shown.iter().filter_map(|trial| trial.figures.as_ref());
    let columns: Vec<&Column> =
        COLUMNS.iter().filter(|(_, cell)| figures().any(|trial| cell(trial).is_some())).collect();
    let rows = html! {
        thead {
            tr {
                th scope="col" { "round" }
                @for (title, _) in &columns { th scope="col" { (title) } }
                th.t scope="col" { "counted" }
            }
        }
        tbody { @for trial in &shown { (row(trial, &columns)) } }
    };
    let all = summary.trials.len();
    html! {
        @if all > TRIALS_MAX { p.hint { "The first " (TRIALS_MAX) " of " (all) " trials." } }
        (scroll("Trials", rows))
    }
}

fn row(trial: &TrialFigures, columns: &[&Column]) -> Markup {
    html! {
        tr {
            th scope="row" { (trial.round) }
            @for (_, cell) in columns {
                td { (trial.figures.as_ref().and_then(cell).unwrap_or(NONE.to_string())) }
            }
            td.t { (fate(&trial.fate)) }
        }
    }
}

/// The outcome of a trial in a few words; why trials failed is listed with the case.
fn fate(fate: &Fate) -> String {
    match fate {
        Fate::Counted => "yes".to_string(),
        Fate::Excluded(gate) => format!("left out: {gate}"),
        Fate::Lost(failure) => failure.name().to_string(),
    }
}
