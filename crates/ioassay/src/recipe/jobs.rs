//! Recipes from fio's job files.

use super::{Recipe, file, parse};
use crate::fio::{self, Here, JobPlace};
use anyhow::{Context, Result, bail};
use std::path::Path;

/// How the names of fio's job files end.
const ENDING: &str = ".fio";

/// Whether a file with this name is one of fio's job files.
pub(super) fn is_job_file(name: &str) -> bool {
    name.ends_with(ENDING)
}

/// The recipe of fio's job file at `path`.
///
/// # Errors
/// If it cannot be read, or ioassay has no counterpart for any of its jobs.
pub fn of_jobs(path: &str) -> Result<Recipe> {
    let text = file::read(path)?;
    let place = Path::new(path);
    let name = place.file_name().map_or(path.into(), |name| name.to_string_lossy());
    let imported = fio::import(&text, &name, &Here::of(place))
        .with_context(|| format!("cannot take fio's job file '{path}'"))?;
    let recipe = parse(&imported.text);
    let recipe =
        recipe.with_context(|| format!("the recipe of '{path}' is broken: please report"))?;
    Ok(Recipe { imported: Some(imported), ..recipe })
}

impl Recipe {
    /// The directory to measure: the given one, else that of fio's jobs, else the current one.
    ///
    /// # Errors
    /// If none is given, and fio's jobs run elsewhere than in one directory.
    pub fn directory<'a>(&'a self, given: Option<&'a Path>) -> Result<&'a Path> {
        let of_jobs = self.imported.as_ref().map(|jobs| &jobs.place);
        match (given, of_jobs) {
            (Some(given), _) => Ok(given),
            (None, Some(JobPlace::Directory(directory))) => Ok(directory),
            (None, Some(JobPlace::Unclear(what))) => bail!(
                "fio's jobs use {what}, and ioassay measures with files of its own in one \
                 directory: name one, as in 'ioassay run {}{ENDING} DIR'",
                self.name
            ),
            (None, Some(JobPlace::Anywhere) | None) => Ok(Path::new(".")),
        }
    }
}
