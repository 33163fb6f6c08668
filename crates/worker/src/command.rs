//! Performs a job that is a command: starts it, waits for it, and tells what it used.
//!
//! This process is the reaper of all that the command starts. So its own counters in `/proc` and
//! those of its children have the sums of the whole tree, also of orphans, of setuid programs and
//! of programs that nobody may read.

use crate::clock::os_now_ns;
use crate::reporter::Client;
use crate::tree::{STEP, adopt, below, end_all, has_no_children, start};
use crate::usage::of_children;
use model::command::{Exit, Launch, Output};
use model::sample::{Sample, Span, Usage};
use model::trial::Outcome;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How long what a command started may go on after its end before it counts as left running: a
/// process that ends gives its memory back first.
const GRACE: Duration = Duration::from_millis(100);
/// Bytes read at once from a command's stdout.
const CHUNK: usize = 64 << 10;

/// Performs the job that starts `launch`.
pub fn perform_command(launch: Option<&Launch>, client: &mut dyn Client) {
    let Some(launch) = launch else {
        client.outcome(failed("the job names no command to start"));
        return;
    };
    let began_ns = os_now_ns();
    let mut command = match prepared(launch) {
        Ok(command) => command,
        Err(outcome) => return client.outcome(outcome),
    };
    if let Err(error) = adopt() {
        return client.outcome(failed(&format!("adopting what the command starts: {error}")));
    }
    let setup_ns = os_now_ns() - began_ns;
    if client.ready() {
        client.outcome(run(&mut command, launch, setup_ns));
    }
}

fn failed(reason: &str) -> Outcome {
    Outcome::Failed { reason: reason.to_string() }
}

/// The command, with its stdin and stdout opened.
fn prepared(launch: &Launch) -> Result<Command, Outcome> {
    let (program, arguments) =
        launch.arguments.split_first().ok_or_else(|| failed("the job names no program"))?;
    let mut command = Command::new(program);
    command.args(arguments).env_remove(MARK).stderr(Stdio::null()).process_group(0);
    command.stdin(match &launch.input {
        None => Stdio::null(),
        Some(path) => Stdio::from(File::open(path).map_err(|error| {
            failed(&format!("opening the input '{}': {error}", path.display()))
        })?),
    });
    command.stdout(match &launch.output {
        Output::Null => Stdio::null(),
        Output::Pipe => Stdio::piped(),
        Output::File(path) => Stdio::from(emptied(path).map_err(|error| {
            failed(&format!("opening the output '{}': {error}", path.display()))
        })?),
    });
    Ok(command)
}

/// The variable that marks processes of a worker: it is no business of the command's.
const MARK: &str = "IOASSAY_WORKER";

/// The file that ioassay created for the output, emptied.
fn emptied(path: &std::path::Path) -> io::Result<File> {
    OpenOptions::new().write(true).truncate(true).custom_flags(libc::O_NOFOLLOW).open(path)
}

/// Runs the command once.
fn run(command: &mut Command, launch: &Launch, setup_ns: u64) -> Outcome {
    let before = of_children();
    let start_ns = os_now_ns();
    let mut child = match start(command) {
        Ok(child) => child,
        Err(error) => return failed(&not_started(&launch.arguments[0], &error)),
    };
    let read = |stdout| thread::Builder::new().spawn(move || drained(stdout)).ok();
    let reader = child.stdout.take().and_then(read);
    let (status, peak_bytes) = match waited(&child) {
        Ok(ended) => ended,
        Err(reason) => {
            end_all();
            return failed(&reason);
        }
    };
    let end_ns = os_now_ns();
    let left_running = match reap() {
        Ok(left_running) => left_running,
        Err(reason) => return failed(&reason),
    };
    let output_bytes = reader.and_then(|reader: JoinHandle<u64>| reader.join().ok());
    let (status, signal) = split(status);
    let exit = Exit { status, signal, peak_bytes, left_running, output_bytes };
    if let Some(reason) = why_failed(&exit, launch) {
        return failed(&reason);
    }
    let usage = of_children().since(before);
    let span = Span { start_ns, end_ns, ops: 1, ..Span::default() };
    Outcome::Done(Sample {
        setup_ns,
        spans: vec![span],
        exit: Some(exit),
        usage: Usage { cpu_ns: usage.cpu_ns, ..usage },
        ..Sample::default()
    })
}

/// Why a program was not started, and what to do.
pub fn not_started(program: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => format!(
            "there is no program '{program}': give its path or, for a shell's own commands, \
             --shell"
        ),
        io::ErrorKind::PermissionDenied => {
            format!("'{program}' is a directory, or may not be executed: give a program's path")
        }
        _ => format!("starting '{program}' failed: {error}"),
    }
}

/// Why this end is a failure, if it is one.
fn why_failed(exit: &Exit, launch: &Launch) -> Option<String> {
    let program = &launch.arguments[0];
    match (exit.status, exit.signal) {
        (_, Some(signal)) => Some(format!("'{program}' was ended by signal {signal}")),
        (Some(status), None) if launch.counts(status) => None,
        (Some(status), None) => Some(format!(
            "'{program}' ended with status {status}; --ignore-exit lets such runs count"
        )),
        (None, None) => Some(format!("nothing is known of how '{program}' ended")),
    }
}

/// Reads all that comes. Returns the number of bytes.
fn drained(mut stdout: impl Read) -> u64 {
    let mut chunk = vec![0; CHUNK];
    let mut bytes = 0;
    loop {
        match stdout.read(&mut chunk) {
            Ok(0) => return bytes,
            Ok(count) => bytes += count as u64,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return bytes,
        }
    }
}

/// Waits for the command itself. Returns its status as the OS codes it, and its peak of memory.
///
/// # Errors
/// If it stopped instead of ending.
fn waited(child: &Child) -> Result<(i32, Option<u64>), String> {
    let own = of_self_peak();
    let mut status = 0;
    // SAFETY: all fields are integers, for which zero is valid.
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        let pid = child.id().cast_signed();
        // SAFETY: the call writes only to `status` and `used`, which outlive it.
        let ended = unsafe { libc::wait4(pid, &raw mut status, libc::WUNTRACED, &raw mut used) };
        if ended == pid {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(format!("waiting for the command: {error}"));
        }
    }
    if libc::WIFSTOPPED(status) {
        return Err(match libc::WSTOPSIG(status) {
            libc::SIGTTIN | libc::SIGTTOU => "the command stopped because it wants the terminal, \
                                              which a measured command does not have: --input \
                                              gives it a file to read"
                .to_string(),
            signal => format!("the command was stopped by signal {signal}"),
        });
    }
    let peak = u64::try_from(used.ru_maxrss).ok().map(|kilobytes| kilobytes << 10);
    Ok((status, peak.filter(|peak| *peak > own)))
}

/// The peak of this process's memory, which a child has too until it becomes another program.
fn of_self_peak() -> u64 {
    // SAFETY: all fields are integers, for which zero is valid.
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the call writes only to `used`, which outlives it.
    let outcome = unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut used) };
    let kilobytes = u64::try_from(used.ru_maxrss).ok().filter(|_| outcome == 0);
    kilobytes.map_or(u64::MAX, |kilobytes| kilobytes << 10)
}

/// The exit status, or the signal that ended a process.
fn split(status: i32) -> (Option<u32>, Option<u32>) {
    let number = |number: i32| u32::try_from(number).ok();
    let exited = libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)).and_then(number);
    let signal = libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)).and_then(number);
    (exited, signal)
}

/// Collects all that the command started, and ends what still runs. Returns the number of processes
/// that did.
fn reap() -> Result<u64, String> {
    let grace = GRACE.as_millis() / STEP.as_millis();
    for _ in 0..grace {
        if has_no_children()? {
            return Ok(0);
        }
        thread::sleep(STEP);
    }
    let left = below().len() as u64;
    end_all();
    // What a list does not show is there nevertheless.
    Ok(left.max(1))
}
