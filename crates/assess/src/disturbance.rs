//! Other activity on the machine during a trial, and the rounds excluded because of it.
//!
//! A round is excluded only for what was counted on the machine, using limits fixed in advance, and
//! never for its own figure. Excluding slow rounds would decide the result.

use crate::counted::{Counted, a_second};
use crate::form::{As, ByReason};
use crate::invocations::Round;
use crate::measured::{Measured, with_mean_of};
use crate::served::{SHARE_NOISE, WARM_LEAST};
use crate::stats::{Estimate, median};
use model::case::{Cache, Op, WriteWork};
use model::evidence::Residency;
use model::host::Medium;
use model::plan::ROUNDS_MIN;
use schemars::JsonSchema;
use serde::Serialize;

pub use crate::measured::Exclusion;

/// The rounds of a case that are excluded because of what the machine did to them, by limits fixed
/// in advance.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Excluded {
    /// Their number.
    pub trials: usize,
    /// The number for each reason; only the first reason that applies counts. `steal`: the
    /// hypervisor took CPU time; `throttled`: a CPU quota held the worker back; `foreign`: other
    /// processes read from the devices; `reclaimed`: the OS evicted part of a warm file.
    #[serde(with = "As::<Vec<ByReason<Exclusion>>>")]
    pub reasons: Vec<(Exclusion, usize)>,
    /// The rate with these rounds included, in bytes per second, or operations per second if the
    /// case only calls a sync.
    pub rate_with_them: Estimate,
}

/// More stolen CPU time than this excludes a round (docs/method).
const STEAL_MOST: f64 = 0.10;
/// Up to this much stolen CPU time excludes nothing: in a trial of the usual length, it is at most
/// two ticks of the OS's clock.
const STEAL_NS_LEAST: f64 = 25e6;
/// More time throttled by a CPU quota than this excludes a round (docs/method).
const THROTTLED_MOST: f64 = 0.05;
/// A foreign read rate above this share of the case's usual rate excludes a round (docs/method).
const FOREIGN_MOST: f64 = 0.20;
/// If more than this share of the rounds would be excluded, none is (docs/method).
const EXCLUDED_MOST: f64 = 0.20;

/// The share of the threads' time for which a CPU quota throttled them, without the pauses of an
/// open loop. The OS counts that time for each processor.
pub(crate) fn throttled_parts(measured: &Measured, trial: &Counted) -> Option<(u64, u64)> {
    let processors = measured.threads_at_work().min(measured.host.cores);
    let evidence = &trial.evidence;
    let each_ns = trial.without_pauses(evidence.window_ns)?;
    if measured.case.command().is_some() {
        // How many processors a command would use is unknown: at most all of its time counts.
        return Some((evidence.throttled_ns?.min(each_ns), each_ns));
    }
    Some((evidence.throttled_ns?, each_ns.saturating_mul(processors.into())))
}

/// Foreign device reads, relative to the worker's own.
pub(crate) fn share_of_others(measured: &Measured, trial: &Counted) -> Option<f64> {
    let (others, own) = (measured.read_by_others(trial)?, trial.evidence.task_read_bytes?);
    (own > 0).then(|| others as f64 / own as f64)
}

/// Excludes disturbed rounds from `measured`, if they are few (at most a fifth) and enough others
/// remain. Consecutive sustained trials are pieces of one, so none can be excluded.
pub(crate) fn exclude(measured: &mut Measured) {
    let n = measured.n();
    let limits = UsualRange::of(measured);
    let gate = |trial: &Counted| limits.gate(measured, trial);
    let gates: Vec<Option<Exclusion>> = measured.trials.iter().map(gate).collect();
    let disturbed = gates.iter().flatten().count();
    let is_few = disturbed as f64 <= EXCLUDED_MOST * n as f64;
    let is_left = n - disturbed >= ROUNDS_MIN as usize;
    if !is_few || !is_left || measured.sustain.is_some() {
        return;
    }
    for (trial, gate) in std::mem::take(&mut measured.trials).into_iter().zip(gates) {
        match gate {
            None => measured.trials.push(trial),
            Some(gate) => measured.excluded.push((gate, trial)),
        }
    }
}

/// The limits of a case, derived from all its rounds. They are the same for each round, so a
/// round's own speed does not matter.
#[derive(Debug)]
struct UsualRange {
    /// Stolen CPU time, relative to the machine's.
    stolen: f64,
    /// Foreign device reads in bytes per second; `None` if the worker's own are unknown, or other
    /// hosts of the run use the device.
    others: Option<f64>,
}

impl UsualRange {
    fn of(measured: &Measured) -> UsualRange {
        let usual = |value: &dyn Fn(&Counted) -> Option<f64>| median(&measured.values(value));
        let machine_ns = usual(&|trial| Some(trial.evidence.machine_cpu_ns? as f64));
        let ticks = machine_ns.map_or(0.0, |ns| STEAL_NS_LEAST / ns.max(1.0));
        let own =
            usual(&|trial| a_second(trial.evidence.task_read_bytes?, trial.evidence.window_ns))
                // What other hosts of the run read there is part of each round.
                .filter(|_| !measured.shares_device);
        UsualRange { stolen: STEAL_MOST.max(ticks), others: own.map(|rate| FOREIGN_MOST * rate) }
    }

    /// Why a trial should be excluded, if it should.
    fn gate(&self, measured: &Measured, trial: &Counted) -> Option<Exclusion> {
        let is_above = |parts: Option<(u64, u64)>, most: f64| {
            parts.is_some_and(|(part, whole)| part as f64 > most * whole as f64)
        };
        let evidence = &trial.evidence;
        if is_above(evidence.steal_ns.zip(evidence.machine_cpu_ns), self.stolen) {
            return Some(Exclusion::Steal);
        }
        if is_above(throttled_parts(measured, trial), THROTTLED_MOST) {
            return Some(Exclusion::Throttled);
        }
        let others =
            measured.read_by_others(trial).filter(|_| is_read_from_device(measured, trial));
        let others = others.and_then(|bytes| a_second(bytes, evidence.window_ns));
        if others.zip(self.others).is_some_and(|(others, most)| others > most) {
            return Some(Exclusion::Foreign);
        }
        is_reclaimed(measured, trial).then_some(Exclusion::Reclaimed)
    }
}

/// Whether part of a file that must be warm was missing from the page cache before or after, or
/// came from a device. These are shares of the file, so how much of it a trial read does not
/// matter. For an overwritten file, only the share before counts.
fn is_reclaimed(measured: &Measured, trial: &Counted) -> bool {
    let evidence = &trial.evidence;
    if measured.storage.is_none_or(|storage| storage.medium == Medium::Ram) {
        return false;
    }
    let is_cold = |seen: Option<Residency>| seen.is_some_and(|seen| seen.share() < WARM_LEAST);
    let is_warm_write = |work: &WriteWork| work.io.cache == Cache::Warm && work.op == Op::Write;
    let is_warm_command = measured.case.command().is_some_and(|it| it.cache == Cache::Warm);
    match measured.read() {
        Some(work) if work.io.cache == Cache::Warm => {
            let most = SHARE_NOISE * work.io.size as f64;
            is_cold(evidence.residency_before)
                || is_cold(evidence.residency_after)
                || evidence.task_read_bytes.is_some_and(|bytes| bytes as f64 > most)
        }
        Some(_) => false,
        None if is_warm_command => is_cold(evidence.residency_before),
        None => measured.write().is_some_and(is_warm_write) && is_cold(evidence.residency_before),
    }
}

/// Whether a device served a trial's reads: only then can foreign reads delay it.
fn is_read_from_device(measured: &Measured, trial: &Counted) -> bool {
    let is_block = measured.storage.is_some_and(|storage| storage.medium == Medium::Block);
    let least = (1.0 - SHARE_NOISE) * trial.sample.bytes() as f64;
    let own = trial.evidence.task_read_bytes;
    is_block && measured.read().is_some() && own.is_some_and(|own| own as f64 >= least)
}

impl Excluded {
    /// The rounds excluded from a case, if any.
    pub(crate) fn of(measured: &Measured) -> Option<Excluded> {
        let excluded = &measured.excluded;
        if excluded.is_empty() {
            return None;
        }
        let count = |gate: Exclusion| excluded.iter().filter(|(known, _)| *known == gate).count();
        let reasons = Exclusion::ALL.iter().map(|gate| (*gate, count(*gate)));
        let rates: Vec<Round> = measured.all().map(|trial| trial.at(trial.rate)).collect();
        Some(Excluded {
            trials: excluded.len(),
            reasons: reasons.filter(|(_, trials)| *trials > 0).collect(),
            rate_with_them: with_mean_of(
                measured.estimate_of(&rates),
                measured.all().map(|trial| trial.done()),
            )?,
        })
    }
}
