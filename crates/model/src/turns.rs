//! Which cases take a turn in which rounds.

use crate::plan::{Plan, Role};
use std::ops::Range;

/// What is measured beside commands takes turns in this many rounds of an invocation, if it has as
/// many, and in less than twice as many. What bounds a command needs no more: an interval needs six
/// rounds. In each round, it would take the time of a short command again.
const BESIDE_LEAST: u32 = 10;

/// In each of how many of these rounds of an invocation that takes a turn, so that its turns are
/// evenly spread.
fn each_beside(rounds: &Range<u32>) -> u32 {
    (rounds.len() as u32 / BESIDE_LEAST).max(1)
}

impl Plan {
    /// Whether a case takes a turn in a round. All do in further rounds.
    pub fn is_due(&self, case: usize, round: u32) -> bool {
        let mut invocations = self.rounds_by_invocation().filter(|_| self.is_beside(case));
        let own = invocations.find(|rounds| rounds.contains(&round));
        own.is_none_or(|rounds| (round - rounds.start).is_multiple_of(each_beside(&rounds)))
    }

    /// The turns that a case takes in the planned rounds after this one.
    pub fn turns_after(&self, case: usize, round: u32) -> u64 {
        let next = round.saturating_add(1);
        if !self.is_beside(case) {
            return u64::from(self.rounds.saturating_sub(next));
        }
        let left = |rounds: Range<u32>| {
            let until = |end: u32| (end - rounds.start).div_ceil(each_beside(&rounds));
            u64::from(until(rounds.end) - until(next.clamp(rounds.start, rounds.end)))
        };
        self.rounds_by_invocation().map(left).sum()
    }

    /// Whether a case is measured beside commands, because it bounds them.
    fn is_beside(&self, case: usize) -> bool {
        !self.commands.is_empty() && self.cases[case].role == Role::Baseline
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{Case, Work};
    use crate::command::JudgedCommand;
    use crate::plan::Planned;
    use crate::zoo;

    #[test]
    fn what_is_beside_commands_takes_turns_in_a_part_of_many_rounds() {
        let due = |rounds, invocations, role, has_commands: bool| {
            let mut plan = Plan::new("test", rounds, 0.025, 1);
            plan.invocations = invocations;
            plan.cases.push(Planned { case: Case::own(Work::Read(zoo::plain())), role });
            plan.commands.extend(has_commands.then(JudgedCommand::default));
            let due = |from: u32| (from..rounds + 3).filter(|round| plan.is_due(0, *round));
            for round in 0..rounds {
                let after = due(round + 1).filter(|round| *round < rounds).count() as u64;
                assert_eq!(plan.turns_after(0, round), after, "{rounds} {invocations} {round}");
            }
            due(0).collect::<Vec<_>>()
        };
        let all = |rounds| (0..rounds + 3).collect::<Vec<_>>();
        for few in [1, 10, 19] {
            assert_eq!(due(few, 1, Role::Baseline, true), all(few));
        }
        assert_eq!(due(40, 4, Role::Baseline, true), all(40), "ten of each invocation");
        let each_tenth: Vec<u32> = (0..10).map(|n| 10 * n).chain(100..103).collect();
        assert_eq!(due(100, 1, Role::Baseline, true), each_tenth, "with further rounds");
        let of_both: Vec<u32> = (0..13).map(|n| 2 * n).chain((0..12).map(|n| 25 + 2 * n)).collect();
        let of_both = [of_both, vec![49, 50, 51, 52]].concat();
        assert_eq!(due(50, 2, Role::Baseline, true), of_both);
        for (role, has_commands) in [(Role::Asked, true), (Role::Baseline, false)] {
            assert_eq!(due(100, 1, role, has_commands), all(100));
        }
    }
}
