//! The gate that all threads of a team wait at, and the moment at which the first of them begins.
//!
//! To wake a thread takes the OS microseconds, hundreds of them milliseconds. They wait on one
//! word that no lock protects, so that a thread that is awake waits for nobody. Where each has a
//! processor, those that are awake also spin until the last one is: they then begin together.
//! Where there are more threads than processors spinning would keep the others from waking.

use crate::usage::Between;
use rustix::thread::futex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A thread spins for the others this long at most: they may wait for a processor that another
/// program has.
const SPIN_MOST: Duration = Duration::from_millis(2);

const CLOSED: u32 = 0;
const OPEN: u32 = 1;
/// Nobody begins.
const SHUT: u32 = 2;

/// Where threads wait to begin.
#[derive(Debug)]
pub struct Gate {
    state: AtomicU32,
    threads: u32,
    /// Whether each thread has a processor.
    spins: bool,
    awake: AtomicU32,
    start: Start,
    /// What the process used since the threads began.
    used: Between,
}

/// When the first thread began. The time of a trial is that of all its threads: who wakes late has
/// less of it, and all end together.
#[derive(Debug, Default)]
pub struct Start {
    /// 0 as long as none began.
    first_ns: AtomicU64,
}

impl Start {
    /// How long after the first thread one begins that begins at `now_ns`.
    pub fn late_ns(&self, now_ns: u64) -> u64 {
        let first = self.first_ns.compare_exchange(0, now_ns, Ordering::Relaxed, Ordering::Relaxed);
        first.map_or_else(|first_ns| now_ns.saturating_sub(first_ns), |_| 0)
    }
}

impl Gate {
    /// A gate for so many threads.
    pub fn new(threads: u32) -> Gate {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Gate {
            state: AtomicU32::new(CLOSED),
            threads,
            spins: threads > 1 && threads as usize <= processors,
            awake: AtomicU32::new(0),
            start: Start::default(),
            used: Between::default(),
        }
    }

    /// Lets all begin, or none.
    pub fn decide(&self, begins: bool) {
        if begins && !self.spins {
            self.used.begin();
        }
        self.state.store(if begins { OPEN } else { SHUT }, Ordering::Release);
        // It fails only for an address that is none.
        let _ = futex::wake(&self.state, futex::Flags::PRIVATE, i32::MAX as u32);
    }

    /// Waits until it is decided whether to begin.
    pub fn pass(&self) -> bool {
        while self.state.load(Ordering::Acquire) == CLOSED {
            // It ends early by a signal, or where the word has changed: then it is looked at again.
            let _ = futex::wait(&self.state, futex::Flags::PRIVATE, CLOSED, None);
        }
        let begins = self.state.load(Ordering::Acquire) == OPEN;
        if begins && self.spins {
            self.gather();
        }
        begins
    }

    /// Spins until all threads are awake.
    fn gather(&self) {
        if self.awake.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.used.begin();
            // All leave now: this is one more than there are.
            self.awake.fetch_add(1, Ordering::Release);
            return;
        }
        let began = Instant::now();
        while self.awake.load(Ordering::Acquire) <= self.threads && began.elapsed() < SPIN_MOST {
            std::hint::spin_loop();
        }
        // Who no longer waits for the last one begins without it; later calls do nothing.
        self.used.begin();
    }

    /// When the first thread began.
    pub fn start(&self) -> &Start {
        &self.start
    }

    /// What the process used: it ends when the last thread is done.
    pub fn used(&self) -> &Between {
        &self.used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of `threads` threads begin.
    fn check(threads: u32, begins: bool) {
        let gate = Gate::new(threads);
        let began = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                #[expect(clippy::disallowed_methods, reason = "a test may panic")]
                scope.spawn(|| {
                    let passed = gate.pass();
                    began.fetch_add(u32::from(passed), Ordering::SeqCst);
                });
            }
            gate.decide(begins);
        });
        assert_eq!(began.into_inner(), if begins { threads } else { 0 });
    }

    #[test]
    fn all_begin_or_none_however_many_they_are() {
        for threads in [1, 2, 3, 40] {
            check(threads, true);
            check(threads, false);
        }
    }

    #[test]
    fn who_begins_later_is_late() {
        let start = Start::default();
        assert_eq!([500, 700, 400, 500].map(|now_ns| start.late_ns(now_ns)), [0, 200, 0, 0]);
    }
}
