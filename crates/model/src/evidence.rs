//! The OS's counters around a trial, collected from outside the worker.
//!
//! Every field is an `Option`: a counter that this machine lacks is `None`, not zero.

use crate::named;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

named! {
    /// The system call that reports how much of a file is in the page cache.
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
    /// Number of cached pages.
    pub cached: u64,
    /// Number of cached pages that are dirty; mincore does not report it.
    pub dirty: Option<u64>,
}

impl Residency {
    /// That of two files together, seen by the same probe.
    pub fn and(self, other: Residency) -> Residency {
        Residency {
            probe: self.probe,
            pages: self.pages.saturating_add(other.pages),
            cached: self.cached.saturating_add(other.cached),
            dirty: self.dirty.zip(other.dirty).map(|(a, b)| a.saturating_add(b)),
        }
    }

    /// The cached share, 0.0 to 1.0. An empty file counts as fully cached.
    pub fn share(&self) -> f64 {
        if self.pages == 0 { 1.0 } else { self.cached as f64 / self.pages as f64 }
    }
}

named! {
    /// The quantity that a control group limits on a device.
    Limited "limited" {
        /// Bytes read per second.
        ReadBytes "read bytes",
        /// Bytes written per second.
        WriteBytes "written bytes",
        /// Read requests per second.
        Reads "reads",
        /// Write requests per second.
        Writes "writes",
    }
}

/// A control group's limit on a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Limit {
    /// The device's name.
    pub device: String,
    /// The limited quantity.
    pub what: Limited,
    /// The maximum per second, in bytes or requests.
    pub a_second: u64,
    /// The control group's directory.
    pub group: String,
}

impl Limit {
    /// How much of the limited quantity the group used in the window of `evidence`, all its
    /// processes together; `None` if nobody counted it.
    pub fn used(&self, evidence: &Evidence) -> Option<u64> {
        let is_of_it = |it: &&GroupTraffic| it.group == self.group && it.device == self.device;
        let traffic = evidence.group_traffic.iter().find(is_of_it)?;
        Some(match self.what {
            Limited::ReadBytes => traffic.read_bytes,
            Limited::WriteBytes => traffic.write_bytes,
            Limited::Reads => traffic.reads,
            Limited::Writes => traffic.writes,
        })
    }
}

/// What all processes of a control group did on a device in the window.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupTraffic {
    /// The group's directory.
    pub group: String,
    /// The device's name.
    pub device: String,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Read requests.
    pub reads: u64,
    /// Write requests.
    pub writes: u64,
}

/// What all devices under files did in the window, for any process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StorageTraffic {
    /// Bytes read; `None` if the devices do not count reliably, as for all that follows.
    pub read_bytes: Option<u64>,
    /// Read requests.
    pub reads: Option<u64>,
    /// Bytes written.
    pub write_bytes: Option<u64>,
    /// Write requests.
    pub writes: Option<u64>,
    /// Cache flushes.
    pub flushes: Option<u64>,
}

/// An idle state of CPUs, added up over them: over all of them since the OS
/// started, or over those of the threads of a trial while it lasted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IdleState {
    /// Its name: `C6`.
    pub name: String,
    /// How long it takes to wake up from it, in microseconds, as the driver says; null if it does
    /// not.
    pub wake_us: Option<u64>,
    /// How often a CPU entered it.
    pub entries: u64,
    /// How long CPUs were in it, in microseconds.
    pub us: u64,
}

/// The change between the moment before the worker's barrier opened and the moment after its last
/// thread was done.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Length of that window.
    pub window_ns: u64,
    /// Residency of the file, or of all files that a command reads, before.
    pub residency_before: Option<Residency>,
    /// The same after.
    pub residency_after: Option<Residency>,
    /// Residency of the files that a command wrote, when it had ended. `None` for other work, if
    /// it wrote none, and if no probe works on all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_after: Option<Residency>,
    /// Mean size in bytes of the OS's units of memory in which the file of a warm case was cached
    /// (folios). `None` without root, which alone sees them, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folio_bytes: Option<u64>,
    /// Bytes that the worker caused to be read from block devices (`/proc/PID/io` `read_bytes`).
    pub task_read_bytes: Option<u64>,
    /// Bytes returned by the read calls of the worker and its descendants, from any source
    /// (`/proc/PID/io` `rchar`). It excludes reads by mmap and io_uring, and is `None` if the OS
    /// does not list descendants.
    pub task_rchar_bytes: Option<u64>,
    /// Bytes that the write calls of the worker and its descendants took, to anything
    /// (`/proc/PID/io` `wchar`). `None` like `task_rchar_bytes`, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_wchar_bytes: Option<u64>,
    /// Those read calls (`/proc/PID/io` `syscr`). `None` like `task_rchar_bytes`, and in older
    /// records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_read_calls: Option<u64>,
    /// Those write calls (`syscw`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_write_calls: Option<u64>,
    /// Bytes that all devices under the file read, for any process. Of commands, those under
    /// the largest data file of all of them.
    pub device_read_bytes: Option<u64>,
    /// Read requests that those devices completed, for any process.
    pub device_reads: Option<u64>,
    /// The times of those requests, from their start to their completion, added up. `None` in older
    /// records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_read_ns: Option<u64>,
    /// The times in which those devices had requests in flight, of any kind and for any process,
    /// added up. `None` in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_busy_ns: Option<u64>,
    /// Bytes that those devices wrote, for any process.
    pub device_write_bytes: Option<u64>,
    /// Write requests that those devices completed, for any process.
    pub device_writes: Option<u64>,
    /// The times of those requests, added up. `None` in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_write_ns: Option<u64>,
    /// Cache flushes that those devices completed, for any process.
    pub device_flushes: Option<u64>,
    /// Bytes that the disks below loop devices read, for any process. `None` without a loop device,
    /// if it cannot be followed, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_read_bytes: Option<u64>,
    /// Bytes that those disks wrote, for any process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_write_bytes: Option<u64>,
    /// Cache flushes that those disks completed, for any process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_flushes: Option<u64>,
    /// What the devices of each further storage did ([`Header::further_storages`]), in its order.
    /// Empty without any, and in older records.
    ///
    /// [`Header::further_storages`]: crate::record::Header::further_storages
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further: Vec<StorageTraffic>,
    /// What the control groups that limit a device did on it: the worker, what runs beside it, and
    /// others in the group. Only for limits whose group counts, and none in older records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub group_traffic: Vec<GroupTraffic>,
    /// The limits that this process's control groups had on the devices when the window began, and
    /// those when it ended: a limit may be set while a run goes on. `None` without a device, and in
    /// older records, which know those at the start of the run only ([`Storage::limits`]).
    ///
    /// [`Storage::limits`]: crate::host::Storage::limits
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Vec<Limit>>,
    /// For a copy, the bytes of the target that it shares with another file at the end: no data was
    /// copied. `None` if the file system does not report it, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_bytes: Option<u64>,
    /// Bytes that the worker dirtied or wrote directly (`/proc/PID/io` `write_bytes`).
    pub task_write_bytes: Option<u64>,
    /// Bytes in the whole machine's page cache that were dirty or being written back, before.
    pub dirty_before: Option<u64>,
    /// The same after.
    pub dirty_after: Option<u64>,
    /// The number of dirty bytes at which the OS makes the worker wait: the machine's limit or, if
    /// less, that of its control groups. In older records, always the machine's.
    pub dirty_limit: Option<u64>,
    /// CPU time of all the worker's threads.
    pub cpu_ns: Option<u64>,
    /// The part spent in user mode, according to the OS.
    pub cpu_user_ns: Option<u64>,
    /// The part spent in the kernel.
    pub cpu_system_ns: Option<u64>,
    /// Page faults served from memory.
    pub minor_faults: Option<u64>,
    /// Page faults that waited for a device.
    pub major_faults: Option<u64>,
    /// Context switches because a thread of the worker waited.
    pub switches_voluntary: Option<u64>,
    /// Context switches because another thread needed the CPU.
    pub switches_involuntary: Option<u64>,
    /// Time for which the worker's threads were ready to run but had no CPU. Of a command, that of
    /// its first thread, if that had nearly all of its CPU time.
    pub run_delay_ns: Option<u64>,
    /// CPU time that the hypervisor took away, over all CPUs.
    pub steal_ns: Option<u64>,
    /// CPU time of the whole machine in the window, over all CPUs and states, including steal and
    /// idle.
    pub machine_cpu_ns: Option<u64>,
    /// Time for which some task waited for a CPU (PSI).
    pub pressure_cpu_ns: Option<u64>,
    /// Time for which some task waited for I/O (PSI).
    pub pressure_io_ns: Option<u64>,
    /// Time for which some task waited for memory (PSI).
    pub pressure_memory_ns: Option<u64>,
    /// Bytes that the machine swapped in or out (`pswpin` and `pswpout` in `/proc/vmstat`).
    pub swapped_bytes: Option<u64>,
    /// Bytes of the worker's memory in huge pages at the end (`AnonHugePages` in
    /// `/proc/PID/smaps_rollup`).
    pub huge_bytes: Option<u64>,
    /// Bytes on each NUMA node of the worker's memory and its mappings of the file at the end
    /// (`/proc/PID/numa_maps`). `None` with only one node, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_bytes: Option<BTreeMap<u32, u64>>,
    /// Names in the OS's cache of the whole machine (dentries), before. Only for work on names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names_before: Option<u64>,
    /// The same after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names_after: Option<u64>,
    /// Time for which a CPU quota throttled the worker's control group.
    pub throttled_ns: Option<u64>,
    /// How often and how long the CPUs on which the worker's threads began or ended were in each
    /// idle state. Only for open loops; empty if the OS or the worker does not tell it, and in
    /// older records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub idle_states: Vec<IdleState>,
}
