//! Cumulative bytes over time, divided into steps.

use crate::counted::timed_ns;
use model::case::Case;
use model::sample::{PROGRESS_NS, Sample, Span};
use model::units::NS_PER_SECOND;

/// A step counts as full if at most this share of it is missing, because clocks differ.
pub(crate) const STEP_MISSING: f64 = 0.01;

/// Number of full steps in a duration.
pub(crate) fn full_steps(length_ns: u64, step_ns: u64) -> usize {
    (length_ns as f64 / step_ns as f64 + STEP_MISSING) as usize
}

/// Cumulative bytes over time: straight lines between knots.
#[derive(Debug)]
pub(crate) struct Curve {
    /// Nanoseconds and bytes since the start; neither decreases.
    knots: Vec<(u64, f64)>,
}

impl Curve {
    /// The curve of one sample, until its last operation returned.
    pub(crate) fn of(sample: &Sample) -> Curve {
        let mut curve = Curve { knots: vec![(0, 0.0)] };
        curve.add(&sample.spans);
        curve
    }

    /// The samples of a case in sequence. If they claim durability, each includes its last sync.
    pub(crate) fn one_after_another(case: &Case, samples: &[&Sample]) -> Curve {
        let mut curve = Curve { knots: vec![(0, 0.0)] };
        for sample in samples {
            curve.add(&sample.spans);
            let (end_ns, bytes) = *curve.last();
            let drain_ns = timed_ns(case, sample).saturating_sub(sample.elapsed_ns());
            curve.knots.push((end_ns.saturating_add(drain_ns), bytes));
        }
        curve
    }

    /// Adds the threads of a sample as if all had started together.
    fn add(&mut self, spans: &[Span]) {
        let (start_ns, mut bytes) = *self.last();
        let length = |span: &Span| span.end_ns.saturating_sub(span.start_ns);
        let length_ns = spans.iter().map(length).max().unwrap_or(0);
        let steps = spans.iter().map(|span| span.progress.len()).max().unwrap_or(0);
        for index in 0..steps {
            let moved = spans.iter().filter_map(|span| span.progress.get(index));
            bytes += moved.map(|bytes| *bytes as f64).sum::<f64>();
            // The last step is partial and ends with the longest span.
            let end_ns = PROGRESS_NS.saturating_mul(index as u64 + 1).min(length_ns);
            self.knots.push((start_ns.saturating_add(end_ns), bytes));
        }
        self.knots.push((start_ns.saturating_add(length_ns), bytes));
    }

    fn last(&self) -> &(u64, f64) {
        self.knots.last().expect("a curve begins with a knot")
    }

    pub(crate) fn length_ns(&self) -> u64 {
        self.last().0
    }

    /// Bytes moved up to `ns`.
    pub(crate) fn bytes_at(&self, ns: u64) -> f64 {
        let after = self.knots.partition_point(|(knot_ns, _)| *knot_ns <= ns);
        let Some(&(right_ns, right)) = self.knots.get(after) else { return self.last().1 };
        let (left_ns, left) = self.knots[after - 1];
        left + (right - left) * (ns - left_ns) as f64 / (right_ns - left_ns) as f64
    }

    /// Bytes per second in each full step.
    pub(crate) fn rates(&self, step_ns: u64) -> Vec<f64> {
        let steps = full_steps(self.length_ns(), step_ns) as u64;
        let moved = |step: u64| self.bytes_at((step + 1) * step_ns) - self.bytes_at(step * step_ns);
        (0..steps).map(|step| moved(step) / step_ns as f64 * NS_PER_SECOND).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::case::Work;
    use model::zoo;
    use proptest::prelude::*;

    proptest! {
        /// Dividing into steps neither loses nor creates bytes.
        #[test]
        fn rates_add_up_to_the_bytes(
            trials in proptest::collection::vec(
                (proptest::collection::vec(0u64..1 << 40, 1..30), 1u64..=PROGRESS_NS),
                1..6,
            ),
            multiple in 1u64..7,
        ) {
            let sample = |(progress, part_ns): &(Vec<u64>, u64)| {
                let end_ns = PROGRESS_NS * (progress.len() as u64 - 1) + part_ns;
                let span = Span { start_ns: 5, end_ns: end_ns + 5, ..Span::default() };
                let spans = vec![Span { progress: progress.clone(), ..span }];
                Sample { spans, ..Sample::default() }
            };
            let samples: Vec<Sample> = trials.iter().map(sample).collect();
            let case = Case::own(Work::Read(zoo::plain()));
            let samples: Vec<&Sample> = samples.iter().collect();
            let curve = Curve::one_after_another(&case, &samples);
            let bytes: u64 = trials.iter().flat_map(|(progress, _)| progress).sum();
            prop_assert!((curve.last().1 - bytes as f64).abs() <= 1e-9 * bytes as f64);
            let step_ns = multiple * PROGRESS_NS;
            let rates = curve.rates(step_ns);
            let sum: f64 = rates.iter().map(|rate| rate * step_ns as f64 / NS_PER_SECOND).sum();
            let until = curve.bytes_at(rates.len() as u64 * step_ns);
            prop_assert!((sum - until).abs() <= 1e-9 * bytes as f64);
        }
    }
}
