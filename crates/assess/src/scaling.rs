//! How the rate of a case grows with the number of hosts.

use crate::counted::rate;
use crate::ending::Ending;
use crate::host_round::{HostRound, ending, estimate};
use crate::stats::Estimate;
use model::case::Case;
use model::part::Whose;
use schemars::JsonSchema;
use serde::Serialize;

/// The rate of each host, relative to that with fewer of them.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Scaling {
    /// The least number of hosts with which the case was measured.
    pub base: u32,
    /// The number of hosts.
    pub hosts: u32,
    /// The rate for each host, divided by that of the base in the same round: 1 if each further
    /// host adds as much.
    pub efficiency: Estimate,
}

/// A case with its rounds, and how many hosts they are to have.
pub(crate) struct ScalingStep<'a> {
    pub(crate) case: &'a Case,
    pub(crate) rounds: &'a [&'a HostRound],
    pub(crate) hosts: u32,
}

/// The scaling of `step` among `all`, if there is a case that differs in the number of hosts only.
pub(crate) fn scaling(step: &ScalingStep, all: &[ScalingStep]) -> Option<Scaling> {
    let same = all.iter().filter(|other| is_same(other.case, step.case));
    let base = same.min_by_key(|other| other.hosts).filter(|base| base.hosts < step.hosts)?;
    if is_by_time(base)? != is_by_time(step)? {
        return None;
    }
    let of_each = |step: &ScalingStep, round: &HostRound| {
        let is_whole = round.hosts.len() == step.hosts as usize;
        let rate = rate(step.case, &round.whole).filter(|_| is_whole)?;
        Some(rate / f64::from(step.hosts))
    };
    let ratio = |round: &&HostRound| {
        let turn = |round: &HostRound| (round.whole.invocation, round.whole.round);
        let paired = base.rounds.iter().find(|other| turn(other) == turn(round))?;
        let below = of_each(base, paired).filter(|rate| *rate > 0.0)?;
        Some(round.value(of_each(step, round)? / below))
    };
    let efficiency = estimate(step.rounds.iter().filter_map(ratio))?;
    Some(Scaling { base: base.hosts, hosts: step.hosts, efficiency })
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
        let hosts = u64::from(case.hosts().max(1));
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
    case.hosts_mut().into_iter().for_each(|hosts| *hosts = 0);
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
            (io.hosts, io.size, io.files) = (hosts, size, files);
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
            assert_ne!(on(1), on(4));
            assert_eq!(without_hosts(&on(1)), without_hosts(&on(4)));
        }
    }
}
