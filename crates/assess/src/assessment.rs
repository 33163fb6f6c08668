//! The judgement of a whole record.

use crate::answer::Answer;
use crate::comparison::Comparison;
use crate::finding::Finding;
use crate::summary::Summary;
use model::host::{Fixture, Host, Storage};
use model::plan::Skip;
use model::record::{End, Tool};

/// A finding with the cases it was made on.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFinding {
    /// The gravest of its kind; the message is of that one.
    pub finding: Finding,
    /// Ids of the cases; empty if it is about the whole run.
    pub cases: Vec<String>,
}

/// The judgement of a whole record.
#[derive(Debug, Clone, PartialEq)]
pub struct Assessment {
    /// Which program made the record.
    pub tool: Tool,
    /// When the run began.
    pub began: String,
    /// The machine.
    pub host: Host,
    /// The storage, if a file was read.
    pub storage: Option<Storage>,
    /// The files that were read.
    pub fixtures: Vec<Fixture>,
    /// The recipe's name.
    pub recipe: String,
    /// Rounds that were planned.
    pub rounds: u32,
    /// The seed.
    pub seed: u64,
    /// Each case of the plan, in its order, controls last.
    pub cases: Vec<Summary>,
    /// What was not measured, and why.
    pub skips: Vec<Skip>,
    /// Cases that differ in their engine only, compared.
    pub comparisons: Vec<Comparison>,
    /// All that was found, one entry a code, gravest first.
    pub findings: Vec<RunFinding>,
    /// The tool's own overhead in nanoseconds an operation, by the null engine.
    pub overhead_ns: Option<f64>,
    /// The closing answer, where memory and a file were measured.
    pub answer: Option<Answer>,
    /// How the run ended.
    pub end: End,
    /// What of the record could not be read.
    pub damage: Vec<String>,
}
