//! The newest record.

use super::{folder, header, records_of};
use anyhow::{Context, Result};
use std::path::PathBuf;

/// The newest record in the state folder, by when its run began.
///
/// # Errors
/// If there is none.
pub fn newest() -> Result<PathBuf> {
    let folder = folder()?;
    let paths = records_of(&folder).unwrap_or_default();
    // The text form of dates sorts chronologically. Of two records that one run began, the second
    // has a number at the end of its name, and is what a gate was asked about.
    let dated = paths
        .into_iter()
        .filter_map(|path| Some((header(&path).ok()?.began, path.as_os_str().len(), path)));
    let newest = dated.max().map(|(.., path)| path);
    newest.with_context(|| {
        format!("there is no record in '{}': 'ioassay survey' makes the first", folder.display())
    })
}
