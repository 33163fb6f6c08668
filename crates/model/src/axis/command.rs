//! Rows of the table of axes that commands have alone.

use super::say::Say;
use super::{Across, Axis, Domain, IdWord, Usual, put};
use crate::command::name_of;

pub(super) const COMMAND: Axis = Axis {
    name: "command",
    meaning: "Command that is run",
    domain: Domain::Other,
    usual: Usual::command(""),
    say: Say::of("{}"),
    get: |case| Some(case.command()?.command.clone()),
    set: |case, text| put(case.command_mut().map(|work| &mut work.command), name_of(text)),
    ..Axis::PLAIN
};

pub(super) const PARAMETERS: Axis = Axis {
    name: "parameters",
    meaning: "Values of a command's parameters",
    domain: Domain::Other,
    usual: Usual::command(""),
    before: Usual::command(""),
    across: Across::Insisted,
    word: IdWord::After("", Some("")),
    say: Say::of("{}"),
    get: |case| Some(case.command()?.parameters.clone()).filter(|it| !it.is_empty()),
    set: |case, text| {
        put(case.command_mut().map(|work| &mut work.parameters), Ok(text.to_string()))
    },
    ..Axis::PLAIN
};
