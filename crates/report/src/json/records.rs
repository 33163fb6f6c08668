//! Two records compared.

use super::FORMAT;
use super::case::CaseForm;
use assess::Assessment;
use assess::comparison::Comparison;
use assess::control::Control;
use assess::records::{self, Basis, LeftOut, RecordComparison, RecordDifference};
use schemars::JsonSchema;
use serde::Serialize;

/// Two records compared by ioassay. Ratios are B over A.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "ioassay comparison", rename = "RecordComparison")]
pub(super) struct Compared<'a> {
    /// Version of this form. It increases when a field changes its meaning or goes away; new fields
    /// may appear without.
    format: u32,
    /// The first record.
    a: Origin<'a>,
    /// The second record.
    b: Origin<'a>,
    /// Whether both are the same record.
    is_same: bool,
    /// What is missing in a record: it was stopped, cut off or damaged.
    missing: Vec<String>,
    /// Differences that make figures incomparable; empty unless that was overruled.
    obstacles: &'a [RecordDifference],
    /// Other differences.
    others: &'a [RecordDifference],
    /// The cases in both records.
    pairs: Vec<CasePairForm<'a>>,
    /// Requested cases that are not compared.
    left_out: &'a [LeftOut],
}

impl<'a> Compared<'a> {
    pub(super) fn of(versus: &'a RecordComparison, paths: [&str; 2]) -> Compared<'a> {
        Compared {
            format: FORMAT,
            a: Origin::of(&versus.a, paths[0]),
            b: Origin::of(&versus.b, paths[1]),
            is_same: versus.is_same,
            missing: crate::records::missing(versus),
            obstacles: &versus.obstacles,
            others: &versus.others,
            pairs: versus.pairs.iter().map(|pair| CasePairForm::of(versus, pair)).collect(),
            left_out: &versus.left_out,
        }
    }
}

/// The source of a record.
#[derive(Serialize, JsonSchema)]
struct Origin<'a> {
    /// Its path.
    record: String,
    /// The start of its run: RFC 3339, UTC.
    began: &'a str,
    /// The recipe's name.
    recipe: &'a str,
    /// The name of the machine.
    host: &'a str,
    /// The directory that was measured; null if the run used no file.
    directory: Option<String>,
    /// The outcome of its control; null if it has none.
    control: Option<&'a Control>,
}

impl Origin<'_> {
    fn of<'a>(assessment: &'a Assessment, path: &str) -> Origin<'a> {
        let directory = assessment.header.storage.as_ref();
        Origin {
            record: path.to_string(),
            began: &assessment.header.began,
            recipe: &assessment.header.plan.recipe,
            host: &assessment.header.host.name,
            directory: directory.map(|storage| storage.directory.display().to_string()),
            control: assessment.control.as_ref(),
        }
    }
}

/// A case in both records.
#[derive(Serialize, JsonSchema)]
struct CasePairForm<'a> {
    /// The case in the first record.
    a: CaseForm<'a>,
    /// The case in the second record.
    b: CaseForm<'a>,
    /// The second record relative to the first.
    comparison: &'a Comparison,
    /// The p value of a t test, with Holm's correction over all pairs; null if undecidable.
    p_holm: Option<f64>,
    /// The basis of the comparison: `invocations` of both, the spread of earlier `runs`, or
    /// `nothing`.
    #[schemars(extend("enum" = ["invocations", "runs", "nothing"]))]
    basis: &'static str,
    /// The standard deviation of the logarithm from run to run, if the comparison is based on it;
    /// otherwise null.
    run_to_run: Option<f64>,
}

impl<'a> CasePairForm<'a> {
    fn of(versus: &'a RecordComparison, pair: &'a records::CasePair) -> CasePairForm<'a> {
        let [a, b] = versus.of(pair).map(CaseForm::of);
        let (basis, run_to_run) = match pair.basis {
            Basis::Invocations(_) => ("invocations", None),
            Basis::RunToRun(spread) => ("runs", Some(spread.deviation)),
            Basis::Nothing => ("nothing", None),
        };
        CasePairForm { a, b, comparison: &pair.comparison, p_holm: pair.p, basis, run_to_run }
    }
}
