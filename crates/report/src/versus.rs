//! Comparisons of cases that differ in one axis only.

use crate::grid::{Cell, Grid, left, right};
use crate::names::{Apart, Names, words as words_of};
use crate::style::{Paint, Style};
use crate::words::{NONE, count, difference, difference_paint, listed, times, times_interval};
use assess::Assessment;
use assess::comparison::{Comparison, Difference};
use assess::summary::Summary;
use std::collections::HashMap;

/// Of more comparisons than this only those that found a difference are listed; the others are
/// counted.
const LISTED_MAX: usize = 12;

/// The comparisons as a table, or nothing if there are none.
pub(crate) fn list(
    assessment: &Assessment,
    name: &dyn Fn(&str) -> String,
    style: &Style,
) -> String {
    if assessment.comparisons.is_empty() {
        return String::new();
    }
    let mut out = grid(assessment, name).render(style);
    let unlisted = unlisted(&assessment.comparisons);
    out.extend(unlisted.map(|text| style.wrap("", Paint::Plain, &text)));
    out
}

/// The comparisons that are listed; `name` gives the name that a case has in the view.
pub(crate) fn grid(assessment: &Assessment, name: &dyn Fn(&str) -> String) -> Grid {
    let (comparisons, pair) = (&assessment.comparisons, in_view(assessment, name));
    let is_listed = |found: &&Comparison| {
        comparisons.len() <= LISTED_MAX || found.difference == Difference::Different
    };
    let mut grid = Grid::new(vec![
        left("compared, round by round", 0),
        right("ratio", 0),
        left("95 % CI", 0),
        left("finding", 0),
    ]);
    for found in comparisons.iter().filter(is_listed) {
        let interval = times_interval(found.low, found.high).unwrap_or(NONE.to_string());
        let paint = difference_paint(found.difference);
        let texts = [pair(found).to_string(), times(found.ratio), interval, difference(found)];
        grid.row(texts.map(|text| Cell::new(text, paint)).to_vec());
    }
    grid
}

/// How many are not listed, if any: `and 5 equivalent and 3 inconclusive`.
pub(crate) fn unlisted(comparisons: &[Comparison]) -> Option<String> {
    if comparisons.len() <= LISTED_MAX {
        return None;
    }
    let counted = |difference: Difference| {
        let count = comparisons.iter().filter(|found| found.difference == difference).count();
        (count > 0).then(|| format!("{count} {difference}"))
    };
    let others: Vec<String> = [Difference::Equivalent, Difference::Inconclusive]
        .into_iter()
        .filter_map(counted)
        .collect();
    (!others.is_empty()).then(|| format!("and {}", listed(&others)))
}

/// What two cases are called in a view where `name` gives the name of each.
pub(crate) fn in_view(
    assessment: &Assessment,
    name: &dyn Fn(&str) -> String,
) -> impl Fn(&Comparison) -> Apart {
    let (names, cases) = (Names::of(assessment), by_id(assessment));
    move |found| {
        pair(found, &cases, &|summary| match name(&summary.id) {
            // A case that has no name of its own is called by its id there.
            id if id == summary.id => names.own_words(&id),
            name => words_of(&name),
        })
    }
}

/// The cases by their id: of thousands, each is asked for.
pub(crate) fn by_id(assessment: &Assessment) -> HashMap<&str, &Summary> {
    assessment.cases.iter().map(|summary| (summary.id.as_str(), summary)).collect()
}

/// What tells the two cases from each other, and what they share; `words` gives those for a case.
pub(crate) fn pair(
    found: &Comparison,
    cases: &HashMap<&str, &Summary>,
    words: &dyn Fn(&Summary) -> Vec<String>,
) -> Apart {
    let of = |id: &str| cases.get(id).copied();
    let Some((case, base)) = of(&found.case).zip(of(&found.base)) else {
        return Apart::of(&words_of(&found.case), &words_of(&found.base));
    };
    let is_of_peers = case.case.peer != base.case.peer;
    let named = |summary: &Summary| {
        let (mut words, peer) = (words(summary), &summary.case.peer);
        // No id names this program's own worker, which others are held against.
        if is_of_peers && !words.contains(peer) {
            words.insert(0, peer.clone());
        }
        words
    };
    Apart::of(&named(case), &named(base))
}

/// Of more than this the clearest are told.
const DECIDED_MOST: usize = 6;

/// What the rounds decide, whatever the number of threads, and how many comparisons they do not:
/// `mmap vs pread, warm 4KiB: 2.96× to 3.15×`.
pub(crate) fn decided(assessment: &Assessment, name: &dyn Fn(&str) -> String) -> Option<String> {
    let (all, apart) = (&assessment.comparisons, in_view(assessment, name));
    let is_threads =
        |word: &String| word.strip_prefix('t').is_some_and(|n| n.parse::<u32>().is_ok());
    let mut groups: Vec<(Apart, Vec<&Comparison>)> = Vec::new();
    for found in all {
        let mut apart = apart(found);
        apart.shared.retain(|word| !is_threads(word));
        match groups.iter_mut().find(|(known, _)| *known == apart) {
            Some((_, members)) => members.push(found),
            None => groups.push((apart, vec![found])),
        }
    }
    groups.retain(|(_, members)| {
        let is_different = |found: &&Comparison| found.difference == Difference::Different;
        let is_more = |found: &&Comparison| found.ratio > 1.0;
        members.iter().all(is_different)
            && (members.iter().all(is_more) || !members.iter().any(is_more))
    });
    let effect = |members: &[&Comparison]| {
        members.iter().map(|found| found.ratio.ln().abs()).fold(f64::INFINITY, f64::min)
    };
    groups.sort_by(|(_, a), (_, b)| effect(b).total_cmp(&effect(a)));
    let clauses: Vec<String> = groups.iter().take(DECIDED_MOST).map(clause).collect();
    let different = all.iter().filter(|found| found.difference == Difference::Different).count();
    let counted = format!("Of {}, {different} found a difference", count(all.len(), "comparison"));
    match (all.len(), clauses.is_empty()) {
        (0, _) => None,
        (_, true) => Some(format!("{counted}.")),
        (_, false) => Some(format!("{counted}. The clearest: {}.", clauses.join("; "))),
    }
}

fn clause((apart, members): &(Apart, Vec<&Comparison>)) -> String {
    let ratios = || members.iter().map(|found| found.ratio);
    let (least, most) = (ratios().fold(f64::INFINITY, f64::min), ratios().fold(0.0, f64::max));
    match members.len() {
        1 => format!("{apart}: {}", times(most)),
        _ => format!("{apart}: {} to {}", times(least), times(most)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::made;

    fn found(threads: usize, difference: Difference) -> Comparison {
        Comparison {
            case: format!("mmap cold t{threads}"),
            base: format!("pread cold t{threads}"),
            pairs: 10,
            ratio: 1.2,
            low: Some(1.1),
            high: Some(1.3),
            difference,
            interest: 0.05,
            needs: (difference == Difference::Inconclusive).then_some(21),
        }
    }

    fn said(count: usize) -> String {
        let cycle = [Difference::Different, Difference::Equivalent, Difference::Inconclusive];
        let all: Vec<Comparison> = (0..count).map(|n| found(n, cycle[n % 3])).collect();
        let assessment = Assessment { comparisons: all, ..made::all_failed() };
        list(&assessment, &str::to_string, &Style { colour: false, width: 80 })
    }

    #[test]
    fn few_are_listed_and_of_many_only_the_differences() {
        assert_eq!(said(0), "");
        assert_eq!(said(LISTED_MAX).lines().count(), 1 + LISTED_MAX);
        let many = said(14);
        assert_eq!(many.matches("different").count(), 5, "{many}");
        assert!(many.contains("mmap vs pread, cold t3"), "{many}");
        assert!(said(3).contains("inconclusive (n ≈ 21)"), "{}", said(3));
        assert!(many.ends_with("and 5 equivalent and 4 inconclusive\n"), "{many}");
    }

    #[test]
    fn what_is_decided_for_all_threads_is_told() {
        let said = |comparisons: Vec<Comparison>| {
            let assessment = Assessment { comparisons, ..made::all_failed() };
            decided(&assessment, &str::to_string)
        };
        let different = |threads| found(threads, Difference::Different);
        let less = |threads| Comparison { ratio: 0.8, ..different(threads) };
        let open = |threads| found(threads, Difference::Inconclusive);
        assert_eq!(said(Vec::new()), None);
        let all = said(vec![different(1), Comparison { ratio: 1.5, ..different(2) }]).unwrap();
        let clearest = "The clearest: mmap vs pread, cold: 1.20× to 1.50×.";
        assert_eq!(all, format!("Of 2 comparisons, 2 found a difference. {clearest}"));
        for mixed in [vec![different(1), open(2)], vec![different(1), less(2)]] {
            let said = said(mixed).unwrap();
            assert!(said.ends_with("found a difference."), "{said}");
        }
    }
}
