//! Development tasks for ioassay, run as `cargo xtask COMMAND`.
//!
//! The modules are listed from lowest to highest; a module uses only those listed above it.

#![forbid(unsafe_code)]
#![expect(clippy::disallowed_methods, reason = "where a chore gets no thread, it panics")]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it speaks to a developer")]

mod at_once;
mod waiting;
mod arch;
mod unable;
mod words;
mod files;
mod json;
mod install;
mod options;
mod tidy;
mod programs;
mod python;
mod audit;
mod document;
mod extent;
mod stage;
#[path = "../../crates/witness/tests/it/fixture.rs"]
#[expect(dead_code, reason = "the file systems of the witness's tests, of which not all are used")]
mod fixture;
mod limit;
mod fields;
mod shown;
mod simulate;
mod suite;
mod neighbor;
mod fuzz;
mod gates;
mod lab;
mod crates;
mod dist;
mod bench;
mod honesty;
mod hunt;
mod repeat;
mod rivals;
mod test;

use anyhow::Result;
use clap::Parser;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use unable::Demand;

/// ioassay's own chores
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Chore {
    /// Check format, lints, style and tests
    ///
    /// Installs the programs that tests need (as root on Debian; elsewhere it names what is
    /// missing).
    Test(suite::Scope),
    /// Run the tests that measure ten times beside a compiler and a disk writer that never pause
    ///
    /// They must pass: what a neighbor does is no fault of the code. Takes an hour.
    Neighbor(neighbor::Options),
    /// Check only style: every rule of docs/style.md that a program can check
    Tidy,
    /// Write the tables of simulations in docs/method
    Simulate {
        /// Run fewer simulations and compare them with the tables instead
        #[arg(long)]
        check: bool,
    },
    /// Do what test does, but fail if rustfmt or clippy is missing (as with CI=true)
    Ci(suite::Scope),
    /// Recompute reports from the raw lines of records, and print each value that differs
    ///
    /// A second implementation in Python does this, which shares no code.
    Audit {
        /// Records; otherwise the kept ones and fresh ones
        records: Vec<PathBuf>,
    },
    /// Mutate valid inputs, and keep those that fail in xtask/fuzz/corpus
    ///
    /// Inputs are times, sizes, cases, lines of workers, recipes, tables of peers, and records in
    /// every form of a report.
    Fuzz(fuzz::Options),
    /// Compare ioassay with fio, likwid-bench, sysbench, dd and C, into docs/benchmarks.md
    ///
    /// The released program runs the recipes of xtask/src/bench/. Takes half an hour.
    Bench(bench::Options),
    /// Run ioassay, fio and dd on each known fault, planted for real, into docs/honesty.md
    ///
    /// Takes about 35 minutes on a quiet machine, and needs root.
    Honesty(honesty::Options),
    /// Ask random questions on random storage, and find sound rows that are not
    ///
    /// What counts is what block devices and system calls did, by the kernel's tracepoints, and
    /// what a plain program in C measures. A fault is shrunk and printed as commands. Needs root.
    Hunt(hunt::Options),
    /// Repeat a recipe without a change, and count false alarms, into docs/method
    ///
    /// One small recipe shows how often consecutive records are called different, and how often
    /// the earlier one's interval holds the later one's figure. Half an hour on a quiet machine.
    Repeat(repeat::Options),
    /// Count how often a gate fails with and without a planted loss, into docs/ci.md
    ///
    /// Takes half an hour on a quiet machine.
    Gates(gates::Options),
    /// Compare ioassay with IOR, mdtest and fio on hosts that are limited unequally, into
    /// docs/hosts.md
    ///
    /// Three hosts of this machine. Needs root and Open MPI, and takes ten minutes.
    Rivals(rivals::Options),
    /// Run ioassay in emulated machines, into docs/lab.md
    ///
    /// They have other kernels, devices and file systems.
    Lab(lab::Options),
    /// Make the packages for crates.io, and check what is in them; publishes nothing
    Crates {
        /// Compile each from nothing, as publishing does; takes five minutes
        #[arg(long)]
        whole: bool,
    },
    /// Build the packages of a release into dist/, and try each as a new user would
    ///
    /// Static programs, archives, .deb, .rpm, wheels, checksums and a bill of materials, of the
    /// commit. Needs root on Debian, and takes about 20 minutes.
    Dist(dist::Options),
    /// Rewrite the output and the pictures of records/ in the documents, and docs/fields.md
    ///
    /// They are made with today's `ioassay report`, and from its schema. With --smoke, it only
    /// compares them.
    Show(extent::Extent),
}

fn main() -> ExitCode {
    match Chore::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

impl Chore {
    fn run(&self) -> Result<()> {
        match self {
            Chore::Test(scope) => test::run(Demand::of_environment(), *scope),
            Chore::Ci(scope) => test::run(Demand::Everything, *scope),
            Chore::Neighbor(options) => neighbor::run(options),
            Chore::Tidy => tidy::run(root()),
            Chore::Simulate { check: true } => simulate::check(),
            Chore::Simulate { check: false } => simulate::run(),
            Chore::Audit { records } => audit::run(records),
            Chore::Bench(options) => bench::run(options),
            Chore::Honesty(options) => honesty::run(options),
            Chore::Hunt(options) => options.extent.or_skip("hunt", hunt::run(options)).map(drop),
            Chore::Fuzz(options) => fuzz::run(options),
            Chore::Rivals(options) => {
                options.extent.or_skip("rivals", rivals::run(options)).map(drop)
            }
            Chore::Lab(options) => lab::run(options),
            Chore::Crates { whole: true } => crates::try_to_publish(),
            Chore::Crates { whole: false } => crates::check(),
            Chore::Dist(options) => dist::run(root(), options),
            Chore::Show(scope) => shown::run(*scope),
            Chore::Gates(options) => options.extent.or_skip("gates", gates::run(options)).map(drop),
            Chore::Repeat(options) => repeat::run(options),
        }
    }
}

/// The folder of the workspace.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a folder of the workspace")
}

/// Where chores keep what they make, unless an option says otherwise.
fn target() -> PathBuf {
    root().join("target")
}
