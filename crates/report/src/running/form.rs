//! The judgment of a running program as JSON.

use crate::json::{pretty, schema_of};
use assess::running::RunningAssessment;
use model::running::{Interval, OpenFiles, RunningRecord, WatchEnding, WatchedProgram};
use schemars::JsonSchema;
use serde::Serialize;

/// The version of the format.
const FORMAT: u32 = 1;

/// What a program did that was running already, by ioassay. Bytes and nanoseconds are sums of an
/// interval. Null means unknown, never 0.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "ioassay running program", rename = "Running")]
struct RunningForm<'a> {
    /// Version of this form. It increases when a field changes its meaning or goes away; new fields
    /// may appear without.
    format: u32,
    #[serde(flatten)]
    watched: &'a WatchedProgram,
    /// Why watching ended; null if the record was cut off.
    ending: Option<WatchEnding>,
    #[serde(flatten)]
    judged: &'a RunningAssessment,
    /// What it had open; null if the record was cut off.
    open: Option<&'a OpenFiles>,
    /// CPU time of the watching program itself, in nanoseconds.
    own_cpu_ns: Option<u64>,
    /// All intervals.
    intervals: &'a [Interval],
}

/// A running program as indented JSON, with a final newline.
pub fn json_of_running(record: &RunningRecord, judged: &RunningAssessment) -> String {
    let end = record.end.as_ref();
    pretty(&RunningForm {
        format: FORMAT,
        watched: &record.watched,
        ending: end.map(|end| end.ending),
        judged,
        open: end.map(|end| &end.open),
        own_cpu_ns: end.and_then(|end| end.own_cpu_ns),
        intervals: &record.intervals,
    })
}

/// The JSON schema of [`json_of_running`].
pub fn json_schema_of_running() -> String {
    schema_of::<RunningForm<'static>>()
}
