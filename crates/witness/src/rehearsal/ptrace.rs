//! ptrace(2): why a task stopped, and how it goes on.

use super::calls::TracedCall;
use super::filter::call_of;
use std::ffi::c_int;
use std::io;

/// A request, in the C library's type.
#[cfg(target_env = "musl")]
type Request = c_int;
#[cfg(not(target_env = "musl"))]
type Request = std::ffi::c_uint;

/// `PTRACE_GET_SYSCALL_INFO` (Linux 5.3), of which not every C library knows.
const GET_SYSCALL_INFO: Request = 0x420e;

/// What a tracer is told of new tasks, programs and ends. All of them die with the tracer.
const OPTIONS: c_int = libc::PTRACE_O_EXITKILL
    | libc::PTRACE_O_TRACESECCOMP
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEEXEC
    | libc::PTRACE_O_TRACEEXIT
    | libc::PTRACE_O_TRACESYSGOOD;

/// The longest path that the OS takes.
const PATH_BYTES_MAX: usize = libc::PATH_MAX as usize;

/// The unit in which memory is readable or not.
const PAGE_BYTES: usize = 4096;

/// What happened to a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// It is gone, with this exit status.
    Exited(i32),
    /// It is gone by this signal.
    Signaled(i32),
    /// It is about to do a call that the filter knows.
    Enters,
    /// It returned from a call.
    Returned,
    /// It made this task, which is traced too.
    Made(i32),
    /// It runs another program; before, the task had this number.
    Executed(i32),
    /// It is about to exit.
    Exits,
    /// It is new, or was continued after a stop of its whole process.
    Started,
    /// Its whole process was stopped by this signal.
    Halted(i32),
    /// It is about to get this signal.
    Signal(i32),
}

/// How a stopped task goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resume {
    /// Until the next event.
    Run,
    /// Until its call returns.
    ToReturn,
    /// Not at all, until its process is continued by a signal.
    Halted,
}

/// Lets a task run until it stops, and all it makes from then on.
pub(crate) fn seize(task: i32) -> io::Result<()> {
    request(libc::PTRACE_SEIZE, task, 0, OPTIONS as usize).map(|_| ())
}

/// Lets a stopped task go on, with a signal or 0. One that was killed meanwhile needs no answer.
pub(crate) fn resume(task: i32, how: Resume, signal: i32) {
    let how = match how {
        Resume::Run => libc::PTRACE_CONT,
        Resume::ToReturn => libc::PTRACE_SYSCALL,
        Resume::Halted => libc::PTRACE_LISTEN,
    };
    if let Err(answer) = request(how, task, 0, signal as usize) {
        log::debug!("failed to resume task {task}: {answer}");
    }
}

/// Waits for the next event of any task; `None` if a signal ended the wait. `ECHILD` when all are
/// gone.
pub(crate) fn next_event() -> io::Result<Option<(i32, Event)>> {
    let mut status = 0;
    // SAFETY: the call writes only to `status`, which outlives it.
    let task = unsafe { libc::waitpid(-1, &raw mut status, libc::__WALL) };
    if task > 0 {
        return Ok(Some((task, event(task, status))));
    }
    let answer = io::Error::last_os_error();
    if answer.kind() == io::ErrorKind::Interrupted { Ok(None) } else { Err(answer) }
}

fn event(task: i32, status: i32) -> Event {
    if libc::WIFEXITED(status) {
        return Event::Exited(libc::WEXITSTATUS(status));
    }
    if libc::WIFSIGNALED(status) {
        return Event::Signaled(libc::WTERMSIG(status));
    }
    let signal = libc::WSTOPSIG(status);
    match status >> 16 {
        libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE => {
            Event::Made(message(task))
        }
        libc::PTRACE_EVENT_EXEC => Event::Executed(message(task)),
        libc::PTRACE_EVENT_EXIT => Event::Exits,
        libc::PTRACE_EVENT_SECCOMP => Event::Enters,
        libc::PTRACE_EVENT_STOP if signal == libc::SIGTRAP => Event::Started,
        libc::PTRACE_EVENT_STOP => Event::Halted(signal),
        _ if signal == libc::SIGTRAP | 0x80 => Event::Returned,
        _ => Event::Signal(signal),
    }
}

/// The task that an event is about; 0 if its own was killed meanwhile.
fn message(task: i32) -> i32 {
    let mut number: libc::c_ulong = 0;
    let into = &raw mut number;
    match request(libc::PTRACE_GETEVENTMSG, task, 0, into as usize) {
        Ok(_) => number as i32,
        Err(_) => 0,
    }
}

/// The kernel's `struct ptrace_syscall_info`, of which not every C library knows (Linux 5.3).
#[repr(C)]
#[derive(Default)]
struct CallInfo {
    op: u8,
    pad: [u8; 3],
    arch: u32,
    instruction_pointer: u64,
    stack_pointer: u64,
    /// At an entry: the number, six arguments, and the filter's data. At a return: the value, and
    /// whether it is an error.
    words: [u64; 8],
}

const AT_RETURN: u8 = 2;
const AT_FILTER: u8 = 3;

/// A call that begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EntryStop {
    pub(crate) call: TracedCall,
    pub(crate) arguments: [u64; 6],
}

/// The call at which the filter stopped a task.
pub(crate) fn entry(task: i32) -> io::Result<EntryStop> {
    let info = info(task)?;
    let [_, a, b, c, d, e, f, data] = info.words;
    let call = (info.op == AT_FILTER).then(|| call_of(data as u32)).flatten();
    let call = call.ok_or_else(|| io::Error::other("a stop without a call"))?;
    Ok(EntryStop { call, arguments: [a, b, c, d, e, f] })
}

/// What the call returned; `None` if it failed.
pub(crate) fn returned(task: i32) -> io::Result<Option<u64>> {
    let info = info(task)?;
    if info.op != AT_RETURN {
        return Err(io::Error::other("a stop without a return"));
    }
    let [value, is_error, ..] = info.words;
    Ok((is_error as u8 == 0).then_some(value))
}

fn info(task: i32) -> io::Result<CallInfo> {
    let mut info = CallInfo::default();
    let into = &raw mut info;
    request(GET_SYSCALL_INFO, task, size_of::<CallInfo>(), into as usize)?;
    Ok(info)
}

/// A request about a task of this tracer. `data` is a number, or the address of a value of the
/// type that the request writes.
fn request(request: Request, task: i32, address: usize, data: usize) -> io::Result<libc::c_long> {
    // SAFETY: the requests of this module change nothing of this process, except that two write to
    // the value at `data`, which their callers own and whose whole size they tell or the kernel
    // knows.
    let answer = unsafe { libc::ptrace(request, task, address, data) };
    if answer == -1 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

/// Kills a process.
pub(crate) fn kill(process: i32) {
    // SAFETY: the call takes plain numbers. The process is a child or is traced, so that its number
    // is its own until this process has waited for it.
    unsafe { libc::kill(process, libc::SIGKILL) };
}

/// Reads a task's memory into `into`, and returns how much of it is readable.
pub(crate) fn read(task: i32, address: u64, into: &mut [u8]) -> usize {
    let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    // By pages: of each remote range, either all is read or nothing.
    let mut remote = Vec::new();
    let (mut at, end) = (address as usize, (address as usize).saturating_add(into.len()));
    while at < end {
        let next = (at / PAGE_BYTES).saturating_add(1).saturating_mul(PAGE_BYTES).min(end);
        remote.push(libc::iovec { iov_base: at as *mut libc::c_void, iov_len: next - at });
        at = next;
    }
    // SAFETY: the call writes at most `into.len()` bytes to `into`. Addresses of the other process
    // are only numbers here: one that is wrong makes the call fail.
    let count = unsafe {
        let count = remote.len() as libc::c_ulong;
        libc::process_vm_readv(task, &raw const local, 1, remote.as_ptr(), count, 0)
    };
    usize::try_from(count).unwrap_or(0)
}

/// The word of 8 bytes at an address.
pub(crate) fn word(task: i32, address: u64) -> Option<u64> {
    let mut bytes = [0; 8];
    (read(task, address, &mut bytes) == bytes.len()).then(|| u64::from_ne_bytes(bytes))
}

/// The text at an address, which ends with a zero.
pub(crate) fn text(task: i32, address: u64) -> Option<Vec<u8>> {
    let mut bytes = vec![0; PATH_BYTES_MAX];
    let count = read(task, address, &mut bytes);
    bytes.truncate(count);
    let end = bytes.iter().position(|byte| *byte == 0)?;
    bytes.truncate(end);
    Some(bytes)
}

/// Replaces the word of 8 bytes at an address.
pub(crate) fn set_word(task: i32, address: u64, word: u64) {
    let bytes = word.to_ne_bytes();
    let local = libc::iovec { iov_base: bytes.as_ptr() as *mut libc::c_void, iov_len: 8 };
    let remote = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: 8 };
    // SAFETY: the call reads 8 bytes of `bytes`, and writes only to the other process, which a
    // wrong address cannot harm: the call then fails.
    let count =
        unsafe { libc::process_vm_writev(task, &raw const local, 1, &raw const remote, 1, 0) };
    if count != 8 {
        log::debug!("failed to change the memory of task {task}");
    }
}

/// Replaces the first argument of the call that a task is about to do.
pub(crate) fn set_first_argument(task: i32, value: u64) {
    // SAFETY: registers are plain numbers, and the kernel writes and reads no more of them than
    // the length says.
    let outcome = unsafe {
        let mut registers: libc::user_regs_struct = std::mem::zeroed();
        let mut all = libc::iovec {
            iov_base: (&raw mut registers).cast(),
            iov_len: size_of::<libc::user_regs_struct>(),
        };
        let (set, all) = (libc::NT_PRSTATUS as usize, &raw mut all as usize);
        request(libc::PTRACE_GETREGSET, task, set, all).and_then(|_| {
            #[cfg(target_arch = "x86_64")]
            {
                registers.rdi = value;
            }
            #[cfg(target_arch = "aarch64")]
            {
                registers.regs[0] = value;
            }
            request(libc::PTRACE_SETREGSET, task, set, all)
        })
    };
    if let Err(answer) = outcome {
        log::debug!("failed to change an argument of task {task}: {answer}");
    }
}
