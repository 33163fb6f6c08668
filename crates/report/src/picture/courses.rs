//! The time series of each case's rate, as a strip from 0 to its highest rate.

use super::alike::{LINES_MOST, asked, labels};
use crate::drawing::Picture;
use crate::drawing::axis::{Axis, labels_along, labels_width};
use crate::drawing::canvas::{Anchor, Canvas, Dash, LINE, WIDTH};
use crate::drawing::legend::{Key, Legend, Note};
use crate::drawing::measure::{shortened, wrapped};
use crate::drawing::palette::{FAINT, GRID, INK, SERIES, VOID};
use crate::labels::Labels;
use crate::words::{self, count};
use assess::Assessment;
use assess::course::{Change, TimeSeries};
use assess::summary::Summary;
use model::units;

/// A case and its time series.
#[derive(Debug)]
struct Strip<'a> {
    label: Vec<String>,
    course: &'a TimeSeries,
    summary: &'a Summary,
}

/// The height of a strip, and the gap between strips.
const STRIP: f64 = 54.0;
const BELOW: f64 = 8.0;

/// Pictures with a few time series each; those with a step come first.
pub(super) fn courses(assessment: &Assessment) -> Vec<Picture> {
    let names = Labels::of(assessment);
    let mut all: Vec<(&Summary, &TimeSeries)> = asked(&assessment.cases)
        .filter_map(|summary| Some((summary, summary.course.as_ref()?)))
        .filter(|(_, course)| course.rates.iter().any(|rate| *rate > 0.0))
        .collect();
    all.sort_by_key(|(_, course)| course.change.is_none());
    let lines: Vec<Vec<&Summary>> = all.iter().map(|(summary, _)| vec![*summary]).collect();
    let labels = labels(&lines, &names);
    let strips: Vec<Strip> = all
        .iter()
        .zip(labels.own)
        .map(|((summary, course), label)| {
            let is_void = !summary.verdict.stands();
            let label = if is_void { format!("{label} (void)") } else { label };
            Strip { label: wrapped(&label, WIDTH - 4.0), course, summary }
        })
        .collect();
    strips.chunks(LINES_MOST).map(|strips| draw(strips, &labels.common)).collect()
}

fn strip_height(strip: &Strip) -> f64 {
    let step = if strip.course.change.is_some() { LINE } else { 0.0 };
    LINE * strip.label.len() as f64 + step + STRIP + LINE * 1.6 + BELOW
}

fn draw(strips: &[Strip], common: &str) -> Picture {
    let common = if common.is_empty() { String::new() } else { format!("; all: {common}") };
    let is_of_names = |strip: &Strip| strip.summary.case.metadata().is_some();
    let what = if strips.iter().all(is_of_names) { "names" } else { "bytes" };
    let note = Note::of(&format!("{what} a second over the seconds of a trial{common}"));
    let has_step = strips.iter().any(|strip| strip.course.change.is_some());
    let step = has_step.then(|| {
        (Key::Line(SERIES[1], Dash::Long, None), "a step in the rate was found here".to_string())
    });
    let legend = Legend::of(step);
    let rates = strips.iter().map(upright);
    let left = rates.map(|axis| labels_width(&axis)).fold(0.0, f64::max);
    let height = note.height() + 6.0 + strips.iter().map(strip_height).sum::<f64>() + legend.height;
    Picture::of("rate-over-time", "Rate over time", alt(strips), height, |canvas| {
        note.draw(canvas, 0.0);
        let mut top = note.height() + 6.0;
        for strip in strips {
            draw_strip(canvas, strip, left, top);
            top += strip_height(strip);
        }
        legend.draw(canvas, top);
    })
}

/// An axis from 0 to the highest rate, with ticks at both.
fn upright(strip: &Strip) -> Axis {
    let most = strip.course.rates.iter().copied().fold(0.0, f64::max);
    Axis::of_ends((0.0, most), unit(strip.summary))
}

/// How the rate of a case is written: calls on names move no bytes.
fn unit(summary: &Summary) -> fn(f64) -> String {
    if summary.case.metadata().is_some() { words::per_second } else { units::rate }
}

fn draw_strip(canvas: &Canvas, strip: &Strip, left: f64, top: f64) {
    let course = strip.course;
    for (index, line) in strip.label.iter().enumerate() {
        canvas.text(line, (0.0, top + LINE * (index as f64 + 0.5)), Anchor::Start, INK);
    }
    let mut top = top + LINE * strip.label.len() as f64;
    if let Some(change) = &course.change {
        let said = shortened(&said_of(change, unit(strip.summary)), WIDTH - 12.0);
        canvas.text(&said, (8.0, top + LINE / 2.0), Anchor::Start, FAINT);
        top += LINE;
    }
    let seconds = |step: f64| step * course.step_ns as f64;
    let (from, to) = (top + 6.0, top + STRIP);
    let y = upright(strip).between(to, from);
    let x = Axis::from_zero(seconds(course.rates.len() as f64), units::nanoseconds);
    let x = x.between(left, WIDTH - 8.0);
    for tick in &y.ticks {
        let at = y.at(tick.value);
        canvas.line([(left, at), (WIDTH - 8.0, at)], Dash::Whole, GRID, 1.0);
        canvas.text(&tick.label, (left - 6.0, at), Anchor::End, FAINT);
    }
    labels_along(canvas, &x, to + LINE * 0.9);
    // A rate applies to its whole step.
    let steps = course.rates.iter().enumerate().flat_map(|(index, rate)| {
        [index, index + 1].map(|end| (x.at(seconds(end as f64)), y.at(*rate)))
    });
    let is_void = !strip.summary.verdict.stands();
    let colour = if is_void { VOID } else { SERIES[0] };
    canvas.path(&steps.collect::<Vec<_>>(), colour, 1.6);
    if let Some(change) = &course.change {
        let at = x.at(change.at_ns as f64);
        canvas.line([(at, from - 2.0), (at, to)], Dash::Long, SERIES[1], 1.6);
    }
}

/// `from 2.60 GB/s to 610 MB/s after 310 ms, when 805 MB were moved`.
fn said_of(change: &Change, unit: fn(f64) -> String) -> String {
    format!(
        "from {} to {} after {}",
        unit(change.before),
        unit(change.after),
        units::nanoseconds(change.at_ns as f64)
    )
}

fn alt(strips: &[Strip]) -> String {
    let steps: Vec<String> = strips
        .iter()
        .filter_map(|strip| {
            let change = strip.course.change.as_ref()?;
            Some(format!("{} {}", strip.label.join(" "), said_of(change, unit(strip.summary))))
        })
        .collect();
    let found = if steps.is_empty() { "no step was found".to_string() } else { steps.join("; ") };
    format!("The rate of {} over time: {found}.", count(strips.len(), "case"))
}
