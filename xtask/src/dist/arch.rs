//! The processors that programs are built for.

use anyhow::{Context, Result};
use std::env::consts::ARCH;

/// A kind of processor, by its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Arch {
    /// The OS's; Rust, RPM, Python and QEMU use it, too.
    pub(super) name: &'static str,
    /// Debian's.
    pub(super) debian: &'static str,
}

/// All of them.
pub(super) const ALL: [Arch; 2] =
    [Arch { name: "x86_64", debian: "amd64" }, Arch { name: "aarch64", debian: "arm64" }];

impl Arch {
    /// The one of this machine.
    ///
    /// # Errors
    /// If programs are not built for it: then none of them could be tried.
    pub(super) fn of_this_machine() -> Result<Arch> {
        let found = ALL.into_iter().find(|arch| arch.is_of_this_machine());
        found.with_context(|| format!("no package is made for {ARCH}: run this on another machine"))
    }

    pub(super) fn is_of_this_machine(self) -> bool {
        self.name == ARCH
    }

    /// Rust's name of the target: Linux, with a C library that is linked statically.
    pub(super) fn target(self) -> String {
        format!("{}-unknown-linux-musl", self.name)
    }
}
