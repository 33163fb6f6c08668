//! The system calls that a rehearsal sees, with their numbers, and which of their arguments matter.
//!
//! The numbers are the kernel's and never change. They are listed here for three instruction sets
//! because a 64-bit kernel also runs 32-bit programs, whose numbers no library of this program
//! knows.

/// An instruction set of a traced program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Abi {
    /// 64-bit x86.
    X86_64,
    /// 64-bit ARM.
    Aarch64,
    /// 32-bit x86.
    I386,
}

impl Abi {
    /// Those of the programs that run here, this program's own first.
    pub(crate) const HERE: &'static [Abi] =
        if cfg!(target_arch = "aarch64") { &[Abi::Aarch64] } else { &[Abi::X86_64, Abi::I386] };

    /// The kernel's `AUDIT_ARCH` constant.
    pub(crate) const fn audit(self) -> u32 {
        match self {
            Abi::X86_64 => 0xC000_003E,
            Abi::Aarch64 => 0xC000_00B7,
            Abi::I386 => 0x4000_0003,
        }
    }
}

/// When a call is seen, by the lower 32 bits of an argument. Other calls run at full speed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum When {
    /// Always.
    Always,
    /// If any of the bits is set.
    With { argument: u8, bits: u32 },
    /// If it is another value.
    Unless { argument: u8, value: u32 },
    /// If it is one of the values.
    OneOf { argument: u8, values: &'static [u32] },
    /// If these flags open something that can be read or written: no directory and no `O_PATH`.
    OpensFile { argument: u8 },
}

/// A call that is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TracedCall {
    Open,
    Creat,
    OpenAt,
    OpenAt2,
    OpenByHandle,
    Execve,
    ExecveAt,
    Fsync,
    Fdatasync,
    Sync,
    Syncfs,
    SyncFileRange,
    Msync,
    SetFlags,
    Mmap,
    SendFile,
    CopyFileRange,
    Splice,
    Fallocate,
    Clone,
    FileAdvice,
    ReadAhead,
    MemoryAdvice,
    SyncedWrite,
    UringSetup,
    AioSetup,
    Rename,
    RenameAt,
    RenameAt2,
    Link,
    LinkAt,
    Ptrace,
    NewTask,
    NewTask3,
    Pipe,
    Pipe2,
    Socket,
    SocketPair,
    MemoryFile,
}

/// A call, its numbers on x86-64, 64-bit ARM and 32-bit x86, and when it is seen.
pub(crate) struct CallRow {
    pub(crate) call: TracedCall,
    numbers: [u32; 3],
    pub(crate) when: When,
}

impl CallRow {
    /// The call's number, if there is such a call.
    pub(crate) fn number(&self, abi: Abi) -> Option<u32> {
        let [x86_64, aarch64, i386] = self.numbers;
        let number = match abi {
            Abi::X86_64 => x86_64,
            Abi::Aarch64 => aarch64,
            Abi::I386 => i386,
        };
        (number != NONE).then_some(number)
    }
}

/// Stands for a call that an instruction set does not have, or whose arguments differ there.
const NONE: u32 = u32::MAX;

const MAP_NOTHING: u32 = u32::MAX;
const SYNC_WRITE: u32 = (libc::RWF_SYNC | libc::RWF_DSYNC) as u32;

/// Clones of a whole file and of a part: their request numbers are the same everywhere.
pub(crate) const FICLONE: u32 = 0x4004_9409;
pub(crate) const FICLONERANGE: u32 = 0x4020_940D;

/// Hints on mappings, with those that load pages. `MADV_DONTNEED` evicts nothing from the page
/// cache, and allocators call it all the time.
const MEMORY_ADVICE: &[u32] = &[
    libc::MADV_RANDOM as u32,
    libc::MADV_SEQUENTIAL as u32,
    libc::MADV_WILLNEED as u32,
    libc::MADV_POPULATE_READ as u32,
    libc::MADV_POPULATE_WRITE as u32,
];

const fn row(call: TracedCall, numbers: [u32; 3], when: When) -> CallRow {
    CallRow { call, numbers, when }
}

/// All calls that are seen. A call's place is the data of its stop.
pub(crate) static CALLS: &[CallRow] = &[
    row(TracedCall::OpenAt, [257, 56, 295], When::OpensFile { argument: 2 }),
    row(TracedCall::Open, [2, NONE, 5], When::OpensFile { argument: 1 }),
    row(TracedCall::Mmap, [9, 222, 192], When::Unless { argument: 4, value: MAP_NOTHING }),
    row(TracedCall::Fsync, [74, 82, 118], When::Always),
    row(TracedCall::Fdatasync, [75, 83, 148], When::Always),
    row(TracedCall::Creat, [85, NONE, 8], When::Always),
    row(TracedCall::OpenAt2, [437, 437, 437], When::Always),
    row(TracedCall::OpenByHandle, [304, 265, 342], When::OpensFile { argument: 2 }),
    row(TracedCall::Execve, [59, 221, 11], When::Always),
    row(TracedCall::ExecveAt, [322, 281, 358], When::Always),
    row(TracedCall::Sync, [162, 81, 36], When::Always),
    row(TracedCall::Syncfs, [306, 267, 344], When::Always),
    row(TracedCall::SyncFileRange, [277, 84, NONE], When::Always),
    row(TracedCall::Msync, [26, 227, 144], When::With { argument: 2, bits: libc::MS_SYNC as u32 }),
    row(TracedCall::SetFlags, [72, 25, NONE], When::OneOf { argument: 1, values: &[SET_FLAGS] }),
    row(TracedCall::SendFile, [40, 71, 239], When::Always),
    row(TracedCall::CopyFileRange, [326, 285, 377], When::Always),
    row(TracedCall::Splice, [275, 76, 313], When::Always),
    row(TracedCall::Fallocate, [285, 47, 324], When::Always),
    row(
        TracedCall::Clone,
        [16, 29, 54],
        When::OneOf { argument: 1, values: &[FICLONE, FICLONERANGE] },
    ),
    row(TracedCall::FileAdvice, [221, 223, NONE], When::Always),
    row(TracedCall::ReadAhead, [187, 213, 225], When::Always),
    row(
        TracedCall::MemoryAdvice,
        [28, 233, 219],
        When::OneOf { argument: 2, values: MEMORY_ADVICE },
    ),
    row(TracedCall::SyncedWrite, [328, 287, NONE], When::With { argument: 5, bits: SYNC_WRITE }),
    row(TracedCall::UringSetup, [425, 425, 425], When::Always),
    row(TracedCall::AioSetup, [206, 0, 245], When::Always),
    row(TracedCall::Rename, [82, NONE, 38], When::Always),
    row(TracedCall::RenameAt, [264, 38, 302], When::Always),
    row(TracedCall::RenameAt2, [316, 276, 353], When::Always),
    row(TracedCall::Link, [86, NONE, 9], When::Always),
    row(TracedCall::LinkAt, [265, 37, 303], When::Always),
    row(TracedCall::Ptrace, [101, 117, 26], When::Always),
    row(
        TracedCall::NewTask,
        [56, 220, 120],
        When::With { argument: 0, bits: libc::CLONE_UNTRACED as u32 },
    ),
    row(TracedCall::NewTask3, [435, 435, 435], When::Always),
    row(TracedCall::Pipe, [22, NONE, 42], When::Always),
    row(TracedCall::Pipe2, [293, 59, 331], When::Always),
    row(TracedCall::Socket, [41, 198, 359], When::Always),
    row(TracedCall::SocketPair, [53, 199, 360], When::Always),
    row(TracedCall::MemoryFile, [319, 279, 356], When::Always),
];

const SET_FLAGS: u32 = libc::F_SETFL as u32;

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of this machine's instruction set, as the C library has them.
    #[test]
    fn numbers_are_those_of_the_library() {
        let known = [
            (TracedCall::OpenAt, libc::SYS_openat),
            (TracedCall::OpenAt2, libc::SYS_openat2),
            (TracedCall::OpenByHandle, libc::SYS_open_by_handle_at),
            (TracedCall::Execve, libc::SYS_execve),
            (TracedCall::ExecveAt, libc::SYS_execveat),
            (TracedCall::Fsync, libc::SYS_fsync),
            (TracedCall::Fdatasync, libc::SYS_fdatasync),
            (TracedCall::Sync, libc::SYS_sync),
            (TracedCall::Syncfs, libc::SYS_syncfs),
            (TracedCall::Msync, libc::SYS_msync),
            (TracedCall::SetFlags, libc::SYS_fcntl),
            (TracedCall::Mmap, libc::SYS_mmap),
            (TracedCall::SendFile, libc::SYS_sendfile),
            (TracedCall::CopyFileRange, libc::SYS_copy_file_range),
            (TracedCall::Splice, libc::SYS_splice),
            (TracedCall::Fallocate, libc::SYS_fallocate),
            (TracedCall::Clone, libc::SYS_ioctl),
            (TracedCall::FileAdvice, libc::SYS_fadvise64),
            (TracedCall::ReadAhead, libc::SYS_readahead),
            (TracedCall::MemoryAdvice, libc::SYS_madvise),
            (TracedCall::SyncedWrite, libc::SYS_pwritev2),
            (TracedCall::UringSetup, libc::SYS_io_uring_setup),
            (TracedCall::AioSetup, libc::SYS_io_setup),
            (TracedCall::RenameAt2, libc::SYS_renameat2),
            (TracedCall::LinkAt, libc::SYS_linkat),
            (TracedCall::Ptrace, libc::SYS_ptrace),
            (TracedCall::NewTask, libc::SYS_clone),
            (TracedCall::NewTask3, libc::SYS_clone3),
            (TracedCall::Pipe2, libc::SYS_pipe2),
            (TracedCall::Socket, libc::SYS_socket),
            (TracedCall::SocketPair, libc::SYS_socketpair),
            (TracedCall::MemoryFile, libc::SYS_memfd_create),
            #[cfg(target_arch = "x86_64")]
            (TracedCall::Pipe, libc::SYS_pipe),
            #[cfg(target_arch = "x86_64")]
            (TracedCall::Open, libc::SYS_open),
            #[cfg(target_arch = "x86_64")]
            (TracedCall::Creat, libc::SYS_creat),
            #[cfg(target_arch = "x86_64")]
            (TracedCall::SyncFileRange, libc::SYS_sync_file_range),
            #[cfg(target_arch = "x86_64")]
            (TracedCall::Rename, libc::SYS_rename),
            #[cfg(target_arch = "x86_64")]
            (TracedCall::RenameAt, libc::SYS_renameat),
            #[cfg(target_arch = "x86_64")]
            (TracedCall::Link, libc::SYS_link),
        ];
        for (call, number) in known {
            let row = CALLS.iter().find(|row| row.call == call).unwrap();
            assert_eq!(row.number(Abi::HERE[0]).map(i64::from), Some(number), "{call:?}");
        }
    }

    #[test]
    fn each_call_is_listed_once() {
        for (place, row) in CALLS.iter().enumerate() {
            assert!(CALLS[..place].iter().all(|other| other.call != row.call), "{:?}", row.call);
        }
    }
}
