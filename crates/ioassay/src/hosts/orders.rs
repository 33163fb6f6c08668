//! The orders that arrive on an agent's stdin.
//!
//! A thread reads them, so that the end of the input is noticed while an order is carried out, too:
//! a coordinator that is gone stops what it began. One that was cut off is noticed by its silence.
//! It also notices the order that ends a trial, since another host was lost.

use crate::stop::Stop;
use anyhow::{Context, Result};
use model::agent::{LINE_BYTES_MAX, Order, decode, encode};
use std::io::{self, BufRead, BufReader, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Interval between stop checks.
const STEP: Duration = Duration::from_millis(50);

/// Orders that may wait: the coordinator waits for each answer.
const WAITING_MAX: usize = 16;

/// The lines of an input.
#[derive(Debug)]
pub(super) struct Orders {
    lines: Receiver<io::Result<String>>,
    heard: Heard,
    /// Stops a trial.
    trial: Stop,
}

/// When the coordinator last said that it is there; `None` if it never did.
#[derive(Debug, Clone, Default)]
pub(super) struct Heard(Arc<Mutex<Option<Instant>>>);

impl Heard {
    /// It was heard just now.
    fn set(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// How long it has been silent; `None` if it never said that it is there.
    pub(super) fn silence(&self) -> Option<Duration> {
        let heard = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        heard.map(|heard| heard.elapsed())
    }

    /// If this process did not run, it heard nobody: silence begins anew.
    pub(super) fn forgive(&self) {
        if self.silence().is_some() {
            self.set();
        }
    }
}

impl Orders {
    /// Reads `input` from now on. At its end, `stop` is asked.
    ///
    /// # Errors
    /// If the OS starts no thread.
    pub(super) fn listen(input: impl Read + Send + 'static, stop: &Stop) -> Result<Orders> {
        let (sender, lines) = sync_channel(WAITING_MAX);
        let stop = stop.clone();
        let heard = Heard::default();
        let trial = stop.of_part();
        let (hears, stops) = (heard.clone(), trial.clone());
        let read = move || {
            read_all(BufReader::new(input), &sender, &hears, &stops);
            stop.ask();
        };
        thread::Builder::new()
            .spawn(read)
            .context("failed to start the thread that reads orders")?;
        Ok(Orders { lines, heard, trial })
    }

    /// Stops the trial that is carried out.
    pub(super) fn trial(&self) -> &Stop {
        &self.trial
    }

    /// When the coordinator was last heard.
    pub(super) fn heard(&self) -> &Heard {
        &self.heard
    }

    /// The next line; `None` if none will follow, or a signal asks to stop.
    ///
    /// # Errors
    /// If the input cannot be read.
    pub(super) fn next(&self, stop: &Stop) -> Result<Option<String>> {
        loop {
            match self.lines.recv_timeout(STEP) {
                Ok(line) => return line.map(Some).context("failed to read an order"),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) if stop.is_asked() => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

/// Sends all lines, until the end of the input or until nobody listens.
fn read_all(
    mut input: impl BufRead,
    sender: &SyncSender<io::Result<String>>,
    heard: &Heard,
    trial: &Stop,
) {
    let alive = encode(&Order::Alive);
    loop {
        let mut line = Vec::new();
        let read = input.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line);
        let answer = match read {
            // An order that was cut off is none.
            Ok(_) if line.pop() != Some(b'\n') => return,
            Ok(_) => String::from_utf8(line).map_err(io::Error::other),
            Err(error) => Err(error),
        };
        if answer.as_ref().is_ok_and(|line| *line == alive) {
            heard.set();
            continue;
        }
        match answer.as_deref().map(decode) {
            Ok(Ok(Order::Cancel { .. })) => trial.ask(),
            // An order to end the last trial may have come too late.
            Ok(Ok(Order::Trial { .. })) => trial.go_on(),
            _ => {}
        }
        let is_over = answer.is_err();
        if sender.send(answer).is_err() || is_over {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn whole_lines_arrive_and_the_end_stops() {
        let stop = Stop::default();
        let orders = Orders::listen(&b"one\ntwo\ncut of"[..], &stop).unwrap();
        let next = || orders.next(&Stop::default()).unwrap();
        assert_eq!((next().as_deref(), next().as_deref()), (Some("one"), Some("two")));
        assert_eq!(next(), None);
        while !stop.is_asked() {
            thread::sleep(Duration::from_millis(1));
        }
        let wrong = Orders::listen(&b"\xff\n"[..], &Stop::default()).unwrap();
        wrong.next(&Stop::default()).unwrap_err();
    }

    #[test]
    fn a_sign_of_life_is_no_order() {
        let orders = Orders::listen(&b"\"alive\"\none\n"[..], &Stop::default()).unwrap();
        assert_eq!(orders.next(&Stop::default()).unwrap().as_deref(), Some("one"));
        assert!(orders.heard().silence().is_some());
        let without = Orders::listen(&b"one\n"[..], &Stop::default()).unwrap();
        assert_eq!(without.next(&Stop::default()).unwrap().as_deref(), Some("one"));
        without.heard().forgive();
        assert!(without.heard().silence().is_none());
    }

    #[test]
    fn the_end_of_a_trial_is_noticed_before_its_turn() {
        let (stop, cancel) = (Stop::default(), Order::Cancel { reason: "b was lost".to_owned() });
        let (reader, mut writer) = io::pipe().unwrap();
        let orders = Orders::listen(reader, &stop).unwrap();
        writeln!(writer, "one\n{}", encode(&cancel)).unwrap();
        while !orders.trial().is_asked() {
            thread::sleep(Duration::from_millis(1));
        }
        assert!(!stop.is_asked(), "the agent goes on");
        assert_eq!(orders.next(&stop).unwrap().as_deref(), Some("one"));
        assert_eq!(orders.next(&stop).unwrap(), Some(encode(&cancel)));
        let next = Order::Trial { case: 0, invocation: 0, round: 0, at_ms: 0 };
        writeln!(writer, "{}", encode(&next)).unwrap();
        assert_eq!(orders.next(&stop).unwrap(), Some(encode(&next)));
        assert!(!orders.trial().is_asked(), "another trial goes on");
        stop.ask();
        assert!(orders.trial().is_asked(), "a part ends with the whole");
    }

    #[test]
    fn a_signal_ends_the_wait() {
        let (_open, input) = io::pipe().map(|(reader, writer)| (writer, reader)).unwrap();
        let stop = Stop::default();
        let orders = Orders::listen(input, &stop).unwrap();
        stop.ask();
        assert_eq!(orders.next(&stop).unwrap(), None);
    }
}
