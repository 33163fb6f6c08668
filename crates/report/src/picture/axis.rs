//! Axes: from a value to a place, the values that are marked, and the frame of a chart.

use super::canvas::{Anchor, Canvas, Dash, LINE, WIDTH};
use super::measure::{round, width};
use super::palette::{FAINT, GRID};

/// How values are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scale {
    Linear,
    Log,
}

/// A marked value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tick {
    pub(super) value: f64,
    pub(super) label: String,
}

/// From a value to a place.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Axis {
    scale: Scale,
    /// The value at its start, and that at its end.
    values: (f64, f64),
    /// Pixels at its start and at its end.
    pixels: (f64, f64),
    pub(super) ticks: Vec<Tick>,
}

/// Values from one decade to the next that may be marked.
const STEPS: [f64; 3] = [1.0, 2.0, 5.0];
/// More marks than this tell no more.
const TICKS_MOST: usize = 7;

impl Axis {
    /// An axis of logarithms that shows `least` to `most`, both above 0, and marks round values.
    pub(super) fn log(least: f64, most: f64, say: impl Fn(f64) -> String) -> Axis {
        assert!(least > 0.0 && most >= least, "a logarithm is of what is above 0");
        let (low, high) = (least.log10().floor() as i32, most.log10().ceil() as i32);
        let all = |steps: &[f64]| -> Vec<f64> {
            let decades = (low - 1..=high)
                .flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)));
            decades.filter(|value| *value >= least * 0.999 && *value <= most * 1.001).collect()
        };
        let mut values = all(&STEPS);
        if values.len() > TICKS_MOST {
            values = all(&STEPS[..1]);
        }
        let every = values.len().div_ceil(TICKS_MOST).max(1);
        let values: Vec<f64> = values.into_iter().step_by(every).collect();
        Axis::of(Scale::Log, (least, most), values, say)
    }

    /// An axis from 0 to `most`, which is above 0, or a little more.
    pub(super) fn from_zero(most: f64, say: impl Fn(f64) -> String) -> Axis {
        Axis::linear(0.0, most, say)
    }

    /// An axis from `least` to `most`, which is more.
    pub(super) fn linear(least: f64, most: f64, say: impl Fn(f64) -> String) -> Axis {
        assert!(most > least, "an axis has a length");
        let rough = (most - least) / 4.0;
        let power = 10f64.powi(rough.log10().floor() as i32);
        let steps = STEPS.iter().chain(&[10.0]).map(|step| step * power);
        let step = steps.into_iter().find(|step| *step >= rough * 0.999).unwrap_or(rough);
        let first = (least / step).ceil() as i64;
        let last = (most / step * 1.001).floor() as i64;
        let values = (first..=last).map(|index| index as f64 * step).collect();
        Axis::of(Scale::Linear, (least, most), values, say)
    }

    /// An axis of logarithms of a few values, each of which is marked.
    pub(super) fn of_values(values: &[f64], say: impl Fn(f64) -> String) -> Axis {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(0.0, f64::max);
        // Something is left at both ends.
        let room = (most / least).powf(0.06).max(1.05);
        Axis::of(Scale::Log, (least / room, most * room), values.to_vec(), say)
    }

    /// An axis of the two `ends`, which alone are marked.
    pub(super) fn of_ends(ends: (f64, f64), say: impl Fn(f64) -> String) -> Axis {
        Axis::of(Scale::Linear, ends, vec![ends.0, ends.1], say)
    }

    /// An axis of logarithms around 1: ratios are marked, and 1 among them.
    pub(super) fn of_ratios(least: f64, most: f64, say: impl Fn(f64) -> String) -> Axis {
        const NEAR: [f64; 9] = [0.7, 0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.2, 1.4];
        const WIDE: f64 = 2.5;
        if most / least > WIDE {
            return Axis::log(least, most, say);
        }
        let held = NEAR.into_iter().filter(|ratio| (least..=most).contains(ratio)).collect();
        Axis::of(Scale::Log, (least, most), held, say)
    }

    /// An axis of logarithms that shows `ends`, on which those of `marks` are that it holds.
    pub(super) fn of_marks(ends: (f64, f64), marks: &[(f64, &str)]) -> Axis {
        let held = marks.iter().filter(|(value, _)| (ends.0..=ends.1).contains(value));
        let tick = |(value, label): &(f64, &str)| Tick { value: *value, label: label.to_string() };
        let ticks = held.map(tick).collect();
        Axis { scale: Scale::Log, values: ends, pixels: (0.0, 1.0), ticks }
    }

    fn of(scale: Scale, values: (f64, f64), ticks: Vec<f64>, say: impl Fn(f64) -> String) -> Axis {
        let tick = |value: f64| Tick { value, label: round(&say(value)) };
        Axis { scale, values, pixels: (0.0, 1.0), ticks: ticks.into_iter().map(tick).collect() }
    }

    /// The same from one pixel to another.
    pub(super) fn between(self, start: f64, end: f64) -> Axis {
        Axis { pixels: (start, end), ..self }
    }

    /// The pixel of a value; of one beyond an end, that end.
    pub(super) fn at(&self, value: f64) -> f64 {
        let (from, to) = self.values;
        let share = match self.scale {
            Scale::Linear => (value - from) / (to - from),
            Scale::Log if value <= 0.0 || to <= from => 0.0,
            Scale::Log => (value / from).ln() / (to / from).ln(),
        };
        let (start, end) = self.pixels;
        start + (end - start) * share.clamp(0.0, 1.0)
    }

    /// Whether a value is within it.
    pub(super) fn holds(&self, value: f64) -> bool {
        (self.values.0..=self.values.1).contains(&value)
    }

    /// The pixels of its ends.
    pub(super) fn ends(&self) -> (f64, f64) {
        self.pixels
    }

    /// The ticks whose labels fit beside each other when they lie at `x`, with the middle of each:
    /// from the first on, none nearer to the one before than a gap.
    pub(super) fn fitting(&self) -> Vec<(&Tick, f64)> {
        const GAP: f64 = 9.0;
        let mut fitting: Vec<(&Tick, f64)> = Vec::new();
        let mut free = 0.0;
        for tick in &self.ticks {
            let half = width(&tick.label) / 2.0;
            let middle = self.at(tick.value).clamp(half + 1.0, WIDTH - half - 1.0);
            if middle - half >= free {
                free = middle + half + GAP;
                fitting.push((tick, middle));
            }
        }
        fitting
    }
}

/// Draws the labels of an axis that lies along `y`, the middle of its texts.
pub(super) fn labels_along(canvas: &Canvas, axis: &Axis, y: f64) {
    for (tick, middle) in axis.fitting() {
        canvas.text(&tick.label, (middle, y), Anchor::Middle, FAINT);
    }
}

/// The frame of a chart: its grid, and the labels of both axes.
pub(super) fn frame(canvas: &Canvas, x: &Axis, y: &Axis) {
    let ((left, right), (bottom, top)) = (x.ends(), y.ends());
    for tick in &y.ticks {
        let at = y.at(tick.value);
        canvas.line([(left, at), (right, at)], Dash::Whole, GRID, 1.0);
        canvas.text(&tick.label, (left - 6.0, at), Anchor::End, FAINT);
    }
    for (tick, _) in x.fitting() {
        let at = x.at(tick.value);
        canvas.line([(at, top), (at, bottom)], Dash::Whole, GRID, 1.0);
    }
    canvas.path(&[(left, bottom), (right, bottom)], FAINT, 1.0);
    labels_along(canvas, x, bottom + LINE * 0.8);
}

/// The room that the labels of an axis take which stands upright, its gap included.
pub(super) fn labels_width(axis: &Axis) -> f64 {
    super::measure::widest(axis.ticks.iter().map(|tick| tick.label.as_str())) + 8.0
}
