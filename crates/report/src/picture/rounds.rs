//! Each round of each case as a dot around the case's median. Shows how noisy the machine was, and
//! whether it drifted.

use super::alike::{all_are, asked, labels};
use crate::drawing::{
    DrawnAxis, FAINT, INK, Key, Mark, Picture, PictureBlock, SERIES, Shape, Strip, legend, strips,
};
use crate::labels::CaseLabels;
use crate::words::{count, if_any};
use assess::Assessment;
use assess::summary::Summary;
use assess::trials::{Fate, Figures};
use model::units;

/// If there are more, only the noisiest are drawn.
const CASES_MOST: usize = 30;
/// Dots further from the median than this share are drawn at the edge.
const FAR: f64 = 0.6;

/// A round: its value relative to its case's median, and whether it is counted.
#[derive(Debug, Clone, Copy)]
struct Dot {
    of_median: f64,
    counts: bool,
}

#[derive(Debug)]
pub(super) struct RoundsRow<'a> {
    summary: &'a Summary,
    dots: Vec<Dot>,
}

/// All requested cases with several rounds.
pub(super) fn rows(assessment: &Assessment) -> Vec<RoundsRow<'_>> {
    asked(&assessment.cases)
        .filter_map(|summary| Some(RoundsRow { summary, dots: dots(summary)? }))
        .filter(|row| row.dots.len() > 1)
        .collect()
}

/// The rounds of these cases; `None` with fewer than two such cases.
pub(super) fn rounds(assessment: &Assessment) -> Option<Picture> {
    let names = CaseLabels::of(assessment);
    let mut rows = rows(assessment);
    let all = rows.len();
    if all < 2 {
        return None;
    }
    if all > CASES_MOST {
        let mut spreads: Vec<f64> = rows.iter().map(spread).collect();
        spreads.sort_by(|a, b| b.total_cmp(a));
        let least = spreads[CASES_MOST - 1];
        rows.retain(|row| spread(row) >= least);
        rows.truncate(CASES_MOST);
    }
    let lines: Vec<Vec<&Summary>> = rows.iter().map(|row| vec![row.summary]).collect();
    let labels = labels(&lines, &names);
    let furthest = rows.iter().map(spread).fold(0.01, f64::max).min(FAR) * 1.08;
    let title = match all {
        all if all > rows.len() => format!("Rounds of the {} noisiest of {all} cases", rows.len()),
        _ => "Rounds of each case".to_string(),
    };
    let axis = DrawnAxis::linear(-furthest, furthest, said_share)
        .of_what("rate of each round by the figure of its case");
    let lines = rows.iter().zip(&labels.own).map(|(row, label)| strip(row, label)).collect();
    let note =
        PictureBlock::note(&["from the first round, above, to the last", &all_are(&labels.common)]);
    let blocks = vec![note, strips(axis, Some(0.0), lines), legend(entries(&rows))];
    Some(Picture::of("rounds", &title, alt(&rows, &labels.own), blocks))
}

/// A share above or below the figure.
fn said_share(share: f64) -> String {
    match share {
        0.0 => "figure".to_string(),
        share if share > 0.0 => format!("+{}", units::percent(share)),
        share => format!("−{}", units::percent(-share)),
    }
}

/// The marks that these rows have.
fn entries(rows: &[RoundsRow]) -> impl Iterator<Item = (Key, String)> {
    let has = |is_it: fn(&Dot) -> bool| rows.iter().flat_map(|row| &row.dots).any(is_it);
    let all = [
        (true, Mark::Dot, SERIES[0], "a round that counts"),
        (has(|dot| !dot.counts), Mark::Ring, SERIES[1], "left out: other processes disturbed it"),
        (has(|dot| (dot.of_median - 1.0).abs() > FAR), Mark::Triangle, SERIES[0], "further off"),
    ];
    let there = all.into_iter().filter(|(is_there, ..)| *is_there);
    there.map(|(_, mark, colour, text)| (Key::Point(colour, mark), text.to_string()))
}

/// The dots of all successful trials; `None` without a median.
fn dots(summary: &Summary) -> Option<Vec<Dot>> {
    let by_bytes = summary.throughput.filter(|all| all.median > 0.0);
    let median = by_bytes.or(summary.iops)?.median;
    let value = |figures: &Figures| match by_bytes {
        Some(_) => figures.throughput,
        None => figures.iops,
    };
    let dot = |trial: &assess::trials::TrialFigures| {
        let of_median = value(trial.figures.as_ref()?)? / median;
        Some(Dot { of_median, counts: trial.fate == Fate::Counted })
    };
    (median > 0.0).then(|| summary.trials.iter().filter_map(dot).collect())
}

/// The distance of the furthest round from the median.
fn spread(row: &RoundsRow) -> f64 {
    row.dots.iter().map(|dot| (dot.of_median - 1.0).abs()).fold(0.0, f64::max)
}

fn strip(row: &RoundsRow, label: &str) -> Strip {
    let last = (row.dots.len() - 1).max(1) as f64;
    let shape = |(index, dot): (usize, &Dot)| {
        let off = dot.of_median - 1.0;
        let (mark, colour) = match dot.counts {
            true if off.abs() > FAR => (Mark::Triangle, SERIES[0]),
            true => (Mark::Dot, SERIES[0]),
            false => (Mark::Ring, SERIES[1]),
        };
        // No dot leaves its strip.
        Shape::Mark((off, 0.1 + 0.8 * index as f64 / last), mark, colour)
    };
    let shapes = row.dots.iter().enumerate().map(shape).collect();
    let colour = if row.summary.verdict.stands() { INK } else { FAINT };
    Strip { colour, ..Strip::of(label, shapes) }
}

fn alt(rows: &[RoundsRow], labels: &[String]) -> String {
    let noisiest = rows.iter().zip(labels).max_by(|a, b| spread(a.0).total_cmp(&spread(b.0)));
    let out: usize = rows.iter().map(|row| row.dots.iter().filter(|dot| !dot.counts).count()).sum();
    let noisiest = noisiest.map_or(String::new(), |(row, label)| {
        let far = units::percent(spread(row));
        format!(" The furthest from its figure is one of {label}, by {far}.")
    });
    let out = if_any(out, |out| format!(" {} left out, and hollow.", count(out, "round")));
    let cases = count(rows.len(), "case");
    format!("A dot for each round of {cases}, by the figure of its case.{noisiest}{out}")
}
