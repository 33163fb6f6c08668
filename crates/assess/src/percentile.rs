//! Percentiles of latencies, with intervals.
//!
//! Consecutive operations are not independent: a stall, or a slow round, delays many. So the
//! interval uses the spread between a case's units (its invocations, or the rounds of one), not the
//! number of operations (docs/method).

use crate::significance::LEVEL;
use crate::student;
use model::sample::Latencies;
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::Ordering;

/// A percentile of latencies with its 95 % interval in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Interval")]
pub struct Percentile {
    /// The percentile in nanoseconds.
    #[serde(skip)]
    pub ns: u64,
    /// Lower end of the interval; null with fewer than three rounds, or invocations if there are
    /// several.
    #[serde(rename = "low")]
    pub low_ns: Option<u64>,
    /// Upper end of the interval.
    #[serde(rename = "high")]
    pub high_ns: Option<u64>,
    /// Whether at least 100 operations are above it; otherwise it is based on as few as 10.
    pub solid: bool,
}

/// Minimum number of operations above a percentile (docs/method).
pub const ABOVE_MIN: u64 = 10;
/// With this many operations above it, a percentile is solid (docs/method).
pub(crate) const ABOVE_SOLID: u64 = 100;
const PARTS: u64 = 10_000;
/// Minimum number of units: fewer do not show their spread.
const UNITS_LEAST: usize = 3;
/// Minimum number of units for a decision about a limit (docs/method).
const UNITS_TO_DECIDE: usize = 5;

/// Cumulative latency counts.
#[derive(Debug)]
struct Cumulated {
    /// Each latency with the number of operations that took at most this long.
    at_most: Vec<(u64, u64)>,
    max_ns: u64,
}

impl Cumulated {
    fn of(latencies: &Latencies) -> Cumulated {
        let mut seen: u64 = 0;
        let cumulate = |(ns, count): &(u64, u64)| {
            seen = seen.saturating_add(*count);
            // A worker rounds a latency to the middle of a bucket, which may exceed the longest
            // latency. The longest is exact.
            ((*ns).min(latencies.max_ns), seen)
        };
        Cumulated {
            at_most: latencies.counts.iter().map(cumulate).collect(),
            max_ns: latencies.max_ns,
        }
    }

    fn count(&self) -> u64 {
        self.at_most.last().map_or(0, |(_, seen)| *seen)
    }

    /// Number of operations that took longer than `ns`.
    fn longer(&self, ns: u64) -> u64 {
        let next = self.at_most.partition_point(|(latency, _)| *latency <= ns);
        self.count() - next.checked_sub(1).map_or(0, |last| self.at_most[last].1)
    }

    /// The index of the latency with rank `rank`, from 1, in ascending order.
    fn index_of(&self, rank: u64) -> usize {
        self.at_most.partition_point(|(_, seen)| *seen < rank)
    }

    fn value(&self, index: usize) -> u64 {
        self.at_most.get(index).map_or(self.max_ns, |(ns, _)| *ns)
    }
}

/// A case's latencies: of all units together, and of each unit.
#[derive(Debug)]
pub struct Distribution {
    all: Cumulated,
    units: Vec<Cumulated>,
}

impl Distribution {
    /// From independent units.
    pub fn of(units: &[Latencies]) -> Distribution {
        let all = Cumulated::of(&Latencies::sum(units.iter()));
        let told = units.iter().filter(|unit| !unit.counts.is_empty());
        Distribution { all, units: told.map(Cumulated::of).collect() }
    }

    /// The latency that all but `tail` of 10 000 operations do not exceed: the p99 has a tail of
    /// 100. `None` if fewer than 10 operations are above it.
    ///
    /// # Panics
    /// If `tail` is not strictly between 0 and 10 000.
    pub fn percentile(&self, tail: u64) -> Option<Percentile> {
        assert!(tail > 0 && tail < PARTS, "a tail of {tail} in {PARTS} is not a percentile");
        let n = self.all.count();
        let index = self.all.index_of(rank_below(n, tail)?);
        let at_least = |count: u64| u128::from(n) * u128::from(tail) >= u128::from(count * PARTS);
        let interval = self.interval(index, tail as f64 / PARTS as f64);
        Some(Percentile {
            ns: self.all.value(index),
            low_ns: interval.map(|(low, _)| low),
            high_ns: interval.map(|(_, high)| high),
            solid: at_least(ABOVE_SOLID),
        })
    }

    /// The 95 % interval of the percentile at `index`; the share `tail` is above it.
    ///
    /// For each unit, the excess is the number of operations above a latency minus the expected
    /// number. The sum of the excesses deviates from 0 by chance as in Student's t, with the
    /// variance between units. This gives two intervals: one uses the variance at the percentile,
    /// as ranks (Woodruff 1952), the other that at each latency (Francisco and Fuller 1991). The
    /// first misses stalls in a few rounds, the second stalls in many, so the result contains both.
    fn interval(&self, index: usize, tail: f64) -> Option<(u64, u64)> {
        if self.units.len() < UNITS_LEAST {
            return None;
        }
        let t = student::quantile(LEVEL, (self.units.len() - 1) as f64);
        let n = self.all.count() as f64;
        let (_, deviation) = self.surplus(self.all.value(index), tail);
        let rank = |away: f64| (n * (1.0 - tail) + away * t * deviation).clamp(1.0, n);
        let ranked = [rank(-1.0).floor(), (rank(1.0) + 1.0).ceil().min(n)]
            .map(|rank| self.all.index_of(rank as u64));
        let scores = |at: usize| {
            let (surplus, deviation) = self.surplus(self.all.value(at), tail);
            surplus / deviation.max(f64::MIN_POSITIVE)
        };
        // Search outward from the percentile: with units of unequal size, the test may accept again
        // far away, among unrelated latencies.
        let below = (0..index).rev().take_while(|at| scores(*at) <= t).last();
        let last = self.all.at_most.len() - 1;
        let above = (index..last).find(|at| scores(*at) < -t);
        let low = below.unwrap_or(index).min(ranked[0]);
        let high = above.unwrap_or(last).max(ranked[1]);
        Some((self.all.value(low), self.all.value(high)))
    }

    /// How many operations it has.
    pub(crate) fn operations(&self) -> u64 {
        self.all.count()
    }

    /// Whether it has enough units for a decision about a limit.
    pub(crate) fn is_enough_to_decide(&self) -> bool {
        self.units.len() >= UNITS_TO_DECIDE
    }

    /// Whether surely more than `tail` of 10 000 operations take longer than `ns`, even if so few
    /// are expected beyond that percentile that its value is not known: a larger share, of which
    /// enough are expected, takes longer.
    pub(crate) fn is_exceeded(&self, ns: u64, tail: u32) -> bool {
        let enough = (ABOVE_SOLID * PARTS).div_ceil(self.all.count().max(1));
        let tail = enough.max(tail.into());
        tail < PARTS && self.share_longer(ns, tail as u32, ABOVE_SOLID) == Some(Ordering::Greater)
    }

    /// Whether a smaller (`Less`) or a larger share than `tail` of 10 000 operations takes longer
    /// than `ns`, by the test of the interval above; `Equal` if the data does not decide. `None`
    /// with fewer than 5 units, or if `tail` stands for fewer than `least` operations; `least` is
    /// at least 10.
    pub fn share_longer(&self, ns: u64, tail: u32, least: u64) -> Option<Ordering> {
        let expected = u128::from(self.all.count()) * u128::from(tail);
        let is_few = expected < u128::from(least.max(ABOVE_MIN)) * u128::from(PARTS);
        if !self.is_enough_to_decide() || is_few {
            return None;
        }
        let t = student::quantile(LEVEL, (self.units.len() - 1) as f64);
        let (surplus, deviation) = self.surplus(ns, f64::from(tail) / PARTS as f64);
        Some(match surplus / deviation {
            few if few <= -t => Ordering::Less,
            many if many >= t => Ordering::Greater,
            _ => Ordering::Equal,
        })
    }

    /// By how many operations those above `ns` exceed the share `tail`, and the standard deviation
    /// of that number, estimated from the differences between units. It is at least that of
    /// independent operations.
    fn surplus(&self, ns: u64, tail: f64) -> (f64, f64) {
        let of_unit = |unit: &Cumulated| unit.longer(ns) as f64 - tail * unit.count() as f64;
        let k = self.units.len() as f64;
        let sum: f64 = self.units.iter().map(of_unit).sum();
        let squares: f64 = self.units.iter().map(|unit| (of_unit(unit) - sum / k).powi(2)).sum();
        let independent = self.all.count() as f64 * tail * (1.0 - tail);
        (sum, (squares * k / (k - 1.0)).max(independent).sqrt())
    }
}

/// The rank, from 1, of the operation that all but `tail` of 10 000 do not exceed; `None` if fewer
/// than 10 operations are above it.
fn rank_below(n: u64, tail: u64) -> Option<u64> {
    let above = u128::from(n) * u128::from(tail) / u128::from(PARTS);
    (above >= u128::from(ABOVE_MIN)).then(|| n - above as u64)
}

/// A percentile of one trial, without an interval.
pub(crate) fn percentile_ns(latencies: &Latencies, tail: u64) -> Option<u64> {
    let all = Cumulated::of(latencies);
    Some(all.value(all.index_of(rank_below(all.count(), tail)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Oracle: the percentile from a list of every operation.
    fn naive(latencies: &Latencies, rank: u64) -> u64 {
        let each = |(ns, count): &(u64, u64)| vec![*ns; *count as usize];
        let all: Vec<u64> = latencies.counts.iter().flat_map(each).collect();
        all[rank as usize - 1]
    }

    fn latencies() -> impl Strategy<Value = Latencies> {
        let counts = proptest::collection::btree_map(1u64..5_000, 1u64..200, 1..60);
        counts.prop_map(|counts| {
            let max_ns = counts.keys().next_back().copied().unwrap_or(0);
            Latencies { counts: counts.into_iter().collect(), max_ns }
        })
    }

    fn percentile(units: &[Latencies], tail: u64) -> Option<Percentile> {
        Distribution::of(units).percentile(tail)
    }

    proptest! {
        #[test]
        fn percentiles_match_the_naive_ones(
            units in proptest::collection::vec(latencies(), 1..12), tail in 1u64..9_999
        ) {
            let all = Latencies::sum(units.iter());
            let n = all.count();
            let found = percentile(&units, tail);
            prop_assert_eq!(found.is_some(), n * tail >= 10 * 10_000);
            if let Some(found) = found {
                let rank = (n * (10_000 - tail)).div_ceil(10_000);
                prop_assert_eq!(found.ns, naive(&all, rank));
                prop_assert_eq!(percentile_ns(&all, tail), Some(found.ns));
                prop_assert_eq!(found.low_ns.is_some(), units.len() >= 3);
                let (low, high) = (found.low_ns.unwrap_or(0), found.high_ns.unwrap_or(all.max_ns));
                prop_assert!(low <= found.ns && found.ns <= high && high <= all.max_ns);
                prop_assert_eq!(found.solid, n * tail >= 100 * 10_000);
                let turned: Vec<Latencies> = units.into_iter().rev().collect();
                prop_assert_eq!(percentile(&turned, tail).map(|p| p.ns), Some(found.ns));
            }
        }

        #[test]
        fn percentiles_rise(latencies in latencies(), a in 1u64..9_999, b in 1u64..9_999) {
            let [lower, higher] = [a.max(b), a.min(b)].map(|tail| percentile_ns(&latencies, tail));
            if let Some((lower, higher)) = lower.zip(higher) {
                prop_assert!(lower <= higher);
            }
        }
    }

    /// Ten rounds of 10 000 operations with latencies of 1 000 to 1 099 ns, shifted per round.
    fn rounds(shift: impl Fn(u64) -> u64) -> Vec<Latencies> {
        let round = |round| {
            let counts: Vec<(u64, u64)> =
                (0..100).map(|step| (1_000 + step + shift(round), 100)).collect();
            Latencies { max_ns: counts[99].0, counts }
        };
        (0..10).map(round).collect()
    }

    /// Differences between rounds widen an interval, however many operations each has. Equal rounds
    /// leave it as narrow as independent operations would.
    #[test]
    fn an_interval_is_as_wide_as_rounds_differ() {
        let width = |units: &[Latencies]| {
            let p50 = percentile(units, 5_000).expect("there are enough");
            p50.high_ns.zip(p50.low_ns).map(|(high, low)| high - low).expect("there are ten")
        };
        assert!(width(&rounds(|_| 0)) <= 2);
        assert!(width(&rounds(|round| 10 * (round % 5))) >= 15);
    }

    /// One round of ten has all slow operations, so the p99 may or may not be one of them.
    #[test]
    fn stalls_of_one_round_are_not_known_well() {
        let mut units = rounds(|_| 0);
        units[3].counts.push((1_000_000, 1_500));
        units[3].max_ns = 1_000_000;
        let p99 = percentile(&units, 100).expect("there are enough");
        assert_eq!((p99.ns, p99.high_ns), (1_000_000, Some(1_000_000)));
        assert!(p99.low_ns.is_some_and(|low| low < 1_100), "{p99:?}");
        assert_eq!(percentile(&units[..2], 100).and_then(|p99| p99.low_ns), None, "only two");
    }

    /// The middle of the last bucket may exceed the longest latency, which is exact.
    #[test]
    fn no_percentile_is_above_the_longest() {
        let unit = Latencies { counts: vec![(100, 500), (205, 500)], max_ns: 203 };
        let p90 = percentile(&vec![unit; 10], 1_000).map(|p90| (p90.ns, p90.high_ns));
        assert_eq!(p90, Some((203, Some(203))));
    }

    #[test]
    fn a_billion_operations_have_a_percentile() {
        let unit = Latencies { counts: vec![(70, 999_000_000), (900, 1_000_000)], max_ns: 901 };
        let units = vec![unit; 3];
        let p99 = percentile(&units, 100).expect("there are enough");
        assert_eq!((p99.ns, p99.low_ns, p99.high_ns), (70, Some(70), Some(70)));
        let p99_99 = percentile(&units, 1).expect("there are enough");
        assert_eq!((p99_99.ns, p99_99.high_ns), (900, Some(900)));
        let absurd = Latencies { counts: vec![(1, u64::MAX), (3, u64::MAX)], max_ns: 3 };
        assert!(percentile(&vec![absurd; 3], 100).is_some());
    }
}
