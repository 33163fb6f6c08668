//! The timed loop. Every engine that moves blocks runs through it and through no other.
//!
//! It is compiled once for each engine and each way to touch, so that nothing is chosen while the
//! clock runs. Between the barrier and the end it neither allocates nor locks nor logs, and makes
//! no system call but the engine's.

use crate::clock::{Clock, os_now_ns};
use crate::engine::BlockIo;
use crate::meter::Meter;
use model::case::FileWork;
use model::pattern::Visits;
use model::sample::Span;
use std::io;

/// What one thread is to read.
#[derive(Debug)]
pub struct Walk {
    visits: Visits,
    depth: usize,
    repeats: bool,
    time_ns: u64,
}

impl Walk {
    /// The part of `thread` in `work`, in the order that `seed` decides.
    pub fn new(work: &FileWork, thread: u32, seed: u64) -> Walk {
        Walk {
            visits: work.visits(thread, seed),
            depth: work.depth as usize,
            repeats: work.repeats(),
            time_ns: u64::try_from(work.time.as_nanos()).unwrap_or(u64::MAX),
        }
    }

    /// Offset and length of the `index`-th block of this thread; the file's last may be short.
    #[inline(always)]
    fn block(&self, index: u64) -> (u64, usize) {
        let (offset, length) = self.visits.block(index);
        (offset, length as usize)
    }
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
    slots: Box<[Slot]>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    since_ns: u64,
    offset: u64,
    length: usize,
}

impl Desk {
    /// A desk for `depth` operations in flight.
    pub fn new(depth: usize) -> Desk {
        Desk { meter: Meter::new(), slots: vec![Slot::default(); depth].into_boxed_slice() }
    }

    /// What was metered.
    pub fn meter(&self) -> &Meter {
        &self.meter
    }
}

/// Reads the blocks of `walk` until its time is over, or, if it does not repeat, until each was
/// read once. What is in flight at the end is waited for and counts.
///
/// The stamp that ends the last operation of a pass begins the next pass.
pub fn drive<E: BlockIo, L: Look>(
    io: &mut E,
    walk: &Walk,
    look: &L,
    clock: Clock,
    desk: &mut Desk,
) -> io::Result<Span> {
    let (mut bytes, mut ops, mut digest, mut load_ns) = (0u64, 0u64, 0u64, 0u64);
    let start_ns = os_now_ns();
    let mut now = clock.now_ns();
    let end = now.saturating_add(walk.time_ns);
    loop {
        let began = now;
        io.begin_pass()?;
        now = clock.now_ns();
        if io.loads() {
            load_ns += now.saturating_sub(began);
        }
        let (mut submitted, mut reaped) = (0u64, 0u64);
        while submitted < walk.visits.count() && submitted < walk.depth as u64 {
            let slot = submitted as usize;
            let (offset, length) = walk.block(submitted);
            desk.slots[slot] = Slot { since_ns: now, offset, length };
            io.submit(slot, offset, length)?;
            submitted += 1;
        }
        while reaped < submitted {
            let (slot, block) = io.reap()?;
            let Slot { since_ns, offset, length } = desk.slots[slot];
            digest = digest.wrapping_add(look.look(offset, block));
            now = if E::LOADS_ARE_IO { clock.now_after_loads_ns() } else { clock.now_ns() };
            desk.meter.record(now.saturating_sub(since_ns));
            bytes += length as u64;
            reaped += 1;
            // One stamp ends this operation and begins the next.
            if submitted < walk.visits.count() && (E::ENDS_WITH_PASS || now < end) {
                let (offset, length) = walk.block(submitted);
                desk.slots[slot] = Slot { since_ns: now, offset, length };
                io.submit(slot, offset, length)?;
                submitted += 1;
            }
        }
        ops += reaped;
        if !walk.repeats || reaped < walk.visits.count() || now >= end || reaped == 0 {
            break;
        }
    }
    let end_ns = os_now_ns();
    // Two clocks may disagree by a few nanoseconds in a million.
    let load_ns = load_ns.min(end_ns - start_ns);
    Ok(Span { start_ns, end_ns, bytes, ops, digest, load_ns, ..Span::default() })
}
