//! Time series: the rates of whole records, and the findings on them.

use super::{check, flawless, sample, work};
use crate::assess;
use crate::course::TimeSeries;
use crate::is_steady;
use model::case::{Cache, Case, Engine, Kernel, MemoryWork, Pages, STEP, Work, WriteWork};
use model::random::Rng;
use model::record::Record;
use model::sample::PROGRESS_NS;
use model::trial::Trial;
use model::zoo;
use std::time::Duration;

/// Ten direct trials of one thread. Step `s` of 100 ms in round `r` has the rate `rate(r, s)` ± 1
/// %.
fn record(steps: usize, rate: impl Fn(u32, usize) -> f64) -> Record {
    let mut record = flawless(work(Cache::Direct));
    let mut rng = Rng::new(1);
    for trial in &mut record.trials {
        let bytes = |step| (rate(trial.round, step) * (0.99 + 0.02 * rng.unit()) / 10.0) as u64;
        let progress: Vec<u64> = (0..steps).map(bytes).collect();
        let moved = progress.iter().sum();
        trial.evidence.task_read_bytes = Some(moved);
        trial.evidence.device_read_bytes = Some(moved);
        let span = &mut sample(trial).spans[0];
        (span.bytes, span.ops) = (moved, moved >> 20);
        span.end_ns = span.start_ns + PROGRESS_NS * steps as u64;
        span.progress = progress;
    }
    record
}

/// The same trials back to back, with `s` counted across them.
fn sustained(steps: usize, rate: impl Fn(usize) -> f64) -> Record {
    let mut record = record(steps, |round, step| rate(round as usize * steps + step));
    record.header.plan.sustain = Some(Duration::from_secs(60));
    record
}

fn course(record: &Record) -> Option<TimeSeries> {
    assess(record).cases[0].course.clone()
}

/// The message of the one finding of the first case.
fn message(record: &Record) -> String {
    let findings = assess(record).cases.remove(0).findings;
    assert_eq!(findings.len(), 1, "{findings:#?}");
    findings[0].message.clone()
}

fn within(found: f64, expected: f64, share: f64) {
    assert!((found / expected - 1.0).abs() <= share, "{found} is not {expected}");
}

fn flat(_: u32, _: usize) -> f64 {
    200e6
}

/// 50 MB/s for six seconds, then 15.
fn cliff(_: u32, step: usize) -> f64 {
    if step < 60 { 50e6 } else { 15e6 }
}

/// Falls by 20 % in six seconds.
fn falls(_: u32, step: usize) -> f64 {
    200e6 * (1.0 - 0.2 * step as f64 / 60.0)
}

#[test]
fn a_steady_rate_is_silent() {
    check(record(60, flat), |_| {}, "sound device:");
    let course = course(&record(60, flat)).expect("six seconds have a course");
    assert_eq!((course.step_ns, course.rates.len()), (500_000_000, 12));
    assert_eq!((course.snia, course.is_steady), (Some(Some(4)), Some(true)));
    assert_eq!((course.change, course.sustained), (None, None));
    within(course.rates[7], 200e6, 0.01);
}

#[test]
fn a_drift_is_transient() {
    let drifting = record(60, falls);
    check(drifting.clone(), |_| {}, "doubtful device: Transient doubt");
    let message = message(&drifting);
    let expected = "194 MB/s in the first third of 6.00 s, 167 MB/s in the last (steps of 500 ms: ";
    assert!(message.contains(expected), "{message}");
    // A message never extrapolates beyond the measured time.
    assert!(!message.contains("a minute"), "{message}");
    // Trials shorter than five seconds are not judged.
    check(record(49, falls), |_| {}, "sound device:");
}

#[test]
fn a_cliff_is_a_step() {
    let cliff = record(120, cliff);
    check(cliff.clone(), |_| {}, "doubtful device: StepChange doubt");
    let change = course(&cliff).and_then(|course| course.change).expect("there is a step");
    within(change.before, 50e6, 0.02);
    within(change.after, 15e6, 0.02);
    within(change.at_bytes as f64, 300e6, 0.02);
    assert_eq!(change.at_ns, 6_000_000_000);
    let message = message(&cliff);
    let expected = "a burst of 50.0 MB/s until 300 MB, after 6.00 s, then 15.0 MB/s";
    assert!(message.starts_with(expected), "{message}");
}

#[test]
fn a_slow_start_is_a_note() {
    let rate = |until| move |_: u32, step| if step < until { 50e6 } else { 200e6 };
    let slow = record(120, rate(20));
    check(slow.clone(), |_| {}, "sound device: StepChange note");
    assert!(message(&slow).starts_with("slow start: 50.0 MB/s until 100 MB, after 2.00 s"));
    // A later rise is not a slow start.
    let late = record(120, rate(60));
    check(late.clone(), |_| {}, "doubtful device: StepChange doubt");
    assert!(message(&late).starts_with("50.0 MB/s until 300 MB, after 6.00 s, then 200 MB/s"));
}

#[test]
fn a_step_of_a_few_trials_is_none() {
    let of_rounds = |rounds: &'static [u32]| {
        move |round, step| if rounds.contains(&round) { cliff(round, step) } else { 50e6 }
    };
    check(record(120, of_rounds(&[0, 3, 5, 8])), |_| {}, "sound device:");
    check(record(120, of_rounds(&[0, 1, 3, 5, 6, 8])), |_| {}, "doubtful device: StepChange doubt");
    // A step at very different times in the trials is none either.
    let anywhere = |round, step| if step < 15 + 8 * round as usize { 50e6 } else { 15e6 };
    let course = course(&record(120, anywhere)).expect("twelve seconds have a course");
    assert!(course.change.is_some(), "most are within a factor of two of the middle");
    let at = |round| [15, 45, 115][round as usize % 3];
    let apart = |round, step| if step < at(round) { 50e6 } else { 15e6 };
    let apart = self::course(&record(120, apart)).expect("twelve seconds have a course");
    assert_eq!(apart.change, None);
}

#[test]
fn what_is_sustained_until_steady_has_a_figure_that_lasts() {
    // A hundred seconds: 30 s of burst, then a fifth of the rate.
    let record = sustained(100, |step| if step < 300 { 500e6 } else { 100e6 });
    check(record.clone(), |_| {}, "sound device: StepChange note");
    let course = course(&record).expect("a hundred seconds have a course");
    assert_eq!((course.step_ns, course.rates.len()), (1_700_000_000, 58));
    assert_eq!(course.is_steady, Some(true));
    within(course.sustained.expect("it is steady"), 100e6, 0.01);
    let change = course.change.expect("there is a step");
    within(change.at_bytes as f64, 15e9, 0.06);
    // The row is the end, not the mean of the burst and the end.
    let case = assess(&record).cases.remove(0);
    let rate = case.throughput.expect("it has one");
    within(rate.median, 100e6, 0.01);
    assert_eq!((rate.low, rate.high, rate.mean), (None, None, rate.median));
    within(case.iops.expect("it has one").median, 100e6 / f64::from(1 << 20), 0.02);
    within(case.ns_per_op.expect("it has one").median, 1e9 / 100e6 * f64::from(1 << 20), 0.02);
    // A device that slows down after two seconds of a single trial of ten.
    let mut record = sustained(100, |step| if step < 20 { 500e6 } else { 100e6 });
    record.trials.truncate(1);
    within(assess(&record).cases[0].throughput.expect("it has one").median, 100e6, 0.02);
    // Without a plateau, the row is the mean of all.
    let falling = sustained(100, |step| 500e6 * 0.8f64.powf(step as f64 / 100.0));
    let rate = assess(&falling).cases[0].throughput.expect("it has one");
    assert!(rate.mean > 150e6, "{rate:?}");
}

#[test]
fn what_is_not_steady_when_the_time_is_over_is_transient() {
    // The rate falls by a fifth every ten seconds.
    let record = sustained(100, |step| 500e6 * 0.8f64.powf(step as f64 / 100.0));
    check(record.clone(), |_| {}, "doubtful device: Transient doubt");
    assert!(message(&record).starts_with(
        "the run ended after 60.0 s, its time limit, and the rate \
                                          was not steady"
    ));
    assert_eq!(course(&record).and_then(|course| course.sustained), None);
    // A step followed by a drift has both findings.
    let rate = |step| if step < 500 { 500e6 } else { 1e8 - 8e4 * step as f64 };
    check(sustained(100, rate), |_| {}, "doubtful device: Transient doubt, StepChange doubt");
    // Nine seconds are too short to decide.
    check(sustained(9, |_| 1e8), |_| {}, "doubtful device: Transient doubt");
}

#[test]
fn a_case_goes_on_until_a_whole_window_is_steady() {
    let record = sustained(100, |step| if step < 250 { 500e6 } else { 100e6 });
    let case = &record.header.plan.cases[0].case;
    let steady: Vec<bool> = (0..6).map(|n| is_steady(case, &record.trials[..n])).collect();
    // The third window contains the step.
    assert_eq!(steady, [false, true, true, false, true, true]);
    // With trials of four seconds, the third completes ten seconds.
    let short = sustained(40, |_| 1e8);
    let steady: Vec<bool> = (0..4).map(|n| is_steady(case, &short.trials[..n])).collect();
    assert_eq!(steady, [false, false, false, true]);
    let mut untold = short;
    untold.trials.iter_mut().for_each(|trial| sample(trial).spans[0].progress.clear());
    assert!(!is_steady(case, &untold.trials));
}

/// Buffered trials that write at memory speed for one second, then sync for `sync_ns`.
fn buffered(every: u64, trials: usize, sync_ns: impl Fn(u64) -> u64) -> Record {
    let mut record = sustained(10, |_| 2e9);
    let work = WriteWork { every, ..super::writing::over() };
    record.header.plan.cases[0].case = Case::own(Work::Write(work));
    let first = record.trials[0].clone();
    record.trials = (0..trials as u32).map(|round| Trial { round, ..first.clone() }).collect();
    for trial in &mut record.trials {
        let sync_ns = sync_ns(trial.round.into());
        let span = &mut sample(trial).spans[0];
        (span.synced_ns, span.sync_ns) = (Some(span.end_ns + sync_ns), sync_ns);
    }
    record
}

/// Page cache writes are equally fast in every second: only the sync shows the device.
#[test]
fn what_is_synced_at_its_end_is_steady_by_whole_trials() {
    const SECOND: u64 = 1_000_000_000;
    let steady = |record: &Record| is_steady(&record.header.plan.cases[0].case, &record.trials);
    let even = buffered(0, 10, |_| 3 * SECOND);
    assert!(steady(&even));
    assert!(!steady(&buffered(0, 9, |_| 3 * SECOND)));
    let course = self::course(&even).expect("ten trials have a course");
    assert_eq!((course.step_ns, course.rates.len()), (4 * SECOND, 10));
    within(course.sustained.expect("it is steady"), 500e6, 0.02);
    assert!(transient(&even).is_none());
    // The sync takes 0.2 s longer in each trial.
    let longer = buffered(0, 10, |round| SECOND + round * SECOND / 5);
    assert!(!steady(&longer));
    let course = self::course(&longer).expect("ten trials have a course");
    assert_eq!((course.is_steady, course.sustained), (Some(false), None));
    assert!(transient(&longer).expect("it is told").contains("steps of"));
    // Few trials are not enough, however long they are.
    for trials in [4, 9] {
        let text = transient(&buffered(0, trials, |_| 30 * SECOND)).expect("it is told");
        assert!(text.ends_with("has too few steps to tell"), "{text}");
    }
    // With syncs on the way, the last sync takes only a part of the time: 1 s of 3.
    let often = buffered(8, 10, |_| 2 * SECOND);
    let course = self::course(&often).expect("thirty seconds have a course");
    within(course.rates.iter().sum::<f64>() / course.rates.len() as f64, 2e9 / 3.0, 0.02);
    assert!(!steady(&often));
    // Without a claim of durability, the rate is that of acknowledged writes.
    let mut unsynced = buffered(0, 10, |_| 3 * SECOND);
    let work = super::writing::unsynced();
    unsynced.header.plan.cases[0].case = Case::own(Work::Write(work));
    within(self::course(&unsynced).and_then(|c| c.sustained).expect("it is steady"), 2e9, 0.02);
}

/// The message of rule Transient on the first case.
fn transient(record: &Record) -> Option<String> {
    let findings = assess(record).cases.remove(0).findings;
    let found = findings.into_iter().find(|finding| finding.code.name() == "Transient");
    Some(found?.message)
}

/// Consecutive trials of a sustained run are not rounds.
#[test]
fn what_is_sustained_has_no_rounds() {
    let mut record = sustained(100, |_| 100e6);
    record.trials.truncate(2);
    check(record, |_| {}, "sound device:");
}

/// Partial steps at the ends of trials are weighted by time; threads are added up.
#[test]
fn trials_and_threads_are_put_together() {
    let mut record = sustained(15, |_| 100e6);
    for trial in &mut record.trials {
        let spans = &mut sample(trial).spans;
        let span = &mut spans[0];
        // 1.43 s of 100 MB/s.
        span.progress = [vec![10_000_000; 14], vec![3_000_000]].concat();
        span.end_ns = span.start_ns + 1_430_000_000;
        // Another thread that begins later and is done sooner.
        let start_ns = span.start_ns + 1_000;
        let progress = vec![10_000_000; 14];
        let end_ns = start_ns + 1_400_000_000;
        let other = model::sample::Span { thread: 1, start_ns, end_ns, progress, ..span.clone() };
        spans.push(other);
    }
    let course = course(&record).expect("fourteen seconds have a course");
    assert_eq!((course.step_ns, course.rates.len()), (500_000_000, 28));
    let mean = course.rates.iter().sum::<f64>() / 28.0;
    within(mean, 100e6 * (1.43 + 1.4) / 1.43, 0.001);
    assert!(course.rates.iter().all(|rate| (160e6..=200.1e6).contains(rate)), "{course:?}");
}

/// The step in a case's time series whose six-second trials have this many operations.
fn step_ms(case: Case, ops: u64) -> Option<u64> {
    let mut record = record(60, flat);
    record.header.plan.cases[0].case = case;
    record.trials.iter_mut().for_each(|trial| sample(trial).spans[0].ops = ops);
    Some(course(&record)?.step_ns / 1_000_000)
}

/// Operations, syncs and passes are discrete: a step must contain ten of them.
#[test]
fn a_step_holds_ten_of_what_makes_the_rate_uneven() {
    let read = || Case::own(Work::Read(work(Cache::Direct)));
    assert_eq!(step_ms(read(), 10_000), Some(500));
    assert_eq!(step_ms(read(), 60), Some(1_000));
    assert_eq!(step_ms(read(), 40), None);
    assert_eq!(step_ms(read(), 0), None);
    let write = |every| Case::own(Work::Write(WriteWork { every, ..zoo::plain_write() }));
    assert_eq!(step_ms(write(0), 10_000), Some(500));
    assert_eq!(step_ms(write(1), 10_000), Some(500));
    assert_eq!(step_ms(write(100), 10_000), Some(600));
    assert_eq!(step_ms(write(1_000), 10_000), None);
    let null = model::case::ReadWork { engine: Engine::Null, ..work(Cache::AsIs) };
    assert_eq!(step_ms(Case::own(Work::Read(null)), 10_000), None);
    let memory = |working_set| {
        let (kernel, isa, pages) = (Kernel::Read, model::case::Isa::Auto, Pages::Base);
        let time = Duration::from_secs(6);
        Case::own(Work::Memory(MemoryWork {
            kernel,
            isa,
            working_set,
            pages,
            step: STEP,
            threads: 1,
            time,
        }))
    };
    // 1.2 GB are moved.
    assert_eq!(step_ms(memory(1 << 20), 10_000), Some(500));
    assert_eq!(step_ms(memory(1 << 30), 10_000), None);
}

#[test]
fn a_file_that_is_loaded_again_and_again_has_no_course() {
    let mut record = record(60, flat);
    record.header.plan.cases[0].case =
        Case::own(Work::Read(model::case::ReadWork { engine: Engine::Load, ..work(Cache::Warm) }));
    let load = |record: &mut Record, ns| {
        record.trials.iter_mut().for_each(|trial| sample(trial).spans[0].load_ns = ns);
    };
    load(&mut record, 100_000_000);
    assert!(course(&record).is_some());
    load(&mut record, 3_000_000_000);
    assert_eq!(course(&record), None);
}

#[test]
fn nothing_told_has_no_course() {
    let mut record = record(60, flat);
    record.trials.iter_mut().for_each(|trial| sample(trial).spans[0].progress.clear());
    assert_eq!(course(&record), None);
    assert_eq!(course(&self::record(4, flat)), None);
    assert_eq!(course(&self::record(5, flat)).map(|course| course.rates.len()), Some(5));
}

/// Progress with more or fewer steps than the span must not break anything.
#[test]
fn progress_that_does_not_fit_the_span_is_cut() {
    for length_ns in [0, 1, 300_000_000, 900_000_000, 3_000_000_000] {
        let mut record = record(10, flat);
        super::last_ns(&mut record, length_ns);
        let rates = course(&record).map(|course| course.rates).unwrap_or_default();
        assert!(rates.iter().all(|rate| rate.is_finite() && *rate >= 0.0), "{length_ns} ns");
    }
}
