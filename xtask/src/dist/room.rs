//! A fresh root: programs see nothing of this machine's files, and no network.

use anyhow::Result;
use std::path::{Path, PathBuf};
use xshell::{Cmd, Shell, cmd};

/// Debian's release of a fresh root.
const SUITE: &str = "bookworm";

/// The folder to measure in a fresh root.
pub(super) const DATA: &str = "/data";

/// Enters the root `$0`, which becomes a mount, as that of a container is, and runs the rest there.
/// What the OS shows of itself is there, too.
const ENTER: &str = "mount --bind \"$0\" \"$0\"; \
                     for it in proc sys dev; do mount --rbind /$it \"$0/$it\"; done; \
                     exec env --ignore-environment TERM=dumb PATH=/usr/sbin:/usr/bin:/sbin:/bin \
                     chroot \"$0\" \"$@\"";

/// A folder that is a root.
#[derive(Debug)]
pub(super) struct RootFolder<'a> {
    shell: &'a Shell,
    pub(super) folder: PathBuf,
}

impl<'a> RootFolder<'a> {
    /// An empty root in `folder`, in place of what is there.
    pub(super) fn empty(shell: &'a Shell, folder: &Path) -> Result<RootFolder<'a>> {
        shell.remove_path(folder)?;
        for inside in ["proc", "sys", "dev", "data"] {
            shell.create_dir(folder.join(inside))?;
        }
        Ok(RootFolder { shell, folder: folder.to_owned() })
    }

    /// The smallest Debian in `folder`, in place of what is there.
    pub(super) fn debian(shell: &'a Shell, folder: &Path) -> Result<RootFolder<'a>> {
        shell.remove_path(folder)?;
        let options = ["--quiet", "--variant=minbase", "--mode=root"];
        let make = cmd!(shell, "mmdebstrap {options...} {SUITE} {folder}");
        make.quiet().ignore_stdout().ignore_stderr().run()?;
        shell.create_dir(folder.join("data"))?;
        Ok(RootFolder { shell, folder: folder.to_owned() })
    }

    /// Runs the command line `words` in this root.
    pub(super) fn command(&self, words: &[&str]) -> Cmd<'a> {
        let RootFolder { shell, folder } = self;
        cmd!(shell, "unshare --mount --net sh -e -c {ENTER} {folder} {words...}").quiet()
    }
}

/// A command line that runs with no network, in this machine's root.
pub(super) fn offline(shell: &Shell) -> Cmd<'_> {
    cmd!(shell, "unshare --net --").quiet()
}
