//! The result of the A/A control, in a sentence for each kind of case.

use crate::words::{times, times_interval};
use assess::Assessment;
use assess::comparison::{Comparison, Difference};
use assess::control::{Control, apart};
use model::case::{Cache, Case, Work};
use model::units::percent;

/// The sentences; `name` returns a case's name in this view.
pub(crate) fn said(
    assessment: &Assessment,
    control: &Control,
    name: &dyn Fn(&str) -> String,
) -> String {
    let each = |found: &Comparison| {
        let summary = assessment.row(&found.base);
        let kind = summary.map_or("cases".to_string(), |summary| kind(&summary.case));
        format!("{kind} ({}): {}", name(&found.base), outcome(found))
    };
    let all: Vec<String> = control.comparisons.iter().map(each).collect();
    if all.is_empty() {
        return "The repeatability is unknown: no case has counted rounds of both measurements."
            .to_string();
    }
    format!("The same case measured a second time in the same rounds. {}.", all.join("; "))
}

/// The result for one kind of case.
fn outcome(found: &Comparison) -> String {
    let Some(interval) = times_interval(found.low, found.high) else {
        return format!("{}, too few rounds to say more", times(found.ratio));
    };
    let ratio = format!("{} (95 % CI {interval})", times(found.ratio));
    let may = apart(found).map_or(String::new(), |effect| {
        let effect = percent(effect);
        format!(": up to {effect} between such cases may be the machine, not the case")
    });
    match found.difference {
        Difference::Equivalent => format!("{ratio}, the same"),
        Difference::Different => format!("{ratio}, different where nothing is{may}"),
        Difference::Inconclusive | Difference::InDoubt => format!("{ratio}, inconclusive{may}"),
    }
}

/// The kinds of case with a control each: the kind of work in each cache state.
fn kind(case: &Case) -> String {
    let of = |cache: Cache, what: &str| match cache {
        Cache::AsIs => what.to_string(),
        _ => format!("{cache} {what}"),
    };
    match &case.work {
        Work::Memory(_) => "loops over memory".to_string(),
        Work::Metadata(work) => of(work.cache, "names"),
        Work::Read(work) => of(work.io.cache, "reads"),
        Work::Write(work) => of(work.io.cache, "writes"),
    }
}
