//! Development tasks for ioassay, run as `cargo xtask COMMAND`.
//!
//! The modules are listed from lowest to highest; a module uses only those listed above it.

#![forbid(unsafe_code)]
#![expect(clippy::disallowed_methods, reason = "where a chore gets no thread, it panics")]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it speaks to a developer")]

mod install;
mod options;
mod tidy;
mod programs;
mod audit;
mod document;
mod generated;
mod stage;
mod shown;
mod simulate;
mod fuzz;
mod lab;
mod test;
mod bench;
mod honesty;
mod repeat;

use anyhow::{Result, bail};
use std::path::Path;
use std::process::ExitCode;

const HELP: &str = "\
ioassay's own chores

  cargo xtask test   check format, lints, style and tests; installs the programs that tests need
                     (as root on Debian; elsewhere it names what is missing)
  cargo xtask tidy   check only style: every rule of STYLE.md that a program can check
  cargo xtask simulate [--check]
                     write the tables of simulations in METHODOLOGY.md; with --check, run fewer
                     simulations and compare them with the tables
  cargo xtask ci     test, but fail if rustfmt or clippy is missing (as with CI=true)
  cargo xtask audit [RECORD...]
                     recompute reports from the raw lines of records, with a second implementation
                     in Python that shares no code, and print each value that differs. Without a
                     record, audits the kept ones and three fresh ones
  cargo xtask fuzz [--seconds N | --inputs N] [--seed N] [--only TEXT]
                     mutate valid inputs for N seconds (60) or N inputs: times, sizes, cases, lines
                     of workers, recipes, tables of peers, and records in every form of a report.
                     Keeps failing inputs in xtask/fuzz/corpus
  cargo xtask bench [--only files|memory|writing|program] [--rounds N] [--dir DIR] [--size SIZE]
                     compare ioassay with fio, likwid-bench, sysbench, dd and C, into BENCHMARKS.md:
                     the released program runs the recipes of xtask/src/bench/ in N rounds (7), with
                     test files in DIR (target/), of SIZE instead of 1 or 2 GiB. Half an hour
  cargo xtask honesty [--only TEXT] [--clean [N]] [--dir DIR]
                     run ioassay, fio and dd on each known fault, planted for real below DIR
                     (target/; root), into HONESTY.md: six minutes. --only TEXT prints the faults
                     with TEXT in their names and writes nothing. --clean instead runs N (20) quick
                     surveys of /dev/shm and of DIR without a fault: half an hour
  cargo xtask repeat [--pairs N] [--dir DIR] [--records FOLDER]
                     run one small recipe N + 1 (41) times without a change, and write into
                     METHODOLOGY.md how often consecutive records are called different, and how
                     often the earlier one's interval holds the later one's figure. Test files are
                     in DIR (target/), records in FOLDER (target/repetitions/); existing records
                     are reused. Half an hour on a quiet machine
  cargo xtask lab [--quick] [--only TEXT] [--jobs N] [--folder FOLDER]
                     run ioassay in emulated machines with other kernels, devices and file systems,
                     N (2) at a time, into docs/lab.md. --quick runs the rows of the test command,
                     --only TEXT those with TEXT in their names; neither writes. Keeps images and
                     the machines' output in FOLDER (target/lab/)
  cargo xtask show   rewrite the output and the pictures of records/ in the documents, with today's
                     `ioassay report`";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match command(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn command(arguments: &[String]) -> Result<()> {
    let names: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match names[..] {
        [] | ["--help" | "-h" | "help"] => {
            println!("{HELP}");
            Ok(())
        }
        ["test"] => test::run(root(), test::Demand::of_environment()),
        ["ci"] => test::run(root(), test::Demand::Everything),
        ["tidy"] => tidy::run(root()),
        ["simulate", ref options @ ..] => simulate::run(root(), options),
        ["audit", ref records @ ..] => audit::run(root(), records),
        ["bench", ref options @ ..] => bench::run(root(), options),
        ["honesty", ref options @ ..] => honesty::run(root(), options),
        ["fuzz", ref options @ ..] => fuzz::run(root(), options),
        ["lab", ref options @ ..] => lab::run(root(), options),
        ["show"] => shown::run(root()),
        ["repeat", ref options @ ..] => repeat::run(root(), options),
        _ => bail!("no command `{}`\n\n{HELP}", names.join(" ")),
    }
}

/// The folder of the workspace.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a folder of the workspace")
}
