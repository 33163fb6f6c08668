//! Clocks for the timed loop.
//!
//! The OS's monotonic clock times spans. The processor's time stamp counter times single operations
//! if the OS itself uses it: reading it costs a third of a call to the OS's clock. Otherwise the
//! OS's clock times both.

use rustix::time::{ClockId, clock_gettime};
use std::sync::OnceLock;
use std::time::Duration;

/// The OS's monotonic clock in nanoseconds.
pub fn os_now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// A clock for single operations.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    /// Nanoseconds per tick of the time stamp counter, times 2³². `None` means use the OS's clock.
    ns_per_tick: Option<u64>,
}

impl Clock {
    /// The best clock on this machine. The first call calibrates it, which takes 20 ms.
    pub fn get() -> Clock {
        static CLOCK: OnceLock<Clock> = OnceLock::new();
        *CLOCK.get_or_init(|| Clock { ns_per_tick: tsc::calibrate(Duration::from_millis(20)) })
    }

    /// Nanoseconds since an arbitrary moment.
    #[inline(always)]
    pub fn now_ns(&self) -> u64 {
        match self.ns_per_tick {
            Some(scale) => to_ns(tsc::read(), scale),
            None => os_now_ns(),
        }
    }

    /// Like [`Clock::now_ns`], but waits for all earlier loads to complete. Without that, an
    /// operation that is itself a load (a touch of a mapping) would appear too short.
    #[inline(always)]
    pub fn now_after_loads_ns(&self) -> u64 {
        match self.ns_per_tick {
            Some(scale) => to_ns(tsc::read_after_loads(), scale),
            None => os_now_ns(),
        }
    }
}

#[inline(always)]
fn to_ns(ticks: u64, scale: u64) -> u64 {
    ((u128::from(ticks) * u128::from(scale)) >> 32) as u64
}

#[cfg(target_arch = "x86_64")]
mod tsc {
    use super::os_now_ns;
    use std::arch::x86_64::{_mm_lfence, _rdtsc};
    use std::time::Duration;

    /// An OS that uses the counter as its clocksource has verified it: it runs at the same rate on
    /// all processors and does not stop when they sleep.
    fn is_trusted() -> bool {
        let source = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
        std::fs::read_to_string(source).is_ok_and(|name| name.trim() == "tsc")
    }

    /// Nanoseconds per tick, times 2³².
    pub(super) fn calibrate(length: Duration) -> Option<u64> {
        if !is_trusted() {
            return None;
        }
        let (start_ns, start) = together();
        std::thread::sleep(length);
        let (end_ns, end) = together();
        let (ns, ticks) = (end_ns - start_ns, end.checked_sub(start)?);
        u64::try_from((u128::from(ns) << 32) / u128::from(ticks.max(1))).ok()
    }

    /// Reads both clocks as close together as possible: the tightest of 20 readings.
    fn together() -> (u64, u64) {
        let reading = || {
            let before = read_after_loads();
            let ns = os_now_ns();
            (read_after_loads() - before, ns, before)
        };
        let (gap, ns, before) =
            (0..20).map(|_| reading()).min().expect("twenty readings were taken");
        (ns, before + gap / 2)
    }

    #[inline(always)]
    pub(super) fn read() -> u64 {
        // SAFETY: RDTSC only reads a register, and every x86-64 processor has it.
        unsafe { _rdtsc() }
    }

    #[inline(always)]
    pub(super) fn read_after_loads() -> u64 {
        // SAFETY: LFENCE is part of SSE2, which every x86-64 processor has. It accesses no memory.
        unsafe { _mm_lfence() };
        read()
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod tsc {
    pub(super) fn calibrate(_: std::time::Duration) -> Option<u64> {
        None
    }

    pub(super) fn read() -> u64 {
        0
    }

    pub(super) fn read_after_loads() -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_clocks_run_at_one_speed() {
        let clock = Clock::get();
        let start = [os_now_ns(), clock.now_ns(), os_now_ns()];
        std::thread::sleep(Duration::from_millis(50));
        let end = [os_now_ns(), clock.now_after_loads_ns(), os_now_ns()];
        // Whatever comes between two readings, each is between two of the OS's.
        let length = (end[1] - start[1]) as f64;
        let [least, most] = [end[0] - start[2], end[2] - start[0]].map(|ns| ns as f64);
        assert!(0.99 * least <= length && length <= 1.01 * most, "{start:?} to {end:?}");
    }
}
