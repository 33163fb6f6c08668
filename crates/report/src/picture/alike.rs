//! Cases that differ in a few axes only: which lines share a picture, and their labels there.

use crate::group::grouped;
use crate::labels::CaseLabels;
use crate::phrases::{Factored, factor_out};
use crate::words::{self, listed};
use assess::finding::Verdict;
use assess::summary::Summary;
use assess::trend::FigureUnit;
use model::axis::{AXES, Axis};
use model::case::{Case, OWN_PEER};
use model::plan::Role;

/// With more lines, a picture is unreadable.
pub(super) const LINES_MOST: usize = 6;

/// The axes to split by, in this order, if one picture would have too many lines.
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

/// The axes that identify a case, without its time limit. `ops` is `all` if it covers every block.
pub(super) fn axes(case: &Case) -> Vec<(&'static str, String)> {
    AXES.iter().filter_map(|axis| Some((axis.name, told(axis, case)?))).collect()
}

fn told(axis: &Axis, case: &Case) -> Option<String> {
    let has_all = || case.io().is_some_and(|io| io.ops >= io.blocks());
    match axis.name {
        "time" => None,
        "ops" if has_all() => axis.value(case).map(|_| "all".to_string()),
        _ => axis.value(case),
    }
}

/// The same without one axis: the key of a line along that axis.
pub(super) fn axes_but(case: &Case, axis: &str) -> Vec<(&'static str, String)> {
    axes(case).into_iter().filter(|(known, _)| *known != axis).collect()
}

/// The value of an axis; `None` if the case does not have it.
pub(super) fn value(case: &Case, axis: &str) -> Option<String> {
    told(Axis::named(axis)?, case)
}

/// Requested cases with a valid figure.
pub(super) fn standing(cases: &[Summary]) -> impl Iterator<Item = &Summary> {
    asked(cases).filter(|summary| summary.verdict.stands())
}

/// Requested cases.
pub(super) fn asked(cases: &[Summary]) -> impl Iterator<Item = &Summary> {
    cases.iter().filter(|summary| summary.role == Role::Asked)
}

/// Whether the figure of a case is a throughput; otherwise it is the time per operation.
pub(super) fn is_rate(case: &Case) -> bool {
    FigureUnit::of(case) == FigureUnit::BytesPerSecond
}

/// Splits things into pictures, by as few axes as needed to keep each picture readable.
pub(super) fn parted<T>(
    things: Vec<T>,
    case: impl Fn(&T) -> &Case + Copy,
    axes: &[&str],
) -> Vec<PictureGroup<T>> {
    part(PictureGroup { shared: Vec::new(), things }, case, axes)
}

/// The things in one picture.
#[derive(Debug)]
pub(super) struct PictureGroup<T> {
    /// The values that set them apart from other pictures.
    pub(super) shared: Vec<String>,
    pub(super) things: Vec<T>,
}

fn part<T>(
    whole: PictureGroup<T>,
    case: impl Fn(&T) -> &Case + Copy,
    axes: &[&str],
) -> Vec<PictureGroup<T>> {
    let PictureGroup { shared, things } = whole;
    if things.len() <= LINES_MOST {
        return vec![PictureGroup { shared, things }];
    }
    let mut parts = Vec::new();
    let Some((axis, others)) = axes.split_first() else {
        let mut left = things;
        while !left.is_empty() {
            let rest = left.split_off(left.len().min(LINES_MOST));
            parts.push(PictureGroup { shared: shared.clone(), things: left });
            left = rest;
        }
        return parts;
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
        parts.extend(part(PictureGroup { shared, things }, case, others));
    }
    parts
}

/// With more pictures of one kind, nobody looks at them.
const PICTURES_MOST: usize = 8;

/// The parts of all these cases; if they are too many, only the first of those of the `fewer`.
pub(super) fn bounded<'a, T>(
    cases: Vec<&'a Summary>,
    fewer: fn(Vec<&'a Summary>) -> Vec<&'a Summary>,
    parts: impl Fn(Vec<&'a Summary>) -> Vec<T>,
) -> Vec<T> {
    let mut all = parts(cases.clone());
    if all.len() > PICTURES_MOST {
        all = parts(fewer(cases));
        all.truncate(PICTURES_MOST);
    }
    all
}

/// Whether one picture may hold several values of an axis that it was split by. Different
/// operations, cache states, blocks and sizes answer different questions, so they never share one.
fn is_joined(axis: &str) -> bool {
    !["cache", "block", "op", "size"].contains(&axis)
}

/// Whether a value is the default, and needs no mention.
fn is_plain(axis: &str, value: &str) -> bool {
    matches!((axis, value), ("depth", "1") | ("isa", "auto") | ("advice", "none"))
}

/// The cases measured by this program's own worker, or all if there are none.
pub(super) fn own_first(cases: Vec<&Summary>) -> Vec<&Summary> {
    let is_own = |summary: &&Summary| summary.case.peer == OWN_PEER;
    match cases.iter().any(is_own) {
        true => cases.into_iter().filter(is_own).collect(),
        false => cases,
    }
}

/// Like [`own_first`], but only the cases with the fewest threads.
pub(super) fn fewest(cases: Vec<&Summary>) -> Vec<&Summary> {
    let mut cases = own_first(cases);
    let least = cases.iter().map(|summary| summary.case.threads()).min();
    cases.retain(|summary| Some(summary.case.threads()) == least);
    cases
}

/// A value of an axis, for a title: `2 threads`, `depth 8`, `warm`.
pub(super) fn say_value(axis: &str, value: &str) -> String {
    Axis::named(axis).map_or_else(|| value.to_string(), |axis| axis.say(value))
}

/// Leaves the first rows of a picture. Its title, which says so if there are more.
pub(super) fn limited<T>(title: &str, rows: &mut Vec<T>, most: usize) -> String {
    let all = rows.len();
    rows.truncate(most);
    if all > most { format!("{title}: {most} of {all}") } else { title.to_string() }
}

/// The words of a case's label.
pub(super) fn label_words(summary: &Summary, labels: &CaseLabels) -> Vec<String> {
    let phrases = labels.phrases(&summary.case);
    let said: Vec<String> = phrases.into_iter().map(|phrase| phrase.said).collect();
    if said.is_empty() { vec![labels.name(&summary.id)] } else { said }
}

/// The labels of lines; each line is a group of cases.
pub(super) fn labels(lines: &[Vec<&Summary>], names: &CaseLabels) -> Factored {
    let words = |line: &Vec<&Summary>| {
        // It shows this rate.
        let rate = line.first().map_or("", |summary| words::rate_kind(summary)).to_string();
        let mut words = shared_words(line, names);
        words.extend(Some(rate).filter(|rate| !rate.is_empty()));
        words
    };
    let all = lines.iter().map(words).collect();
    let Factored { own, common } = factor_out(all);
    let own = own.into_iter().zip(lines).map(|(own, line)| {
        let is_doubtful = line.iter().any(|summary| summary.verdict == Verdict::Doubtful);
        own + if is_doubtful { " ?" } else { "" }
    });
    Factored { own: own.collect(), common }
}

/// The words that the names of all these cases share.
pub(super) fn shared_words(cases: &[&Summary], names: &CaseLabels) -> Vec<String> {
    let mut all = cases.iter().map(|summary| label_words(summary, names));
    let mut words = all.next().unwrap_or_default();
    for other in all {
        words.retain(|word| other.contains(word));
    }
    words
}

/// What a note says of the words that all labels share; empty if there are none.
pub(super) fn all_are(common: &str) -> String {
    if common.is_empty() { String::new() } else { format!("all: {common}") }
}
