//! Whether writing becomes steady, and its cliff: from whole records with planted rates.

use super::noise::noisy;
use super::writing::{direct, flawless_write};
use super::{FILE, sample};
use crate::assess;
use crate::cliff::Cliff;
use crate::conclusions::steady::SteadyState;
use crate::decision::Decision;
use model::case::{Sync, WriteWork};
use model::random::Rng;
use model::record::Record;
use model::sample::PROGRESS_NS;
use model::trial::Trial;
use proptest::prelude::*;
use std::time::Duration;

const MB: f64 = 1e6;
/// Steps of progress in a second.
const SECOND: usize = 10;
/// Steps of progress in a trial of ten seconds.
const TRIAL: usize = 10 * SECOND;

/// Direct writes over a file of 1 GiB for whole trials, with these rates in each 100 ms.
fn record(rates: &[f64]) -> Record {
    let work = WriteWork { sync: Sync::None, ..direct() };
    let mut record = flawless_write(work);
    let first = record.trials[0].clone();
    record.header.plan.sustain = Some(Duration::from_secs(60));
    let of_rates = |(round, rates): (u32, &[f64])| {
        let mut trial = Trial { round, ..first.clone() };
        let progress: Vec<u64> = rates.iter().map(|rate| (rate / SECOND as f64) as u64).collect();
        let bytes = progress.iter().sum();
        let evidence = &mut trial.evidence;
        (evidence.task_write_bytes, evidence.device_write_bytes) = (Some(bytes), Some(bytes));
        let span = &mut sample(&mut trial).spans[0];
        (span.bytes, span.ops, span.progress) = (bytes, bytes >> 20, progress);
        span.end_ns = span.start_ns + PROGRESS_NS * rates.len() as u64;
        trial
    };
    record.trials = (0..).zip(rates.chunks(TRIAL)).map(of_rates).collect();
    record
}

fn state(rates: &[f64]) -> SteadyState {
    let mut assessment = assess(&record(rates));
    assert_eq!(assessment.conclusions.steady.len(), 1, "{:#?}", assessment.cases[0]);
    assessment.conclusions.steady.remove(0)
}

/// So many seconds at each rate in MB/s, with 1 % of noise.
fn levels(levels: &[(usize, f64)]) -> Vec<f64> {
    let all: Vec<f64> = levels
        .iter()
        .flat_map(|(seconds, rate)| std::iter::repeat_n(rate * MB, seconds * SECOND))
        .collect();
    noisy(&mut Rng::new(3), all.len(), |step| all[step], 0.01, 0.0)
}

fn cliff(rates: &[f64]) -> Option<Cliff> {
    state(rates).cliff
}

fn within(found: f64, expected: f64, share: f64) {
    assert!((found / expected - 1.0).abs() <= share, "{found} is not {expected}");
}

#[test]
fn an_even_rate_is_steady_once_the_file_is_preconditioned_and_has_no_cliff() {
    let state = state(&levels(&[(60, 200.0)]));
    assert_eq!((state.steady, state.cliff), (Decision::Yes, None));
    assert_eq!((state.rounds, state.round_ns), (60, Some(1_000_000_000)));
    // 2 GiB take 10.7 seconds.
    assert_eq!(state.preconditioning_bytes, 2 * FILE);
    assert_eq!(state.counts_from, Some(12));
    let since = state.since.expect("it is steady");
    assert_eq!(since.round, 12);
    within(since.at_bytes as f64, 11.0 * 200.0 * MB, 0.01);
    within(since.rate, 200.0 * MB, 0.01);
}

#[test]
fn a_burst_that_ends_is_a_cliff_and_says_what_was_saved_up() {
    let state = state(&levels(&[(30, 500.0), (70, 100.0)]));
    assert_eq!(state.steady, Decision::Yes);
    within(state.since.expect("it is steady").rate, 100.0 * MB, 0.02);
    let cliff = state.cliff.expect("it is planted");
    within(cliff.change.before, 500.0 * MB, 0.02);
    within(cliff.change.after, 100.0 * MB, 0.02);
    within(cliff.change.at_bytes as f64, 15e9, 0.06);
    within(cliff.saved_bytes.expect("it fell") as f64, 12e9, 0.06);
    // Two steps of 1.7 s.
    assert!((2e8..1.7e9).contains(&(cliff.within_bytes as f64)), "{cliff:?}");
}

/// Two of 100 seconds are not three of its sixty steps.
#[test]
fn a_short_burst_at_the_start_is_found_too() {
    let rates = levels(&[(2, 1_200.0), (98, 400.0)]);
    let course = assess(&record(&rates)).cases[0].course.clone().expect("it has one");
    assert_eq!(course.change, None);
    let cliff = cliff(&rates).expect("it is planted");
    within(cliff.change.at_bytes as f64, 2.4e9, 0.02);
    within(cliff.change.before, 1_200.0 * MB, 0.02);
    within(cliff.change.after, 400.0 * MB, 0.02);
    within(cliff.saved_bytes.expect("it fell") as f64, 1.6e9, 0.03);
}

#[test]
fn what_comes_back_is_no_cliff() {
    // Something else was at work for a while.
    assert_eq!(cliff(&levels(&[(4, 500.0), (8, 100.0), (88, 500.0)])), None);
    // A fall by less than a fifth is none, early or late.
    assert_eq!(cliff(&levels(&[(3, 500.0), (97, 430.0)])), None);
    assert_eq!(cliff(&levels(&[(40, 500.0), (60, 430.0)])), None);
}

#[test]
fn a_rise_is_no_cliff() {
    let cliff = cliff(&levels(&[(30, 100.0), (70, 500.0)])).expect("it has a step");
    assert!(cliff.change.is_rise() && cliff.saved_bytes.is_none(), "{cliff:?}");
    // A slow start is none at all.
    assert_eq!(self::cliff(&levels(&[(2, 100.0), (98, 500.0)])), None);
}

#[test]
fn what_the_rounds_cannot_tell_is_undecided() {
    // Less than the file twice; then three rounds of half a second more; then five.
    let steady = |seconds| {
        let state = state(&levels(&[(seconds, 100.0)]));
        (state.steady, state.counts_from)
    };
    assert_eq!(steady(20), (Decision::Undecided, None));
    assert_eq!(steady(23), (Decision::Undecided, Some(44)));
    assert_eq!(steady(24), (Decision::Yes, Some(44)));
    // Nothing tells how the bytes came over time.
    let mut record = record(&levels(&[(60, 200.0)]));
    record.trials.iter_mut().for_each(|trial| sample(trial).spans[0].progress.clear());
    let state = &assess(&record).conclusions.steady[0];
    assert_eq!((state.steady, state.rounds, state.cliff), (Decision::Undecided, 0, None));
}

#[test]
fn what_swings_or_drifts_is_not_steady() {
    let swings =
        |step: usize| if (step / SECOND).is_multiple_of(2) { 200.0 * MB } else { 280.0 * MB };
    let found = state(&(0..60 * SECOND).map(swings).collect::<Vec<f64>>());
    assert_eq!((found.steady, found.since), (Decision::No, None));
    within(found.range.expect("five rounds count"), 80.0 / 240.0, 0.1);
    // 4 % less in each second: the five rounds are within 20 %, and their line falls by 16 %.
    let drifts = |step: usize| 900.0 * MB * 0.96f64.powi((step / SECOND) as i32);
    let found = state(&(0..60 * SECOND).map(drifts).collect::<Vec<f64>>());
    assert_eq!(found.steady, Decision::No);
    assert!(found.range.expect("five rounds count") < 0.20, "{found:#?}");
    within(found.slope.expect("five rounds count"), -0.16, 0.1);
    // It is steady since what disturbed it was over.
    let found = state(&levels(&[(30, 200.0), (5, 50.0), (25, 200.0)]));
    assert_eq!((found.steady, found.since.map(|since| since.round)), (Decision::Yes, Some(36)));
}

#[test]
fn without_trials_that_follow_each_other_nothing_is_concluded() {
    let mut record = record(&levels(&[(60, 200.0)]));
    record.header.plan.sustain = None;
    assert_eq!(assess(&record).conclusions.steady, []);
}

/// The steps of half a second of a run of thirty seconds.
const STEPS: usize = 60;

fn rates(level: impl Fn(usize) -> f64, seed: u64) -> Vec<f64> {
    let steps = noisy(&mut Rng::new(seed), STEPS, level, 0.03, 0.0);
    steps.iter().flat_map(|rate| std::iter::repeat_n(*rate, SECOND / 2)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn an_even_rate_has_no_cliff(seed in 0u64..1_000_000) {
        prop_assert_eq!(cliff(&rates(|_| 200.0 * MB, seed)), None);
    }

    /// It is found within one step, whatever the unit, and mirrored it is a rise.
    #[test]
    fn a_planted_cliff_is_found(
        at in 4usize..STEPS - 4, left in 0.05f64..0.6, scale in 0.1f64..10.0,
        seed in 0u64..1_000_000
    ) {
        let level = |step| if step < at { 500.0 * MB } else { left * 500.0 * MB };
        let rates = rates(level, seed);
        let found = cliff(&rates).expect("it is planted");
        let step = |found: &Cliff| (found.change.at_ns as f64 / 5e8).round() as usize;
        prop_assert!(step(&found).abs_diff(at) <= 1, "{} is not {}", step(&found), at);
        prop_assert!(found.saved_bytes.is_some());
        let scaled: Vec<f64> = rates.iter().map(|rate| rate * scale).collect();
        let other = cliff(&scaled).expect("it is planted");
        prop_assert_eq!(step(&other), step(&found));
        prop_assert!((other.change.after / found.change.after / scale - 1.0).abs() < 1e-3);
        let mirrored: Vec<f64> = rates.iter().rev().copied().collect();
        let risen = cliff(&mirrored).expect("it is planted");
        prop_assert!(risen.change.is_rise());
        prop_assert_eq!(step(&risen), STEPS - step(&found));
    }
}
