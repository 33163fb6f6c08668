//! The form of two records compared, and of the control of a run.

use super::{Case, Comparison};
use assess::control::Outcome;
use schemars::JsonSchema;
use serde::Serialize;

/// Cases that were measured a second time, in the same rounds.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Control<'a> {
    /// What they say together. `agrees`: all are equivalent; `wide`: none differs, but an interval
    /// is wider than the least effect of interest, or there is none.
    #[schemars(extend("enum" = names!(Outcome)))]
    pub(crate) outcome: &'static str,
    /// Effects below this share cannot be decided by this run; null where that is not known.
    pub(crate) decides: Option<f64>,
    /// Each of them compared with the case that it repeats.
    pub(crate) comparisons: Vec<Comparison<'a>>,
}

/// Two records compared by ioassay. Ratios are those of B over A.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "ioassay comparison", rename = "RecordComparison")]
pub(crate) struct RecordComparison<'a> {
    /// Version of this form. It rises when a field changes its meaning or goes; new fields may
    /// come without.
    pub(crate) format: u32,
    /// The first record.
    pub(crate) a: Origin<'a>,
    /// The second.
    pub(crate) b: Origin<'a>,
    /// Whether both are one record.
    pub(crate) is_same: bool,
    /// What makes the figures incomparable. Not empty only where that was overruled.
    pub(crate) obstacles: Vec<Apart<'a>>,
    /// What else is not the same in both.
    pub(crate) others: Vec<Apart<'a>>,
    /// The cases that both have.
    pub(crate) pairs: Vec<Pair<'a>>,
    /// Asked cases that are not compared.
    pub(crate) left_out: Vec<LeftOut<'a>>,
}

/// Where a record is from.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Origin<'a> {
    /// Its path.
    pub(crate) record: String,
    /// When its run began: RFC 3339, UTC.
    pub(crate) began: &'a str,
    /// The recipe's name.
    pub(crate) recipe: &'a str,
    /// The name of the machine.
    pub(crate) host: &'a str,
    /// The directory that was measured; null where no file was.
    pub(crate) directory: Option<String>,
    /// What its control says; null where it has none.
    pub(crate) control: Option<Control<'a>>,
}

/// What is not the same in both.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Apart<'a> {
    /// An axis, or a fact of the machine, the storage or the run.
    pub(crate) what: &'a str,
    /// What it is in the first.
    pub(crate) a: &'a str,
    /// In the second.
    pub(crate) b: &'a str,
    /// Of how many cases; 0 of the whole record.
    pub(crate) cases: usize,
}

/// A case in both records.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Pair<'a> {
    /// What it came to in the first.
    pub(crate) a: Case<'a>,
    /// In the second.
    pub(crate) b: Case<'a>,
    /// The second over the first.
    pub(crate) comparison: Comparison<'a>,
    /// The probability that what does not differ is as far apart: by a t test, with Holm's
    /// correction over all pairs. Null where nothing can be decided.
    pub(crate) p_holm: Option<f64>,
    /// What the comparison goes by: `invocations` of both, the spread of earlier `runs`, or
    /// `nothing`.
    #[schemars(extend("enum" = ["invocations", "runs", "nothing"]))]
    pub(crate) basis: &'static str,
    /// The standard deviation of the logarithm from run to run, where the comparison goes by that;
    /// else null.
    pub(crate) run_to_run: Option<f64>,
}

/// A case that is not compared.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LeftOut<'a> {
    /// Its id.
    pub(crate) id: &'a str,
    /// Why not.
    pub(crate) reason: &'a str,
}
