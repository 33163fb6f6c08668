//! The latency of memory by the bandwidth that other threads move: flat at first, steep where the
//! memory cannot keep up.

use crate::drawing::{
    Dash, DrawnAxis, FAINT, Key, Picture, PictureBlock, Plot, Series, Shape, drawn, legend,
};
use assess::Assessment;
use assess::conclusions::loaded_latency::{LatencyUnderLoad, LoadedLatency};
use assess::stats::Estimate;
use model::units;

const PLOT: f64 = 230.0;

/// One picture with a line for each loop that loads memory.
pub(super) fn loaded_latencies(assessment: &Assessment) -> Option<Picture> {
    let all = &assessment.conclusions.loaded_latencies;
    let highest = |found: &LoadedLatency| Some(found.loads.last()?.bandwidth.median);
    let widest = all.iter().filter_map(highest).reduce(f64::max)?;
    let times = || all.iter().flat_map(latencies);
    let most = times().map(|it| it.high.unwrap_or(it.median)).reduce(f64::max)?;
    let series = all.iter().map(|found| {
        let loaded = found.loads.iter().map(|load| (load.bandwidth.median, load.latency_ns));
        let points = [(0.0, found.unloaded.latency_ns)].into_iter().chain(loaded);
        let measured = points.map(|(at, ns)| ((at, ns.median), ns.low.zip(ns.high)));
        Series::through(&format!("beside {}", found.kernel), Dash::Whole, measured.collect())
    });
    let (mut shapes, mut entries) = drawn(series.collect());
    for found in all {
        let Some(knee) = &found.knee else { continue };
        shapes.push(Shape::Upright(knee.bandwidth, Dash::Short, FAINT));
        let label = format!("the knee beside {}", found.kernel);
        entries.push((Key::Line(FAINT, Dash::Short, None), label));
    }
    let plot = Plot {
        x: DrawnAxis::from_zero(widest * 1.04, units::rate).of_what("bytes moved beside the chase"),
        y: DrawnAxis::from_zero(most * 1.06, units::nanoseconds).of_what("time of a load"),
        height: PLOT,
        right: Vec::new(),
        shapes,
    };
    let note = PictureBlock::note(&["medians with their 95 % intervals"]);
    let blocks = vec![note, plot.alone(), legend(entries)];
    let title = "Latency of memory by the bandwidth of other threads";
    Some(Picture::of("loaded latency", title, alt(all), blocks))
}

fn latencies(found: &LoadedLatency) -> impl Iterator<Item = &Estimate> {
    let loaded = found.loads.iter().map(|load| &load.latency_ns);
    [&found.unloaded.latency_ns].into_iter().chain(loaded)
}

fn alt(all: &[LoadedLatency]) -> String {
    let said = |found: &LoadedLatency| {
        let LatencyUnderLoad { latency_ns, bandwidth, .. } = found.loads.last()?;
        Some(format!(
            "Beside {}, a load takes {} unloaded and {} at {}.",
            found.kernel,
            units::nanoseconds(found.unloaded.latency_ns.median),
            units::nanoseconds(latency_ns.median),
            units::rate(bandwidth.median)
        ))
    };
    all.iter().filter_map(said).collect::<Vec<_>>().join(" ")
}
