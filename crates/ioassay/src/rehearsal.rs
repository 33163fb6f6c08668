//! The hidden command `rehearse`, which runs a command once under a tracer, and its caller.
//!
//! It is a process of its own: the tracer adopts and collects whatever the command leaves behind.

mod sampled;

use crate::line_process::{LineProcess, LineProtocol};
use crate::stop::Stop;
use crate::worker_process;
use anyhow::{Context, Result, bail};
use model::command::{CommandOutput, Launch};
use model::figure::PrintedFigure;
use model::rehearsal::FactSheet;
use rustix::process::{Signal, set_parent_process_death_signal};
use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;
use witness::rehearsal::{RehearsalError, Rehearsed, TASKS_MAX, rehearse};
use worker::command::opened_input;
use worker::figure::{FigureFinder, OutputEnd, heard};
use worker::streams;

/// Maximum length of the answer's line: sixty thousand files take less.
const LINE_BYTES_MAX: u64 = 64 << 20;

/// What came of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rehearsal {
    /// What the command did, and the end of its stderr.
    Done {
        /// What it did.
        facts: Box<FactSheet>,
        /// The end of its stderr.
        last_words: String,
        /// The number in its output that was looked for.
        figure: Option<PrintedFigure>,
    },
    /// The command cannot be run.
    Failed {
        /// Why.
        reason: String,
    },
}

/// What is to be rehearsed, and why it is not traced, if it is not.
type Request = (Launch, Option<String>);

/// Rehearses `launch` in a process of its own; without tracing it, if a reason is given.
///
/// # Errors
/// If that cannot be started, or says nothing that is understood.
pub fn of(launch: &Launch, untraced: Option<&str>, stop: &Stop) -> Result<Rehearsal> {
    let mut command = worker_process::own_program().map_err(anyhow::Error::msg)?;
    command.arg("rehearse");
    let protocol = LineProtocol {
        name: "the rehearsal".to_string(),
        silence: "the command goes on",
        line_bytes_max: LINE_BYTES_MAX,
        patience: Duration::MAX,
        farewell: Duration::ZERO,
    };
    let mut process = LineProcess::start(command, protocol, stop)?;
    let request = serde_json::to_string(&(launch, untraced))?;
    let answer = process.say(&request).and_then(|()| process.next(Duration::MAX));
    let answer = answer.map_err(anyhow::Error::msg)?;
    serde_json::from_str(&answer).context("the rehearsal's answer is not understood")
}

/// Carries out the request on stdin, and writes what came of it to stdout.
///
/// # Errors
/// If there is none, or a stream cannot be made.
pub fn serve() -> Result<()> {
    worker::command::forget_variables();
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).context("failed to read what to rehearse")?;
    let request: Request =
        serde_json::from_str(&line).context("what to rehearse is not understood")?;
    let stop = Arc::new(AtomicBool::new(false));
    // What it traces ends with it.
    set_parent_process_death_signal(Some(Signal::KILL))
        .context("failed to request a signal for the coordinator's end")?;
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let answer = serde_json::to_string(&performed(&request, &stop)?)?;
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{answer}")?;
    stdout.flush().context("failed to write to stdout")
}

fn performed((launch, untraced): &Request, stop: &AtomicBool) -> Result<Rehearsal> {
    let Some((program, arguments)) = launch.arguments.split_first() else {
        bail!("there is no program to rehearse");
    };
    let finder =
        launch.figure.as_ref().map(FigureFinder::of).transpose().map_err(anyhow::Error::msg)?;
    let ((stdout, output), (stderr, words)) = streams_of(&launch.output, finder.is_some())?;
    let command = Rehearsed {
        program: program.into(),
        arguments: arguments.iter().map(Into::into).collect(),
        stdin: match &launch.input {
            Some(input) => opened_input(input).map_err(anyhow::Error::msg)?,
            None => File::open("/dev/null").context("failed to open /dev/null")?,
        },
        stdout,
        stderr,
        directory: None,
        stop: Some(stop),
        time_limit: None,
        tasks_max: TASKS_MAX,
    };
    let rehearsed = match untraced {
        Some(reason) => sampled::sampled(&command, reason),
        None => rehearse(&command).or_else(|error| match error.is_about_tracing() {
            true => sampled::sampled(&command, &error.to_string()),
            false => Err(error),
        }),
    };
    // The readers end once no writer is left.
    drop(command);
    let [output, words] = [output, words].map(|reader| reader.and_then(|it| it.join().ok()));
    Ok(match rehearsed {
        Ok(facts) => {
            let find = |heard: &Option<OutputEnd>| finder.as_ref()?.find(&heard.as_ref()?.last);
            let figure = find(&output).or_else(|| find(&words));
            let last_words = words.map(|heard| heard.last_words()).unwrap_or_default();
            Rehearsal::Done { facts: Box::new(facts), last_words, figure }
        }
        Err(RehearsalError::NotStarted { program, answer }) => Rehearsal::Failed {
            reason: worker::command::not_started(&program.to_string_lossy(), &answer),
        },
        Err(RehearsalError::Halted { signal }) => {
            Rehearsal::Failed { reason: worker::command::stopped(signal) }
        }
        Err(error) => Rehearsal::Failed { reason: error.to_string() },
    })
}

/// A stream of the command, and what reads it, if that is a pipe.
type Stream = (File, Option<JoinHandle<OutputEnd>>);

/// The stdout and the stderr of the command.
fn streams_of(output: &CommandOutput, is_heard: bool) -> Result<(Stream, Stream)> {
    let stdout = match output {
        CommandOutput::Inherit => {
            let [stdout, stderr] = streams::inherited().context("failed to pass on the output")?;
            return Ok(((stdout.into(), None), (stderr.into(), None)));
        }
        CommandOutput::Null if !is_heard => {
            let file = OpenOptions::new().write(true).open("/dev/null");
            (file.context("failed to open /dev/null")?, None)
        }
        CommandOutput::File(path) => {
            (worker::command::emptied(path).context("failed to open the output")?, None)
        }
        CommandOutput::Pipe | CommandOutput::Null => piped()?,
    };
    Ok((stdout, piped()?))
}

fn piped() -> Result<Stream> {
    let (end, stream) = io::pipe().context("failed to make a pipe")?;
    let reader = Builder::new().spawn(|| heard(end)).context("failed to start a thread")?;
    Ok((File::from(OwnedFd::from(stream)), Some(reader)))
}
