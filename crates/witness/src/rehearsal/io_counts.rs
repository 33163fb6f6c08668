//! The I/O of all processes of a command, counted in two ways.

use model::task_io::TaskIo;
use procfs::FromRead;
use procfs::process::Io;
use std::fs::{self, File};
use std::io::Read;
use std::thread;
use std::time::Duration;

/// What the OS counted of the command's tasks.
#[derive(Debug, Default)]
pub(crate) struct IoCounts {
    /// The sum over tasks that exited, each read just before.
    exited: TaskIo,
    /// Of all processes that this one has waited for, before the command.
    before: Option<TaskIo>,
}

impl IoCounts {
    pub(crate) fn begin() -> IoCounts {
        IoCounts { exited: TaskIo::default(), before: reaped() }
    }

    /// A task is about to exit.
    pub(crate) fn exits(&mut self, task: i32) {
        // Only its own: what its children did is counted when they exit.
        if let Some((own, _)) = io(&format!("/proc/{task}/task/{task}/io")) {
            self.exited = self.exited.zip(own, u64::saturating_add);
        }
    }

    /// The counters of the whole command, all of whose processes are gone; and by how many bytes
    /// those of runs that are not traced are too low, if they are: the kernel adds the counters of
    /// a process to those of its parent only if that waits for it.
    pub(crate) fn finish(self) -> (Option<TaskIo>, Option<u64>) {
        let Some(before) = self.before else { return (None, None) };
        let Some(after) = reaped() else { return (None, None) };
        let waited = after.zip(before, u64::saturating_sub);
        let all = waited.zip(self.exited, u64::max);
        let bytes = |io: TaskIo| {
            [io.rchar, io.wchar, io.read_bytes, io.write_bytes]
                .into_iter()
                .fold(0, u64::saturating_add)
        };
        let lost = bytes(all.zip(waited, u64::saturating_sub));
        (Some(all), (lost > 0).then_some(lost))
    }
}

/// How often the counters are read until they agree, and the pause before the next time.
const READINGS_MAX: u32 = 1000;
const PAUSE: Duration = Duration::from_millis(1);

/// The counters of all processes that this one has waited for: its whole minus its own threads,
/// which must live until then. `None` if those do not come to rest: others than this one may still
/// read what the command has printed.
fn reaped() -> Option<TaskIo> {
    for _ in 0..READINGS_MAX {
        let others = other_threads()?;
        let all = io_beyond_this_thread()?;
        if other_threads()? == others {
            return Some(all.zip(others, u64::saturating_sub));
        }
        thread::sleep(PAUSE);
    }
    None
}

/// The counters of this process without this thread: of its other threads, also of those that have
/// ended, and of all processes that it has waited for.
pub fn io_beyond_this_thread() -> Option<TaskIo> {
    let (mut own, text_bytes) = io(&format!("/proc/self/task/{}/io", this_thread()))?;
    let (whole, _) = io("/proc/self/io")?;
    // The first reading is counted in the second.
    own.rchar += text_bytes;
    own.syscr += 1;
    Some(whole.zip(own, u64::saturating_sub))
}

/// The sum over the threads of this process besides this one.
fn other_threads() -> Option<TaskIo> {
    let this = this_thread().to_string();
    let threads = fs::read_dir("/proc/self/task").ok()?.flatten();
    let others = threads.filter(|thread| thread.file_name().to_str() != Some(&this));
    // One that has just ended is not in the sum, which then differs from the next.
    let counts = others.filter_map(|thread| io(thread.path().join("io").to_str()?));
    Some(counts.fold(TaskIo::default(), |sum, (own, _)| sum.zip(own, u64::saturating_add)))
}

fn this_thread() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

/// Counters, and how many bytes were read for them, by one call.
fn io(path: &str) -> Option<(TaskIo, u64)> {
    let mut text = [0; 1024];
    let count = File::open(path).ok()?.read(&mut text).ok()?;
    let io = Io::from_read(&text[..count]).ok()?;
    let counts = TaskIo {
        rchar: io.rchar,
        wchar: io.wchar,
        syscr: io.syscr,
        syscw: io.syscw,
        read_bytes: io.read_bytes,
        write_bytes: io.write_bytes,
        cancelled_write_bytes: io.cancelled_write_bytes,
    };
    Some((counts, count as u64))
}
