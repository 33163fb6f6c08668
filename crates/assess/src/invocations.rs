//! The level above rounds: an invocation has its own workers, files and layout, which its rounds
//! share. Only invocations show how a quantity varies from one to the next (Kalibera and Jones,
//! ISMM 2013; docs/method).
//!
//! Everything is computed on logarithms, and the figure is a median of medians: one disturbed
//! invocation has little effect.

use crate::middle::{mean, median, variance};
use crate::significance::LEVEL;
use crate::student;

/// One value of a quantity, with its invocation and round.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Round {
    /// The invocation, from 0.
    pub invocation: u32,
    /// The round, numbered over all invocations.
    pub round: u32,
    /// Whether it was measured after the planned rounds, because the interval was wide.
    pub is_further: bool,
    /// The value.
    pub value: f64,
}

impl Round {
    /// The same round with another value.
    pub(crate) fn with(self, value: f64) -> Round {
        Round { value, ..self }
    }
}

/// The variation, as standard deviations of the logarithm: 0.02 is 2 %.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// From one invocation to the next, without the rounds' contribution; 0 if the rounds explain
    /// all of it.
    pub between: f64,
    /// From round to round within an invocation; none if each had one round.
    pub within: Option<f64>,
}

/// A quantity on two levels.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TwoLevel {
    /// The logarithm of the median of each invocation.
    pub(crate) logs: Vec<f64>,
    /// Their median.
    pub(crate) centre: f64,
    /// The variation on both levels.
    pub(crate) spread: Spread,
    /// The logarithms of the planned invocations: how much they vary decides which cases are
    /// measured further, so only these say how uncertain the center is (Stein 1945, see
    /// docs/method).
    planned: Vec<f64>,
}

/// The standard error of a normal sample's median, as a multiple of that of its mean.
pub(crate) const MEDIAN_BY_MEAN: f64 = 1.253_314_137_315_500_1;

impl TwoLevel {
    /// For `rounds` whose values are logarithms; `None` with fewer than two planned invocations.
    pub(crate) fn of_logs(rounds: &[Round]) -> Option<TwoLevel> {
        let groups = grouped(rounds);
        let medians = |groups: &[Vec<f64>]| -> Vec<f64> {
            groups.iter().filter_map(|group| median(group)).collect()
        };
        let logs = medians(&groups);
        let planned: Vec<Round> = rounds.iter().copied().filter(|it| !it.is_further).collect();
        let planned = medians(&grouped(&planned));
        if planned.len() < 2 {
            return None;
        }
        Some(TwoLevel { centre: median(&logs)?, spread: Spread::of(&groups), logs, planned })
    }

    /// The same, of enough invocations to compare them with others.
    pub(crate) fn of_enough(logs: &[Round]) -> Option<TwoLevel> {
        TwoLevel::of_logs(logs).filter(|two| two.logs.len() >= INVOCATIONS_LEAST)
    }

    /// The variance between invocations.
    pub(crate) fn variance(&self) -> f64 {
        variance(&self.planned)
    }

    /// The standard error of the center.
    pub(crate) fn error(&self) -> f64 {
        let n = self.logs.len() as f64;
        MEDIAN_BY_MEAN * (self.variance() / n).sqrt()
    }

    /// The degrees of freedom of the error.
    fn freedom(&self) -> f64 {
        (self.planned.len() - 1) as f64
    }

    /// The two-sided probability that the center is this far from 0 if it is 0.
    pub(crate) fn p(&self) -> f64 {
        match (self.error(), self.centre) {
            (_, 0.0) => 1.0,
            (0.0, _) => 0.0,
            (error, centre) => student::two_sided(centre / error, self.freedom()),
        }
    }

    /// The least number of invocations with which a center this far from 0 has at most the
    /// probability `level`, if further ones vary as these do. `None` if even [`NEEDED_MOST`] have
    /// more.
    pub(crate) fn needed(&self, level: f64) -> Option<usize> {
        let of_one = MEDIAN_BY_MEAN * self.variance().sqrt();
        (self.logs.len() + 1..=NEEDED_MOST).find(|n| {
            let t = self.centre * (*n as f64).sqrt() / of_one;
            student::two_sided(t, (n - 1) as f64) <= level
        })
    }

    /// Half the width of the 95 % interval, using t of the invocations' values.
    pub(crate) fn half_width(&self) -> f64 {
        student::quantile(LEVEL, self.freedom()) * self.error()
    }
}

/// The values of each invocation, in the order of their numbers.
fn grouped(rounds: &[Round]) -> Vec<Vec<f64>> {
    let mut numbers: Vec<u32> = rounds.iter().map(|round| round.invocation).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let of = |number: u32| {
        let own = rounds.iter().filter(|round| round.invocation == number);
        own.map(|round| round.value).collect()
    };
    numbers.into_iter().map(of).collect()
}

/// The median of each invocation, in order, or the values of a single one: by chance, these could
/// have come in another order.
pub(crate) fn exchangeable(rounds: &[Round]) -> Vec<f64> {
    match grouped(rounds) {
        groups if groups.len() > 1 => groups.iter().filter_map(|group| median(group)).collect(),
        _ => rounds.iter().map(|round| round.value).collect(),
    }
}

impl Spread {
    /// Both components of the variance, from the sums of squares on both levels.
    fn of(groups: &[Vec<f64>]) -> Spread {
        let means: Vec<f64> = groups.iter().map(|group| mean(group)).collect();
        let squares: f64 = (groups.iter().zip(&means))
            .map(|(group, mean)| group.iter().map(|value| (value - mean).powi(2)).sum::<f64>())
            .sum();
        let freedom: usize = groups.iter().map(|group| group.len() - 1).sum();
        let within = (freedom > 0).then(|| squares / freedom as f64);
        // The rounds' contribution to the variance between invocations.
        let parts: f64 = groups.iter().map(|group| 1.0 / group.len() as f64).sum();
        let added = within.unwrap_or(0.0) * parts / groups.len() as f64;
        Spread {
            between: (variance(&means) - added).max(0.0).sqrt(),
            within: within.map(f64::sqrt),
        }
    }

    /// The best number of rounds per invocation in a given time, if an invocation costs `cost`
    /// times as much as a round: `√(cost · within² / between²)` (Kalibera and Jones). None if
    /// rounds explain all variation between invocations.
    pub fn best_rounds(&self, cost: f64) -> Option<u32> {
        let within = self.within?;
        if self.between == 0.0 {
            return None;
        }
        let best = (cost * within * within / (self.between * self.between)).sqrt().ceil();
        Some((best.max(1.0) as u32).min(ROUNDS_MOST))
    }
}

/// Fewer invocations than this do not show how much they vary (docs/method).
pub const INVOCATIONS_LEAST: usize = 3;
/// Nobody runs more invocations than this for an answer.
const NEEDED_MOST: usize = 1_000;
/// More rounds in an invocation than this are never advised.
pub const ROUNDS_MOST: u32 = 20;

/// The width of the interval of `rounds` as a difference of logarithms; `None` without one from
/// invocation to invocation.
pub fn width(rounds: &[Round]) -> Option<f64> {
    if rounds.iter().any(|round| round.value <= 0.0) {
        return None;
    }
    let logs: Vec<Round> = rounds.iter().map(|round| round.with(round.value.ln())).collect();
    width_of(&logs)
}

fn width_of(logs: &[Round]) -> Option<f64> {
    TwoLevel::of_logs(logs).map(|two| 2.0 * two.half_width())
}

/// The cases to measure further, given the widths of their intervals: those at least half as wide
/// as the widest.
pub fn widest(widths: &[Option<f64>]) -> Vec<usize> {
    let most = widths.iter().flatten().copied().fold(0.0, f64::max);
    let is_wide = |width: &Option<f64>| most > 0.0 && width.is_some_and(|it| 2.0 * it >= most);
    widths.iter().enumerate().filter(|(_, width)| is_wide(width)).map(|(case, _)| case).collect()
}

/// Two sets of invocations, from two runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Welch {
    /// Half the width of the 95 % interval for the logarithm of the ratio.
    pub(crate) half_width: f64,
    /// Whether the interval is based on the variation between runs.
    pub(crate) is_by_runs: bool,
    /// The two-sided probability of such a difference if there is none.
    pub(crate) p: f64,
    /// The standard error of the logarithm of the ratio, and its degrees of freedom.
    error: f64,
    freedom: f64,
}

impl Welch {
    /// Compares `ours` with `others`; by the spread from run to run, if it is known and larger,
    /// because no invocation shows what changes only between runs.
    pub(crate) fn of(ours: &TwoLevel, others: &TwoLevel, runs: Option<RunToRun>) -> Welch {
        Welch::of_rounded(ours, others, runs, 0.0)
    }

    /// The same for values whose logarithms have a variance of `rounding` from rounding alone:
    /// equal values do not show that there is none.
    pub(crate) fn of_rounded(
        ours: &TwoLevel,
        others: &TwoLevel,
        runs: Option<RunToRun>,
        rounding: f64,
    ) -> Welch {
        let log_ratio = ours.centre - others.centre;
        let squares = [ours, others].map(|side| side.error().powi(2) + rounding);
        let freedoms = [ours, others].map(TwoLevel::freedom);
        let own = Welch::by(
            log_ratio,
            (squares[0] + squares[1]).sqrt(),
            satterthwaite(squares, freedoms),
        );
        let of_runs = runs.map(|runs| Welch::of_single(log_ratio, runs));
        of_runs.filter(|of_runs| of_runs.half_width > own.half_width).unwrap_or(own)
    }

    /// The same for the logarithms of the ratios of paired rounds; a value of either side has a
    /// variance of `rounding` from rounding alone.
    pub(crate) fn of_paired(ratios: &TwoLevel, rounding: f64) -> Welch {
        let square = ratios.error().powi(2) + 2.0 * rounding;
        Welch::by(ratios.centre, square.sqrt(), ratios.freedom())
    }

    /// Uses only the variation between runs.
    pub(crate) fn of_single(log_ratio: f64, runs: RunToRun) -> Welch {
        let error = std::f64::consts::SQRT_2 * runs.deviation;
        Welch { is_by_runs: true, ..Welch::by(log_ratio, error, runs.freedom()) }
    }

    fn by(log_ratio: f64, error: f64, freedom: f64) -> Welch {
        let half_width = student::quantile(LEVEL, freedom) * error;
        let p = match (error > 0.0, log_ratio == 0.0) {
            (_, true) => 1.0,
            (false, false) => 0.0,
            (true, false) => student::two_sided(log_ratio / error, freedom),
        };
        Welch { half_width, p, is_by_runs: false, error, freedom }
    }

    /// The probability of a `loss` as large as this if the true one is `limit`; 1 if it is not
    /// beyond. Both are logarithms.
    pub(crate) fn p_beyond(&self, loss: f64, limit: f64) -> f64 {
        let beyond = loss - limit;
        match (beyond > 0.0, self.error > 0.0) {
            (false, _) => 1.0,
            (true, false) => 0.0,
            (true, true) => student::two_sided(beyond / self.error, self.freedom) / 2.0,
        }
    }
}

/// The degrees of freedom of a sum of two variances (Welch and Satterthwaite).
fn satterthwaite(squares: [f64; 2], freedoms: [f64; 2]) -> f64 {
    let least = freedoms[0].min(freedoms[1]);
    let below: f64 = squares.iter().zip(freedoms).map(|(square, f)| square * square / f).sum();
    if below > 0.0 { ((squares[0] + squares[1]).powi(2) / below).max(least) } else { least }
}

/// How much a case's figure varies between runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunToRun {
    /// The standard deviation of its logarithm.
    pub deviation: f64,
    /// The number of runs that it is based on.
    pub runs: usize,
}

impl RunToRun {
    /// The degrees of freedom: a median of differences has about half the information of their
    /// squares.
    fn freedom(&self) -> f64 {
        ((self.runs - 1) as f64 / 2.0).max(1.0)
    }
}

/// The spread from run to run, by the median step between consecutive earlier runs, so that one
/// real change does not inflate it. None below [`RUNS_LEAST`] runs.
pub(crate) fn run_to_run(figures: &[f64]) -> Option<RunToRun> {
    if figures.len() < RUNS_LEAST || figures.iter().any(|figure| *figure <= 0.0) {
        return None;
    }
    let steps: Vec<f64> = figures.windows(2).map(|two| (two[1] / two[0]).ln().abs()).collect();
    let deviation = median(&steps)? / MEDIAN_OF_NORMAL / std::f64::consts::SQRT_2;
    // Runs that agree to the last digit are copies of one run.
    (deviation > 0.0).then_some(RunToRun { deviation, runs: figures.len() })
}

/// Fewer runs than this do not show how much runs vary.
pub const RUNS_LEAST: usize = 4;
/// The median absolute value of a normal variable, relative to its standard deviation.
const MEDIAN_OF_NORMAL: f64 = 0.674_489_750_196_081_7;

#[cfg(test)]
mod tests {
    use super::*;
    use model::random::Rng;

    /// Relative variation of invocations and rounds: normal, with some slow rounds and slow
    /// invocations. The variation between invocations has autocorrelation `phi`.
    #[derive(Debug, Clone, Copy, Default)]
    struct Noise {
        between: f64,
        within: f64,
        slow_rounds: f64,
        slow_invocations: f64,
        phi: f64,
    }

    const SESSIONS: u32 = 2_000;

    /// Many sessions of `invocations` with `rounds` each; the values are logarithms around 0.
    fn sessions(noise: Noise, invocations: u32, rounds: u32) -> Vec<TwoLevel> {
        let mut rng = Rng::new(u64::from(100 * invocations + rounds));
        // A sum of 12 uniform numbers is close enough to normal here.
        let normal = |rng: &mut Rng| (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0;
        let mut session = |_| {
            let mut state = normal(&mut rng);
            let mut made = Vec::new();
            for invocation in 0..invocations {
                let rest = (1.0 - noise.phi * noise.phi).sqrt();
                state = noise.phi * state + rest * normal(&mut rng);
                let slow = if rng.unit() < noise.slow_invocations { -0.3 } else { 0.0 };
                let level = noise.between * state + slow;
                for round in 0..rounds {
                    let is_slow = rng.unit() < noise.slow_rounds;
                    let slow = if is_slow { (1.0 - 0.4 * rng.unit()).ln() } else { 0.0 };
                    let value = level + noise.within * normal(&mut rng) + slow;
                    let round = invocation * rounds + round;
                    made.push(Round { invocation, round, is_further: false, value });
                }
            }
            TwoLevel::of_logs(&made).expect("there are two invocations or more")
        };
        (0..SESSIONS).map(&mut session).collect()
    }

    fn share(holds: impl Iterator<Item = bool>) -> f64 {
        let (mut all, mut of) = (0, 0);
        holds.for_each(|holds| (all, of) = (all + 1, of + u32::from(holds)));
        f64::from(of) / f64::from(all)
    }

    /// docs/method: with 3 to 6 invocations, the interval contains the true value, and another
    /// run's figure, as often as it should.
    #[test]
    fn an_interval_of_invocations_holds_as_often_as_it_says() {
        for noise in [
            Noise { between: 0.01, within: 0.02, ..Noise::default() },
            Noise { between: 0.10, within: 0.05, ..Noise::default() },
            Noise { between: 0.02, within: 0.15, ..Noise::default() },
            Noise { between: 0.03, within: 0.03, slow_invocations: 0.15, ..Noise::default() },
        ] {
            // If some are slow, the overall median is slightly below 0.
            let truth = {
                let many: Vec<f64> =
                    sessions(noise, 2, 2).iter().flat_map(|s| s.logs.clone()).collect();
                median(&many).expect("there are many")
            };
            for (invocations, rounds) in [(3, 3), (4, 3), (5, 2), (6, 2)] {
                let all = sessions(noise, invocations, rounds);
                let holds = |s: &TwoLevel, value: f64| (value - s.centre).abs() <= s.half_width();
                let truly = share(all.iter().map(|s| holds(s, truth)));
                assert!(truly >= 0.945, "{noise:?} {invocations} x {rounds}: {truly}");
                let later = share(all.windows(2).map(|two| holds(&two[0], two[1].centre)));
                assert!(later >= 0.86, "{noise:?} {invocations} x {rounds}: {later} of the later");
                let wrong = all.windows(2).map(|two| Welch::of(&two[1], &two[0], None).p <= 0.05);
                let wrong = share(wrong);
                assert!(wrong <= 0.055, "{noise:?} {invocations} x {rounds}: {wrong} differ");
            }
        }
    }

    /// docs/method: a campaign gives cases that vary more further invocations, until its time is
    /// up. Each interval, and that of a ratio, holds as often as it says, because the planned
    /// invocations alone decide both the further ones and its width.
    #[test]
    fn further_invocations_where_intervals_are_wide_cost_no_coverage() {
        const CASES: usize = 6;
        let mut rng = Rng::new(19);
        let mut normal = move || (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0;
        for (planned, slow, time) in [(3, 1.0, 30), (3, 1.0, 100), (5, 4.0, 30)] {
            let (mut held, mut ratios, mut all) = (0, 0, 0);
            for _ in 0..SESSIONS {
                let mut cases: Vec<Vec<Round>> = vec![Vec::new(); CASES];
                let mut add = |cases: &mut Vec<Vec<Round>>, number: u32, chosen: &[usize]| {
                    let shared = normal();
                    for &case in chosen {
                        let noise = if case == 0 { slow * 0.05 } else { 0.05 };
                        let value = 0.02 * shared + noise * normal();
                        let is_further = number >= planned;
                        let (invocation, round) = (number, number);
                        cases[case].push(Round { invocation, round, is_further, value });
                    }
                };
                (0..planned).for_each(|one| add(&mut cases, one, &[0, 1, 2, 3, 4, 5]));
                let (mut spent, mut number) = (0, planned);
                while spent < time {
                    let widths: Vec<Option<f64>> = cases.iter().map(|it| width_of(it)).collect();
                    let chosen = widest(&widths);
                    add(&mut cases, number, &chosen);
                    (spent, number) = (spent + chosen.len(), number + 1);
                }
                let of = |rounds: &[Round]| TwoLevel::of_logs(rounds).expect("five are planned");
                let holds = |two: TwoLevel| usize::from(two.centre.abs() <= two.half_width());
                held += cases.iter().map(|case| holds(of(case))).sum::<usize>();
                let other = |round: u32| cases[1].iter().find(|other| other.round == round);
                let pairs = cases[0]
                    .iter()
                    .filter_map(|round| Some(round.with(round.value - other(round.round)?.value)));
                ratios += holds(of(&pairs.collect::<Vec<_>>()));
                all += 1;
            }
            let (held, ratios) = (held as f64 / (all * CASES) as f64, ratios as f64 / all as f64);
            // With the variance of all invocations, it would be .94 in the first.
            assert!(held >= 0.95 && ratios >= 0.95, "{planned} {slow} {time}: {held} {ratios}");
        }
    }

    #[test]
    fn the_widest_are_those_above_half_of_the_widest() {
        assert_eq!(widest(&[Some(0.1), None, Some(0.04), Some(0.05)]), [0, 3]);
        assert_eq!(widest(&[None, None]), [0; 0]);
        assert_eq!(widest(&[Some(0.0), None]), [0; 0]);
    }

    /// Only the spread between runs, not that of consecutive invocations, shows a drift between
    /// runs.
    #[test]
    fn the_spread_of_runs_keeps_what_drifts_from_being_a_difference() {
        let noise = Noise { between: 0.05, within: 0.05, phi: 0.9, ..Noise::default() };
        let all = sessions(noise, 5, 2);
        let wrong = |is_known: bool| {
            share(all.windows(14).map(|runs| {
                let (known, pair) = runs.split_at(12);
                let figures: Vec<f64> = known.iter().map(|run| run.centre.exp()).collect();
                let known = run_to_run(&figures).filter(|_| is_known);
                Welch::of(&pair[1], &pair[0], known).p <= 0.05
            }))
        };
        assert!(wrong(false) > 0.12, "{}", wrong(false));
        assert!(wrong(true) <= 0.05, "{}", wrong(true));
    }

    #[test]
    fn both_components_are_told_apart() {
        let spread = |between: f64, within: f64| {
            let noise = Noise { between, within, ..Noise::default() };
            let all = sessions(noise, 6, 4);
            let of = |value: fn(&Spread) -> f64| {
                let squares = all.iter().map(|s| value(&s.spread).powi(2)).sum::<f64>();
                (squares / all.len() as f64).sqrt()
            };
            (of(|s| s.between), of(|s| s.within.unwrap_or(f64::NAN)))
        };
        let (between, within) = spread(0.10, 0.05);
        assert!((between - 0.10).abs() < 0.005 && (within - 0.05).abs() < 0.002);
        let (between, within) = spread(0.0, 0.05);
        assert!(between < 0.02 && (within - 0.05).abs() < 0.002, "{between}");
    }

    #[test]
    fn the_cheaper_split_is_advised() {
        let spread = |between, within| Spread { between, within };
        assert_eq!(spread(0.02, Some(0.04)).best_rounds(4.0), Some(4));
        assert_eq!(spread(0.08, Some(0.04)).best_rounds(4.0), Some(1));
        assert_eq!(spread(0.001, Some(0.04)).best_rounds(4.0), Some(ROUNDS_MOST));
        assert_eq!(spread(0.01, Some(0.0)).best_rounds(4.0), Some(1));
        assert_eq!(spread(0.0, Some(0.04)).best_rounds(4.0), None);
        assert_eq!(spread(0.02, None).best_rounds(4.0), None);
    }

    #[test]
    fn one_real_change_is_no_spread() {
        let steady = run_to_run(&[100.0, 101.0, 100.0, 102.0, 101.0, 100.0]).expect("six runs");
        let changed = run_to_run(&[100.0, 101.0, 100.0, 202.0, 201.0, 200.0]).expect("six runs");
        assert!((changed.deviation / steady.deviation) < 2.0, "{steady:?} {changed:?}");
        assert_eq!(run_to_run(&[1.0, 2.0, 3.0]), None);
        assert_eq!(run_to_run(&[1.0, 2.0, 3.0, 0.0]), None);
    }
}
