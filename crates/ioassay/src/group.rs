//! Groups of cases in a recipe: what each can be about, and the axes that it has then.

use model::case::{Engine, OWN_PEER, WriteEngine};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Axes with the values to try.
pub type Axes = BTreeMap<String, Values>;

/// One value or a list of them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "expected a text, a number or a list of them")]
pub enum Values {
    /// One.
    One(Value),
    /// A list.
    List(Vec<Value>),
}

/// A text or a number: `"4KiB"` or `32`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "expected a text or a number")]
pub enum Value {
    /// A number.
    Number(u64),
    /// A text.
    Text(String),
}

impl Values {
    /// From texts, as the command line has them.
    pub fn from_texts(texts: Vec<String>) -> Values {
        Values::List(texts.into_iter().map(Value::Text).collect())
    }

    /// As texts.
    pub fn texts(&self) -> Vec<String> {
        let text = |value: &Value| match value {
            Value::Number(number) => number.to_string(),
            Value::Text(text) => text.clone(),
        };
        match self {
            Values::One(value) => vec![text(value)],
            Values::List(values) => values.iter().map(text).collect(),
        }
    }
}

/// What the cases of a group do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// They read a file.
    Read,
    /// They write one: the group has the axis `op`.
    Write,
    /// They run over memory: the group has the axis `kernel`.
    Memory,
}

/// The axes of a case that reads a file, each with its usual value.
const READ_AXES: &[(&str, &str)] = &[
    ("peer", OWN_PEER),
    ("engine", "pread"),
    ("cache", "warm"),
    ("pattern", "sequential"),
    ("stride", "16"),
    ("size", "1GiB"),
    ("block", "4KiB"),
    ("depth", "1"),
    ("threads", "1"),
    ("share", "contiguous"),
    ("touch", "sum"),
    ("isa", "auto"),
    ("advice", "none"),
    ("submission", "enter"),
    ("ops", "0"),
    ("time", "1s"),
];

/// The axes of a case that writes a file.
const WRITE_AXES: &[(&str, &str)] = &[
    ("peer", OWN_PEER),
    ("op", "write"),
    ("engine", "pwrite"),
    ("cache", "as-is"),
    ("pattern", "sequential"),
    ("stride", "16"),
    ("size", "1GiB"),
    ("block", "1MiB"),
    ("depth", "1"),
    ("threads", "1"),
    ("share", "contiguous"),
    ("sync", "fdatasync"),
    ("every", "0"),
    ("allocation", "none"),
    ("fill", "random"),
    ("ops", "0"),
    ("time", "1s"),
];

/// The axes of a case that runs over memory.
const MEMORY_AXES: &[(&str, &str)] = &[
    ("peer", OWN_PEER),
    ("kernel", "read"),
    ("isa", "best"),
    ("working_set", "dram"),
    ("pages", "huge"),
    ("step", "page"),
    ("threads", "1"),
    ("time", "200ms"),
];

impl Kind {
    /// What `group` is about.
    pub fn of(group: &Axes) -> Kind {
        if group.contains_key("kernel") {
            Kind::Memory
        } else if group.contains_key("op") {
            Kind::Write
        } else {
            Kind::Read
        }
    }

    /// Its axes, each with its usual value.
    pub fn axes(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Kind::Read => READ_AXES,
            Kind::Write => WRITE_AXES,
            Kind::Memory => MEMORY_AXES,
        }
    }

    /// Whether it has `axis`.
    pub fn has(self, axis: &str) -> bool {
        self.axes().iter().any(|(name, _)| *name == axis)
    }

    /// Whether `engine` is one of its: those to read are not those to write.
    pub fn has_engine(self, engine: &str) -> bool {
        match self {
            Kind::Read => engine.parse::<Engine>().is_ok(),
            Kind::Write => engine.parse::<WriteEngine>().is_ok(),
            Kind::Memory => false,
        }
    }
}
