//! A trial that counts, and its rate.

use crate::beside::{OwnEvidence, Unsure};
use crate::failure::Failure;
use crate::invocations::Round;
use model::case::{Case, Op};
use model::evidence::{Evidence, Limit};
use model::generation::PagesRead;
use model::host::Storage;
use model::sample::{Sample, Span};
use model::trial::{Beside, Outcome, ReadBack, Trial};
use model::units::NS_PER_SECOND;
use std::borrow::Cow;

/// Why a trial without an amount or a time does not count.
const AT_ONCE: &str = "it ended at once or moved no bytes";

/// A window's counter is used for the timed span if the window is at most this many times as long
/// (docs/method).
const WINDOW_MOST: f64 = 1.05;

/// The rate of a trial of `case`: bytes per second, or operations per second if it moves no
/// data. `None` unless the trial succeeded, took time and moved something.
///
/// If the case claims durability, the time ends when the last sync returned; otherwise, when the
/// last operation returned (docs/method).
pub fn rate(case: &Case, trial: &Trial) -> Option<f64> {
    let sample = trial.sample()?;
    let amount = if counts_calls(case) { operations(case, sample) } else { sample.bytes() };
    a_second(amount, timed_ns(case, sample))
}

/// An amount in `ns` nanoseconds as a rate per second; `None` if either is 0.
pub(crate) fn a_second(amount: u64, ns: u64) -> Option<f64> {
    (amount > 0 && ns > 0).then(|| amount as f64 / ns as f64 * NS_PER_SECOND)
}

/// Whether it moves no data and only calls a sync.
pub(crate) fn only_syncs(case: &Case) -> bool {
    case.write().is_some_and(|work| work.op == Op::Sync)
}

/// Whether it moves no data: only its calls count.
pub(crate) fn counts_calls(case: &Case) -> bool {
    only_syncs(case) || case.metadata().is_some() || case.command().is_some()
}

/// The operations of a trial; of a case on names, each name is one, also in a listing.
fn operations(case: &Case, sample: &Sample) -> u64 {
    if case.metadata().is_some() { sample.bytes() } else { sample.ops() }
}

/// Whether it claims that written data is durable.
pub(crate) fn claims_durable(case: &Case) -> bool {
    case.write().is_some_and(|work| work.sync.claims_durable())
}

/// The time in nanoseconds that the rate is based on. If no sync was reported, it is the time of
/// the operations.
pub(crate) fn timed_ns(case: &Case, sample: &Sample) -> u64 {
    if claims_durable(case) { wall_ns(sample) } else { sample.elapsed_ns() }
}

/// From the first thread's start to the last thread's end, including its last sync.
fn wall_ns(sample: &Sample) -> u64 {
    sample.elapsed_ns().max(sample.synced_ns().unwrap_or(0))
}

/// How long a thread paused until an operation was due, on average; `None` unless all tell it.
fn mean_pause_ns(sample: &Sample) -> Option<u64> {
    let mut each = sample.spans.iter().map(|span| span.paused_ns);
    let all_ns = each.try_fold(0u64, |sum, paused_ns| Some(sum.saturating_add(paused_ns?)))?;
    all_ns.checked_div(sample.spans.len() as u64)
}

/// Whether what an actor read or wrote is correct; `None` if nothing was summed.
pub(crate) fn is_actor_right(beside: &Beside) -> Option<bool> {
    let digest = beside.outcome.sample().and_then(Sample::digest);
    let read = beside.expected_digest.map(|expected| digest == Some(expected));
    let read_back = beside.read_back.map(|seen| seen.digest == seen.expected);
    [read, read_back].into_iter().flatten().reduce(|all, this| all && this)
}

/// A successful trial that counts.
#[derive(Debug)]
pub(crate) struct Counted<'a> {
    pub(crate) invocation: u32,
    pub(crate) round: u32,
    /// Whether it was measured after the planned rounds.
    pub(crate) is_further: bool,
    /// When it began, in milliseconds since the start of the run.
    pub(crate) at_ms: u64,
    pub(crate) sample: &'a Sample,
    /// Its operations: of a case on names, the names.
    pub(crate) operations: u64,
    /// Without what the actors beside it did.
    pub(crate) evidence: Cow<'a, Evidence>,
    /// How exact that is.
    pub(crate) unsure: Unsure,
    /// What the actors beside it did.
    pub(crate) beside: &'a [Beside],
    pub(crate) expected_digest: Option<u64>,
    pub(crate) read_back: Option<ReadBack>,
    /// Its [`rate`]: bytes per second, or operations per second if it moves none.
    pub(crate) rate: f64,
    /// The time in nanoseconds that the rate is based on.
    pub(crate) timed_ns: u64,
    /// How long a thread of an open loop paused because nothing was due, on average; 0 in a closed
    /// loop, and `None` if the worker does not tell it.
    pause_ns: Option<u64>,
}

impl<'a> Counted<'a> {
    /// The trial, if it counts; otherwise the reason why not. `is_further`: it came after the
    /// planned rounds.
    pub(crate) fn of(
        case: &Case,
        trial: &'a Trial,
        is_further: bool,
        own: OwnEvidence<'a>,
    ) -> Result<Counted<'a>, Failure> {
        match (&trial.outcome, rate(case, trial)) {
            (Outcome::Done(sample), Some(rate)) => Ok(Counted {
                invocation: trial.invocation,
                round: trial.round,
                is_further,
                at_ms: trial.at_ms,
                sample,
                operations: operations(case, sample),
                evidence: own.evidence,
                unsure: own.unsure,
                beside: &trial.beside,
                expected_digest: trial.expected_digest,
                read_back: trial.read_back,
                rate,
                timed_ns: timed_ns(case, sample),
                pause_ns: if case.is_open() { mean_pause_ns(sample) } else { Some(0) },
            }),
            (Outcome::Done(_), None) => Err(Failure::Failed(AT_ONCE.to_string())),
            (Outcome::Unavailable { reason }, _) => Err(Failure::Unavailable(reason.clone())),
            (Outcome::Failed { reason }, _) => Err(Failure::Failed(reason.clone())),
        }
    }

    /// A value for this trial's round.
    pub(crate) fn at(&self, value: f64) -> Round {
        let Counted { invocation, round, is_further, .. } = *self;
        Round { invocation, round, is_further, value }
    }

    /// The limits that control groups had on devices of `storage` in this trial, at its start or at
    /// its end. In older records, those at the start of the run.
    pub(crate) fn limits<'s>(&'s self, storage: &'s Storage) -> Vec<&'s Limit> {
        let Some(seen) = &self.evidence.limits else { return storage.limits.iter().collect() };
        let nodes = storage.nodes();
        seen.iter().filter(|limit| nodes.contains(limit.device.as_str())).collect()
    }

    /// Nanoseconds from the first thread's start to the last thread's end, including its last sync.
    pub(crate) fn wall_ns(&self) -> u64 {
        // What is synced after a command's end is not its time.
        match self.sample.exit {
            Some(_) => self.sample.elapsed_ns(),
            None => wall_ns(self.sample),
        }
    }

    /// A counter's value between the first thread's start and the last thread's end: `told` by the
    /// worker. The value `seen` in the evidence covers a longer window, in which the worker also
    /// reports its results. It is used only if that window is hardly longer.
    pub(crate) fn in_span(&self, told: Option<u64>, seen: Option<u64>) -> Option<u64> {
        let is_near = self.evidence.window_ns as f64 <= WINDOW_MOST * wall_ns(self.sample) as f64;
        told.or(seen.filter(|_| is_near))
    }

    /// CPU time of the whole worker, including kernel threads that work for it.
    pub(crate) fn cpu_ns(&self) -> Option<u64> {
        self.in_span(self.sample.usage.cpu_ns, self.evidence.cpu_ns)
    }

    /// The same without the time in which threads only waited for an operation to be due.
    pub(crate) fn working_cpu_ns(&self) -> Option<u64> {
        Some(self.cpu_ns()?.saturating_sub(self.sample.spin_ns()))
    }

    /// That of an operation.
    pub(crate) fn cpu_ns_per_op(&self) -> Option<f64> {
        let (cpu_ns, ops) = (self.working_cpu_ns()?, self.operations);
        (ops > 0).then(|| cpu_ns as f64 / ops as f64)
    }

    /// The sum of what its threads reported; `None` unless all did.
    pub(crate) fn sum_of_spans(&self, of: fn(&Span) -> Option<u64>) -> Option<u64> {
        let spans = self.sample.spans.iter();
        spans.map(of).try_fold(0, |sum: u64, told| Some(sum.saturating_add(told?)))
    }

    /// The part of a thread's time `ns` in which it had something to do, or waited for what it had
    /// begun: not the pauses of an open loop. `None` if these are unknown.
    pub(crate) fn without_pauses(&self, ns: u64) -> Option<u64> {
        Some(ns.saturating_sub(self.pause_ns?))
    }

    /// How long its threads were ready to run but had no processor.
    pub(crate) fn run_delay_ns(&self) -> Option<u64> {
        self.in_span(self.sum_of_spans(|span| span.run_delay_ns), self.evidence.run_delay_ns)
    }

    /// CPU time of the case's threads, excluding threads that work for them.
    pub(crate) fn own_cpu_ns(&self) -> Option<u64> {
        self.in_span(self.sum_of_spans(|span| span.cpu_ns), self.evidence.cpu_ns)
    }

    /// Nanoseconds from the first thread's start to the last thread's.
    pub(crate) fn start_skew_ns(&self) -> u64 {
        let starts = || self.sample.spans.iter().map(|span| span.start_ns);
        starts().max().unwrap_or(0).saturating_sub(starts().min().unwrap_or(0))
    }

    /// The samples of the case and of the actors beside it that tell pages: those that read a file
    /// which was overwritten meanwhile.
    pub(crate) fn readers_beside_writes(&self) -> impl Iterator<Item = (&'a Sample, PagesRead)> {
        let beside = self.beside.iter().filter_map(|beside| beside.outcome.sample());
        let all = std::iter::once(self.sample).chain(beside);
        all.filter_map(|sample| Some((sample, sample.pages()?)))
    }

    /// The pages that all of them read; `None` if there are none.
    pub(crate) fn pages(&self) -> Option<PagesRead> {
        let each = self.readers_beside_writes().map(|(_, pages)| pages);
        each.reduce(|sum, pages| sum.plus(&pages))
    }

    /// Whether the digest of what was read, or read back, is correct; `None` if nothing was summed.
    /// Of a file that is overwritten meanwhile, each page must be what somebody wrote there.
    pub(crate) fn is_right(&self) -> Option<bool> {
        let read = self.expected_digest.map(|expected| self.sample.digest() == Some(expected));
        let read_back = self.read_back.map(|seen| seen.digest == seen.expected);
        let of_actors = self.beside.iter().filter_map(is_actor_right);
        let pages = self.pages().map(|pages| pages.wrong == 0);
        [read, read_back, pages]
            .into_iter()
            .flatten()
            .chain(of_actors)
            .reduce(|all, this| all && this)
    }

    /// The rate at which a write case wrote: a mixed case also read.
    pub(crate) fn written_rate(&self) -> f64 {
        match self.sample.read_bytes() {
            0 => self.rate,
            _ => self.rate * self.sample.written_bytes() as f64 / self.sample.bytes() as f64,
        }
    }

    /// The amount of work, in the units of [`rate`], and the seconds that it took.
    pub(crate) fn done(&self) -> (f64, f64) {
        let seconds = self.timed_ns as f64 / NS_PER_SECOND;
        (self.rate * seconds, seconds)
    }

    /// Loading time in nanoseconds, of the thread that loaded longest; `None` if none loaded.
    pub(crate) fn load_ns(&self) -> Option<u64> {
        self.sample.spans.iter().map(|span| span.load_ns).max().filter(|load_ns| *load_ns > 0)
    }

    /// Bytes per second without loading, limited by the thread that took longest for the rest.
    pub(crate) fn loaded_throughput(&self) -> Option<f64> {
        let (bytes, seconds) = self.loaded()?;
        Some(bytes / seconds)
    }

    /// The bytes of a trial with loading, and the time in seconds without it, of the thread that
    /// took longest for the rest.
    pub(crate) fn loaded(&self) -> Option<(f64, f64)> {
        self.load_ns()?;
        let rest_ns =
            |span: &Span| span.end_ns.saturating_sub(span.start_ns).saturating_sub(span.load_ns);
        let longest_ns = self.sample.spans.iter().map(rest_ns).max().filter(|ns| *ns > 0)?;
        Some((self.sample.bytes() as f64, longest_ns as f64 / NS_PER_SECOND))
    }
}
