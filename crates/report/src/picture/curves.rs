//! Throughput, or the time per operation, along one axis: a line for each group of cases that
//! differ only in that axis. Each figure has its interval.

use super::alike::{
    PARTED_BY, PictureGroup, all_are, axes_but, bounded, is_rate, labels, own_first, parted,
    standing, value,
};
use crate::drawing::{Dash, DrawnAxis, Picture, PictureBlock, Plot, Series, drawn, legend};
use crate::group::grouped;
use crate::labels::CaseLabels;
use crate::phrases::Factored;
use crate::words::{self, FigureFormat, capital, count, main_estimate};
use assess::Assessment;
use assess::stats::Estimate;
use assess::summary::Summary;
use model::case::Case;
use model::units;

/// An axis to draw figures along.
#[derive(Debug, Clone, Copy)]
struct Along {
    axis: &'static str,
    title: &'static str,
    /// Fewer values make no curve.
    values_least: usize,
    say: fn(f64) -> String,
}

const ALONG: [Along; 5] = [
    Along { axis: "threads", title: "threads", values_least: 2, say: plain },
    Along { axis: "block", title: "bytes an operation", values_least: 3, say: bytes },
    Along { axis: "depth", title: "operations in flight", values_least: 3, say: plain },
    Along { axis: "size", title: "bytes of the file", values_least: 3, say: bytes },
    Along { axis: "working_set", title: "bytes of the working set", values_least: 3, say: bytes },
];

impl Along {
    fn value(&self, case: &Case) -> Option<f64> {
        Some(units::parse_bytes(&value(case, self.axis)?).ok()? as f64)
    }
}

fn plain(value: f64) -> String {
    format!("{value:.0}")
}

fn bytes(value: f64) -> String {
    units::bytes(value as u64)
}

/// Cases that differ in one axis only, sorted by its value.
#[derive(Debug)]
struct CurveLine<'a> {
    cases: Vec<&'a Summary>,
    points: Vec<(f64, Estimate)>,
}

/// What the figures are.
#[derive(Debug, Clone, Copy)]
struct CurveKind {
    what: &'static str,
    say: FigureFormat,
    /// After the name of a picture.
    suffix: &'static str,
}

const RATES: CurveKind = CurveKind { what: "throughput", say: units::rate, suffix: "" };
const TIMES: CurveKind =
    CurveKind { what: "time of an operation", say: units::nanoseconds, suffix: " time" };

const PLOT: f64 = 190.0;

/// A picture for each axis with enough values, and for each kind of figure.
pub(super) fn curves<'a>(assessment: &'a Assessment) -> Vec<Picture> {
    let names = CaseLabels::of(assessment);
    let of_run = (&names, words::figures_are(assessment));
    let mut pictures = Vec::new();
    for along in ALONG {
        for (is_of_rates, kind) in [(true, RATES), (false, TIMES)] {
            let of_kind = |summary: &&Summary| is_rate(&summary.case) == is_of_rates;
            let cases = standing(&assessment.cases).filter(of_kind);
            let parts = |cases: Vec<&'a Summary>| {
                let lines = lines(cases.into_iter(), &along);
                parted(lines, |line: &CurveLine| &line.cases[0].case, &PARTED_BY)
            };
            let all = bounded(cases.collect(), own_first, parts);
            pictures.extend(all.iter().filter_map(|part| draw(part, &along, kind, of_run)));
        }
    }
    pictures
}

fn lines<'a>(cases: impl Iterator<Item = &'a Summary>, along: &Along) -> Vec<CurveLine<'a>> {
    let has = |summary: &&Summary| along.value(&summary.case).is_some();
    let groups = grouped(cases.filter(has), |summary| axes_but(&summary.case, along.axis));
    let line = |(_, cases): (_, Vec<&'a Summary>)| {
        let point = |summary: &&Summary| {
            let (estimate, _) = main_estimate(summary)?;
            Some((along.value(&summary.case)?, estimate))
        };
        let mut points: Vec<(f64, Estimate)> = cases.iter().filter_map(point).collect();
        points.retain(|(_, estimate)| estimate.median > 0.0);
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        // The same case can occur twice, with different time limits.
        points.dedup_by_key(|(x, _)| *x);
        (points.len() >= along.values_least).then_some(CurveLine { cases, points })
    };
    groups.into_iter().filter_map(line).collect()
}

/// `figures_are`: what the figures of the run are.
fn draw(
    part: &PictureGroup<CurveLine>,
    along: &Along,
    kind: CurveKind,
    (names, figures_are): (&CaseLabels, &str),
) -> Option<Picture> {
    let lines = &part.things;
    if lines.is_empty() {
        return None;
    }
    let cases: Vec<Vec<&Summary>> = lines.iter().map(|line| line.cases.clone()).collect();
    let Factored { own, common } = labels(&cases, names);
    let points = || lines.iter().flat_map(|line| &line.points);
    let mut values: Vec<f64> = points().map(|(x, _)| *x).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let measured = |(x, all): &(f64, Estimate)| ((*x, all.median), all.low.zip(all.high));
    let series = lines.iter().zip(&own).map(|(line, label)| {
        Series::through(label, Dash::Whole, line.points.iter().map(measured).collect())
    });
    let (shapes, entries) = drawn(series.collect());
    let plot = Plot {
        x: DrawnAxis::of_values(&values, along.say).of_what(along.title),
        y: upright(points().map(|(_, estimate)| estimate), kind.say).of_what(kind.what),
        height: PLOT,
        right: Vec::new(),
        shapes,
    };
    let name = format!("by {} {}{}", along.axis, part.shared.join(" "), kind.suffix);
    let of = if part.shared.is_empty() { "" } else { ": " };
    let title = format!("{} by {}{of}{}", capital(kind.what), along.title, part.shared.join(", "));
    Some(Picture::of(
        &name,
        &title,
        alt(lines, &own, along, kind),
        vec![
            PictureBlock::note(&[
                &format!("{figures_are}, with its 95 % interval"),
                &all_are(&common),
            ]),
            plot.alone(),
            legend(entries),
        ],
    ))
}

/// The vertical axis: starts at 0, unless the figures are too far apart.
fn upright<'a>(all: impl Iterator<Item = &'a Estimate>, say: FigureFormat) -> DrawnAxis {
    const SPREAD: f64 = 12.0;
    let (low, high): (Vec<f64>, Vec<f64>) =
        all.map(|all| (all.low.unwrap_or(all.median), all.high.unwrap_or(all.median))).unzip();
    let least = low.into_iter().fold(f64::INFINITY, f64::min);
    let most = high.into_iter().fold(0.0, f64::max);
    if least > 0.0 && most > SPREAD * least {
        DrawnAxis::log(least * 0.8, most * 1.25, say)
    } else {
        DrawnAxis::from_zero(most * 1.06, say)
    }
}

fn alt(lines: &[CurveLine], own: &[String], along: &Along, kind: CurveKind) -> String {
    let said = |(line, label): (&CurveLine, &String)| {
        let [first, last] = [&line.points[0], &line.points[line.points.len() - 1]]
            .map(|(x, all)| format!("{} at {}", (kind.say)(all.median), (along.say)(*x)));
        format!("{label} goes from {first} to {last}")
    };
    let all: Vec<String> = lines.iter().zip(own).map(said).collect();
    let lines = capital(&count(lines.len(), "line"));
    format!("{lines} of {} by {}: {}.", kind.what, along.title, all.join("; "))
}
