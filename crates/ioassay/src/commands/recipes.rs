//! `ioassay recipes`: the built-in questions.

use super::{list, say};
use crate::args::RecipesCommand;
use crate::recipe::{self, BUILT_IN};
use crate::status::Status;
use anyhow::Result;
use report::Style;

/// Lists the recipes, or prints one.
///
/// # Errors
/// If there is no recipe with that name.
pub fn execute(command: Option<&RecipesCommand>, style: &Style) -> Result<Status> {
    match command {
        Some(RecipesCommand::Show { name }) => say(recipe::text(name)?)?,
        None => {
            let questions =
                BUILT_IN.iter().map(|(name, _)| Ok((*name, recipe::find(name)?.question)));
            list(questions.collect::<Result<Vec<_>>>()?, style)?;
        }
    }
    Ok(Status::DONE)
}
