//! The test command: everything that must hold.
//!
//! All steps run, whichever fails: they ask different things, and who waits minutes for an answer
//! wants all of it. The cheap ones come first. No step passes by not running: what is skipped is
//! named.

use crate::{install, tidy};
use anyhow::{Result, ensure};
use std::env;
use std::path::Path;
use std::time::{Duration, Instant};
use xshell::{Shell, cmd};

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
    /// The component of the toolchain that it takes: its name in rustup, cargo's name for it.
    component: Option<(&'static str, &'static str)>,
    run: fn(&Shell) -> Result<()>,
}

const STEPS: [Step; 5] = [
    Step { name: "packages", component: None, run: install::run },
    Step { name: "format", component: Some(("rustfmt", "fmt")), run: format },
    Step { name: "style", component: None, run: |shell| tidy::run(&shell.current_dir()) },
    Step { name: "lints", component: Some(("clippy", "clippy")), run: lints },
    Step { name: "tests", component: None, run: tests },
];

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
        println!("{:<10}{end:<10}{:>7.1} s", step.name, took.as_secs_f64());
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
        if let Some((component, command)) = self.component
            && !is_installed(shell, command)
        {
            println!("{component} is not installed: rustup component add {component}");
            return match demand {
                Demand::WhatIsThere => End::Skipped,
                Demand::Everything => End::Failed,
            };
        }
        match (self.run)(shell) {
            Ok(()) => End::Passed,
            Err(error) => {
                println!("{error:#}");
                End::Failed
            }
        }
    }
}

/// Whether cargo has `command`.
fn is_installed(shell: &Shell, command: &str) -> bool {
    let cargo = cargo();
    cmd!(shell, "{cargo} {command} --version").quiet().ignore_stderr().read().is_ok()
}

/// The cargo that runs this.
fn cargo() -> String {
    env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

fn format(shell: &Shell) -> Result<()> {
    let cargo = cargo();
    Ok(cmd!(shell, "{cargo} fmt --all --check").run()?)
}

fn lints(shell: &Shell) -> Result<()> {
    let cargo = cargo();
    Ok(cmd!(shell, "{cargo} clippy --quiet --workspace --all-targets -- -D warnings").run()?)
}

fn tests(shell: &Shell) -> Result<()> {
    let cargo = cargo();
    Ok(cmd!(shell, "{cargo} test --workspace --no-fail-fast").run()?)
}
