//! What a program does with files: which it opens and how, and which syncs it calls.
//!
//! A rehearsal is one run of a command under ptrace; runs that are timed are not traced. Where
//! ptrace is impossible, a sample of the open files of running processes takes its place.

use crate::file_path::FilePath;
use crate::named;
use crate::task_io::TaskIo;
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

named! {
    /// What a file is to the command.
    #[derive(Default)]
    FileRole "role" {
        /// What the command reads or writes.
        #[default]
        Data "data",
        /// A program, its interpreter, a script or a library.
        Program "program",
        /// A file of the system that is only read: settings, locales, time zones.
        System "system",
    }
}

/// A file and what the command did with it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FileUse {
    /// Its absolute path when first seen.
    pub path: FilePath,
    /// Its path at the end, if that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renamed: Option<FilePath>,
    /// What it is to the command.
    pub role: FileRole,
    /// The number of the device that it is on; of a block device, its own.
    pub device: u64,
    /// Its inode number; 0 for a block device.
    pub inode: u64,
    /// Its file system's type, such as `ext4`; `None` if unknown and for a block device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_system: Option<String>,
    /// Whether it is a block device.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_block_device: bool,
    /// Size in bytes before the command used it; `None` if the command created it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_before: Option<u64>,
    /// Size in bytes at the end; `None` if it was removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_after: Option<u64>,
    /// Whether the command created it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub created: bool,
    /// How many more files the command created under this path, one after the other, each gone
    /// before the next or at the end. Their counts are in those of this one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub replacements: u64,
    /// Whether it had none of its known names at the end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
    /// Whether an argument of an executed program names it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub named: bool,
    /// Whether the command got it open, as standard input, for example.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inherited: bool,
    /// Whether it was executed, as a program or a script.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub executed: bool,
    /// How it was opened.
    #[serde(default, skip_serializing_if = "Opens::is_none")]
    pub opens: Opens,
    /// How it was mapped into memory.
    #[serde(default, skip_serializing_if = "Mappings::is_none")]
    pub mappings: Mappings,
    /// Copies by the OS, whose bytes the program does not see.
    #[serde(default, skip_serializing_if = "Copies::is_none")]
    pub copies: Copies,
    /// Hints to the OS.
    #[serde(default, skip_serializing_if = "Hints::is_none")]
    pub hints: Hints,
    /// Successful sync calls for this file.
    #[serde(default, skip_serializing_if = "SyncCalls::is_none")]
    pub syncs: SyncCalls,
    /// Calls of `fallocate`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub allocations: u64,
}

impl FileUse {
    /// Whether the command may have written it, and left it there.
    pub fn is_written(&self) -> bool {
        let ways = [
            self.opens.writing,
            self.mappings.writable,
            self.copies.target,
            self.copies.cloned_target,
        ];
        !self.removed && ways.iter().any(|count| *count > 0)
    }
}

/// Declares a group of counts that are absent from a record when 0.
macro_rules! counts {
    ($(#[$doc:meta])* $kind:ident { $($(#[$count_doc:meta])* $count:ident),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        #[derive(Serialize, Deserialize, JsonSchema)]
        pub struct $kind {
            $(
                $(#[$count_doc])*
                #[serde(default, skip_serializing_if = "is_zero")]
                pub $count: u64
            ),+
        }

        impl $kind {
            /// Whether all counts are 0.
            pub fn is_none(&self) -> bool {
                *self == $kind::default()
            }

            /// Adds the counts of another one.
            pub fn add(&mut self, other: $kind) {
                $(self.$count = self.$count.saturating_add(other.$count);)+
            }
        }
    };
}

counts! {
    /// How often a file was opened, and how often in each way. A standard stream that the command
    /// got open counts too.
    Opens {
        /// All.
        times,
        /// For reading, perhaps for writing as well.
        reading,
        /// For writing, perhaps for reading as well.
        writing,
        /// With `O_DIRECT`, or with `O_DIRECT` set later.
        direct,
        /// With `O_SYNC`.
        sync,
        /// With `O_DSYNC` and without `O_SYNC`.
        dsync,
        /// With `O_APPEND`.
        append,
        /// With `O_TRUNC`.
        truncate,
    }
}

counts! {
    /// How often a file was mapped, and how often in each way.
    Mappings {
        /// Shared.
        shared,
        /// Private: writes stay in memory.
        private,
        /// Shared and writable.
        writable,
        /// Executable.
        executable,
    }
}

counts! {
    /// Successful copies by the OS: `sendfile`, `copy_file_range`, `splice`, and clones.
    Copies {
        /// From the file.
        source,
        /// To the file.
        target,
        /// Clones of the file (reflinks), which share its blocks.
        cloned_source,
        /// Clones into the file.
        cloned_target,
    }
}

counts! {
    /// Hints about future reads: `posix_fadvise`, `readahead`, and `madvise` on a mapping.
    Hints {
        /// Random order: no readahead.
        random,
        /// Sequential order: more readahead.
        sequential,
        /// Load it.
        will_need,
        /// Evict it (`posix_fadvise` only).
        dont_need,
    }
}

counts! {
    /// Sync calls.
    SyncCalls {
        /// `fsync`.
        fsync,
        /// `fdatasync`.
        fdatasync,
        /// `msync` with `MS_SYNC`.
        msync,
        /// `sync_file_range`, which makes nothing durable.
        sync_file_range,
        /// `syncfs`; not counted for any file.
        syncfs,
        /// `sync`; not counted for any file.
        sync,
        /// `pwritev2` with `RWF_SYNC` or `RWF_DSYNC`.
        synced_writes,
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

fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_did_not_happen_is_not_written() {
        let opens = Opens { times: 1, reading: 1, ..Opens::default() };
        let file = FileUse { opens, ..FileUse::default() };
        let json = serde_json::to_string(&file).unwrap();
        assert_eq!(
            json,
            r#"{"path":{"text":""},"role":"data","device":0,"inode":0,"#.to_string()
                + r#""opens":{"times":1,"reading":1}}"#
        );
        assert_eq!(serde_json::from_str::<FileUse>(&json).unwrap(), file);
    }
}
