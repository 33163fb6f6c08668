//! Options about other hosts.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Which hosts, and how ioassay is started there.
#[derive(Debug, Args)]
pub struct HostArgs {
    /// Hosts to measure on: a,b or n[1-4], or @FILE with a name a line
    ///
    /// 'slurm' stands for the nodes of the job of Slurm in which this runs.
    #[arg(long, value_name = "NAMES")]
    pub hosts: Option<String>,
    /// How ioassay is started on them: ssh, kubectl, srun, mpirun, mpich, or here, which is this
    /// machine for all [default: ssh; srun with --hosts slurm]
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub launcher: Option<String>,
    /// A TOML file with more launchers, in the format of launchers.toml
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub launchers: Option<PathBuf>,
    /// The program on the hosts, if it is not 'ioassay' in their PATH
    #[arg(long, value_name = "PATH", hide_short_help = true)]
    pub program: Option<PathBuf>,
    /// The address of this machine to which agents connect back, if one command starts them all
    /// (srun, mpirun) [default: the one from which it reaches the hosts]
    #[arg(long, value_name = "ADDRESS[:PORT]", hide_short_help = true)]
    pub listen: Option<String>,
}

impl HostArgs {
    /// Whether they ask for other hosts.
    pub fn are_named(&self) -> bool {
        let HostArgs { hosts, launcher, launchers, program, listen } = self;
        let files = [launchers, program];
        let texts = [hosts, launcher, listen];
        files.iter().any(|it| it.is_some()) || texts.iter().any(|it| it.is_some())
    }
}

/// Subcommands of `hosts`.
#[derive(Debug, Subcommand)]
pub enum HostsCommand {
    /// Check hosts before measuring on them: whether ioassay is there, what they are like, how far
    /// their clocks are apart, and which of them share a directory
    Check {
        /// The directory to look at on each host
        #[arg(default_value = ".")]
        directory: PathBuf,
        /// The hosts.
        #[command(flatten)]
        hosts: HostArgs,
        /// Print what was found as JSON
        #[arg(long)]
        json: bool,
    },
}
