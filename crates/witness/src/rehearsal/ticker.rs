//! A timer that ends a thread's waits now and then, so that it can look at other things.

use std::ffi::c_int;
use std::io;
use std::ptr;

/// The signal of the timer: where nobody expects it, it is ignored.
const TICK: c_int = libc::SIGURG;

/// Nanoseconds between two ticks: the longest time before a wish to stop is seen.
const PERIOD_NS: libc::c_long = 50_000_000;

/// While this lives, calls of the thread that made it end early with `EINTR`, every 50 ms.
pub(crate) struct Ticker {
    timer: libc::timer_t,
    before: libc::sigaction,
}

extern "C" fn nothing(_: c_int) {}

impl Ticker {
    pub(crate) fn new() -> io::Result<Ticker> {
        let handler: extern "C" fn(c_int) = nothing;
        let check = |outcome| match outcome {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        };
        // SAFETY: the structures are plain numbers, which zeros initialize. The calls read them or
        // write to them, and they outlive the calls. The handler does nothing, which is safe at
        // any moment. Without `SA_RESTART`, the signal ends a wait.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as *const () as libc::sighandler_t;
            let mut before = std::mem::zeroed();
            check(libc::sigaction(TICK, &raw const action, &raw mut before))?;
            let mut event: libc::sigevent = std::mem::zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = TICK;
            event.sigev_notify_thread_id = rustix::thread::gettid().as_raw_nonzero().get();
            let mut timer = ptr::null_mut();
            let clock = libc::CLOCK_MONOTONIC;
            check(libc::timer_create(clock, &raw mut event, &raw mut timer))?;
            let ticker = Ticker { timer, before };
            let period = libc::timespec { tv_sec: 0, tv_nsec: PERIOD_NS };
            let times = libc::itimerspec { it_interval: period, it_value: period };
            check(libc::timer_settime(timer, 0, &raw const times, ptr::null_mut()))?;
            Ok(ticker)
        }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        // SAFETY: the timer is there and used by nothing else. A last signal meets the handler or
        // is ignored.
        unsafe {
            libc::timer_delete(self.timer);
            libc::sigaction(TICK, &raw const self.before, ptr::null_mut());
        }
    }
}
