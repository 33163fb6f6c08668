//! Cases with a rate: response times, and what speaks against them.

use super::*;
use crate::latency::UNSENT_NS;

const RATE: u64 = 1_024;

/// Each operation of a trial is answered after a millisecond.
fn open() -> Record {
    let plain = work(Cache::Direct);
    let io = Io { rate: RATE, time: Duration::from_secs(1), ..plain.io };
    let mut record = flawless(ReadWork { io, ..plain });
    answer(&mut record, 0, &[(1_000_000, RATE)], 0);
    record
}

/// Sets the response times of a case's trials, and how many operations never began.
fn answer(record: &mut Record, case: usize, counts: &[(u64, u64)], unsent: u64) {
    for trial in record.trials.iter_mut().filter(|trial| trial.case == case) {
        let sample = sample(trial);
        let max_ns = counts.last().map_or(0, |(ns, _)| *ns);
        sample.responses = Latencies { counts: counts.to_vec(), max_ns };
        sample.spans[0].ops = counts.iter().map(|(_, count)| count).sum();
        sample.spans[0].unsent = unsent;
    }
}

/// Adds the same schedule without any I/O, with these response times.
fn generator(record: &mut Record, counts: &[(u64, u64)], unsent: u64) {
    let case = record.header.plan.cases[0].case.clone();
    let io = case.io().expect("it reads a file");
    let null = null_work();
    let io = Io { rate: io.rate, arrival: io.arrival, threads: io.threads, ..null.io };
    let index = record.header.plan.cases.len();
    add(record, file_case(ReadWork { io, ..null }), Role::Baseline, 4096 * RATE, 0.5, 0);
    answer(record, index, counts, unsent);
}

#[test]
fn what_was_asked_and_what_was_done() {
    let mut record = open();
    let found = |record: &Record| assess(record).cases[0].open.clone().expect("it has a rate");
    let held = found(&record);
    assert_eq!((held.achieved, held.unsent), (1.0, 0));
    // The zoo's trials last longer than the second in which operations fall due.
    let near = |rate: f64| (rate / RATE as f64 - 1.0).abs() < 1e-3;
    assert!(near(held.offered.median), "{held:?}");
    assert_eq!(held.response.p99.map(|p99| p99.ns), Some(1_000_000));
    answer(&mut record, 0, &[(1_000_000, RATE / 2)], RATE / 2);
    let half = found(&record);
    assert_eq!((half.achieved, half.unsent), (0.5, 10 * RATE / 2));
    assert!(near(half.offered.median), "{half:?}");
    assert!(assess(&zoo::record()).cases[0].open.is_none(), "a closed loop has no schedule");
}

#[test]
fn what_never_began_is_later_than_anything() {
    let mut record = open();
    // Half of 3 % never began: the p95 would be known, the p99 is not.
    answer(&mut record, 0, &[(1_000_000, 985), (9_000_000, 5)], 34);
    let open = assess(&record).cases[0].open.clone().expect("it has a rate");
    let ns = |of: Option<crate::percentile::Percentile>| of.map(|percentile| percentile.ns);
    assert_eq!(ns(open.response.p90), Some(1_000_000));
    assert_eq!(ns(open.response.p99), Some(UNSENT_NS));
    assert_eq!(open.response.max_ns, Some(UNSENT_NS));
    // A picture ends where nothing more is known.
    let last = open.response.longer.last().expect("some are known");
    assert_eq!(last.0, 9_000_000);
    assert!((last.1 - 34.0 / 1024.0).abs() < 1e-9, "{last:?}");
}

#[test]
fn load_not_held() {
    check(open(), |_| {}, "sound device:");
    let unsent = |unsent| move |r: &mut Record| answer(r, 0, &[(1_000_000, RATE - unsent)], unsent);
    check(open(), unsent(11), "doubtful device: LoadNotHeld doubt");
    check(open(), unsent(9), "sound device:");
}

#[test]
fn generator_behind() {
    let with =
        |counts: &'static [(u64, u64)], unsent| move |r: &mut Record| generator(r, counts, unsent);
    check(open(), with(&[(20_000, RATE)], 0), "sound device:");
    check(open(), with(&[(70_000, RATE)], 0), "sound device: GeneratorBehind note");
    check(open(), with(&[(200_000, RATE)], 0), "doubtful device: GeneratorBehind doubt");
    // The tail alone is late.
    let tail = &[(20_000, 1_000), (200_000, 24)];
    check(open(), with(tail, 0), "doubtful device: GeneratorBehind doubt");
    check(open(), with(&[(20_000, 1_000)], 24), "doubtful device: GeneratorBehind doubt");
    // Another schedule says nothing about this one.
    let other = |r: &mut Record| {
        generator(r, &[(200_000, RATE)], 0);
        let null = r.header.plan.cases.last_mut().expect("it was just added");
        null.case.io_mut().expect("it has a schedule").rate = 77;
    };
    check(open(), other, "sound device:");
}

/// The lag is told by the worker, and unknown if it is not: a record of before has none.
#[test]
fn the_submission_lag_is_that_of_all_that_were_submitted() {
    let mut record = open();
    let lag = |record: &Record| {
        assess(record).cases[0].open.clone().expect("it has a rate").submit_lag_ns
    };
    assert_eq!(lag(&record), None);
    each(&mut record, |trial| {
        let span = &mut sample(trial).spans[0];
        span.lag_ns = Some(span.ops * 7_000);
    });
    assert_eq!(lag(&record), Some(7_000.0));
}

/// A thread that spins until an operation is due does no work.
#[test]
fn waiting_is_no_work() {
    let mut record = open();
    let busy = |record: &Record| assess(record).cases[0].cpu_ns_per_op.expect("it is known");
    each(&mut record, |trial| sample(trial).usage.cpu_ns = Some(1_000_000_000));
    assert_eq!(busy(&record).round(), (1e9 / RATE as f64).round());
    each(&mut record, |trial| sample(trial).spans[0].spin_ns = 900_000_000);
    assert_eq!(busy(&record).round(), (1e8 / RATE as f64).round());
    let open = assess(&record).cases[0].open.clone().expect("it has a rate");
    assert!((0.8..0.95).contains(&open.spin_share.expect("spans are known")), "{open:?}");
}
