//! Which engine is the fastest, for reads that differ only in it.

use super::*;
use crate::decision::{Decision, Lead};

/// Warm reads by these engines, each this many times as slow as the record's own rounds.
fn record_of(engines: &[(Engine, f64)]) -> Record {
    let mut record = flawless(work(Cache::Warm));
    for &(engine, slowness) in engines {
        let case = file_case(ReadWork { engine, ..work(Cache::Warm) });
        add(&mut record, case, Role::Asked, FILE, slowness, 0);
    }
    // The first case is the record's own.
    record.trials.retain(|trial| trial.case > 0);
    record.header.plan.cases[0].role = Role::Baseline;
    record
}

fn engine(id: &str) -> &str {
    id.split_whitespace().next().expect("an id begins with the engine")
}

fn found(record: &Record) -> Vec<Lead> {
    assess(record).conclusions.engines
}

#[test]
fn the_fastest_engine_is_held_against_each_other() {
    let record = record_of(&[(Engine::Pread, 1.3), (Engine::Mmap, 1.0), (Engine::Uring, 1.005)]);
    let all = found(&record);
    assert_eq!(all.len(), 1);
    let lead = &all[0];
    assert_eq!(engine(&lead.best().row.id), "mmap");
    let against: Vec<(&str, Decision)> = lead
        .against()
        .iter()
        .map(|decided| (engine(&decided.rows()[1].id), decided.decision()))
        .collect();
    assert_eq!(against, [("pread", Decision::Yes), ("uring", Decision::No)]);
}

#[test]
fn three_rounds_tell_no_engine_apart() {
    let mut record = record_of(&[(Engine::Pread, 3.0), (Engine::Mmap, 1.0)]);
    record.trials.retain(|trial| trial.round < 3);
    let all = found(&record);
    let decisions: Vec<Decision> =
        all.iter().flat_map(Lead::against).map(|it| it.decision()).collect();
    assert!(decisions.iter().all(|decision| *decision == Decision::Undecided), "{decisions:?}");
}

#[test]
fn engines_are_compared_only_where_the_same_source_served_them() {
    let mut record = record_of(&[(Engine::Pread, 1.0)]);
    let elsewhere = file_case(ReadWork { engine: Engine::Mmap, ..work(Cache::Cold) });
    add(&mut record, elsewhere, Role::Asked, FILE, 9.0, FILE);
    assert_eq!(found(&record), []);
}

/// On one schedule, all that keep up have one rate, which tells nothing of their speed.
#[test]
fn engines_on_a_schedule_are_not_compared() {
    let compared = |rate| {
        let mut record = flawless(work(Cache::Warm));
        for engine in [Engine::Pread, Engine::Mmap] {
            let plain = work(Cache::Warm);
            let io = Io { rate, ..plain.io };
            let case = file_case(ReadWork { engine, io, ..plain });
            add(&mut record, case, Role::Asked, FILE, 1.0, 0);
        }
        record.trials.retain(|trial| trial.case > 0);
        record.header.plan.cases[0].role = Role::Baseline;
        let assessment = assess(&record);
        (
            assessment.conclusions.engines.len(),
            assessment.comparisons.len(),
            assessment.conclusions.fastest.len(),
        )
    };
    assert_eq!(compared(0), (1, 1, 1));
    assert_eq!(compared(1_000), (0, 0, 0));
}
