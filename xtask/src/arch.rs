//! The processors that programs are built for and run on.

use anyhow::{Context, Result};
use serde::Deserialize;
use std::env::consts::ARCH;

/// A kind of processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Arch {
    Amd64,
    Arm64,
}

/// All of them.
pub(crate) const ALL: [Arch; 2] = [Arch::Amd64, Arch::Arm64];

impl Arch {
    /// The one of this machine.
    ///
    /// # Errors
    /// If programs are not built for it: then none of them could be tried.
    pub(crate) fn of_this_machine() -> Result<Arch> {
        let found = ALL.into_iter().find(|arch| arch.is_of_this_machine());
        found.with_context(|| format!("no package is made for {ARCH}: run this on another machine"))
    }

    pub(crate) fn is_of_this_machine(self) -> bool {
        self.name() == ARCH
    }

    /// The OS's name for it; Rust, RPM, Python and QEMU use it, too.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Arch::Amd64 => "x86_64",
            Arch::Arm64 => "aarch64",
        }
    }

    /// Debian's name for it.
    pub(crate) fn debian(self) -> &'static str {
        match self {
            Arch::Amd64 => "amd64",
            Arch::Arm64 => "arm64",
        }
    }

    /// Rust's name of the target: Linux, with a C library that is linked statically.
    pub(crate) fn target(self) -> String {
        format!("{}-unknown-linux-musl", self.name())
    }
}
