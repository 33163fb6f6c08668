//! Carries out one job: makes the engines or the arrays, and has a team run them.

use crate::clock::{Clock, os_now_ns};
use crate::drive::{Desk, Look, Walk, drive};
use crate::engine::{self, BlockIo, Obstacle, Range};
use crate::engine::{
    load::Load, mmap::Mapping, null::Null, pread::Pread, read::Read, uring::Uring,
};
use crate::stream::Arrays;
use crate::team::{self, Conductor};
use kernel::{Count, Digest};
use model::case::{Engine, FileWork, Isa, MemoryWork, Touch, Work};
use model::content::COUNTED;
use model::pattern::{Pattern, Share};
use model::sample::{Latencies, Sample, Span};
use model::trial::{Job, Outcome};
use std::io;
use std::path::Path;
use std::sync::Barrier;

/// Whoever asked for a job: is told when it is ready and what came of it.
pub trait Client {
    /// All is prepared. Answers whether the job shall begin.
    fn ready(&mut self) -> bool;

    /// What came of it. The job's threads are there until this returns.
    fn outcome(&mut self, outcome: Outcome);
}

/// Carries out `job`. The client is told an outcome, unless it says that it shall not begin.
pub fn perform(job: &Job, client: &mut impl Client) {
    match (&job.case.work, &job.file) {
        (Work::Memory(work), _) => perform_memory(work, job.seed, client),
        (Work::File(work), file) if work.engine == Engine::Null || file.is_some() => {
            let path = file.as_deref().unwrap_or(Path::new(""));
            perform_touch(work, job.seed, path, client);
        }
        (Work::Write(_), _) => {
            let reason = "this worker does not write yet".to_string();
            client.outcome(Outcome::Unavailable { reason });
        }
        (Work::File(_), _) => {
            let reason = "the job names no file to read".to_string();
            client.outcome(Outcome::Failed { reason });
        }
    }
}

/// Chooses the loop by what is done with the bytes.
fn perform_touch(work: &FileWork, seed: u64, path: &Path, client: &mut impl Client) {
    match work.touch {
        Touch::None => perform_engine(work, seed, path, &LookAway, client),
        Touch::Page => perform_engine(work, seed, path, &LookAtPages, client),
        Touch::Sum => match kernel::digest(work.isa) {
            Some(digest) => perform_engine(work, seed, path, &LookAtAll(digest), client),
            None => client.outcome(lacks(work.isa)),
        },
        Touch::Count => match kernel::count(work.isa) {
            Some(count) => perform_engine(work, seed, path, &LookForCounted(count), client),
            None => client.outcome(lacks(work.isa)),
        },
    }
}

/// The outcome where the processor has not the instructions that were asked for.
fn lacks(isa: Isa) -> Outcome {
    Outcome::Unavailable { reason: format!("this processor has no {isa}") }
}

/// Chooses the loop by engine.
fn perform_engine(
    work: &FileWork,
    seed: u64,
    path: &Path,
    look: &(impl Look + Sync),
    client: &mut impl Client,
) {
    let failed = |error: io::Error| Obstacle::failed("preparing to read", path, &error);
    let open = || engine::open(path, work);
    let range = |thread| range_of(work, thread);
    match work.engine {
        Engine::Null => {
            perform_file(work, seed, |_| Ok(Null::new(work.depth as usize)), look, client);
        }
        Engine::Read => {
            let make = |thread| Read::new(open()?, work, range(thread)).map_err(failed);
            perform_file(work, seed, make, look, client);
        }
        Engine::Pread => {
            let make = |thread| Pread::new(open()?, work, range(thread)).map_err(failed);
            perform_file(work, seed, make, look, client);
        }
        Engine::Mmap => {
            let make = |thread| Mapping::new(open()?, work, range(thread)).map_err(failed);
            perform_file(work, seed, make, look, client);
        }
        Engine::Buffered => {
            let make = |thread| {
                engine::buffered::Buffered::new(open()?, work, range(thread)).map_err(failed)
            };
            perform_file(work, seed, make, look, client);
        }
        Engine::Load => {
            let make = |thread| Ok(Load::new(open()?, work, range(thread)));
            perform_file(work, seed, make, look, client);
        }
        Engine::Uring => {
            let make = |thread| Uring::new(open()?, work, range(thread));
            perform_file(work, seed, make, look, client);
        }
    }
}

fn perform_file<E: BlockIo, L: Look + Sync>(
    work: &FileWork,
    seed: u64,
    make: impl Fn(u32) -> Result<E, Obstacle> + Sync,
    look: &L,
    client: &mut impl Client,
) {
    let clock = Clock::get();
    let prepare = |thread| {
        let desk = Desk::new(work.depth, work.threads, work.time);
        Ok((make(thread)?, Walk::of_read(work, thread, seed), desk))
    };
    let perform = |thread, own: &mut (E, Walk, Desk)| {
        let (io, walk, desk) = own;
        let driven = drive(io, walk, look, clock, desk);
        io.let_go();
        let span = driven.map_err(|error| Obstacle::Failed(format!("{}: {error}", work.engine)))?;
        let progress = desk.progress(&span);
        Ok((Span { thread, progress, ..span }, desk.latencies()))
    };
    team::run(work.threads, prepare, perform, &mut Relay::new(client));
}

fn perform_memory(work: &MemoryWork, seed: u64, client: &mut impl Client) {
    let Some(variant) = kernel::variant(work.kernel, work.isa) else {
        let reason = format!("this processor cannot run the kernel {} {}", work.kernel, work.isa);
        client.outcome(Outcome::Unavailable { reason });
        return;
    };
    let prepare = |thread| {
        Arrays::new(work, variant.run(), thread, seed).map_err(|error| {
            Obstacle::Failed(format!("preparing the arrays of thread {thread}: {error}"))
        })
    };
    // Nobody reads what was left while others are still timed.
    let all_done = Barrier::new(work.threads as usize);
    let perform = |thread, arrays: &mut Arrays| {
        let span = arrays.drive();
        all_done.wait();
        let digest = arrays.left().unwrap_or(span.digest);
        Ok((Span { thread, digest, ..span }, Latencies::default()))
    };
    team::run(work.threads, prepare, perform, &mut Relay::new(client));
}

/// The bytes that a thread reads, where they are one run; else the whole file.
fn range_of(work: &FileWork, thread: u32) -> Range {
    if work.pattern != Pattern::Sequential || work.share != Share::Contiguous {
        return Range { offset: 0, length: work.size };
    }
    let steps = work.steps(thread);
    let offset = steps.first * work.block;
    Range { offset, length: (steps.count * work.block).min(work.size - offset) }
}

/// Passes on what the client says to a team, and what the team says to the client.
struct Relay<'a, C> {
    client: &'a mut C,
    began_ns: u64,
    setup_ns: u64,
}

impl<'a, C: Client> Relay<'a, C> {
    fn new(client: &'a mut C) -> Relay<'a, C> {
        Relay { client, began_ns: os_now_ns(), setup_ns: 0 }
    }
}

impl<C: Client> Conductor<(Span, Latencies)> for Relay<'_, C> {
    fn begin(&mut self) -> bool {
        self.setup_ns = os_now_ns() - self.began_ns;
        self.client.ready()
    }

    fn end(&mut self, results: Result<Vec<(Span, Latencies)>, Obstacle>) {
        let outcome = match results {
            Ok(results) => {
                let mut sample = Sample { setup_ns: self.setup_ns, ..Sample::default() };
                for (span, latencies) in results {
                    sample.spans.push(span);
                    sample.latencies.add(&latencies);
                }
                Outcome::Done(sample)
            }
            Err(Obstacle::Unavailable(reason)) => Outcome::Unavailable { reason },
            Err(Obstacle::Failed(reason)) => Outcome::Failed { reason },
        };
        self.client.outcome(outcome);
    }
}

/// Touch none: the bytes were delivered.
struct LookAway;

impl Look for LookAway {
    #[inline(always)]
    fn look(&self, _offset: u64, _bytes: &[u8]) -> u64 {
        0
    }
}

/// Touch page: one byte of every 4 KiB is loaded. The sum of them proves nothing, it only keeps
/// the compiler from leaving the loads out.
struct LookAtPages;

impl Look for LookAtPages {
    #[inline(always)]
    fn look(&self, _offset: u64, bytes: &[u8]) -> u64 {
        let mut sum = 0;
        for page in bytes.chunks(4096) {
            sum += u64::from(std::hint::black_box(page[0]));
        }
        std::hint::black_box(sum);
        0
    }
}

/// Touch sum: the digest of all bytes.
struct LookAtAll(Digest);

impl Look for LookAtAll {
    #[inline(always)]
    fn look(&self, offset: u64, bytes: &[u8]) -> u64 {
        (self.0)(offset, bytes)
    }
}

/// Touch count: how many 4-byte integers of the block are [`COUNTED`].
struct LookForCounted(Count);

impl Look for LookForCounted {
    #[inline(always)]
    fn look(&self, _offset: u64, bytes: &[u8]) -> u64 {
        (self.0)(bytes, COUNTED)
    }
}
