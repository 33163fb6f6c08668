//! Options that all runs share.

use super::form::FormArgs;
use clap::Args;
use std::path::PathBuf;

/// Options shared by all runs: pinning, controls, and where results go.
#[derive(Debug, Default, Args)]
pub struct OutputArgs {
    /// Measure the first case of each kind twice in each round; the difference shows what this
    /// machine can't resolve today
    #[arg(long)]
    pub control: bool,
    /// Pin each thread to one CPU of this list, in turn: such as 0,2,4-7, or all. Peers may use the
    /// whole list instead
    #[arg(long, value_name = "CPUS")]
    pub pin: Option<String>,
    /// Use CPUs and memory of this NUMA node only
    #[arg(long, value_name = "NODE")]
    pub node: Option<u32>,
    /// The form of the report.
    #[command(flatten)]
    pub form: FormArgs,
    /// Where to keep the record: a new file, a folder, or - for stdout
    ///
    /// A folder gets a dated file for each run. By default, that is a folder in the XDG state
    /// folder; if it cannot be written, a warning says so, and the run goes on.
    #[arg(long, value_name = "PLACE")]
    pub record: Option<PathBuf>,
    /// Go on with the interrupted run of this record
    ///
    /// Repeat its command, with --resume in place of --record. The run adds to the record, and
    /// measures only what it lacks. Of a run on several hosts, give the folder with their records.
    #[arg(long, value_name = "RECORD", conflicts_with_all = ["record", "dry_run"])]
    pub resume: Option<PathBuf>,
    /// Measure for this time: 30m, 8h
    ///
    /// After the planned rounds, or as many of them as fit, the cases with the widest intervals are
    /// measured in further invocations, until the time is up.
    #[arg(long = "for", value_name = "TIME")]
    pub budget: Option<String>,
    /// Keep the test file
    #[arg(long)]
    pub keep: bool,
    /// Show what would be measured, how long it would take and what it needs; measures and writes
    /// nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Print only the result: no progress, and no path of the record
    #[arg(long, short)]
    pub quiet: bool,
}
