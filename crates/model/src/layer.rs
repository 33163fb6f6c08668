//! The way from a file system down to its devices.

use serde::{Deserialize, Serialize};

/// How many bytes devices move for each byte that a file system moves: a mirror of two writes 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amplification {
    /// So many at least.
    pub least: u32,
    /// So many at most, but for metadata; none where nothing bounds it.
    pub most: Option<u32>,
}

impl Amplification {
    /// Each byte once.
    pub const ONE: Amplification = Amplification::of(1);
    /// At least each byte, as where parity is kept.
    pub const SOME: Amplification = Amplification { least: 1, most: None };
    /// Storage below may store equal bytes once, or not at all.
    pub const UNKNOWN: Amplification = Amplification { least: 0, most: None };

    /// Each byte `times` times.
    pub const fn of(times: u32) -> Amplification {
        Amplification { least: times, most: Some(times) }
    }

    /// The one number that it is, if it is known.
    pub fn exact(self) -> Option<u32> {
        self.most.filter(|most| *most == self.least)
    }

    /// Of a layer on another: what the upper one amplifies, the lower one amplifies again.
    pub fn on(self, below: Amplification) -> Amplification {
        Amplification {
            least: self.least.saturating_mul(below.least),
            most: self.most.zip(below.most).map(|(upper, lower)| upper.saturating_mul(lower)),
        }
    }

    /// Of bytes that may go one way or the other.
    pub fn or(self, other: Amplification) -> Amplification {
        Amplification {
            least: self.least.min(other.least),
            most: self.most.zip(other.most).map(|(one, other)| one.max(other)),
        }
    }
}

/// Whether a device's counters moved when a canary file was read, written and synced. None where
/// that could not be tried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Those of reads.
    pub reads: Option<bool>,
    /// Those of writes.
    pub writes: Option<bool>,
    /// That of flushes.
    pub flushes: Option<bool>,
}

/// Block devices side by side, which all bytes of a file system cross on their way down: the
/// members of an array, or the array itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    /// Their names.
    pub nodes: Vec<String>,
    /// Bytes they read together for each byte read.
    pub reads: Amplification,
    /// Bytes they write together for each byte written.
    pub writes: Amplification,
    /// Whether their counters count.
    #[serde(default)]
    pub counts: Counts,
}

impl Layer {
    /// Whether nothing says that its counters of reads and writes stand still.
    pub fn may_count(&self) -> bool {
        self.counts.reads != Some(false) && self.counts.writes != Some(false)
    }

    /// Whether it is known how many bytes it moves for each byte.
    pub fn is_exact(&self) -> bool {
        self.reads.exact().is_some() && self.writes.exact().is_some()
    }
}
