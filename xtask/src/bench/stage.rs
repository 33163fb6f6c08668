//! Where benchmarks are run: the released program, and a folder for records.

use crate::programs::{Interrupt, build, read};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// The program, and a folder that is removed with all that is in it when this is dropped.
#[derive(Debug)]
pub(super) struct Stage {
    folder: TempDir,
    ioassay: PathBuf,
    interrupt: Interrupt,
}

impl Stage {
    /// Builds the programs of the workspace at `root`, and makes a folder below `directory`.
    pub(super) fn new(root: &Path, directory: &Path) -> Result<Stage> {
        let interrupt = Interrupt::watch()?;
        let ioassay = build(root, &["--package=ioassay", "--bin=ioassay"])?;
        // A peer of the benchmark, which is started by `cargo run`.
        build(root, &["--package=worker", "--example=bare_pread"])?;
        let folder = tempfile::Builder::new().prefix("ioassay-bench-").tempdir_in(directory);
        let folder = folder.with_context(|| format!("a folder in '{}'", directory.display()))?;
        Ok(Stage { folder, ioassay, interrupt })
    }

    /// A path in the folder.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Where ioassay is.
    pub(super) fn program(&self) -> &Path {
        &self.ioassay
    }

    /// What ioassay prints when it is called with `arguments`.
    pub(super) fn ioassay(&self, arguments: &[&str]) -> Result<String> {
        self.go_on()?;
        let mut command = Command::new(&self.ioassay);
        command.args(arguments);
        // A verdict that names a doubt has an exit status of its own, 1: the work was done.
        let printed = read(command, 0..=1);
        self.go_on()?;
        printed
    }

    /// Ends the benchmark if somebody interrupted it.
    pub(super) fn go_on(&self) -> Result<()> {
        self.interrupt.go_on()
    }
}
