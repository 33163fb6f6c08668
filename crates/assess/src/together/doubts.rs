//! Reasons to doubt what is said of all hosts together.

use super::Doubt;
use crate::host_round::{HostRound, ending};
use crate::middle::median;
use model::case::Case;

/// The share of a trial that clocks may be wrong by, or hosts may begin apart, without a doubt
/// (docs/method).
const APART: f64 = 0.01;

/// Those of a case in these rounds, which `hosts` and so many other rounds are not in.
pub(super) fn doubts(
    case: &Case,
    rounds: &[&HostRound],
    hosts: usize,
    left_out: usize,
) -> Vec<Doubt> {
    let share = |of: fn(&HostRound) -> u64| {
        let share = |round: &&HostRound| {
            let ns = round.timed_ns(case);
            (ns > 0).then(|| of(round) as f64 / ns as f64)
        };
        median(&rounds.iter().filter_map(share).collect::<Vec<_>>()).filter(|it| *it > APART)
    };
    let mut doubts = Vec::new();
    let error_ns = |round: &HostRound| round.error_ns;
    doubts.extend(share(error_ns).map(|share| Doubt::ClockUncertain { share }));
    doubts.extend(share(HostRound::skew_ns).map(|share| Doubt::StartSkew { share }));
    let [cut, by_time] = ending(case, rounds).map_or([0, 0], |(_, by_time)| by_time);
    if cut > 0 || (1..rounds.len()).contains(&by_time) {
        doubts.push(Doubt::EndsVary { share: (cut + by_time) as f64 / rounds.len() as f64 });
    }
    if hosts + left_out > 0 {
        doubts.push(Doubt::HostLost { hosts, rounds: left_out });
    }
    doubts
}
