//! Cases that are alike but for some axes: which lines belong into one picture, and what they are
//! called there.

use crate::names::{Names, spelled};
use crate::words::{self, count, listed};
use crate::writes::WriteNames;
use assess::Assessment;
use assess::finding::Verdict;
use assess::summary::Summary;
use assess::trend::Quantity;
use model::case::{Case, Engine, OWN_PEER, Work};
use model::plan::Role;
use model::units;
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
    let all = match &case.work {
        Work::Read(work) => work.io.ops >= work.io.blocks(),
        Work::Write(work) => work.io.ops >= work.io.blocks(),
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

/// What cases are called in pictures: in words for people, not in those of an id.
pub(super) struct Labeller {
    names: Names,
    written: WriteNames,
    /// Whether each case reads its whole file, so that how many reads that takes tells nothing.
    is_whole: bool,
}

impl Labeller {
    pub(super) fn of(assessment: &Assessment) -> Labeller {
        let mut files = asked(&assessment.cases).filter_map(|summary| summary.case.read());
        let is_whole = files.all(|work| work.io.ops >= work.io.blocks());
        Labeller { names: Names::of(assessment), written: WriteNames::of(assessment), is_whole }
    }

    /// The words for a case.
    pub(super) fn words(&self, summary: &Summary) -> Vec<String> {
        let case = &summary.case;
        match &case.work {
            Work::Write(_) => self.written.phrases(case),
            Work::Read(work) => {
                // Only io_uring has more than one in flight.
                let is_plain = |word: &str| word == "d1" && work.engine != Engine::Uring;
                let is_all = |word: &str| word.starts_with("ops:") && self.is_whole;
                let words = self.names.own_words(&summary.id);
                let told = words.iter().filter(|word| !is_plain(word) && !is_all(word));
                told.map(|word| short(word)).collect()
            }
            Work::Memory(work) => {
                let own = Some(case.peer.clone()).filter(|peer| *peer != OWN_PEER);
                let words = [
                    work.kernel.to_string(),
                    work.isa.to_string(),
                    units::bytes(work.working_set),
                    format!("{} pages", work.pages),
                    count(work.threads as usize, "thread"),
                ];
                own.into_iter().chain(words).collect()
            }
        }
    }
}

/// The words of lines, each of which stands for some cases.
pub(super) fn labels(lines: &[Vec<&Summary>], names: &Labeller) -> Labels {
    let all = lines.iter().map(|line| words_of_line(line, names)).collect();
    let Labels { own, common } = told_once(all);
    let own = own.into_iter().zip(lines).map(|(own, line)| {
        let is_doubtful = line.iter().any(|summary| summary.verdict == Verdict::Doubtful);
        own + if is_doubtful { " ?" } else { "" }
    });
    Labels { own: own.collect(), common }
}

/// Names without the words that all of them have.
pub(super) fn told_once(all: Vec<Vec<String>>) -> Labels {
    let Some((first, others)) = all.split_first() else {
        return Labels { own: Vec::new(), common: String::new() };
    };
    let is_common = |word: &&String| others.iter().all(|other| other.contains(word));
    let mut common: Vec<String> = match others {
        [] => Vec::new(),
        _ => first.iter().filter(is_common).cloned().collect(),
    };
    // A line that has no other word keeps the first.
    let is_bare = |words: &Vec<String>| words.iter().all(|word| common.contains(word));
    if all.iter().any(is_bare) && !common.is_empty() {
        common.remove(0);
    }
    let own = all.iter().map(|words| {
        let own: Vec<String> =
            words.iter().filter(|word| !common.contains(word)).cloned().collect();
        own.join(" ")
    });
    Labels { own: own.collect(), common: listed(&common) }
}

/// The words that the names of all cases of a line share, and which rate they are of.
fn words_of_line(line: &[&Summary], names: &Labeller) -> Vec<String> {
    let mut all = line.iter().map(|summary| names.words(summary));
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
    let is_number = |rest: &str| rest.parse::<u32>().is_ok();
    if word.strip_prefix(['t', 'd']).is_some_and(is_number) {
        return spelled(word);
    }
    match word.strip_prefix("ops:") {
        Some(ops) => format!("{ops} reads"),
        None => word.replace("advice:", "advice "),
    }
}
