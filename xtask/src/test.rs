//! The test command: everything that must pass.
//!
//! All steps run even if one fails: they check different things, and after waiting for minutes you
//! want all the results. The cheap ones come first, and the last ones run at the same time. A
//! skipped step is never silent: its name is printed.

use crate::at_once::{at_once, locked};
use crate::programs::{ARM, cargo, last_lines, lossy};
use crate::suite::{self, Scope};
use crate::unable::Demand;
use crate::{crates, fuzz, install, tidy};
use anyhow::{Context, Result, ensure};
use std::env;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use xshell::Shell;

/// A check of the workspace: its name, and how it is performed.
type Step = (&'static str, Action);

/// How a step is performed.
enum Action {
    Own(fn(Scope) -> Result<()>),
    /// A cargo subcommand of a component of the toolchain, by rustup's name.
    Component(&'static str, &'static str),
}

use Action::{Component, Own};

const LINTS: &str = "clippy --quiet --workspace --all-targets -- -D warnings";

const STEPS: [Step; 8] = [
    ("packages", Own(|_| install::run())),
    ("format", Component("rustfmt", "fmt --all --check")),
    ("style", Own(|_| tidy::run(crate::root()))),
    ("lints", Component("clippy", LINTS)),
    ("crates", Own(|_| crates::check())),
    ("64-bit ARM", Own(|_| check_arm())),
    ("tests", Own(suite::run)),
    ("fuzz", Own(|scope| fuzz::run(&fuzz::Options::of(scope)))),
];

/// Commands of xtask that run at the same time after the steps: each mostly waits, or keeps one
/// core busy. None judges a speed. Those with `--smoke` write documents, and could stop working
/// unseen.
const TOGETHER: [&str; 10] = [
    "lab --quick",
    "audit",
    "bench --smoke",
    "honesty --smoke",
    "hunt --smoke",
    "simulate --check",
    "gates --smoke",
    "rivals --smoke",
    "repeat --smoke",
    "show --smoke",
];

/// Compiles the kernels for 64-bit ARM, whose loops this processor cannot run. If that target is
/// not installed and cannot be, it reports that it skips this.
fn check_arm() -> Result<()> {
    if !install::has_target(ARM)? {
        println!("skipped: the target {ARM} is not installed, the NEON loops are not compiled");
        return Ok(());
    }
    println!("cargo check --package ioassay-kernel --all-targets --target {ARM}");
    let line =
        ["check", "--quiet", "--package", "ioassay-kernel", "--all-targets", "--target", ARM];
    Ok(cargo(&Shell::new()?).args(line).run()?)
}

/// The result of a step.
enum StepResult {
    Passed,
    /// It failed, with the last of what it printed.
    Failed(String),
    Skipped,
}

/// How many lines of a failed step's output are printed again at the end.
const LAST_LINES: usize = 40;

/// Runs all steps.
pub(crate) fn run(demand: Demand, scope: Scope) -> Result<()> {
    let shell = Shell::new()?;
    shell.change_dir(crate::root());
    let own = env::current_exe().context("finding xtask's own program")?;
    let run_one = |(name, action): &Step| {
        println!("\n== {name}");
        let start = Instant::now();
        let end = perform(action, &shell, demand, scope).unwrap_or_else(|error| {
            let error = format!("{error:#}");
            println!("{error}");
            StepResult::Failed(error)
        });
        (*name, end, start.elapsed())
    };
    let mut ends: Vec<(&str, StepResult, Duration)> = STEPS.iter().map(run_one).collect();
    ends.extend(run_together(&own));

    let failed = ends.iter().filter_map(|(name, end, _)| match end {
        StepResult::Failed(why) => Some((*name, why)),
        StepResult::Passed | StepResult::Skipped => None,
    });
    let failed: Vec<(&str, &String)> = failed.collect();
    // Whoever reads a long log starts at its end.
    for (name, why) in &failed {
        println!("\n== failed: {name}\n{why}");
    }
    println!();
    for (name, end, took) in &ends {
        let end = match end {
            StepResult::Passed => "passed",
            StepResult::Failed(_) => "FAILED",
            StepResult::Skipped => "skipped",
        };
        println!("{name:<18}{end:<10}{:>7.1} s", took.as_secs_f64());
    }
    let names: Vec<&str> = failed.iter().map(|(name, _)| *name).collect();
    ensure!(names.is_empty(), "failed: {}", names.join(", "));
    Ok(())
}

/// Runs each of [`TOGETHER`] as a process of its own, and prints what it said when it has ended.
fn run_together(own: &Path) -> Vec<(&'static str, StepResult, Duration)> {
    let printing = Mutex::new(());
    at_once(&TOGETHER, TOGETHER.len(), |line| {
        let start = Instant::now();
        let mut command = Command::new(own);
        let output = command.args(line.split(' ')).current_dir(crate::root()).output();
        let took = start.elapsed();
        let _one_at_a_time = locked(&printing);
        println!("\n== {line}");
        let (printed, is_passed) = match output {
            Ok(output) => {
                let (stdout, stderr) = (lossy(&output.stdout), lossy(&output.stderr));
                (format!("{stdout}{stderr}"), output.status.success())
            }
            Err(error) => (format!("{error}\n"), false),
        };
        print!("{printed}");
        let end = if is_passed {
            StepResult::Passed
        } else {
            StepResult::Failed(last_lines(&printed, LAST_LINES))
        };
        (*line, end, took)
    })
}

/// Performs a step, or prints why it is skipped.
fn perform(action: &Action, shell: &Shell, demand: Demand, scope: Scope) -> Result<StepResult> {
    let line = match action {
        Own(run) => return run(scope).map(|()| StepResult::Passed),
        Component(component, line) if !has_subcommand(shell, line) => {
            let why = format!("{component} is not installed: rustup component add {component}");
            println!("{why}");
            return Ok(match demand {
                Demand::WhatIsThere => StepResult::Skipped,
                Demand::Everything => StepResult::Failed(why),
            });
        }
        Component(_, line) => line,
    };
    println!("cargo {line}");
    cargo(shell).args(line.split(' ')).run()?;
    Ok(StepResult::Passed)
}

/// Whether cargo has the subcommand that `line` starts with.
fn has_subcommand(shell: &Shell, line: &str) -> bool {
    let subcommand = line.split(' ').next().expect("a split has a first part");
    cargo(shell).args([subcommand, "--version"]).ignore_stderr().read().is_ok()
}
