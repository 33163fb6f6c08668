//! What was typed.

use clap::{Args, Parser, Subcommand, ValueEnum};
use model::content::Kind;
use std::path::PathBuf;

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
    /// Measure the ladder from memory to durable storage: one screen, about two minutes
    Survey(SurveyArgs),
    /// Answer a question: a built-in recipe, or one in a TOML file
    Run(RunArgs),
    /// Show what a run would measure and what it would not, and measure nothing
    Plan(RunArgs),
    /// List the built-in recipes, or show one
    Recipes {
        /// The recipe to show, as TOML
        name: Option<String>,
    },
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
    /// Serve jobs on stdin and stdout: how this program measures
    #[command(hide = true)]
    Worker,
}

/// Whose JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SchemaOf {
    /// That of `survey`, `run` and `report`.
    Run,
    /// That of `compare`.
    Compare,
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
}

/// Arguments of `survey`.
#[derive(Debug, Args)]
pub struct SurveyArgs {
    /// The directory to measure; a test file is written there and removed
    #[arg(default_value = ".")]
    pub directory: PathBuf,
    /// Fewer rounds, shorter trials, a smaller file: under 40 seconds
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
    /// A built-in recipe (see `ioassay recipes`) or a path to a TOML file
    pub recipe: String,
    /// The directory to measure, the current one if not given; a test file is written there and
    /// removed
    #[arg(conflicts_with = "file")]
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
    #[arg(long, value_name = "TIME", conflicts_with_all = ["rounds", "control"])]
    pub sustain: Option<String>,
    /// Give the workers no more memory than this, page cache included, by a control group: a file
    /// that is larger does not fit into the page cache then. Needs root
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<String>,
    /// What all runs share.
    #[command(flatten)]
    pub output: OutputArgs,
    /// Axes that replace those of the recipe.
    #[command(flatten)]
    pub axes: AxisArgs,
    /// A TOML file of more peers, in the form of peers/peers.toml
    #[arg(long, value_name = "FILE")]
    pub peers: Option<PathBuf>,
    /// Passes over all cases; below 7 there is no reliable interval
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: Option<u32>,
    /// Decides the data and all random orders; made from the clock if not given
    #[arg(long)]
    pub seed: Option<u64>,
}

/// What all runs share: their control, and where results go.
#[derive(Debug, Args)]
pub struct OutputArgs {
    /// Measure the first case of each kind twice in each round: what differs between the two is
    /// how much this machine cannot decide today
    #[arg(long)]
    pub control: bool,
    /// How the result is said.
    #[command(flatten)]
    pub form: FormArgs,
    /// Where to keep the record; a dated file in the XDG state folder if not given
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Keep the test file
    #[arg(long)]
    pub keep: bool,
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
    /// Write metrics to this file too, for the textfile collector of Prometheus's node exporter:
    /// ioassay.prom. An earlier one of this program is replaced
    #[arg(long, value_name = "FILE")]
    pub openmetrics: Option<PathBuf>,
}

/// Axes of cases; each takes one value or several with commas between them.
#[derive(Debug, Args)]
#[command(next_help_heading = "Axes (one value, or several with commas)")]
pub struct AxisArgs {
    /// Programs that measure: rust (this one's own worker), or peers by name (see `ioassay peers
    /// list`); `compilers` for the whole matrix of them
    #[arg(long, value_delimiter = ',')]
    pub peer: Vec<String>,
    /// To read: null, read, pread, buffered, mmap, uring, load. To write: null, write, pwrite,
    /// buffered, mmap, uring. To copy: write, uring, copy-file-range, sendfile, splice
    #[arg(long, value_delimiter = ',')]
    pub engine: Vec<String>,
    /// Bytes an operation: 4KiB, 4MB, 1B
    #[arg(long, value_delimiter = ',')]
    pub block: Vec<String>,
    /// Threads; `cores` for one each, `sweep` for 1, 2, 4 … up to twice the cores
    #[arg(long, value_delimiter = ',')]
    pub threads: Vec<String>,
    /// Operations in flight for each thread
    #[arg(long, value_delimiter = ',')]
    pub depth: Vec<String>,
    /// warm, cold, direct, as-is
    #[arg(long, value_delimiter = ',')]
    pub cache: Vec<String>,
    /// sequential, random, strided
    #[arg(long, value_delimiter = ',')]
    pub pattern: Vec<String>,
    /// Blocks from one step of a strided pattern to the next
    #[arg(long, value_delimiter = ',')]
    pub stride: Vec<String>,
    /// contiguous or interleaved: how blocks are dealt out to threads
    #[arg(long, value_delimiter = ',')]
    pub share: Vec<String>,
    /// What is done with the bytes: none, page, sum, count (of the 4-byte value 10)
    #[arg(long, value_delimiter = ',')]
    pub touch: Vec<String>,
    /// Instruction set of sums, counts and kernels: auto, scalar, sse2, avx2, avx512, neon; `best`
    /// for the widest of this processor, `each` for all that it has
    #[arg(long, value_delimiter = ',')]
    pub isa: Vec<String>,
    /// What the OS is told: none, sequential, random, willneed, populate, hugepage; touch-ahead
    /// for six threads that touch each page of a mapping ahead of the reader
    #[arg(long, value_delimiter = ',')]
    pub advice: Vec<String>,
    /// How io_uring learns of requests: enter, sqpoll
    #[arg(long, value_delimiter = ',')]
    pub submission: Vec<String>,
    /// What makes written data durable: none, fdatasync, fsync, dsync, msync, sync-file-range
    #[arg(long, value_delimiter = ',')]
    pub sync: Vec<String>,
    /// Blocks from one sync to the next; 0 for one at the end only
    #[arg(long, value_delimiter = ',')]
    pub every: Vec<String>,
    /// What a file that is written has at the start: none, fallocate, overwrite, append
    #[arg(long, value_delimiter = ',')]
    pub allocation: Vec<String>,
    /// What is written: random, constant, zero
    #[arg(long, value_delimiter = ',')]
    pub fill: Vec<String>,
    /// Operations of a trial, over all threads; `all` for each block once, 0 for no limit
    #[arg(long, value_delimiter = ',')]
    pub ops: Vec<String>,
    /// Bytes of the test file: 256MiB, 1GiB
    #[arg(long, value_delimiter = ',')]
    pub size: Vec<String>,
    /// The longest a trial lasts: 500ms, 2s
    #[arg(long, value_delimiter = ',')]
    pub time: Vec<String>,
    /// Loops over memory: read, write, write-nt, copy, copy-nt, triad, triad-nt, count, chase,
    /// touch-pages, first-touch, read-pages
    #[arg(long, value_delimiter = ',')]
    pub kernel: Vec<String>,
    /// Bytes of all arrays of a memory case: 32KiB, 1GiB; `dram` for four times the last cache,
    /// `sweep` for 8KiB, 16KiB … up to that, `modest` for 256MiB or less
    #[arg(long, value_delimiter = ',')]
    pub working_set: Vec<String>,
    /// What arrays are mapped by: base, huge
    #[arg(long, value_delimiter = ',')]
    pub pages: Vec<String>,
}

impl AxisArgs {
    /// The axes that were given, by name.
    pub fn given(&self) -> Vec<(&'static str, &Vec<String>)> {
        let axes = [
            ("peer", &self.peer),
            ("engine", &self.engine),
            ("block", &self.block),
            ("threads", &self.threads),
            ("depth", &self.depth),
            ("cache", &self.cache),
            ("pattern", &self.pattern),
            ("stride", &self.stride),
            ("share", &self.share),
            ("touch", &self.touch),
            ("isa", &self.isa),
            ("advice", &self.advice),
            ("submission", &self.submission),
            ("sync", &self.sync),
            ("every", &self.every),
            ("allocation", &self.allocation),
            ("fill", &self.fill),
            ("ops", &self.ops),
            ("size", &self.size),
            ("time", &self.time),
            ("kernel", &self.kernel),
            ("working_set", &self.working_set),
            ("pages", &self.pages),
        ];
        axes.into_iter().filter(|(_, values)| !values.is_empty()).collect()
    }
}

/// What to do with peers.
#[derive(Debug, Subcommand)]
pub enum PeersCommand {
    /// Tell which there are, what each can do, and how it is built
    List(PeersArgs),
    /// Build them into the cache folder; a run builds what it needs by itself
    Build(PeersArgs),
    /// Run each over awkward small files and check every digest and count
    Verify {
        /// Which.
        #[command(flatten)]
        args: PeersArgs,
        /// Where small test files are written, and removed
        #[arg(long, value_name = "DIR", default_value = ".")]
        directory: PathBuf,
    },
}

/// Which peers.
#[derive(Debug, Args)]
pub struct PeersArgs {
    /// Their names; all if not given
    pub names: Vec<String>,
    /// A TOML file of more peers, in the form of peers/peers.toml
    #[arg(long, value_name = "FILE")]
    pub peers: Option<PathBuf>,
}

/// What to do with the page cache.
#[derive(Debug, Subcommand)]
pub enum CacheCommand {
    /// Tell how much of each file is cached
    Show {
        /// The files
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Take each file out of the page cache, with proof; needs no root
    Evict {
        /// The files
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Read each file into the page cache, with proof
    Warm {
        /// The files
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Empty the page cache of the whole machine; needs root, and slows down everybody on it
    Drop,
}

/// What to do with a test file.
#[derive(Debug, Subcommand)]
pub enum DataCommand {
    /// Write a file whose every word is known; there must be nothing of its name
    Create {
        /// The file
        file: PathBuf,
        /// Its size: 256MiB, 1GiB
        #[arg(long, default_value = "1GiB")]
        size: String,
        /// Decides its content
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// What it is made of: random words, or ints:20 for 4-byte integers below 20, all equally
        /// likely
        #[arg(long, default_value_t = Kind::Random)]
        content: Kind,
    },
    /// Check every byte of a file that `data create` wrote
    Verify {
        /// The file
        file: PathBuf,
        /// The seed it was written with
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// What it was made of: random or ints:20
        #[arg(long, default_value_t = Kind::Random)]
        content: Kind,
    },
}
