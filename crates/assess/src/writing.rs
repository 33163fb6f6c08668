//! What a case that writes comes to: what was accepted, and what was durable.

use crate::latency::Latency;
use crate::stats::Estimate;

/// What a case that writes comes to.
#[derive(Debug, Clone, PartialEq)]
pub struct Writing {
    /// Bytes a second until the last write had returned: how fast the OS took them. None where
    /// the worker cannot tell, as a program that is timed as a whole.
    pub accepted: Option<Estimate>,
    /// Bytes a second until the last sync had returned, where that made them durable as far as
    /// the evidence goes. None where none was asked for, and where it was not durable.
    pub durable: Option<Estimate>,
    /// Percentiles of the syncs that were calls of their own.
    pub sync: Latency,
    /// How many of them a trial made: median of the rounds.
    pub syncs_per_trial: Option<u64>,
    /// Flushes of their caches that the devices completed in a trial: median of the rounds.
    pub flushes_per_trial: Option<u64>,
    /// Bytes the devices wrote in a trial: median of the rounds.
    pub device_write_bytes: Option<u64>,
    /// Bytes of the file that were in the page cache only when the clock had stopped: median.
    pub dirty_left: Option<u64>,
    /// Whether what was written was read back and was right in all trials; none where none was.
    pub read_back: Option<bool>,
    /// Whether all of it was read from below the page cache, by proof.
    pub read_back_past_cache: Option<bool>,
}

/// What a trial spent its time on: medians of the rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spent {
    /// Nanoseconds from the first thread's start to the last thread's end, syncs included.
    pub wall_ns: f64,
    /// CPU nanoseconds in the program itself; none where no tick of the OS fell into it.
    pub user_ns: Option<f64>,
    /// CPU nanoseconds in the OS.
    pub system_ns: Option<f64>,
    /// CPU time by wall time: 1 is one processor.
    pub processors: f64,
    /// The share of the threads' time in which they neither ran nor waited for a processor, 0 to
    /// 1: they waited for I/O, or for each other.
    pub blocked_share: Option<f64>,
}
