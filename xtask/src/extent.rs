//! How much of its work a command that writes documents does.

use crate::document::Purpose;
use crate::programs::Build;
use crate::unable::Unable;
use anyhow::Result;
use clap::Args;

/// The option of these commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Args)]
pub(crate) struct Extent {
    /// Try everything in seconds with the tests' build, and write nothing
    ///
    /// It is the least that still fails if the command would. Its figures mean nothing.
    #[arg(long = "smoke")]
    is_smoke: bool,
}

impl Extent {
    #[cfg(test)]
    pub(crate) const SMOKE: Extent = Extent { is_smoke: true };

    pub(crate) fn is_smoke(self) -> bool {
        self.is_smoke
    }

    /// The first for the whole, the second for the least.
    pub(crate) fn pick<T>(self, whole: T, least: T) -> T {
        if self.is_smoke { least } else { whole }
    }

    /// What came of `what`; nothing in the smoke form if this machine cannot have it, which is
    /// printed.
    pub(crate) fn or_skip<T>(self, what: &str, result: Result<T>) -> Result<Option<T>> {
        match result {
            Err(error) if self.is_smoke && error.is::<Unable>() => {
                println!("skipped: {what} ({error:#})");
                Ok(None)
            }
            result => result.map(Some),
        }
    }

    /// The build to run.
    pub(crate) fn build(self) -> Build {
        self.pick(Build::Release, Build::Tests)
    }

    /// What to do with a document whose text depends on the measurement.
    pub(crate) fn purpose(self) -> Purpose {
        self.pick(Purpose::Write, Purpose::Try)
    }
}
