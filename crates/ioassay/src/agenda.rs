//! What a run measures next: which rounds, which cases in them, and whether there is time.
//!
//! It decides from what is known so far, touches no process and reads no clock: it is told how much
//! time has passed. So one host, the two sides of a gate and several hosts in lockstep follow the
//! same rules. Both sides of a gate have one agenda: what one of them did alone is not done yet.

mod results;
mod order;

use crate::progress::RunEnd;
use assess::invocations::{Round, widest};
use assess::prune::prunable;
use model::plan::{Plan, Pruned, Role};
use model::record::{Record, is_full};
use model::trial::{NOT_TRIED, Trial};
use order::order_of_round;
pub(crate) use results::DoneTurn;
use results::RunResults;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;
use std::time::Duration;

/// After this many consecutive failures, a case is not tried again: a full disk or a hanging peer
/// would take the others' time. Its remaining trials are recorded as failed.
const FAILED_MOST: u32 = 3;

/// The agenda of a run, or of the two of a gate.
pub(crate) struct Agenda<'a> {
    /// The plan; that of a gate's first side, whose other one numbers its cases alike.
    plan: &'a Plan,
    /// What is known so far.
    results: RunResults<'a>,
    /// The turns of an interrupted gate that only one of its records has: both sides do them again.
    again: BTreeSet<(usize, u32)>,
    /// The number of the current invocation, or of the next one if the run is resumed.
    invocation: u32,
    /// The rounds of the invocation that have not begun.
    rounds_left: Range<u32>,
    /// Whether this process has begun an invocation.
    has_begun: bool,
    /// Unfinished cases.
    open_cases: Vec<usize>,
    /// Cases that need no more rounds, because throughput no longer grows with one of their axes.
    pruned: HashSet<usize>,
    /// The longest time of a trial in any round of this process: that of the round, with what
    /// preceded it, divided by its trials.
    trial_time_longest: Duration,
    /// When the last round ended, or what precedes the next one began.
    since: Duration,
}

/// The round that is next, with the turns that are left in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NextRound {
    /// Its number.
    pub(crate) round: u32,
    /// The number of its invocation.
    pub(crate) invocation: u32,
    /// Whether an invocation begins with it, for which everything is created again.
    pub(crate) is_anew: bool,
    /// The cases that take turns, in their order.
    pub(crate) cases: Vec<usize>,
}

impl<'a> Agenda<'a> {
    /// At the start of a run.
    pub(crate) fn new(plan: &'a Plan) -> Agenda<'a> {
        Agenda::of_sides(&[plan])
    }

    /// At the start of a run, or of the two of a gate. They number their cases alike; what one of
    /// them cannot measure has the role [`Role::Elsewhere`] there.
    pub(crate) fn of_sides(plans: &[&'a Plan]) -> Agenda<'a> {
        let plan = plans[0];
        Agenda {
            plan,
            results: RunResults::new(plans),
            again: BTreeSet::new(),
            invocation: 0,
            rounds_left: 0..0,
            has_begun: false,
            open_cases: (0..plan.cases.len()).collect(),
            pruned: HashSet::new(),
            trial_time_longest: Duration::ZERO,
            since: Duration::ZERO,
        }
    }

    /// Where the interrupted run of this record, or the gate of these two, goes on: in another
    /// invocation.
    pub(crate) fn of_records(records: &[&'a Record]) -> Agenda<'a> {
        let plans: Vec<&Plan> = records.iter().map(|record| &record.header.plan).collect();
        let sides = records.iter().zip(&plans).enumerate();
        let turns = sides.flat_map(|(side, (record, plan))| {
            record.trials.iter().filter_map(move |trial| DoneTurn::of_side(side, plan, trial))
        });
        let (known, lone) = pruned_of(records);
        let next = records.iter().map(|record| next_invocation(record)).max();
        let agenda = Agenda::of_sides(&plans);
        let mut agenda = agenda.resumed(&known, turns.collect(), next.unwrap_or(0));
        agenda.again.extend(lone.iter().map(|pruned| (pruned.case, pruned.round)));
        agenda
    }

    /// The agenda of an interrupted run, which has done these `turns` and pruned these cases, and
    /// goes on in this invocation.
    pub(crate) fn resumed(
        mut self,
        pruned: &[Pruned],
        mut turns: Vec<DoneTurn>,
        invocation: u32,
    ) -> Agenda<'a> {
        self.invocation = invocation;
        self.close_pruned(pruned);
        turns.sort_by_key(|turn| (turn.round, turn.invocation));
        for round in turns.chunk_by(|one, next| one.round == next.round) {
            round.iter().for_each(|turn| self.results.add(turn));
            let is_first = round.iter().all(|turn| turn.invocation == 0);
            if is_first && self.has_whole(round[0].round) {
                self.close_settled();
            }
        }
        self.again = self.results.interrupt().collect();
        self
    }

    /// The turns of an interrupted gate that both sides do again.
    pub(crate) fn again(&self) -> Vec<(usize, u32)> {
        self.again.iter().copied().collect()
    }

    /// Adds the trials of a turn that are recorded.
    pub(crate) fn add_trials(&mut self, trials: &[&Trial]) {
        DoneTurn::of(self.plan, trials).iter().for_each(|turn| self.results.add(turn));
    }

    /// Adds the recorded trial of a side.
    pub(crate) fn add_of_side(&mut self, side: usize, trial: &Trial) {
        self.results.add_trial(side, trial);
    }

    /// Whether a side measures a case.
    pub(crate) fn has_case(&self, side: usize, case: usize) -> bool {
        self.results.has_case(side, case)
    }

    /// The next round with trials that are left, when so much time has `passed`; `None` at the end
    /// of the run.
    pub(crate) fn next(&mut self, passed: Duration) -> Option<NextRound> {
        while let Some(round) = self.rounds_left.next().filter(|_| self.has_time(passed)) {
            let left = self.left_in(round);
            if left.is_some() {
                return left;
            }
        }
        self.since = passed;
        let rounds = self.next_rounds(passed)?;
        let round = rounds.clone().find(|round| self.left_in(*round).is_some())?;
        self.rounds_left = round.saturating_add(1)..rounds.end;
        let is_anew = std::mem::replace(&mut self.has_begun, true);
        self.invocation += u32::from(is_anew);
        self.left_in(round).map(|left| NextRound { is_anew, ..left })
    }

    /// The turns of a round that are left, if any.
    fn left_in(&self, round: u32) -> Option<NextRound> {
        let mut cases = order_of_round(self.plan, &self.open_cases, round);
        cases.retain(|case| self.plan.is_due(*case, round) && !self.results.has(*case, round));
        let invocation = self.invocation;
        (!cases.is_empty()).then_some(NextRound { round, invocation, is_anew: false, cases })
    }

    /// The rounds of the next invocation: of those that were planned, the first with trials left.
    /// After them, if the run is given a time, as many of the cases with the widest intervals.
    fn next_rounds(&mut self, passed: Duration) -> Option<Range<u32>> {
        let is_left = |rounds: &Range<u32>| rounds.clone().any(|round| !self.has_whole(round));
        if let Some(rounds) = self.plan.rounds_by_invocation().find(is_left) {
            return self.has_time(passed).then_some(rounds);
        }
        self.plan.budget?;
        let (cases, first) = self.widest()?;
        self.open_cases = cases;
        let last = first.saturating_add(self.plan.rounds_of(0).len() as u32);
        self.has_time(passed).then_some(first..last)
    }

    /// Ends a round whose trials were all measured. Closes cases that need no more, and returns
    /// those that are pruned.
    pub(crate) fn end_round(&mut self, ended: &NextRound, passed: Duration) -> Vec<Pruned> {
        if ended.invocation == 0 {
            self.close_settled();
        }
        let pruned = self.prune();
        let took = passed.saturating_sub(self.since);
        let trials = u32::try_from(ended.cases.len()).ok();
        let of_one = trials.and_then(|trials| took.checked_div(trials));
        self.trial_time_longest = self.trial_time_longest.max(of_one.unwrap_or(took));
        self.since = passed;
        pruned
    }

    /// Whether the time that the run is given is over for a side, or its record is full. It never
    /// is before the first trial: a run without any would begin anew for ever.
    pub(crate) fn is_over_for(&self, side: usize, passed: Duration) -> bool {
        let is_full = is_full(self.results.record_bytes, self.results.rounds_begun);
        let is_over = |budget| is_full || passed >= budget;
        self.plan.budget.is_some_and(is_over) && self.done_by(side) > 0
    }

    /// What ends the run.
    pub(crate) fn ends(&self, passed: Duration) -> RunEnd {
        let time = |given| RunEnd::Time { passed, given };
        self.plan.budget.map_or(RunEnd::Rounds(self.plan.rounds), time)
    }

    /// Whether another round of the open cases fits into the time that the run is given. The first
    /// always does.
    pub(crate) fn has_time(&self, passed: Duration) -> bool {
        let round = self.trial_time_longest.saturating_mul(self.open_cases.len() as u32);
        let end = passed.saturating_add(round);
        let fits =
            !self.is_over_for(0, passed) && self.plan.budget.is_none_or(|budget| end <= budget);
        self.done() == 0 || fits
    }

    /// The requested cases with the widest intervals, and the first round in which they have not
    /// been measured; `None` if there are none.
    fn widest(&self) -> Option<(Vec<usize>, u32)> {
        let width = |case: usize| {
            let is_left = self.goes_on(case) && !self.pruned.contains(&case);
            if is_left { self.results.width(case) } else { None }
        };
        let widths: Vec<_> = (0..self.plan.cases.len()).map(width).collect();
        let cases = self.with_rivals(&widest(&widths));
        (!cases.is_empty()).then_some((cases, self.plan.rounds.max(self.results.rounds_begun)))
    }

    /// Whether a case is worth further rounds: it is requested, and its last trial did not fail.
    fn goes_on(&self, case: usize) -> bool {
        self.plan.cases[case].role == Role::Asked && self.results.failed_in_row(case) == 0
    }

    /// These cases, and the commands that are compared with them by shared rounds.
    fn with_rivals(&self, cases: &[usize]) -> Vec<usize> {
        let command = |case: usize| self.plan.cases[case].case.command();
        let is_rival = |one: usize, other: usize| {
            let both = command(one).zip(command(other));
            both.is_some_and(|(a, b)| (&a.parameters, a.cache) == (&b.parameters, b.cache))
        };
        let has_rival =
            |case: &usize| self.goes_on(*case) && cases.iter().any(|one| is_rival(*one, *case));
        let all = 0..self.plan.cases.len();
        all.filter(|case| cases.contains(case) || has_rival(case)).collect()
    }

    /// Why a case that failed too often in a row is not tried again, if it is not.
    pub(crate) fn refusal(&self, case: usize) -> Option<String> {
        (self.results.failed_in_row(case) >= FAILED_MOST)
            .then(|| format!("{NOT_TRIED}the case failed {FAILED_MOST} times in a row"))
    }

    /// The number of the current invocation.
    pub(crate) fn invocation(&self) -> u32 {
        self.invocation
    }

    /// Whether all planned trials are known.
    pub(crate) fn is_whole(&self) -> bool {
        (0..self.plan.rounds).all(|round| self.has_whole(round))
    }

    /// Whether each open case that is due in this round has a trial.
    fn has_whole(&self, round: u32) -> bool {
        let is_done =
            |case: &usize| self.results.has(*case, round) || !self.plan.is_due(*case, round);
        self.open_cases.iter().all(is_done)
    }

    /// The rates of a case so far, on each side.
    pub(crate) fn rates_of(&self, case: usize) -> Vec<Vec<f64>> {
        self.results.rates().iter().map(|rates| values(&rates[case])).collect()
    }

    /// The number of turns that are done.
    fn done(&self) -> u64 {
        self.results.done()
    }

    /// The number of turns that a side has done.
    fn done_by(&self, side: usize) -> u64 {
        self.results.done_by(side)
    }

    /// The number of trials that are recorded: a turn of a gate has one of each side.
    pub(crate) fn trials(&self) -> u64 {
        self.sides().map(|side| self.done_by(side)).sum()
    }

    /// The same at the end of the planned rounds, if no case ends early, when `next` begins.
    pub(crate) fn trials_planned(&self, next: &NextRound) -> u64 {
        let sides = |case: usize| self.sides().filter(|side| self.has_case(*side, case)).count();
        let of = |case: usize, turns: u64| sides(case) as u64 * turns;
        let now = next.cases.iter().map(|case| of(*case, 1));
        let later = self.open_cases.iter();
        let later = later.map(|case| of(*case, self.plan.turns_after(*case, next.round)));
        self.trials() + now.chain(later).sum::<u64>()
    }

    fn sides(&self) -> Range<usize> {
        0..self.results.rates().len()
    }

    /// Closes cases that need no more rounds, because throughput no longer grows with one of their
    /// axes, on no side. Returns those that were open until now.
    fn prune(&mut self) -> Vec<Pruned> {
        let mut found = prunable(self.plan, &self.results.rates());
        found.retain(|(case, _)| !self.pruned.contains(case));
        let pruned = |(case, reason)| Pruned { case, round: self.results.rounds_begun, reason };
        let found: Vec<Pruned> = found.into_iter().map(pruned).collect();
        self.close_pruned(&found);
        found
    }

    fn close_pruned(&mut self, pruned: &[Pruned]) {
        self.pruned.extend(pruned.iter().map(|pruned| pruned.case));
        self.open_cases.retain(|case| !self.pruned.contains(case));
    }

    /// Closes cases that are settled. A case and its twin end together, because they are compared
    /// by shared rounds. Those of several hosts do not end: what all did while all were active has
    /// an interval without looks.
    fn close_settled(&mut self) {
        if self.plan.invocations > 1 || self.plan.rank.is_some() {
            return;
        }
        let cases = &self.plan.cases;
        let is_settled = |case: usize| {
            let sides = self.results.rates();
            sides.iter().all(|rates| assess::is_settled(&values(&rates[case]), self.plan.precision))
        };
        let is_open = |case: usize| {
            let same = |other: &usize| cases[*other].case == cases[case].case;
            (0..cases.len()).filter(same).any(|same| !is_settled(same))
        };
        self.open_cases.retain(|&case| is_open(case));
    }
}

fn values(rounds: &[Round]) -> Vec<f64> {
    rounds.iter().map(|round| round.value).collect()
}

/// The cases that all records of a run have pruned, and those that only some have: the others had
/// no time to record it, or were lost.
pub(crate) fn pruned_of(records: &[&Record]) -> (Vec<Pruned>, Vec<Pruned>) {
    let all = records.iter().flat_map(|record| &record.pruned);
    let by_case: BTreeMap<usize, &Pruned> = all.map(|pruned| (pruned.case, pruned)).collect();
    let has = |record: &Record, case| record.pruned.iter().any(|pruned| pruned.case == case);
    let is_known = |pruned: &Pruned| records.iter().all(|record| has(record, pruned.case));
    by_case.into_values().cloned().partition(is_known)
}

/// The number of the first invocation after those of an interrupted run.
pub(crate) fn next_invocation(record: &Record) -> u32 {
    let numbers = record.trials.iter().map(|trial| trial.invocation);
    let numbers = numbers.chain(record.invocations.iter().map(|anew| anew.number));
    numbers.max().unwrap_or(0).saturating_add(1)
}

/// How long a run lasted, up to the last line of its record.
pub(crate) fn lasted(record: &Record) -> Duration {
    let ends = record.trials.iter().map(|trial| {
        let window = Duration::from_nanos(trial.evidence.window_ns);
        Duration::from_millis(trial.at_ms).saturating_add(window)
    });
    let begins = record.invocations.iter().map(|anew| Duration::from_millis(anew.at_ms));
    ends.chain(begins).max().unwrap_or(Duration::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::case::{Case, Io, ReadWork, Work};
    use model::command::JudgedCommand;
    use model::plan::Planned;
    use model::rank::Rank;
    use model::trial::Outcome;
    use model::zoo;

    /// A plan of reads at these depths.
    fn plan(depths: &[u32], invocations: u32, rounds: u32) -> Plan {
        let mut plan = Plan::new("test", rounds, 0.025, 1);
        plan.invocations = invocations;
        plan.cases = depths
            .iter()
            .map(|depth| {
                let io = Io { depth: *depth, ..zoo::plain().io };
                let case = Case::own(Work::Read(ReadWork { io, ..zoo::plain() }));
                Planned { case, role: Role::Asked }
            })
            .collect();
        plan
    }

    /// A trial whose rate is `rate` times that of the zoo.
    fn trial(case: usize, next: &NextRound, rate: f64) -> Trial {
        let mut trial = zoo::trial(next.round % 10);
        (trial.case, trial.invocation, trial.round) = (case, next.invocation, next.round);
        let Outcome::Done(sample) = &mut trial.outcome else { panic!("the zoo's trials succeed") };
        for span in &mut sample.spans {
            span.bytes = (span.bytes as f64 * rate) as u64;
        }
        trial
    }

    const SECOND: Duration = Duration::from_secs(1);

    /// Carries an agenda out, one trial a second, with this rate of each case in each round.
    /// Returns the rounds with their times, and the pruned cases.
    fn carry_out(
        agenda: &mut Agenda,
        rate: impl Fn(usize, u32) -> f64,
    ) -> (Vec<(NextRound, u64)>, Vec<Pruned>) {
        carry_out_sides(agenda, 1, |_, case, round| rate(case, round))
    }

    /// The same with so many sides, whose rounds follow each other: the first argument is the side.
    fn carry_out_sides(
        agenda: &mut Agenda,
        sides: usize,
        rate: impl Fn(usize, usize, u32) -> f64,
    ) -> (Vec<(NextRound, u64)>, Vec<Pruned>) {
        let (mut passed, mut all, mut pruned) = (Duration::ZERO, Vec::new(), Vec::new());
        while let Some(next) = agenda.next(passed) {
            all.push((next.clone(), passed.as_secs()));
            for (side, case) in
                (0..sides).flat_map(|it| next.cases.iter().map(move |case| (it, case)))
            {
                if agenda.has_case(side, *case) {
                    agenda.add_of_side(side, &trial(*case, &next, rate(side, *case, next.round)));
                    passed = passed.saturating_add(SECOND);
                }
            }
            pruned.extend(agenda.end_round(&next, passed));
            assert!(all.len() < 10_000, "it never ends");
        }
        (all, pruned)
    }

    /// Rates that never settle.
    fn wild(case: usize, round: u32) -> f64 {
        1.0 + f64::from((round * 7 + case as u32 * 3) % 5)
    }

    #[test]
    fn each_case_takes_a_turn_in_each_round_of_each_invocation() {
        let plan = plan(&[1, 2, 3], 4, 10);
        let (all, _) = carry_out(&mut Agenda::new(&plan), wild);
        let rounds: Vec<(u32, u32, bool)> =
            all.iter().map(|(it, _)| (it.round, it.invocation, it.is_anew)).collect();
        let expected = plan.rounds_by_invocation().zip(0..).flat_map(|(rounds, invocation)| {
            let first = rounds.start;
            rounds.map(move |round| (round, invocation, round == first && invocation > 0))
        });
        assert_eq!(rounds, expected.collect::<Vec<_>>());
        for (next, _) in &all {
            assert_eq!(next.cases, order_of_round(&plan, &[0, 1, 2], next.round));
        }
    }

    #[test]
    fn what_is_beside_commands_takes_fewer_turns_also_if_the_run_is_cut() {
        let mut plan = plan(&[1, 2], 2, 50);
        plan.cases[1].role = Role::Baseline;
        plan.commands.push(JudgedCommand::default());
        let is_due = |round: &u32| (round % 25).is_multiple_of(2);
        for cut in [0, 1, 7, 24] {
            let mut agenda = Agenda::new(&plan);
            let mut seen = Vec::new();
            for _ in 0..cut {
                let next = agenda.next(Duration::ZERO).expect("there are more");
                assert_eq!(agenda.trials_planned(&next), 76);
                for case in &next.cases {
                    agenda.add_of_side(0, &trial(*case, &next, 1.0));
                }
                seen.push(next);
            }
            let turns = seen.iter().flat_map(|next| {
                next.cases.iter().map(|case| {
                    let trial = trial(*case, next, 1.0);
                    DoneTurn::of(&plan, &[&trial]).expect("there is a trial")
                })
            });
            let mut agenda = Agenda::new(&plan).resumed(&[], turns.collect(), 1);
            seen.extend(carry_out(&mut agenda, wild).0.into_iter().map(|(next, _)| next));
            assert!(agenda.is_whole());
            let of = |case| {
                let with = seen.iter().filter(move |next| next.cases.contains(&case));
                with.map(|next| next.round).collect::<Vec<_>>()
            };
            assert_eq!(of(0), (0..50).collect::<Vec<_>>());
            assert_eq!(of(1), (0..50).filter(is_due).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_run_that_is_cut_anywhere_does_the_rest_in_another_invocation() {
        let whole = zoo::record_of_invocations(3, 2);
        for cut in 0..=whole.trials.len() {
            let mut record = whole.clone();
            record.trials.truncate(cut);
            record.invocations.retain(|anew| anew.number <= (cut / 2) as u32);
            let mut agenda = Agenda::of_records(&[&record]);
            assert_eq!((agenda.done(), agenda.rates_of(0)[0].len()), (cut as u64, cut));
            assert_eq!(agenda.is_whole(), cut == whole.trials.len());
            let last = record.trials.last().map_or(0, |last| last.invocation);
            let (rest, _) = carry_out(&mut agenda, wild);
            let rounds: Vec<u32> = rest.iter().map(|(next, _)| next.round).collect();
            assert_eq!(rounds, (cut as u32..6).collect::<Vec<_>>(), "{cut}");
            assert!(rest.iter().all(|(next, _)| next.invocation > last));
            // What it was interrupted in is made anew by whoever resumes it.
            assert!(rest.first().is_none_or(|(next, _)| !next.is_anew));
        }
    }

    #[test]
    fn with_the_time_that_is_left_the_widest_intervals_are_measured_further() {
        let mut plan = plan(&[1, 2, 3, 4], 3, 6);
        plan.budget = Some(Duration::from_secs(60));
        // The first two differ from round to round, and the others do not.
        let rate = |case: usize, round: u32| if case < 2 { wild(case, round) } else { 1.0 };
        let (all, _) = carry_out(&mut Agenda::new(&plan), rate);
        let (planned, further) = all.split_at(6);
        assert!(planned.iter().all(|(next, _)| next.cases.len() == 4));
        assert!(!further.is_empty());
        for (next, began) in further {
            assert!(next.round >= 6 && next.cases.iter().all(|case| *case < 2), "{next:?}");
            assert!(began + next.cases.len() as u64 <= 60, "it fits into the time");
        }
        let (last, began) = further.last().expect("there are some");
        assert!(began + 2 * last.cases.len() as u64 > 59, "nothing is left of it: {began}");
    }

    /// Rounds without a partner do not count.
    #[test]
    fn commands_are_measured_further_with_those_that_they_are_compared_with() {
        let record = zoo::commands::record_of_commands();
        // Two commands, each warm and cold.
        let agenda = Agenda::new(&record.header.plan);
        assert_eq!(agenda.with_rivals(&[1]), [1, 3]);
        assert_eq!(agenda.with_rivals(&[0, 3]), [0, 1, 2, 3]);
        // One that is measured beside them, or that fails, is no partner.
        let mut beside = record.header.plan.clone();
        beside.cases[3].role = Role::Baseline;
        assert_eq!(Agenda::new(&beside).with_rivals(&[0, 1]), [0, 1, 2]);
        let mut agenda = Agenda::new(&record.header.plan);
        let outcome = Outcome::Failed { reason: "x".to_string() };
        agenda.add_trials(&[&Trial::without_data((3, 0, 0), 0, outcome)]);
        assert_eq!(agenda.with_rivals(&[0, 1]), [0, 1, 2]);
        let plan = plan(&[1, 2, 3], 3, 6);
        assert_eq!(Agenda::new(&plan).with_rivals(&[1]), [1]);
    }

    #[test]
    fn a_run_without_time_for_another_round_ends() {
        let mut plan = plan(&[1, 2, 3, 4], 3, 6);
        plan.budget = Some(Duration::from_secs(10));
        let (all, _) = carry_out(&mut Agenda::new(&plan), wild);
        assert_eq!(all.iter().map(|(_, began)| *began).collect::<Vec<_>>(), [0, 4]);
        // The first round always begins, and its first trial ends the run.
        plan.budget = Some(Duration::ZERO);
        let mut agenda = Agenda::new(&plan);
        let next = agenda.next(SECOND).expect("the first round begins");
        assert!(!agenda.is_over_for(0, SECOND));
        agenda.add_trials(&[&trial(next.cases[0], &next, 1.0)]);
        assert!(agenda.is_over_for(0, SECOND));
        assert_eq!(agenda.next(SECOND), None);
    }

    #[test]
    fn what_is_pruned_takes_no_more_turns() {
        let mut plan = plan(&[1, 2, 4, 8, 16, 32], 5, 10);
        plan.prune = true;
        let rate = |case: usize, round: u32| {
            let level = [1.0, 2.0, 4.0, 4.0, 4.0, 4.0][case];
            level * (1.0 + f64::from(round % 3) / 2000.0)
        };
        let (all, pruned) = carry_out(&mut Agenda::new(&plan), rate);
        assert_eq!(pruned.iter().map(|it| (it.case, it.round)).collect::<Vec<_>>(), [(5, 5)]);
        for (next, _) in all {
            assert_eq!(next.cases.contains(&5), next.round < 5, "{next:?}");
        }
        // It stays so in a run that goes on.
        let mut agenda = Agenda::new(&plan).resumed(&pruned, Vec::new(), 1);
        assert!(agenda.next(Duration::ZERO).is_some_and(|next| !next.cases.contains(&5)));
    }

    #[test]
    fn a_case_that_fails_is_tried_three_times() {
        let plan = plan(&[1, 2], 1, 9);
        let mut agenda = Agenda::new(&plan);
        for round in 0..5 {
            let next = agenda.next(Duration::ZERO).expect("a round is left");
            assert_eq!(agenda.refusal(1).is_some(), round >= 3);
            agenda.add_trials(&[&trial(0, &next, wild(0, round))]);
            // It fails on one of two hosts.
            agenda.add_trials(&[&trial(1, &next, 1.0), &failed(1, &next)]);
            assert!(agenda.refusal(0).is_none());
        }
        assert!(agenda.rates_of(1)[0].is_empty());
    }

    #[test]
    fn the_rates_of_hosts_are_added_up() {
        let plan = plan(&[1], 1, 9);
        let (mut one, mut two) = (Agenda::new(&plan), Agenda::new(&plan));
        let next = one.next(Duration::ZERO).expect("a round is left");
        let [first, second] = [1.0, 3.0].map(|rate| trial(0, &next, rate));
        one.add_trials(&[&first]);
        two.add_trials(&[&first, &second]);
        assert!((two.rates_of(0)[0][0] / one.rates_of(0)[0][0] - 4.0).abs() < 1e-9);
        assert_eq!(two.done(), 1);
    }

    /// A trial that failed.
    fn failed(case: usize, next: &NextRound) -> Trial {
        let outcome = Outcome::Failed { reason: "of no room".to_string() };
        Trial { outcome, ..trial(case, next, 1.0) }
    }

    #[test]
    fn a_turn_of_a_gate_is_done_once_both_sides_have_done_it() {
        let plan = plan(&[1, 2], 1, 9);
        let mut agenda = Agenda::of_sides(&[&plan, &plan]);
        let next = agenda.next(Duration::ZERO).expect("a round is left");
        agenda.add_of_side(1, &trial(0, &next, 1.0));
        assert_eq!((agenda.done(), agenda.done_by(0), agenda.done_by(1)), (0, 0, 1));
        assert!(agenda.rates_of(0)[1].is_empty());
        // The other case does not complete it.
        agenda.add_of_side(0, &trial(1, &next, 1.0));
        assert_eq!(agenda.done(), 0);
        agenda.add_of_side(0, &trial(0, &next, 2.0));
        assert_eq!((agenda.done(), agenda.done_by(0), agenda.done_by(1)), (1, 2, 1));
        assert_eq!(agenda.rates_of(0)[0][0], 2.0 * agenda.rates_of(0)[1][0]);
    }

    #[test]
    fn a_failure_on_either_side_is_one_of_the_turn() {
        let plan = plan(&[1, 2], 1, 9);
        let mut agenda = Agenda::of_sides(&[&plan, &plan]);
        for round in 0..5 {
            let next = agenda.next(Duration::ZERO).expect("a round is left");
            assert_eq!(agenda.refusal(1).is_some(), round >= 3);
            for side in 0..2 {
                agenda.add_of_side(side, &trial(0, &next, wild(0, round)));
                // It fails on each side in turn.
                let fails = side as u32 == round % 2;
                let of_it = if fails { failed(1, &next) } else { trial(1, &next, 1.0) };
                agenda.add_of_side(side, &of_it);
            }
            assert!(agenda.refusal(0).is_none());
        }
    }

    /// The first two cases differ from round to round on both sides alike, the others on one side.
    #[test]
    fn a_gate_measures_further_where_the_ratio_of_its_sides_varies() {
        let mut plan = plan(&[1, 2, 3, 4], 3, 6);
        plan.budget = Some(Duration::from_secs(120));
        let mut agenda = Agenda::of_sides(&[&plan, &plan]);
        let rate = |side: usize, case: usize, round: u32| match (side, case) {
            (_, 0 | 1) => wild(case, round),
            (1, _) => 1.0 + wild(case, round) / 100.0,
            _ => 1.0,
        };
        let (all, _) = carry_out_sides(&mut agenda, 2, rate);
        let (planned, further) = all.split_at(6);
        assert!(planned.iter().all(|(next, _)| next.cases.len() == 4));
        assert!(!further.is_empty());
        for (next, began) in further {
            assert!(next.cases.iter().all(|case| *case > 1), "{next:?}");
            assert!(began + 2 * next.cases.len() as u64 <= 120, "both fit into the time");
        }
        // Each side by itself would measure the first two.
        let (alone, _) = carry_out(&mut Agenda::new(&plan), |case, round| rate(1, case, round));
        assert!(alone.iter().skip(6).all(|(next, _)| next.cases.iter().all(|case| *case < 2)));
        // Nothing varies, so nothing needs the time that is left.
        let mut agenda = Agenda::of_sides(&[&plan, &plan]);
        let (alike, _) = carry_out_sides(&mut agenda, 2, |_, case, round| wild(case, round));
        assert_eq!(alike.len(), 6);
    }

    #[test]
    fn a_case_of_a_gate_is_pruned_if_both_sides_say_so() {
        let mut plan = plan(&[1, 2, 4, 8, 16, 32], 5, 10);
        plan.prune = true;
        let level = |case: usize| [1.0, 2.0, 4.0, 4.0, 4.0, 4.0][case];
        let noise = |round: u32| 1.0 + f64::from(round % 3) / 2000.0;
        let pruned = |last: f64| {
            let rate = |side, case, round| {
                let last = if (side, case) == (1, 5) { last } else { 1.0 };
                level(case) * noise(round) * last
            };
            let mut agenda = Agenda::of_sides(&[&plan, &plan]);
            let (all, pruned) = carry_out_sides(&mut agenda, 2, rate);
            let rounds = all.iter().filter(|(next, _)| next.cases.contains(&5)).count();
            (rounds, pruned.len())
        };
        assert_eq!(pruned(1.0), (5, 1));
        assert_eq!(pruned(1.5), (10, 0));
    }

    #[test]
    fn a_case_of_two_sides_is_settled_if_both_are() {
        let plan = plan(&[1], 1, 30);
        let rounds = |other: fn(u32) -> f64| {
            let mut agenda = Agenda::of_sides(&[&plan, &plan]);
            let calm = |round: u32| 1.0 + f64::from(round % 3) / 2000.0;
            let rate = |side, _, round| if side == 0 { calm(round) } else { other(round) };
            carry_out_sides(&mut agenda, 2, rate).0.len()
        };
        assert_eq!(rounds(|round| 2.0 + f64::from(round % 3) / 2000.0), 10);
        assert_eq!(rounds(|round| wild(0, round)), 30);
    }

    #[test]
    fn what_one_side_cannot_measure_the_other_does_alone() {
        let mut plans = [plan(&[1, 2, 3], 3, 6), plan(&[1, 2, 3], 3, 6)];
        plans[0].cases[0].role = Role::Elsewhere;
        plans[1].cases[2].role = Role::Elsewhere;
        plans.iter_mut().for_each(|plan| plan.budget = Some(Duration::from_secs(100)));
        let mut agenda = Agenda::of_sides(&plans.each_ref());
        let rate = |side: usize, case: usize, round: u32| wild(case + 2 * side, round);
        let (all, _) = carry_out_sides(&mut agenda, 2, rate);
        let (planned, further) = all.split_at(6);
        assert!(planned.iter().all(|(next, _)| next.cases.len() == 3));
        // It has no ratio that could be narrowed.
        assert!(!further.is_empty());
        assert!(further.iter().all(|(next, _)| next.cases == [1]), "{further:?}");
        assert_eq!(
            [0, 1].map(|side| agenda.done_by(side)),
            [12, 12].map(|own| own + further.len() as u64)
        );
        let rounds = |side: usize, case: usize| agenda.rates_of(case)[side].len();
        assert_eq!((rounds(0, 0), rounds(1, 0), rounds(0, 2), rounds(1, 2)), (0, 6, 6, 0));
    }

    #[test]
    fn each_side_of_a_gate_has_a_first_trial_whatever_its_time() {
        let mut plan = plan(&[1, 2], 3, 6);
        plan.budget = Some(Duration::ZERO);
        let mut agenda = Agenda::of_sides(&[&plan, &plan]);
        let next = agenda.next(SECOND).expect("the first round begins");
        for side in 0..2 {
            assert!(!agenda.is_over_for(side, SECOND));
            agenda.add_of_side(side, &trial(next.cases[0], &next, 1.0));
            assert!(agenda.is_over_for(side, SECOND));
        }
        assert_eq!(agenda.next(SECOND), None);
    }

    /// One side may be any number of trials ahead.
    #[test]
    fn a_gate_that_is_cut_anywhere_does_the_rest_on_both_sides() {
        let whole = zoo::record_of_invocations(3, 2);
        let cut = |trials: usize| {
            let mut record = whole.clone();
            record.trials.truncate(trials);
            record.invocations.retain(|anew| anew.number <= (trials / 2) as u32);
            record
        };
        for (a, b) in (0..=6).flat_map(|a| (0..=6).map(move |b| (a, b))) {
            let records = [cut(a), cut(b)];
            let mut agenda = Agenda::of_records(&records.each_ref());
            let (known, ahead) = (a.min(b) as u32, a.max(b) as u32);
            let again: Vec<(usize, u32)> = (known..ahead).map(|round| (0, round)).collect();
            assert_eq!((agenda.done(), agenda.again()), (known.into(), again));
            assert_eq!(agenda.is_whole(), known == 6);
            let last = records.iter().flat_map(|it| &it.trials).map(|it| it.invocation).max();
            let (rest, _) = carry_out_sides(&mut agenda, 2, |_, case, round| wild(case, round));
            let rounds: Vec<u32> = rest.iter().map(|(next, _)| next.round).collect();
            assert_eq!(rounds, (known..6).collect::<Vec<_>>(), "{a} {b}");
            assert!(rest.iter().all(|(next, _)| Some(next.invocation) > last));
            assert_eq!([0, 1].map(|side| agenda.rates_of(0)[side].len()), [6, 6]);
        }
    }

    #[test]
    fn what_one_record_of_a_gate_has_pruned_is_measured_by_both() {
        let mut records = [zoo::record_of_invocations(3, 2), zoo::record_of_invocations(3, 2)];
        records.iter_mut().for_each(|record| record.trials.truncate(4));
        let pruned = Pruned { case: 0, round: 4, reason: "it gives no more".to_string() };
        records[1].pruned.push(pruned.clone());
        let mut agenda = Agenda::of_records(&records.each_ref());
        assert_eq!(agenda.again(), [(0, 4)]);
        assert!(agenda.next(Duration::ZERO).is_some());
        // Both know it.
        records[0].pruned.push(pruned);
        let mut agenda = Agenda::of_records(&records.each_ref());
        assert!(agenda.again().is_empty() && agenda.next(Duration::ZERO).is_none());
    }

    /// Its rounds differ by 1 %, so the first look settles it.
    #[test]
    fn a_case_that_was_settled_stays_so() {
        let mut record = zoo::record();
        record.header.plan.rounds = 20;
        assert_eq!(record.trials.len(), 10);
        assert!(Agenda::of_records(&[&record]).open_cases.is_empty());
        // Several hosts go on.
        let rank = Rank { number: 0, of: 2, seed: 7, shares: false, ..Rank::default() };
        record.header.plan.rank = Some(rank);
        assert_eq!(Agenda::of_records(&[&record]).open_cases, [0]);
        record.header.plan.rank = None;
        record.trials.pop();
        assert_eq!(Agenda::of_records(&[&record]).open_cases, [0]);
        // Its rounds of two invocations are not those of one.
        let mut record = zoo::record();
        record.header.plan.rounds = 20;
        record.trials.iter_mut().skip(5).for_each(|trial| trial.invocation = 1);
        assert_eq!(Agenda::of_records(&[&record]).open_cases, [0]);
    }
}
