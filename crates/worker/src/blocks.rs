//! Has a team move blocks: each thread by an engine of its own, through the one loop.

use crate::clock::Clock;
use crate::drive::{Consume, LoopState, ThreadPlan, drive};
use crate::engine::{BlockIo, Obstacle, Range};
use crate::gate::Start;
use crate::reporter::{Client, JobReporter, ThreadPart};
use crate::team::{self, TeamMember, ThreadCounters};
use kernel::Digest;
use model::case::Io;
use model::pattern::{Pattern, Share};
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

/// The bytes of a file that `thread` visits. If they are not one contiguous run, these are all that
/// are used.
pub fn range_of(io: &Io, thread: u32) -> Range {
    let Io { pattern, share, block, sizes, offset, size, .. } = *io;
    if pattern != Pattern::Sequential || share != Share::Contiguous || sizes.is_some() {
        return Range { offset, length: size };
    }
    let steps = io.steps(thread);
    let first = steps.first * block;
    Range { offset: offset + first, length: (steps.count * block).min(size - first) }
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::sample::select;

    const PASSES: &[Pattern] = &[Pattern::Sequential, Pattern::Random, Pattern::Strided];

    proptest! {
        #[test]
        fn the_range_of_a_thread_has_all_its_blocks_and_nothing_outside_the_part(
            (pattern, share) in (select(PASSES), select(Share::ALL)),
            (offset, size) in (0u64..1 << 50, 1u64..300_000),
            (block, threads) in (1u64..5_000, 1u32..9),
        ) {
            let io = Io { pattern, share, offset, size, block, threads, ..Io::default() };
            for thread in 0..threads {
                let Range { offset: first, length } = range_of(&io, thread);
                prop_assert!(first >= offset && first + length <= offset + size);
                let visits = io.visits(thread, 7);
                for (start, block) in (0..visits.count()).map(|index| visits.block(index)) {
                    prop_assert!(start >= first && start + block <= first + length);
                }
            }
        }
    }
}
