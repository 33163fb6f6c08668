//! Runs an external program, such as a compiler, to completion or up to its limits.
//!
//! The program and everything it starts form a process group. The whole group is killed at the
//! deadline, when a signal asks this program to stop, and when the program itself has exited.

use crate::stop::Stop;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions, getrlimit, kill_process_group, prlimit,
    waitid,
};
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How much of a stream's end is kept: a compiler's last output says what went wrong.
const LAST_BYTES: usize = 2000;
/// Size of a read in bytes: a pipe's capacity.
const CHUNK: usize = 64 << 10;
/// Maximum bytes to read after the program has exited: pipes hold no more.
const DRAIN_BYTES: u64 = 1 << 20;
/// Interval between checks if nothing is printed.
const STEP: Duration = Duration::from_millis(5);
/// Time between SIGTERM and SIGKILL, in which a program may remove its temporary files.
const GRACE: Duration = Duration::from_millis(200);
/// Time to wait after SIGKILL. It takes longer only if the OS itself hangs, as on a dead network
/// mount.
const KILL: Duration = Duration::from_secs(2);
/// Maximum size of a file that a program may write: a hundred times the size of a peer.
const FILE_BYTES_MAX: u64 = 4 << 30;
/// Minimum limit of [`Limits::half_of`]: a runtime needs about 100 MiB to start.
const MEMORY_LEAST: u64 = 512 << 20;

/// Limits on a program's time and memory.
#[derive(Debug, Clone, Copy)]
pub struct ProgramLimits {
    /// Maximum running time.
    pub time: Duration,
    /// Bytes of data that each of its processes may have (`RLIMIT_DATA`). A limit on address space
    /// would count what runtimes only reserve. `None` means no limit.
    pub memory: Option<u64>,
    /// How much of each stream's start is kept.
    pub first_bytes: usize,
}

impl ProgramLimits {
    /// Half of the `available` memory, so that a runaway compiler dies before it hurts the machine.
    /// Unlimited if the available memory is unknown.
    pub fn half_of(available: Option<u64>) -> Option<u64> {
        available.map(|bytes| (bytes / 2).max(MEMORY_LEAST))
    }

    /// Applies the limits to a process that has just started; its children inherit them.
    fn set(&self, pid: Pid) {
        let files = (Resource::Fsize, Some(FILE_BYTES_MAX));
        for (resource, most) in [(Resource::Data, self.memory), files, (Resource::Core, Some(0))] {
            let Some(most) = most else { continue };
            // Keep a limit that is already lower.
            let most = getrlimit(resource).maximum.map_or(most, |least| least.min(most));
            let limit = Rlimit { current: Some(most), maximum: Some(most) };
            if let Err(error) = prlimit(Some(pid), resource, limit) {
                log::debug!("cannot limit {resource:?} of process {pid:?}: {error}");
            }
        }
    }
}

/// The result of a program that exited by itself.
#[derive(Debug)]
pub struct Finished {
    /// Its exit status.
    pub status: ExitStatus,
    /// Its standard output.
    pub stdout: Printed,
    /// Its standard error.
    pub stderr: Printed,
}

/// The start and end of a stream.
#[derive(Debug, Default)]
pub struct Printed {
    first: Vec<u8>,
    last: Vec<u8>,
    bytes: u64,
}

impl Printed {
    /// The start, and whether that is everything.
    pub fn first(&self) -> (&[u8], bool) {
        (&self.first, self.first.len() as u64 == self.bytes)
    }

    /// The end, at most 2000 bytes.
    pub fn last(&self) -> String {
        String::from_utf8_lossy(&self.last).trim().to_string()
    }

    fn take(&mut self, chunk: &[u8], first_bytes: usize) {
        self.bytes += chunk.len() as u64;
        let room = first_bytes.saturating_sub(self.first.len()).min(chunk.len());
        self.first.extend_from_slice(&chunk[..room]);
        let tail = &chunk[chunk.len().saturating_sub(LAST_BYTES)..];
        self.last.extend_from_slice(tail);
        self.last.drain(..self.last.len().saturating_sub(LAST_BYTES));
    }
}

/// Runs `command` with an empty stdin.
///
/// # Errors
/// Why it could not be started, or was killed: it exceeded the time limit, or a signal arrived.
pub fn run(mut command: Command, limits: ProgramLimits, stop: &Stop) -> Result<Finished, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    command.process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => format!("'{name}' is not installed"),
        _ => format!("'{name}' cannot be started: {error}"),
    })?;
    let pid = Pid::from_child(&child);
    limits.set(pid);
    let mut running = Running { child, pid };
    let mut streams = [
        Stream::new(running.child.stdout.take().expect("it was asked to be a pipe")),
        Stream::new(running.child.stderr.take().expect("it was asked to be a pipe")),
    ];
    let began = Instant::now();
    let end = loop {
        let moved: usize = streams.iter_mut().map(|stream| stream.read(limits.first_bytes)).sum();
        match () {
            () if running.has_ended() => break Ok(()),
            () if stop.is_asked() => break Err("the run was stopped".to_string()),
            () if began.elapsed() >= limits.time => {
                let time = limits.time;
                break Err(format!("'{name}' did not end within {time:?} and was killed"));
            }
            () if moved > 0 => {}
            () => std::thread::sleep(STEP),
        }
    };
    let status = running.end();
    end?;
    streams.iter_mut().for_each(|stream| stream.drain(limits.first_bytes));
    let [stdout, stderr] = streams.map(|stream| stream.printed);
    let status = status.ok_or_else(|| format!("cannot read how '{name}' ended"))?;
    Ok(Finished { status, stdout, stderr })
}

/// A running program. It is killed with its whole group, whatever happens to the caller.
struct Running {
    child: Child,
    pid: Pid,
}

impl Running {
    /// Whether it has exited. It stays a zombie: until its status is collected, no other process
    /// can have its PID, which is also the group's ID.
    fn has_ended(&self) -> bool {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        !matches!(waitid(WaitId::Pid(self.pid), look), Ok(None))
    }

    fn ends_within(&self, time: Duration) -> bool {
        let began = Instant::now();
        while !self.has_ended() {
            if began.elapsed() >= time {
                return false;
            }
            std::thread::sleep(STEP);
        }
        true
    }

    /// Kills it if it is still running, and everything it left. Returns its exit status.
    fn end(&mut self) -> Option<ExitStatus> {
        // If a signal finds no process, that is fine.
        if !self.has_ended() {
            let _ = kill_process_group(self.pid, Signal::TERM);
            self.ends_within(GRACE);
        }
        let _ = kill_process_group(self.pid, Signal::KILL);
        if self.ends_within(KILL) { self.child.try_wait().ok().flatten() } else { None }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            self.end();
        }
    }
}

/// The reading end of a pipe, which never blocks: another process may hold the writing end open
/// forever.
struct Stream {
    pipe: Box<dyn Read>,
    buffer: Vec<u8>,
    printed: Printed,
}

impl Stream {
    fn new(pipe: impl Read + AsFd + 'static) -> Stream {
        let set = fcntl_getfl(&pipe).and_then(|flags| fcntl_setfl(&pipe, flags | OFlags::NONBLOCK));
        set.expect("a pipe has flags");
        Stream { pipe: Box::new(pipe), buffer: vec![0; CHUNK], printed: Printed::default() }
    }

    /// Reads what is available, up to a chunk. Returns the number of bytes.
    fn read(&mut self, first_bytes: usize) -> usize {
        // `EAGAIN` (nothing now) and end of file both count as nothing.
        let length = self.pipe.read(&mut self.buffer).unwrap_or(0);
        self.printed.take(&self.buffer[..length], first_bytes);
        length
    }

    fn drain(&mut self, first_bytes: usize) {
        let before = self.printed.bytes;
        while self.printed.bytes - before < DRAIN_BYTES && self.read(first_bytes) > 0 {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result of a shell script that may run for `time`, and its duration.
    fn run_for(time: Duration, script: &str) -> (Result<Finished, String>, Duration) {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let limits = ProgramLimits { time, memory: Some(64 << 20), first_bytes: 10 };
        let began = Instant::now();
        (run(command, limits, &Stop::default()), began.elapsed())
    }

    /// The result of a script that exits long before its time limit.
    fn told(script: &str) -> Finished {
        let (told, took) = run_for(Duration::from_secs(60), script);
        assert!(took < Duration::from_secs(30), "{script}: {took:?}");
        told.expect(script)
    }

    /// Checks that a script is killed at a short deadline.
    fn check_ended(script: &str) {
        let (told, took) = run_for(Duration::from_millis(100), script);
        let error = told.expect_err(script);
        assert_eq!(error, "'sh' did not end within 100ms and was killed", "{script}");
        assert!(took < Duration::from_secs(30), "{script}: {took:?}");
    }

    fn is_alive(pid: &str) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // A zombie holds no resources; it waits for whoever adopted it.
        stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
    }

    #[test]
    fn the_beginning_and_the_end_are_kept() {
        let all = told("echo out; echo 'on fire' >&2; exit 3");
        assert_eq!((all.status.code(), all.stdout.first()), (Some(3), (&b"out\n"[..], true)));
        assert_eq!((all.stdout.last(), all.stderr.last()), ("out".into(), "on fire".into()));
        let long = told("head -c 3000000 /dev/zero | tr '\\0' x; echo end");
        assert_eq!(long.stdout.first(), (&b"xxxxxxxxxx"[..], false));
        let last = long.stdout.last();
        assert!(last.ends_with("xend") && last.len() == LAST_BYTES - 1, "{last}");
        assert!(!told("kill -9 $$").status.success());
    }

    #[test]
    fn what_does_not_end_is_ended() {
        check_ended("sleep 60");
        check_ended("while :; do echo babble; done");
        check_ended("trap '' TERM; while :; do sleep 60; done");
        check_ended("kill -STOP $$");
    }

    #[test]
    fn what_it_started_does_not_outlive_it_nor_is_waited_for() {
        // The child holds the pipes open.
        let pid = String::from_utf8_lossy(told("sleep 60 & echo $!").stdout.first().0).into_owned();
        let began = Instant::now();
        while is_alive(pid.trim()) {
            assert!(began.elapsed() < Duration::from_secs(30), "{pid} goes on");
            std::thread::sleep(STEP);
        }
        // Nor do we wait for a process that has left the group.
        told("setsid sleep 0.3 & true");
    }

    #[test]
    fn its_processes_have_limits() {
        // The limits apply only after it has started, one after the other.
        let limited = "until [ $(ulimit -d) = 65536 ] && [ $(ulimit -c) = 0 ]; do sleep 0.01; done";
        let limits = told(&format!("{limited}; ulimit -d; ulimit -c")).stdout.last();
        assert_eq!(limits, "65536\n0");
        let greedy = told(&format!("{limited}; head -c 200000000 /dev/zero | tail -n 1 | wc -c"));
        assert_eq!(greedy.stdout.last(), "0", "{greedy:?}");
        assert_eq!(ProgramLimits::half_of(None), None);
        assert_eq!(ProgramLimits::half_of(Some(8 << 30)), Some(4 << 30));
        assert_eq!(ProgramLimits::half_of(Some(100 << 20)), Some(MEMORY_LEAST));
    }

    #[test]
    fn what_is_not_there_is_named() {
        let limits = ProgramLimits { time: GRACE, memory: None, first_bytes: 0 };
        let start = |name| run(Command::new(name), limits, &Stop::default()).unwrap_err();
        assert_eq!(start("no-such-compiler"), "'no-such-compiler' is not installed");
        assert!(start("/").contains("'/' cannot be started: "));
    }
}
