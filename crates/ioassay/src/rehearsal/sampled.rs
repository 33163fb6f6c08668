//! A rehearsal where programs cannot be traced: the command runs as in a timed run, and its open
//! files are looked at until it ends.

use model::rehearsal::{Blind, CommandEnd, FactSheet, StopCause, Unseen};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::fs::File;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};
use witness::rehearsal::{RehearsalError, Rehearsed, Sampler};
use worker::tree;

/// Pause between two looks: files that are open for a shorter time may be missed.
const PAUSE: Duration = Duration::from_millis(1);
/// A pause is at least so many times as long as a look, which would take the command's processors.
const PAUSE_TIMES: u32 = 3;

/// What the command had open when it was looked at. `untraced` is why it was not traced.
///
/// # Errors
/// If it cannot be started or waited for.
pub(super) fn sampled(rehearsed: &Rehearsed, untraced: &str) -> Result<FactSheet, RehearsalError> {
    let not_started = |answer| {
        let program = rehearsed.program.clone();
        RehearsalError::NotStarted { program, answer }
    };
    let seen = run(rehearsed).map_err(not_started)??;
    let unseen = Unseen { what: Blind::Untraced, detail: untraced.to_string() };
    Ok(FactSheet { unseen: [vec![unseen], seen.unseen].concat(), ..seen })
}

fn run(rehearsed: &Rehearsed) -> io::Result<Result<FactSheet, RehearsalError>> {
    tree::adopt()?;
    let stream = |file: &File| file.try_clone().map(Stdio::from);
    let mut command = Command::new(&rehearsed.program);
    command.args(&rehearsed.arguments).process_group(0);
    command.stdin(stream(&rehearsed.stdin)?).stdout(stream(&rehearsed.stdout)?);
    command.stderr(stream(&rehearsed.stderr)?);
    let mut child = tree::start(&mut command)?;
    // The readers of its output would wait for these copies, too.
    drop(command);
    let mut sampler = Sampler::default();
    let is_stopped = || rehearsed.stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
    let end = loop {
        let since = Instant::now();
        sampler.look(child.id());
        if let Some(status) = child.try_wait()? {
            break end_of(status);
        }
        if let Some(signal) = halted(&child)? {
            tree::end_all();
            return Ok(Err(RehearsalError::Halted { signal }));
        }
        if is_stopped() {
            tree::end_all();
            break CommandEnd::Stopped(StopCause::Asked);
        }
        thread::sleep(since.elapsed().saturating_mul(PAUSE_TIMES).max(PAUSE));
    };
    let left_behind = match tree::has_no_children() {
        Ok(true) => 0,
        _ => witness::descendants(std::process::id()).map_or(1, |left| left.len() as u64),
    };
    tree::end_all();
    Ok(Ok(FactSheet { end: Some(end), left_behind, ..sampler.finish() }))
}

/// The signal that stopped the command, if one did. That is not collected.
fn halted(child: &Child) -> io::Result<Option<i32>> {
    let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let found = waitid(WaitId::Pid(Pid::from_child(child)), options)?;
    Ok(found.and_then(|status| status.stopping_signal()))
}

fn end_of(status: ExitStatus) -> CommandEnd {
    match status.code() {
        Some(code) => CommandEnd::Exited(code),
        None => CommandEnd::Signaled(status.signal().unwrap_or(0)),
    }
}
