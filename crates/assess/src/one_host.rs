//! A record of one of several hosts.

use model::case::Case;
use model::rank::Rank;
use model::record::Header;
use schemars::JsonSchema;
use serde::Serialize;

/// The host of a record that is one of several of a run in lockstep: its figures are a part of what
/// all did.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OneHost {
    /// What the user calls it.
    pub called: String,
    /// Its number in the run, from 1.
    pub number: u32,
    /// The number of hosts of the run.
    pub of: u32,
    #[serde(skip)]
    rank: Rank,
}

impl OneHost {
    /// The host of a record with this header; `None` if its run had no other.
    pub(crate) fn of(header: &Header) -> Option<OneHost> {
        let rank = header.plan.rank.filter(|rank| rank.of > 1)?;
        let called = header.called.clone().unwrap_or_else(|| header.host.name.clone());
        Some(OneHost { called, number: rank.number + 1, of: rank.of, rank })
    }

    /// What it is: a host or a directory.
    pub fn noun(&self) -> &'static str {
        self.rank.members.noun()
    }

    /// Whether other hosts measured `case` with it.
    pub fn shares(&self, case: &Case) -> bool {
        self.rank.hosts_of(case) > 1
    }
}
