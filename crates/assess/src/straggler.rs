//! The slowest of several hosts, and what its own counters show beside those of the others.

use crate::finding::{Code, Finding, Verdict};
use crate::host_round::{HostRound, estimate};
use crate::invocations;
use crate::middle::median;
use crate::stats::Estimate;
use model::case::Case;
use model::evidence::{Evidence, Limit, Limited};
use model::named;
use model::record::{Header, Record};
use model::trial::Trial;
use model::units::NS_PER_SECOND;
use schemars::JsonSchema;
use serde::Serialize;

/// A host is a straggler if its rate is certainly below this share of the other hosts' median
/// (docs/method).
const STRAGGLES: f64 = 0.9;

/// A sign is told if it is at least this many times the other hosts' (docs/method).
const STANDS_OUT: f64 = 1.5;

/// A share of time below this is no sign (docs/method).
const SHARE_LEAST: f64 = 0.02;

/// The host with the lowest rate.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Slowest {
    /// What the user calls it.
    pub host: String,
    /// Its rate, divided by the median of the others in the same round.
    pub ratio: Estimate,
    /// Whether it is certainly a straggler: the whole interval is below 0.9.
    pub is_straggler: bool,
    /// The findings of its own evidence that speak against its figure, and that most of the others
    /// do not have.
    pub doubts: Vec<Code>,
    /// What its counters show more of than those of the others.
    pub signs: Vec<StragglerSign>,
}

named! {
    /// A kind of sign.
    Clue "clue" {
        /// The share of the time for which a CPU quota throttled its control group.
        Throttled "throttled",
        /// The share of its processors' time that its hypervisor took.
        Steal "steal",
        /// The share of its threads' time for which they waited for a processor.
        Waited "waited",
        /// CPU time for each byte, in nanoseconds.
        Cpu "cpu",
        /// The time of a request to a device, in nanoseconds.
        Device "device",
        /// The least time for a byte that limits of its control groups on devices allow, in
        /// nanoseconds; 0 without a limit.
        Limit "limit",
    }
}

/// What the counters of a straggler show more of than those of the other hosts. Each value is the
/// median of the rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct StragglerSign {
    /// Its kind.
    pub clue: Clue,
    /// The value of this host.
    pub own: f64,
    /// The median of the other hosts.
    pub others: f64,
}

/// What a host's own evidence says of a case.
pub(crate) struct HostEvidence {
    pub(crate) verdict: Verdict,
    /// The findings that speak against its figure.
    pub(crate) doubts: Vec<Code>,
    /// All findings of a command; none of other work.
    pub(crate) findings: Vec<Finding>,
    /// What its counters show.
    pub(crate) clues: Clues,
}

/// What the counters of a host show of a case: the median of its rounds for each [`Clue`].
pub(crate) type Clues = [Option<f64>; Clue::ALL.len()];

/// The clues of each of so many cases.
pub(crate) fn clues(cases: usize, record: &Record) -> Vec<Clues> {
    let mut values: Vec<[Vec<f64>; Clue::ALL.len()]> = vec![Default::default(); cases];
    for trial in &record.trials {
        let case = &record.header.plan.cases[trial.case].case;
        for (clue, values) in Clue::ALL.iter().zip(&mut values[trial.case]) {
            values.extend(match clue {
                Clue::Limit => limited_ns(case, &record.header),
                _ => value_of(*clue, trial),
            });
        }
    }
    values.into_iter().map(|values| values.map(|values| median(&values))).collect()
}

/// The host with the lowest rate, compared with the others in the same rounds. `called` are the
/// hosts of the rounds, and `own` is what their evidence says.
pub(crate) fn slowest(
    rounds: &[&HostRound],
    called: &[String],
    own: &[Option<&HostEvidence>],
) -> Option<Slowest> {
    if called.len() < 2 {
        return None;
    }
    let mut ratios: Vec<Vec<invocations::Round>> = vec![Vec::new(); called.len()];
    for (round, rates) in rounds.iter().filter_map(|round| Some((round, round.rates.as_ref()?))) {
        let others = medians_of_others(rates);
        for ((rate, others), ratios) in rates.iter().zip(others).zip(&mut ratios) {
            ratios.push(round.value(rate / others));
        }
    }
    let all = ratios.into_iter().enumerate();
    let all = all.filter_map(|(host, ratios)| Some((host, estimate(ratios.into_iter())?)));
    let (host, ratio) = all.min_by(|(_, a), (_, b)| a.median.total_cmp(&b.median))?;
    let is_straggler = ratio.high.is_some_and(|high| high < STRAGGLES);
    let signs = if is_straggler { signs(host, own) } else { Vec::new() };
    let doubts = own[host].map_or(Vec::new(), |it| doubts_alone(host, it, own));
    Some(Slowest { host: called[host].clone(), ratio, is_straggler, doubts, signs })
}

/// The findings of `host` that most of the others do not have: what all have explains no
/// difference.
fn doubts_alone(host: usize, its: &HostEvidence, own: &[Option<&HostEvidence>]) -> Vec<Code> {
    let others = || own.iter().enumerate().filter(|(other, _)| *other != host);
    let has = |code: &Code| {
        let with = |(_, own): &(usize, &Option<&HostEvidence>)| {
            own.is_some_and(|it| it.doubts.contains(code))
        };
        2 * others().filter(with).count() > others().count()
    };
    its.doubts.iter().filter(|code| !has(code)).copied().collect()
}

/// The least time for a byte of `case` that limits allow, in nanoseconds; 0 without a limit. `None`
/// if the case moves no blocks of a file.
fn limited_ns(case: &Case, header: &Header) -> Option<f64> {
    let block = case.io()?.mean_block();
    let writes = case.write().is_some();
    let bytes_a_second = |limit: &Limit| match limit.what {
        Limited::ReadBytes if !writes => Some(limit.a_second as f64),
        Limited::WriteBytes if writes => Some(limit.a_second as f64),
        Limited::Reads if !writes => Some(limit.a_second as f64 * block),
        Limited::Writes if writes => Some(limit.a_second as f64 * block),
        _ => None,
    };
    let limits = header.storage.iter().flat_map(|storage| &storage.limits);
    let least = limits.filter_map(bytes_a_second).min_by(f64::total_cmp);
    Some(least.map_or(0.0, |bytes| NS_PER_SECOND / bytes))
}

/// For each of several values, the median of the others.
fn medians_of_others(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let others = values.len().saturating_sub(1);
    let mut medians = vec![f64::NAN; values.len()];
    for (place, host) in order.iter().enumerate() {
        // The others are those before this place and after it.
        let at = |other: usize| values[order[if other < place { other } else { other + 1 }]];
        medians[*host] = match others {
            0 => f64::NAN,
            odd if odd % 2 == 1 => at(odd / 2),
            even => f64::midpoint(at(even / 2 - 1), at(even / 2)),
        };
    }
    medians
}

/// The slowest host's rate divided by the fastest one's: median of the rounds. `None` with one
/// host.
pub(crate) fn balance(rounds: &[&HostRound]) -> Option<f64> {
    let balance = |rates: &Vec<f64>| {
        let least = rates.iter().copied().min_by(f64::total_cmp)?;
        let most = rates.iter().copied().max_by(f64::total_cmp)?;
        (rates.len() > 1 && most > 0.0).then_some(least / most)
    };
    let rates = rounds.iter().filter_map(|round| round.rates.as_ref());
    median(&rates.filter_map(balance).collect::<Vec<_>>())
}

/// What stands out in the counters of `host`.
fn signs(host: usize, own: &[Option<&HostEvidence>]) -> Vec<StragglerSign> {
    let sign = |(index, clue): (usize, &Clue)| {
        let value = |own: &Option<&HostEvidence>| own.as_ref()?.clues[index];
        let mine = value(&own[host])?;
        let others = own.iter().enumerate().filter(|(other, _)| *other != host);
        let others: Vec<f64> = others.filter_map(|(_, it)| value(it)).collect();
        // Between hosts with a limit and without one is none that any of them has.
        let differ = others.iter().any(|value| *value != others[0]);
        let others = median(&others).filter(|_| *clue != Clue::Limit || !differ)?;
        let is_share = matches!(clue, Clue::Throttled | Clue::Steal | Clue::Waited);
        let is_much = mine >= STANDS_OUT * others && (!is_share || mine >= SHARE_LEAST);
        let is_known = is_share || others > 0.0 || *clue == Clue::Limit;
        (mine > 0.0 && is_much && is_known).then_some(StragglerSign {
            clue: *clue,
            own: mine,
            others,
        })
    };
    Clue::ALL.iter().enumerate().filter_map(sign).collect()
}

fn value_of(clue: Clue, trial: &Trial) -> Option<f64> {
    let Evidence { window_ns, .. } = trial.evidence;
    let evidence = &trial.evidence;
    let sample = trial.sample()?;
    let threads = sample.spans.len() as u64;
    let (part, whole) = match clue {
        Clue::Throttled => (evidence.throttled_ns?, window_ns),
        Clue::Steal => (evidence.steal_ns?, evidence.machine_cpu_ns?),
        Clue::Waited => (evidence.run_delay_ns?, window_ns.saturating_mul(threads)),
        Clue::Cpu => (evidence.cpu_ns?, sample.bytes()),
        Clue::Device => (
            evidence.device_read_ns?.saturating_add(evidence.device_write_ns?),
            evidence.device_reads?.saturating_add(evidence.device_writes?),
        ),
        // The record's header has it.
        Clue::Limit => return None,
    };
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// How bad a verdict is.
pub(crate) fn severity(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Sound => 0,
        Verdict::Doubtful => 1,
        Verdict::NotRun => 2,
        Verdict::Unavailable => 3,
        Verdict::Void => 4,
        Verdict::Failed => 5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_median_of_the_others_is_that_of_the_list_without_it(
            values in proptest::collection::vec(0u8..20, 2..9),
        ) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let naive = (0..values.len()).map(|index| {
                let mut others = values.clone();
                others.remove(index);
                median(&others).unwrap()
            });
            prop_assert_eq!(medians_of_others(&values), naive.collect::<Vec<_>>());
        }
    }
}
