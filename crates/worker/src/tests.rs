//! Every engine over the zoo of awkward cases.

use crate::perform::{Client, perform};
use model::case::{Cache, Case, Engine, FileWork, Isa, Kernel, MemoryWork, Pages, Touch, Work};
use model::content::{Content, DigestTable, Kind};
use model::pattern::Pattern;
use model::sample::Sample;
use model::trial::{Job, Outcome};
use model::zoo;
use std::path::PathBuf;
use std::time::Duration;

/// Says yes, and keeps what it is told.
#[derive(Default)]
struct Listener {
    outcome: Option<Outcome>,
}

impl Client for Listener {
    fn ready(&mut self) -> bool {
        true
    }

    fn outcome(&mut self, outcome: Outcome) {
        assert!(self.outcome.is_none(), "a job has one outcome");
        self.outcome = Some(outcome);
    }
}

const SEED: u64 = 11;

fn outcome(work: Work, file: Option<PathBuf>) -> (Job, Outcome) {
    let job = Job { case: Case::own(work), seed: 5, file };
    let mut listener = Listener::default();
    perform(&job, &mut listener);
    (job, listener.outcome.expect("a job that begins has an outcome"))
}

/// Runs `work` over a real file; answers the sample after checking all that must be true of it.
fn check(work: FileWork) -> Option<Sample> {
    let content = Content { seed: SEED, size: work.size, kind: Kind::Random };
    let mut bytes = vec![0; work.size as usize];
    content.fill(0, &mut bytes);
    let file = tempfile::NamedTempFile::new_in(".").expect("the crate's folder is writable");
    std::fs::write(file.path(), bytes).expect("a small file fits");
    let (job, outcome) = outcome(Work::File(work.clone()), Some(file.path().to_path_buf()));
    let sample = match outcome {
        Outcome::Done(sample) => sample,
        Outcome::Unavailable { reason } => {
            #[expect(clippy::print_stderr, reason = "a skipped test must say so")]
            {
                eprintln!("skipped {}: {reason}", job.case.id());
            }
            return None;
        }
        Outcome::Failed { reason } => panic!("{}: {reason}", job.case.id()),
    };
    let id = job.case.id();
    if work.touch == Touch::Sum {
        let expected = job.expected_digest(&DigestTable::new(content, Content::digest), &sample);
        assert_eq!(Some(sample.digest()), expected, "{id}");
    }
    assert_eq!(sample.latencies.count(), sample.ops(), "{id}: every operation is timed");
    assert_eq!(sample.spans.len(), work.threads as usize, "{id}");
    if !work.repeats() {
        let blocks = if work.ops > 0 { work.ops.min(work.blocks()) } else { work.blocks() };
        assert_eq!(sample.ops(), blocks, "{id}: each block is read exactly once");
        if work.ops == 0 {
            assert_eq!(sample.bytes(), work.size, "{id}");
        }
    }
    Some(sample)
}

fn engines() -> impl Iterator<Item = Engine> {
    Engine::ALL.iter().copied().filter(|engine| *engine != Engine::Null)
}

#[test]
fn every_engine_reads_every_shape_exactly_once() {
    for shape in zoo::shapes() {
        for engine in engines().filter(|engine| shape.depth == 1 || *engine == Engine::Uring) {
            // A cold file is read once; what the cache really holds is not this test's matter.
            check(FileWork { engine, cache: Cache::Cold, ..shape.clone() });
        }
    }
}

#[test]
fn a_file_is_passed_again_until_the_time_is_over() {
    for engine in engines() {
        for pattern in Pattern::ALL.iter().copied() {
            let shape = FileWork { size: 100_003, block: 512, threads: 2, ..zoo::plain() };
            let time = Duration::from_millis(20);
            let work = FileWork { engine, pattern, time, ..shape };
            if let Some(sample) = check(work.clone()) {
                assert!(sample.elapsed_ns() >= 20_000_000, "{engine} {pattern} ended early");
            }
        }
    }
}

#[test]
fn a_trial_ends_at_its_time_even_within_a_pass() {
    for depth in [1, 8] {
        let engine = if depth == 1 { Engine::Pread } else { Engine::Uring };
        let shape = FileWork { engine, depth, pattern: Pattern::Random, ..zoo::plain() };
        let work = FileWork { time: Duration::from_nanos(1), ..shape };
        if let Some(sample) = check(work) {
            assert_eq!(sample.ops(), u64::from(depth), "what is in flight is waited for");
        }
    }
}

#[test]
fn a_file_that_is_too_short_is_said() {
    for engine in engines() {
        let work = Work::File(FileWork { engine, size: 1 << 30, block: 1 << 20, ..zoo::plain() });
        let (_, outcome) = outcome(work, Some("Cargo.toml".into()));
        match outcome {
            Outcome::Failed { reason } if engine == Engine::Mmap => {
                assert!(reason.contains("fewer than the 1073741824 to be read"), "{reason}");
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
            check(FileWork { engine, touch, cache: Cache::Cold, ..zoo::plain() });
        }
        for advice in model::case::Advice::ALL.iter().copied() {
            let place = model::plan::Place { host: &zoo::host(), storage: None, peers: &[] };
            let work = FileWork { engine, advice, cache: Cache::Cold, ..zoo::plain() };
            if place.refusal(&Case::own(Work::File(work.clone()))).is_none() {
                check(work);
            }
        }
    }
}

#[test]
fn direct_reads_need_no_whole_last_block() {
    for engine in [Engine::Read, Engine::Pread, Engine::Uring] {
        for size in [1 << 20, (1 << 20) + 13] {
            let direct = FileWork { cache: Cache::Direct, size, block: 65_536, ..zoo::plain() };
            let time = Duration::from_millis(5);
            check(FileWork { engine, threads: 2, time, ..direct });
        }
    }
}

#[test]
fn the_null_engine_counts_blocks_and_reads_nothing() {
    let time = Duration::from_millis(5);
    for depth in [1, 32] {
        let shape = FileWork { engine: Engine::Null, touch: Touch::None, depth, ..zoo::plain() };
        let (_, outcome) = outcome(Work::File(FileWork { time, ..shape }), None);
        let Outcome::Done(sample) = outcome else { panic!("{outcome:?}") };
        assert_eq!(sample.latencies.count(), sample.ops());
        assert_eq!(sample.bytes(), sample.ops() * 4096);
    }
}

#[test]
fn a_missing_file_is_said() {
    let (_, outcome) = outcome(Work::File(zoo::plain()), Some("/nowhere/at all".into()));
    let Outcome::Failed { reason } = outcome else { panic!("{outcome:?}") };
    assert!(reason.starts_with("opening /nowhere/at all failed: No such file"), "{reason}");
}

#[test]
fn memory_kernels_read_what_they_should() {
    for kernel in Kernel::ALL.iter().copied() {
        for isa in Isa::ALL.iter().copied() {
            let (working_set, threads) = (1 << 20, 3);
            let time = Duration::from_millis(2);
            let work = MemoryWork { kernel, isa, working_set, pages: Pages::Huge, threads, time };
            let (job, outcome) = outcome(Work::Memory(work.clone()), None);
            let sample = match outcome {
                Outcome::Done(sample) => sample,
                // A chase has one form only, and not every processor has every instruction set.
                Outcome::Unavailable { .. } => continue,
                Outcome::Failed { reason } => panic!("{}: {reason}", job.case.id()),
            };
            assert_eq!(sample.spans.len(), 3);
            assert!(sample.bytes() > 0 && sample.elapsed_ns() > 0);
            if kernel != Kernel::Chase {
                let expected = work.expected_digest(job.seed, &sample);
                assert_eq!(Some(sample.digest()), expected, "{}", job.case.id());
            }
        }
    }
}
