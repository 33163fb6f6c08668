//! The notices of what a program contains of others: the packages of cargo, Rust's own library and
//! musl. Their licenses ask for that in every copy.

use super::source::SourceClone;
use anyhow::{Result, ensure};
use std::path::PathBuf;

/// The name of the file, in all packages.
pub(super) const NAME: &str = "THIRD-PARTY";

/// What cargo knows nothing of.
const FIXED: &str = "xtask/dist/notices";

/// Writes the file to where [`path`] says.
pub(super) fn write(source: &SourceClone) -> Result<()> {
    let shell = &source.shell;
    let options = ["about", "generate", "--locked", "--fail", "--config=xtask/dist/about.toml"];
    let cargo = source.cargo().args(options);
    let cargo = cargo.args(["--manifest-path=crates/ioassay/Cargo.toml", "xtask/dist/about.hbs"]);
    let packages = cargo.quiet().ignore_stderr().read()?;
    for name in ["io-uring", "clap", "serde_json"] {
        ensure!(packages.contains(&format!("\n  {name} ")), "{NAME} lacks {name}:\n{packages}");
    }
    let text = shell.read_file(FIXED)? + &packages + "\n";
    ensure!(text.contains("musl") && text.contains("standard library of Rust"), "{FIXED}: {text}");
    shell.write_file(path(source), text)?;
    Ok(())
}

/// Where it is.
pub(super) fn path(source: &SourceClone) -> PathBuf {
    source.staged().join(NAME)
}
