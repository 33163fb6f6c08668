//! What several hosts did together, in lockstep.
//!
//! Each host has a record of its own, judged by its own evidence. Here are the figures of all: the
//! spans of every round are brought onto the coordinator's clock and added up. Records are read one
//! at a time, and only what the figures need is kept: hosts are many.

mod judged;
mod paths;
mod doubts;
mod gathering;
mod as_one;

use crate::assessment::Assessment;
use crate::conclusions::fit::Fit;
use crate::decision::{self, Decision};
use crate::finding::Verdict;
use crate::found::RunFinding;
use crate::stats::Estimate;
use gathering::JointRecords;
use model::case::Case;
use model::host::Storage;
use model::rank::Rank;
use model::record::{End, Header, Record, Resumed};
use schemars::JsonSchema;
use serde::Serialize;

pub use crate::ending::Ending;
pub use crate::scaling::Scaling;
pub use crate::straggler::{Clue, Slowest, StragglerSign};
pub use as_one::{compare_commands_of_hosts, judged_of_hosts};
pub use judged::CommandOnHost;
pub use paths::JointPaths;

/// What the records of one run in lockstep have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunIdentity {
    /// When it began.
    began: String,
    /// Its seed.
    seed: u64,
    /// The number of its hosts.
    of: u32,
}

impl RunIdentity {
    /// The run of a record with this header; `None` if it was not in lockstep.
    pub fn of(header: &Header) -> Option<RunIdentity> {
        let rank = header.plan.rank?;
        Some(RunIdentity { began: header.began.clone(), seed: rank.seed, of: rank.of })
    }
}

/// A run of several hosts.
#[derive(Debug, Clone, PartialEq)]
pub struct Together {
    /// The judgement of the first host, whose plan is that of all.
    pub first: Assessment,
    /// The hosts, in their order.
    pub hosts: Vec<JointHost>,
    /// The requested cases, in the order of the plan.
    pub cases: Vec<Joint>,
    /// What the hosts' own evidence says, one entry for each code and severity, most severe first.
    pub findings: Vec<HostsFinding>,
    /// The hosts of the run whose records are not given, by what the user calls them; by their
    /// numbers, from 1, in records that do not say it.
    pub missing: Vec<String>,
    /// The place of the first host among them; `None` in records of older programs.
    pub rank: Option<Rank>,
    /// Whether each host meets the goals of the run, by its own record. Empty without goals.
    pub fits: Vec<HostFit>,
}

impl Together {
    /// Whether all hosts meet all goals; `None` if there are none. A host whose record is not given
    /// leaves it open.
    pub fn fit(&self) -> Option<Decision> {
        let missing = self.missing.iter().map(|_| Decision::Undecided);
        let all = self.fits.iter().map(|host| host.fit.fit).chain(missing);
        (!self.fits.is_empty()).then(|| decision::together(all))
    }
}

/// Whether a host meets the goals of a run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HostFit {
    /// What the user calls it.
    pub host: String,
    /// Whether it meets them.
    #[serde(flatten)]
    pub fit: Fit,
}

/// A host of the run.
#[derive(Debug, Clone, PartialEq)]
pub struct JointHost {
    /// What the user calls it.
    pub called: String,
    /// The name and version of its operating system.
    pub os: String,
    /// Its logical processors.
    pub cores: u32,
    /// The storage, if the run used a file.
    pub storage: Option<Storage>,
    /// How its record ends.
    pub end: End,
    /// Each time that the run went on after an interruption.
    pub resumed: Vec<Resumed>,
    /// The parts of its record that could not be read.
    pub damage: Vec<String>,
}

/// A finding of several hosts.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HostsFinding {
    /// That of the host where it is worst.
    #[serde(flatten)]
    pub found: RunFinding,
    /// The hosts, by what the user calls them: first the one that says it so.
    pub hosts: Vec<String>,
    /// Whether another host says it in other words.
    #[serde(skip)]
    pub differs: bool,
}

/// A case on all hosts.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Joint {
    /// The case's id.
    pub id: String,
    /// Its axes.
    #[serde(skip)]
    pub case: Case,
    /// The hosts whose figures these are, by what the user calls them: all that are to measure the
    /// case, unless one was lost.
    pub hosts: Vec<String>,
    /// Those that were to measure it too, and whose figures are not in these.
    pub without: Vec<String>,
    /// Rounds in which exactly these hosts measured it.
    pub n: usize,
    /// The other rounds, which are left out.
    pub left_out: usize,
    /// The worst of the hosts' verdicts; at best doubtful if there are doubts.
    pub verdict: Verdict,
    /// Bytes per second of all hosts, from the first start to the last end, or to the last sync if
    /// durability is claimed. Null, as all other figures, if the record of one that took part is
    /// missing.
    pub throughput: Option<Estimate>,
    /// Bytes per second, or names per second of calls on names, while all hosts were active. Null
    /// if a worker does not tell its progress, and if bytes count only once a sync made them
    /// durable: nobody sees when a byte became so.
    pub common: Option<Estimate>,
    /// Operations per second of all hosts, from the first start to the last end.
    pub iops: Option<Estimate>,
    /// Of a command: nanoseconds from the first host's start to the last one's end.
    pub time_ns: Option<Estimate>,
    /// Of a command: its figures on each host, by the host's own record. Empty for other work.
    pub commands: Vec<CommandOnHost>,
    /// What the paths of its hosts carry together; null if that of none is known, as in virtual
    /// machines, and of commands.
    pub paths: Option<JointPaths>,
    /// The 99th percentile of the latencies on all hosts, in nanoseconds.
    pub p99_ns: Option<u64>,
    /// The slowest host, if there are several.
    pub slowest: Option<Slowest>,
    /// The slowest host's rate divided by the fastest one's: median of the rounds.
    pub balance: Option<f64>,
    /// What ended most of the rounds. Null if there are none.
    pub ended_by: Option<Ending>,
    /// How the rate grew with the number of hosts; null if the case was measured with no fewer, or
    /// if time ended the trials with one number of hosts, and their work those with the other.
    pub scaling: Option<Scaling>,
    /// The time between the first host's start and the last one's, in nanoseconds: median of the
    /// rounds.
    pub start_skew_ns: Option<f64>,
    /// The most that a host's clock may have been wrong, in nanoseconds.
    pub clock_error_ns: Option<u64>,
    /// Reasons to doubt what is said of all hosts together.
    pub doubts: Vec<Doubt>,
    /// The rounds, in their order. None if the record of a host that took part is missing.
    pub rounds: Vec<JointRound>,
}

/// A round of a case on all hosts.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct JointRound {
    /// The invocation, from 0.
    pub invocation: u32,
    /// The round, from 0, numbered across invocations.
    pub round: u32,
    /// Bytes per second of all hosts, as `throughput` of the case has it: names per second of calls
    /// on names.
    pub rate: Option<f64>,
    /// The same while all hosts were active.
    pub common: Option<f64>,
    /// How much later than the first host each began, in nanoseconds, in the order of `hosts`.
    pub starts_ns: Vec<u64>,
}

/// A reason to doubt what is said of several hosts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "code")]
pub enum Doubt {
    /// A clock may have been wrong by more than 1 % of a trial, so it is not known well when its
    /// host began and ended.
    ClockUncertain {
        /// The share of the trial, median of the rounds.
        share: f64,
    },
    /// A host began later than the first by more than 1 % of a trial.
    StartSkew {
        /// The share of the trial, median of the rounds.
        share: f64,
    },
    /// Time ended some of the rounds, or the part of some hosts, and their work the others, so the
    /// figure would be another in a longer or shorter trial.
    EndsVary {
        /// The share of the rounds that time ended for at least one host.
        share: f64,
    },
    /// Different things served a command on different hosts, such as the page cache and devices: it
    /// did not do the same work on all.
    ServedDiffers {
        /// The number of different things.
        kinds: usize,
    },
    /// The programs on the hosts were not all built from one commit, so they may have measured
    /// differently.
    BuildsDiffer {
        /// The number of different builds.
        builds: usize,
    },
    /// Records of hosts that took part are not given, so nothing is known of all together.
    RecordMissing {
        /// Their number.
        hosts: usize,
    },
    /// Hosts were lost, or failed, so the figures are not those of all.
    HostLost {
        /// The number of hosts without figures.
        hosts: usize,
        /// The number of rounds that are left out.
        rounds: usize,
    },
}

/// Judges the records of all hosts of a run. `read` returns that of each of `hosts`, by its number;
/// it is asked twice for each, because only the last one tells when all were active. `None` without
/// any.
///
/// # Errors
/// If a record cannot be read.
pub fn together<E>(
    hosts: usize,
    mut read: impl FnMut(usize) -> Result<Record, E>,
) -> Result<Option<Together>, E> {
    let mut gathering = JointRecords::of(hosts, &mut read)?;
    for host in 0..hosts {
        gathering.add_moved(host, &read(host)?);
    }
    Ok(gathering.judge())
}
