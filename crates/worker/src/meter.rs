//! Records latencies in constant memory.

use hdrhistogram::Histogram;
use model::sample::Latencies;

/// One thread's latencies, each to within 1/256; the longest is exact.
#[derive(Debug)]
pub struct Meter {
    histogram: Histogram<u64>,
    max_ns: u64,
}

/// One hour. Longer latencies count as an hour, but the longest remains exact.
const LONGEST_NS: u64 = 3600 * 1_000_000_000;

impl Meter {
    /// An empty meter. It allocates all the memory it will ever need.
    pub fn new() -> Meter {
        let mut histogram = Histogram::new_with_bounds(1, LONGEST_NS, 2)
            .expect("the bounds and two digits are valid for a histogram");
        // Touch the counters' pages now, so that no page fault is timed.
        histogram.saturating_record(LONGEST_NS);
        histogram.reset();
        Meter { histogram, max_ns: 0 }
    }

    /// Records a latency.
    #[inline]
    pub fn record(&mut self, latency_ns: u64) {
        self.histogram.saturating_record(latency_ns);
        self.max_ns = self.max_ns.max(latency_ns);
    }

    /// The recorded latencies. A bucket is reported as the middle of its range.
    pub fn latencies(&self) -> Latencies {
        let counts = self.histogram.iter_recorded().map(|bucket| {
            let lowest = self.histogram.lowest_equivalent(bucket.value_iterated_to());
            let highest = bucket.value_iterated_to();
            (lowest + (highest - lowest) / 2, bucket.count_at_value())
        });
        Latencies { counts: counts.collect(), max_ns: self.max_ns }
    }
}

impl Default for Meter {
    fn default() -> Meter {
        Meter::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn latencies_are_kept_within_a_256th(
            recorded in proptest::collection::vec(1u64..60_000_000_000, 1..200),
        ) {
            let mut meter = Meter::new();
            recorded.iter().for_each(|&ns| meter.record(ns));
            let latencies = meter.latencies();
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
}
