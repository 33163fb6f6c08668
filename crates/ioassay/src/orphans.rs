//! Finds and kills processes that a worker started and left behind.
//!
//! A process that leaves the worker's group and loses its parent becomes a child of the nearest
//! ancestor that adopts orphans. This program does that, so after a worker exits, all its remaining
//! descendants are our children.

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

/// The environment variable that names the worker from which a process descends. A process without
/// it is killed along with the next worker.
const MARK: &str = "IOASSAY_WORKER";

/// Maximum time to spend on killing leftover processes.
const LIMIT: Duration = Duration::from_secs(1);

/// How long they get to exit before the next check.
const STEP: Duration = Duration::from_millis(2);

/// Whether this process adopts orphans.
static ADOPTS: AtomicBool = AtomicBool::new(false);

/// The marks of live workers, by PID.
static WORKERS: Mutex<BTreeMap<u32, String>> = Mutex::new(BTreeMap::new());

/// Makes this process adopt whatever workers leave behind, so that dropping a [`Worker`] finds it.
///
/// Does nothing if this process already has children, started before an `exec`: their orphans would
/// look like those of workers.
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

/// A live worker process.
#[derive(Debug)]
pub struct Worker {
    pid: u32,
}

impl Worker {
    /// Starts `command` as a worker.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(command: &mut Command) -> std::io::Result<(Child, Worker)> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{MARK}={}.{number}", std::process::id());
        command.env(MARK, &mark[MARK.len() + 1..]);
        // While a worker starts, no other thread may take it for something that is left behind.
        let mut workers = workers();
        let child = command.spawn()?;
        let pid = child.id();
        workers.insert(pid, mark);
        Ok((child, Worker { pid }))
    }
}

impl Drop for Worker {
    /// Once the process has ended: kills its leftovers, and waits for them up to a limit.
    fn drop(&mut self) {
        workers().remove(&self.pid);
        if !ADOPTS.load(Ordering::Relaxed) {
            return;
        }
        let deadline = Deadline::after(LIMIT);
        loop {
            // A process that ends passes its children to us; the next iteration finds them.
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

/// Kills a child and collects its status. Until then, its PID cannot be reused.
fn end(child: Pid) {
    match kill_process(child, Signal::KILL) {
        Ok(()) | Err(Errno::SRCH) => {}
        Err(error) => log::debug!("cannot kill {child:?}, which a worker left behind: {error}"),
    }
    if let Err(error) = waitpid(Some(child), WaitOptions::NOHANG) {
        log::debug!("cannot wait for {child:?}, which a worker left behind: {error}");
    }
}

/// Whether a child is neither a live worker nor a descendant of one.
fn is_left(child: &Pid) -> bool {
    let id = child.as_raw_nonzero().get();
    let workers = workers();
    if workers.contains_key(&id.unsigned_abs()) {
        return false;
    }
    let environment = std::fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
    let has =
        |mark: &String| environment.split(|byte| *byte == 0).any(|own| own == mark.as_bytes());
    !workers.values().any(has)
}

fn workers() -> MutexGuard<'static, BTreeMap<u32, String>> {
    WORKERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The children of this process.
fn children() -> Vec<Pid> {
    listed_children().unwrap_or_else(found_children)
}

/// The children of this process as the OS lists them; `None` if it does not, or if a thread ended
/// meanwhile, which passed its children to another.
fn listed_children() -> Option<Vec<Pid>> {
    let mut children = Vec::new();
    for task in std::fs::read_dir("/proc/self/task").ok()? {
        let listed = std::fs::read_to_string(task.ok()?.path().join("children")).ok()?;
        children
            .extend(listed.split_ascii_whitespace().flat_map(str::parse).flat_map(Pid::from_raw));
    }
    Some(children)
}

/// The same, found among all processes.
fn found_children() -> Vec<Pid> {
    let own = getpid();
    let mut children = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let number = entry.file_name().to_str().and_then(|name| name.parse().ok());
        let Some(pid) = number.and_then(Pid::from_raw) else { continue };
        // One that has ended meanwhile no longer counts.
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        if parent(&stat) == Some(own) {
            children.push(pid);
        }
    }
    children
}

/// Parses the parent from `/proc/PID/stat`: `7 (a name) S 1 …`. Names may contain any character.
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
        assert!(children().contains(&pid) && found_children().contains(&pid));
        assert!(!is_left(&pid));
        // Pretend that it descends from another worker.
        let mark = workers().remove(&worker.pid).unwrap();
        assert!(is_left(&pid));
        workers().insert(u32::MAX, mark);
        // Its environment is visible once it runs its own program.
        while is_left(&pid) {
            std::thread::sleep(STEP);
        }
        workers().remove(&u32::MAX);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
