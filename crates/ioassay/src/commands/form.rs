//! A judgement in the form that was asked for.

use super::say;
use crate::args::FormArgs;
use anyhow::Result;
use assess::Assessment;
use report::Style;

/// Says the judgement. Answers the exit status that it asks for.
///
/// # Errors
/// When it cannot be written where it should go.
pub fn deliver(assessment: &Assessment, form: &FormArgs, style: &Style) -> Result<u8> {
    let text = if form.json { report::json(assessment) } else { report::text(assessment, style) };
    say(&text)?;
    Ok(report::exit_code(assessment))
}
