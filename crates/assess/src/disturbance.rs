//! What else went on on the machine while a trial ran, and the rounds that are left out for it.
//!
//! A round is left out for what was counted on the machine, by limits that were fixed before, and
//! never for its own figure: who leaves out what is slow has decided what is fast.

use crate::measured::{Counted, Measured};
use crate::served::SHARE_NOISE;
use crate::stats::Estimate;
use model::host::Medium;
use model::plan::ROUNDS_MIN;

pub use crate::measured::Gate;

/// The rounds of a case that were left out.
#[derive(Debug, Clone, PartialEq)]
pub struct Excluded {
    /// How many.
    pub trials: usize,
    /// Why, and how many of them for each reason: the first that applies.
    pub reasons: Vec<(Gate, usize)>,
    /// What the case comes to with them in: bytes a second, or operations where only a sync is
    /// called.
    pub rate_with_them: Estimate,
}

/// More stolen CPU time than this leaves a round out (METHODOLOGY.md).
const STEAL_MOST: f64 = 0.10;
/// Less stolen CPU time than this is a tick or two of the OS's clock, and leaves nothing out.
const STEAL_NS_LEAST: u64 = 30_000_000;
/// More time held back by a CPU quota than this leaves a round out (METHODOLOGY.md).
const THROTTLED_MOST: f64 = 0.05;
/// More that others read than this, as a share of what the worker did, leaves a round out
/// (METHODOLOGY.md).
const FOREIGN_MOST: f64 = 0.20;
/// If more than this share of the rounds would be left out none is (METHODOLOGY.md).
const EXCLUDED_MOST: f64 = 0.20;

/// The share of the threads' time for which a CPU quota held them back. The OS counts that time
/// for each processor.
pub(crate) fn throttled_parts(measured: &Measured, trial: &Counted) -> Option<(u64, u64)> {
    let processors = measured.threads_at_work().min(measured.host.cores);
    let evidence = trial.evidence;
    Some((evidence.throttled_ns?, evidence.window_ns.saturating_mul(processors.into())))
}

/// What the devices read for others, as a share of what they read for the worker.
pub(crate) fn share_of_others(trial: &Counted) -> Option<f64> {
    let (all, own) = (trial.evidence.device_read_bytes?, trial.evidence.task_read_bytes?);
    (own > 0).then(|| all.saturating_sub(own) as f64 / own as f64)
}

/// Takes the rounds out of `measured` that others disturbed, if they are few: at most a fifth, and
/// enough others are left. Trials that follow each other are one, cut into pieces: none can go.
pub(crate) fn exclude(measured: &mut Measured) {
    let n = measured.n();
    let gates: Vec<Option<Gate>> = measured.trials.iter().map(|t| gate(measured, t)).collect();
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

/// Why a trial is to be left out, if it is.
fn gate(measured: &Measured, trial: &Counted) -> Option<Gate> {
    let is_above = |parts: Option<(u64, u64)>, most: f64| {
        parts.is_some_and(|(part, whole)| part as f64 > most * whole as f64)
    };
    let evidence = trial.evidence;
    let stolen = evidence.steal_ns.filter(|ns| *ns >= STEAL_NS_LEAST).zip(evidence.machine_cpu_ns);
    if is_above(stolen, STEAL_MOST) {
        return Some(Gate::Steal);
    }
    if is_above(throttled_parts(measured, trial), THROTTLED_MOST) {
        return Some(Gate::Throttled);
    }
    let others = share_of_others(trial).filter(|_| is_read_from_device(measured, trial));
    others.filter(|share| *share > FOREIGN_MOST).map(|_| Gate::Foreign)
}

/// Whether a device served what a trial read: only then do others that read hold it up.
fn is_read_from_device(measured: &Measured, trial: &Counted) -> bool {
    let is_block = measured.storage.is_some_and(|storage| storage.medium == Medium::Block);
    let least = (1.0 - SHARE_NOISE) * trial.sample.bytes() as f64;
    let own = trial.evidence.task_read_bytes;
    is_block && measured.file().is_some() && own.is_some_and(|own| own as f64 >= least)
}

impl Excluded {
    /// What was left out of a case, if anything was.
    pub(crate) fn of(measured: &Measured) -> Option<Excluded> {
        let excluded = &measured.excluded;
        if excluded.is_empty() {
            return None;
        }
        let count = |gate: Gate| excluded.iter().filter(|(known, _)| *known == gate).count();
        let reasons = Gate::ALL.iter().map(|gate| (*gate, count(*gate)));
        let rates: Vec<f64> = measured.all().map(|trial| trial.rate).collect();
        Some(Excluded {
            trials: excluded.len(),
            reasons: reasons.filter(|(_, trials)| *trials > 0).collect(),
            rate_with_them: Estimate::of(&rates)?,
        })
    }
}
