//! Cases with a rate: response times, and what speaks against them.

use super::writing::{flawless_write, over};
use super::*;
use crate::latency::UNSENT_NS;
use model::case::WriteWork;
use model::evidence::{Limit, Limited};

pub(super) const RATE: u64 = 1_024;

/// Each operation of a trial is answered after a millisecond.
pub(super) fn open() -> Record {
    let plain = work(Cache::Direct);
    let io = Io { rate: RATE, time: Duration::from_secs(1), ..plain.io };
    let mut record = flawless(ReadWork { io, ..plain });
    answer(&mut record, 0, &[(1_000_000, RATE)], 0);
    record
}

/// Sets the response times of a case's trials, and how many operations never began.
pub(super) fn answer(record: &mut Record, case: usize, counts: &[(u64, u64)], unsent: u64) {
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

/// Sets by how much of a second each thread paused until operations were due.
fn paused(ms: u64) -> impl Fn(&mut Record) {
    move |record| {
        each(record, |trial| {
            sample(trial).spans.iter_mut().for_each(|span| span.paused_ns = Some(ms * MS));
        });
    }
}

const MS: u64 = 1_000_000;

/// A record of a write with a rate, each of whose trials lasts a second and ran for `ran_ms`.
fn writes(ran_ms: u64) -> Record {
    let plain = over();
    let io = Io { rate: RATE, time: Duration::from_secs(1), ..plain.io };
    let mut record = flawless_write(WriteWork { io, ..plain });
    answer(&mut record, 0, &[(MS, RATE)], 0);
    last_ns(&mut record, 1_000 * MS);
    each(&mut record, |trial| trial.evidence.cpu_ns = Some(ran_ms * MS));
    // It may have written as much as the OS allows to be dirty.
    evidence(&mut record, |evidence| evidence.dirty_limit = Some(FILE / 2));
    record
}

/// A writer that sleeps until its next write is due is held back by nobody. If it does not tell how
/// long it slept, nothing is known.
#[test]
fn a_pause_is_no_throttle() {
    check(writes(20), paused(979), "sound device:");
    check(writes(20), paused(0), "doubtful device: ThrottledWriteback doubt");
    check(writes(20), paused(900), "doubtful device: ThrottledWriteback doubt");
    check(writes(20), |_| {}, "sound device:");
    let blocked = |paused_ms: Option<u64>| {
        let mut record = writes(20);
        paused_ms.into_iter().for_each(|ms| paused(ms)(&mut record));
        assess(&record).cases[0].spent.expect("CPU time is known").blocked_share
    };
    let [busy, paused] = [0, 960].map(|ms| blocked(Some(ms)).expect("pauses are told"));
    // With its sync, a trial lasts longer than a second.
    assert!(0.98 <= busy && paused < busy, "{busy} {paused}");
    assert_eq!(blocked(None), None);
}

/// Lets the threads run for a hundredth of each second.
fn idle(record: &mut Record) {
    last_ns(record, 1_000 * MS);
    each(record, |trial| sample(trial).usage.cpu_ns = Some(10 * MS));
}

/// What threads waited for is a share of the time in which they had something to do.
#[test]
fn pauses_are_no_part_of_the_time() {
    let waited = |ms: u64| {
        move |record: &mut Record| {
            each(record, |trial| {
                sample(trial).spans[0].run_delay_ns = Some(ms * MS);
            });
        }
    };
    let both = |paused_ms, ms| {
        move |record: &mut Record| {
            idle(record);
            paused(paused_ms)(record);
            waited(ms)(record);
        }
    };
    check(open(), both(0, 50), "sound device:");
    check(open(), both(900, 50), "doubtful device: Contended doubt");
    check(open(), waited(300), "sound device:");
    // It woke up late, but before anything was due.
    let overslept = |record: &mut Record| {
        both(900, 50)(record);
        each(record, |trial| sample(trial).spans[0].overslept_ns = 45 * MS);
    };
    check(open(), overslept, "sound device:");
    let quota = |paused_ms| {
        move |record: &mut Record| {
            idle(record);
            paused(paused_ms)(record);
            each(record, |trial| trial.evidence.throttled_ns = Some(30 * MS));
        }
    };
    check(open(), quota(0), "sound device: Throttled note");
    check(open(), quota(900), "doubtful device: Throttled doubt");
    let busy = |paused_ms| {
        move |record: &mut Record| {
            idle(record);
            paused(paused_ms)(record);
            each(record, |trial| sample(trial).usage.cpu_ns = Some(95 * MS));
        }
    };
    check(open(), busy(0), "sound device:");
    check(open(), busy(900), "sound device: CpuBound note");
}

/// A schedule that stays below a limit sets the rate; one that cannot be held shows the limit.
#[test]
fn a_schedule_below_a_limit_is_not_the_limit() {
    let limit = |record: &mut Record| {
        let storage = record.header.storage.as_mut().expect("the zoo has a storage");
        let (device, group) = ("vda".to_owned(), "/slow".to_owned());
        storage.limits = vec![Limit { device, what: Limited::Reads, a_second: RATE, group }];
        evidence(record, |evidence| evidence.device_reads = Some(RATE));
    };
    check(open(), limit, "sound device: Throttled note");
    let not_held = |record: &mut Record| {
        limit(record);
        answer(record, 0, &[(MS, RATE - 20)], 20);
    };
    check(open(), not_held, "doubtful device: LoadNotHeld doubt, Throttled doubt");
}

/// What a schedule asks of threads differs by chance, and so do their bytes.
#[test]
fn a_schedule_is_no_imbalance() {
    let plain = work(Cache::Direct);
    let io = |rate| Io { rate, threads: 2, time: Duration::from_millis(100), ..plain.io };
    let apart = |record: &mut Record| {
        each(record, |trial| {
            let spans = &mut sample(trial).spans;
            let other = Span { thread: 1, bytes: spans[0].bytes / 3, ..spans[0].clone() };
            spans.push(other);
        });
    };
    let imbalance = |rate| {
        let mut record = flawless(ReadWork { io: io(rate), ..plain });
        apart(&mut record);
        assess(&record).cases[0].imbalance_percent
    };
    assert!(imbalance(0).is_some_and(|percent| percent > 25.0), "the planted one is seen");
    assert_eq!(imbalance(RATE), None);
}

/// The time between operations is the schedule's, and so is what they move.
#[test]
fn a_rate_is_no_duration_and_no_speed() {
    let case = |record: &Record| assess(record).cases[0].clone();
    assert!(case(&zoo::record()).ns_per_op.is_some());
    assert!(case(&open()).ns_per_op.is_none());
    let plain = over();
    let io = Io { rate: RATE, time: Duration::from_secs(1), ..plain.io };
    let mut record = flawless_write(plain);
    let answer_of =
        |record: &Record| assess(record).conclusions.durability.expect("it was asked to write");
    assert!(answer_of(&record).durable.is_some());
    record.header.plan.cases[0].case.io_mut().expect("it writes").clone_from(&io);
    answer(&mut record, 0, &[(MS, RATE)], 0);
    let of_schedule = answer_of(&record);
    assert!(of_schedule.durable.is_none() && of_schedule.acknowledged.is_none());
}

/// A closed loop tells what a load would have waited; an open one has the load.
#[test]
fn stalls_of_an_open_loop_are_in_its_response_times() {
    let stall = |record: &mut Record| {
        each(record, |trial| {
            let counts = vec![(MS, 1_000), (200 * MS, 1)];
            sample(trial).latencies = Latencies { counts, max_ns: 200 * MS };
        });
        assess(record).cases[0].findings[0].message.clone()
    };
    let (closed, open) = (stall(&mut flawless(work(Cache::Direct))), stall(&mut open()));
    assert!(closed.contains("If requests arrived steadily"), "{closed}");
    assert!(open.ends_with("what these did to operations that fell due meanwhile"), "{open}");
}
