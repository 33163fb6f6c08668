//! A round of a case on several hosts: what all of them did, on one clock.
//!
//! Hosts are many, so nothing of a host is kept but its rate. What is asked of a moment that only
//! the last host tells, when all were active, takes a second look at their trials.

use crate::counted::{claims_durable, rate, timed_ns};
use crate::ending::{Ending, RoundEnds};
use crate::invocations;
use crate::stats::{Estimate, Looks};
use model::case::Case;
use model::plan::Plan;
use model::sample::{PROGRESS_NS, Sample, Span};
use model::trial::{HostClock, Outcome, Trial};
use model::units::NS_PER_SECOND;

/// A round of a case on several hosts.
pub(crate) struct HostRound {
    /// The numbers of the hosts, ascending.
    pub(crate) hosts: Vec<usize>,
    /// The rate of each; `None` if one has none.
    pub(crate) rates: Option<Vec<f64>>,
    /// The start of each, by its first thread.
    starts: Vec<u64>,
    /// The end of each, by its last thread.
    finishes: Vec<u64>,
    ends: RoundEnds,
    /// The most that a clock may have been wrong.
    pub(crate) error_ns: u64,
    /// While all threads of all hosts were active: the last start and the first end.
    active: Option<(u64, u64)>,
    /// The bytes of all in that time; `None` if one does not tell its progress, as commands, or if
    /// they count only once a sync has made them durable: nobody sees when a byte became so.
    moved: Option<f64>,
    /// All as one thread.
    pub(crate) whole: Trial,
    /// Whether it came after the planned rounds, in a run that was given a time.
    is_further: bool,
}

impl HostRound {
    /// A round of a plan, at this time.
    pub(crate) fn new(plan: &Plan, turn: (usize, u32, u32), at_ms: u64) -> HostRound {
        let whole = Trial::without_data(turn, at_ms, Outcome::Done(Sample::default()));
        HostRound {
            hosts: Vec::new(),
            rates: Some(Vec::new()),
            starts: Vec::new(),
            finishes: Vec::new(),
            ends: RoundEnds::default(),
            error_ns: 0,
            active: None,
            moved: Some(0.0),
            whole,
            is_further: plan.is_further(turn.2),
        }
    }

    /// Adds what a host did in its `trial` of the case.
    pub(crate) fn add(&mut self, host: usize, case: &Case, trial: &Trial) {
        let Some((sample, clock)) = trial.sample().zip(trial.clock) else { return };
        self.hosts.push(host);
        self.moved = self.moved.filter(|_| !is_durable_later(case) && case.command().is_none());
        self.rates = self.rates.take().zip(rate(case, trial)).map(|(mut rates, rate)| {
            rates.push(rate);
            rates
        });
        let error_ns = clock.error_ns.saturating_add(clock.drift_ns.unsigned_abs() / 2);
        self.error_ns = self.error_ns.max(error_ns);
        let spans: Vec<Span> = sample.spans.iter().map(|span| on_our_clock(span, clock)).collect();
        self.starts.extend(spans.iter().map(|span| span.start_ns).min());
        self.finishes.extend(spans.iter().map(|span| span.end_ns).max());
        self.ends.add(case, &spans);
        for span in &spans {
            let (start, end) = self.active.unwrap_or((span.start_ns, span.end_ns));
            self.active = Some((start.max(span.start_ns), end.min(span.end_ns)));
        }
        let is_first = self.hosts.len() == 1;
        if let Outcome::Done(whole) = &mut self.whole.outcome {
            let before = if is_first { Some(0) } else { whole.usage.cpu_ns };
            whole.usage.cpu_ns =
                before.zip(sample.usage.cpu_ns).map(|(all, own)| all.saturating_add(own));
            whole.spans = as_one(whole.spans.iter().chain(&spans)).into_iter().collect();
            whole.latencies.add(&sample.latencies);
            whole.syncs.add(&sample.syncs);
            whole.responses.add(&sample.responses);
            whole.reads.add(&sample.reads);
        }
    }

    /// Adds what a host moved while all were active, once all are known.
    pub(crate) fn add_moved(&mut self, trial: &Trial) {
        let Some((start_ns, end_ns)) = self.active() else { return };
        let Some((sample, clock)) = trial.sample().zip(trial.clock) else { return };
        let bytes = |span: &Span| {
            let span = on_our_clock(span, clock);
            Some(bytes_until(&span, end_ns)? - bytes_until(&span, start_ns)?)
        };
        let bytes: Option<f64> = sample.spans.iter().map(bytes).sum();
        self.moved = self.moved.zip(bytes).map(|(all, bytes)| all + bytes);
    }

    /// When all were active, if they ever were.
    fn active(&self) -> Option<(u64, u64)> {
        self.active.filter(|(start, end)| start < end)
    }

    /// A value of this round.
    pub(crate) fn value(&self, value: f64) -> invocations::Round {
        let (invocation, round) = (self.whole.invocation, self.whole.round);
        invocations::Round { invocation, round, is_further: self.is_further, value }
    }

    /// From the first host's start to the last one's.
    pub(crate) fn skew_ns(&self) -> u64 {
        self.starts_ns().max().unwrap_or(0)
    }

    /// How much later than the first host each began.
    pub(crate) fn starts_ns(&self) -> impl Iterator<Item = u64> {
        let first = self.starts.iter().min().copied().unwrap_or(0);
        self.starts.iter().map(move |start| start - first)
    }

    /// How much later than the first host each ended.
    pub(crate) fn late_ns(&self) -> impl Iterator<Item = u64> {
        let first = self.finishes.iter().min().copied().unwrap_or(0);
        self.finishes.iter().map(move |end| end - first)
    }

    /// The time that the figure of `case` is based on.
    pub(crate) fn timed_ns(&self, case: &Case) -> u64 {
        self.whole.sample().map_or(0, |sample| timed_ns(case, sample))
    }

    /// Bytes per second while all threads of all hosts were active; `None` if they never were, or
    /// do not tell their progress.
    pub(crate) fn common_rate(&self) -> Option<f64> {
        let (start_ns, end_ns) = self.active()?;
        Some(self.moved? / (end_ns - start_ns) as f64 * NS_PER_SECOND)
    }
}

/// What ended most of the rounds, and in how many of them time ended a part of the hosts, or all.
pub(crate) fn ending(case: &Case, rounds: &[&HostRound]) -> Option<(Ending, [usize; 2])> {
    let of = |round: &&HostRound| round.ends.ending(round.timed_ns(case));
    let endings: Vec<Ending> = rounds.iter().filter_map(of).collect();
    let number = |ending: Ending| endings.iter().filter(|other| **other == ending).count();
    let most = Ending::ALL.iter().copied().max_by_key(|ending| number(*ending))?;
    (!endings.is_empty()).then(|| (most, [Ending::Cut, Ending::Time].map(number)))
}

/// Whether bytes count only once a separate sync has made them durable.
fn is_durable_later(case: &Case) -> bool {
    claims_durable(case) && case.write().is_some_and(|work| work.sync.is_call())
}

/// One thread that did what all of these did.
fn as_one<'a>(spans: impl Iterator<Item = &'a Span>) -> Option<Span> {
    let add = |all: Span, span: &Span| Span {
        start_ns: all.start_ns.min(span.start_ns),
        end_ns: all.end_ns.max(span.end_ns),
        bytes: all.bytes.saturating_add(span.bytes),
        ops: all.ops.saturating_add(span.ops),
        // One that did nothing has nothing to sync.
        synced_ns: match (all.ops, span.ops) {
            (_, 0) => all.synced_ns,
            (0, _) => span.synced_ns,
            _ => all.synced_ns.zip(span.synced_ns).map(|(all, own)| all.max(own)),
        },
        read_ops: all.read_ops.saturating_add(span.read_ops),
        read_bytes: all.read_bytes.saturating_add(span.read_bytes),
        ..all
    };
    let mut spans = spans;
    let first = spans.next()?;
    let first = Span { thread: 0, progress: Vec::new(), ..first.clone() };
    Some(spans.fold(first, add))
}

/// Bytes that a thread had moved at a time, as if it had moved them evenly within each step of its
/// progress; `None` if it does not tell its progress.
fn bytes_until(span: &Span, ns: u64) -> Option<f64> {
    if span.progress.is_empty() {
        return (span.bytes == 0).then_some(0.0);
    }
    let length_ns = span.end_ns.saturating_sub(span.start_ns);
    let ns = ns.clamp(span.start_ns, span.end_ns.max(span.start_ns)) - span.start_ns;
    let mut bytes = 0.0;
    for (index, moved) in (0u64..).zip(&span.progress) {
        let from = index.saturating_mul(PROGRESS_NS);
        // The last step is partial and ends with the span.
        let step = length_ns.saturating_sub(from).min(PROGRESS_NS);
        if step == 0 {
            // A damaged record may have more steps than its span lasts.
            break;
        }
        if ns >= from.saturating_add(step) {
            bytes += *moved as f64;
        } else {
            return Some(bytes + *moved as f64 * (ns - from) as f64 / step as f64);
        }
    }
    Some(bytes)
}

/// The span with the coordinator's times. A clock that drifted has its mean offset.
fn on_our_clock(span: &Span, clock: HostClock) -> Span {
    let ahead_ns = i128::from(clock.ahead_ns) + i128::from(clock.drift_ns) / 2;
    let ours = |ns: u64| u64::try_from((i128::from(ns) - ahead_ns).max(0)).unwrap_or(u64::MAX);
    let mut span = span.clone();
    (span.start_ns, span.end_ns) = (ours(span.start_ns), ours(span.end_ns));
    span.synced_ns = span.synced_ns.map(ours);
    span
}

/// The estimate of one value for each round.
pub(crate) fn estimate(values: impl Iterator<Item = invocations::Round>) -> Option<Estimate> {
    Estimate::of_rounds(&values.collect::<Vec<_>>(), Looks::None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_that_lasts_longer_than_its_span_ends_with_it() {
        let span = Span {
            end_ns: PROGRESS_NS + PROGRESS_NS / 2,
            bytes: 30,
            progress: vec![10, 10, 5, 5],
            ..Span::default()
        };
        let at = |steps: f64| bytes_until(&span, (steps * PROGRESS_NS as f64) as u64);
        assert_eq!(at(0.5), Some(5.0));
        assert_eq!(at(1.25), Some(15.0));
        assert_eq!(at(9.0), Some(20.0));
    }
}
