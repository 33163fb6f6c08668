//! The values of cases, of which labels say those in which the cases differ.

use crate::phrases::Phrase;
use model::axis::{AXES, Axis};
use model::case::{Case, OWN_PEER};
use model::pattern::Pattern;
use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Labels name these axes first, in this order; the others follow in the order of the table.
const FIRST: [&str; 10] =
    ["peer", "op", "cache", "kernel", "working_set", "isa", "engine", "block", "pattern", "stride"];

/// A value: `text` tells values apart, `phrase` is for readers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct LabelValue {
    pub(crate) text: String,
    pub(crate) phrase: String,
    /// Whether to mention it if all cases share it.
    pub(crate) is_told: bool,
}

/// A value for each axis that has one.
pub(crate) type LabelValues = BTreeMap<&'static str, LabelValue>;

/// The words for the value of an axis.
pub(crate) fn phrase(axis: &Axis, case: &Case) -> Option<Phrase> {
    let (said, short) = match axis.name {
        "ops" if is_whole(case) => ("all ops".to_string(), "all ops".to_string()),
        _ => (axis.label(case)?, axis.short_label(case)?),
    };
    Some(Phrase { axis: axis.name, said, short })
}

/// Whether each block is moved exactly once: then the block and the file size imply the number.
fn is_whole(case: &Case) -> bool {
    case.io().is_some_and(|io| io.ops == io.blocks())
}

/// The values of a case, without those that have no meaning in it.
pub(crate) fn values(case: &Case) -> LabelValues {
    let strided = case.io().is_some_and(|io| io.pattern == Pattern::Strided);
    let has_vectors = case.memory().is_none_or(|work| work.kernel.has_vectors());
    let has_meaning = |axis: &&Axis| match axis.name {
        "stride" => strided,
        "isa" => has_vectors,
        _ => true,
    };
    let value = |axis: &'static Axis| {
        let (text, phrase) = match axis.name {
            "ops" if is_whole(case) => ("all".to_string(), "each block once".to_string()),
            _ => (axis.shown(case)?, axis.phrase(case)?),
        };
        let is_usual =
            axis.is_quiet(case.kind(), &text) || (axis.name == "peer" && text == OWN_PEER);
        let is_told = axis.name != "time" && (!is_usual || axis.word(case).is_some());
        Some((axis.name, LabelValue { text, phrase, is_told }))
    };
    AXES.iter().filter(has_meaning).filter_map(value).collect()
}

/// The values that several cases share; a single case shares nothing.
pub(crate) fn common(all: &[LabelValues]) -> LabelValues {
    let mut common = LabelValues::new();
    if all.len() < 2 {
        return common;
    }
    let mut differing: HashSet<&'static str> = HashSet::new();
    for (axis, value) in all.iter().flatten() {
        if common.entry(*axis).or_insert_with(|| value.clone()) != value {
            differing.insert(*axis);
        }
    }
    common.retain(|axis, _| !differing.contains(axis));
    common
}

/// Values in full words, without those that need no mention.
pub(crate) fn said_of(values: &LabelValues) -> Vec<String> {
    let told = ordered().filter_map(|axis| values.get(axis.name));
    told.filter(|value| value.is_told).map(|value| value.phrase.clone()).collect()
}

/// A hash of a case's values, except for one axis.
pub(crate) fn all_but(axis: &str, group: &str, values: &LabelValues) -> u64 {
    let mut hasher = DefaultHasher::new();
    group.hash(&mut hasher);
    for (known, value) in values.iter().filter(|(known, _)| **known != axis) {
        (known, value).hash(&mut hasher);
    }
    hasher.finish()
}

/// All axes in the order of labels.
pub(crate) fn ordered() -> impl Iterator<Item = &'static Axis> {
    let first = FIRST.iter().filter_map(|name| Axis::named(name));
    first.chain(AXES.iter().filter(|axis| !FIRST.contains(&axis.name)))
}
