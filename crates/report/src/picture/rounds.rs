//! Each round of each case as a dot around the case's median. Shows how noisy the machine was, and
//! whether it drifted.

use super::alike::{asked, labels};
use crate::drawing::Picture;
use crate::drawing::axis::Axis;
use crate::drawing::canvas::Mark;
use crate::drawing::legend::{Key, Legend};
use crate::drawing::palette::{FAINT, INK, SERIES};
use crate::drawing::strips::{Strip, Strips};
use crate::labels::Labels;
use crate::words::count;
use assess::Assessment;
use assess::summary::Summary;
use assess::trials::{Fate, Figures};
use model::units;

/// If there are more, only the noisiest are drawn.
const CASES_MOST: usize = 30;
/// Dots further from the median than this share are drawn at the edge.
const FAR: f64 = 0.6;

/// The height of a case's dots.
const STRIP: f64 = 18.0;

/// A round: its value relative to its case's median, and whether it is counted.
#[derive(Debug, Clone, Copy)]
struct Dot {
    of_median: f64,
    counts: bool,
}

#[derive(Debug)]
struct Row<'a> {
    summary: &'a Summary,
    dots: Vec<Dot>,
}

/// The rounds of all requested cases with more than one; `None` with fewer than two
/// such cases.
pub(super) fn rounds(assessment: &Assessment) -> Option<Picture> {
    let names = Labels::of(assessment);
    let mut rows: Vec<Row> = asked(&assessment.cases)
        .filter_map(|summary| Some(Row { summary, dots: dots(summary)? }))
        .filter(|row| row.dots.len() > 1)
        .collect();
    if rows.is_empty() {
        return None;
    }
    let all = rows.len();
    if all > CASES_MOST {
        let mut spreads: Vec<f64> = rows.iter().map(spread).collect();
        spreads.sort_by(|a, b| b.total_cmp(a));
        let least = spreads[CASES_MOST - 1];
        rows.retain(|row| spread(row) >= least);
        rows.truncate(CASES_MOST);
    }
    let lines: Vec<Vec<&Summary>> = rows.iter().map(|row| vec![row.summary]).collect();
    let labels = labels(&lines, &names);
    let common = match labels.common.as_str() {
        "" => String::new(),
        common => format!("; all: {common}"),
    };
    let furthest = rows.iter().map(spread).fold(0.01, f64::max).min(FAR) * 1.08;
    let title = match all {
        all if all > rows.len() => format!("Rounds of the {} noisiest of {all} cases", rows.len()),
        _ => "Rounds of each case".to_string(),
    };
    let strips = Strips {
        name: "rounds",
        title,
        alt: alt(&rows, &labels.own),
        note: format!(
            "rate of each round by the figure of its case, the first round above{common}"
        ),
        axis: Axis::linear(-furthest, furthest, said_share),
        origin: Some(0.0),
        legend: legend(&rows),
        height: STRIP,
        rows: rows.iter().zip(&labels.own).map(|(row, label)| strip(row, label)).collect(),
    };
    strips.picture()
}

/// A share above or below the figure.
fn said_share(share: f64) -> String {
    match share {
        0.0 => "figure".to_string(),
        share if share > 0.0 => format!("+{}", units::percent(share)),
        share => format!("−{}", units::percent(-share)),
    }
}

fn legend(rows: &[Row]) -> Legend {
    let has = |is_it: fn(&Dot) -> bool| rows.iter().flat_map(|row| &row.dots).any(is_it);
    let is_far = |dot: &Dot| (dot.of_median - 1.0).abs() > FAR;
    let left_out = "left out: other processes disturbed it".to_string();
    let entries = [
        Some((Key::Point(SERIES[0], Mark::Dot), "a round that counts".to_string())),
        has(|dot| !dot.counts).then(|| (Key::Point(SERIES[1], Mark::Ring), left_out)),
        has(is_far).then(|| (Key::Point(SERIES[0], Mark::Triangle), "further off".to_string())),
    ];
    Legend::of(entries.into_iter().flatten())
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
fn spread(row: &Row) -> f64 {
    row.dots.iter().map(|dot| (dot.of_median - 1.0).abs()).fold(0.0, f64::max)
}

fn strip<'a>(row: &'a Row, label: &str) -> Strip<'a> {
    let last = (row.dots.len() - 1).max(1) as f64;
    let strip = Strip::of(label, String::new(), move |canvas, axis, (from, to)| {
        for (index, dot) in row.dots.iter().enumerate() {
            let off = dot.of_median - 1.0;
            let (mark, colour) = match dot.counts {
                true if off.abs() > FAR => (Mark::Triangle, SERIES[0]),
                true => (Mark::Dot, SERIES[0]),
                false => (Mark::Ring, SERIES[1]),
            };
            let y = from + 2.0 + (to - from - 4.0) * index as f64 / last;
            canvas.mark(mark, (axis.at(off), y), colour);
        }
    });
    Strip { colour: if row.summary.verdict.stands() { INK } else { FAINT }, ..strip }
}

fn alt(rows: &[Row], labels: &[String]) -> String {
    let noisiest = rows.iter().zip(labels).max_by(|a, b| spread(a.0).total_cmp(&spread(b.0)));
    let out: usize = rows.iter().map(|row| row.dots.iter().filter(|dot| !dot.counts).count()).sum();
    let noisiest = noisiest.map_or(String::new(), |(row, label)| {
        let far = units::percent(spread(row));
        format!(" The furthest from its figure is one of {label}, by {far}.")
    });
    let out = match out {
        0 => String::new(),
        out => format!(" {} left out, and hollow.", count(out, "round")),
    };
    let cases = count(rows.len(), "case");
    format!("A dot for each round of {cases}, by the figure of its case.{noisiest}{out}")
}
