//! Why a trial has no figures.

use crate::form::{ByReason, FormOf};
use model::trial::NOT_TRIED;
use std::fmt;

/// Why a trial has no figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// This machine cannot run it, for this reason.
    Unavailable(String),
    /// It failed, for this reason.
    Failed(String),
}

impl Failure {
    /// The word for it: `failed` or `unavailable`.
    pub fn name(&self) -> &'static str {
        match self {
            Failure::Unavailable(_) => "unavailable",
            Failure::Failed(_) => "failed",
        }
    }

    /// The reason alone.
    pub fn reason(&self) -> &str {
        match self {
            Failure::Unavailable(reason) | Failure::Failed(reason) => reason,
        }
    }

    /// Whether both tell the same but for numbers, such as the offset of a block.
    pub(crate) fn is_like(&self, other: &Failure) -> bool {
        let without_numbers = |failure: &Failure| -> String {
            failure.to_string().chars().filter(|c| !c.is_ascii_digit()).collect()
        };
        without_numbers(self) == without_numbers(other)
    }

    /// Whether the trial was tried and failed. One that is not tried because others failed says
    /// nothing more, and what this machine can't do is not a failure.
    pub(crate) fn is_of_a_try(&self) -> bool {
        matches!(self, Failure::Failed(reason) if !reason.starts_with(NOT_TRIED))
    }

    pub(crate) fn reason_mut(&mut self) -> &mut String {
        match self {
            Failure::Unavailable(reason) | Failure::Failed(reason) => reason,
        }
    }
}

/// `failed: it hung`.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {}", self.name(), self.reason())
    }
}

impl FormOf<(Failure, usize)> for ByReason<String> {
    fn of((failure, trials): &(Failure, usize)) -> ByReason<String> {
        ByReason { reason: failure.to_string(), trials: *trials }
    }
}
