//! A chase alone, and beside loads of memory.

use super::*;
use crate::conclusions::loaded_latency::LoadedLatency;
use crate::decision::Decision;
use model::actor::Duty;
use model::plan::Actor;
use model::sample::PROGRESS_NS;
use model::trial::Beside;

const MIB: u64 = 1 << 20;
const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

fn chase_case(beside: &[&str]) -> Case {
    let mut case = memory_case(Kernel::Chase, 1);
    if let Work::Memory(work) = &mut case.work {
        work.isa = Isa::Scalar;
    }
    Case { beside: beside.iter().map(|name| (*name).to_string()).collect(), ..case }
}

/// Ten rounds of a chase that takes 100 ns for a load, and beside readers that move 1 GiB/s,
/// 2 GiB/s … as many nanoseconds each.
fn curve(kernel: Kernel, ns: &[u64]) -> Record {
    let mut record = flawless(work(Cache::Warm));
    record.header.plan.cases.clear();
    record.trials.clear();
    let mut add_chase = |case, ns| {
        add(&mut record, case, Role::Asked, 64 * 1_000_000_000 / ns, 1.0, 0);
    };
    add_chase(chase_case(&[]), 100);
    for (name, ns) in NAMES.iter().zip(ns) {
        add_chase(chase_case(&[name]), *ns);
    }
    let actor = |(percent, name): (u8, &&str)| {
        let duty = Duty::try_from(10 * percent).expect("it is a percentage");
        Actor { duty, ..Actor::own(name, memory_case(kernel, 1)) }
    };
    record.header.plan.actors = (1..).zip(&NAMES).map(actor).collect();
    for trial in record.trials.iter_mut().filter(|trial| trial.case > 0) {
        let rate = trial.case as u64 * 1024 * MIB;
        trial.beside = vec![reader(NAMES[trial.case - 1], rate, trial.round)];
    }
    record
}

/// A reader that moves as much a second while the trial runs, in nine whole steps, and twice as
/// much before and after it.
fn reader(name: &str, rate: u64, round: u32) -> Beside {
    let [around, beside] = [2, 1].map(|times| times * rate * PROGRESS_NS / 1_000_000_000);
    // A little more in some rounds.
    let beside = beside + beside / 1000 * u64::from(round % 3);
    let progress = [vec![around; 2], vec![beside; 14], vec![around; 3]].concat();
    let bytes = progress.iter().sum();
    let span = Span {
        start_ns: 0,
        end_ns: 1_850_000_000,
        bytes,
        ops: bytes / 64,
        progress,
        ..Span::default()
    };
    Beside {
        name: name.to_string(),
        outcome: Outcome::Done(Sample { spans: vec![span], ..Sample::default() }),
        evidence: Evidence::default(),
        expected_digest: None,
        read_back: None,
    }
}

/// What is found, once each trial begins 200 ms after its readers.
fn found(mut record: Record) -> Vec<LoadedLatency> {
    each(&mut record, |trial| {
        for span in &mut sample(trial).spans {
            span.start_ns += 2 * PROGRESS_NS;
            span.end_ns += 2 * PROGRESS_NS;
        }
    });
    assess(&record).conclusions.loaded_latencies
}

const KNEE: [u64; 6] = [101, 102, 103, 104, 130, 170];

#[test]
fn a_curve_that_bends_has_a_knee() {
    let all = found(curve(Kernel::Read, &KNEE));
    assert_eq!(all.len(), 1);
    let it = &all[0];
    assert_eq!((it.kernel, it.threads, it.loads.len()), (Kernel::Read, 1, 6));
    assert!((it.unloaded.latency_ns.median / 104.5 - 1.0).abs() < 0.01, "{:?}", it.unloaded);
    let rates: Vec<f64> = it.loads.iter().map(|load| load.bandwidth.median).collect();
    assert!(rates.is_sorted(), "{rates:?}");
    // Twice as much was moved before and after the trials.
    let gib = 1024.0 * MIB as f64;
    assert!((rates[0] / gib - 1.0).abs() < 0.01, "{rates:?}");
    let knee = it.knee.as_ref().expect("it bends");
    assert_eq!(knee.bandwidth, rates[3], "{rates:?}");
    let times = knee.beyond_line.ratio().median;
    assert!((times - 170.0 / 106.0).abs() < 0.05, "{times}");
    let longer = it.loads[5].longer.as_ref().expect("it is paired").ratio().median;
    assert!((longer - 1.7).abs() < 0.02, "{longer}");
    assert_eq!(it.loads[5].is_longer(), Decision::Yes);
}

#[test]
fn a_flat_curve_and_a_straight_one_have_none() {
    let knee = |ns: &[u64]| {
        let all = found(curve(Kernel::Copy, ns));
        assert_eq!(all.len(), 1, "{ns:?}");
        all[0].knee.clone()
    };
    assert_eq!(knee(&[100; 6]), None);
    assert_eq!(knee(&[110, 120, 130, 140, 150, 160]), None);
    // It bends, but by less than counts.
    assert_eq!(knee(&[100, 100, 100, 100, 101, 103]), None);
    // It grows more slowly.
    assert_eq!(knee(&[130, 160, 163, 164, 165, 166]), None);
    // Too few points for two lines.
    assert_eq!(knee(&[100, 200, 400]), None);
    assert_eq!(found(curve(Kernel::Copy, &[100; 6]))[0].loads[5].is_longer(), Decision::No);
}

/// Another's load may slow each round differently: the rounds do not agree on a knee.
#[test]
fn a_bend_of_the_medians_alone_is_no_knee() {
    let mut record = curve(Kernel::Read, &KNEE);
    for trial in record.trials.iter_mut().filter(|trial| trial.case >= 5) {
        let times = if trial.round % 2 == 0 { 2 } else { 5 };
        for span in &mut sample(trial).spans {
            (span.ops, span.bytes) = (span.ops * times / 3, span.bytes * times / 3);
        }
    }
    assert_eq!(found(record)[0].knee, None);
}

#[test]
fn nothing_is_said_without_the_chase_alone() {
    let mut record = curve(Kernel::Read, &KNEE);
    record.trials.retain(|trial| trial.case > 0);
    assert_eq!(found(record), []);
}

#[test]
fn each_loop_that_loads_has_a_curve_and_a_share_of_what_it_does_alone() {
    let mut record = curve(Kernel::Read, &KNEE);
    for actor in &mut record.header.plan.actors[..2] {
        actor.case = memory_case(Kernel::Copy, 1);
    }
    let alone = 8 * 1024 * MIB;
    add(&mut record, memory_case(Kernel::Read, 1), Role::Asked, alone, 1.0, 0);
    let all = found(record);
    let told: Vec<_> = all.iter().map(|it| (it.kernel, it.loads.len())).collect();
    assert_eq!(told, [(Kernel::Copy, 2), (Kernel::Read, 4)]);
    assert_eq!(all[0].of_alone, None);
    let share = all[1].of_alone.expect("it was measured").median;
    // 6 GiB/s, and 8 GiB in 1.045 s.
    assert!((share - 6.0 * 1.045 / 8.0).abs() < 0.01, "{share}");
}

/// What a loop over memory does beside a chase is no interference on storage.
#[test]
fn a_loaded_chase_is_no_level_and_no_interference() {
    let conclusions = assess(&curve(Kernel::Read, &KNEE)).conclusions;
    assert_eq!(conclusions.interferences, []);
    assert_eq!(conclusions.levels, []);
}

#[test]
fn wrong_data_of_a_load_voids_the_case() {
    let mut record = curve(Kernel::Read, &KNEE);
    for trial in record.trials.iter_mut().filter(|trial| trial.case == 6) {
        trial.beside[0].expected_digest = Some(7);
        if let Outcome::Done(its) = &mut trial.beside[0].outcome {
            its.spans[0].digest = Some(8);
        }
    }
    assert_eq!(found(record)[0].loads.len(), 5);
}
