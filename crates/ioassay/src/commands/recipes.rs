//! `ioassay recipes`: the built-in questions.

use super::say;
use crate::args::RecipesCommand;
use crate::recipe::{self, BUILT_IN};
use crate::status::Status;
use anyhow::Result;

/// Lists the recipes, or prints one.
///
/// # Errors
/// If there is no recipe with that name.
pub fn execute(command: Option<&RecipesCommand>) -> Result<Status> {
    match command {
        Some(RecipesCommand::Show { name }) => say(recipe::text(name)?)?,
        None => {
            let widest = BUILT_IN.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
            for (name, _) in BUILT_IN {
                say(&format!("{name:<widest$}  {}", recipe::find(name)?.question))?;
            }
        }
    }
    Ok(Status::DONE)
}
