//! Throughput, or the time per operation, along one axis: a line for each group of cases that
//! differ only in that axis. Each figure has its interval.

use super::alike::{
    PARTED_BY, Part, axes_but, grouped, is_rate, labels, own_first, parted, standing,
};
use crate::drawing::Picture;
use crate::drawing::axis::{Axis, frame, labels_width, with_scales};
use crate::drawing::canvas::{Anchor, Dash, LINE, MARKS, WIDTH};
use crate::drawing::legend::{Key, Legend, Note};
use crate::drawing::palette::{FAINT, SERIES};
use crate::labels::Labels;
use crate::phrases::Factored;
use crate::words::{self, Say, capital, count, main_estimate};
use assess::Assessment;
use assess::stats::Estimate;
use assess::summary::Summary;
use model::case::Case;
use model::units;

/// An axis to draw figures along.
#[derive(Debug, Clone, Copy)]
struct Along {
    name: &'static str,
    axis: &'static str,
    title: &'static str,
    /// Fewer values make no curve.
    values_least: usize,
    value: fn(&Case) -> Option<f64>,
    say: fn(f64) -> String,
}

const ALONG: [Along; 5] = [
    Along {
        name: "by-threads",
        axis: "threads",
        title: "threads",
        values_least: 2,
        value: |case| Some(f64::from(case.threads())),
        say: plain,
    },
    Along {
        name: "by-block",
        axis: "block",
        title: "bytes an operation",
        values_least: 3,
        value: |case| {
            let block = case.read().map(|work| work.io.block);
            Some(block.or(case.write().map(|work| work.io.block))? as f64)
        },
        say: bytes,
    },
    Along {
        name: "by-depth",
        axis: "depth",
        title: "operations in flight",
        values_least: 3,
        value: |case| {
            let depth = case.read().map(|work| work.io.depth);
            Some(f64::from(depth.or(case.write().map(|work| work.io.depth))?))
        },
        say: plain,
    },
    Along {
        name: "by-size",
        axis: "size",
        title: "bytes of the file",
        values_least: 3,
        value: |case| Some(case.file_size()? as f64),
        say: bytes,
    },
    Along {
        name: "by-working-set",
        axis: "working_set",
        title: "bytes of the working set",
        values_least: 3,
        value: |case| Some(case.memory()?.working_set as f64),
        say: bytes,
    },
];

fn plain(value: f64) -> String {
    format!("{value:.0}")
}

fn bytes(value: f64) -> String {
    units::bytes(value as u64)
}

/// Cases that differ in one axis only, sorted by its value.
#[derive(Debug)]
struct Line<'a> {
    cases: Vec<&'a Summary>,
    points: Vec<(f64, Estimate)>,
}

const PLOT: f64 = 190.0;
/// If there are more, only those of this program's own worker are drawn.
const PICTURES_MOST: usize = 8;

/// A picture for each axis with enough values, and for each kind of figure.
pub(super) fn curves<'a>(assessment: &'a Assessment) -> Vec<Picture> {
    let names = Labels::of(assessment);
    let of_run = (&names, words::figures_are(assessment));
    let mut pictures = Vec::new();
    for along in ALONG {
        for is_of_rates in [true, false] {
            let of_kind = |summary: &&Summary| is_rate(&summary.case) == is_of_rates;
            let cases = standing(&assessment.cases).filter(of_kind);
            let parts = |cases: Vec<&'a Summary>| {
                let lines = lines(cases.into_iter(), &along);
                parted(lines, |line: &Line| &line.cases[0].case, &PARTED_BY)
            };
            let cases: Vec<&Summary> = cases.collect();
            let mut parted = parts(cases.clone());
            if parted.len() > PICTURES_MOST {
                parted = parts(own_first(cases));
                parted.truncate(PICTURES_MOST);
            }
            let parts = parted;
            pictures
                .extend(parts.iter().filter_map(|part| draw(part, &along, is_of_rates, of_run)));
        }
    }
    pictures
}

fn lines<'a>(cases: impl Iterator<Item = &'a Summary>, along: &Along) -> Vec<Line<'a>> {
    let has = |summary: &&Summary| (along.value)(&summary.case).is_some();
    let groups = grouped(cases.filter(has), |summary| axes_but(&summary.case, along.axis));
    let line = |(_, cases): (_, Vec<&'a Summary>)| {
        let point = |summary: &&Summary| {
            let (estimate, _) = main_estimate(summary)?;
            Some(((along.value)(&summary.case)?, estimate))
        };
        let mut points: Vec<(f64, Estimate)> = cases.iter().filter_map(point).collect();
        points.retain(|(_, estimate)| estimate.median > 0.0);
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        // The same case can occur twice, with different time limits.
        points.dedup_by_key(|(x, _)| *x);
        (points.len() >= along.values_least).then_some(Line { cases, points })
    };
    groups.into_iter().filter_map(line).collect()
}

/// `figures_are`: what the figures of the run are.
fn draw(
    part: &Part<Line>,
    along: &Along,
    is_of_rates: bool,
    (names, figures_are): (&Labels, &str),
) -> Option<Picture> {
    let lines = &part.things;
    if lines.is_empty() {
        return None;
    }
    let cases: Vec<Vec<&Summary>> = lines.iter().map(|line| line.cases.clone()).collect();
    let Factored { own, common } = labels(&cases, names);
    let say: Say = if is_of_rates { units::rate } else { units::nanoseconds };
    let points = || lines.iter().flat_map(|line| &line.points);
    let mut values: Vec<f64> = points().map(|(x, _)| *x).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let y = upright(points().map(|(_, estimate)| estimate), is_of_rates);
    let left = labels_width(&y);
    let x = Axis::of_values(&values, along.say).between(left, WIDTH - 12.0);
    let key = |index: usize| (SERIES[index], MARKS[index]);
    let entries = own.iter().enumerate().map(|(index, label)| {
        let (colour, mark) = key(index);
        (Key::Line(colour, Dash::Whole, Some(mark)), label.clone())
    });
    let legend = Legend::of(entries);
    let what = if is_of_rates { "throughput" } else { "time of an operation" };
    let note = Note::of(&with_scales(&note(what, figures_are, &common), &x, Some(&y)));
    let top = note.height() + 10.0;
    let y = y.between(top + PLOT, top);
    let height = top + PLOT + LINE * 2.2 + 8.0 + legend.height;
    let name = [&[along.name.to_string()], part.shared.as_slice()].concat().join(" ");
    let kind = if is_of_rates { "" } else { " time" };
    let of = if part.shared.is_empty() {
        String::new()
    } else {
        format!(": {}", part.shared.join(", "))
    };
    let title = format!("{} by {}{of}", capital(what), along.title);
    Some(Picture::of(
        &(name + kind),
        &title,
        alt(lines, &own, along, what, say),
        height,
        |canvas| {
            note.draw(canvas, 0.0);
            frame(canvas, &x, &y);
            canvas.text(
                along.title,
                ((left + WIDTH) / 2.0, top + PLOT + LINE * 1.8),
                Anchor::Middle,
                FAINT,
            );
            for (index, line) in lines.iter().enumerate() {
                let (colour, mark) = key(index);
                let places: Vec<_> =
                    line.points.iter().map(|(at, all)| (x.at(*at), y.at(all.median))).collect();
                canvas.path(&places, colour, 1.8);
                for ((_, all), place) in line.points.iter().zip(places) {
                    if let (Some(low), Some(high)) = (all.low, all.high) {
                        canvas.whiskers([(place.0, y.at(low)), (place.0, y.at(high))], colour);
                    }
                    canvas.mark(mark, place, colour);
                }
            }
            legend.draw(canvas, top + PLOT + LINE * 2.2 + 8.0);
        },
    ))
}

/// The vertical axis: starts at 0, unless the figures are too far apart.
fn upright<'a>(all: impl Iterator<Item = &'a Estimate> + Clone, is_of_rates: bool) -> Axis {
    const SPREAD: f64 = 12.0;
    let least = all.clone().map(|all| all.low.unwrap_or(all.median)).fold(f64::INFINITY, f64::min);
    let most = all.map(|all| all.high.unwrap_or(all.median)).fold(0.0, f64::max);
    let say: Say = if is_of_rates { units::rate } else { units::nanoseconds };
    if least > 0.0 && most > SPREAD * least {
        Axis::log(least * 0.8, most * 1.25, say)
    } else {
        Axis::from_zero(most * 1.06, say)
    }
}

fn note(what: &str, figures_are: &str, common: &str) -> String {
    let common = if common.is_empty() { String::new() } else { format!("; all: {common}") };
    format!("{what}, {figures_are}, with its 95 % interval{common}")
}

fn alt(lines: &[Line], own: &[String], along: &Along, what: &str, say: Say) -> String {
    let said = |(line, label): (&Line, &String)| {
        let ends = [&line.points[0], &line.points[line.points.len() - 1]];
        let end =
            |(x, all): &(f64, Estimate)| format!("{} at {}", say(all.median), (along.say)(*x));
        format!("{label} goes from {} to {}", end(ends[0]), end(ends[1]))
    };
    let all: Vec<String> = lines.iter().zip(own).map(said).collect();
    format!(
        "{} of {what} by {}: {}.",
        capital(&count(lines.len(), "line")),
        along.title,
        all.join("; ")
    )
}
