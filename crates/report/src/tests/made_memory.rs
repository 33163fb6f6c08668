//! Assessments of memory, of counting and of compilers, made by hand.

use super::build::*;
use assess::Assessment;
use assess::actors::ActorFigures;
use assess::conclusions::builds::Builds;
use assess::conclusions::counts::{Claim, CountingAnswer, Fair, RowRate};
use assess::conclusions::loaded_latency::{
    LatencyKnee, LatencyUnderLoad, LoadedLatency, UnloadedLatency,
};
use assess::conclusions::saturation::{Saturation, ThreadStep};
use assess::decision::{Decision, Named};
use assess::levels::{Level, Levels, Nominal};
use assess::ratio::Ratio;
use assess::summary::{Ceiling, CeilingKind, Latency, Loaded, ServedBy, Summary};
use model::case::{
    Advice, Cache, Case, Engine, Io, Isa, Kernel, MemoryWork, Pages, ReadWork, STEP,
};
use model::case::{Touch, Work};
use model::pattern::Pattern;
use model::peer::Peer;
use model::zoo;
use std::time::Duration;

fn loop_of(kernel: Kernel, isa: Isa, working_set: u64, pages: Pages, rate: f64) -> Summary {
    let (threads, time) = (1, Duration::from_millis(100));
    let work = MemoryWork { kernel, isa, working_set, pages, step: STEP, threads, time };
    let case = Case::own(Work::Memory(work));
    Summary { id: case.id(), case, ..super::build::memory(kernel, 1, rate) }
}

fn chase(working_set: u64, pages: Pages, ns: f64) -> Summary {
    let summary = loop_of(Kernel::Chase, Isa::Scalar, working_set, pages, 64e9 / ns);
    Summary { ns_per_op: Some(estimate(ns)), ..summary }
}

/// A ladder of three working sets, and two loops in DRAM.
pub(super) fn memory() -> Assessment {
    let mut cases = Vec::new();
    for (set, rate, ns) in [(16 << 10, 91e9, 1.2), (1 << 20, 42e9, 4.0), (128 << 20, 27e9, 98.0)] {
        let in_cache = |summary: Summary, level| Summary {
            served_by: Some(ServedBy::CpuCache),
            level,
            bus: None,
            of_memory: None,
            is_ceiling: false,
            ..summary
        };
        let served = |summary: Summary| match set {
            0x4000 => in_cache(summary, Some(1)),
            0x10_0000 => in_cache(summary, None),
            _ => summary,
        };
        cases.push(served(loop_of(Kernel::Read, Isa::Avx2, set, Pages::Huge, rate)));
        cases.push(served(chase(set, Pages::Huge, ns)));
        cases.push(served(chase(set, Pages::Base, ns * 1.3)));
    }
    let memory = |share| Some(Ceiling { kind: CeilingKind::Memory, share });
    for (kernel, rate, bus, share) in
        [(Kernel::Copy, 18e9, 27e9, 0.667), (Kernel::CopyNt, 26e9, 26e9, 0.963)]
    {
        let summary = loop_of(kernel, Isa::Avx2, 128 << 20, Pages::Huge, rate);
        let ceiling = memory(share);
        cases.push(Summary { bus: Some(estimate(bus)), ceiling, ..summary });
    }
    cases[10] = found(cases[10].clone(), &steal());
    let mut assessment = assessment("memory", cases);
    assessment.header.storage = None;
    let cache = |number, bytes| Some(Nominal { number, bytes });
    let level = |from, to, ns: f64, cache| Level {
        from,
        to,
        ns,
        least_ns: ns * 0.99,
        greatest_ns: ns * 1.02,
        cache,
    };
    assessment.conclusions.levels = vec![Levels {
        peer: "rust".to_string(),
        pages: Pages::Huge,
        doubtful: Vec::new(),
        levels: vec![
            level(4096, 32 << 10, 1.2, cache(1, 32 << 10)),
            Level { least_ns: 2.5, ..level(64 << 10, 512 << 10, 4.0, None) },
            level(64 << 20, 128 << 20, 98.0, None),
        ],
    }];
    let rows: Vec<Named> = assessment.cases[6..7].iter().filter_map(Named::of).collect();
    let saturation = |decision, kernel, threads| Saturation {
        open: None,
        decision,
        rows: rows.clone(),
        peer: "rust".to_string(),
        kernel,
        isa: Isa::Avx2,
        pages: Pages::Huge,
        working_set: 128 << 20,
        threads,
        most_threads: 2,
        nearly: 1,
        steps: [(1, 42e9), (2, 45e9)]
            .map(|(threads, throughput)| ThreadStep { threads, throughput })
            .to_vec(),
        highest: 45e9,
        of_reads: (kernel != Kernel::Read).then_some(0.97),
    };
    let doubtful = assessment.cases[10..11].iter().filter_map(Named::of).collect();
    assessment.conclusions.saturations = vec![
        saturation(Decision::No, Kernel::Read, None),
        saturation(Decision::Yes, Kernel::Copy, Some(1)),
        Saturation { rows: doubtful, ..saturation(Decision::Undecided, Kernel::CopyNt, None) },
    ];
    assessment
}

fn counted(work: ReadWork, served_by: ServedBy, rate: f64, load_ns: Option<f64>) -> Summary {
    let work = ReadWork { io: Io { ops: 1024, ..work.io }, touch: Touch::Count, ..work };
    let loaded = load_ns.map(|ns| Loaded {
        throughput: estimate(rate * 3.0),
        load_ns: estimate(ns),
        served_by: ServedBy::Ram,
        of_memory: Some(0.9),
        ceiling: Some(Ceiling { kind: CeilingKind::Memory, share: 0.9 }),
    });
    Summary { loaded, counted: Some(13_421_772), ..measured(work, served_by, rate) }
}

fn figure(summary: &Summary) -> RowRate {
    let throughput = summary.throughput.expect("it was measured");
    let ratio = |median| {
        Some(Ratio { pairs: 7, invocations: 1, median, low: Some(0.04), high: Some(0.06) })
    };
    let (of_read, of_count) = (ratio(0.05), ratio(0.05));
    let row = Named::of(summary).expect("it stands");
    RowRate { row, threads: 1, throughput, of_read, of_count }
}

/// Counting in memory, by mmap and from storage.
pub(super) fn counting() -> Assessment {
    let of = |engine, cache| file(engine, cache, Pattern::Sequential, 1 << 20);
    let load = ReadWork { advice: Advice::HugePage, ..of(Engine::Load, Cache::Warm) };
    let direct = ReadWork {
        io: Io { depth: 32, ..of(Engine::Uring, Cache::Direct).io },
        ..of(Engine::Uring, Cache::Direct)
    };
    let mut cases = vec![
        super::build::memory(Kernel::Read, 1, 27e9),
        counted(load, ServedBy::PageCache, 5e9, Some(180e6)),
        counted(ReadWork { isa: Isa::Scalar, ..load }, ServedBy::PageCache, 3e9, Some(180e6)),
        counted(of(Engine::Mmap, Cache::Warm), ServedBy::PageCache, 6e9, Some(9e3)),
        counted(of(Engine::Pread, Cache::Warm), ServedBy::PageCache, 8e9, None),
        counted(of(Engine::Mmap, Cache::Cold), ServedBy::Device, 0.6e9, Some(9e3)),
        counted(direct, ServedBy::Device, 1.1e9, None),
        null(),
    ];
    cases[5] = found(cases[5].clone(), &steal());
    let held = |row: usize, base: usize, ratio: f64| {
        is_faster([&cases[row], &cases[base]], 7, [ratio, ratio * 0.9, ratio * 1.1])
    };
    let claim = |cache, row: usize, ratio| Claim {
        cache,
        mmap: figure(&cases[row]),
        uring: figure(&cases[6]),
        holds: held(6, row, ratio),
        fair: vec![Fair { figure: figure(&cases[1]), holds: held(6, 1, 0.2) }],
    };
    let answer = CountingAnswer {
        size: 1 << 30,
        fits_caches: false,
        caches_hold: Some(0.5),
        memory_reads: vec![figure(&cases[0])],
        in_memory: vec![figure(&cases[1])],
        page_cache: Some(figure(&cases[4])),
        device: Some(figure(&cases[6])),
        disk_is_faster: Some(held(6, 1, 0.05)),
        claims: vec![claim(Cache::Cold, 5, 1.8), claim(Cache::Warm, 3, 0.18)],
    };
    let mut assessment = assessment("count-tens", cases);
    assessment.conclusions.counts = vec![answer];
    assessment
}

/// The loop as two compilers make it, and one that is missing.
pub(super) fn compilers() -> Assessment {
    let own = |isa, rate| loop_of(Kernel::Count, isa, 128 << 20, Pages::Huge, rate);
    let peer = |name: &str, bits: Option<u32>, flags: &str| Peer {
        name: name.to_string(),
        build: Some(format!("zcc {flags} -o ./peer peer.c")),
        vector_bits: bits,
        ..zoo::peer()
    };
    let of_peer = |name: &str, rate| {
        let own = own(Isa::Auto, rate);
        let case = Case { peer: name.to_string(), ..own.case.clone() };
        Summary { id: case.id(), case, ..own }
    };
    let missing = of_peer("ycc-O2-loop", 1e9);
    let reason = "the peer ycc-O2-loop: 'ycc' is not installed";
    let cases = vec![
        own(Isa::Scalar, 4.1e9),
        own(Isa::Avx2, 26e9),
        of_peer("zcc-O2-loop", 3.0e9),
        of_peer("zcc-O3-native-loop", 22e9),
        unavailable(&missing, reason, 7),
    ];
    let compared = |row: usize, ratio: f64| {
        comparison([&cases[row], &cases[1]], 7, [ratio, ratio * 0.97, ratio * 1.03])
    };
    let comparisons = vec![compared(2, 0.115), compared(3, 0.846)];
    let apart = differs([&cases[3], &cases[2]], 7, [7.36, 7.1, 7.5]);
    let mut assessment = assessment("compilers", cases);
    assessment.comparisons = comparisons;
    assessment.conclusions.builds = vec![Builds { count: 2, apart }];
    assessment.header.storage = None;
    assessment.header.peers = vec![
        peer("zcc-O2-loop", Some(0), "-O2"),
        peer("zcc-O3-native-loop", Some(256), "-O3 -march=native"),
    ];
    assessment
}

/// Two programs that read in the same ways.
pub(super) fn peers() -> Assessment {
    let mut cases = Vec::new();
    for (engine, rate) in [(Engine::Pread, 8e9), (Engine::Mmap, 6e9)] {
        let own = measured(
            file(engine, Cache::Warm, Pattern::Sequential, 1 << 20),
            ServedBy::PageCache,
            rate,
        );
        let case = Case { peer: "zebra".to_string(), ..own.case.clone() };
        cases.push(Summary { id: case.id(), case, warm_up_ns: Some(300_000_000), ..own.clone() });
        cases.push(own);
    }
    assessment("read-methods", cases)
}

/// A chase alone, beside readers that bend its curve, and beside copies that do nothing to it.
pub(super) fn loaded_latency() -> Assessment {
    let alone = chase(128 << 20, Pages::Huge, 95.2);
    let loaded = |name: &str, threads: u32, ns: f64, rate: f64| {
        let summary = chase(128 << 20, Pages::Huge, ns);
        let case = Case { beside: vec![name.to_string()], ..summary.case };
        let actor = ActorFigures {
            name: name.to_string(),
            does: format!("memory {name} t{threads}"),
            throughput: Some(rate),
            iops: Some(rate / 64.0),
            of_whole_run: false,
            latency_ns: Latency::default(),
            sync_latency_ns: Latency::default(),
        };
        Summary { id: case.id(), case, beside: vec![actor], ..summary }
    };
    let reads = [("read-25", 97.0, 3.6e9), ("read-50", 99.0, 7.1e9), ("read-80", 104.0, 11.3e9)];
    let reads = [&reads[..], &[("read-90", 131.0, 13.0e9), ("read-100", 180.0, 14.2e9)]].concat();
    let of_reads: Vec<Summary> =
        reads.iter().map(|(name, ns, rate)| loaded(name, 3, *ns, *rate)).collect();
    let of_copies = vec![loaded("copy-50", 1, 95.3, 8e9)];
    let under_load = |summary: &Summary, ratio: [f64; 3]| LatencyUnderLoad {
        case: Named::of(summary).expect("it stands"),
        bandwidth: estimate(summary.beside[0].throughput.expect("it is known")),
        latency_ns: summary.ns_per_op.expect("it is measured"),
        longer: Some(is_faster([&alone, summary], 10, ratio)),
    };
    let slower = |summary: &Summary| {
        let times = summary.ns_per_op.expect("it is measured").median / 95.2;
        under_load(summary, [times, times * 0.99, times * 1.01])
    };
    let share =
        Ratio { median: 0.97, low: Some(0.96), high: Some(0.98), pairs: 10, invocations: 1 };
    let curve = |kernel, threads, loads| LoadedLatency {
        kernel,
        threads,
        chase_cpu: Some(0),
        load_cpus: (1..=threads).collect(),
        unloaded: UnloadedLatency {
            case: Named::of(&alone).expect("it stands"),
            latency_ns: alone.ns_per_op.expect("it is measured"),
        },
        loads,
        of_alone: None,
        knee: None,
    };
    let knee = LatencyKnee {
        bandwidth: 11.3e9,
        case: Named::of(&of_reads[2]).expect("it stands"),
        beyond_line: is_faster([&of_reads[2], &of_reads[4]], 10, [1.68, 1.61, 1.74]),
    };
    let found = vec![
        LoadedLatency {
            of_alone: Some(share),
            knee: Some(knee),
            ..curve(Kernel::Read, 3, of_reads.iter().map(slower).collect())
        },
        curve(Kernel::Copy, 1, vec![under_load(&of_copies[0], [1.0, 0.98, 1.19])]),
    ];
    let cases = [vec![alone], of_reads, of_copies].concat();
    let mut assessment = assessment("loaded-latency", cases);
    assessment.header.plan.view = Some(view_of("loaded-latency"));
    assessment.header.storage = None;
    assessment.conclusions.loaded_latencies = found;
    assessment
}
