//! Assessments made by hand: a rich survey, a directory in memory, a run that was stopped, one
//! where all failed, and sweeps for the views of the two other recipes.

use super::build::*;
use assess::answer::{Answer, Bound, Fastest};
use assess::comparison::{Comparison, Difference};
use assess::disturbance::{Excluded, Gate};
use assess::finding::{Code, Severity};
use assess::summary::{ServedBy, Summary};
use assess::{Assessment, RunFinding};
use model::case::{Cache, Case, Engine, FileWork, Kernel, Work};
use model::host::{Device, Medium};
use model::pattern::Pattern;
use model::plan::Skip;
use model::record::End;

fn ladder(disk: impl Fn(FileWork, f64) -> Summary) -> Vec<Summary> {
    use Pattern::{Random, Sequential};
    let direct = |pattern, block, depth| FileWork {
        depth,
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

/// A survey of a virtual disk, one row of it in doubt and one void.
pub(super) fn rich() -> Assessment {
    let mut cases = ladder(|work, rate| measured(work, ServedBy::Device, rate));
    cases[8].served_by = Some(ServedBy::Mixed);
    cases[8].hit_share = Some(0.372);
    cases[8] = found(cases[8].clone(), &leak());
    for row in [9, 11] {
        cases[row] = found(cases[row].clone(), &steal());
    }
    let reasons = vec![(Gate::Steal, 1)];
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
    let fastest = cases[9].id.clone();
    let written = super::made_writing::of_survey();
    let answer = super::made_writing::answer_of(&written[0]);
    cases.extend(written);
    let mut assessment = assessment("survey", cases);
    assessment.writing = Some(answer);
    assessment.host.hypervisor = Some("kvm".to_string());
    let storage = assessment.storage.as_mut().expect("the zoo has storage");
    storage.devices = vec![Device {
        name: "vda".into(),
        is_virtual: true,
        read_ahead: Some(4096),
        ..Device::default()
    }];
    assessment.findings.push(RunFinding {
        finding: finding(
            Code::VirtualDevice,
            Severity::Note,
            "vda is presented by a hypervisor: caches of the host may serve what crossed the \
             block layer here",
            "read 'device' as 'this virtual device'; measure on the host to know the disk",
        ),
        cases: Vec::new(),
    });
    assessment.overhead_ns = Some(16.4);
    assessment.answer = Some(Answer {
        memory: 11.2e9,
        page_cache: Some(6.9e9),
        device: Some(Fastest {
            id: fastest,
            throughput: 1.02e9,
            of_memory: 0.091,
            low: Some(0.087),
            high: Some(0.094),
            bound: Bound::Device,
        }),
        device_latency_ns: Some(81_600),
        memory_latency_ns: Some(98.1),
    });
    assessment
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
    let storage = assessment.storage.as_mut().expect("the zoo has storage");
    storage.file_system = "tmpfs".to_string();
    storage.medium = Medium::Ram;
    storage.devices.clear();
    let skip = |case, reason: &str| Skip { case, reason: reason.to_string() };
    let direct = |depth| {
        Case::own(Work::File(FileWork {
            depth,
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
    assessment.answer = Some(Answer {
        memory: 11.2e9,
        page_cache: None,
        device: None,
        device_latency_ns: None,
        memory_latency_ns: Some(98.1),
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
        summary.failures = vec![("the worker died: signal 9".to_string(), 10)];
    }
    for summary in &mut cases[5..12] {
        summary.failures = vec![("open '/data/zoo': permission denied (EACCES)".to_string(), 9)];
    }
    cases[12].failures = vec![("no answer within 60 s".to_string(), 1)];
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
                let work = FileWork { ops, ..file(Engine::Pread, cache, pattern, 4096) };
                cases.push(measured(work, served, rate * gain * drift));
            }
        }
    }
    cases[0].latency = latency(1_180.0, 1_000);
    cases[6] = found(cases[6].clone(), &leak());
    cases[7] = found(cases[7].clone(), &steal());
    assessment("page-latency", cases)
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
                let work = FileWork { threads, ..file(engine, cache, Pattern::Sequential, 4096) };
                cases.push(measured(work, served, rate * speed * gain));
            }
        }
    }
    cases[14] = without_figures(&cases[14]);
    cases[14].failures = vec![("the worker died: signal 9".to_string(), 10)];
    cases[19].served_by = Some(ServedBy::Mixed);
    cases[19].hit_share = Some(0.372);
    cases[19] = found(cases[19].clone(), &leak());
    cases[16] = found(cases[16].clone(), &steal());
    let comparison = |case: usize, base: usize, ratio: f64, difference| Comparison {
        case: cases[case].id.clone(),
        base: cases[base].id.clone(),
        pairs: 10,
        ratio,
        low: Some(ratio * 0.97),
        high: Some(ratio * 1.04),
        difference,
        interest: 0.05,
        needs: (difference == Difference::Inconclusive).then_some(24),
    };
    let comparisons = vec![
        comparison(0, 3, 0.981, Difference::Equivalent),
        comparison(6, 3, 1.31, Difference::Different),
        comparison(9, 3, 0.402, Difference::Different),
        comparison(18, 15, 1.03, Difference::Inconclusive),
    ];
    let skip = |threads| Skip {
        case: Case::own(Work::File(FileWork {
            threads,
            ..file(Engine::Mmap, Cache::Direct, Pattern::Sequential, 4096)
        })),
        reason: "a mapping is the page cache: O_DIRECT has no effect on mmap".to_string(),
    };
    let skips = vec![skip(1), skip(2), skip(4)];
    for (engine, rate) in [(Engine::Pread, 48e6), (Engine::Uring, 45e6)] {
        for threads in [1, 2, 4] {
            let work =
                FileWork { threads, ..file(engine, Cache::Direct, Pattern::Sequential, 4096) };
            cases.push(measured(work, ServedBy::Device, rate * f64::from(threads)));
        }
    }
    Assessment { comparisons, skips, ..assessment("read-methods", cases) }
}
