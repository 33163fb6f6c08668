//! The form of a case and its figures.

use super::axes::Axes;
use super::estimate::{Estimate, Latency, LatencyIntervals};
use super::trial::{Counters, Trial};
use super::writing::{Spent, TimeSeries, Writing};
use assess::disturbance::Gate;
use assess::finding::{Code, Severity, Verdict};
use assess::summary::{CeilingKind, ServedBy};
use model::plan::Role;
use schemars::JsonSchema;
use serde::Serialize;

/// A case and what its trials came to.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Case<'a> {
    /// A short name that no other case of the run has.
    pub(crate) id: &'a str,
    /// Its axes by name.
    pub(crate) case: Axes<'a>,
    /// `asked`: it answers the question. `baseline`: it bounds the answers.
    #[schemars(extend("enum" = names!(Role)))]
    pub(crate) role: &'static str,
    /// Trials that were done and count.
    pub(crate) n: usize,
    /// What went wrong in the others, each reason once.
    pub(crate) failures: Vec<Failure<'a>>,
    /// Rounds that were left out for what the machine did to them; null where none was.
    pub(crate) excluded: Option<Excluded>,
    /// What the figures are worth. `void`: they are not what they claim to be, or there is none;
    /// `unavailable`: there is none, for this machine cannot do it, and nothing served the bytes.
    #[schemars(extend("enum" = names!(Verdict)))]
    pub(crate) verdict: &'static str,
    /// What served the bytes, by the evidence; of what was written, where it was when the clock
    /// stopped.
    #[schemars(extend("enum" = names_or_null!(ServedBy)))]
    pub(crate) served_by: Option<&'static str>,
    /// The share of bytes that caused no device read, 0 to 1.
    pub(crate) hit_share: Option<f64>,
    /// Bytes a second, mapping, populating and loading included. Where it writes: until the last
    /// sync had returned where one claims to make the data durable, else until the last write had;
    /// `writing` tells the two apart.
    pub(crate) throughput: Option<Estimate>,
    /// The same without those; null where nothing is mapped or loaded first.
    pub(crate) loaded: Option<Loaded>,
    /// Bytes a second that the memory bus carries, estimated: an ordinary store fetches its line
    /// first. Only of kernels over arrays that are beyond the caches.
    pub(crate) bus: Option<Estimate>,
    /// Operations a second.
    pub(crate) iops: Option<Estimate>,
    /// Nanoseconds of a thread for an operation, all it has in flight together: elapsed * threads /
    /// operations. At depth d the latency of each is about d times as long.
    pub(crate) ns_per_op: Option<Estimate>,
    /// Service times (closed loop) over all rounds: percentiles in nanoseconds.
    pub(crate) latency_ns: Latency,
    /// The 95 % intervals of those percentiles.
    pub(crate) latency_ns_intervals: LatencyIntervals,
    /// What it comes to where it writes; null where it does not.
    pub(crate) writing: Option<Writing>,
    /// How the rate went over time; null where trials are too short to tell.
    pub(crate) course: Option<TimeSeries<'a>>,
    /// What a trial spent its time on; null where the OS does not tell.
    pub(crate) spent: Option<Spent>,
    /// Mean idle share of the threads, 0 to 100; null for one thread.
    pub(crate) imbalance_percent: Option<f64>,
    /// Nanoseconds from the first thread's start to the last thread's: median of the rounds; null
    /// for one thread.
    pub(crate) start_skew_ns: Option<f64>,
    /// Nanoseconds before the clock of a trial started: median of the rounds.
    pub(crate) setup_ns: Option<f64>,
    /// The most of it that the peer's runtime needed to become fast; null where none needed any.
    pub(crate) warm_up_ns: Option<u64>,
    /// CPU nanoseconds of an operation, over all threads: median of the rounds.
    pub(crate) cpu_ns_per_op: Option<f64>,
    /// What the OS counted of the worker in a trial.
    pub(crate) counters: Counters,
    /// Bytes that a trial moved: median of the rounds.
    pub(crate) bytes_per_trial: Option<u64>,
    /// Bytes read from devices in a trial, as the OS accounts to the worker: median of the rounds.
    pub(crate) device_bytes: Option<u64>,
    /// What bounds the figure, and how near it comes.
    pub(crate) ceiling: Option<Ceiling>,
    /// Whether it is what bounds others.
    pub(crate) is_ceiling: bool,
    /// Throughput divided by that of one thread reading memory.
    pub(crate) of_memory: Option<f64>,
    /// What was found, gravest first.
    pub(crate) findings: Vec<Finding<'a>>,
    /// Whether all that was read, or read back, had the expected digest, or the expected count;
    /// null where nothing was computed.
    pub(crate) digest_verified: Option<bool>,
    /// How many 10s a trial counted, where each read the whole file once and all counted the same.
    pub(crate) counted: Option<u64>,
    /// Each trial by itself, in the order of rounds, those that do not count too.
    pub(crate) trials: Vec<Trial<'a>>,
}

/// Rounds that were left out for what the machine did to them, by limits fixed beforehand.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Excluded {
    /// How many.
    pub(crate) trials: usize,
    /// Why.
    pub(crate) reasons: Vec<Reason>,
    /// The throughput with them in; where only a sync is called, operations a second.
    pub(crate) rate_with_them: Estimate,
}

/// Why rounds were left out.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Reason {
    /// `steal`: the hypervisor gave CPU time to others. `throttled`: a CPU quota held the worker
    /// back. `foreign`: others read from the devices. `reclaimed`: the OS took a part of a
    /// warm file out of the page cache.
    #[schemars(extend("enum" = names!(Gate)))]
    pub(crate) reason: &'static str,
    /// How many of them.
    pub(crate) trials: usize,
}

/// A case without its loading: mapping, populating, or reading the file into memory.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Loaded {
    /// Bytes a second.
    pub(crate) throughput: Estimate,
    /// Nanoseconds of loading in a trial.
    pub(crate) load_ns: Estimate,
    /// What serves the bytes once they are loaded.
    #[schemars(extend("enum" = names!(ServedBy)))]
    pub(crate) served_by: &'static str,
    /// Throughput divided by that of one thread reading memory.
    pub(crate) of_memory: Option<f64>,
    /// What bounds it, and how near it comes.
    pub(crate) ceiling: Option<Ceiling>,
}

/// Why trials have no figure.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Failure<'a> {
    /// What went wrong.
    pub(crate) reason: &'a str,
    /// In how many trials.
    pub(crate) trials: usize,
}

/// What bounds a figure.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Ceiling {
    /// What it is.
    #[schemars(extend("enum" = names!(CeilingKind)))]
    pub(crate) kind: &'static str,
    /// Throughput divided by the ceiling's.
    pub(crate) share: f64,
}

/// Something found wrong, or worth knowing.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Finding<'a> {
    /// What kind; METHODOLOGY.md defines each.
    #[schemars(extend("enum" = names!(Code)))]
    pub(crate) code: &'static str,
    /// How much it takes from the figure.
    #[schemars(extend("enum" = names!(Severity)))]
    pub(crate) severity: &'static str,
    /// What was seen, and the likely cause.
    pub(crate) message: &'a str,
    /// What to do about it.
    pub(crate) remedy: &'a str,
}
