//! The newest record.

use super::dated::folder;
use super::{header, records_of};
use anyhow::{Context, Result};
use std::path::PathBuf;

/// The newest record in the state folder, by when its run began.
///
/// # Errors
/// If there is none.
pub fn newest() -> Result<PathBuf> {
    let folder = folder()?;
    let paths = records_of(&folder).unwrap_or_default();
    // The text form of dates sorts chronologically. Of the two records of a gate, B is what it was
    // asked about; of others that one program began in a second, the later has a longer number.
    let dated = paths
        .into_iter()
        .filter_map(|path| Some((header(&path).ok()?.began, path.as_os_str().len(), path)));
    let newest = dated.max().map(|(.., path)| path);
    newest.with_context(|| {
        format!("there is no record in '{}': 'ioassay survey' makes the first", folder.display())
    })
}
