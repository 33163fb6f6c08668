//! CPUs that sleep between operations, and what that says of a load at several rates.

use super::open_loop::{RATE, answer, open};
use super::*;
use crate::finding::{Code, Severity, Verdict};
use crate::summary::Summary;
use model::evidence::IdleState;

const SLOW: usize = 0;
const FAST: usize = 1;
const SLOW_NULL: usize = 2;
const FAST_NULL: usize = 3;

/// The higher rate.
const MORE: u64 = 4 * RATE;

/// Response times in nanoseconds of the two rates: 102 µs apart.
const LONG: u64 = 190_000;
const SHORT: u64 = 88_000;

/// The trials of a case enter a state so many times in 100 operations.
fn sleeps(record: &mut Record, case: usize, state: (&str, Option<u64>), in_100: u64) {
    for trial in record.trials.iter_mut().filter(|trial| trial.case == case) {
        let (name, entries) = (state.0.to_string(), sample(trial).ops() * in_100 / 100);
        let state = IdleState { name, wake_us: state.1, entries, us: entries * 50 };
        trial.evidence.idle_states.push(state);
    }
}

const POLL: (&str, Option<u64>) = ("POLL", Some(0));
const C6: (&str, Option<u64>) = ("C6", Some(133));

/// A load at two rates on a bare machine, with the same schedules without any I/O. At the lower
/// one, its CPU sleeps once in each pause and once in each operation.
fn load() -> Record {
    let mut record = open();
    let io = record.header.plan.cases[SLOW].case.io().copied().expect("it reads");
    let work = work(Cache::Direct);
    let at = |rate| Io { rate, ..io };
    let bytes = work.io.block * MORE;
    add(&mut record, file_case(ReadWork { io: at(MORE), ..work }), Role::Asked, bytes, 1.0, bytes);
    for rate in [RATE, MORE] {
        let null = null_work();
        let io = Io { rate, arrival: io.arrival, threads: io.threads, time: io.time, ..null.io };
        let case = file_case(ReadWork { io, ..null });
        add(&mut record, case, Role::Baseline, 4096 * rate, 0.5, 0);
    }
    answer(&mut record, SLOW, &[(LONG, RATE)], 0);
    answer(&mut record, FAST, &[(SHORT, MORE)], 0);
    answer(&mut record, SLOW_NULL, &[(100, RATE)], 0);
    answer(&mut record, FAST_NULL, &[(100, MORE)], 0);
    record
}

/// It, with entries into `state` in 100 operations of each case.
fn asleep(state: (&str, Option<u64>), in_100: [u64; 4]) -> Record {
    let mut record = load();
    for (case, in_100) in in_100.into_iter().enumerate() {
        sleeps(&mut record, case, POLL, 300);
        sleeps(&mut record, case, state, in_100);
    }
    record
}

/// What the CPUs of the planted fault do.
const PLANTED: [u64; 4] = [198, 3, 101, 2];

/// The findings on the rates, the lower one first; all rows are sound.
fn found(record: &Record) -> [Vec<Code>; 2] {
    let assessment = assess(record);
    assessment.cases.iter().for_each(|row| assert_eq!(row.verdict, Verdict::Sound, "{row:?}"));
    [RATE, MORE].map(|rate| {
        let of_rate = |row: &&Summary| {
            row.role == Role::Asked && row.case.io().is_some_and(|io| io.rate == rate)
        };
        let row = assessment.cases.iter().find(of_rate).expect("it was asked for");
        row.findings.iter().map(|found| found.code).collect()
    })
}

fn check_silent(record: &Record) {
    assert_eq!(found(record), [vec![], vec![]]);
}

#[test]
fn cpus_that_sleep_in_each_operation_are_why_a_slow_rate_is_slower() {
    let record = asleep(C6, PLANTED);
    assert_eq!(found(&record), [vec![Code::DeepIdle], vec![]]);
    let finding = assess(&record).cases[SLOW].findings[0].clone();
    assert_eq!(finding.severity, Severity::Note);
    assert_eq!(
        finding.message,
        "the median response time is 190 µs, which is 102 µs longer than at 4.10 k/s: the CPUs of \
         its threads sleep while operations are in flight. They enter C6 0.97 times an operation \
         more often than without any I/O, and 0.01 times at 4.10 k/s. Waking up takes up to 133 µs"
    );
    // A driver may have several such states.
    let mut several = asleep(C6, [120, 3, 101, 2]);
    sleeps(&mut several, SLOW, ("C8", Some(260)), 60);
    sleeps(&mut several, SLOW, ("C10", Some(890)), 0);
    let finding = assess(&several).cases[SLOW].findings[0].clone();
    assert!(finding.message.contains("enter C6 and C8 0.79 times"), "{}", finding.message);
    assert!(finding.message.ends_with("up to 260 µs"), "{}", finding.message);
}

#[test]
fn cpus_that_tell_nothing_prove_nothing() {
    check_silent(&load());
    // They tell it for some rows only.
    for untold in 0..4 {
        let mut record = asleep(C6, PLANTED);
        for trial in record.trials.iter_mut().filter(|trial| trial.case == untold) {
            trial.evidence.idle_states.clear();
        }
        check_silent(&record);
    }
    // Nobody knows how long a virtual CPU sleeps.
    let mut guest = asleep(C6, PLANTED);
    guest.header.host.hypervisor = Some("KVM".to_string());
    check_silent(&guest);
}

#[test]
fn response_times_that_may_be_the_same_need_no_reason() {
    let spread = |in_first: u64, in_second: u64| {
        let mut record = asleep(C6, PLANTED);
        for (case, at, rest) in [(SLOW, in_first, RATE), (FAST, in_second, MORE)] {
            for (turn, trial) in
                record.trials.iter_mut().filter(|trial| trial.case == case).enumerate()
            {
                let ns = at + 30_000 * (turn as u64 % 5);
                let latencies = Latencies { counts: vec![(ns, rest)], max_ns: ns };
                sample(trial).responses = latencies;
            }
        }
        record
    };
    assert_eq!(found(&spread(300_000, 88_000)), [vec![Code::DeepIdle], vec![]]);
    check_silent(&spread(100_000, 88_000));
    // It is the higher rate that is slower.
    check_silent(&spread(88_000, 300_000));
}

#[test]
fn few_entries_do_not_move_a_median() {
    for in_100 in [
        [140, 3, 101, 2],
        // They sleep in the pauses only, or others wake them up.
        [101, 3, 101, 2],
        [900, 3, 900, 2],
        [3, 3, 101, 2],
        // They sleep as often at the higher rate.
        [198, 103, 101, 2],
    ] {
        check_silent(&asleep(C6, in_100));
    }
    assert_eq!(found(&asleep(C6, [160, 3, 101, 2]))[0], [Code::DeepIdle]);
    // It may be chance.
    let mut record = asleep(C6, PLANTED);
    record.trials.retain(|trial| trial.round < 3);
    let silent = |codes: Vec<Code>| !codes.contains(&Code::DeepIdle);
    assert!(
        assess(&record)
            .cases
            .iter()
            .all(|row| { silent(row.findings.iter().map(|found| found.code).collect()) })
    );
}

#[test]
fn shallow_states_explain_no_long_wait() {
    for wake_us in [None, Some(0), Some(1), Some(50)] {
        check_silent(&asleep(("C1E", wake_us), PLANTED));
    }
    assert_eq!(found(&asleep(("C1E", Some(52)), PLANTED))[0], [Code::DeepIdle]);
}

#[test]
fn only_rates_of_one_load_are_compared() {
    let mut record = asleep(C6, PLANTED);
    record.header.plan.cases[FAST].case.io_mut().expect("it reads").depth = 4;
    check_silent(&record);
}
