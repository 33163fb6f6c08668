//! The figures of what ran beside a case.

use crate::counted::{Counted, a_second};
use crate::form::{As, FormOf};
use crate::latency::{Latency, Percentiles};
use crate::measured::Measured;
use model::plan::Actor;
use model::sample::{Latencies, PROGRESS_NS, Sample, Span};
use model::trial::Beside;
use model::units::NS_PER_SECOND;
use schemars::JsonSchema;
use serde::Serialize;
use std::ops::Range;

/// What an actor did beside the trials of a case: its rates are medians, as that of the case is.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ActorFigures {
    /// Its name in the recipe.
    pub name: String,
    /// What it does: the id of its case, and how much of the time, if less than all.
    pub does: String,
    /// Bytes per second, while the case's trials ran.
    pub throughput: Option<f64>,
    /// Operations per second in the same time.
    pub iops: Option<f64>,
    /// Whether both are of its whole run, which begins before a trial and ends after it: what it
    /// did in the trials alone is unknown, as of one that only syncs, or beside trials below 0.2 s.
    pub of_whole_run: bool,
    /// Service times of its operations, in its whole run.
    #[serde(with = "As::<Percentiles>")]
    pub latency_ns: Latency,
    /// The latency of its syncs, in its whole run.
    #[serde(with = "As::<Percentiles>")]
    pub sync_latency_ns: Latency,
}

impl FormOf<Latency> for Percentiles {
    fn of(latency: &Latency) -> Percentiles {
        latency.forms().0
    }
}

/// The actors beside a case, in the order of its trials.
pub(crate) fn actors(measured: &Measured) -> Vec<ActorFigures> {
    let Some(first) = measured.trials.first() else { return Vec::new() };
    let figures = |beside: &Beside| {
        let actor = measured.actors.iter().find(|actor| actor.name == beside.name)?;
        Some(figures(measured, actor))
    };
    first.beside.iter().filter_map(figures).collect()
}

fn sample<'a>(trial: &Counted<'a>, name: &str) -> Option<&'a Sample> {
    let is_it = |beside: &&Beside| beside.name == name;
    trial.beside.iter().find(is_it)?.outcome.sample()
}

fn figures(measured: &Measured, actor: &Actor) -> ActorFigures {
    let name = actor.name.as_str();
    let meanwhile: Option<Vec<f64>> =
        measured.trials.iter().map(|trial| throughput_in(trial, sample(trial, name)?)).collect();
    let of_whole_run = meanwhile.is_none();
    // All its blocks have one size.
    let rate = |amount: fn(&Sample) -> u64| {
        let of_trial = |trial: &Counted| {
            let sample = sample(trial, name)?;
            let whole_run = a_second(amount(sample), sample.elapsed_ns());
            let share = amount(sample) as f64 / sample.bytes().max(1) as f64;
            if of_whole_run { whole_run } else { Some(throughput_in(trial, sample)? * share) }
        };
        Some(measured.estimate(of_trial)?.median)
    };
    let latency = |of: fn(&Sample) -> &Latencies| {
        let all = measured.trials_by_unit().into_iter().map(|unit| {
            Latencies::sum(unit.into_iter().filter_map(|trial| sample(trial, name)).map(of))
        });
        Latency::of(&all.collect::<Vec<_>>())
    };
    ActorFigures {
        name: name.to_string(),
        does: actor.does(),
        throughput: rate(Sample::bytes),
        iops: rate(Sample::ops),
        of_whole_run,
        latency_ns: latency(|sample| &sample.latencies),
        sync_latency_ns: latency(|sample| &sample.syncs),
    }
}

/// Bytes per second that all actors together moved during `trial`; `None` without actors, or if
/// that of one is unknown.
pub(crate) fn throughput_beside(trial: &Counted) -> Option<f64> {
    let of = |beside: &Beside| throughput_in(trial, beside.outcome.sample()?);
    trial.beside.iter().map(of).reduce(|sum, rate| Some(sum? + rate?))?
}

/// Bytes per second that an actor moved during `trial`; `None` if it moved none at all, or if that
/// is unknown.
fn throughput_in(trial: &Counted, actor: &Sample) -> Option<f64> {
    let start_ns = trial.sample.spans.iter().map(|span| span.start_ns).min()?;
    let during = start_ns..start_ns.saturating_add(trial.timed_ns);
    let mut of_threads = actor.spans.iter().map(|span| of_thread(span, &during));
    let all = of_threads.try_fold(0.0, |sum, rate| Some(sum + rate?))?;
    (actor.bytes() > 0).then_some(all)
}

/// Bytes per second that a thread moved in the whole steps of its progress within a time; `None` if
/// there are none. A step that lies in it only partly tells too much: outside of it, the actor was
/// alone. The last step is partial.
fn of_thread(span: &Span, during: &Range<u64>) -> Option<f64> {
    let (_, whole) = span.progress.split_last()?;
    let steps = (0u64..).zip(whole).filter(|(index, _)| {
        let from_ns = span.start_ns.saturating_add(index.saturating_mul(PROGRESS_NS));
        during.start <= from_ns && from_ns.saturating_add(PROGRESS_NS) <= during.end
    });
    let (count, bytes) =
        steps.fold((0u64, 0u64), |(n, sum), (_, bytes)| (n + 1, sum.saturating_add(*bytes)));
    let ns = count.saturating_mul(PROGRESS_NS) as f64;
    (count > 0).then(|| bytes as f64 / ns * NS_PER_SECOND)
}
