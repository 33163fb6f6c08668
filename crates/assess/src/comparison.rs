//! Whether two cases differ, from their paired rounds.

use crate::finding::{Code, Finding, Severity, Verdict};
use crate::invocations::{MEDIAN_BY_MEAN, Round, TwoLevel, exchangeable};
use crate::measured::Rounds;
use crate::middle::variance;
use crate::ratio::{Ratio, log_ratios};
use crate::rounds::drift;
use crate::row::{Row, fastest, grouped};
use crate::summary::{ServedBy, Summary};
use model::axis::Axis;
use model::case::{Case, OWN_PEER};
use model::named;
use model::plan::Role;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::HashSet;

named! {
    /// Whether two cases differ.
    Difference "difference" {
        /// The interval excludes 1, and the ratio is at least the smallest effect of interest away
        /// from it.
        Different "different",
        /// The interval lies within the smallest effect of interest.
        Equivalent "equivalent",
        /// Neither.
        Inconclusive "inconclusive",
        /// A figure of either case is doubtful, by more than how it varies from round to round, so
        /// that no interval decides.
        InDoubt "in doubt",
    }
}

/// The ratio of the throughput of two cases.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    /// Id of the compared case.
    pub case: String,
    /// Id of its baseline.
    pub base: String,
    /// Rounds that measured both; 0 for two records, whose rounds are not paired.
    pub pairs: usize,
    /// The number of invocations (for two records, the smaller); with one, the interval holds
    /// within this run.
    pub invocations: usize,
    /// Median of the paired ratios, case over baseline; for two records, the ratio of the medians.
    pub ratio: f64,
    /// Lower end of its 95 % interval; null with fewer than 6 pairs in a single invocation, and if
    /// the pairs depend on each other.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
    /// Whether they differ.
    pub difference: Difference,
    /// The smallest effect of interest, as a share: larger for devices than for memory.
    pub interest: f64,
    /// If inconclusive, unless the pairs depend on each other: roughly how many pairs (or
    /// invocations, if there are several) would detect the smallest effect of interest with 80 %
    /// power (docs/method). Otherwise null.
    pub needs: Option<usize>,
}

impl Comparison {
    /// The same for these rows: a doubtful one leaves open what an interval says. If it is doubtful
    /// only because it varies from round to round, pairs of rounds still compare.
    pub(crate) fn judged(self, rows: [&Summary; 2]) -> Comparison {
        let is_paired = self.pairs > 0;
        let compares =
            |row: &&Summary| row.verdict == Verdict::Sound || is_paired && varies_only(row);
        if rows.iter().all(compares) {
            return self;
        }
        Comparison { difference: Difference::InDoubt, needs: None, ..self }
    }
}

/// Whether all that makes a row doubtful is that its figure varies from round to round. Pairs of
/// rounds share that, or their interval shows it.
fn varies_only(row: &Summary) -> bool {
    let changes_within = row.course.as_ref().is_some_and(|course| course.change.is_some());
    let is_doubt = |finding: &&Finding| finding.severity > Severity::Note;
    row.findings.iter().filter(is_doubt).all(|finding| match finding.code {
        Code::Drifting | Code::WideInterval | Code::TooFew => true,
        Code::StepChange => !changes_within,
        _ => false,
    })
}

/// The smallest effect of interest for data from a device (docs/method).
const INTEREST_DEVICE: f64 = 0.05;
/// The smallest effect of interest for data from memory or the page cache (docs/method).
const INTEREST_MEMORY: f64 = 0.02;

/// Compares requested cases that differ only in engine, only in peer, only in advice, only in how
/// they use io_uring, only in how their warm file was cached, or only in their buffers' pages; and
/// commands that differ in nothing else.
///
/// Void cases are excluded, and so are pairs with different sources, such as a cache and a disk,
/// and open loops: if two hold one schedule, their rates are equal.
pub(crate) fn comparisons<'a, 'r>(rows: &'a [Row<'r>]) -> Vec<Comparison> {
    let asked = || rows.iter().filter(|row| row.has_own_rate() && row.measured.role == Role::Asked);
    // Peers' engines are compared with ioassay's own, if it has an equivalent, and otherwise with
    // each other.
    let own: HashSet<Case> =
        asked().filter(|row| row.is_own()).filter_map(|row| at_usual(row, "engine")).collect();
    let engines = grouped(asked(), |row| {
        let usual = at_usual(row, "engine")?;
        let ours = || Case { peer: OWN_PEER.to_string(), ..usual.clone() };
        (row.is_own() || !own.contains(&ours())).then_some(usual)
    });
    let peers = grouped(asked(), |row| at_usual(row, "peer").filter(|case| case.io().is_some()));
    let with_usual = |axis: &'static str| {
        let mut groups = grouped(asked(), |row| at_usual(row, axis));
        groups.retain(|group| usual_of(group, axis).is_some());
        (axis, groups)
    };
    let [advice, submission, populated, pages] =
        ["advice", "submission", "populated", "pages"].map(with_usual);
    let groups = [("engine", engines), ("peer", peers), advice, submission, populated, pages];
    let of_axes = groups.iter().flat_map(|(axis, groups)| {
        let base = |group: &[&'a Row<'r>]| usual_of(group, axis).unwrap_or(group[0]);
        groups.iter().flat_map(move |group| compare_with(group, base(group)))
    });
    of_axes.chain(loops(asked())).chain(commands(asked())).collect()
}

/// Compares commands with the first of those that have the same parameters and cache state. What
/// served them may differ: they are judged by their time.
fn commands<'a, 'r: 'a>(asked: impl Iterator<Item = &'a Row<'r>>) -> Vec<Comparison> {
    let groups = grouped(asked, |row| {
        let work = row.measured.case.command()?;
        Some((work.parameters.clone(), work.cache))
    });
    let compare_group = |group: &Vec<&Row>| {
        let [base, others @ ..] = group.as_slice() else { return Vec::new() };
        let judged = |row: &&Row| Some(compare(row, base)?.judged([&row.summary, &base.summary]));
        others.iter().filter_map(judged).collect()
    };
    groups.iter().flat_map(compare_group).collect()
}

/// A row's case at the baseline of an axis; `None` for the null engine, which moves nothing.
pub(crate) fn at_usual(row: &Row, axis: &str) -> Option<Case> {
    let case = Some(row.measured.case).filter(|case| !case.is_null())?;
    Axis::named(axis)?.at_baseline(case)
}

/// The row of a group at the baseline of an axis.
fn usual_of<'a, 'r>(group: &[&'a Row<'r>], axis: &str) -> Option<&'a Row<'r>> {
    group.iter().copied().find(|row| at_usual(row, axis).as_ref() == Some(row.measured.case))
}

/// Compares peers' loops, whose compilers choose the instructions, with ioassay's fastest loop for
/// any instruction set.
fn loops<'a, 'r: 'a>(asked: impl Iterator<Item = &'a Row<'r>>) -> Vec<Comparison> {
    let groups = grouped(asked, |row| {
        let work = row.measured.case.memory()?;
        Some((work.kernel, work.working_set, work.pages, work.threads))
    });
    let compare_group = |group: &Vec<&Row>| {
        let (own, others): (Vec<&Row>, Vec<&Row>) = group.iter().partition(|row| row.is_own());
        let Some(base) = fastest(own.into_iter()).or(others.first().copied()) else {
            return Vec::new();
        };
        compare_with(&others, base)
    };
    groups.iter().flat_map(compare_group).collect()
}

/// Compares each of `members` except `base` with `base`.
fn compare_with(members: &[&Row], base: &Row) -> Vec<Comparison> {
    let others = members.iter().filter(|row| !std::ptr::eq(**row, base));
    let alike = others.filter(|row| row.summary.served_by == base.summary.served_by);
    let judged = |row: &&Row| Some(compare(row, base)?.judged([&row.summary, &base.summary]));
    alike.filter_map(judged).collect()
}

/// Compares one row with another, whatever their verdicts; `None` without common rounds.
pub(crate) fn compare(row: &Row, base: &Row) -> Option<Comparison> {
    let rates = [row, base].map(|row| row.measured.rates());
    compare_rounds([row, base], [&rates[0], &rates[1]], None).filter(|found| found.pairs > 0)
}

/// Compares one row with another by these rates and, if given, this smallest effect of interest.
/// Without a common round, the ratio of the medians is returned, and it decides nothing. Returns
/// `None` if a row has no rounds.
pub(crate) fn compare_rounds(
    [row, base]: [&Row; 2],
    [values, others]: [&Rounds; 2],
    interest: Option<f64>,
) -> Option<Comparison> {
    let interest = interest.unwrap_or_else(|| least_of_interest(&base.summary));
    let of_medians = || Some(PairedResult::apart(Ratio::of_any(values, others)?));
    let found = PairedResult::of(values, others, interest).or_else(of_medians)?;
    Some(Comparison {
        case: row.summary.id.clone(),
        base: base.summary.id.clone(),
        pairs: found.ratio.pairs,
        invocations: found.ratio.invocations,
        ratio: found.ratio.median,
        low: found.ratio.low,
        high: found.ratio.high,
        difference: found.difference,
        interest,
        needs: found.needs,
    })
}

/// The smallest effect of interest in a comparison with `base`.
pub(crate) fn least_of_interest(base: &Summary) -> f64 {
    match base.served_by {
        Some(ServedBy::Device) => INTEREST_DEVICE,
        _ => INTEREST_MEMORY,
    }
}

/// The result of paired rounds.
struct PairedResult {
    ratio: Ratio,
    difference: Difference,
    needs: Option<usize>,
}

impl PairedResult {
    fn of(values: &Rounds, base: &Rounds, interest: f64) -> Option<PairedResult> {
        let logs = log_ratios(values, base);
        let ratio = Ratio::of_logs(&logs)?;
        let depend = drifts(&logs);
        let ratio = if depend { ratio.without_interval() } else { ratio };
        let difference = difference(ratio.median, ratio.low.zip(ratio.high), interest);
        // How many of such pairs would do is unknown.
        let is_open = difference == Difference::Inconclusive && !depend;
        Some(PairedResult {
            ratio,
            difference,
            needs: is_open.then(|| pairs_needed(&logs, interest)),
        })
    }

    /// The ratio of two medians, without a decision.
    fn apart(ratio: Ratio) -> PairedResult {
        PairedResult { ratio, difference: Difference::Inconclusive, needs: None }
    }
}

/// Whether pairs depend on each other, as those of rows of which only one drifts: their interval
/// would be too narrow. A drift that both rows share is not in their ratios.
fn drifts(logs: &[Round]) -> bool {
    let ratios: Vec<f64> = exchangeable(logs).into_iter().map(f64::exp).collect();
    drift(&ratios).is_some()
}

/// The minimum number of pairs for an interval.
const PAIRS_LEAST: usize = 6;
/// The square of the sum of the normal quantiles of 97.5 % and 80 %: with it, a 95 % interval has
/// 80 % power (docs/method).
const POWER: f64 = 7.85;

/// Roughly how many pairs (or invocations, if there are several) detect an effect of `interest`
/// with 80 % power. Based on the spread of the present ones, and always larger than their number.
fn pairs_needed(logs: &[Round], interest: f64) -> usize {
    if let Some(two) = TwoLevel::of_logs(logs) {
        return invocations_needed(two.variance(), interest).max(two.logs.len() + 1);
    }
    let values: Vec<f64> = logs.iter().map(|round| round.value).collect();
    let by_power = (POWER * variance(&values) / interest.ln_1p().powi(2)).ceil() as usize;
    by_power.max(PAIRS_LEAST).max(values.len() + 1)
}

/// Roughly how many invocations detect an effect of `interest` with 80 % power, if the logarithms
/// of their ratios have this variance.
pub(crate) fn invocations_needed(variance: f64, interest: f64) -> usize {
    let of_medians = variance * MEDIAN_BY_MEAN.powi(2);
    (POWER * of_medians / interest.ln_1p().powi(2)).ceil() as usize
}

/// The size of the effect of a ratio, as a share: half as fast equals twice as fast.
pub(crate) fn effect(ratio: f64) -> f64 {
    ratio.max(1.0 / ratio) - 1.0
}

/// The outcome for a ratio and its interval; `interest` is a share.
pub(crate) fn difference(ratio: f64, interval: Option<(f64, f64)>, interest: f64) -> Difference {
    let Some((low, high)) = interval else { return Difference::Inconclusive };
    let is_excluded = low > 1.0 || high < 1.0;
    if is_excluded && effect(ratio) >= interest {
        Difference::Different
    } else if effect(low) <= interest && effect(high) <= interest {
        Difference::Equivalent
    } else {
        Difference::Inconclusive
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::random::Rng;

    /// How rounds vary: all cases share the machine's AR(1) drift, and each case has its own
    /// `noise` and outliers.
    #[derive(Clone, Copy)]
    struct Machine {
        /// The share of a round's drift that remains in the next.
        phi: f64,
        /// The size of the machine's drift, as a share.
        drift: f64,
        /// The variation of the rounds of one case, as a share.
        noise: f64,
        /// The share of outlier rounds, which are up to two fifths slower.
        outliers: f64,
    }

    const DRIFTING: Machine = Machine { phi: 0.9, drift: 0.1, noise: 0.03, outliers: 0.0 };

    /// One of many sessions: rounds of a baseline, and of a case `factor` times as fast.
    struct Session {
        base: Rounds,
        other: Rounds,
    }

    /// Many sessions of `n` rounds, reproducible.
    fn sessions(machine: Machine, n: u32, factor: f64) -> Vec<Session> {
        const SESSIONS: u32 = 2_000;
        let mut rng = Rng::new(u64::from(n) + (machine.phi * 100.0) as u64);
        // A sum of 12 uniform numbers is close enough to normal.
        let normal = |rng: &mut Rng| (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0;
        let Machine { phi, drift, noise, outliers } = machine;
        let mut session = |_| {
            let mut state = normal(&mut rng);
            let mut session = Session { base: Rounds::new(), other: Rounds::new() };
            for round in 0..n {
                let at = |value| Round { round, value, ..Round::default() };
                state = phi * state + (1.0 - phi * phi).sqrt() * normal(&mut rng);
                let level = (drift * state).exp();
                let mut rate = |factor: f64| {
                    let slow = if rng.unit() < outliers { 1.0 - 0.4 * rng.unit() } else { 1.0 };
                    level * factor * slow * (noise * normal(&mut rng)).exp()
                };
                session.base.push(at(rate(1.0)));
                session.other.push(at(rate(factor)));
            }
            session
        };
        (0..SESSIONS).map(&mut session).collect()
    }

    /// The share of sessions for which `holds` is true.
    fn share(sessions: &[Session], holds: impl Fn(&PairedResult) -> bool) -> f64 {
        let found = sessions.iter().map(|session| {
            let found = PairedResult::of(&session.other, &session.base, INTEREST_MEMORY);
            found.expect("all rounds are common")
        });
        found.filter(|found| holds(found)).count() as f64 / sessions.len() as f64
    }

    fn differs(found: &PairedResult) -> bool {
        found.difference == Difference::Different
    }

    /// A case differs from itself in at most 6 of 100 sessions, with any drift and outliers
    /// (docs/method).
    #[test]
    fn a_drift_is_no_difference() {
        for n in [10, 20] {
            for phi in [0.9, 0.5] {
                for outliers in [0.0, 0.15] {
                    let machine = Machine { phi, outliers, ..DRIFTING };
                    let same = share(&sessions(machine, n, 1.0), differs);
                    assert!(same <= 0.06, "{n} rounds, {phi}, {outliers}: {same} differ");
                }
            }
        }
    }

    /// A 10 % improvement is usually found, even with one slow round in seven (docs/method).
    #[test]
    fn a_tenth_more_is_found() {
        for (n, outliers, least) in [(10, 0.0, 0.9), (20, 0.0, 0.9), (15, 0.15, 0.8)] {
            let machine = Machine { outliers, ..DRIFTING };
            let tenth = share(&sessions(machine, n, 1.1), differs);
            assert!(tenth >= least, "{n} rounds, {outliers}: only {tenth} found the tenth");
        }
    }

    #[test]
    fn the_interval_of_a_ratio_covers_it() {
        for n in [7, 10, 20, 30] {
            for outliers in [0.0, 0.15] {
                let machine = Machine { outliers, ..DRIFTING };
                let all = sessions(machine, n, 1.3);
                let interval = |found: &PairedResult| found.ratio.low.zip(found.ratio.high);
                let covers = share(&all, |found| {
                    interval(found).is_none_or(|(low, high)| low <= 1.3 && 1.3 <= high)
                });
                assert!(covers >= 0.93, "{n} rounds, {outliers}: only {covers} cover it");
                // Few pairs seem to depend on each other by chance.
                let lacks = share(&all, |found| interval(found).is_none());
                assert!(lacks <= 0.02, "{n} rounds, {outliers}: {lacks} have none");
            }
        }
    }

    /// The reported number of pairs detects the smallest effect of interest about as often as
    /// promised. An interval of ranks has less power than the formula assumes.
    #[test]
    fn as_many_pairs_as_are_needed_suffice() {
        let few = sessions(DRIFTING, 7, 1.0);
        let needed = few.iter().map(|session| {
            pairs_needed(&log_ratios(&session.other, &session.base), INTEREST_MEMORY)
        });
        let mut needed: Vec<usize> = needed.collect();
        needed.sort_unstable();
        // Both have 3 % noise, and the effect is 2 %.
        let median = needed[needed.len() / 2];
        assert!((28..45).contains(&median), "{median}");
        let found = share(&sessions(DRIFTING, 37, 1.02), |found| {
            found.ratio.low.is_some_and(|low| low > 1.0)
        });
        assert!((0.5..0.9).contains(&found), "{found}");
    }

    #[test]
    fn more_pairs_are_needed_than_there_were() {
        let rounds = |values: &[f64]| -> Rounds {
            let of_one =
                |(round, value): (u32, &f64)| Round { round, value: *value, ..Round::default() };
            (0..).zip(values).map(of_one).collect()
        };
        assert_eq!(pairs_needed(&[], 0.05), 6);
        assert_eq!(pairs_needed(&rounds(&[0.5]), 0.05), 6);
        assert_eq!(pairs_needed(&rounds(&[0.04; 9]), 0.05), 10);
        // A standard deviation as large as the effect.
        let d = 0.05f64.ln_1p();
        assert_eq!(pairs_needed(&rounds(&[d, -d, 0.0]), 0.05), 8);
        let none =
            PairedResult::of(&rounds(&[1.0]), &rounds(&[3.0]), 0.05).expect("a round is common");
        assert_eq!((none.difference, none.needs), (Difference::Inconclusive, Some(6)));
        let same = rounds(&[7.0; 10]);
        let found = PairedResult::of(&same, &same, 0.05).expect("all rounds are common");
        assert_eq!((found.difference, found.needs), (Difference::Equivalent, None));
    }

    #[test]
    fn a_difference_needs_an_interval_and_a_size() {
        use Difference::{Different, Equivalent, Inconclusive};
        for (ratio, low, high, expected) in [
            (1.10, 1.07, 1.12, Different),
            (0.90, 0.85, 0.94, Different),
            (1.10, 0.99, 1.20, Inconclusive),
            (1.03, 1.02, 1.04, Equivalent),
            (1.00, 0.96, 1.04, Equivalent),
            (1.04, 1.01, 1.08, Inconclusive),
            (1.00, 0.90, 1.04, Inconclusive),
        ] {
            let found = difference(ratio, Some((low, high)), 0.05);
            assert_eq!(found, expected, "{ratio} [{low}, {high}]");
        }
        assert_eq!(difference(9.0, None, 0.05), Inconclusive);
    }
}
