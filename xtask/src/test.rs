//! The test command: everything that must pass.
//!
//! All steps run even if one fails: they check different things, and after waiting for minutes you
//! want all the results. The cheap ones come first, and the last ones run at the same time. A
//! skipped step is never silent: its name is printed.

use crate::programs::cargo;
use crate::suite::{self, Scope};
use crate::{crates, fuzz, install, tidy};
use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{env, thread};
use xshell::Shell;

/// What to do if a component of the toolchain is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Demand {
    /// Skip the step, so that a machine with only cargo works.
    WhatIsThere,
    /// Fail the step.
    Everything,
}

impl Demand {
    /// `Everything` in CI, which sets `CI=true`; `WhatIsThere` elsewhere.
    pub(crate) fn of_environment() -> Demand {
        match env::var("CI").as_deref() {
            Ok("true") => Demand::Everything,
            _ => Demand::WhatIsThere,
        }
    }
}

/// A check of the workspace: its name, and how it is performed.
type Step = (&'static str, Action);

/// How a step is performed.
enum Action {
    Own(fn(&Shell, &Path, Scope) -> Result<()>),
    /// A cargo subcommand of a component of the toolchain, by rustup's name.
    Component(&'static str, &'static str),
}

use Action::{Component, Own};

const LINTS: &str = "clippy --quiet --workspace --all-targets -- -D warnings";

const STEPS: [Step; 8] = [
    ("packages", Own(|shell, _, _| install::run(shell))),
    ("format", Component("rustfmt", "fmt --all --check")),
    ("style", Own(|_, root, _| tidy::run(root))),
    ("lints", Component("clippy", LINTS)),
    ("crates", Own(|shell, root, _| crates::check(shell, root))),
    ("64-bit ARM", Own(|shell, _, _| check_arm(shell))),
    ("tests", Own(|_, root, scope| suite::run(root, scope))),
    ("fuzz", Own(|_, root, scope| fuzz::run(root, &fuzz::Options::of(scope)))),
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

/// The target for which to compile the other architecture's loops.
const ARM: &str = "aarch64-unknown-linux-gnu";

/// Compiles the kernels for 64-bit ARM, whose loops this processor cannot run. If that target is
/// not installed and cannot be, it reports that it skips this.
fn check_arm(shell: &Shell) -> Result<()> {
    let is_there = || {
        let folder = shell.cmd("rustc").args(["--print", "target-libdir", "--target", ARM]);
        folder.quiet().ignore_stderr().read().is_ok_and(|folder| Path::new(&folder).is_dir())
    };
    if !is_there() {
        println!("rustup target add {ARM}");
        // This may fail without rustup or a network; the check below reports it.
        let _ = shell.cmd("rustup").args(["target", "add", ARM]).quiet().ignore_stderr().run();
    }
    if !is_there() {
        println!("skipped: the target {ARM} is not installed, the NEON loops are not compiled");
        return Ok(());
    }
    println!("cargo check --package ioassay-kernel --all-targets --target {ARM}");
    let line =
        ["check", "--quiet", "--package", "ioassay-kernel", "--all-targets", "--target", ARM];
    Ok(cargo(shell).args(line).run()?)
}

/// The result of a step.
enum StepResult {
    Passed,
    Failed,
    Skipped,
}

/// Runs all steps in the workspace at `root`.
pub(crate) fn run(root: &Path, demand: Demand, scope: Scope) -> Result<()> {
    let shell = Shell::new()?;
    shell.change_dir(root);
    let own = env::current_exe().context("finding xtask's own program")?;
    let run_one = |(name, action): &Step| {
        println!("\n== {name}");
        let start = Instant::now();
        let end = perform(action, &shell, root, demand, scope).unwrap_or_else(|error| {
            println!("{error:#}");
            StepResult::Failed
        });
        (*name, end, start.elapsed())
    };
    let mut ends: Vec<(&str, StepResult, Duration)> = STEPS.iter().map(run_one).collect();
    ends.extend(run_together(root, &own));

    println!();
    for (name, end, took) in &ends {
        let end = match end {
            StepResult::Passed => "passed",
            StepResult::Failed => "FAILED",
            StepResult::Skipped => "skipped",
        };
        println!("{name:<18}{end:<10}{:>7.1} s", took.as_secs_f64());
    }
    let failed = ends.iter().filter(|(_, end, _)| matches!(end, StepResult::Failed));
    let failed: Vec<&str> = failed.map(|(name, ..)| *name).collect();
    ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
    Ok(())
}

/// Runs each of [`TOGETHER`] as a process of its own, and prints what it said when it has ended.
fn run_together(root: &Path, own: &Path) -> Vec<(&'static str, StepResult, Duration)> {
    let printing = Mutex::new(());
    let run_one = &|line: &'static str| {
        let start = Instant::now();
        let output = Command::new(own).args(line.split(' ')).current_dir(root).output();
        let took = start.elapsed();
        let _one_at_a_time = printing.lock().unwrap_or_else(PoisonError::into_inner);
        println!("\n== {line}");
        let is_passed = match output {
            Ok(output) => {
                print!("{}", String::from_utf8_lossy(&output.stdout));
                print!("{}", String::from_utf8_lossy(&output.stderr));
                output.status.success()
            }
            Err(error) => {
                println!("{error}");
                false
            }
        };
        (line, if is_passed { StepResult::Passed } else { StepResult::Failed }, took)
    };
    let all = thread::scope(|scope| {
        let started = TOGETHER.map(|line| scope.spawn(move || run_one(line)));
        started.map(|one| one.join().expect("no thread panics"))
    });
    all.into()
}

/// Performs a step, or prints why it is skipped.
fn perform(
    action: &Action,
    shell: &Shell,
    root: &Path,
    demand: Demand,
    scope: Scope,
) -> Result<StepResult> {
    let line = match action {
        Own(run) => return run(shell, root, scope).map(|()| StepResult::Passed),
        Component(component, line) if !has_subcommand(shell, line) => {
            println!("{component} is not installed: rustup component add {component}");
            return Ok(match demand {
                Demand::WhatIsThere => StepResult::Skipped,
                Demand::Everything => StepResult::Failed,
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
