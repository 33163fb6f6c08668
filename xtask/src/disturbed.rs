//! All tests of the workspace. Those that fail run a second time, alone.
//!
//! Whole-program tests measure real processors and disks, beside each other. On a shared machine, a
//! neighbor can disturb one of them; alone, it passes. A fault fails both times. A test that was
//! disturbed is named: it depends on speed, which is a defect of the test.

use crate::programs::own_cargo;
use anyhow::{Context, Result, ensure};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// Cargo's arguments for all tests.
const ALL: [&str; 5] = ["test", "--workspace", "--no-fail-fast", "--", "--include-ignored"];

/// What more makes cargo run only the tests whose names follow, one at a time.
const ALONE: [&str; 2] = ["--test-threads=1", "--exact"];

/// If more fail, that is no disturbance.
const DISTURBED_MOST: usize = 5;

/// Runs all tests of the workspace at `root`.
///
/// # Errors
/// If the tests do not compile or end, many fail, or one fails even alone.
pub(crate) fn run(root: &Path) -> Result<()> {
    let first = test(root, &[])?;
    if first.is_success {
        return Ok(());
    }
    let failed = first.said.failed()?;
    ensure!(failed.len() <= DISTURBED_MOST, "{} tests failed: {}", failed.len(), failed.join(", "));
    println!("\na second time, alone: {}", failed.join(", "));
    let names: Vec<&str> = failed.iter().map(String::as_str).collect();
    let again = test(root, &[&ALONE[..], &names].concat())?;
    let passed_alone = |name: &&String| again.said.passed.contains(*name);
    ensure!(
        again.is_success && failed.iter().all(|name| passed_alone(&name)),
        "failed, and alone, too: {}",
        failed.iter().filter(|name| !passed_alone(name)).cloned().collect::<Vec<_>>().join(", ")
    );
    println!("\nDISTURBED by others, and passed alone: {}", failed.join(", "));
    Ok(())
}

/// A run of cargo.
struct Tested {
    is_success: bool,
    said: Said,
}

/// Runs cargo's tests, and shows what they print.
fn test(root: &Path, more: &[&str]) -> Result<Tested> {
    let mut command = Command::new(own_cargo());
    command.args(ALL).args(more).current_dir(root).stdout(Stdio::piped());
    println!("cargo {}", [&ALL[..], more].concat().join(" "));
    let mut child = command.spawn().with_context(|| format!("starting {command:?}"))?;
    let printed = child.stdout.take().context("its output is a pipe")?;
    let mut said = Said::default();
    for line in BufReader::new(printed).split(b'\n') {
        let line = line.context("reading what cargo prints")?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        said.hear(&line);
    }
    Ok(Tested { is_success: child.wait()?.success(), said })
}

/// What test programs printed.
#[derive(Debug, Default)]
struct Said {
    /// The programs that began, and the tests that failed in those that ended.
    began: usize,
    ended: usize,
    number_failed: usize,
    passed: Vec<String>,
    failed: Vec<String>,
}

impl Said {
    fn hear(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["running", _, "test" | "tests"] => self.began += 1,
            ["test", "result:", ..] => {
                self.ended += 1;
                let mark = words.iter().position(|word| *word == "failed;");
                let number = mark.and_then(|at| words[at - 1].parse().ok());
                self.number_failed += number.unwrap_or(1);
            }
            ["test", name, "...", "ok"] => self.passed.push(name.to_owned()),
            ["test", name, "...", "FAILED"] => self.failed.push(name.to_owned()),
            _ => {}
        }
    }

    /// The tests that failed, if all is known that went wrong.
    fn failed(&self) -> Result<Vec<String>> {
        ensure!(self.began > 0 && self.number_failed > 0, "cargo failed, but no test did");
        ensure!(self.began == self.ended, "a test program died before its end");
        ensure!(
            self.number_failed == self.failed.len(),
            "{} tests failed, of which only these are known: {}",
            self.number_failed,
            self.failed.join(", ")
        );
        Ok(self.failed.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSES: &str = "running 2 tests\ntest a::one ... ok\ntest a::two ... ignored\n\ntest \
                          result: ok. 1 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; \
                          finished in 0.00s\n";
    const FAILS: &str = "running 2 tests\ntest b::three has been running for over 60 seconds\ntest \
                         b::three ... FAILED\ntest b::four ... ok\n\nfailures:\n\n---- b::three \
                         stdout ----\ntest it ... with care\n\nfailures:\n    b::three\n\ntest \
                         result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 3 filtered \
                         out; finished in 61.20s\n";

    fn said(text: &str) -> Said {
        let mut said = Said::default();
        text.lines().for_each(|line| said.hear(line));
        said
    }

    #[test]
    fn tests_that_fail_are_known_by_name() {
        let found = said(&[PASSES, FAILS].concat());
        assert_eq!(found.failed().expect("all is known"), ["b::three"]);
        assert_eq!(found.passed, ["a::one", "b::four"]);
    }

    #[test]
    fn what_else_goes_wrong_is_no_disturbance() {
        let check = |text: &str, expected: &str| {
            let error = said(text).failed().expect_err("it went wrong").to_string();
            assert!(error.contains(expected), "{error}");
        };
        check("error: could not compile `ioassay`", "no test did");
        check(PASSES, "no test did");
        let died = "running 1 test\n";
        check(&[FAILS, died].concat(), "died before its end");
        check(
            &FAILS.replace("b::three ... FAILED", "b::three ... garbled"),
            "only these are known",
        );
    }
}
