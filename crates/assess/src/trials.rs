//! The individual trials of a case, for tables and pictures.

use crate::counted::{Counted, a_second, counts_calls};
use crate::failure::Failure;
use crate::measured::{Exclusion, Lost, Measured};
use crate::open_loop;
use crate::percentile::percentile_ns;
use crate::spent::split;
use crate::writing::{acknowledged_of, is_durable};
use model::command::Exit;
use model::evidence::Evidence;
use model::generation::PagesRead;
use model::goal::Tail;
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

/// Latencies of a trial, in nanoseconds. A percentile is `None` if fewer than 10 took longer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TrialLatencies {
    /// The median.
    pub p50_ns: Option<u64>,
    /// The 99th percentile.
    pub p99_ns: Option<u64>,
    /// The 99.9th percentile.
    pub p99_9_ns: Option<u64>,
    /// The longest; `None` if operations were not timed individually.
    pub max_ns: Option<u64>,
}

impl TrialLatencies {
    fn of(all: &Latencies) -> TrialLatencies {
        TrialLatencies {
            p50_ns: percentile_ns(all, 5_000),
            p99_ns: percentile_ns(all, 100),
            p99_9_ns: percentile_ns(all, 10),
            max_ns: (all.count() > 0).then_some(all.max_ns),
        }
    }

    /// The percentile that all but `tail` do not exceed, if it is one of these.
    pub fn percentile(&self, tail: Tail) -> Option<u64> {
        match tail {
            Tail::P50 => self.p50_ns,
            Tail::P99 => self.p99_ns,
            Tail::P99_9 => self.p99_9_ns,
            _ => None,
        }
    }
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
    /// Those of all operations.
    pub latencies: TrialLatencies,
    /// Those of separate sync calls.
    pub syncs: TrialLatencies,
    /// The response times; none in a closed loop. The largest number if the operation never began.
    pub responses: TrialLatencies,
    /// Operations due that had not begun when the time was up; `None` in a closed loop.
    pub unsent: Option<u64>,
    /// Operations that read; `None` unless the case is mixed, here and below.
    pub read_ops: Option<u64>,
    /// Those of the reads.
    pub reads: TrialLatencies,
    /// Those of the writes.
    pub writes: TrialLatencies,
    /// The pages of 4 KiB that the case or an actor beside it read of a file which was overwritten
    /// meanwhile; `None` if none did.
    pub pages: Option<PagesRead>,
    /// CPU nanoseconds of the worker from the first thread's start to the last thread's end.
    pub span_cpu_ns: Option<u64>,
    /// The same without the time in which threads only waited for an operation to be due.
    pub working_cpu_ns: Option<u64>,
    /// The part of `span_cpu_ns` spent in the program itself.
    pub span_user_ns: Option<u64>,
    /// The part of it spent in the OS.
    pub span_system_ns: Option<u64>,
    /// How the command ended; `None` for other work.
    pub exit: Option<Exit>,
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
        figures: Some(figures(measured, trial, is_durable)),
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

/// The figures of a trial of a case whose writes are durable, or are not.
fn figures(measured: &Measured, trial: &Counted, is_durable: bool) -> Figures {
    let sample = trial.sample;
    let mixes = measured.case.is_mixed();
    let writes = if mixes { sample.writes() } else { Latencies::default() };
    let split = split(trial);
    Figures {
        bytes: if counts_calls(measured.case) { 0 } else { sample.bytes() },
        ops: trial.operations,
        elapsed_ns: sample.elapsed_ns(),
        synced_ns: sample.synced_ns(),
        throughput: (!counts_calls(measured.case)).then_some(trial.rate),
        acknowledged: acknowledged_of(measured, trial),
        durable: is_durable.then(|| trial.written_rate()),
        iops: a_second(trial.operations, trial.timed_ns),
        latencies: TrialLatencies::of(&sample.latencies),
        syncs: TrialLatencies::of(&sample.syncs),
        responses: TrialLatencies::of(&open_loop::responses(sample)),
        unsent: measured.case.is_open().then(|| sample.unsent()),
        read_ops: mixes.then(|| sample.read_ops()),
        reads: TrialLatencies::of(&sample.reads),
        writes: TrialLatencies::of(&writes),
        pages: trial.pages(),
        span_cpu_ns: trial.cpu_ns(),
        working_cpu_ns: trial.working_cpu_ns(),
        span_user_ns: split.map(|(user_ns, _)| user_ns.round() as u64),
        span_system_ns: split.map(|(_, system_ns)| system_ns.round() as u64),
        exit: sample.exit,
        evidence: trial.evidence.clone().into_owned(),
    }
}
