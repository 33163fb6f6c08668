//! Cases that are alike but for some axes: which lines belong into one picture, and what they are
//! called there.

use crate::labels::Labels;
use crate::phrases::{Factored, factor_out};
use crate::words::{self, listed};
use assess::finding::Verdict;
use assess::summary::Summary;
use assess::trend::Quantity;
use model::axis::Axis;
use model::case::{Case, OWN_PEER};
use model::plan::Role;
use std::collections::HashMap;
use std::hash::Hash;

/// More lines than this are a tangle.
pub(super) const LINES_MOST: usize = 6;

/// In this order lines are parted where they are too many for one picture.
pub(super) const PARTED_BY: [&str; 14] = [
    "op",
    "cache",
    "sync",
    "block",
    "working_set",
    "pattern",
    "kernel",
    "pages",
    "size",
    "threads",
    "depth",
    "peer",
    "engine",
    "isa",
];

/// The axes of a case that make it another one: not how long it may last, and of the number of
/// operations only whether it is all that there are.
pub(super) fn axes(case: &Case) -> Vec<(&'static str, String)> {
    let all = case.io().is_some_and(|io| io.ops >= io.blocks());
    let told = case.axes().into_iter().filter(|(axis, _)| *axis != "time");
    told.map(|(axis, value)| match axis {
        "ops" if all => (axis, "all".to_string()),
        _ => (axis, value),
    })
    .collect()
}

/// The same without one axis: what is the same for all cases of a line along that.
pub(super) fn axes_but(case: &Case, axis: &str) -> Vec<(&'static str, String)> {
    axes(case).into_iter().filter(|(known, _)| *known != axis).collect()
}

/// The value of an axis; none where the case has no such.
pub(super) fn value(case: &Case, axis: &str) -> Option<String> {
    axes(case).into_iter().find(|(known, _)| *known == axis).map(|(_, value)| value)
}

/// Cases that were asked for, with a figure that stands.
pub(super) fn standing(cases: &[Summary]) -> impl Iterator<Item = &Summary> {
    asked(cases).filter(|summary| summary.verdict.stands())
}

/// Cases that were asked for.
pub(super) fn asked(cases: &[Summary]) -> impl Iterator<Item = &Summary> {
    cases.iter().filter(|summary| summary.role == Role::Asked)
}

/// Whether the figure of a case is bytes a second; else it is the time of an operation.
pub(super) fn is_rate(case: &Case) -> bool {
    Quantity::of(case) == Quantity::BytesPerSecond
}

/// Things in groups of the same key, in the order of the first of each.
pub(super) fn grouped<T, K: Eq + Hash>(
    things: impl IntoIterator<Item = T>,
    key: impl Fn(&T) -> K,
) -> Vec<(K, Vec<T>)> {
    let mut places: HashMap<K, usize> = HashMap::new();
    let mut groups: Vec<Vec<T>> = Vec::new();
    for thing in things {
        let place = *places.entry(key(&thing)).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Vec::new());
        }
        groups[place].push(thing);
    }
    let mut keys: Vec<(K, usize)> = places.into_iter().collect();
    keys.sort_by_key(|(_, place)| *place);
    keys.into_iter().map(|(key, _)| key).zip(groups).collect()
}

/// Things that a picture each is made of: those that agree in as few axes as make them few enough,
/// with the values of those axes.
pub(super) fn parted<T>(
    things: Vec<T>,
    case: impl Fn(&T) -> &Case + Copy,
    axes: &[&str],
) -> Vec<Part<T>> {
    let mut parts = Vec::new();
    part(Part { shared: Vec::new(), things }, case, axes, &mut parts);
    parts
}

/// The things of one picture.
#[derive(Debug)]
pub(super) struct Part<T> {
    /// In which values they agree and others do not.
    pub(super) shared: Vec<String>,
    pub(super) things: Vec<T>,
}

fn part<T>(
    whole: Part<T>,
    case: impl Fn(&T) -> &Case + Copy,
    axes: &[&str],
    parts: &mut Vec<Part<T>>,
) {
    let Part { shared, things } = whole;
    if things.len() <= LINES_MOST {
        return parts.push(Part { shared, things });
    }
    let Some((axis, others)) = axes.split_first() else {
        let mut left = things;
        while !left.is_empty() {
            let rest = left.split_off(left.len().min(LINES_MOST));
            parts.push(Part { shared: shared.clone(), things: left });
            left = rest;
        }
        return;
    };
    let groups = grouped(things, |thing| value(case(thing), axis));
    let is_split = groups.len() > 1;
    let mut bins: Vec<(Vec<String>, Vec<T>)> = Vec::new();
    for (value, things) in groups {
        let told = value.filter(|value| is_split && !is_plain(axis, value));
        let said = told.map(|value| say_value(axis, &value));
        match bins.last_mut() {
            Some((values, held)) if is_joined(axis) && held.len() + things.len() <= LINES_MOST => {
                values.extend(said);
                held.extend(things);
            }
            _ => bins.push((said.into_iter().collect(), things)),
        }
    }
    for (values, things) in bins {
        let mut shared = shared.clone();
        shared.extend(Some(listed(&values)).filter(|said| !said.is_empty()));
        part(Part { shared, things }, case, others, parts);
    }
}

/// Whether lines of two values of an axis may be in one picture where lines are parted by it:
/// cache states and blocks are questions of their own.
fn is_joined(axis: &str) -> bool {
    !["cache", "block", "op", "size"].contains(&axis)
}

/// Whether a value is what one expects where nothing is said.
fn is_plain(axis: &str, value: &str) -> bool {
    matches!((axis, value), ("depth", "1") | ("isa", "auto") | ("advice", "none"))
}

/// Those cases of this program's own worker, if there are any.
pub(super) fn own_first(cases: Vec<&Summary>) -> Vec<&Summary> {
    let is_own = |summary: &&Summary| summary.case.peer == OWN_PEER;
    match cases.iter().any(is_own) {
        true => cases.into_iter().filter(is_own).collect(),
        false => cases,
    }
}

/// Of those the ones with the fewest threads.
pub(super) fn fewest(cases: Vec<&Summary>) -> Vec<&Summary> {
    let mut cases = own_first(cases);
    let least = cases.iter().map(|summary| summary.case.threads()).min();
    cases.retain(|summary| Some(summary.case.threads()) == least);
    cases
}

/// A value of an axis for a title: `2 threads`, `depth 8`, `warm`.
pub(super) fn say_value(axis: &str, value: &str) -> String {
    Axis::named(axis).map_or_else(|| value.to_string(), |axis| axis.say(value))
}

/// The words of a case's label.
pub(super) fn label_words(summary: &Summary, labels: &Labels) -> Vec<String> {
    let phrases = labels.phrases(&summary.case);
    let said: Vec<String> = phrases.into_iter().map(|phrase| phrase.said).collect();
    if said.is_empty() { vec![labels.name(&summary.id)] } else { said }
}

/// The words of lines, each of which stands for some cases.
pub(super) fn labels(lines: &[Vec<&Summary>], names: &Labels) -> Factored {
    let all = lines.iter().map(|line| words_of_line(line, names)).collect();
    let Factored { own, common } = factor_out(all);
    let own = own.into_iter().zip(lines).map(|(own, line)| {
        let is_doubtful = line.iter().any(|summary| summary.verdict == Verdict::Doubtful);
        own + if is_doubtful { " ?" } else { "" }
    });
    Factored { own: own.collect(), common }
}

/// The words that the names of all cases of a line share, and which rate they are of.
fn words_of_line(line: &[&Summary], names: &Labels) -> Vec<String> {
    let mut all = line.iter().map(|summary| label_words(summary, names));
    let mut words = all.next().unwrap_or_default();
    for other in all {
        words.retain(|word| other.contains(word));
    }
    let kind = line.first().map_or("", |summary| words::rate_kind(summary));
    words.extend(Some(kind.to_string()).filter(|kind| !kind.is_empty()));
    words
}
