//! Performs one job: creates the engines or the arrays and has a team run them.

use crate::blocks::{DigestBlocks, Ignore, ThreadWork, move_blocks, range_of};
use crate::clock::Clock;
use crate::command::perform_command;
use crate::drive::{Consume, LoopState, ThreadPlan};
use crate::engine::{self, BlockIo, Obstacle};
use crate::engine::{
    load::RangeLoader, mmap::Mapping, null::Null, pread::Pread, read::Read, uring::Uring,
};
use crate::gate::Start;
use crate::names::perform_names;
use crate::pace::Pace;
use crate::page_reader::PageReader;
use crate::perform_write::perform_write;
use crate::pins;
use crate::reporter::{Client, JobReporter, ThreadPart};
use crate::stream::Arrays;
use crate::team::{self, TeamMember, ThreadCounters};
use kernel::Count;
use model::case::{Cache, Engine, Isa, MemoryWork, ReadWork, Touch, Work};
use model::content::COUNTED;
use model::generation::{self, PageDigests};
use model::sample::Span;
use model::trial::{Job, Outcome};
use std::io;
use std::path::Path;

/// Performs `job`. The client receives an outcome unless it refuses to begin.
pub fn perform(job: &Job, client: &mut dyn Client) {
    match (&job.case.work, &job.file) {
        (Work::Memory(work), _) => perform_memory(work, job, client),
        (Work::Read(work), file) if work.engine == Engine::Null || file.is_some() => {
            let path = file.as_deref().unwrap_or(Path::new(""));
            match job.shared {
                Some(shared) if work.touch == Touch::Sum => {
                    perform_shared(work, (job, shared), path, client);
                }
                _ => perform_touch(work, job, path, client),
            }
        }
        (Work::Write(work), _) => perform_write(job, work, client),
        (Work::Command(_), _) => perform_command(job.launch.as_deref(), client),
        (Work::Metadata(work), Some(folder)) => perform_names(work, job.seed, folder, client),
        (Work::Read(_) | Work::Metadata(_), _) => {
            let reason = "the job names no file to read, or folder to work in".to_string();
            client.outcome(Outcome::Failed { reason });
        }
    }
}

/// Selects the loop for the touch.
fn perform_touch(work: &ReadWork, job: &Job, path: &Path, client: &mut dyn Client) {
    let seed = job.seed;
    match work.touch {
        Touch::None => perform_engine(work, seed, path, &Ignore, client),
        Touch::Page => perform_engine(work, seed, path, &ReadPages, client),
        Touch::Sum => match kernel::digest(work.isa, job.shape) {
            Some(digest) => perform_engine(work, seed, path, &DigestBlocks(digest), client),
            None => client.outcome(lacks(work.isa, job)),
        },
        Touch::Count => match kernel::count(work.isa, job.shape) {
            Some(count) => perform_engine(work, seed, path, &CountTens(count), client),
            None => client.outcome(lacks(work.isa, job)),
        },
    }
}

/// The loop for a file that another worker overwrites.
fn perform_shared(
    work: &ReadWork,
    (job, shared): (&Job, u64),
    path: &Path,
    client: &mut dyn Client,
) {
    let contents = generation::contents(shared, work.io.size);
    let pages = contents.map(PageDigests::new);
    match kernel::digest(work.isa, job.shape) {
        Some(digest) => {
            perform_engine(work, job.seed, path, &PageReader::new(digest, &pages), client);
        }
        None => client.outcome(lacks(work.isa, job)),
    }
}

/// The outcome for a processor without the requested instructions.
fn lacks(isa: Isa, job: &Job) -> Outcome {
    let what = job.shape.map_or(isa.to_string(), |shape| shape.to_string());
    Outcome::Unavailable { reason: format!("this processor has no {what}") }
}

/// Selects the loop for the engine.
fn perform_engine(
    work: &ReadWork,
    seed: u64,
    path: &Path,
    consumer: &(impl Consume + Sync),
    client: &mut dyn Client,
) {
    let failed = |error: io::Error| Obstacle::failed("preparing to read", path, &error);
    let open = || engine::open(path, work);
    let range = |thread| range_of(&work.io, thread);
    match work.engine {
        Engine::Null => {
            perform_file(work, seed, |_| Ok(Null::new(work.io.depth as usize)), consumer, client);
        }
        Engine::Read => {
            let make = |thread| Read::bare(open()?, work, range(thread)).map_err(failed);
            perform_file(work, seed, make, consumer, client);
        }
        Engine::Pread if work.io.cache == Cache::DontCache => {
            let make = |thread| Pread::<true>::new(open()?, work, range(thread)).map_err(failed);
            perform_file(work, seed, make, consumer, client);
        }
        Engine::Pread => {
            let make = |thread| Pread::<false>::new(open()?, work, range(thread)).map_err(failed);
            perform_file(work, seed, make, consumer, client);
        }
        Engine::Mmap => {
            let make = |thread| Mapping::new(open()?, work, range(thread)).map_err(failed);
            perform_file(work, seed, make, consumer, client);
        }
        Engine::Buffered => {
            let make = |thread| Read::buffered(open()?, work, range(thread)).map_err(failed);
            perform_file(work, seed, make, consumer, client);
        }
        Engine::Load => {
            let make = |thread| Ok(RangeLoader::new(open()?, work, range(thread)));
            perform_file(work, seed, make, consumer, client);
        }
        Engine::Uring => {
            let make = |thread| Uring::new(open()?, work, range(thread));
            perform_file(work, seed, make, consumer, client);
        }
    }
}

fn perform_file<E: BlockIo, L: Consume + Sync>(
    work: &ReadWork,
    seed: u64,
    make: impl Fn(u32) -> Result<E, Obstacle> + Sync,
    consumer: &L,
    client: &mut dyn Client,
) {
    let own = |thread| -> Result<ThreadWork<E>, Obstacle> {
        let plan = ThreadPlan::of_read(work, thread, seed);
        let state = LoopState::new(&work.io, &plan);
        Ok((make(thread)?, plan, state))
    };
    move_blocks(&work.engine.to_string(), work.io.threads, own, consumer, client);
}

fn perform_memory(work: &MemoryWork, job: &Job, client: &mut dyn Client) {
    let Some(variant) = kernel::variant(work.kernel, work.isa, job.shape) else {
        let how = job.shape.map_or(work.isa.to_string(), |shape| format!("in the shape {shape}"));
        let reason = format!("this processor cannot run the kernel {} {how}", work.kernel);
        client.outcome(Outcome::Unavailable { reason });
        return;
    };
    let arrays = |thread| {
        Arrays::new(work, variant.run, thread, job.seed).map_err(|error| {
            Obstacle::Failed(format!("preparing the arrays of thread {thread}: {error}"))
        })
    };
    let pace = Pace::of(job.duty).filter(|_| work.kernel.is_bulk());
    let prepare = |thread| {
        // Before its arrays exist: the OS places their pages near the CPU that first writes them.
        pins::turn(&job.cpus, thread)?;
        Ok(KernelRunner { thread, arrays: arrays(thread)?, pace, clock: Clock::get() })
    };
    team::run(work.threads, prepare, &mut JobReporter::new(client));
}

/// A team member that runs a kernel over arrays.
struct KernelRunner {
    thread: u32,
    arrays: Arrays,
    pace: Option<Pace>,
    clock: Clock,
}

impl TeamMember for KernelRunner {
    type Timed = Span;
    type Report = ThreadPart;

    fn perform(&mut self, start: &Start) -> Span {
        match self.pace {
            None => self.arrays.drive(start),
            Some(pace) => {
                let clock = self.clock;
                self.arrays.drive_paced(start, pace, || clock.now_after_loads_ns())
            }
        }
    }

    fn tell(&mut self, span: Span, counted: ThreadCounters) -> Result<ThreadPart, Obstacle> {
        let digest = self.arrays.left().or(span.digest);
        let progress = self.arrays.progress(&span);
        let span = counted.tell(Span { thread: self.thread, digest, progress, ..span });
        Ok(ThreadPart { span, ..ThreadPart::default() })
    }
}

/// The step of touch `page` in bytes, the same on every machine and for every peer. No page is
/// smaller, so it loads at least one byte of each.
const TOUCH_BYTES: usize = 4096;

/// Touch page: loads one byte of every 4 KiB. The sum only keeps the compiler from removing the
/// loads.
#[derive(Clone)]
struct ReadPages;

impl Consume for ReadPages {
    #[inline(always)]
    fn consume(&mut self, _offset: u64, bytes: &[u8]) -> u64 {
        let mut sum = 0;
        for page in bytes.chunks(TOUCH_BYTES) {
            sum += u64::from(std::hint::black_box(page[0]));
        }
        std::hint::black_box(sum);
        0
    }
}

/// Touch count: counts the block's 4-byte integers that equal [`COUNTED`].
#[derive(Clone)]
struct CountTens(Count);

impl Consume for CountTens {
    #[inline(always)]
    fn consume(&mut self, _offset: u64, bytes: &[u8]) -> u64 {
        (self.0)(bytes, COUNTED)
    }
}
