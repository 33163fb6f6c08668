//! A zoo of edge cases, which tests of every layer use.

pub mod commands;
mod running;

use crate::arrival::Arrival;
use crate::case::{Advice, Cache, Case, Engine, Io, Isa, Kernel, MemoryWork, Pages, ReadWork};
use crate::case::{
    Allocation, Atomic, Fill, Op, Submission, Sync, Touch, Work, WriteEngine, WriteWork,
};
use crate::case::{Call, CommandWork, Directories, MetadataWork, NameSync};
use crate::environment::Environment;
use crate::evidence::{Evidence, Probe, Residency};
use crate::host::{Device, Direct, FileLayout, Fixture, Host, Medium, Storage};
use crate::path::WriteCache;
use crate::pattern::{Pattern, Share};
use crate::peer::Peer;
use crate::plan::{Plan, Role};
use crate::record::{End, Header, Invocation, Record, Tool};
use crate::sample::{Latencies, Sample, Span};
use crate::taking_part::TakingPart;
use crate::trial::{Outcome, Trial};
use crate::zipf::Theta;
use std::collections::BTreeMap;
use std::time::Duration;

pub use running::running;

fn plain_io() -> Io {
    Io { size: 1 << 20, block: 4096, time: Duration::from_secs(60), ..Io::default() }
}

/// A plain case, the basis of variations.
pub fn plain() -> ReadWork {
    ReadWork { io: plain_io(), ..ReadWork::default() }
}

/// Files at the limits: one block, odd tails, one-byte blocks, more threads than blocks, more depth
/// than blocks, blocks of several sizes. Only engines that support it have a depth above 1.
fn file_shapes() -> impl Iterator<Item = Io> {
    let of = |size, block, threads| Io { size, block, threads, ..plain_io() };
    let sizes = Some("512/50:1536/30:4096/20".parse().expect("it is right"));
    let shapes = [
        of(1, 1, 1),
        of(4096, 4096, 1),
        of(4097, 4096, 1),
        of(10_000, 4096, 2),
        of(1 << 20, 1 << 20, 1),
        of(1 << 20, 4096, 8),
        of(999, 7, 3),
        of(4096, 1, 2),
        of(3 * 4096, 4096, 5),
        of((1 << 20) + 13, 65_536, 3),
        Io { pattern: Pattern::Random, ..of(100_000, 4096, 2) },
        Io { pattern: Pattern::Strided, stride: 3, ..of(100_000, 4096, 2) },
        Io { share: Share::Interleaved, ..of(100_001, 4096, 3) },
        Io { depth: 8, pattern: Pattern::Random, ..of(1 << 20, 4096, 2) },
        Io { depth: 32, ..of(10_000, 4096, 1) },
        Io { ops: 5, pattern: Pattern::Random, ..of(1 << 20, 4096, 2) },
        Io { sizes, ..of(100_003, 4096, 2) },
        Io { sizes, depth: 8, pattern: Pattern::Random, ..of(1 << 20, 4096, 2) },
    ];
    shapes.into_iter()
}

/// Reads of files at the limits.
pub fn shapes() -> Vec<ReadWork> {
    file_shapes().map(|io| ReadWork { io, ..plain() }).collect()
}

/// A plain writing case, the basis of variations: it durably writes a new file.
pub fn plain_write() -> WriteWork {
    WriteWork { io: plain_io(), sync: Sync::Fdatasync, ..WriteWork::default() }
}

/// Writes of files at the limits.
pub fn write_shapes() -> Vec<WriteWork> {
    file_shapes().map(|io| WriteWork { io, ..plain_write() }).collect()
}

/// A loop over memory, for 100 ms.
fn plain_memory() -> MemoryWork {
    let time = Duration::from_millis(100);
    MemoryWork { working_set: 1 << 20, threads: 2, time, ..MemoryWork::default() }
}

/// Cases of all kinds.
pub fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> =
        shapes().into_iter().map(|work| Case::own(Work::Read(work))).collect();
    for engine in Engine::ALL.iter().copied().filter(|engine| *engine != Engine::Pread) {
        cases.push(Case::own(Work::Read(ReadWork { engine, ..plain() })));
    }
    let file = |work| Case::own(Work::Read(work));
    cases.push(file(ReadWork { advice: Advice::Random, touch: Touch::Page, ..plain() }));
    let drawn = Io { pattern: Pattern::Zipf, ..plain().io };
    cases.push(file(ReadWork { io: drawn, ..plain() }));
    let theta = Theta::LEAST;
    cases.push(file(ReadWork { io: Io { theta, ..drawn }, ..plain() }));
    for arrival in Arrival::ALL.iter().copied() {
        cases.push(file(ReadWork { io: Io { rate: 1000, arrival, ..plain().io }, ..plain() }));
    }
    let submission = Submission::Sqpoll;
    cases.push(file(ReadWork { engine: Engine::Uring, submission, ..plain() }));
    let counting = ReadWork { touch: Touch::Count, ..plain() };
    cases.push(file(counting));
    cases.push(file(ReadWork { isa: Isa::Scalar, ..counting }));
    cases.push(Case { peer: "zebra".to_string(), ..file(counting) });
    cases.push(Case { beside: vec!["writer".to_string(), "reader".to_string()], ..file(plain()) });
    let write = |work| Case::own(Work::Write(work));
    cases.extend(write_shapes().into_iter().map(write));
    let others = WriteEngine::ALL.iter().copied().filter(|e| *e != WriteEngine::Pwrite);
    cases.extend(others.map(|engine| write(WriteWork { engine, ..plain_write() })));
    for op in [Op::Copy, Op::Sync] {
        cases.push(write(WriteWork { op, ..plain_write() }));
    }
    for sync in Sync::ALL.iter().copied().filter(|sync| *sync != Sync::Fdatasync) {
        cases.push(write(WriteWork { sync, every: 16, ..plain_write() }));
    }
    let (allocation, read_share) = (Allocation::Overwrite, 70);
    let direct = Io { cache: Cache::Direct, ..plain_write().io };
    cases.push(write(WriteWork { io: direct, allocation, read_share, ..plain_write() }));
    cases.push(write(WriteWork { io: direct, atomic: Atomic::Yes, ..plain_write() }));
    for atomic in Atomic::ALL.iter().copied().filter(|atomic| atomic.journal().is_some()) {
        cases.push(write(WriteWork { atomic, allocation, every: 2, ..plain_write() }));
    }
    let open = Io { rate: 1000, ..plain_write().io };
    cases.push(write(WriteWork { io: open, every: 1, ..plain_write() }));
    let allocation = Allocation::Overwrite;
    cases.push(write(WriteWork { allocation, fill: Fill::Zero, ..plain_write() }));
    for kernel in Kernel::ALL.iter().copied() {
        for pages in Pages::ALL.iter().copied() {
            let work = MemoryWork { kernel, isa: Isa::Scalar, pages, ..plain_memory() };
            cases.push(Case::own(Work::Memory(work)));
        }
    }
    cases.extend(cases_of_names());
    cases.extend(cases_of_commands());
    let (kernel, pages, step) = (Kernel::FirstTouch, Pages::Base, 64 << 10);
    cases.push(Case::own(Work::Memory(MemoryWork { kernel, pages, step, ..plain_memory() })));
    cases
}

/// A case of each call on names, and of what they can have besides.
fn cases_of_names() -> Vec<Case> {
    let mut cases = Vec::new();
    for call in Call::ALL.iter().copied() {
        let cache = if call == Call::Create { Cache::AsIs } else { Cache::Warm };
        for place in Directories::ALL.iter().copied() {
            let work = MetadataWork { call, place, entries: 100, cache, ..plain_metadata() };
            cases.push(Case::own(Work::Metadata(work)));
        }
    }
    let (cache, sync) = (Cache::Cold, NameSync::Fsync);
    let durable = MetadataWork { call: Call::Unlink, cache, sync, ..plain_metadata() };
    cases.push(Case::own(Work::Metadata(MetadataWork {
        hosts: TakingPart::First(2),
        threads: 3,
        ..durable
    })));
    cases
}

/// Commands with parameters and without, in each cache state.
fn cases_of_commands() -> Vec<Case> {
    let of = |command: &str, parameters: &str, cache| {
        let (command, parameters) = (command.to_string(), parameters.to_string());
        Case::own(Work::Command(CommandWork { command, parameters, cache }))
    };
    vec![
        of("wc -l 'a b'", "", Cache::AsIs),
        of("wc -l 'a b'", "", Cache::Cold),
        of("count -t {threads}", "threads=2", Cache::Warm),
    ]
}

/// Work on names, for 100 ms.
pub fn plain_metadata() -> MetadataWork {
    MetadataWork { time: Duration::from_millis(100), ..MetadataWork::default() }
}

/// A small machine.
pub fn host() -> Host {
    Host {
        name: "zoo".to_string(),
        os: "Linux 6.18.0".to_string(),
        cpu: "Zebra 9000".to_string(),
        cores: 2,
        isas: vec![Isa::Scalar, Isa::Sse2, Isa::Avx2],
        last_level_cache: Some(32 << 20),
        caches: vec![32 << 10, 512 << 10, 32 << 20],
        memory: Some(24 << 30),
        memory_available: Some(20 << 30),
        page: 4096,
        clock_source: Some("tsc".to_string()),
        ..Host::default()
    }
}

/// A peer that can read files and count.
pub fn peer() -> Peer {
    Peer {
        name: "zebra".to_string(),
        is_of_matrix: true,
        version: Some("zcc 1.0".to_string()),
        build: Some("zcc -O2 -o zebra".to_string()),
        vector_bits: Some(128),
        engines: vec![Engine::Read, Engine::Pread, Engine::Mmap],
        write_engines: vec![WriteEngine::Write],
        kernels: vec![Kernel::Count],
        axes: BTreeMap::new(),
        unavailable: None,
    }
}

/// An ext4 on one disk, where all probes work.
pub fn storage() -> Storage {
    Storage {
        directory: "/data".into(),
        file_system: "ext4".to_string(),
        mount_point: "/".into(),
        mount_options: "rw,relatime".to_string(),
        medium: Medium::Block,
        devices: vec![Device {
            name: "sda".to_string(),
            model: Some("ZEBRA SSD".to_string()),
            read_ahead: Some(128 << 10),
            write_cache: Some(WriteCache::Back),
            fua: Some(true),
            ..Device::default()
        }],
        capacity: Some(1 << 40),
        free: Some(1 << 39),
        residency_probe: Some(Probe::Cachestat),
        evictable: true,
        keeps_pages: Some(true),
        direct: Direct::Accepted { offset_align: 512, bypasses: Some(true) },
        ..Storage::default()
    }
}

/// The first file case, measured cold `rounds` times without a flaw. One thread reads 1 GiB per
/// round in one second, entirely from the device.
pub fn record_of(work: ReadWork, rounds: u32) -> Record {
    let (host, storage) = (host(), storage());
    let mut plan = Plan::new("zoo", rounds, 0.025, 1);
    let here = Environment { host: &host, storage: Some(&storage), source: None, peers: &[] };
    plan.add([Case::own(Work::Read(work))], Role::Asked, &here);
    let fixture = Fixture {
        part: None,
        zeros: None,
        path: "/data/zoo".into(),
        size: 1 << 30,
        seed: Some(1),
        identity: None,
        layout: Some(FileLayout { unwritten: 0, encoded: 0, extents: Some(3) }),
    };
    let command = ["ioassay", "run", "zoo"].map(str::to_string).to_vec();
    let header = Header {
        calibrated: Vec::new(),
        rehearsals: Vec::new(),
        tool: Tool { name: "ioassay".into(), version: "0.1.0".into(), commit: None, command },
        began: "2026-01-01T00:00:00Z".to_string(),
        host,
        called: None,
        hosts: Vec::new(),
        storage: Some(storage),
        source_storage: None,
        further_storages: Vec::new(),
        storage_numbers: BTreeMap::new(),
        alternates: None,
        side: None,
        fixtures: vec![fixture],
        plan,
        peers: Vec::new(),
    };
    let trials = (0..rounds).map(trial).collect();
    let (invocations, pruned, vitals) = (Vec::new(), Vec::new(), Vec::new());
    let (end, damage) = (End::Complete, Vec::new());
    Record { header, invocations, trials, pruned, vitals, end, damage }
}

/// [`record_of`] for a cold sequential pread of 1 MiB blocks in `rounds` rounds.
fn cold_record(rounds: u32) -> Record {
    let io = Io { cache: Cache::Cold, size: 1 << 30, block: 1 << 20, ..plain_io() };
    record_of(ReadWork { io, ..plain() }, rounds)
}

/// It in ten rounds.
pub fn record() -> Record {
    cold_record(10)
}

/// Like [`record`], with this number of invocations and rounds in each.
pub fn record_of_invocations(invocations: u32, rounds: u32) -> Record {
    let mut record = cold_record(invocations * rounds);
    record.header.plan.invocations = invocations;
    for trial in &mut record.trials {
        trial.invocation = trial.round / rounds;
    }
    let first = |number: u32| u64::from(number * rounds) * 1_200;
    let anew = |number| Invocation {
        number,
        at_ms: first(number),
        made_ms: 100,
        fixtures: record.header.fixtures.clone(),
        resumed: None,
        again: Vec::new(),
    };
    record.invocations = (1..invocations).map(anew).collect();
    record
}

/// A trial of [`record`] in this round.
pub fn trial(round: u32) -> Trial {
    // Rounds differ slightly, as in reality: by at most 1 % around one second.
    let elapsed_ns = 1_000_000_000 + u64::from(round * 7 % 10) * 2_000_000 - 9_000_000;
    let (ops, bytes) = (1024, 1 << 30);
    let pages = bytes / 4096;
    let residency =
        |cached| Some(Residency { probe: Probe::Cachestat, pages, cached, dirty: Some(0) });
    let (start_ns, end_ns) = (5, 5 + elapsed_ns);
    let span = Span { start_ns, end_ns, bytes, ops, digest: Some(77), ..Span::default() };
    let latencies = Latencies { counts: vec![(960_000, ops)], max_ns: 961_000 };
    let spans = vec![span];
    let sample = Sample { setup_ns: 100_000, spans, latencies, ..Sample::default() };
    Trial {
        evidence: Evidence {
            window_ns: elapsed_ns + 200_000,
            residency_before: residency(0),
            residency_after: residency(pages),
            task_read_bytes: Some(bytes),
            device_read_bytes: Some(bytes),
            device_reads: Some(1024),
            device_write_bytes: Some(0),
            device_writes: Some(0),
            device_flushes: Some(0),
            task_write_bytes: Some(0),
            dirty_before: Some(0),
            dirty_after: Some(0),
            dirty_limit: Some(4 << 30),
            cpu_ns: Some(200_000_000),
            cpu_user_ns: Some(50_000_000),
            cpu_system_ns: Some(150_000_000),
            minor_faults: Some(3),
            major_faults: Some(0),
            switches_voluntary: Some(1030),
            switches_involuntary: Some(2),
            run_delay_ns: Some(100_000),
            steal_ns: Some(0),
            machine_cpu_ns: Some(2 * elapsed_ns),
            pressure_cpu_ns: Some(0),
            pressure_io_ns: Some(700_000_000),
            pressure_memory_ns: Some(0),
            swapped_bytes: Some(0),
            huge_bytes: Some(0),
            throttled_ns: Some(0),
            ..Evidence::default()
        },
        expected_digest: Some(77),
        ..Trial::without_data((0, 0, round), u64::from(round) * 1_200, Outcome::Done(sample))
    }
}
