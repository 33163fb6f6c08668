//! Signals that stop a run: it ends properly, removes its files and leaves a valid record.

use crate::status::Status;
use anyhow::{Error, Result};
use signal_hook::consts::{
    SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGXFSZ,
};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The signals that stop a run. Batch systems announce the end of a job with SIGUSR1, SIGUSR2 or
/// SIGXCPU, if you ask them to.
const SIGNALS: [i32; 7] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU];

/// Interval between stop checks while waiting.
const STEP: Duration = Duration::from_millis(50);

/// Whether a signal asked the run to stop.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    signal: Arc<AtomicUsize>,
    /// That of the whole, if this stops a part of it.
    whole: Option<Arc<AtomicUsize>>,
}

impl Stop {
    /// Handles the signals for the rest of the process. If the parent ignores hangups, as `nohup`
    /// does, they stay ignored.
    ///
    /// # Errors
    /// If the OS refuses to install a handler.
    pub fn on_signals() -> io::Result<Stop> {
        let stop = Stop::default();
        for signal in SIGNALS {
            if signal == SIGHUP && is_ignored(signal) {
                continue;
            }
            let number = usize::try_from(signal).expect("signal numbers are small and positive");
            signal_hook::flag::register_usize(signal, Arc::clone(&stop.signal), number)?;
        }
        Ok(stop)
    }

    /// Stops a part: asked for when the whole is, or by [`Stop::ask`], which leaves the whole
    /// alone.
    pub(crate) fn of_part(&self) -> Stop {
        Stop { signal: Arc::default(), whole: Some(Arc::clone(&self.signal)) }
    }

    /// Lets the part go on, unless the whole is asked to stop.
    pub(crate) fn go_on(&self) {
        self.signal.store(0, Ordering::Relaxed);
    }

    /// The exit status of a stopped process; `None` without a signal.
    pub fn exit_status(&self) -> Option<Status> {
        let all = std::iter::once(&self.signal).chain(&self.whole);
        let asked = all.map(|signal| signal.load(Ordering::Relaxed)).find(|signal| *signal != 0);
        asked.map(|signal| Status::of_signal(signal as u8))
    }

    /// Takes the signal that arrived: what follows is stopped only by another one.
    pub(crate) fn take(&self) -> usize {
        self.signal.swap(0, Ordering::Relaxed)
    }

    /// Gives back what was taken, unless another signal arrived meanwhile.
    pub(crate) fn give_back(&self, taken: usize) {
        // If one did, it decides the exit status.
        let _other = self.signal.compare_exchange(0, taken, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Acts as if a signal had arrived: who asked for the run is gone.
    pub(crate) fn ask(&self) {
        self.signal.store(usize::try_from(SIGTERM).expect("it is positive"), Ordering::Relaxed);
    }

    /// Whether a signal arrived.
    pub fn is_asked(&self) -> bool {
        self.exit_status().is_some()
    }

    /// Waits for `time`, or until a signal arrives.
    pub fn wait(&self, time: Duration) {
        let began = Instant::now();
        while !self.is_asked() {
            match time.saturating_sub(began.elapsed()).min(STEP) {
                Duration::ZERO => return,
                step => std::thread::sleep(step),
            }
        }
    }

    /// Whether an error is only that the command was interrupted.
    pub(crate) fn explains(&self, error: &Error) -> bool {
        self.is_asked() && !error.is::<EvenIfStopped>()
    }

    /// The exit status of a command with the result `done`: the signal's, if one arrived.
    ///
    /// # Errors
    /// The error in `done`, unless a signal explains it.
    pub fn status(&self, done: Result<Status>) -> Result<Status> {
        match (done, self.exit_status()) {
            (Err(error), Some(status)) if self.explains(&error) => {
                log::info!("stopped: {error:#}");
                Ok(status)
            }
            (Ok(_), Some(status)) => Ok(status),
            (done, _) => done,
        }
    }
}

/// What is wrong whether a signal stopped the command or not: a record that cannot be written, or
/// the user's own file that a peer has changed.
#[derive(Debug)]
pub(crate) struct EvenIfStopped(pub(crate) String);

impl fmt::Display for EvenIfStopped {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// Makes writes beyond `ulimit -f` fail instead of killing the process.
///
/// # Errors
/// If the OS refuses to install a handler.
pub fn survive_file_limit() -> io::Result<()> {
    signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false))).map(drop)
}

/// Lets children leave a status, even if the parent ignores SIGCHLD: otherwise they would vanish,
/// and with them what they used. Programs that are started have the default action.
///
/// # Errors
/// If the OS refuses to install a handler.
pub(crate) fn keep_children() -> io::Result<()> {
    if !is_ignored(SIGCHLD) {
        return Ok(());
    }
    signal_hook::flag::register(SIGCHLD, Arc::new(AtomicBool::new(false))).map(drop)
}

/// Whether this process was started with the signal ignored.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
    ignored.is_some_and(|signals| signals >> (signal - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::{Context, anyhow};

    #[test]
    fn a_signal_explains_every_error_but_those_that_it_cannot_cause() {
        let stop = Stop::default();
        let interrupted = || Err(anyhow!("no worker").context("the run ended early"));
        let lasting = || {
            let full = Err::<Status, _>(io::Error::other("the disk is full"));
            let unwritten = full.with_context(|| EvenIfStopped("failed to write it".to_string()));
            unwritten.context("the run ended early")
        };
        assert_eq!(stop.status(Ok(Status::DONE)).unwrap(), Status::DONE);
        stop.status(interrupted()).unwrap_err();
        stop.ask();
        assert_eq!(stop.status(Ok(Status::DONE)).unwrap().code(), 143);
        assert_eq!(stop.status(interrupted()).unwrap().code(), 143);
        let error = stop.status(lasting()).unwrap_err();
        assert_eq!(
            format!("{error:#}"),
            "the run ended early: failed to write it: the disk is full"
        );
        stop.status(Err(Error::msg(EvenIfStopped("a changed file".to_string())))).unwrap_err();
    }
}
