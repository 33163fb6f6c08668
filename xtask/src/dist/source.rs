//! The sources of a release: a clone of the commit.
//!
//! Nothing uncommitted gets into a package, and nothing in it depends on where or when it was made.

use super::needs::Tools;
use crate::programs;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use xshell::{Cmd, Shell, cmd};

/// A clone, and a shell in its folder. The shell's environment is that of all makers of packages.
#[derive(Debug)]
pub(super) struct SourceClone {
    pub(super) shell: Shell,
    pub(super) folder: PathBuf,
    /// Cargo's folder; it stays if the source is cloned again.
    pub(super) target: PathBuf,
    pub(super) version: String,
    /// The commit's time: seconds since 1970.
    pub(super) seconds: String,
    /// The same, as mail and Debian's changelogs write it.
    pub(super) date: String,
}

impl SourceClone {
    /// Clones a commit of `root`, below `place`.
    pub(super) fn clone_of(
        root: &Path,
        commit: &str,
        place: &Path,
        tools: &Tools,
    ) -> Result<SourceClone> {
        let shell = Shell::new()?;
        let (folder, target) = (place.join("source"), place.join("target"));
        shell.remove_path(&folder)?;
        shell.create_dir(place)?;
        cmd!(shell, "git clone --quiet --no-checkout {root} {folder}").quiet().run()?;
        shell.change_dir(&folder);
        cmd!(shell, "git checkout --quiet --detach {commit}").quiet().run()?;
        let told = |format: &str| cmd!(shell, "git log -1 --format={format}").quiet().read();
        let (seconds, date) = (told("%ct")?, told("%cD")?);
        for (name, value) in [
            ("SOURCE_DATE_EPOCH", seconds.as_str()),
            ("PATH", &tools.path),
            ("LC_ALL", "C.UTF-8"),
            ("TZ", "UTC"),
        ] {
            shell.set_var(name, value);
        }
        shell.set_var("CARGO_TARGET_DIR", &target);
        let manifest: toml::Table = shell.read_file("Cargo.toml")?.parse()?;
        let version = manifest["workspace"]["package"]["version"].as_str();
        let version = version.context("the workspace has no version")?.to_owned();
        Ok(SourceClone { shell, folder, target, version, seconds, date })
    }

    /// Cargo, in the folder.
    pub(super) fn cargo(&self) -> Cmd<'_> {
        programs::cargo(&self.shell)
    }

    /// What is in the package besides the code. [`super::staged`] writes it.
    pub(super) fn staged(&self) -> PathBuf {
        self.folder.join("crates/ioassay/staged")
    }
}

/// The commit that is checked out at `root`.
pub(super) fn commit(shell: &Shell, root: &Path) -> Result<String> {
    Ok(cmd!(shell, "git -C {root} rev-parse HEAD").quiet().read()?)
}

/// Whether the checkout at `root` has changes that no package will have.
pub(super) fn has_changes(shell: &Shell, root: &Path) -> Result<bool> {
    let status = cmd!(shell, "git -C {root} status --porcelain --untracked-files=no");
    Ok(!status.quiet().read()?.is_empty())
}
