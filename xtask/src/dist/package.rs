//! Packages of distributions. What is in them is metadata of the package of cargo.

use super::source::SourceClone;
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
