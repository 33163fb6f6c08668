//! The machine and the storage that a question is about.

use super::RunQuestion;
use crate::directory::Directory;
use crate::files::{CopySource, Target};
use crate::group::ValueList;
use crate::machine::this_host;
use anyhow::{Context, Result, bail};
use model::host::{Host, Storage};

/// The storage of the target; `None` if no file is used.
///
/// # Errors
/// If it cannot be inspected.
pub(super) fn storage_of(target: &Target) -> Result<Option<Storage>> {
    let storage = match target {
        Target::Memory => return Ok(None),
        Target::Directory(directory) => storage_in(directory),
        Target::File(own) if own.is_device => witness::storage_of_read_disk(&own.path)
            .with_context(|| format!("failed to inspect the device '{}'", own.path.display())),
        Target::File(own) => witness::storage_of(&own.path)
            .with_context(|| format!("failed to inspect the storage of '{}'", own.path.display())),
        Target::Device(disk) => witness::storage_of_disk(&disk.path)
            .with_context(|| format!("failed to inspect the device '{}'", disk.path.display())),
    };
    storage.map(Some)
}

/// The storage of `directory`. Inspects it by path and checks that the path still leads to it.
fn storage_in(directory: &Directory) -> Result<Storage> {
    let path = directory.path();
    let storage = witness::storage(path)
        .with_context(|| format!("failed to inspect the storage of '{}'", path.display()))?;
    directory.check_same()?;
    Ok(storage)
}

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
