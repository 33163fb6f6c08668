//! Assessments of writing, of touching pages and of syncs, made by hand.

use super::build::*;
use assess::Assessment;
use assess::comparison::{Comparison, Difference};
use assess::conclusions::durability::WritingAnswer;
use assess::conclusions::touches::{Phase, Touching};
use assess::course::{Change, TimeSeries};
use assess::decision::{Lead, Named};
use assess::finding::{Code, Finding, Severity};
use assess::ratio::Ratio;
use assess::stats::Estimate;
use assess::summary::{Latency, ServedBy, Spent, Summary};
use assess::writing::Writing;
use model::case::{Allocation, Cache, Case, Engine, Fill, Io, Kernel, MemoryWork, Op, ReadWork};
use model::case::{Pages, Sync, Touch, Work, WriteEngine, WriteWork};
use model::host::{Affinity, Device};
use model::layer::{Amplification, Counts, Layer};
use model::path::WriteCache;
use model::pattern::Pattern;
use model::plan::{Role, Skip};
use model::record::End;
use model::zoo;
use std::time::Duration;

/// A new file of 1 GiB, written in blocks of 1 MiB.
fn work() -> WriteWork {
    WriteWork {
        io: Io { size: 1 << 30, block: 1 << 20, ..zoo::plain_write().io },
        engine: WriteEngine::Write,
        ..zoo::plain_write()
    }
}

/// A case that acknowledged `acknowledged` bytes a second, and was durable at `durable`, if at all.
fn written(work: WriteWork, acknowledged: f64, durable: Option<f64>) -> Summary {
    let is_direct = work.io.cache == Cache::Direct;
    let served_by =
        if durable.is_some() || is_direct { ServedBy::Device } else { ServedBy::PageCache };
    let rate = durable.unwrap_or(acknowledged);
    let syncs = if work.sync.is_call() { syncs(&work) } else { 0 };
    let base = measured(
        ReadWork { io: Io { block: work.io.block, ..zoo::plain().io }, ..zoo::plain() },
        served_by,
        rate,
    );
    let writing = Writing {
        acknowledged: Some(estimate(acknowledged)),
        durable: durable.map(estimate),
        sync: latency(1.2e6, syncs * 10),
        syncs_per_trial: work.sync.is_call().then_some(syncs),
        flushes_per_trial: Some(if work.sync == Sync::FileRange { 0 } else { syncs + syncs / 50 }),
        device_write_bytes: Some(1 << 30),
        dirty_left: Some(if served_by == ServedBy::PageCache { 1 << 30 } else { 0 }),
        read_back: Some(true),
        read_back_past_cache: Some(true),
    };
    let writing =
        if syncs == 0 { Writing { sync: Latency::default(), ..writing } } else { writing };
    let case = Case::own(Work::Write(work));
    Summary {
        id: case.id(),
        case,
        hit_share: None,
        hit_share_most: None,
        cacheable_share: None,
        writing: Some(Box::new(writing)),
        course: Some(course(acknowledged)),
        spent: Some(spent()),
        digest_verified: None,
        ceiling: None,
        ..base
    }
}

fn syncs(work: &WriteWork) -> u64 {
    match work.every {
        0 => 1,
        every => work.io.blocks().min(5_000) / every,
    }
}

fn course(rate: f64) -> TimeSeries {
    let rates = [1.02, 0.99, 1.0, 0.97, 1.01, 1.0, 0.31, 1.03].map(|share| share * rate).to_vec();
    let (snia, is_steady) = (Some(Some(4)), None);
    TimeSeries { step_ns: 100_000_000, rates, snia, is_steady, sustained: None, change: None }
}

fn spent() -> Spent {
    Spent {
        wall_ns: 1.9e9,
        user_ns: Some(0.12e9),
        system_ns: Some(1.31e9),
        processors: 0.753,
        blocked_share: Some(0.229),
        helped_share: None,
    }
}

fn not_durable() -> Finding {
    finding(
        Code::NotDurable,
        Severity::Void,
        "claimed durable by 'fsync', but the devices completed 0 flushes where there were 1 syncs \
         a trial (too few in 10 of 10 trials): a power cut loses what their caches hold",
        "see that the file system is not mounted with 'nobarrier'",
    )
}

/// The ways to write of the recipe.
fn ways() -> Vec<Summary> {
    let direct = WriteWork { io: Io { cache: Cache::Direct, ..work().io }, ..work() };
    let copy = |engine| WriteWork {
        io: Io { cache: Cache::Cold, block: 8 << 20, ..work().io },
        op: Op::Copy,
        engine,
        ..work()
    };
    let at_once = |sync| WriteWork { io: Io { block: 64 << 20, ..work().io }, sync, ..work() };
    let chunk = |engine, block| WriteWork { io: Io { block, ..work().io }, engine, ..work() };
    let zeros = WriteWork { fill: Fill::Zero, ..work() };
    let mut all = vec![
        written(at_once(Sync::None), 2.41e9, None),
        written(at_once(Sync::Fdatasync), 2.38e9, Some(612e6)),
        written(at_once(Sync::Fsync), 2.37e9, Some(598e6)),
        written(zeros, 2.5e9, Some(630e6)),
    ];
    for (engine, slow) in [(WriteEngine::Buffered, 0.9), (WriteEngine::Write, 1.0)] {
        for (block, gain) in [(4096, 0.41), (1 << 20, 0.97)] {
            all.push(written(chunk(engine, block), 2.4e9 * slow * gain, Some(601e6)));
        }
    }
    all.extend([
        written(WriteWork { sync: Sync::Dsync, ..work() }, 402e6, Some(402e6)),
        written(WriteWork { every: 8, ..work() }, 511e6, Some(509e6)),
        written(WriteWork { sync: Sync::FileRange, every: 8, ..work() }, 640e6, None),
        written(direct, 570e6, Some(566e6)),
        written(
            WriteWork { io: Io { depth: 8, ..direct.io }, engine: WriteEngine::Uring, ..direct },
            641e6,
            Some(633e6),
        ),
        written(WriteWork { allocation: Allocation::Fallocate, ..work() }, 2.39e9, Some(605e6)),
        written(WriteWork { allocation: Allocation::Overwrite, ..work() }, 2.39e9, Some(640e6)),
        written(
            WriteWork { io: Io { block: 8 << 20, ..work().io }, fill: Fill::Constant, ..work() },
            2.5e9,
            Some(629e6),
        ),
        written(copy(WriteEngine::Write), 1.1e9, Some(480e6)),
        written(copy(WriteEngine::CopyFileRange), 1.3e9, Some(497e6)),
    ]);
    let dd = written(zeros, 2.5e9, Some(622e6));
    let case = Case { peer: "dd".to_string(), ..dd.case.clone() };
    let timed_as_a_whole =
        Writing { acknowledged: None, ..*dd.writing.clone().expect("it writes") };
    all.push(Summary {
        id: case.id(),
        case,
        writing: Some(Box::new(timed_as_a_whole)),
        course: None,
        ..dd
    });
    all
}

fn null_write() -> Summary {
    let work = WriteWork {
        io: Io { block: 4096, ..work().io },
        engine: WriteEngine::Null,
        sync: Sync::None,
        allocation: Allocation::Overwrite,
        ..work()
    };
    let summary = written(work, 90e9, None);
    let ns_per_op = Some(estimate(41.0));
    Summary { role: Role::Baseline, ns_per_op, writing: None, course: None, ..summary }
}

fn leads(
    best: &Summary,
    of: fn(&Writing) -> Option<Estimate>,
    others: &[(&Summary, f64)],
) -> Option<Lead> {
    Some(lead(of(best.writing.as_ref()?)?, best, others))
}

fn virtual_disk(assessment: &mut Assessment) {
    let storage = assessment.header.storage.as_mut().expect("the zoo has storage");
    storage.devices = vec![Device {
        name: "vda".into(),
        is_virtual: true,
        read_ahead: Some(4096),
        write_cache: Some(WriteCache::Back),
        fua: Some(true),
        ..Device::default()
    }];
    storage.layers = vec![Layer {
        nodes: vec!["vda".into()],
        reads: Amplification::ONE,
        writes: Amplification::SOME,
        counts: Counts { reads: Some(true), writes: Some(true), flushes: None },
    }];
    (storage.capacity, storage.free) = (Some(252 << 30), Some(49 << 30));
}

/// Ways to write to a virtual disk, one of them not durable, one with a step, one that failed.
pub(crate) fn strategies() -> Assessment {
    let mut cases = ways();
    cases[2] = Summary { writing: written(work(), 2.37e9, None).writing, ..cases[2].clone() };
    cases[2].writing.as_mut().expect("it writes").flushes_per_trial = Some(0);
    cases[2] = found(cases[2].clone(), &not_durable());
    let change = Change { before: 2.6e9, after: 610e6, at_bytes: 3 << 28, at_ns: 310_000_000 };
    cases[1].course.as_mut().expect("it has one").change = Some(change);
    let reason = "write '/data/zoo': no space left on device (ENOSPC) after 805306368 bytes";
    cases[12] = failed(&cases[12], reason, 10);
    cases[6] = found(cases[6].clone(), &steal());
    let reason = "copy_file_range: function not implemented (ENOSYS)";
    cases[16] = unavailable(&cases[16], reason, 10);
    let durable = [(&cases[1], 1.05), (&cases[3], 1.06), (&cases[9], 1.6)];
    let answer = WritingAnswer {
        acknowledged: leads(&cases[0], |writing| writing.acknowledged, &[(&cases[1], 1.01)]),
        durable: leads(&cases[14], |writing| writing.durable, &durable),
        cost: Some(differs([&cases[14], &cases[0]], 10, [0.268, 0.261, 0.273])),
    };
    cases.push(super::build::memory(Kernel::Read, 1, 27e9));
    cases.push(null_write());
    let mut assessment = assessment("write-strategies", cases);
    virtual_disk(&mut assessment);
    let mut source = zoo::storage();
    source.directory = "/source".into();
    assessment.header.source_storage = Some(source);
    assessment.conclusions.durability = Some(answer);
    let (own, dd) = (assessment.cases[3].id.clone(), assessment.cases[18].id.clone());
    assessment.comparisons = vec![Comparison {
        case: dd,
        base: own,
        pairs: 10,
        invocations: 1,
        ratio: 0.987,
        low: Some(0.981),
        high: Some(1.006),
        difference: Difference::Equivalent,
        interest: 0.05,
        needs: None,
    }];
    let skipped = WriteWork {
        io: Io { cache: Cache::Cold, ..work().io },
        engine: WriteEngine::Sendfile,
        op: Op::Copy,
        ..work()
    };
    assessment.skips = vec![Skip {
        case: Case::own(Work::Write(skipped)),
        reason: "its source cannot be evicted here".to_string(),
    }];
    assessment
}

/// Each case went on until its rate was steady; the run was stopped in the second.
pub(crate) fn sustained() -> Assessment {
    let mut cases: Vec<Summary> = ways().into_iter().take(3).collect();
    let steps = (0..70).map(|step| if step < 23 { 2.2e9 } else { 4.1e8 + f64::from(step) * 1e5 });
    cases[0].course = Some(TimeSeries {
        step_ns: 1_000_000_000,
        rates: steps.collect(),
        snia: Some(Some(27)),
        is_steady: Some(true),
        sustained: Some(413e6),
        change: Some(Change {
            before: 2.2e9,
            after: 413e6,
            at_bytes: 47 << 30,
            at_ns: 23_000_000_000,
        }),
    });
    let change = Change { before: 4.0e8, after: 9.0e8, at_bytes: 3 << 30, at_ns: 8_000_000_000 };
    let course = cases[1].course.as_mut().expect("it has one");
    *course = TimeSeries {
        is_steady: Some(false),
        snia: Some(None),
        change: Some(change),
        ..course.clone()
    };
    for summary in &mut cases[..2] {
        summary.n = 2;
        let writing = summary.writing.as_mut().expect("it writes");
        for rate in [&mut writing.acknowledged, &mut writing.durable].into_iter().flatten() {
            (rate.n, rate.low, rate.high) = (2, None, None);
        }
    }
    cases[2] = without_figures(&cases[2]);
    let mut assessment = assessment("write-strategies", cases);
    assessment.header.plan.sustain = Some(Duration::from_secs(120));
    assessment.end = End::Interrupted;
    assessment
}

/// A run of `recipe` of which every trial failed.
pub(crate) fn all_failed(recipe: &str, cases: &[Summary]) -> Assessment {
    let reason = "create a file in '/data': read-only file system (EROFS)";
    assessment(recipe, cases.iter().map(|summary| failed(summary, reason, 10)).collect())
}

fn pages_of(kernel: Kernel, rate: f64) -> Summary {
    let base = memory(kernel, 1, rate * 4096.0);
    let work = MemoryWork { pages: Pages::Base, ..*base.case.memory().expect("it is one") };
    let case = Case::own(Work::Memory(work));
    Summary {
        id: case.id(),
        case,
        iops: Some(estimate(rate)),
        ns_per_op: Some(estimate(1e9 / rate)),
        spent: Some(Spent { blocked_share: Some(0.0), processors: 0.998, ..spent() }),
        ..base
    }
}

fn touched(summary: Summary, rate: f64) -> Summary {
    Summary {
        iops: Some(estimate(rate)),
        ns_per_op: Some(estimate(0.98e9 / rate)),
        spent: Some(spent()),
        ..summary
    }
}

/// Touching pages of memory and of a file, in a control group of 2 GiB.
pub(crate) fn touching() -> Assessment {
    let write = |engine, cache| WriteWork {
        io: Io {
            cache,
            pattern: Pattern::Strided,
            stride: 4096,
            block: 1,
            ops: 65_536,
            ..work().io
        },
        engine,
        allocation: Allocation::Overwrite,
        ..work()
    };
    let read = |engine, cache| ReadWork {
        io: Io { stride: 4096, ops: 65_536, ..file(engine, cache, Pattern::Strided, 1).io },
        touch: Touch::Page,
        ..file(engine, cache, Pattern::Strided, 1)
    };
    let of_write =
        |engine, cache, rate| touched(written(write(engine, cache), rate, Some(rate)), rate);
    let of_read =
        |engine, cache, served, rate| touched(measured(read(engine, cache), served, rate), rate);
    let mut cases = vec![
        pages_of(Kernel::FirstTouch, 1.6e6),
        pages_of(Kernel::TouchPages, 41e6),
        pages_of(Kernel::ReadPages, 52e6),
        of_write(WriteEngine::Mmap, Cache::Warm, 310e3),
        of_write(WriteEngine::Pwrite, Cache::Warm, 190e3),
        of_write(WriteEngine::Buffered, Cache::Cold, 14e3),
        of_read(Engine::Mmap, Cache::Warm, ServedBy::PageCache, 9.1e6),
        of_read(Engine::Pread, Cache::Cold, ServedBy::Device, 21e3),
        of_read(Engine::Buffered, Cache::Cold, ServedBy::Mixed, 20e3),
    ];
    cases[8] = Summary {
        hit_share: Some(0.372),
        hit_share_most: Some(0.372),
        ..found(cases[8].clone(), &leak())
    };
    cases[5] = found(cases[5].clone(), &steal());
    cases[4].spent = Some(Spent { user_ns: None, blocked_share: None, ..spent() });
    let held = |phase, file: usize, memory: usize, median: f64, pairs| {
        let end = |share: f64| (pairs >= 6).then_some(median * share);
        let ratio = Ratio { pairs, invocations: 1, median, low: end(0.93), high: end(1.08) };
        let [file, memory] = [file, memory].map(|row: usize| Named::of(&cases[row]).unwrap());
        Touching { phase, file, memory, ratio }
    };
    let touching = vec![
        held(Phase::Write, 3, 1, 132.0, 10),
        held(Phase::Write, 5, 1, 2930.0, 10),
        held(Phase::Read, 6, 2, 5.71, 10),
        held(Phase::Read, 7, 2, 2476.0, 3),
    ];
    let ceiling = ReadWork {
        io: Io { depth: 8, ..file(Engine::Uring, Cache::Direct, Pattern::Sequential, 1 << 20).io },
        ..file(Engine::Uring, Cache::Direct, Pattern::Sequential, 1 << 20)
    };
    cases.push(Summary { role: Role::Baseline, ..measured(ceiling, ServedBy::Device, 1.65e9) });
    cases.push(null_write());
    let mut assessment = assessment("touch-pages", cases);
    assessment.conclusions.touches = touching;
    assessment.header.plan.memory_limit = Some(2 << 30);
    assessment.header.plan.bound = Affinity { pin: Some(vec![0, 2, 3]), node: Some(1) };
    assessment
}

/// Syncs after nothing, a page and many megabytes, and of a log.
pub(crate) fn syncs_of_a_disk() -> Assessment {
    let mut cases = Vec::new();
    for (sync, slow) in [(Sync::Fdatasync, 1.0), (Sync::Fsync, 1.4)] {
        let over = WriteWork { sync, allocation: Allocation::Overwrite, ..work() };
        let engine = WriteEngine::Pwrite;
        let nothing = WriteWork { op: Op::Sync, engine, ..over };
        let empty = written(nothing, 1e9, None);
        let writing =
            empty.writing.clone().map(|writing| Writing { acknowledged: None, ..*writing });
        let sync_only = Writing {
            sync: latency(140e3 * slow, 9_000),
            syncs_per_trial: Some(900),
            flushes_per_trial: Some(900),
            ..writing.expect("it was written")
        };
        cases.push(Summary {
            throughput: None,
            writing: Some(Box::new(sync_only)),
            course: None,
            ..empty
        });
        let page = WriteWork {
            io: Io { block: 4096, pattern: Pattern::Random, ..over.io },
            every: 1,
            ..over
        };
        cases.push(written(page, 4.1e6 / slow, Some(4.1e6 / slow)));
        for every in [1, 16, 128] {
            cases.push(written(WriteWork { every, ..over }, 640e6, Some(580e6 / slow)));
        }
        let log = WriteWork {
            io: Io { block: 4096, ..over.io },
            every: 1,
            allocation: Allocation::Append,
            ..over
        };
        cases.push(written(log, 2.9e6 / slow, Some(2.9e6 / slow)));
    }
    let dsync = WriteWork {
        io: Io { block: 4096, cache: Cache::Direct, ..work().io },
        sync: Sync::Dsync,
        ..work()
    };
    cases.push(written(dsync, 4.4e6, Some(4.4e6)));
    let host_cache = finding(
        Code::HostCache,
        Severity::Doubt,
        "a sync after 128 MiB took 5.10 ms: the device would have had to write 25 GB/s",
        "measure on the host to know the disk",
    );
    cases[4] = found(cases[4].clone(), &host_cache);
    let mut unflushed = not_durable();
    unflushed.message = "claimed durable by 'fsync', but nothing was flushed".to_string();
    cases[11] = Summary { writing: written(work(), 2.9e6, None).writing, ..cases[11].clone() };
    cases[11] = found(cases[11].clone(), &unflushed);
    cases[10] = failed(&cases[10], "write '/data/zoo': input/output error (EIO)", 10);
    let mut assessment = assessment("sync-latency", cases);
    virtual_disk(&mut assessment);
    assessment
}

/// The answer where `summary` is the fastest by both rates.
pub(crate) fn answer_of(summary: &Summary) -> WritingAnswer {
    WritingAnswer {
        acknowledged: leads(summary, |writing| writing.acknowledged, &[]),
        durable: leads(summary, |writing| writing.durable, &[]),
        cost: Some(differs([summary, summary], 10, [0.257, 0.251, 0.263])),
    }
}

/// What a survey writes.
pub(crate) fn of_survey() -> Vec<Summary> {
    let (allocation, pattern, size) = (Allocation::Overwrite, Pattern::Random, 256 << 20);
    let page = WriteWork {
        io: Io { block: 4096, pattern, size, ..work().io },
        every: 1,
        allocation,
        ..work()
    };
    vec![
        written(WriteWork { io: Io { size, ..work().io }, ..work() }, 2.38e9, Some(612e6)),
        written(page, 3.3e6, Some(3.3e6)),
        null_write(),
    ]
}
