//! What a program does with files: which it opens and how, and which syncs it calls.
//!
//! A rehearsal is one run of a command under ptrace; runs that are timed are not traced. Where
//! ptrace is impossible, a sample of the open files of running processes takes its place.

mod file_use;

pub use file_use::{Copies, FileRole, FileUse, Hints, Mappings, Opens, SyncCalls};

use crate::file_path::FilePath;
use crate::named;
use crate::task_io::TaskIo;
use file_use::{counts, is_zero};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most files that a fact sheet lists; others are only counted.
pub const FILES_MAX: usize = 65_536;

/// The most programs that a fact sheet lists; others are only counted.
pub const PROGRAMS_MAX: usize = 1_024;

/// What a command did with files, in one run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FactSheet {
    /// Whether open files were sampled while the processes ran: files that were open only between
    /// two samples are missing, and so is everything that only calls show, such as syncs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sampled: bool,
    /// Regular files and block devices, in the order of their first use. Files of `/proc`, `/sys`
    /// and the like are not listed.
    pub files: Vec<FileUse>,
    /// How many more files there were than are listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unlisted_files: u64,
    /// Opened pipes, character devices, and files of `/proc`, `/sys` and the like.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub other_opens: u64,
    /// What calls like `read` can read, besides files. `None` in a sample, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_sources: Option<OtherSources>,
    /// Successful sync calls, also of files that are not listed.
    #[serde(default)]
    pub syncs: SyncCalls,
    /// Use of asynchronous I/O, whose calls only its queue shows.
    #[serde(default)]
    pub queues: Queues,
    /// Processes, the first included.
    pub processes: u64,
    /// Threads of all processes, the first of each included.
    pub threads: u64,
    /// CPU time of the thread that used most, in nanoseconds; `None` if the OS does not count it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busiest_thread_ns: Option<u64>,
    /// Executed programs, as the OS names them, in the order of their first start.
    pub programs: Vec<FilePath>,
    /// How many more programs there were than are listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unlisted_programs: u64,
    /// How the command ended; `None` if it was still running, as in a sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<CommandEnd>,
    /// Processes that were still running when the command had ended and that the rehearsal killed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_behind: u64,
    /// Whether the command ran with `no_new_privs`, so that setuid programs had no rights of their
    /// owners.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_new_privileges: bool,
    /// Time and bytes of all processes; `None` in a sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub totals: Option<Totals>,
    /// What was not seen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<Unseen>,
}

counts! {
    /// What the command can read with calls like `read`, and is no file with stored bytes: what it
    /// opened for reading, made, or got open. `/dev/null`, which has no bytes, is not counted, nor
    /// are queues of events (`eventfd`, `timerfd`, `signalfd`, `inotify`), which have few.
    OtherSources {
        /// Pipes, with a name or without.
        pipes,
        /// Sockets, and pairs of them.
        sockets,
        /// Terminals.
        terminals,
        /// Other character devices, such as `/dev/zero`.
        devices,
        /// Files in memory (`memfd_create`).
        memory_files,
        /// Opens of files of `/proc`, `/sys` and the like.
        kernel_files,
    }
}

counts! {
    /// Queues of asynchronous I/O.
    Queues {
        /// Rings of io_uring that were created.
        uring,
        /// Rings of which a kernel thread polls the submissions (`IORING_SETUP_SQPOLL`).
        uring_sqpoll,
        /// Rings that poll for completions (`IORING_SETUP_IOPOLL`).
        uring_iopoll,
        /// Rings that were refused.
        uring_refused,
        /// Contexts of Linux AIO (`io_setup`).
        aio,
    }
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommandEnd {
    /// With this exit status.
    Exited(i32),
    /// By this signal.
    Signaled(i32),
    /// The rehearsal killed it.
    Stopped(StopCause),
}

impl FactSheet {
    /// The data files that the command read.
    pub fn read_files(&self) -> impl Iterator<Item = &FileUse> {
        self.files.iter().filter(|file| file.role == FileRole::Data && file.is_read())
    }

    /// The data files that it wrote and did not remove.
    pub fn written_files(&self) -> impl Iterator<Item = &FileUse> {
        self.files.iter().filter(|file| file.role == FileRole::Data && file.is_written())
    }

    /// Sync calls that make data durable; `None` if some may be unseen.
    pub fn durable_syncs(&self) -> Option<u64> {
        let SyncCalls { fsync, fdatasync, msync, syncfs, sync, synced_writes, .. } = self.syncs;
        let all = [fsync, fdatasync, msync, syncfs, sync, synced_writes];
        let is_seen = !self.sampled && self.unseen.is_empty();
        is_seen.then(|| all.into_iter().fold(0, u64::saturating_add))
    }

    /// Whether calls like `read` are all that read data: no ring, no mapping, no copy by the OS,
    /// and nothing that the rehearsal could not see.
    pub fn are_reads_calls(&self) -> bool {
        let is_silent = |file: &FileUse| file.mappings.is_none() && file.copies.source == 0;
        let has_queues = self.queues.uring > 0 || self.queues.aio > 0;
        let is_seen = !self.sampled && self.unseen.is_empty() && !has_queues;
        is_seen && self.read_files().all(is_silent)
    }

    /// The largest data file that it read or wrote: its storage is that of the command.
    pub fn largest_data_file(&self) -> Option<&FileUse> {
        largest(self.read_files().chain(self.written_files()))
    }
}

/// The largest of these files, before or after the command; of equals, the last.
pub fn largest<'f>(files: impl Iterator<Item = &'f FileUse>) -> Option<&'f FileUse> {
    files.max_by_key(|file| file.bytes_before.max(file.bytes_after))
}

named! {
    /// Why a rehearsal killed the command.
    StopCause "stop" {
        /// The caller asked for it.
        Asked "asked",
        /// Its time was over.
        TimeLimit "time limit",
        /// It had too many processes and threads at once.
        TaskLimit "task limit",
    }
}

/// Time and bytes of all processes of a command. Tracing adds to the times.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Totals {
    /// Wall time in nanoseconds until the command ended.
    pub wall_ns: u64,
    /// CPU time in user mode, in nanoseconds.
    pub user_ns: u64,
    /// CPU time in the kernel, in nanoseconds.
    pub system_ns: u64,
    /// What the OS counted of its I/O; `None` if the OS does not count it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io: Option<TaskIo>,
}

named! {
    /// What a rehearsal cannot see.
    Blind "blind" {
        /// A setuid or setgid program ran without the rights of its owner.
        SetUid "setuid program",
        /// A 32-bit program: only some of its calls are seen.
        Bits32 "32-bit program",
        /// Opens, syncs and advice that went through io_uring.
        Uring "io_uring",
        /// Syncs that went through Linux AIO.
        Aio "linux aio",
        /// Processes whose parent ignores SIGCHLD: the counters of runs that are not traced miss
        /// them.
        Unreaped "unreaped processes",
        /// A debugger within the command: it cannot trace while it is traced.
        Tracer "debugger",
        /// All calls: tracing is forbidden here, so open files were sampled.
        Untraced "untraced calls",
        /// Processes whose calls, files or counters could not be read.
        Unreadable "unreadable process",
    }
}

/// Something that was not seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unseen {
    /// What.
    pub what: Blind,
    /// The program or reason, for the reader.
    pub detail: String,
}
