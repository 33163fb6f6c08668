//! What a command did in its rehearsal, and whether that says anything about its runs.

use model::case::Case;
use model::command::Exit;
use model::record::Record;
use model::rehearsal::{CommandEnd, FactSheet};

/// The rehearsal of a command.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RehearsalFacts<'a> {
    /// What it did, if it ended there as its runs did.
    pub(crate) facts: Option<&'a FactSheet>,
    /// If it ended otherwise: the facts are those of another course.
    pub(crate) unlike: Option<&'a FactSheet>,
}

impl<'a> RehearsalFacts<'a> {
    /// That of the command of `case`, whose runs ended with `exit`; empty for other work.
    pub(crate) fn of(case: &Case, record: &'a Record, exit: Option<&Exit>) -> RehearsalFacts<'a> {
        match facts_of(case, record) {
            Some(facts) if is_like(facts, exit) => {
                RehearsalFacts { facts: Some(facts), unlike: None }
            }
            unlike => RehearsalFacts { facts: None, unlike },
        }
    }
}

fn facts_of<'a>(case: &Case, record: &'a Record) -> Option<&'a FactSheet> {
    record.header.rehearsals.get(record.header.plan.command_number(case)?)
}

/// Whether a command ended in a rehearsal as its runs did; also if there is none to compare with.
fn is_like(facts: &FactSheet, exit: Option<&Exit>) -> bool {
    let Some(exit) = exit else { return true };
    match facts.end {
        Some(CommandEnd::Exited(status)) => exit.status == u32::try_from(status).ok(),
        Some(CommandEnd::Signaled(signal)) => exit.signal == u32::try_from(signal).ok(),
        Some(CommandEnd::Stopped(_)) => false,
        // A sample does not see the end.
        None => true,
    }
}
