//! Comparisons of cases that differ in one axis only.

use crate::grid::{Cell, Grid, left, right};
use crate::names::Names;
use crate::style::{Paint, Style};
use crate::words::{NONE, difference, difference_paint, listed, times, times_interval};
use assess::comparison::{Comparison, Difference};

/// Of more comparisons than this only those that found a difference are listed; the others are
/// counted.
const LISTED_MAX: usize = 12;

/// The comparisons as a table, or nothing if there are none.
pub(crate) fn list(comparisons: &[Comparison], names: &Names, style: &Style) -> String {
    if comparisons.is_empty() {
        return String::new();
    }
    let mut out = grid(comparisons, &|id| names.short(id)).render(style);
    out.extend(unlisted(comparisons).map(|text| style.wrap("", Paint::Plain, &text)));
    out
}

/// The comparisons that are listed; `name` gives the name that a case has in the view.
pub(crate) fn grid(comparisons: &[Comparison], name: &dyn Fn(&str) -> String) -> Grid {
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
        let texts = [pair(found, name), times(found.ratio), interval, difference(found)];
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

/// `mmap vs pread, cold 4KiB t1`: an id begins with its engine, and the rest is the same.
pub(crate) fn pair(found: &Comparison, name: &dyn Fn(&str) -> String) -> String {
    let (case, mut base) = (name(&found.case), name(&found.base));
    // Where all else is left out of the names, telling the OS nothing has no name but its id.
    if case.starts_with("advice:") && base == found.base {
        base = "without".to_string();
    }
    match (case.split_once(' '), base.split_once(' ')) {
        (Some((engine, rest)), Some((other, same))) if rest == same => {
            format!("{engine} vs {other}, {rest}")
        }
        _ => format!("{case} vs {base}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        list(&all, &Names::default(), &Style { colour: false, width: 80 })
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
}
