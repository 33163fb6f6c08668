//! Arguments of `judge`.

use super::form::FormArgs;
use super::hosts::HostArgs;
use crate::recipe::repetitions::ROUNDS_MAX;
use assess::gate::Rule;
use clap::{Args, ValueHint};
use model::goal::Requirement;
use model::plan::INVOCATIONS_MAX;
use std::path::PathBuf;

/// Options that only commands have, which a program that is running already cannot use.
const OF_COMMANDS: [&str; 37] = [
    "commands",
    "arguments",
    "cache",
    "parameter",
    "name",
    "shell",
    "setup",
    "prepare",
    "conclude",
    "cleanup",
    "input",
    "output",
    "ignore_exit",
    "figure",
    "figure_unit",
    "until_durable",
    "evict_others",
    "export_json",
    "no_shell",
    "file",
    "no_rehearsal",
    "rounds",
    "invocations",
    "fail_if",
    "goal",
    "strict",
    "against",
    "resume",
    "interval",
    "count",
    "hosts",
    "launcher",
    "launchers",
    "program",
    "listen",
    "each",
    "at_once",
];

/// Arguments of `judge`.
#[derive(Debug, Args)]
pub struct JudgeArgs {
    /// Commands, each as one argument: 'grep -c x big.txt'. They are split into words as a shell
    /// does, and started without one
    #[arg(required_unless_present_any = ["arguments", "pid", "cgroup"], value_name = "COMMAND")]
    pub commands: Vec<String>,
    /// One command with its arguments
    #[arg(last = true, value_name = "PROGRAM [ARGUMENT]")]
    pub arguments: Vec<String>,
    /// Watch a process that is running already, with its descendants: nothing is traced or stopped
    #[arg(long, value_name = "PID", group = "running", conflicts_with_all = OF_COMMANDS)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub pid: Option<u32>,
    /// Watch the processes of a control group: its path, or a unit such as postgresql.service
    #[arg(long, value_name = "PATH", group = "running", conflicts_with_all = OF_COMMANDS)]
    pub cgroup: Option<String>,
    /// Measure for this time: 30m, 8h. With --pid or --cgroup: watch for this time, by default 10s
    ///
    /// After the planned rounds, or as many of them as fit, the commands with the widest intervals
    /// are measured in further invocations, until the time is up.
    #[arg(long = "for", value_name = "TIME")]
    pub budget: Option<String>,
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
    /// Run this before anything else. What it leaves running lives until the end
    ///
    /// With parameters, once for each of their values that a command has.
    #[arg(long, short = 's', value_name = "COMMAND")]
    pub setup: Option<String>,
    /// Run this before each run, untimed; repeat it to give one to each command
    ///
    /// Parameters have their values here, too.
    #[arg(long, short = 'p', value_name = "COMMAND")]
    pub prepare: Vec<String>,
    /// Run this after each run, untimed; repeat it to give one to each command
    #[arg(long, short = 'C', value_name = "COMMAND")]
    pub conclude: Vec<String>,
    /// Run this after everything else, even if the run is stopped
    ///
    /// With parameters, once for each of their values that a command has.
    #[arg(long, short = 'c', value_name = "COMMAND")]
    pub cleanup: Option<String>,
    /// A file on the stdin of the commands, which is empty by default
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub input: Option<PathBuf>,
    /// Where stdout goes: null, pipe, inherit, or a file that does not exist yet
    ///
    /// A pipe is read, and what comes is discarded. With inherit, the commands print where ioassay
    /// does, on stdout and on stderr; otherwise, their stderr is discarded.
    #[arg(long, value_name = "WHERE", default_value = "null", hide_default_value = true)]
    pub output: String,
    /// Let runs count with any exit status, or with these, such as 1,2
    #[arg(long, short = 'i', value_name = "STATUSES", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "all")]
    pub ignore_exit: Option<String>,
    /// A number that the commands print, in a group of a regular expression
    ///
    /// The first group is the number, as in 'total ([0-9.]+) (ms|s)'. The unit is the second group,
    /// that of --figure-unit, or what is matched after the number. The last match in the last
    /// 64 KiB of stdout counts, or else of stderr.
    #[arg(long, value_name = "REGEX")]
    pub figure: Option<String>,
    /// The unit of that number
    #[arg(long, value_name = "UNIT", requires = "figure")]
    pub figure_unit: Option<String>,
    /// Also time a sync of the files that a command wrote, after its end
    #[arg(long)]
    pub until_durable: bool,
    /// Evict files of other users, too, who may need them cached
    #[arg(long)]
    pub evict_others: bool,
    /// A file that the commands read, if no rehearsal sees it; repeatable
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: Vec<PathBuf>,
    /// Do not run each command once before, to see the files that it uses
    #[arg(long)]
    pub no_rehearsal: bool,
    /// Runs of each command in each state, divided among the invocations
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=i64::from(ROUNDS_MAX)))]
    pub rounds: Option<u32>,
    /// Number of fresh starts, after a pause
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=i64::from(INVOCATIONS_MAX)))]
    pub invocations: Option<u32>,
    /// Exit with status 1 if another command is proved to be worse than the first by more than
    /// this: 'time > 5%', 'cpu > 10%'
    ///
    /// WHAT > N%, where WHAT is time, cpu or slower (or throughput). Several limits are separated
    /// by commas. A loss that is not proved does not fail. By default, this takes 10 invocations.
    #[arg(long, value_name = "LIMIT", value_delimiter = ',', conflicts_with = "csv")]
    #[arg(group = "limits")]
    pub fail_if: Vec<Rule>,
    /// What the figures of each command must be: 'time<2s', 'cpu<5s', 'iops>10' (runs a second)
    ///
    /// Several goals are separated by commas. The answer is fit, not fit (exit status 1) or cannot
    /// tell, by the interval.
    #[arg(long, value_name = "GOAL", value_delimiter = ',', group = "limits")]
    #[arg(conflicts_with = "hosts")]
    pub goal: Vec<Requirement>,
    /// With --fail-if or --goal: exit with status 3 if the rounds cannot tell
    #[arg(long, requires = "limits")]
    pub strict: bool,
    /// With --fail-if: hold the commands against the same ones in this record, instead of the first
    ///
    /// It was made at another time, so whatever changed on the machine since then counts as well.
    /// Of a run on several hosts, give the folder with their records.
    #[arg(long, value_name = "RECORD", value_hint = ValueHint::FilePath, requires = "fail_if")]
    pub against: Option<PathBuf>,
    /// Judge the commands again and again: the time from the start of one run to that of the next,
    /// such as 10m. A change is reported
    ///
    /// Each run has a record of its own. If a run takes longer, the next follows immediately.
    #[arg(long = "every", value_name = "TIME")]
    #[arg(conflicts_with_all = ["resume", "fail_if", "export_json"])]
    pub interval: Option<String>,
    /// With --every: the number of runs; without it, runs continue until you stop them
    #[arg(long, requires = "interval", value_parser = clap::value_parser!(u32).range(1..))]
    pub count: Option<u32>,
    /// Where to keep the record: a new file, a folder, or - for stdout
    #[arg(long, value_name = "PLACE")]
    pub record: Option<PathBuf>,
    /// Go on with the interrupted run of this record
    ///
    /// Repeat its command, with --resume in place of --record. The commands are rehearsed again
    /// only if a file that they read has changed. Of a run on several hosts, give the folder with
    /// their records.
    #[arg(long, value_name = "RECORD", conflicts_with = "record")]
    pub resume: Option<PathBuf>,
    /// Also write the times to a file as hyperfine's --export-json does
    ///
    /// It replaces an earlier file of ioassay, but no other.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub export_json: Option<PathBuf>,
    /// Other hosts on which to run the commands, all at the same time.
    #[command(flatten)]
    pub hosts: HostArgs,
    /// With --hosts: run the commands on each host by itself, one after another, instead of in
    /// lockstep
    #[arg(long, requires = "hosts", hide_short_help = true)]
    pub each: bool,
    /// With --each: on all hosts at the same time
    #[arg(long, requires = "each", hide_short_help = true)]
    pub at_once: bool,
    /// Print only the result: no progress, and no path of the record
    #[arg(long, short)]
    pub quiet: bool,
    /// The form of the report.
    #[command(flatten)]
    pub form: FormArgs,
}
