//! Has a team move blocks: each thread by an engine of its own, through the one loop.

use crate::clock::Clock;
use crate::drive::{Consume, LoopState, ThreadPlan, drive};
use crate::engine::{BlockIo, Obstacle, Range};
use crate::gate::Start;
use crate::reporter::{Client, JobReporter, ThreadPart};
use crate::team::{self, TeamMember, ThreadCounters};
use kernel::Digest;
use model::pattern::{Pattern, Share, ThreadSteps};
use model::sample::Span;
use std::io;

/// One thread's engine, its part of the work and its counters.
pub type ThreadWork<E> = (E, ThreadPlan, LoopState);

/// A team member that moves blocks.
struct Mover<'a, E, L> {
    thread: u32,
    /// The engine's name, for errors.
    name: &'a str,
    io: E,
    plan: ThreadPlan,
    state: LoopState,
    consumer: L,
    clock: Clock,
}

impl<E: BlockIo, L: Consume> TeamMember for Mover<'_, E, L> {
    type Timed = io::Result<Span>;
    type Report = ThreadPart;

    fn perform(&mut self, start: &Start) -> io::Result<Span> {
        let (plan, consumer) = (&self.plan, &mut self.consumer);
        drive(&mut self.io, plan, consumer, self.clock, &mut self.state, start)
    }

    fn let_go(&mut self) {
        self.io.let_go();
    }

    fn tell(
        &mut self,
        timed: io::Result<Span>,
        counted: ThreadCounters,
    ) -> Result<ThreadPart, Obstacle> {
        let span = timed.map_err(|error| obstacle(self.name, &error))?;
        let span = self.consumer.tell(Span { thread: self.thread, ..span });
        let span = counted.tell(self.state.tell(span));
        let (latencies, syncs) = (self.state.latencies(), self.state.syncs());
        let (responses, reads) = (self.state.responses(), self.state.reads());
        Ok(ThreadPart { span, latencies, syncs, responses, reads })
    }
}

/// Runs `threads` threads, each with its own result of `make`, and reports the outcome to the
/// client. Each gets its own `consumer`. `name` is the engine's, for errors.
pub fn move_blocks<E: BlockIo, L: Consume + Sync>(
    name: &str,
    threads: u32,
    make: impl Fn(u32) -> Result<ThreadWork<E>, Obstacle> + Sync,
    consumer: &L,
    client: &mut dyn Client,
) {
    let clock = Clock::get();
    let prepare = |thread| {
        let (io, plan, state) = make(thread)?;
        let consumer = consumer.clone();
        Ok(Mover { thread, name, io, plan, state, consumer, clock })
    };
    team::run(threads, prepare, &mut JobReporter::new(client));
}

fn obstacle(name: &str, error: &io::Error) -> Obstacle {
    let text = format!("{name}: {error}");
    match error.kind() {
        io::ErrorKind::Unsupported => Obstacle::Unavailable(text),
        _ => Obstacle::Failed(text),
    }
}

/// The bytes of a file of `size` that a thread visits. If they are not one contiguous run, this is
/// the whole file.
pub fn range_of(
    pattern: Pattern,
    share: Share,
    steps: ThreadSteps,
    block: u64,
    size: u64,
) -> Range {
    if pattern != Pattern::Sequential || share != Share::Contiguous {
        return Range { offset: 0, length: size };
    }
    let offset = steps.first * block;
    Range { offset, length: (steps.count * block).min(size - offset) }
}

/// Touch none: the loop ignores the bytes, which may not even be in the program's memory.
#[derive(Debug, Clone)]
pub struct Ignore;

impl Consume for Ignore {
    #[inline(always)]
    fn consume(&mut self, _offset: u64, _bytes: &[u8]) -> u64 {
        0
    }
}

/// Touch sum: the digest of all bytes.
#[derive(Debug, Clone)]
pub struct DigestBlocks(pub Digest);

impl Consume for DigestBlocks {
    #[inline(always)]
    fn consume(&mut self, offset: u64, bytes: &[u8]) -> u64 {
        (self.0)(offset, bytes)
    }
}
