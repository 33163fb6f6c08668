//! The packages that tests and benchmarks need, beyond what builds them.

use anyhow::{Result, ensure};
use std::env;
use std::path::Path;
use xshell::{Shell, cmd};

/// A package that tests need.
struct Need {
    /// Its name in Debian.
    package: &'static str,
    /// A program of it, by which it is known to be there.
    program: &'static str,
    /// The tests that skip themselves without it.
    tests: &'static str,
}

const NEEDS: [Need; 9] = [
    Need {
        package: "mount",
        program: "losetup",
        tests: "witness: all that mount a file system of their own",
    },
    Need {
        package: "e2fsprogs",
        program: "mkfs.ext4",
        tests: "witness: ext4, on a loop device and on zram",
    },
    Need { package: "xfsprogs", program: "mkfs.xfs", tests: "witness: xfs" },
    Need { package: "btrfs-progs", program: "mkfs.btrfs", tests: "witness: btrfs" },
    Need {
        package: "bindfs",
        program: "bindfs",
        tests: "witness and ioassay: a file system of another process (FUSE)",
    },
    Need {
        package: "strace",
        program: "strace",
        tests: "ioassay: calls of the OS that fail, or come late",
    },
    Need {
        package: "gcc",
        program: "gcc",
        tests: "ioassay: peers in C, and calls that the OS refuses or answers short",
    },
    Need { package: "binutils", program: "objdump", tests: "ioassay: the vectors of a peer" },
    Need { package: "openjdk-17-jdk-headless", program: "javac", tests: "ioassay: peers in Java" },
];

/// Where administrators' programs are, which are not in every user's `PATH`.
const ADMINISTRATORS_FOLDERS: [&str; 2] = ["/usr/sbin", "/sbin"];

/// Installs what is missing, as root on Debian; names what is then still missing, and the tests
/// that this skips. A missing package fails nothing: the tests say by name what they skip.
pub(crate) fn run(shell: &Shell) -> Result<()> {
    let missing = missing();
    if !missing.is_empty() && may_install(shell)? {
        let packages: Vec<_> = missing.iter().map(|need| need.package).collect();
        println!("installing with apt-get: {}", packages.join(", "));
        if let Err(error) = install(shell, &packages) {
            println!("{error}");
        }
    }
    for need in self::missing() {
        println!("{} is missing; skipped: {}", need.package, need.tests);
    }
    Ok(())
}

/// Makes sure that `program` is there: installs its Debian `package`, as root on Debian.
///
/// # Errors
/// When it is missing and cannot be installed.
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

fn missing() -> Vec<&'static Need> {
    NEEDS.iter().filter(|need| !is_there(need.program)).collect()
}

fn is_there(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let administrators = ADMINISTRATORS_FOLDERS.iter().map(Path::new);
    let users = env::split_paths(&path);
    users.chain(administrators.map(Path::to_owned)).any(|folder| folder.join(program).is_file())
}

/// Whether this is root on Debian or a system made from it.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_there_or_not() {
        assert!(is_there("sh"), "every system has one");
        assert!(!is_there("no program has this name"));
    }
}
