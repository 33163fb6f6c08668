//! Parses the command line, and suggests what a misspelled one may have meant.

use crate::args::Cli;
use crate::manual;
use crate::recipe;
use clap::FromArgMatches;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use model::axis::AXES;
use model::units;
use std::ffi::OsString;
use std::path::Path;

/// Parses the command line `words`; the first is the program's name.
///
/// # Errors
/// A parse error with suggestions; or help or the version, if requested.
pub fn understand(words: &[OsString]) -> Result<Cli, Error> {
    let matches = manual::command().try_get_matches_from(words);
    matches
        .and_then(|matches| Cli::from_arg_matches(&matches))
        .map_err(|error| hinted(error, words))
}

/// Adds a tip to the error if a recipe was typed in place of a command.
fn hinted(mut error: Error, words: &[OsString]) -> Error {
    if let Some(flag) = own_flag(&error) {
        error.remove(ContextKind::SuggestedArg);
        // It would be that of the similar option.
        error.remove(ContextKind::Usage);
        let tip = format!("ioassay calls it '--{flag}'");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
        return error;
    }
    let given = match (error.kind(), error.get(ContextKind::InvalidSubcommand)) {
        (ErrorKind::InvalidSubcommand, Some(ContextValue::String(given))) => given.clone(),
        _ => return error,
    };
    let is_of_recipes = words.get(1).is_some_and(|word| word == "recipes");
    if let Some(tip) = tip(&given, is_of_recipes) {
        // A similar command would only mislead.
        error.remove(ContextKind::SuggestedSubcommand);
        let tip = ContextValue::StyledStrs(vec![StyledStr::from(tip)]);
        error.insert(ContextKind::Suggested, tip);
    }
    error
}

/// The axis flag for another tool's option: fio's `--bs` is `--block`.
fn own_flag(error: &Error) -> Option<&'static str> {
    let (ErrorKind::UnknownArgument, Some(ContextValue::String(given))) =
        (error.kind(), error.get(ContextKind::InvalidArg))
    else {
        return None;
    };
    let given = given.trim_start_matches('-').split('=').next()?;
    AXES.iter().find(|axis| axis.elsewhere.contains(&given)).map(|axis| axis.flag())
}

/// What to type instead of a recipe's name, or nearly one, that is not a command.
fn tip(given: &str, is_of_recipes: bool) -> Option<String> {
    let known: Vec<&str> = recipe::BUILT_IN.iter().map(|(name, _)| *name).collect();
    let is_file = given.ends_with(".toml") && Path::new(given).is_file();
    let (name, is_it) = match known.iter().find(|name| **name == given) {
        Some(name) => (*name, true),
        None if is_file => (given, true),
        None => (units::nearest(given, &known).filter(|_| is_of_recipes || is_long(given))?, false),
    };
    let command = if is_of_recipes { "recipes show" } else { "run" };
    let what =
        if is_it { "is a recipe".to_string() } else { format!("may be the recipe '{name}'") };
    Some(format!("'{given}' {what}: ioassay {command} {name}"))
}

/// Whether a word is longer than any command: then it is more likely a misspelled recipe.
fn is_long(given: &str) -> bool {
    let commands = manual::command();
    let longest = commands.get_subcommands().map(|command| command.get_name().len()).max();
    given.len() >= longest.unwrap_or(0) || given.contains('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: &str) {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let error = understand(&words).expect_err("it is not understood").to_string();
        assert!(error.contains(expected), "{line}: '{error}' does not say '{expected}'");
    }

    #[test]
    fn an_option_of_another_tool_brings_no_usage_of_a_similar_one() {
        let words = ["ioassay", "run", "read-methods", "--bs", "4k"].map(OsString::from);
        let error = understand(&words).expect_err("it is not understood").to_string();
        assert!(!error.contains("--beside"), "{error}");
    }

    #[test]
    fn what_may_have_been_meant_is_said() {
        check("ioassay sruvey", "a similar subcommand exists: 'survey'");
        check("ioassay rum", "'run'");
        check("ioassay page-latency .", "'page-latency' is a recipe: ioassay run page-latency");
        check("ioassay page-latncy", "may be the recipe 'page-latency': ioassay run page-latency");
        check("ioassay recipes memory", "'memory' is a recipe: ioassay recipes show memory");
        check("ioassay recipes memry", "may be the recipe 'memory': ioassay recipes show memory");
        check("ioassay run read-methods --bs 4k", "ioassay calls it '--block'");
        check("ioassay run read-methods --iodepth=4", "ioassay calls it '--depth'");
        check("ioassay run read-methods --numjobs 4", "ioassay calls it '--threads'");
        check("ioassay run page-latency --engin pread", "a similar argument exists: '--engine'");
    }
}
