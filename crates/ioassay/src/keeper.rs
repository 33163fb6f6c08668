//! The hidden command `keep`, which runs a program of the user's that is not measured, and its
//! callers. It is a process of its own: whatever becomes of this one, nothing that the program
//! started outlives it.

use crate::line_process::{LineProcess, LineProtocol};
use crate::stop::Stop;
use crate::worker_process;
use anyhow::{Context, Result};
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use worker::figure::{OutputEnd, hear};
use worker::tree;

/// Maximum length of the answer's line.
const LINE_BYTES_MAX: u64 = 64 << 10;
/// How long what is left running gets to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(1);
/// How long the process gets to end all of it.
const FAREWELL: Duration = Duration::from_secs(3);
/// How long the last words of a program may take to arrive.
const WORDS: Duration = Duration::from_millis(50);

/// What a program left running. It is ended on drop.
#[derive(Debug)]
pub struct LeftServers {
    _process: LineProcess,
}

/// Runs a program, without input and output, to its end. What it leaves running lives as long as
/// the result.
///
/// # Errors
/// If it cannot be started or fails, or the run is stopped.
pub fn start(words: &[String], stop: &Stop) -> Result<LeftServers, String> {
    let mut command = worker_process::own_program()?;
    command.args(["keep", "--"]).args(words);
    let protocol = LineProtocol {
        name: format!("'{}'", words.first().map_or("", |program| program)),
        silence: "it goes on",
        line_bytes_max: LINE_BYTES_MAX,
        patience: Duration::MAX,
        farewell: Duration::ZERO,
    };
    let process = LineProcess::start(command, protocol, stop);
    let mut process = process.map_err(|error| format!("{error:#}"))?;
    let answer = process.next(Duration::MAX)?;
    let answer: Result<(), String> = serde_json::from_str(&answer)
        .map_err(|error| format!("the answer '{answer}' is not understood: {error}"))?;
    process.give_farewell(FAREWELL);
    answer.map(|()| LeftServers { _process: process })
}

/// The same, but nothing is left running.
///
/// # Errors
/// As for [`start`].
pub fn run(words: &[String], stop: &Stop) -> Result<(), String> {
    start(words, stop).map(drop)
}

/// Runs a program, writes to stdout how it ended, and ends what it left once stdin does.
///
/// # Errors
/// If this process cannot look after others, or a stream fails.
pub fn serve(words: &[OsString]) -> Result<()> {
    tree::adopt().context("failed to adopt processes")?;
    let answer = performed(words);
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{}", serde_json::to_string(&answer)?)?;
    stdout.flush().context("failed to write to stdout")?;
    if answer.is_ok() {
        io::copy(&mut io::stdin().lock(), &mut io::sink()).context("failed to read stdin")?;
    }
    tree::end_gently(GRACE);
    Ok(())
}

fn performed(words: &[OsString]) -> Result<(), String> {
    let (program, arguments) = words.split_first().ok_or("there is no program to run")?;
    let mut command = Command::new(program);
    command.args(arguments).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = tree::start(&mut command)
        .map_err(|error| worker::command::not_started(&program.to_string_lossy(), &error))?;
    let last_words = LastWords::of(&mut child);
    let status = child.wait().map_err(|error| format!("waiting for it failed: {error}"))?;
    if status.success() {
        return Ok(());
    }
    let words = last_words.taken();
    let words = if words.is_empty() { words } else { format!("; its stderr: {words}") };
    Err(format!("it ended with {status}{words}"))
}

/// The end of a program's stderr, which is read as long as anyone writes to it.
struct LastWords {
    words: Arc<Mutex<OutputEnd>>,
    reader: Option<thread::JoinHandle<()>>,
}

impl LastWords {
    fn of(child: &mut Child) -> LastWords {
        let words = Arc::default();
        let into = Arc::clone(&words);
        let read = |stderr| thread::Builder::new().spawn(move || hear(stderr, &into)).ok();
        LastWords { words, reader: child.stderr.take().and_then(read) }
    }

    /// What was read until now.
    fn taken(self) -> String {
        let is_reading = || self.reader.as_ref().is_some_and(|reader| !reader.is_finished());
        let step = Duration::from_millis(1);
        (0..WORDS.as_millis()).take_while(|_| is_reading()).for_each(|_| thread::sleep(step));
        self.words.lock().unwrap_or_else(PoisonError::into_inner).last_words()
    }
}
