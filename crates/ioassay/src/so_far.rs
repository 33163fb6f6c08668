//! What a run has measured so far, before and after an interruption.

use crate::progress::Ends;
use assess::invocations::{Round, widest, width};
use assess::prune::prunable;
use model::plan::{Plan, Pruned, Role};
use model::record::{Record, is_full};
use model::trial::Trial;
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// The progress of a run.
pub(crate) struct SoFar {
    began: Instant,
    /// How long the run had lasted when it was interrupted.
    before: Duration,
    /// The number of the current invocation, or of the next one if the run is resumed.
    pub(crate) invocation: u32,
    /// Unfinished cases.
    pub(crate) open: Vec<usize>,
    /// The rate of each case in each round.
    rounds: Vec<Vec<Round>>,
    /// Cases that need no more rounds, because throughput no longer grows with one of their axes.
    pruned: HashSet<usize>,
    /// Number of consecutive failures of each case since the run began or was resumed: its cause
    /// may be gone.
    pub(crate) failed: Vec<u32>,
    /// The cases and rounds of all recorded trials.
    known: HashSet<(usize, u32)>,
    /// The number of rounds begun.
    begun: u32,
    /// The memory in bytes of all trials.
    bytes: usize,
    /// The longest time of a trial in any round of this process: that of the round, with what
    /// preceded it, divided by its trials.
    longest: Duration,
}

impl SoFar {
    /// At the start of a run.
    pub(crate) fn new(plan: &Plan) -> SoFar {
        let cases = plan.cases.len();
        SoFar {
            began: Instant::now(),
            before: Duration::ZERO,
            invocation: 0,
            open: (0..cases).collect(),
            rounds: vec![Vec::new(); cases],
            longest: Duration::ZERO,
            pruned: HashSet::new(),
            failed: vec![0; cases],
            known: HashSet::new(),
            begun: 0,
            bytes: 0,
        }
    }

    /// Where the interrupted run `record` goes on: in another invocation.
    pub(crate) fn of(record: &Record) -> SoFar {
        let plan = &record.header.plan;
        let mut so_far = SoFar::new(plan);
        so_far.before = lasted(record);
        so_far.close_pruned(&record.pruned);
        let numbers = record.trials.iter().map(|trial| trial.invocation);
        let numbers = numbers.chain(record.invocations.iter().map(|anew| anew.number));
        so_far.invocation = numbers.max().unwrap_or(0).saturating_add(1);
        let mut trials: Vec<&Trial> = record.trials.iter().collect();
        trials.sort_by_key(|trial| trial.round);
        for round in trials.chunk_by(|one, next| one.round == next.round) {
            round.iter().for_each(|trial| so_far.add(plan, trial));
            let is_first = round.iter().all(|trial| trial.invocation == 0);
            if is_first && so_far.has_whole(round[0].round) {
                so_far.close_settled(plan);
            }
        }
        so_far
    }

    /// Adds a trial that is recorded.
    pub(crate) fn add(&mut self, plan: &Plan, trial: &Trial) {
        self.known.insert((trial.case, trial.round));
        let Trial { case, invocation, round, .. } = *trial;
        self.begun = self.begun.max(round.saturating_add(1));
        self.bytes = self.bytes.saturating_add(trial.bytes());
        if let Some(value) = assess::rate(&plan.cases[case].case, trial) {
            let is_further = plan.is_further(round);
            self.rounds[case].push(Round { invocation, round, is_further, value });
        }
    }

    /// Whether the time that the run is given is over, or its record is full.
    pub(crate) fn is_over(&self, plan: &Plan) -> bool {
        let is_full = is_full(self.bytes, self.begun);
        plan.budget.is_some_and(|budget| is_full || self.elapsed() >= budget)
    }

    /// What ends the run.
    pub(crate) fn ends(&self, plan: &Plan) -> Ends {
        let passed = self.elapsed();
        plan.budget.map_or(Ends::Rounds(plan.rounds), |given| Ends::Time { passed, given })
    }

    /// Notes how long a round of so many trials took.
    pub(crate) fn add_round(&mut self, took: Duration, trials: usize) {
        let of_one = u32::try_from(trials).ok().and_then(|trials| took.checked_div(trials));
        self.longest = self.longest.max(of_one.unwrap_or(took));
    }

    /// Whether another round of the open cases fits into the time that the run is given. The first
    /// always does.
    pub(crate) fn has_time(&self, plan: &Plan) -> bool {
        let round = self.longest.saturating_mul(self.open.len() as u32);
        let end = self.elapsed().saturating_add(round);
        let fits = !self.is_over(plan) && plan.budget.is_none_or(|budget| end <= budget);
        self.known.is_empty() || fits
    }

    /// The requested cases with the widest intervals, and the first round in which they have not
    /// been measured; `None` if there are none.
    pub(crate) fn widest(&self, plan: &Plan) -> Option<(Vec<usize>, u32)> {
        let width = |case: usize| {
            let is_asked = plan.cases[case].role == Role::Asked && self.failed[case] == 0;
            width(&self.rounds[case]).filter(|_| is_asked && !self.pruned.contains(&case))
        };
        let cases = widest(&(0..plan.cases.len()).map(width).collect::<Vec<_>>());
        (!cases.is_empty()).then_some((cases, plan.rounds.max(self.begun)))
    }

    /// Whether a trial of this case and round is recorded.
    pub(crate) fn has(&self, case: usize, round: u32) -> bool {
        self.known.contains(&(case, round))
    }

    /// Whether each open case has a trial in this round.
    pub(crate) fn has_whole(&self, round: u32) -> bool {
        self.open.iter().all(|case| self.has(*case, round))
    }

    /// The rates of a case so far.
    pub(crate) fn rates(&self, case: usize) -> Vec<f64> {
        self.rounds[case].iter().map(|round| round.value).collect()
    }

    /// The number of recorded trials.
    pub(crate) fn done(&self) -> u64 {
        self.known.len() as u64
    }

    /// The time since the run began, without that between an interruption and its resumption.
    pub(crate) fn elapsed(&self) -> Duration {
        self.before.saturating_add(self.began.elapsed())
    }

    /// The same in milliseconds.
    pub(crate) fn at_ms(&self) -> u64 {
        u64::try_from(self.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Closes cases that need no more rounds, because throughput no longer grows with one of their
    /// axes. Returns those that were open until now.
    pub(crate) fn prune(&mut self, plan: &Plan) -> Vec<Pruned> {
        let mut found = prunable(plan, &self.rounds);
        found.retain(|(case, _)| !self.pruned.contains(case));
        let pruned = |(case, reason)| Pruned { case, round: self.begun, reason };
        let found: Vec<Pruned> = found.into_iter().map(pruned).collect();
        self.close_pruned(&found);
        found
    }

    fn close_pruned(&mut self, pruned: &[Pruned]) {
        self.pruned.extend(pruned.iter().map(|pruned| pruned.case));
        self.open.retain(|case| !self.pruned.contains(case));
    }

    /// Closes cases that are settled. A case and its twin end together, because they are compared
    /// by shared rounds.
    pub(crate) fn close_settled(&mut self, plan: &Plan) {
        let rates: Vec<Vec<f64>> = (0..plan.cases.len()).map(|case| self.rates(case)).collect();
        let is_settled = |case: usize| assess::is_settled(&rates[case], plan.precision);
        let cases = &plan.cases;
        let is_open = |case: usize| {
            let same = |other: &usize| cases[*other].case == cases[case].case;
            (0..cases.len()).filter(same).any(|same| !is_settled(same))
        };
        if plan.invocations <= 1 {
            self.open.retain(|&case| is_open(case));
        }
    }
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
    use model::zoo;

    #[test]
    fn a_run_that_is_cut_anywhere_has_the_rest_left() {
        let whole = zoo::record_of_invocations(3, 2);
        for cut in 0..=whole.trials.len() {
            let mut record = whole.clone();
            record.trials.truncate(cut);
            record.invocations.retain(|anew| anew.number <= (cut / 2) as u32);
            let so_far = SoFar::of(&record);
            let left: Vec<u32> = (0..6).filter(|round| !so_far.has_whole(*round)).collect();
            assert_eq!(left, (cut as u32..6).collect::<Vec<_>>(), "{cut}");
            assert_eq!((so_far.done(), so_far.rates(0).len()), (cut as u64, cut));
            assert!(so_far.invocation > record.trials.last().map_or(0, |last| last.invocation));
            let last = record.trials.last().map_or(0, |last| last.at_ms);
            assert!(so_far.at_ms() >= last, "{} {last}", so_far.at_ms());
        }
    }

    /// Its rounds differ by 1 %, so the first look settles it.
    #[test]
    fn a_case_that_was_settled_stays_so() {
        let mut record = zoo::record();
        record.header.plan.rounds = 20;
        assert_eq!(record.trials.len(), 10);
        assert!(SoFar::of(&record).open.is_empty());
        record.trials.pop();
        assert_eq!(SoFar::of(&record).open, [0]);
        // Its rounds of two invocations are not those of one.
        let mut record = zoo::record();
        record.header.plan.rounds = 20;
        record.trials.iter_mut().skip(5).for_each(|trial| trial.invocation = 1);
        assert_eq!(SoFar::of(&record).open, [0]);
    }
}
