//! How the rate of a case grows with the number of hosts.

use crate::counted::rate;
use crate::ending::Ending;
use crate::host_round::{HostRound, ending, estimate};
use crate::stats::Estimate;
use model::case::Case;
use model::part::Whose;
use model::taking_part::TakingPart;
use schemars::JsonSchema;
use serde::Serialize;

/// The rate of several hosts, relative to that of fewer.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Scaling {
    /// The least number of hosts with which the case was measured.
    pub base: u32,
    /// Whether the base is the sum of what each of the hosts gets alone, and not what the first
    /// ones get.
    pub of_each: bool,
    /// The number of hosts.
    pub hosts: u32,
    /// The rate for each host, divided by that of the base in the same round: 1 if each further
    /// host adds as much. If each was measured alone, the rate of all divided by the sum of those:
    /// 1 if none takes anything from the others.
    pub efficiency: Estimate,
    /// If each was measured alone: the rate of each host among the others, divided by that. In the
    /// order of the hosts; otherwise empty.
    pub each: Vec<Estimate>,
}

/// A case with its rounds, and how many hosts they are to have.
pub(crate) struct ScalingStep<'a> {
    pub(crate) case: &'a Case,
    pub(crate) rounds: &'a [&'a HostRound],
    pub(crate) hosts: u32,
    /// The number of hosts of the run.
    pub(crate) of: u32,
}

/// The scaling of `step` among `all`: against what each of its hosts gets alone, or else against a
/// case that differs in the number of hosts only, if there is one.
pub(crate) fn scaling(step: &ScalingStep, all: &[ScalingStep]) -> Option<Scaling> {
    let same: Vec<&ScalingStep> =
        all.iter().filter(|other| is_same(other.case, step.case)).collect();
    let alone = alone(step, &same);
    // The case of a chosen host alone is no measure of the others.
    let is_only = |step: &ScalingStep| matches!(step.case.hosts(), TakingPart::Only(_));
    let fewest = same.iter().copied().filter(|other| !is_only(other)).min_by_key(|it| it.hosts);
    let bases = alone.clone().or_else(|| Some(vec![fewest?]))?;
    let base = bases.first()?.hosts;
    if base >= step.hosts {
        return None;
    }
    let by_time = is_by_time(step)?;
    if !bases.iter().all(|base| is_by_time(base) == Some(by_time)) {
        return None;
    }
    let measured: u32 = bases.iter().map(|base| base.hosts).sum();
    let ratio = |round: &&HostRound| {
        let each = bases.iter().map(|base| rate_in(base, turn_of(round)));
        let below = each.sum::<Option<f64>>()? / f64::from(measured);
        let own = rate_in(step, turn_of(round))? / f64::from(step.hosts);
        (below > 0.0).then(|| round.value(own / below))
    };
    let efficiency = estimate(step.rounds.iter().filter_map(ratio))?;
    let each = alone.as_ref().and_then(|alone| each(step, alone)).unwrap_or_default();
    Some(Scaling { base, of_each: alone.is_some(), hosts: step.hosts, efficiency, each })
}

/// What each host of `step` gets of what it gets `alone`; `None` if one of them has no rate.
fn each(step: &ScalingStep, alone: &[&ScalingStep]) -> Option<Vec<Estimate>> {
    let of = |(place, alone): (usize, &&ScalingStep)| {
        let ratio = |round: &&HostRound| {
            let beside = round.rates.as_ref().filter(|rates| rates.len() == step.hosts as usize)?;
            let below = rate_in(alone, turn_of(round)).filter(|rate| *rate > 0.0)?;
            Some(round.value(beside[place] / below))
        };
        estimate(step.rounds.iter().filter_map(ratio))
    };
    alone.iter().enumerate().map(of).collect()
}

/// The cases in which each host of `step` measures alone; `None` if one of them was not measured.
fn alone<'a>(step: &ScalingStep, same: &[&'a ScalingStep<'a>]) -> Option<Vec<&'a ScalingStep<'a>>> {
    let of = |number: u32| {
        same.iter().copied().find(|other| other.case.hosts() == TakingPart::Only(number))
    };
    step.case.hosts().numbers(step.of).map(of).collect()
}

fn turn_of(round: &HostRound) -> (u32, u32) {
    (round.whole.invocation, round.whole.round)
}

/// The rate of all hosts of a case in a turn, if all measured it.
fn rate_in(step: &ScalingStep, turn: (u32, u32)) -> Option<f64> {
    let round = step.rounds.iter().find(|round| turn_of(round) == turn)?;
    let is_whole = round.hosts.len() == step.hosts as usize;
    rate(step.case, &round.whole).filter(|_| is_whole)
}

/// Whether time ended the trials. Figures of which it ended some, and the work the others, cannot
/// be compared, and a trial of which it ended a part with none.
fn is_by_time(step: &ScalingStep) -> Option<bool> {
    match ending(step.case, step.rounds)?.0 {
        Ending::Time => Some(true),
        Ending::Work | Ending::SlowestHost => Some(false),
        Ending::Cut => None,
    }
}

/// Whether cases differ in the number of hosts only. A file that all share may have one size for
/// any number of hosts, or the same for each host.
fn is_same(one: &Case, other: &Case) -> bool {
    let per_host = |case: &Case| {
        let mut alone = without_hosts(case);
        let hosts = match case.hosts() {
            TakingPart::First(hosts) => u64::from(hosts.max(1)),
            TakingPart::All | TakingPart::Only(_) => 1,
        };
        if let Some(io) = alone.io_mut().filter(|io| io.files == Whose::Shared) {
            let does_all = io.ops == io.blocks();
            io.size /= hosts;
            io.ops = if does_all { io.blocks() } else { io.ops };
        }
        alone
    };
    without_hosts(one) == without_hosts(other) || per_host(one) == per_host(other)
}

/// The case, however many hosts measure it.
fn without_hosts(case: &Case) -> Case {
    let mut case = case.clone();
    case.hosts_mut().into_iter().for_each(|hosts| *hosts = TakingPart::All);
    case
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::case::{MetadataWork, ReadWork, Work};

    /// One file of one size for all, or of one size for each.
    #[test]
    fn a_shared_file_may_grow_with_the_hosts() {
        let of = |hosts: u32, size: u64, files| {
            let mut case = Case::own(Work::Read(ReadWork::default()));
            let io = case.io_mut().expect("it reads");
            (io.hosts, io.size, io.files) = (TakingPart::First(hosts), size, files);
            case
        };
        let (shared, own) = (Whose::Shared, Whose::Own);
        assert!(is_same(&of(1, 1 << 30, shared), &of(4, 1 << 30, shared)));
        assert!(is_same(&of(1, 1 << 30, shared), &of(4, 4 << 30, shared)));
        assert!(!is_same(&of(1, 1 << 30, shared), &of(4, 2 << 30, shared)));
        let of_all = |hosts, size| {
            let mut case = of(hosts, size, shared);
            let io = case.io_mut().expect("it reads");
            io.ops = io.blocks();
            case
        };
        assert!(is_same(&of_all(1, 1 << 30), &of_all(4, 4 << 30)));
        assert!(!is_same(&of(1, 1 << 30, own), &of(4, 4 << 30, own)));
    }

    #[test]
    fn a_case_is_the_same_on_any_number_of_hosts() {
        for work in [Work::Read(ReadWork::default()), Work::Metadata(MetadataWork::default())] {
            let case = Case::own(work);
            let on = |number| {
                let mut case = case.clone();
                *case.hosts_mut().expect("hosts can share it") = number;
                case
            };
            let (one, four) = (on(TakingPart::First(1)), on(TakingPart::First(4)));
            assert_ne!(one, four);
            assert_eq!(without_hosts(&one), without_hosts(&four));
            assert_eq!(without_hosts(&one), without_hosts(&on(TakingPart::Only(2))));
        }
    }
}
