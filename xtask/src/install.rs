//! Packages that tests and benchmarks need in addition to the build's.

use anyhow::{Context, Result, ensure};
use std::env;
use std::path::Path;
use xshell::{Shell, cmd};

/// A package that tests need.
struct Need {
    /// Its Debian name.
    package: &'static str,
    /// What shows that it is installed.
    sign: Sign,
    /// The tests that are skipped without it.
    tests: &'static str,
}

/// How to detect that a package is installed.
enum Sign {
    /// One of its programs.
    Program(&'static str),
    /// One of its files.
    File(&'static str),
    /// One of its programs, extracted on its own: installing the package would start its server.
    ProgramAlone(&'static str),
}

const NEEDS: [Need; 22] = [
    Need {
        package: "mount",
        sign: Sign::Program("losetup"),
        tests: "witness: tests that mount their own file systems",
    },
    Need {
        package: "e2fsprogs",
        sign: Sign::Program("mkfs.ext4"),
        tests: "witness: ext4, on a loop device and on zram",
    },
    Need { package: "xfsprogs", sign: Sign::Program("mkfs.xfs"), tests: "witness: xfs" },
    Need { package: "btrfs-progs", sign: Sign::Program("mkfs.btrfs"), tests: "witness: btrfs" },
    Need {
        package: "bindfs",
        sign: Sign::Program("bindfs"),
        tests: "witness and ioassay: FUSE file systems",
    },
    Need {
        package: "strace",
        sign: Sign::Program("strace"),
        tests: "ioassay: system calls that fail or are delayed",
    },
    Need {
        package: "gcc",
        sign: Sign::Program("gcc"),
        tests: "ioassay: peers in C, and system calls that fail or return short",
    },
    Need {
        package: "binutils",
        sign: Sign::Program("objdump"),
        tests: "ioassay: a peer's vector instructions",
    },
    Need {
        package: "python3-pandas",
        sign: Sign::File("/usr/lib/python3/dist-packages/pandas/__init__.py"),
        tests: "ioassay: pandas reads --csv",
    },
    Need {
        package: "prometheus",
        sign: Sign::ProgramAlone("promtool"),
        tests: "ioassay: promtool checks --openmetrics",
    },
    Need { package: "zsh", sign: Sign::Program("zsh"), tests: "ioassay: completions in zsh" },
    Need { package: "fish", sign: Sign::Program("fish"), tests: "ioassay: completions in fish" },
    Need {
        package: "mandoc",
        sign: Sign::Program("mandoc"),
        tests: "ioassay: manual pages, by mandoc",
    },
    Need {
        package: "groff",
        sign: Sign::Program("groff"),
        tests: "ioassay: manual pages, by groff",
    },
    Need {
        package: "chromium",
        sign: Sign::Program("chromium"),
        tests: "ioassay: pages in a browser",
    },
    Need {
        package: "openjdk-17-jdk-headless",
        sign: Sign::Program("javac"),
        tests: "ioassay: peers in Java",
    },
    Need {
        package: "fio",
        sign: Sign::Program("fio"),
        tests: "ioassay: evidence for fio's figures",
    },
    Need {
        package: "likwid",
        sign: Sign::Program("likwid-bench"),
        tests: "ioassay: likwid-bench as a peer",
    },
    Need {
        package: "sysbench",
        sign: Sign::Program("sysbench"),
        tests: "ioassay: sysbench as a peer",
    },
    Need {
        package: "qemu-system-x86",
        sign: Sign::Program("qemu-system-x86_64"),
        tests: "laboratory: all emulated machines",
    },
    Need {
        package: "mmdebstrap",
        sign: Sign::Program("mmdebstrap"),
        tests: "laboratory: the root image of emulated machines",
    },
    Need {
        package: "busybox-static",
        sign: Sign::Program("busybox"),
        tests: "laboratory: the archives that emulated machines boot from",
    },
];

/// Where to put programs that no package manager manages.
const LOCAL_FOLDER: &str = "/usr/local/bin";

/// Where system administration programs are; not every user's `PATH` includes these.
const ADMINISTRATORS_FOLDERS: [&str; 2] = ["/usr/sbin", "/sbin"];

/// Installs missing packages, as root on Debian. Names those still missing and the tests that are
/// skipped without them. A missing package is not an error: each test reports what it skips.
pub(crate) fn run(shell: &Shell) -> Result<()> {
    let missing = missing();
    if !missing.is_empty() && may_install(shell)? {
        let packages: Vec<_> = missing.iter().map(|need| need.package).collect();
        println!("installing with apt-get: {}", packages.join(", "));
        if let Err(error) = install_missing(shell, &missing) {
            println!("{error}");
        }
    }
    for need in self::missing() {
        println!("{} is missing; skipped: {}", need.package, need.tests);
    }
    Ok(())
}

fn install_missing(shell: &Shell, missing: &[&Need]) -> Result<()> {
    let is_whole = |need: &&&Need| !matches!(need.sign, Sign::ProgramAlone(_));
    let packages: Vec<_> = missing.iter().filter(is_whole).map(|need| need.package).collect();
    install(shell, &packages)?;
    for need in missing {
        if let Sign::ProgramAlone(program) = need.sign {
            take_out(shell, need.package, program)?;
        }
    }
    Ok(())
}

/// Ensures that `program` is available: installs its Debian `package`, as root on Debian.
///
/// # Errors
/// If it is missing and cannot be installed.
pub(crate) fn program(shell: &Shell, package: &str, program: &str) -> Result<()> {
    if !is_there(program) && may_install(shell)? {
        println!("installing with apt-get: {package}");
        install(shell, &[package])?;
    }
    ensure!(
        is_there(program),
        "{program} is missing: install {package}, or run this as root on Debian"
    );
    Ok(())
}

/// Installs a Debian `package`, as root on Debian.
///
/// # Errors
/// On other systems, or if it cannot be installed.
pub(crate) fn package(shell: &Shell, package: &str) -> Result<()> {
    ensure!(may_install(shell)?, "install {package}, or run this as root on Debian");
    println!("installing with apt-get: {package}");
    install(shell, &[package])
}

fn missing() -> Vec<&'static Need> {
    let is_missing = |need: &&Need| match need.sign {
        Sign::Program(program) | Sign::ProgramAlone(program) => !is_there(program),
        Sign::File(file) => !Path::new(file).exists(),
    };
    NEEDS.iter().filter(is_missing).collect()
}

fn is_there(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let administrators = ADMINISTRATORS_FOLDERS.iter().map(Path::new);
    let users = env::split_paths(&path);
    users.chain(administrators.map(Path::to_owned)).any(|folder| folder.join(program).is_file())
}

/// Whether this is root on Debian or a derivative.
fn may_install(shell: &Shell) -> Result<bool> {
    if !Path::new("/etc/debian_version").exists() || !is_there("apt-get") {
        return Ok(false);
    }
    Ok(cmd!(shell, "id -u").quiet().read()? == "0")
}

fn install(shell: &Shell, packages: &[&str]) -> Result<()> {
    let _frontend = shell.push_env("DEBIAN_FRONTEND", "noninteractive");
    cmd!(shell, "apt-get update --quiet --quiet").run()?;
    let install = cmd!(shell, "apt-get install --quiet --quiet --yes --no-install-recommends");
    install.args(packages).run()?;
    Ok(())
}

/// Downloads `package` into a temporary folder and extracts only `program`: nothing else is
/// installed, and no server starts. Requires up-to-date package lists.
fn take_out(shell: &Shell, package: &str, program: &str) -> Result<()> {
    let folder = shell.create_temp_dir()?;
    let _there = shell.push_dir(folder.path());
    // Otherwise apt-get downloads as a user who cannot write to this folder.
    cmd!(shell, "apt-get download --quiet --quiet -o APT::Sandbox::User=root {package}").run()?;
    let file = shell.read_dir(".")?.into_iter().next().context("apt-get downloaded nothing")?;
    cmd!(shell, "dpkg-deb --extract {file} unpacked").run()?;
    cmd!(shell, "install unpacked/usr/bin/{program} {LOCAL_FOLDER}").run()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_there_or_not() {
        assert!(is_there("sh"), "every system has one");
        assert!(!is_there("no program has this name"));
    }
}
