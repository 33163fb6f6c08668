//! Files of a folder.

use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// The files of this kind in `folder`, by name.
pub(crate) fn in_folder(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<PathBuf>>>()?;
    paths.retain(|path| path.extension().is_some_and(|it| it == extension));
    paths.sort();
    Ok(paths)
}
