//! Starts a command that is traced and filtered from its first instruction.

use super::error::RehearsalError;
use super::ptrace;
use libc::{c_char, c_int, sock_filter};
use std::ffi::{CString, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::ptr;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// More tasks at once are likely a program that starts itself again and again.
pub const TASKS_MAX: usize = 10_000;

/// A command to rehearse. Its environment is this process's.
#[derive(Debug)]
pub struct Rehearsed<'a> {
    /// The program: a path, or a name that is looked up in `PATH`.
    pub program: OsString,
    /// Its arguments, without its name.
    pub arguments: Vec<OsString>,
    /// Its standard input.
    pub stdin: File,
    /// Its standard output.
    pub stdout: File,
    /// Its standard error.
    pub stderr: File,
    /// Its working directory, if it is not this process's.
    pub directory: Option<PathBuf>,
    /// Kills the command as soon as it is set.
    pub stop: Option<&'a AtomicBool>,
    /// Kills the command after this time.
    pub time_limit: Option<Duration>,
    /// Kills the command if it has more tasks at once: processes and threads. See [`TASKS_MAX`].
    pub tasks_max: usize,
}

/// What a child tells: a step, and the error with which it failed.
const REPORT_BYTES: usize = 8;

/// Steps of the child that it may tell of.
const NO_NEW_PRIVILEGES: u32 = 1;
const FILTER: u32 = 2;
const DIRECTORY: u32 = 3;
const EXECUTE: u32 = 4;

/// A started command.
#[derive(Debug)]
pub(crate) struct Started {
    /// Its process.
    pub(crate) process: i32,
    reports: File,
}

/// What the child needs, all of which is made before there is one: it must not allocate.
struct PreparedChild {
    arguments: Vec<CString>,
    streams: [OwnedFd; 3],
    directory: Option<CString>,
    filter: Vec<sock_filter>,
    go: OwnedFd,
    /// The parent's end, of which the child has a copy.
    go_parent: c_int,
    reports: OwnedFd,
}

/// Starts the command. It is traced, and has yet to execute its program.
pub(crate) fn start(
    command: &Rehearsed,
    filter: Vec<sock_filter>,
) -> Result<Started, RehearsalError> {
    let refused = |attempt| move |answer| RehearsalError::NoTracing { attempt, answer };
    let (go_read, go_write) = pipe().map_err(refused("create a pipe"))?;
    let (told_read, told_write) = pipe().map_err(refused("create a pipe"))?;
    let text = |text: &OsString| CString::new(text.as_bytes()).map_err(io::Error::from);
    let words = [&command.program].into_iter().chain(&command.arguments);
    let not_started =
        |answer| RehearsalError::NotStarted { program: command.program.clone(), answer };
    let arguments = words.map(text).collect::<io::Result<Vec<CString>>>().map_err(not_started)?;
    let directory = command.directory.as_ref().map(|path| text(&path.clone().into_os_string()));
    let prepared = PreparedChild {
        arguments,
        streams: streams(command).map_err(refused("duplicate a standard stream"))?,
        directory: directory.transpose().map_err(not_started)?,
        filter,
        go: go_read,
        go_parent: go_write.as_raw_fd(),
        reports: told_write,
    };
    let mut pointers: Vec<*const c_char> =
        prepared.arguments.iter().map(|argument| argument.as_ptr()).collect();
    pointers.push(ptr::null());
    // SAFETY: the child only makes system calls with values that were made before, so it needs no
    // lock that another thread may have held, and it never returns.
    let process = unsafe {
        match libc::fork() {
            0 => child(&prepared, &pointers),
            process => process,
        }
    };
    if process < 0 {
        return Err(refused("start a process")(io::Error::last_os_error()));
    }
    drop(prepared);
    let started = Started { process, reports: File::from(told_read) };
    if let Err(answer) = ptrace::seize(process) {
        ptrace::kill(process);
        started.reap();
        return Err(RehearsalError::NoTracing { attempt: "trace a process", answer });
    }
    // If the child has died, waiting for it tells how.
    let _ = File::from(go_write).write(&[1]);
    Ok(started)
}

impl Started {
    /// After the command's end, whether it ran with `no_new_privs`; or why it did not run.
    pub(crate) fn outcome(mut self, command: &Rehearsed) -> Result<bool, RehearsalError> {
        let mut no_new_privileges = false;
        let mut report = [0; REPORT_BYTES];
        while self.reports.read_exact(&mut report).is_ok() {
            let number = |at: usize| u32::from_ne_bytes([0, 1, 2, 3].map(|byte| report[at + byte]));
            let answer = io::Error::from_raw_os_error(number(4) as i32);
            match number(0) {
                NO_NEW_PRIVILEGES => no_new_privileges = true,
                FILTER => {
                    return Err(RehearsalError::NoTracing { attempt: "filter calls", answer });
                }
                DIRECTORY => {
                    let directory = command.directory.clone().unwrap_or_default();
                    return Err(RehearsalError::NoDirectory { directory, answer });
                }
                _ => {
                    let program = command.program.clone();
                    return Err(RehearsalError::NotStarted { program, answer });
                }
            }
        }
        Ok(no_new_privileges)
    }

    fn reap(&self) {
        // SAFETY: the process is a child that was killed; no status is asked for.
        let wait = || unsafe { libc::waitpid(self.process, ptr::null_mut(), libc::__WALL) };
        while wait() == -1 && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted {}
    }
}

/// Copies of the command's streams with numbers above those that they get.
fn streams(command: &Rehearsed) -> io::Result<[OwnedFd; 3]> {
    let copy = |file: &File| {
        // SAFETY: the call takes plain numbers; a descriptor that it returns has no other owner.
        unsafe {
            match libc::fcntl(file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 3) {
                -1 => Err(io::Error::last_os_error()),
                copy => Ok(OwnedFd::from_raw_fd(copy)),
            }
        }
    };
    Ok([copy(&command.stdin)?, copy(&command.stdout)?, copy(&command.stderr)?])
}

/// A pipe that programs do not inherit, above the standard streams.
fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (read, write) = io::pipe()?;
    let above = |end: OwnedFd| {
        // SAFETY: the call takes plain numbers; a descriptor that it returns has no other owner.
        unsafe {
            match libc::fcntl(end.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 3) {
                -1 => Err(io::Error::last_os_error()),
                copy => Ok(OwnedFd::from_raw_fd(copy)),
            }
        }
    };
    Ok((above(read.into())?, above(write.into())?))
}

/// The child's part: it waits until it is traced, becomes what the command needs and executes it.
///
/// # Safety
///
/// The caller is the child of a fork. `pointers` are those of the prepared arguments and a null.
unsafe fn child(prepared: &PreparedChild, pointers: &[*const c_char]) -> ! {
    // SAFETY: every call gets plain numbers or pointers to prepared values, which live until the
    // process becomes another program or exits.
    unsafe {
        // A session of its own: it can neither take the terminal nor get its signals.
        libc::setsid();
        // Without a byte, the parent has died.
        libc::close(prepared.go_parent);
        let mut byte = 0u8;
        if libc::read(prepared.go.as_raw_fd(), (&raw mut byte).cast(), 1) != 1 {
            libc::_exit(127);
        }
        for (stream, target) in prepared.streams.iter().zip(0..) {
            libc::dup2(stream.as_raw_fd(), target);
        }
        let mut none = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        if let Some(directory) = &prepared.directory
            && libc::chdir(directory.as_ptr()) == -1
        {
            fail(prepared, DIRECTORY);
        }
        if !install(&prepared.filter) {
            // Only root may filter programs that could gain rights: others give that up.
            if *errno() != libc::EACCES || libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1
            {
                fail(prepared, FILTER);
            }
            if !install(&prepared.filter) {
                fail(prepared, FILTER);
            }
            report(prepared, NO_NEW_PRIVILEGES, 0);
        }
        libc::execvp(pointers[0], pointers.as_ptr());
        fail(prepared, EXECUTE)
    }
}

/// Filters this process's calls from now on.
fn install(filter: &[sock_filter]) -> bool {
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    let mode = libc::SECCOMP_SET_MODE_FILTER;
    // Otherwise kernels before 5.16 slow the program down to protect it from speculation.
    let flags = libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW;
    // SAFETY: the kernel copies the filter, and never writes to it.
    unsafe { libc::syscall(libc::SYS_seccomp, mode, flags, &raw const program) == 0 }
}

/// Tells the parent of a step.
fn report(prepared: &PreparedChild, step: u32, error: c_int) {
    let words = [step, error as u32];
    // SAFETY: the call reads the 8 bytes of `words`. A pipe takes so few at once.
    unsafe { libc::write(prepared.reports.as_raw_fd(), words.as_ptr().cast(), REPORT_BYTES) };
}

/// Tells the parent which step failed, and ends.
fn fail(prepared: &PreparedChild, step: u32) -> ! {
    // SAFETY: `errno` is this thread's; `_exit` runs nothing of this program.
    unsafe {
        report(prepared, step, *errno());
        libc::_exit(127)
    }
}

fn errno() -> *mut c_int {
    // SAFETY: the call only returns the address of this thread's error number.
    unsafe { libc::__errno_location() }
}
