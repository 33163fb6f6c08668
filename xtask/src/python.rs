//! Virtual environments of Python.

use crate::{install, programs};
use anyhow::{Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The Python of the virtual environment in `folder`, which is created if it is missing or cannot
/// import `modules`. Pip installs `packages` in it.
pub(crate) fn environment(folder: &Path, packages: &[&str], modules: &str) -> Result<PathBuf> {
    let python = folder.join("bin/python");
    let has_all = |python: &Path| {
        let mut command = Command::new(python);
        command.args(["-c", &format!("import {modules}")]);
        command.output().is_ok_and(|output| output.status.success())
    };
    if has_all(&python) {
        return Ok(python);
    }
    create(folder)?;
    println!("pip install {}", packages.join(" "));
    let mut command = Command::new(&python);
    command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    command.args(packages);
    programs::output(command, 0..=0)?;
    ensure!(has_all(&python), "{} cannot import {modules} after all", python.display());
    Ok(python)
}

/// Creates an empty virtual environment in `folder`, in place of what is there.
pub(crate) fn create(folder: &Path) -> Result<()> {
    let create = |base: &str| {
        let mut command = Command::new(base);
        command.args(["-m", "venv", "--clear"]).arg(folder);
        programs::output(command, 0..=0)
    };
    if create("python3").is_err() {
        install::package("python3-venv")?;
        create("/usr/bin/python3")?;
    }
    Ok(())
}
