//! The time series of each case's rate, as a strip from 0 to its highest rate.

use super::alike::{LINES_MOST, all_are, asked, labels};
use crate::drawing::{
    Dash, DrawnAxis, FAINT, INK, Key, Picture, PictureBlock, Plot, SERIES, Shape, VOID, WIDTH,
    legend, shortened,
};
use crate::labels::CaseLabels;
use crate::words::{self, count};
use assess::Assessment;
use assess::course::{Change, TimeSeries};
use assess::summary::Summary;
use model::units;

/// A case and its time series.
#[derive(Debug)]
struct Course<'a> {
    label: String,
    series: &'a TimeSeries,
    summary: &'a Summary,
}

/// The height of a plot.
const PLOT: f64 = 44.0;

/// Pictures with a few time series each; those with a step come first.
pub(super) fn courses(assessment: &Assessment) -> Vec<Picture> {
    let names = CaseLabels::of(assessment);
    let mut all: Vec<(&Summary, &TimeSeries)> = asked(&assessment.cases)
        .filter_map(|summary| Some((summary, summary.course.as_ref()?)))
        .filter(|(_, course)| course.rates.iter().any(|rate| *rate > 0.0))
        .collect();
    all.sort_by_key(|(_, course)| course.change.is_none());
    let lines: Vec<Vec<&Summary>> = all.iter().map(|(summary, _)| vec![*summary]).collect();
    let labels = labels(&lines, &names);
    let courses = all.iter().zip(labels.own).map(|((summary, series), label)| {
        let label = if summary.verdict.stands() { label } else { format!("{label} (void)") };
        Course { label, series, summary }
    });
    let courses: Vec<Course> = courses.collect();
    courses.chunks(LINES_MOST).map(|courses| draw(courses, &labels.common)).collect()
}

fn draw(courses: &[Course], common: &str) -> Picture {
    let is_of_names = |course: &Course| course.summary.case.metadata().is_some();
    let what = if courses.iter().all(is_of_names) { "names" } else { "bytes" };
    let said = format!("{what} a second over the seconds of a trial");
    let left = courses.iter().map(|course| plot(course).left()).fold(0.0, f64::max);
    let mut blocks = vec![PictureBlock::note(&[&said, &all_are(common)]), PictureBlock::gap(4.0)];
    for course in courses {
        let change = course.series.change.as_ref();
        let step = change.map_or(String::new(), |change| said_of(change, unit(course.summary)));
        blocks.push(PictureBlock::text(&course.label, 0.0, INK));
        blocks.push(PictureBlock::text(&shortened(&step, WIDTH - 12.0), 8.0, FAINT));
        blocks.push(plot(course).block(left));
    }
    let has_step = courses.iter().any(|course| course.series.change.is_some());
    let step = (Key::Line(SERIES[1], Dash::Long, None), "a step in the rate was found here");
    blocks.push(legend(has_step.then(|| (step.0, step.1.to_string()))));
    Picture::of("rate-over-time", "Rate over time", alt(courses), blocks)
}

/// How the rate of a case is written: calls on names move no bytes.
fn unit(summary: &Summary) -> fn(f64) -> String {
    if summary.case.metadata().is_some() { words::per_second } else { units::rate }
}

/// From 0 to the highest rate, with ticks at both.
fn plot(Course { series, summary, .. }: &Course) -> Plot {
    let most = series.rates.iter().copied().fold(0.0, f64::max);
    let at_ns = |step: usize| step as f64 * series.step_ns as f64;
    // A rate applies to its whole step.
    let steps = series.rates.iter().enumerate();
    let steps = steps.flat_map(|(index, rate)| [index, index + 1].map(|end| (at_ns(end), *rate)));
    let colour = if summary.verdict.stands() { SERIES[0] } else { VOID };
    let line = Shape::Line(steps.collect(), Dash::Whole, colour);
    let change = series.change.as_ref();
    let step = change.map(|change| Shape::Upright(change.at_ns as f64, Dash::Long, SERIES[1]));
    Plot {
        x: DrawnAxis::from_zero(at_ns(series.rates.len()), units::nanoseconds),
        y: DrawnAxis::of_ends((0.0, most), unit(summary)),
        height: PLOT,
        right: Vec::new(),
        shapes: [line].into_iter().chain(step).collect(),
    }
}

/// `from 2.60 GB/s to 610 MB/s after 310 ms`.
fn said_of(change: &Change, unit: fn(f64) -> String) -> String {
    let [before, after] = [change.before, change.after].map(unit);
    format!("from {before} to {after} after {}", units::nanoseconds(change.at_ns as f64))
}

fn alt(courses: &[Course]) -> String {
    let step = |course: &Course| {
        let change = course.series.change.as_ref()?;
        Some(format!("{} {}", course.label, said_of(change, unit(course.summary))))
    };
    let steps: Vec<String> = courses.iter().filter_map(step).collect();
    let found = if steps.is_empty() { "no step was found".to_string() } else { steps.join("; ") };
    format!("The rate of {} over time: {found}.", count(courses.len(), "case"))
}
