//! The A/A control: cases measured twice in the same rounds, so any difference is the machine's.

use crate::comparison::{Comparison, Difference, compare, effect};
use crate::finding::{Code, Finding, Severity};
use crate::row::Row;
use model::named;
use model::units::percent;
use schemars::JsonSchema;
use serde::Serialize;

named! {
    /// The outcome of a run's controls.
    ControlOutcome "control outcome" {
        /// All are equivalent to the cases they repeat: the smallest effect of interest can be
        /// resolved.
        Agrees "agrees",
        /// None differs, but an interval is wider than the smallest effect of interest, or missing.
        Wide "wide",
        /// One differs from the case it repeats.
        Differs "differs",
    }
}

/// The outcome of a run's A/A controls: cases measured twice in the same rounds.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Control {
    /// Their joint outcome. `agrees`: each repeated case is equivalent to its first measurement;
    /// `wide`: none differs, but an interval is wider than the smallest effect of interest, or
    /// missing.
    pub outcome: ControlOutcome,
    /// The end farthest from 1 of all their intervals, as a share: the same case may differ by this
    /// much, so this run cannot resolve smaller effects. Null if an interval is missing.
    pub decides: Option<f64>,
    /// Each repeated case compared with its first measurement.
    pub comparisons: Vec<Comparison>,
}

/// Each twin compared with the row that it repeats; both rows get the finding if they differ. None
/// without a twin.
pub(crate) fn control(rows: &mut [Row], twins: &mut [Row]) -> Option<Control> {
    if twins.is_empty() {
        return None;
    }
    let mut comparisons = Vec::new();
    let planned = twins.len();
    for twin in twins {
        let repeats = |row: &&mut Row| row.measured.case == twin.measured.case;
        let Some(row) = rows.iter_mut().find(repeats) else { continue };
        let both_stand = twin.stands() && row.stands();
        let Some(found) = compare(twin, row).filter(|_| both_stand) else { continue };
        if found.difference == Difference::Different {
            row.summary.judge(vec![differs(&found)]);
            twin.summary.judge(vec![differs(&found)]);
        }
        comparisons.push(found);
    }
    let is_whole = comparisons.len() == planned;
    Some(Control {
        outcome: outcome(&comparisons, is_whole),
        decides: farthest(&comparisons).filter(|_| is_whole),
        comparisons,
    })
}

fn outcome(comparisons: &[Comparison], is_whole: bool) -> ControlOutcome {
    let is = |difference| move |found: &Comparison| found.difference == difference;
    if comparisons.iter().any(is(Difference::Different)) {
        ControlOutcome::Differs
    } else if is_whole && comparisons.iter().all(is(Difference::Equivalent)) {
        ControlOutcome::Agrees
    } else {
        ControlOutcome::Wide
    }
}

/// How far apart one comparison shows the same case to be, as a share: the end of its interval
/// farthest from 1. Valid for cases of its kind only. None without an interval.
pub fn apart(found: &Comparison) -> Option<f64> {
    farthest(std::slice::from_ref(found))
}

/// The effect at the end of an interval that is farthest from 1; none if an interval is missing.
fn farthest(comparisons: &[Comparison]) -> Option<f64> {
    let of_one = |found: &Comparison| Some(effect(found.low?).max(effect(found.high?)));
    let all: Option<Vec<f64>> = comparisons.iter().map(of_one).collect();
    all?.into_iter().reduce(f64::max)
}

/// The case differs from itself, measured a second time (docs/method).
fn differs(found: &Comparison) -> Finding {
    let interval = match (found.low, found.high) {
        (Some(low), Some(high)) => format!(" (95 % interval {low:.3}-{high:.3})"),
        _ => String::new(),
    };
    Finding {
        code: Code::ControlDiffers,
        severity: Severity::Doubt,
        size: apart(found),
        message: format!(
            "the same case, measured a second time in the same rounds, had {:.3} times the \
             rate{interval}: between cases of this kind, a difference of up to {} may be the \
             machine's",
            found.ratio,
            percent(apart(found).unwrap_or(effect(found.ratio)))
        ),
        remedy: "see what else runs on this machine, use longer trials and more rounds, and run \
                 again with --control"
            .to_string(),
    }
}
