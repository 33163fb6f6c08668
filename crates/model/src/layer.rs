//! The layers between a file system and its devices.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many bytes devices move for each byte that a file system moves: a mirror of two writes 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Amplification {
    /// The minimum.
    pub least: u32,
    /// The maximum, not counting metadata; null if unbounded.
    pub most: Option<u32>,
}

impl Amplification {
    /// Each byte once.
    pub const ONE: Amplification = Amplification::of(1);
    /// Each byte at least once, as with parity.
    pub const SOME: Amplification = Amplification { least: 1, most: None };
    /// Unknown: the storage below may store equal bytes once, or not at all.
    pub const UNKNOWN: Amplification = Amplification { least: 0, most: None };

    /// Each byte `times` times.
    pub const fn of(times: u32) -> Amplification {
        Amplification { least: times, most: Some(times) }
    }

    /// The exact factor, if known.
    pub fn exact(self) -> Option<u32> {
        self.most.filter(|most| *most == self.least)
    }

    /// Combines two layers: the lower one amplifies what the upper one has amplified.
    pub fn on(self, below: Amplification) -> Amplification {
        Amplification {
            least: self.least.saturating_mul(below.least),
            most: self.most.zip(below.most).map(|(upper, lower)| upper.saturating_mul(lower)),
        }
    }

    /// For bytes that may take either of two ways.
    pub fn or(self, other: Amplification) -> Amplification {
        Amplification {
            least: self.least.min(other.least),
            most: self.most.zip(other.most).map(|(one, other)| one.max(other)),
        }
    }
}

/// Whether a device's counters moved when a canary file was read, written and synced; null if
/// untested.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// The read counters.
    pub reads: Option<bool>,
    /// The write counters.
    pub writes: Option<bool>,
    /// The flush counter.
    pub flushes: Option<bool>,
}

/// Block devices side by side that all bytes of a file system pass through: the members of an
/// array, or the array itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Layer {
    /// Their names.
    pub nodes: Vec<String>,
    /// Bytes that they read in total for each byte read.
    pub reads: Amplification,
    /// Bytes that they write in total for each byte written.
    pub writes: Amplification,
    /// Whether their counters work.
    #[serde(default)]
    pub counts: Counts,
}

impl Layer {
    /// Whether its read and write counters may work: no test has shown otherwise.
    pub fn may_count(&self) -> bool {
        self.counts.reads != Some(false) && self.counts.writes != Some(false)
    }

    /// Whether its amplification is known exactly.
    pub fn is_exact(&self) -> bool {
        self.reads.exact().is_some() && self.writes.exact().is_some()
    }
}
