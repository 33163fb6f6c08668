//! What a running program spends its time on, and what bounds it. Each answer has three outcomes.

use crate::decision::Decision;
use model::named;
use model::running::{Interval, RunningRecord};
use schemars::JsonSchema;
use serde::Serialize;

/// From this share of the time on, something bounds the program.
const BOUND: f64 = 0.9;
/// Up to this share, it does not.
const FREE: f64 = 0.75;
/// What waits bounds from this share of the looks on, and does not up to that one.
const WAITS: f64 = 0.5;
const WAITS_NOT: f64 = 0.25;
/// A quota that stops the program for a smaller share of the time does not bound it.
const THROTTLED_LITTLE: f64 = 0.05;
/// Fewer looks decide nothing.
const LOOKS_LEAST: u32 = 10;

named! {
    /// What may bound a program.
    BoundBy "bound" {
        /// The quota of a control group stops it.
        Quota "quota",
        /// It computes on all processors that it may use.
        Processors "processors",
        /// A thread of it computes all the time.
        Computing "computing",
        /// It is ready to compute, but other programs have the processors.
        OtherPrograms "other-programs",
        /// It waits for devices.
        Device "device",
    }
}

/// Something that may bound the program, and whether it does.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct RunningBound {
    /// What.
    pub by: BoundBy,
    /// Whether it does.
    pub decision: Decision,
    /// The share that decides: of the time that a quota stopped it; of the processors; of the time
    /// that its busiest thread computes; of the time without a processor in that with or ready for
    /// one; of the looks in which it waited for a device. Null if unknown.
    pub share: Option<f64>,
}

/// What the program spent its time on. The shares of looks are of moments in which it was seen so.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct TimeSpent {
    /// CPU time by time: 1 is one processor.
    pub processors: Option<f64>,
    /// The share of this in the kernel.
    pub system_share: Option<f64>,
    /// The share of looks in which a thread ran or was ready to.
    pub running: Option<f64>,
    /// The share of looks in which none ran and one waited as for a device.
    pub blocked: Option<f64>,
    /// The share of looks in which all threads were stopped.
    pub stopped: Option<f64>,
    /// The share of looks in which all threads slept: for a lock, the network, a timer, a user or
    /// a ring. Which, the OS does not tell.
    pub asleep: Option<f64>,
    /// Threads that waited for a device, on average; null unless the OS counts it.
    pub device_waiters: Option<f64>,
}

impl TimeSpent {
    pub(super) fn of(record: &RunningRecord, whole: &Interval) -> TimeSpent {
        let looks = whole.looks;
        let of_looks = |count: u32| {
            (looks.count >= LOOKS_LEAST).then(|| f64::from(count) / f64::from(looks.count))
        };
        let cpu_ns =
            whole.user_ns.zip(whole.system_ns).map(|(user, system)| user.saturating_add(system));
        let seen = looks.running.saturating_add(looks.blocked).saturating_add(looks.stopped);
        TimeSpent {
            processors: cpu_ns.and_then(|cpu_ns| ratio(cpu_ns, whole.length_ns)),
            system_share: cpu_ns.and_then(|cpu_ns| ratio(whole.system_ns?, cpu_ns)),
            running: of_looks(looks.running),
            blocked: of_looks(looks.blocked),
            stopped: of_looks(looks.stopped),
            asleep: of_looks(looks.count.saturating_sub(seen)),
            device_waiters: (whole.device_wait_ns)
                .filter(|_| record.watched.counts_device_waits)
                .and_then(|ns| ratio(ns, whole.length_ns)),
        }
    }
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

pub(super) fn all(record: &RunningRecord, whole: &Interval, time: &TimeSpent) -> Vec<RunningBound> {
    let threads = Threads::of(record, whole);
    vec![
        quota(whole),
        processors(record, time),
        computing(&threads),
        other_programs(&threads, time),
        device(record, whole, time),
    ]
}

/// Yes from `most` on, no up to `least`.
fn decided(share: Option<f64>, least: f64, most: f64) -> Decision {
    match share {
        Some(share) if share >= most => Decision::Yes,
        Some(share) if share <= least => Decision::No,
        _ => Decision::Undecided,
    }
}

fn quota(whole: &Interval) -> RunningBound {
    let share = whole.throttled_ns.and_then(|ns| ratio(ns, whole.length_ns));
    let decision = match whole.throttled_ns {
        // No group has a quota.
        None if whole.length_ns > 0 => Decision::No,
        _ => decided(share, THROTTLED_LITTLE, WAITS_NOT),
    };
    RunningBound { by: BoundBy::Quota, decision, share }
}

fn processors(record: &RunningRecord, time: &TimeSpent) -> RunningBound {
    let share = time.processors.map(|used| used / f64::from(record.watched.processors.max(1)));
    RunningBound { by: BoundBy::Processors, decision: decided(share, FREE, BOUND), share }
}

/// What the threads did in the intervals at whose end they were seen.
#[derive(Debug, Clone, Copy, Default)]
struct Threads {
    length_ns: u64,
    busiest_ns: u64,
    delay_ns: u64,
    cpu_ns: u64,
    /// CPU time of threads that ended: how it was divided among them is unknown.
    ended_ns: u64,
}

impl Threads {
    /// Sums of almost all of the time; `None` if they were seen in less.
    fn of(record: &RunningRecord, whole: &Interval) -> Option<Threads> {
        let mut sum = Threads::default();
        for it in &record.intervals {
            let threads = it.busiest_thread_ns.zip(it.threads_cpu_ns).zip(it.run_delay_ns);
            let Some((((busiest, seen), delay), (user, system))) =
                threads.zip(it.user_ns.zip(it.system_ns))
            else {
                continue;
            };
            let cpu_ns = user.saturating_add(system);
            let add = |sum: &mut u64, part: u64| *sum = sum.saturating_add(part);
            add(&mut sum.length_ns, it.length_ns);
            add(&mut sum.busiest_ns, busiest);
            add(&mut sum.delay_ns, delay);
            add(&mut sum.cpu_ns, cpu_ns);
            add(&mut sum.ended_ns, cpu_ns.saturating_sub(seen));
        }
        ratio(sum.length_ns, whole.length_ns).filter(|share| *share >= BOUND).map(|_| sum)
    }
}

fn computing(threads: &Option<Threads>) -> RunningBound {
    let share = threads.and_then(|it| ratio(it.busiest_ns, it.length_ns));
    // One of those that ended may have been the busiest.
    let most =
        threads.and_then(|it| ratio(it.busiest_ns.saturating_add(it.ended_ns), it.length_ns));
    let decision = match (share, most) {
        (Some(share), _) if share >= BOUND => Decision::Yes,
        (_, Some(most)) if most <= FREE => Decision::No,
        _ => Decision::Undecided,
    };
    RunningBound { by: BoundBy::Computing, decision, share }
}

fn other_programs(threads: &Option<Threads>, time: &TimeSpent) -> RunningBound {
    let share = threads.and_then(|it| ratio(it.delay_ns, it.delay_ns.saturating_add(it.cpu_ns)));
    let of_time = |part: fn(Threads) -> u64| threads.and_then(|it| ratio(part(it), it.length_ns));
    let is_little = |share: Option<f64>| share.is_some_and(|share| share <= THROTTLED_LITTLE);
    let is_no = is_little(of_time(|it| it.delay_ns)) && is_little(of_time(|it| it.ended_ns));
    let decision = match (share, time.running) {
        _ if is_no => Decision::No,
        (Some(share), Some(running)) if running >= BOUND && share >= WAITS_NOT => Decision::Yes,
        _ => Decision::Undecided,
    };
    RunningBound { by: BoundBy::OtherPrograms, decision, share }
}

fn device(record: &RunningRecord, whole: &Interval, time: &TimeSpent) -> RunningBound {
    let looks = whole.looks;
    let is_enough = looks.count >= LOOKS_LEAST;
    let (low, high) = interval(looks.blocked, looks.count);
    let moved =
        whole.read_bytes.zip(whole.write_bytes).map(|(read, write)| read.saturating_add(write));
    let counted = time.device_waiters.is_some_and(|waiters| waiters >= WAITS);
    // Waiting for a queue is a sleep like any other, unless the OS counts it.
    let queues = record.end.as_ref().is_none_or(|end| end.open.rings > 0 || end.open.aio > 0);
    let decision = match moved {
        Some(moved) if moved > 0 && is_enough && (low >= WAITS || counted) => Decision::Yes,
        _ if queues => Decision::Undecided,
        _ if is_enough && high <= WAITS_NOT => Decision::No,
        _ => Decision::Undecided,
    };
    RunningBound { by: BoundBy::Device, decision, share: time.blocked }
}

/// Wilson's 95 % interval of a share (Wilson 1927).
fn interval(part: u32, all: u32) -> (f64, f64) {
    const Z: f64 = 1.96;
    if all == 0 {
        return (0.0, 1.0);
    }
    let n = f64::from(all);
    let p = f64::from(part) / n;
    let middle = (p + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
    let half = Z / (1.0 + Z * Z / n) * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    ((middle - half).max(0.0), (middle + half).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 10 looks none is no proof that it is seldom; of 100 it is.
    #[test]
    fn few_looks_bound_a_share_less_tightly() {
        let (low, high) = interval(0, 10);
        assert!(low == 0.0 && (0.27..0.29).contains(&high), "{low} {high}");
        let (low, high) = interval(50, 100);
        assert!((0.40..0.41).contains(&low) && (0.59..0.60).contains(&high), "{low} {high}");
        assert_eq!(interval(0, 0), (0.0, 1.0));
    }
}
