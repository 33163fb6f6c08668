//! Names of files: where they were, and whether changes of them last.

use super::*;
use model::case::{Call, MetadataWork, NameSync};
use model::host::Medium;
use model::path::WriteCache;
use model::trial::ReadBack;

/// The names that each trial uses.
const NAMES: u64 = 100_000;

/// Ten flawless rounds of a call on warm names, each used once.
pub(super) fn names(call: Call) -> Record {
    let mut record = flawless(work(Cache::Warm));
    let work = MetadataWork { call, entries: NAMES, ..zoo::plain_metadata() };
    let cache = if call == Call::Create { Cache::AsIs } else { Cache::Warm };
    record.header.plan.cases[0].case = Case::own(Work::Metadata(MetadataWork { cache, ..work }));
    each(&mut record, |trial| {
        let latencies = Latencies { counts: vec![(9_000, NAMES)], max_ns: 9_000 };
        let sample = sample(trial);
        sample.latencies = latencies;
        for span in &mut sample.spans {
            (span.bytes, span.ops) = (NAMES, NAMES);
        }
        trial.read_back = Some(ReadBack { bytes: 1, digest: 5, expected: 5, is_past_cache: false });
        let evidence = &mut trial.evidence;
        (evidence.residency_before, evidence.residency_after) = (None, None);
        (evidence.names_before, evidence.names_after) = (Some(7), Some(7));
        evidence.device_reads = Some(0);
    });
    record
}

fn set(record: &mut Record, change: impl FnOnce(&mut MetadataWork)) {
    match &mut record.header.plan.cases[0].case.work {
        Work::Metadata(work) => change(work),
        other => panic!("{other:?} is not on names"),
    }
}

/// The OS's cache grows by this share of the names.
fn bring(record: &mut Record, share: f64) {
    let after = Some(7 + (share * NAMES as f64) as u64);
    evidence(record, |evidence| evidence.names_after = after);
}

/// Ten flawless rounds of the same with cold names.
pub(super) fn cold(call: Call) -> Record {
    let mut record = names(call);
    set(&mut record, |work| work.cache = Cache::Cold);
    bring(&mut record, 1.0);
    record
}

/// Ten flawless rounds of a change that is made durable by each call.
pub(super) fn durable(call: Call) -> Record {
    let mut record = names(call);
    set(&mut record, |work| work.sync = NameSync::Fsync);
    evidence(&mut record, |evidence| evidence.device_flushes = Some(2 * NAMES));
    record
}

fn storage(record: &mut Record) -> &mut model::host::Storage {
    record.header.storage.as_mut().expect("the zoo has a storage")
}

#[test]
fn what_served_names_is_what_the_counters_show() {
    check(names(Call::Stat), |_| {}, "sound name-cache:");
    check(cold(Call::Stat), |_| {}, "sound page-cache:");
    let reads = |bytes| move |r: &mut Record| evidence(r, |it| it.task_read_bytes = Some(bytes));
    check(cold(Call::Open), reads(50 << 20), "sound mixed:");
    // A hundredth of what the inodes take is noise.
    check(cold(Call::Open), reads(200_000), "sound page-cache:");
    check(names(Call::Readdir), |_| {}, "sound page-cache:");
    check(names(Call::Readdir), reads(50 << 20), "sound mixed:");
    check(names(Call::Unlink), |_| {}, "sound page-cache: AcknowledgedOnly note");
    check(durable(Call::Unlink), |_| {}, "sound device:");
    let in_memory = |r: &mut Record| storage(r).medium = Medium::Ram;
    check(names(Call::Stat), in_memory, "sound ram: Ram note");
    let unknown = |r: &mut Record| evidence(r, |it| it.names_before = None);
    let as_is = |r: &mut Record| {
        set(r, |work| work.cache = Cache::AsIs);
        unknown(r);
    };
    check(names(Call::Stat), as_is, "sound unverified: Unverified note");
}

#[test]
fn others_that_read_beside_synced_names_are_foreign() {
    let read = |of_all: u64, own: u64, written: u64| {
        move |r: &mut Record| {
            evidence(r, |it| {
                (it.device_read_bytes, it.task_read_bytes) = (Some(of_all), Some(own));
                it.device_write_bytes = Some(written);
            });
        }
    };
    let mib = 1 << 20;
    check(durable(Call::Create), read(26 * mib, 0, 40 * mib), "doubtful device: Foreign doubt");
    check(durable(Call::Create), read(26 * mib, 26 * mib, 40 * mib), "sound device:");
    check(durable(Call::Create), read(10 * mib, 0, 40 * mib), "sound device:");
    check(durable(Call::Create), read(26 * mib, 0, 1000 * mib), "sound device:");
    // What no device served does not wait for it.
    check(names(Call::Stat), read(26 * mib, 0, 0), "sound name-cache:");
}

/// A call that a server answers makes the thread wait. Without that, and without new names, the OS
/// answered from its caches.
#[test]
fn a_server_that_nobody_waited_for_never_saw_the_calls() {
    let unseen = |waits: Option<u64>| {
        move |r: &mut Record| {
            storage(r).medium = Medium::Unseen;
            evidence(r, |it| it.switches_voluntary = waits);
        }
    };
    check(names(Call::Stat), unseen(Some(20)), "sound name-cache: Unverified note");
    let mut record = names(Call::Stat);
    unseen(Some(20))(&mut record);
    let message = &assess(&record).cases[0].findings[0].message;
    assert!(message.contains("never saw these calls"), "{message}");
    let unverified = "sound unverified: Unverified note";
    check(names(Call::Stat), unseen(Some(NAMES)), unverified);
    check(names(Call::Stat), unseen(None), unverified);
    check(cold(Call::Stat), unseen(Some(20)), "doubtful unverified: Unverified doubt");
}

#[test]
fn names_that_were_not_warm() {
    for call in [Call::Stat, Call::Open] {
        check(names(call), |r| bring(r, 0.2), "void page-cache: NotWarm void");
        check(names(call), |r| bring(r, 0.04), "sound name-cache:");
        // One trial of ten is enough.
        let one = |r: &mut Record| r.trials[3].evidence.names_after = Some(NAMES);
        check(names(call), one, "void page-cache: NotWarm void");
    }
    // Other programs use names, too.
    let few = |ops: u64, others: u64| {
        move |r: &mut Record| {
            each(r, |trial| {
                let sample = sample(trial);
                sample.latencies.counts = vec![(1_000_000, ops)];
                sample.spans.iter_mut().for_each(|span| (span.bytes, span.ops) = (ops, ops));
                trial.evidence.names_after = Some(7 + others);
            });
        }
    };
    check(names(Call::Stat), few(900, 950), "sound name-cache:");
    check(names(Call::Stat), few(900, 2_500), "void page-cache: NotWarm void");
    // More than could be its own.
    let hidden = "doubtful unverified: CountersUnseen doubt, Unverified note";
    check(names(Call::Stat), few(900, 3_000), hidden);
}

#[test]
fn names_that_were_not_cold() {
    check(cold(Call::Stat), |r| bring(r, 0.5), "void page-cache: CacheLeak void");
    check(cold(Call::Stat), |r| bring(r, 0.95), "sound page-cache:");
    check(cold(Call::Stat), |r| bring(r, 0.0), "void name-cache: CacheLeak void");
    // Others brought at least as many as it used.
    let hidden = "doubtful unverified: Unverified doubt, CountersUnseen doubt";
    check(cold(Call::Stat), |r| bring(r, 2.2), hidden);
}

/// An overlay has a name of its own for each, and the one of its layer.
#[test]
fn an_overlay_has_two_names_for_each() {
    let on = |file_system: &'static str, share| {
        move |r: &mut Record| {
            storage(r).file_system = file_system.to_string();
            bring(r, share);
        }
    };
    check(cold(Call::Stat), on("overlay", 2.0), "sound page-cache:");
    check(cold(Call::Stat), on("overlay", 1.0), "void page-cache: CacheLeak void");
    check(names(Call::Stat), on("overlay", 0.08), "sound name-cache:");
    check(names(Call::Stat), on("overlay", 2.0), "void page-cache: NotWarm void");
    let hidden = "doubtful unverified: Unverified doubt, CountersUnseen doubt";
    check(cold(Call::Stat), on("overlay", 4.2), hidden);
    check(cold(Call::Stat), on("ext4", 2.2), hidden);
    // Removing a name takes both out again, wherever they were.
    let hidden = "doubtful page-cache: CountersUnseen doubt, AcknowledgedOnly note";
    check(cold(Call::Unlink), on("overlay", 0.0), hidden);
    // The process that serves a file system may look up the names below, or not.
    let served = |share| {
        move |r: &mut Record| {
            on("fuse", share)(r);
            storage(r).medium = Medium::Unseen;
        }
    };
    for share in [1.0, 2.0] {
        check(cold(Call::Stat), served(share), "doubtful unverified: Unverified doubt");
    }
}

/// The OS took more names back than the trial brought.
#[test]
fn a_cache_of_names_that_shrank_shows_nothing() {
    let shrank = |names: u64| {
        move |r: &mut Record| {
            evidence(r, |it| (it.names_before, it.names_after) = (Some(7 + names), Some(7)));
        }
    };
    check(names(Call::Stat), shrank(NAMES / 50), "sound name-cache:");
    let hidden = "doubtful unverified: CountersUnseen doubt, Unverified note";
    check(names(Call::Stat), shrank(NAMES / 2), hidden);
    let hidden = "doubtful unverified: Unverified doubt, CountersUnseen doubt";
    check(cold(Call::Stat), shrank(NAMES / 2), hidden);
}

#[test]
fn a_state_of_names_that_nothing_shows() {
    let unknown = |r: &mut Record| evidence(r, |it| it.names_after = None);
    let noted = "doubtful unverified: CountersUnseen doubt, Unverified note";
    check(names(Call::Stat), unknown, noted);
    let doubted = "doubtful unverified: Unverified doubt, CountersUnseen doubt";
    check(cold(Call::Stat), unknown, doubted);
    check(names(Call::Readdir), unknown, "sound page-cache:");
}

#[test]
fn changes_that_are_not_durable() {
    let flushes = |flushes| move |r: &mut Record| evidence(r, |it| it.device_flushes = flushes);
    let few = flushes(Some(NAMES / 2));
    check(durable(Call::Create), few, "void page-cache: NotDurable void");
    check(durable(Call::Create), flushes(Some(NAMES)), "sound device:");
    let unseen = "doubtful unverified: Unverified doubt, CountersUnseen doubt";
    check(durable(Call::Create), flushes(None), unseen);
    // Without a cache, there is nothing to flush.
    let through = |r: &mut Record| {
        storage(r).devices.iter_mut().for_each(|it| it.write_cache = Some(WriteCache::Through));
        evidence(r, |it| it.device_flushes = Some(0));
    };
    check(durable(Call::Create), through, "sound device:");
    let in_memory = |r: &mut Record| storage(r).medium = Medium::Ram;
    check(durable(Call::Create), in_memory, "doubtful ram: Ram doubt, NotDurable doubt");
    let journal = |device: Option<&str>, is_copied| {
        let (device, holds) = (device.map(str::to_string), model::host::HeldContent::Journal);
        let part = model::host::WeakPart { device, holds, is_copied };
        move |r: &mut Record| storage(r).weak_parts = vec![part.clone()]
    };
    let expected = "doubtful mixed: NotDurable doubt";
    check(durable(Call::Create), journal(Some("ram0"), false), expected);
    check(durable(Call::Create), journal(Some("ram0"), true), "sound device:");
    check(durable(Call::Create), journal(None, false), "doubtful device: NotDurable doubt");
}

#[test]
fn inodes_that_are_held_back() {
    let journal = |has| move |r: &mut Record| storage(r).journal = has;
    let held = "doubtful page-cache: InodesHeld doubt, AcknowledgedOnly note";
    check(names(Call::Create), journal(Some(false)), held);
    let free = "sound page-cache: AcknowledgedOnly note";
    check(names(Call::Create), journal(Some(true)), free);
    check(names(Call::Create), journal(None), free);
    check(names(Call::Stat), journal(Some(false)), "sound name-cache:");
}

#[test]
fn names_that_are_wrong() {
    let wrong = |r: &mut Record| {
        let read_back = ReadBack { bytes: 1, digest: 5, expected: 6, is_past_cache: false };
        r.trials[2].read_back = Some(read_back);
    };
    check(names(Call::Stat), wrong, "void name-cache: DigestMismatch void");
    check(
        names(Call::Stat),
        |r| r.trials[2].expected_digest = Some(1),
        "void name-cache: DigestMismatch void",
    );
    let record = names(Call::Stat);
    assert_eq!(assess(&record).cases[0].digest_verified, Some(true));
}

#[test]
fn a_listing_counts_each_name() {
    let mut record = names(Call::Readdir);
    each(&mut record, |trial| {
        let sample = sample(trial);
        sample.latencies.counts = vec![(1_000_000, 10)];
        sample.spans.iter_mut().for_each(|span| (span.bytes, span.ops) = (10 * NAMES, 10));
    });
    let assessment = assess(&record);
    let case = &assessment.cases[0];
    let (iops, ns) = (case.iops.expect("it counts"), case.ns_per_op.expect("it counts"));
    assert!((iops.median / 1e6 - 1.0).abs() < 0.1, "{iops:?}");
    assert!((ns.median / 1e3 - 1.0).abs() < 0.1, "{ns:?}");
    assert_eq!(case.throughput, None);
}

/// A creation syncs the file, and then the directory.
#[test]
fn each_call_of_fsync_is_counted() {
    let syncs =
        |record: &Record| assess(record).cases[0].names.expect("they are names").syncs_per_trial;
    assert_eq!(syncs(&durable(Call::Create)), Some(2 * NAMES));
    assert_eq!(syncs(&durable(Call::Rename)), Some(NAMES));
    assert_eq!(syncs(&durable(Call::Unlink)), Some(NAMES));
    assert_eq!(syncs(&names(Call::Create)), None);
}
