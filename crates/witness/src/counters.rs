//! The OS's counters for a process, its file, the devices below it and the machine.
//!
//! Everything is read from outside the process. To keep the window tight, counters that are slow to
//! read or stand still while the worker waits are read first before and last after.

use crate::cgroup;
use crate::limits;
use crate::machine::{self, ProcStat};
use crate::numa;
use crate::page_cache::{self, FileRange};
use crate::processes::{self, Process, ProcessCounters, Thread, open, over_all, read, read_file};
use crate::root::Root;
use crate::traffic::{SECTOR, Traffic};
use crate::watched_devices::{self, Devices, FurtherTraffic, moved_on};
use model::evidence::{Evidence, GroupTraffic, Limit, Probe, Residency};
use model::host::Storage;
use rustix::time::ClockId;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;

pub use crate::processes::{ended_thread, parse_run_delay};

/// For counter files. `/proc/vmstat` may exceed it, but what is needed comes first.
const BUFFER: usize = 16 << 10;

/// Collects evidence about one process and its descendants. It opens and resolves everything it can
/// once.
#[derive(Debug)]
pub struct Witness<'a> {
    /// The process, and its descendants as far as the OS lists them.
    processes: Vec<Process>,
    /// Whether the threads and the memory of the processes themselves are seen.
    sees_own: bool,
    /// The file, and the probe that works on it.
    file: Option<(FileRange<'a>, Probe)>,
    /// Several files, each with the probe that works on it; none if one file is watched.
    files: Vec<(&'a File, Probe)>,
    devices: Devices,
    /// Those of further storages.
    further: Vec<Devices>,
    /// The names of all devices that the bytes pass.
    nodes: BTreeSet<String>,
    /// The limits of control groups on them, before.
    limits: Vec<Limit>,
    /// What those groups do on the devices that they limit.
    groups: Vec<limits::GroupCounters>,
    machine: Option<File>,
    meminfo: Option<File>,
    vmstat: Option<File>,
    pressure: Pressure<Option<File>>,
    throttled: Vec<File>,
    /// Dirty bytes that the process's control groups allow, if they limit memory.
    dirty_quota: Option<u64>,
    /// The state of the cache of names, if that is asked for.
    names: Option<File>,
    buffer: Vec<u8>,
}

/// Pressure stall information (PSI) for each resource.
#[derive(Debug, Clone, Copy, Default)]
struct Pressure<T> {
    cpu: T,
    io: T,
    memory: T,
}

/// All counters at one moment.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    at_ns: u64,
    residency: Option<Residency>,
    processes: BTreeMap<u32, ProcessCounters>,
    /// Whether the OS lists descendants, so that none is missing.
    lists_all: bool,
    moved: Option<Traffic>,
    of_disks: Option<Traffic>,
    flushes: Option<u64>,
    /// What moved on each further storage, and its flushes.
    of_further: Vec<FurtherTraffic>,
    of_groups: Vec<Option<GroupTraffic>>,
    /// `None` without a device.
    limits: Option<Vec<Limit>>,
    machine: Option<ProcStat>,
    dirty: Option<u64>,
    dirty_limit: Option<u64>,
    swapped: Option<u64>,
    pressure_us: Pressure<Option<u64>>,
    throttled_ns: Option<u64>,
    names: Option<u64>,
    huge_bytes: Option<u64>,
    node_bytes: Option<BTreeMap<u32, u64>>,
    threads: Option<BTreeMap<u32, Thread>>,
}

impl<'a> Witness<'a> {
    /// A witness for process `pid`, and for a part of a file and its `storage` if it reads or
    /// writes one: what others add to a file is not seen.
    ///
    /// Missing counters are `None` in all its results.
    pub fn new(pid: u32, file: Option<FileRange<'a>>, storage: Option<&Storage>) -> Witness<'a> {
        let descendants = processes::descendants(pid).unwrap_or_default();
        let pressure = |name: &str| open(Path::new(&format!("/proc/pressure/{name}")));
        let without_limits = Witness {
            processes: [pid].into_iter().chain(descendants).map(Process::open).collect(),
            sees_own: true,
            file: file.zip(storage.and_then(|storage| storage.residency_probe)),
            files: Vec::new(),
            devices: storage.map_or(Devices::default(), Devices::of),
            further: Vec::new(),
            nodes: BTreeSet::new(),
            limits: Vec::new(),
            groups: Vec::new(),
            machine: open(Path::new("/proc/stat")),
            meminfo: open(Path::new(machine::MEMINFO)),
            vmstat: open(Path::new("/proc/vmstat")),
            pressure: Pressure {
                cpu: pressure("cpu"),
                io: pressure("io"),
                memory: pressure("memory"),
            },
            throttled: cgroup::cpu_stats(pid).iter().filter_map(|path| open(path)).collect(),
            dirty_quota: cgroup::dirty_quota(&Root::machine(), pid),
            names: None,
            buffer: vec![0; BUFFER],
        };
        match storage {
            Some(storage) => without_limits.with_limits_of(storage),
            None => without_limits,
        }
    }

    /// The same, which also sees the limits of control groups on devices of `storage`, such as
    /// those that a copy reads from. They are read anew for each trial, because they may be set or
    /// changed while a run goes on.
    pub fn with_limits_of(mut self, storage: &Storage) -> Witness<'a> {
        self.nodes.extend(storage.nodes().into_iter().map(str::to_string));
        self.limits = self.limits_now();
        self.groups = limits::GroupCounters::of(&Root::machine(), &self.limits);
        self
    }

    /// The same, which also counts what the devices of these storages do, each apart.
    pub fn with_further(mut self, storages: &[Storage]) -> Witness<'a> {
        self.further = storages.iter().map(Devices::of).collect();
        storages.iter().fold(self, Witness::with_limits_of)
    }

    fn limits_now(&self) -> Vec<Limit> {
        limits::limits(&Root::machine(), self.nodes.iter().map(String::as_str))
    }

    /// The same for a process that only starts a command and waits for it: it sees how much of
    /// these files together is cached, in place of one file. The process's own threads and memory
    /// say nothing of the command, and reading their counters would take longer than a short one.
    pub fn of_command(self, files: Vec<(&'a File, Probe)>) -> Witness<'a> {
        Witness { files, sees_own: false, ..self }
    }

    /// The same, which also counts the names in the OS's cache.
    pub fn with_names(self) -> Witness<'a> {
        Witness { names: open(Path::new(machine::NAMES)), ..self }
    }

    /// Reads the counters just before the process starts its trial.
    pub fn before(&mut self) -> Snapshot {
        self.before_with(|| {})
    }

    /// The same, and calls `beside` next to reading the devices' counters: what is counted there of
    /// other processes is then hardly of another moment.
    pub fn before_with(&mut self, beside: impl FnOnce()) -> Snapshot {
        let residency = self.residency();
        let threads = self.threads();
        let mut snapshot = Snapshot { residency, threads, ..Snapshot::default() };
        snapshot.limits = (!self.nodes.is_empty()).then(|| self.limits.clone());
        self.machine_into(&mut snapshot);
        beside();
        self.devices_into(&mut snapshot);
        snapshot.processes = self.counts();
        snapshot.at_ns = now_ns();
        snapshot
    }

    /// Reads the counters just after the process has finished. Its threads must still exist, or
    /// their own counters are lost.
    pub fn after(&mut self) -> Snapshot {
        self.after_with(|| {})
    }

    /// The same, and calls `beside` as [`Witness::before_with`] does.
    pub fn after_with(&mut self, beside: impl FnOnce()) -> Snapshot {
        let mut snapshot = Snapshot { at_ns: now_ns(), ..Snapshot::default() };
        snapshot.processes = self.counts();
        self.devices_into(&mut snapshot);
        beside();
        self.machine_into(&mut snapshot);
        snapshot.lists_all = self.find_new(&mut snapshot.processes);
        snapshot.threads = self.threads();
        snapshot.residency = self.residency();
        if self.sees_own {
            snapshot.huge_bytes = self.pids().map(machine::huge_bytes).sum();
            snapshot.node_bytes = self.node_bytes();
        }
        snapshot.limits = (!self.nodes.is_empty()).then(|| self.limits_now());
        snapshot
    }

    fn residency(&self) -> Option<Residency> {
        if !self.files.is_empty() {
            let each =
                self.files.iter().map(|(file, probe)| page_cache::residency(file, *probe).ok());
            let sum = |sum: Option<Residency>, each: Option<Residency>| Some(sum?.and(each?));
            return each.reduce(sum)?;
        }
        let ((file, range), probe) = self.file.as_ref()?;
        page_cache::residency_of_range(file, *probe, range.clone())
            .inspect_err(|error| log::warn!("{probe} cannot read the file's counters: {error}"))
            .ok()
    }

    fn pids(&self) -> impl Iterator<Item = u32> {
        self.processes.iter().map(Process::pid)
    }

    fn counts(&self) -> BTreeMap<u32, ProcessCounters> {
        self.processes.iter().map(|process| (process.pid(), process.counts())).collect()
    }

    /// Adds descendants that were started since, whose counters began at 0. Returns whether the OS
    /// lists them.
    fn find_new(&mut self, counts: &mut BTreeMap<u32, ProcessCounters>) -> bool {
        let Some(first) = self.pids().next() else { return false };
        let Some(found) = processes::descendants(first) else { return false };
        for pid in found {
            if let Entry::Vacant(new) = counts.entry(pid) {
                let process = Process::open(pid);
                new.insert(process.counts());
                self.processes.push(process);
            }
        }
        true
    }

    /// The counters of all threads; `None` if one process does not list its own, or they are not
    /// to be seen.
    fn threads(&self) -> Option<BTreeMap<u32, Thread>> {
        if !self.sees_own {
            return None;
        }
        let mut all = BTreeMap::new();
        for pid in self.pids() {
            all.append(&mut processes::threads(pid)?);
        }
        Some(all)
    }

    fn node_bytes(&self) -> Option<BTreeMap<u32, u64>> {
        let mut all: BTreeMap<u32, u64> = BTreeMap::new();
        for pid in self.pids() {
            for (node, bytes) in
                numa::node_bytes(pid, self.file.as_ref().map(|((file, _), _)| *file))?
            {
                let sum = all.entry(node).or_default();
                *sum = sum.saturating_add(bytes);
            }
        }
        Some(all)
    }

    fn devices_into(&mut self, snapshot: &mut Snapshot) {
        let buffer = &mut self.buffer;
        let mut sum = |devices: &Option<Vec<File>>| watched_devices::sum(devices, buffer);
        snapshot.moved = sum(&self.devices.moved);
        snapshot.of_disks = sum(&self.devices.disks);
        snapshot.flushes = sum(&self.devices.flushed).and_then(|traffic| traffic.flushes);
        let further = self.further.iter().map(|devices| {
            let flushes = sum(&devices.flushed).and_then(|traffic| traffic.flushes);
            FurtherTraffic { moved: sum(&devices.moved), flushes }
        });
        snapshot.of_further = further.collect();
        snapshot.of_groups = self.groups.iter().map(limits::GroupCounters::read).collect();
    }

    fn machine_into(&mut self, snapshot: &mut Snapshot) {
        let buffer = &mut self.buffer;
        snapshot.machine = read(&self.machine, buffer).and_then(machine::parse_machine);
        snapshot.dirty = read(&self.meminfo, buffer).and_then(machine::parse_dirty);
        let page = rustix::param::page_size() as u64;
        if let Some(vmstat) = read(&self.vmstat, buffer) {
            let of_machine = machine::parse_dirty_limit(vmstat, page);
            let of_groups = self.dirty_quota.unwrap_or(u64::MAX);
            snapshot.dirty_limit = of_machine.map(|limit| limit.min(of_groups));
            snapshot.swapped = machine::parse_swapped(vmstat, page);
        }
        snapshot.names = read(&self.names, buffer).and_then(machine::parse_names);
        let mut total = |file: &Option<File>| read(file, buffer).and_then(machine::parse_pressure);
        snapshot.pressure_us = Pressure {
            cpu: total(&self.pressure.cpu),
            io: total(&self.pressure.io),
            memory: total(&self.pressure.memory),
        };
        // Throttling of any group on the path delays the process.
        let groups = self.throttled.iter();
        snapshot.throttled_ns = groups
            .filter_map(|file| cgroup::parse_throttled(read_file(file, buffer)?))
            .reduce(u64::saturating_add);
    }
}

fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The change from `before` to `after`. That of a counter which went backwards is unknown.
pub fn between(before: &Snapshot, after: &Snapshot) -> Evidence {
    let delta = |of: fn(&Snapshot) -> Option<u64>| of(after)?.checked_sub(of(before)?);
    let counts =
        |of: fn(&ProcessCounters) -> Option<u64>| over_all(&before.processes, &after.processes, of);
    let tick = 1_000_000_000 / rustix::param::clock_ticks_per_second();
    // A worker may be a script whose child does the work.
    let child_ticks = counts(|it| Some(it.task?.child_ticks)).unwrap_or(0);
    let cpu_ns = counts(|it| it.cpu_ns).map(|own_ns| own_ns.saturating_add(child_ticks * tick));
    let user_ticks = counts(|it| Some(it.task?.user_ticks));
    let system_ticks = counts(|it| Some(it.task?.system_ticks));
    let (cpu_user_ns, cpu_system_ns) = split(cpu_ns, user_ticks, system_ticks).unzip();
    let threads = |of: fn(&Thread) -> Option<u64>| {
        over_all(before.threads.as_ref()?, after.threads.as_ref()?, of)
    };
    // Reading the start command increments it, so no change means that the OS does not count.
    let rchar = counts(|it| Some(it.moved?.rchar)).filter(|bytes| *bytes > 0 && after.lists_all);
    Evidence {
        // They are seen when the file is cached.
        window_ns: after.at_ns.saturating_sub(before.at_ns),
        residency_before: before.residency,
        residency_after: after.residency,
        task_read_bytes: counts(|it| Some(it.moved?.read_bytes)),
        task_rchar_bytes: rchar,
        task_wchar_bytes: rchar.and(counts(|it| Some(it.moved?.wchar))),
        task_read_calls: rchar.and(counts(|it| Some(it.moved?.syscr))),
        task_write_calls: rchar.and(counts(|it| Some(it.moved?.syscw))),
        device_read_bytes: delta(|s| Some(s.moved?.sectors_read)).map(|n| n * SECTOR),
        device_reads: delta(|s| Some(s.moved?.reads)),
        device_read_ns: delta(|s| Some(s.moved?.read_ns)),
        device_busy_ns: delta(|s| Some(s.moved?.busy_ns)),
        device_write_bytes: delta(|s| Some(s.moved?.sectors_written)).map(|n| n * SECTOR),
        device_writes: delta(|s| Some(s.moved?.writes)),
        device_write_ns: delta(|s| Some(s.moved?.write_ns)),
        device_flushes: delta(|s| s.flushes),
        disk_read_bytes: delta(|s| Some(s.of_disks?.sectors_read)).map(|n| n * SECTOR),
        disk_write_bytes: delta(|s| Some(s.of_disks?.sectors_written)).map(|n| n * SECTOR),
        disk_flushes: delta(|s| s.of_disks?.flushes),
        further: before.of_further.iter().zip(&after.of_further).map(moved_on).collect(),
        group_traffic: {
            let pairs = before.of_groups.iter().zip(&after.of_groups);
            pairs.filter_map(|(b, a)| limits::between(b.as_ref()?, a.as_ref()?)).collect()
        },
        limits: limits::of_both(before.limits.as_deref(), after.limits.as_deref()),
        task_write_bytes: counts(|it| Some(it.moved?.write_bytes)),
        dirty_before: before.dirty,
        dirty_after: after.dirty,
        dirty_limit: before.dirty_limit,
        swapped_bytes: delta(|s| s.swapped),
        cpu_ns,
        cpu_user_ns,
        cpu_system_ns,
        minor_faults: counts(|it| Some(it.task?.minor_faults)),
        major_faults: counts(|it| Some(it.task?.major_faults)),
        switches_voluntary: threads(|thread| thread.voluntary),
        switches_involuntary: threads(|thread| thread.involuntary),
        run_delay_ns: threads(|thread| thread.run_delay_ns),
        steal_ns: delta(|s| Some(s.machine?.steal_ticks)).map(|ticks| ticks * tick),
        machine_cpu_ns: delta(|s| Some(s.machine?.all_ticks)).map(|ticks| ticks * tick),
        pressure_cpu_ns: delta(|s| s.pressure_us.cpu).map(|us| us * 1000),
        pressure_io_ns: delta(|s| s.pressure_us.io).map(|us| us * 1000),
        pressure_memory_ns: delta(|s| s.pressure_us.memory).map(|us| us * 1000),
        huge_bytes: after.huge_bytes,
        node_bytes: after.node_bytes.clone(),
        names_before: before.names,
        names_after: after.names,
        throttled_ns: delta(|s| s.throttled_ns),
        ..Evidence::default()
    }
}

/// Splits exact CPU time in proportion to the ticks, which are too coarse on their own. `None` if
/// no tick fell into the window.
fn split(cpu_ns: Option<u64>, user: Option<u64>, system: Option<u64>) -> Option<(u64, u64)> {
    let (cpu_ns, user, system) = (cpu_ns?, user?, system?);
    let all = user + system;
    if all == 0 {
        return None;
    }
    let user_ns = u128::from(cpu_ns) * u128::from(user) / u128::from(all);
    Some((user_ns as u64, cpu_ns - user_ns as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processes::Moved;

    #[test]
    fn a_split_loses_nothing_and_is_unknown_without_a_tick() {
        assert_eq!(split(Some(1001), Some(3), Some(1)), Some((750, 251)));
        assert_eq!(split(Some(1001), Some(0), Some(2)), Some((0, 1001)));
        assert_eq!(split(Some(u64::MAX), Some(u64::MAX / 2), Some(0)), Some((u64::MAX, 0)));
        assert_eq!(split(Some(1001), Some(0), Some(0)), None);
        assert_eq!(split(None, Some(1), Some(1)), None);
    }

    #[test]
    fn a_further_storage_has_its_own_counters() {
        let at = |sectors_read: u64, flushes| {
            let moved = Some(Traffic { sectors_read, ..Traffic::default() });
            let of_further = vec![FurtherTraffic { moved, flushes }];
            Snapshot { of_further, ..Snapshot::default() }
        };
        let between = |before: &Snapshot, after: &Snapshot| between(before, after).further[0];
        let moved = between(&at(10, Some(1)), &at(14, Some(4)));
        assert_eq!((moved.read_bytes, moved.write_bytes), (Some(4 * 512), Some(0)));
        assert_eq!(moved.flushes, Some(3));
        let unseen = between(&at(10, None), &at(9, Some(4)));
        assert_eq!((unseen.read_bytes, unseen.flushes), (None, None));
    }

    #[test]
    fn what_one_snapshot_lacks_and_what_went_back_is_unknown() {
        let of = |reads, sectors_read, sectors_written| {
            let writes = sectors_written / 8;
            Some(Traffic { reads, sectors_read, writes, sectors_written, ..Traffic::default() })
        };
        let process = |cpu_ns, write_bytes| {
            let (rchar, wchar, syscr, syscw) = (7, 9, 2, 1);
            let moved = Moved { read_bytes: 7, write_bytes, rchar, wchar, syscr, syscw };
            let moved = Some(moved);
            BTreeMap::from([(1, ProcessCounters { cpu_ns, task: None, moved })])
        };
        let before = Snapshot {
            at_ns: 50,
            moved: of(5, 100, 80),
            flushes: Some(3),
            dirty: Some(70),
            dirty_limit: Some(1000),
            swapped: Some(40),
            processes: process(Some(9), 4096),
            ..Snapshot::default()
        };
        let after = Snapshot {
            at_ns: 80,
            moved: of(7, 104, 24),
            flushes: Some(8),
            throttled_ns: Some(4),
            dirty: Some(60),
            dirty_limit: Some(900),
            swapped: Some(52),
            processes: process(None, 12288),
            ..Snapshot::default()
        };
        let expected = Evidence {
            window_ns: 30,
            device_reads: Some(2),
            device_read_bytes: Some(4 * 512),
            device_write_bytes: None,
            device_read_ns: Some(0),
            device_busy_ns: Some(0),
            device_writes: None,
            device_write_ns: Some(0),
            device_flushes: Some(5),
            task_read_bytes: Some(0),
            task_write_bytes: Some(8192),
            dirty_before: Some(70),
            dirty_after: Some(60),
            dirty_limit: Some(1000),
            swapped_bytes: Some(12),
            ..Evidence::default()
        };
        assert_eq!(between(&before, &after), expected);
        let older = Snapshot { flushes: None, ..after };
        assert_eq!(between(&before, &older).device_flushes, None);
    }
}
