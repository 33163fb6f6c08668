//! An agent's link to its coordinator: the orders that it gets, and its answers.

use super::orders::{Heard, Orders};
use crate::stop::Stop;
use anyhow::{Context, Result};
use model::agent::{Answer, Order, decode, encode};
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Interval between signs of life.
const BEAT: Duration = Duration::from_secs(1);

/// After this time without a sign of life of the coordinator, it is gone: it gives one each second.
const SILENCE: Duration = Duration::from_secs(4);

/// An agent's link.
#[derive(Debug)]
pub(super) struct AgentLink<W> {
    orders: Orders,
    output: Mutex<W>,
    stop: Stop,
    /// Whether an order arrived: an agent whose turn is later is not listened to.
    is_at_work: AtomicBool,
}

impl<W: Write> AgentLink<W> {
    /// Begins to listen to `input`.
    ///
    /// # Errors
    /// If the OS starts no thread.
    pub(super) fn new(input: impl Read + Send + 'static, output: W, stop: &Stop) -> Result<Self> {
        let orders = Orders::listen(input, stop)?;
        let (output, is_at_work) = (Mutex::new(output), AtomicBool::new(false));
        Ok(AgentLink { orders, output, stop: stop.clone(), is_at_work })
    }

    /// The next order; `None` if none will follow, or a signal asks to stop.
    ///
    /// # Errors
    /// If the input cannot be read, or is something else.
    pub(super) fn next(&self) -> Result<Option<Order>> {
        let Some(line) = self.orders.next(&self.stop)? else { return Ok(None) };
        self.is_at_work.store(true, Ordering::Relaxed);
        Ok(Some(decode(&line)?))
    }

    /// Answers.
    ///
    /// # Errors
    /// If the coordinator does not read any more.
    pub(super) fn say(&self, answer: &Answer) -> Result<()> {
        say(&self.output, answer)
    }

    /// When the coordinator was last heard.
    pub(super) fn heard(&self) -> &Heard {
        self.orders.heard()
    }

    /// Whether an order arrived.
    pub(super) fn is_at_work(&self) -> &AtomicBool {
        &self.is_at_work
    }

    /// Where answers go.
    pub(super) fn output(&self) -> &Mutex<W> {
        &self.output
    }

    /// Answers with the reason if `answer` is an error.
    ///
    /// # Errors
    /// As for [`Link::say`].
    pub(super) fn answer(&self, answer: Result<Answer>) -> Result<()> {
        self.say(&answer.unwrap_or_else(|error| Answer::Failed { reason: format!("{error:#}") }))
    }

    /// Whether to stop.
    pub(super) fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Whether to stop the trial that is carried out.
    pub(super) fn trial(&self) -> &Stop {
        self.orders.trial()
    }
}

/// Tells the coordinator once a second that this host is there, from its first order until `over`
/// is closed: before, nobody reads it, and a connection that is not read is cut one day. If the
/// coordinator is not there, stops: a link that was cut ends in no other way.
pub(super) fn beat<W: Write>(
    output: &Mutex<W>,
    is_at_work: &AtomicBool,
    (heard, stop): (&Heard, &Stop),
    over: &Receiver<()>,
) {
    let mut last = Instant::now();
    // If the coordinator does not listen any more, its orders have ended, too.
    while over.recv_timeout(BEAT) == Err(RecvTimeoutError::Timeout)
        && (!is_at_work.load(Ordering::Relaxed) || say(output, &Answer::Alive).is_ok())
    {
        if last.elapsed() > SILENCE {
            heard.forgive();
        }
        last = Instant::now();
        if heard.silence().is_some_and(|silence| silence > SILENCE) {
            log::warn!("the coordinator was silent for {SILENCE:?}: the link to it may be cut");
            stop.ask();
        }
    }
}

/// Writes an answer as a line that no other interrupts.
fn say<W: Write>(output: &Mutex<W>, answer: &Answer) -> Result<()> {
    let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
    writeln!(output, "{}", encode(answer))
        .and_then(|()| output.flush())
        .context("failed to answer the coordinator")
}
