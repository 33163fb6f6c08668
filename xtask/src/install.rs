//! Packages that tests, benchmarks and the lab need in addition to the build's.

use anyhow::{Context, Result, ensure};
use rustix::process::geteuid;
use serde::Deserialize;
use std::env;
use std::path::{Path, PathBuf};
use xshell::{Shell, cmd};

/// The table's text.
const TABLE: &str = include_str!("packages.toml");

/// The table of packages.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PackageTable {
    package: Vec<Package>,
}

/// A package.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Package {
    /// Its Debian name.
    name: String,
    /// What shows that it is installed.
    sign: InstalledSign,
    /// The tests that are skipped without it.
    tests: Option<String>,
}

/// How to detect that a package is installed.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum InstalledSign {
    /// One of its programs.
    Program(String),
    /// One of its files.
    File(String),
    /// Programs of it, extracted on their own: installing the package would start its server.
    ProgramsAlone(Vec<String>),
}

/// Where to put programs that no package manager manages.
const LOCAL_FOLDER: &str = "/usr/local/bin";

/// Where system administration programs are; not every user's `PATH` includes these.
const ADMINISTRATORS_FOLDERS: [&str; 2] = ["/usr/sbin", "/sbin"];

/// Installs missing packages that tests need, as root on Debian. Names those still missing and the
/// tests that are skipped without them. A missing package is not an error: each test reports what
/// it skips.
pub(crate) fn run() -> Result<()> {
    let packages = table()?;
    let missing = || packages.iter().filter(|it| it.tests.is_some() && !it.is_there());
    if missing().next().is_some() && may_install() {
        let names: Vec<_> = missing().map(|package| package.name.as_str()).collect();
        println!("installing with apt-get: {}", names.join(", "));
        if let Err(error) = install_missing(&missing().collect::<Vec<_>>()) {
            println!("{error}");
        }
    }
    for package in missing() {
        let tests = package.tests.as_deref().unwrap_or_default();
        println!("{} is missing; skipped: {tests}", package.name);
    }
    Ok(())
}

fn install_missing(missing: &[&Package]) -> Result<()> {
    let is_whole = |package: &&&Package| !matches!(package.sign, InstalledSign::ProgramsAlone(_));
    let names: Vec<_> = missing.iter().filter(is_whole).map(|it| it.name.as_str()).collect();
    install(&names)?;
    for package in missing {
        if let InstalledSign::ProgramsAlone(programs) = &package.sign {
            take_out(&package.name, programs)?;
        }
    }
    Ok(())
}

/// Ensures that the Debian package `name`, one of the table, is installed, as root on Debian.
///
/// # Errors
/// If it is missing and cannot be installed.
pub(crate) fn ensure(name: &str) -> Result<()> {
    let packages = table()?;
    let found = packages.iter().find(|package| package.name == name);
    let found = found.with_context(|| format!("the table of packages lacks {name}"))?;
    if !found.is_there() {
        package(name)?;
    }
    ensure!(found.is_there(), "{name} is installed, but lacks what it is needed for");
    Ok(())
}

/// Ensures that as many as possible of the Debian packages `names` are installed, and tells which
/// are not: what needs one of these says itself that it lacks it.
pub(crate) fn ensure_some(names: &[impl AsRef<str>]) {
    for name in names {
        if let Err(error) = ensure(name.as_ref()) {
            println!("{error:#}");
        }
    }
}

/// Installs a Debian `package`, as root on Debian.
///
/// # Errors
/// On other systems, or if it cannot be installed.
pub(crate) fn package(package: &str) -> Result<()> {
    ensure!(may_install(), "install {package}, or run this as root on Debian");
    println!("installing with apt-get: {package}");
    install(&[package])
}

fn table() -> Result<Vec<Package>> {
    let table: PackageTable = toml::from_str(TABLE).context("the table of packages")?;
    Ok(table.package)
}

impl Package {
    fn is_there(&self) -> bool {
        match &self.sign {
            InstalledSign::Program(program) => is_there(program),
            InstalledSign::ProgramsAlone(programs) => {
                programs.iter().all(|program| is_there(program))
            }
            InstalledSign::File(file) => Path::new(file).exists(),
        }
    }
}

/// Whether the `PATH` or a folder of administrators has `program`.
pub(crate) fn is_there(program: &str) -> bool {
    find(program).is_some()
}

/// Where the `PATH` or a folder of administrators has `program`.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(ADMINISTRATORS_FOLDERS.map(PathBuf::from));
    folders.map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// Whether this is root on Debian or a derivative.
fn may_install() -> bool {
    Path::new("/etc/debian_version").exists() && is_there("apt-get") && geteuid().is_root()
}

fn install(packages: &[&str]) -> Result<()> {
    let shell = Shell::new()?;
    let _frontend = shell.push_env("DEBIAN_FRONTEND", "noninteractive");
    cmd!(shell, "apt-get update --quiet --quiet").run()?;
    let install = cmd!(shell, "apt-get install --quiet --quiet --yes --no-install-recommends");
    install.args(packages).run()?;
    Ok(())
}

/// Downloads `package` into a temporary folder and extracts only `programs`: nothing else is
/// installed, and no server starts. Requires up-to-date package lists.
fn take_out(package: &str, programs: &[String]) -> Result<()> {
    let shell = Shell::new()?;
    let folder = shell.create_temp_dir()?;
    let _there = shell.push_dir(folder.path());
    // Otherwise apt-get downloads as a user who cannot write to this folder.
    cmd!(shell, "apt-get download --quiet --quiet -o APT::Sandbox::User=root {package}").run()?;
    let file = shell.read_dir(".")?.into_iter().next().context("apt-get downloaded nothing")?;
    cmd!(shell, "dpkg-deb --extract {file} unpacked").run()?;
    for program in programs {
        let folders = ["usr/bin", "usr/sbin"].map(|folder| format!("unpacked/{folder}/{program}"));
        let found = folders.iter().find(|path| shell.path_exists(path));
        let found = found.with_context(|| format!("{package} has no program {program}"))?;
        cmd!(shell, "install {found} {LOCAL_FOLDER}").run()?;
    }
    Ok(())
}

/// Whether Rust has its library for `target`. If not, rustup is asked for it.
pub(crate) fn has_target(target: &str) -> Result<bool> {
    let shell = Shell::new()?;
    let is_there = || {
        let folder = cmd!(shell, "rustc --print target-libdir --target {target}");
        folder.quiet().ignore_stderr().read().is_ok_and(|folder| Path::new(&folder).is_dir())
    };
    if !is_there() {
        println!("rustup target add {target}");
        // This may fail without rustup or a network; the check below reports it.
        let _ = cmd!(shell, "rustup target add {target}").quiet().ignore_stderr().run();
    }
    Ok(is_there())
}

#[cfg(test)]
pub(crate) use tests::check_known;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Checks that the table has all packages of `names`.
    #[track_caller]
    pub(crate) fn check_known<'a>(names: impl IntoIterator<Item = &'a str>) {
        let packages = table().expect("it is whole");
        for name in names {
            assert!(packages.iter().any(|package| package.name == name), "{name}");
        }
    }

    #[test]
    fn a_package_is_listed_once() {
        let packages = table().expect("it is whole");
        let names: BTreeSet<&str> = packages.iter().map(|package| package.name.as_str()).collect();
        assert_eq!(names.len(), packages.len());
    }

    #[test]
    fn a_program_is_there_or_not() {
        assert!(is_there("sh"), "every system has one");
        assert!(!is_there("no program has this name"));
    }
}
