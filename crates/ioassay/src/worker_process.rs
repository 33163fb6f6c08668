//! A live worker: sends it jobs and receives outcomes, with a time limit on every wait.
//!
//! It uses no threads: every wait polls all pipes, which are non-blocking. So each wait has a
//! deadline, notices signals, and never hangs on a pipe that another process holds open.

use crate::deadline::Deadline;
use crate::orphans::Worker;
use crate::stop::Stop;
use anyhow::{Context, Result};
use model::trial::{Job, Outcome};
use model::wire::{Gather, PROTOCOL, Reply, Request};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// Maximum length of a worker's line. Endless output from a worker must not fill memory.
const LINE_BYTES_MAX: u64 = 64 << 10;

/// How much of stderr is kept, in bytes: its end.
const LAST_WORDS_BYTES: usize = 2000;

/// How much of stderr is read at once: a worker that floods it must not block us.
const STDERR_BYTES_MAX: usize = 1 << 20;

/// How long a worker may take beyond the trial's time, to open files, allocate and fill memory.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// How long a worker may leave requests unread once its pipe, which holds hundreds, is full.
const UNREAD: Duration = Duration::from_secs(5);

/// Interval between stop checks.
const STOP_STEP: Duration = Duration::from_millis(50);

/// How long a worker may take to exit after its input ends, before it gets a signal.
const END_OF_INPUT: Duration = Duration::from_millis(500);

/// How long it may take to exit after SIGTERM.
const END_BY_TERM: Duration = Duration::from_millis(100);

/// How long it may take to exit after SIGKILL. If the OS keeps it for longer, we stop waiting.
const END_BY_KILL: Duration = Duration::from_secs(5);

/// Interval between checks whether it has exited.
const END_STEP: Duration = Duration::from_millis(2);

/// A worker process and its pipes.
#[derive(Debug)]
pub struct WorkerProcess {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    /// The incomplete line received so far.
    line: Vec<u8>,
    stderr: ChildStderr,
    last_words: Vec<u8>,
    stop: Stop,
    patience: Duration,
    /// `None` once it has exited.
    worker: Option<Worker>,
}

/// What a wait is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wait {
    /// A line from the worker.
    ToHear,
    /// Space in its stdin.
    ToSay,
}

impl WorkerProcess {
    /// Starts the worker `command` and receives its handshake.
    ///
    /// # Errors
    /// If it cannot be started, says nothing or speaks another protocol.
    pub fn start(mut command: Command, stop: &Stop, patience: Duration) -> Result<WorkerProcess> {
        // A process group of its own, so that an interrupt from the keyboard reaches only this
        // program.
        command.process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let called = format!("{command:?}");
        let (mut child, worker) = Worker::start(&mut command)
            .with_context(|| format!("failed to start the worker {called}"))?;
        let stdin = child.stdin.take().expect("stdin is a pipe");
        let stdout = child.stdout.take().expect("stdout is a pipe");
        let stderr = child.stderr.take().expect("stderr is a pipe");
        let pipes = [stdin.as_fd(), stdout.as_fd(), stderr.as_fd()];
        let unblocked = pipes.into_iter().try_for_each(|pipe| ioctl_fionbio(pipe, true));
        let mut worker = WorkerProcess {
            child,
            stdin: Some(stdin),
            stdout: BufReader::new(stdout),
            line: Vec::new(),
            stderr,
            last_words: Vec::new(),
            stop: stop.clone(),
            patience,
            worker: Some(worker),
        };
        unblocked.context("failed to make the worker's pipes non-blocking")?;
        match worker.next(patience) {
            Ok(Reply::Hello { protocol: PROTOCOL, .. }) => Ok(worker),
            Ok(other) => {
                anyhow::bail!("unexpected handshake from the worker: '{}'", other.encode())
            }
            Err(reason) => anyhow::bail!("the worker sent no handshake: {reason}"),
        }
    }

    /// The worker's PID.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends `job` to the worker and waits until it is ready, or until an outcome, if the worker
    /// cannot begin.
    ///
    /// # Errors
    /// Why the worker is unusable: it died, sent nothing in time or flooded us.
    pub fn prepare(&mut self, job: &Job) -> Result<Option<Outcome>, String> {
        self.say(&Request::Job(job.clone()))?;
        match self.next(self.patience)? {
            Reply::Ready => Ok(None),
            Reply::Unavailable { reason } => Ok(Some(Outcome::Unavailable { reason })),
            Reply::Failed { reason } => Ok(Some(Outcome::Failed { reason })),
            other => Err(format!("the worker sent '{}' instead of 'ready'", other.encode())),
        }
    }

    /// Starts the prepared trial and waits for the outcome.
    ///
    /// # Errors
    /// As for [`WorkerProcess::prepare`].
    pub fn perform(&mut self, time: Duration) -> Result<Outcome, String> {
        self.begin()?;
        self.finish(time)
    }

    /// Starts the prepared trial.
    ///
    /// # Errors
    /// As for [`WorkerProcess::prepare`].
    pub fn begin(&mut self) -> Result<(), String> {
        self.say(&Request::Go)
    }

    /// Waits for the outcome of a trial that was started.
    ///
    /// # Errors
    /// As for [`WorkerProcess::prepare`].
    pub fn finish(&mut self, time: Duration) -> Result<Outcome, String> {
        let mut gather = Gather::default();
        let deadline = Deadline::after(time.saturating_add(self.patience));
        loop {
            let reply = self.next(deadline.left())?;
            if let Some(outcome) = gather.take(reply).map_err(|error| error.to_string())? {
                return Ok(outcome);
            }
            if deadline.is_over() {
                return Err("the worker sent an outcome without an end".to_string());
            }
        }
    }

    /// Tells the worker to release the finished job, whose threads and arrays were kept as
    /// evidence.
    ///
    /// # Errors
    /// As for [`WorkerProcess::prepare`].
    pub fn dismiss(&mut self) -> Result<(), String> {
        self.say(&Request::Go)
    }

    fn say(&mut self, request: &Request) -> Result<(), String> {
        let text = request.encode() + "\n";
        let mut rest = text.as_bytes();
        let patience = UNREAD.min(self.patience);
        let deadline = Deadline::after(patience);
        while !rest.is_empty() {
            let stdin = self.stdin.as_mut().expect("stdin is open until the worker ends");
            match stdin.write(rest) {
                Ok(count) => rest = &rest[count..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.check_stop()?;
                    if deadline.is_over() {
                        return Err(format!("the worker did not read its stdin for {patience:?}"));
                    }
                    self.wait(Wait::ToSay, deadline);
                }
                Err(error) => {
                    return Err(self.death(&format!("cannot write to the worker's stdin: {error}")));
                }
            }
        }
        Ok(())
    }

    /// The next reply, if it arrives in time and before the run is stopped.
    fn next(&mut self, patience: Duration) -> Result<Reply, String> {
        let deadline = Deadline::after(patience);
        loop {
            self.check_stop()?;
            // Output comes first: a worker's last lines are read before its end is noticed.
            let has_ended = self.has_ended();
            match self.next_line() {
                Ok(line) => return Reply::decode(line.trim_end()).map_err(|e| e.to_string()),
                Err(error) if error.kind() == ErrorKind::WouldBlock && !has_ended => {}
                Err(error) if is_end(&error) => {
                    return Err(self.death("the worker died"));
                }
                Err(error) => return Err(format!("cannot read the worker's stdout: {error}")),
            }
            if deadline.is_over() {
                return Err(format!(
                    "the worker sent nothing for {patience:?}: it hangs, or the device is too slow \
                     for this --size"
                ));
            }
            self.wait(Wait::ToHear, deadline);
        }
    }

    /// The next complete line; an error of kind "would block" if there is none yet.
    fn next_line(&mut self) -> io::Result<String> {
        let room = LINE_BYTES_MAX - self.line.len() as u64;
        self.stdout.by_ref().take(room).read_until(b'\n', &mut self.line)?;
        let is_whole = self.line.last() == Some(&b'\n');
        let line = std::mem::take(&mut self.line);
        match line.len() as u64 {
            _ if is_whole => Ok(String::from_utf8_lossy(&line).into_owned()),
            LINE_BYTES_MAX => {
                Err(io::Error::other(format!("a line longer than {LINE_BYTES_MAX} bytes")))
            }
            // A truncated line may look like another, complete one.
            _ => Err(ErrorKind::UnexpectedEof.into()),
        }
    }

    fn check_stop(&self) -> Result<(), String> {
        if self.stop.is_asked() { Err("the run was stopped".to_string()) } else { Ok(()) }
    }

    /// Waits briefly, or until a pipe is ready. It always reads stderr as well: a worker that
    /// cannot write there would hang.
    fn wait(&mut self, wait: Wait, deadline: Deadline) {
        let stderr_is_open = self.hear_stderr();
        let mut pipes = Vec::with_capacity(2);
        match (wait, &self.stdin) {
            (Wait::ToSay, Some(stdin)) => pipes.push(PollFd::new(stdin, PollFlags::OUT)),
            _ => pipes.push(PollFd::new(self.stdout.get_ref(), PollFlags::IN)),
        }
        if stderr_is_open {
            pipes.push(PollFd::new(&self.stderr, PollFlags::IN));
        }
        let step = deadline.left().min(STOP_STEP);
        let timeout = Timespec::try_from(step).expect("a short wait has few seconds");
        match poll(&mut pipes, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            // If the OS cannot poll, check the pipes at intervals.
            Err(_) => std::thread::sleep(step),
        }
    }

    /// Reads stderr and keeps its end. Returns whether more may follow.
    fn hear_stderr(&mut self) -> bool {
        let mut chunk = [0; 4096];
        for _ in 0..STDERR_BYTES_MAX / chunk.len() {
            match self.stderr.read(&mut chunk) {
                Ok(0) => return false,
                Ok(count) => {
                    self.last_words.extend_from_slice(&chunk[..count]);
                    let excess = self.last_words.len().saturating_sub(LAST_WORDS_BYTES);
                    self.last_words.drain(..excess);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
        }
        true
    }

    /// Describes how the worker ended.
    fn death(&mut self, seen: &str) -> String {
        self.end();
        let status = match self.child.try_wait() {
            Ok(Some(status)) => format!(" ({status})"),
            Ok(None) | Err(_) => String::new(),
        };
        self.hear_stderr();
        match String::from_utf8_lossy(&self.last_words).trim() {
            "" => format!("{seen}{status}"),
            words => format!("{seen}{status}; its stderr: {words}"),
        }
    }

    /// Lets the worker exit: gracefully if it is idle, otherwise by force. Nothing that it started
    /// outlives it.
    fn end(&mut self) {
        let Some(worker) = self.worker.take() else { return };
        // Closing its stdin tells it to exit.
        self.stdin = None;
        if !self.ends_within(END_OF_INPUT) {
            self.signal(Signal::TERM);
            self.ends_within(END_BY_TERM);
        }
        // Kill the whole group, even after a normal exit. The worker's status is not collected yet,
        // so no other group can have its ID.
        self.signal(Signal::KILL);
        if !self.ends_within(END_BY_KILL) {
            log::warn!("the worker {} did not end after SIGKILL", self.child.id());
        }
        if let Err(error) = self.child.try_wait() {
            log::debug!("the worker's status is unknown: {error}");
        }
        drop(worker);
    }

    /// Sends a signal to the worker's process group. If the group no longer exists, that is fine.
    fn signal(&self, signal: Signal) {
        match kill_process_group(Pid::from_child(&self.child), signal) {
            Ok(()) | Err(Errno::SRCH) => {}
            Err(error) => log::debug!(
                "cannot send {signal:?} to the worker's process group: \
                                       {error}"
            ),
        }
    }

    /// Whether the worker has exited. Leaves its status for later.
    fn has_ended(&self) -> bool {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let seen = waitid(WaitId::Pid(Pid::from_child(&self.child)), look);
        !matches!(seen, Ok(None) | Err(Errno::INTR))
    }

    /// Whether the worker exits within `limit`.
    fn ends_within(&mut self, limit: Duration) -> bool {
        let deadline = Deadline::after(limit);
        loop {
            if self.has_ended() {
                return true;
            }
            if deadline.is_over() {
                return false;
            }
            self.hear_stderr();
            std::thread::sleep(END_STEP);
        }
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        self.end();
    }
}

/// Whether nothing more will arrive: at the end of the pipe, or if only other processes hold it
/// open.
fn is_end(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::WouldBlock)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::case::{Case, Work};
    use model::zoo;

    const HELLO: &str = "echo hello protocol=2 name=fake version=1; ";

    /// The outcome of a job given to a shell script.
    fn check(script: &str) -> Result<Outcome, String> {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{HELLO}{script}")]);
        let patience = Duration::from_millis(300);
        let mut worker = WorkerProcess::start(command, &Stop::default(), patience)
            .map_err(|error| format!("{error:#}"))?;
        let case = Case::own(Work::Read(zoo::plain()));
        let job = Job { case, seed: 1, file: Some("/tmp/x".into()), source: None };
        match worker.prepare(&job)? {
            Some(outcome) => Ok(outcome),
            None => worker.perform(Duration::from_millis(1)),
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
            ("read job; echo 'on fire' >&2; exit 3", "exit status: 3); its stderr: on fire"),
            ("read job; kill -9 $$", "signal: 9"),
            ("read job; sleep 60", "sent nothing for 300ms"),
            ("read job; echo ready; read go; sleep 60", "sent nothing for"),
            ("read job; echo ready; read go; while :; do echo span; done", "no 'thread'"),
            ("read job; head -c 100000 /dev/zero", "a line longer than 65536 bytes"),
            ("read job; echo dance", "an unknown verb"),
            ("read job; echo done setup_ns=1 max_ns=1", "instead of 'ready'"),
        ] {
            let error = check(script).expect_err(script);
            assert!(error.contains(expected), "'{script}' gave '{error}'");
        }
    }

    #[test]
    fn what_a_worker_leaves_behind_keeps_nobody() {
        let began = std::time::Instant::now();
        let error = check("read job; sleep 600 & echo 'on fire' >&2; exit 3").unwrap_err();
        assert!(error.contains("exit status: 3); its stderr: on fire"), "{error}");
        let error = check("read job; exec >&- ; sleep 600").unwrap_err();
        assert!(error.contains("the worker died"), "{error}");
        assert!(began.elapsed() < Duration::from_secs(60));
    }

    /// A worker whose worker sends the handshake and then runs `script`.
    fn worker(script: &str) -> WorkerProcess {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{HELLO}{script}")]);
        WorkerProcess::start(command, &Stop::default(), Duration::from_millis(300)).unwrap()
    }

    #[test]
    fn a_worker_that_does_not_read_is_given_up() {
        let mut worker = worker("sleep 600");
        let error = (0..1_000_000).find_map(|_| worker.dismiss().err()).unwrap();
        assert_eq!(error, "the worker did not read its stdin for 300ms");
    }

    #[test]
    fn a_worker_that_floods_stderr_is_heard() {
        let mut worker = worker("yes >&2 & read job; echo unavailable reason=no; sleep 600");
        let case = Case::own(Work::Read(zoo::plain()));
        let job = Job { case, seed: 1, file: Some("/tmp/x".into()), source: None };
        let reason = "no".to_string();
        assert_eq!(worker.prepare(&job), Ok(Some(Outcome::Unavailable { reason })));
    }

    #[test]
    fn a_stranger_is_not_listened_to() {
        let start = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            let worker =
                WorkerProcess::start(command, &Stop::default(), Duration::from_millis(300));
            format!("{:#}", worker.expect_err("it is no worker"))
        };
        assert!(start("echo hello protocol=1 name=x version=1").contains("unexpected handshake"));
        assert!(start("sleep 60").contains("sent nothing"));
        assert!(start("exit 1").contains("the worker died"));
    }
}
