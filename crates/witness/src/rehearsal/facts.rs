//! What the calls of a command say: each is noted for its file, and counted.

use super::calls::{FICLONE, TracedCall};
use super::files::{Before, SeenFile, UsedFiles};
use super::identity::{OtherSource, absolute, descriptor, file_at};
use super::ptrace::{self, EntryStop};
use super::regions;
use model::rehearsal::{
    Blind, FileUse, Hints, Mappings, Opens, OtherSources, Queues, SyncCalls, Unseen,
};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The most entries of what was not seen.
const UNSEEN_MAX: usize = 64;

/// Flags of `io_uring_setup` (Linux 5.1).
const URING_IOPOLL: u32 = 1;
const URING_SQPOLL: u32 = 2;

/// A call that has begun and counts if it succeeds.
#[derive(Debug, Clone)]
pub(crate) struct PendingCall {
    call: TracedCall,
    arguments: [u64; 6],
    /// Of a file that is opened: its flags.
    flags: i32,
    before: Before,
    /// Of a rename or link: the old name and the new one.
    names: Option<(PathBuf, PathBuf)>,
    swaps: bool,
}

/// What follows from the begin of a call.
#[derive(Debug)]
pub(crate) enum Step {
    /// All is known: the task runs on.
    Done,
    /// The call counts if it succeeds.
    Awaits(PendingCall),
    /// The task is about to execute this program, which may be a script.
    Executes(Option<PathBuf>),
}

/// What is known of the command so far.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) files: UsedFiles,
    pub(crate) syncs: SyncCalls,
    pub(crate) queues: Queues,
    pub(crate) other_opens: u64,
    pub(crate) other_sources: OtherSources,
    pub(crate) unseen: Vec<Unseen>,
}

impl Facts {
    /// Notes something that is not seen, once.
    pub(crate) fn miss(&mut self, what: Blind, detail: String) {
        let unseen = Unseen { what, detail };
        if self.unseen.len() < UNSEEN_MAX && !self.unseen.contains(&unseen) {
            self.unseen.push(unseen);
        }
    }

    /// A task begins a call.
    pub(crate) fn enter(&mut self, task: i32, entry: EntryStop) -> Step {
        let EntryStop { call, arguments: a } = entry;
        let mut pending = PendingCall {
            call,
            arguments: a,
            flags: 0,
            before: Before::default(),
            names: None,
            swaps: false,
        };
        match call {
            TracedCall::Open => pending.opens(task, libc::AT_FDCWD, a[0], a[1] as i32),
            TracedCall::OpenAt => pending.opens(task, a[0] as i32, a[1], a[2] as i32),
            // A handle has no path.
            TracedCall::OpenByHandle => pending.flags = a[2] as i32,
            TracedCall::OpenAt2 => {
                // The flags are the first of a structure.
                let flags = ptrace::word(task, a[2]).unwrap_or(0) as i32;
                pending.opens(task, a[0] as i32, a[1], flags);
            }
            TracedCall::Creat => {
                let flags = libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC;
                pending.opens(task, libc::AT_FDCWD, a[0], flags);
            }
            TracedCall::Rename | TracedCall::Link => {
                pending.names(task, (libc::AT_FDCWD, a[0]), (libc::AT_FDCWD, a[1]));
            }
            TracedCall::RenameAt | TracedCall::RenameAt2 | TracedCall::LinkAt => {
                pending.names(task, (a[0] as i32, a[1]), (a[2] as i32, a[3]));
                let swaps = u64::from(libc::RENAME_EXCHANGE);
                pending.swaps = call == TracedCall::RenameAt2 && a[4] & swaps != 0;
            }
            TracedCall::Execve => return Step::Executes(path(task, libc::AT_FDCWD, a[0])),
            TracedCall::ExecveAt => return Step::Executes(path(task, a[0] as i32, a[1])),
            TracedCall::Mmap => {
                self.mapped(task, a);
                return Step::Done;
            }
            TracedCall::FileAdvice => {
                self.advised(task, a);
                return Step::Done;
            }
            TracedCall::NewTask | TracedCall::NewTask3 => {
                keep_traced(task, call, a);
                return Step::Done;
            }
            TracedCall::Ptrace => {
                self.miss(Blind::Tracer, "a program called ptrace".to_string());
                return Step::Done;
            }
            _ => {}
        }
        Step::Awaits(pending)
    }

    /// A call returned; `None` if it failed.
    pub(crate) fn leave(&mut self, task: i32, pending: PendingCall, returned: Option<u64>) {
        let a = pending.arguments;
        let Some(value) = returned else {
            self.queues.uring_refused += u64::from(pending.call == TracedCall::UringSetup);
            return;
        };
        let first = a[0] as i32;
        match pending.call {
            TracedCall::Open
            | TracedCall::OpenAt
            | TracedCall::OpenAt2
            | TracedCall::Creat
            | TracedCall::OpenByHandle => {
                let link = descriptor(task, value as i32);
                self.opened(&link, task, pending.flags, pending.before);
            }
            TracedCall::Fsync => self.synced(task, first, |syncs| &mut syncs.fsync),
            TracedCall::Fdatasync => self.synced(task, first, |syncs| &mut syncs.fdatasync),
            TracedCall::SyncFileRange => {
                self.synced(task, first, |syncs| &mut syncs.sync_file_range)
            }
            TracedCall::SyncedWrite => self.synced(task, first, |syncs| &mut syncs.synced_writes),
            TracedCall::Sync => self.syncs.sync += 1,
            TracedCall::Syncfs => self.syncs.syncfs += 1,
            TracedCall::Msync => {
                self.syncs.msync += 1;
                self.at_address(task, a[0], |file| file.syncs.msync += 1);
            }
            TracedCall::MemoryAdvice => self.at_address(task, a[0], |file| {
                *hint_of_memory(&mut file.hints, a[2] as i32) += 1;
            }),
            TracedCall::ReadAhead => self.of(task, first, |file| file.hints.will_need += 1),
            TracedCall::Fallocate => self.of(task, first, |file| file.allocations += 1),
            TracedCall::SetFlags if a[2] as i32 & libc::O_DIRECT != 0 => {
                self.of(task, first, |file| file.opens.direct += 1);
            }
            TracedCall::SendFile => self.copied(task, a[1] as i32, first, value),
            TracedCall::CopyFileRange | TracedCall::Splice => {
                self.copied(task, first, a[2] as i32, value)
            }
            TracedCall::Clone => self.cloned(task, a),
            TracedCall::Pipe | TracedCall::Pipe2 => self.other_sources.pipes += 1,
            TracedCall::Socket | TracedCall::SocketPair => self.other_sources.sockets += 1,
            TracedCall::MemoryFile => self.other_sources.memory_files += 1,
            TracedCall::UringSetup => self.ring(task, a[1]),
            TracedCall::AioSetup => {
                self.queues.aio += 1;
                self.miss(Blind::Aio, "syncs by io_submit are not counted".to_string());
            }
            TracedCall::Rename | TracedCall::RenameAt | TracedCall::RenameAt2 => {
                self.renamed(&pending)
            }
            TracedCall::Link | TracedCall::LinkAt => {
                if let Some((_, to)) = pending.names {
                    self.files.linked(&to);
                }
            }
            _ => {}
        }
    }

    /// A file was opened, or was open when the command began.
    pub(crate) fn opened(&mut self, link: &Path, task: i32, flags: i32, before: Before) {
        match self.files.see(link, task, before) {
            SeenFile::File(place) => note_open(&mut self.files.facts(place).opens, flags),
            SeenFile::Unlisted => {}
            SeenFile::Other(source) => {
                self.other_opens += 1;
                self.readable(source, flags);
            }
            SeenFile::Unreadable => self.unreadable(),
        }
    }

    /// Notes what a descriptor with these flags can read, if it is no file with stored bytes.
    pub(crate) fn readable(&mut self, source: Option<OtherSource>, flags: i32) {
        let Some(source) = source.filter(|_| flags & libc::O_ACCMODE != libc::O_WRONLY) else {
            return;
        };
        let sources = &mut self.other_sources;
        *match source {
            OtherSource::Pipe => &mut sources.pipes,
            OtherSource::Socket => &mut sources.sockets,
            OtherSource::Terminal => &mut sources.terminals,
            OtherSource::Device => &mut sources.devices,
            OtherSource::MemoryFile => &mut sources.memory_files,
            OtherSource::KernelFile => &mut sources.kernel_files,
        } += 1;
    }

    /// Changes the facts of the file that a task has open.
    fn of(&mut self, task: i32, number: i32, change: impl FnOnce(&mut FileUse)) {
        match self.files.see(&descriptor(task, number), task, Before::default()) {
            SeenFile::File(place) => change(self.files.facts(place)),
            SeenFile::Unreadable => self.unreadable(),
            SeenFile::Unlisted | SeenFile::Other(_) => {}
        }
    }

    fn unreadable(&mut self) {
        self.miss(Blind::Unreadable, "the OS did not tell which file a call used".to_string());
    }

    fn synced(&mut self, task: i32, number: i32, count: fn(&mut SyncCalls) -> &mut u64) {
        *count(&mut self.syncs) += 1;
        self.of(task, number, |file| *count(&mut file.syncs) += 1);
    }

    fn mapped(&mut self, task: i32, [_, _, protection, flags, number, _]: [u64; 6]) {
        let [protection, flags] = [protection as i32, flags as i32];
        if flags & libc::MAP_ANONYMOUS == 0 {
            self.of(task, number as i32, |file| {
                note_mapping(&mut file.mappings, protection, flags);
            });
        }
    }

    fn advised(&mut self, task: i32, [number, _, _, advice, ..]: [u64; 6]) {
        self.of(task, number as i32, |file| {
            let hints = &mut file.hints;
            match advice as i32 {
                libc::POSIX_FADV_RANDOM => hints.random += 1,
                libc::POSIX_FADV_SEQUENTIAL => hints.sequential += 1,
                libc::POSIX_FADV_WILLNEED => hints.will_need += 1,
                libc::POSIX_FADV_DONTNEED => hints.dont_need += 1,
                _ => {}
            }
        });
    }

    /// Changes the facts of the file that is mapped at an address, if one is.
    fn at_address(&mut self, task: i32, address: u64, change: impl FnOnce(&mut FileUse)) {
        let Some(path) = regions::file_at_address(task, address) else { return };
        if let SeenFile::File(place) = self.files.see(&path, task, Before::default()) {
            change(self.files.facts(place));
        }
    }

    fn copied(&mut self, task: i32, from: i32, to: i32, bytes: u64) {
        if bytes > 0 {
            self.of(task, from, |file| file.copies.source += 1);
            self.of(task, to, |file| file.copies.target += 1);
        }
    }

    fn cloned(&mut self, task: i32, [to, request, argument, ..]: [u64; 6]) {
        let from = match request as u32 {
            FICLONE => Some(argument),
            // The source is the first of a structure.
            _ => ptrace::word(task, argument),
        };
        if let Some(from) = from {
            self.of(task, from as i32, |file| file.copies.cloned_source += 1);
        }
        self.of(task, to as i32, |file| file.copies.cloned_target += 1);
    }

    fn ring(&mut self, task: i32, parameters: u64) {
        // Two sizes, then the flags.
        let flags = ptrace::word(task, parameters.saturating_add(8)).unwrap_or(0) as u32;
        self.queues.uring += 1;
        self.queues.uring_iopoll += u64::from(flags & URING_IOPOLL != 0);
        self.queues.uring_sqpoll += u64::from(flags & URING_SQPOLL != 0);
        self.miss(Blind::Uring, "calls by io_uring are not counted".to_string());
    }

    fn renamed(&mut self, pending: &PendingCall) {
        let Some((from, to)) = &pending.names else { return };
        match pending.swaps {
            true => self.files.swapped(from, to),
            false => self.files.renamed(from, to),
        }
    }
}

impl PendingCall {
    fn opens(&mut self, task: i32, directory: i32, name: u64, flags: i32) {
        self.flags = flags;
        if flags & libc::O_TMPFILE == libc::O_TMPFILE {
            self.before.is_new = true;
        } else if flags & (libc::O_CREAT | libc::O_TRUNC) != 0
            && let Some(path) = path(task, directory, name)
        {
            let there = file_at(&path);
            self.before.bytes = there.map(|found| found.bytes);
            self.before.is_new = there.is_none() && flags & libc::O_CREAT != 0 && !path.exists();
        }
    }

    fn names(&mut self, task: i32, from: (i32, u64), to: (i32, u64)) {
        self.names = path(task, from.0, from.1).zip(path(task, to.0, to.1));
    }
}

/// The absolute path that a task's memory names.
fn path(task: i32, directory: i32, address: u64) -> Option<PathBuf> {
    let name = ptrace::text(task, address)?;
    if name.is_empty() {
        // The directory's own number, as `fexecve` gives it.
        return std::fs::read_link(descriptor(task, directory)).ok();
    }
    absolute(task, directory, Path::new(OsStr::from_bytes(&name)))
}

/// Takes `CLONE_UNTRACED` from a call: the filter stays in the new task, and without a tracer, the
/// calls that it knows fail.
fn keep_traced(task: i32, call: TracedCall, [flags, ..]: [u64; 6]) {
    let untraced = libc::CLONE_UNTRACED as u64;
    match call {
        TracedCall::NewTask3 => {
            if let Some(own) = ptrace::word(task, flags).filter(|own| own & untraced != 0) {
                ptrace::set_word(task, flags, own & !untraced);
            }
        }
        _ => ptrace::set_first_argument(task, flags & !untraced),
    }
}

/// Counts an open.
pub(crate) fn note_open(opens: &mut Opens, flags: i32) {
    let has = |bits: i32| u64::from(flags & bits == bits);
    let access = flags & libc::O_ACCMODE;
    opens.times += 1;
    opens.reading += u64::from(access != libc::O_WRONLY);
    opens.writing += u64::from(access != libc::O_RDONLY);
    opens.direct += has(libc::O_DIRECT);
    opens.sync += has(libc::O_SYNC);
    opens.dsync += has(libc::O_DSYNC) - has(libc::O_SYNC);
    opens.append += has(libc::O_APPEND);
    opens.truncate += has(libc::O_TRUNC);
}

/// Counts a mapping.
pub(crate) fn note_mapping(mappings: &mut Mappings, protection: i32, flags: i32) {
    let is_shared = flags & libc::MAP_SHARED != 0;
    mappings.shared += u64::from(is_shared);
    mappings.private += u64::from(!is_shared);
    mappings.writable += u64::from(is_shared && protection & libc::PROT_WRITE != 0);
    mappings.executable += u64::from(protection & libc::PROT_EXEC != 0);
}

fn hint_of_memory(hints: &mut Hints, advice: i32) -> &mut u64 {
    match advice {
        libc::MADV_RANDOM => &mut hints.random,
        libc::MADV_SEQUENTIAL => &mut hints.sequential,
        _ => &mut hints.will_need,
    }
}
