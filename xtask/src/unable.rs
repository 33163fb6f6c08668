//! What this machine cannot have, such as a loop device in a container.

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
