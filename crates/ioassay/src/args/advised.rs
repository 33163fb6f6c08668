//! Errors that name flags which the typed command lacks.

use super::Cli;
use clap::CommandFactory;
use model::advice;

/// An error for the reader who typed these words: of the flags that it names and that this command
/// lacks, it says which command has them.
pub fn fitted(error: &str, words: &[String]) -> String {
    let cli = Cli::command();
    let has = |command: &clap::Command, flag: &str| {
        command.get_arguments().any(|argument| argument.get_long() == Some(flag))
    };
    let mut typed = &cli;
    for word in words.iter().skip(1) {
        typed = typed.find_subcommand(word).unwrap_or(typed);
    }
    let instead = |flag: &str| {
        let globals = cli.get_arguments().filter(|argument| argument.is_global_set());
        let is_global = globals.into_iter().any(|argument| argument.get_long() == Some(flag));
        if is_global || has(typed, flag) {
            return None;
        }
        if cli.find_subcommand("run").is_some_and(|run| has(run, flag)) {
            return Some(advice::instead_of(typed.get_name()));
        }
        let inner = |command: &clap::Command| {
            let own = command.get_subcommands().find(|inner| has(inner, flag))?;
            Some(format!("{} {}", command.get_name(), own.get_name()))
        };
        cli.get_subcommands().find_map(|command| match has(command, flag) {
            true => Some(command.get_name().to_string()),
            false => inner(command),
        })
    };
    advice::fitted_by(error, instead)
}
