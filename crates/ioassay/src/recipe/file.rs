//! A recipe in a user's file.

use crate::input;
use anyhow::{Context, Result, anyhow, bail};
use model::units;
use std::io::Read;
use std::path::Path;

/// The maximum size of a recipe.
const BYTES_MAX: u64 = 1 << 20;

/// The text of the recipe in the file `path`.
///
/// # Errors
/// If the file cannot be read. For files often mistaken for recipes, the error explains what to do.
pub(super) fn read(path: &str) -> Result<String> {
    if Path::new(path).is_dir() {
        bail!(
            "'{path}' is a directory, not a recipe: the recipe comes first, as in 'ioassay run \
             page-latency {path}'"
        );
    }
    let failed = || format!("failed to read the recipe '{path}'");
    let mut bytes = Vec::new();
    let file = input::lines(Path::new(path)).with_context(failed)?;
    file.take(BYTES_MAX + 1).read_to_end(&mut bytes).with_context(failed)?;
    if bytes.starts_with(RECORD_BEGINS) {
        bail!("'{path}' is a record, not a recipe: 'ioassay report {path}' shows its report");
    }
    if bytes.len() as u64 > BYTES_MAX {
        bail!("'{path}' is not a recipe: it is larger than {}", units::bytes(BYTES_MAX));
    }
    String::from_utf8(bytes).map_err(|_| anyhow!("'{path}' is not a recipe: it is not text"))
}

/// The first bytes of a record: its header.
const RECORD_BEGINS: &[u8] = b"{\"header\"";
