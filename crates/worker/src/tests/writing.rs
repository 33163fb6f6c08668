//! Whole jobs that write real files.

use super::{Listener, check_progress, file_of, outcome, sample_of};
use crate::perform::perform;
use model::case::{
    Allocation, Atomic, Cache, Case, Fill, Io, Op, Sync, Work, WriteEngine, WriteWork,
};
use model::content::{Content, ContentKind};
use model::environment::Environment;
use model::pattern::Pattern;
use model::sample::Sample;
use model::trial::{Job, Outcome};
use model::zoo;
use std::path::Path;
use std::time::Duration;
use tempfile::NamedTempFile;

/// The content of a file before it is overwritten.
const BEFORE: u8 = 0x5A;

/// The source of a copy, a few bytes longer than what is copied.
fn copied(work: &WriteWork) -> Content {
    Content { seed: 77, size: work.io.size + 5, kind: ContentKind::Random }
}

fn is_refused(work: &WriteWork) -> bool {
    let environment = Environment { host: &zoo::host(), storage: None, source: None, peers: &[] };
    environment.refusal(&Case::own(Work::Write(*work))).is_some()
}

/// The job's file in its initial state.
fn target_of(work: &WriteWork) -> NamedTempFile {
    let file = NamedTempFile::new_in(".").expect("the crate's folder is writable");
    match work.allocation {
        Allocation::None | Allocation::Append => {}
        Allocation::Fallocate => {
            let flags = rustix::fs::FallocateFlags::empty();
            rustix::fs::fallocate(file.as_file(), flags, 0, work.io.size)
                .expect("a small file fits");
        }
        Allocation::Overwrite => {
            std::fs::write(file.path(), vec![BEFORE; work.io.size as usize]).expect("it fits");
        }
    }
    file
}

fn run(work: &WriteWork, target: &Path, source: Option<&Path>) -> (Job, Outcome) {
    let file = Some(target.to_path_buf());
    let mut listener = Listener { file: file.clone(), outcome: None };
    let case = Case::own(Work::Write(*work));
    let job = Job { file, source: source.map(Path::to_path_buf), ..Job::of(case, 5) };
    perform(&job, &mut listener);
    (job, listener.outcome.expect("a job that begins has an outcome"))
}

/// Writes a real file, checks every invariant of the sample and the file, and returns the sample.
fn check(work: &WriteWork) -> Option<Sample> {
    let source = (work.op == Op::Copy).then(|| file_of(copied(work)));
    let target = target_of(work);
    let (job, outcome) = run(work, target.path(), source.as_ref().map(NamedTempFile::path));
    let sample = sample_of(&job, outcome)?;
    let id = job.case.id();
    assert_eq!(sample.spans.len(), work.io.threads as usize, "{id}");
    for span in &sample.spans {
        assert_eq!(Some(span.bytes), job.expected_bytes(span), "{id}: {span:?}");
        assert_eq!(span.load_ns > 0, work.engine == WriteEngine::Mmap, "{id}: {span:?}");
    }
    check_progress(&sample);
    check_syncs(work, &sample);
    let is_sync = work.op == Op::Sync;
    let timed = if is_sync { sample.syncs.count() } else { sample.latencies.count() };
    assert_eq!(timed, sample.ops(), "{id}: every operation is timed");
    assert_eq!(is_sync, sample.latencies.count() == 0, "{id}");
    if !work.repeats() && work.io.time >= Duration::from_secs(1) {
        let blocks =
            if work.io.ops > 0 { work.io.ops.min(work.io.blocks()) } else { work.io.blocks() };
        assert_eq!(sample.ops(), blocks, "{id}: each block is written exactly once");
    }
    check_file(&job, work, &sample, target.path());
    Some(sample)
}

/// The file has the content that the sample claims, and its old content elsewhere.
fn check_file(job: &Job, work: &WriteWork, sample: &Sample, path: &Path) {
    let mut expected = match work.allocation {
        Allocation::None | Allocation::Append => Vec::new(),
        Allocation::Fallocate => vec![0; work.io.size as usize],
        Allocation::Overwrite => vec![BEFORE; work.io.size as usize],
    };
    let content = if work.op == Op::Copy { copied(work) } else { work.content(job.seed) };
    let mut oracle = vec![0; work.io.size as usize];
    content.fill(0, &mut oracle);
    for part in job.written(sample).unwrap_or_default() {
        let part = part.start as usize..part.end as usize;
        expected.resize(expected.len().max(part.end), 0);
        expected[part.clone()].copy_from_slice(&oracle[part]);
    }
    let got = std::fs::read(path).expect("it was just written");
    if work.appends_together() {
        // The OS decides about the order of the blocks.
        let visits = |thread| work.io.visits(thread, job.seed);
        let blocks = sample.spans.iter().flat_map(|span| {
            let all: Vec<_> = (0..span.ops).map(|index| visits(span.thread).block(index)).collect();
            all
        });
        let mut expected: Vec<&[u8]> =
            blocks.map(|(at, length)| &oracle[at as usize..(at + length) as usize]).collect();
        let mut got: Vec<&[u8]> = got.chunks(work.io.block as usize).collect();
        expected.sort_unstable();
        got.sort_unstable();
        assert!(got == expected, "{}: a block is wrong", job.case.id());
        return;
    }
    assert_eq!(got.len(), expected.len(), "{}: the size of the file", job.case.id());
    let differs = got.iter().zip(&expected).position(|(got, expected)| got != expected);
    assert_eq!(differs, None, "{}: the first byte that is wrong", job.case.id());
}

/// The number of syncs is as requested, and they are reported apart from the writes.
fn check_syncs(work: &WriteWork, sample: &Sample) {
    let every = if work.op == Op::Sync { 1 } else { work.every };
    let syncs = |ops: u64| if every == 0 { 1 } else { ops.div_ceil(every).max(1) };
    let is_call = work.sync.is_call();
    let count: u64 = sample.spans.iter().map(|span| syncs(span.ops)).sum();
    assert_eq!(sample.syncs.count(), if is_call { count } else { 0 }, "{work:?}");
    for span in &sample.spans {
        assert!(span.start_ns <= span.end_ns, "{work:?}: {span:?}");
        match (span.synced_ns, work.sync) {
            (None, Sync::None) => assert_eq!(span.sync_ns, 0, "{work:?}: {span:?}"),
            (Some(synced_ns), Sync::Dsync) => {
                assert_eq!((synced_ns, span.sync_ns), (span.end_ns, 0), "{work:?}: {span:?}");
            }
            (Some(synced_ns), _) if is_call => {
                let after_end = synced_ns - span.end_ns;
                assert_eq!(after_end == 0, work.op == Op::Sync, "{work:?}: {span:?}");
                assert!(0 < span.sync_ns, "{work:?}: {span:?}");
            }
            other => panic!("{work:?}: {other:?}"),
        }
    }
}

fn engines() -> impl Iterator<Item = WriteEngine> {
    WriteEngine::ALL.iter().copied().filter(|engine| *engine != WriteEngine::Null)
}

/// Every op, engine and allocation that is supported with a shape.
fn all_of(shape: &WriteWork) -> Vec<WriteWork> {
    let mut all = Vec::new();
    for op in [Op::Write, Op::Copy] {
        for engine in engines() {
            for allocation in Allocation::ALL.iter().copied() {
                all.push(WriteWork { op, engine, allocation, ..*shape });
            }
        }
    }
    all.retain(|work| !is_refused(work));
    all
}

#[test]
fn calls_that_leave_the_page_cache_empty_write_every_block() {
    for shape in zoo::write_shapes() {
        let engine = if shape.io.depth == 1 { WriteEngine::Pwrite } else { WriteEngine::Uring };
        let io = Io { cache: Cache::DontCache, time: Duration::from_millis(5), ..shape.io };
        check(&WriteWork { io, engine, ..shape });
    }
}

#[test]
fn every_engine_writes_every_shape() {
    let mut engines_seen = Vec::new();
    for shape in zoo::write_shapes() {
        // A file that is overwritten cold takes one pass.
        for work in all_of(&WriteWork { sync: Sync::None, ..shape }) {
            let once = work.allocation == Allocation::Overwrite;
            let cache = if once { Cache::Cold } else { work.io.cache };
            engines_seen.push((work.op, work.engine));
            check(&WriteWork { io: Io { cache, ..work.io }, ..work });
        }
    }
    engines_seen.sort_by_key(|(op, engine)| (op.to_string(), engine.to_string()));
    engines_seen.dedup();
    assert_eq!(engines_seen.len(), 5 + 5, "{engines_seen:?}");
}

#[test]
fn every_sync_is_called_as_often_as_was_asked() {
    let shape = WriteWork {
        io: Io { size: 100_003, threads: 2, ..zoo::plain_write().io },
        ..zoo::plain_write()
    };
    let depths = [1, 8].map(|depth| WriteWork { io: Io { depth, ..shape.io }, ..shape });
    for shape in depths {
        for sync in Sync::ALL.iter().copied() {
            for every in [0, 1, 4, 13, 1000] {
                for work in all_of(&WriteWork { sync, every, ..shape }) {
                    let cache = Cache::Cold;
                    let once = work.allocation == Allocation::Overwrite;
                    check(&WriteWork {
                        io: Io { cache: if once { cache } else { work.io.cache }, ..work.io },
                        ..work
                    });
                }
            }
        }
    }
}

#[test]
fn a_file_is_overwritten_until_the_time_is_over() {
    let time = Duration::from_millis(10);
    for pattern in Pattern::ALL.iter().copied() {
        let shape = WriteWork {
            io: Io { size: 50_001, block: 512, threads: 2, ..zoo::plain_write().io },
            ..zoo::plain_write()
        };
        let shape = WriteWork { io: Io { pattern, time, ..shape.io }, sync: Sync::None, ..shape };
        for engine in engines() {
            let allocation = Allocation::Overwrite;
            let work = WriteWork { engine, allocation, ..shape };
            if is_refused(&work) {
                continue;
            }
            for every in [0, 37] {
                let sync = if every > 0 { Sync::FileRange } else { Sync::None };
                if let Some(sample) = check(&WriteWork { every, sync, ..work }) {
                    // The last sync may have used up the remaining time.
                    let ended = sample.synced_ns().unwrap_or(sample.elapsed_ns());
                    assert!(ended >= 10_000_000, "{engine} {pattern} ended early");
                }
            }
        }
    }
}

#[test]
fn a_trial_ends_at_its_time_and_then_syncs() {
    for (engine, depth) in [(WriteEngine::Pwrite, 1), (WriteEngine::Uring, 8)] {
        let time = Duration::from_nanos(1);
        for every in [0, 3] {
            let work = WriteWork {
                io: Io { depth, time, ..zoo::plain_write().io },
                engine,
                every,
                ..zoo::plain_write()
            };
            if let Some(sample) = check(&work) {
                let begun = if every == 0 { u64::from(depth) } else { u64::from(depth).min(3) };
                assert_eq!(sample.ops(), begun, "what is in flight is waited for");
            }
        }
    }
}

#[test]
fn direct_writes_are_the_content() {
    for block in [4096, 65_536, 1 << 20] {
        let shape = WriteWork {
            io: Io { cache: Cache::Direct, size: 3 << 20, block, ..zoo::plain_write().io },
            ..zoo::plain_write()
        };
        let deep = WriteWork { io: Io { depth: 4, pattern: Pattern::Random, ..shape.io }, ..shape };
        for shape in [WriteWork { io: Io { threads: 2, ..shape.io }, ..shape }, deep, shape] {
            for sync in [Sync::None, Sync::Dsync] {
                for work in all_of(&WriteWork { io: Io { ops: 3, ..shape.io }, sync, ..shape }) {
                    check(&work);
                }
            }
        }
    }
}

/// Where no file can promise it, the OS refuses the flag, which shows that it got it.
#[test]
fn atomic_writes_are_the_content_or_refused() {
    for engine in [WriteEngine::Pwrite, WriteEngine::Uring] {
        let io = Io { cache: Cache::Direct, ops: 3, ..zoo::plain_write().io };
        let work = WriteWork { io, engine, atomic: Atomic::Yes, ..zoo::plain_write() };
        assert!(!is_refused(&work));
        let target = target_of(&work);
        let (job, outcome) = run(&work, target.path(), None);
        match outcome {
            Outcome::Done(sample) => check_file(&job, &work, &sample, target.path()),
            Outcome::Unavailable { reason } => {
                let call = if engine == WriteEngine::Pwrite { "RWF_ATOMIC" } else { "io_uring" };
                assert!(reason.contains(call), "{reason}");
            }
            Outcome::Failed { reason } => panic!("{engine}: {reason}"),
        }
    }
}

/// Transactions of any size leave the content, whole, and no journal.
#[test]
fn transactions_with_a_rollback_journal_are_the_content() {
    let journals = Atomic::ALL.iter().copied().filter(|atomic| atomic.journal().is_some());
    for (atomic, every, ops) in
        journals.flat_map(|it| [(it, 1, 3), (it, 2, 5), (it, 16, 40), (it, 7, 0)])
    {
        let (allocation, pattern) = (Allocation::Overwrite, Pattern::Random);
        // What may overwrite all of its file does so again until its time is over.
        let (block, size, time) = (4096, 48 * 4096 + 5, Duration::from_millis(50));
        let io = Io { ops, pattern, block, size, time, ..zoo::plain_write().io };
        let work = WriteWork { io, atomic, every, allocation, ..zoo::plain_write() };
        assert!(!is_refused(&work), "{atomic}");
        let folder = tempfile::tempdir_in(".").expect("the crate's folder is writable");
        let target = target_of(&work);
        let file = Some(target.path().to_path_buf());
        let mut listener = Listener { file: file.clone(), outcome: None };
        let case = Case::own(Work::Write(work));
        let job = Job { file, folder: Some(folder.path().to_path_buf()), ..Job::of(case, 5) };
        perform(&job, &mut listener);
        let outcome = listener.outcome.expect("a job that begins has an outcome");
        let sample = sample_of(&job, outcome).expect("it is done");
        check_syncs(&work, &sample);
        check_file(&job, &work, &sample, target.path());
        assert_eq!(folder.path().read_dir().expect("it is there").count(), 0, "{atomic}");
    }
}

#[test]
fn a_rollback_journal_needs_a_folder() {
    let allocation = Allocation::Overwrite;
    let atomic = Atomic::JournalDelete;
    let work = WriteWork { atomic, allocation, every: 1, ..zoo::plain_write() };
    let (_, outcome) = run(&work, target_of(&work).path(), None);
    let Outcome::Failed { reason } = outcome else { panic!("{outcome:?}") };
    assert!(reason.contains("no folder for a rollback journal"), "{reason}");
}

#[test]
fn every_fill_is_written() {
    for fill in Fill::ALL.iter().copied() {
        for depth in [1, 8] {
            for block in [7, 4096, 5000] {
                let shape = WriteWork {
                    io: Io { depth, block, size: 60_000, ..zoo::plain_write().io },
                    fill,
                    ..zoo::plain_write()
                };
                all_of(&shape).iter().filter(|work| !work.repeats()).for_each(|work| {
                    check(work);
                });
            }
        }
    }
}

#[test]
fn large_blocks_are_written_whole() {
    let size = (64 << 20) + 4096;
    let shape = WriteWork {
        io: Io { size, block: 64 << 20, ..zoo::plain_write().io },
        sync: Sync::None,
        ..zoo::plain_write()
    };
    let once = |work: &WriteWork| work.allocation == Allocation::Fallocate;
    for work in all_of(&shape).into_iter().filter(once) {
        check(&work);
    }
}

#[test]
fn a_sync_alone_is_an_operation_without_bytes() {
    let (op, allocation) = (Op::Sync, Allocation::Overwrite);
    let shape = WriteWork {
        io: Io { size: 40_000, threads: 2, ..zoo::plain_write().io },
        op,
        allocation,
        ..zoo::plain_write()
    };
    for sync in [Sync::Fdatasync, Sync::Fsync, Sync::FileRange] {
        for ops in [0, 6] {
            let time = Duration::from_millis(10);
            let time = if ops == 0 { time } else { shape.io.time };
            let work = WriteWork { io: Io { ops, time, ..shape.io }, sync, ..shape };
            assert!(!is_refused(&work));
            let sample = check(&work).expect("every OS can sync");
            assert_eq!(sample.bytes(), 0);
            assert!(ops == 0 || sample.ops() == ops);
        }
    }
}

#[test]
fn the_null_engine_makes_blocks_and_writes_nothing() {
    for depth in [1, 32] {
        for fill in Fill::ALL.iter().copied() {
            let (engine, sync) = (WriteEngine::Null, Sync::None);
            let work = WriteWork {
                io: Io { depth, ..zoo::plain_write().io },
                engine,
                sync,
                fill,
                ..zoo::plain_write()
            };
            let (job, outcome) = outcome(Work::Write(work), None);
            let Outcome::Done(sample) = outcome else { panic!("{outcome:?}") };
            assert_eq!((sample.bytes(), sample.ops()), (1 << 20, 256), "{}", job.case.id());
            assert_eq!(sample.synced_ns(), None);
            check_progress(&sample);
        }
    }
}

#[test]
fn what_cannot_be_written_is_said() {
    let failure = |work: &WriteWork, target: &str, source: Option<&Path>| match run(
        work,
        Path::new(target),
        source,
    ) {
        (_, Outcome::Failed { reason }) => reason,
        (_, other) => panic!("{work:?}: {other:?}"),
    };
    let plain = zoo::plain_write();
    let reason = failure(&plain, "/nowhere/at all", None);
    assert!(reason.starts_with("opening /nowhere/at all failed: No such file"), "{reason}");
    let reason = failure(&plain, "src", None);
    assert!(reason.starts_with("opening src failed: Is a directory"), "{reason}");
    let copy = WriteWork { op: Op::Copy, engine: WriteEngine::Write, ..plain };
    let reason = failure(&copy, "/dev/null", None);
    assert_eq!(reason, "the job names no file to copy");
    let reason = failure(&WriteWork { op: Op::Copy, ..plain }, "/dev/null", Some("src".as_ref()));
    assert_eq!(reason, "engine pwrite cannot do op copy with sync fdatasync");
    let (_, outcome) = outcome(Work::Write(plain), None);
    let reason = "the job names no file to write".to_string();
    assert_eq!(outcome, Outcome::Failed { reason });
}

/// `/dev/full` never has space.
#[test]
fn a_full_device_is_said_with_what_was_tried() {
    for (engine, tried) in [
        (WriteEngine::Write, "write write: write of 4096 bytes at offset 0 failed: No space left"),
        (WriteEngine::Pwrite, "write pwrite: pwrite of 4096 bytes at offset 0 failed: No space"),
        (WriteEngine::Buffered, "write buffered: a write through a buffer of 4096 bytes at offset"),
        (WriteEngine::Uring, "write uring: io_uring write of 4096 bytes at offset 0 failed: No"),
    ] {
        let work = WriteWork { engine, sync: Sync::None, ..zoo::plain_write() };
        match run(&work, Path::new("/dev/full"), None) {
            (_, Outcome::Failed { reason }) => {
                assert!(reason.starts_with(tried), "{reason}");
                let end = "; 0 bytes of earlier blocks were written";
                assert!(reason.ends_with(end), "{reason}");
            }
            (job, outcome) => assert!(sample_of(&job, outcome).is_none(), "it wrote"),
        }
    }
}

/// A source that ends early, and one on another file system.
#[test]
fn a_source_that_cannot_be_copied_is_said() {
    let short = file_of(Content { seed: 1, size: 10_000, kind: ContentKind::Random });
    for engine in engines() {
        let work = WriteWork { op: Op::Copy, engine, ..zoo::plain_write() };
        if is_refused(&work) {
            continue;
        }
        match run(&work, target_of(&work).path(), Some(short.path())) {
            (_, Outcome::Failed { reason }) => {
                assert!(reason.contains("moved no bytes"), "{reason}");
                assert!(
                    reason.ends_with("; 8192 bytes of earlier blocks were written"),
                    "{reason}"
                );
            }
            (job, outcome) => assert!(sample_of(&job, outcome).is_none(), "it copied"),
        }
    }
}

#[test]
fn a_copy_that_file_systems_do_not_do_is_unavailable() {
    let work = WriteWork { op: Op::Copy, engine: WriteEngine::CopyFileRange, ..zoo::plain_write() };
    let proc = Path::new("/proc/self/maps");
    match run(&work, target_of(&work).path(), Some(proc)) {
        (_, Outcome::Unavailable { reason }) => {
            let tried = "copy copy-file-range: copy_file_range of 4096 bytes at offset 0 failed: ";
            assert!(reason.starts_with(tried), "{reason}");
        }
        (_, other) => panic!("{other:?}"),
    }
}
