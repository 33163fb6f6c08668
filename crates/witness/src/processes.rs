//! The processes that do a worker's work: the one that was started, and its descendants. A launcher
//! starts others that work for it, and their counters are not in its own.

use procfs::FromRead;
use procfs::process::{Io, Stat};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The most processes of one worker that are followed. One that starts more is not followed at all.
const PROCESSES_MAX: usize = 4096;

/// A counter file of a process is shorter.
const BUFFER: usize = 4 << 10;

/// A process whose counters are open.
#[derive(Debug)]
pub(crate) struct Process {
    pid: u32,
    clock: Option<libc::clockid_t>,
    io: Option<File>,
    stat: Option<File>,
}

/// The counters of a process at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ProcessCounters {
    /// CPU time of all its threads, including those that have ended.
    pub(crate) cpu_ns: Option<u64>,
    pub(crate) task: Option<ProcessStat>,
    pub(crate) moved: Option<Moved>,
}

/// Values from `/proc/PID/io`. They include children that the process has waited for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moved {
    pub(crate) read_bytes: u64,
    pub(crate) write_bytes: u64,
    pub(crate) rchar: u64,
    pub(crate) wchar: u64,
    pub(crate) syscr: u64,
    pub(crate) syscw: u64,
}

/// Values from `/proc/PID/stat`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProcessStat {
    /// Includes children that the process has waited for.
    pub(crate) user_ticks: u64,
    pub(crate) system_ticks: u64,
    /// Only those of the children: the process's CPU clock excludes them.
    pub(crate) child_ticks: u64,
    pub(crate) minor_faults: u64,
    pub(crate) major_faults: u64,
}

/// Values from `/proc/PID/task/TID/`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Thread {
    pub(crate) voluntary: Option<u64>,
    pub(crate) involuntary: Option<u64>,
    pub(crate) run_delay_ns: Option<u64>,
}

impl Process {
    pub(crate) fn open(pid: u32) -> Process {
        let of_process = |name: &str| open(Path::new(&format!("/proc/{pid}/{name}")));
        Process { pid, clock: cpu_clock(pid), io: of_process("io"), stat: of_process("stat") }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Its counters now; those of a process that is gone are `None`.
    pub(crate) fn counts(&self) -> ProcessCounters {
        let mut buffer = [0; BUFFER];
        let io = read(&self.io, &mut buffer);
        let moved = io.and_then(|text| Io::from_read(text.as_bytes()).ok()).map(|io| Moved {
            read_bytes: io.read_bytes,
            write_bytes: io.write_bytes,
            rchar: io.rchar,
            wchar: io.wchar,
            syscr: io.syscr,
            syscw: io.syscw,
        });
        let task = read(&self.stat, &mut buffer).and_then(parse_task);
        ProcessCounters { cpu_ns: self.clock.and_then(cpu_time_ns), task, moved }
    }
}

/// The living descendants of a process, without itself; `None` if the OS does not list them.
pub fn descendants(pid: u32) -> Option<Vec<u32>> {
    let mut found = children(pid)?;
    let mut next = 0;
    while let Some(child) = found.get(next) {
        // One that has ended meanwhile has none.
        found.extend(children(*child).unwrap_or_default());
        next += 1;
        if found.len() > PROCESSES_MAX {
            return None;
        }
    }
    Some(found)
}

/// Bytes that a process and its descendants have caused to be written to storage until now; `None`
/// if the OS does not tell it of all.
pub fn written_by(pid: u32) -> Option<u64> {
    let all = [pid].into_iter().chain(descendants(pid)?);
    let mut written = all.map(|pid| Some(Process::open(pid).counts().moved?.write_bytes));
    written.try_fold(0u64, |sum, written| Some(sum.saturating_add(written?)))
}

/// The children of a process, of all its threads; `None` if the OS does not list them.
pub fn children(pid: u32) -> Option<Vec<u32>> {
    let mut found = Vec::new();
    for task in std::fs::read_dir(format!("/proc/{pid}/task")).ok()? {
        let task = task.ok()?.path();
        match std::fs::read_to_string(task.join("children")) {
            Ok(children) => found.extend(children.split_whitespace().flat_map(str::parse::<u32>)),
            // A thread that has just ended passed its children to another.
            Err(_) if !task.exists() => {}
            Err(_) => return None,
        }
    }
    Some(found)
}

pub(crate) fn open(path: &Path) -> Option<File> {
    File::open(path)
        .inspect_err(|error| log::debug!("cannot read '{}': {error}", path.display()))
        .ok()
}

/// Reads a counter file again. Only `/proc/stat` can exceed the buffer, and only its first line is
/// needed.
pub(crate) fn read_file<'b>(file: &File, buffer: &'b mut [u8]) -> Option<&'b str> {
    let length = file.read_at(buffer, 0).ok()?;
    let text = &mut buffer[..length];
    // Only the process name can contain arbitrary bytes, and it is not needed.
    text.iter_mut().filter(|byte| !byte.is_ascii()).for_each(|byte| *byte = b'?');
    std::str::from_utf8(text).ok()
}

pub(crate) fn read<'b>(file: &Option<File>, buffer: &'b mut [u8]) -> Option<&'b str> {
    read_file(file.as_ref()?, buffer)
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

fn parse_task(text: &str) -> Option<ProcessStat> {
    let stat = Stat::from_read(text.as_bytes()).ok()?;
    let [user, system] = [stat.cutime, stat.cstime].map(|ticks| u64::try_from(ticks).unwrap_or(0));
    Some(ProcessStat {
        user_ticks: stat.utime + user,
        system_ticks: stat.stime + system,
        child_ticks: user + system,
        minor_faults: stat.minflt,
        major_faults: stat.majflt,
    })
}

/// The counters that only threads have, of the threads that exist now.
pub(crate) fn threads(pid: u32) -> Option<BTreeMap<u32, Thread>> {
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
    Some(parse_schedstat(schedstat)?.1)
}

/// The first thread of a process that has ended, and for which nobody has waited: nanoseconds for
/// which it ran, and for which it was ready to run without a CPU. `None` if the OS does not tell.
/// Other threads, and children, leave nothing.
pub fn ended_thread(pid: u32) -> Option<(u64, u64)> {
    parse_schedstat(&std::fs::read(format!("/proc/{pid}/schedstat")).ok()?)
}

fn parse_schedstat(schedstat: &[u8]) -> Option<(u64, u64)> {
    let mut numbers = std::str::from_utf8(schedstat).ok()?.split_ascii_whitespace();
    let mut next = || numbers.next()?.parse::<u64>().ok();
    let (ran_ns, delay_ns) = (next()?, next()?);
    (ran_ns > 0).then_some((ran_ns, delay_ns))
}

/// The sum of the increases of a counter that each process or thread has. A new one counts from 0.
/// If one has ended, its part is lost and the sum is unknown, and so is one that went backwards.
pub(crate) fn over_all<T>(
    before: &BTreeMap<u32, T>,
    after: &BTreeMap<u32, T>,
    of: fn(&T) -> Option<u64>,
) -> Option<u64> {
    if before.keys().any(|id| !after.contains_key(id)) {
        return None;
    }
    after.iter().try_fold(0u64, |sum, (id, one)| {
        let began = match before.get(id) {
            Some(one) => of(one)?,
            None => 0,
        };
        Some(sum.saturating_add(of(one)?.checked_sub(began)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Pid, Signal, kill_process};
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;

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
    fn a_sum_over_all_is_known_only_if_none_ended() {
        let threads = |counts: &[(u32, u64)]| -> BTreeMap<u32, Thread> {
            let thread =
                |&(id, count)| (id, Thread { voluntary: Some(count), ..Thread::default() });
            counts.iter().map(thread).collect()
        };
        let check = |before: &[_], after: &[_], expected| {
            let sum = over_all(&threads(before), &threads(after), |thread| thread.voluntary);
            assert_eq!(sum, expected, "{before:?} {after:?}");
        };
        check(&[(1, 10), (2, 20)], &[(1, 15), (2, 20)], Some(5));
        check(&[(1, 10)], &[(1, 15), (2, 7)], Some(12));
        check(&[(1, 10), (2, 20)], &[(1, 15)], None);
        check(&[(1, 10)], &[(1, 5)], None);
        let unknown = over_all(&threads(&[(1, 1)]), &threads(&[(1, 2)]), |t| t.run_delay_ns);
        assert_eq!(unknown, None);
    }

    #[test]
    fn descendants_that_live_are_seen() {
        let script = "sleep 60 & echo $!; wait";
        let mut command = std::process::Command::new("sh");
        let mut child = command.args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
        let mut told = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut told).unwrap();
        let grandchild: u32 = told.trim().parse().unwrap();
        let (all, below) = (descendants(std::process::id()), descendants(child.id()));
        let pid = Pid::from_raw(i32::try_from(grandchild).unwrap()).unwrap();
        kill_process(pid, Signal::KILL).unwrap();
        child.wait().unwrap();
        // Some kernels do not list children.
        if let (Some(all), Some(below)) = (all, below) {
            assert!(all.contains(&child.id()) && all.contains(&grandchild), "{all:?}");
            assert_eq!(below, [grandchild]);
        }
        assert_eq!(descendants(child.id()), None);
    }
}
