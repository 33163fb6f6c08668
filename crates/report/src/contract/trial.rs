//! The form of a trial by itself, and of what the OS counted.

use crate::metric::{self, Metric};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// What a trial came to by itself.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Trial<'a> {
    /// Its invocation, from 0.
    pub(crate) invocation: u32,
    /// Its round, from 0; a running number over all invocations.
    pub(crate) round: u32,
    /// `counted`: it is in the figures of its case. `excluded`: it was done, and is left out for
    /// what the machine did to it. `unavailable`: this machine could not do it. `failed`: it went
    /// wrong.
    #[schemars(extend("enum" = ["counted", "excluded", "unavailable", "failed"]))]
    pub(crate) fate: &'static str,
    /// Why, unless it is counted; where it is left out, the name of the gate.
    pub(crate) reason: Option<&'a str>,
    /// What it timed; null where it was not done.
    pub(crate) figures: Option<Figures<'a>>,
}

/// What a trial that was done came to, as the table of metrics has it.
pub(crate) struct Figures<'a>(pub(crate) &'a assess::trials::Figures);

const NS_PER_SECOND: f64 = 1e9;

/// The objects in the figures, in their order, each with what it holds.
const PARTS: [(&str, &str); 4] = [
    (
        "latency_ns",
        "Latency of an operation. Percentiles are null where fewer than 10 operations took \
         longer; all is null where operations were not timed one by one.",
    ),
    ("sync_latency_ns", "The same of the syncs that were calls of their own."),
    ("spent", "CPU time from the first thread's start to the last thread's end."),
    ("evidence", "What the OS counted around the trial; null where it does not tell."),
];

fn of_part(part: &str) -> impl Iterator<Item = &'static Metric> {
    metric::of_trials().filter(move |metric| metric.json.0 == part)
}

fn value(figures: &assess::trials::Figures, metric: &Metric) -> Value {
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

/// One of the objects in the figures.
struct Part<'a>(&'a assess::trials::Figures, &'static str);

impl Serialize for Part<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Part(figures, part) = self;
        serializer.collect_map(of_part(part).map(|metric| (metric.json.1, value(figures, metric))))
    }
}

impl Serialize for Figures<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut figures = serializer.serialize_map(None)?;
        for metric in of_part("") {
            figures.serialize_entry(metric.json.1, &value(self.0, metric))?;
        }
        for (name, _) in PARTS {
            figures.serialize_entry(name, &Part(self.0, name))?;
        }
        figures.end()
    }
}

impl JsonSchema for Figures<'_> {
    fn schema_name() -> Cow<'static, str> {
        "Figures".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut figures = object("", "What a trial that was done came to.");
        for (name, meaning) in PARTS {
            figures["properties"][name] = object(name, meaning);
            figures["required"].as_array_mut().expect("a list").push(name.into());
        }
        figures.try_into().expect("an object is a schema")
    }
}

/// The schema of a part, or of what is in none.
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
        "description": format!("{}. Unit: {unit}.", capitalized(metric.meaning)),
        "type": if metric.is_always() { json!(kind) } else { json!([kind, "null"]) },
        "minimum": 0,
    })
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// What the OS counted of the worker in a trial: medians, null where it does not tell.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Counters {
    /// Page faults served from memory.
    pub(crate) minor_faults: Option<u64>,
    /// Page faults that waited for a device.
    pub(crate) major_faults: Option<u64>,
    /// Context switches because the worker waited.
    pub(crate) switches_voluntary: Option<u64>,
    /// Context switches because another wanted the CPU.
    pub(crate) switches_involuntary: Option<u64>,
}
