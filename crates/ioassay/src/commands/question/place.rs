//! The machine and the storage that a question is about.

use super::RunQuestion;
use crate::directory::Directory;
use crate::files::{CopySource, storage_in};
use crate::group::ValueList;
use crate::machine::this_host;
use anyhow::{Result, bail};
use model::host::Host;

/// This machine; its available memory is at most the workers' limit.
pub(super) fn host_of(question: &RunQuestion) -> Host {
    let host = this_host();
    let bounds = [host.memory_available, question.memory];
    Host { memory_available: bounds.into_iter().flatten().min(), ..host }
}

/// Where to create the source of copies, if elsewhere.
///
/// # Errors
/// If the recipe copies nothing, or the place cannot be inspected.
pub(super) fn source_of(question: &RunQuestion) -> Result<Option<CopySource>> {
    let Some(directory) = &question.source else { return Ok(None) };
    let is_copied = |values: &ValueList| values.texts().iter().any(|op| op == "copy");
    if !question.recipe.cases.iter().any(|group| group.get("op").is_some_and(is_copied)) {
        bail!("the recipe '{}' copies no files: leave out --source", question.recipe.name);
    }
    let directory = Directory::open(directory)?;
    let storage = storage_in(&directory)?;
    Ok(Some(CopySource { directory, storage }))
}
