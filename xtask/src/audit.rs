//! Audits records: Python programs that share no code with ioassay (`xtask/audit`) recompute from
//! the raw lines what `ioassay report` prints.

use crate::programs::{self, Build};
use crate::unable::Demand;
use crate::{files, python};
use anyhow::{Context, Result, ensure};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
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
pub(crate) fn run(records: &[PathBuf]) -> Result<()> {
    // A debug build is fast enough: the audit judges records and needs no meaningful timings.
    let ioassay = programs::ioassay(Build::Tests)?;
    match Auditor::new(ioassay) {
        Ok(auditor) if records.is_empty() => auditor.test(),
        Ok(auditor) => auditor.audit(records),
        Err(error) if !records.is_empty() || Demand::of_environment() == Demand::Everything => {
            Err(error)
        }
        Err(error) => {
            println!("skipped: records are not audited: {error:#}");
            Ok(())
        }
    }
}

/// The folder of the audit's programs.
fn scripts() -> PathBuf {
    crate::root().join("xtask/audit")
}

/// A Python with the packages, and the program to audit.
struct Auditor {
    /// Cargo's target folder.
    target: PathBuf,
    python: PathBuf,
    ioassay: PathBuf,
}

impl Auditor {
    fn new(ioassay: PathBuf) -> Result<Auditor> {
        let target = ioassay.ancestors().nth(2).context("cargo builds into its folder")?.to_owned();
        let python = python::environment(&target.join("audit"), &PACKAGES, "numpy, scipy.stats")?;
        Ok(Auditor { target, python, ioassay })
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
        let kept = files::in_folder(&crate::root().join("records"), "jsonl")?;
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
        command.arg(scripts().join("main.py")).arg(&self.ioassay).args(records);
        let status = command.status().context("starting the audit")?;
        ensure!(status.success(), "ioassay and the audit differ");
        Ok(())
    }

    /// Runs the audit's own tests: it must detect falsified values.
    fn test_itself(&self) -> Result<()> {
        let mut command = self.python();
        command.args(["-m", "unittest", "discover", "--start-directory"]).arg(scripts());
        command.current_dir(crate::root());
        let status = command.status().context("starting the tests of the audit")?;
        ensure!(status.success(), "the audit does not find what it must");
        Ok(())
    }

    /// Makes a record of `recipe` in `folder`.
    fn measure(&self, folder: &Path, recipe: &str) -> Result<PathBuf> {
        let record = folder.join(recipe).with_extension("jsonl");
        let mut command = Command::new(&self.ioassay);
        command.arg("run").arg(scripts().join("fresh").join(recipe).with_extension("toml"));
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
