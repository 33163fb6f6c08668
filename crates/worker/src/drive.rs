//! The timed loop. Every engine that moves blocks runs through it and through no other.
//!
//! It is compiled once for each engine and each way to touch, so that nothing is chosen while the
//! clock runs. Between the barrier and the end it neither allocates nor locks nor logs, and makes
//! no system call but the engine's.

use crate::clock::{Clock, os_now_ns};
use crate::engine::BlockIo;
use crate::gate::Start;
use crate::meter::Meter;
use crate::progress::Progress;
use model::case::{Op, ReadWork, Sync, WriteWork};
use model::pattern::Visits;
use model::sample::{Latencies, Span};
use std::io;
use std::time::Duration;

/// One thread's part of the work.
#[derive(Debug)]
pub struct Walk {
    visits: Visits,
    depth: usize,
    repeats: bool,
    time_ns: u64,
    syncing: Syncing,
}

/// When a thread has what it wrote made durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Syncing {
    /// Never.
    Never,
    /// Each write is durable when it returns.
    Writes,
    /// By a call after so many blocks each, and one at the end.
    Calls { every: u64 },
}

impl Walk {
    /// The part of `thread` in `work`, in the order that `seed` decides.
    pub fn of_read(work: &ReadWork, thread: u32, seed: u64) -> Walk {
        Walk {
            visits: work.io.visits(thread, seed),
            depth: work.io.depth as usize,
            repeats: work.repeats(),
            time_ns: whole_ns(work.io.time),
            syncing: Syncing::Never,
        }
    }

    /// The part of `thread` in `work`, in the order that `seed` decides.
    pub fn of_write(work: &WriteWork, thread: u32, seed: u64) -> Walk {
        let syncing = match work.sync {
            Sync::None => Syncing::Never,
            Sync::Dsync => Syncing::Writes,
            _ if work.op == Op::Sync => Syncing::Calls { every: 1 },
            _ if work.every == 0 => Syncing::Calls { every: u64::MAX },
            _ => Syncing::Calls { every: work.every },
        };
        Walk {
            visits: work.io.visits(thread, seed),
            depth: work.io.depth as usize,
            repeats: work.repeats(),
            time_ns: whole_ns(work.io.time),
            syncing,
        }
    }

    /// Offset and length of the `index`-th block of this thread; the file's last may be short.
    #[inline(always)]
    fn block(&self, index: u64) -> (u64, usize) {
        let (offset, length) = self.visits.block(index);
        (offset, length as usize)
    }
}

fn whole_ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Does something with the bytes of a block that came from an offset: the answers are added up.
pub trait Look {
    /// Looks at `bytes`, which are the file's at `offset`.
    fn look(&self, offset: u64, bytes: &[u8]) -> u64;
}

/// Slots and counters that the loop needs, allocated before the clock starts.
#[derive(Debug)]
pub struct Desk {
    meter: Meter,
    progress: Progress,
    syncs: Syncs,
    slots: Box<[Slot]>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    since_ns: u64,
    offset: u64,
    length: usize,
}

/// The syncs of one thread that were calls of their own.
#[derive(Debug, Default)]
struct Syncs {
    meter: Meter,
    total_ns: u64,
    last: Option<Synced>,
}

/// A sync.
#[derive(Debug, Clone, Copy)]
struct Synced {
    /// How many operations were complete before it.
    ops: u64,
    /// When the last of them had returned.
    accepted_ns: u64,
    /// When it had returned itself.
    synced_ns: u64,
}

impl Syncs {
    /// How many operations are complete when the next sync is due; never on the way, if there is
    /// one at the end only.
    #[inline(always)]
    fn due(&self, walk: &Walk) -> u64 {
        match walk.syncing {
            Syncing::Never | Syncing::Writes => u64::MAX,
            Syncing::Calls { every } => self.last.map_or(0, |last| last.ops).saturating_add(every),
        }
    }
}

impl Desk {
    /// A desk of one of `threads` threads, for `depth` operations in flight and a trial of `time`.
    pub fn new(depth: u32, threads: u32, time: Duration) -> Desk {
        Desk {
            meter: Meter::new(),
            progress: Progress::new(time, threads),
            syncs: Syncs::default(),
            slots: vec![Slot::default(); depth as usize].into_boxed_slice(),
        }
    }

    /// Latencies of the operations.
    pub fn latencies(&self) -> Latencies {
        self.meter.latencies()
    }

    /// Latencies of the syncs that were calls of their own.
    pub fn syncs(&self) -> Latencies {
        self.syncs.meter.latencies()
    }

    /// The steps of [`Span::progress`] of the `span` that was driven.
    pub fn progress(&self, span: &Span) -> Vec<u64> {
        self.progress.steps(span.end_ns - span.start_ns, span.bytes)
    }
}

/// The state so far.
#[derive(Default)]
struct Done {
    /// The time that there is for it.
    time_ns: u64,
    bytes: u64,
    ops: u64,
    digest: u64,
    load_ns: u64,
}

/// Moves the blocks of `walk` until its time is over, or, if it does not repeat, until each was
/// moved once. What is in flight at the end is waited for and counts; then it is synced.
///
/// The time is counted from the `start` of the first thread. The stamp that ends the last operation
/// of a pass begins the next pass. The span's progress is at the desk: see [`Desk::progress`].
///
/// # Errors
/// That of the engine. Where it writes, with the bytes that this thread had written before.
pub fn drive<E: BlockIo, L: Look>(
    io: &mut E,
    walk: &Walk,
    look: &L,
    clock: Clock,
    desk: &mut Desk,
    start: &Start,
) -> io::Result<Span> {
    let start_ns = os_now_ns();
    let time_ns = walk.time_ns.saturating_sub(start.late_ns(start_ns));
    let mut done = Done { time_ns, ..Done::default() };
    let driven = passes(io, walk, look, clock, desk, &mut done)
        .and_then(|()| finish(io, walk, clock, desk, done.ops));
    let Done { bytes, ops, digest, load_ns, .. } = done;
    let (end_ns, synced_ns) = driven.map_err(|error| match E::WRITES {
        true => {
            let written = bytes - io.kept();
            let text = format!("{error}; {written} bytes of earlier blocks were written");
            io::Error::new(error.kind(), text)
        }
        false => error,
    })?;
    // Two clocks may disagree by a few nanoseconds in a million.
    let load_ns = load_ns.min(end_ns - start_ns);
    let sync_ns = desk.syncs.total_ns;
    let digest = Some(digest);
    let told = Span { start_ns, end_ns, bytes, ops, digest, load_ns, ..Span::default() };
    Ok(Span { synced_ns, sync_ns, ..told })
}

/// The loop itself.
#[inline(always)]
fn passes<E: BlockIo, L: Look>(
    io: &mut E,
    walk: &Walk,
    look: &L,
    clock: Clock,
    desk: &mut Desk,
    done: &mut Done,
) -> io::Result<()> {
    let count = walk.visits.count();
    let mut now = clock.now_ns();
    let end = now.saturating_add(done.time_ns);
    desk.progress.start(now);
    loop {
        let began = now;
        io.begin_pass()?;
        now = clock.now_ns();
        if io.loads() {
            done.load_ns += now.saturating_sub(began);
        }
        let (mut submitted, mut reaped) = (0u64, 0u64);
        let before = done.ops;
        loop {
            // No block is begun before a sync that is due when those before it are complete.
            let stop = if E::WRITES { count.min(desk.syncs.due(walk) - before) } else { count };
            while submitted < stop && submitted - reaped < walk.depth as u64 {
                let slot = (submitted - reaped) as usize;
                let (offset, length) = walk.block(submitted);
                desk.slots[slot] = Slot { since_ns: now, offset, length };
                io.submit(slot, offset, length)?;
                submitted += 1;
            }
            while reaped < submitted {
                let (slot, block) = io.reap()?;
                let Slot { since_ns, offset, length } = desk.slots[slot];
                done.digest = done.digest.wrapping_add(look.look(offset, block));
                now = if E::LOADS_ARE_IO { clock.now_after_loads_ns() } else { clock.now_ns() };
                if E::MOVES {
                    desk.meter.record(now.saturating_sub(since_ns));
                    desk.progress.reach(now, done.bytes);
                    done.bytes += length as u64;
                }
                reaped += 1;
                // One stamp ends this operation and begins the next.
                if submitted < stop && (E::ENDS_WITH_PASS || now < end) {
                    let (offset, length) = walk.block(submitted);
                    desk.slots[slot] = Slot { since_ns: now, offset, length };
                    io.submit(slot, offset, length)?;
                    submitted += 1;
                }
            }
            done.ops = before + reaped;
            if E::WRITES && done.ops == desk.syncs.due(walk) {
                now = sync(io, clock, desk, done.ops)?;
            }
            if !E::WRITES || reaped == count || now >= end {
                break;
            }
        }
        if !walk.repeats || reaped < count || now >= end || reaped == 0 {
            return Ok(());
        }
    }
}

/// Has what was written made durable, in a call of its own. Answers when it had returned.
#[inline(never)]
fn sync<E: BlockIo>(io: &mut E, clock: Clock, desk: &mut Desk, ops: u64) -> io::Result<u64> {
    io.flush()?;
    let accepted_ns = os_now_ns();
    let since = clock.now_ns();
    io.sync()?;
    let now = clock.now_ns();
    let latency_ns = now.saturating_sub(since);
    desk.syncs.meter.record(latency_ns);
    desk.syncs.total_ns += latency_ns;
    desk.syncs.last = Some(Synced { ops, accepted_ns, synced_ns: os_now_ns() });
    Ok(now)
}

/// Ends what was driven: syncs what was written since the last sync. Answers when the last block
/// had been moved, and when the last sync had returned.
fn finish<E: BlockIo>(
    io: &mut E,
    walk: &Walk,
    clock: Clock,
    desk: &mut Desk,
    ops: u64,
) -> io::Result<(u64, Option<u64>)> {
    if E::WRITES {
        io.flush()?;
    }
    let end_ns = os_now_ns();
    match walk.syncing {
        Syncing::Never => Ok((end_ns, None)),
        Syncing::Writes => Ok((end_ns, Some(end_ns))),
        Syncing::Calls { .. } => {
            if desk.syncs.last.is_none_or(|last| last.ops < ops) {
                sync(io, clock, desk, ops)?;
            }
            let last = desk.syncs.last.expect("the last operation was synced just now");
            // Where nothing is moved, the syncs are the operations.
            let end_ns = if E::MOVES { last.accepted_ns } else { last.synced_ns };
            Ok((end_ns, Some(last.synced_ns)))
        }
    }
}
