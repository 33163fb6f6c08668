//! What the calls of a command say: each is noted for its file, and counted.

use super::calls::{Call, FICLONE};
use super::files::{Before, Files, Seen};
use super::identity::{absolute, descriptor, file_at};
use super::ptrace::{self, Entry};
use super::regions;
use model::rehearsal::{Blind, FileUse, Hints, Mappings, Opens, Queues, Syncs, Unseen};
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
pub(crate) struct Pending {
    call: Call,
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
    Awaits(Pending),
    /// The task is about to execute this program, which may be a script.
    Executes(Option<PathBuf>),
}

/// What is known of the command so far.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) files: Files,
    pub(crate) syncs: Syncs,
    pub(crate) queues: Queues,
    pub(crate) other_opens: u64,
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
    pub(crate) fn enter(&mut self, task: i32, entry: Entry) -> Step {
        let Entry { call, arguments: a } = entry;
        let mut pending = Pending {
            call,
            arguments: a,
            flags: 0,
            before: Before::default(),
            names: None,
            swaps: false,
        };
        match call {
            Call::Open => pending.opens(task, libc::AT_FDCWD, a[0], a[1] as i32),
            Call::OpenAt => pending.opens(task, a[0] as i32, a[1], a[2] as i32),
            // A handle has no path.
            Call::OpenByHandle => pending.flags = a[2] as i32,
            Call::OpenAt2 => {
                // The flags are the first of a structure.
                let flags = ptrace::word(task, a[2]).unwrap_or(0) as i32;
                pending.opens(task, a[0] as i32, a[1], flags);
            }
            Call::Creat => {
                let flags = libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC;
                pending.opens(task, libc::AT_FDCWD, a[0], flags);
            }
            Call::Rename | Call::Link => {
                pending.names(task, (libc::AT_FDCWD, a[0]), (libc::AT_FDCWD, a[1]));
            }
            Call::RenameAt | Call::RenameAt2 | Call::LinkAt => {
                pending.names(task, (a[0] as i32, a[1]), (a[2] as i32, a[3]));
                let swaps = u64::from(libc::RENAME_EXCHANGE);
                pending.swaps = call == Call::RenameAt2 && a[4] & swaps != 0;
            }
            Call::Execve => return Step::Executes(path(task, libc::AT_FDCWD, a[0])),
            Call::ExecveAt => return Step::Executes(path(task, a[0] as i32, a[1])),
            Call::Mmap => {
                self.mapped(task, a);
                return Step::Done;
            }
            Call::FileAdvice => {
                self.advised(task, a);
                return Step::Done;
            }
            Call::NewTask | Call::NewTask3 => {
                keep_traced(task, call, a);
                return Step::Done;
            }
            Call::Ptrace => {
                self.miss(Blind::Tracer, "a program called ptrace".to_string());
                return Step::Done;
            }
            _ => {}
        }
        Step::Awaits(pending)
    }

    /// A call returned; `None` if it failed.
    pub(crate) fn leave(&mut self, task: i32, pending: Pending, returned: Option<u64>) {
        let a = pending.arguments;
        let Some(value) = returned else {
            self.queues.uring_refused += u64::from(pending.call == Call::UringSetup);
            return;
        };
        let first = a[0] as i32;
        match pending.call {
            Call::Open | Call::OpenAt | Call::OpenAt2 | Call::Creat | Call::OpenByHandle => {
                let link = descriptor(task, value as i32);
                self.opened(&link, task, pending.flags, pending.before);
            }
            Call::Fsync => self.synced(task, first, |syncs| &mut syncs.fsync),
            Call::Fdatasync => self.synced(task, first, |syncs| &mut syncs.fdatasync),
            Call::SyncFileRange => self.synced(task, first, |syncs| &mut syncs.sync_file_range),
            Call::SyncedWrite => self.synced(task, first, |syncs| &mut syncs.synced_writes),
            Call::Sync => self.syncs.sync += 1,
            Call::Syncfs => self.syncs.syncfs += 1,
            Call::Msync => {
                self.syncs.msync += 1;
                self.at_address(task, a[0], |file| file.syncs.msync += 1);
            }
            Call::MemoryAdvice => self.at_address(task, a[0], |file| {
                *hint_of_memory(&mut file.hints, a[2] as i32) += 1;
            }),
            Call::ReadAhead => self.of(task, first, |file| file.hints.will_need += 1),
            Call::Fallocate => self.of(task, first, |file| file.allocations += 1),
            Call::SetFlags if a[2] as i32 & libc::O_DIRECT != 0 => {
                self.of(task, first, |file| file.opens.direct += 1);
            }
            Call::SendFile => self.copied(task, a[1] as i32, first, value),
            Call::CopyFileRange | Call::Splice => self.copied(task, first, a[2] as i32, value),
            Call::Clone => self.cloned(task, a),
            Call::UringSetup => self.ring(task, a[1]),
            Call::AioSetup => {
                self.queues.aio += 1;
                self.miss(Blind::Aio, "syncs by io_submit are not counted".to_string());
            }
            Call::Rename | Call::RenameAt | Call::RenameAt2 => self.renamed(&pending),
            Call::Link | Call::LinkAt => {
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
            Seen::File(place) => note_open(&mut self.files.facts(place).opens, flags),
            Seen::Unlisted => {}
            Seen::Other => self.other_opens += 1,
            Seen::Unreadable => self.unreadable(),
        }
    }

    /// Changes the facts of the file that a task has open.
    fn of(&mut self, task: i32, number: i32, change: impl FnOnce(&mut FileUse)) {
        match self.files.see(&descriptor(task, number), task, Before::default()) {
            Seen::File(place) => change(self.files.facts(place)),
            Seen::Unreadable => self.unreadable(),
            Seen::Unlisted | Seen::Other => {}
        }
    }

    fn unreadable(&mut self) {
        self.miss(Blind::Unreadable, "the OS did not tell which file a call used".to_string());
    }

    fn synced(&mut self, task: i32, number: i32, count: fn(&mut Syncs) -> &mut u64) {
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
        if let Seen::File(place) = self.files.see(&path, task, Before::default()) {
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

    fn renamed(&mut self, pending: &Pending) {
        let Some((from, to)) = &pending.names else { return };
        match pending.swaps {
            true => self.files.swapped(from, to),
            false => self.files.renamed(from, to),
        }
    }
}

impl Pending {
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
fn keep_traced(task: i32, call: Call, [flags, ..]: [u64; 6]) {
    let untraced = libc::CLONE_UNTRACED as u64;
    match call {
        Call::NewTask3 => {
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
