//! Where benchmarks are run: the programs, the test file, and the folder that it is in.

use super::worker::Worker;
use anyhow::{Context, Result, ensure};
use model::content::Kind;
use serde_json::Value;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tempfile::TempDir;

/// Bytes of the test file.
pub(super) const FILE_BYTES: u64 = 1 << 30;

/// What a worker may take beyond the time of its trial.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is in the page cache of the test file before a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Nobody reads it.
    Any,
    /// All of it.
    Warm,
    /// Nothing.
    Evicted,
}

/// Programs, and a folder that is removed with all that is in it when this is dropped.
#[derive(Debug)]
pub(super) struct Stage {
    folder: TempDir,
    ioassay: PathBuf,
    bare_pread: PathBuf,
    /// How long a trial lasts.
    pub(super) time: Duration,
    interrupted: Arc<AtomicBool>,
}

impl Stage {
    /// Builds the programs of the workspace at `root`, and makes a folder below `directory`.
    pub(super) fn new(root: &Path, directory: &Path, time: Duration) -> Result<Stage> {
        // An interrupt ends what runs at that moment, and then this program by way of an error:
        // so the folder is removed.
        let interrupted = Arc::new(AtomicBool::new(false));
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
        }
        let ioassay = build(root, &["--package=ioassay", "--bin=ioassay"])?;
        let bare_pread = build(root, &["--package=worker", "--example=bare_pread"])?;
        let folder = tempfile::Builder::new().prefix("ioassay-bench-").tempdir_in(directory);
        let folder = folder.with_context(|| format!("a folder in '{}'", directory.display()))?;
        Ok(Stage { folder, ioassay, bare_pread, time, interrupted })
    }

    /// Writes a file of `size` bytes.
    pub(super) fn create(&self, path: &Path, size: u64, kind: Kind) -> Result<()> {
        let (path, size, kind) = (path.display().to_string(), size.to_string(), kind.to_string());
        self.ioassay(&["data", "create", &path, "--size", &size, "--content", &kind])?;
        self.go_on()
    }

    /// A path in the folder.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The test file, which [`Stage::create`] writes.
    pub(super) fn file(&self) -> String {
        self.path("data").display().to_string()
    }

    /// Brings the page cache into `state`, with ioassay's proof.
    pub(super) fn set(&self, state: State) -> Result<()> {
        match state {
            State::Any => return Ok(()),
            State::Warm => self.ioassay(&["cache", "warm", &self.file()])?,
            State::Evicted => self.ioassay(&["cache", "evict", &self.file()])?,
        };
        Ok(())
    }

    /// Starts ioassay's worker.
    pub(super) fn worker(&self, time: Duration) -> Result<Worker> {
        let mut command = self.command();
        command.arg("worker");
        Worker::start(command, time + PATIENCE)
    }

    /// ioassay, to be given arguments.
    pub(super) fn command(&self) -> Command {
        Command::new(&self.ioassay)
    }

    /// What ioassay prints when it is called with `arguments`.
    pub(super) fn ioassay(&self, arguments: &[&str]) -> Result<String> {
        let mut command = self.command();
        command.args(arguments);
        // A verdict that names a doubt has an exit status of its own, 1: the work was done.
        read(command, 0..=1)
    }

    /// What the bare loop says that an operation took, in nanoseconds.
    pub(super) fn bare_pread_ns(&self, seed: u64) -> Result<f64> {
        let mut command = Command::new(&self.bare_pread);
        command.args([self.file(), seed.to_string(), self.time.as_millis().to_string()]);
        let text = read(command, 0..=0)?;
        text.trim().parse().with_context(|| format!("bare_pread said '{}'", text.trim()))
    }

    /// Ends the benchmark if somebody interrupted it.
    pub(super) fn go_on(&self) -> Result<()> {
        ensure!(!self.interrupted.load(Ordering::Relaxed), "interrupted");
        Ok(())
    }
}

/// What `command` prints, if its exit status is one of `good`.
pub(super) fn read(mut command: Command, good: std::ops::RangeInclusive<i32>) -> Result<String> {
    let output = command.output().with_context(|| format!("starting {command:?}"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    let is_good = output.status.code().is_some_and(|code| good.contains(&code));
    ensure!(is_good, "{command:?} ended with {}: {}", output.status, errors.trim());
    Ok(String::from_utf8(output.stdout)?)
}

/// Builds what `target` names, as it is released, and answers where cargo put it.
fn build(root: &Path, target: &[&str]) -> Result<PathBuf> {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["build", "--release", "--message-format=json-render-diagnostics"]);
    command.args(target).current_dir(root).stderr(Stdio::inherit());
    executable(&read(command, 0..=0)?).with_context(|| format!("cargo built no {target:?}"))
}

/// The last executable in what cargo says of a build.
fn executable(messages: &str) -> Option<PathBuf> {
    messages.lines().rev().find_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        message["executable"].as_str().map(PathBuf::from)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_says_where_the_executable_is() {
        let messages = "{\"reason\":\"compiler-artifact\",\"executable\":null}\n\
                        {\"reason\":\"compiler-artifact\",\"executable\":\"/t/release/a\"}\n\
                        {\"reason\":\"build-finished\",\"success\":true}\n";
        assert_eq!(executable(messages), Some("/t/release/a".into()));
        assert_eq!(executable("{}\n"), None);
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
