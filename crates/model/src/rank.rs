//! The place of a host among those of a run.

use crate::case::{Cache, Case};
use crate::part::{Part, Whose};
use crate::random::mix;
use serde::{Deserialize, Serialize};

/// The place of a host among those of a run.
#[derive(Default, Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rank {
    /// Its number, from 0.
    pub number: u32,
    /// The number of hosts.
    pub of: u32,
    /// The seed of the run, from which each host's own comes.
    pub seed: u64,
    /// Whether all hosts share the directory, as a file that one made and the others saw proves.
    pub shares: bool,
    /// The number of the first other host that is on the same machine and uses a device of this
    /// one; `None` if there is none, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbor: Option<u32>,
    /// What takes part: what is called a host elsewhere.
    #[serde(default, skip_serializing_if = "Members::are_hosts")]
    pub members: Members,
}

/// What takes part in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Members {
    /// Hosts, with one directory.
    #[default]
    Hosts,
    /// Directories of this machine.
    Directories,
    /// Block devices of this machine, which are only read.
    Devices,
}

impl Members {
    /// Those of a run of which one has this place; hosts, where none is known.
    pub fn of(rank: Option<Rank>) -> Members {
        rank.map(|rank| rank.members).unwrap_or_default()
    }

    /// The noun for one of them.
    pub fn noun(self) -> &'static str {
        match self {
            Members::Hosts => "host",
            Members::Directories => "directory",
            Members::Devices => "device",
        }
    }

    /// The noun for several.
    pub fn plural(self) -> &'static str {
        match self {
            Members::Hosts => "hosts",
            Members::Directories => "directories",
            Members::Devices => "devices",
        }
    }

    /// `1 host`, `2 directories`.
    pub fn count(self, number: usize) -> String {
        let noun = if number == 1 { self.noun() } else { self.plural() };
        format!("{number} {noun}")
    }

    fn are_hosts(&self) -> bool {
        *self == Members::Hosts
    }
}

impl Rank {
    /// The seed of host `number` in a run with this `seed`: each has data and orders of its own.
    pub fn seed_of(seed: u64, number: u32) -> u64 {
        if number == 0 { seed } else { mix(seed ^ mix(number.into())) }
    }

    /// The seed of shared files, and of the orders in which hosts share them.
    pub fn shared_seed(&self) -> u64 {
        mix(self.seed ^ mix(u64::MAX))
    }

    /// The number of hosts that measure `case`.
    pub fn hosts_of(&self, case: &Case) -> u32 {
        case.hosts().count(self.of)
    }

    /// Whether this host measures `case`.
    pub fn takes_part(&self, case: &Case) -> bool {
        case.hosts().includes(self.number, self.of)
    }

    /// Its place among the hosts that measure `case`, from 0; `None` if it does not.
    fn place(&self, case: &Case) -> Option<u32> {
        case.hosts().numbers(self.of).position(|number| number == self.number).map(|it| it as u32)
    }

    /// Whether another host that uses a device of this one measures `case` at the same time.
    pub fn shares_device(&self, case: &Case) -> bool {
        self.neighbor.is_some_and(|number| case.hosts().includes(number, self.of))
    }

    /// Whether this host reads what another one wrote.
    pub fn is_shifted(&self) -> bool {
        self.shares && self.of > 1
    }

    /// The number of the host that makes the names which this one uses in `case`: the next one, if
    /// they are to be cold. A host has those that it made itself in its caches.
    pub fn maker(&self, case: &Case) -> u32 {
        let is_cold = case.metadata().is_some_and(|work| work.cache == Cache::Cold);
        let place = self.place(case).filter(|_| is_cold && self.shares);
        let next = place.map(|place| (place + 1) % self.hosts_of(case));
        let maker = next.and_then(|next| case.hosts().numbers(self.of).nth(next as usize));
        maker.unwrap_or(self.number)
    }

    /// This host's part of the file of `case`. A host reads the part that the next one has when
    /// writing.
    pub fn part(&self, case: &Case) -> Part {
        let Some(place) = self.place(case) else { return Part::WHOLE };
        let of = self.hosts_of(case);
        if case.metadata().is_some() && self.shares {
            return Part { number: place, of };
        }
        let is_shared = case.io().is_some_and(|io| io.files == Whose::Shared);
        if !is_shared {
            return Part::WHOLE;
        }
        let number = if case.read().is_some() { (place + 1) % of } else { place };
        Part { number, of }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{Io, ReadWork, Work, WriteWork};
    use std::collections::HashSet;

    fn rank(number: u32) -> Rank {
        Rank { number, of: 4, seed: 7, shares: true, ..Rank::default() }
    }

    #[test]
    fn hosts_take_turns_in_reading_what_the_next_one_wrote() {
        let io = |hosts: &str, files| {
            let hosts = hosts.parse().expect("it says which");
            Io { hosts, files, ..Io::default() }
        };
        let read = |io| Case::own(Work::Read(ReadWork { io, ..ReadWork::default() }));
        let write = |io| Case::own(Work::Write(WriteWork { io, ..WriteWork::default() }));
        let parts = |case: &Case| -> Vec<(u32, u32)> {
            let own = (0..4).map(rank).filter(|rank| rank.takes_part(case));
            own.map(|rank| (rank.part(case).number, rank.part(case).of)).collect()
        };
        assert_eq!(parts(&read(io("all", Whose::Shared))), [(1, 4), (2, 4), (3, 4), (0, 4)]);
        assert_eq!(parts(&write(io("all", Whose::Shared))), [(0, 4), (1, 4), (2, 4), (3, 4)]);
        assert_eq!(parts(&read(io("3", Whose::Shared))), [(1, 3), (2, 3), (0, 3)]);
        assert_eq!(parts(&read(io("1", Whose::Shared))), [(0, 1)]);
        assert_eq!(parts(&read(io("2", Whose::Own))), [(0, 1), (0, 1)]);
        assert_eq!(parts(&write(io("only-3", Whose::Shared))), [(0, 1)]);
        assert!(rank(2).takes_part(&read(io("only-3", Whose::Own))));
        assert!(!rank(0).takes_part(&read(io("only-3", Whose::Own))));
        assert_eq!(rank(0).hosts_of(&read(io("9", Whose::Own))), 4);
    }

    /// The host that is also there measures only the cases of three hosts and more.
    #[test]
    fn a_device_is_shared_with_hosts_that_measure_the_case() {
        let of = |hosts: &str| {
            let io = Io { hosts: hosts.parse().expect("it says which"), ..Io::default() };
            Case::own(Work::Read(ReadWork { io, ..ReadWork::default() }))
        };
        let beside = |neighbor, hosts| Rank { neighbor, ..rank(0) }.shares_device(&of(hosts));
        assert!(beside(Some(2), "all") && beside(Some(2), "3"));
        assert!(!beside(Some(2), "2") && !beside(None, "all") && !beside(Some(2), "only-1"));
    }

    #[test]
    fn each_host_and_the_shared_files_have_seeds_of_their_own() {
        let all = (0..4).map(|number| Rank::seed_of(7, number)).chain([rank(0).shared_seed()]);
        assert_eq!(all.collect::<HashSet<_>>().len(), 5);
        assert_eq!(Rank::seed_of(7, 0), 7);
    }
}
