//! Folders with records.

use super::read;
use anyhow::{Context, Result};
use std::io;
use std::path::{Path, PathBuf};

/// The files in a folder whose names mark them as records.
///
/// # Errors
/// If the folder cannot be read.
pub fn records_of(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "jsonl") && path.is_file() {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// Records that can be read, and why others cannot.
#[derive(Debug, Default)]
pub struct Readable {
    /// The records.
    pub paths: Vec<PathBuf>,
    /// The reasons, with the files.
    pub unreadable: Vec<String>,
}

impl Readable {
    /// The records in a folder: a bad file hides no other.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn of(folder: &Path) -> Result<Readable> {
        let all =
            records_of(folder).with_context(|| format!("failed to read '{}'", folder.display()))?;
        let mut found = Readable::default();
        for path in all {
            match read(&path) {
                Ok(_) => found.paths.push(path),
                Err(reason) => found.unreadable.push(format!("{reason:#}")),
            }
        }
        Ok(found)
    }
}

/// The folders in `folder`, in the order of their names; none if it cannot be read. Runs of several
/// hosts have one each.
pub fn folders_of(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.is_dir() && !path.is_symlink())
        .collect();
    folders.sort();
    folders
}
