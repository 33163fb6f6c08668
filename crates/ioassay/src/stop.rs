//! SIGINT and SIGTERM: a run ends in order, removes its file and leaves a whole record.

use signal_hook::consts::{SIGINT, SIGTERM};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Whether somebody asked the run to stop.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    signal: Arc<AtomicUsize>,
}

impl Stop {
    /// Takes both signals over for the rest of the process.
    ///
    /// # Errors
    /// When the OS does not let a handler be set.
    pub fn on_signals() -> io::Result<Stop> {
        let stop = Stop::default();
        for signal in [SIGINT, SIGTERM] {
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
}
