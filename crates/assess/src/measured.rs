//! The trials of one case that count.

use model::case::Case;
use model::evidence::Evidence;
use model::host::{Fixture, Host, Storage};
use model::plan::Role;
use model::record::Record;
use model::sample::{Sample, Span};
use model::trial::{Outcome, Trial};
use std::time::Duration;

/// Bytes a second of a trial; none unless it was done, took time and moved bytes.
pub fn throughput(trial: &Trial) -> Option<f64> {
    let sample = trial.sample()?;
    let (bytes, elapsed_ns) = (sample.bytes(), sample.elapsed_ns());
    (bytes > 0 && elapsed_ns > 0).then(|| bytes as f64 / elapsed_ns as f64 * NS_PER_SECOND)
}

pub(crate) const NS_PER_SECOND: f64 = 1e9;

/// How the reason of a trial begins that the machine could not do.
pub(crate) const UNAVAILABLE: &str = "unavailable: ";

/// One value of a quantity a round: the round and the value.
pub(crate) type Rounds = Vec<(u32, f64)>;

/// One case with its trials, and where they were made.
#[derive(Debug)]
pub(crate) struct Measured<'a> {
    pub(crate) case: &'a Case,
    pub(crate) role: Role,
    /// The trials that count: [`throughput`] has a value for each.
    pub(crate) trials: Vec<Counted<'a>>,
    /// What went wrong in the others, each reason once with how often.
    pub(crate) failures: Vec<(String, usize)>,
    pub(crate) host: &'a Host,
    pub(crate) storage: Option<&'a Storage>,
    /// How long its trials followed each other without a pause, if they did.
    pub(crate) sustain: Option<Duration>,
    /// The file that was read, if it is known which.
    pub(crate) fixture: Option<&'a Fixture>,
}

/// A trial that was done and counts.
#[derive(Debug)]
pub(crate) struct Counted<'a> {
    pub(crate) round: u32,
    pub(crate) sample: &'a Sample,
    pub(crate) evidence: &'a Evidence,
    pub(crate) expected_digest: Option<u64>,
    pub(crate) throughput: f64,
}

impl<'a> Measured<'a> {
    /// The trials of case `index` of the plan.
    pub(crate) fn of(record: &'a Record, index: usize) -> Measured<'a> {
        let header = &record.header;
        let planned = &header.plan.cases[index];
        let (mut trials, mut failures) = (Vec::new(), Vec::new());
        for trial in record.trials.iter().filter(|trial| trial.case == index) {
            match Counted::of(trial) {
                Ok(counted) => trials.push(counted),
                Err(reason) => note_failure(&mut failures, reason),
            }
        }
        Measured {
            case: &planned.case,
            role: planned.role,
            trials,
            failures,
            host: &header.host,
            storage: header.storage.as_ref(),
            sustain: header.plan.sustain,
            fixture: fixture_of(&planned.case, &header.fixtures),
        }
    }

    /// How many trials count.
    pub(crate) fn n(&self) -> usize {
        self.trials.len()
    }

    /// Bytes a second of each round.
    pub(crate) fn rates(&self) -> Rounds {
        self.trials.iter().map(|trial| (trial.round, trial.throughput)).collect()
    }

    /// Bytes a second of each round, without loading; only rounds that loaded anything.
    pub(crate) fn loaded_rates(&self) -> Rounds {
        let rate = |trial: &Counted| Some((trial.round, trial.loaded_throughput()?));
        self.trials.iter().filter_map(rate).collect()
    }

    /// One value of each trial, where `value` has one.
    pub(crate) fn values(&self, value: impl Fn(&Counted) -> Option<f64>) -> Vec<f64> {
        self.trials.iter().filter_map(value).collect()
    }
}

impl<'a> Counted<'a> {
    fn of(trial: &'a Trial) -> Result<Counted<'a>, String> {
        match (&trial.outcome, throughput(trial)) {
            (Outcome::Done(sample), Some(throughput)) => Ok(Counted {
                round: trial.round,
                sample,
                evidence: &trial.evidence,
                expected_digest: trial.expected_digest,
                throughput,
            }),
            (Outcome::Done(_), None) => Err("failed: it ended at once or moved no bytes".into()),
            (Outcome::Unavailable { reason }, _) => Err(format!("{UNAVAILABLE}{reason}")),
            (Outcome::Failed { reason }, _) => Err(format!("failed: {reason}")),
        }
    }

    /// Nanoseconds of loading, of the thread that loaded longest; none if none loaded.
    pub(crate) fn load_ns(&self) -> Option<u64> {
        self.sample.spans.iter().map(|span| span.load_ns).max().filter(|load_ns| *load_ns > 0)
    }

    /// Bytes a second without loading: by the thread that took longest for the rest.
    fn loaded_throughput(&self) -> Option<f64> {
        self.load_ns()?;
        let rest_ns =
            |span: &Span| span.end_ns.saturating_sub(span.start_ns).saturating_sub(span.load_ns);
        let longest_ns = self.sample.spans.iter().map(rest_ns).max().filter(|ns| *ns > 0)?;
        Some(self.sample.bytes() as f64 / longest_ns as f64 * NS_PER_SECOND)
    }
}

fn note_failure(failures: &mut Vec<(String, usize)>, reason: String) {
    match failures.iter_mut().find(|(known, _)| *known == reason) {
        Some((_, count)) => *count += 1,
        None => failures.push((reason, 1)),
    }
}

/// The file of the case's size; where there is only one file, that one.
fn fixture_of<'a>(case: &Case, fixtures: &'a [Fixture]) -> Option<&'a Fixture> {
    let size = case.file()?.size;
    let of_size = fixtures.iter().find(|fixture| fixture.size == size);
    of_size.or(match fixtures {
        [only] => Some(only),
        _ => None,
    })
}
