//! The form of the axes of a case, which the table of axes gives.

use model::axis::{Axis, Domain, Quantity};
use model::case::{Case, Kind};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// The axes of a case.
pub(crate) struct Axes<'a>(pub(crate) &'a Case);

/// The name of an axis; that of a length of time says that it is in seconds.
fn key(axis: &Axis) -> String {
    match axis.domain {
        Domain::Time => format!("{}_s", axis.name),
        _ => axis.name.to_string(),
    }
}

fn value(axis: &Axis, case: &Case) -> Value {
    match axis.quantity(case) {
        None => Value::Null,
        Some(Quantity::Text(text)) => text.into(),
        Some(Quantity::Whole(whole)) => whole.into(),
        Some(Quantity::Seconds(seconds)) => seconds.into(),
    }
}

impl Serialize for Axes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let axes = Axis::all_of(self.0.kind()).map(|axis| (key(axis), value(axis, self.0)));
        serializer.collect_map(axes)
    }
}

impl JsonSchema for Axes<'_> {
    fn schema_name() -> Cow<'static, str> {
        "Axes".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let kinds = [
            (Kind::Read, "Reads a file."),
            (Kind::Write, "Writes a file."),
            (Kind::Memory, "Runs a loop over memory."),
        ];
        json_schema!({
            "description": "The axes of a case, named as in recipes: bytes and counts are numbers, \
                            a length of time is in seconds (`time_s`).",
            "anyOf": kinds.map(|(kind, meaning)| of_kind(kind, meaning)),
        })
    }
}

fn of_kind(kind: Kind, meaning: &str) -> Value {
    let properties: Map<String, Value> =
        Axis::all_of(kind).map(|axis| (key(axis), property(axis, kind))).collect();
    let required: Vec<String> = Axis::all_of(kind).map(key).collect();
    json!({
        "description": meaning,
        "type": "object",
        "properties": properties,
        "required": required,
    })
}

fn property(axis: &Axis, kind: Kind) -> Value {
    let (name, least) = match axis.domain {
        Domain::Peer | Domain::Names(_) => ("string", None),
        Domain::Bytes => ("integer", Some(0)),
        Domain::Count(least) => ("integer", Some(least)),
        Domain::Time => ("number", Some(0)),
    };
    let mut property = json!({ "description": axis.meaning, "type": name });
    if axis.is_optional(kind) {
        property["type"] = json!([name, "null"]);
    }
    if let Some(least) = least {
        property["minimum"] = least.into();
    }
    if let Domain::Names(_) = axis.domain {
        property["enum"] = axis.names(kind).into();
    }
    property
}
