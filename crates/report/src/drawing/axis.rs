//! Axes: map values to pixels, and choose the ticks.

use super::canvas::{Anchor, Canvas, WIDTH};
use super::measure::{round, width};
use super::palette::FAINT;

/// How values map to pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    Linear,
    Log,
}

/// A labeled value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tick {
    pub(crate) value: f64,
    pub(crate) label: String,
}

/// Maps values to pixels.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DrawnAxis {
    /// What its values are.
    label: String,
    scale: Scale,
    /// The values at its start and end.
    values: (f64, f64),
    /// The pixels at its start and end.
    pixels: (f64, f64),
    pub(crate) ticks: Vec<Tick>,
}

/// The least and the largest of those values that are above 0; `None` without any.
pub(crate) fn range(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    let mut above = values.into_iter().filter(|value| *value > 0.0);
    let first = above.next()?;
    Some(above.fold((first, first), |(least, most), it| (least.min(it), most.max(it))))
}

/// Ticks within a decade.
const STEPS: [f64; 3] = [1.0, 2.0, 5.0];
/// More ticks add nothing.
const TICKS_MOST: usize = 7;

impl DrawnAxis {
    /// A logarithmic axis from `least` to `most`, both above 0, with round ticks.
    pub(crate) fn log(least: f64, most: f64, say: impl Fn(f64) -> String) -> DrawnAxis {
        const WIDER: f64 = 1.6;
        assert!(least > 0.0 && most >= least, "a logarithm is of what is above 0");
        assert!(most.is_finite(), "an axis has an end");
        let (low, high) = (least.log10().floor() as i32, most.log10().ceil() as i32);
        let all = |steps: &[f64]| -> Vec<f64> {
            let decades = (low - 1..=high)
                .flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)));
            decades.filter(|value| *value >= least * 0.999 && *value <= most * 1.001).collect()
        };
        let mut values = all(&STEPS);
        if values.len() < 2 {
            // Nobody can read a logarithmic scale off a single tick.
            return DrawnAxis::log(least / WIDER, most * WIDER, say);
        }
        if values.len() > TICKS_MOST {
            values = all(&STEPS[..1]);
        }
        let every = values.len().div_ceil(TICKS_MOST).max(1);
        DrawnAxis::of(Scale::Log, (least, most), values.into_iter().step_by(every), say)
    }

    /// An axis from 0 to `most`, which must be above 0.
    pub(crate) fn from_zero(most: f64, say: impl Fn(f64) -> String) -> DrawnAxis {
        DrawnAxis::linear(0.0, most, say)
    }

    /// An axis from `least` to `most`, which must be larger.
    pub(crate) fn linear(least: f64, most: f64, say: impl Fn(f64) -> String) -> DrawnAxis {
        assert!(most > least, "an axis has a length");
        let rough = (most - least) / 4.0;
        let power = 10f64.powi(rough.log10().floor() as i32);
        let steps = STEPS.iter().chain(&[10.0]).map(|step| step * power);
        let step = steps.into_iter().find(|step| *step >= rough * 0.999).unwrap_or(rough);
        let first = (least / step).ceil() as i64;
        let last = (most / step * 1.001).floor() as i64;
        let values = (first..=last).map(|index| index as f64 * step);
        DrawnAxis::of(Scale::Linear, (least, most), values, say)
    }

    /// A logarithmic axis with a tick at each of these values.
    pub(crate) fn of_values(values: &[f64], say: impl Fn(f64) -> String) -> DrawnAxis {
        let (least, most) = range(values.iter().copied()).unwrap_or((1.0, 1.0));
        // Leaves a margin at both ends.
        let room = (most / least).powf(0.06).max(1.05);
        DrawnAxis::of(Scale::Log, (least / room, most * room), values.to_vec(), say)
    }

    /// An axis with ticks only at its `ends`.
    pub(crate) fn of_ends(ends: (f64, f64), say: impl Fn(f64) -> String) -> DrawnAxis {
        DrawnAxis::of(Scale::Linear, ends, [ends.0, ends.1], say)
    }

    /// A logarithmic axis of these ratios and 1, with ticks at common ones.
    pub(crate) fn of_ratios(
        ratios: impl IntoIterator<Item = f64>,
        say: impl Fn(f64) -> String,
    ) -> DrawnAxis {
        const ROOM: f64 = 1.04;
        let (least, most) = range(ratios).unwrap_or((1.0, 1.0));
        let (least, most) = (least.min(1.0) / ROOM, most.max(1.0) * ROOM);
        const NEAR: [f64; 9] = [0.7, 0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.2, 1.4];
        const WIDE: f64 = 2.5;
        if most / least > WIDE {
            return DrawnAxis::log(least, most, say);
        }
        let held = NEAR.into_iter().filter(|ratio| (least..=most).contains(ratio));
        DrawnAxis::of(Scale::Log, (least, most), held, say)
    }

    /// A logarithmic axis between `ends`, with those `marks` that lie within.
    pub(crate) fn of_marks(ends: (f64, f64), marks: &[(f64, &str)]) -> DrawnAxis {
        let held = marks.iter().filter(|(value, _)| (ends.0..=ends.1).contains(value));
        let tick = |(value, label): &(f64, &str)| Tick { value: *value, label: label.to_string() };
        DrawnAxis {
            ticks: held.map(tick).collect(),
            ..DrawnAxis::of(Scale::Log, ends, [], |_| String::new())
        }
    }

    fn of(
        scale: Scale,
        values: (f64, f64),
        ticks: impl IntoIterator<Item = f64>,
        say: impl Fn(f64) -> String,
    ) -> DrawnAxis {
        let tick = |value: f64| Tick { value, label: round(&say(value)) };
        let ticks = ticks.into_iter().map(tick).collect();
        DrawnAxis { label: String::new(), scale, values, pixels: (0.0, 1.0), ticks }
    }

    /// The same axis with a label.
    pub(crate) fn of_what(self, label: &str) -> DrawnAxis {
        DrawnAxis { label: label.to_string(), ..self }
    }

    /// The same axis between these pixels.
    pub(crate) fn between(&self, start: f64, end: f64) -> DrawnAxis {
        DrawnAxis { pixels: (start, end), ..self.clone() }
    }

    /// What its values are. Equal steps along a logarithmic axis are equal ratios, which nobody
    /// sees who takes them for differences, so it says so.
    pub(crate) fn label(&self) -> String {
        match (self.scale, self.label.strip_suffix(')')) {
            (Scale::Linear, _) => self.label.clone(),
            (Scale::Log, Some(start)) => format!("{start}, log)"),
            (Scale::Log, None) => format!("{} (log)", self.label),
        }
    }

    /// The pixel of a value; values out of range are clamped.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let (from, to) = self.values;
        let share = match self.scale {
            Scale::Linear => (value - from) / (to - from),
            Scale::Log if value <= 0.0 || to <= from => 0.0,
            Scale::Log => (value / from).ln() / (to / from).ln(),
        };
        let (start, end) = self.pixels;
        start + (end - start) * share.clamp(0.0, 1.0)
    }

    /// Whether the axis includes a value.
    pub(crate) fn holds(&self, value: f64) -> bool {
        (self.values.0..=self.values.1).contains(&value)
    }

    /// The pixels of the ends.
    pub(crate) fn ends(&self) -> (f64, f64) {
        self.pixels
    }

    /// The ticks whose labels fit side by side on a horizontal axis, each with the center of its
    /// label. Starts at the first tick and skips any that is too close to the last one kept.
    pub(crate) fn fitting(&self) -> Vec<(&Tick, f64)> {
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

/// Draws the labels of a horizontal axis, vertically centered on `y`.
pub(crate) fn labels_along(canvas: &Canvas, axis: &DrawnAxis, y: f64) {
    for (tick, middle) in axis.fitting() {
        canvas.text(&tick.label, (middle, y), Anchor::Middle, FAINT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_logarithmic_axis_has_a_few_ticks(least in 1e-3f64..1e12, ratio in 1f64..1e9) {
            let axis = DrawnAxis::log(least, least * ratio, |value| value.to_string());
            prop_assert!((2..=TICKS_MOST).contains(&axis.ticks.len()), "{:?}", axis.ticks);
            prop_assert!(axis.holds(least) && axis.holds(least * ratio));
        }
    }

    #[test]
    fn the_label_of_a_logarithmic_axis_says_so() {
        let say = |value: f64| value.to_string();
        for (label, expected) in [("threads", "threads (log)"), ("time (slow)", "time (slow, log)")]
        {
            assert_eq!(DrawnAxis::log(1.0, 10.0, say).of_what(label).label(), expected);
            assert_eq!(DrawnAxis::from_zero(10.0, say).of_what(label).label(), label);
        }
    }
}
