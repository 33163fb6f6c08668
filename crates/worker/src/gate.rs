//! The gate at which a team's threads wait, and the moment at which the first of them begins.
//!
//! Waking one thread takes microseconds, and waking hundreds takes milliseconds. The threads wait
//! on one lock-free word, so a thread that is awake waits for no other. If every thread has a
//! processor, those that are awake spin until the last one is, and all begin together. With more
//! threads than processors, spinning would delay the others.

use crate::usage::Between;
use rustix::thread::futex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Maximum time that a thread spins for the others, which may be waiting for a processor that
/// another program is using.
const SPIN_MOST: Duration = Duration::from_millis(2);

const CLOSED: u32 = 0;
const OPEN: u32 = 1;
/// No thread begins.
const SHUT: u32 = 2;

/// Where threads wait to begin.
#[derive(Debug)]
pub struct StartGate {
    state: AtomicU32,
    threads: u32,
    /// Whether there are enough processors for all threads.
    spins: bool,
    awake: AtomicU32,
    start: Start,
    /// What the process has used since the threads began.
    used: Between,
}

/// When the first thread began. All threads share the trial's time: one that wakes late has less of
/// it, and all end together.
#[derive(Debug, Default)]
pub struct Start {
    /// 0 until a thread has begun.
    first_ns: AtomicU64,
}

impl Start {
    /// How long after the first thread a thread begins that begins at `now_ns`.
    pub fn late_ns(&self, now_ns: u64) -> u64 {
        let first = self.first_ns.compare_exchange(0, now_ns, Ordering::Relaxed, Ordering::Relaxed);
        first.map_or_else(|first_ns| now_ns.saturating_sub(first_ns), |_| 0)
    }
}

impl StartGate {
    /// A gate for `threads` threads.
    pub fn new(threads: u32) -> StartGate {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        StartGate {
            state: AtomicU32::new(CLOSED),
            threads,
            spins: threads > 1 && threads as usize <= processors,
            awake: AtomicU32::new(0),
            start: Start::default(),
            used: Between::default(),
        }
    }

    /// Lets all threads begin, or none.
    pub fn decide(&self, begins: bool) {
        if begins && !self.spins {
            self.used.begin();
        }
        self.state.store(if begins { OPEN } else { SHUT }, Ordering::Release);
        // This can fail only for an invalid address.
        let _ = futex::wake(&self.state, futex::Flags::PRIVATE, i32::MAX as u32);
    }

    /// Waits for the decision and returns it: whether to begin.
    pub fn pass(&self) -> bool {
        while self.state.load(Ordering::Acquire) == CLOSED {
            // The wait can end early, on a signal or if the word has changed; the loop checks
            // again.
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
            // Going past the thread count releases all spinning threads.
            self.awake.fetch_add(1, Ordering::Release);
            return;
        }
        let began = Instant::now();
        while self.awake.load(Ordering::Acquire) <= self.threads && began.elapsed() < SPIN_MOST {
            std::hint::spin_loop();
        }
        // A thread that gave up waiting begins without the rest; later calls have no effect.
        self.used.begin();
    }

    /// When the first thread began.
    pub fn start(&self) -> &Start {
        &self.start
    }

    /// What the process used, until the last thread is done.
    pub fn used(&self) -> &Between {
        &self.used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks how many of `threads` threads begin.
    fn check(threads: u32, begins: bool) {
        let gate = StartGate::new(threads);
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
