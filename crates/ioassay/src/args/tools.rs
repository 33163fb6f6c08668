//! Arguments of the commands for peers, test files, the page cache and schemas.

use super::form::DocumentArgs;
use clap::{Args, Subcommand, ValueEnum, ValueHint};
use model::content::ContentKind;
use std::path::PathBuf;

/// Subcommands of `peers`.
#[derive(Debug, Subcommand)]
pub enum PeersCommand {
    /// List the peers, what each supports and how to build it
    List(PeersArgs),
    /// Build peers into the cache folder; a run builds what it needs by itself
    Build(PeersArgs),
    /// Run each peer on awkward small files and verify every digest and count
    Verify {
        /// The peers.
        #[command(flatten)]
        args: PeersArgs,
        /// Where to write small test files, which are then removed
        #[arg(long, value_name = "DIR", default_value = ".")]
        directory: PathBuf,
    },
}

/// A selection of peers.
#[derive(Debug, Args)]
pub struct PeersArgs {
    /// Names of peers; all by default
    pub names: Vec<String>,
    /// A TOML file with more peers, in the format of peers/peers.toml
    #[arg(long, value_name = "FILE")]
    pub peers: Option<PathBuf>,
}

/// Subcommands of `cache`.
#[derive(Debug, Subcommand)]
pub enum CacheCommand {
    /// Show how much of each file is cached
    Show {
        /// The files
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Evict each file from the page cache, and verify that; needs no root
    Evict {
        /// The files
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Read each file into the page cache, and verify that
    Warm {
        /// The files
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Drop the whole machine's page cache; needs root, and slows down all its users
    Drop,
}

/// Subcommands of `data`.
#[derive(Debug, Subcommand)]
pub enum DataCommand {
    /// Write a new file in which every word is known
    Create {
        /// The file
        file: PathBuf,
        /// Its size, such as 256MiB
        #[arg(long, default_value = "1GiB")]
        size: String,
        /// Seed of its content
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Kind of content: random words, or ints:20 for 4-byte integers below 20, uniformly
        /// distributed
        #[arg(long, default_value_t = ContentKind::Random)]
        content: ContentKind,
    },
    /// Verify every byte of a file that data create wrote
    Verify {
        /// The file
        file: PathBuf,
        /// The seed that it was written with
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// The kind of content that it was written with: random or ints:20
        #[arg(long, default_value_t = ContentKind::Random)]
        content: ContentKind,
    },
}

/// The command that prints the JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SchemaOf {
    /// `survey`, `run` and `report`.
    Run,
    /// `compare`.
    Compare,
    /// `report` of several records, and `survey --hosts`.
    Fleet,
    /// `run --hosts`, and `report` of its records.
    Lockstep,
    /// `gate`, and `compare --fail-if`.
    Gate,
    /// `judge --pid` and `judge --cgroup`.
    Running,
    /// `path`.
    Path,
}

/// What `path` shows.
#[derive(Debug, Args)]
pub struct PathArgs {
    /// Files, directories or block devices
    #[arg(default_value = ".", value_name = "PATH")]
    pub asked: Vec<PathBuf>,
    /// Look at the machine whose /proc and /sys are below this directory, such as a copy
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Print JSON
    #[arg(long, group = "form")]
    pub json: bool,
    /// The forms for people.
    #[command(flatten)]
    pub document: DocumentArgs,
}

/// Subcommands of `import`.
#[derive(Debug, Subcommand)]
pub enum ImportCommand {
    /// Print a recipe that asks what fio's job file asks, and what differs; 'ioassay run JOB.fio'
    /// runs it at once
    Fio {
        /// The job file
        #[arg(value_hint = ValueHint::FilePath)]
        job: String,
    },
}
