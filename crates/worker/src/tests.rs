//! Every engine on the zoo of awkward cases.

use crate::perform::perform;
use crate::reporter::Client;
use model::case::Work;
use model::case::{
    Advice, Cache, Case, Engine, Io, Isa, Kernel, MemoryWork, Pages, ReadWork, STEP, Submission,
    Touch,
};
use model::content::{Content, ContentKind, DigestTable, PartFunction};
use model::pattern::Pattern;
use model::sample::{PROGRESS_NS, Sample};
use model::trial::{Job, Outcome};
use model::zoo;
use std::path::{Path, PathBuf};
use std::time::Duration;

mod forbidden;
mod mixed;
mod names;
mod open;
mod shared;
mod writing;

/// Agrees to begin and keeps the outcome.
struct Listener {
    file: Option<PathBuf>,
    outcome: Option<Outcome>,
}

impl Client for Listener {
    fn ready(&mut self) -> bool {
        true
    }

    fn outcome(&mut self, outcome: Outcome) {
        assert!(self.outcome.is_none(), "a job has one outcome");
        if let Some(file) = &self.file {
            // The page cache cannot evict pages that are still mapped.
            let maps = std::fs::read_to_string("/proc/self/maps").expect("this is Linux");
            let file = file.file_name().and_then(|name| name.to_str()).expect("a plain name");
            assert!(!maps.contains(file), "{file} is still mapped");
        }
        self.outcome = Some(outcome);
    }
}

const SEED: u64 = 11;

fn outcome(work: Work, file: Option<PathBuf>) -> (Job, Outcome) {
    let mut listener = Listener { file: file.clone(), outcome: None };
    let job = Job { file, ..Job::of(Case::own(work), 5) };
    perform(&job, &mut listener);
    (job, listener.outcome.expect("a job that begins has an outcome"))
}

/// The same for a job on the names in `folder`, with the seed [`SEED`].
fn outcome_in(work: Work, folder: &Path) -> (Job, Outcome) {
    let mut listener = Listener { file: None, outcome: None };
    let file = Some(folder.to_path_buf());
    let job = Job { file, ..Job::of(Case::own(work), SEED) };
    perform(&job, &mut listener);
    (job, listener.outcome.expect("a job that begins has an outcome"))
}

/// A file with `content`, in the crate's folder because tmpfs may refuse O_DIRECT.
fn file_of(content: Content) -> tempfile::NamedTempFile {
    let mut bytes = vec![0; content.size as usize];
    content.fill(0, &mut bytes);
    let file = tempfile::NamedTempFile::new_in(".").expect("the crate's folder is writable");
    std::fs::write(file.path(), bytes).expect("a small file fits");
    file
}

/// The sample; `None`, with a message, if this machine does not support the job.
fn sample_of(job: &Job, outcome: Outcome) -> Option<Sample> {
    match outcome {
        Outcome::Done(sample) => Some(sample),
        Outcome::Unavailable { reason } => {
            #[expect(clippy::print_stderr, reason = "a skipped test must say so")]
            {
                eprintln!("skipped {}: {reason}", job.case.id());
            }
            None
        }
        Outcome::Failed { reason } => panic!("{}: {reason}", job.case.id()),
    }
}

/// Reads a real file, checks every invariant of the sample and returns it.
fn check(work: ReadWork) -> Option<Sample> {
    let kind = if work.touch == Touch::Count { ContentKind::Ints(20) } else { ContentKind::Random };
    let content = Content { seed: SEED, size: work.io.size, kind };
    let file = file_of(content);
    let (job, outcome) = outcome(Work::Read(work), Some(file.path().to_path_buf()));
    let sample = sample_of(&job, outcome)?;
    let id = job.case.id();
    let question: PartFunction =
        if work.touch == Touch::Count { Content::count } else { Content::digest };
    match job.expected_digest(&DigestTable::new(content, question), &sample) {
        Some(expected) => assert_eq!(sample.digest(), Some(expected), "{id}"),
        None => assert_eq!(sample.digest(), Some(0), "{id}: nothing was summed"),
    }
    assert_eq!(sample.latencies.count(), sample.ops(), "{id}: every operation is timed");
    assert_eq!(sample.spans.len(), work.io.threads as usize, "{id}");
    if !work.repeats() {
        let blocks =
            if work.io.ops > 0 { work.io.ops.min(work.io.blocks()) } else { work.io.blocks() };
        assert_eq!(sample.ops(), blocks, "{id}: each block is read exactly once");
        if work.io.ops == 0 {
            assert_eq!(sample.bytes(), work.io.size, "{id}");
        }
    }
    check_loading(&work, &sample);
    check_progress(&sample);
    check_usage(&sample);
    Some(sample)
}

/// No thread reports more CPU time than its span lasted: what follows the span is excluded.
fn check_usage(sample: &Sample) {
    for span in &sample.spans {
        let span_ns = span.synced_ns.unwrap_or(0).max(span.end_ns) - span.start_ns;
        let cpu_ns = span.cpu_ns.expect("every OS has a clock of a thread's CPU time");
        assert!(cpu_ns <= span_ns + span_ns / 100 + 5_000_000, "{span:?}");
        assert!(span.start_seat.is_some() && span.end_seat.is_some(), "{span:?}");
    }
    let own_ns: u64 = sample.spans.iter().filter_map(|span| span.cpu_ns).sum();
    let all_ns = sample.usage.cpu_ns.expect("so it has of a process");
    // The process's clock and the threads' are read one after the other, at both ends.
    assert!(all_ns + 1_000_000 * sample.spans.len() as u64 >= own_ns, "{sample:?}");
}

/// Loading time is reported if and only if the case loads anything.
fn check_loading(work: &ReadWork, sample: &Sample) {
    let is_load = work.engine == Engine::Load;
    let loads = is_load || work.engine == Engine::Mmap || work.advice != Advice::None;
    for span in &sample.spans {
        let span_ns = span.end_ns - span.start_ns;
        assert!(span.load_ns <= span_ns, "{work:?}: {span:?} loads longer than it lasts");
        assert_eq!(span.load_ns > 0, loads, "{work:?}: {span:?}");
        let steps = work.io.steps(span.thread).count;
        let is_whole = steps == 0 || span.ops.is_multiple_of(steps);
        assert!(is_whole || !is_load, "{work:?}: {span:?} loaded more than it touched");
    }
}

/// A span has as many steps as its duration requires, and they hold all its bytes.
fn check_progress(sample: &Sample) {
    for span in &sample.spans {
        let steps = (span.end_ns - span.start_ns) / PROGRESS_NS + 1;
        assert_eq!(span.progress.len() as u64, steps, "{span:?}");
        assert_eq!(span.progress.iter().sum::<u64>(), span.bytes, "{span:?}");
    }
}

fn engines() -> impl Iterator<Item = Engine> {
    Engine::ALL.iter().copied().filter(|engine| *engine != Engine::Null)
}

#[test]
fn every_engine_reads_every_shape_exactly_once() {
    for shape in zoo::shapes() {
        for engine in engines().filter(|engine| shape.io.depth == 1 || *engine == Engine::Uring) {
            // A cold file is read once. This test does not check what the page cache holds.
            check(ReadWork { io: Io { cache: Cache::Cold, ..shape.io }, engine, ..shape });
        }
    }
}

#[test]
fn every_way_to_use_a_ring_reads_every_block() {
    let ways = Submission::ALL.iter().filter(|way| **way != Submission::Iopoll);
    for submission in ways.copied() {
        for shape in zoo::shapes() {
            let io = Io { cache: Cache::Cold, ..shape.io };
            check(ReadWork { io, engine: Engine::Uring, submission, ..shape });
        }
    }
}

#[test]
fn calls_that_leave_the_page_cache_empty_read_every_block() {
    for shape in zoo::shapes() {
        let engine = if shape.io.depth == 1 { Engine::Pread } else { Engine::Uring };
        // All operations that it counts must be done, however slow the machine is.
        let time = if shape.io.ops > 0 { shape.io.time } else { Duration::from_millis(5) };
        check(ReadWork { io: Io { cache: Cache::DontCache, time, ..shape.io }, engine, ..shape });
    }
}

#[test]
fn a_file_system_without_such_calls_is_said() {
    let Ok(file) = tempfile::NamedTempFile::new_in("/dev/shm") else { return };
    std::fs::write(file.path(), [1; 8192]).expect("a small file fits");
    for engine in [Engine::Pread, Engine::Uring] {
        let io = Io { cache: Cache::DontCache, size: 8192, ..zoo::plain().io };
        let work = Work::Read(ReadWork { io, engine, ..zoo::plain() });
        let (_, outcome) = outcome(work, Some(file.path().to_path_buf()));
        match outcome {
            Outcome::Unavailable { reason } => {
                assert!(reason.contains("RWF_DONTCACHE") || reason.contains("io_uring_setup"));
            }
            // An OS to come may have it for tmpfs too.
            Outcome::Done(_) => {}
            Outcome::Failed { reason } => panic!("{reason}"),
        }
    }
}

#[test]
fn a_file_is_passed_again_until_the_time_is_over() {
    for engine in engines() {
        for pattern in Pattern::ALL.iter().copied() {
            let draws = pattern == Pattern::Zipf;
            // A load ends with a pass, and draws have none; nor may their last block be short.
            if draws && engine == Engine::Load {
                continue;
            }
            let size = if draws { 100_352 } else { 100_003 };
            let shape = ReadWork {
                io: Io { size, block: 512, threads: 2, ..zoo::plain().io },
                ..zoo::plain()
            };
            let time = Duration::from_millis(20);
            let work = ReadWork { io: Io { pattern, time, ..shape.io }, engine, ..shape };
            if let Some(sample) = check(work) {
                assert!(sample.elapsed_ns() >= 20_000_000, "{engine} {pattern} ended early");
            }
        }
    }
}

#[test]
fn a_trial_ends_at_its_time_even_within_a_pass() {
    for depth in [1, 8] {
        let engine = if depth == 1 { Engine::Pread } else { Engine::Uring };
        let shape = ReadWork {
            io: Io { depth, pattern: Pattern::Random, ..zoo::plain().io },
            engine,
            ..zoo::plain()
        };
        let work = ReadWork { io: Io { time: Duration::from_nanos(1), ..shape.io }, ..shape };
        if let Some(sample) = check(work) {
            assert_eq!(sample.ops(), u64::from(depth), "what is in flight is waited for");
        }
    }
}

#[test]
fn a_file_that_is_too_short_is_said() {
    for engine in engines() {
        let work = Work::Read(ReadWork {
            io: Io { size: 1 << 30, block: 1 << 20, ..zoo::plain().io },
            engine,
            ..zoo::plain()
        });
        let (_, outcome) = outcome(work, Some("Cargo.toml".into()));
        match outcome {
            Outcome::Failed { reason } if engine == Engine::Mmap => {
                assert!(reason.contains("fewer than the 1073741824 to read"), "{reason}");
            }
            Outcome::Failed { reason } => assert!(reason.contains("the file ended"), "{reason}"),
            Outcome::Unavailable { .. } if engine == Engine::Uring => {}
            other => panic!("{engine}: {other:?}"),
        }
    }
}

#[test]
fn every_touch_and_advice_runs() {
    for engine in engines() {
        for touch in Touch::ALL.iter().copied() {
            check(ReadWork {
                io: Io { cache: Cache::Cold, ..zoo::plain().io },
                engine,
                touch,
                ..zoo::plain()
            });
        }
        for advice in Advice::ALL.iter().copied() {
            let environment = model::environment::Environment {
                host: &zoo::host(),
                storage: None,
                source: None,
                peers: &[],
            };
            let work = ReadWork {
                io: Io { cache: Cache::Cold, ..zoo::plain().io },
                engine,
                advice,
                ..zoo::plain()
            };
            if environment.refusal(&Case::own(Work::Read(work))).is_none() {
                check(work);
            }
        }
    }
}

#[test]
fn every_engine_counts_every_shape_with_every_isa() {
    let countable = |shape: &ReadWork| shape.io.block.is_multiple_of(4);
    for shape in zoo::shapes().into_iter().filter(countable) {
        for engine in engines().filter(|engine| shape.io.depth == 1 || *engine == Engine::Uring) {
            for isa in kernel::available() {
                let (touch, cache) = (Touch::Count, Cache::Cold);
                check(ReadWork { io: Io { cache, ..shape.io }, engine, touch, isa, ..shape });
            }
        }
    }
}

#[test]
fn a_sum_is_the_same_with_every_isa() {
    for isa in kernel::available() {
        check(ReadWork {
            io: Io { size: 100_003, cache: Cache::Cold, ..zoo::plain().io },
            isa,
            ..zoo::plain()
        });
    }
}

/// A file with two pages swapped is read correctly, but has the wrong digest.
#[test]
fn a_block_in_the_place_of_another_is_found() {
    let work = ReadWork {
        io: Io { size: 64 << 10, cache: Cache::Cold, ..zoo::plain().io },
        ..zoo::plain()
    };
    let content = Content { seed: SEED, size: work.io.size, kind: ContentKind::Random };
    let mut bytes = vec![0; work.io.size as usize];
    content.fill(0, &mut bytes);
    let (head, rest) = bytes.split_at_mut(4 * 4096);
    head[4096..2 * 4096].swap_with_slice(&mut rest[..4096]);
    let file = file_of(content);
    std::fs::write(file.path(), bytes).expect("a small file fits");
    let table = DigestTable::new(content, Content::digest);
    for engine in engines() {
        let work = Work::Read(ReadWork { engine, ..work });
        let (job, outcome) = outcome(work, Some(file.path().to_path_buf()));
        let Some(sample) = sample_of(&job, outcome) else { continue };
        assert_eq!(sample.bytes(), content.size);
        assert_ne!(sample.digest(), job.expected_digest(&table, &sample), "{engine}");
    }
}

#[test]
fn instructions_that_are_not_there_are_unavailable() {
    let lacks = |isa: &&Isa| **isa != Isa::Auto && !kernel::available().contains(isa);
    let isa = *Isa::ALL.iter().find(lacks).expect("no processor is of both architectures");
    for touch in [Touch::Sum, Touch::Count] {
        let work = ReadWork { isa, touch, ..zoo::plain() };
        let (_, outcome) = outcome(Work::Read(work), Some("Cargo.toml".into()));
        let reason = format!("this processor has no {isa}");
        assert_eq!(outcome, Outcome::Unavailable { reason });
    }
}

#[test]
fn pages_that_are_touched_ahead_are_read_right() {
    let (engine, advice) = (Engine::Mmap, Advice::TouchAhead);
    for shape in zoo::shapes().into_iter().filter(|shape| shape.io.depth == 1) {
        check(ReadWork { io: Io { cache: Cache::Cold, ..shape.io }, engine, advice, ..shape });
        // Several passes, each with its own mapping and helpers.
        let time = Duration::from_millis(3);
        check(ReadWork { io: Io { time, ops: 0, ..shape.io }, engine, advice, ..shape });
    }
    // More pieces than helpers, and an odd last piece.
    let size = (17 << 20) + 4097;
    check(ReadWork {
        io: Io { size, cache: Cache::Cold, threads: 2, ..zoo::plain().io },
        engine,
        advice,
        ..zoo::plain()
    });
}

#[test]
fn a_file_of_no_bytes_is_passed_once() {
    let file = file_of(Content { seed: SEED, size: 0, kind: ContentKind::Random });
    for engine in engines() {
        for advice in [Advice::None, Advice::WillNeed, Advice::HugePage, Advice::TouchAhead] {
            let environment = model::environment::Environment {
                host: &zoo::host(),
                storage: None,
                source: None,
                peers: &[],
            };
            let work = ReadWork { engine, advice, ..zoo::plain() };
            if environment.refusal(&Case::own(Work::Read(work))).is_none() {
                let work = Work::Read(ReadWork { io: Io { size: 0, ..work.io }, ..work });
                let (job, outcome) = outcome(work, Some(file.path().to_path_buf()));
                if let Some(sample) = sample_of(&job, outcome) {
                    assert_eq!((sample.ops(), sample.bytes(), sample.digest()), (0, 0, Some(0)));
                }
            }
        }
    }
}

#[test]
fn direct_reads_need_no_whole_last_block() {
    for engine in [Engine::Read, Engine::Pread, Engine::Load, Engine::Uring] {
        for size in [1 << 20, (1 << 20) + 13, (17 << 20) + 4099] {
            let direct = ReadWork {
                io: Io { cache: Cache::Direct, size, block: 65_536, ..zoo::plain().io },
                ..zoo::plain()
            };
            let time = Duration::from_millis(5);
            check(ReadWork { io: Io { threads: 2, time, ..direct.io }, engine, ..direct });
        }
    }
}

#[test]
fn the_null_engine_counts_blocks_and_reads_nothing() {
    let time = Duration::from_millis(5);
    for depth in [1, 32] {
        let shape = ReadWork {
            io: Io { depth, ..zoo::plain().io },
            engine: Engine::Null,
            touch: Touch::None,
            ..zoo::plain()
        };
        let (_, outcome) =
            outcome(Work::Read(ReadWork { io: Io { time, ..shape.io }, ..shape }), None);
        let Outcome::Done(sample) = outcome else { panic!("{outcome:?}") };
        assert_eq!(sample.latencies.count(), sample.ops());
        assert_eq!(sample.bytes(), sample.ops() * 4096);
    }
}

#[test]
fn a_missing_file_is_said() {
    for engine in engines() {
        let work = Work::Read(ReadWork { engine, ..zoo::plain() });
        let (_, outcome) = outcome(work, Some("/nowhere/at all".into()));
        let Outcome::Failed { reason } = outcome else { panic!("{outcome:?}") };
        assert!(reason.starts_with("opening /nowhere/at all failed: No such file"), "{reason}");
    }
}

/// Runs a memory loop and checks every invariant of its sample.
fn check_memory(work: MemoryWork) {
    let (job, outcome) = outcome(Work::Memory(work), None);
    // The table of kernels decides which instruction sets a kernel supports.
    if kernel::variant(work.kernel, work.isa, None).is_none() {
        assert!(matches!(outcome, Outcome::Unavailable { .. }), "{outcome:?}");
        return;
    }
    let Outcome::Done(sample) = outcome else { panic!("{}: {outcome:?}", job.case.id()) };
    let id = job.case.id();
    assert_eq!(sample.spans.len(), work.threads as usize, "{id}");
    for span in &sample.spans {
        let array = work.content(span.thread, job.seed).size;
        let pass = match work.kernel {
            Kernel::Chase => 64,
            Kernel::TouchPages | Kernel::FirstTouch | Kernel::ReadPages => {
                array.div_ceil(STEP) * 64
            }
            kernel => kernel.arrays() * array,
        };
        let ops_bytes = if work.kernel.is_bulk() { work.kernel.arrays() * 64 } else { 64 };
        assert!(span.bytes > 0 && span.bytes.is_multiple_of(pass), "{id}: {span:?}");
        assert_eq!(span.ops * ops_bytes, span.bytes, "{id}");
    }
    assert!(sample.elapsed_ns() >= work.time.as_nanos() as u64, "{id}: {sample:?}");
    match work.expected_digest(job.seed, &sample) {
        Some(expected) => assert_eq!(sample.digest(), Some(expected), "{id}"),
        None => assert_eq!(work.kernel, Kernel::Chase),
    }
    check_usage(&sample);
}

#[test]
fn memory_kernels_leave_what_they_should() {
    let time = Duration::from_micros(500);
    for kernel in Kernel::ALL.iter().copied() {
        for isa in Isa::ALL.iter().copied() {
            for pages in Pages::ALL.iter().copied() {
                for (working_set, threads) in [(4096, 1), (20 << 10, 1), ((1 << 20) + 4096, 3)] {
                    check_memory(MemoryWork {
                        kernel,
                        isa,
                        working_set,
                        pages,
                        step: STEP,
                        threads,
                        time,
                    });
                }
            }
        }
    }
}

#[test]
fn memory_runs_for_its_time() {
    for kernel in Kernel::ALL.iter().copied() {
        let (isa, pages, time) = (Isa::Auto, Pages::Base, Duration::from_millis(10));
        let (working_set, threads) = (8 << 10, 2);
        check_memory(MemoryWork { kernel, isa, working_set, pages, step: STEP, threads, time });
    }
}

#[test]
fn memory_that_cannot_be_had_is_said() {
    for kernel in [Kernel::Read, Kernel::Triad, Kernel::Chase] {
        for pages in Pages::ALL.iter().copied() {
            let (isa, working_set, threads) = (Isa::Auto, 1 << 62, 2);
            let time = Duration::from_millis(1);
            let work = MemoryWork { kernel, isa, working_set, pages, step: STEP, threads, time };
            let (_, outcome) = outcome(Work::Memory(work), None);
            let Outcome::Failed { reason } = outcome else { panic!("{outcome:?}") };
            let size = work.content(0, 5).size;
            let expected = format!("mapping {size} bytes of memory failed: ");
            assert!(reason.contains(&expected), "{reason}");
        }
    }
    for engine in [Engine::Read, Engine::Pread, Engine::Load, Engine::Uring] {
        let work = ReadWork {
            io: Io { size: 1 << 62, block: 1 << 62, ..zoo::plain().io },
            engine,
            ..zoo::plain()
        };
        match outcome(Work::Read(work), Some("Cargo.toml".into())).1 {
            Outcome::Failed { reason } => {
                let expected = "mapping 4611686018427387904 bytes of memory failed: ";
                assert!(reason.contains(expected), "{reason}");
            }
            Outcome::Unavailable { .. } if engine == Engine::Uring => {}
            other => panic!("{engine}: {other:?}"),
        }
    }
}
