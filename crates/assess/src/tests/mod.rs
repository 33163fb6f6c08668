//! Tests that plant a flaw in a whole record and check the findings.

mod bounded_commands;
mod ceilings;
mod changes;
mod commands;
mod control;
mod counting;
mod course;
mod decisions;
mod denied;
mod depths;
mod engines;
mod environment;
mod fit;
mod fleet;
mod gate;
mod interference;
mod limits;
mod links;
mod loaded_latency;
mod memory;
mod mixed;
mod names;
pub(crate) mod noise;
mod open_loop;
mod path;
mod platform;
mod load;
mod idle;
mod rounds;
mod records;
mod rules;
mod run;
mod running;
mod served_commands;
mod sharing;
mod stalls;
mod steady;
mod strategies;
mod together;
mod writing;
mod writing_among;

use crate::{Assessment, assess};
use model::case::{
    Cache, Case, Engine, Io, Isa, Kernel, MemoryWork, Pages, ReadWork, STEP, Touch, Work,
};
use model::evidence::{Evidence, Probe, Residency};
use model::plan::{Planned, Role};
use model::record::Record;
use model::sample::{Latencies, Sample, Span};
use model::trial::{Outcome, Trial};
use model::zoo;
use std::time::Duration;

const FILE: u64 = 1 << 30;
const PAGES: u64 = FILE / 4096;
/// Four times the last-level cache of the zoo: the smallest array that counts as memory.
const ARRAYS: u64 = 128 << 20;

/// The work of the zoo's record with this cache state.
fn work(cache: Cache) -> ReadWork {
    ReadWork { io: Io { cache, size: FILE, block: 1 << 20, ..zoo::plain().io }, ..zoo::plain() }
}

/// Ten flawless rounds of a file work: its bytes come from the source it claims.
fn flawless(work: ReadWork) -> Record {
    let cache = work.io.cache;
    let mut record = zoo::record_of(work, 10);
    each(&mut record, |trial| {
        let evidence = &mut trial.evidence;
        match cache {
            Cache::Cold => {}
            Cache::Direct | Cache::DontCache => {
                evidence.residency_after = evidence.residency_before
            }
            Cache::Warm | Cache::AsIs => {
                evidence.residency_before = residency(PAGES);
                evidence.task_read_bytes = Some(0);
                evidence.device_read_bytes = Some(0);
            }
        }
    });
    record
}

/// Ten flawless rounds of reading memory with one thread.
fn memory() -> Record {
    let mut record = flawless(work(Cache::Warm));
    record.header.plan.cases[0].case = memory_case(Kernel::Read, 1);
    evidence(&mut record, |evidence| evidence.huge_bytes = Some(ARRAYS));
    record
}

fn memory_case(kernel: Kernel, threads: u32) -> Case {
    let (isa, pages, time) = (Isa::Avx2, Pages::Huge, Duration::from_millis(200));
    let working_set = ARRAYS;
    Case::own(Work::Memory(MemoryWork {
        kernel,
        isa,
        working_set,
        pages,
        step: STEP,
        threads,
        time,
    }))
}

fn file_case(work: ReadWork) -> Case {
    Case::own(Work::Read(work))
}

/// The null engine, as a run uses it to measure the tool's own overhead.
fn null_case() -> Case {
    file_case(null_work())
}

fn null_work() -> ReadWork {
    let plain = work(Cache::AsIs);
    ReadWork {
        io: Io { block: 4096, ..plain.io },
        engine: Engine::Null,
        touch: Touch::None,
        ..plain
    }
}

fn residency(cached: u64) -> Option<Residency> {
    Some(Residency { probe: Probe::Cachestat, pages: PAGES, cached, dirty: Some(0) })
}

fn each(record: &mut Record, change: impl FnMut(&mut Trial)) {
    record.trials.iter_mut().for_each(change);
}

fn evidence(record: &mut Record, mut change: impl FnMut(&mut Evidence)) {
    each(record, |trial| change(&mut trial.evidence));
}

fn sample(trial: &mut Trial) -> &mut Sample {
    match &mut trial.outcome {
        Outcome::Done(sample) => sample,
        other => panic!("a trial of the zoo is done, not {other:?}"),
    }
}

/// Sets the length of every trial.
fn last_ns(record: &mut Record, elapsed_ns: u64) {
    each(record, |trial| {
        for span in &mut sample(trial).spans {
            span.end_ns = span.start_ns + elapsed_ns;
        }
    });
}

/// Adds ten rounds of a case. Each takes `slowness` times the record's own round, moves `bytes` in
/// `ops` operations with one thread, and reads `device_bytes` from the device.
fn add(record: &mut Record, case: Case, role: Role, bytes: u64, slowness: f64, device_bytes: u64) {
    let index = record.header.plan.cases.len();
    let threads = case.threads();
    let block = case.read().map_or(64, |work| work.io.block);
    let cached = |now| case.read().map(|_| now).and_then(residency);
    let served_by_cache = device_bytes == 0;
    let trials: Vec<Trial> = (0..10)
        .map(|round| {
            let elapsed_ns = (base_ns(round) as f64 * slowness) as u64;
            let span = |thread| Span {
                thread,
                start_ns: 3,
                end_ns: 3 + elapsed_ns,
                bytes: bytes / u64::from(threads),
                ops: bytes / block / u64::from(threads),
                ..Span::default()
            };
            let spans = (0..threads).map(span).collect();
            let latencies = Latencies { counts: vec![(1_000, bytes / block)], max_ns: 1_000 };
            let outcome =
                Outcome::Done(Sample { setup_ns: 1, spans, latencies, ..Sample::default() });
            let now = if served_by_cache { PAGES } else { 0 };
            let evidence = Evidence {
                window_ns: elapsed_ns,
                residency_before: cached(now),
                residency_after: cached(now),
                task_read_bytes: Some(device_bytes),
                device_read_bytes: Some(device_bytes),
                cpu_ns: Some(elapsed_ns / 10),
                ..Evidence::default()
            };
            let (at_ms, expected_digest) = (0, None);
            let read_back = None;
            Trial {
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
            }
        })
        .collect();
    record.header.plan.cases.push(Planned { case, role });
    record.trials.extend(trials);
}

/// The time of a round, with a drift that all cases share.
fn base_ns(round: u32) -> u64 {
    1_000_000_000 + 10_000_000 * u64::from(round * 3 % 10)
}

/// Adds trials that load a file for nine tenths of their time and count its `times` GiB.
fn load(record: &mut Record, work: ReadWork, times: u64, device_bytes: u64) {
    let index = record.header.plan.cases.len();
    add(record, file_case(work), Role::Asked, times * FILE, 1.0, device_bytes);
    for trial in record.trials.iter_mut().filter(|trial| trial.case == index) {
        for span in &mut sample(trial).spans {
            span.load_ns = (span.end_ns - span.start_ns) / 10 * 9;
        }
    }
}

/// The verdict, the source and the findings of the record's first case: `void mixed: CacheLeak
/// void`.
fn judge(record: &Record) -> String {
    let case = &assess(record).cases[0];
    let served_by = case.served_by.map_or("none", |served_by| served_by.name());
    let found: Vec<String> =
        case.findings.iter().map(|f| format!("{} {}", f.code, f.severity)).collect();
    format!("{} {served_by}: {}", case.verdict, found.join(", ")).trim_end().to_string()
}

/// Plants a flaw in a record and checks the findings on its first case.
fn check(mut record: Record, plant: impl FnOnce(&mut Record), expected: &str) {
    plant(&mut record);
    let found = judge(&record);
    assert_eq!(found, expected, "{:#?}", assess(&record).cases[0].findings);
}

/// The summary of the case with this id.
fn case<'a>(assessment: &'a Assessment, id: &str) -> &'a crate::summary::Summary {
    let ids: Vec<&String> = assessment.cases.iter().map(|case| &case.id).collect();
    let found = assessment.cases.iter().find(|case| case.id.starts_with(id));
    found.unwrap_or_else(|| panic!("there is no case '{id}' among {ids:#?}"))
}
