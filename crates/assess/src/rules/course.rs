//! Whether the rate was the same from the first second to the last.

use super::context::{Context, Fault};
use crate::course::{Change, Course};
use crate::finding::Severity;
use crate::stats::median;
use model::case::Work;
use model::units::{nanoseconds, percent, rate, scaled};
use std::time::Duration;

/// Fewer steps than this are not judged (METHODOLOGY.md).
const STEPS_LEAST: usize = 10;
/// Shorter steps than this show every stall, and are not judged (METHODOLOGY.md).
const STEP_NS_LEAST: u64 = 500_000_000;
/// A rise within this share of the course is a start (METHODOLOGY.md).
const START: f64 = 0.3;

/// The rate drifts, or swings, and there is no step in it (METHODOLOGY.md).
pub(super) fn transient(context: &Context) -> Option<Fault> {
    let course = context.summary.course.as_ref();
    if let Some(budget) = context.measured.sustain {
        return not_sustained(context, course, budget);
    }
    let course = course?;
    let is_judged = course.rates.len() >= STEPS_LEAST && course.step_ns >= STEP_NS_LEAST;
    if !is_judged || course.is_steady != Some(false) || course.change.is_some() {
        return None;
    }
    let message = format!("the rate is not steady: {}", drift(course)?);
    let remedy = "measure until it is steady, with --sustain; until then a longer or a shorter \
                  trial has another figure";
    Fault::new(Severity::Doubt, message, remedy)
}

/// It was to go on until it is steady, and was not when the time was over; or nobody can say.
fn not_sustained(context: &Context, course: Option<&Course>, budget: Duration) -> Option<Fault> {
    let is_steady = course.and_then(|course| course.is_steady);
    let moves = match context.measured.case.work {
        Work::File(_) => context.file().is_some(),
        Work::Write(_) => context.write().is_some(),
        Work::Memory(_) => true,
    };
    if is_steady == Some(true) || !moves {
        return None;
    }
    let how = match course.filter(|_| is_steady == Some(false)) {
        Some(course) => format!("was not steady then: {}", drift(course)?),
        None => "made too few steps to say that it is steady".to_string(),
    };
    let most = nanoseconds(budget.as_nanos() as f64);
    let message = format!("it was to go on for at most {most} and {how}");
    Fault::new(Severity::Doubt, message, "give --sustain a longer time")
}

/// How the rate goes, in words: its trend, and how it begins and ends.
fn drift(course: &Course) -> Option<String> {
    let rates = &course.rates;
    let third = rates.len() / 3;
    let (first, last) = (median(&rates[..third])?, median(&rates[rates.len() - third..])?);
    Some(format!(
        "a trend of {:+.1} % a minute over {}, from {} in the first third to {} in the last",
        100.0 * course.trend_a_minute(),
        nanoseconds(course.step_ns as f64 * rates.len() as f64),
        rate(first),
        rate(last),
    ))
}

/// The rate has a step: so much until then, and so much from then on (METHODOLOGY.md).
pub(super) fn step_change(context: &Context) -> Option<Fault> {
    let course = context.summary.course.as_ref()?;
    let Change { before, after, at_bytes, at_ns } = course.change?;
    let (before, after) = (rate(before), rate(after));
    let place = format!("{}B, after {}", scaled(at_bytes as f64), nanoseconds(at_ns as f64));
    let length_ns = course.step_ns as f64 * course.rates.len() as f64;
    if course.change?.is_rise() && at_ns as f64 <= START * length_ns {
        let share = percent(at_ns as f64 / length_ns);
        let message =
            format!("it begins slowly: {before} until {place} ({share} of the time), then {after}");
        let remedy = "give it more time, so that the start weighs less";
        return Fault::new(Severity::Note, message, remedy);
    }
    let what = if course.change?.is_rise() { "" } else { "a burst of " };
    let likely = if course.change?.is_rise() {
        "something stopped that held it back: others, a throttle, a cache that had to be emptied"
    } else {
        "a cache may be full (an SSD's fast part, the dirty pages that the OS allows), credits be \
         used up, or a throttle begin"
    };
    let message = format!("{what}{before} until {place}, then {after}: {likely}");
    if course.sustained.is_some() {
        let remedy = "read the sustained rate; the throughput mixes both";
        return Fault::new(Severity::Note, message, remedy);
    }
    let message = format!("{message}; the throughput mixes both");
    let remedy = "measure with --sustain, and read the rate after the step";
    Fault::new(Severity::Doubt, message, remedy)
}
