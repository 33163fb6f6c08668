//! Response times by the load that is offered: flat while the storage keeps up, steep where it no
//! longer does.

use crate::drawing::{
    Dash, DrawnAxis, FAINT, Key, Picture, PictureBlock, Plot, SERIES, Series, Shape, drawn, legend,
};
use crate::labels::CaseLabels;
use crate::words::{self, listed, per_second};
use assess::Assessment;
use assess::conclusions::load::Load;
use assess::latency::UNSENT_NS;
use assess::percentile::Percentile;
use assess::summary::Latency;
use model::units;

const PLOT: f64 = 230.0;

/// A percentile along the rates.
struct PercentileLine {
    label: String,
    dash: Dash,
    points: Vec<(f64, Percentile)>,
}

type Of = fn(&Latency) -> Option<Percentile>;
const RESPONSES: [(&str, Of); 3] = [
    ("p50 of the response", |it| it.p50),
    ("p99 of the response", |it| it.p99),
    ("p99.9 of the response", |it| it.p99_9),
];

/// A picture for each load with two rates, and one of all if there are several.
pub(super) fn loads(assessment: &Assessment) -> Vec<Picture> {
    let names = CaseLabels::of(assessment);
    let title = |load: &Load| load.closed.as_ref().map(|closed| names.name(&closed.id));
    let is_only = assessment.conclusions.loads.len() == 1;
    let each = assessment.conclusions.loads.iter().filter_map(|load| {
        let of = title(load).filter(|_| !is_only).map_or(String::new(), |of| format!(": {of}"));
        draw(&format!("Response time by load{of}"), &of_percentiles(assessment, load), &[load])
    });
    let all: Vec<&Load> = assessment.conclusions.loads.iter().collect();
    let together = (1..=SERIES.len()).contains(&all.len()) && !is_only;
    let together = together.then(|| {
        let line = |load: &&Load| PercentileLine {
            label: title(load).unwrap_or_else(|| "load".to_string()),
            dash: Dash::Whole,
            points: points(assessment, load, |it| it.p99),
        };
        let lines: Vec<PercentileLine> = all.iter().map(line).collect();
        draw("Response time by load, p99 of each", &lines, &[])
    });
    together.flatten().into_iter().chain(each).collect()
}

/// The percentiles of the response, and one of the service.
fn of_percentiles(assessment: &Assessment, load: &Load) -> Vec<PercentileLine> {
    let response = RESPONSES.map(|(label, of)| PercentileLine {
        label: label.to_string(),
        dash: Dash::Whole,
        points: points(assessment, load, of),
    });
    let service = load.rates.iter().filter_map(|rate| {
        let summary = assessment.row(&rate.case.id)?;
        Some((rate.rate as f64, summary.latency.p99?))
    });
    let service = PercentileLine {
        label: "p99 of the service".to_string(),
        dash: Dash::Long,
        points: service.collect(),
    };
    response.into_iter().chain([service]).filter(|line| !line.points.is_empty()).collect()
}

/// A percentile of the response time at each rate.
fn points(assessment: &Assessment, load: &Load, of: Of) -> Vec<(f64, Percentile)> {
    let point = |rate: &assess::conclusions::load::Rate| {
        let summary = assessment.row(&rate.case.id)?;
        Some((rate.rate as f64, of(&summary.open.as_ref()?.response)?))
    };
    load.rates.iter().filter_map(point).collect()
}

fn draw(title: &str, lines: &[PercentileLine], marked: &[&Load]) -> Option<Picture> {
    if lines.iter().all(|line| line.points.len() < 2) {
        return None;
    }
    let points = || lines.iter().flat_map(|line| &line.points);
    let times = || points().map(|(_, it)| it.ns).filter(|ns| (1..UNSENT_NS).contains(ns));
    let (least, most) = (times().min()? as f64, times().max()? as f64);
    let widest = points().map(|(rate, _)| *rate).fold(0.0, f64::max);
    let closed = marked.iter().filter_map(|load| load.closed_iops).map(|iops| iops.median);
    let widest = closed.fold(widest, f64::max);
    let measured = |(rate, it): &(f64, Percentile)| {
        let interval = it.low_ns.zip(it.high_ns);
        ((*rate, it.ns as f64), interval.map(|(low, high)| (low as f64, high as f64)))
    };
    let series = lines.iter().map(|line| {
        Series::through(&line.label, line.dash, line.points.iter().map(measured).collect())
    });
    let (mut shapes, mut entries) = drawn(series.collect());
    for (rate, dash, label) in marked.iter().flat_map(|load| marks(load)) {
        shapes.push(Shape::Upright(rate, dash, FAINT));
        entries.push((Key::Line(FAINT, dash, None), label.to_string()));
    }
    let plot = Plot {
        x: DrawnAxis::from_zero(widest * 1.04, per_second).of_what("operations due per second"),
        y: DrawnAxis::log(least * 0.8, most * 1.6, units::nanoseconds).of_what("time"),
        height: PLOT,
        right: Vec::new(),
        shapes,
    };
    let note = PictureBlock::note(&[
        "percentiles with their 95 % intervals",
        "at the upper edge: operations that never began",
    ]);
    let blocks = vec![note, plot.alone(), legend(entries)];
    let name = title.to_lowercase().replace("response time by load, p99 of each", "load p99");
    Some(Picture::of(&name, title, alt(lines), blocks))
}

/// Upright lines: the highest rate that is kept up with, and that of the closed loop.
fn marks(load: &Load) -> impl Iterator<Item = (f64, Dash, &'static str)> {
    let kept = load.kept_up.holds.map(|rate| (rate as f64, Dash::Short, "keeps up with this"));
    let closed = load.closed_iops.map(|iops| (iops.median, Dash::Long, "closed loop"));
    kept.into_iter().chain(closed)
}

fn alt(lines: &[PercentileLine]) -> String {
    let said = |line: &PercentileLine| {
        let at = |(rate, it): &(f64, Percentile)| {
            format!("{} at {}", words::percentile(Some(*it)), per_second(*rate))
        };
        let ends = line.points.first().zip(line.points.last());
        ends.map(|(first, last)| format!("{} goes from {} to {}", line.label, at(first), at(last)))
    };
    format!("{}.", listed(&lines.iter().filter_map(said).collect::<Vec<_>>()))
}
