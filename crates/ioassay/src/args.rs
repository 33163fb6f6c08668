//! What can be typed.

pub mod axes;
pub mod tools;

use crate::recipe;
use crate::recipe::repetitions::{INVOCATIONS_MAX, ROUNDS_MAX};
use axes::AxisArgs;
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use std::ffi::OsStr;
use std::path::PathBuf;
use tools::{CacheCommand, DataCommand, PeersCommand};

/// Measures memory, page cache and storage, and says for every figure what served the bytes, how
/// sure it is and what bounds it.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// When to use colour.
    #[arg(long, global = true, value_enum, default_value = "auto", value_name = "WHEN")]
    pub color: Color,
}

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure the ladder from memory to durable storage: one screen, two to three minutes
    Survey(SurveyArgs),
    /// Answer a question: a built-in recipe, or one in a TOML file
    Run(RunArgs),
    /// Show what a run would measure and what it would not, as run --dry-run does
    Plan(RunArgs),
    /// Run a recipe again and again, and show how its figures go from run to run
    Watch(WatchArgs),
    /// List the built-in recipes, or show one
    Recipes {
        /// What to do with them.
        #[command(subcommand)]
        command: Option<RecipesCommand>,
    },
    /// List the records that were kept: when, where, of what, and what was found
    Runs(RunsArgs),
    /// Judge a record again
    Report {
        /// The record
        record: PathBuf,
        /// How it is said.
        #[command(flatten)]
        form: FormArgs,
    },
    /// Compare two records: the cases that both have, B over A
    Compare(CompareArgs),
    /// Tell what a finding means, why it is made and what to do; without one, list them all
    Explain {
        /// The finding: CacheLeak, or in small letters
        code: Option<String>,
    },
    /// Build, list and verify the programs in other languages that can measure too
    Peers {
        /// What to do with them.
        #[command(subcommand)]
        command: PeersCommand,
    },
    /// Look at the page cache and change what it holds of a file
    Cache {
        /// What to do with it.
        #[command(subcommand)]
        command: CacheCommand,
    },
    /// Write a test file, or check one
    Data {
        /// What to do with it.
        #[command(subcommand)]
        command: DataCommand,
    },
    /// Show this machine and the storage of a directory as runs see them
    Host {
        /// A directory on the storage to look at
        #[arg(default_value = ".")]
        directory: PathBuf,
    },
    /// Print the JSON schema of what --json prints
    Schema {
        /// Of which command's
        #[arg(value_enum, default_value = "run")]
        of: SchemaOf,
    },
    /// Print what makes a shell complete this program's commands, options and recipes
    Completions {
        /// For which shell
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Print a manual page: of the program, or of one of its commands
    Man {
        /// The command: run, or peers build
        #[arg(conflicts_with = "all")]
        command: Vec<String>,
        /// Write the pages of the program and of all commands into this folder, as ioassay.1,
        /// ioassay-run.1 and so on
        #[arg(long, value_name = "DIR")]
        all: Option<PathBuf>,
    },
    /// Serve jobs on stdin and stdout: how this program measures
    #[command(hide = true)]
    Worker {
        /// Bind each thread to one of the CPUs that this process may use
        #[arg(long)]
        pin: bool,
    },
}

/// Whose JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SchemaOf {
    /// That of `survey`, `run` and `report`.
    Run,
    /// That of `compare`.
    Compare,
}

/// What to do with recipes.
#[derive(Debug, Subcommand)]
pub enum RecipesCommand {
    /// Print a recipe as TOML, to change it and run it
    Show {
        /// Its name
        #[arg(value_parser = RecipeParser)]
        name: String,
    },
}

/// Reads any text as the name of a recipe, or the path to one: which there are is for completions
/// and errors to tell.
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

/// Arguments of `runs`.
#[derive(Debug, Args)]
pub struct RunsArgs {
    /// Folders to look in besides the state folder, which has the records that were given no name
    #[arg(value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub folders: Vec<PathBuf>,
    /// Only runs of this recipe
    #[arg(long, value_name = "NAME")]
    pub recipe: Option<String>,
    /// Only runs on this machine
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,
    /// Print the list as JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `watch`.
#[derive(Debug, Args)]
pub struct WatchArgs {
    /// From the beginning of one run to that of the next: 30s, 10m, 1h. A run that takes longer is
    /// followed by the next at once
    #[arg(long = "every", value_name = "TIME", conflicts_with_all = ["record", "keep"])]
    pub interval: String,
    /// How many runs; without it, until it is stopped
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub count: Option<u32>,
    /// What is run.
    #[command(flatten)]
    pub run: RunArgs,
}

/// Arguments of `compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// The record that the other is held against
    #[arg(value_name = "A")]
    pub a: PathBuf,
    /// The other
    #[arg(value_name = "B")]
    pub b: PathBuf,
    /// Compare even what is not the same: pair cases that differ in size, cache, block, depth,
    /// threads or durability only, and say in what
    #[arg(long)]
    pub anyway: bool,
    /// Print the comparison as JSON instead of a table
    #[arg(long, group = "form")]
    pub json: bool,
    /// Print it as Markdown, to paste into an issue or a README
    #[arg(long, group = "form")]
    pub markdown: bool,
    /// Write it also as a page for a browser to this file, which may be there if it is such a page
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// Arguments of `survey`.
#[derive(Debug, Args)]
pub struct SurveyArgs {
    /// The directory to measure; a test file is written there and removed
    #[arg(default_value = ".", value_hint = ValueHint::DirPath)]
    pub directory: PathBuf,
    /// One invocation, fewer rounds, shorter trials, a smaller file: half of the time. Its
    /// intervals hold within this run only
    #[arg(long)]
    pub quick: bool,
    /// What all runs share.
    #[command(flatten)]
    pub output: OutputArgs,
    /// Decides the data and all random orders; made from the clock if not given
    #[arg(long)]
    pub seed: Option<u64>,
}

/// Arguments of `run` and `plan`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// A built-in recipe, or a path to a TOML file
    #[arg(value_parser = RecipeParser)]
    pub recipe: String,
    /// The directory to measure, the current one if not given; a test file is written there and
    /// removed
    #[arg(conflicts_with = "file", value_hint = ValueHint::DirPath)]
    pub directory: Option<PathBuf>,
    /// Read this file instead of a test file; it is never opened for writing
    #[arg(long, conflicts_with_all = ["size", "keep"])]
    pub file: Option<PathBuf>,
    /// Write to this block device instead of a test file. All that is on it is lost: its name must
    /// be repeated with --destroy
    #[arg(long, conflicts_with_all = ["file", "directory", "keep"], requires = "destroy")]
    pub device: Option<PathBuf>,
    /// The name of the device whose content may be destroyed: loop0
    #[arg(long, value_name = "NAME", requires = "device")]
    pub destroy: Option<String>,
    /// Where the file that is copied is made, if not in the same directory
    #[arg(long, value_name = "DIR", conflicts_with_all = ["file", "device"])]
    pub source: Option<PathBuf>,
    /// Write on without a pause until the rate is steady, at most so long for each case: 5min
    #[arg(long, value_name = "TIME", conflicts_with_all = ["rounds", "invocations", "control"])]
    pub sustain: Option<String>,
    /// Give the workers no more memory than this, page cache included, by a control group: a file
    /// that is larger does not fit into the page cache then. Needs root
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<String>,
    /// What all runs share.
    #[command(flatten)]
    pub output: OutputArgs,
    /// A TOML file of more peers, in the form of peers/peers.toml
    #[arg(long, value_name = "FILE")]
    pub peers: Option<PathBuf>,
    /// Passes over all cases, dealt to the invocations; below 7 in one invocation there is no
    /// reliable interval
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=i64::from(ROUNDS_MAX)))]
    pub rounds: Option<u32>,
    /// Begin so often anew, with new workers and new test files, after a pause. Intervals then hold
    /// from one invocation to the next; with 1 they hold within this run only
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=i64::from(INVOCATIONS_MAX)))]
    pub invocations: Option<u32>,
    /// Do not measure what bounds the figures: memory, the device, the tool itself. It takes less
    /// time, and no figure is given as a share of a ceiling
    #[arg(long)]
    pub no_ceilings: bool,
    /// Decides the data and all random orders; made from the clock if not given
    #[arg(long)]
    pub seed: Option<u64>,
    /// Axes that replace those of the recipe. They come last, for what follows has their heading.
    #[command(flatten)]
    pub axes: AxisArgs,
}

/// What all runs share: their control, and where results go.
#[derive(Debug, Args)]
pub struct OutputArgs {
    /// Measure the first case of each kind twice in each round: what differs between the two is
    /// how much this machine cannot decide today
    #[arg(long)]
    pub control: bool,
    /// Bind each thread to a CPU of this list, in turn: 0,2,4-7, or all. Other programs than this
    /// one's own worker are bound to the whole list
    #[arg(long, value_name = "CPUS")]
    pub pin: Option<String>,
    /// Take processors and memory from this NUMA node only
    #[arg(long, value_name = "NODE")]
    pub node: Option<u32>,
    /// How the result is said.
    #[command(flatten)]
    pub form: FormArgs,
    /// Where to keep the record; a dated file in the XDG state folder if not given
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Keep the test file
    #[arg(long)]
    pub keep: bool,
    /// Show what would be measured, how long that takes at most and what it needs; measure and
    /// write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Print the result only: no view of the run while it goes on, not where the record is
    #[arg(long, short)]
    pub quiet: bool,
}

/// How a judgement is said: as a table, if nothing else is asked for.
#[derive(Debug, Clone, Args)]
pub struct FormArgs {
    /// Print the assessment as JSON instead of a table
    #[arg(long, group = "form")]
    pub json: bool,
    /// Print it as Markdown, to paste into an issue or a README
    #[arg(long, group = "form")]
    pub markdown: bool,
    /// Print each trial as a row of CSV, with units in the header
    #[arg(long, group = "form")]
    pub csv: bool,
    /// Print one picture as SVG instead: ladder, compared, rounds and others, as the run has them
    #[arg(long, value_name = "NAME", group = "form")]
    pub svg: Option<String>,
    /// Write it also as a page for a browser to this file. An earlier one of this program is
    /// replaced
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write metrics to this file too, for the textfile collector of Prometheus's node exporter:
    /// ioassay.prom. An earlier one of this program is replaced
    #[arg(long, value_name = "FILE")]
    pub openmetrics: Option<PathBuf>,
}
