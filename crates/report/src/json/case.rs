//! Cases with their trials, skipped cases, and the programs that measured.

use super::trial::TrialForm;
use assess::summary::Summary;
use model::axis::AxesForm;
use model::{case, peer, plan};
use schemars::JsonSchema;
use serde::Serialize;

/// A case and the summary of its trials.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Case")]
pub(super) struct CaseForm<'a> {
    #[serde(flatten)]
    summary: &'a Summary,
    /// The figures of each trial, in the order of rounds, including excluded ones.
    trials: Vec<TrialForm<'a>>,
}

impl CaseForm<'_> {
    pub(super) fn of(summary: &Summary) -> CaseForm<'_> {
        CaseForm { summary, trials: summary.trials.iter().map(TrialForm::of).collect() }
    }
}

/// A requested case that was not measured, or pruned: its figure is that of fewer rounds.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Skip")]
pub(super) struct SkipForm<'a> {
    /// Its short name.
    id: String,
    /// Its axes by name.
    #[serde(with = "AxesForm")]
    case: &'a case::Case,
    /// Why its figure would be meaningless, or why it was pruned.
    reason: &'a str,
}

impl SkipForm<'_> {
    pub(super) fn of(skip: &plan::Skip) -> SkipForm<'_> {
        SkipForm { id: skip.case.id(), case: &skip.case, reason: &skip.reason }
    }
}

/// A program that measured, besides this program's own worker.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Peer")]
pub(super) struct PeerForm<'a> {
    /// Its name.
    name: &'a str,
    /// The version that its compiler or runtime prints.
    version: Option<&'a str>,
    /// The command that built it.
    build: Option<&'a str>,
    /// Width in bits of the vectors in its counting loop, according to its object code. 0 means
    /// scalar, null not inspected.
    vector_bits: Option<u32>,
    /// Why it could not run, if it could not.
    unavailable: Option<&'a str>,
}

impl PeerForm<'_> {
    pub(super) fn of(peer: &peer::Peer) -> PeerForm<'_> {
        PeerForm {
            name: &peer.name,
            version: peer.version.as_deref(),
            build: peer.build.as_deref(),
            vector_bits: peer.vector_bits,
            unavailable: peer.unavailable.as_deref(),
        }
    }
}
