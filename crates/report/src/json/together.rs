//! What several hosts did together, in lockstep.

use super::FORMAT;
use super::case::SkipForm;
use super::machine::StorageForm;
use assess::campaign::Campaign;
use assess::together::{self, HostFit, HostsFinding, Joint};
use model::axis::AxesForm;
use model::case;
use model::record::{End, Resumed, Tool};
use schemars::JsonSchema;
use serde::Serialize;

/// A run of several hosts in lockstep, judged by ioassay from the records of all. Null means
/// unknown, or that nothing can be said.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "ioassay lockstep", rename = "Lockstep")]
pub(super) struct TogetherForm<'a> {
    /// Version of this form. It increases when a field changes its meaning or goes away; new fields
    /// may appear without.
    format: u32,
    /// The program that led the run.
    tool: &'a Tool,
    /// The start of the run: RFC 3339, UTC.
    began: &'a str,
    /// The recipe's name.
    recipe: &'a str,
    /// The planned rounds, over all invocations.
    rounds: u32,
    /// The seed of the first host, from which those of the others come.
    seed: u64,
    /// The number of hosts of the run; there are fewer in `hosts` if records are not given.
    of: Option<u32>,
    /// Whether all hosts share the directory: then each reads what the next one wrote.
    shares_directory: Option<bool>,
    /// The hosts, in their order.
    hosts: Vec<JointHostForm<'a>>,
    /// The hosts of the run whose records are not given.
    missing: &'a [String],
    /// The requested cases on all hosts.
    cases: Vec<TogetherCaseForm<'a>>,
    /// Whether each host meets the goals of the run, by its own record; empty without goals.
    fits: &'a [HostFit],
    /// What the hosts' own evidence says, one entry for each code and severity, most severe first,
    /// with the message of the host where it is worst.
    findings: &'a [HostsFinding],
    /// The skipped and the pruned cases, with reasons.
    skips: Vec<SkipForm<'a>>,
    /// The time that the run was given (`--for`); null if its plan alone decided the rounds.
    campaign: Option<Campaign>,
}

impl TogetherForm<'_> {
    pub(super) fn of(run: &together::Together) -> TogetherForm<'_> {
        let first = &run.first;
        TogetherForm {
            format: FORMAT,
            tool: &first.header.tool,
            began: &first.header.began,
            recipe: &first.header.plan.recipe,
            rounds: first.header.plan.rounds,
            seed: first.header.plan.seed,
            of: run.rank.map(|rank| rank.of),
            shares_directory: run.rank.map(|rank| rank.shares),
            hosts: run.hosts.iter().map(JointHostForm::of).collect(),
            missing: &run.missing,
            cases: run
                .cases
                .iter()
                .map(|joint| TogetherCaseForm { joint, case: &joint.case })
                .collect(),
            fits: &run.fits,
            findings: &run.findings,
            skips: first.skips.iter().map(SkipForm::of).collect(),
            campaign: first.campaign,
        }
    }
}

/// A host.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LockstepHost")]
struct JointHostForm<'a> {
    /// What the user calls it.
    called: &'a str,
    /// The name and version of its operating system.
    os: &'a str,
    /// Its logical processors.
    cores: u32,
    /// How its record ends. `missing`: it is cut off, or the run continues. `lost`: the others went
    /// on without it.
    #[schemars(extend("enum" = ["complete", "interrupted", "missing", "lost"]))]
    end: &'static str,
    /// If it was lost, when, in milliseconds after the run began; otherwise null.
    lost_at_ms: Option<u64>,
    /// Each time that the run went on after an interruption.
    resumed: &'a [Resumed],
    /// The parts of its record that could not be read.
    damage: &'a [String],
    /// The storage; null if the run used no file.
    storage: Option<StorageForm<'a>>,
}

impl JointHostForm<'_> {
    fn of(member: &together::JointHost) -> JointHostForm<'_> {
        JointHostForm {
            called: &member.called,
            os: &member.os,
            cores: member.cores,
            end: member.end.name(),
            lost_at_ms: match member.end {
                End::Lost { at_ms, .. } => Some(at_ms),
                End::Complete | End::Interrupted | End::Missing => None,
            },
            resumed: &member.resumed,
            damage: &member.damage,
            storage: member.storage.as_ref().map(StorageForm::of),
        }
    }
}

/// A case on all hosts.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "JointCase")]
struct TogetherCaseForm<'a> {
    /// The figures.
    #[serde(flatten)]
    joint: &'a Joint,
    /// Its axes by name.
    #[serde(with = "AxesForm")]
    case: &'a case::Case,
}
