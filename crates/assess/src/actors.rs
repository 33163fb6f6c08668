//! The figures of what ran beside a case.

use crate::counted::{Counted, a_second};
use crate::form::{As, FormOf};
use crate::latency::{Latency, Percentiles};
use crate::measured::Measured;
use crate::stats::median;
use model::plan::Actor;
use model::sample::{Latencies, Sample};
use model::trial::Beside;
use schemars::JsonSchema;
use serde::Serialize;

/// What an actor did beside the trials of a case: medians of the rounds, from its own start to its
/// own end.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ActorFigures {
    /// Its name in the recipe.
    pub name: String,
    /// What it does: the id of its case.
    pub does: String,
    /// Bytes per second.
    pub throughput: Option<f64>,
    /// Operations per second.
    pub iops: Option<f64>,
    /// Service times of its operations.
    #[serde(with = "As::<Percentiles>")]
    pub latency_ns: Latency,
    /// The latency of its syncs.
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
    let rate = |amount: fn(&Sample) -> u64| {
        let of_trial = |trial: &Counted| {
            let sample = sample(trial, name)?;
            a_second(amount(sample), sample.elapsed_ns())
        };
        median(&measured.values(of_trial))
    };
    let latency = |of: fn(&Sample) -> &Latencies| {
        let all = measured.trials_by_unit().into_iter().map(|unit| {
            Latencies::sum(unit.into_iter().filter_map(|trial| sample(trial, name)).map(of))
        });
        Latency::of(&all.collect::<Vec<_>>())
    };
    ActorFigures {
        name: name.to_string(),
        does: actor.case.id(),
        throughput: rate(Sample::bytes),
        iops: rate(Sample::ops),
        latency_ns: latency(|sample| &sample.latencies),
        sync_latency_ns: latency(|sample| &sample.syncs),
    }
}
