//! Static programs: they run on any Linux, whatever C library it has.

use super::source::SourceClone;
use crate::arch::Arch;
use anyhow::{Context, Result, ensure};
use std::env;
use std::fs;
use std::path::PathBuf;
use xshell::cmd;

/// What cargo puts between several flags of rustc.
const SEPARATOR: &str = "\u{1f}";

/// Builds the program of `source` for `arch`.
pub(super) fn build(source: &SourceClone, arch: Arch) -> Result<PathBuf> {
    let target = arch.target();
    println!("building for {target}");
    let options = ["--quiet", "--locked", "--release", "--package=ioassay", "--bin=ioassay"];
    let cargo = source.cargo().arg("build").args(options).args(["--target", &target]);
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags(source)?).run()?;
    let program = path(source, arch);
    let bytes = fs::read(&program).with_context(|| program.display().to_string())?;
    let place = source.folder.as_os_str().as_encoded_bytes();
    let names_place = bytes.windows(place.len()).any(|part| part == place);
    ensure!(!names_place, "{} names the folder that it was built in", program.display());
    Ok(program)
}

/// Where [`build`] puts the program.
pub(super) fn path(source: &SourceClone, arch: Arch) -> PathBuf {
    source.target.join(arch.target()).join("release/ioassay")
}

/// The flags of rustc, for cargo. The linker and the C library are Rust's own, so that a package
/// depends on Rust's version and on nothing else of this machine.
pub(super) fn flags(source: &SourceClone) -> Result<String> {
    let shell = &source.shell;
    let sysroot = cmd!(shell, "rustc --print sysroot").quiet().read()?;
    let version = cmd!(shell, "rustc --version --verbose").quiet().read()?;
    let hash = version.lines().find_map(|line| line.strip_prefix("commit-hash: "));
    let library = format!("/rustc/{}", hash.context("rustc has no commit hash")?);
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(env::home_dir()?.join(".cargo")));
    let home = home.context("cargo has no home: set CARGO_HOME")?;
    let renamed = [
        (source.folder.display().to_string(), "/ioassay"),
        (home.display().to_string(), "/cargo"),
        // Where the sources of its library are installed, it names them by their path, and
        // elsewhere in this way.
        (format!("{sysroot}/lib/rustlib/src/rust"), &library),
    ];
    let linking =
        ["-Clinker=rust-lld", "-Clink-self-contained=yes", "-Ctarget-feature=+crt-static"];
    let flags = linking.map(str::to_owned).into_iter();
    let renames = renamed.map(|(from, to)| format!("--remap-path-prefix={from}={to}"));
    Ok(flags.chain(renames).collect::<Vec<_>>().join(SEPARATOR))
}
