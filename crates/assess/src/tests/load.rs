//! How much load is held, from cases that differ in their rate.

use super::*;
use crate::conclusions::load::{Load, meets};
use crate::decision::Decision;
use model::goal::Requirement;

const TIME: Duration = Duration::from_secs(1);

/// A rate, the response times of its trials (nanoseconds and how many), and how many never began.
type Offered<'a> = (u64, &'a [(u64, u64)], u64);

/// A closed loop, and a case for each rate.
fn check(rates: &[Offered], goals: &[&str]) -> Load {
    let plain = work(Cache::Direct);
    let mut record = flawless(plain);
    for &(rate, counts, unsent) in rates {
        let io = Io { rate, time: TIME, ..plain.io };
        let index = record.header.plan.cases.len();
        let (case, bytes) = (file_case(ReadWork { io, ..plain }), 4096 * rate);
        add(&mut record, case, Role::Asked, bytes, 0.5, bytes);
        let of_case = record.trials.iter_mut().filter(|trial| trial.case == index);
        for sample in of_case.map(sample) {
            let max_ns = counts.last().map_or(0, |(ns, _)| *ns);
            sample.responses = Latencies { counts: counts.to_vec(), max_ns };
            sample.spans[0].ops = counts.iter().map(|(_, count)| count).sum();
            sample.spans[0].unsent = unsent;
        }
    }
    let goals = goals.iter().map(|goal| goal.parse::<Requirement>().expect("it is a goal"));
    record.header.plan.hold = goals.collect();
    record.header.plan.at_least = (!record.header.plan.hold.is_empty()).then_some(2_000);
    let mut loads = assess(&record).conclusions.loads;
    assert_eq!(loads.len(), 1, "{loads:#?}");
    loads.remove(0)
}

const MS: u64 = 1_000_000;

#[test]
fn a_load_is_kept_up_with_up_to_a_rate() {
    let load = check(
        &[
            (4_000, &[(9 * MS, 3_600)], 400),
            (1_000, &[(MS, 1_000)], 0),
            (2_000, &[(2 * MS, 2_000)], 0),
        ],
        &[],
    );
    assert_eq!((load.kept_up.holds, load.kept_up.fails), (Some(2_000), Some(4_000)));
    let rates: Vec<u64> = load.rates.iter().map(|it| it.rate).collect();
    assert_eq!(rates, [1_000, 2_000, 4_000], "ascending");
    assert!(load.closed.is_some() && load.rates.iter().all(|it| it.of_closed > Some(0.0)));
    assert_eq!((&load.held, &load.at_least), (&None, &None));
}

/// 1 in 100 of 20 000 operations is 200: 100 fewer or more are far away, 5 are not.
#[test]
fn a_goal_is_met_or_not_or_neither() {
    let at = |late: u64| -> Decision {
        let counts = [(MS / 2, 2_000 - late), (3 * MS, late)];
        let load = check(&[(2_000, &counts[..], 0)], &["p99<1ms"]);
        let held = load.held.as_ref().expect("there is a goal");
        let met = load.rates[0].meets.expect("there is a goal");
        assert_eq!(held.holds, (met == Decision::Yes).then_some(2_000));
        assert_eq!(held.fails, (met == Decision::No).then_some(2_000));
        assert_eq!(load.at_least.expect("it was asked for").met, met);
        met
    };
    assert_eq!(at(10), Decision::Yes);
    assert_eq!(at(30), Decision::No);
    assert_eq!(at(20), Decision::Undecided);
}

#[test]
fn all_goals_must_be_met_and_the_load_kept_up_with() {
    let fast: &[(u64, u64)] = &[(MS / 2, 2_000)];
    let met = |counts, unsent, goals: &[&str]| {
        check(&[(2_000, counts, unsent)], goals).rates[0].meets.expect("there are goals")
    };
    assert_eq!(met(fast, 0, &["p50<1ms", "p99<1ms"]), Decision::Yes);
    assert_eq!(met(fast, 0, &["p50<1ms", "p99<500us"]), Decision::No);
    assert_eq!(met(fast, 0, &["p50<500us", "p99<1ms"]), Decision::No);
    // Half of them never began: the median is met, the load is not.
    assert_eq!(met(&[(MS / 2, 1_500)], 500, &["p50<1ms"]), Decision::No);
    // Of 20 000 operations, 1 in 10 000 is too few to decide.
    assert_eq!(met(fast, 0, &["p99.99<1ms"]), Decision::Undecided);
}

#[test]
fn a_search_looks_at_one_trial() {
    let plain = work(Cache::Direct);
    let mut record = flawless(plain);
    let trial = &mut record.trials[0];
    let goals = ["p90<1ms".parse().expect("it is a goal")];
    let mut with = |counts: &[(u64, u64)], unsent| {
        let sample = sample(trial);
        sample.responses = Latencies { counts: counts.to_vec(), max_ns: 9 * MS };
        sample.spans[0].unsent = unsent;
        meets(trial, &goals)
    };
    assert!(with(&[(MS - 1, 900), (MS, 100)], 0));
    assert!(!with(&[(MS - 1, 899), (MS, 101)], 0));
    assert!(!with(&[(MS - 1, 950)], 50), "5 % never began");
}
