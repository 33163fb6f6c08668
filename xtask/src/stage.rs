//! A build of ioassay, a folder for what it writes, and where and when it ran.

use crate::document::describe;
use crate::programs::{self, Build, Interrupt};
use anyhow::{Context, Result};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// The program and a folder, which is removed with its content when this is dropped.
#[derive(Debug)]
pub(crate) struct ProgramFolder {
    folder: TempDir,
    ioassay: PathBuf,
    interrupt: Interrupt,
}

impl ProgramFolder {
    /// Builds ioassay and creates a folder for `chore` below `directory`.
    pub(crate) fn new(
        root: &Path,
        directory: &Path,
        chore: &str,
        build: Build,
    ) -> Result<ProgramFolder> {
        let interrupt = Interrupt::watch()?;
        fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
        let ioassay = programs::ioassay(root, build)?;
        let prefix = format!("ioassay-{chore}-");
        let folder = tempfile::Builder::new().prefix(&prefix).tempdir_in(directory);
        let folder = folder.with_context(|| format!("a folder in '{}'", directory.display()))?;
        Ok(ProgramFolder { folder, ioassay, interrupt })
    }

    /// The folder.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A path in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    /// The path of ioassay.
    pub(crate) fn program(&self) -> &Path {
        &self.ioassay
    }

    /// `program`, set up so that ioassay keeps its records in the folder.
    pub(crate) fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.env("XDG_STATE_HOME", self.path("state"));
        command
    }

    /// Runs ioassay with `arguments` and returns what it prints.
    pub(crate) fn ioassay(&self, arguments: &[&str]) -> Result<String> {
        self.go_on()?;
        let mut command = self.command(&self.ioassay);
        command.args(arguments);
        // Status 1 means that a requested case has no figure; the run itself succeeded.
        let printed = programs::read(command, 0..=1);
        self.go_on()?;
        printed
    }

    /// Fails if the user interrupted the chore.
    pub(crate) fn go_on(&self) -> Result<()> {
        self.interrupt.go_on()
    }

    /// The output of `ioassay host` for `directory`.
    pub(crate) fn host(&self, directory: &Path) -> Result<Value> {
        let printed = self.ioassay(&["host", &directory.display().to_string()])?;
        Ok(serde_json::from_str(&printed)?)
    }

    /// The circumstances here and now, of the sources at `root`.
    pub(crate) fn circumstances(&self, root: &Path) -> Result<Circumstances> {
        Ok(Circumstances {
            host: self.host(self.folder())?,
            date: programs::date(root)?,
            versions: vec![programs::own_version(root, &self.ioassay)?],
        })
    }
}

/// What a section of a document starts with.
#[derive(Debug)]
pub(crate) struct Circumstances {
    /// The output of `ioassay host`.
    pub(crate) host: Value,
    pub(crate) date: String,
    /// The versions of all programs involved.
    pub(crate) versions: Vec<String>,
}

impl Circumstances {
    pub(crate) fn text(&self) -> String {
        let Circumstances { host, date, versions } = self;
        let host = describe(host);
        format!("- Host: {host}\n- Date: {date}\n- Versions: {}\n\n", versions.join("; "))
    }
}
