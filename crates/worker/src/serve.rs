//! The worker's side of the protocol: jobs come in as lines, outcomes go out as lines.

use crate::clock::Clock;
use crate::perform::perform;
use crate::relay::Client;
use model::trial::Outcome;
use model::wire::{PROTOCOL, Reply, Request};
use std::io::{self, BufRead, Write};

/// Serves jobs from `input` until it ends, which is how a worker is told to end.
///
/// # Errors
/// When `output` cannot be written to, or a line of `input` is not of the protocol.
pub fn serve(input: impl BufRead, output: impl Write) -> io::Result<()> {
    // Calibrated before the first job, so that no job waits for it.
    Clock::get();
    let mut link = Link { input, output, line: String::new(), error: None };
    link.say(&Reply::Hello {
        protocol: PROTOCOL,
        name: "ioassay".to_string(),
        version: env!("CARGO_PKG_VERSION").to_string(),
    })?;
    link.next_line()?;
    while !link.line.is_empty() {
        match Request::decode(link.line.trim_end()).map_err(io::Error::other)? {
            // The job takes the lines up to the one after its outcome.
            Request::Job(job) => perform(&job, &mut link),
            Request::Go => link.next_line()?,
        }
        link.error.take().map_or(Ok(()), Err)?;
    }
    Ok(())
}

/// The two ends of the conversation.
struct Link<I, O> {
    input: I,
    output: O,
    /// The last line that came; empty at the end of the input.
    line: String,
    error: Option<io::Error>,
}

impl<I: BufRead, O: Write> Link<I, O> {
    fn next_line(&mut self) -> io::Result<()> {
        self.line.clear();
        self.input.read_line(&mut self.line)?;
        Ok(())
    }

    fn say(&mut self, reply: &Reply) -> io::Result<()> {
        writeln!(self.output, "{}", reply.encode())?;
        self.output.flush()
    }

    fn say_ready(&mut self) -> io::Result<bool> {
        self.say(&Reply::Ready)?;
        self.next_line()?;
        Ok(Request::decode(self.line.trim_end()) == Ok(Request::Go))
    }

    fn say_outcome(&mut self, outcome: &Outcome) -> io::Result<()> {
        let lines: String = Reply::of(outcome).iter().map(|r| r.encode() + "\n").collect();
        self.output.write_all(lines.as_bytes())?;
        self.output.flush()?;
        // The next line says that the evidence was taken: until it comes, the threads stay.
        self.next_line()
    }
}

impl<I: BufRead, O: Write> Client for Link<I, O> {
    fn ready(&mut self) -> bool {
        let ready = self.say_ready();
        ready.unwrap_or_else(|error| {
            self.error = Some(error);
            false
        })
    }

    fn outcome(&mut self, outcome: Outcome) {
        if let Err(error) = self.say_outcome(&outcome) {
            self.error = Some(error);
        }
    }
}
