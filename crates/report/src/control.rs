//! What the A/A control says of a run, in a sentence.

use crate::words::{listed, times, times_interval};
use assess::comparison::{Comparison, Difference};
use assess::control::{Control, Outcome};
use model::units::percent;

/// The sentence; `name` gives the name that a case has in this view.
pub(crate) fn said(control: &Control, name: &dyn Fn(&str) -> String) -> String {
    let each = |found: &Comparison| {
        let interval = times_interval(found.low, found.high);
        let interval = interval.map_or("no interval".to_string(), |ends| format!("95 % CI {ends}"));
        format!("{} {} ({interval})", name(&found.base), times(found.ratio))
    };
    let told = |is_told: &dyn Fn(&Comparison) -> bool| {
        let all = control.comparisons.iter().filter(|found| is_told(found));
        listed(&all.map(each).collect::<Vec<_>>())
    };
    let second = "measured a second time in the same rounds";
    match (control.outcome, control.decides.map(percent)) {
        (Outcome::Differs, Some(effect)) => format!(
            "This machine cannot decide today what differs less than {effect}: {second}, there \
             was a difference where there is none, {}.",
            told(&|found| found.difference == Difference::Different)
        ),
        (Outcome::Differs, None) => format!(
            "This machine cannot decide today what differs: {second}, there was a difference \
             where there is none, {}.",
            told(&|found| found.difference == Difference::Different)
        ),
        (Outcome::Wide, Some(effect)) => format!(
            "Differences below {effect} cannot be decided today: {second}, {}.",
            told(&|_| true)
        ),
        (Outcome::Wide, None) => "What can be decided today is not known: too few rounds of what \
                                  was measured a second time count."
            .to_string(),
        (Outcome::Agrees, _) => {
            format!("The control found no difference: {second}, {}.", told(&|_| true))
        }
    }
}
