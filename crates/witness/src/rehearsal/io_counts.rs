//! The I/O of all processes of a command, counted in two ways.

use model::task_io::TaskIo;
use procfs::FromRead;
use procfs::process::Io;
use std::fs::File;
use std::io::Read;

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

/// The counters of all processes that this one has waited for: its whole minus its own. Only this
/// thread does I/O.
fn reaped() -> Option<TaskIo> {
    let task = rustix::thread::gettid();
    let (mut own, text_bytes) = io(&format!("/proc/self/task/{}/io", task.as_raw_nonzero()))?;
    let (whole, _) = io("/proc/self/io")?;
    // The first reading is counted in the second.
    own.rchar += text_bytes;
    own.syscr += 1;
    Some(whole.zip(own, u64::saturating_sub))
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
