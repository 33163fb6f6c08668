//! Folders with records.

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
