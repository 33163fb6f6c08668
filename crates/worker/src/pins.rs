//! Pinning threads to CPUs.

use crate::engine::Obstacle;
use std::io;
use std::sync::OnceLock;
use witness::placement;

/// The CPUs to pin threads to, in turn; unset if the OS places them.
static CPUS: OnceLock<Vec<u32>> = OnceLock::new();

/// Makes each thread of later teams run on one CPU. Threads take the CPUs that this process may use
/// in turn, and start over after the last.
///
/// # Errors
/// If the OS does not report the allowed CPUs.
pub fn pin_threads() -> io::Result<()> {
    let cpus = placement::allowed()?;
    CPUS.get_or_init(|| cpus);
    Ok(())
}

/// Pins the calling thread, number `thread` of its team, if threads are to be pinned.
pub fn take(thread: u32) -> Result<(), Obstacle> {
    CPUS.get().map_or(Ok(()), |cpus| turn(cpus, thread))
}

/// Pins the calling thread, number `thread` of its team, to that of `cpus` whose turn it is; not at
/// all if there are none.
///
/// # Errors
/// The OS's error, with the CPU.
pub fn turn(cpus: &[u32], thread: u32) -> Result<(), Obstacle> {
    let Some(index) = (thread as usize).checked_rem(cpus.len()) else { return Ok(()) };
    let cpu = cpus[index];
    placement::run_on(&[cpu])
        .map_err(|error| Obstacle::Failed(format!("binding a thread to CPU {cpu} failed: {error}")))
}
