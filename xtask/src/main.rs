//! ioassay's own chores, as `cargo xtask COMMAND`.
//!
//! The modules are listed from lowest to highest; a module uses only those above it here.

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

  cargo xtask test   all that must hold: format, lints, style, tests; installs what the tests
                     need (as root on Debian; elsewhere it names what is missing)
  cargo xtask tidy   style alone: every rule of STYLE.md that a program can check
  cargo xtask simulate [--check]
                     the simulations behind the figures of METHODOLOGY.md, into its tables; with
                     --check fewer of them, held against the tables
  cargo xtask ci     test, where a missing rustfmt or clippy is a failure (as with CI=true)
  cargo xtask audit [RECORD...]
                     what ioassay says of records, recomputed from their raw lines by a second
                     implementation in Python that shares no code with it: each value that differs.
                     Without a record those that are kept, and three fresh ones
  cargo xtask fuzz [--seconds N | --inputs N] [--seed N] [--only TEXT]
                     inputs that nobody would write, made of good ones, for N seconds (60) or until
                     there are N: times, sizes, cases, lines of workers, recipes, tables of peers,
                     and records in every form of a report. What fails is kept in xtask/fuzz/corpus
  cargo xtask bench [--only files|memory|writing|program] [--rounds N] [--dir DIR] [--size SIZE]
                     ioassay beside fio, likwid-bench, sysbench, dd and C, into BENCHMARKS.md: the
                     recipes of xtask/src/bench/, run by the released program in N rounds (7), with
                     test files in DIR (target/), of SIZE instead of 1 or 2 GiB. Half an hour
  cargo xtask honesty [--only TEXT] [--clean [N]] [--dir DIR]
                     ioassay, fio and dd on each known fault, planted for real below DIR (target/;
                     root), into HONESTY.md: six minutes. With --only those faults whose names have
                     TEXT in them, printed and not written. With --clean the section about N (20)
                     quick surveys of /dev/shm and as many of DIR, without a fault, instead: half an
                     hour
  cargo xtask repeat [--pairs N] [--dir DIR] [--records FOLDER]
                     one small recipe N + 1 (41) times, with nothing changed: how often two records
                     that follow each other are called different, and how often the earlier's
                     interval holds the later's figure, into METHODOLOGY.md. Test files are in DIR
                     (target/), records in FOLDER (target/repetitions/): those that are there are
                     judged again, not made again. Half an hour on a quiet machine
  cargo xtask lab [--quick] [--only TEXT] [--jobs N] [--folder FOLDER]
                     ioassay in emulated machines with other kernels, devices and file systems, into
                     docs/lab.md, N (2) machines at a time. With --quick those rows that the test
                     command has, with --only those whose names have TEXT in them; neither is
                     written. Images, and what machines printed, are kept in FOLDER (target/lab/)
  cargo xtask show   rewrite the output and the pictures of records/ that documents show, with
                     today's `ioassay report`";

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
