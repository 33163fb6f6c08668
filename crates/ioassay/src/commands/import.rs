//! `ioassay import`: jobs of other programs as recipes.

use super::say;
use crate::args::tools::ImportCommand;
use crate::recipe;
use crate::status::Status;
use anyhow::{Context, Result};

/// Prints the recipe.
///
/// # Errors
/// If the job file cannot be read, or none of its jobs can be taken.
pub fn execute(command: &ImportCommand) -> Result<Status> {
    let ImportCommand::Fio { job } = command;
    let recipe = recipe::of_jobs(job)?;
    say(&recipe.imported.context("a recipe of jobs has their text")?.text)?;
    Ok(Status::DONE)
}
