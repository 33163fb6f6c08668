//! What a run leaves, and what users are told of it.

use super::tell;
use crate::args::OutputArgs;
use crate::directory::{Remains, RemainsFate};
use crate::store::Store;
use anyhow::Result;
use model::printable::printable;
use model::shell::{quoted, recorded};
use model::units;
use std::path::{Path, PathBuf};

/// The results of a run.
#[derive(Debug)]
pub struct Kept {
    /// Its record.
    pub record: Store,
    /// The test files to keep.
    pub files: Vec<PathBuf>,
}

/// Prints the paths of the record and of kept files, unless `--quiet` is set.
///
/// # Errors
/// If stderr cannot be written.
pub(super) fn tell_kept(kept: &Kept, output: &OutputArgs) -> Result<()> {
    if output.quiet {
        return Ok(());
    }
    if kept.record.is_kept() {
        tell(&format!("record: {}", kept.record.path().display()))?;
    }
    kept.files.iter().try_for_each(|file| tell(&format!("kept: {}", file.display())))
}

/// Says how to resume the interrupted run whose records are in `place`, unless `--quiet` is set.
///
/// # Errors
/// If stderr cannot be written.
pub(super) fn tell_how_to_go_on(place: &Path, output: &OutputArgs) -> Result<()> {
    if output.quiet {
        return Ok(());
    }
    let instead = if output.record.is_some() { " in place of --record" } else { "" };
    let place = quoted(&recorded(place.as_os_str()));
    tell(&format!("to go on, repeat the command with --resume {place}{instead}"))
}

/// Reports test files of other runs: those of killed runs, which are now removed, and those of runs
/// that may go on.
///
/// # Errors
/// If stderr cannot be written.
pub(in crate::commands) fn tell_remains(
    Remains { path, fate }: &Remains,
    is_quiet: bool,
) -> Result<()> {
    let path = path.display();
    match fate {
        RemainsFate::Removed(bytes) if !is_quiet => tell(&format!(
            "removed '{path}' with {} of test files, left behind by a killed run",
            units::bytes_rounded(*bytes)
        )),
        RemainsFate::Unknown(node) if !is_quiet => {
            tell(&format!("note: {}", said_unproved(&path.to_string(), node)))
        }
        RemainsFate::Removed(_) | RemainsFate::Unknown(_) | RemainsFate::Stays => Ok(()),
    }
}

/// Why the folder of another run stays, which that run on `node` made.
pub(super) fn said_unproved(path: &str, node: &str) -> String {
    format!(
        "'{path}' stays: nothing there shows whether its run on '{}' has ended; remove it \
         if it has",
        printable(node)
    )
}

/// Says that a peer is being built. Even a quiet run does: it would be silent for minutes.
///
/// # Errors
/// If stderr cannot be written.
pub(super) fn tell_building(peer: &str) -> Result<()> {
    tell(&format!("building the peer {peer}, which may take minutes; later runs use it again"))
}
