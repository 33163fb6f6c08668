//! What tells apart the commands that two runs judge under the same names.

use model::command::{CommandOutput, JudgedCommand};
use model::figure::FigurePattern;
use model::plan::AroundCommands;
use model::record::Header;
use model::rehearsal::{FactSheet, FileUse};
use model::units;
use std::path::Path;

/// A fact: its name and value.
type Fact = (String, String);

/// How each command is run, and what it reads. What is not asked for is left out: then the other
/// record need not have it.
pub(crate) fn facts_of_commands(header: &Header) -> Vec<Fact> {
    let commands = header.plan.commands.iter().enumerate();
    let facts = commands.flat_map(|(number, command)| {
        let name = command.shown();
        let read = header.rehearsals.get(number).map(|sheet| read(command, sheet));
        let read = read.map(|read| ("data files read by".to_string(), read));
        how(command).into_iter().chain(read).map(move |(what, it)| (format!("{what} {name}"), it))
    });
    facts.chain(around(header)).collect()
}

/// What runs before and after all commands, if the record says so.
fn around(header: &Header) -> impl Iterator<Item = Fact> {
    let around = header.plan.around_commands.iter();
    around.flat_map(|AroundCommands { setups, cleanups }| {
        [("setup", setups), ("cleanup", cleanups)].map(|(what, all)| (what.to_string(), lines(all)))
    })
}

/// `make a; make b`.
fn lines(all: &[Vec<String>]) -> String {
    or_none(all.iter().map(|words| words.join(" ")).collect::<Vec<_>>().join("; "))
}

fn how(command: &JudgedCommand) -> [Fact; 9] {
    let words =
        |words: &Option<Vec<String>>| words.as_ref().map_or(String::new(), |it| it.join(" "));
    let path = |path: &Path| path.to_string_lossy().into_owned();
    let exits: Vec<String> = command.exits.iter().map(u32::to_string).collect();
    let syncs = if command.until_durable { "until what it wrote is durable" } else { "" };
    [
        ("words of", command.arguments.join(" ")),
        ("directory of", path(&command.directory)),
        ("what runs before", words(&command.prepare)),
        ("what runs after", words(&command.conclude)),
        ("input of", command.input.as_deref().map_or(String::new(), path)),
        ("output of", output(&command.output)),
        ("ignored statuses of", if command.any_exit { "all".to_string() } else { exits.join(",") }),
        ("second time of", syncs.to_string()),
        ("figure of", command.figure.as_ref().map_or(String::new(), figure)),
    ]
    .map(|(what, value)| (what.to_string(), or_none(value)))
}

fn or_none(value: String) -> String {
    if value.is_empty() { "none".to_string() } else { value }
}

/// `total ([0-9]+) in ms`.
fn figure(figure: &FigurePattern) -> String {
    match &figure.unit {
        None => figure.pattern.clone(),
        Some(unit) => format!("{} in {unit}", figure.pattern),
    }
}

fn output(output: &CommandOutput) -> String {
    match output {
        CommandOutput::Null => "null".to_string(),
        CommandOutput::Pipe => "pipe".to_string(),
        CommandOutput::Inherit => "inherit".to_string(),
        CommandOutput::File(path) => path.to_string_lossy().into_owned(),
    }
}

/// `2 with 64.0 MiB`: the data files that it read in its rehearsal.
fn read(command: &JudgedCommand, sheet: &FactSheet) -> String {
    let is_read = |file: &&FileUse| command.reads.contains(&file.last_path());
    let sizes = sheet.files.iter().filter(is_read).filter_map(FileUse::bytes_found);
    let bytes = sizes.fold(0, u64::saturating_add);
    format!("{} with {}", command.reads.len(), units::bytes(bytes))
}
