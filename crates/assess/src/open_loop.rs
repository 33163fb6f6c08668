//! The figures of an open loop: what was asked of the storage, what it did, and how long each
//! operation took from when it was due.

use crate::counted::Counted;
use crate::form::{As, FormOf};
use crate::latency::{Each, Latency, Percentiles, UNSENT_NS};
use crate::measured::Measured;
use crate::percentile::Percentile;
use crate::stats::{Estimate, median};
use model::case::Case;
use model::sample::{Latencies, Sample, Span};
use model::units::NS_PER_SECOND;
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;
use std::time::Duration;

/// The results of a case with a rate.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OpenLoop {
    /// Operations per second that were due.
    pub offered: Estimate,
    /// The share of them that were completed before the time of their trial was up, or in flight
    /// then, 0 to 1.
    pub achieved: f64,
    /// Percentiles of the response time.
    #[serde(flatten, with = "As::<OfResponses>")]
    pub response: Latency,
    /// How long after it was due an operation was submitted, in nanoseconds: mean of a round,
    /// median of the rounds. Operations that had not begun when the time was up are not in it. Null
    /// if unknown.
    pub submit_lag_ns: Option<f64>,
    /// Operations of all trials that were due but had not begun when the time was up.
    pub unsent: u64,
    /// Operations due but not completed: the largest number at the end of a tenth of a second,
    /// median of the rounds, to whole operations. Null if trials are shorter.
    pub backlog: Option<u64>,
    /// The share of the threads' time in which they only waited, awake, for an operation to be due,
    /// 0 to 1. It is not part of the CPU time per operation.
    pub spin_share: Option<f64>,
}

/// The published form of response times.
#[derive(Serialize, JsonSchema)]
struct OfResponses {
    /// Response times: from when an operation was due to its completion, or to the completion of
    /// the sync that made it durable, in nanoseconds. 18446744073709551615 if it had not begun when
    /// the time was up.
    response_ns: Percentiles,
    /// The 95 % intervals of those percentiles.
    response_ns_intervals: Each<Percentile>,
}

impl FormOf<Latency> for OfResponses {
    fn of(latency: &Latency) -> OfResponses {
        let (response_ns, response_ns_intervals) = latency.forms();
        OfResponses { response_ns, response_ns_intervals }
    }
}

/// The response times of a trial, including those of operations that never began.
pub(crate) fn responses(sample: &Sample) -> Latencies {
    let mut all = sample.responses.clone();
    let unsent = sample.unsent();
    if unsent > 0 {
        all.add(&Latencies { counts: vec![(UNSENT_NS, unsent)], max_ns: UNSENT_NS });
    }
    all
}

/// A case as it would be in a closed loop.
pub(crate) fn without_rate(case: &Case) -> Case {
    let mut case = case.at_rate(0);
    case.set_time(Duration::ZERO);
    case
}

/// Operations that were due in a trial.
pub(crate) fn due(sample: &Sample) -> u64 {
    sample.ops().saturating_add(sample.unsent())
}

/// The most operations due but not completed at the end of a step, over all threads; `None` if the
/// trial is shorter than a step.
fn largest_backlog(sample: &Sample) -> Option<u64> {
    let of_thread = |span: &Span, step: usize| span.backlog.get(step).copied().unwrap_or(0);
    let steps = sample.spans.iter().map(|span| span.backlog.len()).max()?;
    let at = |step| {
        let all = sample.spans.iter().map(|span| of_thread(span, step));
        all.fold(0, u64::saturating_add)
    };
    (0..steps).map(at).max()
}

/// With a smaller share of the due operations begun in time, the load is not held (docs/method).
const HELD_LEAST: f64 = 0.99;

impl OpenLoop {
    /// Whether nearly all operations that were due began in time: the schedule set the rate.
    pub(crate) fn is_held(&self) -> bool {
        self.achieved >= HELD_LEAST
    }

    /// The figures of a case; `None` for a closed loop, and without a trial.
    pub(crate) fn of(measured: &Measured) -> Option<OpenLoop> {
        let io = measured.case.io().filter(|_| measured.case.is_open())?;
        let time_ns = io.time.as_nanos() as f64;
        // A trial that waits for its last operations is longer, but nothing more falls due then.
        let offered = |trial: &Counted| {
            let ns = (trial.sample.elapsed_ns() as f64).min(time_ns);
            (ns > 0.0).then(|| due(trial.sample) as f64 / ns * NS_PER_SECOND)
        };
        let samples = || measured.trials.iter().map(|trial| trial.sample);
        // A damaged record may have any counts.
        let unsent = samples().map(Sample::unsent).fold(0, u64::saturating_add);
        let all = samples().map(due).fold(0, u64::saturating_add);
        let waits = |trial: &Counted| {
            let threads = trial.sample.spans.len() as u64;
            let ns = trial.sample.elapsed_ns().saturating_mul(threads);
            (ns > 0).then(|| trial.sample.spin_ns() as f64 / ns as f64)
        };
        let lag = |trial: &Counted| {
            let ops = trial.sample.ops();
            (ops > 0).then_some(trial.sample.lag_ns()? as f64 / ops as f64)
        };
        Some(OpenLoop {
            offered: measured.estimate(offered)?,
            achieved: (all > 0).then(|| (all - unsent) as f64 / all as f64)?,
            response: Latency::of(&measured.latencies(|trial| Cow::Owned(responses(trial.sample)))),
            submit_lag_ns: median(&measured.values(lag)),
            unsent,
            backlog: measured.median_count(|trial| largest_backlog(trial.sample)),
            spin_share: median(&measured.values(waits)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backlog_is_that_of_all_threads_at_one_moment() {
        let largest = |backlogs: &[&[u64]]| {
            let span = |backlog: &&[u64]| Span { backlog: backlog.to_vec(), ..Span::default() };
            let spans = backlogs.iter().map(span).collect();
            largest_backlog(&Sample { spans, ..Sample::default() })
        };
        assert_eq!(largest(&[&[100, 0, 3], &[0, 90]]), Some(100));
        assert_eq!(largest(&[&[100, 0, 3], &[7, 90, 99]]), Some(107));
        assert_eq!(largest(&[&[], &[]]), None, "no trial is as long as a step");
        assert_eq!(largest(&[&[u64::MAX], &[1]]), Some(u64::MAX));
    }
}
