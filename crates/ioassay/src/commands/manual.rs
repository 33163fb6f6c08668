//! `ioassay man`: manual pages.

use super::say;
use crate::manual;
use crate::status::Status;
use anyhow::{Context, Result};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

/// Prints the manual page of the command `words`, or writes all pages into the folder `all`.
///
/// # Errors
/// If there is no such command, or a page cannot be written or already exists.
pub fn execute(words: &[String], all: Option<&Path>) -> Result<Status> {
    match all {
        None => say(&manual::page(words)?)?,
        Some(folder) => {
            for (name, page) in manual::pages()? {
                let path = folder.join(name);
                let created = OpenOptions::new().write(true).create_new(true).open(&path);
                created
                    .and_then(|mut file| file.write_all(page.as_bytes()))
                    .with_context(|| format!("failed to write the page '{}'", path.display()))?;
            }
        }
    }
    Ok(Status::DONE)
}
