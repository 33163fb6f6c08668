//! What is judged: commands with the values of their parameters.

use crate::args::judge::JudgeArgs;
use anyhow::{Context, Result, bail};
use model::case::Cache;
use model::command::{CACHES, Command, Output};
use model::list::listed;
use model::printable::printable;
use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

/// The question of a command line.
#[derive(Debug)]
pub(super) struct Asked {
    /// The commands, with all combinations of parameters.
    pub(super) commands: Vec<Command>,
    /// The cache states; those that suit each command if empty.
    pub(super) caches: Vec<Cache>,
    pub(super) setup: Option<Vec<String>>,
    pub(super) cleanup: Option<Vec<String>>,
    /// Files that commands read, as far as they are named.
    pub(super) files: Vec<PathBuf>,
    pub(super) rehearses: bool,
    pub(super) rounds: Option<u32>,
    pub(super) invocations: Option<u32>,
}

/// Maximum number of commands, with all their parameters.
const COMMANDS_MAX: usize = 1000;

impl Asked {
    /// What these arguments ask.
    pub(super) fn of(args: &JudgeArgs) -> Result<Asked> {
        let shell = args.shell.as_deref();
        let words = |text: &Option<String>, what: &str| {
            text.as_deref().map(|text| split(text, shell).context(what.to_string())).transpose()
        };
        Ok(Asked {
            commands: commands(args)?,
            caches: caches(&args.cache)?,
            setup: words(&args.setup, "--setup")?,
            cleanup: words(&args.cleanup, "--cleanup")?,
            files: args.file.iter().map(std::path::absolute).collect::<Result<_, _>>()?,
            rehearses: !args.no_rehearsal,
            rounds: args.rounds,
            invocations: args.invocations,
        })
    }
}

fn caches(texts: &[String]) -> Result<Vec<Cache>> {
    let mut caches = Vec::new();
    for text in texts {
        let cache = text.parse().ok().filter(|_| CACHES.contains(&text.as_str()));
        match cache {
            Some(cache) if !caches.contains(&cache) => caches.push(cache),
            Some(_) => {}
            None => bail!("--cache '{}': use {}", printable(text), listed(CACHES)),
        }
    }
    Ok(caches)
}

/// The words of a command: those of a shell that runs it, if one is asked for.
fn split(text: &str, shell: Option<&str>) -> Result<Vec<String>> {
    if let Some(shell) = shell {
        let mut words = split(shell, None)?;
        words.extend(["-c".to_string(), text.to_string()]);
        return Ok(words);
    }
    let words = shell_words::split(text)
        .with_context(|| format!("'{}' cannot be split into words", printable(text)))?;
    if words.is_empty() {
        bail!("an empty command cannot be run");
    }
    Ok(words)
}

/// All commands with all values of their parameters.
fn commands(args: &JudgeArgs) -> Result<Vec<Command>> {
    let directory = std::env::current_dir().context("the current directory is not known")?;
    let output = output(&args.output)?;
    let input = args.input.as_ref().map(std::path::absolute).transpose()?;
    let parameters = parameters(&args.parameter)?;
    let mut commands = Vec::new();
    let texts = match args.arguments.is_empty() {
        true => args.commands.clone(),
        false if args.commands.is_empty() => vec![shell_words::join(&args.arguments)],
        false => bail!("give commands as single arguments, or one of them after --, but not both"),
    };
    check_names(args, texts.len())?;
    for (index, text) in texts.iter().enumerate() {
        let used = |name: &str| {
            let place = place(name);
            let prepares = args.prepare.as_ref().is_some_and(|prepare| prepare.contains(&place));
            text.contains(&place) || prepares
        };
        let of_it: BTreeMap<&str, &[String]> = (parameters.iter())
            .filter(|(name, _)| used(name))
            .map(|(name, values)| (name.as_str(), values.as_slice()))
            .collect();
        let name = args.name.get(index).unwrap_or(text);
        for values in combinations(&of_it) {
            let filled = |text: &str| filled(text, &values);
            let words = match args.arguments.is_empty() {
                true => split(&filled(text), args.shell.as_deref())?,
                false => args.arguments.iter().map(|word| filled(word)).collect(),
            };
            let prepare = args.prepare.as_deref();
            let prepare = prepare.map(|text| split(&filled(text), args.shell.as_deref()));
            commands.push(Command {
                name: named(name),
                parameters: values.clone(),
                arguments: words,
                directory: directory.clone(),
                prepare: prepare.transpose().context("--prepare")?,
                input: input.clone(),
                output: output.clone(),
                any_exit: args.ignore_exit,
                ..Command::default()
            });
        }
        if commands.len() > COMMANDS_MAX {
            bail!("more than {COMMANDS_MAX} commands, with all values of parameters");
        }
    }
    check_different(&commands)?;
    check_all_used(&parameters, args, &texts)?;
    Ok(commands)
}

/// A name on one line.
fn named(text: &str) -> String {
    printable(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn check_names(args: &JudgeArgs, commands: usize) -> Result<()> {
    if args.name.len() > commands {
        bail!("{} names for {commands} commands", args.name.len());
    }
    Ok(())
}

fn check_different(commands: &[Command]) -> Result<()> {
    let mut seen = HashSet::new();
    match commands.iter().find(|command| !seen.insert((&command.name, &command.parameters))) {
        Some(twice) => bail!(
            "'{}' is given twice: two names, with -n, tell the same command apart",
            twice.name
        ),
        None => Ok(()),
    }
}

fn check_all_used(
    parameters: &[(String, Vec<String>)],
    args: &JudgeArgs,
    texts: &[String],
) -> Result<()> {
    let is_used = |name: &str| {
        let place = place(name);
        texts.iter().chain(&args.prepare).any(|text| text.contains(&place))
    };
    match parameters.iter().find(|(name, _)| !is_used(name)) {
        Some((name, _)) => {
            bail!("no command has {}, so parameter '{name}' does nothing", place(name))
        }
        None => Ok(()),
    }
}

fn place(name: &str) -> String {
    format!("{{{name}}}")
}

fn filled(text: &str, values: &BTreeMap<String, String>) -> String {
    values.iter().fold(text.to_string(), |text, (name, value)| text.replace(&place(name), value))
}

/// The parameters with their values, from `NAME=V,V`.
fn parameters(texts: &[String]) -> Result<Vec<(String, Vec<String>)>> {
    let mut parameters: Vec<(String, Vec<String>)> = Vec::new();
    for text in texts {
        let (name, values) = text
            .split_once('=')
            .filter(|(name, values)| is_name(name) && !values.is_empty())
            .with_context(|| {
                format!("-L '{}': give a name and values, such as threads=1,2", printable(text))
            })?;
        if parameters.iter().any(|(known, _)| known == name) {
            bail!("parameter '{name}' is given twice");
        }
        parameters.push((name.to_string(), values.split(',').map(str::to_string).collect()));
    }
    Ok(parameters)
}

/// Whether a text can name a parameter: in the axis `parameters`, a comma and an equals sign
/// separate.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// Each choice of one value for each parameter.
fn combinations(parameters: &BTreeMap<&str, &[String]>) -> Vec<BTreeMap<String, String>> {
    let mut all = vec![BTreeMap::new()];
    for (name, values) in parameters {
        let with = |chosen: &BTreeMap<String, String>, value: &String| {
            let mut chosen = chosen.clone();
            chosen.insert((*name).to_string(), value.clone());
            chosen
        };
        all =
            all.iter().flat_map(|chosen| values.iter().map(|value| with(chosen, value))).collect();
    }
    all
}

/// Where stdout goes.
fn output(text: &str) -> Result<Output> {
    match text {
        "null" => Ok(Output::Null),
        "pipe" => Ok(Output::Pipe),
        path => {
            let path = std::path::absolute(path)?;
            // Nothing of the user's is overwritten.
            std::fs::File::create_new(&path).with_context(|| {
                format!("failed to create the output '{}'; name a new file", path.display())
            })?;
            Ok(Output::File(path))
        }
    }
}
