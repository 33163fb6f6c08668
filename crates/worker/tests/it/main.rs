//! A worker seen from outside: the threads of its process. This program has only one test, so that
//! no other test's threads are counted.

use model::case::{Advice, Cache, Case, Engine, Io, ReadWork, Work};
use model::trial::{Job, Outcome};
use model::zoo;
use std::path::Path;
use std::time::{Duration, Instant};
use worker::perform::perform;
use worker::reporter::Client;

/// The number of this process's threads, once it is at most `most`: a joined thread remains listed
/// for a moment.
fn threads(most: usize) -> usize {
    let began = Instant::now();
    loop {
        let tasks = std::fs::read_dir("/proc/self/task").expect("this is Linux");
        let count = tasks.count();
        if count <= most || began.elapsed() > Duration::from_secs(120) {
            return count;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Agrees to begin, and counts this process's threads when it receives the outcome.
struct Counter {
    most: usize,
    heard: Option<(Outcome, usize)>,
}

impl Client for Counter {
    fn ready(&mut self) -> bool {
        true
    }

    fn outcome(&mut self, outcome: Outcome) {
        self.heard = Some((outcome, threads(self.most)));
    }
}

/// Runs `work` on `file`. Only the reading threads exist at the outcome, and none afterwards.
fn check(work: ReadWork, file: &Path) -> Outcome {
    let before = threads(usize::MAX);
    let most = before + work.io.threads as usize;
    let job = Job { file: Some(file.to_path_buf()), ..Job::of(Case::own(Work::Read(work)), 1) };
    let mut counter = Counter { most, heard: None };
    perform(&job, &mut counter);
    let (outcome, count) = counter.heard.expect("a job that begins has an outcome");
    assert_eq!(count, most, "{}: the threads with the outcome", job.case.id());
    assert_eq!(threads(before), before, "{}: a thread stayed", job.case.id());
    outcome
}

#[test]
fn threads_that_touch_ahead_end_with_the_trial() {
    let size = 64 << 20;
    let file = tempfile::NamedTempFile::new().expect("there is room for a file");
    file.as_file().set_len(size).expect("a file may have a hole");
    let (engine, advice, cache) = (Engine::Mmap, Advice::TouchAhead, Cache::Cold);
    let plain = ReadWork {
        io: Io { size, block: 1 << 20, ..zoo::plain().io },
        engine,
        advice,
        ..zoo::plain()
    };
    for threads in [1, 3] {
        let whole = ReadWork { io: Io { threads, cache, ..plain.io }, ..plain };
        // This one ends after its first operation, with most pages still untouched.
        let short =
            ReadWork { io: Io { threads, time: Duration::from_nanos(1), ..plain.io }, ..plain };
        let again =
            ReadWork { io: Io { threads, time: Duration::from_millis(50), ..plain.io }, ..plain };
        for work in [whole, short, again] {
            let outcome = check(work, file.path());
            let Outcome::Done(sample) = outcome else { panic!("{outcome:?}") };
            assert!(sample.ops() >= u64::from(threads));
        }
    }
    let outcome = check(ReadWork { io: Io { size: size + 1, ..plain.io }, ..plain }, file.path());
    assert!(matches!(outcome, Outcome::Failed { .. }), "{outcome:?}");
}
