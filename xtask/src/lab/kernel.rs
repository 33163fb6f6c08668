//! The kernels that machines boot, and their Debian packages.

use crate::arch::Arch;
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::cmp::Ordering;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;
use xshell::{Shell, cmd};

/// What images are made of.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ImageTable {
    /// Packages on the host, and those for 64-bit ARM.
    pub(super) needs: Vec<String>,
    pub(super) arm_needs: Vec<String>,
    /// The Debian suite of the root image, and its packages.
    pub(super) suite: String,
    pub(super) packages: Vec<String>,
    /// Modules needed to mount the root image, in load order.
    pub(super) first: Vec<String>,
    /// Module folders that machines may need.
    pub(super) folders: Vec<String>,
    kernel: Vec<LinuxKernel>,
}

/// A kernel, named as in the table of machines.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LinuxKernel {
    pub(super) name: String,
    pub(super) arch: Arch,
    /// The Debian suite that contains it.
    suite: String,
    /// Selects the newest package whose name matches.
    pattern: String,
}

pub(super) static TABLE: LazyLock<ImageTable> =
    LazyLock::new(|| toml::from_str(include_str!("images.toml")).expect("the table is whole"));

/// The kernel with this name.
pub(super) fn named(name: &str) -> Option<&'static LinuxKernel> {
    TABLE.kernel.iter().find(|kernel| kernel.name == name)
}

const MIRROR: &str = "http://deb.debian.org/";
const KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

impl LinuxKernel {
    /// Downloads the newest matching kernel with its modules and unpacks it below `work`. It uses
    /// private package lists, so the suites configured on this machine do not matter.
    ///
    /// # Errors
    /// If the package source is unreachable or has no such kernel.
    pub(super) fn unpack(&self, shell: &Shell, work: &Path, into: &Path) -> Result<()> {
        let options = &private_lists(work, &self.suite, self.arch)?;
        let pattern = &self.pattern;
        cmd!(shell, "apt-get {options...} --quiet --quiet update").quiet().run()?;
        let search = ["search", "--names-only"];
        let names = cmd!(shell, "apt-cache {options...} {search...} {pattern}").quiet().read()?;
        let names = names.lines().filter_map(|line| line.split_whitespace().next());
        let newest = names.max_by(|a, b| by_version(a, b));
        let newest = newest.with_context(|| format!("{} has no {pattern}", self.suite))?;
        let version = newest.trim_start_matches("linux-image-");
        // Since 7.3, this package is empty, and three others contain the kernel.
        let parts = format!("^linux-(image|base|binary|modules)-{}$", version.replace('+', "\\+"));
        let names = cmd!(shell, "apt-cache {options...} {search...} {parts}").quiet().read()?;
        let names = names.lines().filter_map(|line| line.split_whitespace().next());
        let names: Vec<&str> = names.collect();
        let _there = shell.push_dir(work);
        cmd!(shell, "apt-get {options...} --quiet --quiet download {names...}").quiet().run()?;
        let script = "for package in linux-*.deb; do dpkg-deb -x \"$package\" \"$1\"; done";
        Ok(cmd!(shell, "bash -e -c {script} unpack {into}").quiet().run()?)
    }
}

/// Options that make apt use lists of one suite and architecture in `folder`.
fn private_lists(folder: &Path, suite: &str, arch: Arch) -> Result<Vec<String>> {
    let apt = folder.join("apt");
    for needed in ["lists/partial", "archives/partial"] {
        fs::create_dir_all(apt.join(needed))?;
    }
    ensure!(Path::new(KEYS).exists(), "{KEYS} is missing: install debian-archive-keyring");
    let archive = if suite.ends_with("-security") { "debian-security" } else { "debian" };
    let source = format!("deb [signed-by={KEYS}] {MIRROR}{archive} {suite} main\n");
    fs::write(apt.join("sources"), source)?;
    fs::write(apt.join("status"), "")?;
    let (arch, apt) = (arch.debian(), apt.display());
    let settings = [
        format!("Dir::Etc::SourceList={apt}/sources"),
        "Dir::Etc::SourceParts=/dev/null".to_owned(),
        format!("Dir::State::lists={apt}/lists"),
        format!("Dir::State::status={apt}/status"),
        format!("Dir::Cache={apt}"),
        format!("APT::Architecture={arch}"),
        format!("APT::Architectures={arch}"),
        "Acquire::Languages=none".to_owned(),
        "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false".to_owned(),
        "APT::Sandbox::User=root".to_owned(),
    ];
    Ok(settings.into_iter().flat_map(|setting| ["-o".to_owned(), setting]).collect())
}

/// Compares names, treating digits as numbers.
fn by_version(a: &str, b: &str) -> Ordering {
    let numbers = |name: &str| -> Vec<u64> {
        name.split(|letter: char| !letter.is_ascii_digit())
            .filter_map(|digits| digits.parse().ok())
            .collect()
    };
    numbers(a).cmp(&numbers(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_kernel_is_newer_by_number() {
        assert_eq!(by_version("linux-image-6.1.0-9", "linux-image-6.1.0-56"), Ordering::Less);
        assert_eq!(by_version("6.12.117", "6.12.9"), Ordering::Greater);
    }
}
