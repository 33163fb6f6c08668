//! What the OS counted around a trial, taken from outside the worker.
//!
//! Every field is an `Option`: a counter that this machine does not have is absent, not zero.

use crate::named;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

named! {
    /// The probe that reported how much of a file is in the page cache.
    Probe "probe" {
        /// `cachestat(2)`, Linux 6.5 and later.
        Cachestat "cachestat",
        /// `mincore(2)` on a mapping of the file.
        Mincore "mincore",
    }
}

/// How much of a file is in the page cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Residency {
    /// The probe.
    pub probe: Probe,
    /// Pages of the file.
    pub pages: u64,
    /// Pages of it that are cached.
    pub cached: u64,
    /// Cached pages not yet written back; unknown to mincore.
    pub dirty: Option<u64>,
}

impl Residency {
    /// The cached share, 0.0 to 1.0; an empty file is wholly cached.
    pub fn share(&self) -> f64 {
        if self.pages == 0 { 1.0 } else { self.cached as f64 / self.pages as f64 }
    }
}

/// What changed between the moment before the worker's barrier opened and the moment after its
/// last thread was done.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Length of that window.
    pub window_ns: u64,
    /// The file in the page cache, before.
    pub residency_before: Option<Residency>,
    /// The file in the page cache, after.
    pub residency_after: Option<Residency>,
    /// Bytes the worker caused to be fetched from a block layer (`/proc/PID/io` `read_bytes`).
    pub task_read_bytes: Option<u64>,
    /// Bytes that the worker's calls to read returned, from whatever (`/proc/PID/io` `rchar`). What
    /// is mapped, and what io_uring reads, is not in it; nor what children read that still live,
    /// so that it is absent where there are any.
    #[serde(default)]
    pub task_rchar_bytes: Option<u64>,
    /// Bytes all devices under the file read, for anyone.
    pub device_read_bytes: Option<u64>,
    /// Read requests those devices completed, for anyone.
    pub device_reads: Option<u64>,
    /// Bytes those devices wrote, for anyone.
    pub device_write_bytes: Option<u64>,
    /// Write requests those devices completed, for anyone.
    #[serde(default)]
    pub device_writes: Option<u64>,
    /// Requests to flush their caches that those devices completed, for anyone.
    #[serde(default)]
    pub device_flushes: Option<u64>,
    /// Bytes the worker made dirty or wrote past the page cache (`/proc/PID/io` `write_bytes`).
    #[serde(default)]
    pub task_write_bytes: Option<u64>,
    /// Bytes of the whole machine's page cache that were not on a device before: dirty, and being
    /// written.
    #[serde(default)]
    pub dirty_before: Option<u64>,
    /// The same after.
    #[serde(default)]
    pub dirty_after: Option<u64>,
    /// How many of them the OS allows before it makes writers wait.
    #[serde(default)]
    pub dirty_limit: Option<u64>,
    /// CPU time of all the worker's threads.
    pub cpu_ns: Option<u64>,
    /// The part of it spent in the program itself, as the OS splits it.
    pub cpu_user_ns: Option<u64>,
    /// The part of it spent in the OS.
    pub cpu_system_ns: Option<u64>,
    /// Page faults served from memory.
    pub minor_faults: Option<u64>,
    /// Page faults that waited for a device.
    pub major_faults: Option<u64>,
    /// Context switches because the worker waited.
    pub switches_voluntary: Option<u64>,
    /// Context switches because another wanted the CPU.
    pub switches_involuntary: Option<u64>,
    /// Time the worker's threads were ready to run and had no CPU.
    pub run_delay_ns: Option<u64>,
    /// CPU time the hypervisor gave to others, over all CPUs.
    pub steal_ns: Option<u64>,
    /// CPU time of the whole machine in the window, all CPUs and states, steal and idle included.
    pub machine_cpu_ns: Option<u64>,
    /// Time in which some task waited for a CPU (PSI).
    pub pressure_cpu_ns: Option<u64>,
    /// Time in which some task waited for I/O (PSI).
    pub pressure_io_ns: Option<u64>,
    /// Time in which some task waited for memory (PSI).
    pub pressure_memory_ns: Option<u64>,
    /// Bytes that the machine swapped, in or out (`pswpin` and `pswpout` of `/proc/vmstat`).
    #[serde(default)]
    pub swapped_bytes: Option<u64>,
    /// Bytes of the worker's memory that were in huge pages at the end (`AnonHugePages` of
    /// `/proc/PID/smaps_rollup`).
    pub huge_bytes: Option<u64>,
    /// Bytes of each NUMA node in the worker's memory and in its mappings of the file at the end
    /// (`/proc/PID/numa_maps`). None where there is one node only, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_bytes: Option<BTreeMap<u32, u64>>,
    /// Time the worker's control group was held back by its CPU quota.
    pub throttled_ns: Option<u64>,
}
