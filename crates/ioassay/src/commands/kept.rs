//! What a run leaves, and what users are told of it.

use super::tell;
use crate::args::OutputArgs;
use crate::directory::Removed;
use crate::store::Store;
use anyhow::Result;
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
    let place = quoted(&place.display().to_string());
    tell(&format!("to go on, repeat the command with --resume {place}{instead}"))
}

/// Reports the test files that a killed run left and that are now removed.
///
/// # Errors
/// If stderr cannot be written.
pub(super) fn tell_removed(Removed { path, bytes }: &Removed, is_quiet: bool) -> Result<()> {
    if is_quiet {
        return Ok(());
    }
    let bytes = units::bytes_rounded(*bytes);
    tell(&format!(
        "removed '{}' with {bytes} of test files, left behind by a killed run",
        path.display()
    ))
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:=@%".contains(c);
    match word.chars().all(is_plain) {
        true => word.to_string(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_back_what_is_quoted() {
        for word in ["/a/2026-11-25T08-41-34Z-survey-1.jsonl", "it's", "two words", "$(a)", "\\"] {
            let echo = format!("printf %s {}", quoted(word));
            let output = std::process::Command::new("sh").args(["-c", &echo]).output().unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), word);
        }
        assert_eq!(quoted("a/b.jsonl"), "a/b.jsonl");
    }
}
