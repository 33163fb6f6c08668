//! The files of the workspace, and violations in them.

use anyhow::{Context, Result};
use std::fmt;
use std::fs;
use std::path::Path;

/// Maximum size of a file in bytes: a repository is for text that people read.
pub(crate) const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Folders without hand-written files.
const FOREIGN_FOLDERS: [&str; 2] = [".git", "target"];

/// The folder of packages, which only the root has.
const PACKAGES: &str = "dist";

/// A file of the workspace.
#[derive(Debug)]
pub(crate) struct WorkspaceFile {
    /// Path from the root of the workspace, with `/` as the separator.
    pub(crate) path: String,
    /// Size in bytes.
    pub(crate) bytes: u64,
    /// Its content; empty if it is not UTF-8 or exceeds [`FILE_BYTES_MAX`].
    pub(crate) text: String,
}

/// A violation of a rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Violation {
    path: String,
    /// Counted from 1.
    line: usize,
    /// What is wrong, and how to fix it.
    text: String,
}

impl Violation {
    /// A violation at `line`, counted from 1.
    pub(crate) fn at(path: &str, line: usize, text: impl Into<String>) -> Violation {
        assert!(line >= 1, "lines are counted from 1");
        Violation { path: path.to_owned(), line, text: text.into() }
    }

    /// A violation by the whole file.
    pub(crate) fn in_file(path: &str, text: impl Into<String>) -> Violation {
        Violation::at(path, 1, text)
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.text)
    }
}

/// Reads all files below `root`, ordered by path. Does not follow links.
///
/// It does not use git, so it also works in an unpacked archive.
pub(crate) fn read_all(root: &Path) -> Result<Vec<WorkspaceFile>> {
    let mut sources = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        let place = root.join(&folder);
        let entries = fs::read_dir(&place)
            .with_context(|| format!("failed to list folder {}", place.display()))?;
        for entry in entries {
            let entry =
                entry.with_context(|| format!("failed to list folder {}", place.display()))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            let kind = entry.file_type().with_context(|| format!("failed to look at {path}"))?;
            if kind.is_dir() && path != PACKAGES && !FOREIGN_FOLDERS.contains(&name.as_str()) {
                folders.push(path);
            } else if kind.is_file() {
                sources.push(read(root, path)?);
            }
        }
    }
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(sources)
}

fn read(root: &Path, path: String) -> Result<WorkspaceFile> {
    let place = root.join(&path);
    let context = || format!("failed to read {}", place.display());
    let bytes = fs::metadata(&place).with_context(context)?.len();
    if bytes > FILE_BYTES_MAX {
        return Ok(WorkspaceFile { path, bytes, text: String::new() });
    }
    let content = fs::read(&place).with_context(context)?;
    let text = String::from_utf8(content).unwrap_or_default();
    Ok(WorkspaceFile { path, bytes, text })
}
