//! Compared cases: the ratio of each pair with its interval, on a logarithmic axis around 1.

use super::alike::limited;
use crate::drawing::{
    Colour, DrawnAxis, GRID, Key, Mark, Picture, PictureBlock, SERIES, Shape, Strip, in_strip,
    legend, strips,
};
use crate::labels::CaseLabels;
use crate::versus;
use crate::words::{count, difference, listed, outcome, times, times_interval};
use assess::Assessment;
use assess::comparison::{Comparison, Difference};
use assess::records::RecordComparison;

/// If there are more, those that found a difference come first, and the rest are omitted.
const ROWS_MOST: usize = 24;

/// A comparison with its label.
type RatioRow<'a> = (String, &'a Comparison);

/// The comparisons within a record; `None` without any.
pub(super) fn compared(assessment: &Assessment) -> Option<Picture> {
    let labels = CaseLabels::of(assessment);
    let label = versus::label(&labels);
    let rows = assessment.comparisons.iter().map(|found| (label(found), found));
    draw("Compared, round by round", "the first by the second", rows.collect())
}

/// The cases of two records, B relative to A; `None` unless one can be compared.
pub(crate) fn compared_records(versus: &RecordComparison) -> Option<Picture> {
    let names = crate::pair::names(versus);
    let row = |pair: &'_ assess::records::CasePair| crate::pair::name(versus.of(pair), &names);
    let rows = versus.pairs.iter().map(|pair| (row(pair), &pair.comparison));
    draw("B compared with A", "B by A", rows.collect())
}

fn draw(title: &str, which: &str, mut rows: Vec<RatioRow>) -> Option<Picture> {
    rows.retain(|(_, found)| found.ratio > 0.0);
    // A single row compares two things itself.
    if rows.is_empty() {
        return None;
    }
    if rows.len() > ROWS_MOST {
        rows.sort_by_key(|(_, found)| found.difference != Difference::Different);
    }
    let title = limited(title, &mut rows, ROWS_MOST);
    let ends = |found: &Comparison| {
        let ends = [found.low, found.high].into_iter().flatten();
        ends.chain([found.ratio, 1.0 + found.interest, 1.0 / (1.0 + found.interest)]).collect()
    };
    let ratios = rows.iter().flat_map(|(_, found)| -> Vec<f64> { ends(found) });
    let is_there = |difference: &&Difference| {
        **difference != Difference::InDoubt
            || rows.iter().any(|(_, found)| found.difference == **difference)
    };
    let entries = Difference::ALL.iter().filter(is_there).map(|difference| {
        let (mark, colour) = shape(*difference);
        (Key::Point(colour, mark), outcome(*difference).to_string())
    });
    let axis = DrawnAxis::of_ratios(ratios, times).of_what(&format!("ratio of the rates, {which}"));
    let lines: Vec<Strip> = rows.iter().map(strip).collect();
    let note = PictureBlock::note(&["with 95 % intervals", "grey: too small to be of interest"]);
    let blocks = vec![note, strips(axis, Some(1.0), lines), legend(entries)];
    Some(Picture::of("compared", &title, alt(&rows), blocks))
}

fn shape(difference: Difference) -> (Mark, Colour) {
    match difference {
        Difference::Different => (Mark::Diamond, SERIES[1]),
        Difference::Equivalent => (Mark::Ring, SERIES[0]),
        Difference::Inconclusive => (Mark::Cross, SERIES[6]),
        Difference::InDoubt => (Mark::Triangle, SERIES[6]),
    }
}

fn strip((label, found): &RatioRow) -> Strip {
    let interval = times_interval(found.low, found.high);
    let interval = interval.map_or("no interval".to_string(), |ends| format!("({ends})"));
    let beside = format!("{} {interval} {}", times(found.ratio), difference(found));
    let least = 1.0 + found.interest;
    let of_no_interest = Shape::Area([(1.0 / least, 0.0), (least, 1.0)], GRID);
    let (mark, colour) = shape(found.difference);
    let shapes = in_strip(found.ratio, found.low.zip(found.high), mark, colour);
    let shapes = [of_no_interest].into_iter().chain(shapes).collect();
    Strip { beside, ..Strip::of(label, shapes) }
}

fn alt(rows: &[RatioRow]) -> String {
    let all = versus::numbers(Difference::ALL, rows.iter().map(|(_, found)| *found));
    let effect = |(_, found): &&RatioRow| found.ratio.ln().abs();
    let largest = rows.iter().max_by(|a, b| effect(a).total_cmp(&effect(b)));
    let largest = largest.map_or(String::new(), |(label, found)| {
        format!(" The largest ratio is {label}: {}.", times(found.ratio))
    });
    let compared = count(rows.len(), "comparison");
    format!("Ratios with their intervals around 1: of {compared}, {}.{largest}", listed(&all))
}
