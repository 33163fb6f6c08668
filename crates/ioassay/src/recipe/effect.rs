//! Axes of the command line that would change nothing.

use super::Changes;
use crate::group::AxisGrid;
use anyhow::{Result, bail};
use model::axis::Axis;
use model::case::Case;

/// Refuses an axis of which none of the given values is in any of the `cases`: one with no meaning
/// beside their other axes, such as the stride of a sequential pattern.
///
/// # Errors
/// Names that axis.
pub(super) fn check(given: &AxisGrid, cases: &[Case]) -> Result<()> {
    for (name, values) in given {
        let Some(axis) = Axis::named(name) else { continue };
        let texts = values.texts();
        if !texts.iter().any(|text| cases.iter().any(|case| has(axis, case, text))) {
            bail!(
                "--{} {} would change no case of this run: '{}' has no meaning there",
                axis.flag(),
                texts.join(","),
                axis.meaning
            );
        }
    }
    Ok(())
}

/// Refuses offsets in files that the run makes: all of each is used.
///
/// # Errors
/// If a case has one.
pub(super) fn check_offsets(changes: &Changes, cases: &[Case]) -> Result<()> {
    let has_offset = |case: &Case| case.io().is_some_and(|io| io.offset > 0);
    if !changes.is_own_file && cases.iter().any(has_offset) {
        bail!("an offset is one in a file of your own, or in a device: name it with --file");
    }
    Ok(())
}

/// Whether `case` has the value. What stands for other values, which are in its place, counts.
fn has(axis: &Axis, case: &Case, text: &str) -> bool {
    let text = axis.spelled(text);
    let is_symbol = axis.symbols.iter().any(|(symbol, _)| *symbol == text);
    let mut other = case.clone();
    let is_plain = !is_symbol && axis.set(&mut other, text).is_ok();
    !is_plain || (axis.is_of(case.kind()) && other == *case)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::ValueList;
    use model::axis::AXES;
    use model::zoo;

    fn given(axis: &str, value: &str) -> AxisGrid {
        [(axis.to_string(), ValueList::from_texts(vec![value.to_string()]))].into()
    }

    #[test]
    fn what_a_case_has_is_no_mistake() {
        for case in zoo::cases() {
            for axis in AXES {
                let Some(value) = axis.value(&case) else { continue };
                check(&given(axis.name, &value), std::slice::from_ref(&case)).unwrap();
            }
        }
    }

    #[test]
    fn what_means_nothing_in_any_case_is_refused() {
        let plain = Case::own(model::case::Work::Read(zoo::plain()));
        for (axis, value) in [("stride", "3"), ("theta", "0.5"), ("arrival", "even")] {
            let error = check(&given(axis, value), std::slice::from_ref(&plain)).unwrap_err();
            let error = error.to_string();
            assert!(
                error.starts_with(&format!("--{axis} {value} would change no case")),
                "{error}"
            );
        }
        // It stands for a number that depends on the machine.
        check(&given("stride", "page"), &[plain]).unwrap();
    }
}
