//! Hosts that are measured each by itself, one after another or at the same time.

use super::{NextTrial, RunEnd};
use assess::stats::Estimate;
use model::units;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Parts of the bar.
const PARTS: u64 = 1000;

/// How far each host is, and what it has measured.
#[derive(Debug)]
pub(super) struct FleetSoFar {
    began: Instant,
    /// The share of its trials that each host has done, from 0 to 1; `None` if it was lost.
    shares: Vec<Option<f64>>,
    /// The rate of each host so far, by the case's id.
    rates: BTreeMap<String, BTreeMap<usize, f64>>,
}

impl FleetSoFar {
    pub(super) fn new(hosts: usize) -> FleetSoFar {
        FleetSoFar { began: Instant::now(), shares: vec![Some(0.0); hosts], rates: BTreeMap::new() }
    }

    /// A host begins its next trial. Returns what others have measured of the same case.
    pub(super) fn go_on(&mut self, host: usize, next: &NextTrial) -> Option<String> {
        let share = match next.ends {
            RunEnd::Time { passed, given } => passed.as_secs_f64() / given.as_secs_f64(),
            RunEnd::Rounds(_) | RunEnd::Steady => next.done as f64 / next.planned.max(1) as f64,
        };
        self.shares[host] = Some(share.min(1.0));
        let rates = self.rates.entry(next.case.id()).or_default();
        let so_far = next.rates.iter().filter_map(|rates| Estimate::of(rates));
        rates.extend(so_far.map(|so_far| (host, so_far.median)));
        let others = rates.iter().filter(|(other, _)| **other != host);
        let mut others: Vec<f64> = others.map(|(_, rate)| *rate).collect();
        others.sort_unstable_by(f64::total_cmp);
        match others[..] {
            [] => None,
            [one] => Some(format!("another host so far {}", next.rate(one))),
            [low, .., high] => {
                let (hosts, [low, high]) = (others.len(), [low, high].map(|it| next.rate(it)));
                Some(format!("{hosts} other hosts so far {low} to {high}"))
            }
        }
    }

    /// A host has done all of its trials.
    pub(super) fn end(&mut self, host: usize) {
        self.shares[host] = Some(1.0);
    }

    /// A host is lost: nothing more is expected of it.
    pub(super) fn lose(&mut self, host: usize) {
        self.shares[host] = None;
    }

    /// Formats `host b (2 of 3)`.
    pub(super) fn named(&self, host: usize, called: &str) -> String {
        format!("host {called} ({} of {})", host + 1, self.shares.len())
    }

    /// How much is done of how much.
    pub(super) fn filled(&self) -> (u64, u64) {
        ((self.share() * PARTS as f64) as u64, PARTS)
    }

    /// Formats `host b (2 of 3), round 3 of 10, trial 25 of 80, roughly 1m 20s left`: of all hosts.
    pub(super) fn whereabouts(&self, host: usize, called: &str, next: &NextTrial) -> String {
        let place = format!("{}, {}", self.named(host, called), next.place());
        let share = self.share();
        // What a host has still to create is not known, nor what its trials take.
        let left = self.began.elapsed().as_secs_f64() * (1.0 - share) / share;
        match Duration::try_from_secs_f64(left) {
            Ok(left) => {
                let left = Duration::from_secs(left.as_secs());
                format!("{place}, roughly {} left", units::time(left))
            }
            Err(_) => place,
        }
    }

    /// The share of all trials that is done.
    fn share(&self) -> f64 {
        let live: Vec<f64> = self.shares.iter().flatten().copied().collect();
        live.iter().sum::<f64>() / live.len().max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::case::{Case, Work};
    use model::zoo;

    #[test]
    fn all_hosts_are_one_run_of_which_a_lost_one_is_no_part() {
        let case = Case::own(Work::Read(zoo::plain()));
        fn next<'a>(case: &'a Case, done: u64, rates: &'a [Vec<f64>]) -> NextTrial<'a> {
            NextTrial { done, planned: 20, round: 2, ends: RunEnd::Rounds(10), case, rates }
        }
        let mut fleet = FleetSoFar::new(4);
        let told = |fleet: &FleetSoFar, next: &NextTrial| fleet.whereabouts(1, "b", next);
        // Nothing is known yet.
        let place = "host b (2 of 4), round 3 of 10, trial 1 of 20";
        assert_eq!(told(&fleet, &next(&case, 0, &[])), place);
        assert_eq!(fleet.go_on(0, &next(&case, 10, &[vec![2e9]])), None);
        assert_eq!(fleet.filled(), (125, 1000));
        let other = fleet.go_on(1, &next(&case, 10, &[]));
        assert_eq!(other.as_deref(), Some("another host so far 2.00 GB/s"));
        fleet.go_on(2, &next(&case, 20, &[vec![1e9, 3e9, 4e9]]));
        let others = fleet.go_on(1, &next(&case, 10, &[vec![1e9]]));
        assert_eq!(others.as_deref(), Some("2 other hosts so far 2.00 GB/s to 3.00 GB/s"));
        assert_eq!(fleet.filled(), (500, 1000));
        fleet.lose(3);
        assert_eq!(fleet.filled(), (666, 1000));
        fleet.end(0);
        fleet.end(1);
        assert_eq!(fleet.filled(), (1000, 1000));
        let end = ", trial 11 of 20, roughly 0s left";
        assert!(
            told(&fleet, &next(&case, 10, &[])).ends_with(end),
            "{}",
            told(&fleet, &next(&case, 10, &[]))
        );
    }

    #[test]
    fn a_host_that_is_given_a_time_has_used_a_part_of_it() {
        let case = Case::own(Work::Read(zoo::plain()));
        let [passed, given] = [30, 60].map(Duration::from_secs);
        let ends = RunEnd::Time { passed, given };
        let mut fleet = FleetSoFar::new(2);
        fleet.go_on(0, &NextTrial { done: 1, planned: 9, round: 0, ends, case: &case, rates: &[] });
        assert_eq!(fleet.filled(), (250, 1000));
    }
}
