//! The picture: bytes and CPU over time.

use super::say::per_second;
use crate::drawing::{
    Dash, DrawnAxis, INK, Key, Picture, PictureBlock, Plot, SERIES, Shape, legend,
};
use assess::running::parts;
use model::running::{Interval, RunningRecord};
use model::units;

/// More steps than this are joined.
const STEPS_MOST: usize = 200;
const PLOT: f64 = 70.0;

/// A line of a plot: its name, and its value in an interval, if known.
type Line = (&'static str, fn(&Interval) -> Option<u64>);

const BYTES: [Line; 3] = [
    ("from devices", |it| it.read_bytes),
    ("by read calls", |it| it.read_call_bytes),
    ("made dirty", |it| it.write_bytes),
];

const TIME: [Line; 2] = [
    ("CPU", |it| Some(it.user_ns?.saturating_add(it.system_ns?))),
    ("ready, without a processor", |it| it.run_delay_ns),
];

/// Whether there is anything to draw.
pub(super) fn is_there(record: &RunningRecord) -> bool {
    let lines = || BYTES.iter().chain(&TIME);
    record.intervals.iter().any(|it| lines().any(|line| line.1(it).is_some_and(|value| value > 0)))
}

pub(super) fn pictures(record: &RunningRecord) -> Vec<Picture> {
    let steps = parts(record, STEPS_MOST);
    let [bytes, time] = [BYTES.to_vec(), TIME.to_vec()];
    let bytes = plot(&steps, &bytes, units::rate);
    let time = plot(&steps, &time, |processors| format!("{processors:.2}"));
    let left = [&bytes, &time].into_iter().flatten().map(|(plot, _)| plot.left());
    let left = left.fold(0.0, f64::max);
    let mut blocks = Vec::new();
    let titled = [("bytes a second", bytes), ("processors' time by time", time)];
    for (title, drawn) in titled {
        let Some((plot, keys)) = drawn else { continue };
        blocks.push(PictureBlock::text(title, 0.0, INK));
        blocks.push(plot.block(left));
        blocks.push(legend(keys));
        blocks.push(PictureBlock::gap(8.0));
    }
    let alt = format!("The bytes and the CPU time of the program in {} steps.", steps.len());
    let is_empty = blocks.is_empty();
    let picture = Picture::of("running-over-time", "Bytes and CPU over time", alt, blocks);
    if is_empty { Vec::new() } else { vec![picture] }
}

/// A plot from 0 to the highest value; `None` if nothing is above 0.
fn plot(
    steps: &[Interval],
    lines: &[Line],
    say: impl Fn(f64) -> String,
) -> Option<(Plot, Vec<(Key, String)>)> {
    let value = |line: &Line, step: &Interval| Some(per_second(line.1(step)?, step.length_ns));
    let all = || lines.iter().flat_map(|line| steps.iter().filter_map(move |it| value(line, it)));
    // Nanoseconds by time are processors.
    let scale = if lines.iter().any(|line| line.0 == TIME[0].0) { 1e-9 } else { 1.0 };
    let most = all().fold(0.0, f64::max) * scale;
    let end = steps.last()?.at_ns as f64;
    if most <= 0.0 || end <= 0.0 {
        return None;
    }
    let (mut shapes, mut keys) = (Vec::new(), Vec::new());
    for (index, line) in lines.iter().enumerate() {
        let colour = SERIES[index % SERIES.len()];
        let dash = [Dash::Whole, Dash::Long, Dash::Short][index % 3];
        let places = steps.iter().filter_map(|step| {
            let value = value(line, step)? * scale;
            let from = step.at_ns.saturating_sub(step.length_ns);
            Some([(from as f64, value), (step.at_ns as f64, value)])
        });
        let places: Vec<(f64, f64)> = places.flatten().collect();
        if places.is_empty() {
            continue;
        }
        shapes.push(Shape::Line(places, dash, colour));
        keys.push((Key::Line(colour, dash, None), line.0.to_string()));
    }
    let plot = Plot {
        x: DrawnAxis::from_zero(end, units::nanoseconds),
        y: DrawnAxis::of_ends((0.0, most), say),
        height: PLOT,
        right: Vec::new(),
        shapes,
    };
    Some((plot, keys))
}
