//! A process that speaks lines: sends and receives them, with a time limit on every wait.
//!
//! It is a child of this program, which speaks over its pipes, or a process on another host, at the
//! other end of a connection. It uses no threads: every wait polls all pipes, which are
//! non-blocking. So each wait has a deadline, notices signals, and never hangs on a pipe that
//! another process holds open.

use crate::child::{ChildProcess, Farewell};
use crate::deadline::Deadline;
use crate::stop::Stop;
use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio};
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

/// How long a process may leave lines unread once its pipe, which holds hundreds, is full.
const UNREAD: Duration = Duration::from_secs(5);

/// Interval between stop checks.
const STOP_STEP: Duration = Duration::from_millis(50);

/// How long a child may take to exit after SIGTERM.
const END_BY_TERM: Duration = Duration::from_millis(100);

/// What is expected of a process that speaks lines.
#[derive(Debug, Clone)]
pub struct LineProtocol {
    /// What errors call it, such as `the worker`.
    pub name: String,
    /// Why it may be silent, for errors.
    pub silence: &'static str,
    /// Maximum length of its lines in bytes: endless output must not fill memory.
    pub line_bytes_max: u64,
    /// How long it may take to answer.
    pub patience: Duration,
    /// How long it may take to exit after its input ends, before it gets a signal.
    pub farewell: Duration,
}

/// A process that speaks lines.
#[derive(Debug)]
pub struct LineProcess {
    protocol: LineProtocol,
    speaker: Speaker,
    /// To it; `None` once it is told that nothing will follow.
    input: Option<Arc<Mutex<File>>>,
    /// From it.
    output: BufReader<File>,
    /// The incomplete line received so far.
    line: Vec<u8>,
    stop: Stop,
}

/// Who speaks.
#[derive(Debug)]
enum Speaker {
    /// A child of this program.
    Child(Box<ChildProcess>),
    /// A process at the other end of a connection.
    Distant(TcpStream),
}

impl LineProcess {
    /// Starts `command`.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(mut command: Command, protocol: LineProtocol, stop: &Stop) -> Result<LineProcess> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let (child, pipes) = ChildProcess::start(command, &protocol.name)?;
        let input = OwnedFd::from(pipes.stdin.expect("stdin is a pipe"));
        let output = OwnedFd::from(pipes.stdout.expect("stdout is a pipe"));
        LineProcess::new(Speaker::Child(Box::new(child)), (input, output), protocol, stop)
    }

    /// The process at the other end of `connection`.
    ///
    /// # Errors
    /// If the OS cannot give the connection another descriptor.
    pub fn connected(
        connection: TcpStream,
        protocol: LineProtocol,
        stop: &Stop,
    ) -> Result<LineProcess> {
        let end = || connection.try_clone().map(OwnedFd::from);
        let ends = end().and_then(|input| Ok((input, end()?)));
        let ends = ends.with_context(|| format!("failed to listen to {}", protocol.name))?;
        LineProcess::new(Speaker::Distant(connection), ends, protocol, stop)
    }

    fn new(
        speaker: Speaker,
        (input, output): (OwnedFd, OwnedFd),
        protocol: LineProtocol,
        stop: &Stop,
    ) -> Result<LineProcess> {
        let unblocked =
            [&input, &output].into_iter().try_for_each(|pipe| ioctl_fionbio(pipe, true));
        let process = LineProcess {
            speaker,
            input: Some(Arc::new(Mutex::new(File::from(input)))),
            output: BufReader::new(File::from(output)),
            line: Vec::new(),
            stop: stop.clone(),
            protocol,
        };
        unblocked
            .with_context(|| format!("failed to make pipes of {} non-blocking", process.name()))?;
        Ok(process)
    }

    /// Where others may write whole lines to it, too, until it is told that nothing will follow.
    pub fn input(&self) -> Weak<Mutex<File>> {
        self.input.as_ref().map(Arc::downgrade).unwrap_or_default()
    }

    /// Its PID; `None` on another host.
    pub fn pid(&self) -> Option<u32> {
        match &self.speaker {
            Speaker::Child(child) => Some(child.pid()),
            Speaker::Distant(_) => None,
        }
    }

    /// Gives it so long to exit after its input ends.
    pub fn give_farewell(&mut self, farewell: Duration) {
        self.protocol.farewell = farewell;
    }

    /// How long it may take to answer.
    pub fn patience(&self) -> Duration {
        self.protocol.patience
    }

    fn name(&self) -> &str {
        &self.protocol.name
    }

    /// Sends `line`, which has no end yet.
    ///
    /// # Errors
    /// Why the process is unusable: it died, or does not read.
    pub fn say(&mut self, line: &str) -> Result<(), String> {
        let text = format!("{line}\n");
        let mut rest = text.as_bytes();
        let patience = UNREAD.min(self.protocol.patience);
        let deadline = Deadline::after(patience);
        let Some(input) = self.input.clone() else {
            return Err(format!("{} was told that nothing will follow", self.name()));
        };
        // Nobody else speaks before the line is whole.
        let mut input = input.lock().unwrap_or_else(PoisonError::into_inner);
        while !rest.is_empty() {
            match input.write(rest) {
                Ok(count) => rest = &rest[count..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.check_stop()?;
                    if deadline.is_over() {
                        return Err(format!(
                            "{} did not read its stdin for {patience:?}",
                            self.name()
                        ));
                    }
                    self.wait(Some(&input), deadline);
                }
                // Nobody reads it any more.
                Err(error) if is_unread(&error) => return Err(self.end_of_process()),
                Err(error) => {
                    return Err(format!("cannot write to the stdin of {}: {error}", self.name()));
                }
            }
        }
        Ok(())
    }

    /// The next line, if it arrives in time and before the run is stopped.
    ///
    /// # Errors
    /// Why the process is unusable: it died, sent nothing in time or floods us.
    pub fn next(&mut self, patience: Duration) -> Result<String, String> {
        let deadline = Deadline::after(patience);
        loop {
            self.check_stop()?;
            if let Some(line) = self.poll_next()? {
                return Ok(line);
            }
            if deadline.is_over() {
                return Err(self.silent_for(patience));
            }
            self.wait(None, deadline);
        }
    }

    /// The next line, if it is there already.
    ///
    /// # Errors
    /// Why the process is unusable: it died or floods us.
    pub fn poll_next(&mut self) -> Result<Option<String>, String> {
        // Output comes first: a worker's last lines are read before its end is noticed.
        let has_ended = match &self.speaker {
            Speaker::Child(child) => child.has_ended(),
            // The end of its output says so.
            Speaker::Distant(_) => false,
        };
        match self.next_line() {
            Ok(line) => Ok(Some(line)),
            Err(error) if error.kind() == ErrorKind::WouldBlock && !has_ended => {
                // A process that cannot write there would hang.
                self.hear_stderr();
                Ok(None)
            }
            Err(error) if is_end(&error) => Err(self.end_of_process()),
            Err(error) => Err(format!("cannot read the stdout of {}: {error}", self.name())),
        }
    }

    /// Bytes of the line that is still arriving.
    pub fn arriving(&self) -> usize {
        self.line.len()
    }

    /// Why a process that sent nothing for so long is unusable.
    pub fn silent_for(&self, patience: Duration) -> String {
        let LineProtocol { name, silence, .. } = &self.protocol;
        format!("{name} sent nothing for {patience:?}: {silence}")
    }

    /// The pipe from which lines come.
    pub fn output(&self) -> impl AsFd {
        self.output.get_ref()
    }

    /// The next complete line; an error of kind "would block" if there is none yet.
    fn next_line(&mut self) -> io::Result<String> {
        let room = self.protocol.line_bytes_max - self.line.len() as u64;
        self.output.by_ref().take(room).read_until(b'\n', &mut self.line)?;
        let is_whole = self.line.last() == Some(&b'\n');
        let line = std::mem::take(&mut self.line);
        let most = self.protocol.line_bytes_max;
        if is_whole {
            Ok(String::from_utf8_lossy(&line).trim_end().to_owned())
        } else if line.len() as u64 == most {
            Err(io::Error::other(format!("a line longer than {most} bytes")))
        } else {
            // A truncated line may look like another, complete one.
            Err(ErrorKind::UnexpectedEof.into())
        }
    }

    /// Fails once a signal asks the run to stop.
    pub fn check_stop(&self) -> Result<(), String> {
        if self.stop.is_asked() { Err("the run was stopped".to_string()) } else { Ok(()) }
    }

    /// Waits briefly, or until there is something to hear.
    pub fn wait_for_line(&mut self, deadline: Deadline) {
        self.wait(None, deadline);
    }

    /// Waits briefly, or until there is room in `input` or, without one, something to hear. It
    /// always reads stderr as well: a process that cannot write there would hang.
    fn wait(&mut self, input: Option<&File>, deadline: Deadline) {
        let stderr_is_open = self.hear_stderr();
        let mut pipes = Vec::with_capacity(2);
        match input {
            Some(input) => pipes.push(PollFd::new(input, PollFlags::OUT)),
            None => pipes.push(PollFd::new(self.output.get_ref(), PollFlags::IN)),
        }
        if let (Speaker::Child(child), true) = (&self.speaker, stderr_is_open) {
            pipes.push(PollFd::new(child.stderr(), PollFlags::IN));
        }
        let step = deadline.left().min(STOP_STEP);
        let timeout = Timespec::try_from(step).expect("a short wait has few seconds");
        match poll(&mut pipes, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            // If the OS cannot poll, check the pipes at intervals.
            Err(_) => std::thread::sleep(step),
        }
    }

    /// Reads the stderr of a child. Returns whether more may follow.
    fn hear_stderr(&mut self) -> bool {
        match &mut self.speaker {
            Speaker::Child(child) => child.hear_stderr(),
            Speaker::Distant(_) => false,
        }
    }

    /// Describes how the process ended.
    fn end_of_process(&mut self) -> String {
        self.dismiss();
        let (name, farewell) = (&self.protocol.name, self.farewell());
        match &mut self.speaker {
            Speaker::Child(child) => child.death(&format!("{name} died"), farewell),
            Speaker::Distant(_) => format!("{name} closed its connection"),
        }
    }

    fn farewell(&self) -> Farewell {
        Farewell { by_itself: self.protocol.farewell, by_term: END_BY_TERM }
    }

    /// Tells the process that nothing will follow: it exits by itself, without being waited for.
    pub fn dismiss(&mut self) {
        let is_told = self.input.take().is_none();
        if let (Speaker::Distant(connection), false) = (&self.speaker, is_told) {
            // If it is closed already, it is told.
            let _ = connection.shutdown(Shutdown::Write);
        }
    }

    /// Lets the process exit: gracefully if it is idle, otherwise by force.
    fn end(&mut self) {
        self.dismiss();
        let farewell = self.farewell();
        match &mut self.speaker {
            Speaker::Child(child) => child.end(farewell),
            Speaker::Distant(_) => self.hear_end(),
        }
    }

    /// Waits until the other end closes the connection: until it has removed its files.
    fn hear_end(&mut self) {
        let deadline = Deadline::after(self.protocol.farewell);
        let mut chunk = [0; 4096];
        while !deadline.is_over() {
            match self.output.read(&mut chunk) {
                Ok(0) => return,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.wait(None, deadline);
                }
                Err(_) => return,
            }
        }
        log::debug!("{} did not close its connection", self.name());
    }
}

impl Drop for LineProcess {
    fn drop(&mut self) {
        self.end();
    }
}

/// Whether nothing more will be read.
fn is_unread(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset)
}

/// Whether nothing more will arrive: at the end of the pipe, if only other processes hold it open,
/// or if the other end of a connection does not exist any more.
fn is_end(error: &io::Error) -> bool {
    use ErrorKind::{ConnectionReset, UnexpectedEof, WouldBlock};
    matches!(error.kind(), UnexpectedEof | WouldBlock | ConnectionReset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn protocol() -> LineProtocol {
        LineProtocol {
            name: "the agent on b".to_owned(),
            silence: "",
            line_bytes_max: 1 << 10,
            patience: Duration::from_secs(60),
            farewell: Duration::from_secs(60),
        }
    }

    /// Speaks until that fails: what is sent first may still find a reader.
    fn why_not(mut process: LineProcess) -> String {
        loop {
            if let Err(error) = process.say("a line") {
                return error;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// It may end at any time: before it is told something, as after.
    #[test]
    fn a_process_that_has_ended_is_described_by_its_end() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo out of memory >&2; exit 3"]);
        let process = LineProcess::start(command, protocol(), &Stop::default()).unwrap();
        let expected = "the agent on b died (exit status: 3); its stderr: out of memory";
        assert_eq!(why_not(process), expected);
        let mut command = Command::new("sh");
        command.args(["-c", "kill -9 $$"]);
        let process = LineProcess::start(command, protocol(), &Stop::default()).unwrap();
        let why = why_not(process);
        assert!(why.starts_with("the agent on b died (signal: 9"), "{why}");
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let connection = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        drop(listener.accept().unwrap());
        let process = LineProcess::connected(connection, protocol(), &Stop::default()).unwrap();
        assert_eq!(why_not(process), "the agent on b closed its connection");
    }
}
