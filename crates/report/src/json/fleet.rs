//! Several hosts that should be alike.

use super::FORMAT;
use super::machine::{HostForm, StorageForm};
use assess::fleet::{self, Alone, Differing, HostFigure, OwnFact};
use assess::trend::FigureUnit;
use model::axis::AxesForm;
use model::{case, host};
use schemars::JsonSchema;
use serde::Serialize;

/// Several hosts, each measured by itself and judged together by ioassay. Null means unknown, or
/// that nothing can be said.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "ioassay fleet", rename = "Fleet")]
pub(super) struct FleetForm<'a> {
    /// Version of this form. It increases when a field changes its meaning or goes away; new fields
    /// may appear without.
    format: u32,
    /// The hosts, in the order given.
    hosts: Vec<FleetHostForm<'a>>,
    /// The requested cases that at least two hosts have.
    cases: Vec<FleetCaseForm<'a>>,
    /// The requested cases that one host has.
    alone: &'a [Alone],
    /// What is not alike on all hosts: facts about the machines, the storage and the run.
    differing: &'a [Differing],
    /// Records that were given twice, and count once.
    copies: &'a [String],
}

impl FleetForm<'_> {
    pub(super) fn of(fleet: &fleet::Fleet) -> FleetForm<'_> {
        let hosts = fleet.hosts.iter().enumerate();
        FleetForm {
            format: FORMAT,
            hosts: hosts.map(|(place, host)| FleetHostForm::of(fleet, place, host)).collect(),
            cases: fleet.cases.iter().map(FleetCaseForm::of).collect(),
            alone: &fleet.alone,
            differing: &fleet.differing,
            copies: &fleet.copies,
        }
    }
}

/// A host.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Member")]
struct FleetHostForm<'a> {
    /// What it is called here, unique among these hosts.
    called: &'a str,
    /// The path of its record.
    record: &'a str,
    /// The start of its run: RFC 3339, UTC.
    began: &'a str,
    /// How its run ended. `missing`: the record is cut off, or the run continues.
    #[schemars(extend("enum" = ["complete", "interrupted", "missing", "lost"]))]
    end: &'static str,
    /// The parts of its record that could not be read.
    damage: &'a [String],
    /// The recipe's name.
    recipe: &'a str,
    /// The ids of the cases in which it is odd.
    odd_in: Vec<&'a str>,
    /// What it has and most others have not: these may be why it is odd.
    own: &'a [OwnFact],
    /// The machine.
    #[serde(with = "HostForm")]
    host: &'a host::Host,
    /// The storage; null if the run used no file.
    storage: Option<StorageForm<'a>>,
}

impl FleetHostForm<'_> {
    fn of<'a>(
        fleet: &'a fleet::Fleet,
        place: usize,
        member: &'a fleet::FleetHost,
    ) -> FleetHostForm<'a> {
        let is_odd = |common: &&fleet::Common| common.odd().any(|(host, ..)| host == place);
        FleetHostForm {
            called: &member.called,
            record: &member.record,
            began: &member.header.began,
            end: member.end.name(),
            damage: &member.damage,
            recipe: &member.header.plan.recipe,
            odd_in: fleet.cases.iter().filter(is_odd).map(|common| common.id.as_str()).collect(),
            own: &member.own,
            host: &member.header.host,
            storage: member.header.storage.as_ref().map(StorageForm::of),
        }
    }
}

/// A case on several hosts.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CommonCase")]
struct FleetCaseForm<'a> {
    /// A short name, unique here.
    id: &'a str,
    /// Its axes by name.
    #[serde(with = "AxesForm")]
    case: &'a case::Case,
    /// What the figures are.
    #[schemars(extend("enum" = ["bytes per second", "nanoseconds per operation"]))]
    quantity: &'static str,
    /// How many hosts have a figure that counts.
    n: usize,
    /// Whether there are enough hosts to tell which are odd.
    is_told: bool,
    /// The median of the hosts' figures.
    median: Option<f64>,
    /// The standard deviation of the logarithm over the hosts that are not odd.
    spread: Option<f64>,
    /// A host would be odd if its rate were below this share of the others'.
    odd_below: Option<f64>,
    /// The figure of each host, in the order of `hosts`; null where it was not measured.
    figures: &'a [Option<HostFigure>],
}

impl FleetCaseForm<'_> {
    fn of(common: &fleet::Common) -> FleetCaseForm<'_> {
        FleetCaseForm {
            id: &common.id,
            case: &common.case,
            quantity: match common.quantity {
                FigureUnit::BytesPerSecond => "bytes per second",
                FigureUnit::NsPerOp => "nanoseconds per operation",
            },
            n: common.n,
            is_told: common.is_told(),
            median: common.median,
            spread: common.spread,
            odd_below: common.odd_below,
            figures: &common.figures,
        }
    }
}
