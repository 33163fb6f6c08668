//! What a run measures next: which rounds, which cases in them, and whether there is time.
//!
//! It decides from what is known so far, touches no process and reads no clock: it is told how much
//! time has passed. So one host, the two sides of a gate and several hosts in lockstep follow the
//! same rules.

use crate::progress::RunEnd;
use crate::turns::{order_of_round, refusal};
use assess::invocations::{Round, widest, width};
use assess::prune::prunable;
use model::plan::{Plan, Pruned, Role};
use model::record::{Record, is_full};
use model::trial::{Outcome, Trial};
use std::collections::HashSet;
use std::ops::Range;
use std::time::Duration;

/// The agenda of a run.
pub(crate) struct Agenda<'a> {
    plan: &'a Plan,
    /// The number of the current invocation, or of the next one if the run is resumed.
    invocation: u32,
    /// The rounds of the invocation that have not begun.
    rounds_left: Range<u32>,
    /// Whether this process has begun an invocation.
    has_begun: bool,
    /// Unfinished cases.
    open_cases: Vec<usize>,
    /// The rate of each case in each round.
    rates: Vec<Vec<Round>>,
    /// Cases that need no more rounds, because throughput no longer grows with one of their axes.
    pruned: HashSet<usize>,
    /// Number of consecutive failures of each case since the run began or was resumed: its cause
    /// may be gone.
    failed_in_row: Vec<u32>,
    /// The cases and rounds of all recorded trials.
    recorded: HashSet<(usize, u32)>,
    /// The number of rounds begun.
    rounds_begun: u32,
    /// The memory in bytes of all trials of a record.
    record_bytes: usize,
    /// The longest time of a trial in any round of this process: that of the round, with what
    /// preceded it, divided by its trials.
    trial_time_longest: Duration,
    /// When the last round ended, or what precedes the next one began.
    since: Duration,
}

/// What is known of a turn: of the trial of a case in a round, on all hosts that take part in it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TurnResult {
    pub(crate) case: usize,
    pub(crate) round: u32,
    invocation: u32,
    /// The rates of all hosts, added up; `None` if one of them has none.
    rate: Option<f64>,
    is_failed: bool,
    /// The memory in bytes of the largest trial.
    bytes: usize,
}

impl TurnResult {
    /// A turn of this `case` and `round`, with the trial of each host.
    pub(crate) fn of(plan: &Plan, trials: &[&Trial]) -> Option<TurnResult> {
        let Trial { case, invocation, round, .. } = **trials.first()?;
        let rates = trials.iter().map(|trial| assess::rate(&plan.cases[case].case, trial));
        let is_failed = |trial: &&Trial| matches!(trial.outcome, Outcome::Failed { .. });
        Some(TurnResult {
            case,
            round,
            invocation,
            rate: rates.sum(),
            is_failed: trials.iter().any(is_failed),
            bytes: trials.iter().map(|trial| trial.bytes()).max().unwrap_or(0),
        })
    }
}

/// A round that is next, with its trials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Turns {
    /// The round.
    pub(crate) round: u32,
    /// The invocation.
    pub(crate) invocation: u32,
    /// Whether an invocation begins with it, for which everything is created again.
    pub(crate) is_anew: bool,
    /// The cases that take turns, in their order.
    pub(crate) cases: Vec<usize>,
}

impl<'a> Agenda<'a> {
    /// At the start of a run.
    pub(crate) fn new(plan: &'a Plan) -> Agenda<'a> {
        let cases = plan.cases.len();
        Agenda {
            plan,
            invocation: 0,
            rounds_left: 0..0,
            has_begun: false,
            open_cases: (0..cases).collect(),
            rates: vec![Vec::new(); cases],
            pruned: HashSet::new(),
            failed_in_row: vec![0; cases],
            recorded: HashSet::new(),
            rounds_begun: 0,
            record_bytes: 0,
            trial_time_longest: Duration::ZERO,
            since: Duration::ZERO,
        }
    }

    /// Where the interrupted run `record` of one host goes on: in another invocation.
    pub(crate) fn of_record(record: &'a Record) -> Agenda<'a> {
        let plan = &record.header.plan;
        let turns =
            record.trials.iter().filter_map(|trial| TurnResult::of(plan, &[trial])).collect();
        Agenda::resumed(plan, &record.pruned, turns, next_invocation(record))
    }

    /// Where an interrupted run goes on after these `turns`: in this invocation.
    pub(crate) fn resumed(
        plan: &'a Plan,
        pruned: &[Pruned],
        mut turns: Vec<TurnResult>,
        invocation: u32,
    ) -> Agenda<'a> {
        let mut agenda = Agenda { invocation, ..Agenda::new(plan) };
        agenda.close_pruned(pruned);
        turns.sort_by_key(|turn| turn.round);
        for round in turns.chunk_by(|one, next| one.round == next.round) {
            round.iter().for_each(|turn| agenda.add(turn));
            let is_first = round.iter().all(|turn| turn.invocation == 0);
            if is_first && agenda.has_whole(round[0].round) {
                agenda.close_settled();
            }
        }
        agenda.failed_in_row = vec![0; plan.cases.len()];
        agenda
    }

    /// Adds the trials of a turn that are recorded.
    pub(crate) fn add_trials(&mut self, trials: &[&Trial]) {
        TurnResult::of(self.plan, trials).iter().for_each(|turn| self.add(turn));
    }

    fn add(&mut self, turn: &TurnResult) {
        let TurnResult { case, round, invocation, is_failed, .. } = *turn;
        self.recorded.insert((case, round));
        self.rounds_begun = self.rounds_begun.max(round.saturating_add(1));
        self.record_bytes = self.record_bytes.saturating_add(turn.bytes);
        self.failed_in_row[case] =
            if is_failed { self.failed_in_row[case].saturating_add(1) } else { 0 };
        if let Some(value) = turn.rate {
            let is_further = self.plan.is_further(round);
            self.rates[case].push(Round { invocation, round, is_further, value });
        }
    }

    /// The next round with trials that are left, when so much time has `passed`; `None` at the end
    /// of the run.
    pub(crate) fn next(&mut self, passed: Duration) -> Option<Turns> {
        while let Some(round) = self.rounds_left.next().filter(|_| self.has_time(passed)) {
            let turns = self.turns(round);
            if turns.is_some() {
                return turns;
            }
        }
        self.since = passed;
        let rounds = self.next_rounds(passed)?;
        let round = rounds.clone().find(|round| self.turns(*round).is_some())?;
        self.rounds_left = round.saturating_add(1)..rounds.end;
        let is_anew = std::mem::replace(&mut self.has_begun, true);
        self.invocation += u32::from(is_anew);
        self.turns(round).map(|turns| Turns { is_anew, ..turns })
    }

    /// The trials of a round that are left, if any.
    fn turns(&self, round: u32) -> Option<Turns> {
        let mut cases = order_of_round(self.plan, &self.open_cases, round);
        cases.retain(|case| !self.recorded.contains(&(*case, round)));
        let turns = Turns { round, invocation: self.invocation, is_anew: false, cases };
        (!turns.cases.is_empty()).then_some(turns)
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
    pub(crate) fn end_round(&mut self, turns: &Turns, passed: Duration) -> Vec<Pruned> {
        if turns.invocation == 0 {
            self.close_settled();
        }
        let pruned = self.prune();
        let took = passed.saturating_sub(self.since);
        let trials = u32::try_from(turns.cases.len()).ok();
        let of_one = trials.and_then(|trials| took.checked_div(trials));
        self.trial_time_longest = self.trial_time_longest.max(of_one.unwrap_or(took));
        self.since = passed;
        pruned
    }

    /// Whether the time that the run is given is over, or its record is full. It never is before
    /// the first trial: a run without any would begin anew for ever.
    pub(crate) fn is_over(&self, passed: Duration) -> bool {
        let is_full = is_full(self.record_bytes, self.rounds_begun);
        let is_over = |budget| is_full || passed >= budget;
        !self.recorded.is_empty() && self.plan.budget.is_some_and(is_over)
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
        let fits = !self.is_over(passed) && self.plan.budget.is_none_or(|budget| end <= budget);
        self.recorded.is_empty() || fits
    }

    /// The requested cases with the widest intervals, and the first round in which they have not
    /// been measured; `None` if there are none.
    fn widest(&self) -> Option<(Vec<usize>, u32)> {
        let width = |case: usize| {
            let is_asked =
                self.plan.cases[case].role == Role::Asked && self.failed_in_row[case] == 0;
            width(&self.rates[case]).filter(|_| is_asked && !self.pruned.contains(&case))
        };
        let cases = widest(&(0..self.plan.cases.len()).map(width).collect::<Vec<_>>());
        (!cases.is_empty()).then_some((cases, self.plan.rounds.max(self.rounds_begun)))
    }

    /// Why a case that failed too often in a row is not tried again, if it is not.
    pub(crate) fn refusal(&self, case: usize) -> Option<String> {
        refusal(self.failed_in_row[case])
    }

    /// The number of the current invocation.
    pub(crate) fn invocation(&self) -> u32 {
        self.invocation
    }

    /// Whether all planned trials are known.
    pub(crate) fn is_whole(&self) -> bool {
        (0..self.plan.rounds).all(|round| self.has_whole(round))
    }

    /// Whether each open case has a trial in this round.
    fn has_whole(&self, round: u32) -> bool {
        self.open_cases.iter().all(|case| self.recorded.contains(&(*case, round)))
    }

    /// The rates of a case so far.
    pub(crate) fn rates(&self, case: usize) -> Vec<f64> {
        self.rates[case].iter().map(|round| round.value).collect()
    }

    /// The number of recorded turns.
    pub(crate) fn done(&self) -> u64 {
        self.recorded.len() as u64
    }

    /// The number of turns at the end of the planned rounds, if no case ends early, when those of
    /// `turns` begin.
    pub(crate) fn planned(&self, turns: &Turns) -> u64 {
        let after = self.plan.rounds.saturating_sub(turns.round.saturating_add(1));
        let after = u64::from(after) * self.open_cases.len() as u64;
        self.done() + turns.cases.len() as u64 + after
    }

    /// Closes cases that need no more rounds, because throughput no longer grows with one of their
    /// axes. Returns those that were open until now.
    fn prune(&mut self) -> Vec<Pruned> {
        let mut found = prunable(self.plan, &self.rates);
        found.retain(|(case, _)| !self.pruned.contains(case));
        let pruned = |(case, reason)| Pruned { case, round: self.rounds_begun, reason };
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
        let rates: Vec<Vec<f64>> = (0..cases.len()).map(|case| self.rates(case)).collect();
        let is_settled = |case: usize| assess::is_settled(&rates[case], self.plan.precision);
        let is_open = |case: usize| {
            let same = |other: &usize| cases[*other].case == cases[case].case;
            (0..cases.len()).filter(same).any(|same| !is_settled(same))
        };
        self.open_cases.retain(|&case| is_open(case));
    }
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
    use model::plan::Planned;
    use model::rank::Rank;
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
    fn trial(case: usize, turns: &Turns, rate: f64) -> Trial {
        let mut trial = zoo::trial(turns.round % 10);
        (trial.case, trial.invocation, trial.round) = (case, turns.invocation, turns.round);
        let Outcome::Done(sample) = &mut trial.outcome else { panic!("the zoo's trials succeed") };
        for span in &mut sample.spans {
            span.bytes = (span.bytes as f64 * rate) as u64;
        }
        trial
    }

    const SECOND: Duration = Duration::from_secs(1);

    /// Carries an agenda out, one trial a second, with this rate of each case in each round.
    /// Returns the turns with their times, and the pruned cases.
    fn carry_out(
        agenda: &mut Agenda,
        rate: impl Fn(usize, u32) -> f64,
    ) -> (Vec<(Turns, u64)>, Vec<Pruned>) {
        let (mut passed, mut all, mut pruned) = (Duration::ZERO, Vec::new(), Vec::new());
        while let Some(turns) = agenda.next(passed) {
            all.push((turns.clone(), passed.as_secs()));
            for case in &turns.cases {
                agenda.add_trials(&[&trial(*case, &turns, rate(*case, turns.round))]);
                passed = passed.saturating_add(SECOND);
            }
            pruned.extend(agenda.end_round(&turns, passed));
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
        for (turns, _) in &all {
            assert_eq!(turns.cases, order_of_round(&plan, &[0, 1, 2], turns.round));
        }
    }

    #[test]
    fn a_run_that_is_cut_anywhere_does_the_rest_in_another_invocation() {
        let whole = zoo::record_of_invocations(3, 2);
        for cut in 0..=whole.trials.len() {
            let mut record = whole.clone();
            record.trials.truncate(cut);
            record.invocations.retain(|anew| anew.number <= (cut / 2) as u32);
            let mut agenda = Agenda::of_record(&record);
            assert_eq!((agenda.done(), agenda.rates(0).len()), (cut as u64, cut));
            assert_eq!(agenda.is_whole(), cut == whole.trials.len());
            let last = record.trials.last().map_or(0, |last| last.invocation);
            let (rest, _) = carry_out(&mut agenda, wild);
            let rounds: Vec<u32> = rest.iter().map(|(turns, _)| turns.round).collect();
            assert_eq!(rounds, (cut as u32..6).collect::<Vec<_>>(), "{cut}");
            assert!(rest.iter().all(|(turns, _)| turns.invocation > last));
            // What it was interrupted in is made anew by whoever resumes it.
            assert!(rest.first().is_none_or(|(turns, _)| !turns.is_anew));
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
        assert!(planned.iter().all(|(turns, _)| turns.cases.len() == 4));
        assert!(!further.is_empty());
        for (turns, began) in further {
            assert!(turns.round >= 6 && turns.cases.iter().all(|case| *case < 2), "{turns:?}");
            assert!(began + turns.cases.len() as u64 <= 60, "it fits into the time");
        }
        let (last, began) = further.last().expect("there are some");
        assert!(began + 2 * last.cases.len() as u64 > 59, "nothing is left of it: {began}");
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
        let turns = agenda.next(SECOND).expect("the first round begins");
        assert!(!agenda.is_over(SECOND));
        agenda.add_trials(&[&trial(turns.cases[0], &turns, 1.0)]);
        assert!(agenda.is_over(SECOND));
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
        for (turns, _) in all {
            assert_eq!(turns.cases.contains(&5), turns.round < 5, "{turns:?}");
        }
        // It stays so in a run that goes on.
        let mut agenda = Agenda::resumed(&plan, &pruned, Vec::new(), 1);
        assert!(agenda.next(Duration::ZERO).is_some_and(|turns| !turns.cases.contains(&5)));
    }

    #[test]
    fn a_case_that_fails_is_tried_three_times() {
        let plan = plan(&[1, 2], 1, 9);
        let mut agenda = Agenda::new(&plan);
        let failed = |case, turns: &Turns| {
            let outcome = Outcome::Failed { reason: "of no room".to_string() };
            Trial { outcome, ..trial(case, turns, 1.0) }
        };
        for round in 0..5 {
            let turns = agenda.next(Duration::ZERO).expect("a round is left");
            assert_eq!(agenda.refusal(1).is_some(), round >= 3);
            agenda.add_trials(&[&trial(0, &turns, wild(0, round))]);
            // It fails on one of two hosts.
            agenda.add_trials(&[&trial(1, &turns, 1.0), &failed(1, &turns)]);
            assert!(agenda.refusal(0).is_none());
        }
        assert!(agenda.rates(1).is_empty());
    }

    #[test]
    fn the_rates_of_hosts_are_added_up() {
        let plan = plan(&[1], 1, 9);
        let (mut one, mut two) = (Agenda::new(&plan), Agenda::new(&plan));
        let turns = one.next(Duration::ZERO).expect("a round is left");
        let [first, second] = [1.0, 3.0].map(|rate| trial(0, &turns, rate));
        one.add_trials(&[&first]);
        two.add_trials(&[&first, &second]);
        assert!((two.rates(0)[0] / one.rates(0)[0] - 4.0).abs() < 1e-9);
        assert_eq!(two.done(), 1);
    }

    /// Its rounds differ by 1 %, so the first look settles it.
    #[test]
    fn a_case_that_was_settled_stays_so() {
        let mut record = zoo::record();
        record.header.plan.rounds = 20;
        assert_eq!(record.trials.len(), 10);
        assert!(Agenda::of_record(&record).open_cases.is_empty());
        // Several hosts go on.
        let rank = Rank { number: 0, of: 2, seed: 7, shares: false, neighbor: None };
        record.header.plan.rank = Some(rank);
        assert_eq!(Agenda::of_record(&record).open_cases, [0]);
        record.header.plan.rank = None;
        record.trials.pop();
        assert_eq!(Agenda::of_record(&record).open_cases, [0]);
        // Its rounds of two invocations are not those of one.
        let mut record = zoo::record();
        record.header.plan.rounds = 20;
        record.trials.iter_mut().skip(5).for_each(|trial| trial.invocation = 1);
        assert_eq!(Agenda::of_record(&record).open_cases, [0]);
    }
}
