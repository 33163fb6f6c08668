//! The processes below this one: it adopts all that a command starts, and ends all of them.
//!
//! A command is in a process group of its own, so whoever ends this process does not end it. So a
//! thread waits for the signals that do, which include the end of the coordinator, and ends the
//! processes first.

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, getpid, kill_process, kill_process_group, set_child_subreaper,
    set_parent_process_death_signal, wait,
};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

/// How long a command may go on after SIGTERM, to remove its temporary files. The coordinator has
/// little patience then.
const GRACE: Duration = Duration::from_millis(50);
/// Interval between checks.
pub(crate) const STEP: Duration = Duration::from_millis(1);
/// Checks until processes that cannot be killed are given up.
const CHECKS_MAX: u32 = 5000;

/// Held while a process is started, and for good by the thread that ends all: nothing is started
/// after it looked.
static STARTING: Mutex<()> = Mutex::new(());
/// The group of the command that runs; 0 without any.
static GROUP: AtomicI32 = AtomicI32::new(0);

/// Makes this process adopt what its descendants leave behind, and end all of them when a signal or
/// the end of its parent ends it.
///
/// # Errors
/// If the OS refuses.
pub fn adopt() -> io::Result<()> {
    static ADOPTED: OnceLock<()> = OnceLock::new();
    if ADOPTED.get().is_some() {
        return Ok(());
    }
    // SAFETY: the default action replaces no handler of this program's. Where the parent ignores
    // the signal, children would vanish without a status, and what they used with them.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
    set_child_subreaper(Some(getpid()))?;
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM])?;
    thread::Builder::new().name("ends all".to_string()).spawn(move || {
        if let Some(signal) = signals.forever().next() {
            // Never released: nothing is started any more.
            let _starting = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
            end_gently(GRACE);
            std::process::exit(signal.saturating_add(128));
        }
    })?;
    set_parent_process_death_signal(Some(Signal::TERM))?;
    ADOPTED.get_or_init(|| ());
    Ok(())
}

/// Starts `command`, which must be in a process group of its own.
///
/// # Errors
/// If it cannot be started.
pub fn start(command: &mut Command) -> io::Result<Child> {
    let _starting = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    let child = command.spawn()?;
    GROUP.store(child.id().cast_signed(), Ordering::Relaxed);
    Ok(child)
}

/// Collects the children that have ended. Returns whether none is left.
///
/// # Errors
/// If the OS does not tell.
pub fn has_no_children() -> Result<bool, String> {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => return Ok(false),
            Err(Errno::CHILD) => return Ok(true),
            Err(Errno::INTR) => {}
            Err(error) => return Err(format!("waiting for what the command started: {error}")),
        }
    }
}

/// The processes below this one; only its children if there are too many to follow, or if the OS
/// lists no others.
pub(crate) fn below() -> Vec<u32> {
    let own = std::process::id();
    witness::descendants(own).or_else(|| witness::children(own)).unwrap_or_default()
}

/// Ends the group of the command that was started last and every process below this one, and
/// collects them.
pub fn end_all() {
    let group = GROUP.swap(0, Ordering::Relaxed);
    for _ in 0..CHECKS_MAX {
        // One that is gone is no error. A whole group ends at once, however fast it forks.
        let _gone = Pid::from_raw(group).map(|group| kill_process_group(group, Signal::KILL));
        for pid in below() {
            let _gone = Pid::from_raw(pid.cast_signed()).map(|pid| kill_process(pid, Signal::KILL));
        }
        if !matches!(has_no_children(), Ok(false)) {
            return;
        }
        thread::sleep(STEP);
    }
}

/// The same, but lets them end by themselves within `grace`.
pub fn end_gently(grace: Duration) {
    let group = Pid::from_raw(GROUP.load(Ordering::Relaxed));
    let _gone = group.map(|group| kill_process_group(group, Signal::TERM));
    for pid in below() {
        let _gone = Pid::from_raw(pid.cast_signed()).map(|pid| kill_process(pid, Signal::TERM));
    }
    let checks = grace.as_millis() / STEP.as_millis();
    for _ in 0..checks {
        if !matches!(has_no_children(), Ok(false)) {
            return;
        }
        thread::sleep(STEP);
    }
    end_all();
}
