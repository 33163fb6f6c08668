//! An experiment: a build of ioassay, a folder for what it writes, where and when it ran, and the
//! document that tells what came of it.

use crate::document::{self, Part, describe};
use crate::extent::Extent;
use crate::programs::{self, Interrupt};
use crate::words::Words;
use anyhow::{Context, Result};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// The program and a folder, which is removed with its content when this is dropped.
#[derive(Debug)]
pub(crate) struct Experiment {
    folder: TempDir,
    ioassay: PathBuf,
    interrupt: Interrupt,
    /// How much of its work the command does.
    pub(crate) extent: Extent,
}

impl Experiment {
    /// Builds ioassay and creates a folder for `chore` below `directory`.
    pub(crate) fn new(directory: &Path, chore: &str, extent: Extent) -> Result<Experiment> {
        let interrupt = Interrupt::watch()?;
        fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
        let ioassay = programs::ioassay(extent.build())?;
        let prefix = format!("ioassay-{chore}-");
        let folder = tempfile::Builder::new().prefix(&prefix).tempdir_in(directory);
        let folder = folder.with_context(|| format!("a folder in '{}'", directory.display()))?;
        Ok(Experiment { folder, ioassay, interrupt, extent })
    }

    /// The folder.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A path in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    /// Creates a program in the folder: the shell runs `script`.
    pub(crate) fn script(&self, name: &str, script: &str) -> Result<()> {
        let path = self.path(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n"))?;
        Ok(fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?)
    }

    /// The path of ioassay.
    pub(crate) fn program(&self) -> &Path {
        &self.ioassay
    }

    /// What stands for the folder and the program in command lines.
    pub(crate) fn words(&self) -> Words {
        Words::default().and("FOLDER", self.folder()).and("PROGRAM", self.program())
    }

    /// The words of a command line, of which a first `ioassay` is the program of that name.
    pub(crate) fn split(&self, line: &str, words: &Words) -> Vec<String> {
        let line = match line.strip_prefix("ioassay ") {
            Some(arguments) => format!("PROGRAM {arguments}"),
            None => line.to_owned(),
        };
        line.split(' ').map(|word| words.put(word)).collect()
    }

    /// A command of `words`, set up so that ioassay keeps its records in the folder.
    pub(crate) fn command(&self, words: &[String]) -> Command {
        let (program, arguments) = words.split_first().expect("a command has a program");
        let mut command = Command::new(program);
        command.args(arguments).env("XDG_STATE_HOME", self.path("state"));
        command
    }

    /// Runs a command and returns what it prints.
    pub(crate) fn read(&self, words: &[String]) -> Result<String> {
        self.go_on()?;
        // Status 1 means that a requested case has no figure; the run itself succeeded.
        let printed = programs::read(self.command(words), 0..=1);
        self.go_on()?;
        printed
    }

    /// Runs the command of a line and returns what it prints.
    pub(crate) fn ioassay(&self, line: &str, words: &Words) -> Result<String> {
        self.read(&self.split(line, words))
    }

    /// The same, of a command that prints JSON.
    pub(crate) fn json(&self, line: &str, words: &Words) -> Result<Value> {
        Ok(serde_json::from_str(&self.ioassay(line, words)?)?)
    }

    /// Fails if the user interrupted the chore.
    pub(crate) fn go_on(&self) -> Result<()> {
        self.interrupt.go_on()
    }

    /// The output of `ioassay host` for `directory`.
    pub(crate) fn host(&self, directory: &Path) -> Result<Value> {
        self.json("ioassay host DIR", &self.words().and("DIR", directory))
    }

    /// The circumstances here and now, with the versions of the `other` programs that are there.
    pub(crate) fn circumstances(&self, others: &[&str]) -> Result<Circumstances> {
        let mut versions = vec![programs::own_version(&self.ioassay)?];
        versions.extend(others.iter().flat_map(|name| programs::first_line(name, &["--version"])));
        Ok(Circumstances { host: self.host(self.folder())?, date: programs::date()?, versions })
    }

    /// Does with the new texts of parts of a document what its extent says.
    pub(crate) fn put(&self, document: &str, parts: &[(Part, String)]) -> Result<()> {
        document::rewrite(document, parts, self.extent.purpose())
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

#[cfg(test)]
pub(crate) use tests::circumstances;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Some circumstances, as a document tells them.
    pub(crate) fn circumstances() -> Circumstances {
        let host = json!({
            "host": { "cpu": "AMD EPYC", "cores": 2, "memory": 25276514304u64, "os": "Linux 6.18" },
            "storage": { "file_system": "ext4", "devices": [] },
        });
        let versions = vec!["ioassay 0.1.0 (abc)".to_owned(), "fio-3.33".to_owned()];
        Circumstances { host, date: "2026-01-02 03:04 UTC".to_owned(), versions }
    }

    #[test]
    fn circumstances_are_told_in_lines() {
        let expected = "- Host: AMD EPYC, 2 cores, 24 GiB of memory, Linux 6.18; ext4\n\
                        - Date: 2026-01-02 03:04 UTC\n\
                        - Versions: ioassay 0.1.0 (abc); fio-3.33\n\n";
        assert_eq!(circumstances().text(), expected);
    }
}
