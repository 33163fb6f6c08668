//! The command line's definition.

pub mod axes;
pub mod form;
pub mod gate;
pub mod kept;
pub mod hosts;
pub mod tools;
pub mod advised;
pub mod judge;
pub mod output;

use crate::recipe;
use crate::recipe::repetitions::ROUNDS_MAX;
use crate::version::FULL;
use axes::AxisArgs;
use clap::builder::styling::{Ansi256Color, Styles};
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use form::FormArgs;
use gate::GateArgs;
use hosts::{HostArgs, HostsCommand};
use judge::JudgeArgs;
use kept::{CompareArgs, MergeArgs, OpenArgs, RunsArgs};
use model::goal::Requirement;
use model::plan::INVOCATIONS_MAX;
pub use output::OutputArgs;
use std::ffi::{OsStr, OsString};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use tools::{CacheCommand, DataCommand, ImportCommand, PathArgs, PeersCommand, SchemaOf};

/// Measures memory, page cache and storage, and reports for every figure what served the bytes, how
/// certain it is and what bounds it.
#[derive(Debug, Parser)]
#[command(version, long_version = FULL.as_str(), propagate_version = true)]
#[command(max_term_width = 100, styles = styles())]
pub struct Cli {
    /// The command; without one, ioassay says what to try first.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// With --version: what this build is and what it can do here, as JSON
    #[arg(long, requires = "version")]
    pub json: bool,
    /// When to use color.
    #[arg(long, global = true, value_enum, default_value = "auto", value_name = "WHEN")]
    pub color: Color,
}

/// The colors of clap's messages: its yellow is lost on a white terminal.
fn styles() -> Styles {
    Styles::styled().invalid(Ansi256Color(130).on_default())
}

/// When to use color.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The command to run.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure the ladder from memory to durable storage: one screen, two to four minutes
    Survey(SurveyArgs),
    /// Answer a question: a built-in recipe, or one in a TOML file
    Run(RunArgs),
    /// Run commands, and say of each how long it takes, how sure that is, and what served its bytes
    Judge(JudgeArgs),
    /// Show what a run would measure and what it would skip, like run --dry-run
    Plan(RunArgs),
    /// Run a recipe again and again, and show the trend of its figures
    Watch(WatchArgs),
    /// List the built-in recipes, or show one
    Recipes {
        /// The subcommand.
        #[command(subcommand)]
        command: Option<RecipesCommand>,
    },
    /// Turn a job file of another program into a recipe
    Import {
        /// The subcommand.
        #[command(subcommand)]
        command: ImportCommand,
    },
    /// List kept records: when and where each was made, its recipe and its findings
    Runs(RunsArgs),
    /// Print the report of a record, or that of several hosts with a record each
    Report(ReportArgs),
    /// Show a record as a page in the browser
    Open(OpenArgs),
    /// Put records together in one file, to carry them elsewhere
    Merge(MergeArgs),
    /// Compare two records: the cases that both have, B relative to A
    Compare(CompareArgs),
    /// Measure a recipe on two sides in alternating rounds; exit with status 1 if B is slower than
    /// A by more than a limit
    Gate(GateArgs),
    /// Explain a finding, its cause and the fix; without one, list all findings
    Explain {
        /// The name of the finding, in upper or lower case: CacheLeak, cacheleak
        code: Option<String>,
    },
    /// List, build and verify other programs that can measure
    Peers {
        /// The subcommand.
        #[command(subcommand)]
        command: PeersCommand,
    },
    /// Show, evict or warm files in the page cache
    Cache {
        /// The subcommand.
        #[command(subcommand)]
        command: CacheCommand,
    },
    /// Write a test file, or verify one
    Data {
        /// The subcommand.
        #[command(subcommand)]
        command: DataCommand,
    },
    /// Check other hosts before measuring on them
    Hosts {
        /// The subcommand.
        #[command(subcommand)]
        command: HostsCommand,
    },
    /// Show the path from a file down to its medium: what each hop allows at most, and what is odd.
    /// Measures nothing
    Path(PathArgs),
    /// Print this machine and a directory's storage as JSON, as runs see them
    Host {
        /// A directory on the storage to inspect
        #[arg(default_value = ".")]
        directory: PathBuf,
    },
    /// Print the JSON schema of --json output
    Schema {
        /// The command whose output to describe
        #[arg(value_enum, default_value = "run")]
        of: SchemaOf,
    },
    /// Print a completion script for a shell
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Print a manual page of the program or of a command
    Man {
        /// The command, such as run, or peers build
        #[arg(conflicts_with = "all")]
        command: Vec<String>,
        /// Write the pages of the program and all commands into this folder, as ioassay.1,
        /// ioassay-run.1 and so on
        #[arg(long, value_name = "DIR")]
        all: Option<PathBuf>,
    },
    /// Carry out orders on stdin; ioassay starts this on other hosts
    #[command(hide = true)]
    Agent {
        /// Connect to the coordinator at one of these addresses, and take its orders from there
        #[arg(long, value_name = "ADDRESSES", value_delimiter = ',')]
        connect: Vec<SocketAddr>,
        /// The file with the token, if it is not in the variable IOASSAY_TOKEN
        #[arg(long, value_name = "FILE", requires = "connect")]
        token_file: Option<PathBuf>,
    },
    /// Run a command once under a tracer; ioassay starts this before it judges one
    #[command(hide = true)]
    Rehearse,
    /// Run a program and end what it left; ioassay starts this for --setup and the like
    #[command(hide = true)]
    Keep {
        /// The program and its arguments
        #[arg(last = true, required = true)]
        words: Vec<OsString>,
    },
    /// Serve jobs on stdin and stdout; ioassay starts this to measure
    #[command(hide = true)]
    Worker {
        /// Pin each thread to one of the CPUs that this process may use
        #[arg(long)]
        pin: bool,
    },
}

/// Subcommands of `recipes`.
#[derive(Debug, Subcommand)]
pub enum RecipesCommand {
    /// Print a recipe as TOML, for you to change and run
    Show {
        /// Its name
        #[arg(value_parser = RecipeParser)]
        name: String,
    },
}

/// Accepts any text as the name or path of a recipe; the known names are only for completions and
/// errors.
#[derive(Debug, Clone)]
pub struct RecipeParser;

impl TypedValueParser for RecipeParser {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(recipe::BUILT_IN.iter().map(|(name, _)| PossibleValue::new(*name))))
    }
}

/// Arguments of `watch`.
#[derive(Debug, Args)]
pub struct WatchArgs {
    /// Time from the start of one run to the start of the next: 30s, 10m, 1h. If a run takes
    /// longer, the next follows immediately
    #[arg(long = "every", value_name = "TIME", conflicts_with_all = ["keep", "resume"])]
    pub interval: String,
    /// Number of runs; without it, runs continue until you stop them
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub count: Option<u32>,
    /// The run to repeat.
    #[command(flatten)]
    pub run: RunArgs,
}

/// Arguments of `survey`.
#[derive(Debug, Args)]
pub struct SurveyArgs {
    /// The directory to measure; a test file is written there and then removed
    #[arg(default_value = ".", value_hint = ValueHint::DirPath)]
    pub directory: PathBuf,
    /// Use one invocation, fewer rounds, shorter trials and a smaller file: takes a quarter of the
    /// time. Intervals are then valid within this run only
    #[arg(long)]
    pub quick: bool,
    /// Options shared by all runs.
    #[command(flatten)]
    pub output: OutputArgs,
    /// Seed for the data and all random orders; by default, the clock's
    #[arg(long)]
    pub seed: Option<u64>,
    /// Other hosts on which to measure, each by itself.
    #[command(flatten)]
    pub hosts: HostArgs,
    /// With --hosts: on all hosts at the same time, instead of one after another
    #[arg(long, requires = "hosts", hide_short_help = true)]
    pub at_once: bool,
}

/// Arguments of `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The record. Of several, the report has a row for each host, and names the odd one out;
    /// those of a run in lockstep give the report of that run. A file may have several records;
    /// FILE#2 is its second. - is stdin
    #[arg(required = true, value_name = "RECORD")]
    pub records: Vec<PathBuf>,
    /// What figures of the record must be, besides its own goals: 'sync p99<10ms', 'iops>20k'
    ///
    /// The goals are those of 'ioassay run --goal', separated by commas. The answer is fit, not fit
    /// (exit status 1) or cannot tell, by the interval.
    #[arg(long, value_name = "GOAL", value_delimiter = ',')]
    pub goal: Vec<Requirement>,
    /// Exit with status 3 if it cannot tell whether the goals are met
    #[arg(long, hide_short_help = true)]
    pub strict: bool,
    /// The form of the report.
    #[command(flatten)]
    pub form: FormArgs,
}

/// Arguments of `run` and `plan`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// A built-in recipe ('ioassay recipes list'), or the path of a TOML file or of fio's job file
    #[arg(value_parser = RecipeParser, hide_possible_values = true)]
    pub recipe: String,
    /// The directory to measure, by default the current one; a test file is written there and then
    /// removed. A block device is only read. Several: each alone, and all at once
    #[arg(id = "directory", conflicts_with = "file", value_hint = ValueHint::DirPath)]
    pub directories: Vec<PathBuf>,
    /// Read this file or block device instead of a test file; it is never opened for writing
    #[arg(long, conflicts_with_all = ["size", "keep"])]
    pub file: Option<PathBuf>,
    /// Read so many bytes of a file or block device, from --offset on
    #[arg(long, value_name = "SIZE")]
    pub length: Option<String>,
    /// Write to this block device instead of a test file. Destroys all data on it: repeat its name
    /// with --destroy
    #[arg(long, conflicts_with_all = ["file", "directory", "keep"], requires = "destroy")]
    pub device: Option<PathBuf>,
    /// The name of the device whose data may be destroyed, such as loop0
    #[arg(long, value_name = "NAME", requires = "device")]
    pub destroy: Option<String>,
    /// Where to create the source of copies, if elsewhere
    #[arg(long, value_name = "DIR", conflicts_with_all = ["file", "device"])]
    pub source: Option<PathBuf>,
    /// Keep writing until the rate is steady; stop after TIME per case, such as 5min
    #[arg(long, value_name = "TIME")]
    #[arg(conflicts_with_all = ["rounds", "invocations", "control", "budget", "prune"])]
    pub sustain: Option<String>,
    /// Find the rates that just meet goals for response times, and just not: p99<1ms
    ///
    /// Several goals are separated by commas. Rates in percent are tried first, so use it with the
    /// recipe load, or with --rate 10%,50%.
    #[arg(long, value_name = "GOAL", value_delimiter = ',', conflicts_with = "sustain")]
    pub hold: Vec<Requirement>,
    /// Exit with status 1 unless this rate meets the goals of --hold
    #[arg(long, value_name = "RATE", requires = "hold")]
    pub at_least: Option<String>,
    /// What figures must be: 'sync p99<10ms', 'iops>20k'
    ///
    /// INDICATOR<TIME or INDICATOR>RATE, where INDICATOR is throughput, iops, cpu (time per
    /// operation), or a percentile of the latency of operations (p99) or of syncs (sync p99).
    /// Several goals are separated by commas. The answer is fit, not fit (exit status 1) or cannot
    /// tell, by the interval.
    #[arg(long, value_name = "GOAL", value_delimiter = ',', conflicts_with = "sustain")]
    pub goal: Vec<Requirement>,
    /// Exit with status 3 if it cannot tell whether the goals are met
    #[arg(long, hide_short_help = true)]
    pub strict: bool,
    /// Stop measuring larger threads, depths or blocks that add nothing
    ///
    /// That is so once two steps gave less than 2 % more throughput each.
    #[arg(long)]
    pub prune: bool,
    /// Limit the workers' memory, including page cache, with a control group, so that a larger file
    /// does not fit into the page cache. Needs root
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<String>,
    /// Options shared by all runs.
    #[command(flatten)]
    pub output: OutputArgs,
    /// A TOML file with more peers, in the format of peers/peers.toml
    #[arg(long, value_name = "FILE")]
    pub peers: Option<PathBuf>,
    /// Passes over all cases, divided among the invocations; fewer than 7 in one invocation give no
    /// reliable interval
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=i64::from(ROUNDS_MAX)))]
    pub rounds: Option<u32>,
    /// Number of fresh starts, each with new workers and test files, after a pause. With 1,
    /// intervals are valid within this run only
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=i64::from(INVOCATIONS_MAX)))]
    pub invocations: Option<u32>,
    /// Do not measure ceilings: memory, the device, the tool itself. Saves time, but figures are
    /// not compared with a ceiling
    #[arg(long)]
    pub no_ceilings: bool,
    /// Seed for the data and all random orders; by default, the clock's
    #[arg(long)]
    pub seed: Option<u64>,
    /// Other hosts on which to measure.
    #[command(flatten)]
    pub hosts: HostArgs,
    /// With --hosts: measure on each host by itself, one after another, instead of in lockstep
    #[arg(long, requires = "hosts", hide_short_help = true)]
    pub each: bool,
    /// With --each: on all hosts at the same time
    #[arg(long, requires = "each", hide_short_help = true)]
    pub at_once: bool,
    /// Axes that replace those of the recipe. They come last, because their heading applies to
    /// everything after it.
    #[command(flatten)]
    pub axes: AxisArgs,
}

impl RunArgs {
    /// The one directory to measure, if any is named.
    ///
    /// # Errors
    /// If there are several.
    pub fn directory(&self) -> anyhow::Result<Option<&Path>> {
        match &self.directories[..] {
            [] => Ok(None),
            [one] => Ok(Some(one)),
            [_, more, ..] => anyhow::bail!(
                "'{}' is one directory too many: several are measured by 'run' on this machine, \
                 without --each and --hosts",
                more.display()
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::advised::fitted;
    use super::*;
    use clap::CommandFactory;
    use model::advice;
    use std::collections::BTreeSet;

    /// Every command with the words that call it and its long flags.
    fn commands() -> Vec<(String, BTreeSet<String>)> {
        fn add(command: &clap::Command, words: &str, into: &mut Vec<(String, BTreeSet<String>)>) {
            let flags = command.get_arguments().filter_map(|argument| argument.get_long());
            into.push((words.to_string(), flags.map(str::to_string).collect()));
            for inner in command.get_subcommands() {
                add(inner, format!("{words} {}", inner.get_name()).trim_start(), into);
            }
        }
        let mut all = Vec::new();
        add(&Cli::command(), "", &mut all);
        all
    }

    /// The long flags of a command.
    fn flags(command: &str) -> BTreeSet<String> {
        let found = commands().into_iter().find(|(words, _)| words == command);
        found.expect("it is a command").1
    }

    /// The commands that measure: they have a seed, and place their threads.
    fn measuring() -> Vec<(String, BTreeSet<String>)> {
        let measures = |flags: &BTreeSet<String>| flags.contains("seed") && flags.contains("pin");
        commands().into_iter().filter(|(_, flags)| measures(flags)).collect()
    }

    #[test]
    fn what_advice_takes_for_missing_is_missing() {
        let all = flags("run");
        let measuring = measuring();
        assert!(measuring.len() > 3, "{measuring:#?}");
        for (command, own) in &measuring {
            let missing: Vec<&String> = all.difference(own).collect();
            let lacking: Vec<&String> =
                all.iter().filter(|flag| advice::lacks(command, flag)).collect();
            assert_eq!(missing, lacking, "{command}");
        }
    }

    /// Errors come from anywhere: what one names exists in the command that was typed, or it says
    /// which command has it.
    #[test]
    fn an_error_names_only_flags_of_the_typed_command_or_says_where_they_are() {
        let commands = commands();
        let all: BTreeSet<&String> = commands.iter().flat_map(|(_, flags)| flags).collect();
        let globals = ["color", "json"];
        for (typed, own) in commands.iter().skip(1) {
            let words: Vec<String> =
                ["ioassay"].into_iter().chain(typed.split(' ')).map(str::to_string).collect();
            for flag in all.iter().filter(|flag| !globals.contains(&flag.as_str())) {
                let error = format!("it needs another --{flag}");
                let said = fitted(&error, &words);
                let elsewhere = said
                    .strip_prefix(&format!("{error} ('ioassay "))
                    .and_then(|rest| rest.strip_suffix(&format!("' has --{flag})")));
                match elsewhere {
                    None => assert!(said == error && own.contains(*flag), "{typed}: {said}"),
                    Some(other) => {
                        let other = other.trim_end_matches(" survey");
                        assert!(
                            !own.contains(*flag) && flags(other).contains(*flag),
                            "{typed}: {said}"
                        );
                    }
                }
            }
        }
        let words = ["ioassay", "--color", "never", "peers", "verify"].map(str::to_string);
        let expected = "with --color or --x, not --anyway ('ioassay compare' has --anyway)";
        assert_eq!(fitted("with --color or --x, not --anyway", &words), expected);
    }

    /// The lines of the source files below `folder` that can print, without tests and comments.
    fn lines(folder: &std::path::Path, into: &mut Vec<(String, String)>) {
        let mut entries: Vec<_> = std::fs::read_dir(folder).unwrap().flatten().collect();
        entries.sort_by_key(|entry| entry.path());
        for entry in entries {
            let path = entry.path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && name != "tests" {
                lines(&path, into);
            } else if name.ends_with(".rs") && name != "tests.rs" {
                let text = std::fs::read_to_string(&path).unwrap();
                let code = text.split("#[cfg(test)]").next().unwrap_or_default();
                let said = code.lines().filter(|line| !line.trim_start().starts_with("//"));
                into.extend(said.map(|line| (path.display().to_string(), line.to_string())));
            }
        }
    }

    /// Flags of other programs, and those of every command.
    const OF_OTHERS: [&str; 6] =
        ["cap-add", "color", "direct-io", "help", "no-show-raw-insn", "suppress-sync"];

    /// The sentences of reports are about a record, which any command that measures may have made,
    /// and are printed by others as well: the flags are those of all of them, or the sentence is
    /// fitted to the command of the record, or says which command it means. A flag that a single
    /// command has is read by those who typed that.
    #[test]
    fn reports_name_only_flags_of_every_command_that_measures_or_say_where_they_are() {
        let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let mut all = Vec::new();
        lines(&crates.join("report/src"), &mut all);
        let measuring = measuring();
        let of_all = |flag: &str| measuring.iter().all(|(_, flags)| flags.contains(flag));
        let commands = commands();
        let of_one =
            |flag: &str| commands.iter().filter(|(_, flags)| flags.contains(flag)).count() == 1;
        let mut unfit = Vec::new();
        for file in all.chunk_by(|(one, _), (next, _)| one == next) {
            let text: Vec<&str> = file.iter().map(|(_, line)| line.trim()).collect();
            for statement in text.join(" ").split("; ") {
                let says = |flag: &str| {
                    let said = format!("--{flag}");
                    // What is only a flag is no sentence.
                    statement.contains(&said) && !statement.contains(&format!("\"{said}\""))
                };
                let is_told = |flag: &str| {
                    statement.contains(&format!("run --{flag}"))
                        || commands.iter().any(|(words, flags)| {
                            let says = |text: String| statement.contains(&text);
                            flags.contains(flag)
                                && (says(format!("'ioassay {words}'"))
                                    || says(format!("ioassay {words} --{flag}")))
                        })
                };
                let is_fit = |flag: &str| of_all(flag) || of_one(flag) || is_told(flag);
                let is_fitted = statement.contains("fitted(");
                let unfit_flags = advice::flags(statement)
                    .filter(|flag| says(flag) && !is_fitted && !is_fit(flag));
                unfit.extend(unfit_flags.map(|flag| format!("{}: --{flag}", file[0].0)));
            }
        }
        assert!(unfit.is_empty(), "flags that some command lacks: {unfit:#?}");
    }

    /// Every remedy and error can be printed by some command, and each flag that one names is a
    /// flag of `run`, whose commands [`advice::fitted`] knows, or of the command in whose source it
    /// is.
    #[test]
    fn every_flag_that_a_sentence_names_exists() {
        let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let mut all = Vec::new();
        for name in ["model", "assess", "report", "worker", "witness", "ioassay"] {
            lines(&crates.join(name).join("src"), &mut all);
        }
        let of_run = flags("run");
        let everywhere: BTreeSet<String> =
            commands().into_iter().flat_map(|(_, flags)| flags).collect();
        let unknown: Vec<String> = all
            .iter()
            .flat_map(|(path, line)| advice::flags(line).map(move |flag| (path, flag)))
            .filter(|(path, flag)| {
                // Only `judge` lets a worker start commands.
                let judged = ["worker/src/command.rs", "assess/src/rules/runs_of_commands.rs"];
                let places = ["ioassay/src/", "report/src/"].into_iter().chain(judged);
                let is_of_command = places.into_iter().any(|place| path.contains(place));
                let is_known = of_run.contains(*flag)
                    || is_of_command && everywhere.contains(*flag)
                    || OF_OTHERS.contains(flag);
                !is_known
            })
            .map(|(path, flag)| format!("{path}: --{flag}"))
            .collect();
        assert!(unknown.is_empty(), "flags of no command: {unknown:#?}");
    }
}
