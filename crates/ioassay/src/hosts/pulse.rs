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
        inputs.iter().for_each(|input| say(input, line.as_bytes()));
        if over.recv_timeout(BEAT) != Err(RecvTimeoutError::Timeout) {
            return;
        }
    }
}

/// Writes a line to an agent. One that is being told something else needs no sign of life now; one
/// that is gone needs none at all.
fn say(input: &Input, line: &[u8]) {
    let Some(input) = input.upgrade() else { return };
    let mut input = match input.try_lock() {
        Ok(input) => input,
        Err(TryLockError::Poisoned(error)) => error.into_inner(),
        Err(TryLockError::WouldBlock) => return,
    };
    // If there is no room, the agent does not read, and needs no sign of life either. A part of the
    // line would be no order, and end the agent, which has been silent for long before.
    if let Err(error) = input.write(line) {
        log::debug!("an agent was not told that its coordinator is there: {error}");
    }
}
