//! The test command: everything that must pass.
//!
//! All steps run even if one fails: they check different things, and after waiting for minutes you
//! want all the results. The cheap ones come first. A skipped step is never silent: its name is
//! printed.

use crate::{audit, fuzz, install, lab, simulate, tidy};
use anyhow::{Result, ensure};
use std::env;
use std::path::Path;
use std::time::{Duration, Instant};
use xshell::{Cmd, Shell};

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

/// A check of the workspace.
struct Step {
    name: &'static str,
    /// The required toolchain component, by rustup's name.
    component: Option<&'static str>,
    action: Action,
}

/// How a step is performed.
enum Action {
    Own(fn(&Shell) -> Result<()>),
    /// A cargo subcommand with its options.
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
    println!("cargo check --package kernel --all-targets --target {ARM}");
    let line = ["check", "--quiet", "--package", "kernel", "--all-targets", "--target", ARM];
    Ok(cargo(shell).args(line).run()?)
}

/// The result of a step.
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
    /// Runs the step, and prints what went wrong or why it was skipped.
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

/// Whether cargo has the subcommand that `line` starts with.
fn has_subcommand(shell: &Shell, line: &str) -> bool {
    let subcommand = line.split(' ').next().expect("a split has a first part");
    cargo(shell).args([subcommand, "--version"]).ignore_stderr().read().is_ok()
}

/// The cargo that runs this program.
fn cargo(shell: &Shell) -> Cmd<'_> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    shell.cmd(cargo).quiet()
}
