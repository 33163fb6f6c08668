//! The test command: everything that must hold.
//!
//! All steps run, whichever fails: they ask different things, and who waits minutes for an answer
//! wants all of it. The cheap ones come first. No step passes by not running: what is skipped is
//! named.

use crate::{audit, fuzz, install, lab, simulate, tidy};
use anyhow::{Result, ensure};
use std::env;
use std::path::Path;
use std::time::{Duration, Instant};
use xshell::{Cmd, Shell};

/// What is made of a component of the toolchain that is not installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Demand {
    /// A machine with only cargo will do: the step is skipped.
    WhatIsThere,
    /// Nothing may be skipped: the step fails.
    Everything,
}

impl Demand {
    /// That of CI, which sets `CI=true`, or of a developer's machine.
    pub(crate) fn of_environment() -> Demand {
        match env::var("CI").as_deref() {
            Ok("true") => Demand::Everything,
            _ => Demand::WhatIsThere,
        }
    }
}

/// One question about the workspace.
struct Step {
    name: &'static str,
    /// The component of the toolchain that it takes, by rustup's name.
    component: Option<&'static str>,
    action: Action,
}

/// How the question is asked.
enum Action {
    Own(fn(&Shell) -> Result<()>),
    /// Cargo's subcommand and its options.
    Cargo(&'static str),
}

use Action::{Cargo, Own};

const LINTS: &str = "clippy --quiet --workspace --all-targets -- -D warnings";

const STEPS: [Step; 10] = [
    Step { name: "packages", component: None, action: Own(install::run) },
    Step { name: "format", component: Some("rustfmt"), action: Cargo("fmt --all --check") },
    Step { name: "style", component: None, action: Own(|shell| tidy::run(&shell.current_dir())) },
    Step { name: "lints", component: Some("clippy"), action: Cargo(LINTS) },
    Step { name: "64-bit ARM", component: None, action: Own(check_arm) },
    Step {
        name: "simulations",
        component: None,
        action: Own(|shell| simulate::check(&shell.current_dir())),
    },
    Step {
        name: "tests",
        component: None,
        action: Cargo("test --workspace --no-fail-fast -- --include-ignored"),
    },
    Step {
        name: "fuzz",
        component: None,
        action: Own(|shell| fuzz::run(&shell.current_dir(), &["--seconds", "60"])),
    },
    Step { name: "audit", component: None, action: Own(audit::test) },
    Step {
        name: "laboratory",
        component: None,
        action: Own(|shell| lab::check(&shell.current_dir())),
    },
];

/// What the loops for other processors are compiled for.
const ARM: &str = "aarch64-unknown-linux-gnu";

/// Compiles the kernels for 64-bit ARM, whose loops this processor cannot run. Where that target
/// is not installed and cannot be, it is skipped by name.
fn check_arm(shell: &Shell) -> Result<()> {
    let is_there = || {
        let folder = shell.cmd("rustc").args(["--print", "target-libdir", "--target", ARM]);
        folder.quiet().ignore_stderr().read().is_ok_and(|folder| Path::new(&folder).is_dir())
    };
    if !is_there() {
        println!("rustup target add {ARM}");
        // Without rustup, or without a network, that is no failure: it is said below.
        let _ = shell.cmd("rustup").args(["target", "add", ARM]).quiet().ignore_stderr().run();
    }
    if !is_there() {
        println!("skipped: the target {ARM} is not installed, the NEON loops are not compiled");
        return Ok(());
    }
    println!("cargo check --package kernel --all-targets --target {ARM}");
    let line = ["check", "--quiet", "--package", "kernel", "--all-targets", "--target", ARM];
    Ok(cargo(shell).args(line).run()?)
}

/// How a step ended.
enum End {
    Passed,
    Failed,
    Skipped,
}

/// Runs all steps in the workspace at `root`.
pub(crate) fn run(root: &Path, demand: Demand) -> Result<()> {
    let shell = Shell::new()?;
    shell.change_dir(root);
    let ends: Vec<(&Step, End, Duration)> = STEPS
        .iter()
        .map(|step| {
            println!("\n== {}", step.name);
            let start = Instant::now();
            let end = step.end(&shell, demand);
            (step, end, start.elapsed())
        })
        .collect();

    println!();
    for (step, end, took) in &ends {
        let end = match end {
            End::Passed => "passed",
            End::Failed => "FAILED",
            End::Skipped => "skipped",
        };
        println!("{:<12}{end:<10}{:>7.1} s", step.name, took.as_secs_f64());
    }
    let failed: Vec<&str> = ends
        .iter()
        .filter(|(_, end, _)| matches!(end, End::Failed))
        .map(|(step, ..)| step.name)
        .collect();
    ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
    Ok(())
}

impl Step {
    /// Runs it, and prints what went wrong or why it was skipped.
    fn end(&self, shell: &Shell, demand: Demand) -> End {
        let asked = match self.action {
            Own(run) => run(shell),
            Cargo(line) => {
                if let Some(component) = self.component.filter(|_| !has_subcommand(shell, line)) {
                    println!("{component} is not installed: rustup component add {component}");
                    return match demand {
                        Demand::WhatIsThere => End::Skipped,
                        Demand::Everything => End::Failed,
                    };
                }
                println!("cargo {line}");
                let run = cargo(shell).args(line.split(' ')).run();
                run.map_err(anyhow::Error::from)
            }
        };
        match asked {
            Ok(()) => End::Passed,
            Err(error) => {
                println!("{error:#}");
                End::Failed
            }
        }
    }
}

/// Whether cargo has the subcommand that `line` begins with.
fn has_subcommand(shell: &Shell, line: &str) -> bool {
    let subcommand = line.split(' ').next().expect("a split has a first part");
    cargo(shell).args([subcommand, "--version"]).ignore_stderr().read().is_ok()
}

/// The cargo that runs this.
fn cargo(shell: &Shell) -> Cmd<'_> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    shell.cmd(cargo).quiet()
}
