//! Threads that are each bound to one CPU.

use crate::engine::Obstacle;
use std::io;
use std::sync::OnceLock;
use witness::placement;

/// The CPUs that threads are bound to, in turn; none where the OS places them.
static CPUS: OnceLock<Vec<u32>> = OnceLock::new();

/// From now on each thread of a team runs on one of the CPUs that this process may use: the first
/// on the first, and round and round.
///
/// # Errors
/// When the OS does not tell which these are.
pub fn pin_threads() -> io::Result<()> {
    let cpus = placement::allowed()?;
    CPUS.get_or_init(|| cpus);
    Ok(())
}

/// Binds the calling thread, which is `thread` of its team, if threads are to be bound.
pub fn take(thread: u32) -> Result<(), Obstacle> {
    let Some(cpus) = CPUS.get().filter(|cpus| !cpus.is_empty()) else { return Ok(()) };
    let cpu = cpus[thread as usize % cpus.len()];
    placement::run_on(&[cpu])
        .map_err(|error| Obstacle::Failed(format!("binding a thread to CPU {cpu} failed: {error}")))
}
