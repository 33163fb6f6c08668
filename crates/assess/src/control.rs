//! The A/A control: cases that were measured twice in the same rounds. What differs between the
//! two is not the case.

use crate::comparison::{Comparison, Difference, compare, effect};
use crate::finding::{Code, Finding, Severity};
use crate::row::Row;
use model::named;
use model::units::percent;

named! {
    /// What the controls of a run say of it.
    Outcome "control outcome" {
        /// All are equivalent to the cases they repeat: what is of interest can be decided.
        Agrees "agrees",
        /// None differs, but an interval is wider than the least effect of interest, or there is
        /// none.
        Wide "wide",
        /// One differs from the case it repeats.
        Differs "differs",
    }
}

/// What the controls of a run say of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Control {
    /// Each twin compared with the case that it repeats.
    pub comparisons: Vec<Comparison>,
    /// What they say together.
    pub outcome: Outcome,
    /// The effect that differs farthest among the ends of their intervals, as a share: so far apart
    /// the same case may be. None where one has no interval, or none was measured.
    pub decides: Option<f64>,
}

/// Each twin compared with the row that it repeats; those that differ are told on both. None where
/// there is no twin.
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

fn outcome(comparisons: &[Comparison], is_whole: bool) -> Outcome {
    let is = |difference| move |found: &Comparison| found.difference == difference;
    if comparisons.iter().any(is(Difference::Different)) {
        Outcome::Differs
    } else if is_whole && comparisons.iter().all(is(Difference::Equivalent)) {
        Outcome::Agrees
    } else {
        Outcome::Wide
    }
}

/// How far apart the same case may be by one comparison, as a share: the end of its interval that
/// is farthest from 1. It holds for cases of its kind, and says nothing of others. None without an
/// interval.
pub fn apart(found: &Comparison) -> Option<f64> {
    farthest(std::slice::from_ref(found))
}

/// The effect at the end of an interval that is farthest from 1; none where one has no interval.
fn farthest(comparisons: &[Comparison]) -> Option<f64> {
    let of_one = |found: &Comparison| Some(effect(found.low?).max(effect(found.high?)));
    let all: Option<Vec<f64>> = comparisons.iter().map(of_one).collect();
    all?.into_iter().reduce(f64::max)
}

/// A case measured a second time was not the same (METHODOLOGY.md).
fn differs(found: &Comparison) -> Finding {
    let interval = match (found.low, found.high) {
        (Some(low), Some(high)) => format!(" (95 % interval {low:.3}-{high:.3})"),
        _ => String::new(),
    };
    Finding {
        code: Code::ControlDiffers,
        severity: Severity::Doubt,
        message: format!(
            "the same case measured a second time in the same rounds had {:.3} times the rate\
             {interval}: of cases of this kind, up to {} may be the machine and not the case",
            found.ratio,
            percent(apart(found).unwrap_or(effect(found.ratio)))
        ),
        remedy: "look what else this machine does, use longer trials and more rounds, and run \
                 again with --control"
            .to_string(),
    }
}
