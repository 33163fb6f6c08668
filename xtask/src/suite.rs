//! All tests of the workspace, in three processes at the same time: tests of the program that
//! measure, which wait for devices and for each other, its other tests, and those of the libraries.
//!
//! A test belongs to a part by its package and its name, so each runs in exactly one of them.

use crate::programs::{lossy, own_cargo};
use anyhow::{Context, Result, ensure};
use clap::Args;
use std::io::{self, BufRead, BufReader};
use std::process::{Command, ExitStatus, Output, Stdio};
use std::thread;

/// Which tests run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Args)]
pub(crate) struct Scope {
    /// Run also what takes minutes, as before a release
    #[arg(long = "all")]
    pub(crate) is_all: bool,
}

/// Parts of the names of tests that measure: most of them plant a fault in a device, a control
/// group or a worker, and hold a figure or a finding against it.
const MEASURING: [&str; 2] = ["honesty::", "names::"];

/// A part of the names of tests that only `--all` runs.
const LONG: &str = "long::";

/// How many tests of a part run at a time: many wait, for a device, a time limit, a worker or a
/// test that they would disturb. With so many, two cores are busy.
const MEASURING_THREADS: &str = "--test-threads=3";
const OTHER_THREADS: &str = "--test-threads=6";

/// The package of the program, for cargo.
const PROGRAM: [&str; 2] = ["--package", "ioassay"];

/// Builds all tests of the workspace.
///
/// # Errors
/// If they do not compile.
pub(crate) fn build() -> Result<()> {
    ensure!(tests(&["--workspace", "--no-run"]).status()?.success(), "the tests do not compile");
    Ok(())
}

/// The command for the tests that measure, or for those of them with `only` in their names.
pub(crate) fn measuring(only: Option<&str>) -> Command {
    // Of several names, one is enough.
    let names = only.map_or(MEASURING.to_vec(), |only| vec![only]);
    tests(&[&PROGRAM[..], &["--", "--include-ignored", MEASURING_THREADS], &names[..]].concat())
}

/// The command for the other tests of the program.
fn others(scope: Scope) -> Command {
    let skipped = MEASURING.iter().chain((!scope.is_all).then_some(&LONG));
    let skipped: Vec<&str> = skipped.flat_map(|name| ["--skip", name]).collect();
    tests(&[&PROGRAM[..], &["--", "--include-ignored", OTHER_THREADS], &skipped[..]].concat())
}

/// The command for the tests of all other packages.
fn of_libraries() -> Command {
    tests(&["--workspace", "--exclude", PROGRAM[1], "--", "--include-ignored"])
}

/// Runs the tests of the workspace.
///
/// # Errors
/// If they do not compile, or one fails. The error names those that failed.
pub(crate) fn run(scope: Scope) -> Result<()> {
    build()?;
    // If all printed at the same time, nobody could read it.
    let (measured, libraries, other) = thread::scope(|parts| {
        let measured = parts.spawn(|| measuring(None).output());
        let libraries = parts.spawn(|| of_libraries().output());
        let other = told(others(scope));
        let end = "no thread panics";
        (measured.join().expect(end), libraries.join().expect(end), other)
    });
    let (status, failures) = other.context("running cargo")?;
    let mut parts = vec![("others", status, failures)];
    for (part, output) in [("tests that measure", measured), ("libraries", libraries)] {
        let output: Output = output.context("starting cargo")?;
        let printed = lossy(&output.stdout);
        print!("\n{part}:\n{}{printed}", lossy(&output.stderr));
        let failures = printed.lines().filter_map(failure).collect();
        parts.push((part, output.status, failures));
    }
    let failed = parts.iter().filter(|(_, status, _)| !status.success());
    let failed: Vec<String> =
        failed.map(|(part, _, names)| format!("{part}: {}", names.join(", "))).collect();
    ensure!(failed.is_empty(), "failed: {}", failed.join("; "));
    Ok(())
}

/// Runs a command and prints its lines while it runs. Returns how it ended, and the names of tests
/// that failed.
fn told(mut command: Command) -> io::Result<(ExitStatus, Vec<String>)> {
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let mut failures = Vec::new();
    for line in BufReader::new(child.stdout.take().expect("it is piped")).lines() {
        let line = line?;
        println!("{line}");
        failures.extend(failure(&line));
    }
    Ok((child.wait()?, failures))
}

/// The name of the test that failed, if this line of the test programs tells of one.
fn failure(line: &str) -> Option<String> {
    Some(line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?.to_owned())
}

/// Cargo's command for tests.
fn tests(options: &[&str]) -> Command {
    let mut command = Command::new(own_cargo());
    command.args(["test", "--no-fail-fast"]).args(options);
    command.current_dir(crate::root());
    command
}

#[cfg(test)]
mod tests {
    use super::failure;

    #[test]
    fn a_test_that_failed_is_named() {
        assert_eq!(failure("test judge::bounds ... FAILED").as_deref(), Some("judge::bounds"));
        for line in ["test judge::bounds ... ok", "test result: FAILED. 1 passed", "FAILED"] {
            assert_eq!(failure(line), None);
        }
    }
}
