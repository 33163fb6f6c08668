//! How much load storage holds: the rates of an open loop that it keeps up with, and those at which
//! it meets the goals.

use crate::decision::{Decision, Named, together};
use crate::latency::UNSENT_NS;
use crate::open_loop::{responses, without_rate};
use crate::percentile::{ABOVE_MIN, ABOVE_SOLID, Distribution};
use crate::row::{Row, grouped};
use crate::stats::Estimate;
use model::goal::{Requirement, Tail};
use model::plan::{Plan, Role};
use model::trial::Trial;
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;
use std::cmp::Ordering;

/// A load is held if less than this many of 10 000 operations have not begun when the time is up
/// (docs/method).
const UNSENT_TAIL: u32 = 100;

/// The load that storage holds: cases that differ only in their rate.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Load {
    /// The case without a rate, in which an operation begins when the last one ends: the ceiling.
    /// Null if it was not measured or is void.
    pub closed: Option<Named>,
    /// Its operations per second.
    pub closed_iops: Option<Estimate>,
    /// The measured rates, ascending.
    pub rates: Vec<Rate>,
    /// The rates at which at least 99 % of the operations due begin in time.
    pub kept_up: Bounds,
    /// The rates at which all goals are met and the load is kept up with; null without goals.
    pub held: Option<Bounds>,
    /// The goals.
    pub goals: Vec<Requirement>,
    /// Whether the goals are met at the least rate that was asked for; null if none was.
    pub at_least: Option<AtLeast>,
}

/// One rate of a load.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Rate {
    /// The case.
    pub case: Named,
    /// Operations per second.
    pub rate: u64,
    /// Its share of what the closed loop does, 0 to 1 or more.
    pub of_closed: Option<f64>,
    /// Whether at least 99 % of the operations due began in time.
    pub keeps_up: Decision,
    /// Whether all goals are met; null without goals.
    pub meets: Option<Decision>,
}

/// Between which rates something ceases to hold.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "RateBounds")]
pub struct Bounds {
    /// The highest rate at which it holds, below the lowest at which it fails.
    pub holds: Option<u64>,
    /// The lowest rate at which it fails.
    pub fails: Option<u64>,
    /// Rates above the highest at which it holds, and below the lowest at which it fails, of which
    /// neither is decided.
    pub undecided: Vec<u64>,
    /// Rates above the lowest failing one at which it holds nonetheless: the storage is not the
    /// same at all times, or caches more of a higher load.
    pub holds_above: Vec<u64>,
}

/// The least rate that was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct AtLeast {
    /// Operations per second.
    pub rate: u64,
    /// Whether all goals are met.
    pub met: Decision,
}

/// Whether one trial seems to meet the goals and to keep up, from the shares of its operations that
/// exceed them. For a search; a decision needs several trials.
pub fn meets(trial: &Trial, goals: &[Requirement]) -> bool {
    let Some(sample) = trial.sample() else { return false };
    let responses = responses(sample);
    let is_few = |ns: u64, share: f64| {
        let longer = responses.counts.iter().filter(|(each, _)| *each >= ns);
        let longer = longer.map(|(_, count)| *count).fold(0, u64::saturating_add);
        longer as f64 <= share * responses.count() as f64
    };
    is_few(UNSENT_NS, f64::from(UNSENT_TAIL) / 10_000.0)
        && limits(goals).all(|(tail, below_ns)| is_few(below_ns, tail.share()))
}

/// The percentile of each goal, and the nanoseconds that it must stay below.
fn limits(goals: &[Requirement]) -> impl Iterator<Item = (Tail, u64)> {
    goals.iter().filter_map(|goal| goal.of_responses())
}

/// The loads of a run: asked cases with at least two rates, or with goals.
pub(crate) fn loads(rows: &[Row], plan: &Plan) -> Vec<Load> {
    let asked = || rows.iter().filter(|row| row.measured.role == Role::Asked);
    let same = grouped(asked(), |row| {
        let io = row.measured.case.io().filter(|_| row.measured.case.is_open())?;
        Some((without_rate(row.measured.case), io.arrival))
    });
    let closed_of = |open: &Row| {
        let same = without_rate(open.measured.case);
        asked().find(|row| {
            let case = row.measured.case;
            case.io().is_some() && !case.is_open() && without_rate(case) == same
        })
    };
    let of = |open: &Vec<&Row>| load(open, closed_of(open.first()?), plan);
    same.iter().filter_map(of).collect()
}

fn load(open: &[&Row], closed: Option<&Row>, plan: &Plan) -> Option<Load> {
    let closed_iops = closed.and_then(|row| row.summary.iops.filter(|_| row.stands()));
    let mut open = open.to_vec();
    open.sort_by_key(|row| rate_of(row));
    let rates: Vec<Rate> = open.iter().filter_map(|row| rate(row, closed_iops, plan)).collect();
    if open.len() < 2 && plan.hold.is_empty() {
        return None;
    }
    let of_goals = rates.iter().map(|each| (each.rate, each.meets.unwrap_or(Decision::Undecided)));
    let met_at = |least: u64| rates.iter().find(|each| each.rate == least)?.meets;
    let at_least = |rate| AtLeast { rate, met: met_at(rate).unwrap_or(Decision::Undecided) };
    Some(Load {
        closed: closed.and_then(|row| Named::of(&row.summary)),
        closed_iops,
        kept_up: bounds(rates.iter().map(|each| (each.rate, each.keeps_up))),
        held: (!plan.hold.is_empty()).then(|| bounds(of_goals)),
        goals: plan.hold.clone(),
        at_least: plan.at_least.map(at_least),
        rates,
    })
}

fn rate_of(row: &Row) -> u64 {
    row.measured.case.io().map_or(0, |io| io.rate)
}

/// The decisions about one rate; `None` if its row is void.
fn rate(row: &Row, closed: Option<Estimate>, plan: &Plan) -> Option<Rate> {
    let rate = rate_of(row);
    let units = row.measured.latencies(|trial| Cow::Owned(responses(trial.sample)));
    let distribution = Distribution::of(&units);
    let decide = |ns, tail, least| match distribution.share_longer(ns, tail, least) {
        Some(Ordering::Less) => Decision::Yes,
        Some(Ordering::Greater) => Decision::No,
        Some(Ordering::Equal) | None => Decision::Undecided,
    };
    let met = |(tail, below_ns): (Tail, u64)| {
        decide(below_ns.saturating_sub(1), tail.parts(), ABOVE_SOLID)
    };
    let keeps_up = decide(UNSENT_NS - 1, UNSENT_TAIL, ABOVE_MIN);
    let all: Vec<Decision> = limits(&plan.hold).map(met).chain([keeps_up]).collect();
    Some(Rate {
        case: Named::of(&row.summary)?,
        rate,
        of_closed: closed.map(|all| rate as f64 / all.median).filter(|share| share.is_finite()),
        keeps_up,
        meets: (!plan.hold.is_empty()).then(|| together(all)),
    })
}

/// The bounds from decisions about ascending rates.
fn bounds(all: impl Iterator<Item = (u64, Decision)> + Clone) -> Bounds {
    let with = |wanted| all.clone().filter(move |(_, is)| *is == wanted).map(|(rate, _)| rate);
    let fails = with(Decision::No).next();
    let is_below = |rate: &u64| fails.is_none_or(|fails| *rate < fails);
    let holds = with(Decision::Yes).filter(is_below).last();
    Bounds {
        holds,
        fails,
        undecided: with(Decision::Undecided)
            .filter(|rate| is_below(rate) && Some(*rate) > holds)
            .collect(),
        holds_above: with(Decision::Yes).filter(|rate| !is_below(rate)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Decision::{No, Undecided, Yes};

    #[test]
    fn bounds_are_where_something_ceases_to_hold() {
        let check = |all: &[Decision], holds, fails, undecided: &[u64], above: &[u64]| {
            let found = bounds((1..).zip(all.iter().copied()));
            let (undecided, holds_above) = (undecided.to_vec(), above.to_vec());
            assert_eq!(found, Bounds { holds, fails, undecided, holds_above }, "{all:?}");
        };
        check(&[Yes, Yes, No, No], Some(2), Some(3), &[], &[]);
        check(&[Yes, Undecided, No], Some(1), Some(3), &[2], &[]);
        check(&[Undecided, Yes], Some(2), None, &[], &[]);
        check(&[Yes, Undecided], Some(1), None, &[2], &[]);
        check(&[No, No], None, Some(1), &[], &[]);
        check(&[Yes, No, Yes, Undecided, Yes], Some(1), Some(2), &[], &[3, 5]);
        check(&[Undecided], None, None, &[1], &[]);
        check(&[], None, None, &[], &[]);
    }
}
