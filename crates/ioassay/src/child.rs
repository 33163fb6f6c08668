//! A child process: what it last wrote to its stderr, and its end.
//!
//! It uses no threads: stderr does not block, and whoever waits for the child reads it meanwhile.

use crate::deadline::Deadline;
use crate::orphans::Worker;
use anyhow::{Context, Result};
use model::printable::printable;
use rustix::io::{Errno, ioctl_fionbio};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::io::{ErrorKind, Read};
use std::iter::once;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

/// How much of stderr is kept, in bytes: its end.
const LAST_WORDS_BYTES: usize = 2000;

/// How much of stderr is read at once: a process that floods it must not block us.
const STDERR_BYTES_MAX: usize = 1 << 20;

/// How long it may take to exit after SIGKILL. If the OS keeps it for longer, we stop waiting.
const END_BY_KILL: Duration = Duration::from_secs(5);

/// Interval between checks whether it has exited.
const END_STEP: Duration = Duration::from_millis(2);

/// How long a process may take to exit.
#[derive(Debug, Clone, Copy)]
pub struct Farewell {
    /// After its input ended, before SIGTERM.
    pub by_itself: Duration,
    /// After SIGTERM, before SIGKILL.
    pub by_term: Duration,
}

/// A child process and its stderr.
#[derive(Debug)]
pub struct ChildProcess {
    /// What errors call it, such as `the worker`.
    name: String,
    child: Child,
    stderr: ChildStderr,
    last_words: Vec<u8>,
    /// `None` once it has exited.
    worker: Option<Worker>,
}

impl ChildProcess {
    /// Starts `command`. Whoever set up its stdin and stdout takes them from the second value.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(mut command: Command, name: &str) -> Result<(ChildProcess, Pipes)> {
        // A process group of its own, so that an interrupt from the keyboard reaches only this
        // program.
        command.process_group(0).stderr(Stdio::piped());
        // Its variables stay unnamed: one may be a secret.
        let words: Vec<_> = once(command.get_program()).chain(command.get_args()).collect();
        let called = format!("{words:?}");
        let (mut child, worker) = Worker::start(&mut command)
            .with_context(|| format!("failed to start {name} {called}"))?;
        let pipes = Pipes { stdin: child.stdin.take(), stdout: child.stdout.take() };
        let stderr = child.stderr.take().expect("stderr is a pipe");
        let unblocked = ioctl_fionbio(&stderr, true);
        let process = ChildProcess {
            name: name.to_owned(),
            child,
            stderr,
            last_words: Vec::new(),
            worker: Some(worker),
        };
        unblocked.with_context(|| format!("failed to make pipes of {name} non-blocking"))?;
        Ok((process, pipes))
    }

    /// Its PID.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its stderr, to wait for.
    pub fn stderr(&self) -> &ChildStderr {
        &self.stderr
    }

    /// Reads stderr and keeps its end: a process that cannot write there would hang. Returns
    /// whether more may follow.
    pub fn hear_stderr(&mut self) -> bool {
        let mut chunk = [0; 4096];
        for _ in 0..STDERR_BYTES_MAX / chunk.len() {
            match self.stderr.read(&mut chunk) {
                Ok(0) => return false,
                Ok(count) => {
                    self.last_words.extend_from_slice(&chunk[..count]);
                    let excess = self.last_words.len().saturating_sub(LAST_WORDS_BYTES);
                    self.last_words.drain(..excess);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
        }
        true
    }

    /// Whether it has exited. Leaves its status for later.
    pub fn has_ended(&self) -> bool {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let seen = waitid(WaitId::Pid(Pid::from_child(&self.child)), look);
        !matches!(seen, Ok(None) | Err(Errno::INTR))
    }

    /// Ends it, and describes how it ended.
    pub fn death(&mut self, seen: &str, farewell: Farewell) -> String {
        self.end(farewell);
        let status = match self.child.try_wait() {
            Ok(Some(status)) => format!(" ({status})"),
            Ok(None) | Err(_) => String::new(),
        };
        self.hear_stderr();
        match self.last_words() {
            None => format!("{seen}{status}"),
            Some(words) => format!("{seen}{status}; its stderr: {words}"),
        }
    }

    /// The end of its stderr, without control characters: even our own colors would be misleading
    /// in it. `None` if it wrote nothing.
    pub fn last_words(&self) -> Option<String> {
        let words = String::from_utf8_lossy(&self.last_words);
        let lines: Vec<_> = words.trim().lines().map(printable).collect();
        let words = lines.join("\n");
        Some(words).filter(|words| !words.is_empty())
    }

    /// Lets the process exit: gracefully if it is idle, otherwise by force. Nothing that it started
    /// outlives it. Its input must have ended.
    pub fn end(&mut self, farewell: Farewell) {
        let Some(worker) = self.worker.take() else { return };
        if !self.ends_within(farewell.by_itself) {
            self.signal(Signal::TERM);
            self.ends_within(farewell.by_term);
        }
        // Kill the whole group, even after a normal exit. The process's status is not collected
        // yet, so no other group can have its ID.
        self.signal(Signal::KILL);
        if !self.ends_within(END_BY_KILL) {
            log::warn!("{} ({}) did not end after SIGKILL", self.name, self.child.id());
        }
        if let Err(error) = self.child.try_wait() {
            log::debug!("the status of {} is unknown: {error}", self.name);
        }
        drop(worker);
    }

    /// Sends a signal to its process group. If the group no longer exists, that is fine.
    fn signal(&self, signal: Signal) {
        match kill_process_group(Pid::from_child(&self.child), signal) {
            Ok(()) | Err(Errno::SRCH) => {}
            Err(error) => {
                let name = &self.name;
                log::debug!("cannot send {signal:?} to the process group of {name}: {error}");
            }
        }
    }

    /// Whether it exits within `limit`.
    fn ends_within(&mut self, limit: Duration) -> bool {
        let deadline = Deadline::after(limit);
        loop {
            if self.has_ended() {
                return true;
            }
            if deadline.is_over() {
                return false;
            }
            self.hear_stderr();
            std::thread::sleep(END_STEP);
        }
    }
}

/// The pipes to a child, as far as its command has them.
#[derive(Debug)]
pub struct Pipes {
    /// To its stdin.
    pub stdin: Option<std::process::ChildStdin>,
    /// From its stdout.
    pub stdout: Option<std::process::ChildStdout>,
}
