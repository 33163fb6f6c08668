//! Cases of several actors.

use super::*;
use crate::conclusions::interference::{Interference, LatencyKind};
use crate::decision::Decision;
use crate::latency::UNSENT_NS;
use crate::records::Judged;
use crate::summary::ServedBy;
use model::case::{Sync, WriteWork};
use model::plan::Actor;
use model::trial::{Beside, ReadBack};

const MIB: u64 = 1 << 20;

/// Ten rounds of direct reads alone, and ten beside a reader, whose reads the devices count too.
/// Each operation takes `times` as long, and there are as many fewer of them.
pub(super) fn beside(times: u64) -> Record {
    let mut record = flawless(work(Cache::Direct));
    let alone = record.header.plan.cases[0].case.clone();
    record.header.plan.actors = vec![Actor::own("other", file_case(work(Cache::Direct)))];
    let case = Case { beside: vec!["other".to_string()], ..alone };
    add(&mut record, case, Role::Asked, FILE / times, 1.0, FILE / times);
    each(&mut record, |trial| {
        let round = u64::from(trial.round);
        let own = if trial.case == 0 { 1 } else { times };
        let slow = own * (2_000_000 + 1_000 * (round * 7 % 10));
        sample(trial).latencies =
            Latencies { counts: vec![(slow / 2, 4_900), (slow, 100)], max_ns: slow };
        if trial.case == 1 {
            trial.evidence.device_read_bytes = Some(FILE / times + 400 * MIB);
            trial.beside = vec![other(400 * MIB)];
        }
    });
    record
}

/// What the reader did beside a trial.
fn other(task_read_bytes: u64) -> Beside {
    let span = Span { end_ns: 2_000_000_000, bytes: 800 * MIB, ops: 800, ..Span::default() };
    let latencies = Latencies { counts: vec![(2_400_000, 800)], max_ns: 2_400_000 };
    let sample = Sample { spans: vec![span], latencies, ..Sample::default() };
    let task_read_bytes = Some(task_read_bytes);
    Beside {
        name: "other".to_string(),
        outcome: Outcome::Done(sample),
        evidence: Evidence { task_read_bytes, task_write_bytes: Some(0), ..Evidence::default() },
        expected_digest: None,
        read_back: None,
    }
}

fn found(record: &Record) -> Vec<Interference> {
    assess(record).conclusions.interferences
}

#[test]
fn a_case_is_compared_with_itself_alone() {
    let found = found(&beside(3));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].timed, LatencyKind::Service);
    let it = &found[0].beside[0];
    assert_eq!(it.is_longer(), Decision::Yes);
    let ratio = it.p99.as_ref().expect("each round has a p99").ratio().median;
    assert!((ratio - 3.0).abs() < 1e-9, "{ratio}");
    let rate = it.rate.as_ref().expect("it is a closed loop").ratio().median;
    assert!((rate - 3.0).abs() < 0.2, "{rate}");
    let actor = &it.actors[0];
    assert_eq!((actor.name.as_str(), actor.throughput), ("other", Some(400.0 * MIB as f64)));
    // It tells no progress.
    assert!(actor.of_whole_run);
    assert_eq!(actor.latency_ns.p50.map(|p50| p50.ns), Some(2_400_000));
}

/// It moves 800 MiB/s before the trials and after them, and a quarter of that beside them, from a
/// start that no step of its progress begins with.
#[test]
fn what_an_actor_did_is_that_of_the_trials_and_not_of_its_whole_run() {
    let figures = |lasts_ns: u64, tells: bool| {
        let mut record = beside(3);
        each(&mut record, |trial| {
            let starts_ns = 1_234_000_000;
            for span in &mut sample(trial).spans {
                (span.start_ns, span.end_ns) = (starts_ns, starts_ns + lasts_ns);
            }
            for beside in &mut trial.beside {
                let Outcome::Done(its) = &mut beside.outcome else { panic!("it is done") };
                let whole_steps = (0..30u64).map(|step| {
                    let is_beside = (13..12 + lasts_ns / 100_000_000).contains(&step);
                    if is_beside { 20 * MIB } else { 80 * MIB }
                });
                let progress: Vec<u64> = whole_steps.chain([MIB]).collect();
                let bytes = progress.iter().sum();
                let progress = if tells { progress } else { Vec::new() };
                let ops = bytes / MIB;
                let end_ns = 3_050_000_000;
                its.spans = vec![Span { end_ns, bytes, ops, progress, ..Span::default() }];
            }
        });
        let actor = found(&record)[0].beside[0].actors[0].clone();
        (actor.throughput, actor.iops, actor.of_whole_run)
    };
    assert_eq!(figures(1_000_000_000, true), (Some(200.0 * MIB as f64), Some(200.0), false));
    let (throughput, _, of_whole_run) = figures(1_000_000_000, false);
    assert!(of_whole_run && throughput > Some(500.0 * MIB as f64), "{throughput:?}");
    // No step lies within so short a trial.
    assert!(figures(150_000_000, true).2);
}

#[test]
fn what_costs_nothing_is_no_longer() {
    assert_eq!(found(&beside(1))[0].beside[0].is_longer(), Decision::No);
}

/// Adds to what the devices read beside the other reader, while the case read 1 MiB.
fn read_more(bytes: i64) -> Record {
    let mut record = beside(1024);
    for trial in record.trials.iter_mut().filter(|trial| trial.case == 1) {
        let read = trial.evidence.device_read_bytes.as_mut().expect("it is counted");
        *read = read.checked_add_signed(bytes).expect("it is not negative");
    }
    record
}

fn foreign(record: &Record) -> Option<crate::finding::Severity> {
    let found = assess(record).cases.remove(1).findings;
    found.iter().find(|it| it.code == crate::finding::Code::Foreign).map(|it| it.severity)
}

/// The reader has one block of 1 MiB in flight, which a device counts later than the reader does.
#[test]
fn what_an_actor_has_in_flight_is_not_read_by_others() {
    assert_eq!(foreign(&read_more(0)), None);
    assert_eq!(foreign(&read_more(1 << 20)), None);
    assert_eq!(foreign(&read_more(3 << 20)), Some(crate::finding::Severity::Void));
    // The devices read less than the actor and the case: what others read is unknown.
    assert_eq!(foreign(&read_more(-(1 << 20))), None);
    assert_eq!(foreign(&read_more(-(100 << 20))), None);
}

/// The reader's counters cover a hundredth of a second more than the devices'.
#[test]
fn what_an_actor_does_around_the_trial_is_not_read_by_others() {
    let wider = |record: &mut Record| {
        for trial in record.trials.iter_mut().filter(|trial| trial.case == 1) {
            let window_ns = trial.evidence.window_ns + 10_000_000;
            trial.beside[0].evidence.window_ns = window_ns;
        }
    };
    let mut record = read_more(5 << 20);
    assert_eq!(foreign(&record), Some(crate::finding::Severity::Void));
    wider(&mut record);
    assert_eq!(foreign(&record), None);
}

/// Only the case alone tells what the others cost.
#[test]
fn nothing_is_said_without_the_case_alone() {
    let mut record = beside(3);
    record.trials.retain(|trial| trial.case == 1);
    assert_eq!(found(&record), []);
}

#[test]
fn what_never_began_has_no_ratio() {
    let mut record = beside(3);
    each(&mut record, |trial| {
        let unsent = if trial.round == 3 { 4_000 } else { 0 };
        let sample = sample(trial);
        sample.responses = sample.latencies.clone();
        sample.spans[0].unsent = unsent;
    });
    for planned in &mut record.header.plan.cases {
        planned.case = planned.case.at_rate(1_000);
    }
    let it = &found(&record)[0];
    assert_eq!(it.timed, LatencyKind::Response);
    assert_eq!((it.beside[0].p99.is_none(), it.beside[0].rate.is_none()), (true, true));
    assert_eq!(it.beside[0].side.p99_ns, Some(UNSENT_NS));
}

/// The codes of the findings on the case beside others.
fn codes(record: &Record) -> Vec<String> {
    let assessment = assess(record);
    assessment.cases[1].findings.iter().map(|finding| finding.code.to_string()).collect()
}

#[test]
fn reads_of_actors_are_not_foreign_but_those_of_others_are() {
    let mut record = beside(3);
    assert!(!codes(&record).contains(&"Foreign".to_string()), "{:?}", codes(&record));
    // The actor read only a quarter of what the devices did beside the case.
    each(&mut record, |trial| {
        trial.beside.iter_mut().for_each(|it| it.evidence.task_read_bytes = Some(100 * MIB));
    });
    assert!(codes(&record).contains(&"Foreign".to_string()), "{:?}", codes(&record));
}

#[test]
fn wrong_data_of_an_actor_voids_the_case() {
    let seen = |digest| {
        let mut record = beside(3);
        each(&mut record, |trial| {
            for it in &mut trial.beside {
                let (bytes, expected, is_past_cache) = (4096, 7, true);
                it.read_back = Some(ReadBack { bytes, digest, expected, is_past_cache });
            }
        });
        codes(&record)
    };
    assert!(!seen(7).contains(&"DigestMismatch".to_string()));
    assert!(seen(8).contains(&"DigestMismatch".to_string()));
}

/// In another recipe, the same name may stand for other work.
#[test]
fn cases_beside_other_work_are_not_matched() {
    let [a, mut b] = [(), ()].map(|()| beside(3));
    let compared = |a: &Record, b: &Record| {
        crate::compare(Judged::of(a.clone()), Judged::of(b.clone()), &[]).pairs.len()
    };
    assert_eq!(compared(&a, &b), 2);
    let io = b.header.plan.actors[0].case.io_mut().expect("it reads a file");
    io.block *= 2;
    assert_eq!(compared(&a, &b), 1);
}

/// Flushes that devices completed may be those of the actor's syncs. A reader has none.
#[test]
fn a_flush_beside_an_actor_that_syncs_proves_nothing() {
    let check = |actor: Case| {
        let over = Io { cache: Cache::Direct, ..super::writing::over().io };
        let work = WriteWork { io: over, ..super::writing::over() };
        let mut record = super::writing::flawless_write(work);
        record.header.plan.actors = vec![Actor::own("other", actor)];
        record.header.plan.cases[0].case.beside = vec!["other".to_string()];
        each(&mut record, |trial| trial.beside = vec![other(0)]);
        judge(&record)
    };
    let synced = |cache| {
        let work = super::writing::synced_often();
        super::writing::write_case(WriteWork { io: Io { cache, ..work.io }, ..work })
    };
    assert_eq!(check(file_case(work(Cache::Direct))), "sound device:");
    assert_eq!(check(synced(Cache::Direct)), "sound device: CountersUnseen note");
    // The OS may write back its pages at any time.
    let unseen = "doubtful unverified: Unverified doubt, CountersUnseen note";
    assert_eq!(check(synced(Cache::AsIs)), unseen);
}

/// What both wrote through the page cache cannot be told apart by what devices wrote. Pages that a
/// sync left clean were written.
#[test]
fn what_was_synced_beside_a_writer_and_is_clean_was_written() {
    let often = super::writing::synced_often().every;
    let check_every = |every: u64, dirty: Option<u64>, sync: Sync| {
        let work = WriteWork { sync, every, ..super::writing::synced_often() };
        let mut record = super::writing::flawless_write(work);
        let actor = super::writing::write_case(super::writing::synced_often());
        record.header.plan.actors = vec![Actor::own("other", actor)];
        record.header.plan.cases[0].case.beside = vec!["other".to_string()];
        each(&mut record, |trial| {
            trial.beside = vec![other(0)];
            if let Some(seen) = &mut trial.evidence.residency_after {
                seen.dirty = dirty;
            }
        });
        assess(&record).cases[0].served_by
    };
    let check = |dirty, sync| check_every(often, dirty, sync);
    assert_eq!(check(Some(0), Sync::Fdatasync), Some(ServedBy::Device));
    // All but the last version of a block stayed in memory.
    let rewritten = check_every(u64::MAX, Some(0), Sync::Fdatasync);
    assert_eq!(rewritten, Some(ServedBy::Unverified));
    // Nobody knows, or it is all dirty, or nothing was synced.
    assert_eq!(check(None, Sync::Fdatasync), Some(ServedBy::Unverified));
    assert_eq!(check(Some(FILE / 4096), Sync::Fdatasync), Some(ServedBy::Unverified));
    assert_eq!(check(Some(0), Sync::None), Some(ServedBy::Unverified));
}
