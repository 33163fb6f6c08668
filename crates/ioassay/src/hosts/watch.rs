//! Watches the outputs of many agents at once. Asking each of N agents after each of N answers
//! would take N² calls; here the OS names those that said something.

use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::{self, Errno};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

/// Events that are taken at once.
const EVENTS_AT_ONCE: usize = 256;

/// Outputs, each with a number.
pub(super) struct Watch {
    epoll: OwnedFd,
    events: Vec<Event>,
}

impl Watch {
    /// Of nothing yet.
    ///
    /// # Errors
    /// If the OS has no descriptor left.
    pub(super) fn new() -> io::Result<Watch> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        Ok(Watch { epoll, events: Vec::with_capacity(EVENTS_AT_ONCE) })
    }

    /// Watches one more.
    ///
    /// # Errors
    /// If the OS cannot.
    pub(super) fn add(&self, number: usize, output: impl AsFd) -> io::Result<()> {
        epoll::add(&self.epoll, output, EventData::new_u64(number as u64), EventFlags::IN)
    }

    /// Watches one no longer.
    pub(super) fn forget(&self, output: impl AsFd) {
        if let Err(error) = epoll::delete(&self.epoll, output) {
            log::debug!("an output is still watched: {error}");
        }
    }

    /// The numbers of those that said something, or ended, within `step`.
    pub(super) fn wait(&mut self, step: Duration) -> Vec<usize> {
        let timeout = Timespec::try_from(step).expect("a short wait has few seconds");
        self.events.clear();
        match epoll::wait(&self.epoll, spare_capacity(&mut self.events), Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            // All are looked at after a while anyway.
            Err(_) => std::thread::sleep(step),
        }
        self.events.iter().map(|event| event.data.u64() as usize).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn only_those_that_speak_are_named() {
        let mut watch = Watch::new().unwrap();
        let mut pipes: Vec<_> = (0..3).map(|_| std::io::pipe().unwrap()).collect();
        for (number, (output, _)) in pipes.iter().enumerate() {
            watch.add(number, output).unwrap();
        }
        assert!(watch.wait(Duration::ZERO).is_empty());
        pipes[2].1.write_all(b"x").unwrap();
        assert_eq!(watch.wait(Duration::ZERO), [2]);
        watch.forget(&pipes[2].0);
        assert!(watch.wait(Duration::ZERO).is_empty());
        // The end of an output is something, too.
        let (_output, input) = pipes.remove(1);
        drop(input);
        assert_eq!(watch.wait(Duration::ZERO), [1]);
    }
}
