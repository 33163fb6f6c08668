//! The axes of a case as a JSON object, with numbers and seconds instead of their text.

use super::{Axis, Domain};
use crate::case::{Case, Kind};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serializer;
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// Writes a case as an object of its axes; for `#[serde(with = "AxesForm")]`.
#[derive(Debug)]
pub struct AxesForm;

impl AxesForm {
    /// Writes the axes of a case in the order of the table.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(case: &Case, serializer: S) -> Result<S::Ok, S::Error> {
        let axes = Axis::all_of(case.kind()).map(|axis| (key(axis), axis.quantity(case)));
        serializer.collect_map(axes)
    }
}

/// The key of an axis: its name, with the unit of a duration.
fn key(axis: &Axis) -> String {
    match axis.domain {
        Domain::Time => format!("{}_s", axis.name),
        _ => axis.name.to_string(),
    }
}

impl JsonSchema for AxesForm {
    fn schema_name() -> Cow<'static, str> {
        "Axes".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let kinds = [
            (Kind::Read, "Reads a file."),
            (Kind::Write, "Writes a file."),
            (Kind::Memory, "Runs a loop over memory."),
            (Kind::Metadata, "Works on the names of files."),
            (Kind::Command, "Runs a command."),
        ];
        json_schema!({
            "description": "The axes of a case, named as in recipes. Bytes and counts are numbers; \
                            a duration is in seconds (`time_s`).",
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
        Domain::Other | Domain::Names(_) => ("string", None),
        Domain::Bytes | Domain::Blocks => ("integer", Some(0)),
        Domain::Count(least) => ("integer", Some(least)),
        Domain::Hosts => ("integer", Some(1)),
        Domain::Rate => ("integer", Some(1)),
        Domain::Exponent | Domain::Time => ("number", Some(0)),
    };
    let mut property = json!({ "description": axis.meaning, "type": name });
    if axis.is_optional(kind) {
        property["type"] = json!([name, "null"]);
    }
    match axis.domain {
        Domain::Hosts => property["type"] = json!([name, "string", "null"]),
        Domain::Blocks => {
            // One size is a number; only several are a text.
            property["type"] = json!([name, "string"]);
            property["pattern"] = "^[^/]+/[0-9]+(:[^/]+/[0-9]+)+$".into();
        }
        _ => {}
    }
    if let Some(least) = least {
        property["minimum"] = least.into();
    }
    if let Domain::Names(_) = axis.domain {
        let none = axis.is_optional(kind).then_some(Value::Null);
        let names = axis.names(kind);
        // Older records may have a value that nothing can ask for any more.
        let before = axis.before.of(kind).filter(|before| !names.contains(before));
        let names = names.iter().copied().chain(before).map(Value::from);
        property["enum"] = names.chain(none).collect();
    }
    property
}
