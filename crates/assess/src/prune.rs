//! Which cases need no more rounds, because throughput no longer grows with one of their axes.

use crate::invocations::{INVOCATIONS_LEAST, Round};
use crate::ratio::Ratio;
use crate::stats::LOOKS;
use model::axis::{AXES, Across, Axis, Quantity};
use model::case::Case;
use model::plan::{Plan, Planned, Role};
use std::collections::HashMap;

/// A step along an axis that surely gives less than this gives nothing (docs/method).
const STEP: f64 = 1.02;

/// Two steps, and a case beyond them that may be pruned.
const CHAIN_LEAST: usize = 4;

/// Requested cases of a plan that differ only in an axis that saturates, ascending by it.
struct Chain {
    axis: &'static Axis,
    cases: Vec<(u64, usize)>,
}

/// Whether `plan` has cases that could be pruned.
pub fn is_possible(plan: &Plan) -> bool {
    chains(plan).iter().any(|chain| chain.cases.len() >= CHAIN_LEAST)
}

/// The cases of `plan` that need no more rounds, each with the reason, given the rates of each case
/// in its rounds so far; and their twins. None unless the plan prunes. Of several sides, such as
/// those of a gate, each has to say so.
pub fn prunable(plan: &Plan, sides: &[&[Vec<Round>]]) -> Vec<(usize, String)> {
    if !plan.prune {
        return Vec::new();
    }
    let mut reasons: HashMap<&Case, String> = HashMap::new();
    for chain in chains(plan) {
        for (case, reason) in chain.rest(plan, sides) {
            reasons.entry(&plan.cases[case].case).or_insert(reason);
        }
    }
    let measured = plan.cases.iter().enumerate();
    measured.filter_map(|(at, of)| Some((at, reasons.get(&of.case)?.clone()))).collect()
}

impl Chain {
    /// The cases beyond two steps that gave nothing, unless one of them seems faster after all.
    fn rest(&self, plan: &Plan, sides: &[&[Vec<Round>]]) -> Vec<(usize, String)> {
        let ratio = |rounds: &[Vec<Round>], at: usize, base: usize| {
            Ratio::of(&rounds[self.cases[at].1], &rounds[self.cases[base].1])
        };
        // At most so many times the rate of the step before, if that is known.
        let most_of = |rounds: &[Vec<Round>], at: usize| {
            ratio(rounds, at, at - 1).filter(|it| is_decisive(it, plan))?.high
        };
        let most = |at: usize| {
            let all: Option<Vec<f64>> = sides.iter().map(|rounds| most_of(rounds, at)).collect();
            all?.into_iter().reduce(f64::max)
        };
        let gives_nothing = |at: usize| most(at).filter(|most| *most < STEP);
        let seems_faster = |at: usize, base: usize| {
            let is_faster = |ratio: Option<Ratio>| ratio.is_none_or(|it| it.median >= STEP);
            sides.iter().any(|rounds| is_faster(ratio(rounds, at, base)))
        };
        let all = self.cases.len();
        for last in 2..all.saturating_sub(1) {
            let (Some(first), Some(second)) = (gives_nothing(last - 1), gives_nothing(last)) else {
                continue;
            };
            if (last + 1..all).any(|at| seems_faster(at, last)) {
                continue;
            }
            let with = |at: usize| self.axis.phrase(&plan.cases[self.cases[at].1].case);
            let with = |at: usize| with(at).unwrap_or_default();
            let shown = format!(
                "with {1}, the rate is at most {first:.3} times that with {0}; with {2}, at most \
                 {second:.3} times that with {1}",
                with(last - 2),
                with(last - 1),
                with(last)
            );
            let rest = self.cases[last + 1..].iter().map(|(_, case)| *case);
            let reason = |case: usize| {
                let rounds = sides.iter().map(|rounds| rounds[case].len()).max().unwrap_or(0);
                format!("pruned: {shown}. Its figure is that of {rounds} rounds")
            };
            return rest.map(|case| (case, reason(case))).collect();
        }
        Vec::new()
    }
}

/// Whether the interval of a ratio may prune: it is one of three invocations or, with one, that of
/// a look.
fn is_decisive(ratio: &Ratio, plan: &Plan) -> bool {
    let is_look = LOOKS.contains(&u32::try_from(ratio.pairs).unwrap_or(u32::MAX));
    ratio.invocations >= INVOCATIONS_LEAST || (plan.invocations <= 1 && is_look)
}

/// An axis, and the values of the others.
type ChainKey = (&'static str, Vec<(&'static str, String)>);

fn chains(plan: &Plan) -> Vec<Chain> {
    let mut all: HashMap<ChainKey, Chain> = HashMap::new();
    // With a rate, no axis gives more throughput than that.
    let is_asked = |planned: &Planned| planned.role == Role::Asked && !planned.case.is_open();
    let asked = plan.cases.iter().enumerate().filter(|(_, planned)| is_asked(planned));
    for (case, planned) in asked {
        let values = planned.case.axes();
        for axis in AXES.iter().filter(|axis| axis.saturates) {
            let Some(Quantity::Whole(value)) = axis.quantity(&planned.case) else { continue };
            let is_other = |name: &str| {
                let across = Axis::named(name).map(|other| other.across);
                name != axis.name && across != Some(Across::Same)
            };
            let others = values.iter().filter(|(name, _)| is_other(name)).cloned().collect();
            let chain = all.entry((axis.name, others));
            let chain = chain.or_insert_with(|| Chain { axis, cases: Vec::new() });
            chain.cases.push((value, case));
        }
    }
    let mut chains: Vec<Chain> = all.into_values().collect();
    for chain in &mut chains {
        chain.cases.sort_unstable();
        chain.cases.dedup_by_key(|(value, _)| *value);
    }
    // The order decides which of two reasons is given.
    chains.sort_by_key(|chain| chain.cases.first().map(|(_, case)| (*case, chain.axis.name)));
    chains
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::case::{Io, ReadWork, Work};
    use model::environment::Environment;
    use model::random::Rng;
    use model::zoo;

    /// Reads with these depths, in some order, and the one of the first once more.
    fn plan(depths: &[u32], invocations: u32) -> Plan {
        let host = zoo::host();
        let environment = Environment { host: &host, storage: None, source: None, peers: &[] };
        let mut plan = Plan::new("test", 20, 0.025, 1);
        let case = |depth: &u32| {
            let io = Io { depth: *depth, ..zoo::plain().io };
            let engine = model::case::Engine::Uring;
            Case::own(Work::Read(ReadWork { io, engine, ..zoo::plain() }))
        };
        plan.add(depths.iter().map(case), Role::Asked, &environment);
        assert_eq!(plan.cases.len(), depths.len(), "{:?}", plan.skips);
        (plan.invocations, plan.prune) = (invocations, true);
        plan
    }

    /// `of_each` invocations with two rounds each, or that many rounds of one: all of one level,
    /// with a noise of 0.2 %.
    fn rounds(plan: &Plan, levels: &[f64], number: u32) -> Vec<Vec<Round>> {
        let mut rng = Rng::new(7);
        let each = if plan.invocations > 1 { 2 } else { number };
        let of = |level: &f64| {
            let round = |round: u32| {
                let value = level * (1.0 + 0.002 * (rng.unit() - 0.5));
                Round { invocation: round / each, round, is_further: false, value }
            };
            (0..number).map(round).collect()
        };
        levels.iter().map(of).collect()
    }

    /// The depths that are pruned at these rates.
    fn pruned(depths: &[u32], levels: &[f64], invocations: u32, number: u32) -> Vec<u32> {
        let plan = plan(depths, invocations);
        let found = prunable(&plan, &[&rounds(&plan, levels, number)]);
        let depth = |(case, _): &(usize, String)| plan.cases[*case].case.io().unwrap().depth;
        found.iter().map(depth).collect()
    }

    const DEPTHS: [u32; 6] = [1, 2, 4, 8, 16, 32];

    #[test]
    fn the_rest_of_a_saturated_axis_is_pruned() {
        let saturated = [1.0, 2.0, 4.0, 4.0, 4.01, 4.0];
        assert_eq!(pruned(&DEPTHS, &saturated, 5, 6), [32]);
        assert_eq!(pruned(&DEPTHS, &[1.0, 2.0, 2.01, 2.0, 2.0, 1.5], 5, 6), [16, 32]);
        // Whatever the order of the plan.
        assert_eq!(pruned(&[16, 1, 32, 4, 2, 8], &[2.0, 1.0, 1.9, 2.0, 2.0, 2.0], 5, 6), [16, 32]);
        // With one invocation, after 10 rounds, not before and not between two looks.
        for (number, expected) in [(9, &[][..]), (10, &[32][..]), (11, &[][..]), (14, &[32][..])] {
            assert_eq!(pruned(&DEPTHS, &saturated, 1, number), expected, "{number}");
        }
    }

    #[test]
    fn what_still_rises_is_not_pruned() {
        let by = |step: f64| (0..6).map(|at| step.powi(at)).collect::<Vec<f64>>();
        for step in [1.1, 1.05, 1.03] {
            assert_eq!(pruned(&DEPTHS, &by(step), 5, 10), [0; 0], "{step}");
            assert_eq!(pruned(&DEPTHS, &by(step), 1, 28), [0; 0], "{step}");
        }
        // Such steps give nothing, but all that are left together may give something.
        assert_eq!(pruned(&DEPTHS, &by(1.004), 5, 10), [8, 16, 32]);
        assert_eq!(pruned(&DEPTHS, &by(1.009), 5, 10), [16, 32]);
        // One step that gives nothing is no plateau, and what rises after one was measured.
        assert_eq!(pruned(&DEPTHS, &[1.0, 2.0, 2.0, 3.0, 3.0, 4.0], 5, 10), [0; 0]);
        assert_eq!(pruned(&DEPTHS, &[1.0, 2.0, 2.0, 2.0, 2.0, 2.2], 5, 10), [0; 0]);
        // Two invocations decide nothing.
        assert_eq!(pruned(&DEPTHS, &[1.0; 6], 5, 4), [0; 0]);
        // Nor does what failed.
        let plan = plan(&DEPTHS, 5);
        let mut rounds = rounds(&plan, &[1.0; 6], 10);
        assert_eq!(prunable(&plan, &[&rounds]).len(), 3);
        rounds[5].clear();
        assert_eq!(prunable(&plan, &[&rounds]), []);
        rounds[5] = rounds[4].clone();
        rounds[2].clear();
        assert_eq!(prunable(&plan, &[&rounds]), []);
    }

    #[test]
    fn of_two_sides_each_has_to_say_so() {
        let plan = plan(&DEPTHS, 5);
        let of = |levels: &[f64]| rounds(&plan, levels, 10);
        let flat = of(&[1.0, 2.0, 2.0, 2.0, 2.0, 2.0]);
        let rising = of(&[1.0, 2.0, 2.0, 2.0, 2.0, 2.2]);
        let later = of(&[1.0, 2.0, 4.0, 4.0, 4.0, 4.0]);
        let pruned = |sides: [&[Vec<Round>]; 2]| -> Vec<usize> {
            prunable(&plan, &sides).into_iter().map(|(case, _)| case).collect()
        };
        let alone: Vec<usize> = prunable(&plan, &[&flat]).into_iter().map(|it| it.0).collect();
        assert_eq!(pruned([&flat, &flat]), alone);
        assert!(pruned([&flat, &rising]).is_empty() && pruned([&rising, &flat]).is_empty());
        // The one that saturates later decides.
        let of_later: Vec<usize> = prunable(&plan, &[&later]).into_iter().map(|it| it.0).collect();
        assert!(of_later.len() < alone.len());
        assert_eq!(pruned([&flat, &later]), of_later);
        // Nothing is known of a side that failed.
        assert!(pruned([&flat, &vec![Vec::new(); 6]]).is_empty());
    }

    #[test]
    fn only_a_plan_that_prunes_prunes_and_only_what_differs_in_one_axis() {
        let mut saturated = plan(&DEPTHS, 5);
        let rounds = rounds(&saturated, &[1.0; 7], 6);
        saturated.add_twins();
        saturated.cases.last_mut().unwrap().case = saturated.cases[4].case.clone();
        let found = prunable(&saturated, &[&rounds]);
        assert_eq!(found.iter().map(|(case, _)| *case).collect::<Vec<_>>(), [3, 4, 5, 6]);
        assert!(
            found[0].1.starts_with("pruned: with depth 2, the rate is at most 1.00"),
            "{found:?}"
        );
        assert!(found[0].1.ends_with("Its figure is that of 6 rounds"), "{found:?}");
        saturated.prune = false;
        assert_eq!(prunable(&saturated, &[&rounds]), []);
        assert!(is_possible(&saturated) && !is_possible(&plan(&DEPTHS[..3], 5)));
        // Beside another axis, no three steps are left; with a rate, throughput says nothing.
        let change = |change: &dyn Fn(usize, &mut Io)| {
            let mut plan = plan(&DEPTHS, 5);
            for (at, planned) in plan.cases.iter_mut().enumerate() {
                change(at, planned.case.io_mut().unwrap());
            }
            plan
        };
        assert!(!is_possible(&change(&|at, io| io.block = 4096 << (at % 2))));
        assert!(!is_possible(&change(&|_, io| io.rate = 1000)));
    }
}
