//! The command that started all agents, which runs for as long as they do.

use crate::child::{ChildProcess, Farewell};
use anyhow::Result;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// How long it may take to exit: its agents have ended by themselves before. After SIGTERM, it ends
/// those that never connected, on their hosts.
const FAREWELL: Farewell =
    Farewell { by_itself: Duration::from_secs(2), by_term: Duration::from_secs(3) };

/// Interval between checks whether its stderr is still read.
const STEP: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// A launcher's process. It is ended on drop, after its agents.
#[derive(Debug)]
pub(super) struct Launched {
    name: String,
    child: Arc<Mutex<ChildProcess>>,
    is_over: Arc<AtomicBool>,
}

impl Launched {
    /// Starts `command`. Its stderr is read from now on: it has those of all agents, and must never
    /// be full.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(super) fn start(name: &str, mut command: Command) -> Result<Launched> {
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let (child, _) = ChildProcess::start(command, &format!("the launcher {name}"))?;
        let stderr = child.stderr().as_fd().try_clone_to_owned()?;
        let child = Arc::new(Mutex::new(child));
        let launched = Launched { name: name.to_owned(), child, is_over: Arc::default() };
        let (child, is_over) = (Arc::clone(&launched.child), Arc::clone(&launched.is_over));
        thread::Builder::new().spawn(move || hear(&child, &stderr, &is_over))?;
        Ok(launched)
    }

    /// Whether it has exited, and with it its agents.
    pub(super) fn has_ended(&self) -> bool {
        lock(&self.child).has_ended()
    }

    /// What became of it, for the error of an agent that never came.
    pub(super) fn state(&self) -> String {
        let mut child = lock(&self.child);
        if child.has_ended() {
            return child.death(&format!("{} ended", self.name), FAREWELL);
        }
        let words = child.last_words().map(|words| format!("; its stderr: {words}"));
        format!("{} still runs{}", self.name, words.unwrap_or_default())
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        lock(&self.child).end(FAREWELL);
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// Reads the stderr of `child` until its end, or until it is over.
fn hear(child: &Mutex<ChildProcess>, stderr: &OwnedFd, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        let ready = poll(&mut [PollFd::new(stderr, PollFlags::IN)], Some(&STEP));
        if ready != Ok(0) && !lock(child).hear_stderr() {
            return;
        }
    }
}

fn lock(child: &Mutex<ChildProcess>) -> MutexGuard<'_, ChildProcess> {
    child.lock().unwrap_or_else(PoisonError::into_inner)
}
