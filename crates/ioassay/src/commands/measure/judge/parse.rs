//! What is judged: commands with the values of their parameters.

use crate::args::judge::JudgeArgs;
use crate::commands::question::{GATE_INVOCATIONS, check_budget};
use crate::recipe::repetitions::{USUAL, settle};
use anyhow::{Context, Result, anyhow, bail};
use model::case::Cache;
use model::command::{CACHES, CommandOutput, JudgedCommand, filled, place_of};
use model::figure::FigurePattern;
use model::goal::{Goal, Indicator, Requirement};
use model::judging::AskedCommands;
use model::list::listed;
use model::printable::printable;
use model::units;
use std::collections::{BTreeMap, HashSet};
use std::time::Duration;
use worker::figure::FigureFinder;

/// The question of a command line.
#[derive(Debug)]
pub struct Asked {
    /// What each host is to do.
    pub of_host: AskedCommands,
    /// The cache states; those that suit each command if empty.
    pub caches: Vec<Cache>,
    /// Runs of each command in each state.
    pub rounds: u32,
    /// Fresh starts, among which the rounds are divided.
    pub invocations: u32,
    /// The time that the run is given.
    pub budget: Option<Duration>,
    /// What the figures of each command must be.
    pub goals: Vec<Goal>,
    /// Whether to fail if it cannot be told whether the goals are met.
    pub is_strict: bool,
}

/// Maximum number of commands, with all their parameters.
const COMMANDS_MAX: usize = 1000;

impl Asked {
    /// What these arguments ask.
    ///
    /// # Errors
    /// If they are not understood, or a file for the output exists or cannot be created.
    pub fn of(args: &JudgeArgs) -> Result<Asked> {
        if args.no_shell || args.shell.as_deref() == Some("none") {
            bail!(
                "no shell starts the commands unless --shell asks for one: leave {} out",
                if args.no_shell { "-N" } else { "--shell=none" }
            );
        }
        let (rounds, invocations) = repetitions(args)?;
        let budget = args.budget.as_deref().map(units::parse_time).transpose()?;
        check_budget(invocations, budget)?;
        let commands = commands(args)?;
        let words = |text: &Option<String>, what: &str| {
            for_all(text.as_deref(), &commands, args.shell.as_deref()).context(what.to_string())
        };
        let of_host = AskedCommands {
            setups: words(&args.setup, "--setup")?,
            cleanups: words(&args.cleanup, "--cleanup")?,
            commands,
            files: args.file.iter().map(std::path::absolute).collect::<Result<_, _>>()?,
            rehearses: !args.no_rehearsal,
            evicts_others: args.evict_others,
        };
        Ok(Asked {
            of_host,
            caches: caches(&args.cache)?,
            rounds,
            invocations,
            budget,
            goals: goals(&args.goal)?,
            is_strict: args.strict,
        })
    }
}

/// The rounds and invocations. A gate has more of these, and each has a round or more.
fn repetitions(args: &JudgeArgs) -> Result<(u32, u32)> {
    let of_gate = || GATE_INVOCATIONS.min(args.rounds.unwrap_or(u32::MAX));
    let invocations = args.invocations.or_else(|| (!args.fail_if.is_empty()).then(of_gate));
    settle(args.rounds, invocations, USUAL)
}

/// Goals of figures that commands have.
fn goals(asked: &[Requirement]) -> Result<Vec<Goal>> {
    let of_commands = |it: &Requirement| {
        matches!(it.indicator, Indicator::Time | Indicator::Cpu | Indicator::Iops)
    };
    if let Some(other) = asked.iter().find(|it| !of_commands(it)) {
        bail!(
            "--goal '{other}': a command has a time, a CPU time and runs a second, as in \
             'time<2s', 'cpu<5s' and 'iops>10'"
        );
    }
    Ok(asked.iter().copied().map(Goal::typed).collect())
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

/// What is asked of one command, before parameters have values.
struct Template<'a> {
    name: &'a str,
    text: &'a str,
    /// Its words, if they are given as such.
    words: Option<&'a [String]>,
    prepare: Option<&'a str>,
    conclude: Option<&'a str>,
}

/// All commands with all values of their parameters.
fn commands(args: &JudgeArgs) -> Result<Vec<JudgedCommand>> {
    let common = JudgedCommand {
        directory: std::env::current_dir().context("the current directory is not known")?,
        output: output(&args.output, args.resume.is_some())?,
        input: args.input.as_ref().map(std::path::absolute).transpose()?,
        any_exit: args.ignore_exit.as_deref() == Some(ALL),
        exits: exits(args.ignore_exit.as_deref())?,
        figure: figure(args)?,
        until_durable: args.until_durable,
        ..JudgedCommand::default()
    };
    let parameters = parameters(&args.parameter)?;
    let texts = match args.arguments.is_empty() {
        true => args.commands.clone(),
        false if args.commands.is_empty() => vec![shell_words::join(&args.arguments)],
        false => bail!("give commands as single arguments, or one of them after --, but not both"),
    };
    let templates = templates(args, &texts)?;
    check_all_used(&parameters, args, &templates)?;
    let mut commands = Vec::new();
    for template in &templates {
        let of_it: BTreeMap<&str, &[String]> = (parameters.iter())
            .filter(|(name, _)| template.uses(name, args))
            .map(|(name, values)| (name.as_str(), values.as_slice()))
            .collect();
        for values in combinations(&of_it) {
            commands.push(template.filled(&values, args.shell.as_deref(), &common)?);
        }
        if commands.len() > COMMANDS_MAX {
            bail!("more than {COMMANDS_MAX} commands, with all values of parameters");
        }
    }
    check_different(&commands)?;
    Ok(commands)
}

/// Each command with what belongs to it.
fn templates<'a>(args: &'a JudgeArgs, texts: &'a [String]) -> Result<Vec<Template<'a>>> {
    if args.name.len() > texts.len() {
        bail!("{} names for {} commands", args.name.len(), texts.len());
    }
    let each = |option: &str, given: &'a [String]| {
        let count = given.len();
        if count > 1 && count != texts.len() {
            bail!("{count} times {option} for {} commands: give one, or one each", texts.len());
        }
        let of = |index: usize| given.get(if count == 1 { 0 } else { index }).map(String::as_str);
        Ok((0..texts.len()).map(of).collect::<Vec<_>>())
    };
    let (prepare, conclude) =
        (each("--prepare", &args.prepare)?, each("--conclude", &args.conclude)?);
    let words = (!args.arguments.is_empty()).then_some(args.arguments.as_slice());
    let template = |(index, text): (usize, &'a String)| Template {
        name: args.name.get(index).unwrap_or(text),
        text,
        words,
        prepare: prepare[index],
        conclude: conclude[index],
    };
    Ok(texts.iter().enumerate().map(template).collect())
}

impl Template<'_> {
    fn uses(&self, name: &str, args: &JudgeArgs) -> bool {
        let place = place_of(name);
        let around = [&args.setup, &args.cleanup].map(Option::as_deref);
        let own = [Some(self.text), self.prepare, self.conclude];
        own.iter().chain(&around).flatten().any(|text| text.contains(&place))
    }

    fn filled(
        &self,
        values: &BTreeMap<String, String>,
        shell: Option<&str>,
        common: &JudgedCommand,
    ) -> Result<JudgedCommand> {
        let split_filled = |text: &str| split(&filled(text, values), shell);
        let arguments = match self.words {
            None => split_filled(self.text)?,
            Some(words) => words.iter().map(|word| filled(word, values)).collect(),
        };
        Ok(JudgedCommand {
            name: named(self.name),
            parameters: values.clone(),
            arguments,
            prepare: self.prepare.map(split_filled).transpose().context("--prepare")?,
            conclude: self.conclude.map(split_filled).transpose().context("--conclude")?,
            ..common.clone()
        })
    }
}

/// The words of `text` with the values of each command, each once.
fn for_all(
    text: Option<&str>,
    commands: &[JudgedCommand],
    shell: Option<&str>,
) -> Result<Vec<Vec<String>>> {
    let mut all = Vec::new();
    let Some(text) = text else { return Ok(all) };
    for command in commands {
        let words = split(&filled(text, &command.parameters), shell)?;
        if !all.contains(&words) {
            all.push(words);
        }
    }
    Ok(all)
}

/// The number to look for in the output.
fn figure(args: &JudgeArgs) -> Result<Option<FigurePattern>> {
    let Some(pattern) = args.figure.clone() else { return Ok(None) };
    if !matches!(args.output.as_str(), "null" | "pipe") {
        bail!("--figure reads the output, so it goes with --output null or pipe");
    }
    let figure = FigurePattern { pattern, unit: args.figure_unit.clone() };
    FigureFinder::of(&figure).map_err(|reason| anyhow!("--figure: {reason}"))?;
    Ok(Some(figure))
}

/// The value of `--ignore-exit` that means any status.
const ALL: &str = "all";

/// The exit statuses besides 0 of runs that count.
fn exits(text: Option<&str>) -> Result<Vec<u32>> {
    let Some(text) = text.filter(|text| *text != ALL) else { return Ok(Vec::new()) };
    let status = |text: &str| {
        text.parse::<u8>().map(u32::from).with_context(|| {
            format!("--ignore-exit '{}': use exit statuses such as 1,2, or all", printable(text))
        })
    };
    text.split(',').map(status).collect()
}

/// A name on one line.
fn named(text: &str) -> String {
    printable(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn check_different(commands: &[JudgedCommand]) -> Result<()> {
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
    templates: &[Template],
) -> Result<()> {
    let is_used = |name: &str| templates.iter().any(|template| template.uses(name, args));
    match parameters.iter().find(|(name, _)| !is_used(name)) {
        Some((name, _)) => {
            bail!("no command has {}, so parameter '{name}' does nothing", place_of(name))
        }
        None => Ok(()),
    }
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

/// Where stdout goes. A file is new, unless an interrupted run created it.
fn output(text: &str, goes_on: bool) -> Result<CommandOutput> {
    match text {
        "null" => Ok(CommandOutput::Null),
        "pipe" => Ok(CommandOutput::Pipe),
        "inherit" => Ok(CommandOutput::Inherit),
        path => {
            let path = std::path::absolute(path)?;
            if goes_on {
                return Ok(CommandOutput::File(path));
            }
            // Nothing of the user's is overwritten.
            std::fs::File::create_new(&path).with_context(|| {
                format!("failed to create the output '{}'; name a new file", path.display())
            })?;
            Ok(CommandOutput::File(path))
        }
    }
}
