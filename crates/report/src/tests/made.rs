//! Assessments made by hand: a rich survey, a directory in memory, a run that was stopped, one
//! where all failed, and sweeps for the views of the two other recipes.

use super::build::*;
use assess::Assessment;
use assess::conclusions::Conclusions;
use assess::conclusions::disk_or_memory::{Bottleneck, DiskOrMemory, FastestOfDevice, RowLatency};
use assess::decision::{Named, Rated};
use assess::disturbance::{Excluded, Exclusion};
use assess::finding::{Code, Finding, Severity};
use assess::summary::{ServedBy, Summary};
use model::case::{Cache, Case, Engine, Io, Kernel, ReadWork, Work};
use model::host::{Device, Medium};
use model::pattern::Pattern;
use model::plan::Skip;
use model::record::End;

fn ladder(disk: impl Fn(ReadWork, f64) -> Summary) -> Vec<Summary> {
    use Pattern::{Random, Sequential};
    let direct = |pattern, block, depth| ReadWork {
        io: Io { depth, ..file(Engine::Uring, Cache::Direct, pattern, block).io },
        ..file(Engine::Uring, Cache::Direct, pattern, block)
    };
    let warm = |engine, pattern, block| file(engine, Cache::Warm, pattern, block);
    vec![
        memory(Kernel::Read, 1, 11.2e9),
        memory(Kernel::Read, 2, 19.8e9),
        memory(Kernel::Copy, 1, 5.61e9),
        memory(Kernel::Copy, 2, 9.02e9),
        memory(Kernel::Chase, 1, 652e6),
        measured(warm(Engine::Pread, Random, 4096), ServedBy::PageCache, 3.1e9),
        measured(warm(Engine::Pread, Sequential, 1 << 20), ServedBy::PageCache, 6.9e9),
        measured(warm(Engine::Mmap, Random, 4096), ServedBy::PageCache, 4.0e9),
        disk(file(Engine::Pread, Cache::Cold, Sequential, 1 << 20), 705e6),
        disk(direct(Sequential, 1 << 20, 8), 1.02e9),
        disk(direct(Random, 4096, 1), 48.2e6),
        disk(direct(Random, 4096, 32), 391e6),
        null(),
    ]
}

/// A doubt that reaches comparisons.
pub(crate) fn doubt() -> Finding {
    finding(Code::Throttled, Severity::Doubt, "a quota held it back", "raise the quota")
}

/// A survey of a virtual disk, one row of it in doubt and one void.
pub(crate) fn rich() -> Assessment {
    let mut cases = ladder(|work, rate| measured(work, ServedBy::Device, rate));
    cases[8].served_by = Some(ServedBy::Mixed);
    (cases[8].hit_share, cases[8].hit_share_most) = (Some(0.372), Some(0.372));
    cases[8] = found(cases[8].clone(), &leak());
    for row in [8, 11] {
        cases[row] = found(cases[row].clone(), &steal());
    }
    let reasons = vec![(Exclusion::Steal, 1)];
    let rate_with_them = cases[9].throughput.expect("it was measured");
    cases[9].excluded = Some(Excluded { trials: 1, reasons, rate_with_them });
    let cpu_bound = finding(
        Code::CpuBound,
        Severity::Note,
        "the reading thread used 99.1 % of a processor: the CPU bounds this, not the storage",
        "use larger blocks, more threads if there are processors for them, or touch 'none'",
    );
    for summary in &mut cases[5..8] {
        *summary = found(summary.clone(), &cpu_bound);
    }
    let written = super::made_writing::of_survey();
    let of_writing = super::made_writing::answer_of(&written[0]);
    cases.extend(written);
    let mut assessment = assessment("survey", cases);
    assessment.conclusions.durability = Some(of_writing);
    assessment.header.host.hypervisor = Some("kvm".to_string());
    let storage = assessment.header.storage.as_mut().expect("the zoo has storage");
    storage.devices = vec![Device {
        name: "vda".into(),
        is_virtual: true,
        read_ahead: Some(4096),
        ..Device::default()
    }];
    assessment.findings.push(of_run(finding(
        Code::VirtualDevice,
        Severity::Note,
        "vda is presented by a hypervisor: caches of the host may serve what crossed the block \
         layer here",
        "read 'device' as 'this virtual device'; measure on the host to know the disk",
    )));
    assessment.overhead_ns = Some(16.4);
    assessment.conclusions.disk_or_memory = Some(answer(&assessment.cases));
    assessment
}

/// The answer of the rich one, by its cases: direct reads of 1 MiB are the fastest of the device.
pub(super) fn answer(cases: &[Summary]) -> DiskOrMemory {
    let shown = is_faster([&cases[9], &cases[10]], 10, [1.01, 0.99, 1.03]);
    DiskOrMemory {
        memory: rated(&cases[0]),
        page_cache: Some(rated(&cases[6])),
        device: Some(FastestOfDevice {
            lead: lead(cases[9].throughput.expect("it was measured"), &cases[9], &[]),
            of_memory: is_faster([&cases[9], &cases[0]], 10, [0.091, 0.087, 0.094]),
            of_most: Some(is_faster([&cases[9], &cases[1]], 10, [0.051, 0.047, 0.054])),
            most_threads: 2,
            bound: Bottleneck::Device(Box::new(shown)),
        }),
        device_latency: waited(&cases[10], 81_600.0),
        memory_latency: waited(&cases[4], 98.1),
    }
}

fn rated(summary: &Summary) -> Rated {
    let rate = summary.throughput.expect("it was measured");
    Rated::of(summary, rate).expect("it stands")
}

fn waited(summary: &Summary, ns: f64) -> Option<RowLatency> {
    Some(RowLatency { row: Named::of(summary)?, ns })
}

/// A survey of a tmpfs: what is cold is skipped, and memory serves all.
pub(super) fn tmpfs() -> Assessment {
    let mut cases = ladder(|work, _| measured(work, ServedBy::Ram, 5.2e9));
    let cold = cases.remove(8).case;
    cases.truncate(8);
    let ram = finding(
        Code::Ram,
        Severity::Note,
        "tmpfs keeps its files in memory: this is a figure of memory",
        "to measure a disk, give a directory that is on one",
    );
    for summary in cases.iter_mut().skip(5) {
        summary.served_by = Some(ServedBy::Ram);
        *summary = found(summary.clone(), &ram);
    }
    let mut assessment = assessment("survey", cases);
    let storage = assessment.header.storage.as_mut().expect("the zoo has storage");
    storage.file_system = "tmpfs".to_string();
    storage.medium = Medium::Ram;
    storage.devices.clear();
    let skip = |case, reason: &str| Skip { case, reason: reason.to_string() };
    let direct = |depth| {
        Case::own(Work::Read(ReadWork {
            io: Io { depth, ..file(Engine::Uring, Cache::Direct, Pattern::Random, 4096).io },
            ..file(Engine::Uring, Cache::Direct, Pattern::Random, 4096)
        }))
    };
    assessment.skips = vec![
        skip(
            cold,
            "tmpfs keeps its files in memory: they cannot be evicted, so nothing is cold here",
        ),
        skip(direct(1), "tmpfs refuses O_DIRECT here"),
        skip(direct(32), "tmpfs refuses O_DIRECT here"),
    ];
    assessment.conclusions.disk_or_memory = Some(DiskOrMemory {
        memory: rated(&assessment.cases[0]),
        page_cache: None,
        device: None,
        device_latency: None,
        memory_latency: waited(&assessment.cases[4], 98.1),
    });
    assessment
}

/// A run that was stopped in its third round, and whose record was damaged: no intervals, and
/// the last cases were never reached.
pub(super) fn interrupted() -> Assessment {
    let mut cases = ladder(|work, rate| measured(work, ServedBy::Device, rate));
    let few = finding(
        Code::TooFew,
        Severity::Doubt,
        "only 2 rounds count: there is no 95 % interval",
        "ask for at least 7 rounds, and 10 if time allows",
    );
    for summary in &mut cases {
        summary.n = 2;
        for estimate in [&mut summary.throughput, &mut summary.iops, &mut summary.ns_per_op] {
            let estimate = estimate.as_mut().expect("each case was measured");
            (estimate.n, estimate.low, estimate.high) = (2, None, None);
        }
        *summary = found(summary.clone(), &few);
    }
    for summary in &mut cases[10..] {
        *summary = without_figures(summary);
    }
    let mut assessment = assessment("custom", cases);
    assessment.end = End::Interrupted;
    assessment.damage = vec!["line 31 is cut off: the trial it held is lost".to_string()];
    assessment
}

/// A run of which every trial failed.
pub(crate) fn all_failed() -> Assessment {
    let mut cases: Vec<Summary> = ladder(|work, rate| measured(work, ServedBy::Device, rate))
        .iter()
        .map(without_figures)
        .collect();
    for summary in &mut cases[..5] {
        *summary = failed(summary, "the worker died: signal 9", 10);
    }
    for summary in &mut cases[5..12] {
        *summary = failed(summary, "open '/data/zoo': permission denied (EACCES)", 9);
    }
    cases[12] = failed(&cases[12], "no answer within 60 s", 1);
    assessment("survey", cases)
}

/// Page latency of a disk, by the number of iterations.
pub(super) fn pages() -> Assessment {
    let mut cases = Vec::new();
    for (cache, served, rate) in
        [(Cache::Warm, ServedBy::PageCache, 3.1e9), (Cache::Cold, ServedBy::Device, 48.2e6)]
    {
        for (pattern, gain) in [(Pattern::Random, 1.0), (Pattern::Sequential, 4.3)] {
            for (ops, drift) in [(1_000, 1.12), (10_000, 1.01), (0, 1.0)] {
                let work = ReadWork {
                    io: Io { ops, ..file(Engine::Pread, cache, pattern, 4096).io },
                    ..file(Engine::Pread, cache, pattern, 4096)
                };
                cases.push(measured(work, served, rate * gain * drift));
            }
        }
    }
    cases[0].latency = latency(1_180.0, 1_000);
    cases[6] = found(cases[6].clone(), &leak());
    cases[7] = found(cases[7].clone(), &steal());
    // What falls to a quarter and varies much is open, and so is what rests on a doubt.
    let changes =
        [(0, 2, 0.893, 0.03), (3, 5, 0.893, 0.005), (7, 8, 0.99, 0.04), (9, 11, 0.25, 4.1)];
    let iterations = changes.map(|(few, many, ratio, spread): (usize, usize, f64, f64)| {
        let ratio = [ratio, ratio / (1.0 + spread), ratio * (1.0 + spread)];
        differs([&cases[many], &cases[few]], 10, ratio)
    });
    let iterations = iterations.to_vec();
    let conclusions = Conclusions { read_latency: iterations, ..Conclusions::default() };
    Assessment { conclusions, ..assessment("page-latency", cases) }
}

/// Read methods: engines by threads, warm and cold.
pub(super) fn methods() -> Assessment {
    let mut cases = Vec::new();
    for (cache, served, rate) in
        [(Cache::Warm, ServedBy::PageCache, 3.1e9), (Cache::Cold, ServedBy::Device, 212e6)]
    {
        for (engine, speed) in
            [(Engine::Read, 0.98), (Engine::Pread, 1.0), (Engine::Mmap, 1.31), (Engine::Uring, 0.4)]
        {
            for (threads, gain) in [(1, 1.0), (2, 1.7), (4, 2.2)] {
                let work = ReadWork {
                    io: Io { threads, ..file(engine, cache, Pattern::Sequential, 4096).io },
                    ..file(engine, cache, Pattern::Sequential, 4096)
                };
                cases.push(measured(work, served, rate * speed * gain));
            }
        }
    }
    cases[14] = failed(&cases[14], "the worker died: signal 9", 10);
    cases[19].served_by = Some(ServedBy::Mixed);
    (cases[19].hit_share, cases[19].hit_share_most) = (Some(0.0), Some(0.372));
    cases[19] = found(cases[19].clone(), &leak());
    cases[16] = found(cases[16].clone(), &steal());
    let compared = |case: usize, base: usize, ratio: f64, spread: f64| {
        let ends = [ratio, ratio / (1.0 + spread), ratio * (1.0 + spread)];
        comparison([&cases[case], &cases[base]], 10, ends)
    };
    let comparisons = vec![
        compared(0, 3, 0.995, 0.01),
        compared(6, 3, 1.31, 0.03),
        compared(9, 3, 0.402, 0.04),
        compared(18, 15, 1.04, 0.05),
        compared(19, 16, 1.31, 0.03),
    ];
    // Of the void row there is no question, and those of the doubtful one are open.
    let others: Vec<(&Summary, f64)> = (0..11).map(|row| (&cases[row], 1.3)).collect();
    let rate = |row: usize| cases[row].throughput.expect("it was measured");
    let device = [(&cases[17], 1.01), (&cases[18], 1.6), (&cases[15], 2.9)];
    let fastest = vec![
        (ServedBy::PageCache, lead(rate(8), &cases[8], &others)),
        (ServedBy::Device, lead(rate(20), &cases[20], &device)),
    ];
    let skip = |threads| Skip {
        case: Case::own(Work::Read(ReadWork {
            io: Io { threads, ..file(Engine::Mmap, Cache::Direct, Pattern::Sequential, 4096).io },
            ..file(Engine::Mmap, Cache::Direct, Pattern::Sequential, 4096)
        })),
        reason: "a mapping is the page cache: O_DIRECT has no effect on mmap".to_string(),
    };
    let skips = vec![skip(1), skip(2), skip(4)];
    for (engine, rate) in [(Engine::Pread, 48e6), (Engine::Uring, 45e6)] {
        for threads in [1, 2, 4] {
            let work = ReadWork {
                io: Io { threads, ..file(engine, Cache::Direct, Pattern::Sequential, 4096).io },
                ..file(engine, Cache::Direct, Pattern::Sequential, 4096)
            };
            cases.push(measured(work, ServedBy::Device, rate * f64::from(threads)));
        }
    }
    let conclusions = Conclusions { fastest, ..Conclusions::default() };
    Assessment { comparisons, conclusions, skips, ..assessment("read-methods", cases) }
}
