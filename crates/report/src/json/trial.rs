//! A single trial, with the metrics from the table of metrics.

use crate::metric::{self, Metric};
use crate::words::{capital, fate};
use assess::trials::{self, TrialFigures};
use model::units::NS_PER_SECOND;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// The results of one trial.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Trial")]
pub(super) struct TrialForm<'a> {
    /// Its invocation, from 0.
    invocation: u32,
    /// Its round, numbered from 0 over all invocations.
    round: u32,
    /// `counted`: it is included in its case's figures. `excluded`: it succeeded, but is excluded
    /// because of what the machine did to it. `unavailable`: this machine could not run it.
    /// `failed`: it failed.
    #[schemars(extend("enum" = ["counted", "excluded", "unavailable", "failed"]))]
    fate: &'static str,
    /// Why, unless it is counted; if it is excluded, the reason's name.
    reason: Option<&'a str>,
    /// What it timed; null if it did not succeed.
    figures: Option<TrialFiguresForm<'a>>,
}

impl TrialForm<'_> {
    pub(super) fn of(trial: &TrialFigures) -> TrialForm<'_> {
        let (fate, reason) = fate(&trial.fate);
        let (invocation, round) = (trial.invocation, trial.round);
        TrialForm {
            invocation,
            round,
            fate,
            reason,
            figures: trial.figures.as_ref().map(TrialFiguresForm),
        }
    }
}

/// The figures of a successful trial, as the table of metrics has them.
struct TrialFiguresForm<'a>(&'a trials::Figures);

/// The objects in the figures, in order, each with its description.
const PARTS: [(&str, &str); 8] = [
    (
        "latency_ns",
        "Latency of an operation. Percentiles are null if fewer than 10 operations took \
         longer; all are null if operations were not timed individually.",
    ),
    ("sync_latency_ns", "The latency of separate sync calls."),
    (
        "response_ns",
        "Response times of a case with a rate: from when an operation was due; \
         18446744073709551615 if it had not begun when the time was up.",
    ),
    ("read_ns", "Latencies of the operations of a mixed case that read."),
    ("write_ns", "Latencies of the operations of a mixed case that wrote."),
    ("spent", "CPU time from the first thread's start to the last thread's end."),
    ("exit", "How the command ended; all are null for other work."),
    ("evidence", "The OS counters around the trial; null if not reported."),
];

fn of_part(part: &str) -> impl Iterator<Item = &'static Metric> {
    metric::of_trials().filter(move |metric| metric.json.0 == part)
}

fn value(figures: &trials::Figures, metric: &Metric) -> Value {
    match metric.of_trial(figures) {
        None => Value::Null,
        Some(metric::Value::Whole(ns)) if metric.is_in_seconds() => {
            (ns as f64 / NS_PER_SECOND).into()
        }
        Some(metric::Value::Whole(whole)) => whole.into(),
        Some(metric::Value::Real(real)) => real.into(),
        Some(metric::Value::Nodes(nodes)) => {
            nodes.iter().map(|(node, bytes)| (node.to_string(), Value::from(*bytes))).collect()
        }
    }
}

/// One object in the figures.
struct FiguresPart<'a>(&'a trials::Figures, &'static str);

impl Serialize for FiguresPart<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let FiguresPart(figures, part) = self;
        serializer.collect_map(of_part(part).map(|metric| (metric.json.1, value(figures, metric))))
    }
}

impl Serialize for TrialFiguresForm<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut figures = serializer.serialize_map(None)?;
        for metric in of_part("") {
            figures.serialize_entry(metric.json.1, &value(self.0, metric))?;
        }
        for (name, _) in PARTS {
            figures.serialize_entry(name, &FiguresPart(self.0, name))?;
        }
        figures.end()
    }
}

impl JsonSchema for TrialFiguresForm<'_> {
    fn schema_name() -> Cow<'static, str> {
        "Figures".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut figures = object("", "The figures of a successful trial.");
        for (name, meaning) in PARTS {
            figures["properties"][name] = object(name, meaning);
            figures["required"].as_array_mut().expect("`required` is a list").push(name.into());
        }
        figures.try_into().expect("a JSON object is a schema")
    }
}

/// The schema of a part, or of the figures that belong to no part.
fn object(part: &str, meaning: &str) -> Value {
    let property = |metric: &Metric| (metric.json.1.to_string(), property(metric));
    let properties: Map<String, Value> = of_part(part).map(property).collect();
    let required: Vec<&str> = of_part(part).map(|metric| metric.json.1).collect();
    json!({
        "description": meaning,
        "type": "object",
        "properties": properties,
        "required": required,
    })
}

fn property(metric: &Metric) -> Value {
    let unit = if metric.is_in_seconds() { "seconds" } else { metric.unit.name() };
    let whole = json!({ "type": "integer", "minimum": 0 });
    if metric.is_of_nodes() {
        let description = "Bytes of memory on each NUMA node, by its number.";
        return json!({
            "description": description,
            "type": ["object", "null"],
            "additionalProperties": whole,
        });
    }
    let kind = if metric.is_whole() { "integer" } else { "number" };
    json!({
        "description": format!("{}. Unit: {unit}.", capital(metric.meaning)),
        "type": if metric.is_always() { json!(kind) } else { json!([kind, "null"]) },
        "minimum": 0,
    })
}
