//! `ioassay merge`: several records in one file, to carry them elsewhere.

use super::{readable, tell};
use crate::status::Status;
use crate::store;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A record that was merged: its name, and its lines after the header.
struct Merged {
    path: PathBuf,
    lines: Vec<String>,
}

/// Writes the records one after the other, each as it is, to a new file or to stdout. A copy of a
/// record is written once.
///
/// # Errors
/// If one is not a record, two are different states of one run, or the file cannot be written.
pub fn execute(records: &[PathBuf], into: Option<&Path>) -> Result<Status> {
    let into = into.filter(|path| *path != OsStr::new("-"));
    into.map_or(Ok(()), store::check_free)?;
    let mut merged: BTreeMap<String, Merged> = BTreeMap::new();
    let mut order = Vec::new();
    let (paths, status) = readable(records)?;
    for path in paths {
        // It must be a record, but what is damaged in it is the reader's to judge.
        for problem in store::read(&path)?.damage {
            tell(&format!("note: '{}': {problem}", path.display()))?;
        }
        let lines = store::lines_of(&path);
        let mut lines =
            lines.with_context(|| format!("failed to read the record '{}'", path.display()))?;
        let header = lines.remove(0);
        match merged.get(&header) {
            Some(other) if other.lines == lines => tell(&format!(
                "note: '{}' is a copy of '{}' and is left out",
                path.display(),
                other.path.display()
            ))?,
            Some(other) => bail!(
                "'{}' and '{}' are the same run at different times: leave one of them out",
                other.path.display(),
                path.display()
            ),
            None => {
                order.push(header.clone());
                merged.insert(header, Merged { path, lines });
            }
        }
    }
    let mut text = String::new();
    for header in &order {
        text.push_str(&format!("{header}\n"));
        for line in &merged[header].lines {
            text.push_str(&format!("{line}\n"));
        }
    }
    match into {
        Some(path) => store::write_merged(path, &text)?,
        // A part of it is a record that lost the rest.
        None => io::stdout().write_all(text.as_bytes()).context("failed to write the record")?,
    }
    Ok(status)
}
