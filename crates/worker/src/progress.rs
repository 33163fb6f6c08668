//! A thread's progress in each tenth of a second.

use model::sample::PROGRESS_NS;
use std::time::Duration;

/// Extra steps beyond a trial's time: operations that already started may take up to this many
/// times 100 ms to complete.
const SLACK_STEPS: usize = 600;

/// Maximum steps for all threads of a trial: half of what a reader of the protocol accepts.
const STEPS_MAX: usize = 1 << 19;

/// Bytes of the operations completed in each [`PROGRESS_NS`] since a thread's start.
///
/// It is given running totals, so an operation costs one comparison. All memory is allocated in
/// advance; once it is full, the last step absorbs the rest.
#[derive(Debug)]
pub struct ProgressLog {
    /// The finished steps.
    steps: Vec<u64>,
    /// Maximum number of steps, including the unfinished one.
    steps_max: usize,
    /// When the unfinished step ends; never, if it is the last.
    edge_ns: u64,
    /// The sum of the finished steps.
    told: u64,
}

impl ProgressLog {
    /// Progress for one of `threads` threads in a trial of `time`.
    pub fn new(time: Duration, threads: u32) -> ProgressLog {
        let wanted = time.as_nanos() / u128::from(PROGRESS_NS);
        let wanted = usize::try_from(wanted).unwrap_or(usize::MAX).saturating_add(SLACK_STEPS);
        let steps_max = wanted.min(STEPS_MAX / threads.max(1) as usize).max(1);
        // Touch each page now, so that no page fault is timed.
        let mut steps = vec![1; steps_max];
        steps.clear();
        ProgressLog { steps, steps_max, edge_ns: u64::MAX, told: 0 }
    }

    /// The thread starts at `now_ns` on its clock.
    pub fn start(&mut self, now_ns: u64) {
        self.steps.clear();
        self.told = 0;
        self.edge_ns = now_ns;
        self.next_edge();
    }

    /// An operation completed at `now_ns`; `bytes` is the total before it.
    #[inline(always)]
    pub fn reach(&mut self, now_ns: u64, bytes: u64) {
        if now_ns >= self.edge_ns {
            self.step(now_ns, bytes);
        }
    }

    #[cold]
    fn step(&mut self, now_ns: u64, bytes: u64) {
        while now_ns >= self.edge_ns {
            self.steps.push(bytes - self.told);
            self.told = bytes;
            self.next_edge();
        }
    }

    fn next_edge(&mut self) {
        let is_last = self.steps.len() + 1 >= self.steps_max;
        self.edge_ns = if is_last { u64::MAX } else { self.edge_ns.saturating_add(PROGRESS_NS) };
    }

    /// The steps of a span that lasted `length_ns` and moved `bytes`. The last step is partial.
    pub fn steps(&self, length_ns: u64, bytes: u64) -> Vec<u64> {
        let count = usize::try_from(length_ns / PROGRESS_NS).unwrap_or(usize::MAX);
        let count = count.saturating_add(1).min(self.steps_max);
        let mut steps = self.steps.clone();
        steps.push(bytes - self.told);
        // If the last operation ended long before the span, the steps between them are empty. Spans
        // use another clock, by which the span may be a step shorter.
        let beyond: u64 = steps.drain(count.min(steps.len())..).sum();
        steps.resize(count, 0);
        steps[count - 1] += beyond;
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Oracle: puts each operation into the step in which it completed.
    fn naive(ops: &[(u64, u64)], length_ns: u64, steps_max: usize) -> Vec<u64> {
        let mut steps = vec![0; ((length_ns / PROGRESS_NS + 1) as usize).min(steps_max)];
        let last = steps.len() - 1;
        for (at_ns, bytes) in ops {
            steps[((at_ns / PROGRESS_NS) as usize).min(last)] += bytes;
        }
        steps
    }

    proptest! {
        #[test]
        fn bytes_are_in_the_step_in_which_they_were_completed(
            gaps in proptest::collection::vec((0u64..400_000_000, 0u64..1000), 0..50),
            rest_ns in 0u64..1_000_000_000,
            start_ns: u32,
            threads in prop_oneof![Just(1), Just(STEPS_MAX as u32 / 7), Just(u32::MAX)],
        ) {
            let start_ns = u64::from(start_ns);
            let mut progress = ProgressLog::new(Duration::from_secs(1), threads);
            progress.start(start_ns);
            let (mut now_ns, mut sum, mut ops) = (0, 0, Vec::new());
            for (gap_ns, bytes) in gaps {
                now_ns += gap_ns;
                progress.reach(start_ns + now_ns, sum);
                sum += bytes;
                ops.push((now_ns, bytes));
            }
            let length_ns = now_ns + rest_ns;
            let expected = naive(&ops, length_ns, progress.steps_max);
            prop_assert_eq!(progress.steps(length_ns, sum), expected);
        }
    }

    #[test]
    fn a_span_that_is_shorter_than_its_parts_loses_no_bytes() {
        let mut progress = ProgressLog::new(Duration::from_secs(1), 1);
        progress.start(0);
        progress.reach(PROGRESS_NS, 5);
        assert_eq!(progress.steps(PROGRESS_NS - 1, 12), [12]);
        assert_eq!(progress.steps(PROGRESS_NS, 12), [5, 7]);
    }

    #[test]
    fn it_has_a_limit_of_memory() {
        assert_eq!(ProgressLog::new(Duration::MAX, 1).steps_max, STEPS_MAX);
        assert_eq!(ProgressLog::new(Duration::MAX, 0).steps_max, STEPS_MAX);
        assert_eq!(ProgressLog::new(Duration::MAX, 1 << 19).steps_max, 1);
        assert_eq!(ProgressLog::new(Duration::ZERO, 1).steps_max, SLACK_STEPS);
    }
}
