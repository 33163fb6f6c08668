//! The OS's counters for a process, its file, the devices below it and the machine.
//!
//! Everything is read from outside the process. To keep the window tight, counters that are slow to
//! read or stand still while the worker waits are read first before and last after.

use crate::cgroup;
use crate::children::has_children;
use crate::machine::{self, Machine};
use crate::numa;
use crate::page_cache;
use crate::traffic::{self, Traffic};
use model::evidence::{Evidence, Probe, Residency};
use model::host::Storage;
use procfs::FromRead;
use procfs::process::{Io, Stat};
use rustix::time::ClockId;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Size of a sector in `/sys/block/X/stat`, regardless of the device's own sectors.
const SECTOR: u64 = 512;
/// For counter files. `/proc/vmstat` may exceed it, but what is needed comes first.
const BUFFER: usize = 16 << 10;

/// Collects evidence about one process. It opens and resolves everything it can once.
#[derive(Debug)]
pub struct Witness<'a> {
    pid: u32,
    /// The file, and the probe that works on it.
    file: Option<(&'a File, Probe)>,
    clock: Option<libc::clockid_t>,
    io: Option<File>,
    stat: Option<File>,
    devices: Devices,
    machine: Option<File>,
    meminfo: Option<File>,
    vmstat: Option<File>,
    pressure: Pressure<Option<File>>,
    throttled: Vec<File>,
    buffer: Vec<u8>,
}

/// The `stat` file of each device that counts reliably; `None` if any of them cannot be read.
#[derive(Debug, Default)]
struct Devices {
    /// Devices that count reads and writes.
    moved: Option<Vec<File>>,
    /// Devices that count flushes.
    flushed: Option<Vec<File>>,
}

impl Devices {
    /// Skips counters that did not move in the canary test: their zero would mean nothing.
    fn of(storage: &Storage) -> Devices {
        let open_all = |names: Vec<&str>| {
            let files: Option<Vec<File>> =
                names.into_iter().map(|name| open(&traffic::stat_of(name))).collect();
            files.filter(|files| !files.is_empty())
        };
        Devices {
            moved: open_all(storage.watched_nodes()).filter(|_| storage.counts_bytes()),
            flushed: open_all(storage.flushed_nodes()).filter(|_| storage.counts_flushes()),
        }
    }
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
    cpu_ns: Option<u64>,
    task: Option<Task>,
    read_bytes: Option<u64>,
    write_bytes: Option<u64>,
    rchar: Option<u64>,
    moved: Option<Traffic>,
    flushes: Option<u64>,
    machine: Option<Machine>,
    dirty: Option<u64>,
    dirty_limit: Option<u64>,
    swapped: Option<u64>,
    pressure_us: Pressure<Option<u64>>,
    throttled_ns: Option<u64>,
    huge_bytes: Option<u64>,
    node_bytes: Option<BTreeMap<u32, u64>>,
    threads: Option<BTreeMap<u32, Thread>>,
}

/// Values from `/proc/PID/stat`.
#[derive(Debug, Clone, Copy)]
struct Task {
    /// Includes children that the process has waited for.
    user_ticks: u64,
    system_ticks: u64,
    /// Only those of the children: the process's CPU clock excludes them.
    child_ticks: u64,
    minor_faults: u64,
    major_faults: u64,
}

/// Values from `/proc/PID/task/TID/`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Thread {
    voluntary: Option<u64>,
    involuntary: Option<u64>,
    run_delay_ns: Option<u64>,
}

impl<'a> Witness<'a> {
    /// A witness for process `pid`, and for `file` and its `storage` if it reads or writes one.
    ///
    /// Missing counters are `None` in all its results.
    pub fn new(pid: u32, file: Option<&'a File>, storage: Option<&Storage>) -> Witness<'a> {
        let of_process = |name: &str| open(Path::new(&format!("/proc/{pid}/{name}")));
        let pressure = |name: &str| open(Path::new(&format!("/proc/pressure/{name}")));
        Witness {
            pid,
            file: file.zip(storage.and_then(|storage| storage.residency_probe)),
            clock: cpu_clock(pid),
            io: of_process("io"),
            stat: of_process("stat"),
            devices: storage.map_or(Devices::default(), Devices::of),
            machine: open(Path::new("/proc/stat")),
            meminfo: open(Path::new(machine::MEMINFO)),
            vmstat: open(Path::new("/proc/vmstat")),
            pressure: Pressure {
                cpu: pressure("cpu"),
                io: pressure("io"),
                memory: pressure("memory"),
            },
            throttled: cgroup::cpu_stats(pid).iter().filter_map(|path| open(path)).collect(),
            buffer: vec![0; BUFFER],
        }
    }

    /// Reads the counters just before the process starts its trial.
    pub fn before(&mut self) -> Snapshot {
        let residency = self.residency();
        let threads = threads(self.pid);
        let mut snapshot = Snapshot { residency, threads, ..Snapshot::default() };
        self.machine_into(&mut snapshot);
        self.process_into(&mut snapshot);
        snapshot.at_ns = now_ns();
        snapshot
    }

    /// Reads the counters just after the process has finished. Its threads must still exist, or
    /// their own counters are lost.
    pub fn after(&mut self) -> Snapshot {
        let mut snapshot = Snapshot { at_ns: now_ns(), ..Snapshot::default() };
        self.process_into(&mut snapshot);
        self.machine_into(&mut snapshot);
        snapshot.threads = threads(self.pid);
        snapshot.rchar = snapshot.rchar.filter(|_| has_children(self.pid) == Some(false));
        snapshot.residency = self.residency();
        snapshot.huge_bytes = huge_bytes(self.pid);
        snapshot.node_bytes = numa::node_bytes(self.pid, self.file.map(|(file, _)| file));
        snapshot
    }

    fn residency(&self) -> Option<Residency> {
        let (file, probe) = self.file?;
        page_cache::residency(file, probe)
            .inspect_err(|error| log::warn!("{probe} cannot read the file's counters: {error}"))
            .ok()
    }

    fn process_into(&mut self, snapshot: &mut Snapshot) {
        let buffer = &mut self.buffer;
        snapshot.cpu_ns = self.clock.and_then(cpu_time_ns);
        snapshot.task = read(&self.stat, buffer).and_then(parse_task);
        let io = read(&self.io, buffer).and_then(|text| Io::from_read(text.as_bytes()).ok());
        snapshot.read_bytes = io.map(|io| io.read_bytes);
        snapshot.write_bytes = io.map(|io| io.write_bytes);
        snapshot.rchar = io.map(|io| io.rchar);
    }

    fn machine_into(&mut self, snapshot: &mut Snapshot) {
        let buffer = &mut self.buffer;
        let mut sum = |devices: &Option<Vec<File>>| {
            let stat = |device| traffic::parse_stat(read_file(device, buffer)?);
            traffic::sum(devices.as_ref()?.iter().map(stat))
        };
        snapshot.moved = sum(&self.devices.moved);
        snapshot.flushes = sum(&self.devices.flushed).and_then(|traffic| traffic.flushes);
        snapshot.machine = read(&self.machine, buffer).and_then(machine::parse_machine);
        snapshot.dirty = read(&self.meminfo, buffer).and_then(machine::parse_dirty);
        let page = rustix::param::page_size() as u64;
        if let Some(vmstat) = read(&self.vmstat, buffer) {
            snapshot.dirty_limit = machine::parse_dirty_limit(vmstat, page);
            snapshot.swapped = machine::parse_swapped(vmstat, page);
        }
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

fn open(path: &Path) -> Option<File> {
    File::open(path)
        .inspect_err(|error| log::debug!("cannot read '{}': {error}", path.display()))
        .ok()
}

/// Reads a counter file again. Only `/proc/stat` can exceed the buffer, and only its first line is
/// needed.
fn read_file<'b>(file: &File, buffer: &'b mut [u8]) -> Option<&'b str> {
    let length = file.read_at(buffer, 0).ok()?;
    let text = &mut buffer[..length];
    // Only the process name can contain arbitrary bytes, and it is not needed.
    text.iter_mut().filter(|byte| !byte.is_ascii()).for_each(|byte| *byte = b'?');
    std::str::from_utf8(text).ok()
}

fn read<'b>(file: &Option<File>, buffer: &'b mut [u8]) -> Option<&'b str> {
    read_file(file.as_ref()?, buffer)
}

fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The clock of a process's CPU time, including threads that have ended.
fn cpu_clock(pid: u32) -> Option<libc::clockid_t> {
    let mut clock = 0;
    // SAFETY: the call writes only to `clock`, which outlives it.
    let outcome = unsafe { libc::clock_getcpuclockid(pid as libc::pid_t, &raw mut clock) };
    (outcome == 0).then_some(clock)
}

/// CPU time in nanoseconds; `None` once the process is gone.
fn cpu_time_ns(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes only to `time`, which outlives it. An unknown clock makes it fail.
    let outcome = unsafe { libc::clock_gettime(clock, &raw mut time) };
    (outcome == 0).then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

fn parse_task(text: &str) -> Option<Task> {
    let stat = Stat::from_read(text.as_bytes()).ok()?;
    let [user, system] = [stat.cutime, stat.cstime].map(|ticks| u64::try_from(ticks).unwrap_or(0));
    Some(Task {
        user_ticks: stat.utime + user,
        system_ticks: stat.stime + system,
        child_ticks: user + system,
        minor_faults: stat.minflt,
        major_faults: stat.majflt,
    })
}

/// The counters that only threads have, of the threads that exist now.
fn threads(pid: u32) -> Option<BTreeMap<u32, Thread>> {
    let directory = PathBuf::from(format!("/proc/{pid}/task"));
    let mut threads = BTreeMap::new();
    for entry in std::fs::read_dir(&directory).ok()? {
        let entry = entry.ok()?;
        let id = entry.file_name().to_str()?.parse().ok()?;
        match thread(&entry.path()) {
            Ok(thread) => threads.insert(id, thread),
            // The thread ended while it was being read.
            Err(_) => continue,
        };
    }
    Some(threads)
}

/// Bytes of anonymous memory in huge pages. Slow: the OS walks the page tables.
fn huge_bytes(pid: u32) -> Option<u64> {
    let smaps = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    machine::parse_kilobytes(&smaps, "AnonHugePages")
}

fn thread(directory: &Path) -> io::Result<Thread> {
    let status = std::fs::read(directory.join("status"))?;
    let status = String::from_utf8_lossy(&status);
    // Some kernels do not have this file.
    let schedstat = std::fs::read(directory.join("schedstat")).ok();
    Ok(Thread {
        voluntary: parse_status(&status, "voluntary_ctxt_switches"),
        involuntary: parse_status(&status, "nonvoluntary_ctxt_switches"),
        run_delay_ns: schedstat.and_then(|text| parse_run_delay(&text)),
    })
}

fn parse_status(status: &str, name: &str) -> Option<u64> {
    status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')?.trim().parse().ok())
}

/// Nanoseconds ready to run without a CPU: the second number in a thread's `schedstat`. A kernel
/// that does not count prints zeros, so `None` for a thread that reports no run time.
pub fn parse_run_delay(schedstat: &[u8]) -> Option<u64> {
    let mut numbers = std::str::from_utf8(schedstat).ok()?.split_ascii_whitespace();
    let mut next = || numbers.next()?.parse::<u64>().ok();
    let (ran_ns, delay_ns) = (next()?, next()?);
    (ran_ns > 0).then_some(delay_ns)
}

/// The change from `before` to `after`. A counter that went backwards counts as unchanged.
pub fn between(before: &Snapshot, after: &Snapshot) -> Evidence {
    let delta = |of: fn(&Snapshot) -> Option<u64>| Some(of(after)?.saturating_sub(of(before)?));
    let tick = 1_000_000_000 / rustix::param::clock_ticks_per_second();
    // A worker may be a script whose child does the work.
    let child_ticks = delta(|s| Some(s.task?.child_ticks)).unwrap_or(0);
    let cpu_ns = delta(|s| s.cpu_ns).map(|own_ns| own_ns.saturating_add(child_ticks * tick));
    let user_ticks = delta(|s| Some(s.task?.user_ticks));
    let system_ticks = delta(|s| Some(s.task?.system_ticks));
    let (cpu_user_ns, cpu_system_ns) = split(cpu_ns, user_ticks, system_ticks).unzip();
    let threads = |of: fn(&Thread) -> Option<u64>| {
        over_threads(before.threads.as_ref()?, after.threads.as_ref()?, of)
    };
    Evidence {
        window_ns: after.at_ns.saturating_sub(before.at_ns),
        residency_before: before.residency,
        residency_after: after.residency,
        task_read_bytes: delta(|s| s.read_bytes),
        // Reading the start command increments it, so no change means that the OS does not count.
        task_rchar_bytes: delta(|s| s.rchar).filter(|bytes| *bytes > 0),
        device_read_bytes: delta(|s| Some(s.moved?.sectors_read)).map(|n| n * SECTOR),
        device_reads: delta(|s| Some(s.moved?.reads)),
        device_read_ns: delta(|s| Some(s.moved?.read_ns)),
        device_write_bytes: delta(|s| Some(s.moved?.sectors_written)).map(|n| n * SECTOR),
        device_writes: delta(|s| Some(s.moved?.writes)),
        device_write_ns: delta(|s| Some(s.moved?.write_ns)),
        device_flushes: delta(|s| s.flushes),
        task_write_bytes: delta(|s| s.write_bytes),
        dirty_before: before.dirty,
        dirty_after: after.dirty,
        dirty_limit: before.dirty_limit,
        swapped_bytes: delta(|s| s.swapped),
        cpu_ns,
        cpu_user_ns,
        cpu_system_ns,
        minor_faults: delta(|s| Some(s.task?.minor_faults)),
        major_faults: delta(|s| Some(s.task?.major_faults)),
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
        throttled_ns: delta(|s| s.throttled_ns),
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

/// The sum of each thread's increase. A new thread counts from 0. If a thread has ended, its part
/// is lost and the sum is unknown.
fn over_threads(
    before: &BTreeMap<u32, Thread>,
    after: &BTreeMap<u32, Thread>,
    of: fn(&Thread) -> Option<u64>,
) -> Option<u64> {
    if before.keys().any(|id| !after.contains_key(id)) {
        return None;
    }
    after.iter().try_fold(0u64, |sum, (id, thread)| {
        let began = match before.get(id) {
            Some(thread) => of(thread)?,
            None => 0,
        };
        Some(sum.saturating_add(of(thread)?.saturating_sub(began)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_process_may_be_anything() {
        let stat = |name: &str| {
            format!(
                "42 ({name}) S 1 42 42 0 -1 4194560 1001 0 7 0 30 12 5 4 20 0 3 0 500 1000000 200 \
                 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 1 1 1 1 1 1 1 0\n"
            )
        };
        for name in ["cat", "a) R 9 (b", "Web Content", ") ) )", ""] {
            let task = parse_task(&stat(name)).unwrap();
            assert_eq!((task.user_ticks, task.system_ticks), (35, 16), "{name}");
            assert_eq!(task.child_ticks, 9, "{name}");
            assert_eq!((task.minor_faults, task.major_faults), (1001, 7), "{name}");
        }
        assert!(parse_task("").is_none());
    }

    #[test]
    fn switches_are_told_apart_though_one_name_ends_the_other() {
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t545\n";
        assert_eq!(parse_status(status, "voluntary_ctxt_switches"), Some(150));
        assert_eq!(parse_status(status, "nonvoluntary_ctxt_switches"), Some(545));
        assert_eq!(parse_status("Name:\tx\n", "voluntary_ctxt_switches"), None);
        assert_eq!(parse_run_delay(b"1000 32602 9\n"), Some(32602));
        assert_eq!(parse_run_delay(b"1000\n"), None);
        assert_eq!(parse_run_delay(b"0 0 0\n"), None, "not counted is not none");
    }

    #[test]
    fn a_split_loses_nothing_and_is_unknown_without_a_tick() {
        assert_eq!(split(Some(1001), Some(3), Some(1)), Some((750, 251)));
        assert_eq!(split(Some(1001), Some(0), Some(2)), Some((0, 1001)));
        assert_eq!(split(Some(u64::MAX), Some(u64::MAX / 2), Some(0)), Some((u64::MAX, 0)));
        assert_eq!(split(Some(1001), Some(0), Some(0)), None);
        assert_eq!(split(None, Some(1), Some(1)), None);
    }

    #[test]
    fn a_sum_over_threads_is_known_only_if_none_ended() {
        let threads = |counts: &[(u32, u64)]| -> BTreeMap<u32, Thread> {
            let thread =
                |&(id, count)| (id, Thread { voluntary: Some(count), ..Thread::default() });
            counts.iter().map(thread).collect()
        };
        let check = |before: &[_], after: &[_], expected| {
            let sum = over_threads(&threads(before), &threads(after), |thread| thread.voluntary);
            assert_eq!(sum, expected, "{before:?} {after:?}");
        };
        check(&[(1, 10), (2, 20)], &[(1, 15), (2, 20)], Some(5));
        check(&[(1, 10)], &[(1, 15), (2, 7)], Some(12));
        check(&[(1, 10), (2, 20)], &[(1, 15)], None);
        check(&[(1, 10)], &[(1, 5)], Some(0));
        let unknown = over_threads(&threads(&[(1, 1)]), &threads(&[(1, 2)]), |t| t.run_delay_ns);
        assert_eq!(unknown, None);
    }

    #[test]
    fn what_one_snapshot_lacks_is_absent_and_what_went_back_did_not_move() {
        let of = |reads, sectors_read, sectors_written| {
            let writes = sectors_written / 8;
            Some(Traffic { reads, sectors_read, writes, sectors_written, ..Traffic::default() })
        };
        let before = Snapshot {
            at_ns: 50,
            moved: of(5, 100, 80),
            flushes: Some(3),
            cpu_ns: Some(9),
            dirty: Some(70),
            dirty_limit: Some(1000),
            swapped: Some(40),
            write_bytes: Some(4096),
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
            write_bytes: Some(12288),
            ..Snapshot::default()
        };
        let expected = Evidence {
            window_ns: 30,
            device_reads: Some(2),
            device_read_bytes: Some(4 * 512),
            device_write_bytes: Some(0),
            device_read_ns: Some(0),
            device_writes: Some(0),
            device_write_ns: Some(0),
            device_flushes: Some(5),
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
