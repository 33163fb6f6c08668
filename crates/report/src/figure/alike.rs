//! Cases that are alike but for some axes: which lines belong into one picture, and what they are
//! called there.

use crate::names::{Names, spelled, words as words_of};
use crate::words::{self, listed};
use assess::finding::Verdict;
use assess::summary::Summary;
use model::case::{Case, Engine, Op, Work, WriteEngine};
use model::plan::Role;

/// More lines than this are a tangle.
pub(super) const LINES_MOST: usize = 6;

/// In this order lines are parted where they are too many for one picture.
const PARTED_BY: [&str; 14] = [
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
    let all = match &case.work {
        Work::File(work) => work.ops >= work.blocks(),
        Work::Write(work) => work.ops >= work.blocks(),
        Work::Memory(_) => false,
    };
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
    asked(cases).filter(|summary| summary.n > 0 && summary.verdict != Verdict::Void)
}

/// Cases that were asked for.
pub(super) fn asked(cases: &[Summary]) -> impl Iterator<Item = &Summary> {
    cases.iter().filter(|summary| summary.role == Role::Asked)
}

/// Whether the figure of a case is bytes a second; else it is the time of an operation.
pub(super) fn is_rate(case: &Case) -> bool {
    match &case.work {
        Work::Memory(work) => work.kernel.is_bulk(),
        Work::File(work) => work.engine != Engine::Null,
        Work::Write(work) => work.engine != WriteEngine::Null && work.op != Op::Sync,
    }
}

/// Things in groups of the same key, in the order of the first of each.
pub(super) fn grouped<T, K: PartialEq>(
    things: impl IntoIterator<Item = T>,
    key: impl Fn(&T) -> K,
) -> Vec<(K, Vec<T>)> {
    let mut groups: Vec<(K, Vec<T>)> = Vec::new();
    for thing in things {
        let key = key(&thing);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, members)) => members.push(thing),
            None => groups.push((key, vec![thing])),
        }
    }
    groups
}

/// Things that a picture each is made of: those that agree in as few axes as make them few enough,
/// with the values of those axes.
pub(super) fn parted<T>(things: Vec<T>, case: impl Fn(&T) -> &Case + Copy) -> Vec<Part<T>> {
    let mut parts = Vec::new();
    part(Part { shared: Vec::new(), things }, case, &PARTED_BY, &mut parts);
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
    for (value, things) in groups {
        let mut shared = shared.clone();
        shared.extend(value.filter(|_| is_split).map(|value| say_value(axis, &value)));
        part(Part { shared, things }, case, others, parts);
    }
}

/// A value of an axis for a title: `2 threads`, `depth 8`, `warm`.
pub(super) fn say_value(axis: &str, value: &str) -> String {
    match axis {
        "threads" => spelled(&format!("t{value}")),
        "depth" => format!("depth {value}"),
        "sync" if value == "none" => "no sync".to_string(),
        "size" => format!("of {value}"),
        "pages" => format!("{value} pages"),
        _ => value.to_string(),
    }
}

/// What lines of one picture are called.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Labels {
    /// What each has for itself.
    pub(super) own: Vec<String>,
    /// What all have in common; empty where it is one line.
    pub(super) common: String,
}

/// The words of lines, each of which stands for some cases.
pub(super) fn labels(lines: &[Vec<&Summary>], names: &Names) -> Labels {
    let all: Vec<Vec<String>> = lines.iter().map(|line| words_of_line(line, names)).collect();
    let Some((first, others)) = all.split_first() else {
        return Labels { own: Vec::new(), common: String::new() };
    };
    let is_common = |word: &&String| others.iter().all(|other| other.contains(word));
    let mut common: Vec<String> = match others {
        [] => Vec::new(),
        _ => first.iter().filter(is_common).cloned().collect(),
    };
    // A line that has no other word keeps the first.
    if all.iter().any(|words| words.iter().all(|word| common.contains(word))) && !common.is_empty()
    {
        common.remove(0);
    }
    let own = all.iter().zip(lines).map(|(words, line)| {
        let words = words.iter().filter(|word| !common.contains(word)).map(|word| short(word));
        let mark = match line.iter().any(|summary| summary.verdict == Verdict::Doubtful) {
            true => " ?",
            false => "",
        };
        words.collect::<Vec<_>>().join(" ") + mark
    });
    let own = own.collect();
    let common = listed(&common.iter().map(|word| spelled(word)).collect::<Vec<_>>());
    Labels { own, common }
}

/// The words that the names of all cases of a line share, and which rate they are of.
fn words_of_line(line: &[&Summary], names: &Names) -> Vec<String> {
    let mut all = line.iter().map(|summary| words_of(&names.short(&summary.id)));
    let mut words = all.next().unwrap_or_default();
    for other in all {
        words.retain(|word| other.contains(word));
    }
    let kind = line.first().map_or("", |summary| words::rate_kind(summary));
    words.extend(Some(kind.to_string()).filter(|kind| !kind.is_empty()));
    words
}

/// A word of an id, longer where nobody would know it.
fn short(word: &str) -> String {
    let is_number =
        |prefix: &str| word.strip_prefix(prefix).is_some_and(|rest| rest.parse::<u32>().is_ok());
    if is_number("t") || is_number("d") { spelled(word) } else { word.to_string() }
}
