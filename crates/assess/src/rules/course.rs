//! Whether the rate was the same from the first second to the last.

use super::context::{Context, Draft, RuleTable, graded};
use crate::counted::Counted;
use crate::course::{Change, TimeSeries};
use crate::finding::{Code, Severity};
use crate::rounds::{TwoLevels, drift};
use crate::stats::median;
use crate::summary::ServedBy;
use model::case::{Advice, Cache, Op, ReadWork, Sync};
use model::pattern::Pattern;
use model::sample::Latencies;
use model::units::{nanoseconds, percent, scaled};
use std::time::Duration;

/// The rules of this module.
pub(super) const RULES: RuleTable = &[
    (Code::Stalled, stalled),
    (Code::Transient, transient),
    (Code::StepChange, step_change),
    (Code::Drifting, drifting),
];

/// Fewer steps than this are not judged (docs/method).
const STEPS_LEAST: usize = 10;
/// Shorter steps show every stall, and are not judged (docs/method).
const STEP_NS_LEAST: u64 = 500_000_000;
/// A rise within this first share of the time series is a slow start (docs/method).
const START: f64 = 0.3;

/// The rate drifts or swings, without a step change (docs/method).
fn transient(context: &Context) -> Option<Draft> {
    let course = context.summary.course.as_ref();
    if let Some(budget) = context.measured.sustain {
        return not_sustained(context, course, budget);
    }
    let course = course?;
    let is_judged = course.rates.len() >= STEPS_LEAST && course.step_ns >= STEP_NS_LEAST;
    if !is_judged || course.is_steady != Some(false) || course.change.is_some() {
        return None;
    }
    let message = format!("the rate is not steady: {}", trend(context, course)?);
    let remedy = "measure until it is steady, with --sustain; a longer or shorter trial has \
                  another figure";
    Draft::sized(swing(course), Severity::Doubt, message, remedy)
}

/// How to give a case more time whose trials are pieces of one.
const WITH_TIME: &str = "with --for in the recipe steady, with --sustain in others";

/// The time of `--sustain` ended before the rate was steady, or before that could be determined.
fn not_sustained(
    context: &Context,
    course: Option<&TimeSeries>,
    budget: Duration,
) -> Option<Draft> {
    let is_steady = course.and_then(|course| course.is_steady);
    if is_steady == Some(true) || !context.moves() {
        return None;
    }
    let how = match course.filter(|_| is_steady == Some(false)) {
        Some(course) => format!("was not steady then: {}", trend(context, course)?),
        None => "has too few steps to tell".to_string(),
    };
    let most = nanoseconds(budget.as_nanos() as f64);
    let message = format!("the run ended after {most}, its time limit, and the rate {how}");
    let swing = course.filter(|_| is_steady == Some(false)).and_then(swing);
    Draft::sized(swing, Severity::Doubt, message, &format!("give it more time, {WITH_TIME}"))
}

/// A time series in words: how it starts and ends, and between which rates it swings. Nothing about
/// what follows.
fn trend(context: &Context, course: &TimeSeries) -> Option<String> {
    let rates = &course.rates;
    let (first, last) = thirds(rates)?;
    let (least, most) = bounds(rates);
    Some(format!(
        "{} in the first third of {}, {} in the last (steps of {}: {} to {})",
        context.rate(first),
        nanoseconds(course.step_ns as f64 * rates.len() as f64),
        context.rate(last),
        nanoseconds(course.step_ns as f64),
        context.rate(least),
        context.rate(most),
    ))
}

/// The lowest and the highest rate.
fn bounds(rates: &[f64]) -> (f64, f64) {
    let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
    (least, rates.iter().copied().fold(0.0, f64::max))
}

/// How far apart these are; `None` if the rate was zero in a step.
fn swing(course: &TimeSeries) -> Option<f64> {
    let (least, most) = bounds(&course.rates);
    Some(apart(least, most)).filter(|times| times.is_finite())
}

/// How many times the smaller of two rates the larger is.
fn apart(one: f64, other: f64) -> f64 {
    one.max(other) / one.min(other)
}

/// The medians of the first and of the last third.
fn thirds(rates: &[f64]) -> Option<(f64, f64)> {
    let third = rates.len() / 3;
    Some((median(&rates[..third])?, median(&rates[rates.len() - third..])?))
}

/// The rate changes once, within trials or from round to round (docs/method).
fn step_change(context: &Context) -> Option<Draft> {
    step_within(context).or_else(|| step_between(context))
}

fn step_within(context: &Context) -> Option<Draft> {
    let course = context.summary.course.as_ref()?;
    let Change { before, after, at_bytes, at_ns } = course.change?;
    let times = apart(before, after);
    let (before, after) = (context.rate(before), context.rate(after));
    let unit = if context.measured.case.metadata().is_some() { " names" } else { "B" };
    let place = format!("{}{unit}, after {}", scaled(at_bytes as f64), nanoseconds(at_ns as f64));
    let length_ns = course.step_ns as f64 * course.rates.len() as f64;
    if course.change?.is_rise() && at_ns as f64 <= START * length_ns {
        let share = percent(at_ns as f64 / length_ns);
        let message =
            format!("slow start: {before} until {place} ({share} of the time), then {after}");
        let remedy = "give it more time, so that the start counts less";
        return Draft::sized(times, Severity::Note, message, remedy);
    }
    let writes = context.measured.case.write().is_some();
    let what = if course.change?.is_rise() { "" } else { "a burst of " };
    let likely = match (course.change?.is_rise(), writes) {
        (true, _) => {
            "something stopped slowing it: a noisy neighbor, a throttle, a cache that had to be \
             emptied"
        }
        (false, true) => {
            "a cache may be full (an SSD's fast part, the dirty pages that the OS allows), credits \
             may be used up, or a throttle may have begun"
        }
        (false, false) => {
            "a cache of the device or its host may be exhausted, credits may be used up, or a \
             throttle may have begun"
        }
    };
    let message = format!("{what}{before} until {place}, then {after}: {likely}");
    if context.measured.end_to_mean.is_some() {
        let message = format!("{message}; the figures are those of the end");
        let is_steady = course.sustained.is_some();
        let severity = if is_steady { Severity::Note } else { Severity::Doubt };
        let remedy = format!("give it more time, {WITH_TIME}, to see how it goes on");
        return Draft::sized(times, severity, message, &remedy);
    }
    let message = format!("{message}; the throughput mixes both");
    let remedy = if writes {
        "measure with --sustain, and use the rate after the step"
    } else {
        "read a larger file for longer (--size, --time), and use the rate after the step"
    };
    Draft::sized(times, Severity::Doubt, message, remedy)
}

/// The rates of the rounds in order, or of several invocations, whose rounds are not independent;
/// none with `--sustain`, whose trials are not rounds.
fn rates_of_rounds(context: &Context) -> Option<Vec<f64>> {
    let are_rounds = context.moves() && context.measured.sustain.is_none();
    are_rounds.then(|| context.measured.units())
}

fn parts(context: &Context) -> &'static str {
    let mut invocations = context.measured.trials.iter().map(|trial| trial.invocation);
    let first = invocations.next();
    if invocations.any(|other| Some(other) != first) { "invocations" } else { "rounds" }
}

/// The first rounds had another rate than the others.
fn step_between(context: &Context) -> Option<Draft> {
    let rates = rates_of_rounds(context)?;
    let TwoLevels { at, before, after } = TwoLevels::of(&rates)?;
    let (n, is_rise, times) = (rates.len(), after > before, apart(before, after));
    let [before, after] = [before, after].map(|level| context.rate(level));
    let parts = parts(context);
    let levels = format!("{before} in the first {at} of {n} {parts}, {after} in the others");
    if is_rise && at as f64 <= START * n as f64 {
        let message = format!("slow start: {levels}");
        let remedy = "let the machine run for a while first, or ask for more rounds";
        return Draft::sized(times, Severity::Note, message, remedy);
    }
    let likely = if is_rise {
        "it had to warm up, or something stopped slowing it"
    } else {
        "a cache may be full, credits may be used up, a throttle may have begun, or a noisy \
         neighbor may have started"
    };
    let figure = if context.measured.case.command().is_some() { "time" } else { "throughput" };
    let message = format!("{levels}: {likely}; the {figure} mixes both");
    let remedy = "find out what changed and run again; comparisons within rounds are valid";
    Draft::sized(times, Severity::Doubt, message, remedy)
}

/// Rounds depend on each other, without a step change (docs/method).
fn drifting(context: &Context) -> Option<Draft> {
    let rates = rates_of_rounds(context)?;
    let correlation = drift(&rates)?;
    if TwoLevels::of(&rates).is_some() {
        return None;
    }
    let (first, last) = thirds(&rates)?;
    let message = format!(
        "the {} depend on each other (autocorrelation {correlation:.2}), from {} in the first \
         third to {} in the last: the interval is too narrow{}",
        parts(context),
        context.rate(first),
        context.rate(last),
        match (last > first, context.measured.case.command().is_some()) {
            (true, true) => ", and it becomes faster, as in a warm-up",
            (true, false) => ", and the rate rises, as in a warm-up",
            (false, _) => "",
        }
    );
    let remedy = "ask for more rounds over a longer time; comparisons within rounds are valid";
    Draft::sized(correlation, Severity::Doubt, message, remedy)
}

/// A stall is at least this long (docs/method).
const STALL_NS_LEAST: f64 = 10e6;
/// A stall is at least this many times as long as the median operation (docs/method).
const STALL_MEDIANS: f64 = 100.0;
/// At most this share of the operations is "a few".
const STALLED_MOST: f64 = 0.10;
/// Stalls that take this share of the operations' time are noted (docs/method).
const STALL_NOTE: f64 = 0.01;
/// Stalls that take this share make the figure doubtful (docs/method).
const STALL_DOUBT: f64 = 0.10;

/// A few operations took much of the time (docs/method).
fn stalled(context: &Context) -> Option<Draft> {
    if !may_stall(context) {
        return None;
    }
    let median_ns = context.summary.latency.p50?.ns as f64;
    let least_ns = (STALL_MEDIANS * median_ns).max(STALL_NS_LEAST);
    let (mut all, mut stalls) = (Operations::default(), Operations::default());
    for trial in &context.measured.trials {
        all.add(&trial.sample.latencies, 0.0);
        stalls.add(&trial.sample.latencies, least_ns);
    }
    let is_few = stalls.count > 0 && stalls.count as f64 <= STALLED_MOST * all.count as f64;
    let share = stalls.ns / all.ns.max(1.0);
    let severity = graded(share, [STALL_NOTE, STALL_DOUBT]).filter(|_| is_few)?;
    let is_stalled = |trial: &Counted| {
        let mut part = Operations::default();
        part.add(&trial.sample.latencies, least_ns);
        part.count > 0
    };
    let arrivals = StalledArrivals::of(&context.measured.trials, least_ns, all.ns);
    let latencies = context.measured.trials.iter().map(|trial| &trial.sample.latencies);
    let longest_ns = latencies.map(|all| all.max_ns).max()?;
    let message = format!(
        "{} of {} operations took {} or more, up to {}, and together {} of all operations' time \
         (in {}). {}",
        stalls.count,
        all.count,
        nanoseconds(least_ns),
        nanoseconds(longest_ns as f64),
        percent(share),
        context.how_many(is_stalled),
        match context.measured.case.is_open() {
            true => "Its response times contain what these did to operations that fell due \
                     meanwhile"
                .to_string(),
            false => arrivals.told(),
        }
    );
    let remedy = "read the percentiles beside the throughput; the cause may be a device that \
                  cleans up, a journal, a throttle or a noisy neighbor";
    Draft::sized(share, severity, message, remedy)
}

/// The effect of stalls on an open load with steady requests. A closed loop sends nothing while it
/// waits, so its latencies count each stall once (docs/method).
#[derive(Debug)]
struct StalledArrivals {
    /// The share of the requests that arrive during a stall, 0 to 1.
    share: f64,
    /// The mean time that these wait until the stall ends.
    mean_ns: f64,
    /// One request in a hundred waits at least this long.
    hundredth_ns: f64,
}

impl StalledArrivals {
    /// From the operations of at least `least_ns`; all operations together took `all_ns`.
    fn of(trials: &[Counted], least_ns: f64, all_ns: f64) -> StalledArrivals {
        let counts = || trials.iter().flat_map(|trial| &trial.sample.latencies.counts);
        let stalls: Vec<(f64, f64)> = counts()
            .map(|(ns, count)| (*ns as f64, *count as f64))
            .filter(|(ns, _)| *ns >= least_ns)
            .collect();
        let sum = |part: &dyn Fn(f64) -> f64| -> f64 {
            stalls.iter().map(|(ns, count)| part(*ns) * count).sum()
        };
        // Requests that arrive in the first L - w of a stall of L wait for w or longer.
        let longer = |w: f64| sum(&|ns| (ns - w).max(0.0)) / all_ns.max(1.0);
        let (mut low, mut high) = (0.0, stalls.iter().map(|(ns, _)| *ns).fold(0.0, f64::max));
        for _ in 0..HALVINGS {
            let middle = (low + high) / 2.0;
            *(if longer(middle) > 0.01 { &mut low } else { &mut high }) = middle;
        }
        let stalled_ns = sum(&|ns| ns);
        StalledArrivals {
            share: stalled_ns / all_ns.max(1.0),
            mean_ns: sum(&|ns| ns * ns / 2.0) / stalled_ns.max(1.0),
            hundredth_ns: low,
        }
    }

    fn told(&self) -> String {
        format!(
            "If requests arrived steadily, {} of them would meet such a stall and wait {} for its \
             end on average; 1 in 100 of all would wait {} or longer, without the queue that \
             builds up meanwhile",
            percent(self.share),
            nanoseconds(self.mean_ns),
            nanoseconds(self.hundredth_ns)
        )
    }
}

/// Enough for any duration of a stall.
const HALVINGS: u32 = 60;

/// Whether a long operation is an exception. With readahead, one operation waits for many; and the
/// OS makes some writes through the page cache wait on purpose, which rule ThrottledWriteback
/// reports.
fn may_stall(context: &Context) -> bool {
    if let Some(work) = context.write() {
        return work.io.cache == Cache::Direct || work.sync == Sync::Dsync || work.op == Op::Sync;
    }
    let is_cached = context.is_served(&[ServedBy::PageCache, ServedBy::Ram]);
    let reads_alone = |work: &ReadWork| {
        let asks_ahead =
            matches!(work.advice, Advice::WillNeed | Advice::Populate | Advice::TouchAhead);
        let is_scattered = matches!(work.io.pattern, Pattern::Random | Pattern::Zipf);
        work.io.cache == Cache::Direct || (is_scattered && !asks_ahead)
    };
    context.read().is_some_and(|work| is_cached || reads_alone(work))
}

/// Some operations: their number and total time.
#[derive(Debug, Default)]
struct Operations {
    count: u64,
    ns: f64,
}

impl Operations {
    /// Adds those of at least `least_ns`.
    fn add(&mut self, latencies: &Latencies, least_ns: f64) {
        for (ns, count) in latencies.counts.iter().filter(|(ns, _)| *ns as f64 >= least_ns) {
            self.count = self.count.saturating_add(*count);
            self.ns += *ns as f64 * *count as f64;
        }
    }
}
