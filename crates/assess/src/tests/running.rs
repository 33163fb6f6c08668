//! Programs that were running already.

use crate::decision::Decision;
use crate::running::{BoundBy, RunningAssessment, RunningCode, RunningReads, running};
use model::running::{Interval, OpenFiles, OpenMedium, RunningRecord};
use model::zoo;

/// The zoo's program, changed.
fn judged(change: impl Fn(&mut RunningRecord)) -> RunningAssessment {
    let mut record = zoo::running();
    change(&mut record);
    running(&record)
}

fn each(record: &mut RunningRecord, change: impl Fn(&mut Interval)) {
    record.intervals.iter_mut().for_each(change);
}

fn open(record: &mut RunningRecord) -> &mut OpenFiles {
    &mut record.end.as_mut().expect("the zoo's record has an end").open
}

fn decision(judged: &RunningAssessment, by: BoundBy) -> Decision {
    judged.bounds.iter().find(|bound| bound.by == by).expect("all are asked").decision
}

/// The fault has the finding, and the program without it has none.
fn check(code: RunningCode, plant: impl Fn(&mut RunningRecord)) {
    let has = |judged: &RunningAssessment| judged.findings.iter().any(|it| it.code == code);
    assert!(has(&judged(plant)), "{code} is not found");
    assert!(!has(&judged(|_| ())), "{code} is found without the fault");
}

#[test]
fn each_finding_is_found_where_it_is_planted_and_only_there() {
    const MIB: u64 = 1 << 20;
    check(RunningCode::CountersDisagree, |record| {
        each(record, |it| it.read_bytes = Some(64 * MIB));
    });
    check(RunningCode::BytesHidden, |record| record.intervals[1].hidden = 1);
    check(RunningCode::BytesLost, |record| record.intervals[2].lost = 2);
    check(RunningCode::Throttled, |record| {
        each(record, |it| it.throttled_ns = Some(100_000_000));
    });
    check(RunningCode::DirtyFiles, |record| {
        open(record).files[0].after.as_mut().unwrap().dirty = Some(512);
    });
    check(RunningCode::OtherReads, |record| {
        each(record, |it| {
            it.read_bytes = Some(MIB);
            it.disks.as_mut().unwrap().read_bytes = 64 * MIB;
        });
    });
    check(RunningCode::AskedUnknown, |record| open(record).rings = 1);
    check(RunningCode::AskedUnknown, |record| open(record).aio = 1);
    check(RunningCode::AskedUnknown, |record| open(record).files[0].mapped = true);
    check(RunningCode::OtherSources, |record| open(record).other_sources = 1);
    check(RunningCode::FilesUnseen, |record| open(record).files[0].after = None);
    check(RunningCode::FilesUnseen, |record| open(record).unseen_processes = 1);
}

/// What a device read for it, and what everyone's disks read, in each interval.
fn from_devices(bytes: u64) -> impl Fn(&mut RunningRecord) {
    move |record| {
        each(record, |it| {
            it.read_bytes = Some(bytes);
            it.disks.as_mut().unwrap().read_bytes = bytes;
        });
    }
}

#[test]
fn what_served_reads_is_said_only_where_counters_bear_it() {
    let asked = 100 << 20;
    let reads = |change: &dyn Fn(&mut RunningRecord)| judged(change).reads;
    let cached = reads(&|_| ());
    assert_eq!((cached.by, cached.cached_share_least), (RunningReads::NoDevice, Some(1.0)));
    let half = reads(&from_devices(asked / 2));
    assert_eq!((half.by, half.cached_share_least), (RunningReads::SomeDevice, Some(0.5)));
    // Devices read ahead, so more than was asked for is no share.
    let more = reads(&from_devices(asked * 2));
    assert_eq!((more.by, more.cached_share_least), (RunningReads::Device, None));
    let of_nothing = reads(&|record| each(record, |it| it.read_call_bytes = Some(0)));
    assert_eq!(of_nothing.by, RunningReads::Nothing);
    // Each of these leaves it open.
    let unseen: [&dyn Fn(&mut RunningRecord); 7] = [
        &|record| record.intervals[0].lost = 1,
        &|record| record.intervals[0].hidden = 1,
        &|record| record.watched.lists_children = false,
        &|record| open(record).unseen_processes = 1,
        &|record| open(record).files[0].medium = OpenMedium::Unseen,
        &|record| each(record, |it| it.disks = None),
        &|record| record.end = None,
    ];
    for (index, change) in unseen.iter().enumerate() {
        let found = reads(change);
        assert_eq!((found.by, found.cached_share_least), (RunningReads::Unseen, None), "{index}");
    }
}

#[test]
fn without_the_bytes_asked_for_only_nothing_from_devices_is_nothing() {
    let with_ring = |bytes| {
        judged(move |record| {
            from_devices(bytes)(record);
            open(record).rings = 1;
        })
        .reads
    };
    let none = with_ring(0);
    assert_eq!(
        (none.by, none.asked_bytes, none.cached_share_least),
        (RunningReads::NoDevice, None, None)
    );
    assert_eq!(with_ring(4096).by, RunningReads::SomeDevice);
    let with_socket = judged(|record| open(record).other_sources = 1).reads;
    assert_eq!((with_socket.by, with_socket.cached_share_least), (RunningReads::NoDevice, None));
}

#[test]
fn what_bounds_it_has_three_outcomes() {
    let idle = judged(|record| {
        each(record, |it| {
            (it.user_ns, it.system_ns, it.busiest_thread_ns) = (Some(0), Some(0), Some(0));
            it.threads_cpu_ns = Some(0);
            it.looks.running = 0;
        });
    });
    assert!(idle.bounds.iter().all(|bound| bound.decision == Decision::No), "{:?}", idle.bounds);
    let computing = judged(|record| each(record, |it| it.busiest_thread_ns = Some(it.length_ns)));
    assert_eq!(decision(&computing, BoundBy::Computing), Decision::Yes);
    let nearly = judged(|record| each(record, |it| it.busiest_thread_ns = Some(800_000_000)));
    assert_eq!(decision(&nearly, BoundBy::Computing), Decision::Undecided);
    let uncounted = judged(|record| each(record, |it| it.busiest_thread_ns = None));
    assert_eq!(decision(&uncounted, BoundBy::Computing), Decision::Undecided);
    // Threads that ended may have computed one after another, or side by side.
    let ended = judged(|record| {
        each(record, |it| {
            it.user_ns = Some(800_000_000);
            (it.busiest_thread_ns, it.threads_cpu_ns) = (Some(0), Some(0));
        });
    });
    assert_eq!(decision(&ended, BoundBy::Computing), Decision::Undecided);
    assert_eq!(decision(&ended, BoundBy::OtherPrograms), Decision::Undecided);
    // The threads of a program that ended are not seen in the last interval.
    let over = judged(|record| {
        let last = record.intervals.last_mut().unwrap();
        (last.length_ns, last.busiest_thread_ns) = (50_000_000, None);
    });
    assert_eq!(decision(&over, BoundBy::Computing), Decision::No);
    let delayed = judged(|record| {
        each(record, |it| {
            it.looks.running = it.looks.count;
            it.run_delay_ns = Some(500_000_000);
        });
    });
    assert_eq!(decision(&delayed, BoundBy::OtherPrograms), Decision::Yes);
    let throttled = judged(|record| each(record, |it| it.throttled_ns = Some(500_000_000)));
    assert_eq!(decision(&throttled, BoundBy::Quota), Decision::Yes);
}

/// A thread that cannot be interrupted waits for something; for a device only if bytes moved.
#[test]
fn a_wait_is_for_a_device_only_if_bytes_moved() {
    let blocked = |bytes| {
        judged(move |record| {
            from_devices(bytes)(record);
            each(record, |it| (it.looks.running, it.looks.blocked) = (0, 9));
        })
    };
    assert_eq!(decision(&blocked(1 << 20), BoundBy::Device), Decision::Yes);
    assert_eq!(decision(&blocked(0), BoundBy::Device), Decision::Undecided);
    assert_eq!(decision(&judged(|_| ()), BoundBy::Device), Decision::No);
    // A program that waits for a ring sleeps like any other.
    let ring = judged(|record| open(record).rings = 1);
    assert_eq!(decision(&ring, BoundBy::Device), Decision::Undecided);
}

#[test]
fn what_is_unknown_in_one_interval_is_unknown_in_all() {
    let judged = judged(|record| record.intervals[1].read_bytes = None);
    assert_eq!(judged.whole.read_bytes, None);
    assert_eq!(judged.whole.read_call_bytes, Some(300 << 20));
    assert_eq!(judged.whole.length_ns, 3_000_000_000);
    let long = self::judged(|record| {
        let first = record.intervals[0].clone();
        record.intervals = vec![first; 100];
    });
    assert_eq!(long.parts.len(), 12);
    assert_eq!(long.whole.read_calls, Some(2_560_000));
}
