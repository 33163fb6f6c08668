//! Wheels: pip installs the program, and no Python.

use super::needs::Tools;
use super::source::SourceClone;
use super::{notices, program};
use crate::arch::Arch;
use anyhow::{Result, ensure};
use std::path::Path;

/// The last of the licenses that the project's metadata names.
const LAST: &str = "\"LICENSE-APACHE\"]";

/// Makes the wheel for `arch` in the folder `out`.
///
/// The program needs no C library, so the wheel is for systems with glibc and with musl.
pub(super) fn make(source: &SourceClone, tools: &Tools, arch: Arch, out: &Path) -> Result<()> {
    add_notices(source)?;
    let maturin = source.shell.cmd(&tools.maturin).quiet().args(["build", "--quiet", "--locked"]);
    let maturin = maturin.args(["--release", "--strip=false", "--target", &arch.target()]);
    let maturin = maturin.args(["--compatibility", "manylinux2014", "musllinux_1_1"]);
    let maturin = maturin.arg("--out").arg(out);
    Ok(maturin.env("CARGO_ENCODED_RUSTFLAGS", program::flags(source)?).run()?)
}

/// Adds the notices of others to the licenses in the clone. They are made for a release, so the
/// metadata in the repository cannot name them.
fn add_notices(source: &SourceClone) -> Result<()> {
    let (shell, path) = (&source.shell, "pyproject.toml");
    let text = shell.read_file(path)?;
    if text.contains(notices::NAME) {
        return Ok(());
    }
    ensure!(text.contains(LAST), "{path} does not end its licenses in {LAST}");
    shell.copy_file(notices::path(source), ".")?;
    shell.write_file(
        path,
        text.replace(LAST, &format!("\"LICENSE-APACHE\", \"{}\"]", notices::NAME)),
    )?;
    Ok(())
}
