//! Programs that only packaging needs. The test command does not install them.

use crate::arch::{self, Arch};
use crate::{install, programs, python};
use anyhow::{Context, Result, ensure};
use rustix::process::geteuid;
use std::env;
use std::path::{Path, PathBuf};
use xshell::Shell;

/// Programs, each with its Debian package.
const PROGRAMS: [(&str, &str); 5] = [
    ("git", "git"),
    ("lintian", "lintian"),
    ("rpm", "rpm"),
    ("mmdebstrap", "mmdebstrap"),
    ("unshare", "util-linux"),
];

/// The Debian package of the programs that emulate other processors.
const EMULATORS: &str = "qemu-user";

/// Cargo's subcommands that make packages, with the features that their programs need besides the
/// default ones. These versions make equal packages of equal programs.
const SUBCOMMANDS: [(&str, &str, &[&str]); 4] = [
    ("cargo-deb", "3.8.0", &[]),
    ("cargo-generate-rpm", "0.21.1", &[]),
    ("cargo-cyclonedx", "0.5.9", &[]),
    ("cargo-about", "0.9.3", &["cli"]),
];

/// What makes wheels.
const MATURIN: &str = "maturin==1.16.0";

/// The programs that make packages.
#[derive(Debug)]
pub(super) struct Tools {
    /// The `PATH` with cargo's subcommands.
    pub(super) path: String,
    pub(super) maturin: PathBuf,
}

/// Finds what making packages needs, and installs in `folder` what is missing.
///
/// # Errors
/// Names what is missing and cannot be installed.
pub(super) fn tools(shell: &Shell, folder: &Path) -> Result<Tools> {
    for arch in arch::ALL {
        let target = arch.target();
        let is_there = install::has_target(&target)?;
        ensure!(is_there, "Rust's library for {target} is missing: rustup target add {target}");
    }
    let mut folders = Vec::new();
    for (name, version, features) in SUBCOMMANDS {
        let place = folder.join(format!("{name}-{version}"));
        if !place.join("bin").join(name).is_file() {
            println!("cargo install {name}@{version}");
            let features = features.iter().flat_map(|feature| ["--features", feature]);
            let install = programs::cargo(shell).args(["install", "--quiet", "--locked"]);
            let install = install.args(features).arg("--root").arg(&place);
            install.arg(format!("{name}@{version}")).run()?;
            // Without a feature that it needs, cargo installs nothing, and calls that a success.
            ensure!(place.join("bin").join(name).is_file(), "{name}@{version} has no program");
        }
        folders.push(place.join("bin"));
    }
    let before = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths(folders.into_iter().chain(env::split_paths(&before)))?;
    let path = path.into_string().ok().context("the PATH is not text")?;
    let python = python::environment(&folder.join("maturin"), &[MATURIN], "maturin")?;
    Ok(Tools { path, maturin: python.with_file_name("maturin") })
}

/// Ensures that the programs that try packages are installed, as root on Debian.
///
/// # Errors
/// Names one that is missing and cannot be installed.
pub(super) fn for_trying() -> Result<()> {
    ensure!(geteuid().is_root(), "trying packages needs a root of their own: run this as root");
    for (program, package) in PROGRAMS {
        if !install::is_there(program) {
            install::package(package)?;
        }
    }
    let others = arch::ALL.into_iter().filter(|arch| !arch.is_of_this_machine());
    if !others.map(emulator).all(|program| install::is_there(&program)) {
        install::package(EMULATORS)?;
    }
    Ok(())
}

/// The program that runs another processor's programs.
pub(super) fn emulator(arch: Arch) -> String {
    format!("qemu-{}", arch.name())
}
