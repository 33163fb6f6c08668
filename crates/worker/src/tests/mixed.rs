//! Whole jobs of which some operations read the file that the others write.

use super::{Listener, check_progress, file_of, sample_of};
use crate::perform::perform;
use model::case::{Allocation, Cache, Case, Io, Sync, Work, WriteEngine, WriteWork};
use model::content::{Content, ContentKind, DigestTable};
use model::environment::Environment;
use model::pattern::Pattern;
use model::sample::Sample;
use model::trial::{Job, Outcome};
use model::zoo;
use std::path::PathBuf;
use std::time::Duration;

const SIZE: u64 = 256 << 10;

fn mixed(engine: WriteEngine, depth: u32) -> WriteWork {
    let time = Duration::from_millis(20);
    let io = Io { size: SIZE, cache: Cache::Direct, depth, time, ..zoo::plain_write().io };
    let (sync, allocation) = (Sync::None, Allocation::Overwrite);
    WriteWork { io, engine, sync, allocation, read_share: 70, ..zoo::plain_write() }
}

fn before(seed: u64) -> Content {
    Content { seed, size: SIZE, kind: ContentKind::Random }
}

fn run(work: WriteWork, file: Option<PathBuf>) -> (Job, Outcome) {
    let mut listener = Listener { file: file.clone(), outcome: None };
    let case = Case::own(Work::Write(work));
    let job = Job { file, ..Job::of(case, 5) };
    perform(&job, &mut listener);
    (job, listener.outcome.expect("a job that begins has an outcome"))
}

/// Runs the job on a real file and checks both kinds of operations, and the file.
fn check(work: WriteWork) -> Option<Sample> {
    let file = file_of(before(77));
    let (job, outcome) = run(work, Some(file.path().to_path_buf()));
    let sample = sample_of(&job, outcome)?;
    let id = job.case.id();
    for span in &sample.spans {
        assert_eq!(Some(span.bytes), job.expected_bytes(span), "{id}: {span:?}");
    }
    check_progress(&sample);
    assert_eq!(sample.latencies.count(), sample.ops(), "{id}");
    assert_eq!(sample.reads.count(), sample.read_ops(), "{id}");
    assert_eq!(sample.digest(), digest(&job, &sample, 77), "{id}: the bytes that were read");
    let mut expected = vec![0; SIZE as usize];
    before(77).fill(0, &mut expected);
    for part in job.written(&sample).expect("few blocks were written") {
        let place = part.start as usize..part.end as usize;
        work.content(job.seed).fill(part.start, &mut expected[place]);
    }
    assert!(std::fs::read(file.path()).expect("it was just written") == expected, "{id}");
    Some(sample)
}

/// The digest of the reads if the file had been [`before`] of `seed`.
fn digest(job: &Job, sample: &Sample, seed: u64) -> Option<u64> {
    job.expected_digest(&DigestTable::new(before(seed), Content::digest), sample)
}

#[test]
fn reads_get_what_was_there_or_what_an_earlier_pass_wrote() {
    for (engine, depth) in
        [(WriteEngine::Pwrite, 1), (WriteEngine::Uring, 1), (WriteEngine::Uring, 8)]
    {
        for (threads, pattern) in [(1, Pattern::Random), (2, Pattern::Sequential)] {
            for sync in [Sync::None, Sync::Fdatasync, Sync::Dsync] {
                for read_share in [1, 50, 99] {
                    let plain = mixed(engine, depth);
                    let io = Io { threads, pattern, ..plain.io };
                    let work = WriteWork { io, sync, read_share, ..plain };
                    let environment =
                        Environment { host: &zoo::host(), storage: None, source: None, peers: &[] };
                    assert_eq!(environment.refusal(&Case::own(Work::Write(work))), None);
                    check(work);
                }
            }
        }
    }
}

/// Passes after the first read what the first wrote, so this is the test of the replay as a whole.
#[test]
fn several_passes_go_over_the_file() {
    for (engine, depth) in [(WriteEngine::Pwrite, 1), (WriteEngine::Uring, 8)] {
        let plain = mixed(engine, depth);
        // The slower the disk, the longer it takes.
        for seconds in [1, 10, 60] {
            let time = Duration::from_secs(seconds);
            let io = Io { block: 64 << 10, ops: 0, time, ..plain.io };
            let Some(sample) = check(WriteWork { io, ..plain }) else { break };
            if sample.ops() >= 2 * io.blocks() {
                break;
            }
            assert!(seconds < 60, "{sample:?}");
        }
    }
}

#[test]
fn a_limit_counts_both_kinds() {
    let plain = mixed(WriteEngine::Uring, 8);
    let io = Io { ops: 20, time: Duration::from_secs(60), ..plain.io };
    if let Some(sample) = check(WriteWork { io, ..plain }) {
        assert_eq!(sample.ops(), 20);
        assert!((1..20).contains(&sample.read_ops()));
        let job = Job::of(Case::own(Work::Write(WriteWork { io, ..plain })), 5);
        assert_ne!(sample.digest(), digest(&job, &sample, 78), "bytes of another file");
    }
}

#[test]
fn the_null_engine_mixes_too() {
    for depth in [1, 32] {
        let plain = mixed(WriteEngine::Null, depth);
        let io = Io { cache: Cache::AsIs, ops: 1000, ..plain.io };
        let (job, outcome) = run(WriteWork { io, ..plain }, None);
        let sample = sample_of(&job, outcome).expect("it needs nothing");
        for span in &sample.spans {
            assert_eq!(Some(span.bytes), job.expected_bytes(span));
        }
        assert_eq!(sample.ops(), io.blocks());
        assert_eq!(sample.reads.count(), sample.read_ops());
    }
}
