//! The release build and a folder for records.

use crate::programs::{Interrupt, build, read};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// The program and a folder, which is removed with its content when this is dropped.
#[derive(Debug)]
pub(super) struct Stage {
    folder: TempDir,
    ioassay: PathBuf,
    interrupt: Interrupt,
}

impl Stage {
    /// Builds the workspace's programs and creates a folder below `directory`.
    pub(super) fn new(root: &Path, directory: &Path) -> Result<Stage> {
        let interrupt = Interrupt::watch()?;
        let ioassay = build(root, &["--package=ioassay", "--bin=ioassay"])?;
        // A peer of the benchmark that its recipe starts with `cargo run`.
        build(root, &["--package=worker", "--example=bare_pread"])?;
        let folder = tempfile::Builder::new().prefix("ioassay-bench-").tempdir_in(directory);
        let folder = folder.with_context(|| format!("a folder in '{}'", directory.display()))?;
        Ok(Stage { folder, ioassay, interrupt })
    }

    /// A path in the folder.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The path of ioassay.
    pub(super) fn program(&self) -> &Path {
        &self.ioassay
    }

    /// Runs ioassay with `arguments` and returns what it prints.
    pub(super) fn ioassay(&self, arguments: &[&str]) -> Result<String> {
        self.go_on()?;
        let mut command = Command::new(&self.ioassay);
        command.args(arguments);
        // Status 1 means that a figure is doubtful; the run itself succeeded.
        let printed = read(command, 0..=1);
        self.go_on()?;
        printed
    }

    /// Fails if the user interrupted the benchmark.
    pub(super) fn go_on(&self) -> Result<()> {
        self.interrupt.go_on()
    }
}
