//! Arguments of `judge`.

use super::form::FormArgs;
use crate::recipe::repetitions::ROUNDS_MAX;
use clap::{Args, ValueHint};
use model::plan::INVOCATIONS_MAX;
use std::path::PathBuf;

/// Arguments of `judge`.
#[derive(Debug, Args)]
pub struct JudgeArgs {
    /// Commands, each as one argument: 'grep -c x big.txt'. They are split into words as a shell
    /// does, and started without one
    #[arg(required_unless_present = "arguments", value_name = "COMMAND")]
    pub commands: Vec<String>,
    /// One command with its arguments
    #[arg(last = true, value_name = "PROGRAM [ARGUMENT]")]
    pub arguments: Vec<String>,
    /// The cache state of the files that a command reads, at the start of each run: as-is, warm,
    /// cold, or several
    ///
    /// By default as-is and, if the rehearsal saw that it reads files of 1 MiB or more, warm and
    /// cold. Only data files are evicted or read, never programs and libraries; their names and
    /// inodes stay in the OS's caches.
    #[arg(long, value_name = "STATE", value_delimiter = ',')]
    pub cache: Vec<String>,
    /// Give each value to a parameter, which {NAME} in the commands stands for: threads=1,2,4
    #[arg(long, short = 'L', value_name = "NAME=VALUES")]
    pub parameter: Vec<String>,
    /// A shorter name for a command, in their order; repeat it for each
    #[arg(long, short = 'n', value_name = "NAME")]
    pub name: Vec<String>,
    /// Start the commands with a shell, by default sh: for pipes, redirections and wildcards
    #[arg(long, value_name = "SHELL", num_args = 0..=1, default_missing_value = "sh")]
    #[arg(require_equals = true, conflicts_with = "arguments")]
    pub shell: Option<String>,
    /// No shell is the default: this only says so, to users of hyperfine
    #[arg(short = 'N', hide = true)]
    pub no_shell: bool,
    /// Run this before anything else, once for each value of the parameters in it. What it leaves
    /// running lives until the end
    #[arg(long, short = 's', value_name = "COMMAND")]
    pub setup: Option<String>,
    /// Run this before each run, untimed; several are for one command each, in their order.
    /// Parameters have their values here, too
    #[arg(long, short = 'p', value_name = "COMMAND")]
    pub prepare: Vec<String>,
    /// Run this after each run, untimed; several are for one command each
    #[arg(long, short = 'C', value_name = "COMMAND")]
    pub conclude: Vec<String>,
    /// Run this after everything else, also if the run was stopped; once for each value of the
    /// parameters in it
    #[arg(long, short = 'c', value_name = "COMMAND")]
    pub cleanup: Option<String>,
    /// A file on the stdin of the commands, which is empty by default
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub input: Option<PathBuf>,
    /// Where stdout goes: null, pipe (read and discarded), inherit (printed, stderr too), or a file
    /// that does not exist yet
    #[arg(long, value_name = "WHERE", default_value = "null")]
    pub output: String,
    /// Let runs count whatever their exit status, or with these: --ignore-exit=1,2
    #[arg(long, short = 'i', value_name = "STATUSES", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "all")]
    pub ignore_exit: Option<String>,
    /// A number that the commands print about themselves, and its unit: the groups of a regular
    /// expression, as in 'total ([0-9.]+) (ms|s)'
    ///
    /// The first group is the number. The unit is the second one, that of --figure-unit, or what is
    /// matched after the number. The last match in the last 64 KiB of stdout counts, or else of
    /// stderr.
    #[arg(long, value_name = "REGEX")]
    pub figure: Option<String>,
    /// The unit of that number
    #[arg(long, value_name = "UNIT", requires = "figure")]
    pub figure_unit: Option<String>,
    /// After the end of a command, sync the files that it wrote, and time that, too
    #[arg(long)]
    pub until_durable: bool,
    /// Evict files of other users, too, who may need them cached
    #[arg(long)]
    pub evict_others: bool,
    /// A file that the commands read, if no rehearsal can see it; repeat it for each
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: Vec<PathBuf>,
    /// Do not run each command once before, to see which files it uses and how
    #[arg(long)]
    pub no_rehearsal: bool,
    /// Runs of each command in each state, divided among the invocations
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=i64::from(ROUNDS_MAX)))]
    pub rounds: Option<u32>,
    /// Number of fresh starts, after a pause
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=i64::from(INVOCATIONS_MAX)))]
    pub invocations: Option<u32>,
    /// Where to keep the record: a new file, a folder, or - for stdout
    #[arg(long, value_name = "PLACE")]
    pub record: Option<PathBuf>,
    /// Also write the times in hyperfine's JSON; replaces an earlier file of ioassay, but no other
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub export_json: Option<PathBuf>,
    /// Print only the result: no progress, and no path of the record
    #[arg(long, short)]
    pub quiet: bool,
    /// The form of the report.
    #[command(flatten)]
    pub form: FormArgs,
}
