//! The closing answers of a run that writes or touches pages.

use super::{flawless, work};
use crate::assess;
use crate::conclusions::durability::WritingAnswer;
use crate::conclusions::touches::{Phase, Touching};
use crate::decision::Lead;
use crate::finding::Verdict;
use model::case::{
    Allocation, Cache, Case, Engine, Fill, Io, Isa, Kernel, MemoryWork, Op, Pages, STEP,
};
use model::case::{ReadWork, Sync, Touch, Work, WriteEngine, WriteWork};
use model::evidence::Evidence;
use model::pattern::Pattern;
use model::plan::{Planned, Role};
use model::record::Record;
use model::sample::{Latencies, Sample, Span};
use model::trial::{Outcome, Trial};
use model::zoo;
use std::time::Duration;

const FILE: u64 = 256 << 20;
const SECOND: u64 = 1_000_000_000;

/// A record without a case.
fn empty() -> Record {
    let mut record = flawless(work(Cache::Direct));
    record.header.plan.cases.clear();
    record.trials.clear();
    record
}

/// Adds seven rounds of a case. The last operation returns after `end_ns` and the last sync after
/// `synced_ns`; all cases share a drift of a tenth.
fn add(record: &mut Record, case: Case, ops: u64, end_ns: u64, synced_ns: Option<u64>) {
    let index = record.header.plan.cases.len();
    let bytes = match &case.work {
        Work::Memory(_) => 64 * ops,
        Work::Metadata(_) | Work::Command(_) => ops,
        Work::Read(ReadWork { io: Io { block, .. }, .. })
        | Work::Write(WriteWork { io: Io { block, .. }, .. }) => block * ops,
    };
    let device_bytes = case.read().map(|_| 0).or(Some(bytes));
    for round in 0..7 {
        let drift = |ns: u64| ns + ns / 60 * u64::from(round);
        let span = Span {
            end_ns: drift(end_ns),
            synced_ns: synced_ns.map(drift),
            bytes,
            ops,
            ..Span::default()
        };
        let spans = vec![span];
        let latencies = Latencies { counts: vec![(1_000, ops)], max_ns: 1_000 };
        let outcome = Outcome::Done(Sample { spans, latencies, ..Sample::default() });
        let evidence = Evidence {
            device_flushes: Some(ops + 1),
            device_writes: Some(ops),
            device_write_bytes: device_bytes,
            task_write_bytes: device_bytes,
            ..Evidence::default()
        };
        let (at_ms, expected_digest, read_back) = (0, None, None);
        let trial = Trial {
            case: index,
            invocation: 0,
            round,
            at_ms,
            outcome,
            evidence,
            expected_digest,
            read_back,
            beside: Vec::new(),
            clock: None,
        };
        record.trials.push(trial);
    }
    record.header.plan.cases.push(Planned { case, role: Role::Asked });
}

/// Adds a case that writes everything.
fn write(record: &mut Record, work: WriteWork, end_ns: u64, synced_ns: Option<u64>) {
    let ops = if work.io.ops > 0 { work.io.ops } else { work.io.blocks() };
    add(record, Case::own(Work::Write(work)), ops, end_ns, synced_ns);
}

fn whole(sync: Sync) -> WriteWork {
    WriteWork {
        io: Io { size: FILE, block: 1 << 20, ..zoo::plain_write().io },
        sync,
        ..zoo::plain_write()
    }
}

fn answer(record: &Record) -> Option<WritingAnswer> {
    assess(record).conclusions.durability
}

/// The id of the best case, and its rate in files per second.
fn rated(lead: &Option<Lead>) -> Option<(&str, f64)> {
    let rated = lead.as_ref()?.best();
    Some((rated.row.id.as_str(), rated.rate.max / FILE as f64))
}

fn near(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-6, "{found} is not {expected}");
}

/// Checks the fastest acknowledged and durable rates, in files per second, and the cost of
/// durability.
fn check(
    record: &Record,
    acknowledged: Option<(&WriteWork, f64)>,
    durable: Option<(&WriteWork, f64)>,
    cost: Option<f64>,
) {
    let answer = answer(record).expect("the record writes");
    for (found, expected) in [(&answer.acknowledged, acknowledged), (&answer.durable, durable)] {
        let id = expected.map(|(work, _)| Case::own(Work::Write(*work)).id());
        let found = rated(found);
        assert_eq!(found.map(|(id, _)| id), id.as_deref());
        if let Some(((_, found), (_, expected))) = found.zip(expected) {
            near(found, expected);
        }
    }
    assert_eq!(answer.cost.is_some(), cost.is_some(), "{:?}", answer.cost);
    if let Some((found, expected)) = answer.cost.zip(cost) {
        let ratio = found.ratio();
        near(ratio.median, expected);
        assert_eq!((ratio.pairs, ratio.low.is_some()), (7, true));
    }
}

#[test]
fn accepted_and_durable_are_told_apart() {
    let mut record = empty();
    let (none, end) = (whole(Sync::None), whole(Sync::Fdatasync));
    write(&mut record, none, SECOND / 5, None);
    check(&record, Some((&none, 5.0)), None, None);
    // The fastest row has no durable rate, so another row's is compared with it.
    write(&mut record, end, SECOND / 4, Some(SECOND));
    let slow = WriteWork { engine: WriteEngine::Write, ..end };
    write(&mut record, slow, SECOND / 4, Some(2 * SECOND));
    check(&record, Some((&none, 5.0)), Some((&end, 1.0)), Some(0.2));
}

/// An immediately durable row is the fastest durable one, and its own cost is zero. The question is
/// what durability costs the fastest acknowledged row.
#[test]
fn durability_is_paid_by_what_is_accepted_fastest() {
    let mut record = empty();
    let dsync = WriteWork {
        io: Io { cache: Cache::Direct, ..whole(Sync::Dsync).io },
        ..whole(Sync::Dsync)
    };
    write(&mut record, dsync, SECOND / 2, Some(SECOND / 2));
    check(&record, Some((&dsync, 2.0)), Some((&dsync, 2.0)), Some(1.0));
    let end = whole(Sync::Fdatasync);
    write(&mut record, end, SECOND / 10, Some(SECOND));
    check(&record, Some((&end, 10.0)), Some((&dsync, 2.0)), Some(0.1));
    let other = WriteWork { engine: WriteEngine::Write, ..whole(Sync::None) };
    write(&mut record, other, SECOND / 20, None);
    check(&record, Some((&other, 20.0)), Some((&dsync, 2.0)), Some(0.1));
}

#[test]
fn a_doubt_on_the_fastest_is_told() {
    let mut record = empty();
    write(&mut record, whole(Sync::Fdatasync), SECOND / 4, Some(SECOND));
    let verdicts = |record: &Record| {
        let answer = answer(record).expect("the record writes");
        [answer.acknowledged, answer.durable]
            .map(|lead| lead.expect("there is one").best().row.verdict)
    };
    assert_eq!(verdicts(&record), [Verdict::Sound; 2]);
    record.trials.iter_mut().for_each(|trial| trial.evidence.dirty_before = Some(1 << 30));
    assert_eq!(verdicts(&record), [Verdict::Doubtful; 2]);
}

#[test]
fn some_rows_do_not_compete() {
    let mut record = empty();
    let end = whole(Sync::Fdatasync);
    let zero = WriteWork { fill: Fill::Zero, ..end };
    write(&mut record, zero, SECOND / 100, Some(SECOND / 50));
    // Without other rows, it is the answer.
    check(&record, Some((&zero, 100.0)), Some((&zero, 50.0)), Some(0.5));
    write(&mut record, end, SECOND / 4, Some(SECOND));
    let fast = Some(SECOND / 50);
    write(&mut record, WriteWork { op: Op::Copy, ..end }, SECOND / 100, fast);
    let mut peer = Case::own(Work::Write(end));
    peer.peer = "zebra".to_string();
    add(&mut record, peer, 256, SECOND / 100, fast);
    let null = WriteWork { engine: WriteEngine::Null, ..whole(Sync::None) };
    write(&mut record, null, SECOND / 100, None);
    // Writing one byte of each page is faster than writing all bytes.
    let touch = WriteWork { io: Io { size: 1 << 40, ..touching_write().io }, ..touching_write() };
    write(
        &mut record,
        WriteWork { io: Io { ops: 1 << 28, ..touch.io }, ..touch },
        SECOND / 100,
        fast,
    );
    let control = WriteWork { io: Io { block: 2 << 20, ..end.io }, ..end };
    write(&mut record, control, SECOND / 100, fast);
    record.header.plan.cases.last_mut().expect("it was just added").role = Role::Baseline;
    check(&record, Some((&end, 4.0)), Some((&end, 1.0)), Some(0.25));
}

/// Copies compete with each other, and not with writes.
#[test]
fn what_only_copies_has_an_answer() {
    let mut record = empty();
    let copy = WriteWork { op: Op::Copy, ..whole(Sync::Fdatasync) };
    write(&mut record, copy, SECOND / 4, Some(SECOND));
    check(&record, Some((&copy, 4.0)), Some((&copy, 1.0)), Some(0.25));
    let end = whole(Sync::Fdatasync);
    write(&mut record, end, SECOND, Some(2 * SECOND));
    check(&record, Some((&end, 1.0)), Some((&end, 0.5)), Some(0.5));
}

#[test]
fn what_writes_nothing_has_no_answer() {
    assert_eq!(answer(&flawless(work(Cache::Direct))), None);
    let mut record = empty();
    write(&mut record, touching_write(), SECOND, None);
    assert_eq!(answer(&record), None);
    // A failed row has an empty answer.
    let mut record = empty();
    write(&mut record, whole(Sync::None), SECOND, None);
    record.trials.clear();
    check(&record, None, None, None);
}

const PAGES: u64 = FILE / 4096;

fn touching_write() -> WriteWork {
    WriteWork {
        io: Io {
            pattern: Pattern::Strided,
            stride: 4096,
            block: 1,
            size: FILE,
            ops: PAGES,
            ..zoo::plain_write().io
        },
        engine: WriteEngine::Mmap,
        allocation: Allocation::Overwrite,
        sync: Sync::None,
        ..zoo::plain_write()
    }
}

fn touching_read(engine: Engine) -> ReadWork {
    let (pattern, stride, block, ops) = (Pattern::Strided, 4096, 1, PAGES);
    let plain = ReadWork {
        io: Io { pattern, stride, block, ops, ..zoo::plain().io },
        engine,
        ..zoo::plain()
    };
    ReadWork { io: Io { size: FILE, ..plain.io }, ..plain }
}

/// Touches as many pages in memory as the file has.
fn in_memory(record: &mut Record, kernel: Kernel, pages: Pages, threads: u32, ns: u64) {
    let time = Duration::from_secs(1);
    let (isa, working_set) = (Isa::Scalar, FILE);
    let work = MemoryWork { kernel, isa, working_set, pages, step: STEP, threads, time };
    add(record, Case::own(Work::Memory(work)), PAGES, ns, None);
}

fn touchings(record: &Record) -> Vec<Touching> {
    assess(record).conclusions.touches
}

/// Checks the baseline of the only touching row, and its speedup.
fn check_touching(record: &Record, phase: Phase, memory: &str, ratio: f64) {
    let found = touchings(record);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!((found[0].phase, found[0].memory.id.as_str()), (phase, memory));
    near(found[0].ratio.median, ratio);
    assert_eq!((found[0].ratio.pairs, found[0].ratio.low.is_some()), (7, true));
}

#[test]
fn a_page_of_a_file_is_held_against_one_of_memory() {
    let mut record = empty();
    in_memory(&mut record, Kernel::FirstTouch, Pages::Base, 1, SECOND / 2);
    write(&mut record, touching_write(), SECOND, None);
    // The first touch is mostly OS work, so it is no baseline.
    assert_eq!(touchings(&record), []);
    in_memory(&mut record, Kernel::TouchPages, Pages::Huge, 1, SECOND / 20);
    let [huge, base] =
        ["", " pages:base"].map(|p| format!("memory touch-pages scalar 256MiB{p} t1"));
    check_touching(&record, Phase::Write, &huge, 20.0);
    in_memory(&mut record, Kernel::TouchPages, Pages::Base, 4, SECOND / 40);
    in_memory(&mut record, Kernel::TouchPages, Pages::Base, 1, SECOND / 10);
    in_memory(&mut record, Kernel::ReadPages, Pages::Base, 1, SECOND / 30);
    check_touching(&record, Phase::Write, &base, 10.0);
}

#[test]
fn reads_are_held_against_reads() {
    let read = |work: ReadWork| {
        let mut record = empty();
        in_memory(&mut record, Kernel::TouchPages, Pages::Base, 1, SECOND / 10);
        in_memory(&mut record, Kernel::ReadPages, Pages::Base, 2, SECOND / 30);
        let ops = PAGES;
        add(&mut record, Case::own(Work::Read(work)), ops, SECOND, None);
        record
    };
    let memory = "memory read-pages scalar 256MiB pages:base t2";
    let page = ReadWork {
        io: Io { block: 4096, ops: 0, ..touching_read(Engine::Mmap).io },
        touch: Touch::Page,
        ..touching_read(Engine::Mmap)
    };
    let sequential = ReadWork { io: Io { pattern: Pattern::Sequential, ..page.io }, ..page };
    let byte = touching_read(Engine::Buffered);
    for work in [touching_read(Engine::Mmap), byte, page, sequential] {
        check_touching(&read(work), Phase::Read, memory, 30.0);
    }
    for work in [
        ReadWork { io: Io { ops: 0, ..byte.io }, ..byte },
        ReadWork { io: Io { ops: PAGES + 1, ..byte.io }, ..byte },
        ReadWork { io: Io { stride: 64, ..byte.io }, ..byte },
        ReadWork { io: Io { block: 64, ..byte.io }, ..byte },
        ReadWork { touch: Touch::Sum, ..page },
        ReadWork { engine: Engine::Pread, ..page },
    ] {
        let id = Case::own(Work::Read(work)).id();
        assert_eq!(touchings(&read(work)), [], "{id}");
    }
}
