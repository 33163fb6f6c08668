//! The streams of the coordinator, which a worker passes on to a command if it is asked to.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::sync::OnceLock;

/// The variable with the numbers of two descriptors: a worker's copies of its coordinator's stdout
/// and stderr, whose own lead to the coordinator.
pub const VARIABLE: &str = "IOASSAY_STREAMS";

/// Takes the coordinator's streams from the variable.
fn taken() -> Option<[OwnedFd; 2]> {
    let text = std::env::var(VARIABLE).ok()?;
    let (stdout, stderr) = text.split_once(',')?;
    let numbers: [RawFd; 2] = [stdout.parse().ok()?, stderr.parse().ok()?];
    if numbers[0] == numbers[1] || numbers.iter().any(|number| *number <= libc::STDERR_FILENO) {
        return None;
    }
    for number in numbers {
        // SAFETY: the call takes plain numbers; programs that are started do not inherit it.
        if unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) } == -1 {
            return None;
        }
    }
    // SAFETY: the coordinator made these descriptors for this process, and only this function,
    // which runs once, takes them.
    Some(numbers.map(|number| unsafe { OwnedFd::from_raw_fd(number) }))
}

/// The coordinator's streams, if it passed them on. The variable is not needed any more then.
pub(crate) fn kept() -> Option<&'static [OwnedFd; 2]> {
    static STREAMS: OnceLock<Option<[OwnedFd; 2]>> = OnceLock::new();
    STREAMS.get_or_init(taken).as_ref()
}

/// Copies of the coordinator's stdout and stderr.
///
/// # Errors
/// If this process has none.
pub fn inherited() -> io::Result<[OwnedFd; 2]> {
    let none = || io::Error::other("the coordinator passed on no streams");
    let [stdout, stderr] = kept().ok_or_else(none)?;
    Ok([stdout.try_clone()?, stderr.try_clone()?])
}
