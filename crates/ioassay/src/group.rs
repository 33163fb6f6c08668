//! Groups of cases in a recipe: the kind of work, and the axes.

use anyhow::{Result, bail};
use model::case::Kind;
use model::units;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Axes with the values to try.
pub type AxisGrid = BTreeMap<String, ValueList>;

/// One value or a list of them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged, expecting = "expected a text, a number or a list of them")]
pub enum ValueList {
    /// A single value.
    One(AxisValue),
    /// A list.
    List(Vec<AxisValue>),
}

/// A text or a number: `"4KiB"`, `32` or `0.99`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged, expecting = "expected a text or a number")]
pub enum AxisValue {
    /// A whole number.
    Number(u64),
    /// A number with a fraction.
    Fraction(f64),
    /// A text.
    Text(String),
}

impl ValueList {
    /// Converts texts from the command line.
    pub fn from_texts(texts: Vec<String>) -> ValueList {
        ValueList::List(texts.into_iter().map(AxisValue::Text).collect())
    }

    /// The values as texts.
    pub fn texts(&self) -> Vec<String> {
        let text = |value: &AxisValue| match value {
            AxisValue::Number(number) => number.to_string(),
            AxisValue::Fraction(number) => number.to_string(),
            AxisValue::Text(text) => text.clone(),
        };
        match self {
            ValueList::One(value) => vec![text(value)],
            ValueList::List(values) => values.iter().map(text).collect(),
        }
    }
}

/// Checks that a group has only axes that are `known`.
///
/// # Errors
/// If it has another one.
pub fn check_axes(group: &AxisGrid, known: &[&str]) -> Result<()> {
    match group.keys().find(|axis| !known.contains(&axis.as_str())) {
        Some(axis) => bail!(units::unknown_name("axis", axis, known)),
        None => Ok(()),
    }
}

/// The kind of `group`: with `kernel` it is memory work, with `call` it is on names, with `op` it
/// writes.
pub fn kind(group: &AxisGrid) -> Kind {
    match () {
        () if group.contains_key("kernel") => Kind::Memory,
        () if group.contains_key("call") => Kind::Metadata,
        () if group.contains_key("op") => Kind::Write,
        () => Kind::Read,
    }
}
