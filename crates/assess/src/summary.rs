//! What the trials of one case come to.

use crate::finding::{Finding, Verdict};
use crate::stats::{Estimate, Percentile};
use model::case::Case;
use model::named;
use model::plan::Role;

named! {
    /// What served the bytes, by the evidence.
    ServedBy "served_by" {
        /// Memory: a memory kernel, or a file system that is kept in memory.
        Ram "ram",
        /// The OS's page cache.
        PageCache "page-cache",
        /// Page cache and device.
        Mixed "mixed",
        /// They crossed the block layer; caches below it are unknown.
        Device "device",
        /// Nothing: the null engine, holes, extents never written.
        NoIo "no-io",
        /// Something that cannot be seen from here.
        Unverified "unverified",
    }
}

/// Percentiles of latency over all rounds; absent where the sample is too small for one.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Latency {
    /// How many operations were timed.
    pub count: u64,
    /// The median.
    pub p50: Option<Percentile>,
    /// 90 % were at most this.
    pub p90: Option<Percentile>,
    /// 99 %.
    pub p99: Option<Percentile>,
    /// 99.9 %.
    pub p99_9: Option<Percentile>,
    /// 99.99 %.
    pub p99_99: Option<Percentile>,
    /// The longest, exact.
    pub max_ns: Option<u64>,
}

named! {
    /// What bounds a figure.
    CeilingKind "ceiling" {
        /// Reading memory with as many threads.
        Memory "memory",
        /// The highest direct rate of the device in this run.
        Device "device",
    }
}

/// How near a figure comes to what bounds it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ceiling {
    /// What bounds it.
    pub kind: CeilingKind,
    /// Throughput divided by the ceiling's.
    pub share: f64,
}

/// What the trials of one case come to.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// The case's short name.
    pub id: String,
    /// The case.
    pub case: Case,
    /// Why it was measured.
    pub role: Role,
    /// Trials that were done and count.
    pub n: usize,
    /// What went wrong in the others, each reason once with how often.
    pub failures: Vec<(String, usize)>,
    /// What it is worth.
    pub verdict: Verdict,
    /// What served the bytes.
    pub served_by: Option<ServedBy>,
    /// The share of bytes that caused no device read; only where that can be told.
    pub hit_share: Option<f64>,
    /// Bytes a second.
    pub throughput: Option<Estimate>,
    /// Operations a second.
    pub iops: Option<Estimate>,
    /// Nanoseconds one thread and one slot took for an operation: elapsed · threads / operations.
    pub ns_per_op: Option<Estimate>,
    /// Percentiles.
    pub latency: Latency,
    /// Mean idle share of the threads in per cent; none for one thread.
    pub imbalance_percent: Option<f64>,
    /// CPU time an operation cost, over all threads: median of the rounds.
    pub cpu_ns_per_op: Option<f64>,
    /// Bytes that a trial moved: median of the rounds.
    pub bytes_per_trial: Option<u64>,
    /// Bytes the worker caused to be read from devices in a trial: median of the rounds.
    pub device_bytes: Option<u64>,
    /// What bounds it, and how near it comes.
    pub ceiling: Option<Ceiling>,
    /// Throughput divided by that of one thread reading memory: "× of memory".
    pub of_memory: Option<f64>,
    /// What was found, gravest first.
    pub findings: Vec<Finding>,
    /// Whether all that was read had the expected digest; none where nothing was summed.
    pub digest_verified: Option<bool>,
}
