//! What the paths of several hosts carry together.

use crate::assessment::Assessment;
use crate::path::Allowance;
use crate::stats::Estimate;
use model::case::Case;
use model::record::Header;
use schemars::JsonSchema;
use serde::Serialize;

/// What the paths of the hosts of a case carry together at most, and how much of that they got.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct JointPaths {
    /// Bytes per second in one direction: the sum of what the path of each host carries. Hosts on
    /// one machine that use one device have one path. Null if that of any host is unknown.
    pub bytes_per_second: Option<f64>,
    /// The throughput of all hosts divided by that.
    pub share: Option<f64>,
    /// The hosts whose paths have no known limit that all their bytes passed, by what the user
    /// calls them.
    pub unknown: Vec<String>,
}

/// What the path of one host carries at most in each of its cases, if all bytes passed it.
pub(super) struct HostPaths {
    /// What its OS calls the machine.
    machine: String,
    /// Its number, and that of the first other host that uses a device of this one.
    number: Option<u32>,
    neighbor: Option<u32>,
    cases: Vec<(Case, Allowance)>,
}

impl HostPaths {
    /// Those of a judged record.
    pub(super) fn of(header: &Header, judged: &Assessment) -> HostPaths {
        let rank = header.plan.rank;
        let known = judged.cases.iter();
        let known =
            known.filter_map(|it| Some((it.case.clone(), it.link.as_ref()?.allows.clone())));
        HostPaths {
            machine: header.host.name.clone(),
            number: rank.map(|rank| rank.number),
            neighbor: rank.and_then(|rank| rank.neighbor),
            cases: known.collect(),
        }
    }

    fn allows(&self, case: &Case) -> Option<&Allowance> {
        self.cases.iter().find(|(known, _)| known == case).map(|(_, allows)| allows)
    }

    /// Whether its path is that of another host: `None` if their names leave that open.
    fn is_that_of(&self, other: &HostPaths, case: &Case) -> Option<bool> {
        let hops = |paths: &HostPaths| paths.allows(case).map(|allows| allows.hops.clone());
        let is_same = hops(self) == hops(other);
        let on_one_device = self.neighbor.is_some()
            && (self.neighbor == other.number || self.neighbor == other.neighbor);
        match on_one_device {
            true => is_same.then_some(true),
            false => (!is_same || self.machine != other.machine).then_some(false),
        }
    }
}

/// What the paths of these hosts, which the user calls so, carry together in a case, in which they
/// got this throughput. `None` if nothing is known of any.
pub(super) fn joint_paths(
    case: &Case,
    hosts: &[(&str, &HostPaths)],
    throughput: Estimate,
) -> Option<JointPaths> {
    let (mut sum, mut unknown) = (0.0, Vec::new());
    for (place, (called, paths)) in hosts.iter().enumerate() {
        let earlier = hosts[..place].iter().map(|(_, other)| paths.is_that_of(other, case));
        let earlier: Option<Vec<bool>> = earlier.collect();
        match paths.allows(case).zip(earlier) {
            Some((_, earlier)) if earlier.contains(&true) => {}
            Some((allows, _)) => sum += allows.bytes_per_second,
            None => unknown.push((*called).to_string()),
        }
    }
    let bytes_per_second = unknown.is_empty().then_some(sum);
    let share = bytes_per_second.map(|most| throughput.median / most);
    (sum > 0.0).then_some(JointPaths { bytes_per_second, share, unknown })
}
