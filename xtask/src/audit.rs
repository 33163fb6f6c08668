//! Audits records: Python programs that share no code with ioassay (`xtask/audit`) recompute from
//! the raw lines what `ioassay report` prints.

use crate::programs::{self, Build};
use crate::python;
use anyhow::{Context, Result, ensure};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, thread};
use tempfile::TempDir;

/// The audit's packages. These versions are known to agree with the records in `records/`.
const PACKAGES: [&str; 2] = ["numpy==2.4.6", "scipy==1.17.1"];

/// Recipes of fresh runs for the test command; each gives figures that the others lack. They are
/// very short, because the audit checks the figures' arithmetic, not their meaning.
const FRESH: [&str; 5] = ["reading", "writing", "memory", "beside", "load"];

/// Audits `records`, paths relative to the caller's folder. Without any, it tests itself, and
/// audits the kept records and fresh ones.
///
/// # Errors
/// If ioassay cannot be built, or it and the audit differ. If there is no Python, it only says so,
/// except in CI and with records.
pub(crate) fn run(root: &Path, records: &[PathBuf]) -> Result<()> {
    // A debug build is fast enough: the audit judges records and needs no meaningful timings.
    let ioassay = programs::build(root, Build::Tests, &programs::IOASSAY)?;
    match Auditor::new(root, ioassay) {
        Ok(auditor) if records.is_empty() => auditor.test(),
        Ok(auditor) => auditor.audit(records),
        Err(error) if !records.is_empty() || env::var("CI").as_deref() == Ok("true") => Err(error),
        Err(error) => {
            println!("skipped: records are not audited: {error:#}");
            Ok(())
        }
    }
}

/// A Python with the packages, and the program to audit.
struct Auditor {
    root: PathBuf,
    /// Cargo's target folder.
    target: PathBuf,
    python: PathBuf,
    ioassay: PathBuf,
}

impl Auditor {
    fn new(root: &Path, ioassay: PathBuf) -> Result<Auditor> {
        let target = ioassay.ancestors().nth(2).context("cargo builds into its folder")?.to_owned();
        let python = python::environment(&target.join("audit"), &PACKAGES, "numpy, scipy.stats")?;
        Ok(Auditor { root: root.to_owned(), target, python, ioassay })
    }

    fn scripts(&self) -> PathBuf {
        self.root.join("xtask/audit")
    }

    /// The audit's Python, set up to leave no files beside its scripts.
    fn python(&self) -> Command {
        let mut command = Command::new(&self.python);
        command.arg("-B").env("IOASSAY", &self.ioassay);
        command
    }

    /// Runs the audit's own tests, and audits the kept records and fresh ones. Most of a fresh run
    /// is waiting, so all are made meanwhile: only arithmetic is checked here.
    fn test(&self) -> Result<()> {
        let kept = fs::read_dir(self.root.join("records"))?;
        let kept = kept.map(|entry| Ok(entry?.path())).collect::<Result<Vec<PathBuf>>>()?;
        let is_record = |path: &PathBuf| path.extension() == Some(OsStr::new("jsonl"));
        let mut kept: Vec<PathBuf> = kept.into_iter().filter(is_record).collect();
        kept.sort();
        let folder = TempDir::new_in(&self.target)?;
        thread::scope(|scope| {
            let fresh = FRESH.map(|recipe| scope.spawn(|| self.measure(folder.path(), recipe)));
            let itself = scope.spawn(|| self.test_itself());
            let kept = self.audit(&kept);
            let end = "no thread panics";
            let fresh: Result<Vec<PathBuf>> =
                fresh.into_iter().map(|fresh| fresh.join().expect(end)).collect();
            itself.join().expect(end)?;
            kept?;
            self.audit(&fresh?)
        })
    }

    fn audit(&self, records: &[impl AsRef<OsStr>]) -> Result<()> {
        let mut command = self.python();
        command.arg(self.scripts().join("main.py")).arg(&self.ioassay).args(records);
        let status = command.status().context("starting the audit")?;
        ensure!(status.success(), "ioassay and the audit differ");
        Ok(())
    }

    /// Runs the audit's own tests: it must detect falsified values.
    fn test_itself(&self) -> Result<()> {
        let mut command = self.python();
        command.args(["-m", "unittest", "discover", "--start-directory"]).arg(self.scripts());
        command.current_dir(&self.root);
        let status = command.status().context("starting the tests of the audit")?;
        ensure!(status.success(), "the audit does not find what it must");
        Ok(())
    }

    /// Makes a record of `recipe` in `folder`.
    fn measure(&self, folder: &Path, recipe: &str) -> Result<PathBuf> {
        let record = folder.join(recipe).with_extension("jsonl");
        let mut command = Command::new(&self.ioassay);
        command.arg("run").arg(self.scripts().join("fresh").join(recipe).with_extension("toml"));
        command.args(["--quiet", "--record"]).arg(&record);
        if recipe != "memory" {
            command.arg("--control").arg(folder);
        }
        if recipe == "load" {
            command.arg("--hold=p99<20ms,p90<5ms");
        }
        // Status 1 means that a requested case has no figure, which does not matter here.
        programs::output(command, 0..=1)?;
        Ok(record)
    }
}
