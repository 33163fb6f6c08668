//! The rates to measure of a load: shares of what a closed loop does, and those between which goals
//! cease to be met.
//!
//! A search with short trials only proposes rates. What is reported about them comes from full
//! trials after it (docs/method).

use crate::recipe::Relative;
use anyhow::Result;
use model::case::Case;
use model::goal::Requirement;
use model::plan::Plan;
use model::units::NS_PER_SECOND;
use std::time::Duration;

/// Where a search begins, as shares of what the closed loop does.
const LOWEST: f64 = 0.01;
const HIGHEST: f64 = 1.10;
/// A search ends when its bounds are this close.
const APART: f64 = 1.05;
/// The next rates beside the bounds are this far away: a figure of short trials may be off.
const BESIDE: f64 = 1.10;
/// A trial of a rate found by a search is at most this long.
const TIME_MOST: Duration = Duration::from_secs(20);
/// As many operations of a rate may exceed a goal in all its trials; fewer would not decide
/// (docs/method).
const EXCEED_LEAST: f64 = 100.0;

/// Rounds of a closed loop before the run, and of each rate that a search tries.
pub const ROUNDS: u32 = 3;

/// The pause before a trial with a rate, in which a device can empty what the trial before has left
/// in its own queues and caches (docs/method).
pub(crate) const GAP: Duration = Duration::from_millis(100);

/// What a search is for.
#[derive(Debug, Clone, Copy)]
pub struct Search<'a> {
    /// The goals; none means that nothing is searched for.
    pub goals: &'a [Requirement],
    /// A rate to measure in any case.
    pub at_least: Option<u64>,
    /// The rounds of the run.
    pub rounds: u32,
}

impl Search<'_> {
    /// For a plan.
    pub fn of(plan: &Plan) -> Search<'_> {
        Search { goals: &plan.hold, at_least: plan.at_least, rounds: plan.rounds }
    }

    /// The cases of a load whose closed loop does `closed` operations per second. `meets` says,
    /// from short trials, whether a rate seems to meet the goals.
    ///
    /// # Errors
    /// Those of `meets`.
    pub fn cases(
        &self,
        load: &Relative,
        closed: f64,
        meets: &mut dyn FnMut(u64) -> Result<bool>,
    ) -> Result<Vec<Case>> {
        let share = |percent: &u32| rounded(closed * f64::from(*percent) / 100.0);
        let mut cases: Vec<Case> = load.percents.iter().map(|each| load.at(share(each))).collect();
        let mut close = self.at_least.into_iter().collect::<Vec<_>>();
        if !self.goals.is_empty() {
            close.extend(bracket(closed, meets)?);
        }
        for rate in close {
            let mut case = load.at(rate);
            let time = case.time();
            case.set_time(self.time(rate).clamp(time, TIME_MOST.max(time)));
            cases.retain(|known| rate_of(known) != rate);
            cases.push(case);
        }
        cases.sort_by_key(rate_of);
        Ok(cases)
    }

    /// How many rates a search is likely to try, the failing half of them twice.
    pub fn tries(&self) -> u32 {
        let steps = ((HIGHEST / LOWEST).ln() / APART.ln()).log2().ceil();
        if self.goals.is_empty() { 0 } else { (steps * 1.5).ceil() as u32 }
    }

    /// The time of a trial in which enough operations may exceed each goal.
    fn time(&self, rate: u64) -> Duration {
        let seconds =
            EXCEED_LEAST / (least_share(self.goals) * rate as f64 * f64::from(self.rounds.max(1)));
        whole_tenths(seconds)
    }
}

fn rate_of(case: &Case) -> u64 {
    case.io().map_or(0, |io| io.rate)
}

/// The smallest share of operations that any goal lets take longer.
fn least_share(goals: &[Requirement]) -> f64 {
    let tails = goals.iter().filter_map(|goal| goal.of_responses());
    tails.map(|(tail, _)| tail.share()).fold(1.0, f64::min)
}

/// The time of a short trial of a case with trials of `time`: at least half of it, and long enough
/// for a tenth of [`EXCEED_LEAST`] in three.
pub fn short_time(rate: u64, goals: &[Requirement], time: Duration) -> Duration {
    let needed = EXCEED_LEAST / 30.0 / (least_share(goals) * rate as f64);
    whole_tenths(needed.min(5.0)).max(time / 2)
}

/// A tenth more than needed covers chance.
fn whole_tenths(seconds: f64) -> Duration {
    Duration::from_millis((seconds * 1.1 * 10.0).ceil().clamp(1.0, 1e6) as u64 * 100)
}

/// Rates around the one at which goals cease to be met, by bisection on a log scale.
fn bracket(closed: f64, meets: &mut dyn FnMut(u64) -> Result<bool>) -> Result<Vec<u64>> {
    let (mut low, mut high) = (closed * LOWEST, closed * HIGHEST);
    while high / low > APART {
        let middle = (low * high).sqrt();
        // A stall of the whole machine would lead the search away: what fails must fail twice.
        let is_met = meets(rounded(middle))? || meets(rounded(middle))?;
        let half = if is_met { &mut low } else { &mut high };
        *half = middle;
    }
    let mut rates = [low / BESIDE, low, high, high * BESIDE].map(rounded).to_vec();
    rates.dedup();
    Ok(rates)
}

/// A rate in three digits.
fn rounded(rate: f64) -> u64 {
    let digits = 10f64.powf(rate.max(1.0).log10().floor() - 2.0).max(1.0);
    ((rate / digits).round() * digits).clamp(1.0, NS_PER_SECOND) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rates_have_three_digits() {
        for (rate, expected) in
            [(0.2, 1), (7.4, 7), (123.4, 123), (41_234.0, 41_200), (999_600.0, 1_000_000)]
        {
            assert_eq!(rounded(rate), expected, "{rate}");
        }
    }

    #[test]
    fn trials_of_a_found_rate_are_long_enough_to_decide() {
        const TIME: Duration = Duration::from_secs(1);
        let goals = ["p50<1s", "p99<1ms"].map(|goal| goal.parse().expect("it is a goal"));
        let search = Search { goals: &goals, at_least: None, rounds: 10 };
        // 500/s for 2.2 s, 10 times: 110 of 11 000 operations may exceed the goal.
        assert_eq!(search.time(500), Duration::from_millis(2_200));
        assert_eq!(search.time(100_000), Duration::from_millis(100));
        // From 1 to 110 % in steps of 5 % are 97 steps, or 7 halvings.
        assert_eq!(search.tries(), 11);
        assert_eq!(Search { goals: &[], ..search }.tries(), 0);
        assert_eq!(short_time(500, &goals, TIME), Duration::from_millis(800));
        assert_eq!(short_time(100_000, &goals, TIME), TIME / 2);
        assert_eq!(short_time(1, &goals, TIME), Duration::from_millis(5_500));
    }

    proptest! {
        #[test]
        fn a_bracket_is_around_the_knee(closed in 30.0f64..1e7, share in 0.02f64..1.05) {
            let knee = closed * share;
            let mut trials = 0;
            let mut meets = |rate: u64| { trials += 1; Ok(rate as f64 <= knee) };
            let rates = bracket(closed, &mut meets).expect("no trial fails");
            prop_assert!(trials <= 14);
            prop_assert!(rates.is_sorted());
            let below = rates.iter().rev().find(|rate| **rate as f64 <= knee);
            let above = rates.iter().find(|rate| **rate as f64 > knee);
            let (below, above) = (below.expect("one holds"), above.expect("one fails"));
            prop_assert!(*above as f64 <= *below as f64 * APART + 2.0, "{below} {above}");
        }
    }
}
