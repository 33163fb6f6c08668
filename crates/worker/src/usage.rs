//! What the OS counts for this process and its threads, read by the worker itself.
//!
//! From outside, a trial's counters would include what follows it: exporting its histograms and
//! verifying its arrays. So each thread reads its own counters just before its span begins and just
//! after it ends.

use model::sample::{Seat, Span, Usage};
use rustix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;
use witness::counters::parse_run_delay;

/// Reads the counters of the thread that created it.
#[derive(Debug)]
pub struct Counter {
    /// `None` if the OS has no such file.
    schedstat: Option<File>,
}

/// A thread's counters at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    cpu_ns: u64,
    run_delay_ns: Option<u64>,
    seat: Option<Seat>,
}

impl Counter {
    /// A counter for the calling thread, which must also be the one that reads it.
    pub fn of_this_thread() -> Counter {
        Counter { schedstat: File::open("/proc/thread-self/schedstat").ok() }
    }

    /// Reads the counters, without allocating.
    pub fn read(&self) -> Reading {
        let mut text = [0; 80];
        let length = self.schedstat.as_ref().and_then(|file| file.read_at(&mut text, 0).ok());
        let run_delay_ns = length.and_then(|length| parse_run_delay(&text[..length]));
        Reading { cpu_ns: nanoseconds(ClockId::ThreadCPUTime), run_delay_ns, seat: seat() }
    }
}

impl Reading {
    /// Adds to `span` what was counted between this reading and `end`.
    pub fn tell(self, end: Reading, span: Span) -> Span {
        let waited = |end_ns: u64| Some(end_ns.saturating_sub(self.run_delay_ns?));
        Span {
            cpu_ns: Some(end.cpu_ns.saturating_sub(self.cpu_ns)),
            run_delay_ns: end.run_delay_ns.and_then(waited),
            start_seat: self.seat,
            end_seat: end.seat,
            ..span
        }
    }
}

/// CPU time of the calling thread in nanoseconds.
pub(crate) fn of_this_thread_ns() -> u64 {
    nanoseconds(ClockId::ThreadCPUTime)
}

/// The counters of the whole process, including kernel threads that work for it.
pub fn of_process() -> Usage {
    let cpu_ns = Some(nanoseconds(ClockId::ProcessCPUTime));
    Usage { cpu_ns, ..resources(libc::RUSAGE_SELF) }
}

/// What the children of this process used that it has waited for, with theirs. Their CPU time is
/// the sum of both modes, in which the OS counts it exactly.
pub fn of_children() -> Usage {
    let used = resources(libc::RUSAGE_CHILDREN);
    let sum = |(user, system): (u64, u64)| user.saturating_add(system);
    Usage { cpu_ns: used.user_ns.zip(used.system_ns).map(sum), ..used }
}

/// The peak of this process's memory in bytes; `None` if the OS does not tell.
pub(crate) fn peak_bytes() -> Option<u64> {
    rusage(libc::RUSAGE_SELF).and_then(|used| of_maxrss(&used))
}

/// The peak of memory in bytes: the OS counts kilobytes.
pub(crate) fn of_maxrss(used: &libc::rusage) -> Option<u64> {
    Some(u64::try_from(used.ru_maxrss).ok()? << 10)
}

/// What the OS counts of `whom`; `None` if it does not tell.
fn rusage(whom: libc::c_int) -> Option<libc::rusage> {
    // SAFETY: all fields are integers, for which zero is valid.
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the call writes only to `used`, which outlives it.
    (unsafe { libc::getrusage(whom, &raw mut used) } == 0).then_some(used)
}

/// What the OS counts of `whom`, without exact CPU time.
fn resources(whom: libc::c_int) -> Usage {
    let Some(used) = rusage(whom) else { return Usage::default() };
    let count = |count: libc::c_long| u64::try_from(count).ok();
    let time_ns = |time: libc::timeval| {
        let (seconds, microseconds) = (count(time.tv_sec)?, count(time.tv_usec)?);
        Some(seconds * 1_000_000_000 + microseconds * 1000)
    };
    Usage {
        cpu_ns: None,
        user_ns: time_ns(used.ru_utime),
        system_ns: time_ns(used.ru_stime),
        minor_faults: count(used.ru_minflt),
        major_faults: count(used.ru_majflt),
        switches_voluntary: count(used.ru_nvcsw),
        switches_involuntary: count(used.ru_nivcsw),
    }
}

/// What the process used between two moments.
#[derive(Debug, Default)]
pub struct Between {
    begin: OnceLock<Usage>,
    end: OnceLock<Usage>,
}

impl Between {
    /// Marks the first moment. Later calls have no effect.
    pub fn begin(&self) {
        self.begin.get_or_init(of_process);
    }

    /// Marks the second moment. Later calls have no effect.
    pub fn end(&self) {
        self.end.get_or_init(of_process);
    }

    /// What was used between them; all unknown if a moment was never marked.
    pub fn usage(&self) -> Usage {
        match (self.begin.get(), self.end.get()) {
            (Some(begin), Some(end)) => end.since(*begin),
            _ => Usage::default(),
        }
    }
}

fn nanoseconds(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The CPU and node that this thread runs on now.
fn seat() -> Option<Seat> {
    let (mut cpu, mut node) = (0u32, 0u32);
    let none = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: the call writes only to `cpu` and `node`, which outlive it.
    let outcome = unsafe { libc::syscall(libc::SYS_getcpu, &raw mut cpu, &raw mut node, none) };
    (outcome == 0).then_some(Seat { cpu, node })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    fn burn(time: Duration) {
        let began = Instant::now();
        while began.elapsed() < time {
            std::hint::black_box(0);
        }
    }

    #[test]
    fn a_thread_counts_its_own_time_and_no_others() {
        let counter = Counter::of_this_thread();
        let begin = counter.read();
        #[expect(clippy::disallowed_methods, reason = "a test may panic")]
        let other = std::thread::spawn(|| burn(Duration::from_millis(30)));
        other.join().expect("it only burns");
        let idle = begin.tell(counter.read(), Span::default());
        burn(Duration::from_millis(5));
        let busy = begin.tell(counter.read(), Span::default());
        // The other thread used at most 30 ms; starting it and waiting for it takes far less.
        assert!(idle.cpu_ns.is_some_and(|ns| ns < 20_000_000), "{idle:?}");
        assert!(busy.cpu_ns > idle.cpu_ns, "{busy:?} after {idle:?}");
        assert!(busy.end_seat.is_some(), "{busy:?}");
    }

    #[test]
    fn a_process_counts_all_its_threads() {
        let between = Between::default();
        assert_eq!(between.usage(), Usage::default());
        between.begin();
        #[expect(clippy::disallowed_methods, reason = "a test may panic")]
        let other = std::thread::spawn(|| {
            let counter = Counter::of_this_thread();
            let begin = counter.read();
            burn(Duration::from_millis(30));
            begin.tell(counter.read(), Span::default()).cpu_ns
        });
        let burnt = other.join().expect("it only burns");
        between.end();
        assert!(between.usage().cpu_ns >= burnt, "{between:?}, {burnt:?}");
        assert!(between.usage().minor_faults.is_some());
    }
}
