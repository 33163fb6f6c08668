//! Rows that write: both rates, the source of their bytes, and each finding. Each finding has a
//! planted fault, and a flaw below its threshold.

use super::*;
use crate::finding::Code;
use crate::finding::{Severity, Verdict};
use crate::summary::Summary;
use model::case::{Allocation, Fill, Io, Op, Sync, WriteEngine, WriteWork};
use model::host::{Device, Direct, HeldContent, LoopFile, Medium, Storage, WeakPart};
use model::layer::{Amplification, Counts, Layer};
use model::path::WriteCache;
use model::pattern::Pattern;
use model::plan::Actor;
use model::trial::ReadBack;
use proptest::prelude::*;

const MS: u64 = 1_000_000;
/// How long the last sync takes.
const SYNC_NS: u64 = 250 * MS;

/// A sequential 1 GiB overwrite in 1 MiB blocks, synced at the end.
pub(super) fn over() -> WriteWork {
    let (size, block, allocation) = (FILE, 1 << 20, Allocation::Overwrite);
    WriteWork { io: Io { size, block, ..zoo::plain_write().io }, allocation, ..zoo::plain_write() }
}

pub(super) fn direct() -> WriteWork {
    WriteWork { io: Io { cache: Cache::Direct, ..over().io }, sync: Sync::Dsync, ..over() }
}

pub(super) fn unsynced() -> WriteWork {
    WriteWork { sync: Sync::None, ..over() }
}

/// Synced after every 4 blocks, and at the end.
pub(super) fn synced_often() -> WriteWork {
    WriteWork { every: 4, ..over() }
}

pub(super) fn write_case(work: WriteWork) -> Case {
    Case::own(Work::Write(work))
}

/// Ten flawless rounds of a work that writes. All writes are acknowledged after about a second, the
/// last sync takes 250 ms, and each sync flushes. Without a sync, nothing reaches the device.
pub(super) fn flawless_write(work: WriteWork) -> Record {
    let mut record = flawless(super::work(Cache::Direct));
    each(&mut record, |trial| written(&work, trial));
    record.header.plan.cases[0].case = write_case(work);
    record
}

/// Turns a trial of the zoo into one that wrote.
pub(super) fn written(work: &WriteWork, trial: &mut Trial) {
    let only_syncs = work.op == Op::Sync;
    let bytes = if only_syncs { 0 } else { FILE };
    let syncs = match (work.sync.is_call(), work.every) {
        _ if only_syncs => 1_024,
        (false, _) => 0,
        (true, 0) => 1,
        (true, every) => 1_024 / every + 1,
    };
    let reaches = work.sync.claims_durable() || work.io.cache == Cache::Direct;
    let sample = sample(trial);
    sample.syncs = Latencies { counts: vec![(900_000, syncs)], max_ns: SYNC_NS };
    let span = &mut sample.spans[0];
    let elapsed_ns = span.end_ns - span.start_ns;
    (span.bytes, span.digest) = (bytes, Some(0));
    if work.sync.is_call() {
        (span.synced_ns, span.sync_ns) = (Some(span.end_ns + SYNC_NS), SYNC_NS);
    } else if work.sync == Sync::Dsync {
        span.synced_ns = Some(span.end_ns);
    }
    trial.expected_digest = None;
    let is_past_cache = true;
    trial.read_back = Some(ReadBack { bytes, digest: 5, expected: 5, is_past_cache });
    // A buffered writer copies for 99 % of the time.
    let busy = if work.io.cache == Cache::Direct { 5 } else { 99 };
    let evidence = &mut trial.evidence;
    evidence.cpu_ns = Some(elapsed_ns / 100 * busy);
    evidence.residency_after = evidence.residency_before;
    (evidence.task_read_bytes, evidence.device_read_bytes) = (Some(0), Some(0));
    evidence.task_write_bytes = Some(bytes);
    evidence.device_write_bytes = Some(if reaches { bytes } else { 0 });
    evidence.device_writes = Some(if reaches { 1_024 } else { 0 });
    // With O_DSYNC each write is a sync.
    let is_dsync = work.sync == Sync::Dsync;
    evidence.device_flushes = Some(if is_dsync { 1_024 } else { syncs });
}

fn storage(record: &mut Record) -> &mut Storage {
    record.header.storage.as_mut().expect("the zoo has a storage")
}

fn first(record: &Record) -> Summary {
    assess(record).cases.remove(0)
}

fn message(record: &Record) -> String {
    first(record).findings[0].message.clone()
}

fn near(found: Option<crate::stats::Estimate>, expected: f64) {
    let median = found.expect("there is a figure").median;
    assert!((median / expected - 1.0).abs() < 0.02, "{median} is not {expected}");
}

/// Sets the device's written bytes to `share` of the file.
fn set_writes(record: &mut Record, share: f64) {
    let bytes = (FILE as f64 * share) as u64;
    evidence(record, |evidence| evidence.device_write_bytes = Some(bytes));
}

fn flushes(count: u64) -> impl Fn(&mut Record) {
    move |record| evidence(record, |evidence| evidence.device_flushes = Some(count))
}

fn medium(medium: Medium) -> impl Fn(&mut Record) {
    move |record| storage(record).medium = medium
}

fn no_op(_: &mut Record) {}

/// Devices that together write each byte `writes` times, and read it once.
fn layer(nodes: &str, writes: u32) -> Layer {
    let nodes = nodes.split(' ').map(str::to_string).collect();
    let (reads, writes) = (Amplification::ONE, Amplification::of(writes));
    Layer { nodes, reads, writes, counts: Counts::default() }
}

#[test]
fn flawless_writes_are_sound() {
    check(flawless_write(over()), no_op, "sound device:");
    check(flawless_write(synced_often()), no_op, "sound device:");
    check(flawless_write(direct()), no_op, "sound device:");
    check(flawless_write(unsynced()), no_op, "sound page-cache: AcknowledgedOnly note");
    let idle = WriteWork { op: Op::Sync, ..over() };
    check(flawless_write(idle), no_op, "sound device:");
    let null = WriteWork { engine: WriteEngine::Null, ..unsynced() };
    check(flawless_write(null), no_op, "sound no-io:");
}

#[test]
fn accepted_and_durable_are_told_apart() {
    let bytes = FILE as f64;
    let case = first(&flawless_write(over()));
    let writing = case.writing.expect("it writes");
    near(writing.acknowledged, bytes);
    near(writing.durable, bytes / 1.25);
    near(case.throughput, bytes / 1.25);
    near(case.iops, 1_024.0 / 1.25);
    near(case.ns_per_op, 1e9 / 1_024.0);
    let counts = (writing.syncs_per_trial, writing.flushes_per_trial, writing.device_write_bytes);
    assert_eq!(counts, (Some(1), Some(1), Some(FILE)));
    assert_eq!((writing.dirty_left, writing.sync.count), (Some(0), 10));
    assert_eq!((writing.read_back, writing.read_back_past_cache), (Some(true), Some(true)));
    // A row that never claims durability has no durable rate.
    let bare = WriteWork { io: Io { cache: Cache::Direct, ..unsynced().io }, ..unsynced() };
    let ranged = WriteWork { sync: Sync::FileRange, ..over() };
    for work in [unsynced(), bare, ranged] {
        let case = first(&flawless_write(work));
        let writing = case.writing.expect("it writes");
        near(writing.acknowledged, bytes);
        near(case.throughput, bytes);
        assert_eq!(writing.durable, None, "{}", case.id);
    }
    // With a sync per write, both rates are equal.
    let writing = first(&flawless_write(direct())).writing.expect("it writes");
    assert_eq!((writing.acknowledged, writing.syncs_per_trial), (writing.durable, None));
    let null = WriteWork { engine: WriteEngine::Null, ..unsynced() };
    assert_eq!(first(&flawless_write(null)).writing, None);
    assert_eq!(first(&zoo::record()).writing, None);
}

/// An excluded trial still has both rates.
#[test]
fn a_round_that_is_left_out_has_both_rates_too() {
    let mut record = flawless_write(over());
    record.trials[4].evidence.throttled_ns = Some(record.trials[4].evidence.window_ns / 2);
    let case = first(&record);
    assert_eq!(case.excluded.expect("a quota held it back").trials, 1);
    for trial in &case.trials {
        let figures = trial.figures.as_ref().expect("it was done");
        let rates = (figures.acknowledged.is_some(), figures.durable.is_some());
        assert_eq!(rates, (true, true), "round {}", trial.round);
    }
}

/// The mean acknowledged rate covers only the trials that report one.
#[test]
fn a_trial_that_tells_no_accepted_rate_is_not_in_its_mean() {
    let mut record = flawless_write(over());
    let sample = sample(&mut record.trials[4]);
    sample.latencies = Latencies::default();
    let span = &mut sample.spans[0];
    span.end_ns += SYNC_NS;
    (span.synced_ns, span.sync_ns) = (Some(span.end_ns), 0);
    let acknowledged =
        first(&record).writing.expect("it writes").acknowledged.expect("nine tell it");
    assert!((acknowledged.mean / FILE as f64 - 1.0).abs() < 0.01, "{acknowledged:?}");
}

#[test]
fn a_sync_alone_is_counted_in_operations() {
    let mut record = flawless_write(WriteWork { op: Op::Sync, ..over() });
    let case = first(&record);
    assert_eq!((case.n, case.throughput), (10, None));
    near(case.iops, 1_024.0 / 1.25);
    let writing = case.writing.expect("it is of writing");
    assert_eq!((writing.acknowledged, writing.durable), (None, None));
    assert_eq!(writing.syncs_per_trial, Some(1_024));
    record.trials.truncate(6);
    assert_eq!(judge(&record), "doubtful device: TooFew doubt");
}

/// A program timed as a whole reports the end of its sync, but nothing about its writes.
#[test]
fn what_a_program_as_a_whole_accepted_is_not_known() {
    let mut record = flawless_write(over());
    each(&mut record, |trial| {
        let sample = sample(trial);
        sample.latencies = Latencies::default();
        sample.syncs = Latencies::default();
        let span = &mut sample.spans[0];
        span.end_ns += SYNC_NS;
        (span.synced_ns, span.sync_ns) = (Some(span.end_ns), 0);
    });
    let case = first(&record);
    let writing = case.writing.expect("it writes");
    assert_eq!((writing.acknowledged, writing.syncs_per_trial), (None, Some(1)));
    near(writing.durable, FILE as f64 / 1.25);
    assert_eq!(judge(&record), "sound device:");
}

#[test]
fn what_a_trial_spent_its_time_on() {
    let mut record = flawless_write(direct());
    evidence(&mut record, |evidence| {
        evidence.cpu_ns = Some(200 * MS);
        evidence.run_delay_ns = Some(100 * MS);
    });
    let spent = |record: &Record| first(record).spent;
    let found = spent(&record).expect("the OS tells");
    assert!((found.wall_ns / 1e9 - 1.0).abs() < 0.02, "{found:?}");
    assert_eq!((found.user_ns, found.system_ns), (Some(5e7), Some(1.5e8)));
    assert!((found.processors - 0.2).abs() < 0.01, "{found:?}");
    assert!(found.blocked_share.is_some_and(|share| (share - 0.7).abs() < 0.01), "{found:?}");
    // Kernel threads may add more CPU time than the threads had.
    evidence(&mut record, |evidence| evidence.cpu_ns = Some(3_000 * MS));
    assert_eq!(spent(&record).and_then(|spent| spent.blocked_share), Some(0.0));
    evidence(&mut record, |evidence| evidence.run_delay_ns = None);
    assert_eq!(spent(&record).and_then(|spent| spent.blocked_share), None);
    evidence(&mut record, |evidence| evidence.cpu_ns = None);
    assert_eq!(spent(&record), None);
    let wall = spent(&flawless_write(over())).expect("the OS tells").wall_ns;
    assert!((wall / 1.25e9 - 1.0).abs() < 0.02, "{wall} does not include the sync");
}

#[test]
fn what_is_written_is_told_by_what_took_it() {
    let served = |work: WriteWork, plant: &dyn Fn(&mut Record)| {
        let mut record = flawless_write(work);
        plant(&mut record);
        let case = first(&record);
        assert_eq!(case.hit_share, None);
        case.served_by.expect("it was done").name()
    };
    let writes = |share: f64| move |r: &mut Record| set_writes(r, share);
    assert_eq!(served(unsynced(), &writes(0.005)), "page-cache");
    assert_eq!(served(unsynced(), &writes(0.5)), "mixed");
    assert_eq!(served(unsynced(), &writes(0.995)), "device");
    assert_eq!(served(unsynced(), &writes(1.5)), "device");
    // Bytes that sync_file_range sent to a device were in the page cache when acknowledged.
    let ranged = || WriteWork { sync: Sync::FileRange, ..over() };
    assert_eq!(served(ranged(), &writes(1.0)), "mixed");
    assert_eq!(
        served(
            WriteWork { io: Io { cache: Cache::Direct, ..ranged().io }, ..ranged() },
            &writes(1.0)
        ),
        "device"
    );
    // Foreign writes in one trial do not compensate for missing writes in the others.
    let one = |r: &mut Record| r.trials[3].evidence.device_write_bytes = Some(20 * FILE);
    assert_eq!(served(unsynced(), &one), "mixed");
    let unknown = |r: &mut Record| evidence(r, |e| e.device_write_bytes = None);
    assert_eq!(served(unsynced(), &unknown), "unverified");
    assert_eq!(served(over(), &medium(Medium::Ram)), "ram");
    assert_eq!(served(over(), &medium(Medium::Unseen)), "unverified");
    assert_eq!(served(over(), &|r: &mut Record| r.header.storage = None), "unverified");
    let idle = || WriteWork { op: Op::Sync, ..over() };
    assert_eq!(served(idle(), &flushes(0)), "no-io");
    let unknown = |r: &mut Record| evidence(r, |e| e.device_flushes = None);
    assert_eq!(served(idle(), &unknown), "unverified");
}

#[test]
fn not_durable() {
    let durable = |record: &Record| {
        let writing = first(record).writing.expect("it writes");
        assert!(writing.acknowledged.is_some());
        writing.durable.is_some()
    };
    check(flawless_write(over()), flushes(0), "void device: NotDurable void");
    let mut record = flawless_write(over());
    assert!(durable(&record));
    flushes(0)(&mut record);
    assert!(!durable(&record));
    assert!(message(&record).starts_with("claimed durable by 'fdatasync', but the devices"));
    // One trial is enough.
    let one = |r: &mut Record| r.trials[3].evidence.device_flushes = Some(0);
    check(flawless_write(over()), one, "void device: NotDurable void");
    // At least nine in ten of 257 syncs must be seen.
    check(flawless_write(synced_often()), flushes(231), "void device: NotDurable void");
    check(flawless_write(synced_often()), flushes(232), "sound device:");
    // A worker that reports fewer syncs than requested is not excused.
    let told = |count, flushed| {
        move |r: &mut Record| {
            each(r, |trial| sample(trial).syncs.counts = vec![(900_000, count)]);
            flushes(flushed)(r);
        }
    };
    check(flawless_write(synced_often()), told(1, 230), "void device: NotDurable void");
    check(flawless_write(synced_often()), told(1, 231), "sound device:");
    check(flawless_write(synced_often()), told(0, 230), "void device: NotDurable void");
    // Four threads may share the flushes of one commit.
    let threads = WriteWork { io: Io { threads: 4, ..synced_often().io }, ..synced_often() };
    check(flawless_write(threads), flushes(58), "sound device:");
    check(flawless_write(threads), flushes(57), "void device: NotDurable void");
    // The claim cannot be checked, or needs no check.
    let no_counter = |r: &mut Record| evidence(r, |e| e.device_flushes = None);
    check(flawless_write(over()), no_counter, "doubtful device: CountersUnseen doubt");
    let with_cache = |cache, count| {
        move |r: &mut Record| {
            flushes(count)(r);
            storage(r).devices[0].write_cache = cache;
        }
    };
    let through = Some(WriteCache::Through);
    check(flawless_write(over()), with_cache(through, 0), "sound device:");
    let unknown = "doubtful device: CountersUnseen doubt";
    check(flawless_write(over()), with_cache(None, 0), unknown);
    check(flawless_write(over()), with_cache(None, 64), "sound device:");
    // One of two devices is known to have a cache.
    let two = |r: &mut Record| {
        with_cache(None, 0)(r);
        let known = Device { write_cache: Some(WriteCache::Back), ..storage(r).devices[0].clone() };
        storage(r).devices.push(known);
        storage(r).layers = vec![layer("sda sdb", 1)];
    };
    check(flawless_write(over()), two, "void device: NotDurable void");
}

#[test]
fn a_write_through_to_the_medium_is_durable() {
    let writes = |count| {
        move |r: &mut Record| {
            flushes(0)(r);
            evidence(r, |evidence| evidence.device_writes = Some(count));
        }
    };
    // The counters show an FUA write like any other write.
    let note = "sound device: CountersUnseen note";
    check(flawless_write(direct()), writes(1_024), note);
    check(flawless_write(direct()), writes(1_023), "void device: NotDurable void");
    // Without a write counter, there is no evidence.
    let uncounted = |r: &mut Record| {
        flushes(0)(r);
        evidence(r, |evidence| evidence.device_writes = None);
    };
    check(flawless_write(direct()), uncounted, "doubtful device: CountersUnseen doubt");
    // A device without FUA must flush, nine times for ten writes of a thread.
    let device = |fua, count| {
        move |r: &mut Record| {
            flushes(count)(r);
            storage(r).devices[0].fua = fua;
        }
    };
    check(flawless_write(direct()), device(Some(true), 0), note);
    check(flawless_write(direct()), device(Some(true), 922), "sound device:");
    check(flawless_write(direct()), device(None, 0), "doubtful device: CountersUnseen doubt");
    check(flawless_write(direct()), device(Some(false), 921), "void device: NotDurable void");
    check(flawless_write(direct()), device(Some(false), 922), "sound device:");
    let expected = "claimed durable by 'dsync', but the devices completed 0 flushes for 1024 \
                    writes per trial, each a sync (too few in 10 of 10 trials): a power";
    let mut record = flawless_write(direct());
    device(Some(false), 0)(&mut record);
    assert!(message(&record).starts_with(expected), "{}", message(&record));
    // Small blocks share a call of the engine that writes through a buffer of the program, and only
    // calls are synced: 1024 blocks of 4 KiB are 512 calls.
    let buffered = WriteWork {
        engine: WriteEngine::Buffered,
        io: Io { cache: Cache::AsIs, block: 4096, ..direct().io },
        ..direct()
    };
    let lacks = |record: &Record| {
        first(record).findings.iter().any(|it| it.code == crate::finding::Code::NotDurable)
    };
    for (flushes, is_lacking) in [(512, false), (256, true)] {
        let mut record = flawless_write(buffered);
        device(Some(false), flushes)(&mut record);
        assert_eq!(lacks(&record), is_lacking, "{flushes}");
    }
    // Writes that are in flight together may share a flush.
    let deep = WriteWork {
        io: Io { depth: 8, threads: 2, ..direct().io },
        engine: WriteEngine::Uring,
        ..direct()
    };
    check(flawless_write(deep), device(Some(false), 57), "void device: NotDurable void");
    check(flawless_write(deep), device(Some(false), 58), "sound device:");
    // One device of two without FUA is enough.
    let two = |fua| {
        move |r: &mut Record| {
            let devices = &mut storage(r).devices;
            devices.push(model::host::Device { fua, ..devices[0].clone() });
            r.header.storage.as_mut().unwrap().layers = vec![layer("sda sdb", 1)];
            flushes(0)(r);
        }
    };
    check(flawless_write(direct()), two(Some(true)), note);
    check(flawless_write(direct()), two(Some(false)), "void device: NotDurable void");
    // Without a cache there is nothing to write through.
    let without = |r: &mut Record| {
        two(Some(false))(r);
        storage(r).devices[1].write_cache = Some(WriteCache::Through);
    };
    check(flawless_write(direct()), without, note);
    // A sync call must flush, whether or not the device supports FUA.
    check(flawless_write(over()), writes(1_024), "void device: NotDurable void");
}

#[test]
fn what_nobody_can_see_to_be_durable_is_doubted() {
    let durable = |plant: &dyn Fn(&mut Record)| {
        let mut record = flawless_write(over());
        plant(&mut record);
        first(&record).writing.is_some_and(|writing| writing.durable.is_some())
    };
    let ram = "doubtful ram: Ram doubt, NotDurable doubt";
    check(flawless_write(over()), medium(Medium::Ram), ram);
    assert!(!durable(&medium(Medium::Ram)));
    let unseen = "doubtful unverified: Unverified doubt, NotDurable doubt";
    check(flawless_write(over()), medium(Medium::Unseen), unseen);
    assert!(durable(&medium(Medium::Unseen)));
    // Without a claim of durability, there is nothing to doubt.
    let ram = "sound ram: Ram note, AcknowledgedOnly note";
    check(flawless_write(unsynced()), medium(Medium::Ram), ram);
    let unseen = "sound unverified: Unverified note, AcknowledgedOnly note";
    check(flawless_write(unsynced()), medium(Medium::Unseen), unseen);
    // The worker skips the sync it was asked for.
    let untold = |r: &mut Record| each(r, |trial| sample(trial).spans[0].synced_ns = None);
    let direct = WriteWork { io: Io { cache: Cache::Direct, ..over().io }, ..over() };
    check(flawless_write(direct), untold, "void device: NotDurable void");
    assert!(!durable(&untold));
    // A file system may know that there is nothing to flush.
    let idle = WriteWork { op: Op::Sync, ..over() };
    check(flawless_write(idle), flushes(0), "doubtful no-io: NotDurable doubt");
}

/// The acknowledged rate of some rounds is a multiple of that of others, and all sync at the same
/// time.
#[test]
fn a_wide_acknowledged_rate_is_doubted_beside_a_narrow_durable_one() {
    let apart = |factor: u64| {
        move |record: &mut Record| {
            for (round, trial) in record.trials.iter_mut().enumerate() {
                let span = &mut sample(trial).spans[0];
                let took_ns = if round % 2 == 0 { 1_000 * MS } else { 1_000 * MS / factor };
                span.end_ns = span.start_ns + took_ns;
                span.sync_ns = 1_250 * MS - took_ns;
                span.synced_ns = Some(span.start_ns + 1_250 * MS);
                trial.evidence.cpu_ns = Some(0);
            }
        }
    };
    check(flawless_write(over()), apart(3), "sound device:");
    check(flawless_write(over()), apart(4), "doubtful device: WideInterval doubt");
    let mut record = flawless_write(over());
    apart(5)(&mut record);
    let expected = "the rounds differ so much that the upper end of the acknowledged rate's \
                    interval is 5.0 times the lower";
    assert_eq!(message(&record), expected);
}

#[test]
fn acknowledged_only() {
    let found = |work: WriteWork, share: f64| {
        let mut record = flawless_write(work);
        set_writes(&mut record, share);
        let case = first(&record);
        let codes: Vec<_> = case.findings.iter().map(|f| f.code.name()).collect();
        assert_eq!(codes, ["AcknowledgedOnly"], "{}", case.id);
        message(&record)
    };
    let text = found(unsynced(), 0.25);
    assert!(text.ends_with("; at the end, 25.0 % of the bytes had reached a device"), "{text}");
    let ranged = WriteWork { sync: Sync::FileRange, ..over() };
    assert!(found(ranged, 1.0).starts_with("sync_file_range flushes neither"));
    let bare = WriteWork { io: Io { cache: Cache::Direct, ..unsynced().io }, ..unsynced() };
    assert!(found(bare, 1.0).starts_with("O_DIRECT without a sync flushes neither"));
    let mut unseen = flawless_write(unsynced());
    storage(&mut unseen).medium = Medium::Unseen;
    let all = first(&unseen).findings;
    assert!(all.iter().all(|finding| !finding.message.contains("had reached")), "{all:#?}");
}

#[test]
fn dirty_start() {
    let machine =
        |mib: u64| move |r: &mut Record| evidence(r, |e| e.dirty_before = Some(mib << 20));
    // 5 % of 1 GiB are 51 MiB.
    check(flawless_write(over()), machine(60), "doubtful device: DirtyStart doubt");
    check(flawless_write(over()), machine(40), "sound device:");
    let file = |mib: u64| {
        move |r: &mut Record| {
            evidence(r, |e| {
                e.residency_before = residency(PAGES);
                if let Some(seen) = &mut e.residency_before {
                    seen.dirty = Some(mib << 20 >> 12);
                }
            });
        }
    };
    check(flawless_write(over()), file(60), "doubtful device: DirtyStart doubt");
    check(flawless_write(over()), file(40), "sound device:");
    // The limit for a row that only syncs is 16 MiB.
    let idle = || WriteWork { op: Op::Sync, ..over() };
    check(flawless_write(idle()), machine(17), "doubtful device: DirtyStart doubt");
    check(flawless_write(idle()), machine(15), "sound device:");
    // Most trials decide, and unknown values cause no doubt.
    let one = |r: &mut Record| r.trials[0].evidence.dirty_before = Some(FILE);
    check(flawless_write(over()), one, "sound device:");
    let unknown = |r: &mut Record| evidence(r, |e| e.dirty_before = None);
    check(flawless_write(over()), unknown, "sound device:");
    let in_memory = |r: &mut Record| {
        machine(500)(r);
        storage(r).medium = Medium::Ram;
    };
    check(flawless_write(unsynced()), in_memory, "sound ram: Ram note, AcknowledgedOnly note");
    check(flawless(super::work(Cache::Cold)), machine(500), "sound device:");
    // An actor has written for a while when the trial begins. The trial's own file stays clean.
    let beside = |actor: Case, more: &dyn Fn(&mut Record)| {
        let mut record = flawless_write(over());
        record.header.plan.actors = vec![Actor::own("other", actor)];
        record.header.plan.cases[0].case.beside = vec!["other".to_string()];
        more(&mut record);
        first(&record).findings.iter().any(|found| found.code == Code::DirtyStart)
    };
    let (writer, reader) = (Case::own(Work::Write(over())), file_case(super::work(Cache::Direct)));
    assert!(!beside(writer.clone(), &machine(500)));
    assert!(beside(writer, &file(60)));
    assert!(beside(reader, &machine(500)));
    // The trials of a sustained run follow each other directly.
    let sustained = |r: &mut Record| {
        machine(500)(r);
        r.header.plan.sustain = Some(Duration::from_secs(60));
    };
    let mut record = flawless_write(over());
    sustained(&mut record);
    let found = first(&record).findings;
    assert!(found.iter().all(|f| f.code.name() != "DirtyStart"), "{found:#?}");
}

/// Each trial writes the file so many times, and calls as many more syncs; the devices write it
/// once.
fn passes(passes: u64) -> impl Fn(&mut Record) {
    move |record| {
        let work = *record.header.plan.cases[0].case.write().expect("it writes");
        each(record, |trial| {
            let span = &mut sample(trial).spans[0];
            (span.bytes, span.ops) = (passes * FILE, passes * FILE / work.io.block);
            let syncs = work.sync_calls(&sample(trial).spans);
            sample(trial).syncs.counts = vec![(900_000, syncs)];
            let is_dsync = work.sync == Sync::Dsync;
            let flushes = if is_dsync { sample(trial).ops() } else { syncs };
            trial.evidence.device_flushes = Some(flushes);
        });
    }
}

#[test]
fn what_is_overwritten_before_its_sync_is_not_durable() {
    let durable = |work, times| {
        let mut record = flawless_write(work);
        passes(times)(&mut record);
        let (written, summary) = (times * FILE, first(&record));
        let codes: Vec<&str> = summary.findings.iter().map(|found| found.code.name()).collect();
        let writing = summary.writing.expect("it writes");
        assert!(writing.acknowledged.is_some());
        assert_eq!(codes.contains(&"NotDurable"), writing.durable.is_none(), "{codes:?} {written}");
        writing.durable.is_some()
    };
    // A file of 1024 blocks.
    let every = |every| WriteWork { every, ..over() };
    assert!(durable(over(), 1));
    assert!(!durable(over(), 2) && !durable(over(), 200));
    assert!(durable(every(4), 200) && durable(every(1024), 3) && durable(every(1030), 3));
    assert!(!durable(every(1100), 3));
    let dsync = WriteWork { sync: Sync::Dsync, ..over() };
    assert!(durable(dsync, 3));
    let of = |work: WriteWork, pattern| WriteWork { io: Io { pattern, ..work.io }, ..work };
    assert!(durable(of(over(), Pattern::Random), 1) && !durable(of(over(), Pattern::Random), 2));
    // In a mix, chance decides what is written: all of it counts in one pass.
    let mix = |read_share, every| WriteWork { read_share, every, ..over() };
    assert!(durable(mix(70, 0), 1) && durable(mix(99, 0), 1) && !durable(mix(70, 0), 3));
    assert!(durable(mix(70, 500), 3));
    let found = "doubtful page-cache: NotDurable doubt";
    check(flawless_write(over()), passes(200), found);
    let mut record = flawless_write(over());
    passes(200)(&mut record);
    let expected = "claimed durable by 'fdatasync', but blocks were written 200 times between \
                    syncs on average, and only their last version had to become durable: 0.50 % of \
                    the bytes";
    assert_eq!(message(&record), expected);
    // A sync that flushes nothing is worse.
    let unflushed = |r: &mut Record| {
        passes(200)(r);
        flushes(0)(r);
    };
    check(flawless_write(over()), unflushed, "void page-cache: NotDurable void");
    // Nothing is said of a case that claims nothing.
    check(flawless_write(unsynced()), passes(200), "sound page-cache: AcknowledgedOnly note");
}

#[test]
fn compressed() {
    let writes = |share: f64| move |r: &mut Record| set_writes(r, share);
    check(flawless_write(over()), writes(0.85), "doubtful mixed: Compressed doubt");
    check(flawless_write(over()), writes(0.95), "sound mixed:");
    // The case requests compressible data.
    for fill in [Fill::Zero, Fill::Constant] {
        let work = WriteWork { fill, ..over() };
        check(flawless_write(work), writes(0.04), "sound mixed: Compressed note");
    }
    // Of four passes with a sync every 4 blocks, each block is stored four times.
    let four_passes = |stored: f64| {
        move |r: &mut Record| {
            passes(4)(r);
            set_writes(r, stored);
        }
    };
    check(flawless_write(synced_often()), four_passes(4.0), "sound device:");
    check(flawless_write(synced_often()), four_passes(2.0), "doubtful mixed: Compressed doubt");
    // Foreign writes in one trial do not hide the compression.
    let one = |r: &mut Record| {
        set_writes(r, 0.5);
        r.trials[3].evidence.device_write_bytes = Some(FILE);
    };
    check(flawless_write(over()), one, "doubtful mixed: Compressed doubt");
    // Acknowledged writes without a sync are in the page cache.
    let found = "sound mixed: AcknowledgedOnly note";
    check(flawless_write(unsynced()), writes(0.5), found);
    let copy = WriteWork {
        op: Op::Copy,
        engine: WriteEngine::CopyFileRange,
        allocation: Allocation::None,
        ..over()
    };
    let mut record = flawless_write(copy);
    assert_eq!(judge(&record), "sound device:");
    set_writes(&mut record, 0.0);
    assert_eq!(judge(&record), "doubtful page-cache: Compressed doubt");
    assert!(message(&record).contains("the copy shares blocks"), "{}", message(&record));
}

fn cold_copy(engine: WriteEngine) -> WriteWork {
    let io = Io { cache: Cache::Cold, ..over().io };
    WriteWork { io, op: Op::Copy, engine, allocation: Allocation::None, ..over() }
}

#[test]
fn copies_of_a_source_that_was_not_cold() {
    let copy = cold_copy;
    let reads = |share: f64| {
        move |r: &mut Record| {
            evidence(r, |e| e.task_read_bytes = Some((FILE as f64 * share) as u64));
        }
    };
    let write = || flawless_write(copy(WriteEngine::Write));
    check(write(), reads(1.02), "sound device:");
    check(write(), reads(0.995), "sound device:");
    check(write(), reads(0.98), "void device: CacheLeak void");
    check(write(), reads(0.0), "void device: CacheLeak void");
    // The copy may share the blocks of its source.
    let range = || flawless_write(copy(WriteEngine::CopyFileRange));
    check(range(), reads(0.0), "sound device:");
    check(range(), reads(0.5), "void device: CacheLeak void");
    // Network reads are not counted, and as-is makes no claim.
    let unseen = |r: &mut Record| {
        reads(0.0)(r);
        let source = Storage { medium: Medium::Unseen, ..storage(r).clone() };
        r.header.source_storage = Some(source);
    };
    check(write(), unseen, "sound device:");
    let as_is = WriteWork {
        io: Io { cache: Cache::AsIs, ..copy(WriteEngine::Write).io },
        ..copy(WriteEngine::Write)
    };
    check(flawless_write(as_is), reads(0.0), "sound device:");
    // An overwrite does not have to read the file.
    let cold = WriteWork { io: Io { cache: Cache::Cold, ..over().io }, ..over() };
    check(flawless_write(cold), reads(0.0), "sound device:");
}

/// What the devices read of the source still decides whether it was cold.
#[test]
fn a_copy_into_memory_is_cold_by_its_source() {
    let into_memory = |share: f64| {
        move |r: &mut Record| {
            r.header.source_storage = Some(storage(r).clone());
            storage(r).medium = Medium::Ram;
            evidence(r, |e| e.task_read_bytes = Some((FILE as f64 * share) as u64));
        }
    };
    let cold = |sync| WriteWork { sync, ..cold_copy(WriteEngine::Write) };
    let unsynced = || flawless_write(cold(Sync::None));
    check(unsynced(), into_memory(1.0), "sound ram: Ram note, AcknowledgedOnly note");
    check(
        unsynced(),
        into_memory(0.5),
        "void ram: CacheLeak void, Ram note, AcknowledgedOnly note",
    );
    let synced = flawless_write(cold(Sync::Fdatasync));
    check(synced, into_memory(1.0), "doubtful ram: Ram doubt, NotDurable doubt");
    // Of a source in memory, too, nothing is cold.
    let both = |r: &mut Record| storage(r).medium = Medium::Ram;
    check(unsynced(), both, "doubtful ram: Ram doubt, AcknowledgedOnly note");
}

#[test]
fn nearly_full() {
    let free = |percent: u64| {
        move |r: &mut Record| {
            let storage = storage(r);
            storage.free = storage.capacity.map(|capacity| capacity / 100 * percent);
        }
    };
    check(flawless_write(over()), free(14), "sound device: NearlyFull note");
    check(flawless_write(over()), free(16), "sound device:");
    check(zoo::record(), free(1), "sound device:");
    let empty = |r: &mut Record| (storage(r).free, storage(r).capacity) = (None, None);
    check(flawless_write(over()), empty, "sound device:");
}

#[test]
fn allocating() {
    let of = |work: WriteWork, expected: &str| {
        for allocation in [Allocation::None, Allocation::Append, Allocation::Fallocate] {
            check(flawless_write(WriteWork { allocation, ..work }), no_op, expected);
        }
    };
    of(synced_often(), "sound device: Allocating note");
    of(direct(), "sound device: Allocating note");
    // One sync at the end writes the metadata once.
    of(over(), "sound device:");
    check(flawless_write(synced_often()), no_op, "sound device:");
}

#[test]
fn throttled_writeback() {
    let busy = |percent: u64| {
        move |r: &mut Record| {
            each(r, |trial| {
                let span = &sample(trial).spans[0];
                let cpu_ns = (span.end_ns - span.start_ns) / 100 * percent;
                trial.evidence.cpu_ns = Some(cpu_ns);
                trial.evidence.dirty_limit = Some(FILE);
                trial.evidence.dirty_after = Some(FILE / 8 * 7);
            });
        }
    };
    let throttled = "doubtful page-cache: ThrottledWriteback doubt, AcknowledgedOnly note";
    check(flawless_write(unsynced()), busy(85), throttled);
    check(flawless_write(unsynced()), busy(95), "sound page-cache: AcknowledgedOnly note");
    check(flawless_write(over()), busy(85), "doubtful device: ThrottledWriteback doubt");
    // Syncs before the end took half of the time.
    let syncing = |r: &mut Record| {
        busy(45)(r);
        each(r, |trial| sample(trial).spans[0].sync_ns += 500 * MS);
    };
    check(flawless_write(synced_often()), syncing, "sound device:");
    // 4 MiB before each sync are far below the limit: it waited for something else.
    check(flawless_write(synced_often()), busy(45), "sound device:");
    // The worker waited for a processor, or the time was stolen.
    let delayed = |r: &mut Record| {
        busy(45)(r);
        evidence(r, |evidence| evidence.run_delay_ns = Some(500 * MS));
    };
    check(flawless_write(over()), delayed, "doubtful device: Contended doubt");
    let stolen = |r: &mut Record| {
        busy(45)(r);
        evidence(r, |evidence| evidence.steal_ns = Some(500 * MS));
    };
    check(flawless_write(over()), stolen, "doubtful device: Steal doubt");
    // The worker waited for reads, or for the device it wrote to.
    let reading = |r: &mut Record| {
        busy(45)(r);
        evidence(r, |evidence| evidence.task_read_bytes = Some(FILE / 50));
    };
    check(flawless_write(over()), reading, "sound device:");
    check(flawless_write(direct()), busy(5), "sound device:");
    let each_durable = WriteWork { sync: Sync::Dsync, ..over() };
    check(flawless_write(each_durable), busy(5), "sound device:");
    let unknown = |r: &mut Record| {
        busy(45)(r);
        evidence(r, |evidence| evidence.run_delay_ns = None);
    };
    check(flawless_write(over()), unknown, "sound device:");
}

/// A writer that waits for another reason than the limit of dirty pages, such as a journal, is not
/// told that the limit held it. The limit is that which binds.
#[test]
fn a_writer_is_held_back_only_near_the_limit_that_binds() {
    let waits = |after: u64, limit: u64| {
        move |r: &mut Record| {
            each(r, |trial| {
                let span = &sample(trial).spans[0];
                trial.evidence.cpu_ns = Some((span.end_ns - span.start_ns) / 10);
                (trial.evidence.dirty_after, trial.evidence.dirty_limit) =
                    (Some(after), Some(limit));
            });
        }
    };
    let throttled = "doubtful page-cache: ThrottledWriteback doubt, AcknowledgedOnly note";
    let silent = "sound page-cache: AcknowledgedOnly note";
    check(flawless_write(unsynced()), waits(728 << 10, 4 << 30), silent);
    check(flawless_write(unsynced()), waits(2 << 30, 4 << 30), throttled);
    check(flawless_write(unsynced()), waits((2 << 30) - 1, 4 << 30), silent);
    // What was synced at the end is dirty before.
    check(flawless_write(over()), waits(0, 4 << 30), "sound device:");
    check(flawless_write(over()), waits(0, 1 << 30), "doubtful device: ThrottledWriteback doubt");
    // Older records have the machine's limit, but the control group's is less.
    let quota = |r: &mut Record| {
        waits(700 << 20, 4 << 30)(r);
        r.header.host.memory_quota = Some(256 << 20);
    };
    check(flawless_write(unsynced()), quota, throttled);
    let workers = |r: &mut Record| {
        quota(r);
        r.header.plan.memory_limit = Some(128 << 20);
    };
    check(flawless_write(unsynced()), workers, throttled);
    let said = |plant: &dyn Fn(&mut Record)| {
        let mut record = flawless_write(unsynced());
        plant(&mut record);
        message(&record)
    };
    let allows = "it allows 256 MiB of dirty pages, and a trial wrote 1.00 GiB, more than the \
                  memory of its group";
    assert!(said(&quota).ends_with(allows), "{}", said(&quota));
    assert!(said(&workers).contains("allows 128 MiB"), "{}", said(&workers));
    // Without the limit, nothing says whether it held the writer.
    let unknown = |r: &mut Record| {
        waits(2 << 30, 4 << 30)(r);
        evidence(r, |evidence| evidence.dirty_limit = None);
    };
    check(flawless_write(unsynced()), unknown, silent);
}

/// On a mount with `sync`, each write waits until it is stored, as with `O_DSYNC`.
#[test]
fn writes_to_a_mount_that_syncs_are_not_held_back_and_not_only_acknowledged() {
    let mut record = flawless_write(unsynced());
    set_writes(&mut record, 1.0);
    each(&mut record, |trial| {
        let span = &sample(trial).spans[0];
        trial.evidence.cpu_ns = Some((span.end_ns - span.start_ns) / 100);
        (trial.evidence.dirty_after, trial.evidence.dirty_limit) = (Some(FILE), Some(FILE));
    });
    let held = "doubtful device: ThrottledWriteback doubt, AcknowledgedOnly note";
    assert_eq!(judge(&record), held);
    storage(&mut record).mount_options = "rw,sync,relatime".to_string();
    assert_eq!(judge(&record), "sound device: AcknowledgedOnly note");
    assert!(message(&record).contains("mounted with 'sync'"), "{}", message(&record));
    assert!(!message(&record).contains("nothing was synced"), "{}", message(&record));
}

/// The flag of files makes each write wait, as a mount option does.
#[test]
fn files_with_the_flag_of_sync_wait_for_each_write() {
    let flagged = |is_so| {
        move |r: &mut Record| {
            storage(r).syncs_writes = is_so;
            set_writes(r, 1.0);
        }
    };
    let said = |is_so| {
        let mut record = flawless_write(unsynced());
        flagged(is_so)(&mut record);
        let found = first(&record).findings.into_iter();
        let mut messages = found.map(|it| it.message);
        messages.find(|it| it.contains("sync")).expect("it is acknowledged only")
    };
    assert!(said(Some(true)).contains("have the flag of 'chattr +S', so each write waited"));
    assert!(said(Some(false)).starts_with("nothing was synced"));
    assert!(said(None).starts_with("nothing was synced"));
    // Each write may write metadata, as with O_DSYNC, and none is held back by dirty pages.
    let often = |is_so| {
        move |r: &mut Record| {
            flagged(is_so)(r);
            set_writes(r, 1.4);
        }
    };
    check(flawless_write(over()), often(Some(false)), "doubtful device: Foreign doubt");
    check(flawless_write(over()), often(Some(true)), "sound device:");
}

/// Dirty pages come and go in a group that is full: what was left at the end depends on the moment.
#[test]
fn like_rows_in_a_group_that_they_fill_are_held_back_alike() {
    let waits = |after: u64, quota: Option<u64>| {
        move |r: &mut Record| {
            r.header.host.memory_quota = quota;
            each(r, |trial| {
                let span = &sample(trial).spans[0];
                trial.evidence.cpu_ns = Some((span.end_ns - span.start_ns) / 10);
                trial.evidence.dirty_after = Some(after);
                trial.evidence.dirty_limit = Some(quota.unwrap_or(4 << 30));
            });
        }
    };
    let throttled = "doubtful page-cache: ThrottledWriteback doubt, AcknowledgedOnly note";
    let silent = "sound page-cache: AcknowledgedOnly note";
    for after in [FILE / 4, FILE / 16, 0] {
        check(flawless_write(unsynced()), waits(after, Some(FILE / 2)), throttled);
        check(flawless_write(unsynced()), waits(after, None), silent);
        // It had room for all.
        check(flawless_write(unsynced()), waits(after, Some(FILE)), silent);
    }
    let mut record = flawless_write(unsynced());
    waits(0, Some(FILE / 2))(&mut record);
    let text = &first(&record).findings[0].message;
    assert!(text.contains(", more than the memory of its group"), "{text}");
}

/// With `data=journal`, ext4 writes each byte to the journal, and then to its place.
#[test]
fn what_a_journal_of_data_writes_twice_is_nobody_elses() {
    let with = |options: &'static str, share: f64| {
        move |r: &mut Record| {
            storage(r).mount_options = options.to_string();
            set_writes(r, share);
        }
    };
    let doubt = "doubtful device: Foreign doubt";
    check(flawless_write(over()), with("rw,relatime,data=journal", 2.005), "sound device:");
    check(flawless_write(over()), with("rw,relatime,data=journal", 2.6), doubt);
    // A default of the file system, or a flag of its files, is no mount option.
    let journaled = |is_so, times| {
        move |record: &mut Record| {
            with("rw,relatime", times)(record);
            record.header.storage.as_mut().expect("a file has one").journals_data = is_so;
        }
    };
    check(flawless_write(over()), journaled(Some(true), 2.005), "sound device:");
    // Without a sync, some of what was counted is in the journal alone, and some was counted twice.
    let half = "sound unverified: Unverified note, AcknowledgedOnly note";
    check(flawless_write(unsynced()), journaled(Some(true), 1.6), half);
    let once = "sound device: AcknowledgedOnly note, CpuBound note";
    check(flawless_write(unsynced()), journaled(Some(false), 1.0), once);
    check(flawless_write(over()), journaled(Some(false), 2.005), doubt);
    check(flawless_write(over()), journaled(None, 2.005), doubt);
    check(flawless_write(over()), with("rw,relatime,data=ordered", 2.005), doubt);
}

#[test]
fn what_is_read_back_must_be_what_was_written() {
    let wrong = |r: &mut Record| {
        let seen = r.trials[7].read_back.as_mut().expect("all was read back");
        seen.digest ^= 1;
    };
    check(flawless_write(over()), wrong, "void device: DigestMismatch void");
    let mut record = flawless_write(over());
    assert_eq!(first(&record).digest_verified, Some(true));
    wrong(&mut record);
    let case = first(&record);
    assert_eq!(case.digest_verified, Some(false));
    assert_eq!(case.writing.and_then(|writing| writing.read_back), Some(false));
    assert!(message(&record).starts_with("the data read back is not the data written (in 1 of"));
    each(&mut record, |trial| trial.read_back = None);
    let case = first(&record);
    assert_eq!((case.digest_verified, case.findings.len()), (None, 0));
    let writing = case.writing.expect("it writes");
    assert_eq!((writing.read_back, writing.read_back_past_cache), (None, None));
    // A read-back that cannot evict the pages comes from the page cache.
    let mut record = flawless_write(over());
    record.trials[2].read_back.as_mut().expect("all was read back").is_past_cache = false;
    let writing = first(&record).writing.expect("it writes");
    assert_eq!((writing.read_back, writing.read_back_past_cache), (Some(true), Some(false)));
}

#[test]
fn direct_writes_that_are_not_direct() {
    let bare = || WriteWork { io: Io { cache: Cache::Direct, ..unsynced().io }, ..unsynced() };
    let ignored = |share: f64| move |r: &mut Record| set_writes(r, share);
    let sound = "sound device: AcknowledgedOnly note";
    check(flawless_write(bare()), no_op, sound);
    let kept = "void mixed: DirectIgnored void, AcknowledgedOnly note";
    check(flawless_write(bare()), ignored(0.98), kept);
    check(flawless_write(bare()), ignored(0.995), sound);
    let cached =
        |pages| move |r: &mut Record| evidence(r, |e| e.residency_after = residency(pages));
    check(flawless_write(direct()), cached(PAGES), "void device: DirectIgnored void");
    check(flawless_write(direct()), cached(PAGES / 200), "sound device:");
    let canary = |r: &mut Record| {
        storage(r).direct = Direct::Accepted { offset_align: 512, bypasses: Some(false) };
    };
    check(flawless_write(direct()), canary, "void device: DirectIgnored void");
    check(flawless_write(over()), canary, "sound device:");
}

#[test]
fn writes_that_were_to_leave_the_page_cache_and_stay() {
    let sparing = |work: WriteWork| WriteWork {
        io: Io { cache: Cache::DontCache, ..work.io },
        allocation: Allocation::None,
        ..work
    };
    let after = |cached, dirty| {
        move |r: &mut Record| {
            evidence(r, |e| {
                e.residency_after = residency(cached).map(|seen| Residency { dirty, ..seen });
            });
        }
    };
    let said = |work: WriteWork, cached, dirty| {
        let mut record = flawless_write(sparing(work));
        after(cached, dirty)(&mut record);
        first(&record).findings.iter().any(|found| found.code == Code::CacheKept)
    };
    assert!(said(over(), PAGES, Some(0)));
    assert!(said(over(), PAGES, None));
    assert!(!said(over(), 0, Some(0)));
    // What still waits to be written cannot leave, and mincore does not tell it apart.
    assert!(said(unsynced(), PAGES, Some(PAGES / 2)));
    assert!(!said(unsynced(), PAGES, Some(PAGES)));
    assert!(!said(unsynced(), PAGES, None));
}

#[test]
fn what_is_written_over_was_cached_before() {
    let warm = || WriteWork { io: Io { cache: Cache::Warm, ..over().io }, ..over() };
    let before =
        |pages| move |r: &mut Record| evidence(r, |e| e.residency_before = residency(pages));
    check(flawless_write(warm()), before(PAGES), "sound device:");
    check(flawless_write(warm()), before(PAGES / 2), "void device: NotWarm void");
    let one = |r: &mut Record| {
        before(PAGES)(r);
        r.trials[3].evidence.residency_before = residency(PAGES / 2);
    };
    check(flawless_write(warm()), one, "sound device: Excluded note");
    check(flawless_write(over()), before(PAGES / 2), "sound device:");
}

#[test]
fn others_that_write() {
    // 1.25 × 1 GiB, 16 MiB, and a sync.
    let writes = |share: f64| move |r: &mut Record| set_writes(r, share);
    check(flawless_write(over()), writes(1.30), "doubtful device: Foreign doubt");
    check(flawless_write(over()), writes(1.20), "sound device:");
    let one = |r: &mut Record| r.trials[3].evidence.device_write_bytes = Some(9 * FILE);
    check(flawless_write(over()), one, "sound device: Foreign note");
    // Each sync may write metadata: 64 MiB for 257 syncs.
    check(flawless_write(synced_often()), writes(1.30), "sound device:");
    check(flawless_write(synced_often()), writes(1.40), "doubtful device: Foreign doubt");
    // A write of a few bytes writes the whole page.
    let small = WriteWork { io: Io { block: 256, ..direct().io }, ..direct() };
    let of_pages = |r: &mut Record| {
        each(r, |trial| sample(trial).spans[0].ops = FILE / 256);
        evidence(r, |evidence| evidence.device_writes = Some(FILE / 256));
        set_writes(r, 16.0);
    };
    let found = "sound device: CountersUnseen note";
    check(flawless_write(small), of_pages, found);
    // Foreign reads slow down writes.
    let reads = |bytes: u64| {
        move |r: &mut Record| {
            evidence(r, |e| (e.device_read_bytes, e.task_read_bytes) = (Some(bytes), Some(0)));
        }
    };
    check(flawless_write(over()), reads(16 << 20), "sound device:");
    check(flawless_write(over()), reads(FILE), "doubtful device: Foreign doubt");
    // A disk that no operation waits for may be busy.
    let found = "sound page-cache: AcknowledgedOnly note";
    check(flawless_write(unsynced()), writes(0.005), found);
}

#[test]
fn time_until_the_sync_counts() {
    let lasts = |ms: u64, sync_ms: u64| {
        move |r: &mut Record| {
            each(r, |trial| {
                let span = &mut sample(trial).spans[0];
                span.end_ns = span.start_ns + ms * MS;
                (span.synced_ns, span.sync_ns) = (Some(span.end_ns + sync_ms * MS), sync_ms * MS);
                trial.evidence.cpu_ns = Some(ms * MS);
            });
        }
    };
    check(flawless_write(over()), lasts(10, 100), "sound device:");
    check(flawless_write(over()), lasts(10, 50), "sound device: TooShort note");
    check(flawless_write(over()), lasts(5, 5), "doubtful device: TooShort doubt");
    // A row is only CPU-bound if its syncs take no time.
    check(flawless_write(over()), lasts(900, 50), "sound device: CpuBound note");
    check(flawless_write(over()), lasts(900, 300), "sound device:");
}

/// A null that writes is preferred to one that reads, and a null in the same order to others. A
/// null with larger blocks never counts.
#[test]
fn overhead_is_that_of_the_null_that_writes() {
    let null = |pattern, block| {
        let engine = WriteEngine::Null;
        write_case(WriteWork { io: Io { pattern, block, ..unsynced().io }, engine, ..unsynced() })
    };
    let add_null = |record: &mut Record, case: Case, ns_per_op: f64| {
        let ops = FILE / case.write().map_or(4096, |work| work.io.block);
        let index = record.header.plan.cases.len();
        add(record, case, Role::Baseline, FILE, ns_per_op * ops as f64 / 1e9, 0);
        for trial in record.trials.iter_mut().filter(|trial| trial.case == index) {
            sample(trial).spans[0].ops = ops;
        }
    };
    // An operation takes 976 µs.
    let mut record = flawless_write(over());
    add_null(&mut record, null_case(), 70_000.0);
    assert_eq!(judge(&record), "sound device: OverheadBound note");
    add_null(&mut record, null(Pattern::Sequential, 4 << 20), 500_000.0);
    assert_eq!(judge(&record), "sound device: OverheadBound note");
    add_null(&mut record, null(Pattern::Random, 4096), 120_000.0);
    assert_eq!(judge(&record), "doubtful device: OverheadBound doubt");
    add_null(&mut record, null(Pattern::Sequential, 4096), 1_000.0);
    assert_eq!(judge(&record), "sound device:");
}

proptest! {
    /// Any numbers from a broken worker or OS can be judged. Only a row that claims durability has
    /// a durable rate, at most the acknowledged one.
    #[test]
    fn any_numbers_of_a_write_are_judged(
        numbers in proptest::collection::vec(0u64..1 << 50, 14),
        known in proptest::collection::vec(any::<bool>(), 10),
        index in any::<proptest::sample::Index>(),
    ) {
        let cases = zoo::cases();
        let writes: Vec<&WriteWork> = cases.iter().filter_map(Case::write).collect();
        let work = *(*index.get(&writes));
        let mut record = flawless_write(work);
        let given = |index: usize| known[index].then_some(numbers[index]);
        let trial = &mut record.trials[3];
        let sample = sample(trial);
        sample.syncs.counts = vec![(numbers[10], numbers[11] % 10_000)];
        let span = &mut sample.spans[0];
        (span.thread, span.start_ns, span.end_ns) = (numbers[0] as u32, numbers[1], numbers[2]);
        (span.bytes, span.ops, span.synced_ns) = (numbers[3], numbers[4], given(5));
        span.sync_ns = numbers[6];
        trial.evidence = Evidence {
            residency_before: given(0).map(|cached| Residency {
                probe: Probe::Cachestat, pages: numbers[12], cached, dirty: given(1),
            }),
            task_read_bytes: given(2),
            device_write_bytes: given(3),
            device_writes: given(4),
            device_flushes: given(6),
            dirty_before: given(7),
            dirty_limit: given(8),
            cpu_ns: given(9),
            run_delay_ns: given(9),
            ..Evidence::default()
        };
        let case = first(&record);
        prop_assert!(case.n == 9 || case.n == 10);
        let gravest = case.findings.iter().map(|finding| finding.severity).max();
        prop_assert_eq!(case.verdict == Verdict::Void, gravest == Some(Severity::Void));
        let blocked = case.spent.and_then(|spent| spent.blocked_share);
        prop_assert!(blocked.is_none_or(|share| (0.0..=1.0).contains(&share)));
        if let Some(durable) = case.writing.as_ref().and_then(|writing| writing.durable) {
            prop_assert!(work.sync.claims_durable() && work.op != Op::Sync);
            let acknowledged = case.writing.and_then(|writing| writing.acknowledged);
            let acknowledged = acknowledged.expect("nine trials tell it");
            let is_slower = durable.median <= acknowledged.median * 1.000_001;
            prop_assert!(is_slower || durable.n != acknowledged.n);
        }
    }
}

#[test]
fn direct_writes_to_btrfs_are_copied() {
    let btrfs = |options: &'static str, os: &'static str| {
        move |r: &mut Record| {
            let storage = storage(r);
            storage.file_system = "btrfs".to_string();
            storage.mount_options = options.to_string();
            r.header.host.os = os.to_string();
        }
    };
    let doubt = "doubtful device: DirectIgnored doubt";
    check(flawless_write(direct()), btrfs("rw,relatime", "Linux 6.14.0"), doubt);
    check(flawless_write(direct()), btrfs("rw,relatime", "an unknown one"), doubt);
    check(flawless_write(direct()), btrfs("rw,relatime", "Linux 6.13.9"), "sound device:");
    // Older kernels copy some writes: the finding is made where the file's pages grew.
    let grown = |r: &mut Record| {
        btrfs("rw,relatime", "Linux 6.12.117")(r);
        for trial in &mut r.trials {
            trial.evidence.residency_before = residency(0);
            trial.evidence.residency_after = residency(PAGES / 4);
        }
    };
    check(flawless_write(direct()), grown, doubt);
    check(flawless_write(direct()), btrfs("rw,nodatasum", "Linux 6.18.44"), "sound device:");
    check(flawless_write(direct()), btrfs("nodatacow,rw", "Linux 6.18.44"), "sound device:");
    check(flawless_write(over()), btrfs("rw,relatime", "Linux 6.18.44"), "sound device:");
    let reads = flawless(super::work(Cache::Direct));
    check(reads, btrfs("rw,relatime", "Linux 6.18.44"), "sound device:");
}

/// A cached loop device only matters where durability is claimed.
#[test]
fn loop_devices_under_what_is_written() {
    let through_cache = |r: &mut Record| storage(r).devices[0].loop_direct = Some(false);
    check(flawless_write(over()), through_cache, "doubtful device: LoopCached doubt");
    check(flawless_write(direct()), through_cache, "doubtful device: LoopCached doubt");
    check(flawless_write(unsynced()), through_cache, "sound page-cache: AcknowledgedOnly note");
    let past_cache = |r: &mut Record| storage(r).devices[0].loop_direct = Some(true);
    check(flawless_write(over()), past_cache, "sound device:");
}

/// The disk below counted the bytes, and the flushes that the loop device passed on.
#[test]
fn what_the_disk_below_a_loop_device_stored_is_not_in_doubt() {
    let stored = |bytes: u64, flushes: Option<u64>| {
        move |r: &mut Record| {
            super::rules::on_loop(r, false);
            evidence(r, |e| {
                (e.disk_write_bytes, e.disk_flushes) = (Some(bytes), flushes);
            });
        }
    };
    let all = Some(1 << 20);
    let doubt = "doubtful device: LoopCached doubt";
    check(flawless_write(over()), stored(FILE, all), "sound device:");
    check(flawless_write(synced_often()), stored(FILE, all), "sound device:");
    check(flawless_write(over()), stored(FILE, None), doubt);
    check(flawless_write(over()), stored(FILE, Some(0)), doubt);
    // Direct writes claim that no cache took them, and reads are proved by no counter.
    check(flawless_write(direct()), stored(FILE, all), doubt);
    let twice = |r: &mut Record| {
        stored(FILE, all)(r);
        storage(r).devices[0].file.as_mut().expect("it has one").disks.push("vdb".to_string());
    };
    check(flawless_write(over()), twice, doubt);
    // A disk without a cache has nothing to flush.
    let through = |r: &mut Record| {
        stored(FILE, Some(0))(r);
        let file = storage(r).devices[0].file.as_mut().expect("it has one");
        file.devices[0].write_cache = Some(model::path::WriteCache::Through);
    };
    check(flawless_write(over()), through, "sound device:");
}

/// What is not synced stays in the page cache outside, and what is synced must not.
#[test]
fn what_the_disk_below_a_loop_device_did_not_write_is_in_the_page_cache_outside() {
    let disk = |share: f64| {
        move |r: &mut Record| {
            storage(r).devices[0].loop_direct = Some(false);
            let written = (FILE as f64 * share) as u64;
            evidence(r, |evidence| evidence.disk_write_bytes = Some(written));
        }
    };
    let bare = WriteWork { io: Io { cache: Cache::Direct, ..unsynced().io }, ..unsynced() };
    let expected = "void page-cache: LoopCached void, AcknowledgedOnly note";
    check(flawless_write(bare), disk(0.0), expected);
    check(flawless_write(over()), disk(1.0), "doubtful device: LoopCached doubt");
    let mut record = flawless_write(bare);
    disk(0.0)(&mut record);
    let case = first(&record);
    let text = &case.findings[1].message;
    assert!(text.ends_with("; at the end, 0 % of the bytes had reached a device"), "{text}");
}

/// The target refers to the blocks of its source.
#[test]
fn a_copy_that_shares_its_blocks_copied_nothing() {
    let copy = |sync| WriteWork {
        op: Op::Copy,
        engine: WriteEngine::CopyFileRange,
        allocation: Allocation::None,
        sync,
        ..over()
    };
    let shares = |share: f64| {
        move |r: &mut Record| {
            set_writes(r, 1.0 - share);
            let bytes = (FILE as f64 * share) as u64;
            evidence(r, |evidence| evidence.shared_bytes = Some(bytes));
        }
    };
    let expected = "void no-io: NoIo void, AcknowledgedOnly note";
    check(flawless_write(copy(Sync::None)), shares(1.0), expected);
    check(flawless_write(copy(Sync::Fdatasync)), shares(1.0), "void no-io: NoIo void");
    check(flawless_write(copy(Sync::Fdatasync)), shares(0.5), "void mixed: NoIo void");
    check(flawless_write(copy(Sync::Fdatasync)), shares(0.0), "sound device:");
    let mut record = flawless_write(copy(Sync::None));
    shares(1.0)(&mut record);
    let text = message(&record);
    assert!(text.starts_with("the target shares 100 % of the bytes with its source"), "{text}");
}

/// A mirror, or a stripe of mirrors, writes everything twice: to `sda` and `sdb`.
fn mirrored(record: &mut Record) {
    storage(record).layers = vec![layer("sda sdb", 2), layer("md0", 1)];
}

#[test]
fn what_a_mirror_writes_twice_is_nobody_elses() {
    let with = |share: f64| {
        move |r: &mut Record| {
            mirrored(r);
            set_writes(r, share);
        }
    };
    check(flawless_write(over()), with(2.0), "sound device:");
    check(flawless_write(over()), with(2.6), "doubtful device: Foreign doubt");
    check(flawless_write(over()), |r| set_writes(r, 2.0), "doubtful device: Foreign doubt");
    // With reads beside it: the worker wrote nothing, and others as much as it read.
    let others = |r: &mut Record| {
        mirrored(r);
        evidence(r, |e| (e.device_write_bytes, e.task_write_bytes) = (Some(FILE), Some(FILE / 2)));
    };
    check(flawless(super::work(Cache::Direct)), others, "sound device:");
}

#[test]
fn what_half_of_a_mirror_did_not_get_is_seen() {
    let with = |share: f64| {
        move |r: &mut Record| {
            mirrored(r);
            set_writes(r, share);
        }
    };
    // Writing every byte once is half of the expected amount.
    let half = "doubtful mixed: Compressed doubt";
    let random = || WriteWork { fill: Fill::Random, ..over() };
    check(flawless_write(random()), with(1.0), half);
    check(flawless_write(random()), with(2.0), "sound device:");
    check(flawless_write(random()), |r| set_writes(r, 1.0), "sound device:");
}

#[test]
fn where_parity_is_kept_nothing_is_judged_by_how_much_devices_wrote() {
    let parity = |share: f64, is_array_counted: bool| {
        move |r: &mut Record| {
            let mut members = layer("sda sdb sdc", 1);
            (members.reads, members.writes) = (Amplification::SOME, Amplification::SOME);
            let mut array = layer("md0", 1);
            array.counts.writes = Some(is_array_counted);
            storage(r).layers = vec![members, array];
            set_writes(r, share);
        }
    };
    // The array counts each byte once; the members' amplification is unknown.
    check(flawless_write(over()), parity(1.0, true), "sound device:");
    check(flawless_write(over()), parity(5.0, true), "doubtful device: Foreign doubt");
    let unverified = "doubtful unverified: Unverified doubt";
    check(flawless_write(over()), parity(5.0, false), unverified);
    // Zero bytes are zero with any amplification.
    let nothing = |r: &mut Record| parity(0.0, false)(r);
    let kept = "sound page-cache: AcknowledgedOnly note";
    check(flawless_write(unsynced()), nothing, kept);
}

/// Removes the counters that a failed canary removes from a record.
fn uncounted(reads_and_writes: bool, flushes: bool) -> impl Fn(&mut Record) {
    move |r: &mut Record| {
        let counts = |count: bool| Some(!count);
        let (reads, writes) = (counts(reads_and_writes), counts(reads_and_writes));
        let counts = Counts { reads, writes, flushes: counts(flushes) };
        storage(r).layers = vec![Layer { counts, ..layer("sda", 1) }];
        evidence(r, |e| {
            if reads_and_writes {
                (e.device_reads, e.device_read_bytes) = (None, None);
                (e.device_writes, e.device_write_bytes) = (None, None);
            }
            if flushes {
                e.device_flushes = None;
            }
        });
    }
}

#[test]
fn counters_unseen() {
    let random = || WriteWork { fill: Fill::Random, ..direct() };
    let zeros = |r: &mut Record| {
        evidence(r, |e| {
            (e.device_writes, e.device_write_bytes) = (Some(0), Some(0));
            e.device_flushes = Some(0);
        });
    };
    // A trusted zero refutes the claim; an untrusted zero refutes nothing.
    let denied = "void page-cache: NotDurable void";
    check(flawless_write(random()), zeros, denied);
    let unseen = "doubtful unverified: Unverified doubt, CountersUnseen note";
    check(flawless_write(random()), uncounted(true, false), unseen);
    let unseen = "doubtful unverified: Unverified doubt, CountersUnseen doubt";
    check(flawless_write(over()), uncounted(true, true), unseen);
    let claimed = "doubtful device: CountersUnseen doubt";
    check(flawless_write(over()), uncounted(false, true), claimed);
    check(flawless_write(over()), uncounted(false, false), "sound device:");
    let unsynced = WriteWork { sync: Sync::None, ..direct() };
    let unverified = "doubtful unverified: Unverified doubt, CountersUnseen note, \
                      AcknowledgedOnly note";
    check(flawless_write(unsynced), uncounted(true, false), unverified);
    // The OS reports the worker's own reads.
    let cold = || flawless(super::work(Cache::Cold));
    check(cold(), uncounted(true, false), "sound device: CountersUnseen note");
    check(cold(), uncounted(false, false), "sound device:");
}

#[test]
fn what_is_mounted_without_barriers_is_not_durable() {
    let options = |options: &'static str| {
        move |r: &mut Record| storage(r).mount_options = options.to_string()
    };
    for option in ["rw,nobarrier", "rw,barrier=0"] {
        check(flawless_write(over()), options(option), "void device: NotDurable void");
        // O_DSYNC is affected too, unless the write changes no metadata and the device supports
        // FUA.
        check(flawless_write(direct()), options(option), "doubtful device: NotDurable doubt");
        let cached = WriteWork { io: Io { cache: Cache::AsIs, ..direct().io }, ..direct() };
        let denied = "void device: NotDurable void, CpuBound note";
        check(flawless_write(cached), options(option), denied);
        let cannot = |r: &mut Record| {
            options(option)(r);
            storage(r).devices[0].fua = Some(false);
        };
        check(flawless_write(direct()), cannot, "void device: NotDurable void");
        // Without a cache there is nothing to flush.
        let without = |r: &mut Record| {
            options(option)(r);
            storage(r).devices[0].write_cache = Some(WriteCache::Through);
        };
        check(flawless_write(over()), without, "sound device:");
        let unknown = |r: &mut Record| {
            options(option)(r);
            storage(r).devices[0].write_cache = None;
            evidence(r, |evidence| evidence.device_flushes = Some(0));
        };
        check(flawless_write(over()), unknown, "doubtful device: CountersUnseen doubt");
    }
    check(flawless_write(over()), options("rw,barrier=1"), "sound device:");
    let below = |r: &mut Record| storage(r).barriers_off = vec!["xfs at '/' (nobarrier)".into()];
    check(flawless_write(over()), below, "void device: NotDurable void");
    let mut record = flawless_write(over());
    below(&mut record);
    let expected = "claimed durable by 'fdatasync', but xfs at '/' (nobarrier) flushes nothing";
    assert!(message(&record).starts_with(expected), "{}", message(&record));
}

/// A part in memory, or of an unknown device, of a storage whose rest is on disks.
fn weak_part(device: Option<&str>, holds: HeldContent, is_copied: bool) -> impl Fn(&mut Record) {
    let device = device.map(str::to_string);
    move |r| storage(r).weak_parts = vec![WeakPart { device: device.clone(), holds, is_copied }]
}

#[test]
fn what_is_in_memory_alone_is_not_durable() {
    let durable = |plant: &dyn Fn(&mut Record)| {
        let mut record = flawless_write(over());
        plant(&mut record);
        first(&record).writing.is_some_and(|writing| writing.durable.is_some())
    };
    let ram = Some("ram0");
    let journal = weak_part(ram, HeldContent::Journal, false);
    check(flawless_write(over()), &journal, "doubtful mixed: NotDurable doubt");
    assert!(!durable(&journal));
    let mut record = flawless_write(over());
    journal(&mut record);
    let expected = "claimed durable by 'fdatasync', but the journal of ext4 is in memory (ram0)";
    assert!(message(&record).starts_with(expected), "{}", message(&record));
    let data = weak_part(ram, HeldContent::Data, false);
    check(flawless_write(over()), &data, "doubtful mixed: Ram doubt, NotDurable doubt");
    assert!(!durable(&data));
    // A disk has a copy.
    for holds in [HeldContent::Data, HeldContent::Journal] {
        let copied = weak_part(ram, holds, true);
        check(flawless_write(over()), &copied, "sound device:");
        assert!(durable(&copied));
        check(flawless_write(over()), weak_part(None, holds, true), "sound device:");
    }
    // Nothing says where the journal is.
    let unseen = weak_part(None, HeldContent::Journal, false);
    check(flawless_write(over()), &unseen, "doubtful device: NotDurable doubt");
    let unflushed = |r: &mut Record| {
        unseen(r);
        flushes(0)(r);
    };
    check(flawless_write(over()), unflushed, "void device: NotDurable void");
    // Without a sync, the data need not be in the journal.
    let note = "sound device: AcknowledgedOnly note";
    let direct = WriteWork { io: Io { cache: Cache::Direct, ..unsynced().io }, ..unsynced() };
    check(flawless_write(direct), &journal, note);
    check(flawless_write(direct), &unseen, note);
    let expected = "doubtful mixed: Ram doubt, AcknowledgedOnly note";
    check(flawless_write(direct), &data, expected);
}

#[test]
fn a_device_that_stops_flushes_makes_nothing_durable() {
    let on = |below| {
        move |r: &mut Record| {
            flushes(0)(r);
            let storage = storage(r);
            storage.barriers_off = vec!["loop1 (write through)".to_string()];
            let disk = Device { write_cache: Some(below), ..storage.devices[0].clone() };
            let (file_system, disks) = ("ext4".to_string(), Vec::new());
            let file = LoopFile { file_system, devices: vec![disk], disks, journals_data: None };
            storage.devices = vec![Device {
                name: "loop1".to_string(),
                write_cache: Some(WriteCache::Through),
                loop_direct: Some(true),
                file: Some(file),
                ..Device::default()
            }];
        }
    };
    let back = on(WriteCache::Back);
    check(flawless_write(over()), back, "void device: NotDurable void");
    // No write is sent through a cache that the device says it has not.
    check(flawless_write(direct()), back, "void device: NotDurable void");
    let mut record = flawless_write(over());
    back(&mut record);
    let expected = "claimed durable by 'fdatasync', but loop1 (write through) flushes nothing";
    assert!(message(&record).starts_with(expected), "{}", message(&record));
    check(flawless_write(over()), on(WriteCache::Through), "sound device:");
}

/// A mount that drops syncs needs no counter to be seen, nor a device.
#[test]
fn where_syncs_are_ignored_nothing_is_durable() {
    let on = |option: &'static str, medium| {
        move |r: &mut Record| {
            let storage = storage(r);
            storage.file_system = "overlay".to_string();
            storage.mount_options = format!("rw,{option}");
            storage.medium = medium;
            storage.devices[0].write_cache = None;
        }
    };
    for option in ["volatile", "fsync=volatile"] {
        let block = on(option, Medium::Block);
        check(flawless_write(over()), block, "void device: NotDurable void");
        // Writes with O_DSYNC, and syncs of mappings, pass such a mount: counters judge them.
        check(flawless_write(direct()), block, "sound device:");
        let unflushed = |r: &mut Record| {
            block(r);
            storage(r).devices[0].write_cache = Some(WriteCache::Back);
            evidence(r, |evidence| evidence.device_flushes = Some(0));
        };
        check(flawless_write(direct()), unflushed, "doubtful device: NotDurable doubt");
        let unseen = on(option, Medium::Unseen);
        let expected = "void unverified: NotDurable void, Unverified doubt";
        check(flawless_write(over()), unseen, expected);
        let mut record = flawless_write(over());
        block(&mut record);
        let expected = format!(
            "claimed durable by 'fdatasync', but overlay at '/' ({option}) ignores every sync"
        );
        assert!(message(&record).starts_with(&expected), "{}", message(&record));
    }
    check(flawless_write(over()), on("fsync=strict", Medium::Block), "sound device:");
    // The image of a loop device is on such a mount.
    let below = |r: &mut Record| {
        storage(r).barriers_off = vec!["overlay at '/' (fsync=volatile)".to_string()];
    };
    check(flawless_write(over()), below, "void device: NotDurable void");
}

/// Whatever swallowed the sync, its pages are still dirty, also on a device without a cache.
#[test]
fn what_a_sync_left_dirty_is_not_durable() {
    let left = |dirty: Option<u64>| {
        move |r: &mut Record| {
            storage(r).devices[0].write_cache = Some(WriteCache::Through);
            let probe = Probe::Cachestat;
            evidence(r, |evidence| {
                evidence.residency_after =
                    Some(Residency { probe, pages: PAGES, cached: 0, dirty });
            });
        }
    };
    check(flawless_write(over()), left(Some(PAGES)), "void device: NotDurable void");
    check(flawless_write(over()), left(Some(PAGES / 50)), "void device: NotDurable void");
    check(flawless_write(over()), left(Some(PAGES / 200)), "sound device:");
    check(flawless_write(over()), left(None), "sound device:");
    let mut record = flawless_write(over());
    left(Some(PAGES))(&mut record);
    record.header.host.setup.preloaded = Some("libeatmydata.so".to_string());
    let expected = "100 % of the bytes were still dirty in the page cache after the last sync: it \
                    wrote nothing (libeatmydata.so is preloaded";
    assert!(message(&record).contains(expected), "{}", message(&record));
}
