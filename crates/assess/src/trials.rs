//! The individual trials of a case, for tables and pictures.

use crate::counted::{Counted, a_second, counts_calls};
use crate::failure::Failure;
use crate::measured::{Exclusion, Lost, Measured};
use crate::open_loop;
use crate::percentile::percentile_ns;
use crate::spent::split;
use crate::writing::{acknowledged_of, is_durable};
use model::evidence::Evidence;
use model::sample::Latencies;

/// The status of a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It is included in its case's figures.
    Counted,
    /// It succeeded, but is excluded because of what the machine did to it.
    Excluded(Exclusion),
    /// It has no figures.
    Lost(Failure),
}

/// The results of one trial.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialFigures {
    /// Its invocation, from 0.
    pub invocation: u32,
    /// Its round, numbered from 0 over all invocations.
    pub round: u32,
    /// Its status.
    pub fate: Fate,
    /// What it timed; `None` if it did not succeed.
    pub figures: Option<Figures>,
}

/// The times of a successful trial, and the OS counters around it.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures {
    /// Bytes that all threads moved.
    pub bytes: u64,
    /// Operations of all threads.
    pub ops: u64,
    /// Nanoseconds from the first thread's start to the last thread's end.
    pub elapsed_ns: u64,
    /// Nanoseconds from the first thread's start until the last sync returned; `None` if none was
    /// requested or reported.
    pub synced_ns: Option<u64>,
    /// Bytes per second, as in [`crate::summary::Summary::throughput`].
    pub throughput: Option<f64>,
    /// The acknowledged rate in bytes per second; none if nothing is written.
    pub acknowledged: Option<f64>,
    /// Bytes per second until the last sync returned, if that made them durable.
    pub durable: Option<f64>,
    /// Operations per second, over the same time as the throughput.
    pub iops: Option<f64>,
    /// Median latency of an operation in nanoseconds. Like the percentiles below, `None` if fewer
    /// than 10 operations took longer.
    pub p50_ns: Option<u64>,
    /// The 99th percentile.
    pub p99_ns: Option<u64>,
    /// The 99.9th percentile.
    pub p99_9_ns: Option<u64>,
    /// The longest latency; `None` if operations were not timed individually.
    pub max_ns: Option<u64>,
    /// The median latency of separate sync calls, with the same rule.
    pub sync_p50_ns: Option<u64>,
    /// Their 99th percentile.
    pub sync_p99_ns: Option<u64>,
    /// Their 99.9th percentile.
    pub sync_p99_9_ns: Option<u64>,
    /// Their longest latency.
    pub sync_max_ns: Option<u64>,
    /// The median response time in nanoseconds, by the same rule; `None` in a closed loop. The
    /// largest number if the operation never began, here and below.
    pub response_p50_ns: Option<u64>,
    /// The 99th percentile of the response time.
    pub response_p99_ns: Option<u64>,
    /// The 99.9th percentile of the response time.
    pub response_p99_9_ns: Option<u64>,
    /// The longest response time.
    pub response_max_ns: Option<u64>,
    /// Operations due that had not begun when the time was up; `None` in a closed loop.
    pub unsent: Option<u64>,
    /// Operations that read; `None` unless the case is mixed, here and below.
    pub read_ops: Option<u64>,
    /// The median latency of the reads.
    pub read_p50_ns: Option<u64>,
    /// Their 99th percentile.
    pub read_p99_ns: Option<u64>,
    /// Their 99.9th percentile.
    pub read_p99_9_ns: Option<u64>,
    /// The median latency of the writes.
    pub write_p50_ns: Option<u64>,
    /// Their 99th percentile.
    pub write_p99_ns: Option<u64>,
    /// Their 99.9th percentile.
    pub write_p99_9_ns: Option<u64>,
    /// Pages of 4 KiB that were read of a file which was overwritten meanwhile, by the case or an
    /// actor beside it; `None` if none did, here and below.
    pub pages: Option<u64>,
    /// Those of them that were whole and had been written in the trial.
    pub new_pages: Option<u64>,
    /// Those with parts of several writes.
    pub torn_pages: Option<u64>,
    /// CPU nanoseconds of the worker from the first thread's start to the last thread's end.
    pub span_cpu_ns: Option<u64>,
    /// The same without the time in which threads only waited for an operation to be due.
    pub working_cpu_ns: Option<u64>,
    /// The part of `span_cpu_ns` spent in the program itself.
    pub span_user_ns: Option<u64>,
    /// The part of it spent in the OS.
    pub span_system_ns: Option<u64>,
    /// The OS counters around the trial.
    pub evidence: Evidence,
}

/// All trials of a case, in the order of their rounds.
pub(crate) fn trials(measured: &Measured) -> Vec<TrialFigures> {
    let is_durable = is_durable(measured);
    let done = |fate: Fate, trial: &Counted| TrialFigures {
        invocation: trial.invocation,
        round: trial.round,
        fate,
        figures: Some(Figures {
            acknowledged: acknowledged_of(measured, trial),
            durable: Some(trial.written_rate()).filter(|_| is_durable),
            ..figures(measured, trial)
        }),
    };
    let counted = measured.trials.iter().map(|trial| done(Fate::Counted, trial));
    let excluded = measured.excluded.iter().map(|(gate, trial)| done(Fate::Excluded(*gate), trial));
    let failed = measured.failed.iter().map(|Lost { invocation, round, failure }| TrialFigures {
        invocation: *invocation,
        round: *round,
        fate: Fate::Lost(failure.clone()),
        figures: None,
    });
    let mut all: Vec<TrialFigures> = counted.chain(excluded).chain(failed).collect();
    all.sort_by_key(|trial| trial.round);
    all
}

/// The figures of a trial, except for its acknowledged and durable rates.
fn figures(measured: &Measured, trial: &Counted) -> Figures {
    let sample = trial.sample;
    let (latencies, syncs) = (&sample.latencies, &sample.syncs);
    let is_open = measured.case.is_open();
    let responses = open_loop::responses(sample);
    let mixes = measured.case.is_mixed();
    let writes = if mixes { sample.writes() } else { Latencies::default() };
    let longest = |all: &Latencies| (all.count() > 0).then_some(all.max_ns);
    let split = split(trial);
    let pages = trial.pages();
    Figures {
        bytes: if counts_calls(measured.case) { 0 } else { sample.bytes() },
        ops: trial.operations,
        elapsed_ns: sample.elapsed_ns(),
        synced_ns: sample.synced_ns(),
        throughput: (!counts_calls(measured.case)).then_some(trial.rate),
        acknowledged: None,
        durable: None,
        iops: a_second(trial.operations, trial.timed_ns),
        p50_ns: percentile_ns(latencies, 5_000),
        p99_ns: percentile_ns(latencies, 100),
        p99_9_ns: percentile_ns(latencies, 10),
        max_ns: longest(latencies),
        sync_p50_ns: percentile_ns(syncs, 5_000),
        sync_p99_ns: percentile_ns(syncs, 100),
        sync_p99_9_ns: percentile_ns(syncs, 10),
        sync_max_ns: longest(syncs),
        response_p50_ns: percentile_ns(&responses, 5_000),
        response_p99_ns: percentile_ns(&responses, 100),
        response_p99_9_ns: percentile_ns(&responses, 10),
        response_max_ns: longest(&responses),
        unsent: is_open.then(|| sample.unsent()),
        read_ops: mixes.then(|| sample.read_ops()),
        read_p50_ns: percentile_ns(&sample.reads, 5_000),
        read_p99_ns: percentile_ns(&sample.reads, 100),
        read_p99_9_ns: percentile_ns(&sample.reads, 10),
        write_p50_ns: percentile_ns(&writes, 5_000),
        write_p99_ns: percentile_ns(&writes, 100),
        write_p99_9_ns: percentile_ns(&writes, 10),
        pages: pages.map(|pages| pages.count()),
        new_pages: pages.map(|pages| pages.written()),
        torn_pages: pages.map(|pages| pages.torn),
        span_cpu_ns: trial.cpu_ns(),
        working_cpu_ns: trial.working_cpu_ns(),
        span_user_ns: split.map(|(user_ns, _)| user_ns.round() as u64),
        span_system_ns: split.map(|(_, system_ns)| system_ns.round() as u64),
        evidence: trial.evidence.clone().into_owned(),
    }
}
