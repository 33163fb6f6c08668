//! One run of each command before the others: which files it uses, and how.

use super::Tell;
use crate::data_files;
use crate::rehearsal::{self, Rehearsal};
use crate::stop::Stop;
use anyhow::{Context, Result, bail};
use model::command::JudgedCommand;
use model::judging::AskedCommands;
use model::printable::printable;
use model::record::Header;
use model::rehearsal::{Blind, CommandEnd, FactSheet, FileRole, FileUse};
use model::units;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The most data files of a command whose cache is set and seen, those with the most bytes.
const FILES_MAX: usize = 1024;

/// Commands after their rehearsals.
pub(super) struct RehearsedCommands {
    /// The commands, with their data files.
    pub(super) commands: Vec<JudgedCommand>,
    /// What each did; empty if one was not rehearsed.
    pub(super) rehearsals: Vec<FactSheet>,
    /// What the user should know.
    pub(super) warnings: Vec<String>,
}

/// Rehearses the commands.
///
/// # Errors
/// If one cannot be rehearsed.
pub(super) fn all(asked: &AskedCommands, tell: Tell, stop: &Stop) -> Result<RehearsedCommands> {
    let (mut commands, mut rehearsals, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
    for command in &asked.commands {
        let mut facts = None;
        if asked.rehearses {
            tell(&command.shown())?;
            let seen = one(command, stop).with_context(|| command.shown())?;
            let new: Vec<_> = blind(&seen).filter(|it| !warnings.contains(it)).collect();
            warnings.extend(new);
            facts = Some(seen);
        }
        let mut command = command.clone();
        if let Some(facts) = &facts {
            command.reads = listed(facts, is_source);
            command.writes = listed(facts, FileUse::is_written);
        }
        if command.until_durable {
            check_durable(facts.as_ref()).with_context(|| command.shown())?;
        }
        for file in &asked.files {
            if !command.reads.contains(file) {
                command.reads.push(file.clone());
            }
        }
        commands.push(command);
        rehearsals.extend(facts);
    }
    // Without one of them, none belongs to a number.
    if rehearsals.len() < commands.len() {
        rehearsals.clear();
    }
    Ok(RehearsedCommands { commands, rehearsals, warnings })
}

/// The same for a run that goes on: what was rehearsed `then` still holds, unless a file that a
/// command reads, and that none writes, is not as it was.
pub(super) fn as_then(
    asked: &AskedCommands,
    then: &Header,
    (tell, note): (Tell, Tell),
    stop: &Stop,
) -> Result<RehearsedCommands> {
    let all_then: Vec<JudgedCommand> = then.plan.judged_commands().cloned().collect();
    let is_same = |one: &JudgedCommand, other: &JudgedCommand| {
        (&one.name, &one.parameters) == (&other.name, &other.parameters)
    };
    let known: Option<Vec<&JudgedCommand>> = (asked.commands.iter())
        .map(|one| all_then.iter().find(|other| is_same(one, other)))
        .collect();
    let Some(known) = known.filter(|_| all_then.len() == asked.commands.len()) else {
        let listed = |all: &[JudgedCommand]| {
            all.iter().map(JudgedCommand::shown).collect::<Vec<_>>().join(", ")
        };
        bail!(
            "the record of --resume judges {}, and this run {}: repeat its command, or begin a new \
             run",
            listed(&all_then),
            listed(&asked.commands)
        );
    };
    let is_known = |file: &PathBuf| known.iter().all(|command| command.reads.contains(file));
    if let Some(file) = asked.files.iter().find(|file| !is_known(file)) {
        bail!(
            "--file '{}' is not among the files of the record of --resume: repeat its command, or \
             begin a new run",
            file.display()
        );
    }
    let with_files = |(one, then): (&JudgedCommand, &&JudgedCommand)| JudgedCommand {
        reads: then.reads.clone(),
        writes: then.writes.clone(),
        ..one.clone()
    };
    let commands: Vec<_> = asked.commands.iter().zip(&known).map(with_files).collect();
    // One that does something else is refused later, and must not run before that.
    let are_same = commands.iter().zip(&known).all(|(one, then)| one == *then);
    if let Some(path) = other_program(then).filter(|_| are_same) {
        bail!(
            "the program '{}' is not as it was in the record of --resume: figures of two programs \
             are not mixed; begin a new run",
            path.display()
        );
    }
    if let Some(path) = changed(then).filter(|_| are_same) {
        note(&format!("'{}' has changed since the rehearsal", path.display()))?;
        return all(asked, tell, stop);
    }
    let (rehearsals, warnings) = (then.rehearsals.clone(), Vec::new());
    Ok(RehearsedCommands { commands, rehearsals, warnings })
}

/// A program or a script that a command executed in its rehearsal, if it is another file now, or
/// has another size.
fn other_program(then: &Header) -> Option<PathBuf> {
    let commands = &then.plan.commands;
    let is_written = |path: &PathBuf| commands.iter().any(|command| command.writes.contains(path));
    let programs = then.rehearsals.iter().flat_map(|sheet| &sheet.files);
    let programs = programs.filter(|file| file.role == FileRole::Program);
    let mut programs = programs.map(|file| (file.last_path(), file));
    programs.find(|(path, file)| !is_written(path) && !is_as_then(path, file)).map(|(path, _)| path)
}

/// Whether `path` still leads to the file that was seen, with the same size.
fn is_as_then(path: &Path, file: &FileUse) -> bool {
    path.metadata().is_ok_and(|found| {
        found.ino() == file.inode && file.bytes_found().is_none_or(|then| then == found.len())
    })
}

/// A file that a command read in its rehearsal and that no command writes, if it is another one now
/// or has another size.
fn changed(then: &Header) -> Option<PathBuf> {
    let commands = &then.plan.commands;
    let is_written = |path: &PathBuf| commands.iter().any(|command| command.writes.contains(path));
    let files = commands.iter().zip(&then.rehearsals).flat_map(|(command, sheet)| {
        let read = sheet.files.iter().map(|file| (file.last_path(), file));
        read.filter(|(path, _)| command.reads.contains(path))
    });
    let mut changed = files.filter(|(path, file)| !is_written(path) && !is_as_then(path, file));
    changed.next().map(|(path, _)| path)
}

/// What `command` did in one run. If it fails because a program lost its rights under the tracer,
/// what it does without one.
fn one(command: &JudgedCommand, stop: &Stop) -> Result<FactSheet> {
    let traced = run(command, None, stop)?;
    let lost = match &traced {
        Rehearsal::Done { facts, .. } => without_rights(facts).next(),
        Rehearsal::Failed { .. } => None,
    };
    match (usable(command, traced), lost) {
        (Err(_), Some(lost)) => {
            let why = format!("{lost} while it was traced, and the command failed");
            usable(command, run(command, Some(&why), stop)?)
        }
        (facts, _) => facts,
    }
}

/// One run; without a tracer for a reason, if one is given.
fn run(command: &JudgedCommand, untraced: Option<&str>, stop: &Stop) -> Result<Rehearsal> {
    data_files::prepare(command, stop).map_err(anyhow::Error::msg)?;
    let rehearsed = rehearsal::of(&command.launch(), untraced, stop);
    // Whatever became of it, what was prepared is undone.
    let concluded = data_files::conclude(command, stop).map_err(anyhow::Error::msg);
    let rehearsed = rehearsed?;
    concluded?;
    Ok(rehearsed)
}

/// The facts of a rehearsal that ended as runs must.
fn usable(command: &JudgedCommand, rehearsed: Rehearsal) -> Result<FactSheet> {
    match rehearsed {
        Rehearsal::Failed { reason } => bail!(reason),
        Rehearsal::Done { facts, last_words, figure } => {
            if figure.is_none() {
                check_figure(command)?;
            }
            let words = match last_words.is_empty() {
                true => String::new(),
                false => format!("; its stderr: {last_words}"),
            };
            match facts.end {
                Some(CommandEnd::Exited(status)) if counts(command, status) => Ok(*facts),
                Some(CommandEnd::Exited(status)) => bail!(
                    "it ended with status {status}{}. {}",
                    words.trim_end_matches('.'),
                    advice(command, status)
                ),
                Some(CommandEnd::Signaled(signal)) => {
                    bail!("it was ended by signal {signal}{words}")
                }
                Some(CommandEnd::Stopped(_)) | None => bail!("it was stopped{words}"),
            }
        }
    }
}

/// What to do about an exit status that is not 0.
fn advice(command: &JudgedCommand, status: i32) -> String {
    let is_of_shell = |word: &String| {
        matches!(word.as_str(), "|" | "||" | "&&" | ">" | "<" | ";")
            || word.contains(['*', '?', '$'])
    };
    match command.arguments.iter().skip(1).find(|word| is_of_shell(word)) {
        Some(word) => format!(
            "No shell starts it, so '{word}' was an argument: with --shell, it means what a shell \
             makes of it"
        ),
        None => format!("If it may end with {status}, use --ignore-exit={status}"),
    }
}

/// The programs that ran without their rights in a rehearsal: `/usr/bin/su ran without its rights`.
fn without_rights(facts: &FactSheet) -> impl Iterator<Item = String> {
    let lost = facts.unseen.iter().filter(|unseen| unseen.what == Blind::SetUid);
    lost.map(|unseen| unseen.detail.clone())
}

/// What the user should know of a command that was not traced, or not as it runs.
fn blind(facts: &FactSheet) -> impl Iterator<Item = String> {
    let untraced = facts.unseen.iter().find(|unseen| unseen.what == Blind::Untraced);
    let sampled = untraced.map(|untraced| {
        format!(
            "{}. Instead, its open files were looked at while it ran, and some may not have been \
             seen; --file names them",
            untraced.detail
        )
    });
    let rightless = without_rights(facts).map(|lost| {
        format!("{lost} in the rehearsal: what it reads may not have been seen; --file names it")
    });
    sampled.into_iter().chain(rightless)
}

/// Refuses to look for a number that is never printed.
fn check_figure(command: &JudgedCommand) -> Result<()> {
    match &command.figure {
        None => Ok(()),
        Some(figure) => bail!(
            "--figure '{}' finds no number in the last 64 KiB that it printed to stdout or stderr",
            printable(&figure.pattern)
        ),
    }
}

/// Refuses to sync files that are not all known.
fn check_durable(facts: Option<&FactSheet>) -> Result<()> {
    let Some(facts) = facts else {
        bail!("--until-durable needs the rehearsal, which shows what files the command writes");
    };
    if facts.sampled {
        bail!("--until-durable needs a traced rehearsal, which shows all files that are written");
    }
    if facts.unlisted_files > 0 || facts.written_files().count() > FILES_MAX {
        bail!("--until-durable: it writes more than {FILES_MAX} files");
    }
    Ok(())
}

fn counts(command: &JudgedCommand, status: i32) -> bool {
    u32::try_from(status).is_ok_and(|status| command.launch().counts(status))
}

/// Whether a cache state of it is set: the command read it, or cloned it, for which its blocks are
/// looked up.
fn is_source(file: &FileUse) -> bool {
    !file.removed && (file.is_read() || !file.created && file.copies.cloned_source > 0)
}

/// The largest data files that are `used` so, at their paths after the run.
fn listed(facts: &FactSheet, used: impl Fn(&FileUse) -> bool) -> Vec<PathBuf> {
    let is_data = |file: &&FileUse| file.role == FileRole::Data && !file.is_block_device;
    let mut files: Vec<&FileUse> =
        facts.files.iter().filter(is_data).filter(|file| used(file)).collect();
    files.sort_by_key(|file| std::cmp::Reverse(file.bytes_after.or(file.bytes_before)));
    let left_out = files.len().saturating_sub(FILES_MAX);
    if left_out > 0 {
        let bytes = files[FILES_MAX..].iter().filter_map(|file| file.bytes_after).sum();
        log::info!("{left_out} smaller files ({}) are not watched", units::bytes_rounded(bytes));
    }
    files.iter().take(FILES_MAX).map(|file| file.last_path()).collect()
}
