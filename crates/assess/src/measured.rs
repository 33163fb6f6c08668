//! The trials of one case that count.

use crate::caches::Caches;
use crate::counted::Counted;
use crate::invocations::{Round, exchangeable};
use crate::stats::{Estimate, Looks};
use model::case::{Advice, Case, Engine, ReadWork, WriteEngine, WriteWork};
use model::host::{Fixture, Host, Storage};
use model::layer::Amplification;
use model::named;
use model::plan::Role;
use model::record::Record;
use model::sample::Latencies;
use model::trial::Trial;
use std::collections::BTreeMap;
use std::time::Duration;

named! {
    /// Why a trial is left out: what the machine did to it.
    Gate "gate" {
        /// The hypervisor gave the machine's CPU time to others.
        Steal "steal",
        /// A control group's CPU quota held the worker back.
        Throttled "throttled",
        /// Others read from the devices.
        Foreign "foreign",
        /// The OS evicted part of a warm file from the page cache.
        Reclaimed "reclaimed",
    }
}

/// Threads that touch the pages ahead of the one that reads, where that is the advice.
const TOUCHING_AHEAD: u32 = 6;

/// An estimate whose mean is the sum of all parts divided by the sum of all wholes: the rate of a
/// program that runs all trials. That is the harmonic mean for trials of equal work, and the
/// arithmetic mean for trials of equal time.
pub(crate) fn with_mean_of(
    estimate: Option<Estimate>,
    parts: impl Iterator<Item = (f64, f64)>,
) -> Option<Estimate> {
    let estimate = estimate?;
    let (part, whole) = parts.fold((0.0, 0.0), |sum, (part, whole)| (sum.0 + part, sum.1 + whole));
    let mean = if whole > 0.0 { part / whole } else { estimate.mean };
    Some(Estimate { mean: mean.clamp(estimate.min, estimate.max), ..estimate })
}

/// One value of a quantity a round.
pub(crate) type Rounds = Vec<Round>;

/// One case with its trials, and where they were made.
#[derive(Debug)]
pub(crate) struct Measured<'a> {
    pub(crate) case: &'a Case,
    pub(crate) role: Role,
    /// The trials that count: [`rate`] has a value for each.
    pub(crate) trials: Vec<Counted<'a>>,
    /// Those left out because of what the machine did to them, with the reason.
    pub(crate) excluded: Vec<(Gate, Counted<'a>)>,
    /// The others.
    pub(crate) failed: Vec<Lost>,
    pub(crate) host: &'a Host,
    /// Its caches, as far as known: from the OS, or else from other cases.
    pub(crate) caches: Caches,
    pub(crate) storage: Option<&'a Storage>,
    /// Where the file is that copies read.
    pub(crate) source: Option<&'a Storage>,
    /// Whether looks at the rounds decided their number.
    pub(crate) looks: Looks,
    /// The time limit of `--sustain`, if used.
    pub(crate) sustain: Option<Duration>,
    /// The file that was read, if it is known which.
    pub(crate) fixture: Option<&'a Fixture>,
}

/// A trial that was not done.
#[derive(Debug)]
pub(crate) struct Lost {
    pub(crate) invocation: u32,
    pub(crate) round: u32,
    /// What went wrong.
    pub(crate) reason: String,
}

impl Measured<'_> {
    /// The multiple of writes on the watched devices; once, if no storage is known.
    pub(crate) fn writes(&self) -> Amplification {
        self.storage.map_or(Amplification::ONE, Storage::writes)
    }

    /// The bytes that devices read for anyone, however many of them read a byte. None where that
    /// is not known.
    pub(crate) fn read_once(&self, trial: &Counted) -> Option<u64> {
        let times = self.storage.map_or(Amplification::ONE, Storage::reads).exact()?;
        trial.evidence.device_read_bytes?.checked_div(times.into())
    }

    /// The upper bound of the file bytes on the devices, by what they wrote: there are fewer if a
    /// byte was written more often than necessary.
    pub(crate) fn written_at_most(&self, trial: &Counted) -> Option<u64> {
        trial.evidence.device_write_bytes?.checked_div(self.writes().least.into())
    }
}

impl<'a> Measured<'a> {
    /// Case `index` of the plan, of which these trials were `made`.
    pub(crate) fn of(record: &'a Record, index: usize, made: &[&'a Trial]) -> Measured<'a> {
        let header = &record.header;
        let planned = &header.plan.cases[index];
        let (mut trials, mut failed) = (Vec::new(), Vec::new());
        for trial in made {
            match Counted::of(&planned.case, trial) {
                Ok(counted) => trials.push(counted),
                Err(reason) => {
                    let Trial { invocation, round, .. } = **trial;
                    failed.push(Lost { invocation, round, reason });
                }
            }
        }
        Measured {
            case: &planned.case,
            role: planned.role,
            trials,
            excluded: Vec::new(),
            failed,
            host: &header.host,
            caches: Caches::of(&header.host),
            storage: header.storage.as_ref(),
            source: header.source_storage.as_ref().or(header.storage.as_ref()),
            looks: Looks::of(record),
            sustain: header.plan.sustain,
            fixture: fixture_of(&planned.case, record),
        }
    }

    /// The work that reads a file, unless the null engine does it, which reads none.
    pub(crate) fn read(&self) -> Option<&'a ReadWork> {
        self.case.read().filter(|work| work.engine != Engine::Null)
    }

    /// The work that writes a file, unless the null engine does it, which writes none.
    pub(crate) fn write(&self) -> Option<&'a WriteWork> {
        self.case.write().filter(|work| work.engine != WriteEngine::Null)
    }

    /// How many trials count.
    pub(crate) fn n(&self) -> usize {
        self.trials.len()
    }

    /// All trials that were done, those that were left out included, in the order of rounds.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Counted<'a>> {
        let excluded = self.excluded.iter().map(|(_, trial)| trial);
        let mut all: Vec<&Counted> = self.trials.iter().chain(excluded).collect();
        all.sort_by_key(|trial| trial.round);
        all.into_iter()
    }

    /// What went wrong, each reason once with how often.
    pub(crate) fn failures(&self) -> Vec<(String, usize)> {
        let mut failures: Vec<(String, usize)> = Vec::new();
        for Lost { reason, .. } in &self.failed {
            match failures.iter_mut().find(|(known, _)| known == reason) {
                Some((_, count)) => *count += 1,
                None => failures.push((reason.clone(), 1)),
            }
        }
        failures
    }

    /// Threads of the worker that have something to do at the same time: those of the case, and
    /// those that touch pages ahead of them.
    pub(crate) fn threads_at_work(&self) -> u32 {
        let is_ahead = self.read().is_some_and(|work| work.advice == Advice::TouchAhead);
        self.case.threads().saturating_add(if is_ahead { TOUCHING_AHEAD } else { 0 })
    }

    /// The rate of each round.
    pub(crate) fn rates(&self) -> Rounds {
        self.trials.iter().map(|trial| trial.at(trial.rate)).collect()
    }

    /// Nanoseconds of a thread for an operation, in each round: elapsed · threads / operations.
    /// With several in flight it is a part of the time that each of them takes.
    pub(crate) fn ns_per_op(&self) -> Rounds {
        let threads = f64::from(self.case.threads());
        let ns = |trial: &Counted| {
            let (ops, elapsed_ns) = (trial.sample.ops(), trial.sample.elapsed_ns());
            let ns = threads * elapsed_ns as f64 / ops as f64;
            (ops > 0 && elapsed_ns > 0).then_some(trial.at(ns))
        };
        self.trials.iter().filter_map(ns).collect()
    }

    /// Bytes per second of each round, without loading; only rounds that loaded anything.
    pub(crate) fn loaded_rates(&self) -> Rounds {
        let rate = |trial: &Counted| Some(trial.at(trial.loaded_throughput()?));
        self.trials.iter().filter_map(rate).collect()
    }

    /// The rates of the rounds or, if there are several, of the invocations, whose rounds are not
    /// independent.
    pub(crate) fn units(&self) -> Vec<f64> {
        exchangeable(&self.rates())
    }

    /// The latencies that `of` has of each trial, summed over what could as well have come in
    /// another order, as [`Measured::units`].
    pub(crate) fn latencies(&self, of: impl Fn(&Counted<'a>) -> &'a Latencies) -> Vec<Latencies> {
        let sum = |unit: Vec<&Counted<'a>>| Latencies::sum(unit.into_iter().map(&of));
        self.trials_by_unit().into_iter().map(sum).collect()
    }

    /// Whether all trials that count are of one invocation.
    pub(crate) fn is_one_invocation(&self) -> bool {
        let first = self.trials.first().map(|trial| trial.invocation);
        self.trials.iter().all(|trial| Some(trial.invocation) == first)
    }

    /// The trials of each invocation, or of each round of the only one.
    pub(crate) fn trials_by_unit(&self) -> Vec<Vec<&Counted<'a>>> {
        let is_one = self.is_one_invocation();
        let mut units: BTreeMap<u32, Vec<&Counted>> = BTreeMap::new();
        for trial in &self.trials {
            let unit = if is_one { trial.round } else { trial.invocation };
            units.entry(unit).or_default().push(trial);
        }
        units.into_values().collect()
    }

    /// The estimate of a quantity that has one value a round; none of no rounds.
    pub(crate) fn estimate_of(&self, rounds: &[Round]) -> Option<Estimate> {
        Estimate::of_rounds(rounds, self.looks)
    }

    /// The same of what `value` has of each trial.
    pub(crate) fn estimate(&self, value: impl Fn(&Counted) -> Option<f64>) -> Option<Estimate> {
        let at = |trial: &Counted| Some(trial.at(value(trial)?));
        self.estimate_of(&self.trials.iter().filter_map(at).collect::<Rounds>())
    }

    /// One value of each trial, where `value` has one.
    pub(crate) fn values(&self, value: impl Fn(&Counted) -> Option<f64>) -> Vec<f64> {
        self.trials.iter().filter_map(value).collect()
    }
}

/// The file of the case's size; where there is only one file, that one. Of the files of several
/// invocations it is the one of which least is stored as it is read.
fn fixture_of<'a>(case: &Case, record: &'a Record) -> Option<&'a Fixture> {
    let size = case.read()?.io.size;
    let of_invocation = |fixtures: &'a [Fixture]| {
        let of_size = fixtures.iter().find(|fixture| fixture.size == size);
        of_size.or(match fixtures {
            [only] => Some(only),
            _ => None,
        })
    };
    let first = std::iter::once(record.header.fixtures.as_slice());
    let anew = record.invocations.iter().map(|invocation| invocation.fixtures.as_slice());
    let lost = |fixture: &&Fixture| {
        fixture.layout.as_ref().map(|layout| (layout.unwritten, layout.encoded))
    };
    first.chain(anew).filter_map(of_invocation).max_by_key(lost)
}
