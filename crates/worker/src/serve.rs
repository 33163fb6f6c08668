//! The worker's side of the protocol: it reads jobs and writes outcomes, one per line.

use crate::calibrate::calibrate;
use crate::clock::Clock;
use crate::engine::Obstacle;
use crate::perform::perform;
use crate::reporter::Client;
use model::shape::Calibrate;
use model::trial::Outcome;
use model::wire::{PROTOCOL, Reply, Request};
use std::io::{self, BufRead, Write};

/// Serves jobs from `input` until it ends, which tells the worker to exit.
///
/// # Errors
/// If writing to `output` fails, or a line of `input` violates the protocol.
pub fn serve(input: impl BufRead, output: impl Write) -> io::Result<()> {
    // Calibrate before the first job, so that no job waits for it.
    Clock::get();
    let mut link = Connection { input, output, line: String::new(), error: None };
    link.say(&Reply::Hello {
        protocol: PROTOCOL,
        name: "ioassay".to_string(),
        version: env!("CARGO_PKG_VERSION").to_string(),
    })?;
    link.next_line()?;
    while !link.line.is_empty() {
        match Request::decode(link.line.trim_end()).map_err(io::Error::other)? {
            // This consumes lines up to and including the one after the job's outcome.
            Request::Job(job) => perform(&job, &mut link),
            Request::Calibrate(asked) => link.calibrate(&asked)?,
            Request::Go => link.next_line()?,
        }
        link.error.take().map_or(Ok(()), Err)?;
    }
    Ok(())
}

/// Both directions of the connection.
struct Connection<I, O> {
    input: I,
    output: O,
    /// The last line received; empty at the end of the input.
    line: String,
    error: Option<io::Error>,
}

impl<I: BufRead, O: Write> Connection<I, O> {
    fn next_line(&mut self) -> io::Result<()> {
        self.line.clear();
        self.input.read_line(&mut self.line)?;
        Ok(())
    }

    fn say(&mut self, reply: &Reply) -> io::Result<()> {
        writeln!(self.output, "{}", reply.encode())?;
        self.output.flush()
    }

    /// Measures candidates, sends their times and waits for the next line.
    fn calibrate(&mut self, asked: &Calibrate) -> io::Result<()> {
        match calibrate(asked) {
            Ok(measured) => {
                for (kernel, all) in measured {
                    for timed in all {
                        self.say(&Reply::Timed { kernel, timed })?;
                    }
                }
                self.say(&Reply::Calibrated)?;
            }
            Err(Obstacle::Unavailable(reason) | Obstacle::Failed(reason)) => {
                self.say(&Reply::Failed { reason })?;
            }
        }
        self.next_line()
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
        // The next line confirms that the evidence was collected; the threads stay until it
        // arrives.
        self.next_line()
    }
}

impl<I: BufRead, O: Write> Client for Connection<I, O> {
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
