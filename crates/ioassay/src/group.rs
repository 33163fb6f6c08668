//! Groups of cases in a recipe: the kind of work, and the axes.

use anyhow::{Result, bail};
use model::case::Kind;
use model::units;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Axes with the values to try.
pub type Axes = BTreeMap<String, Values>;

/// One value or a list of them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged, expecting = "expected a text, a number or a list of them")]
pub enum Values {
    /// A single value.
    One(Value),
    /// A list.
    List(Vec<Value>),
}

/// A text or a number: `"4KiB"`, `32` or `0.99`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged, expecting = "expected a text or a number")]
pub enum Value {
    /// A whole number.
    Number(u64),
    /// A number with a fraction.
    Fraction(f64),
    /// A text.
    Text(String),
}

impl Values {
    /// Converts texts from the command line.
    pub fn from_texts(texts: Vec<String>) -> Values {
        Values::List(texts.into_iter().map(Value::Text).collect())
    }

    /// The values as texts.
    pub fn texts(&self) -> Vec<String> {
        let text = |value: &Value| match value {
            Value::Number(number) => number.to_string(),
            Value::Fraction(number) => number.to_string(),
            Value::Text(text) => text.clone(),
        };
        match self {
            Values::One(value) => vec![text(value)],
            Values::List(values) => values.iter().map(text).collect(),
        }
    }
}

/// Checks that a group has only axes that are `known`.
///
/// # Errors
/// If it has another one.
pub fn check_axes(group: &Axes, known: &[&str]) -> Result<()> {
    match group.keys().find(|axis| !known.contains(&axis.as_str())) {
        Some(axis) => bail!(units::unknown_name("axis", axis, known)),
        None => Ok(()),
    }
}

/// The kind of `group`: with `kernel` it is memory work, with `call` it is on names, with `op` it
/// writes.
pub fn kind(group: &Axes) -> Kind {
    match () {
        () if group.contains_key("kernel") => Kind::Memory,
        () if group.contains_key("call") => Kind::Metadata,
        () if group.contains_key("op") => Kind::Write,
        () => Kind::Read,
    }
}
