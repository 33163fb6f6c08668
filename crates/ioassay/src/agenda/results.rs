//! What a run has measured so far, of which its agenda decides what is next.

use assess::invocations::{Round, width};
use model::plan::{Plan, Role};
use model::trial::{Outcome, Trial};
use std::collections::{BTreeMap, HashMap, HashSet};

/// A turn that a side has done: the trial of a case in a round, on all hosts that take part in it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DoneTurn {
    /// The number of the side.
    side: usize,
    pub(crate) case: usize,
    pub(crate) round: u32,
    pub(super) invocation: u32,
    /// The rates of all hosts, added up; `None` if one of them has none.
    rate: Option<f64>,
    is_failed: bool,
    /// The memory in bytes of the largest trial.
    bytes: usize,
}

impl DoneTurn {
    /// A turn of the only side, with the trial of each host.
    pub(crate) fn of(plan: &Plan, trials: &[&Trial]) -> Option<DoneTurn> {
        let Trial { case, invocation, round, .. } = **trials.first()?;
        let rates = trials.iter().map(|trial| assess::rate(&plan.cases[case].case, trial));
        let is_failed = |trial: &&Trial| matches!(trial.outcome, Outcome::Failed { .. });
        Some(DoneTurn {
            side: 0,
            case,
            round,
            invocation,
            rate: rates.sum(),
            is_failed: trials.iter().any(is_failed),
            bytes: trials.iter().map(|trial| trial.bytes()).max().unwrap_or(0),
        })
    }

    /// The turn of a side on one host.
    pub(super) fn of_side(side: usize, plan: &Plan, trial: &Trial) -> Option<DoneTurn> {
        DoneTurn::of(plan, &[trial]).map(|turn| DoneTurn { side, ..turn })
    }
}

/// One side: the only one, or one of the two of a gate.
struct SideRates<'a> {
    plan: &'a Plan,
    /// The rate of each case in each round.
    rates: Vec<Vec<Round>>,
    /// The number of its turns that both sides have done, as far as both measure them.
    done: u64,
}

impl SideRates<'_> {
    fn has_case(&self, case: usize) -> bool {
        self.plan.cases[case].role != Role::Elsewhere
    }
}

/// The turns that were done.
pub(super) struct RunResults<'a> {
    sides: Vec<SideRates<'a>>,
    /// What one side did of turns that the other one has still to do.
    half_done: BTreeMap<(usize, u32), DoneTurn>,
    /// The cases and rounds of all turns that are done.
    recorded: HashSet<(usize, u32)>,
    /// Number of consecutive failures of each case since the run began or was resumed: its cause
    /// may be gone.
    failed_in_row: Vec<u32>,
    /// The number of rounds begun.
    pub(super) rounds_begun: u32,
    /// The memory in bytes of all trials of a record.
    pub(super) record_bytes: usize,
}

impl<'a> RunResults<'a> {
    /// Nothing yet, with the plan of each side: they number their cases alike.
    pub(super) fn new(plans: &[&'a Plan]) -> RunResults<'a> {
        let cases = plans[0].cases.len();
        let side = |plan: &&'a Plan| SideRates { plan, rates: vec![Vec::new(); cases], done: 0 };
        RunResults {
            sides: plans.iter().map(side).collect(),
            half_done: BTreeMap::new(),
            recorded: HashSet::new(),
            failed_in_row: vec![0; cases],
            rounds_begun: 0,
            record_bytes: 0,
        }
    }

    /// Adds the trial of a side.
    pub(super) fn add_trial(&mut self, side: usize, trial: &Trial) {
        let turn = DoneTurn::of_side(side, self.sides[side].plan, trial);
        turn.iter().for_each(|turn| self.add(turn));
    }

    /// Adds what a side did. The turn is done once all of its sides have done it.
    pub(super) fn add(&mut self, turn: &DoneTurn) {
        let sides = (0..self.sides.len()).filter(|side| self.has_case(*side, turn.case));
        if sides.count() < 2 {
            return self.add_done(&[turn]);
        }
        let place = (turn.case, turn.round);
        let is_other =
            |half: &DoneTurn| half.side != turn.side && half.invocation == turn.invocation;
        match self.half_done.remove(&place).filter(is_other) {
            Some(half) => self.add_done(&[&half, turn]),
            None => drop(self.half_done.insert(place, turn.clone())),
        }
    }

    /// Adds a turn that each of its sides has done. It failed if one of them did.
    fn add_done(&mut self, turn: &[&DoneTurn]) {
        for &&DoneTurn { side, case, round, invocation, rate, .. } in turn {
            let SideRates { plan, rates, .. } = &mut self.sides[side];
            let is_further = plan.is_further(round);
            rates[case].extend(rate.map(|value| Round { invocation, round, is_further, value }));
        }
        let Some(&&DoneTurn { case, round, .. }) = turn.first() else { return };
        if self.recorded.insert((case, round)) {
            let sides = self.sides.iter_mut().filter(|side| side.has_case(case));
            sides.for_each(|side| side.done += 1);
        }
        self.rounds_begun = self.rounds_begun.max(round.saturating_add(1));
        let bytes = turn.iter().map(|turn| turn.bytes).max().unwrap_or(0);
        self.record_bytes = self.record_bytes.saturating_add(bytes);
        let is_failed = turn.iter().any(|turn| turn.is_failed);
        let failed = &mut self.failed_in_row[case];
        *failed = if is_failed { failed.saturating_add(1) } else { 0 };
    }

    /// Begins anew with what was not done: turns that one side alone did, which it returns, and
    /// failures, of which the cause may be gone.
    pub(super) fn interrupt(&mut self) -> impl Iterator<Item = (usize, u32)> + use<> {
        self.failed_in_row.fill(0);
        std::mem::take(&mut self.half_done).into_keys()
    }

    /// Whether a side measures a case.
    pub(super) fn has_case(&self, side: usize, case: usize) -> bool {
        self.sides[side].has_case(case)
    }

    /// Whether a turn is done.
    pub(super) fn has(&self, case: usize, round: u32) -> bool {
        self.recorded.contains(&(case, round))
    }

    /// The number of consecutive failures of a case.
    pub(super) fn failed_in_row(&self, case: usize) -> u32 {
        self.failed_in_row[case]
    }

    /// The number of turns that are done.
    pub(super) fn done(&self) -> u64 {
        self.recorded.len() as u64
    }

    /// The number of turns that a side has done, also if the other one has not.
    pub(super) fn done_by(&self, side: usize) -> u64 {
        let alone = self.half_done.values().filter(|half| half.side == side);
        self.sides[side].done + alone.count() as u64
    }

    /// The rates of each case of each side.
    pub(super) fn rates(&self) -> Vec<&[Vec<Round>]> {
        self.sides.iter().map(|side| &side.rates[..]).collect()
    }

    /// The width of the interval of what is asked: the rate of a case, or of two sides the ratio of
    /// their rates, round by round.
    pub(super) fn width(&self, case: usize) -> Option<f64> {
        match &self.rates()[..] {
            [rates] => width(&rates[case]),
            [base, other] => {
                let base: HashMap<u32, f64> =
                    base[case].iter().map(|it| (it.round, it.value)).collect();
                let ratio =
                    |it: &Round| Some(Round { value: it.value / base.get(&it.round)?, ..*it });
                width(&other[case].iter().filter_map(ratio).collect::<Vec<_>>())
            }
            _ => None,
        }
    }
}
