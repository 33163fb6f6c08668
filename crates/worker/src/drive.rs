//! The timed loop, shared by every engine that moves blocks: closed here, open in `open.rs`.
//!
//! The compiler generates a copy for each engine and touch, so nothing is dispatched while the
//! clock runs. Between the barrier and the end, it does not allocate, lock or log, and the only
//! system calls are the engine's.

mod open;
mod reads;
mod syncs;

use crate::clock::{Clock, os_now_ns};
use crate::engine::BlockIo;
use crate::gate::Start;
use crate::meter::Meter;
use crate::progress::ProgressLog;
use model::arrival::Arrivals;
use model::case::{Io, MetadataWork, NameSync, Op, ReadWork, Sync, WriteWork};
use model::mix::Mix;
use model::pattern::Visits;
use model::sample::{Latencies, Span};
use open::Schedule;
use reads::Reads;
use std::io;
use std::time::Duration;
use syncs::{Synced, Syncs};

/// One thread's part of the work.
#[derive(Debug)]
pub struct ThreadPlan {
    visits: Visits,
    depth: usize,
    repeats: bool,
    time_ns: u64,
    syncing: Syncing,
    /// When operations are due; `None` in a closed loop.
    schedule: Option<Arrivals>,
    /// Which operations of a mixed case read.
    mix: Option<Mix>,
}

/// When a thread makes its writes durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Syncing {
    /// Never.
    Never,
    /// Each write is durable when it returns.
    Writes,
    /// A separate call after every `every` blocks, and one at the end.
    Calls { every: u64 },
}

impl ThreadPlan {
    /// `thread`'s part of `work`, in the order that `seed` determines.
    pub fn of_read(work: &ReadWork, thread: u32, seed: u64) -> ThreadPlan {
        ThreadPlan::new(&work.io, thread, seed, work.repeats(), Syncing::Never)
    }

    /// `thread`'s part of `work`, in the order that `seed` determines.
    pub fn of_write(work: &WriteWork, thread: u32, seed: u64) -> ThreadPlan {
        let syncing = match work.sync {
            Sync::None => Syncing::Never,
            Sync::Dsync => Syncing::Writes,
            _ if work.op == Op::Sync => Syncing::Calls { every: 1 },
            _ if work.every == 0 => Syncing::Calls { every: u64::MAX },
            _ => Syncing::Calls { every: work.every },
        };
        let mix = work.mix(thread, seed);
        ThreadPlan { mix, ..ThreadPlan::new(&work.io, thread, seed, work.repeats(), syncing) }
    }

    /// `thread`'s part of `work`, in the order that `seed` determines.
    pub fn of_metadata(work: &MetadataWork, thread: u32, seed: u64) -> ThreadPlan {
        let syncing = match work.sync {
            NameSync::None => Syncing::Never,
            NameSync::Fsync => Syncing::Writes,
        };
        let seed = MetadataWork::seed_of(thread, seed);
        ThreadPlan::new(&work.io(), 0, seed, work.repeats(), syncing)
    }

    fn new(io: &Io, thread: u32, seed: u64, repeats: bool, syncing: Syncing) -> ThreadPlan {
        ThreadPlan {
            visits: io.visits(thread, seed),
            depth: io.depth as usize,
            repeats,
            time_ns: whole_ns(io.time),
            syncing,
            schedule: io.arrivals(thread, seed),
            mix: None,
        }
    }

    /// Whether an operation has its answer only when a separate sync before the end returns.
    #[inline(always)]
    fn is_answered_by_sync(&self) -> bool {
        matches!(self.syncing, Syncing::Calls { every } if every < u64::MAX)
    }

    /// Offset and length of this thread's `index`-th block. The file's last block may be short.
    #[inline(always)]
    fn block(&self, index: u64) -> (u64, usize) {
        let (offset, length) = self.visits.block(index);
        (offset, length as usize)
    }
}

fn whole_ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Touches the bytes of a block. The loop adds up the results, which become the digest. Each thread
/// has one of its own.
pub trait Consume: Clone {
    /// Touches `bytes`, the file's content at `offset`.
    fn consume(&mut self, offset: u64, bytes: &[u8]) -> u64;

    /// Adds what it counted to a completed `span`.
    fn tell(&self, span: Span) -> Span {
        span
    }
}

/// What the loop writes to, allocated before the clock starts.
#[derive(Debug)]
pub struct LoopState {
    meter: Meter,
    progress: ProgressLog,
    syncs: Syncs,
    slots: Box<[Slot]>,
    open: Option<Box<Schedule>>,
    reads: Option<Box<Reads>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    since_ns: u64,
    offset: u64,
    length: usize,
    /// Whether it reads, in a mixed case.
    is_read: bool,
}

impl LoopState {
    /// For one of the threads that do `io`, by its `plan`.
    pub fn new(io: &Io, plan: &ThreadPlan) -> LoopState {
        let open = plan.schedule.as_ref().map(|schedule| Schedule::new(schedule.clone(), io));
        LoopState {
            meter: Meter::new(),
            progress: ProgressLog::new(io.time, io.threads),
            syncs: Syncs::default(),
            slots: vec![Slot::default(); io.depth as usize].into_boxed_slice(),
            open: open.map(Box::new),
            reads: plan.mix.map(|mix| Box::new(Reads::new(mix))),
        }
    }

    /// Latencies of the operations.
    pub fn latencies(&self) -> Latencies {
        self.meter.latencies()
    }

    /// Latencies of the separate sync calls.
    pub fn syncs(&self) -> Latencies {
        self.syncs.meter.latencies()
    }

    /// Response times of the operations of an open loop.
    pub fn responses(&self) -> Latencies {
        self.open.as_ref().map_or_else(Latencies::default, |open| open.responses())
    }

    /// Latencies of the reads of a mixed case.
    pub fn reads(&self) -> Latencies {
        self.reads.as_ref().map_or_else(Latencies::default, |reads| reads.latencies())
    }

    /// Adds the steps, the reads and what became of a schedule to the completed `span`.
    pub fn tell(&self, span: Span) -> Span {
        let span = match &self.reads {
            Some(reads) => reads.tell(span),
            None => span,
        };
        let progress = self.progress.steps(span.end_ns - span.start_ns, span.bytes);
        let span = Span { progress, ..span };
        match &self.open {
            Some(open) => open.tell(span),
            None => span,
        }
    }
}

/// What the loop has done so far.
#[derive(Default)]
struct Done {
    /// The time limit.
    time_ns: u64,
    bytes: u64,
    ops: u64,
    digest: u64,
    load_ns: u64,
}

/// Moves the blocks of `plan` until the time is up, or once each if it does not repeat. Operations
/// in flight at the end are completed and counted. A final sync follows if the case has separate
/// sync calls.
///
/// Time is counted from the `start` of the first thread. The timestamp that ends a pass also begins
/// the next one. [`LoopState::progress`] returns the span's progress.
///
/// # Errors
/// The engine's error. For an engine that writes, it includes how many bytes this thread had
/// written.
pub fn drive<E: BlockIo, L: Consume>(
    io: &mut E,
    plan: &ThreadPlan,
    consumer: &mut L,
    clock: Clock,
    state: &mut LoopState,
    start: &Start,
) -> io::Result<Span> {
    let start_ns = os_now_ns();
    let time_ns = plan.time_ns.saturating_sub(start.late_ns(start_ns));
    let mut done = Done { time_ns, ..Done::default() };
    let mut open = state.open.take();
    let moved = match &mut open {
        None => passes(io, plan, consumer, clock, state, &mut done),
        Some(open) => open.drive(io, plan, consumer, clock, state, &mut done),
    };
    let driven = moved.and_then(|()| finish(io, plan, clock, state, done.ops));
    if let Some(open) = open.as_mut().filter(|_| plan.is_answered_by_sync()) {
        open.answer(clock.now_ns(), done.ops);
    }
    state.open = open;
    let Done { bytes, ops, digest, load_ns, .. } = done;
    let (end_ns, synced_ns) = driven.map_err(|error| match E::WRITES {
        true => {
            let read = state.reads.as_ref().map_or(0, |reads| reads.bytes());
            let written = bytes - io.kept() - read;
            let text = format!("{error}; {written} bytes of earlier blocks were written");
            io::Error::new(error.kind(), text)
        }
        false => error,
    })?;
    // The two clocks may differ by a few parts per million.
    let load_ns = load_ns.min(end_ns - start_ns);
    let sync_ns = state.syncs.total_ns;
    let digest = Some(digest);
    let told = Span { start_ns, end_ns, bytes, ops, digest, load_ns, ..Span::default() };
    Ok(Span { synced_ns, sync_ns, ..told })
}

/// The loop itself.
#[inline(always)]
fn passes<E: BlockIo, L: Consume>(
    io: &mut E,
    plan: &ThreadPlan,
    consumer: &mut L,
    clock: Clock,
    state: &mut LoopState,
    done: &mut Done,
) -> io::Result<()> {
    let count = plan.visits.count();
    let mut now = clock.now_ns();
    let end = now.saturating_add(done.time_ns);
    state.progress.start(now);
    loop {
        now = begin_pass(io, clock, now, done)?;
        let (mut submitted, mut reaped) = (0u64, 0u64);
        let before = done.ops;
        loop {
            // Blocks after a due sync must not start before it, so the loop stops submitting at
            // that point.
            let stop = if E::WRITES { count.min(state.syncs.due(plan) - before) } else { count };
            while submitted < stop && submitted - reaped < plan.depth as u64 {
                let slot = (submitted - reaped) as usize;
                submit(io, plan, state, slot, submitted, now)?;
                submitted += 1;
            }
            while reaped < submitted {
                let slot;
                (slot, now) = reap(io, consumer, clock, state, done)?;
                reaped += 1;
                // One timestamp ends this operation and begins the next.
                if submitted < stop && (E::ENDS_WITH_PASS || now < end) {
                    submit(io, plan, state, slot, submitted, now)?;
                    submitted += 1;
                }
            }
            done.ops = before + reaped;
            if E::WRITES && done.ops == state.syncs.due(plan) {
                now = sync(io, clock, state, done.ops)?;
            }
            if !E::WRITES || reaped == count || now >= end {
                break;
            }
        }
        if !plan.repeats || reaped < count || now >= end || reaped == 0 {
            return Ok(());
        }
    }
}

/// Begins a pass at `now`. Returns the time after that.
#[inline(always)]
fn begin_pass<E: BlockIo>(io: &mut E, clock: Clock, now: u64, done: &mut Done) -> io::Result<u64> {
    io.begin_pass()?;
    let began = now;
    let now = clock.now_ns();
    if io.loads() {
        done.load_ns += now.saturating_sub(began);
    }
    Ok(now)
}

/// Starts moving the pass's block `index` through `slot` at `now`.
#[inline(always)]
fn submit<E: BlockIo>(
    io: &mut E,
    plan: &ThreadPlan,
    state: &mut LoopState,
    slot: usize,
    index: u64,
    now: u64,
) -> io::Result<()> {
    let (offset, length) = plan.block(index);
    let is_read = E::MIXES && state.reads.as_mut().is_some_and(|reads| reads.is_next());
    state.slots[slot] = Slot { since_ns: now, offset, length, is_read };
    if is_read { io.submit_read(slot, offset, length) } else { io.submit(slot, offset, length) }
}

/// Waits for a block and records it. Returns its slot, now free, and the time.
#[inline(always)]
fn reap<E: BlockIo, L: Consume>(
    io: &mut E,
    consumer: &mut L,
    clock: Clock,
    state: &mut LoopState,
    done: &mut Done,
) -> io::Result<(usize, u64)> {
    let (slot, block) = io.reap()?;
    let Slot { since_ns, offset, length, is_read } = state.slots[slot];
    done.digest = done.digest.wrapping_add(consumer.consume(offset, block));
    let now = if E::LOADS_ARE_IO { clock.now_after_loads_ns() } else { clock.now_ns() };
    if let Some(reads) = state.reads.as_mut().filter(|_| E::MIXES && is_read) {
        reads.record(now.saturating_sub(since_ns), length);
    }
    if E::MOVES {
        state.meter.record(now.saturating_sub(since_ns));
        state.progress.reach(now, done.bytes);
        done.bytes += length as u64;
    }
    Ok((slot, now))
}

/// Makes all writes so far durable with a separate call. Returns the time at which it completed.
#[inline(never)]
fn sync<E: BlockIo>(io: &mut E, clock: Clock, state: &mut LoopState, ops: u64) -> io::Result<u64> {
    io.flush()?;
    let accepted_ns = os_now_ns();
    let since = clock.now_ns();
    io.sync()?;
    let now = clock.now_ns();
    let latency_ns = now.saturating_sub(since);
    state.syncs.meter.record(latency_ns);
    state.syncs.total_ns += latency_ns;
    state.syncs.last = Some(Synced { ops, accepted_ns, synced_ns: os_now_ns() });
    Ok(now)
}

/// Syncs what was written since the last sync. Returns when the last block was moved and when the
/// last sync returned.
fn finish<E: BlockIo>(
    io: &mut E,
    plan: &ThreadPlan,
    clock: Clock,
    state: &mut LoopState,
    ops: u64,
) -> io::Result<(u64, Option<u64>)> {
    if E::WRITES {
        io.flush()?;
    }
    let end_ns = os_now_ns();
    match plan.syncing {
        Syncing::Never => Ok((end_ns, None)),
        Syncing::Writes => Ok((end_ns, Some(end_ns))),
        Syncing::Calls { .. } => {
            if state.syncs.last.is_none_or(|last| last.ops < ops) {
                sync(io, clock, state, ops)?;
            }
            let last = state.syncs.last.expect("the last operation was synced just now");
            // If nothing is moved, the syncs are the operations.
            let end_ns = if E::MOVES { last.accepted_ns } else { last.synced_ns };
            Ok((end_ns, Some(last.synced_ns)))
        }
    }
}
