//! Which of several hosts that should be alike are apart from the others.
//!
//! The generalized extreme Studentized deviate (Rosner: "Percentage points for a generalized ESD
//! many-outlier procedure", Technometrics 25, 1983), on logarithms. Each step holds the host that
//! is farthest from the others against them, and leaves it out of the next: two odd hosts do not
//! hide each other by the spread that they make (docs/method).

use crate::comparison::effect;
use crate::invocations::{MEDIAN_BY_MEAN, Round, TwoLevel};
use crate::middle::{median, variance};
use crate::significance::{LEVEL, holm};
use crate::student;
use schemars::JsonSchema;
use serde::Serialize;

/// Fewer hosts do not show how much hosts vary (docs/method).
pub const HOSTS_LEAST: usize = 4;

/// At most one host of this many is odd: if more are apart, they are not alike at all.
const ODD_OF: usize = 4;

/// The figure of a case on a host.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HostLevel {
    /// Its logarithm.
    pub log: f64,
    /// The standard error of that, from the host's own invocations or rounds.
    pub error: f64,
}

impl HostLevel {
    /// From rounds whose values are logarithms; `None` with fewer than two.
    pub fn of_logs(logs: &[Round]) -> Option<HostLevel> {
        if let Some(two) = TwoLevel::of_logs(logs) {
            return Some(HostLevel { log: two.centre, error: two.error() });
        }
        let values: Vec<f64> = logs.iter().map(|round| round.value).collect();
        let error = MEDIAN_BY_MEAN * (variance(&values) / values.len() as f64).sqrt();
        Some(HostLevel { log: median(&values)?, error }).filter(|_| values.len() > 1)
    }
}

/// A case on several hosts.
#[derive(Debug, Clone)]
pub struct CaseLevels {
    /// Its figure on each host; `None` where it has none that counts.
    pub of: Vec<Option<HostLevel>>,
    /// The smallest effect of interest, as a share.
    pub interest: f64,
}

impl CaseLevels {
    /// The hosts that have a figure.
    fn known(&self) -> Vec<(usize, HostLevel)> {
        let of = self.of.iter().enumerate();
        of.filter_map(|(host, level)| Some((host, (*level)?))).collect()
    }
}

/// How far a host is from the others.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Odd {
    /// Its rate, divided by the geometric mean of the hosts that are not odd.
    pub ratio: f64,
    /// Lower end of the 95 % interval, which includes how much those hosts vary.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// The p value, with Holm's correction over all hosts and cases.
    pub p_holm: f64,
}

/// What is known of a case on several hosts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Oddity {
    /// The odd hosts, by their index.
    pub odd: Vec<(usize, Odd)>,
    /// A host would be odd if its rate were below this share of the others'; `None` if there are
    /// too few hosts, or they do not vary.
    pub odd_below: Option<f64>,
}

/// The odd hosts of each case. All cases and hosts are tested together, with an error rate of 5 %
/// for all of them.
pub fn odd(cases: &[CaseLevels]) -> Vec<Oddity> {
    let known: Vec<Vec<(usize, HostLevel)>> = cases.iter().map(CaseLevels::known).collect();
    let all: Vec<Vec<(usize, f64)>> = known.iter().map(|known| apart(known)).collect();
    let tests = known.iter().map(Vec::len).filter(|hosts| *hosts >= HOSTS_LEAST).sum::<usize>();
    let mut p: Vec<f64> = all.iter().flatten().map(|(_, p)| *p).collect();
    // The other hosts are tested too, and are not apart.
    p.resize(p.len().max(tests), 1.0);
    let mut corrected = holm(&p).into_iter();
    let mut found = Vec::with_capacity(cases.len());
    for ((case, known), apart) in cases.iter().zip(&known).zip(&all) {
        let tested = apart.iter().zip(corrected.by_ref()).map(|((host, _), p)| (*host, p));
        let odd: Vec<(usize, f64)> = tested.filter(|(_, p)| *p <= LEVEL).collect();
        let rest = known.iter().filter(|(host, _)| odd.iter().all(|(other, _)| other != host));
        let rest = LeaveOneOut::of(rest);
        let odd = far(known, &odd, rest, case.interest);
        found.push(Oddity { odd, odd_below: rest.odd_below(tests, case.interest) });
    }
    found
}

/// The hosts that are farthest from the others, each with its uncorrected p value.
fn apart(known: &[(usize, HostLevel)]) -> Vec<(usize, f64)> {
    let mut left = known.to_vec();
    let mut found: Vec<(usize, f64)> = Vec::new();
    let most = if known.len() < HOSTS_LEAST { 0 } else { known.len() / ODD_OF };
    while found.len() < most {
        let all = LeaveOneOut::of(&left);
        let t = |level: HostLevel| all.without(level).t(level);
        let far = left.iter().enumerate().max_by(|(_, a), (_, b)| t(a.1).total_cmp(&t(b.1)));
        let Some((at, (_, level))) = far else { break };
        let p = student::two_sided(t(*level), (left.len() - 2) as f64);
        found.push((left.swap_remove(at).0, p));
    }
    // Who was left out before a host that is apart, is farther from the others than it.
    let mut least = 1.0f64;
    for (_, p) in found.iter_mut().rev() {
        least = least.min(*p);
        *p = least;
    }
    found
}

/// How far the `odd` hosts are from the rest, without differences that nobody cares about.
fn far(
    known: &[(usize, HostLevel)],
    odd: &[(usize, f64)],
    rest: LeaveOneOut,
    interest: f64,
) -> Vec<(usize, Odd)> {
    let of = |(host, p_holm): &(usize, f64)| {
        let (_, level) = known.iter().find(|(other, _)| other == host)?;
        let log = level.log - rest.mean();
        let half = student::quantile(LEVEL, rest.n - 1.0) * rest.error(*level);
        let (ratio, low, high) = (log.exp(), (log - half).exp(), (log + half).exp());
        (effect(ratio) >= interest).then_some((*host, Odd { ratio, low, high, p_holm: *p_holm }))
    };
    odd.iter().filter_map(of).collect()
}

/// Sums over hosts, from which one can be taken away.
#[derive(Debug, Clone, Copy)]
struct LeaveOneOut {
    n: f64,
    /// Logarithms are counted from here, or the squares of large ones would lose digits.
    zero: f64,
    logs: f64,
    squares: f64,
    errors: f64,
}

impl LeaveOneOut {
    fn of<'a>(levels: impl IntoIterator<Item = &'a (usize, HostLevel)>) -> LeaveOneOut {
        let mut levels = levels.into_iter().map(|(_, level)| *level).peekable();
        let zero = levels.peek().map_or(0.0, |level| level.log);
        let none = LeaveOneOut { n: 0.0, zero, logs: 0.0, squares: 0.0, errors: 0.0 };
        levels.fold(none, |sums, level| sums.with(level, 1.0))
    }

    fn with(self, level: HostLevel, sign: f64) -> LeaveOneOut {
        let log = level.log - self.zero;
        LeaveOneOut {
            n: self.n + sign,
            zero: self.zero,
            logs: self.logs + sign * log,
            squares: self.squares + sign * log * log,
            errors: self.errors + sign * level.error * level.error,
        }
    }

    fn without(self, level: HostLevel) -> LeaveOneOut {
        self.with(level, -1.0)
    }

    fn mean(self) -> f64 {
        self.zero + self.logs / self.n
    }

    /// The standard error of the distance of another host, if it is like these. Hosts vary at least
    /// as much as their own rounds say; one whose rounds vary more may be farther away.
    fn error(self, other: HostLevel) -> f64 {
        let own = (self.errors / self.n).max(0.0);
        let spread = ((self.squares - self.logs * self.logs / self.n) / (self.n - 1.0)).max(own);
        let more = (other.error * other.error - own).max(0.0);
        (spread + spread / self.n + more).sqrt()
    }

    /// The share of the others' rate below which a host like these would be odd, among so many
    /// tests.
    fn odd_below(self, tests: usize, interest: f64) -> Option<f64> {
        let own = HostLevel { log: 0.0, error: (self.errors / self.n).max(0.0).sqrt() };
        if (self.n as usize) < HOSTS_LEAST - 1 || tests == 0 || self.error(own) == 0.0 {
            return None;
        }
        let t = student::quantile(LEVEL / tests as f64, self.n - 1.0);
        Some((-t * self.error(own)).exp().min(1.0 / (1.0 + interest)))
    }

    /// The absolute distance of another host in standard errors. Without any spread nothing is
    /// known of it: hosts that agree to the last digit are copies.
    fn t(self, other: HostLevel) -> f64 {
        let error = self.error(other);
        if error > 0.0 { (other.log - self.mean()).abs() / error } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The odd hosts among hosts with these rates, each known to 0.2 %.
    fn check(rates: &[f64], expected: &[usize]) -> Vec<(usize, Odd)> {
        let level = |rate: &f64| Some(HostLevel { log: rate.ln(), error: 0.002 });
        let levels = CaseLevels { of: rates.iter().map(level).collect(), interest: 0.05 };
        let found = odd(&[levels]).remove(0).odd;
        let hosts: Vec<usize> = found.iter().map(|(host, _)| *host).collect();
        assert_eq!(hosts, expected, "{rates:?}: {found:?}");
        found
    }

    #[test]
    fn one_that_is_far_from_the_others_is_odd() {
        let found = check(&[100.0, 101.0, 99.0, 50.0, 100.5, 99.5], &[3]);
        let Odd { ratio, low, high, p_holm } = found[0].1;
        assert!((ratio - 0.5).abs() < 0.001 && low < ratio && ratio < high, "{found:?}");
        assert!(high < 0.53 && p_holm < 1e-4, "{found:?}");
        check(&[100.0, 101.0, 99.0, 200.0, 100.5, 99.5], &[3]);
        check(&[100.0, 101.0, 99.0, 100.2, 100.5, 99.5], &[]);
    }

    #[test]
    fn two_do_not_hide_each_other() {
        let mut rates = vec![100.0, 101.0, 99.0, 100.5, 99.5, 100.0, 50.0, 52.0];
        check(&rates, &[6, 7]);
        // Of eight, three are no exception.
        rates[0] = 51.0;
        check(&rates, &[]);
    }

    #[test]
    fn few_hosts_and_small_differences_are_not_odd() {
        check(&[100.0, 101.0, 1.0], &[]);
        check(&[100.0, 101.0], &[]);
        check(&[], &[]);
        check(&[100.0, 100.01, 99.99, 97.0, 100.02, 99.98, 100.0, 100.0], &[]);
        // With four, it takes much.
        check(&[100.0, 101.0, 99.0, 94.0], &[]);
        check(&[100.0, 101.0, 99.0, 50.0], &[3]);
    }

    #[test]
    fn without_a_spread_nothing_is_known() {
        let level = |log| Some(HostLevel { log, error: 0.0 });
        let of = vec![level(0.0), level(0.0), level(0.0), level(0.0), level(1.0)];
        assert!(odd(&[CaseLevels { of, interest: 0.05 }])[0].odd.is_empty());
    }

    /// A host whose own rounds vary widely is not odd by what they happened to be.
    #[test]
    fn a_host_that_varies_more_must_be_farther_away() {
        let of = |error| {
            let of = |log| Some(HostLevel { log, error: 0.01 });
            let mut levels: Vec<Option<HostLevel>> =
                [0.0, 0.01, -0.01, 0.005, -0.005].map(of).to_vec();
            levels.push(Some(HostLevel { log: -0.3, error }));
            odd(&[CaseLevels { of: levels, interest: 0.05 }])[0].odd.len()
        };
        assert_eq!((of(0.01), of(0.1)), (1, 0));
    }

    #[test]
    fn more_cases_ask_for_more() {
        let of = |rates: &[f64]| {
            let level = |rate: &f64| Some(HostLevel { log: rate.ln(), error: 0.002 });
            CaseLevels { of: rates.iter().map(level).collect(), interest: 0.05 }
        };
        let one = of(&[100.0, 101.0, 99.0, 90.0, 100.5, 99.5]);
        let alike = of(&[100.0, 101.0, 99.0, 100.2, 100.5, 99.5]);
        let mut cases = vec![one];
        assert_eq!(odd(&cases)[0].odd.len(), 1);
        cases.resize(500, alike);
        assert!(odd(&cases).iter().all(|told| told.odd.is_empty()));
        // Hosts without a figure are not tested.
        for levels in &mut cases[1..] {
            levels.of.fill(None);
        }
        assert_eq!(odd(&cases)[0].odd.len(), 1);
    }

    /// Hosts just beyond what is told to be the limit are odd, and those just within are not.
    #[test]
    fn a_host_below_the_limit_is_odd() {
        let with = |rate: f64| {
            let level = |rate: f64| Some(HostLevel { log: rate.ln(), error: 0.002 });
            let of = [100.0, 101.0, 99.0, 100.5, 99.5, rate].map(level).to_vec();
            odd(&[CaseLevels { of, interest: 0.02 }]).remove(0)
        };
        // The host itself is one of the tests, and not one of those that it is held against.
        let limit = with(50.0).odd_below.expect("they vary");
        assert!((0.9..0.98).contains(&limit), "{limit}");
        assert_eq!(with(100.0 * limit * 0.998).odd.len(), 1);
        assert_eq!(with(100.0 * limit * 1.002).odd.len(), 0);
    }

    #[test]
    fn a_level_needs_two_rounds() {
        let round =
            |invocation, round, value| Round { invocation, round, is_further: false, value };
        assert_eq!(HostLevel::of_logs(&[]), None);
        assert_eq!(HostLevel::of_logs(&[round(0, 0, 1.0)]), None);
        let level =
            HostLevel::of_logs(&[round(0, 0, 1.0), round(0, 1, 3.0)]).expect("there are two");
        assert!((level.log - 2.0).abs() < 1e-12 && (level.error - MEDIAN_BY_MEAN).abs() < 1e-12);
        let two = [round(0, 0, 1.0), round(1, 1, 3.0), round(1, 2, 3.0)];
        assert_eq!(HostLevel::of_logs(&two), Some(level), "rounds of an invocation are one");
    }
}
