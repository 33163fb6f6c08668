//! The number of rounds and invocations.

use anyhow::{Result, bail};
use model::plan::INVOCATIONS_MAX;

/// The default rounds (over all invocations) and invocations.
pub const USUAL: (u32, u32) = (10, 5);

/// The maximum number of rounds, over all invocations.
pub const ROUNDS_MAX: u32 = 1000;

/// Determines the rounds and invocations; if only one of them is given, the other follows from it.
///
/// # Errors
/// If an invocation would have no round, or a number exceeds its maximum.
pub fn settle(
    rounds: Option<u32>,
    invocations: Option<u32>,
    usual: (u32, u32),
) -> Result<(u32, u32)> {
    for (asked, most, what) in
        [(rounds, ROUNDS_MAX, "rounds"), (invocations, INVOCATIONS_MAX, "invocations")]
    {
        if let Some(asked) = asked.filter(|asked| *asked > most) {
            bail!("{asked} {what} are more than the maximum of {most}");
        }
    }
    match (rounds, invocations) {
        (None, None) => Ok(usual),
        (Some(rounds), None) => Ok((rounds, usual.1.min(rounds))),
        (None, Some(invocations)) => Ok((usual.0.max(invocations), invocations)),
        (Some(rounds), Some(invocations)) if invocations > rounds => {
            bail!(
                "{invocations} invocations need at least as many rounds, but there are {rounds}: \
                 ask for more rounds, or for fewer invocations"
            )
        }
        (Some(rounds), Some(invocations)) => Ok((rounds, invocations)),
    }
}
