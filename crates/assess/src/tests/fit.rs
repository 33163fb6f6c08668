//! Goals: a figure that meets one, its twin that misses it, and all that leaves it open.

use super::writing::{flawless_write, synced_often, unsynced};
use super::*;
use crate::conclusions::fit::{CaseFit, Unfit};
use crate::decision::Decision::{self, No, Undecided, Yes};
use crate::finding::Code;
use model::case::{Op, WriteWork};
use model::goal::Goal;
use model::plan::Skip;

const MS: u64 = 1_000_000;

/// The record of a log whose syncs take 900 µs, and 1 in `rare` of them 5 ms.
fn log_with(rare: u64) -> Record {
    let mut record = flawless_write(synced_often());
    each(&mut record, |trial| {
        let slow = 10_000 / rare;
        let counts = vec![(900_000, 10_000 - slow), (5 * MS, slow)];
        sample(trial).syncs = Latencies { counts, max_ns: 5 * MS };
        trial.evidence.device_flushes = Some(10_001);
    });
    record
}

/// What becomes of a goal in the only case of a record.
fn of(mut record: Record, must: &str) -> (Decision, CaseFit) {
    record.header.plan.goals = vec![Goal::typed(must.parse().expect("it is a goal"))];
    let mut fit = assess(&record).conclusions.fit.expect("there is a goal");
    let mut goal = fit.goals.remove(0);
    assert_eq!((fit.fit, goal.cases.len()), (goal.fit, 1));
    assert_eq!(goal.fit, goal.cases[0].fit);
    (fit.fit, goal.cases.remove(0))
}

fn check(record: Record, must: &str, fit: Decision, why: Option<Unfit>, finding: Option<Code>) {
    let (found, case) = of(record, must);
    assert_eq!((found, case.why, case.finding), (fit, why, finding), "{must}: {case:#?}");
}

#[test]
fn the_interval_decides() {
    // 1 in 50 is twice what the p99 lets be longer, 1 in 200 is half of that.
    check(log_with(200), "sync p99<2ms", Yes, None, None);
    check(log_with(50), "sync p99<2ms", No, None, None);
    check(log_with(50), "sync p99<10ms", Yes, None, None);
    // A figure at its limit is not below it.
    check(log_with(50), "sync p99<5ms", No, None, None);
    // Rounds of which some are slow do not tell.
    let mut mixed = log_with(200);
    let slow = log_with(20);
    for round in [1, 4, 7] {
        mixed.trials[round] = slow.trials[round].clone();
    }
    let (_, case) = of(mixed.clone(), "sync p99<2ms");
    assert!(case.low < Some(2e6) && case.high > Some(2e6), "{case:#?}");
    check(mixed, "sync p99<2ms", Undecided, Some(Unfit::Close), None);
}

#[test]
fn a_rate_must_be_above_its_limit() {
    let rate = flawless_write(synced_often());
    let (fit, case) = of(rate.clone(), "throughput>500MB/s");
    assert_eq!(fit, Yes, "{case:#?}");
    let median = case.value.expect("there is a rate");
    check(rate.clone(), "throughput>2GB/s", No, None, None);
    check(rate.clone(), &format!("throughput>{}B/s", (median * 1.5) as u64), No, None, None);
    check(rate.clone(), "iops>500", Yes, None, None);
    check(rate, "iops>2k", No, None, None);
    let read = flawless(work(Cache::Direct));
    check(read.clone(), "throughput>500MB/s", Yes, None, None);
    check(read, "cpu<1ns", No, None, None);
}

/// The longest gap is at least the longest that was seen.
#[test]
fn one_gap_that_is_too_long_misses_the_goal() {
    let with = |longest: u64| {
        let mut record = flawless(work(Cache::Direct));
        each(&mut record, |trial| sample(trial).latencies.max_ns = 2 * MS);
        sample(&mut record.trials[3]).latencies.max_ns = longest;
        record
    };
    check(with(2 * MS), "gap<3ms", Yes, None, None);
    check(with(2 * MS), "gap<2ms", No, None, None);
    check(with(4 * MS), "gap<3ms", No, None, None);
    let (_, case) = of(with(4 * MS), "gap<1s");
    assert_eq!((case.value, case.low, case.operations), (Some(4e6), Some(4e6), None));
    assert!(case.high >= Some(4e6), "{case:#?}");
    // One trial is no interval, but what it shows is enough to miss a goal.
    let mut few = with(2 * MS);
    few.trials.truncate(1);
    check(few.clone(), "gap<1ms", No, Some(Unfit::Exceeded), None);
    check(few, "gap<3ms", Undecided, Some(Unfit::TooFew), None);
}

#[test]
fn what_is_not_durable_is_not_fit_however_fast() {
    let mut swallowed = log_with(200);
    evidence(&mut swallowed, |evidence| evidence.device_flushes = Some(0));
    let not_durable = (No, Some(Unfit::NotDurable), Some(Code::NotDurable));
    check(swallowed.clone(), "sync p99<1s", not_durable.0, not_durable.1, not_durable.2);
    check(swallowed, "throughput>1", not_durable.0, not_durable.1, not_durable.2);
    // Nothing was claimed, so nothing is lost.
    check(unsynced_record(), "throughput>500MB/s", Yes, None, None);
}

fn unsynced_record() -> Record {
    flawless_write(unsynced())
}

#[test]
fn a_doubtful_figure_is_never_fit() {
    let mut unseen = log_with(200);
    evidence(&mut unseen, |evidence| evidence.device_flushes = None);
    let doubt = Some(Code::CountersUnseen);
    check(unseen.clone(), "sync p99<2ms", Undecided, Some(Unfit::Doubtful), doubt);
    // It may be better than the truth: missing its goal even so is certain.
    check(unseen, "sync p99<500us", No, None, None);
    // It may be worse than the truth, as others used the device.
    let mut busy = log_with(200);
    evidence(&mut busy, |evidence| {
        (evidence.device_read_bytes, evidence.task_read_bytes) = (Some(FILE), Some(0));
    });
    let code = assess(&busy).cases[0].findings[0].code;
    assert_eq!(code, Code::Foreign);
    check(busy.clone(), "sync p99<500us", Undecided, Some(Unfit::Doubtful), Some(code));
    check(busy, "sync p99<2ms", Undecided, Some(Unfit::Doubtful), Some(code));
}

#[test]
fn what_was_not_measured_is_open() {
    // Of 257 syncs a round, 1 in 10 000 is none.
    let few = flawless_write(synced_often());
    check(few.clone(), "sync p99.99<1s", Undecided, Some(Unfit::NoFigure), None);
    // 26 of all are above the p99.
    check(few.clone(), "sync p99<1s", Undecided, Some(Unfit::TooFew), None);
    // Of 120 syncs, nobody knows the p99, but a third of them take longer.
    let mut slow = log_with(200);
    each(&mut slow, |trial| {
        let counts = vec![(900_000, 8), (30 * MS, 4)];
        sample(trial).syncs = Latencies { counts, max_ns: 30 * MS };
    });
    check(slow.clone(), "sync p99<10ms", Undecided, Some(Unfit::NoFigure), None);
    let hundreds = |slow: u64| {
        let mut record = log_with(200);
        each(&mut record, |trial| {
            let counts = vec![(900_000, 80 - slow), (30 * MS, slow)];
            sample(trial).syncs = Latencies { counts, max_ns: 30 * MS };
        });
        record
    };
    check(hundreds(40), "sync p99<10ms", No, Some(Unfit::Exceeded), None);
    check(hundreds(1), "sync p99<10ms", Undecided, Some(Unfit::NoFigure), None);
    let mut short = log_with(200);
    short.trials.truncate(4);
    short.header.plan.rounds = 4;
    let (fit, case) = of(short, "sync p99<2ms");
    assert_eq!(fit, Undecided, "{case:#?}");
    let mut wrong = log_with(200);
    each(&mut wrong, |trial| {
        if let Some(read_back) = &mut trial.read_back {
            read_back.digest = 6;
        }
    });
    let void = Some(Code::DigestMismatch);
    check(wrong, "sync p99<2ms", Undecided, Some(Unfit::Void), void);
    // A case that was to be measured and was skipped.
    let mut record = log_with(200);
    let goal = Goal::typed("sync p99<2ms".parse().expect("it is a goal"));
    record.header.plan.goals = vec![goal];
    let case = record.header.plan.cases[0].case.clone();
    record.header.plan.skips.push(Skip { case, reason: "it cannot".to_string() });
    let fit = assess(&record).conclusions.fit.expect("there is a goal");
    assert_eq!((fit.fit, fit.goals[0].cases[0].fit), (Undecided, Yes));
    record.header.plan.goals[0].must = "time<1s".parse().expect("it is a goal");
    let fit = assess(&record).conclusions.fit.expect("there is a goal");
    assert_eq!((fit.fit, fit.goals[0].cases.len()), (Undecided, 0));
}

/// What moves no bytes has no throughput to be held against a goal.
#[test]
fn a_sync_alone_is_in_no_goal_of_throughput() {
    let mut record = log_with(200);
    let alone = WriteWork { op: Op::Sync, every: 0, ..synced_often() };
    record.header.plan.cases[0].case = super::writing::write_case(alone);
    let cases = |must: &str| {
        let goal = Goal::typed(must.parse().expect("it is a goal"));
        goal.is_about(&record.header.plan.cases[0].case)
    };
    assert!(!cases("throughput>1MB/s") && cases("iops>5"));
}

/// One goal is about the cases that it names.
#[test]
fn a_goal_chooses_its_cases() {
    let mut record = log_with(200);
    let other = WriteWork { op: Op::Write, every: 8, ..synced_often() };
    let index = record.header.plan.cases.len();
    record
        .header
        .plan
        .cases
        .push(model::plan::Planned { case: super::writing::write_case(other), role: Role::Asked });
    let slow = log_with(20).trials.into_iter().map(|trial| Trial { case: index, ..trial });
    record.trials.extend(slow);
    let fit = |of: &[(&str, &str)]| {
        let mut goal = Goal::typed("sync p99<2ms".parse().expect("it is a goal"));
        goal.of = of.iter().map(|(axis, value)| (axis.to_string(), value.to_string())).collect();
        let mut record = record.clone();
        record.header.plan.goals = vec![goal];
        let fit = assess(&record).conclusions.fit.expect("there is a goal");
        (fit.fit, fit.goals[0].cases.len())
    };
    assert_eq!(fit(&[]), (No, 2));
    assert_eq!(fit(&[("every", "4")]), (Yes, 1));
    assert_eq!(fit(&[("every", "8")]), (No, 1));
    assert_eq!(fit(&[("every", "4"), ("block", "1m")]), (Yes, 1));
    assert_eq!(fit(&[("every", "5")]), (Undecided, 0));
    assert_eq!(fit(&[("nothing", "4")]), (Undecided, 0));
}
