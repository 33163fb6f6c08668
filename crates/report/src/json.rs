//! The assessment as JSON: a contract that other programs rely on.
//!
//! The serde attributes of the types in `assess` and `model` define it, and their comments are the
//! descriptions in its schema. This module adds only what is shaped differently in memory.
//! Quantities are plain numbers in the unit that the field's name or description states. Unknown
//! values are null, never 0 and never absent. A snapshot of the schema in the tests reveals every
//! change.

mod machine;
mod trial;
mod case;
mod records;
mod fleet;
mod together;
mod gate;

use assess::campaign::Campaign;
use assess::comparison::Comparison;
use assess::conclusions::Conclusions;
use assess::control::Control;
use assess::fleet::Fleet;
use assess::one_host::OneHost;
use assess::records::RecordComparison;
use assess::repetition::Repetition;
use assess::together::Together;
use assess::{Assessment, RunFinding};
use case::{CaseForm, PeerForm, SkipForm};
use machine::{HostForm, StorageForm};
use model::host::{self, Affinity, Fixture};
use model::record::{Resumed, Side, Tool};
use model::shape::Calibrated;
use model::vitals::PartVitals;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use std::io::{self, Write};

/// The version of the format.
const FORMAT: u32 = 3;

/// The assessment as indented JSON, with a final newline.
pub fn json(assessment: &Assessment) -> String {
    pretty(&Report::of(assessment))
}

/// Writes a comparison of two records as indented JSON, with a final newline; `paths` are the
/// records' paths. For the largest records this is 190 MB, too much to build in memory.
///
/// # Errors
/// If `out` cannot be written.
pub fn json_of_records(
    versus: &RecordComparison,
    paths: [&str; 2],
    mut out: impl Write,
) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut out, &records::Compared::of(versus, paths))?;
    writeln!(out)
}

/// The checks of a gate as indented JSON, with a final newline; `paths` are the records' paths.
pub fn json_of_gate(
    versus: &RecordComparison,
    decided: &assess::gate::Gate,
    paths: [&str; 2],
) -> String {
    pretty(&gate::GateForm::of(versus, decided, paths))
}

/// Writes hosts as indented JSON, with a final newline.
///
/// # Errors
/// If `out` cannot be written.
pub fn json_of_fleet(fleet: &Fleet, mut out: impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut out, &fleet::FleetForm::of(fleet))?;
    writeln!(out)
}

/// Writes what several hosts did together as indented JSON, with a final newline.
///
/// # Errors
/// If `out` cannot be written.
pub fn json_of_together(run: &Together, mut out: impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut out, &together::TogetherForm::of(run))?;
    writeln!(out)
}

pub(crate) fn pretty(contract: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(contract);
    text.expect("the contract holds plain data only") + "\n"
}

/// The JSON schema (draft 2020-12) of [`json`], indented, with a final newline.
pub fn json_schema() -> String {
    schema_of::<Report<'static>>()
}

/// The JSON schema of [`json_of_records`].
pub fn json_schema_of_records() -> String {
    schema_of::<records::Compared<'static>>()
}

/// The JSON schema of [`json_of_fleet`].
pub fn json_schema_of_fleet() -> String {
    schema_of::<fleet::FleetForm<'static>>()
}

/// The JSON schema of [`json_of_together`].
pub fn json_schema_of_together() -> String {
    schema_of::<together::TogetherForm<'static>>()
}

/// The JSON schema of [`json_of_gate`].
pub fn json_schema_of_gate() -> String {
    schema_of::<gate::GateForm<'static>>()
}

pub(crate) fn schema_of<T: JsonSchema>() -> String {
    // Defaults are for reading older records. Published JSON always has every field.
    let no_default = RecursiveTransform(|schema: &mut Schema| drop(schema.remove("default")));
    let settings = SchemaSettings::draft2020_12().for_serialize().with_transform(no_default);
    pretty(&settings.into_generator().into_root_schema_for::<T>())
}

/// The judgement of a run by ioassay. Quantities are in the unit that their name or description
/// states. Null means unknown, or that nothing can be said.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "ioassay assessment", rename = "Assessment")]
struct Report<'a> {
    /// Version of this form. It increases when a field changes its meaning or goes away; new fields
    /// may appear without.
    format: u32,
    /// The program that made the record.
    tool: &'a Tool,
    /// The start of the run: RFC 3339, UTC.
    began: &'a str,
    /// How the run ended. `missing`: the record is cut off, or the run continues.
    #[schemars(extend("enum" = ["complete", "interrupted", "missing", "lost"]))]
    end: &'static str,
    /// The parts of the record that could not be read.
    damage: &'a [String],
    /// The recipe's name.
    recipe: &'a str,
    /// Each time that the run went on after an interruption.
    resumed: &'a [Resumed],
    /// Which of the two runs of a gate it was; null for other runs.
    side: Option<Side>,
    /// Which host of a run of several in lockstep it is of, whose figures are a part of what all
    /// did; null for other runs.
    one_host: Option<&'a OneHost>,
    /// The planned rounds, over all invocations.
    rounds: u32,
    /// How the run was repeated within itself.
    repetition: &'a Repetition,
    /// Determines the data, the random orders and the order of cases.
    seed: u64,
    /// The machine.
    #[serde(with = "HostForm")]
    host: &'a host::Host,
    /// The storage; null if the run used no file.
    storage: Option<StorageForm<'a>>,
    /// The storage of the file that copies read, if it differs from `storage`; otherwise null.
    source_storage: Option<StorageForm<'a>>,
    /// More storages that hold data files of commands.
    further_storages: Vec<StorageForm<'a>>,
    /// What was seen of the paths and the machine before and after each part of the run. Empty in
    /// older records.
    vitals: &'a [PartVitals],
    /// The files of the run.
    fixtures: &'a [Fixture],
    /// The shapes of loops over memory that were measured before the run, and the chosen ones.
    /// Empty if no case leaves the shape to the worker, and in records before 2026-11-26: then
    /// `isa auto` is the widest vectors.
    calibrated: &'a [Calibrated],
    /// Programs that measured, besides this program's own worker.
    peers: Vec<PeerForm<'a>>,
    /// Each case, with baselines and then repeated cases last.
    cases: Vec<CaseForm<'a>>,
    /// The skipped and the pruned cases, with reasons.
    skips: Vec<SkipForm<'a>>,
    /// Comparisons of cases that differ only in engine, peer, advice, submission, populated or
    /// pages.
    comparisons: &'a [Comparison],
    /// The outcome of the cases that were measured twice; null if none was.
    control: Option<&'a Control>,
    /// All findings, one entry for each code and severity, most severe first.
    findings: &'a [RunFinding],
    /// The tool's own overhead in nanoseconds per operation, from the null engine.
    overhead_ns: Option<f64>,
    #[serde(flatten)]
    conclusions: &'a Conclusions,
    /// The time limit in seconds of `--sustain` for each case; null if cases took turns.
    sustain_s: Option<f64>,
    /// The time that the run was given (`--for`); null if its plan alone decided the rounds.
    campaign: Option<Campaign>,
    /// The workers' memory limit in bytes, including the page cache; null without a limit.
    memory_limit: Option<u64>,
    /// The CPUs and the node that workers are bound to.
    bound: &'a Affinity,
}

impl Report<'_> {
    fn of(assessment: &Assessment) -> Report<'_> {
        Report {
            format: FORMAT,
            tool: &assessment.header.tool,
            began: &assessment.header.began,
            end: assessment.end.name(),
            damage: &assessment.damage,
            recipe: &assessment.header.plan.recipe,
            resumed: &assessment.resumed,
            side: assessment.header.side,
            one_host: assessment.one_host.as_ref(),
            rounds: assessment.header.plan.rounds,
            repetition: &assessment.repetition,
            seed: assessment.header.plan.seed,
            host: &assessment.header.host,
            storage: assessment.header.storage.as_ref().map(StorageForm::of),
            source_storage: assessment.header.source_storage.as_ref().map(StorageForm::of),
            further_storages: {
                assessment.header.further_storages.iter().map(StorageForm::of).collect()
            },
            vitals: &assessment.vitals,
            fixtures: &assessment.header.fixtures,
            calibrated: &assessment.header.calibrated,
            peers: assessment.header.peers.iter().map(PeerForm::of).collect(),
            cases: assessment.measured().map(CaseForm::of).collect(),
            skips: assessment.skips.iter().map(SkipForm::of).collect(),
            comparisons: &assessment.comparisons,
            control: assessment.control.as_ref(),
            findings: &assessment.findings,
            overhead_ns: assessment.overhead_ns,
            conclusions: &assessment.conclusions,
            sustain_s: assessment.header.plan.sustain.map(|time| time.as_secs_f64()),
            campaign: assessment.campaign,
            memory_limit: assessment.header.plan.memory_limit,
            bound: &assessment.header.plan.bound,
        }
    }
}
