//! An open loop: when each operation is due, whatever became of those before it.
//!
//! In a closed loop, the next operation waits for the last one, so a stall delays the load instead
//! of hurting it. In an open loop, operations arrive on a schedule that no stall moves.

use crate::named;
use crate::random::{Rng, mix};
use crate::units::NS_PER_SECOND;
use rand_core::TryRng;
use rand_distr::{Distribution, Exp1};
use std::convert::Infallible;

named! {
    /// The distribution of the gaps between operations.
    Arrival "arrival" {
        /// Independent of each other, as from many users: the gaps are exponential.
        Poisson "poisson",
        /// All equal.
        Even "even",
    }
}

/// Maximum rate in operations per second: one each nanosecond.
pub const RATE_MAX: u64 = 1_000_000_000;

/// When a thread's operations are due, in nanoseconds since its start, in order and without end.
///
/// The threads divide the rate. Together, Poisson schedules of several threads are one of the whole
/// rate; even ones are offset against each other so that the whole is even, too.
#[derive(Debug, Clone)]
pub struct Arrivals {
    gaps: Gaps,
    due_ns: f64,
}

#[derive(Debug, Clone)]
enum Gaps {
    Exponential { rng: Rng, mean_ns: f64 },
    Equal(f64),
}

impl Arrivals {
    /// `thread`'s schedule, one of `threads` that together have `rate` operations per second.
    pub fn new(rate: u64, arrival: Arrival, thread: u32, threads: u32, seed: u64) -> Arrivals {
        let whole_ns = NS_PER_SECOND / rate.max(1) as f64;
        let mean_ns = whole_ns * f64::from(threads.max(1));
        match arrival {
            Arrival::Poisson => {
                // Not the numbers that determine the order of blocks.
                let rng = Rng::new(mix(seed ^ mix(0xa221_7a15 ^ u64::from(thread) << 32)));
                Arrivals { gaps: Gaps::Exponential { rng, mean_ns }, due_ns: 0.0 }
            }
            // The first operation of a thread is due after its share of a gap.
            Arrival::Even => {
                let before = whole_ns * (f64::from(thread) + 1.0) - mean_ns;
                Arrivals { gaps: Gaps::Equal(mean_ns), due_ns: before }
            }
        }
    }

    /// When the next operation is due.
    #[inline]
    pub fn next_ns(&mut self) -> u64 {
        self.due_ns += match &mut self.gaps {
            Gaps::Exponential { rng, mean_ns } => {
                let gap: f64 = Exp1.sample(rng);
                gap * *mean_ns
            }
            Gaps::Equal(gap_ns) => *gap_ns,
        };
        // Signed, because that is what processors turn a number into with one instruction.
        self.due_ns as i64 as u64
    }

    /// Counts what is due, from the next operation on.
    pub fn due(mut self) -> Due {
        Due { next_ns: self.next_ns(), schedule: self, count: 0 }
    }
}

/// Counts the operations of a schedule in one pass, up to several times in turn.
#[derive(Debug)]
pub struct Due {
    schedule: Arrivals,
    next_ns: u64,
    count: u64,
}

impl Due {
    /// How many operations are due before `end_ns`, or before a later time that was asked for.
    pub fn until(&mut self, end_ns: u64) -> u64 {
        while self.next_ns < end_ns {
            self.count += 1;
            self.next_ns = self.schedule.next_ns();
        }
        self.count
    }
}

/// As a source for distributions.
impl TryRng for Rng {
    type Error = Infallible;

    #[inline]
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok((self.next_u64() >> 32) as u32)
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.next_u64())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for part in bytes.chunks_mut(8) {
            part.copy_from_slice(&self.next_u64().to_le_bytes()[..part.len()]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All threads' operations due within a second.
    fn second(rate: u64, arrival: Arrival, threads: u32) -> Vec<u64> {
        let of = |thread| {
            let mut arrivals = Arrivals::new(rate, arrival, thread, threads, 7);
            std::iter::repeat_with(move || arrivals.next_ns())
                .take_while(|due_ns| *due_ns < 1_000_000_000)
        };
        let mut all: Vec<u64> = (0..threads).flat_map(of).collect();
        all.sort_unstable();
        all
    }

    /// The largest distance between the distribution of `sorted` and the expected one (Kolmogorov
    /// and Smirnov), times the root of their number. Above 1.63 in 1 % of samples.
    fn distance(sorted: &[f64], expected: impl Fn(f64) -> f64) -> f64 {
        let n = sorted.len() as f64;
        let at = |(i, value): (usize, &f64)| {
            let expected = expected(*value);
            (expected - i as f64 / n).abs().max(((i + 1) as f64 / n - expected).abs())
        };
        sorted.iter().enumerate().map(at).fold(0.0, f64::max) * n.sqrt()
    }

    #[test]
    fn poisson_gaps_are_exponential_and_arrivals_uniform() {
        for (rate, threads) in [(1_000, 1), (1_000, 3), (100_000, 1), (100_000, 4), (1_000_000, 2)]
        {
            let due = second(rate, Arrival::Poisson, threads);
            let mean = NS_PER_SECOND / rate as f64;
            let mut gaps: Vec<f64> = due.windows(2).map(|two| (two[1] - two[0]) as f64).collect();
            gaps.sort_unstable_by(f64::total_cmp);
            // Whole nanoseconds: in the middle of one.
            let exponential = |gap: f64| 1.0 - (-(gap + 0.5) / mean).exp();
            let d = distance(&gaps, exponential);
            assert!(
                d < 1.95 + mean.recip() * (due.len() as f64).sqrt(),
                "{rate}: gaps differ: {d}"
            );
            let times: Vec<f64> = due.iter().map(|due| *due as f64).collect();
            let d = distance(&times, |time| time / NS_PER_SECOND);
            assert!(d < 1.95, "{rate}: times differ: {d}");
            let off = (due.len() as f64 - rate as f64).abs() / (rate as f64).sqrt();
            assert!(off < 4.0, "{rate}: {} arrivals", due.len());
        }
    }

    /// With a constant service time, the mean wait is that of M/D/1 (Pollaczek and Khinchine):
    /// ρ·s/(2·(1 − ρ)). Arrivals that are less random would wait less.
    #[test]
    fn a_queue_of_poisson_arrivals_waits_as_long_as_theory_says() {
        const RATE: u64 = 1_000_000;
        for share in [0.5, 0.8, 0.9] {
            let service_ns = share * NS_PER_SECOND / RATE as f64;
            let mut arrivals = Arrivals::new(RATE, Arrival::Poisson, 0, 1, 3);
            let (mut free_at, mut waited, n) = (0.0, 0.0, 4_000_000);
            for _ in 0..n {
                let due = arrivals.next_ns() as f64;
                let begins = f64::max(free_at, due);
                (free_at, waited) = (begins + service_ns, waited + begins - due);
            }
            let (mean, expected) =
                (waited / f64::from(n), service_ns * share / (2.0 - 2.0 * share));
            assert!((mean / expected - 1.0).abs() < 0.03, "{share}: {mean}, not {expected}");
        }
    }

    #[test]
    fn even_arrivals_of_all_threads_are_even() {
        for threads in [1, 4] {
            let due = second(1_000, Arrival::Even, threads);
            assert_eq!(due.len(), 999, "the thousandth is due at the end");
            for two in due.windows(2) {
                assert!(two[1].abs_diff(two[0]).abs_diff(1_000_000) <= 1, "{two:?}");
            }
        }
    }

    #[test]
    fn a_schedule_can_be_made_again_and_counted() {
        let arrivals = |thread, seed| Arrivals::new(50_000, Arrival::Poisson, thread, 2, seed);
        let first = |mut arrivals: Arrivals| [(); 5].map(|()| arrivals.next_ns());
        assert_eq!(first(arrivals(0, 1)), first(arrivals(0, 1)));
        assert_ne!(first(arrivals(0, 1)), first(arrivals(1, 1)));
        assert_ne!(first(arrivals(0, 1)), first(arrivals(0, 2)));
        let mut counted = arrivals(0, 3).due();
        for end_ns in [0, 1_000_000, 1_000_000, 1_000_000_000] {
            let mut same = arrivals(0, 3);
            let due = std::iter::repeat_with(|| same.next_ns()).take_while(|due| *due < end_ns);
            assert_eq!(counted.until(end_ns), due.count() as u64);
        }
    }
}
