//! Medians with exact intervals.

use crate::binomial;
use crate::form::{As, FormOf};
use crate::invocations::{Round, Spread, TwoLevel};
use crate::middle::{middle, sorted};
use model::named;
use model::record::Record;
use schemars::JsonSchema;
use serde::Serialize;

pub(crate) use crate::middle::median;

named! {
    /// What an interval is valid for.
    IntervalScope "reach of an interval" {
        /// The rounds of one invocation: another run may give another figure.
        WithinRun "within this run",
        /// New invocations, with new workers and new files.
        Invocations "from invocation to invocation",
    }
}

/// The ratio of an interval's ends from which the figure is doubtful (docs/method).
const WIDE: f64 = 4.0;

/// A quantity over the rounds of a case: the median with a 95 % interval, the mean and the
/// extremes.
///
/// With several invocations, the figure is the median of the invocations' medians, on logarithms,
/// with an interval based on Student's t. With one invocation, it is the median of the rounds, with
/// an interval from their order statistics (docs/method).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Estimate {
    /// Number of rounds.
    #[serde(skip)]
    pub n: usize,
    /// The median of the rounds; with several invocations, of their medians.
    pub median: f64,
    /// Lower end of the median's 95 % interval; null with fewer than 6 rounds of one invocation.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
    /// The minimum.
    pub min: f64,
    /// The maximum.
    pub max: f64,
    /// The mean. For rates, it is the total work divided by the total time; otherwise the
    /// arithmetic mean.
    pub mean: f64,
    /// Number of invocations.
    #[serde(flatten, with = "As::<Reach>")]
    pub invocations: usize,
    /// The variation between invocations and between rounds; `None` with one invocation.
    #[serde(flatten, with = "As::<Variation>")]
    pub spread: Option<Spread>,
}

/// The published form of the number of invocations.
#[derive(Serialize, JsonSchema)]
struct Reach {
    /// Number of invocations.
    invocations: usize,
    /// What the interval is valid for. With one invocation, another run may give another figure.
    holds: IntervalScope,
}

impl FormOf<usize> for Reach {
    fn of(invocations: &usize) -> Reach {
        let holds =
            if *invocations > 1 { IntervalScope::Invocations } else { IntervalScope::WithinRun };
        Reach { invocations: *invocations, holds }
    }
}

/// The published form of a spread.
#[derive(Serialize, JsonSchema)]
struct Variation {
    /// The standard deviation of the logarithm between invocations; null with one invocation.
    between: Option<f64>,
    /// The standard deviation of the logarithm between the rounds of an invocation; null with one
    /// invocation, or with one round in each.
    within: Option<f64>,
}

impl FormOf<Option<Spread>> for Variation {
    fn of(spread: &Option<Spread>) -> Variation {
        let between = spread.map(|spread| spread.between);
        Variation { between, within: spread.and_then(|spread| spread.within) }
    }
}

impl Estimate {
    /// Whether the interval reaches over a factor of four: the figure is known to no better than a
    /// factor of two either way (docs/method, WideInterval).
    pub fn is_wide(&self) -> bool {
        self.low.zip(self.high).is_some_and(|(low, high)| high >= WIDE * low)
    }

    /// The estimate from one value per round of one invocation, in any order; `None` without
    /// values.
    ///
    /// # Panics
    /// If a value is not finite, which no counter or clock produces.
    pub fn of(values: &[f64]) -> Option<Estimate> {
        Estimate::of_one(values, Looks::None)
    }

    /// The same, if `looks` at the rounds may have decided their number.
    pub fn of_one(values: &[f64], looks: Looks) -> Option<Estimate> {
        let sorted = sorted(values);
        let (n, median) = (sorted.len(), middle(&sorted)?);
        let ranks = median_ranks(n, looks.tails());
        let interval = ranks.map(|(low, high)| (sorted[low - 1], sorted[high - 1]));
        Some(Estimate {
            n,
            invocations: 1,
            median,
            low: interval.map(|(low, _)| low),
            high: interval.map(|(_, high)| high),
            mean: sorted.iter().sum::<f64>() / n as f64,
            min: sorted[0],
            max: sorted[n - 1],
            spread: None,
        })
    }

    /// The estimate from rounds of any number of invocations; `None` without rounds.
    pub fn of_rounds(rounds: &[Round], looks: Looks) -> Option<Estimate> {
        let values: Vec<f64> = rounds.iter().map(|round| round.value).collect();
        let of_one = Estimate::of_one(&values, looks)?;
        // Values that are not positive have no logarithm.
        if of_one.min <= 0.0 {
            return Some(of_one);
        }
        let logs: Vec<Round> = rounds.iter().map(|round| round.with(round.value.ln())).collect();
        let Some(two) = TwoLevel::of_logs(&logs) else { return Some(of_one) };
        let half = two.half_width();
        Some(Estimate {
            invocations: two.logs.len(),
            median: two.centre.exp(),
            low: Some((two.centre - half).exp()),
            high: Some((two.centre + half).exp()),
            spread: Some(two.spread),
            ..of_one
        })
    }

    /// What the interval is valid for.
    pub fn holds(&self) -> IntervalScope {
        Reach::of(&self.invocations).holds
    }

    /// The estimate of `factor` times the quantity.
    pub(crate) fn scaled(self, factor: f64) -> Estimate {
        let scale = |value: f64| value * factor;
        Estimate {
            median: scale(self.median),
            low: self.low.map(scale),
            high: self.high.map(scale),
            mean: scale(self.mean),
            min: scale(self.min),
            max: scale(self.max),
            ..self
        }
    }

    /// Half the width of the interval, relative to the median; `None` without an interval, or if
    /// the median is not positive.
    pub fn relative_half_width(&self) -> Option<f64> {
        let (low, high) = (self.low?, self.high?);
        (self.median > 0.0).then(|| (high - low) / 2.0 / self.median)
    }
}

/// Whether looks at the rounds decided their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Looks {
    /// No looks: their number was fixed beforehand.
    None,
    /// At [`LOOKS`]. Such an interval is wider, so that it has the stated coverage after the look
    /// that ended the case.
    Taken,
}

impl Looks {
    /// Whether a look could end a case of this record before the last round, which requires a
    /// single invocation.
    pub(crate) fn of(record: &Record) -> Looks {
        let plan = &record.header.plan;
        let takes_turns = plan.invocations <= 1 && plan.sustain.is_none();
        if takes_turns && plan.rounds > LOOKS[0] { Looks::Taken } else { Looks::None }
    }

    /// The lower tail of an interval, and its complement.
    fn tails(self) -> [f64; 2] {
        match self {
            Looks::None => BOTH_TAILS,
            Looks::Taken => LOOKED_TAILS,
        }
    }
}

/// A case may end early only after these numbers of rounds (docs/method).
pub const LOOKS: [u32; 4] = [10, 14, 20, 28];

/// Whether a case needs no more rounds, given its throughputs, one per round of one invocation.
/// That is so if a look is due and the interval for looks is narrow enough: half its width is at
/// most the share `precision` of the median.
pub fn is_settled(throughputs: &[f64], precision: f64) -> bool {
    let half_width = || Estimate::of_one(throughputs, Looks::Taken)?.relative_half_width();
    LOOKS.contains(&(throughputs.len() as u32))
        && half_width().is_some_and(|half| half <= precision)
}

/// The ranks, from 1, of the narrowest symmetric interval for the median of any distribution, with
/// at least the coverage between the `tails`. `low` is the largest rank with P(X < low) at most the
/// lower tail, where X counts the values below the median (Hahn and Meeker; docs/method). `None`
/// for 5 values or fewer.
fn median_ranks(n: usize, tails: [f64; 2]) -> Option<(usize, usize)> {
    if n == 0 {
        return None;
    }
    let [low, _] = binomial::quantiles(n as u64, 0.5, tails);
    let low = low as usize;
    (low > 0).then_some((low, n + 1 - low))
}

/// The lower tail of a 95 % interval, and its complement.
const BOTH_TAILS: [f64; 2] = [0.025, 0.975];
/// The same for a look. With these, the look that ended a case misses no more often than one 95 %
/// interval. That holds even if each round depends by half on the one before (docs/method).
const LOOKED_TAILS: [f64; 2] = [0.002_5, 0.997_5];

#[cfg(test)]
mod tests {
    use super::*;
    use model::random::Rng;
    use proptest::prelude::*;

    /// The table in docs/method.
    #[test]
    fn ranks_are_those_of_the_table() {
        for n in 0..=5 {
            assert_eq!(median_ranks(n, BOTH_TAILS), None, "{n}");
        }
        for (n, ranks) in [
            (6, (1, 6)),
            (7, (1, 7)),
            (8, (1, 8)),
            (9, (2, 8)),
            (10, (2, 9)),
            (12, (3, 10)),
            (15, (4, 12)),
            (20, (6, 15)),
            (30, (10, 21)),
        ] {
            assert_eq!(median_ranks(n, BOTH_TAILS), Some(ranks), "{n}");
        }
    }

    #[test]
    fn an_estimate_is_what_it_says() {
        assert_eq!(Estimate::of(&[]), None);
        let four = Estimate::of(&[4.0, 1.0, 3.0, 2.0]).expect("there are values");
        let (low, high) = (None, None);
        let (n, invocations, median, mean, spread) = (4, 1, 2.5, 2.5, None);
        let (min, max) = (1.0, 4.0);
        let expected = Estimate { n, invocations, median, low, high, mean, min, max, spread };
        assert_eq!(four, expected);
        let nine: Vec<f64> = (1..=9).map(f64::from).collect();
        let nine = Estimate::of(&nine).expect("there are values");
        assert_eq!((nine.low, nine.median, nine.high), (Some(2.0), 5.0, Some(8.0)));
        assert_eq!(nine.relative_half_width(), Some(0.6));
        assert_eq!(four.relative_half_width(), None);
    }

    #[test]
    fn a_case_is_settled_at_a_look_and_by_its_precision() {
        let close = [100.0, 101.0, 99.0, 100.5, 99.5, 100.0, 100.0, 100.0, 100.2, 99.8];
        assert!(is_settled(&close, 0.01));
        assert!(!is_settled(&close, 0.005));
        assert!(!is_settled(&close[..9], 0.5), "nobody looks after nine rounds");
        assert!(!is_settled(&[0.0; 10], 0.5), "nothing is known about nothing");
        assert!(!is_settled(&[], 0.5));
        let looked = Estimate::of_one(&close, Looks::Taken).expect("there are values");
        let fixed = Estimate::of(&close).expect("there are values");
        assert!(looked.low < fixed.low && looked.high > fixed.high, "{looked:?} {fixed:?}");
    }

    fn rounds(invocations: &[&[f64]]) -> Vec<Round> {
        let mut round = 0..;
        let of = |(invocation, values): (u32, &&[f64])| -> Vec<Round> {
            let at = |value: &f64| Round {
                invocation,
                round: round.next().expect("it has no end"),
                is_further: false,
                value: *value,
            };
            values.iter().map(at).collect()
        };
        (0..).zip(invocations).flat_map(of).collect()
    }

    /// Invocations at 90, 100 and 111.1, with any rounds.
    #[test]
    fn with_several_invocations_the_interval_is_of_those() {
        let high = 1_000.0 / 9.0;
        let of = |rounds: &[Round]| Estimate::of_rounds(rounds, Looks::None).expect("rounds");
        let three = of(&rounds(&[&[90.0, 90.0], &[100.0, 99.0, 101.0], &[high, high]]));
        assert_eq!((three.n, three.invocations, three.holds()), (7, 3, IntervalScope::Invocations));
        assert!((three.median - 100.0).abs() < 1e-9, "{three:?}");
        // t with two degrees of freedom, for a median.
        let half = (4.302_653 * 1.253_314 * (10.0f64 / 9.0).ln() / 3f64.sqrt()).exp();
        assert!((three.high.expect("it has one") / three.median / half - 1.0).abs() < 1e-6);
        assert!((three.median / three.low.expect("it has one") / half - 1.0).abs() < 1e-6);
        let one = of(&rounds(&[&[90.0, 90.0, 100.0, 99.0, 101.0, high, high]]));
        assert_eq!((one.invocations, one.holds(), one.spread), (1, IntervalScope::WithinRun, None));
        assert_eq!((one.low, one.high), (Some(90.0), Some(high)));
    }

    proptest! {
        #[test]
        fn an_interval_holds_its_median(values in proptest::collection::vec(0.0f64..1e12, 1..60)) {
            let estimate = Estimate::of(&values).expect("there are values");
            prop_assert_eq!(estimate.low.is_some(), values.len() >= 6);
            let low = estimate.low.unwrap_or(estimate.min);
            let high = estimate.high.unwrap_or(estimate.max);
            prop_assert!(estimate.min <= low && low <= estimate.median);
            prop_assert!(estimate.median <= high && high <= estimate.max);
            let mut turned = values;
            turned.reverse();
            prop_assert_eq!(Estimate::of(&turned).map(|e| e.median), Some(estimate.median));
        }
    }

    const SESSIONS: u32 = 4_000;

    /// A value around 1 with a coefficient of variation of 5 % (Box and Muller).
    fn normal(rng: &mut Rng) -> f64 {
        let radius = (-2.0 * (1.0 - rng.unit()).ln()).sqrt();
        1.0 + 0.05 * radius * (std::f64::consts::TAU * rng.unit()).cos()
    }

    /// The same, but 15 % of the values are halved.
    fn with_outliers(rng: &mut Rng) -> f64 {
        let value = normal(rng);
        if rng.unit() < 0.15 { value / 2.0 } else { value }
    }

    /// The share of many sessions in which the interval contained the true median.
    fn coverage(truth: f64, session: impl FnMut() -> Vec<f64>) -> f64 {
        coverage_of(Looks::None, truth, session)
    }

    fn coverage_of(looks: Looks, truth: f64, mut session: impl FnMut() -> Vec<f64>) -> f64 {
        let holds = |values: &[f64]| {
            let estimate = Estimate::of_one(values, looks).expect("there are values");
            estimate.low.is_some_and(|low| low <= truth)
                && estimate.high.is_some_and(|high| truth <= high)
        };
        f64::from((0..SESSIONS).map(|_| u32::from(holds(&session()))).sum::<u32>())
            / f64::from(SESSIONS)
    }

    /// The binomial distribution gives .9785 for 10 rounds and .9572 for 30, with or without
    /// outliers.
    #[test]
    fn intervals_cover_the_median_as_often_as_they_say() {
        // With 15 % of values far below, the median is the 0.35/0.85 quantile of the rest.
        let with_outliers_median = 1.0 - 0.05 * 0.222_9;
        for (n, expected) in [(10, 0.978_5), (30, 0.957_2)] {
            let mut rng = Rng::new(n);
            let plain = coverage(1.0, || (0..n).map(|_| normal(&mut rng)).collect());
            assert!((plain - expected).abs() < 0.01, "normal, {n} rounds: {plain}");
            let outliers = coverage(with_outliers_median, || {
                (0..n).map(|_| with_outliers(&mut rng)).collect()
            });
            assert!((outliers - expected).abs() < 0.01, "outliers, {n} rounds: {outliers}");
        }
    }

    /// Rounds of two kinds: three in five at one level, the others 30 % above it.
    fn of_two_modes(rng: &mut Rng) -> f64 {
        let level = if rng.unit() < 0.6 { 1.0 } else { 1.3 };
        level * (1.0 + 0.1 * (normal(rng) - 1.0))
    }

    /// Stopping whenever the result looks good loses coverage. Fixed looks with wider intervals
    /// keep the stated coverage, even for dependent rounds (docs/method).
    #[test]
    fn looking_costs_no_coverage() {
        // The true median, from a very large sample.
        let mut rng = Rng::new(1);
        let mut modes: Vec<f64> = (0..200_001).map(|_| of_two_modes(&mut rng)).collect();
        modes.sort_by(f64::total_cmp);
        for most in [14, 20, 30] {
            let mut rng = Rng::new(3);
            let mut check = |name: &str, truth: f64, round: fn(&mut Rng, f64) -> f64| {
                let held = coverage_of(Looks::Taken, truth, || {
                    let mut values = vec![round(&mut rng, 1.0)];
                    while values.len() < most && !is_settled(&values, 0.025) {
                        values.push(round(&mut rng, values[values.len() - 1]));
                    }
                    values
                });
                assert!(held >= 0.95, "{name}, at most {most} rounds: {held}");
            };
            check("normal", 1.0, |rng, _| normal(rng));
            check("two modes", modes[100_000], |rng, _| of_two_modes(rng));
            check("AR(1)", 1.0, |rng, last| 1.0 + 0.5 * (last - 1.0) + 0.866 * (normal(rng) - 1.0));
        }
    }
}
