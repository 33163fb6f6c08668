//! All tests of the workspace, in two processes at the same time: tests that measure, which wait
//! for devices and for each other, and all others.
//!
//! A test belongs to a part by its name, so each runs in exactly one of them.

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

/// Builds all tests of the workspace.
///
/// # Errors
/// If they do not compile.
pub(crate) fn build() -> Result<()> {
    ensure!(tests(&["--no-run"]).status()?.success(), "the tests do not compile");
    Ok(())
}

/// The command for the tests that measure, or for those of them with `only` in their names.
pub(crate) fn measuring(only: Option<&str>) -> Command {
    // Of several names, one is enough.
    let names = only.map_or(MEASURING.to_vec(), |only| vec![only]);
    tests(&[&["--", "--include-ignored", MEASURING_THREADS], &names[..]].concat())
}

/// The command for all others.
fn others(scope: Scope) -> Command {
    let skipped = MEASURING.iter().chain((!scope.is_all).then_some(&LONG));
    let skipped: Vec<&str> = skipped.flat_map(|name| ["--skip", name]).collect();
    tests(&[&["--", "--include-ignored", OTHER_THREADS], &skipped[..]].concat())
}

/// Runs the tests of the workspace.
///
/// # Errors
/// If they do not compile, or one fails. The error names those that failed.
pub(crate) fn run(scope: Scope) -> Result<()> {
    build()?;
    // Both parts are the same programs. If two printed at the same time, nobody could read it.
    let (measured, other) = thread::scope(|scope_of_threads| {
        let measured = scope_of_threads.spawn(|| measuring(None).output());
        let other = told(others(scope));
        (measured.join().expect("no thread panics"), other)
    });
    let measured: Output = measured.context("starting cargo")?;
    let printed = lossy(&measured.stdout);
    println!("\nthe tests that measure:");
    print!("{}{printed}", lossy(&measured.stderr));
    let (status, failures) = other.context("running cargo")?;
    let parts = [
        ("tests that measure", measured.status, printed.lines().filter_map(failure).collect()),
        ("others", status, failures),
    ];
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

/// Cargo's command for tests of the whole workspace.
fn tests(options: &[&str]) -> Command {
    let mut command = Command::new(own_cargo());
    command.args(["test", "--workspace", "--no-fail-fast"]).args(options);
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
