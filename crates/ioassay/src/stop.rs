//! Signals that end a run: it ends in order, removes its files and leaves a whole record.

use anyhow::Result;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Whether somebody asked the run to stop.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    signal: Arc<AtomicUsize>,
}

impl Stop {
    /// Takes the signals over for the rest of the process. A hangup that whoever started it
    /// ignores, as `nohup` does, stays ignored.
    ///
    /// # Errors
    /// When the OS does not let a handler be set.
    pub fn on_signals() -> io::Result<Stop> {
        let stop = Stop::default();
        for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
            if signal == SIGHUP && is_ignored(signal) {
                continue;
            }
            let number = usize::try_from(signal).expect("signal numbers are small and positive");
            signal_hook::flag::register_usize(signal, Arc::clone(&stop.signal), number)?;
        }
        Ok(stop)
    }

    /// The exit code of a process that was stopped: 128 and the signal's number; none if nobody
    /// asked.
    pub fn exit_code(&self) -> Option<u8> {
        match self.signal.load(Ordering::Relaxed) {
            0 => None,
            signal => Some(128 + signal as u8),
        }
    }

    /// As if a signal had asked.
    #[cfg(test)]
    pub(crate) fn ask(&self) {
        self.signal.store(usize::try_from(SIGTERM).expect("it is positive"), Ordering::Relaxed);
    }

    /// Whether somebody asked.
    pub fn is_asked(&self) -> bool {
        self.exit_code().is_some()
    }

    /// The exit status of a command that came to `done`: that of the signal, where one came. What
    /// could not be done then is no error: it was not to be done any more.
    ///
    /// # Errors
    /// That of `done`, where nobody asked.
    pub fn status(&self, done: Result<u8>) -> Result<u8> {
        let Some(code) = self.exit_code() else { return done };
        if let Err(error) = done {
            log::info!("stopped: {error:#}");
        }
        Ok(code)
    }
}

/// Has a file that would become larger than `ulimit -f` allows be an error of the write, and not
/// the end of the process.
///
/// # Errors
/// When the OS does not let a handler be set.
pub fn survive_file_limit() -> io::Result<()> {
    signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false))).map(drop)
}

/// Whether this process was started with the signal ignored.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
    ignored.is_some_and(|signals| signals >> (signal - 1) & 1 == 1)
}
