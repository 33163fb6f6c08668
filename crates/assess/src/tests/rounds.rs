//! Rates from round to round: how often drifts and steps are found, with and without real ones.

use super::noise::{noisy, normal};
use super::*;
use crate::comparison::Difference;
use crate::finding::Severity;
use crate::rounds::{TwoLevels, drift};
use model::random::Rng;

/// A direct case whose rounds have these rates, in GiB/s.
fn record(rates: &[f64]) -> Record {
    let mut record = zoo::record_of(work(Cache::Cold), rates.len() as u32);
    for (trial, rate) in record.trials.iter_mut().zip(rates) {
        let span = &mut sample(trial).spans[0];
        span.end_ns = span.start_ns + (1e9 / rate) as u64;
        trial.evidence.machine_cpu_ns = Some((2e9 / rate) as u64);
    }
    record
}

fn message(record: &Record) -> String {
    let findings = assess(record).cases.remove(0).findings;
    assert_eq!(findings.len(), 1, "{findings:#?}");
    findings[0].message.clone()
}

fn no_op(_: &mut Record) {}

/// Rounds at the first rate and then at the second, ± 1 %.
fn levels(before: (usize, f64), after: (usize, f64)) -> Vec<f64> {
    let level = |round: usize| if round < before.0 { before.1 } else { after.1 };
    let jitter = |round: usize| 1.0 + 0.01 * ((round * 7 % 5) as f64 - 2.0) / 2.0;
    (0..before.0 + after.0).map(|round| level(round) * jitter(round)).collect()
}

#[test]
fn a_step_between_rounds() {
    let falls = record(&levels((5, 1.0), (5, 0.6)));
    check(falls.clone(), no_op, "doubtful device: StepChange doubt");
    let text = message(&falls);
    let expected = "1.07 GB/s in the first 5 of 10 rounds, 644 MB/s in the others";
    assert!(text.starts_with(expected), "{text}");
    assert!(
        text.contains("a noisy neighbor may have started; the throughput mixes both"),
        "{text}"
    );
    let rises = record(&levels((5, 0.6), (5, 1.0)));
    check(rises.clone(), no_op, "doubtful device: StepChange doubt");
    assert!(message(&rises).contains("it had to warm up"), "{}", message(&rises));
    // A fall of a fifth is a step; a smaller one is not.
    check(record(&levels((8, 1.0), (8, 0.77))), no_op, "doubtful device: StepChange doubt");
    let small = judge(&record(&levels((8, 1.0), (8, 0.83))));
    assert!(!small.contains("StepChange"), "{small}");
    // Two slow rounds are not a level, and noise is not a step.
    check(record(&levels((2, 0.6), (12, 1.0))), no_op, "sound device:");
    check(record(&levels((5, 1.0), (5, 1.0))), no_op, "sound device:");
}

#[test]
fn a_ramp_in_the_first_rounds_is_a_slow_start() {
    let ramp = record(&levels((5, 0.5), (15, 1.0)));
    check(ramp.clone(), no_op, "sound device: StepChange note");
    let text = message(&ramp);
    assert!(text.starts_with("slow start: 537 MB/s in the first 5 of 20 rounds"), "{text}");
    // A later rise, or a fall, is not a slow start.
    check(record(&levels((7, 0.5), (13, 1.0))), no_op, "doubtful device: StepChange doubt");
    check(record(&levels((5, 1.0), (15, 0.5))), no_op, "doubtful device: StepChange doubt");
}

/// Rates that rise or fall by `rise` from the first round to the last.
fn ramp(rounds: usize, rise: f64) -> Vec<f64> {
    (0..rounds).map(|round| 1.0 + rise * round as f64 / rounds as f64).collect()
}

#[test]
fn a_drift_over_the_rounds() {
    let falls = record(&ramp(10, -0.3));
    check(falls.clone(), no_op, "doubtful device: Drifting doubt");
    let text = message(&falls);
    assert!(text.starts_with("the rounds depend on each other (autocorrelation 0.7"), "{text}");
    assert!(text.ends_with("the interval is too narrow"), "{text}");
    let rises = record(&ramp(10, 0.3));
    check(rises.clone(), no_op, "doubtful device: Drifting doubt");
    assert!(message(&rises).ends_with("the rate rises, as in a warm-up"));
    // Fewer than ten rounds are not enough.
    check(record(&ramp(9, -0.3)), no_op, "sound device:");
    // The same rates in another order are noise.
    let mut shuffled = ramp(10, -0.3);
    Rng::new(3).shuffle(&mut shuffled);
    check(record(&shuffled), no_op, "sound device:");
    // A drift within the interval does not matter.
    check(record(&ramp(10, -0.02)), no_op, "sound device:");
    // Consecutive trials of a sustained run are a time series, not rounds.
    let mut sustained = record(&ramp(10, -0.3));
    sustained.header.plan.sustain = Some(Duration::from_secs(60));
    assert!(!judge(&sustained).contains("Drifting"));
    // The null engine's rate is not a result.
    let mut null = record(&ramp(10, -0.3));
    null.header.plan.cases[0].case = null_case();
    assert!(!judge(&null).contains("Drifting"));
}

/// Cold reads by pread and by mmap, whose rounds have these rates.
fn two_engines(pread: &[f64], mmap: &[f64]) -> Record {
    let (mut both, other) = (record(pread), record(mmap));
    let mut case = both.header.plan.cases[0].clone();
    case.case = file_case(ReadWork { engine: Engine::Mmap, ..work(Cache::Cold) });
    both.header.plan.cases.push(case);
    both.trials.extend(other.trials.into_iter().map(|trial| Trial { case: 1, ..trial }));
    both
}

/// What the rows share is not in their ratio. What only one does makes the interval too narrow.
#[test]
fn rows_that_drift_together_are_compared_and_one_that_drifts_alone_is_not() {
    let check = |[pread, mmap]: [&[f64]; 2], expected: (Difference, bool), verdicts: [&str; 2]| {
        let assessment = assess(&two_engines(pread, mmap));
        let judged: Vec<&str> = assessment.cases.iter().map(|row| row.verdict.name()).collect();
        assert_eq!(judged, verdicts);
        let [found] = &assessment.comparisons[..] else { panic!("{:#?}", assessment.comparisons) };
        assert_eq!((found.difference, found.low.is_some()), expected);
    };
    let faster = |rates: &[f64]| rates.iter().map(|rate| 1.2 * rate).collect::<Vec<f64>>();
    let (rising, flat, step) = (ramp(10, 0.3), vec![1.0; 10], levels((5, 1.0), (5, 0.6)));
    let both = ["doubtful"; 2];
    check([&rising, &faster(&rising)], (Difference::Different, true), both);
    check([&step, &faster(&step)], (Difference::Different, true), both);
    check([&rising, &rising], (Difference::Equivalent, true), both);
    check([&flat, &faster(&rising)], (Difference::Inconclusive, false), ["sound", "doubtful"]);
    // A doubt of another kind reaches the comparison.
    let mut leaking = two_engines(&rising, &faster(&rising));
    for trial in leaking.trials.iter_mut().filter(|trial| trial.case == 1) {
        trial.evidence.throttled_ns = Some(300_000_000);
    }
    assert_eq!(assess(&leaking).comparisons[0].difference, Difference::InDoubt);
}

const SERIES: usize = 3_000;

/// The share of many series for which `holds` is true.
fn share(mut series: impl FnMut(&mut Rng) -> Vec<f64>, holds: impl Fn(&[f64]) -> bool) -> f64 {
    let mut rng = Rng::new(11);
    (0..SERIES).filter(|_| holds(&series(&mut rng))).count() as f64 / SERIES as f64
}

fn flat(_: usize) -> f64 {
    1.0
}

fn white(variation: f64, n: usize) -> impl Fn(&mut Rng) -> Vec<f64> {
    move |rng| noisy(rng, n, flat, variation, 0.0)
}

/// 5 % noise; 15 % of the rounds have half the rate.
fn outliers(n: usize) -> impl Fn(&mut Rng) -> Vec<f64> {
    move |rng| {
        let slow = |rng: &mut Rng| if rng.unit() < 0.15 { 0.5 } else { 1.0 };
        (0..n).map(|_| (1.0 + 0.05 * normal(rng)) * slow(rng)).collect()
    }
}

/// Whether the rates of rounds cause a finding.
type Told = fn(&[f64]) -> bool;

/// docs/method: for rounds in random order, a drift or a step is reported in one of a hundred
/// cases.
#[test]
fn noise_neither_drifts_nor_steps() {
    let is_told: [(&str, Told); 2] =
        [("a drift", |r| drift(r).is_some()), ("a step", |r| TwoLevels::of(r).is_some())];
    for n in [10, 20, 30] {
        for (what, told) in is_told {
            for found in [share(white(0.05, n), told), share(white(0.10, n), told)] {
                assert!(found <= 0.015, "{what} in {n} rounds of noise: {found}");
            }
            let found = share(outliers(n), told);
            assert!(found <= 0.015, "{what} in {n} rounds with outliers: {found}");
        }
    }
}

/// docs/method: thirty rounds reveal an autocorrelation of 0.7.
#[test]
fn rounds_that_depend_on_each_other_are_found() {
    let found = share(|rng| noisy(rng, 30, flat, 0.05, 0.7), |r| drift(r).is_some());
    assert!(found > 0.75, "{found}");
    // Ten rounds are usually too few.
    let few = share(|rng| noisy(rng, 10, flat, 0.05, 0.7), |r| drift(r).is_some());
    assert!((0.05..0.40).contains(&few), "{few}");
}

/// docs/method: a 30 % fall in the middle of ten rounds with 5 % noise is found.
#[test]
fn a_step_of_a_third_is_found() {
    let level = |round| if round < 5 { 1.0 } else { 0.7 };
    let found = share(|rng| noisy(rng, 10, level, 0.05, 0.0), |r| TwoLevels::of(r).is_some());
    assert!(found > 0.90, "{found}");
    let level = |round| if round < 15 { 1.0 } else { 0.7 };
    let found = share(|rng| noisy(rng, 30, level, 0.05, 0.0), |r| TwoLevels::of(r).is_some());
    assert!(found > 0.95, "{found}");
}

const SESSIONS: usize = 1_000;

/// The share of ten-round sessions whose interval contains the undisturbed machine's median. A
/// tenth of the rounds are disturbed: 30 % slower, with the disturbance counted.
fn coverage(truth: f64, series: impl Fn(&mut Rng) -> Vec<f64>) -> f64 {
    let mut rng = Rng::new(5);
    let is_within = |_: &usize| {
        let mut rates = series(&mut rng);
        let disturbed: Vec<bool> = rates.iter().map(|_| rng.unit() < 0.1).collect();
        for (rate, _) in rates.iter_mut().zip(&disturbed).filter(|(_, is)| **is) {
            *rate *= 0.7;
        }
        let mut record = record(&rates);
        for (trial, _) in record.trials.iter_mut().zip(&disturbed).filter(|(_, is)| **is) {
            let evidence = &mut trial.evidence;
            evidence.steal_ns = evidence.machine_cpu_ns.map(|ns| ns / 10 * 3);
        }
        let found = assess(&record).cases[0].throughput.expect("there is a figure");
        let share = |end: Option<f64>| end.expect("ten rounds have an interval") / FILE as f64;
        share(found.low) <= truth && truth <= share(found.high)
    };
    (0..SESSIONS).filter(is_within).count() as f64 / SESSIONS as f64
}

/// docs/method: intervals reach their stated coverage of the median even when disturbed rounds
/// are excluded.
#[test]
fn intervals_cover_the_median_with_gates() {
    let plain = coverage(1.0, white(0.05, 10));
    assert!(plain >= 0.93, "normal: {plain}");
    // With 15 % of the values far below, the median is the 0.35/0.85 quantile of the others.
    let slow = coverage(1.0 - 0.05 * 0.222_9, outliers(10));
    assert!(slow >= 0.93, "outliers: {slow}");
}

#[test]
fn failed_trials_are_told_and_half_of_them_void() {
    let plant = |failed: usize, outcome: &'static dyn Fn() -> Outcome| {
        move |record: &mut Record| {
            let first = record.trials.iter_mut().take(failed);
            first.for_each(|trial| trial.outcome = outcome());
        }
    };
    let failed = &|| Outcome::Failed { reason: "the disk is full".to_string() };
    let whole = flawless(work(Cache::Cold));
    check(whole.clone(), plant(0, failed), "sound device:");
    check(whole.clone(), plant(1, failed), "doubtful device: FailedTrials doubt");
    check(whole.clone(), plant(5, failed), "void device: FailedTrials void, TooFew doubt");
    let mut record = whole.clone();
    plant(1, failed)(&mut record);
    let expected = "1 of 10 trials failed (the disk is full): the figure is that of the others";
    assert_eq!(message(&record), expected);
    // What was not tried did not fail.
    let mut record = whole.clone();
    plant(6, &|| Outcome::Failed { reason: "not tried: it failed 3 times in a row".to_string() })(
        &mut record,
    );
    plant(3, failed)(&mut record);
    let expected = "3 of 7 trials failed (the disk is full), and 3 more were not tried: the figure \
                    is that of the others";
    let found = assess(&record).cases.remove(0).findings;
    let found = found.iter().find(|it| it.code == crate::finding::Code::FailedTrials);
    let found = found.expect("some failed");
    assert_eq!((found.message.as_str(), found.severity), (expected, Severity::Doubt));
    let few = "doubtful device: TooFew doubt, FailedTrials doubt";
    assert_eq!(judge(&record), few);
    // An unsupported case is not a failure.
    let unavailable = &|| Outcome::Unavailable { reason: "no io_uring".to_string() };
    check(whole, plant(3, unavailable), "sound device:");
}
