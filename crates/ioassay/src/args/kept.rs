//! Options about kept records.

use super::form::DocumentArgs;
use assess::gate::Rule;
use clap::{Args, ValueHint};
use std::path::PathBuf;

/// Arguments of `open`.
#[derive(Debug, Args)]
pub struct OpenArgs {
    /// The record; by default, the newest of those that are kept
    ///
    /// Its page goes into a folder beside the kept records, where only you can read it. Its path is
    /// printed. Over ssh, or without a desktop, that is all.
    pub record: Option<PathBuf>,
}

/// Arguments of `runs`.
#[derive(Debug, Args)]
pub struct RunsArgs {
    /// More folders to search; the state folder, with records that you did not name, is always
    /// included
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

/// Arguments of `merge`.
#[derive(Debug, Args)]
pub struct MergeArgs {
    /// The records
    #[arg(required = true, value_name = "RECORD")]
    pub records: Vec<PathBuf>,
    /// The new file; by default stdout
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
}

/// Arguments of `compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// The record to compare with
    #[arg(value_name = "A")]
    pub a: PathBuf,
    /// The other record
    #[arg(value_name = "B")]
    pub b: PathBuf,
    /// More records: of three or more, the table is that of 'report' with several records
    #[arg(value_name = "MORE", conflicts_with = "anyway")]
    pub more: Vec<PathBuf>,
    /// Compare even different things: pair cases that differ only in size, cache, block, depth,
    /// threads or durability, and name the difference
    #[arg(long)]
    pub anyway: bool,
    /// Print the comparison as JSON instead of a table
    #[arg(long, group = "form")]
    pub json: bool,
    /// The forms for people.
    #[command(flatten)]
    pub document: DocumentArgs,
    /// Exit with status 1 if B is proved to be worse than this: 'slower > 5%', 'p99 > 10%'
    ///
    /// WHAT > N%, where WHAT is slower (or throughput), cpu, or p50, p99 or p99.9 of operations or
    /// (sync p99) of syncs. Several limits are separated by commas. A loss that is not proved does
    /// not fail. With --json, only the checks are
    /// printed.
    #[arg(long, value_name = "LIMIT", value_delimiter = ',', conflicts_with = "more")]
    pub fail_if: Vec<Rule>,
    /// With --fail-if: exit with status 3 if the records cannot tell
    #[arg(long, requires = "fail_if")]
    pub strict: bool,
}
