//! `judge`, stopped or killed at any moment: the exit status is right, and nothing goes on.

use crate::sandbox::{PROGRAM, Sandbox, wait_for};
use rustix::process::{Pid, Signal, kill_process};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus, Stdio};
use std::time::Duration;

/// The variable that marks all that a run starts.
const MARK: &str = "IOASSAY_TEST_MARK";

/// A run of a command that starts processes of all kinds, with everything around it.
struct Running<'s> {
    sandbox: &'s Sandbox,
    child: Child,
    mark: String,
}

const COMMAND: &str = "sh -c 'setsid sleep 7777 & sleep 7778 & cat file > copy; sleep 0.2'";

impl Running<'_> {
    fn start<'s>(sandbox: &'s Sandbox, number: u64) -> Running<'s> {
        std::fs::write(sandbox.path("file"), vec![7; 1 << 20]).unwrap();
        let mark = format!("{}.{number}", std::process::id());
        let mut command = sandbox.start("env");
        command.args(["--default-signal=INT", PROGRAM, "judge", COMMAND]);
        command.args(["--setup", "sh -c 'setsid sleep 7776 >/dev/null 2>&1 &'"]);
        command.args(["--prepare", "sh -c 'sleep 7775 & touch prepared; sleep 0.1'"]);
        command.args(["--conclude", "sh -c 'sleep 0.05; rm -f prepared'"]);
        command.args(["--cleanup", "sh -c 'sleep 7774 & rm -f copy'"]);
        command.args(["--rounds=3", "--invocations=1", "--quiet"]).env(MARK, &mark);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Running { sandbox, child, mark }
    }

    /// The processes that it started, itself included.
    fn processes(&self) -> Vec<u32> {
        let mark = format!("{MARK}={}", self.mark);
        let is_marked = |pid: &u32| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes())
        };
        let all = std::fs::read_dir("/proc").unwrap().flatten();
        all.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_marked).collect()
    }

    fn worker(&self) -> Option<u32> {
        let is_worker = |pid: &u32| {
            let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            words.ends_with(b"\0worker\0")
        };
        self.processes().into_iter().find(is_worker)
    }

    fn end(&mut self) -> ExitStatus {
        wait_for("the end of the run", || self.child.try_wait().unwrap())
    }

    /// Checks that nothing goes on, and that no file is left but the user's and a record.
    fn check_left(&self, is_cleaned: bool) {
        wait_for("the end of all processes", || self.processes().is_empty().then_some(()));
        let is_own = |path: &String| {
            path.ends_with("/file")
                || path.ends_with("/ioassay")
                || path.ends_with(".jsonl")
                || (!is_cleaned && (path.ends_with("/copy") || path.ends_with("/prepared")))
        };
        let things = self.sandbox.things();
        assert!(things.iter().all(is_own), "{things:?}");
    }
}

fn send(pid: u32, signal: Signal) {
    // One that has just ended needs none.
    let _gone = kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal);
}

/// Stops `moments` runs, each at another moment, in turn by each signal.
pub(crate) fn check_stopped(moments: u64) {
    let sandbox = Sandbox::new();
    for number in 0..moments {
        let mut running = Running::start(&sandbox, number);
        // In no step with the signals, and spread over all of a run.
        let after = number * 7919 % 2_000;
        std::thread::sleep(Duration::from_millis(after));
        let signals = [(Signal::INT, 130), (Signal::TERM, 143), (Signal::KILL, 0)];
        let (signal, code) = signals[(number % 3) as usize];
        send(running.child.id(), signal);
        let status = running.end();
        let is_right = match signal {
            Signal::KILL => status.signal() == Some(9) || status.code().is_some(),
            // It may have ended before.
            _ => matches!(status.code(), Some(0 | 1)) || status.code() == Some(code),
        };
        // Before it listens, the default action ends it.
        let is_early = status.signal() == Some(signal.as_raw());
        assert!(is_right || is_early, "{signal:?} after {after} ms: {status:?}");
        running.check_left(status.code().is_some());
    }
}

#[test]
fn a_run_that_is_stopped_at_any_moment_leaves_no_process_and_no_file() {
    check_stopped(12);
}

#[test]
fn a_worker_that_is_killed_takes_its_command_with_it() {
    let sandbox = Sandbox::new();
    for number in 0..4 {
        let mut running = Running::start(&sandbox, 1000 + number);
        let worker = wait_for("a worker", || match running.child.try_wait().unwrap() {
            Some(_) => Some(None),
            None => running.worker().map(Some),
        });
        std::thread::sleep(Duration::from_millis(number * 60));
        worker.into_iter().for_each(|worker| send(worker, Signal::KILL));
        let status = running.end();
        // Without a worker that starts, nothing can be measured.
        assert!(matches!(status.code(), Some(0..=2)), "{status:?}");
        running.check_left(true);
    }
}
