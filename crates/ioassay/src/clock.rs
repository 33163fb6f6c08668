//! The OS's clocks, and the time of a run.

use model::agent::Clocks;
use rustix::thread::nanosleep;
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::time::{Duration, Instant};

/// How long before a moment the wait for it no longer sleeps: waking up takes tens of
/// microseconds, and on a virtual machine more.
const SPIN_NS: u64 = 200_000;

/// All clocks now.
pub fn now() -> Clocks {
    Clocks { monotonic_ns: now_ns(ClockId::Monotonic), utc_ns: now_ns(ClockId::Realtime) }
}

/// Waits until the monotonic clock says `ns`; returns at once if it did.
pub fn wait_until(ns: u64) {
    loop {
        let left = ns.saturating_sub(now_ns(ClockId::Monotonic));
        match left.saturating_sub(SPIN_NS) {
            _ if left == 0 => return,
            0 => std::hint::spin_loop(),
            early => {
                let seconds = i64::try_from(early / 1_000_000_000).unwrap_or(i64::MAX);
                let time = Timespec { tv_sec: seconds, tv_nsec: (early % 1_000_000_000) as i64 };
                // A signal ends it sooner; then it sleeps again.
                let _ = nanosleep(&time);
            }
        }
    }
}

/// The time of a run, without that between an interruption and its resumption.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunClock {
    began: Instant,
    /// How long it had lasted when it was interrupted.
    lasted: Duration,
}

impl RunClock {
    /// Starts the clock of a run that had `lasted` so long before.
    pub(crate) fn start(lasted: Duration) -> RunClock {
        RunClock { began: Instant::now(), lasted }
    }

    /// The time since the run began.
    pub(crate) fn passed(&self) -> Duration {
        self.lasted.saturating_add(self.began.elapsed())
    }

    /// The same in milliseconds.
    pub(crate) fn at_ms(&self) -> u64 {
        u64::try_from(self.passed().as_millis()).unwrap_or(u64::MAX)
    }

    /// The time since this process started it.
    pub(crate) fn here(&self) -> Duration {
        self.began.elapsed()
    }
}

fn now_ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_does_not_end_early() {
        let until = now().monotonic_ns + 3_000_000;
        wait_until(until);
        assert!(now().monotonic_ns >= until);
        wait_until(0);
    }
}
