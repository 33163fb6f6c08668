//! The time series of a rate: steady, or with a step.
//!
//! The rates count bytes that were read, or whose writes were acknowledged. A trial's final sync
//! comes after its last byte. It affects the rates only if trials follow each other, because what
//! one trial leaves to the device delays the next.

use crate::counted::{a_second, timed_ns};
use crate::curve::{Curve, STEP_MISSING, full_steps};
use crate::form::{As, Seconds};
use crate::measured::Measured;
use crate::middle::mean;
use crate::permutation::{RARE, is_rare_split};
use crate::stats::median;
use model::case::{Case, Op, Work, WriteWork};
use model::sample::{PROGRESS_NS, Sample};
use model::trial::Trial;
use schemars::JsonSchema;
use serde::Serialize;

/// The time series of a case's rate.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TimeSeries {
    /// Duration of a step in seconds; the mean, if each step is a trial.
    #[serde(rename = "step_s", with = "As::<Seconds>")]
    pub step_ns: u64,
    /// Bytes per second in each step. If trials follow each other without a pause, they form one
    /// series; otherwise, each step has the median over the trials. If each of those trials ends
    /// with its only sync, a step is a trial, including that sync.
    pub rates: Vec<f64>,
    /// The index of the last step of the first window of five steps that met the SNIA's limits for
    /// a steady state (docs/method); null if none did, or with fewer than five steps.
    // The outer `None` means fewer than five steps.
    #[serde(rename = "snia_5_at_step")]
    pub snia: Option<Option<usize>>,
    /// Whether ten steps also meet them: the last ten. If trials follow each other, it is the last
    /// full window of ten seconds, or of ten trials. Null with fewer than ten steps.
    pub is_steady: Option<bool>,
    /// The throughput of that window in bytes per second, if trials follow each other until they
    /// are steady: the sustained figure.
    pub sustained: Option<f64>,
    /// The step in the rate, if there is one.
    pub change: Option<Change>,
}

/// A step in a rate: one level before, another after.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Change {
    /// Bytes per second before.
    pub before: f64,
    /// Bytes per second after.
    pub after: f64,
    /// Bytes moved before the step.
    pub at_bytes: u64,
    /// Seconds from the start to the step.
    #[serde(rename = "at_s", with = "As::<Seconds>")]
    pub at_ns: u64,
}

/// Maximum number of steps in a time series.
const STEPS_MOST: f64 = 60.0;
/// Minimum number of steps in a time series.
const STEPS_LEAST: usize = 5;
/// The shortest step of a series that is long enough to judge (docs/method).
pub(crate) const JUDGED_NS: u64 = 500_000_000;
/// Number of steps in a window that decides whether a rate is steady (docs/method).
pub(crate) const WINDOW: usize = 10;
/// The shortest step of such a window if trials follow each other.
const SUSTAIN_NS: u64 = 1_000_000_000;
/// Number of steps in the SNIA's window.
pub(crate) const SNIA_WINDOW: usize = 5;
/// Maximum range of a steady window, relative to its mean (SNIA).
const RANGE_MOST: f64 = 0.20;
/// Maximum rise or fall of the line fitted to a steady window, relative to its mean (SNIA).
const EXCURSION_MOST: f64 = 0.10;
/// Minimum number of operations, passes or syncs per step. Their number can differ by one between
/// steps; with this many, that is half of [`RANGE_MOST`].
const LUMPS_LEAST: f64 = 10.0;
/// If mapping or loading takes more than this share of the time, each pass counts as one unit.
const LOADING_MOST: f64 = 0.05;

impl TimeSeries {
    /// The time series of a case. `None` with fewer than five steps, if the workers reported no
    /// progress, or if a step would contain too few operations.
    pub(crate) fn of(measured: &Measured) -> Option<TimeSeries> {
        let samples: Vec<&Sample> = measured.trials.iter().map(|trial| trial.sample).collect();
        let is_sustained = measured.sustain.is_some();
        let SteppedCurves { step_ns, curves, each } = if is_sustained {
            SteppedCurves::one_after_another(measured.case, &samples)?
        } else {
            SteppedCurves::of_each(measured.case, &samples)?
        };
        let rates = medians(&each);
        if rates.len() < STEPS_LEAST {
            return None;
        }
        let window = if is_sustained {
            last_window(measured.case, &samples)
        } else {
            rates.len().checked_sub(WINDOW).map(|first| rates[first..].to_vec())
        };
        let is_steady = window.as_deref().map(is_within_limits);
        let steady = window.filter(|_| is_sustained && is_steady == Some(true));
        let changes = curves
            .iter()
            .zip(&each)
            .filter_map(|(curve, rates)| Some(change(curve, rates, split(rates)?, step_ns)));
        Some(TimeSeries {
            step_ns,
            snia: Some(first_steady(&rates)),
            is_steady,
            sustained: steady.map(|window| mean(&window)),
            change: agreed(changes.collect(), curves.len()),
            rates,
        })
    }

    /// The rate at the end of trials that follow each other: of the last steady window, or after
    /// the step. `None` if neither is there.
    fn end(&self) -> Option<f64> {
        self.sustained.or(self.change.map(|change| change.after))
    }
}

/// The rate at the end of the trials of `--sustain`, divided by their mean; `None` without, and if
/// it is not known.
pub(crate) fn end_to_mean(measured: &Measured) -> Option<f64> {
    measured.sustain?;
    let end = TimeSeries::of(measured)?.end()?;
    let rates: Vec<f64> = measured.trials.iter().map(|trial| trial.rate).collect();
    Some(end / mean(&rates)).filter(|ratio| ratio.is_finite() && *ratio > 0.0)
}

impl Change {
    /// Whether the rate is higher after the step.
    pub fn is_rise(&self) -> bool {
        self.after > self.before
    }
}

/// Curves divided into steps.
#[derive(Debug)]
struct SteppedCurves {
    step_ns: u64,
    curves: Vec<Curve>,
    /// For each curve, bytes per second in each step.
    each: Vec<Vec<f64>>,
}

impl SteppedCurves {
    /// Each trial by itself.
    fn of_each(case: &Case, samples: &[&Sample]) -> Option<SteppedCurves> {
        let curves = samples.iter().copied().map(Curve::of).collect();
        SteppedCurves::cut(curves, lump_ns(case, samples)?)
    }

    /// All trials in sequence as one curve.
    fn one_after_another(case: &Case, samples: &[&Sample]) -> Option<SteppedCurves> {
        let curve = Curve::one_after_another(case, samples);
        if !ends_with_only_sync(case, samples) {
            return SteppedCurves::cut(vec![curve], lump_ns(case, samples)?);
        }
        let step_ns = (curve.length_ns() / samples.len() as u64).max(1);
        Some(SteppedCurves { step_ns, curves: vec![curve], each: vec![trial_rates(case, samples)] })
    }

    fn cut(curves: Vec<Curve>, lump_ns: f64) -> Option<SteppedCurves> {
        let longest_ns = curves.iter().map(Curve::length_ns).max()?;
        let step_ns = step_ns(longest_ns, lump_ns);
        let each = curves.iter().map(|curve| curve.rates(step_ns)).collect();
        Some(SteppedCurves { step_ns, curves, each })
    }
}

/// The trials of a case that follow each other as one curve, and the nanoseconds of the unit that
/// makes its rate uneven. `None` if either is unknown, or a step is a whole trial.
pub(crate) fn sequence(measured: &Measured) -> Option<(Curve, f64)> {
    measured.sustain?;
    let samples: Vec<&Sample> = measured.trials.iter().map(|trial| trial.sample).collect();
    if ends_with_only_sync(measured.case, &samples) {
        return None;
    }
    let lump_ns = lump_ns(measured.case, &samples)?;
    Some((Curve::one_after_another(measured.case, &samples), lump_ns))
}

/// Whether each trial ends with its only sync, which makes everything durable. Shorter steps cannot
/// show how much of the work falls on that sync.
fn ends_with_only_sync(case: &Case, samples: &[&Sample]) -> bool {
    let is_one = |work: &WriteWork| {
        work.op != Op::Sync && work.sync.claims_durable() && work.sync.is_call() && work.every == 0
    };
    case.write().is_some_and(is_one) && samples.iter().any(|sample| sample.synced_ns().is_some())
}

/// Each trial's bytes per second, including its sync.
fn trial_rates(case: &Case, samples: &[&Sample]) -> Vec<f64> {
    let rate = |sample: &&Sample| a_second(sample.bytes(), timed_ns(case, sample));
    samples.iter().filter_map(rate).collect()
}

/// Whether a case whose trials follow each other needs no more trials: the last full window of ten
/// steps meets both limits (docs/method). A step is a second, or longer if it would contain few
/// operations. If each trial ends with its only sync, a step is a whole trial including the sync.
/// Failed trials are ignored.
pub fn is_steady(case: &Case, trials: &[Trial]) -> bool {
    let samples: Vec<&Sample> = trials.iter().filter_map(Trial::sample).collect();
    last_window(case, &samples).is_some_and(|window| is_within_limits(&window))
}

/// The rates of the last ten steps that form whole windows, with the trials in sequence.
fn last_window(case: &Case, samples: &[&Sample]) -> Option<Vec<f64>> {
    let rates = if ends_with_only_sync(case, samples) {
        trial_rates(case, samples)
    } else {
        let step_ns = whole_step(lump_ns(case, samples)? * LUMPS_LEAST).max(SUSTAIN_NS);
        Curve::one_after_another(case, samples).rates(step_ns)
    };
    let end = rates.len() / WINDOW * WINDOW;
    Some(rates[end.checked_sub(WINDOW)?..end].to_vec())
}

/// Duration in nanoseconds of the unit that makes the rate uneven: an operation, everything between
/// two syncs, or a pass over memory or over a file loaded before each pass. `None` if unknown.
fn lump_ns(case: &Case, samples: &[&Sample]) -> Option<f64> {
    let told = samples.iter().all(|sample| sample.spans.iter().any(|s| !s.progress.is_empty()));
    let total = |value: fn(&Sample) -> u64| -> f64 {
        samples.iter().map(|sample| value(sample) as f64).sum()
    };
    let (ns, bytes) = (total(Sample::elapsed_ns), total(Sample::bytes));
    let lumps = match &case.work {
        _ if case.is_null() => return None,
        // The schedule decides the rate, and its steps are uneven by chance.
        _ if case.is_open() => return None,
        Work::Read(work) if total(loading_ns) > LOADING_MOST * ns => bytes / work.io.size as f64,
        Work::Write(work) if work.every > 0 => {
            total(Sample::ops) / work.every as f64 / f64::from(work.io.threads)
        }
        Work::Read(_) | Work::Write(_) | Work::Metadata(_) => total(Sample::ops),
        Work::Memory(work) => bytes / work.working_set as f64,
        Work::Command(_) => return None,
    };
    (told && bytes > 0.0 && lumps > 0.0).then(|| ns / lumps)
}

fn loading_ns(sample: &Sample) -> u64 {
    sample.spans.iter().map(|span| span.load_ns).max().unwrap_or(0)
}

/// The step for a series of this length.
pub(crate) fn step_ns(length_ns: u64, lump_ns: f64) -> u64 {
    let least = if full_steps(length_ns, JUDGED_NS) >= WINDOW { JUDGED_NS } else { PROGRESS_NS };
    let wanted = (length_ns as f64 / STEPS_MOST).max(lump_ns * LUMPS_LEAST);
    whole_step(wanted).max(least)
}

/// The next multiple of the progress step.
fn whole_step(ns: f64) -> u64 {
    let steps = (ns / PROGRESS_NS as f64 - STEP_MISSING).ceil().max(1.0);
    PROGRESS_NS.saturating_mul(steps as u64)
}

/// The step in the `rates` of a curve at index `at`.
pub(crate) fn change(curve: &Curve, rates: &[f64], at: usize, step_ns: u64) -> Change {
    let (before, after) = rates.split_at(at);
    let at_ns = at as u64 * step_ns;
    let at_bytes = curve.bytes_at(at_ns).round() as u64;
    // Where the step lies within one of the parts, that part is of neither level.
    let level = |part: &[f64]| median(part).unwrap_or(0.0);
    Change { before: level(before), after: level(after), at_bytes, at_ns }
}

/// The median of each step that at least half of the trials have.
fn medians(each: &[Vec<f64>]) -> Vec<f64> {
    let longest = each.iter().map(Vec::len).max().unwrap_or(0);
    let of_step = |step| -> Vec<f64> { each.iter().filter_map(|r| r.get(step)).copied().collect() };
    let steps = (0..longest).map(of_step).take_while(|of_step| 2 * of_step.len() >= each.len());
    steps.filter_map(|of_step| median(&of_step)).collect()
}

/// The last step of the first SNIA window that meets both limits.
fn first_steady(rates: &[f64]) -> Option<usize> {
    let first = rates.windows(SNIA_WINDOW).position(is_within_limits)?;
    Some(first + SNIA_WINDOW - 1)
}

/// Whether the range and the fitted line of a window are within the SNIA's limits.
pub fn is_within_limits(window: &[f64]) -> bool {
    let mean = mean(window);
    range(window) <= RANGE_MOST * mean && excursion(window).abs() <= EXCURSION_MOST * mean
}

/// By how much the highest of these rates exceeds the lowest.
pub(crate) fn range(rates: &[f64]) -> f64 {
    let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
    rates.iter().copied().fold(0.0, f64::max) - least
}

/// How much the line fitted to the values rises from the first to the last.
pub(crate) fn excursion(values: &[f64]) -> f64 {
    slope(values) * (values.len() - 1) as f64
}

/// How much the least-squares line rises from one value to the next.
fn slope(values: &[f64]) -> f64 {
    let (mid, mean) = ((values.len() - 1) as f64 / 2.0, mean(values));
    let from_mid = || (0..values.len()).map(|index| index as f64 - mid);
    let rise: f64 = from_mid().zip(values).map(|(x, value)| x * (value - mean)).sum();
    let square: f64 = from_mid().map(|x| x * x).sum();
    rise / square
}

/// Minimum number of steps on each side of a step in the rate (docs/method).
const SIDE_LEAST: usize = 3;
/// Maximum ratio of the lower level to the higher (docs/method).
pub(crate) const LOWER_MOST: f64 = 0.8;
/// If either side drifts by this share of the step or more, it is a drift rather than a step.
const DRIFT_MOST: f64 = 0.5;

/// The index of the first rate after a step, if there is one. The least-squares split into two
/// levels must have levels far enough apart and no drift on either side. It must also be better
/// than in most permutations of the same rates.
pub fn split(rates: &[f64]) -> Option<usize> {
    split_by(rates, LOWER_MOST, RARE)
}

/// The same with other limits: `lower_most` is the maximum ratio of the lower level to the higher.
/// `p` is the maximum share of permutations that are as good.
pub(crate) fn split_by(rates: &[f64], lower_most: f64, p: f64) -> Option<usize> {
    let at = best_split(rates)?;
    let (before, after) = rates.split_at(at);
    let levels = (mean(before), mean(after));
    let (low, high) = (levels.0.min(levels.1), levels.0.max(levels.1));
    let drifts = |side: &[f64]| excursion(side).abs() >= DRIFT_MOST * (high - low);
    if low > lower_most * high || drifts(before) || drifts(after) {
        return None;
    }
    let (centered, n) = (centered(rates), rates.len());
    is_rare_split(&centered, SIDE_LEAST, |at, sum| explained(n, at, sum), p).then_some(at)
}

/// The split into two levels with the least squares.
fn best_split(rates: &[f64]) -> Option<usize> {
    let (centered, n) = (centered(rates), rates.len());
    let explained = |at: &usize| explained(n, *at, centered[..*at].iter().sum());
    let places = SIDE_LEAST..(n + 1).saturating_sub(SIDE_LEAST);
    places.max_by(|a, b| explained(a).total_cmp(&explained(b)))
}

/// The difference of each rate from their mean.
fn centered(rates: &[f64]) -> Vec<f64> {
    let mean = mean(rates);
    rates.iter().map(|rate| rate - mean).collect()
}

/// The sum of squares that a split of `n` rates explains. `sum` is by how much the first `at` of
/// them exceed the overall mean in total.
fn explained(n: usize, at: usize, sum: f64) -> f64 {
    let (n, at) = (n as f64, at as f64);
    sum * sum * n / (at * (n - at))
}

/// The step that at least half of `trials` share: in the same direction, and at the same number of
/// bytes within a factor of two. Returns the medians of those.
fn agreed(changes: Vec<Change>, trials: usize) -> Option<Change> {
    let (rises, falls): (Vec<Change>, Vec<Change>) = changes.iter().partition(|c| c.is_rise());
    let mut alike = if rises.len() > falls.len() { rises } else { falls };
    let median_of = |changes: &[Change], value: fn(&Change) -> f64| {
        median(&changes.iter().map(value).collect::<Vec<f64>>())
    };
    let middle = median_of(&alike, |change| change.at_bytes as f64)?;
    alike.retain(|change| (middle / 2.0..=middle * 2.0).contains(&(change.at_bytes as f64)));
    if 2 * alike.len() < trials {
        return None;
    }
    Some(Change {
        before: median_of(&alike, |change| change.before)?,
        after: median_of(&alike, |change| change.after)?,
        at_bytes: median_of(&alike, |change| change.at_bytes as f64)?.round() as u64,
        at_ns: median_of(&alike, |change| change.at_ns as f64)?.round() as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::noise::noisy;
    use model::random::Rng;
    use proptest::prelude::*;

    const SERIES: usize = 400;

    /// The share of many series for which `holds` is true.
    fn share(mut series: impl FnMut(&mut Rng) -> Vec<f64>, holds: impl Fn(&[f64]) -> bool) -> f64 {
        let mut rng = Rng::new(7);
        let count = (0..SERIES).filter(|_| holds(&series(&mut rng))).count();
        count as f64 / SERIES as f64
    }

    fn flat(_: usize) -> f64 {
        1e8
    }

    /// Falls by `percent` of the remainder in each step.
    fn decay(percent: f64) -> impl Fn(usize) -> f64 {
        move |step| 1e8 * (1.0 - percent / 100.0).powf(step as f64)
    }

    /// The shares in docs/method.
    #[test]
    fn ten_steps_tell_a_drift_from_noise() {
        let steady = |level: &dyn Fn(usize) -> f64, steps, variation| {
            share(|rng| noisy(rng, steps, level, variation, 0.0), is_within_limits)
        };
        assert!(steady(&flat, WINDOW, 0.03) >= 0.99);
        assert!((0.80..0.90).contains(&steady(&flat, WINDOW, 0.05)));
        assert!(steady(&decay(1.0), WINDOW, 0.01) > 0.75);
        assert!(steady(&decay(2.0), WINDOW, 0.01) < 0.01);
        // Five steps let the same decay pass, so ten decide.
        assert!(steady(&decay(2.0), SNIA_WINDOW, 0.01) > 0.90);
    }

    /// docs/method: 98 of 100 noise series have no step, and 95 if each value depends on the one
    /// before.
    #[test]
    fn noise_has_no_step() {
        let found = |steps, variation, memory| {
            share(|rng| noisy(rng, steps, flat, variation, memory), |r| split(r).is_some())
        };
        for steps in [10, 30, 60] {
            let white = found(steps, 0.10, 0.0);
            assert!(white < 0.02, "{steps} steps: {white}");
            let ar = found(steps, 0.10, 0.7);
            assert!(ar < 0.05, "{steps} steps that depend on each other: {ar}");
        }
        // With twice the swing, it looks like steps, because it has some.
        let wild = found(30, 0.20, 0.7);
        assert!((0.05..0.25).contains(&wild), "{wild}");
    }

    #[test]
    fn a_drift_is_no_step() {
        for fall in [0.2, 0.5, 0.8] {
            let level = |step: usize| 1e8 * (1.0 - fall * step as f64 / 29.0);
            let found = share(|rng| noisy(rng, 30, level, 0.05, 0.0), |r| split(r).is_some());
            assert!(found < 0.02, "a fall by {fall}: {found}");
        }
    }

    #[test]
    fn a_step_is_found_where_it_is() {
        for at in [3, 10, 15, 27] {
            let level = |step| if step < at { 50e6 } else { 15e6 };
            let right = share(|rng| noisy(rng, 30, level, 0.05, 0.0), |r| split(r) == Some(at));
            assert!(right > 0.95, "at step {at}: {right}");
        }
        // Three of ten steps come first in one of 120 permutations, which is not rare enough.
        for (at, expected) in [(3, 0.0), (4, 1.0), (5, 1.0), (6, 1.0), (7, 0.0)] {
            let level = |step| if step < at { 50e6 } else { 15e6 };
            let found = share(|rng| noisy(rng, 10, level, 0.05, 0.0), |r| split(r) == Some(at));
            assert!((found - expected).abs() < 0.05, "at step {at} of ten: {found}");
        }
    }

    #[test]
    fn levels_must_differ_by_a_fifth() {
        let steps = |after: f64| [vec![100.0; 15], vec![after; 15]].concat();
        for (after, expected) in
            [(79.9, Some(15)), (80.1, None), (126.0, Some(15)), (124.0, None), (100.0, None)]
        {
            assert_eq!(split(&steps(after)), expected, "{after}");
        }
        assert_eq!(split(&steps(50.0)[13..18]), None, "two steps are not a level");
        assert_eq!(split(&[]), None);
        assert_eq!(split(&[0.0; 30]), None);
    }

    /// Three of twelve rounds are as rare at the start as at the end, whatever random shuffles
    /// show.
    #[test]
    fn a_step_is_as_rare_in_reverse() {
        for (at, expected) in [(3, Some(3)), (4, Some(4)), (6, Some(6)), (9, Some(9))] {
            let rates: Vec<f64> = (0..12).map(|n| if n < at { 100.0 } else { 40.0 }).collect();
            assert_eq!(split(&rates), expected);
            let mirrored: Vec<f64> = rates.iter().rev().copied().collect();
            assert_eq!(split(&mirrored), expected.map(|at| 12 - at));
        }
    }

    /// The squares that remain with one level minus those that remain after the split.
    fn naive_explained(rates: &[f64], at: usize) -> f64 {
        let left = |part: &[f64]| part.iter().map(|r| (r - mean(part)).powi(2)).sum::<f64>();
        left(rates) - left(&rates[..at]) - left(&rates[at..])
    }

    proptest! {
        /// The direction of time does not matter, for few rates, whose permutations are counted,
        /// and for many.
        #[test]
        fn a_course_in_reverse_has_the_same_step(
            n in 6usize..40, at in 3usize..37, fall in 0.0f64..0.9, seed in 0u64..1_000_000
        ) {
            let level = |step| if step < at { 1e8 } else { 1e8 * (1.0 - fall) };
            let rates = noisy(&mut Rng::new(seed), n, level, 0.15, 0.0);
            let mirrored: Vec<f64> = rates.iter().rev().copied().collect();
            prop_assert_eq!(split(&rates), split(&mirrored).map(|at| n - at));
        }

        #[test]
        fn the_best_split_leaves_the_least(rates in proptest::collection::vec(0.0f64..1e3, 6..40)) {
            let at = best_split(&rates).expect("there are six");
            let explained = naive_explained(&rates, at);
            for other in SIDE_LEAST..=rates.len() - SIDE_LEAST {
                prop_assert!(naive_explained(&rates, other) <= explained + 1e-3);
            }
        }
    }

    fn changed(after: f64, at_bytes: u64) -> Change {
        Change { before: 100.0, after, at_bytes, at_ns: at_bytes }
    }

    #[test]
    fn half_of_the_trials_must_agree_on_a_step() {
        let near = [changed(50.0, 800), changed(52.0, 1000), changed(54.0, 1200)];
        assert_eq!(agreed(near.to_vec(), 6), Some(changed(52.0, 1000)));
        assert_eq!(agreed(near.to_vec(), 7), None);
        let far = [changed(50.0, 100), changed(50.0, 1000), changed(50.0, 10_000)];
        assert_eq!(agreed(far.to_vec(), 3), None);
        let opposed = [changed(50.0, 1000), changed(150.0, 1000)];
        assert_eq!(agreed(opposed.to_vec(), 2), Some(opposed[0]));
        assert_eq!(agreed(opposed.to_vec(), 3), None);
        assert_eq!(agreed(Vec::new(), 0), None);
    }

    #[test]
    fn a_long_course_has_long_steps() {
        for (length_ms, expected_ms) in [
            (900, 100),
            (4_900, 100),
            (5_000, 500),
            (30_000, 500),
            (30_003, 500),
            (31_000, 600),
            (600_000, 10_000),
        ] {
            let step_ns = step_ns(length_ms * 1_000_000, 1.0);
            assert_eq!(step_ns, expected_ms * 1_000_000, "{length_ms} ms");
            assert!(full_steps(length_ms * 1_000_000, step_ns) <= 60, "{length_ms} ms");
        }
        assert_eq!(step_ns(900_000_000, 15e6), 200_000_000);
    }
}
