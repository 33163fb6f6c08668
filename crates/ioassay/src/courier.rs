//! A live worker: takes a job to it, brings the outcome back, and waits no longer than agreed.

use crate::deadline::Deadline;
use crate::stop::Stop;
use anyhow::{Context, Result};
use model::trial::{Job, Outcome};
use model::wire::{Gather, PROTOCOL, Reply, Request};
use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The longest line a worker may say. A worker that babbles must not fill the memory.
const LINE_BYTES_MAX: u64 = 64 << 10;

/// Lines that may wait to be read; a worker that says more waits itself.
const LINES_MAX: usize = 1024;

/// How much of what a worker said on stderr is kept: its last words.
const LAST_WORDS_BYTES: usize = 2000;

/// How long a worker may take beyond the time of the trial: to open, allocate and fill.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A worker process and the lines it says.
#[derive(Debug)]
pub struct Courier {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<io::Result<String>>,
    last_words: Option<JoinHandle<String>>,
    stop: Stop,
    patience: Duration,
}

impl Courier {
    /// Starts the worker `command` and hears its greeting.
    ///
    /// # Errors
    /// When it cannot be started, says nothing or speaks another protocol.
    pub fn start(mut command: Command, stop: &Stop, patience: Duration) -> Result<Courier> {
        // A group of its own: an interrupt from the keyboard is for the coordinator alone.
        command.process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child =
            command.spawn().with_context(|| format!("failed to start the worker {command:?}"))?;
        let stdout = child.stdout.take().expect("stdout was asked to be a pipe");
        let stderr = child.stderr.take().expect("stderr was asked to be a pipe");
        let (say, lines) = sync_channel(LINES_MAX);
        let (stdin, stop) = (child.stdin.take(), stop.clone());
        let mut courier = Courier { child, stdin, lines, last_words: None, stop, patience };
        // Where the OS gives no thread, the worker that was started ends with the courier.
        let no_thread = "failed to start a thread that hears the worker";
        let hears = thread::Builder::new().spawn(move || listen(BufReader::new(stdout), &say));
        hears.context(no_thread)?;
        let hears = thread::Builder::new().spawn(move || last_words(stderr));
        courier.last_words = Some(hears.context(no_thread)?);
        let greeting = courier.next(patience);
        match greeting {
            Ok(Reply::Hello { protocol: PROTOCOL, .. }) => Ok(courier),
            Ok(other) => anyhow::bail!("the worker greets with '{}'", other.encode()),
            Err(reason) => anyhow::bail!("the worker does not greet: {reason}"),
        }
    }

    /// The worker's process identifier.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Takes `job` to the worker and waits until it is ready; or until its outcome, if that comes
    /// without its having begun.
    ///
    /// # Errors
    /// The reason why the worker is of no more use: it died, said nothing in time or babbled.
    pub fn prepare(&mut self, job: &Job) -> Result<Option<Outcome>, String> {
        self.say(&Request::Job(job.clone()))?;
        match self.next(self.patience)? {
            Reply::Ready => Ok(None),
            Reply::Unavailable { reason } => Ok(Some(Outcome::Unavailable { reason })),
            Reply::Failed { reason } => Ok(Some(Outcome::Failed { reason })),
            other => Err(format!("the worker said '{}' and was not ready", other.encode())),
        }
    }

    /// Lets the worker begin what it prepared, and waits for the outcome.
    ///
    /// # Errors
    /// As for [`Courier::prepare`].
    pub fn perform(&mut self, time: Duration) -> Result<Outcome, String> {
        self.say(&Request::Go)?;
        let mut gather = Gather::default();
        let deadline = Deadline::after(time.saturating_add(self.patience));
        loop {
            let left = deadline.left();
            let reply = self.next(left)?;
            if let Some(outcome) = gather.take(reply).map_err(|error| error.to_string())? {
                return Ok(outcome);
            }
        }
    }

    /// Lets the worker give back what it holds for the job whose outcome it told: its threads and
    /// arrays were kept for the evidence.
    ///
    /// # Errors
    /// As for [`Courier::prepare`].
    pub fn dismiss(&mut self) -> Result<(), String> {
        self.say(&Request::Go)
    }

    fn say(&mut self, request: &Request) -> Result<(), String> {
        let stdin = self.stdin.as_mut().expect("stdin is open until the courier is dropped");
        let sent = writeln!(stdin, "{}", request.encode()).and_then(|()| stdin.flush());
        sent.map_err(|error| self.death(&format!("the worker hears nothing: {error}")))
    }

    /// The next reply, if it comes within `patience` and nobody stops the run meanwhile.
    fn next(&mut self, patience: Duration) -> Result<Reply, String> {
        let deadline = Deadline::after(patience);
        loop {
            let left = deadline.left();
            match self.lines.recv_timeout(left.min(Duration::from_millis(50))) {
                Ok(Ok(line)) => return Reply::decode(&line).map_err(|error| error.to_string()),
                Ok(Err(error)) => return Err(format!("the worker cannot be heard: {error}")),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(self.death("the worker died"));
                }
                Err(RecvTimeoutError::Timeout) if self.stop.is_asked() => {
                    return Err("the run was stopped".to_string());
                }
                Err(RecvTimeoutError::Timeout) if left.is_zero() => {
                    return Err(format!(
                        "the worker said nothing for {patience:?}: it hangs, or the device is too \
                         slow for this --size"
                    ));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// What is known of the end of the worker.
    fn death(&mut self, seen: &str) -> String {
        self.end();
        let status = match self.child.try_wait() {
            Ok(Some(status)) => format!(" ({status})"),
            Ok(None) | Err(_) => String::new(),
        };
        let words = self.last_words.take().and_then(|thread| thread.join().ok());
        match words.as_deref().map(str::trim) {
            Some(words) if !words.is_empty() => format!("{seen}{status}; it said: {words}"),
            _ => format!("{seen}{status}"),
        }
    }

    /// Lets the worker end: at once if it is idle, else by force.
    fn end(&mut self) {
        self.stdin = None;
        let deadline = Deadline::after(Duration::from_millis(500));
        while !deadline.is_over() {
            if let Ok(Some(_)) = self.child.try_wait() {
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        // It was asked by the end of its input; now it is told, and at last ended by force. Its
        // whole group: what it started must not outlive it. If it is gone already, that is what
        // was wanted.
        for signal in [Signal::TERM, Signal::KILL] {
            if let Some(group) = Pid::from_raw(self.child.id() as i32) {
                let _ = kill_process_group(group, signal);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.wait();
    }
}

impl Drop for Courier {
    fn drop(&mut self) {
        self.end();
    }
}

/// Sends each line on, until the worker ends or nobody listens.
fn listen(mut stdout: impl BufRead, say: &SyncSender<io::Result<String>>) {
    loop {
        let mut line = Vec::new();
        let message = match stdout.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line) {
            Ok(0) => return,
            Ok(_) if line.last() != Some(&b'\n') && line.len() as u64 == LINE_BYTES_MAX => {
                Err(io::Error::other(format!("a line longer than {LINE_BYTES_MAX} bytes")))
            }
            Ok(_) => Ok(String::from_utf8_lossy(&line).trim_end().to_string()),
            Err(error) => Err(error),
        };
        let is_last = message.is_err();
        if say.send(message).is_err() || is_last {
            return;
        }
    }
}

/// Hears all of stderr and keeps its end.
fn last_words(mut stderr: impl Read) -> String {
    let mut kept = Vec::new();
    let mut chunk = [0; 4096];
    while let Ok(count @ 1..) = stderr.read(&mut chunk) {
        kept.extend_from_slice(&chunk[..count]);
        let excess = kept.len().saturating_sub(LAST_WORDS_BYTES);
        kept.drain(..excess);
    }
    String::from_utf8_lossy(&kept).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::case::{Case, Work};
    use model::zoo;

    const HELLO: &str = "echo hello protocol=2 name=fake version=1; ";

    /// What comes of a job that is given to a shell script.
    fn check(script: &str) -> Result<Outcome, String> {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{HELLO}{script}")]);
        let patience = Duration::from_millis(300);
        let mut courier = Courier::start(command, &Stop::default(), patience)
            .map_err(|error| format!("{error:#}"))?;
        let case = Case::own(Work::File(zoo::plain()));
        let job = Job { case, seed: 1, file: Some("/tmp/x".into()), source: None };
        match courier.prepare(&job)? {
            Some(outcome) => Ok(outcome),
            None => courier.perform(Duration::from_millis(1)),
        }
    }

    #[test]
    fn an_outcome_is_brought_back() {
        let done = check(
            "read job; echo ready; read go;
             echo span thread=0 start_ns=1 end_ns=2 bytes=3 ops=4 digest=5;
             echo latency ns=7 count=4; echo done setup_ns=1 max_ns=8; read next",
        );
        let Ok(Outcome::Done(sample)) = done else { panic!("{done:?}") };
        assert_eq!((sample.bytes(), sample.ops(), sample.latencies.max_ns), (3, 4, 8));
        let reason = "not%20here";
        let unavailable = check(&format!("read job; echo unavailable reason={reason}"));
        let reason = "not here".to_string();
        assert_eq!(unavailable, Ok(Outcome::Unavailable { reason }));
    }

    #[test]
    fn what_is_wrong_with_a_worker_is_said() {
        for (script, expected) in [
            ("read job; echo 'on fire' >&2; exit 3", "exit status: 3); it said: on fire"),
            ("read job; kill -9 $$", "signal: 9"),
            ("read job; sleep 60", "said nothing for 300ms"),
            ("read job; echo ready; read go; sleep 60", "said nothing for"),
            ("read job; echo ready; read go; while :; do echo span; done", "no 'thread'"),
            ("read job; head -c 100000 /dev/zero", "a line longer than 65536 bytes"),
            ("read job; echo dance", "an unknown verb"),
            ("read job; echo done setup_ns=1 max_ns=1", "was not ready"),
        ] {
            let error = check(script).expect_err(script);
            assert!(error.contains(expected), "'{script}' gave '{error}'");
        }
    }

    #[test]
    fn a_stranger_is_not_listened_to() {
        let start = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            let courier = Courier::start(command, &Stop::default(), Duration::from_millis(300));
            format!("{:#}", courier.expect_err("it is no worker"))
        };
        assert!(start("echo hello protocol=1 name=x version=1").contains("greets with"));
        assert!(start("sleep 60").contains("said nothing"));
        assert!(start("exit 1").contains("the worker died"));
    }
}
