//! Comparisons of cases that differ in one axis only.

use crate::document::{Block, Remark};
use crate::grid::{Grid, GridCell, LAST, left, right};
use crate::group::grouped;
use crate::labels::CaseLabels;
use crate::phrases::{self, LabelDifference};
use crate::sentence::{Sentence, marked};
use crate::text::{Text, figure, text};
use crate::words::{
    count, difference, difference_paint, fitted, if_any, listed, or_none, outcome, times,
    times_interval,
};
use assess::Assessment;
use assess::comparison::{Comparison, Difference};
use assess::decision::{Decided, Decision, Open};
use assess::ratio::Ratio;
use assess::summary::Summary;
use model::case::{Engine, ReadWork, Submission};
use model::host::Medium;
use model::plan::Role;
use model::units;
use std::collections::HashMap;

/// The meaning of the columns, in brief; docs/method has all of it.
const LEGEND: &str = "ratio: of the rates of the same rounds, the first case by the second";

/// If there are more, only those that found a difference are listed, and the others are counted.
const LISTED_MAX: usize = 12;

/// The comparisons as a table; none if there are none.
pub(crate) fn compared(assessment: &Assessment, labels: &CaseLabels) -> Vec<Block> {
    if assessment.comparisons.is_empty() {
        return Vec::new();
    }
    let label = self::label(labels);
    let said: Vec<String> = listed_of(assessment).map(label).collect();
    let letters = phrases::letters(said.iter().map(String::as_str));
    let legend = [LEGEND].into_iter().chain(letters).map(Remark::of_all);
    let table = Block::table(grid(assessment, labels), legend);
    [table].into_iter().chain(unlisted(&assessment.comparisons).map(Block::aside)).collect()
}

/// The comparisons that the table lists.
fn listed_of(assessment: &Assessment) -> impl Iterator<Item = &Comparison> {
    let are_few = assessment.comparisons.len() <= LISTED_MAX;
    let is_listed = move |it: &&Comparison| are_few || it.difference == Difference::Different;
    assessment.comparisons.iter().filter(is_listed)
}

/// The listed comparisons.
fn grid(assessment: &Assessment, labels: &CaseLabels) -> Grid {
    let label = self::label(labels);
    let mut grid = Grid::new(vec![
        left("paired by round", 0),
        right("ratio", 0),
        left("95 % CI", LAST),
        left("finding", 0),
    ]);
    for found in listed_of(assessment) {
        let interval = or_none(times_interval(found.low, found.high));
        let paint = difference_paint(found.difference);
        let texts = [label(found), times(found.ratio), interval, difference(found)];
        grid.row(texts.map(|text| GridCell::new(text, paint)).to_vec());
    }
    grid
}

/// The number of comparisons that are not listed, if any: `and 5 equivalent and 3 inconclusive`.
fn unlisted(comparisons: &[Comparison]) -> Option<String> {
    if comparisons.len() <= LISTED_MAX {
        return None;
    }
    let unlisted = [Difference::Equivalent, Difference::Inconclusive, Difference::InDoubt];
    let others = numbers(&unlisted, comparisons.iter());
    (!others.is_empty()).then(|| format!("and {}", listed(&others)))
}

/// How many comparisons have each of these results, without zeros: `5 equivalent`.
pub(crate) fn numbers<'a>(
    results: &[Difference],
    comparisons: impl Iterator<Item = &'a Comparison> + Clone,
) -> Vec<String> {
    let of = |result: &Difference| {
        let count = comparisons.clone().filter(|found| found.difference == *result).count();
        (count > 0).then(|| format!("{count} {}", outcome(*result)))
    };
    results.iter().filter_map(of).collect()
}

/// The labels of two compared cases.
fn apart(found: &Comparison, labels: &CaseLabels) -> LabelDifference {
    LabelDifference::of(&labels.words(&found.case), &labels.words(&found.base))
}

/// The label of a comparison: `mmap vs pread, cold`.
pub(crate) fn label(labels: &CaseLabels) -> impl Fn(&Comparison) -> String {
    move |found| apart(found, labels).to_string()
}

/// An index of the cases, because there can be thousands of lookups.
fn by_id(assessment: &Assessment) -> HashMap<&str, &Summary> {
    assessment.cases.iter().map(|summary| (summary.id.as_str(), summary)).collect()
}

/// If there are more, only the clearest are shown.
const DECIDED_MOST: usize = 4;

/// A line for each of the clearest comparisons, for all numbers of threads together, and how many
/// there are: `mmap is 2.96× to 3.15× as fast as pread, warm 4KiB`.
pub(crate) fn decided(assessment: &Assessment, labels: &CaseLabels) -> Vec<Sentence> {
    let all = asked(assessment);
    if all.is_empty() {
        return Vec::new();
    }
    let mut groups = grouped(&all, |decided| {
        let mut apart = apart(decided.comparison(), labels);
        apart.shared.retain(|word| word.axis != "threads");
        apart
    });
    let is_more = |decided: &&Decided| decided.comparison().ratio > 1.0;
    groups.retain(|(_, members)| {
        members.iter().all(|decided| decided.decision() == Decision::Yes)
            && (members.iter().all(is_more) || !members.iter().any(is_more))
    });
    let effect = |members: &[&Decided]| {
        let effects = members.iter().map(|decided| decided.comparison().ratio.ln().abs());
        effects.fold(f64::INFINITY, f64::min)
    };
    groups.sort_by(|(_, a), (_, b)| effect(b).total_cmp(&effect(a)));
    groups.truncate(DECIDED_MOST);
    let line = |group: &(LabelDifference, Vec<&Decided>)| {
        let rows = group.1.iter().flat_map(|one| one.rows());
        Sentence::figures(clause(group), rows)
    };
    let lines = groups.iter().map(line);
    lines.chain([Sentence::plain(counted(&all))]).chain(limit_of_uring(assessment)).collect()
}

/// Asks for each comparison whether its cases differ.
fn asked(assessment: &Assessment) -> Vec<Decided> {
    let cases = by_id(assessment);
    let ask = |found: &Comparison| {
        let case = cases.get(found.case.as_str())?;
        Decided::differs(found.clone(), [case, cases.get(found.base.as_str())?])
    };
    assessment.comparisons.iter().filter_map(ask).collect()
}

/// `Of 14 comparisons, 5 found a difference, 4 found none and 5 are undecided, 2 of them because of
/// doubtful figures.`
fn counted(all: &[Decided]) -> String {
    let number = |decision: Decision| all.iter().filter(|d| d.decision() == decision).count();
    let is_in_doubt = |decided: &&Decided| decided.open() == Some(Open::InDoubt);
    let in_doubt = all.iter().filter(is_in_doubt).count();
    let doubts =
        if_any(in_doubt, |doubts| format!(", {doubts} of them because of doubtful figures"));
    let (yes, no) = (number(Decision::Yes), number(Decision::No));
    let comparisons = count(all.len(), "comparison");
    match number(Decision::Undecided) {
        open if open == all.len() => format!("Of {comparisons}, none is decided{doubts}."),
        open => {
            let parts = [
                (yes > 0).then(|| format!("{yes} found a difference")),
                (no > 0).then(|| format!("{no} found none")),
                (open > 0)
                    .then(|| format!("{open} {} undecided", if open == 1 { "is" } else { "are" })),
            ];
            let parts: Vec<String> = parts.into_iter().flatten().collect();
            format!("Of {comparisons}, {}{doubts}.", listed(&parts))
        }
    }
}

/// `mmap is 2.96× to 3.15× as fast as pread, warm 4KiB`: the faster one is first.
fn clause((apart, members): &(LabelDifference, Vec<&Decided>)) -> Text {
    let is_more = members.iter().all(|decided| decided.comparison().ratio > 1.0);
    let ratios = members.iter().map(|decided| match is_more {
        true => decided.ratio(),
        false => decided.ratio().inverse(),
    });
    let ratios: Vec<Ratio> = ratios.collect();
    let rows = || members.iter().flat_map(|decided| decided.rows());
    let (fast, slow) =
        if is_more { (&apart.one, &apart.other) } else { (&apart.other, &apart.one) };
    let said = match ratios.as_slice() {
        [one] => marked(figure(times(one.median)), rows()),
        all => {
            let medians = || all.iter().map(|ratio| ratio.median);
            let least = medians().fold(f64::INFINITY, f64::min);
            let most = medians().fold(0.0, f64::max);
            text!("{} to {}", figure(times(least)), marked(figure(times(most)), rows()))
        }
    };
    // The table of comparisons has the intervals.
    text!("{} is {} as fast as {}{}", fast, said, slow, apart.beside())
}

/// With more of io_uring's CPU time than this, the kernel's own threads did the reads.
const HELPED_LEAST: f64 = 0.10;

/// Why io_uring is no faster, if that is known: the kernel's threads did its reads, or it had only
/// one read in flight in every row, which defeats its purpose.
fn limit_of_uring(assessment: &Assessment) -> Option<Sentence> {
    let is_asked = |summary: &&Summary| summary.role == Role::Asked;
    let of_uring = assessment.cases.iter().filter(is_asked).filter_map(|summary| {
        // With SQPOLL, a thread of the kernel works for it on purpose.
        let is_usual = |work: &&ReadWork| {
            work.engine == Engine::Uring && work.submission != Submission::Sqpoll
        };
        let work = summary.case.read().filter(is_usual)?;
        Some((work.io.depth, summary.spent.as_ref().and_then(|spent| spent.helped_share)))
    });
    let deepest = of_uring.clone().map(|(depth, _)| depth).max()?;
    let helped = of_uring.clone().filter_map(|(_, share)| share).reduce(f64::max);
    if let Some(share) = helped.filter(|share| *share >= HELPED_LEAST) {
        return Some(Sentence::plain(text!(
            "Up to {} of uring's CPU time was that of the kernel's worker threads: each read goes \
             to one if the file system cannot do it without waiting (nowait).",
            figure(units::percent(share))
        )));
    }
    let is_in_memory =
        assessment.header.storage.as_ref().is_some_and(|it| it.medium == Medium::Ram);
    let text = match is_in_memory && helped.is_none() {
        true => {
            "Whether the kernel's worker threads did uring's reads, as file systems without nowait \
             have it, is unknown."
        }
        false if deepest > 1 => return None,
        false => {
            let text = fitted(
                "uring had one read in flight, so it waits for each as pread does: --depth 32 \
                 shows what it gives with more",
                &assessment.header.tool,
            );
            return Some(Sentence::plain(format!("{text}.")));
        }
    };
    Some(Sentence::plain(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Document, Section};
    use crate::sentence::lines;
    use crate::style::Style;
    use crate::tests::made;
    use assess::finding::Verdict;
    use model::case::{Cache, Case, Engine, Io, ReadWork, Work};
    use model::zoo;

    fn case(engine: Engine, threads: usize) -> Case {
        let io = Io { threads: threads as u32, cache: Cache::Cold, ..zoo::plain().io };
        Case::own(Work::Read(ReadWork { io, engine, ..zoo::plain() }))
    }

    fn found(threads: usize, difference: Difference) -> Comparison {
        Comparison {
            case: case(Engine::Mmap, threads).id(),
            base: case(Engine::Pread, threads).id(),
            pairs: 10,
            invocations: 1,
            ratio: 1.2,
            low: Some(1.1),
            high: Some(1.3),
            difference,
            interest: 0.05,
            needs: (difference == Difference::Inconclusive).then_some(21),
        }
    }

    /// A run with these comparisons, and this verdict on all their cases.
    fn run_of(comparisons: Vec<Comparison>, verdict: Verdict) -> Assessment {
        let one = || made::rich().cases.remove(0);
        let findings = || match verdict {
            Verdict::Doubtful => vec![made::doubt()],
            _ => Vec::new(),
        };
        let summary =
            |case: Case| Summary { id: case.id(), case, verdict, findings: findings(), ..one() };
        let is_there = |case: &Case| {
            comparisons.iter().any(|found| [&found.case, &found.base].contains(&&case.id()))
        };
        let threads = (0..20).map(|n| n + 1);
        let all = threads.flat_map(|n| [Engine::Mmap, Engine::Pread].map(|e| case(e, n)));
        let cases = all.filter(is_there).map(summary).collect();
        Assessment { cases, comparisons, ..made::all_failed() }
    }

    fn said(count: usize) -> String {
        let cycle = [Difference::Different, Difference::Equivalent, Difference::Inconclusive];
        let all: Vec<Comparison> = (0..count).map(|n| found(n + 1, cycle[n % 3])).collect();
        let assessment = run_of(all, Verdict::Sound);
        let blocks = compared(&assessment, &CaseLabels::of(&assessment));
        let mut document = Document::default();
        document.part(Section::new("Compared", blocks));
        document.text(&Style { colour: false, width: 80 })
    }

    #[test]
    fn few_are_listed_and_of_many_only_the_differences() {
        assert_eq!(said(0), "");
        assert_eq!(said(LISTED_MAX).lines().count(), 2 + LISTED_MAX);
        let many = said(14);
        assert_eq!(many.matches("different").count(), 5, "{many}");
        assert!(many.contains("mmap vs pread, t4"), "{many}");
        assert!(said(3).contains("inconclusive (n ≈ 21)"), "{}", said(3));
        assert!(many.ends_with("and 5 equivalent and 4 inconclusive\n"), "{many}");
    }

    fn said_of(comparisons: Vec<Comparison>, verdict: Verdict) -> Option<String> {
        let assessment = run_of(comparisons, verdict);
        let labels = CaseLabels::of(&assessment);
        let said = lines(&decided(&assessment, &labels));
        let said: Vec<String> = said.iter().map(Text::to_string).collect();
        Some(said.join(" ")).filter(|said| !said.is_empty())
    }

    #[test]
    fn what_is_decided_for_all_threads_is_told() {
        let said = |comparisons| said_of(comparisons, Verdict::Sound);
        let different = |threads| found(threads, Difference::Different);
        let less = |threads| Comparison { ratio: 0.8, ..different(threads) };
        let open = |threads| found(threads, Difference::Inconclusive);
        assert_eq!(said(Vec::new()), None);
        let all = said(vec![different(1), Comparison { ratio: 1.5, ..different(2) }]).unwrap();
        let clearest = "mmap is 1.20× to 1.50× as fast as pread.";
        assert_eq!(all, format!("{clearest} Of 2 comparisons, 2 found a difference."));
        let mixed = said(vec![different(1), open(2)]).unwrap();
        assert!(mixed.ends_with("1 found a difference and 1 is undecided."), "{mixed}");
        let apart = said(vec![different(1), less(2)]).unwrap();
        assert!(apart.ends_with("2 found a difference."), "{apart}");
        let slower = said(vec![less(1), less(2)]).unwrap();
        assert!(slower.starts_with("pread is 1.25× to 1.25× as fast as mmap."), "{slower}");
    }

    /// On a file system without reads that do not wait, the kernel's threads do io_uring's reads.
    #[test]
    fn why_io_uring_is_no_faster_is_what_was_counted() {
        let said = |depth: u32, medium: Medium, helped_share: Option<f64>| {
            let mut assessment = run_of(vec![found(1, Difference::Different)], Verdict::Sound);
            let uring = case(Engine::Uring, 1);
            let Work::Read(mut work) = uring.work else { panic!("it reads") };
            work.io.depth = depth;
            let (user_ns, system_ns, blocked_share) = (None, None, None);
            let wall_ns = 1e9;
            let processors = 0.5;
            assessment.cases[0].spent = Some(assess::summary::Spent {
                wall_ns,
                user_ns,
                system_ns,
                processors,
                blocked_share,
                helped_share,
            });
            assessment.cases[0].case = Case::own(Work::Read(work));
            assessment.header.storage = Some(model::host::Storage { medium, ..zoo::storage() });
            limit_of_uring(&assessment).map(|it| lines(&[it])[0].to_string())
        };
        let counted = said(1, Medium::Ram, Some(0.55)).unwrap();
        assert!(counted.starts_with("Up to 55.0 % of uring's CPU time was"), "{counted}");
        assert!(said(32, Medium::Block, Some(0.3)).unwrap().contains("worker threads"));
        let unknown = said(1, Medium::Ram, None).unwrap();
        assert!(unknown.ends_with("is unknown."), "{unknown}");
        for (medium, share) in [(Medium::Block, None), (Medium::Ram, Some(0.02))] {
            let alone = said(1, medium, share).unwrap();
            assert!(alone.starts_with("uring had one read in flight"), "{alone}");
        }
        assert_eq!(said(32, Medium::Block, Some(0.02)), None);
    }

    #[test]
    fn a_difference_between_doubtful_figures_is_open() {
        let both = vec![found(1, Difference::Different), found(2, Difference::Different)];
        let said = said_of(both, Verdict::Doubtful).unwrap();
        let open = "none is decided, 2 of them because of doubtful figures.";
        assert_eq!(said, format!("Of 2 comparisons, {open}"));
    }
}
