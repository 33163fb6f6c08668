//! Tells all agents once a second that their coordinator is there.

use anyhow::{Context, Result};
use model::agent::{Order, encode};
use std::fs::File;
use std::io::Write;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, TryLockError, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Interval between signs of life.
const BEAT: Duration = Duration::from_secs(1);

/// How soon an agent that was just being told something else is told.
const AGAIN: Duration = Duration::from_millis(50);

/// Where lines to an agent go.
type Input = Weak<Mutex<File>>;

/// A thread that tells agents that this process is there, until this is dropped.
#[derive(Debug)]
pub struct Pulse {
    goes_on: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Pulse {
    /// Begins, with the agents at these `inputs`.
    ///
    /// # Errors
    /// If the OS starts no thread.
    pub fn start(inputs: Vec<Input>) -> Result<Pulse> {
        let (goes_on, over) = channel();
        let thread = thread::Builder::new()
            .spawn(move || beat(&inputs, &over))
            .context("failed to start the thread that tells agents that this host is there")?;
        Ok(Pulse { goes_on: Some(goes_on), thread: Some(thread) })
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        self.goes_on = None;
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            log::warn!("the thread that tells agents that this host is there had a bug");
        }
    }
}

fn beat(inputs: &[Input], over: &Receiver<()>) {
    let line = encode(&Order::Alive) + "\n";
    loop {
        let said: Vec<bool> = inputs.iter().map(|input| say(input, line.as_bytes())).collect();
        let until_next = if said.contains(&false) { AGAIN } else { BEAT };
        if over.recv_timeout(until_next) != Err(RecvTimeoutError::Timeout) {
            return;
        }
    }
}

/// Writes a line to an agent. Returns whether it needs none for now: one that is gone needs none at
/// all. One that is being told something else is told soon after: until it has heard the first sign
/// of life, it does not miss any, and would wait for a coordinator that is stopped.
fn say(input: &Input, line: &[u8]) -> bool {
    let Some(input) = input.upgrade() else { return true };
    let mut input = match input.try_lock() {
        Ok(input) => input,
        Err(TryLockError::Poisoned(error)) => error.into_inner(),
        Err(TryLockError::WouldBlock) => return false,
    };
    // If there is no room, the agent does not read, and needs no sign of life either. A part of the
    // line would be no order, and end the agent, which has been silent for long before.
    if let Err(error) = input.write(line) {
        log::debug!("an agent was not told that its coordinator is there: {error}");
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::sync::Arc;

    /// An agent that is told something else at the first moment hears the sign of life after it.
    #[test]
    fn an_agent_that_is_being_told_something_else_hears_it_soon() {
        let (mut from, to) = std::io::pipe().expect("a pipe");
        let input = Arc::new(Mutex::new(File::from(std::os::fd::OwnedFd::from(to))));
        let line = (encode(&Order::Alive) + "\n").into_bytes();
        let weak = Arc::downgrade(&input);
        let locked = input.lock().expect("nobody panicked");
        assert!(!say(&weak, &line), "it is being told something else");
        drop(locked);
        assert!(say(&weak, &line));
        drop(input);
        assert!(say(&weak, &line), "one that is gone needs no sign of life");
        let mut heard = Vec::new();
        from.read_to_end(&mut heard).expect("the pipe can be read");
        assert_eq!(heard, line);
    }
}
