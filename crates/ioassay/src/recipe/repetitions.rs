//! How often all is measured.

use anyhow::{Result, bail};

/// The rounds, over all invocations, and the invocations of a recipe that says neither.
pub const USUAL: (u32, u32) = (10, 5);

/// The most rounds, over all invocations.
pub const ROUNDS_MAX: u32 = 1000;

/// The most invocations.
pub const INVOCATIONS_MAX: u32 = 100;

/// Rounds and invocations; where one is asked for without the other, the other follows it.
///
/// # Errors
/// When an invocation would be without a round, or there would be too many.
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
            bail!("{invocations} invocations need at least as many rounds, but there are {rounds}")
        }
        (Some(rounds), Some(invocations)) => Ok((rounds, invocations)),
    }
}
