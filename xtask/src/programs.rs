//! Building and running programs, and reading their output.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::env;
use std::ffi::{OsStr, OsString};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use xshell::{Cmd, Shell};

/// Detects an interrupt by the user. The running child receives it, too; this program then ends
/// with an error, so everything it created is removed.
#[derive(Debug)]
pub(crate) struct Interrupt {
    came: Arc<AtomicBool>,
}

impl Interrupt {
    /// Starts watching for interrupts.
    pub(crate) fn watch() -> Result<Interrupt> {
        let came = Arc::new(AtomicBool::new(false));
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&came))?;
        }
        Ok(Interrupt { came })
    }

    /// Fails after an interrupt.
    pub(crate) fn go_on(&self) -> Result<()> {
        ensure!(!self.came.load(Ordering::Relaxed), "interrupted");
        Ok(())
    }
}

/// Runs `command` and returns its standard output if its exit status is in `good`.
pub(crate) fn read(command: Command, good: RangeInclusive<i32>) -> Result<String> {
    Ok(String::from_utf8(output(command, good)?.stdout)?)
}

/// Runs `command` and returns all its output if its exit status is in `good`.
pub(crate) fn output(mut command: Command, good: RangeInclusive<i32>) -> Result<Output> {
    let output = command.output().with_context(|| format!("starting {command:?}"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    let is_good = output.status.code().is_some_and(|code| good.contains(&code));
    ensure!(is_good, "{command:?} ended with {}: {}", output.status, errors.trim());
    Ok(output)
}

/// What a program printed, whatever it is.
pub(crate) fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The last lines of what a program printed.
pub(crate) fn last_lines(printed: &str, most: usize) -> String {
    let lines: Vec<&str> = printed.lines().collect();
    lines[lines.len().saturating_sub(most)..].join("\n")
}

/// A process that is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Running(pub(crate) Child);

impl Running {
    /// Starts `command`.
    pub(crate) fn start(mut command: Command) -> Result<Running> {
        Ok(Running(command.spawn().with_context(|| format!("starting {command:?}"))?))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that has ended cannot be killed, and is only waited for.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The cargo that runs this program, in a shell.
pub(crate) fn cargo(shell: &Shell) -> Cmd<'_> {
    shell.cmd(own_cargo()).quiet()
}

/// The cargo that runs this program.
pub(crate) fn own_cargo() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Which build of a program to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Build {
    /// The one that users get, and that is measured.
    Release,
    /// The one that the tests have made.
    Tests,
}

impl Build {
    /// Cargo's options that select it.
    fn options(self) -> &'static [&'static str] {
        match self {
            Build::Release => &["--release"],
            // Its features are those of the whole workspace.
            Build::Tests => &["--workspace"],
        }
    }
}

/// Builds ioassay and returns its path.
pub(crate) fn ioassay(build: Build) -> Result<PathBuf> {
    println!("building");
    self::build(build, &["--bin=ioassay"])
}

/// The target of [`ioassay_for_arm`].
pub(crate) const ARM: &str = "aarch64-unknown-linux-gnu";
/// Cargo settings for linking: static, so that it runs on any root image.
const ARM_LINKING: [(&str, &str); 2] = [
    ("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc"),
    ("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS", "-Ctarget-feature=+crt-static"),
];

/// Builds ioassay for 64-bit ARM, using Debian's cross compiler.
pub(crate) fn ioassay_for_arm(build: Build) -> Result<PathBuf> {
    self::build(build, &["--bin=ioassay", "--target", ARM])
}

/// Builds what cargo's options `target` select, and returns the executable's path.
pub(crate) fn build(build: Build, target: &[&str]) -> Result<PathBuf> {
    let mut command = Command::new(own_cargo());
    command.envs(ARM_LINKING);
    command.args(["build", "--message-format=json-render-diagnostics"]).args(build.options());
    command.args(target).current_dir(crate::root()).stderr(Stdio::inherit());
    executable(&read(command, 0..=0)?).with_context(|| format!("cargo built no {target:?}"))
}

/// The last executable in cargo's build messages.
fn executable(messages: &str) -> Option<PathBuf> {
    messages.lines().rev().find_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        message["executable"].as_str().map(PathBuf::from)
    })
}

/// The first line that a program prints, such as its version, when run in the workspace.
pub(crate) fn first_line(program: impl AsRef<OsStr>, arguments: &[&str]) -> Result<String> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(crate::root());
    let text = read(command, 0..=0)?;
    Ok(text.trim().lines().next().unwrap_or_default().to_owned())
}

/// The version of the ioassay at `program`, plus the commit of the sources.
pub(crate) fn own_version(program: &Path) -> Result<String> {
    let version = first_line(program, &["--version"])?;
    // Sources without their git history have no commit.
    let commit = first_line("git", &["describe", "--always", "--dirty"]);
    Ok(commit.map_or(version.clone(), |commit| format!("{version} ({commit})")))
}

/// The current date and time, to the minute.
pub(crate) fn date() -> Result<String> {
    first_line("date", &["-u", "+%Y-%m-%d %H:%M UTC"])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn cargo_says_where_the_executable_is() {
        let messages = "{\"reason\":\"compiler-artifact\",\"executable\":null}\n\
                        {\"reason\":\"compiler-artifact\",\"executable\":\"/t/release/a\"}\n\
                        {\"reason\":\"build-finished\",\"success\":true}\n";
        assert_eq!(executable(messages), Some("/t/release/a".into()));
        assert_eq!(executable("{}\n"), None);
    }

    /// Each package and its features, of those that cargo's `options` select.
    fn features(options: &[&str]) -> BTreeSet<String> {
        let mut command = Command::new(own_cargo());
        command.args(["tree", "--prefix=none", "--format={p};{f}"]).args(options);
        command.current_dir(crate::root());
        let tree = read(command, 0..=0).expect("cargo shows it");
        tree.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
    }

    /// Otherwise, the test command compiles the program and what it depends on twice.
    #[test]
    fn tests_add_no_feature_to_what_this_program_is_built_with() {
        let own = features(&["--package=xtask", "--edges=normal,build"]);
        let all = features(&["--workspace", "--edges=normal,build,dev"]);
        assert!(own.len() > 50, "{own:?}");
        let missing: Vec<&String> = own.difference(&all).collect();
        assert!(
            missing.is_empty(),
            "with tests, these have more: see xtask/Cargo.toml: {missing:?}"
        );
    }

    #[test]
    fn a_program_is_read_or_its_failure_told() {
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            command
        };
        assert_eq!(read(shell("echo a; exit 1"), 0..=1).expect("1 is good"), "a\n");
        let error = read(shell("echo why >&2; exit 2"), 0..=1).expect_err("2 is not");
        assert!(format!("{error:#}").ends_with("exit status: 2: why"), "{error:#}");
    }
}
