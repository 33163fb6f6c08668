//! The counters of one process at one moment.

use procfs::FromRead;
use procfs::process::{Io, Stat};
use std::fs;

/// `PF_KTHREAD` of `linux/sched.h`.
const KERNEL_THREAD: u32 = 0x0020_0000;

/// A process as it is now.
#[derive(Debug, Clone)]
pub(super) struct SeenProcess {
    pub(super) name: String,
    pub(super) parent: u32,
    /// Ticks from the start of the machine to that of the process: with its number, it tells
    /// processes apart.
    pub(super) start: u64,
    pub(super) state: char,
    pub(super) is_of_kernel: bool,
    pub(super) counts: ProcessCounts,
    /// Whether this user may not see its bytes.
    pub(super) is_hidden: bool,
}

impl SeenProcess {
    /// Whether only its exit status is left.
    pub(super) fn is_dead(&self) -> bool {
        matches!(self.state, 'Z' | 'X' | 'x')
    }
}

/// What it and the children that it waited for did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ProcessCounts {
    pub(super) read_call_bytes: u64,
    pub(super) write_call_bytes: u64,
    pub(super) read_calls: u64,
    pub(super) write_calls: u64,
    pub(super) read_bytes: u64,
    pub(super) write_bytes: u64,
    pub(super) cancelled_bytes: u64,
    pub(super) user_ticks: u64,
    pub(super) system_ticks: u64,
    pub(super) major_faults: u64,
}

impl ProcessCounts {
    /// Each of the two with that of the other.
    fn with(self, other: ProcessCounts, join: fn(u64, u64) -> u64) -> ProcessCounts {
        ProcessCounts {
            read_call_bytes: join(self.read_call_bytes, other.read_call_bytes),
            write_call_bytes: join(self.write_call_bytes, other.write_call_bytes),
            read_calls: join(self.read_calls, other.read_calls),
            write_calls: join(self.write_calls, other.write_calls),
            read_bytes: join(self.read_bytes, other.read_bytes),
            write_bytes: join(self.write_bytes, other.write_bytes),
            cancelled_bytes: join(self.cancelled_bytes, other.cancelled_bytes),
            user_ticks: join(self.user_ticks, other.user_ticks),
            system_ticks: join(self.system_ticks, other.system_ticks),
            major_faults: join(self.major_faults, other.major_faults),
        }
    }

    /// The sum of each.
    pub(super) fn plus(self, other: ProcessCounts) -> ProcessCounts {
        self.with(other, u64::saturating_add)
    }

    /// The larger of each.
    pub(super) fn most(self, other: ProcessCounts) -> ProcessCounts {
        self.with(other, u64::max)
    }

    /// What was added since; 0 of what went backwards.
    pub(super) fn since(self, before: ProcessCounts) -> ProcessCounts {
        self.with(before, u64::saturating_sub)
    }
}

/// The process `pid`; `None` if there is none.
pub(super) fn see(pid: u32) -> Option<SeenProcess> {
    let stat = Stat::from_read(&fs::read(format!("/proc/{pid}/stat")).ok()?[..]).ok()?;
    let io = fs::read(format!("/proc/{pid}/io")).ok();
    let io = io.and_then(|text| Io::from_read(&text[..]).ok());
    let of_children = |ticks: i64| u64::try_from(ticks).unwrap_or(0);
    let mut counts = ProcessCounts {
        user_ticks: stat.utime.saturating_add(of_children(stat.cutime)),
        system_ticks: stat.stime.saturating_add(of_children(stat.cstime)),
        major_faults: stat.majflt.saturating_add(stat.cmajflt),
        ..ProcessCounts::default()
    };
    if let Some(io) = &io {
        counts.read_call_bytes = io.rchar;
        counts.write_call_bytes = io.wchar;
        counts.read_calls = io.syscr;
        counts.write_calls = io.syscw;
        counts.read_bytes = io.read_bytes;
        counts.write_bytes = io.write_bytes;
        counts.cancelled_bytes = io.cancelled_write_bytes;
    }
    Some(SeenProcess {
        parent: u32::try_from(stat.ppid).unwrap_or(0),
        start: stat.starttime,
        state: stat.state,
        is_of_kernel: stat.flags & KERNEL_THREAD != 0,
        name: stat.comm,
        counts,
        is_hidden: io.is_none(),
    })
}

/// Whether a process ignores the end of its children, whose counters are lost then.
pub(super) fn loses_children(pid: u32) -> bool {
    const CHILD: u32 = 17;
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask >> (CHILD - 1) & 1 == 1)
}

/// The number of the process that `id` is a thread of, and the user that it runs as.
pub(super) fn whose(id: u32) -> Option<(u32, u32)> {
    let status = fs::read(format!("/proc/{id}/status")).ok()?;
    let status = String::from_utf8_lossy(&status);
    let value = |name: &str| -> Option<u32> {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_ascii_whitespace().nth(usize::from(name == "Uid:"))?.parse().ok()
    };
    // The second of `Uid:` is the effective one, which decides about its bytes.
    Some((value("Tgid:")?, value("Uid:")?))
}
