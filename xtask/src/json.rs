//! Parts of what programs print as JSON.

use serde_json::Value;

/// The items of a list; none if it is no list.
pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// A text; empty if it is none.
pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The cases of a report of ioassay that were asked for.
pub(crate) fn asked(report: &Value) -> impl Iterator<Item = &Value> {
    list(&report["cases"]).iter().filter(|case| case["role"] == "asked")
}
