//! A case described by its axes, and its id.

use super::{AXES, Axis};
use crate::axes::{Axes, Given};
use crate::case::{BufferPages, Case, Kind, Populated};
use crate::units::{self, ParseError};
use std::collections::{HashMap, HashSet};

impl Case {
    /// The case's axes by name. [`Case::from_axes`] reads them back.
    pub fn axes(&self) -> Vec<(&'static str, String)> {
        AXES.iter().filter_map(|axis| Some((axis.name, axis.value(self)?))).collect()
    }

    /// Reads a case from its axes, in any order; every axis must appear exactly once. Axes newer
    /// than the first version of this program may be missing, as in its records. They then have the
    /// value that all its cases had.
    pub fn from_axes<K: AsRef<str>, V: AsRef<str>>(axes: &[(K, V)]) -> Result<Case, ParseError> {
        let given = Given(axes);
        let mut case = match () {
            () if given.has("kernel") => Case::blank(Kind::Memory),
            () if given.has("call") => Case::blank(Kind::Metadata),
            () if given.has("command") => Case::blank(Kind::Command),
            () if given.has("op") => Case::blank(Kind::Write),
            () => Case::blank(Kind::Read),
        };
        let kind = case.kind();
        for axis in Axis::all_of(kind) {
            axis.set(&mut case, given.text(axis.name, axis.before.of(kind))?)?;
        }
        case.clear_meaningless();
        Ok(case)
    }

    /// A short name: `pread warm random 4KiB d1 t1 sum of 256MiB`. It is unique except for cases
    /// that differ only in time: see [`ids`].
    ///
    /// Default values are omitted, so that unusual ones stand out.
    pub fn id(&self) -> String {
        let words: Vec<String> = AXES.iter().filter_map(|axis| axis.word(self)).collect();
        words.join(" ")
    }
}

/// What only cases of older records have, which no id tells.
pub fn of_older(case: &Case) -> impl Iterator<Item = String> {
    let cached = case.populated().filter(|populated| *populated == Populated::Unknown);
    let pages = case.io().map(|io| io.pages).filter(|pages| *pages == BufferPages::Fitting);
    let words = [cached.map(|of| format!("populated:{of}")), pages.map(|of| format!("pages:{of}"))];
    words.into_iter().flatten()
}

/// The ids of a set of cases, with the time where some differ only in that. Where cases of several
/// records differ only in what older ones had, that is told as well.
pub fn ids<'a>(cases: impl Iterator<Item = &'a Case> + Clone) -> Vec<String> {
    let older = |case: &Case| -> String { of_older(case).map(|word| format!(" {word}")).collect() };
    let (mut times, mut ways) = (HashMap::new(), HashMap::new());
    for case in cases.clone() {
        times.entry(case.id()).or_insert_with(HashSet::new).insert(case.time());
        ways.entry(case.id()).or_insert_with(HashSet::new).insert(older(case));
    }
    let id = |case: &Case| {
        let id = case.id();
        let differs = ways.get(&id).is_some_and(|ways| ways.len() > 1);
        let older = if differs { older(case) } else { String::new() };
        let time = match times.get(&id) {
            Some(times) if times.len() > 1 => format!(" for {}", units::time(case.time())),
            _ => String::new(),
        };
        format!("{id}{older}{time}")
    };
    cases.map(id).collect()
}

impl From<Case> for Axes {
    fn from(case: Case) -> Axes {
        case.axes().into_iter().map(|(axis, value)| (axis.to_string(), value)).collect()
    }
}

impl TryFrom<Axes> for Case {
    type Error = ParseError;

    fn try_from(axes: Axes) -> Result<Case, ParseError> {
        Case::from_axes(&axes)
    }
}
