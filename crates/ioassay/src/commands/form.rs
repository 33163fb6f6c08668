//! A judgement in the form that was asked for.

use super::{say, tell};
use crate::args::FormArgs;
use crate::store;
use anyhow::{Result, bail};
use assess::Assessment;
use model::record::End;
use report::Style;

/// Refuses files for reports that could not be written later, before anything is measured.
///
/// # Errors
/// When there is something else at such a path, or nothing can be written there.
pub fn check(form: &FormArgs) -> Result<()> {
    form.html.iter().chain(&form.openmetrics).try_for_each(|path| store::check_report(path))
}

/// Says the judgement, and keeps it in the files that were asked for. Answers the exit status that
/// it asks for.
///
/// # Errors
/// When it cannot be written where it should go.
pub fn deliver(assessment: &Assessment, form: &FormArgs, style: &Style) -> Result<u8> {
    deliver_as(assessment, form, || report::text(assessment, style))
}

/// The same with another `table` for eyes.
///
/// # Errors
/// As for [`deliver`].
pub fn deliver_as(
    assessment: &Assessment,
    form: &FormArgs,
    table: impl FnOnce() -> String,
) -> Result<u8> {
    let text = match form {
        FormArgs { json: true, .. } => report::json(assessment),
        FormArgs { markdown: true, .. } => report::markdown(assessment),
        FormArgs { csv: true, .. } => report::csv(assessment),
        FormArgs { svg: Some(name), .. } => picture(assessment, name)?,
        _ => table(),
    };
    say(&text)?;
    if form.csv {
        tell_missing(assessment)?;
    }
    if let Some(path) = &form.html {
        store::keep_report(path, &report::page(assessment))?;
    }
    if let Some(path) = &form.openmetrics {
        store::keep_report(path, &report::openmetrics(assessment))?;
    }
    Ok(report::exit_code(assessment))
}

/// What a table of trials has no place for: that the record is not whole, or has none.
fn tell_missing(assessment: &Assessment) -> Result<()> {
    match assessment.end {
        End::Complete => {}
        End::Interrupted => tell("note: the run was stopped before all was measured")?,
        End::Missing => tell("note: the record has no end: the run was cut off, or goes on")?,
    }
    for problem in &assessment.damage {
        tell(&format!("note: {problem}"))?;
    }
    if assessment.measured().all(|summary| summary.trials.is_empty()) {
        tell("note: the record has no trial, so the table has no row")?;
    }
    Ok(())
}

fn picture(assessment: &Assessment, name: &str) -> Result<String> {
    if report::figures(assessment).is_empty() {
        bail!("there is no figure '{name}', nor any other: nothing of this record can be drawn");
    }
    Ok(report::figure_alone(assessment, name)?)
}
