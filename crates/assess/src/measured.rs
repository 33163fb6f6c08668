//! The trials of one case that count.

use crate::beside::own_evidence;
use crate::caches::Caches;
use crate::counted::{self, Counted};
use crate::failure::Failure;
use crate::invocations::{Round, exchangeable};
use crate::middle::{mean, median};
use crate::placed::FilePlaces;
use crate::rehearsed::RehearsalFacts;
use crate::stats::{Estimate, Looks};
use model::case::{Advice, Case, Engine, NameSync, ReadWork, Work, WriteEngine, WriteWork};
use model::host::{Fixture, HeldContent, Host, Storage};
use model::layer::Amplification;
use model::named;
use model::part::Part;
use model::plan::{Actor, Role};
use model::record::Record;
use model::rehearsal::FactSheet;
use model::sample::Latencies;
use model::trial::Trial;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

named! {
    /// Why a trial is excluded: what the machine did to it.
    Exclusion "gate" {
        /// The hypervisor took the machine's CPU time.
        Steal "steal",
        /// A control group's CPU quota throttled the worker.
        Throttled "throttled",
        /// Other processes read from the devices.
        Foreign "foreign",
        /// The OS evicted part of a warm file from the page cache.
        Reclaimed "reclaimed",
    }
}

/// Helper threads that touch pages ahead of the reading thread, with that advice.
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

/// Up to this share of the bytes is noise in the counters: metadata, the file's odd tail
/// (docs/method).
pub(crate) const SHARE_NOISE: f64 = 0.01;

/// One value per round.
pub(crate) type Rounds = Vec<Round>;

/// One case with its trials and their surroundings.
#[derive(Debug)]
pub(crate) struct Measured<'a> {
    pub(crate) case: &'a Case,
    pub(crate) role: Role,
    /// The trials that count: those with a [`rate`](crate::counted::rate).
    pub(crate) trials: Vec<Counted<'a>>,
    /// The trials excluded because of what the machine did to them, with the reason.
    pub(crate) excluded: Vec<(Exclusion, Counted<'a>)>,
    /// The trials that failed.
    pub(crate) failed: Vec<Lost>,
    pub(crate) host: &'a Host,
    /// The known caches: from the OS, or else from other cases.
    pub(crate) caches: Caches,
    pub(crate) storage: Option<&'a Storage>,
    /// The storage of the source of copies.
    pub(crate) source: Option<&'a Storage>,
    /// Whether looks at the rounds decided their number.
    pub(crate) looks: Looks,
    /// The time limit of `--sustain`, if used.
    pub(crate) sustain: Option<Duration>,
    /// With it: the rate at the end, divided by the mean of the trials, if it is known.
    pub(crate) end_to_mean: Option<f64>,
    /// The file that was read, if known.
    pub(crate) fixture: Option<&'a Fixture>,
    /// This host's part of a file that several share.
    pub(crate) part: Part,
    /// Whether another host of the run measures the case on this machine, on the same device.
    pub(crate) shares_device: bool,
    /// What a command did with files in its rehearsal, if it ended there as its runs did.
    pub(crate) facts: Option<&'a FactSheet>,
    /// On which storages the files of a command are.
    pub(crate) places: FilePlaces<'a>,
    /// The rehearsal of a command that ended otherwise there: it tells nothing of the runs.
    pub(crate) unlike: Option<&'a FactSheet>,
    /// The actors of the plan.
    pub(crate) actors: &'a [Actor],
    /// The workers' memory limit in bytes, including the page cache.
    pub(crate) memory_limit: Option<u64>,
}

/// A trial that failed.
#[derive(Debug)]
pub(crate) struct Lost {
    pub(crate) invocation: u32,
    pub(crate) round: u32,
    /// What went wrong.
    pub(crate) failure: Failure,
}

impl Measured<'_> {
    /// What the page cache can serve of a zipf pattern within the memory limit.
    pub(crate) fn cacheable_share(&self) -> Option<f64> {
        self.case.io()?.cacheable_share(self.memory_limit?)
    }

    /// The write amplification of the watched devices; 1 if the storage is unknown.
    pub(crate) fn writes(&self) -> Amplification {
        self.storage.map_or(Amplification::ONE, Storage::writes)
    }

    /// How often the watched devices write a byte at most, the file system's journal included;
    /// `None` if nothing bounds it.
    pub(crate) fn own_writes_most(&self) -> Option<u32> {
        self.storage.map_or(Some(1), Storage::own_writes_most)
    }

    /// Whether the devices' counts tell how much of what was written they have. Data that a journal
    /// holds too is counted twice, some of it later; once synced, all of it is in one of the two.
    pub(crate) fn is_written_once(&self) -> bool {
        let is_synced = self.write().is_some_and(|work| work.sync.claims_durable());
        let once = self.writes().exact();
        once.is_some() && (is_synced || self.own_writes_most() == once)
    }

    /// Bytes that devices read for any process, each byte counted once; `None` if unknown.
    pub(crate) fn read_once(&self, trial: &Counted) -> Option<u64> {
        self.places.read_once(trial)
    }

    /// Bytes that devices read for others than the case and its actors, at least: what actors had
    /// in flight is not others'. `None` if unknown.
    pub(crate) fn read_by_others(&self, trial: &Counted) -> Option<u64> {
        let (all, own) = (self.read_once(trial)?, trial.evidence.task_read_bytes?);
        Some(all.saturating_sub(own).saturating_sub(trial.unsure.read))
    }

    /// An upper bound for the file's bytes on the devices, from what they wrote, or the disks below
    /// loop devices. There are fewer if a byte was written more often than necessary.
    pub(crate) fn written_at_most(&self, trial: &Counted) -> Option<u64> {
        let written = trial.evidence.device_write_bytes?.checked_div(self.writes().least.into())?;
        Some(written.min(trial.evidence.disk_write_bytes.unwrap_or(u64::MAX)))
    }

    /// Whether some of the bytes that crossed the block layer may have come from memory, or gone
    /// there alone. What a sync makes durable may be in the journal alone.
    pub(crate) fn is_partly_in_memory(&self) -> bool {
        let Some(storage) = self.storage else { return false };
        let has_data = storage.has_data_in_memory();
        let claims_durable = match &self.case.work {
            Work::Read(_) => return has_data,
            Work::Write(work) if work.read_share > 0 && has_data => return true,
            Work::Write(work) => work.sync.claims_durable(),
            Work::Metadata(work) => work.sync == NameSync::Fsync,
            Work::Memory(_) => return false,
            Work::Command(_) => return has_data,
        };
        storage.lost_parts().any(|part| claims_durable || part.holds == HeldContent::Data)
    }
}

impl<'a> Measured<'a> {
    /// Case `index` of the plan, with its trials `made`.
    pub(crate) fn of(record: &'a Record, index: usize, made: &[&'a Trial]) -> Measured<'a> {
        let header = &record.header;
        let planned = &header.plan.cases[index];
        let (mut trials, mut failed) = (Vec::new(), Vec::new());
        for trial in made {
            let own = own_evidence(&header.plan, &planned.case, trial, header.storage.as_ref());
            let is_further = header.plan.is_further(trial.round);
            match Counted::of(&planned.case, trial, is_further, own) {
                Ok(counted) => trials.push(counted),
                Err(failure) => {
                    let Trial { invocation, round, .. } = **trial;
                    failed.push(Lost { invocation, round, failure });
                }
            }
        }
        let exit = trials.first().and_then(|trial| trial.sample.exit.as_ref());
        let RehearsalFacts { facts, unlike } = RehearsalFacts::of(&planned.case, record, exit);
        let places = FilePlaces::of(header, facts);
        places.swap_in(&mut trials);
        Measured {
            case: &planned.case,
            role: planned.role,
            trials,
            excluded: Vec::new(),
            failed,
            host: &header.host,
            caches: Caches::of(&header.host),
            storage: places.own(),
            source: header.source_storage.as_ref().or(header.storage.as_ref()),
            looks: Looks::of(record),
            sustain: header.plan.sustain,
            end_to_mean: None,
            fixture: fixture_of(&planned.case, record),
            part: header.plan.part(&planned.case),
            shares_device: header.plan.rank.is_some_and(|it| it.shares_device(&planned.case)),
            facts,
            places,
            unlike,
            actors: &header.plan.actors,
            memory_limit: header.plan.memory_limit,
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

    /// Number of trials that count.
    pub(crate) fn n(&self) -> usize {
        self.trials.len()
    }

    /// All successful trials, including excluded ones, ordered by round.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Counted<'a>> {
        let excluded = self.excluded.iter().map(|(_, trial)| trial);
        let mut all: Vec<&Counted> = self.trials.iter().chain(excluded).collect();
        all.sort_by_key(|trial| trial.round);
        all.into_iter()
    }

    /// Each reason for a failure, with its number of occurrences. Of those that differ only in
    /// numbers, the first stands for all.
    pub(crate) fn failures(&self) -> Vec<(Failure, usize)> {
        let mut failures: Vec<(Failure, usize)> = Vec::new();
        for Lost { failure, .. } in &self.failed {
            match failures.iter_mut().find(|(known, _)| known.is_like(failure)) {
                Some((_, count)) => *count += 1,
                None => failures.push((failure.clone(), 1)),
            }
        }
        failures
    }

    /// Worker threads that run at the same time: the case's, and those that touch pages ahead of
    /// them.
    pub(crate) fn threads_at_work(&self) -> u32 {
        let is_ahead = self.read().is_some_and(|work| work.advice == Advice::TouchAhead);
        self.case.threads().saturating_add(if is_ahead { TOUCHING_AHEAD } else { 0 })
    }

    /// The rate of each round.
    pub(crate) fn rates(&self) -> Rounds {
        self.at_the_end(self.trials.iter().map(|trial| trial.at(trial.rate)).collect())
    }

    /// Operations per second of each round.
    pub(crate) fn iops(&self) -> Rounds {
        let rate =
            |trial: &Counted| Some(trial.at(counted::a_second(trial.operations, trial.timed_ns)?));
        self.at_the_end(self.trials.iter().filter_map(rate).collect())
    }

    /// The same for rates of trials of `--sustain`, which are pieces of one: the rate at the end,
    /// if it is known. What was before, such as the burst of a cache that filled up, is in the time
    /// series.
    pub(crate) fn at_the_end(&self, rates: Rounds) -> Rounds {
        let (Some(end_to_mean), Some(last)) = (self.end_to_mean, rates.last()) else {
            return rates;
        };
        let values: Vec<f64> = rates.iter().map(|round| round.value).collect();
        vec![last.with(mean(&values) * end_to_mean)]
    }

    /// A thread's nanoseconds per operation in each round: elapsed · threads / operations. With
    /// several in flight, each operation takes longer than this.
    pub(crate) fn ns_per_op(&self) -> Rounds {
        let threads = f64::from(self.case.threads());
        let ns = |trial: &Counted| {
            let (ops, elapsed_ns) = (trial.operations, trial.sample.elapsed_ns());
            let ns = threads * elapsed_ns as f64 / ops as f64;
            (ops > 0 && elapsed_ns > 0).then_some(trial.at(ns))
        };
        let rounds: Rounds = self.trials.iter().filter_map(ns).collect();
        // A time is the inverse of a rate.
        let inverse = |rounds: Rounds| -> Rounds {
            rounds.iter().map(|round| round.with(1.0 / round.value)).collect()
        };
        if self.end_to_mean.is_some() { inverse(self.at_the_end(inverse(rounds))) } else { rounds }
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

    /// The latencies that `of` returns for each planned trial, summed over independent units, as in
    /// [`Measured::units`]. Cases are measured further because they vary, which would make the
    /// intervals of percentiles too narrow.
    pub(crate) fn latencies(
        &self,
        of: impl Fn(&Counted<'a>) -> Cow<'a, Latencies>,
    ) -> Vec<Latencies> {
        let sum = |unit: Vec<&Counted<'a>>| {
            let all: Vec<Cow<Latencies>> = unit.into_iter().map(&of).collect();
            Latencies::sum(all.iter().map(AsRef::as_ref))
        };
        let mut units = self.trials_by_unit();
        units.iter_mut().for_each(|unit| unit.retain(|trial| !trial.is_further));
        units.into_iter().filter(|unit| !unit.is_empty()).map(sum).collect()
    }

    /// Whether all trials that count come from one invocation.
    pub(crate) fn is_one_invocation(&self) -> bool {
        let first = self.trials.first().map(|trial| trial.invocation);
        self.trials.iter().all(|trial| Some(trial.invocation) == first)
    }

    /// The trials of each invocation, or of each round if there is only one.
    pub(crate) fn trials_by_unit(&self) -> Vec<Vec<&Counted<'a>>> {
        let is_one = self.is_one_invocation();
        let mut units: BTreeMap<u32, Vec<&Counted>> = BTreeMap::new();
        for trial in &self.trials {
            let unit = if is_one { trial.round } else { trial.invocation };
            units.entry(unit).or_default().push(trial);
        }
        units.into_values().collect()
    }

    /// The estimate for a quantity with one value per round; `None` without rounds.
    pub(crate) fn estimate_of(&self, rounds: &[Round]) -> Option<Estimate> {
        Estimate::of_rounds(rounds, self.looks)
    }

    /// The same for the value that `value` returns for each trial.
    pub(crate) fn estimate(&self, value: impl Fn(&Counted) -> Option<f64>) -> Option<Estimate> {
        let at = |trial: &Counted| Some(trial.at(value(trial)?));
        self.estimate_of(&self.trials.iter().filter_map(at).collect::<Rounds>())
    }

    /// The sum of a part divided by the sum of a whole, over the trials that report both. Sums, not
    /// medians: one bad trial counts by its weight, and one page in a hundred trials does not.
    pub(crate) fn total_share(
        &self,
        part_and_whole: impl Fn(&Counted) -> Option<(u64, u64)>,
    ) -> Option<f64> {
        let pairs = self.trials.iter().filter_map(part_and_whole);
        let (part, whole) = pairs.fold((0u128, 0u128), |sum, (part, whole)| {
            (sum.0 + u128::from(part), sum.1 + u128::from(whole))
        });
        (whole > 0).then(|| part as f64 / whole as f64)
    }

    /// The value of each trial for which `value` returns one.
    pub(crate) fn values(&self, value: impl Fn(&Counted) -> Option<f64>) -> Vec<f64> {
        self.trials.iter().filter_map(value).collect()
    }

    /// The median of what `count` returns for each trial, as a whole number.
    pub(crate) fn median_count(&self, count: impl Fn(&Counted) -> Option<u64>) -> Option<u64> {
        let counts = self.values(|trial| Some(count(trial)? as f64));
        median(&counts).map(|median| median.round() as u64)
    }
}

/// The file of which the case reads this part, or the only file. Of several invocations' files, it
/// is the one with the least data stored as is.
fn fixture_of<'a>(case: &Case, record: &'a Record) -> Option<&'a Fixture> {
    let range = case.read()?.io.range();
    let of_invocation = |fixtures: &'a [Fixture]| {
        let of_range = fixtures.iter().find(|fixture| fixture.range() == range);
        of_range.or(match fixtures {
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
