//! What a program that is running already does, seen from outside: nothing is traced or stopped.
//!
//! A record of it is lines of JSON: a header, a line for each interval, and the end.

use crate::evidence::{Probe, Residency};
use crate::file_path::FilePath;
use crate::named;
use crate::record::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most intervals of a record: in a longer time, each lasts longer.
pub const INTERVALS_MAX: u64 = 10_000;

/// The most files that are listed; others are only counted.
pub const FILES_MAX: usize = 1024;

/// A line of the record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunningLine {
    /// The first.
    Running(WatchedProgram),
    /// One for each interval.
    Interval(Interval),
    /// The last; missing if the record was cut off.
    End(WatchEnd),
}

/// All of a record.
#[derive(Debug, Clone, PartialEq)]
pub struct RunningRecord {
    /// What was watched, and where.
    pub watched: WatchedProgram,
    /// The intervals in their order.
    pub intervals: Vec<Interval>,
    /// `None` if the record was cut off.
    pub end: Option<WatchEnd>,
}

/// What was watched, and where.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedProgram {
    /// The program that watched.
    pub tool: Tool,
    /// When watching began: RFC 3339, UTC.
    pub began: String,
    /// The machine's name.
    pub host: String,
    /// The process or group.
    pub subject: Subject,
    /// How many processors the program may use.
    pub processors: u32,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Whether the OS counts how long threads wait for devices (`kernel.task_delayacct`).
    pub counts_device_waits: bool,
    /// Whether the OS lists the children of processes; otherwise only the process itself is seen.
    pub lists_children: bool,
    /// The disks of the machine whose counters are read.
    pub disks: Vec<String>,
}

/// The process or group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Subject {
    /// A process with its descendants.
    Process {
        /// Its number.
        pid: u32,
        /// Its name, as the OS has it.
        name: String,
        /// Its user, if that is another one than the watching program's.
        other_user: Option<String>,
    },
    /// A control group with those below it.
    Group {
        /// Its path below the place where control groups are mounted.
        path: String,
    },
}

named! {
    /// Why watching ended.
    WatchEnding "ending" {
        /// The time was up.
        Time "time",
        /// The program ended.
        Ended "ended",
        /// A signal stopped the watching.
        Stopped "stopped",
    }
}

/// What is known at the end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchEnd {
    /// Why it ended.
    pub ending: WatchEnding,
    /// What was seen of open files.
    pub open: OpenFiles,
    /// CPU time of the watching program itself, in nanoseconds.
    pub own_cpu_ns: Option<u64>,
}

/// What the processes had open, in any of the looks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpenFiles {
    /// Data files: regular files and block devices, but no programs, libraries and settings. The
    /// largest ones, by size.
    pub files: Vec<OpenFile>,
    /// How many more there were than are listed.
    pub unlisted: u64,
    /// Processes whose open files this user may not see.
    pub unseen_processes: u64,
    /// Rings of io_uring.
    pub rings: u64,
    /// Contexts of asynchronous I/O.
    pub aio: u64,
    /// Pipes, sockets, terminals and devices that are open for reading: calls that read from them
    /// count as read bytes, too.
    pub other_sources: u64,
}

/// An open file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpenFile {
    /// Its path, as the program has it.
    pub path: FilePath,
    /// Whether its name has been removed.
    pub removed: bool,
    /// Size in bytes at the end; null if it could not be asked for.
    pub bytes: Option<u64>,
    /// Its file system, such as `ext4`; null if unknown.
    pub file_system: Option<String>,
    /// Where its bytes are.
    pub medium: OpenMedium,
    /// Whether it is open for reading.
    pub reading: bool,
    /// Whether it is open for writing.
    pub writing: bool,
    /// Whether it is mapped into memory.
    pub mapped: bool,
    /// Whether it is open with O_DIRECT.
    pub direct: bool,
    /// Whether it is open with O_SYNC or O_DSYNC.
    pub sync: bool,
    /// Its cached pages when it was first seen; null if that is not seen.
    pub before: Option<CachedPages>,
    /// Its cached pages at the end, or when it was last seen.
    pub after: Option<CachedPages>,
}

/// How much of a file is in the page cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CachedPages {
    /// The probe.
    pub probe: Probe,
    /// Pages of the file.
    pub pages: u64,
    /// Number of cached pages.
    pub cached: u64,
    /// Number of cached pages that are dirty; null if the probe does not report it.
    pub dirty: Option<u64>,
}

impl From<Residency> for CachedPages {
    fn from(seen: Residency) -> CachedPages {
        let Residency { probe, pages, cached, dirty } = seen;
        CachedPages { probe, pages, cached, dirty }
    }
}

named! {
    /// Where the bytes of a file are.
    OpenMedium "medium" {
        /// On a block device, on a file system whose reads the OS's counters show (docs/method).
        Device "device",
        /// In memory.
        Memory "memory",
        /// What is below cannot be seen: a network, FUSE, compression, another file system.
        Unseen "unseen",
    }
}

/// What was counted from one moment to the next. What is not known is null, never 0.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Its end, in nanoseconds since watching began.
    pub at_ns: u64,
    /// Its length in nanoseconds.
    pub length_ns: u64,
    /// Processes at its end.
    pub processes: u32,
    /// Their threads.
    pub threads: u32,
    /// Processes whose bytes this user may not see. The sums are without them.
    pub hidden: u32,
    /// Processes that ended and whose last bytes no counter kept. The sums are at least so much.
    pub lost: u32,
    /// Bytes that devices read for the processes.
    pub read_bytes: Option<u64>,
    /// Bytes of pages that the processes made dirty, or wrote past the page cache.
    pub write_bytes: Option<u64>,
    /// Bytes of dirty pages that were dropped before they were written.
    pub cancelled_bytes: Option<u64>,
    /// Bytes that calls such as `read` returned. Those of rings, asynchronous I/O and mappings are
    /// not in it.
    pub read_call_bytes: Option<u64>,
    /// Bytes that calls such as `write` took.
    pub write_call_bytes: Option<u64>,
    /// Number of such calls that read.
    pub read_calls: Option<u64>,
    /// Number of such calls that write.
    pub write_calls: Option<u64>,
    /// CPU time of the processes in user mode, in nanoseconds, as the OS's ticks tell it.
    pub user_ns: Option<u64>,
    /// The same in the kernel.
    pub system_ns: Option<u64>,
    /// CPU time of the thread that had most of it.
    pub busiest_thread_ns: Option<u64>,
    /// CPU time of all threads that were there at its end: the rest of the CPU time is of those
    /// that ended.
    pub threads_cpu_ns: Option<u64>,
    /// Time that threads were ready to run without a processor, added up, of the same threads.
    pub run_delay_ns: Option<u64>,
    /// Time that threads waited for devices, added up; null unless the OS counts it, which it does
    /// not of threads that began before it was told to.
    pub device_wait_ns: Option<u64>,
    /// Major page faults.
    pub major_faults: Option<u64>,
    /// Time that a CPU quota stopped the control groups of the program.
    pub throttled_ns: Option<u64>,
    /// Bytes that devices read for the control group; null for a process.
    pub group_read_bytes: Option<u64>,
    /// Bytes that devices wrote for the control group; null for a process.
    pub group_write_bytes: Option<u64>,
    /// Dirty bytes of the control group at the end of the interval; null for a process.
    pub group_dirty_bytes: Option<u64>,
    /// The states of the threads, in several looks.
    pub looks: ThreadLooks,
    /// What the disks did for everyone; null without a disk.
    pub disks: Option<DiskCounts>,
    /// Dirty bytes of the whole machine at the end of the interval.
    pub machine_dirty_bytes: Option<u64>,
}

/// The states of all threads of the program in several looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadLooks {
    /// Number of looks.
    pub count: u32,
    /// Looks in which a thread ran, or was ready to.
    pub running: u32,
    /// Looks in which none ran and one waited without being interruptible, as for a device.
    pub blocked: u32,
    /// Looks in which the control group or a signal had stopped or frozen all threads.
    pub stopped: u32,
}

/// What disks did for everyone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiskCounts {
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Requests that read.
    pub reads: u64,
    /// Requests that wrote.
    pub writes: u64,
    /// Flushes; null if a disk does not count them.
    pub flushes: Option<u64>,
}

impl RunningRecord {
    /// Parses a record. Lines after one that cannot be read are left out, as in a record that was
    /// cut off.
    ///
    /// # Errors
    /// If the first line is not that of such a record.
    pub fn parse(text: &str) -> Result<RunningRecord, serde_json::Error> {
        let mut lines = text.lines();
        let first: FirstLine = serde_json::from_str(lines.next().unwrap_or_default())?;
        let mut record = RunningRecord { watched: first.running, intervals: Vec::new(), end: None };
        for line in lines {
            match serde_json::from_str(line) {
                Ok(RunningLine::Interval(interval)) => record.intervals.push(interval),
                Ok(RunningLine::End(end)) => record.end = Some(end),
                Ok(RunningLine::Running(_)) | Err(_) => break,
            }
        }
        Ok(record)
    }

    /// Whether a record begins like one of a running program.
    pub fn is_one(beginning: &str) -> bool {
        beginning.starts_with("{\"running\":")
    }
}

/// The first line alone.
#[derive(Deserialize)]
struct FirstLine {
    running: WatchedProgram,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zoo;

    fn text(record: &RunningRecord) -> String {
        let first = [RunningLine::Running(record.watched.clone())];
        let intervals = record.intervals.iter().cloned().map(RunningLine::Interval);
        let end = record.end.clone().map(RunningLine::End);
        let lines = first.into_iter().chain(intervals).chain(end);
        lines.map(|line| serde_json::to_string(&line).unwrap() + "\n").collect()
    }

    #[test]
    fn a_record_reads_back_as_it_was_written() {
        let record = zoo::running();
        let written = text(&record);
        assert!(RunningRecord::is_one(&written));
        assert_eq!(RunningRecord::parse(&written).unwrap(), record);
    }

    #[test]
    fn a_record_that_was_cut_off_has_no_end() {
        let record = zoo::running();
        let written = text(&record);
        let cut = RunningRecord::parse(&written[..written.len() - 20]).unwrap();
        assert_eq!((cut.intervals, cut.end), (record.intervals, None));
        RunningRecord::parse("{\"tool\":{}}").unwrap_err();
    }
}
