//! What this machine cannot have, such as a loop device in a container, and what to do then.

use std::env;
use std::fmt::{self, Display, Formatter};

/// The reason why this machine cannot have something, as against a defect of this program.
#[derive(Debug)]
pub(crate) struct Unable(String);

impl Display for Unable {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        to.write_str(&self.0)
    }
}

impl std::error::Error for Unable {}

impl Unable {
    /// An error with this reason.
    pub(crate) fn error(reason: impl Into<String>) -> anyhow::Error {
        Unable(reason.into()).into()
    }
}

/// What to do where this machine lacks something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Demand {
    /// Skip what needs it, so that a machine with only cargo works.
    WhatIsThere,
    /// Fail.
    Everything,
}

impl Demand {
    /// `Everything` in CI, which sets `CI=true`; `WhatIsThere` elsewhere.
    pub(crate) fn of_environment() -> Demand {
        match env::var("CI").as_deref() {
            Ok("true") => Demand::Everything,
            _ => Demand::WhatIsThere,
        }
    }
}
