//! Wheels: pip installs the program, and no Python.

use super::arch::Arch;
use super::needs::Tools;
use super::program;
use super::source::Source;
use anyhow::Result;
use std::path::Path;

/// Makes the wheel for `arch` in the folder `out`.
///
/// The program needs no C library, so the wheel is for systems with glibc and with musl.
pub(super) fn make(source: &Source, tools: &Tools, arch: Arch, out: &Path) -> Result<()> {
    let maturin = source.shell.cmd(&tools.maturin).quiet().args(["build", "--quiet", "--locked"]);
    let maturin = maturin.args(["--release", "--strip=false", "--target", &arch.target()]);
    let maturin = maturin.args(["--compatibility", "manylinux2014", "musllinux_1_1"]);
    let maturin = maturin.arg("--out").arg(out);
    Ok(maturin.env("CARGO_ENCODED_RUSTFLAGS", program::flags(source)?).run()?)
}
