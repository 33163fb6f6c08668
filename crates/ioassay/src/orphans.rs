//! Finds and ends processes that a worker started and left behind.
//!
//! A process that leaves the worker's group and loses its parent becomes a child of the nearest
//! ancestor that adopts orphans. This program does, so after a worker's end all of its descendants
//! are our children.

use crate::deadline::Deadline;
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, waitpid,
};
use std::collections::BTreeMap;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

/// The environment variable with the worker that a process descends from. A process without it is
/// ended with the next worker.
const MARK: &str = "IOASSAY_WORKER";

/// How long those that were left behind are hunted.
const LIMIT: Duration = Duration::from_secs(1);

/// How long they get to end before they are looked for again.
const STEP: Duration = Duration::from_millis(2);

/// Whether orphans come to this process.
static ADOPTS: AtomicBool = AtomicBool::new(false);

/// The marks of the workers that live, by process.
static WORKERS: Mutex<BTreeMap<u32, String>> = Mutex::new(BTreeMap::new());

/// Has whatever workers leave behind come to this process, so that [`Worker::end`] finds it.
///
/// Not if this process already has children, started before an `exec`: their orphans would look
/// like those of workers.
pub fn adopt() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if !children().is_empty() {
            log::debug!(
                "this process has children of another program, so it does not adopt \
                         orphans"
            );
            return;
        }
        match set_child_subreaper(Some(getpid())) {
            Ok(()) => ADOPTS.store(true, Ordering::Relaxed),
            Err(error) => log::debug!("cannot adopt orphans: {error}"),
        }
    });
}

/// A worker's process among those that live.
#[derive(Debug)]
pub struct Worker {
    pid: u32,
}

impl Worker {
    /// Starts `command` as a worker.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(command: &mut Command) -> std::io::Result<(Child, Worker)> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{MARK}={}.{number}", std::process::id());
        command.env(MARK, &mark[MARK.len() + 1..]);
        let child = command.spawn()?;
        let pid = child.id();
        workers().insert(pid, mark);
        Ok((child, Worker { pid }))
    }
}

impl Drop for Worker {
    /// After the process has ended: ends its leftovers, and waits for them up to a limit.
    fn drop(&mut self) {
        workers().remove(&self.pid);
        if !ADOPTS.load(Ordering::Relaxed) {
            return;
        }
        let deadline = Deadline::after(LIMIT);
        loop {
            // An ended process leaves its children to us: the next pass finds them.
            let left: Vec<Pid> = children().into_iter().filter(is_left).collect();
            if left.is_empty() {
                return;
            }
            if deadline.is_over() {
                log::warn!("processes that a worker started still run: {left:?}");
                return;
            }
            left.into_iter().for_each(end);
            std::thread::sleep(STEP);
        }
    }
}

/// Kills a child and takes its status. Its number stays its own until then.
fn end(child: Pid) {
    match kill_process(child, Signal::KILL) {
        Ok(()) | Err(Errno::SRCH) => {}
        Err(error) => log::debug!("cannot kill {child:?}, which a worker left behind: {error}"),
    }
    if let Err(error) = waitpid(Some(child), WaitOptions::NOHANG) {
        log::debug!("cannot wait for {child:?}, which a worker left behind: {error}");
    }
}

/// Whether a child is neither a worker that lives nor descends from one.
fn is_left(child: &Pid) -> bool {
    let id = child.as_raw_nonzero().get();
    let workers = workers();
    let environment = std::fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
    let has =
        |mark: &String| environment.split(|byte| *byte == 0).any(|own| own == mark.as_bytes());
    !workers.contains_key(&id.unsigned_abs()) && !workers.values().any(has)
}

fn workers() -> MutexGuard<'static, BTreeMap<u32, String>> {
    WORKERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The children of this process.
fn children() -> Vec<Pid> {
    let own = getpid();
    let mut children = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let number = entry.file_name().to_str().and_then(|name| name.parse().ok());
        let Some(pid) = number.and_then(Pid::from_raw) else { continue };
        // One that ended meanwhile is no child.
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        if parent(&stat) == Some(own) {
            children.push(pid);
        }
    }
    children
}

/// The parent in a `stat` of `/proc`: `7 (a name) S 1 …`. Names may have any character.
fn parent(stat: &str) -> Option<Pid> {
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split_ascii_whitespace().nth(1)?.parse().ok().and_then(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_found_whatever_the_name() {
        let parent = |stat| parent(stat).map(|pid| pid.as_raw_nonzero().get());
        assert_eq!(parent("7 (sh) S 12 7 7 0"), Some(12));
        assert_eq!(parent("7 (a) R 1 (b) ) S 12 7 7 0"), Some(12));
        for none in ["7 (kthreadd) S 0 0 0", "7 (sh) S", "7 (sh", ""] {
            assert_eq!(parent(none), None, "{none}");
        }
    }

    #[test]
    fn a_child_is_found_and_one_of_a_living_worker_is_not_left() {
        let (mut child, worker) = Worker::start(Command::new("sleep").arg("60")).unwrap();
        let pid = Pid::from_child(&child);
        assert!(children().contains(&pid));
        assert!(!is_left(&pid));
        // As if another descended from it.
        let mark = workers().remove(&worker.pid).unwrap();
        assert!(is_left(&pid));
        workers().insert(u32::MAX, mark);
        // Its variables are there once it runs its own program.
        while is_left(&pid) {
            std::thread::sleep(STEP);
        }
        workers().remove(&u32::MAX);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
