//! Packages of distributions and of pip. What is in those of distributions is metadata of the
//! package of cargo.

use super::needs::Tools;
use super::source::SourceClone;
use super::{notices, program};
use crate::arch::Arch;
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};

/// Makes the `.deb` for `arch` in the folder `out`.
pub(super) fn make_deb(source: &SourceClone, arch: Arch, out: &Path) -> Result<()> {
    let cargo = source.cargo().args(["deb", "--quiet", "--no-build", "--no-strip"]);
    let cargo = cargo.args(["--package=ioassay", "--target", &arch.target(), "--output"]).arg(out);
    Ok(cargo.run()?)
}

/// Makes the `.rpm` for `arch` in the folder `out`.
pub(super) fn make_rpm(source: &SourceClone, arch: Arch, out: &Path) -> Result<()> {
    let cargo = source.cargo().args(["generate-rpm", "--package=crates/ioassay"]);
    let cargo = cargo.args(["--target", &arch.target(), "--payload-compress=gzip", "--output"]);
    Ok(cargo.arg(out).run()?)
}

/// The last of the licenses that the project's metadata for pip names.
const LAST: &str = "\"LICENSE-APACHE\"]";

/// Makes the wheel for `arch` in the folder `out`: pip installs the program, and no Python.
///
/// The program needs no C library, so the wheel is for systems with glibc and with musl.
pub(super) fn make_wheel(
    source: &SourceClone,
    tools: &Tools,
    arch: Arch,
    out: &Path,
) -> Result<()> {
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
    let all = format!("\"LICENSE-APACHE\", \"{}\"]", notices::NAME);
    Ok(shell.write_file(path, text.replace(LAST, &all))?)
}

/// The only file in `folder` whose name has all `parts`.
pub(super) fn find(folder: &Path, parts: &[&str]) -> Result<PathBuf> {
    let entries = folder.read_dir().with_context(|| folder.display().to_string())?;
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<PathBuf>>>()?;
    let has_all = |path: &&PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        parts.iter().all(|part| name.contains(part))
    };
    let found: Vec<&PathBuf> = paths.iter().filter(has_all).collect();
    ensure!(found.len() == 1, "{} has {} files like {parts:?}", folder.display(), found.len());
    Ok(found[0].clone())
}
