//! What can be wrong with the number that a command prints about itself.

use super::context::{Context, Draft, RuleTable};
use crate::finding::{Code, Severity};
use crate::told::{BYTES_PER_SECOND, CountedBeside, MovedBytes, ToldVerdict};
use model::units::{bytes_rounded, in_its_unit, nanoseconds, percent, rate};

/// The rules of this module.
pub(super) const RULES: RuleTable = &[(Code::FigureDiffers, figure_differs)];

/// The OS counted too many or too few bytes for the number to be that of the whole run
/// (docs/method). It may be that of a part, so the time, which is the figure, is not in doubt.
fn figure_differs(context: &Context) -> Option<Draft> {
    let told = context.summary.told.as_deref()?;
    let CountedBeside { moved, bytes, times, verdict } = told.counted?;
    let wall_ns = context.summary.ns_per_op?.median;
    let counted = format!("the {} that its calls {}", bytes_rounded(bytes), did(moved));
    let unit = told.unit.as_deref().unwrap_or_default();
    let said = match unit {
        BYTES_PER_SECOND => rate(told.value.median),
        _ => format!("{} {unit}", in_its_unit(told.value.median)),
    };
    let is_rate = unit.contains('/');
    let message = match verdict {
        ToldVerdict::Agrees | ToldVerdict::Part => return None,
        ToldVerdict::TooLow => format!(
            "it says {said}, but at that rate, {counted} would take {}, and the run took {}: the \
             figure is that of a part of them, or wrong",
            nanoseconds(wall_ns / times),
            nanoseconds(wall_ns)
        ),
        ToldVerdict::TooHigh if is_rate => format!(
            "it says {said}, but at that rate, {counted} take only {} of its time: the figure is \
             that of a part of the run, or wrong",
            percent(1.0 / times)
        ),
        ToldVerdict::TooHigh => format!(
            "it says {said}, which is {times:.1} times {counted}: the rest is data that no call \
             moved, or the figure is wrong"
        ),
    };
    let remedy = "find out what the program divides by what, and compare its time instead";
    Draft::sized(times.max(1.0 / times), Severity::Note, message, remedy)
}

fn did(moved: MovedBytes) -> &'static str {
    match moved {
        MovedBytes::Read => "read",
        MovedBytes::Written => "wrote",
        MovedBytes::Both => "read and wrote",
    }
}
