//! Matches the cases of two records.

use crate::summary::{ServedBy, Summary};
use model::axis::{Across, Axis};
use std::collections::{BTreeSet, HashMap, VecDeque};

/// Two cases that agree in all axes except time and those that `--anyway` ignores.
pub(crate) struct Match {
    /// Its index in the first record.
    pub(crate) a: usize,
    /// Its index in the second record.
    pub(crate) b: usize,
    /// The differing axes with both values.
    pub(crate) apart: Vec<(&'static str, String, String)>,
}

impl Match {
    /// How many differing axes are ignored only with `--anyway`.
    fn distance(&self) -> usize {
        self.apart.iter().filter(|(axis, ..)| across(axis) == Across::Insisted).count()
    }
}

/// The axis that only some cache states have.
const POPULATED: &str = "populated";

/// Above this many pairs of different cases, skip the nearest-match search, which would take
/// seconds. `--anyway` is for changes of one or two axes.
const NEAR_MOST: usize = 1_000_000;

/// Matches each case with its nearest one in the other record, equal ones first, without
/// repetition.
pub(crate) fn matches(asked_a: &[Summary], asked_b: &[Summary]) -> Vec<Match> {
    let mut all = same(asked_a, asked_b);
    let (taken_a, taken_b) = taken(&all);
    let free = |cases: &[Summary], taken: &BTreeSet<usize>| -> Vec<usize> {
        (0..cases.len()).filter(|index| !taken.contains(index)).collect()
    };
    let (free_a, free_b) = (free(asked_a, &taken_a), free(asked_b, &taken_b));
    if free_a.len().saturating_mul(free_b.len()) <= NEAR_MOST {
        all.extend(near(asked_a, asked_b, &free_a, &free_b));
    }
    all.sort_by_key(|found| found.a);
    all
}

/// What makes a case of one record the same as a case of another: everything but its time.
pub(crate) type MatchKey = Vec<(&'static str, String)>;

/// The key of a case.
pub(crate) fn key(summary: &Summary) -> MatchKey {
    let axes = summary.case.axes().into_iter();
    let axes = axes.filter(|(axis, _)| across(axis) != Across::Same);
    axes.chain(definitions(summary)).collect()
}

/// Matches cases that are equal except for time, each with the first unmatched one.
pub(crate) fn same(asked_a: &[Summary], asked_b: &[Summary]) -> Vec<Match> {
    let mut of_key: HashMap<_, VecDeque<usize>> = HashMap::new();
    for (b, summary) in asked_b.iter().enumerate() {
        of_key.entry(key(summary)).or_default().push_back(b);
    }
    let found = asked_a.iter().enumerate().filter_map(|(a, summary)| {
        let b = of_key.get_mut(&key(summary))?.pop_front()?;
        Some(Match { a, b, apart: apart(summary, &asked_b[b])? })
    });
    let mut found: Vec<Match> = found.collect();
    // A file in memory is there in one way, whatever the other record's can be cached in.
    let but_cached = |summary: &Summary| {
        let mut key = key(summary);
        key.retain(|(axis, _)| *axis != POPULATED);
        key
    };
    let (taken_a, mut taken_b) = taken(&found);
    for (a, one) in asked_a.iter().enumerate().filter(|(a, _)| !taken_a.contains(a)) {
        let is_match = |(b, other): &(usize, &Summary)| {
            let in_memory = is_in_memory(one) || is_in_memory(other);
            in_memory && !taken_b.contains(b) && but_cached(one) == but_cached(other)
        };
        if let Some((b, _)) = asked_b.iter().enumerate().find(is_match) {
            taken_b.insert(b);
            found.push(Match { a, b, apart: Vec::new() });
        }
    }
    found
}

/// Matches the nearest of the remaining cases.
fn near(
    asked_a: &[Summary],
    asked_b: &[Summary],
    free_a: &[usize],
    free_b: &[usize],
) -> Vec<Match> {
    let mut all = Vec::new();
    for &a in free_a {
        for &b in free_b {
            let apart = apart(&asked_a[a], &asked_b[b]);
            all.extend(apart.map(|apart| Match { a, b, apart }));
        }
    }
    all.sort_by_key(Match::distance);
    let (mut taken_a, mut taken_b) = (BTreeSet::new(), BTreeSet::new());
    all.retain(|found| {
        let is_free = !taken_a.contains(&found.a) && !taken_b.contains(&found.b);
        is_free && taken_a.insert(found.a) && taken_b.insert(found.b)
    });
    all
}

/// Matches each case of the second record with that of the first that differs in no axis but
/// `but`. Several may be matched with one.
pub(crate) fn each_with_its_base(
    asked_a: &[Summary],
    asked_b: &[Summary],
    but: &'static str,
) -> Vec<Match> {
    let key = |summary: &Summary| {
        let mut key = key(summary);
        key.retain(|(axis, _)| *axis != but);
        key
    };
    let bases: HashMap<MatchKey, usize> =
        asked_a.iter().enumerate().map(|(a, summary)| (key(summary), a)).collect();
    let found = asked_b.iter().enumerate();
    found
        .filter_map(|(b, summary)| {
            Some(Match { a: *bases.get(&key(summary))?, b, apart: Vec::new() })
        })
        .collect()
}

/// Which cases of each record are matched.
pub(crate) fn taken(matches: &[Match]) -> (BTreeSet<usize>, BTreeSet<usize>) {
    (matches.iter().map(|found| found.a).collect(), matches.iter().map(|found| found.b).collect())
}

pub(crate) fn across(axis: &str) -> Across {
    Axis::named(axis).map_or(Across::Apart, |axis| axis.across)
}

/// What the actors beside a case do: in another recipe, their names may stand for other work.
fn definitions(summary: &Summary) -> impl Iterator<Item = (&'static str, String)> + '_ {
    summary.beside.iter().map(|actor| ("beside", actor.does.clone()))
}

fn is_in_memory(summary: &Summary) -> bool {
    summary.served_by == Some(ServedBy::Ram)
}

/// The differing axes of two cases; `None` if one of them makes the cases incomparable.
fn apart(a: &Summary, b: &Summary) -> Option<Vec<(&'static str, String, String)>> {
    if a.case.kind() != b.case.kind() || !definitions(a).eq(definitions(b)) {
        return None;
    }
    let mut apart = Vec::new();
    for axis in Axis::all_of(a.case.kind()) {
        match (axis.value(&a.case), axis.value(&b.case)) {
            (in_a, in_b) if in_a == in_b => {}
            // What is kept in memory can be there in one way only.
            _ if axis.name == POPULATED && [a, b].into_iter().any(is_in_memory) => {}
            (Some(in_a), Some(in_b)) if axis.across != Across::Apart => {
                apart.push((axis.name, in_a, in_b));
            }
            // Only a warm file was cached in some way, so one that differs in that differs in its
            // cache state, which is told.
            _ if axis.name == POPULATED => {}
            _ => return None,
        }
    }
    Some(apart)
}
