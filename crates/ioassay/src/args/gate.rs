//! Arguments of `gate`.

use super::RecipeParser;
use super::axes::AxisArgs;
use super::form::DocumentArgs;
use crate::recipe::repetitions::ROUNDS_MAX;
use assess::gate::Rule;
use clap::{Args, ValueHint};
use model::plan::INVOCATIONS_MAX;
use std::path::PathBuf;

/// Arguments of `gate`.
#[derive(Debug, Args)]
pub struct GateArgs {
    /// A built-in recipe, or the path of a TOML file
    #[arg(value_parser = RecipeParser)]
    pub recipe: String,
    /// The directory to measure, by default the current one
    #[arg(value_hint = ValueHint::DirPath)]
    pub directory: Option<PathBuf>,
    /// What to hold it against: another directory, another program of the same peer, or a record
    ///
    /// Of a directory or a program, both sides are measured in this run, and their rounds
    /// alternate: what disturbs this machine disturbs both. A record was measured at another time,
    /// so whatever changed on the machine since then counts as well.
    #[arg(long, value_name = "REF")]
    pub against: PathBuf,
    /// Exit with status 1 if it is proved to be worse than this: 'slower > 5%', 'p99 > 10%'
    ///
    /// WHAT > N%, where WHAT is slower (or throughput), cpu, or p50, p99 or p99.9 of operations or
    /// (sync p99) of syncs. Several limits are separated by commas. A loss that is not proved does
    /// not fail.
    #[arg(long, value_name = "LIMIT", value_delimiter = ',', default_value = "slower > 5%")]
    pub fail_if: Vec<Rule>,
    /// Stop measuring larger threads, depths or blocks that add nothing on either side
    ///
    /// That is so once two steps gave less than 2 % more throughput each.
    #[arg(long)]
    pub prune: bool,
    /// Exit with status 3 if the rounds cannot tell
    #[arg(long)]
    pub strict: bool,
    /// Print the checks as JSON instead of a table
    #[arg(long, group = "form")]
    pub json: bool,
    /// The forms for people.
    #[command(flatten)]
    pub document: DocumentArgs,
    /// A folder for the records of both sides; by default the XDG state folder
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub record: Option<PathBuf>,
    /// Go on with the interrupted gate whose records are in this folder
    ///
    /// Repeat its command, with --resume in place of --record. The gate adds to its records,
    /// measures only what they lack, and judges both sides once they have ended. If the folder has
    /// more gates, name a record of the one to go on with. Of a gate against a record, name that of
    /// its run.
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::AnyPath, conflicts_with = "record")]
    pub resume: Option<PathBuf>,
    /// Measure for this time: 30m, 8h
    ///
    /// After the planned rounds, or as many of them as fit, the cases whose ratios have the widest
    /// intervals are measured in further invocations of both sides, until the time is up.
    #[arg(long = "for", value_name = "TIME")]
    pub budget: Option<String>,
    /// A TOML file with more peers, in the format of peers/peers.toml
    #[arg(long, value_name = "FILE")]
    pub peers: Option<PathBuf>,
    /// Passes over all cases of each side, divided among the invocations
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=i64::from(ROUNDS_MAX)))]
    pub rounds: Option<u32>,
    /// Number of fresh starts of each side, each with new workers and test files; 10 by default
    ///
    /// Never more than --rounds, because each needs a round.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=i64::from(INVOCATIONS_MAX)))]
    pub invocations: Option<u32>,
    /// Seed for the data and all random orders; by default, the clock's
    #[arg(long)]
    pub seed: Option<u64>,
    /// Pin each thread to one CPU of this list, in turn: such as 0,2,4-7, or all
    #[arg(long, value_name = "CPUS")]
    pub pin: Option<String>,
    /// Use CPUs and memory of this NUMA node only
    #[arg(long, value_name = "NODE")]
    pub node: Option<u32>,
    /// Print only the result: no progress, and no paths of records
    #[arg(long, short)]
    pub quiet: bool,
    /// Axes that replace those of the recipe. They come last, because their heading applies to
    /// everything after it.
    #[command(flatten)]
    pub axes: AxisArgs,
}
