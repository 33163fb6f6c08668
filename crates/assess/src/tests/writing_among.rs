//! Rows that write next to other rows: their ceilings, their comparisons, and caches below the OS.

use super::writing::{direct, flawless_write, over, synced_often, unsynced, write_case, written};
use super::*;
use crate::comparison::Comparison;
use crate::summary::{Ceiling, Summary};
use model::case::{Allocation, Io, Op, Sync, WriteEngine, WriteWork};
use model::host::Medium;
use model::pattern::Pattern;

const MS: u64 = 1_000_000;

/// A record with a single case, which writes.
fn record_of(work: WriteWork) -> Record {
    let mut record = flawless_write(work);
    each(&mut record, |trial| {
        let elapsed_ns = base_ns(trial.round);
        lasts(trial, elapsed_ns);
    });
    record
}

/// Sets the time until the last write returns; the last sync takes a quarter of that.
fn lasts(trial: &mut Trial, elapsed_ns: u64) {
    let span = &mut sample(trial).spans[0];
    let before_ns = span.end_ns - span.start_ns;
    span.end_ns = span.start_ns + elapsed_ns;
    match span.synced_ns {
        Some(_) if span.sync_ns > 0 => {
            span.sync_ns = elapsed_ns / 4;
            span.synced_ns = Some(span.end_ns + elapsed_ns / 4);
        }
        Some(_) => span.synced_ns = Some(span.end_ns),
        None => {}
    }
    let cpu_ns =
        trial.evidence.cpu_ns.map(|ns| (ns as f64 / before_ns as f64 * elapsed_ns as f64) as u64);
    trial.evidence.cpu_ns = cpu_ns;
}

/// Adds ten rounds of a case that writes, each `slowness` times as long as the record's own.
fn add_write(record: &mut Record, case: Case, slowness: f64) {
    let index = record.header.plan.cases.len();
    let work = *case.write().expect("it writes");
    record.header.plan.cases.push(Planned { case, role: Role::Asked });
    for mut trial in zoo::record().trials {
        trial.case = index;
        written(&work, &mut trial);
        let elapsed_ns = (base_ns(trial.round) as f64 * slowness) as u64;
        lasts(&mut trial, elapsed_ns);
        record.trials.push(trial);
    }
}

fn add_read(record: &mut Record, work: ReadWork, slowness: f64) {
    add(record, file_case(work), Role::Asked, FILE, slowness, FILE);
}

fn last(record: &Record) -> Summary {
    assess(record).cases.pop().expect("there is a case")
}

fn ceiling(case: &Summary) -> String {
    match case.ceiling {
        Some(Ceiling { kind, share }) => format!("{share:.2} of {kind}"),
        None => "none".to_string(),
    }
}

fn found(case: &Summary) -> Vec<String> {
    case.findings.iter().map(|f| format!("{} {}", f.code, f.severity)).collect()
}

#[test]
fn what_the_page_cache_takes_is_a_share_of_reading_memory() {
    let mut record = record_of(unsynced());
    add(&mut record, memory_case(Kernel::Read, 1), Role::Asked, 10 * FILE, 1.0, 0);
    let case = &assess(&record).cases[0];
    assert_eq!(ceiling(case), "0.10 of memory");
    assert!(case.of_memory.is_some_and(|share| (share - 0.1).abs() < 1e-6));
    assert_eq!(case.loaded, None);
    // Stores do not wait for memory, so they may be faster than reads.
    let mut record = record_of(unsynced());
    add(&mut record, memory_case(Kernel::Read, 1), Role::Asked, FILE / 2, 1.0, 0);
    let case = assess(&record).cases.remove(0);
    assert_eq!(ceiling(&case), "2.00 of memory");
    assert_eq!(found(&case), ["AcknowledgedOnly note", "AboveCeiling note"]);
    // A row that only syncs moves nothing, and neither does a null.
    for work in [
        WriteWork { op: Op::Sync, ..over() },
        WriteWork { engine: WriteEngine::Null, ..unsynced() },
    ] {
        let mut record = record_of(work);
        add(&mut record, memory_case(Kernel::Read, 1), Role::Asked, 10 * FILE, 1.0, 0);
        let case = &assess(&record).cases[0];
        assert_eq!((case.ceiling, case.of_memory), (None, None), "{}", case.id);
    }
}

#[test]
fn writing_is_bounded_by_direct_writing_only() {
    let reads = || ReadWork { ..work(Cache::Direct) };
    let mut record = record_of(over());
    add_read(&mut record, reads(), 0.9);
    assert_eq!(ceiling(&assess(&record).cases[0]), "none");
    add_write(&mut record, write_case(direct()), 1.0);
    let assessment = assess(&record);
    assert_eq!(ceiling(&assessment.cases[0]), "0.80 of device");
    let is_ceiling: Vec<bool> = assessment.cases.iter().map(|case| case.is_ceiling).collect();
    assert_eq!(is_ceiling, [false, false, true]);
    // Small blocks at depth 1 show a latency, not the device's throughput.
    let mut record = record_of(over());
    let log = |depth| WriteWork {
        io: Io { block: 4096, depth, ..direct().io },
        engine: WriteEngine::Uring,
        ..direct()
    };
    add_write(&mut record, write_case(log(255)), 1.0);
    assert_eq!(ceiling(&assess(&record).cases[0]), "none");
    add_write(&mut record, write_case(log(256)), 1.0);
    assert_eq!(ceiling(&assess(&record).cases[0]), "0.80 of device");
    // A write, however fast, is not a ceiling for reads either.
    let mut record = record_of(direct());
    add_read(&mut record, ReadWork { io: Io { cache: Cache::Cold, ..reads().io }, ..reads() }, 2.0);
    assert_eq!(ceiling(&last(&record)), "none");
    add_read(&mut record, reads(), 1.0);
    let cold = &assess(&record).cases[1];
    assert_eq!(ceiling(cold), "0.50 of device");
}

/// Buffered writes may be faster than direct ones: their other work differs.
#[test]
fn writing_above_direct_writing_is_doubted() {
    let ladder = |slowness: f64| {
        let mut record = record_of(over());
        add_write(&mut record, write_case(direct()), slowness);
        let deep = WriteWork {
            io: Io { depth: 4, ..direct().io },
            engine: WriteEngine::Uring,
            ..direct()
        };
        add_write(&mut record, write_case(deep), slowness * 1.01);
        assess(&record).cases.remove(0)
    };
    assert_eq!(found(&ladder(1.0)), [""; 0]);
    let case = ladder(1.4);
    assert_eq!(found(&case), ["AboveCeiling doubt"]);
    assert!(case.findings[0].message.contains("the two differ in more than the cache"));
    // A plateau of reads says nothing about writes.
    let mut record = record_of(over());
    add_write(&mut record, write_case(direct()), 1.4);
    let read = ReadWork {
        io: Io { depth: 8, ..work(Cache::Direct).io },
        engine: Engine::Uring,
        ..work(Cache::Direct)
    };
    add_read(&mut record, read, 1.4);
    let case = assess(&record).cases.remove(0);
    assert_eq!(found(&case), ["AboveCeiling doubt"]);
    assert!(
        case.findings[0].message.contains("no direct row shows the most that the device can do")
    );
}

#[test]
fn writes_that_differ_in_engine_or_peer_are_compared() {
    let with = |peer: &str, engine| {
        let case = write_case(WriteWork { engine, ..over() });
        Case { peer: peer.to_string(), ..case }
    };
    let mut record = record_of(WriteWork { engine: WriteEngine::Write, ..over() });
    add_write(&mut record, with("rust", WriteEngine::Pwrite), 2.0);
    add_write(&mut record, with("dd", WriteEngine::Write), 4.0);
    // A different sync, a different allocation, and reads are not comparable.
    add_write(&mut record, write_case(WriteWork { sync: Sync::Fsync, ..over() }), 1.0);
    let fresh = WriteWork { allocation: Allocation::None, ..over() };
    add_write(&mut record, write_case(fresh), 1.0);
    add_read(&mut record, work(Cache::Cold), 1.0);
    let head = |id: &str| id.split(" as-is").next().unwrap_or_default().to_string();
    let pair = |c: &Comparison| {
        let ratio = (c.ratio * 100.0).round() / 100.0;
        (head(&c.case), head(&c.base), ratio)
    };
    let found: Vec<_> = assess(&record).comparisons.iter().map(pair).collect();
    let expected = [("write write", "write pwrite", 2.0), ("dd write write", "write write", 0.25)];
    let expected = expected.map(|(case, base, ratio)| (case.to_string(), base.to_string(), ratio));
    assert_eq!(found, expected);
}

/// A row that only syncs has no throughput: its operation rates are compared.
#[test]
fn syncs_are_compared_by_operations() {
    let idle = || WriteWork { op: Op::Sync, ..over() };
    let mut record = record_of(idle());
    let peer = Case { peer: "zebra".to_string(), ..write_case(idle()) };
    add_write(&mut record, peer, 2.0);
    let comparisons = assess(&record).comparisons;
    assert_eq!(comparisons.len(), 1);
    assert!((comparisons[0].ratio - 0.5).abs() < 1e-6, "{comparisons:?}");
}

#[test]
fn host_cache_by_writes_that_are_faster_than_reads() {
    let of = |write: WriteWork, read: ReadWork, slowness: f64| {
        let mut record = record_of(write);
        add_read(&mut record, read, slowness);
        found(&assess(&record).cases[0])
    };
    let reads = || work(Cache::Direct);
    assert_eq!(of(direct(), reads(), 2.1), ["HostCache doubt"]);
    assert_eq!(of(direct(), reads(), 1.9), [""; 0]);
    let bare = WriteWork { io: Io { cache: Cache::Direct, ..unsynced().io }, ..unsynced() };
    assert_eq!(of(bare, reads(), 2.1), ["HostCache doubt", "AcknowledgedOnly note"]);
    // Reads of another shape, or through the page cache, say nothing.
    for read in [
        ReadWork { io: Io { block: 4096, ..reads().io }, ..reads() },
        ReadWork { io: Io { pattern: Pattern::Random, ..reads().io }, ..reads() },
        ReadWork { io: Io { depth: 4, ..reads().io }, engine: Engine::Uring, ..reads() },
        ReadWork { io: Io { cache: Cache::Cold, ..reads().io }, ..reads() },
    ] {
        assert_eq!(of(direct(), read, 9.0), [""; 0]);
    }
    assert_eq!(of(over(), reads(), 9.0), [""; 0]);
    // The fastest reads with the same access pattern count.
    let mut record = record_of(direct());
    add_read(&mut record, reads(), 9.0);
    add_read(&mut record, ReadWork { engine: Engine::Uring, ..reads() }, 1.5);
    assert_eq!(found(&assess(&record).cases[0]), [""; 0]);
    // Without six common rounds there is no interval.
    let mut record = record_of(direct());
    add_read(&mut record, reads(), 9.0);
    record.trials.retain(|trial| trial.case == 0 || trial.round < 5);
    assert_eq!(found(&assess(&record).cases[0]), [""; 0]);
}

#[test]
fn host_cache_by_syncs_that_take_no_time() {
    let of = |work: WriteWork, sync_ns: u64, plant: &dyn Fn(&mut Record)| {
        let mut record = record_of(work);
        each(&mut record, |trial| sample(trial).syncs.counts = vec![(sync_ns, 257)]);
        plant(&mut record);
        found(&assess(&record).cases[0])
    };
    let nothing = |_: &mut Record| {};
    assert_eq!(of(synced_often(), 19_000, &nothing), ["HostCache doubt"]);
    assert_eq!(of(synced_often(), 21_000, &nothing), [""; 0]);
    // Clean data, or flushes shared by threads, take no time.
    let idle = WriteWork { op: Op::Sync, ..over() };
    assert_eq!(of(idle, 1_000, &nothing), [""; 0]);
    let shared = |count| move |r: &mut Record| evidence(r, |e| e.device_flushes = Some(count));
    let threads = WriteWork { io: Io { threads: 4, ..synced_often().io }, ..synced_often() };
    assert_eq!(of(threads, 1_000, &shared(231)), [""; 0]);
    assert_eq!(of(threads, 1_000, &shared(232)), ["HostCache doubt"]);
    // Without flushes, another rule reports the fault.
    let no_counter = |r: &mut Record| evidence(r, |e| e.device_flushes = None);
    assert_eq!(of(synced_often(), 1_000, &no_counter), ["CountersUnseen doubt"]);
    let in_memory = |r: &mut Record| {
        r.header.storage.as_mut().expect("the zoo has a storage").medium = Medium::Ram;
    };
    assert_eq!(of(synced_often(), 1_000, &in_memory), ["Ram doubt", "NotDurable doubt"]);
    let ranged = WriteWork { sync: Sync::FileRange, ..synced_often() };
    assert_eq!(of(ranged, 1_000, &nothing), ["AcknowledgedOnly note"]);
}

#[test]
fn host_cache_by_syncs_that_write_faster_than_the_device_reads() {
    // The device reads 1 GiB/s; `sync_ms` is the time of all syncs of a trial, and the last sync
    // takes a part of it.
    let of = |work: WriteWork, sync_ms: u64, read: ReadWork, plant: &dyn Fn(&mut Record)| {
        let mut record = record_of(work);
        each(&mut record, |trial| {
            let span = &mut sample(trial).spans[0];
            span.sync_ns = sync_ms * MS;
            span.synced_ns = Some(span.end_ns + 250 * MS);
        });
        add_read(&mut record, read, 1.0);
        plant(&mut record);
        found(&assess(&record).cases[0])
    };
    let (nothing, cold) = (|_: &mut Record| {}, || work(Cache::Cold));
    let often = || WriteWork { every: 128, ..over() };
    assert_eq!(of(often(), 220, cold(), &nothing), ["HostCache doubt"]);
    assert_eq!(of(often(), 280, cold(), &nothing), [""; 0]);
    // One I/O in flight does not show the device's maximum; many do.
    let direct =
        |block: u64| ReadWork { io: Io { block, ..work(Cache::Direct).io }, ..work(Cache::Direct) };
    assert_eq!(of(often(), 100, direct(65_536), &nothing), [""; 0]);
    assert_eq!(of(often(), 220, direct(1 << 20), &nothing), ["HostCache doubt"]);
    // The OS may have started writeback at its dirty limit, or a single sync comes too late.
    let low = |r: &mut Record| evidence(r, |e| e.dirty_limit = Some(511 << 20));
    assert_eq!(of(often(), 100, cold(), &low), [""; 0]);
    let unknown = |r: &mut Record| evidence(r, |e| e.dirty_limit = None);
    assert_eq!(of(often(), 100, cold(), &unknown), [""; 0]);
    assert_eq!(of(over(), 100, cold(), &nothing), [""; 0]);
    // A program that does not report its sync times is not judged.
    assert_eq!(of(often(), 0, cold(), &nothing), [""; 0]);
}
