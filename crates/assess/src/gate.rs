//! Whether a run is worse than another one by more than a limit, for a program that must say yes or
//! no: a gate before a change is merged.
//!
//! A loss counts only if it is proved to exceed the limit: one-sided tests of the logarithms of the
//! invocations' medians, corrected after Holm over all that is watched in all cases. So the chance
//! of a false alarm is at most 2.5 %, however many cases there are. Records made apart are two
//! samples (Welch); of runs whose rounds alternated, each round of one has its partner in the
//! other, so what disturbs both cancels out (t of the paired ratios).

use crate::decision::{Decision, together};
use crate::failure::Failure;
use crate::finding::Verdict;
use crate::invocations::{INVOCATIONS_LEAST, Round, RunToRun, TwoLevel, Welch};
use crate::latency::UNSENT_NS;
use crate::records::{Basis, CasePair, RecordComparison};
use crate::significance::{LEVEL, holm};
use crate::trials::{Fate, Figures, TrialFigures};
use crate::{comparison, summary::Summary};
use model::case::Case;
use model::goal::{Indicator, Tail};
use model::plan::Plan;
use model::units::NS_PER_SECOND;
use std::collections::BTreeMap;
use std::str::FromStr;

/// A limit: `slower > 5%`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// What is watched. Throughput is the main figure of a case: bytes or operations per second.
    pub watched: Indicator,
    /// The largest loss that passes, as a share: of throughput, what is missing, which is less
    /// than 1; of the others, what is added.
    pub limit: f64,
}

/// Whether the figure can be held against another run's: each trial has it.
fn is_gated(watched: Indicator) -> bool {
    match watched {
        Indicator::Throughput | Indicator::Time | Indicator::Cpu => true,
        // What happens once in a trial says too little of a change.
        Indicator::Iops | Indicator::Gap => false,
        Indicator::Latency(tail) | Indicator::Sync(tail) => {
            [Tail::P50, Tail::P99, Tail::P99_9].contains(&tail)
        }
    }
}

/// The largest limit of what is added: a hundred times as much is no gate.
const MOST: f64 = 100.0;

/// A limit that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not a limit: write WHAT > N%, where WHAT is slower (or throughput), time (of \
     commands), cpu, or p50, p99 or p99.9 of operations or (sync p99) of syncs, and N is from 0 to \
     below 100, or for times and cpu to {most}",
    most = MOST * 100.0
)]
pub struct RuleError(String);

impl FromStr for Rule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Rule, RuleError> {
        let error = || RuleError(text.to_string());
        let (what, limit) = text.split_once('>').ok_or_else(error)?;
        let what = what.split_whitespace().collect::<Vec<_>>().join(" ");
        let watched = match what.as_str() {
            "slower" => Indicator::Throughput,
            other => other.parse().map_err(|()| error())?,
        };
        if !is_gated(watched) {
            return Err(error());
        }
        let percent = limit.trim().strip_suffix('%').ok_or_else(error)?;
        let percent: f64 = percent.trim_end().parse().map_err(|_| error())?;
        let limit = percent / 100.0;
        let is_possible = match watched {
            Indicator::Throughput => (0.0..1.0).contains(&limit),
            _ => (0.0..=MOST).contains(&limit),
        };
        if is_possible { Ok(Rule { watched, limit }) } else { Err(error()) }
    }
}

/// What a gate decided.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    /// Each rule in each case that it watches.
    pub checks: Vec<Check>,
    /// Rules that watch no case, such as the syncs of reads.
    pub idle: Vec<Rule>,
    /// Whether all losses are within their limits.
    pub within: Decision,
}

/// The word for whether losses are within their limits.
pub fn outcome(within: Decision) -> &'static str {
    match within {
        Decision::Yes => "within",
        Decision::No => "exceeded",
        Decision::Undecided => "cannot tell",
    }
}

/// A rule applied to a case that both records have.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// Its index among the pairs of the comparison.
    pub pair: usize,
    /// The rule.
    pub rule: Rule,
    /// B relative to A; `None` if a side has no such figure.
    pub ratio: Option<f64>,
    /// The 95 % interval of the ratio; `None` if too little is known for one.
    pub interval: Option<(f64, f64)>,
    /// Whether the loss is within the limit: *no* if it is proved to exceed it, *yes* if the 95 %
    /// interval lies within.
    pub within: Decision,
    /// How many counted rounds of either side have no such figure, such as a percentile of too few
    /// operations. Those are often the slow ones, so that the others decide nothing.
    pub unmeasured: usize,
    /// How many trials failed in B, if a larger share than in A, else 0. Those may have been the
    /// slow ones, so that the others do not show that B stays within the limit.
    pub failed: usize,
    /// What kept runs of this recipe say about the variation between runs, if the interval is from
    /// them. Nothing but more kept runs makes it narrower.
    pub runs: Option<RunToRun>,
    /// If it is open: roughly how many invocations of both runs would decide; `None` if unknown.
    pub needs: Option<usize>,
    /// Whether a figure of either side is doubtful.
    pub is_in_doubt: bool,
}

/// Workers round a latency by up to 1/256: the variance of a logarithm that this alone causes.
const ROUNDING: f64 = 1.0 / (256.0 * 256.0 * 12.0);

/// Applies `rules` to all pairs of a comparison. A rule that does not fit a case, such as the syncs
/// of a read, does not watch it. What fits and was not measured is open.
pub fn gate(versus: &RecordComparison, rules: &[Rule]) -> Gate {
    let pairs = versus.pairs.iter().enumerate();
    let all = pairs.flat_map(|(index, pair)| rules.iter().map(move |rule| (index, pair, *rule)));
    let mut checks: Vec<(Check, f64)> =
        all.filter_map(|(index, pair, rule)| check(versus, (index, pair), rule)).collect();
    let p: Vec<f64> = checks.iter().map(|(_, p)| *p).collect();
    for ((check, _), corrected) in checks.iter_mut().zip(holm(&p)) {
        // The other half of the level is for gains, which nobody asks about.
        if corrected <= LEVEL / 2.0 {
            (check.within, check.needs) = (Decision::No, None);
        }
    }
    let checks: Vec<Check> = checks.into_iter().map(|(check, _)| check).collect();
    let watches = |rule: &&Rule| checks.iter().any(|check| check.rule == **rule);
    let idle: Vec<Rule> = rules.iter().filter(|rule| !watches(rule)).copied().collect();
    let broken = (versus.broken() > 0).then_some(Decision::No);
    let is_partial = !idle.is_empty() || !versus.left_out.is_empty();
    let open = is_partial.then_some(Decision::Undecided);
    let within = together(checks.iter().map(|check| check.within).chain(broken).chain(open));
    Gate { checks, idle, within }
}

/// A check before the correction: it is open, or within the limit. With it, the probability of such
/// a loss if the true one is at the limit.
fn check(
    versus: &RecordComparison,
    (index, pair): (usize, &CasePair),
    rule: Rule,
) -> Option<(Check, f64)> {
    let both = versus.of(pair);
    let sides = [0, 1].map(|side| logs(both[side], &versus.headers[side].plan, rule.watched));
    let unmeasured = sides.iter().map(|(_, unmeasured)| unmeasured).sum();
    let logs = sides.map(|(logs, _)| logs);
    // Every case has a main figure.
    let fits = rule.watched == Indicator::Throughput || rule.watched.fits(&both[0].case);
    if logs.iter().all(Vec::is_empty) && !fits {
        return None;
    }
    let middle = |logs: &[Round]| {
        crate::middle::median(&crate::invocations::exchangeable(logs)).filter(|_| !logs.is_empty())
    };
    let paired = versus.is_paired().then(|| log_ratios(&logs));
    let log_ratio = match &paired {
        Some(ratios) => middle(ratios),
        None => middle(&logs[1]).zip(middle(&logs[0])).map(|(b, a)| b - a),
    };
    let mut check = Check {
        pair: index,
        rule,
        ratio: log_ratio.map(f64::exp),
        interval: None,
        within: Decision::Undecided,
        unmeasured,
        failed: match (both.map(failed), both.map(|side| side.trials.len())) {
            ([a, b], [of_a, of_b]) if b * of_a > a * of_b => b,
            _ => 0,
        },
        runs: None,
        needs: None,
        is_in_doubt: both.iter().any(|side| side.verdict == Verdict::Doubtful),
    };
    let Some(log_ratio) = log_ratio.filter(|_| unmeasured == 0) else { return Some((check, 1.0)) };
    // The loss and its limit on one scale, on which more is worse.
    let (loss, limit) = match rule.watched {
        Indicator::Throughput => (-log_ratio, -(1.0 - rule.limit).ln()),
        _ => (log_ratio, rule.limit.ln_1p()),
    };
    let found = match &paired {
        Some(ratios) => {
            TwoLevel::of_enough(ratios).map(|two| Welch::of_paired(&two, rounding(rule.watched)))
        }
        None => compared(&logs, pair, rule.watched, log_ratio),
    };
    check.interval = found
        .map(|found| ((log_ratio - found.half_width).exp(), (log_ratio + found.half_width).exp()));
    check.runs = found.filter(|found| found.is_by_runs).and_then(|_| runs(pair));
    match found {
        Some(found) if loss + found.half_width <= limit => {
            check.within = if check.failed == 0 { Decision::Yes } else { Decision::Undecided };
        }
        Some(found) if !found.is_by_runs => {
            let sides = paired.as_ref().map_or(&logs[..], std::slice::from_ref);
            check.needs = needs(sides, rule);
        }
        Some(_) => {}
        None => check.needs = Some(INVOCATIONS_LEAST),
    }
    Some((check, found.map_or(1.0, |found| found.p_beyond(loss, limit))))
}

/// The two sides compared; `None` if the runs have too few invocations, and earlier ones say
/// nothing.
fn compared(
    logs: &[Vec<Round>; 2],
    pair: &CasePair,
    watched: Indicator,
    ratio: f64,
) -> Option<Welch> {
    // How much runs differ is known of the main figure only.
    let is_main = matches!(watched, Indicator::Throughput | Indicator::Time);
    let runs = runs(pair).filter(|_| is_main);
    match logs.each_ref().map(|logs| TwoLevel::of_enough(logs)) {
        [Some(a), Some(b)] => Some(Welch::of_rounded(&b, &a, runs, rounding(watched))),
        _ => runs.map(|runs| Welch::of_single(ratio, runs)),
    }
}

/// What kept runs say about the variation between runs.
fn runs(pair: &CasePair) -> Option<RunToRun> {
    match pair.basis {
        Basis::RunToRun(runs) | Basis::Invocations(Some(runs)) => Some(runs),
        Basis::Invocations(None) | Basis::Nothing => None,
    }
}

/// The variance of a logarithm of what is watched that rounding alone causes.
fn rounding(watched: Indicator) -> f64 {
    if matches!(watched, Indicator::Throughput | Indicator::Time) { 0.0 } else { ROUNDING }
}

/// The second side relative to the first in each round that both have.
fn log_ratios(logs: &[Vec<Round>; 2]) -> Vec<Round> {
    let place = |round: &Round| (round.invocation, round.round);
    let first: BTreeMap<_, f64> = logs[0].iter().map(|it| (place(it), it.value)).collect();
    let second = logs[1].iter();
    second.filter_map(|it| Some(it.with(it.value - first.get(&place(it))?))).collect()
}

/// How many invocations would tell a loss at the limit from none: of two sides, or of paired ones.
/// No number tells nothing from none.
fn needs(sides: &[Vec<Round>], rule: Rule) -> Option<usize> {
    let sides: Vec<TwoLevel> =
        sides.iter().map(|logs| TwoLevel::of_enough(logs)).collect::<Option<_>>()?;
    let effect = Some(rule.limit).filter(|limit| *limit > 0.0)?;
    let variance = sides.iter().map(TwoLevel::variance).sum();
    let least = sides.iter().map(|side| side.logs.len()).min()?;
    Some(comparison::invocations_needed(variance, effect).max(least + 1))
}

/// How many trials failed.
fn failed(case: &Summary) -> usize {
    let has_failed = |trial: &&TrialFigures| matches!(trial.fate, Fate::Lost(Failure::Failed(_)));
    case.trials.iter().filter(has_failed).count()
}

/// The logarithms of a case's counted rounds, and the number of those that have no such figure.
fn logs(case: &Summary, plan: &Plan, watched: Indicator) -> (Vec<Round>, usize) {
    let counted = || case.trials.iter().filter(|trial| matches!(trial.fate, Fate::Counted));
    let round = |trial: &TrialFigures| {
        let figures = trial.figures.as_ref()?;
        let value = value(&case.case, figures, watched).filter(|value| *value > 0.0)?;
        Some(Round {
            invocation: trial.invocation,
            round: trial.round,
            is_further: plan.is_further(trial.round),
            value: value.ln(),
        })
    };
    let logs: Vec<Round> = counted().filter_map(round).collect();
    let unmeasured = counted().count() - logs.len();
    (logs, unmeasured)
}

/// The figure of a trial.
fn value(case: &Case, figures: &Figures, watched: Indicator) -> Option<f64> {
    // What never began has no response time.
    let ns = |ns: Option<u64>| ns.filter(|ns| *ns != UNSENT_NS).map(|ns| ns as f64);
    match watched {
        // What only syncs moves no bytes.
        Indicator::Throughput | Indicator::Iops => figures.throughput.or(figures.iops),
        Indicator::Time => case.command().and(figures.iops).map(|rate| NS_PER_SECOND / rate),
        Indicator::Latency(tail) if case.is_open() => ns(figures.responses.percentile(tail)),
        Indicator::Latency(tail) => ns(figures.latencies.percentile(tail)),
        Indicator::Gap => None,
        Indicator::Sync(tail) => ns(figures.syncs.percentile(tail)),
        Indicator::Cpu => Some(ns(figures.working_cpu_ns)? / (figures.ops.max(1)) as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_says_what_and_how_much() {
        let check = |text: &str, watched, limit: f64| {
            let rule: Rule = text.parse().unwrap();
            assert_eq!(rule.watched, watched, "{text}");
            assert!((rule.limit - limit).abs() < 1e-12, "{text}: {}", rule.limit);
        };
        check("slower > 5%", Indicator::Throughput, 0.05);
        check("throughput>5%", Indicator::Throughput, 0.05);
        check(" sync  p99 > 12.5 %", Indicator::Sync(Tail::P99), 0.125);
        check("p99 > 0%", Indicator::Latency(Tail::P99), 0.0);
        check("cpu > 10%", Indicator::Cpu, 0.1);
        check("time > 105%", Indicator::Time, 1.05);
        check("p99 > 200%", Indicator::Latency(Tail::P99), 2.0);
        check("p50 > 5%", Indicator::Latency(Tail::P50), 0.05);
        check("sync p99.9 > 5%", Indicator::Sync(Tail::P99_9), 0.05);
        check("sync p99 > 10000%", Indicator::Sync(Tail::P99), 100.0);
        for refused in [
            "",
            "slower",
            "slower > 5",
            "faster > 5%",
            "slower > 100%",
            "p99 > 10001%",
            "cpu > -1%",
            "cpu > inf%",
            "iops > 5%",
            "p90 > 5%",
            "> 5%",
        ] {
            let error = refused.parse::<Rule>().unwrap_err().to_string();
            assert!(error.contains("WHAT > N%"), "{refused}: {error}");
        }
        assert!("p99 > NaN%".parse::<Rule>().is_err());
    }
}
