//! A survey where little is free: its files are as large as they can be.

use super::super::tell;
use super::{RunQuestion, Setting, plan_of};
use crate::files::{check_fit, needed_free};
use crate::recipe::Recipe;
use anyhow::{Error, Result, anyhow};
use model::environment::Environment;
use model::plan::Plan;
use model::units;

/// The least size in bytes of a survey's largest file: a smaller one holds too few large blocks.
const LEAST: u64 = 8 << 20;

/// The recipe of a survey with files that fit, halved as often as need be.
///
/// # Errors
/// If not even small files fit.
pub(super) fn largest_that_fits(
    question: &RunQuestion,
    environment: &Environment,
) -> Result<Recipe> {
    let mut recipe = question.recipe.clone();
    loop {
        let plan = plan_of(&recipe, question, &question.changes, environment)?;
        let Err(error) = check_fit(&plan, environment) else { return Ok(recipe) };
        if units::parse_bytes(&recipe.size)? / 2 < LEAST {
            return Err(refusal(&plan, environment).unwrap_or(error));
        }
        recipe = recipe.smaller()?;
    }
}

/// Why a survey cannot have the files of `plan`, if too little is free.
fn refusal(plan: &Plan, environment: &Environment) -> Option<Error> {
    let storage = environment.storage?;
    let needed = needed_free(plan, storage);
    let free = storage.free.filter(|free| *free < needed)?;
    Some(anyhow!(
        "a survey needs {} of free space, and '{}' has {}: name another directory",
        units::bytes_rounded(needed),
        storage.directory.display(),
        units::bytes_rounded(free)
    ))
}

/// Says that the files of a survey are smaller than they should be, and what that costs.
///
/// # Errors
/// If stderr cannot be written.
pub fn tell_smaller(question: &RunQuestion, setting: &Setting) -> Result<()> {
    let (here, usual) = (&setting.recipe.size, &question.recipe.size);
    let Some(storage) = setting.storage.as_ref().filter(|_| here != usual) else { return Ok(()) };
    let free = storage
        .free
        .map_or("too little is".to_string(), |free| format!("{} are", units::bytes_rounded(free)));
    tell(&format!(
        "test files: {here} or less instead of {usual}, because {free} free in '{}': a device's \
         own cache holds more of a small file, and a short write says less of a long one",
        storage.directory.display()
    ))
}
