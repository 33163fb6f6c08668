//! The seccomp filter: it stops a program at the calls of the table, and at no other.
//!
//! The program for the kernel's BPF machine is made by hand: each call needs one comparison, and
//! libraries that make such programs have no condition on single bits. The kernel caches which
//! calls a filter always allows, so those do not even run it (Linux 5.11).

use super::calls::{Abi, CALLS, CallRow, TracedCall, When};
use libc::sock_filter;

const LOAD: u16 = 0x20;
const JUMP: u16 = 0x05;
const IF_EQUAL: u16 = 0x15;
const IF_ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const TRACE: u32 = libc::SECCOMP_RET_TRACE;

/// Offsets in the kernel's `struct seccomp_data`.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;

/// `O_TMPFILE` without `O_DIRECTORY`, which is part of it.
const UNNAMED: u32 = (libc::O_TMPFILE & !libc::O_DIRECTORY) as u32;
const NO_FILE: u32 = (libc::O_PATH | libc::O_DIRECTORY) as u32;

/// The call of a stop, from the data that the filter gave it.
pub(crate) fn call_of(data: u32) -> Option<TracedCall> {
    CALLS.get(data as usize).map(|row| row.call)
}

/// The filter for all programs that can run here. Calls of others run unseen.
pub(crate) fn filter() -> Vec<sock_filter> {
    let mut program = vec![plain(LOAD, ARCHITECTURE)];
    for abi in Abi::HERE {
        let mut section = vec![plain(LOAD, NUMBER)];
        for (data, row) in (0..).zip(CALLS) {
            if let Some(number) = row.number(*abi) {
                let block = block(row, TRACE | data);
                section.push(branch(IF_EQUAL, number, 0, block.len() as u8));
                section.extend(block);
            }
        }
        section.push(plain(RETURN, ALLOW));
        program.push(branch(IF_EQUAL, abi.audit(), 1, 0));
        program.push(plain(JUMP, section.len() as u32));
        program.extend(section);
    }
    program.push(plain(RETURN, ALLOW));
    program
}

/// Decides about a call whose number is right.
fn block(row: &CallRow, trace: u32) -> Vec<sock_filter> {
    let [stop, pass] = [plain(RETURN, trace), plain(RETURN, ALLOW)];
    let load = |argument: u8| plain(LOAD, ARGUMENTS + 8 * u32::from(argument));
    match row.when {
        When::Always => vec![stop],
        When::With { argument, bits } => {
            vec![load(argument), branch(IF_ANY_BIT, bits, 0, 1), stop, pass]
        }
        When::Unless { argument, value } => {
            vec![load(argument), branch(IF_EQUAL, value, 1, 0), stop, pass]
        }
        When::OpensFile { argument } => vec![
            load(argument),
            branch(IF_ANY_BIT, UNNAMED, 1, 0),
            branch(IF_ANY_BIT, NO_FILE, 1, 0),
            stop,
            pass,
        ],
        When::OneOf { argument, values } => {
            let mut block = vec![load(argument)];
            let left = (1..=values.len() as u8).rev();
            block.extend(left.zip(values).map(|(left, value)| branch(IF_EQUAL, *value, left, 0)));
            block.extend([pass, stop]);
            block
        }
    }
}

fn plain(code: u16, k: u32) -> sock_filter {
    sock_filter { code, jt: 0, jf: 0, k }
}

/// Skips `if_so` or `if_not` instructions.
fn branch(code: u16, k: u32, if_so: u8, if_not: u8) -> sock_filter {
    sock_filter { code, jt: if_so, jf: if_not, k }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the filter as the kernel would; `None` if the call is allowed. The kernel caches that
    /// of a call without arguments to look at.
    fn run(abi: u32, number: u32, arguments: Option<[u64; 6]>) -> Option<TracedCall> {
        let program = filter();
        let (mut at, mut value) = (0, 0);
        loop {
            let sock_filter { code, jt, jf, k } = program[at];
            at += 1;
            let jump = |is_so: bool| usize::from(if is_so { jt } else { jf });
            match code {
                LOAD if k == NUMBER => value = number,
                LOAD if k == ARCHITECTURE => value = abi,
                LOAD => {
                    let arguments = arguments.expect("the filter looks at no argument");
                    value = arguments[((k - ARGUMENTS) / 8) as usize] as u32;
                }
                JUMP => at += k as usize,
                IF_EQUAL => at += jump(value == k),
                IF_ANY_BIT => at += jump(value & k != 0),
                RETURN if k == ALLOW => return None,
                RETURN => return Some(call_of(k & 0xFFFF).unwrap()),
                other => panic!("{other}"),
            }
        }
    }

    fn check(call: TracedCall, argument: usize, value: i64, is_seen: bool) {
        let row = CALLS.iter().find(|row| row.call == call).unwrap();
        let mut arguments = [0; 6];
        arguments[argument] = value as u64;
        for abi in Abi::HERE {
            let Some(number) = row.number(*abi) else { continue };
            let expected = is_seen.then_some(call);
            assert_eq!(run(abi.audit(), number, Some(arguments)), expected, "{call:?} {value:x}");
        }
    }

    #[test]
    fn only_calls_with_the_right_arguments_stop() {
        let flags = |flags: i32| i64::from(flags);
        check(TracedCall::OpenAt, 2, flags(libc::O_RDONLY | libc::O_CLOEXEC), true);
        check(TracedCall::OpenAt, 2, flags(libc::O_PATH), false);
        check(TracedCall::OpenAt, 2, flags(libc::O_DIRECTORY | libc::O_CLOEXEC), false);
        check(TracedCall::OpenAt, 2, flags(libc::O_TMPFILE | libc::O_RDWR), true);
        check(TracedCall::Open, 1, flags(libc::O_DIRECTORY), false);
        check(TracedCall::Mmap, 4, -1, false);
        check(TracedCall::Mmap, 4, 0xFFFF_FFFF, false);
        check(TracedCall::Mmap, 4, 3, true);
        check(TracedCall::Msync, 2, flags(libc::MS_ASYNC), false);
        check(TracedCall::Msync, 2, flags(libc::MS_SYNC), true);
        check(TracedCall::SetFlags, 1, flags(libc::F_GETFL), false);
        check(TracedCall::SetFlags, 1, flags(libc::F_SETFL), true);
        check(TracedCall::MemoryAdvice, 2, flags(libc::MADV_DONTNEED), false);
        for advice in [libc::MADV_RANDOM, libc::MADV_WILLNEED, libc::MADV_POPULATE_WRITE] {
            check(TracedCall::MemoryAdvice, 2, flags(advice), true);
        }
        check(TracedCall::Clone, 1, i64::from(FICLONE_OF_LIBC), true);
        check(TracedCall::Clone, 1, flags(0x5401), false);
        check(TracedCall::SyncedWrite, 5, 0, false);
        check(TracedCall::SyncedWrite, 5, flags(libc::RWF_DSYNC), true);
        check(TracedCall::NewTask, 0, flags(libc::CLONE_VM | libc::SIGCHLD), false);
        check(TracedCall::NewTask, 0, flags(libc::CLONE_UNTRACED), true);
        check(TracedCall::Fsync, 0, 0, true);
    }

    const FICLONE_OF_LIBC: u32 = libc::FICLONE as u32;

    #[test]
    fn reads_and_writes_run_at_full_speed() {
        let own = Abi::HERE[0].audit();
        for call in [
            libc::SYS_read,
            libc::SYS_pread64,
            libc::SYS_write,
            libc::SYS_lseek,
            libc::SYS_futex,
            libc::SYS_epoll_pwait,
            libc::SYS_io_uring_enter,
        ] {
            assert_eq!(run(own, call as u32, None), None);
        }
        assert_eq!(run(0x1234, 1, None), None, "of an unknown instruction set");
    }
}
