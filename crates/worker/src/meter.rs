//! Records latencies in constant memory.
//!
//! A well-kept histogram is a library (hdrhistogram, which the tests use as an oracle). But it
//! checks and counts more than the loop needs: each operation would pay several nanoseconds for it,
//! twice in an open loop.

use model::sample::Latencies;

/// Latencies below this have a bucket of their own. Above, each power of two has half as many
/// buckets, so that the middle of a bucket is within 1/256 of all its latencies.
const EXACT: u64 = 1 << EXACT_BITS;

const EXACT_BITS: u32 = 8;

/// One hour. Longer latencies count as an hour, but the longest remains exact.
const LONGEST_NS: u64 = 3600 * 1_000_000_000;

const BUCKETS: usize = bucket_of(LONGEST_NS) + 1;

/// One thread's latencies, each to within 1/256; the longest is exact.
#[derive(Debug)]
pub struct Meter {
    counts: Box<[u64; BUCKETS]>,
    max_ns: u64,
}

impl Meter {
    /// An empty meter. It allocates all the memory it will ever need.
    pub fn new() -> Meter {
        let mut counts = Box::new([1; BUCKETS]);
        // Touch the counters' pages now, so that no page fault is timed.
        std::hint::black_box(&mut counts).fill(0);
        Meter { counts, max_ns: 0 }
    }

    /// Records a latency.
    #[inline(always)]
    pub fn record(&mut self, latency_ns: u64) {
        self.counts[bucket_of(latency_ns.min(LONGEST_NS))] += 1;
        self.max_ns = self.max_ns.max(latency_ns);
    }

    /// The recorded latencies. A bucket is reported as the middle of its range.
    pub fn latencies(&self) -> Latencies {
        let counts = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        let counts = counts.map(|(bucket, count)| (middle_of(bucket), *count));
        Latencies { counts: counts.collect(), max_ns: self.max_ns }
    }
}

impl Default for Meter {
    fn default() -> Meter {
        Meter::new()
    }
}

/// How many times the width of a bucket of `ns` is that of an exact one, as a power of two.
#[inline(always)]
const fn width_bits(ns: u64) -> u32 {
    (ns | (EXACT / 2)).ilog2() - (EXACT_BITS - 1)
}

/// The bucket of a latency.
#[inline(always)]
const fn bucket_of(ns: u64) -> usize {
    let bits = width_bits(ns);
    (bits as u64 * (EXACT / 2) + (ns >> bits)) as usize
}

/// The middle of a bucket's latencies, the lower of two.
const fn middle_of(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < EXACT {
        return bucket;
    }
    let bits = bucket / (EXACT / 2) - 1;
    let lowest = (bucket - bits * (EXACT / 2)) << bits;
    lowest + ((1 << bits) - 1) / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;
    use proptest::prelude::*;

    /// Oracle: what the library keeps.
    fn kept_by_library(recorded: &[u64]) -> Vec<(u64, u64)> {
        let mut histogram = Histogram::<u64>::new_with_bounds(1, LONGEST_NS, 2).unwrap();
        recorded.iter().for_each(|ns| histogram.saturating_record(*ns));
        let counts = histogram.iter_recorded().map(|bucket| {
            let (lowest, highest) = (
                histogram.lowest_equivalent(bucket.value_iterated_to()),
                histogram.highest_equivalent(bucket.value_iterated_to()),
            );
            (lowest + (highest - lowest) / 2, bucket.count_at_value())
        });
        counts.collect()
    }

    proptest! {
        #[test]
        fn latencies_are_kept_within_a_256th(
            recorded in proptest::collection::vec(
                prop_oneof![0u64..1000, 1u64..60_000_000_000, 0u64..=LONGEST_NS], 1..200,
            ),
        ) {
            let mut meter = Meter::new();
            recorded.iter().for_each(|&ns| meter.record(ns));
            let latencies = meter.latencies();
            prop_assert_eq!(&latencies.counts, &kept_by_library(&recorded));
            prop_assert_eq!(latencies.count(), recorded.len() as u64);
            prop_assert_eq!(Some(latencies.max_ns), recorded.iter().copied().max());
            prop_assert!(latencies.counts.is_sorted_by(|a, b| a.0 < b.0));
            let mut sorted = recorded;
            sorted.sort_unstable();
            let kept = latencies.counts.iter().flat_map(|&(ns, n)| (0..n).map(move |_| ns));
            for (exact, kept) in sorted.into_iter().zip(kept) {
                prop_assert!(exact.abs_diff(kept) <= exact / 256 + 1, "{exact} became {kept}");
            }
        }
    }

    #[test]
    fn the_longest_latency_is_exact_and_has_a_bucket() {
        let mut meter = Meter::new();
        meter.record(u64::MAX);
        meter.record(LONGEST_NS);
        let latencies = meter.latencies();
        assert_eq!((latencies.count(), latencies.max_ns), (2, u64::MAX));
        assert_eq!(latencies.counts.len(), 1);
    }
}
