//! The commands of one record as the two sides of a gate: the first, and what is held against it.
//! Their rounds alternated, as those of any gate.

use crate::earlier::Earlier;
use crate::matching::each_with_its_base;
use crate::records::{Judged, LeftOut, RecordComparison, compared_by};
use crate::summary::Summary;
use model::plan::{Planned, Skip};
use model::record::{Record, Side};

/// Compares the first command of a record, A, with each other one, B, in each cache state that both
/// have, with the same values of parameters.
pub fn compare_commands(record: &Record) -> RecordComparison {
    compare_commands_with(record, |_| ())
}

/// The same with what others know of each case.
pub(crate) fn compare_commands_with(
    record: &Record,
    change: impl Fn(&mut Summary),
) -> RecordComparison {
    let first = record.header.plan.commands.first().map_or("", |command| &command.name);
    let judged = |side| Judged::of(of_side(record, first, side)).with(&change);
    let sides = [Side::A, Side::B].map(judged);
    let matches = each_with_its_base(sides[0].asked(), sides[1].asked(), "command");
    let versus = compared_by(&matches, sides, &Earlier::new(), true);
    // What was not measured does not pass.
    let skipped = record.header.plan.skips.iter().map(|skip| LeftOut {
        id: skip.case.id(),
        reason: skip.reason.clone(),
        is_broken: false,
    });
    let left_out = versus.left_out.into_iter().chain(skipped).collect();
    RecordComparison { left_out, ..versus }
}

/// The record as if only this side had been measured.
fn of_side(record: &Record, first: &str, side: Side) -> Record {
    let is_first = |name: &str| (name == first) == (side == Side::A);
    let of_skip = |skip: &&Skip| skip.case.command().is_some_and(|work| is_first(&work.command));
    let is_of = |planned: &Planned| planned.case.command().is_some_and(|it| is_first(&it.command));
    let mut of = record.clone();
    let header = &mut of.header;
    (header.alternates, header.side) = (Some(header.plan.seed.to_string()), Some(side));
    let all = &record.header.plan.cases;
    // The cases are numbered anew.
    let numbers: Vec<usize> = (0..all.len()).filter(|number| is_of(&all[*number])).collect();
    header.plan.cases = numbers.iter().map(|number| all[*number].clone()).collect();
    header.plan.skips = record.header.plan.skips.iter().filter(of_skip).cloned().collect();
    of.trials =
        record.trials.iter().filter(|trial| numbers.contains(&trial.case)).cloned().collect();
    for trial in &mut of.trials {
        trial.case = numbers.partition_point(|number| *number < trial.case);
    }
    of
}
