//! Where benchmarks are run: the programs, the test file, and the folder that it is in.

use super::worker::Worker;
use crate::programs::{Interrupt, build, read};
use anyhow::{Context, Result, ensure};
use model::content::Kind;
use model::host::Storage;
use std::cell::Cell;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// Bytes of the test file.
pub(super) const FILE_BYTES: u64 = 1 << 30;

/// What a worker may take beyond the time of its trial.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long it is waited for a disk that is not quiet.
const SETTLE_MAX: Duration = Duration::from_secs(30);

/// What is in the page cache of the test file before a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Nobody reads it.
    Any,
    /// All of it.
    Warm,
    /// Nothing.
    Evicted,
    /// Nothing, and the disk has nothing to do: it is written.
    Quiet,
}

/// Programs, and a folder that is removed with all that is in it when this is dropped.
#[derive(Debug)]
pub(super) struct Stage {
    folder: TempDir,
    ioassay: PathBuf,
    bare_pread: PathBuf,
    /// How long a trial lasts.
    pub(super) time: Duration,
    interrupt: Interrupt,
    /// What the folder is stored on.
    storage: Storage,
    waits: Cell<Waits>,
}

/// How often it was waited until the disk was quiet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Waits {
    pub(super) all: usize,
    /// Those that ended because they had lasted too long.
    pub(super) in_vain: usize,
}

impl Stage {
    /// Builds the programs of the workspace at `root`, and makes a folder below `directory`.
    pub(super) fn new(root: &Path, directory: &Path, time: Duration) -> Result<Stage> {
        let interrupt = Interrupt::watch()?;
        let ioassay = build(root, &["--package=ioassay", "--bin=ioassay"])?;
        let bare_pread = build(root, &["--package=worker", "--example=bare_pread"])?;
        let folder = tempfile::Builder::new().prefix("ioassay-bench-").tempdir_in(directory);
        let folder = folder.with_context(|| format!("a folder in '{}'", directory.display()))?;
        let storage = witness::storage(folder.path())?;
        let waits = Cell::default();
        Ok(Stage { folder, ioassay, bare_pread, time, interrupt, storage, waits })
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
            State::Warm => return self.warm(Path::new(&self.file())),
            State::Evicted | State::Quiet => self.ioassay(&["cache", "evict", &self.file()])?,
        };
        if state == State::Quiet { self.settle(self.folder()) } else { Ok(()) }
    }

    /// Brings all of the file at `path` into the page cache, with ioassay's proof.
    pub(super) fn warm(&self, path: &Path) -> Result<()> {
        self.ioassay(&["cache", "warm", &path.display().to_string()])?;
        Ok(())
    }

    /// Waits until the disk has nothing to do, or for half a minute. What is dirty of `path` is
    /// written first; of a folder it is what became of the files in it.
    pub(super) fn settle(&self, path: &Path) -> Result<()> {
        let file = File::open(path).with_context(|| path.display().to_string())?;
        let settled = witness::settle(&self.storage, Some(&file), SETTLE_MAX);
        let Waits { all, in_vain } = self.waits.get();
        let in_vain = in_vain + usize::from(!settled.quiet);
        self.waits.set(Waits { all: all + 1, in_vain });
        self.go_on()
    }

    /// How often [`Stage::settle`] waited so far.
    pub(super) fn waits(&self) -> Waits {
        self.waits.get()
    }

    /// A new file in the folder, empty and quiet on its disk.
    pub(super) fn fresh(&self) -> Result<Fresh> {
        let fresh = Fresh { path: self.path("fresh") };
        File::create_new(&fresh.path).with_context(|| fresh.path.display().to_string())?;
        self.settle(self.folder())?;
        Ok(fresh)
    }

    /// The folder.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Starts ioassay's worker.
    pub(super) fn worker(&self, time: Duration) -> Result<Worker> {
        let mut command = self.command();
        command.arg("worker");
        Worker::start(command, time.saturating_add(PATIENCE))
    }

    /// Where ioassay is.
    pub(super) fn program(&self) -> &Path {
        &self.ioassay
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
        self.interrupt.go_on()
    }
}

/// A file that is removed when this is dropped.
#[derive(Debug)]
pub(super) struct Fresh {
    pub(super) path: PathBuf,
}

impl Fresh {
    /// Has `write` write the file, which must have `size` bytes then.
    ///
    /// # Errors
    /// Those of `write`, and when it wrote less or more.
    pub(super) fn written<T>(self, size: u64, write: impl FnOnce(&Path) -> Result<T>) -> Result<T> {
        let answer = write(&self.path)?;
        let written = fs::metadata(&self.path)?.len();
        ensure!(written == size, "{written} bytes were written where {size} were asked for");
        Ok(answer)
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        // What cannot be removed here is removed with the folder.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_written_is_gone_whatever_came_of_it() {
        let folder = tempfile::tempdir().expect("there is room");
        let check = |bytes: &[u8], outcome: Result<()>| {
            let fresh = Fresh { path: folder.path().join("fresh") };
            let answer =
                fresh.written(4, |path| fs::write(path, bytes).map_err(Into::into).and(outcome));
            assert_eq!(fs::read_dir(folder.path()).expect("it is there").count(), 0);
            answer.map_err(|error| format!("{error:#}"))
        };
        assert_eq!(check(b"four", Ok(())), Ok(()));
        let error = "3 bytes were written where 4 were asked for";
        assert_eq!(check(b"not", Ok(())), Err(error.to_owned()));
        assert_eq!(check(b"four", Err(anyhow::anyhow!("it broke"))), Err("it broke".to_owned()));
    }
}
