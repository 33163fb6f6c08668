//! The open loop: operations follow the schedule, and none of them is forgotten.

use super::{check, outcome, sample_of};
use crate::blocks::Ignore;
use crate::clock::Clock;
use crate::drive::{LoopState, ThreadPlan, drive};
use crate::engine::BlockIo;
use crate::gate::Start;
use model::arrival::Arrival;
use model::case::{
    Allocation, Cache, Engine, Io, ReadWork, Submission, Sync, Touch, Work, WriteEngine, WriteWork,
};
use model::content::{Content, ContentKind};
use model::pattern::Pattern;
use model::sample::{PROGRESS_NS, Sample};
use model::zoo;
use std::io;
use std::time::Duration;

const RATE: u64 = 2_000;
const TIME: Duration = Duration::from_millis(250);

fn open(io: Io) -> Io {
    Io { rate: RATE, pattern: Pattern::Random, time: TIME, ..io }
}

/// Each operation that was due in the time is completed, or known not to have begun.
fn check_schedule(io: &Io, seed: u64, repeats: bool, sample: &Sample) {
    let due: u64 = (0..io.threads)
        .map(|thread| {
            io.arrivals(thread, seed).expect("it is open").due().until(nanoseconds(io.time))
        })
        .sum();
    let told = sample.ops() + sample.unsent();
    // Threads that begin late have less time.
    assert!(told <= due, "{told} of {due} operations");
    if io.threads == 1 && repeats {
        assert_eq!(told, due, "{io:?}");
    }
    assert_eq!(sample.responses.count(), sample.ops(), "{io:?}: each has a response time");
    assert!(sample.responses.max_ns + 1000 >= sample.latencies.max_ns, "it contains the service");
    // An operation is submitted before it is done.
    let most_ns = u128::from(sample.responses.max_ns) * u128::from(sample.ops());
    assert!(sample.lag_ns().is_some_and(|ns| u128::from(ns) <= most_ns), "{sample:?}");
    for span in &sample.spans {
        let steps = (span.end_ns - span.start_ns) / PROGRESS_NS;
        assert_eq!(span.backlog.len() as u64, steps, "{span:?}");
        let paused_ns = span.paused_ns.expect("an open loop tells it");
        assert!(paused_ns <= span.end_ns - span.start_ns, "{span:?}");
        assert!(span.overslept_ns <= paused_ns, "{span:?}");
    }
}

fn nanoseconds(time: Duration) -> u64 {
    time.as_nanos() as u64
}

/// The seed of the jobs of [`outcome`].
const JOB_SEED: u64 = 5;

#[test]
fn every_engine_that_reads_follows_a_schedule() {
    let plain = zoo::plain();
    for (engine, depth, threads) in [
        (Engine::Read, 1, 1),
        (Engine::Pread, 1, 2),
        (Engine::Mmap, 1, 1),
        (Engine::Uring, 1, 1),
        (Engine::Uring, 4, 1),
        (Engine::Uring, 8, 2),
    ] {
        for arrival in Arrival::ALL.iter().copied() {
            let io = Io { depth, threads, arrival, ..open(plain.io) };
            let Some(sample) = check(ReadWork { io, engine, ..plain }) else { continue };
            check_schedule(&io, JOB_SEED, true, &sample);
        }
    }
    let sqpoll = ReadWork {
        io: Io { depth: 4, ..open(plain.io) },
        engine: Engine::Uring,
        submission: Submission::Sqpoll,
        ..plain
    };
    if let Some(sample) = check(sqpoll) {
        check_schedule(&sqpoll.io, JOB_SEED, true, &sample);
    }
}

#[test]
fn a_cold_file_is_read_once_and_owes_nothing_then() {
    let cold = Io { cache: Cache::Cold, size: 40 * 4096, ..open(zoo::plain().io) };
    let work = ReadWork { io: cold, ..zoo::plain() };
    let sample = check(work).expect("pread is everywhere");
    check_schedule(&cold, JOB_SEED, false, &sample);
    assert_eq!((sample.ops(), sample.unsent()), (40, 0));
}

#[test]
fn a_rate_beyond_reach_leaves_operations_unsent() {
    let io = Io { rate: 1_000_000_000, time: Duration::from_millis(1), ..open(zoo::plain().io) };
    for (engine, depth) in [(Engine::Null, 1), (Engine::Null, 16)] {
        let (io, touch) = (Io { depth, cache: Cache::AsIs, ..io }, Touch::None);
        let work = Work::Read(ReadWork { io, engine, touch, ..zoo::plain() });
        let (job, outcome) = outcome(work, None);
        let sample = sample_of(&job, outcome).expect("null is everywhere");
        check_schedule(&io, JOB_SEED, true, &sample);
        assert!(sample.unsent() > 0, "a million operations in a millisecond");
    }
}

#[test]
fn a_commit_is_answered_by_its_sync() {
    for (engine, every) in
        [(WriteEngine::Pwrite, 1), (WriteEngine::Pwrite, 8), (WriteEngine::Uring, 4)]
    {
        let file = tempfile::NamedTempFile::new_in(".").expect("the crate's folder is writable");
        let depth = if engine == WriteEngine::Uring { 2 } else { 1 };
        let io = Io { depth, rate: 200, ..open(zoo::plain_write().io) };
        let plain = zoo::plain_write();
        let (allocation, sync) = (Allocation::Overwrite, Sync::Fdatasync);
        let work = WriteWork { io, engine, every, allocation, sync, ..plain };
        let content = Content { seed: 1, size: io.size, kind: ContentKind::Random };
        let mut bytes = vec![0; io.size as usize];
        content.fill(0, &mut bytes);
        std::fs::write(file.path(), bytes).expect("a small file fits");
        let (job, outcome) = outcome(Work::Write(work), Some(file.path().to_path_buf()));
        let Some(sample) = sample_of(&job, outcome) else { continue };
        check_schedule(&io, JOB_SEED, true, &sample);
        assert!(sample.responses.max_ns >= sample.syncs.counts[0].0, "{engine} {every}");
    }
}

/// Stops once for a while, as a process or a device that is frozen.
struct Stalling {
    left: u32,
    stop: Duration,
}

impl BlockIo for Stalling {
    const LOADS_ARE_IO: bool = false;

    fn submit(&mut self, _: usize, _: u64, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn reap(&mut self) -> io::Result<(usize, &[u8])> {
        if self.left == 0 {
            std::thread::sleep(self.stop);
        }
        self.left = self.left.wrapping_sub(1);
        Ok((0, &[]))
    }
}

/// Latencies and response times of a loop that stops for 300 ms.
fn stalled(io: Io) -> Sample {
    let plan = ThreadPlan::of_read(&ReadWork { io, ..zoo::plain() }, 0, JOB_SEED);
    let mut state = LoopState::new(&io, &plan);
    let mut engine = Stalling { left: 50, stop: Duration::from_millis(300) };
    let (clock, start) = (Clock::get(), Start::default());
    let span = drive(&mut engine, &plan, &mut Ignore, clock, &mut state, &start).expect("it moves");
    let span = state.tell(span);
    Sample {
        spans: vec![span],
        latencies: state.latencies(),
        responses: state.responses(),
        ..Sample::default()
    }
}

#[test]
fn a_stall_delays_all_that_was_due_meanwhile() {
    let even = Io { rate: 1000, arrival: Arrival::Even, ..zoo::plain().io };
    let io = Io { time: Duration::from_millis(1_200), ..even };
    let sample = stalled(io);
    let later = |latencies: &model::sample::Latencies, than_ns: u64| -> u64 {
        let late = latencies.counts.iter().filter(|(ns, _)| *ns >= than_ns);
        late.map(|(_, count)| count).sum()
    };
    // The schedule says so: of those due during the stop, one each millisecond was due at least
    // 200 ms before its end for the first 100 ms of it.
    assert!(later(&sample.responses, 199_000_000) >= 99, "{:?}", sample.responses);
    assert!(sample.responses.max_ns >= 299_000_000);
    assert!(sample.spans[0].backlog.iter().any(|due| *due >= 190), "{:?}", sample.spans[0].backlog);
    // They were submitted that late: 299 ms, 298 ms and so on.
    let lag_ms = sample.lag_ns().expect("it is an open loop") / 1_000_000;
    assert!(lag_ms >= 299 * 298 / 2, "{lag_ms}");
    check_schedule(&io, JOB_SEED, true, &sample);
    // A closed loop sees one late operation, for it asks for nothing meanwhile; and another if
    // something else stops it as well.
    let closed = stalled(Io { rate: 0, ..io });
    assert!(closed.latencies.max_ns >= 299_000_000);
    assert!((1..=4).contains(&later(&closed.latencies, 250_000_000)), "{:?}", closed.latencies);
    assert_eq!((closed.responses.count(), closed.spans[0].unsent), (0, 0));
    assert_eq!(closed.lag_ns(), None);
}

#[test]
fn what_a_stall_leaves_at_the_end_is_unsent() {
    let io = Io {
        rate: 1000,
        arrival: Arrival::Even,
        time: Duration::from_millis(200),
        ..zoo::plain().io
    };
    let sample = stalled(io);
    check_schedule(&io, JOB_SEED, true, &sample);
    assert!(sample.spans[0].unsent >= 140, "{:?}", sample.spans[0]);
}
