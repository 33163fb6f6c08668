//! Interrupted runs: no test file remains, and the record is complete.

use crate::honesty::plant::Planted;
use crate::mounts::Mounted;
use crate::sandbox::{PROGRAM, Sandbox, wait_for};
use rustix::process::{Pid, Signal, kill_process};
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus, Stdio};

/// A run; it and its worker are killed on drop.
struct Running {
    child: Child,
}

impl Running {
    fn start(sandbox: &Sandbox, args: &[&str]) -> Running {
        // With nohup, the tests would pass an ignored SIGHUP on to the program.
        let mut command = sandbox.start("env");
        command.args(["--default-signal=HUP", PROGRAM]);
        command.args(args).args(["--record", "record", "--no-ceilings"]);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        Running { child: command.spawn().unwrap() }
    }

    /// A run whose trial outlasts this test.
    fn long(sandbox: &Sandbox) -> Running {
        let args = ["run", "page-latency", ".", "--size=1MiB", "--rounds=100", "--ops=0"];
        let running =
            Running::start(sandbox, &[&args[..], &["--cache=as-is", "--time=1h"]].concat());
        let path = sandbox.path("record");
        wait_for("the header of the record", || {
            std::fs::read(&path).is_ok_and(|bytes| bytes.contains(&b'\n')).then_some(())
        });
        running
    }

    fn send(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id() as i32).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Its remaining stderr, once it ended.
    fn said(&mut self) -> String {
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        said
    }

    fn end(&mut self) -> ExitStatus {
        wait_for("the end of the run", || self.child.try_wait().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The process is already gone if the test passed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Checks that only a readable record remains, and returns how it ended.
fn check_left(sandbox: &Sandbox) -> String {
    let left: Vec<String> = sandbox.things();
    assert_eq!(left, [sandbox.path("record").display().to_string()]);
    let report = sandbox.json(&["report", "--json", "record"]);
    assert_eq!(report["damage"], serde_json::json!([]));
    sandbox.ioassay(&["report", "record"]);
    report["end"].as_str().unwrap().to_string()
}

#[test]
fn a_run_that_is_interrupted_leaves_a_whole_record_and_no_file() {
    let signals =
        [(Signal::HUP, 129), (Signal::INT, 130), (Signal::QUIT, 131), (Signal::TERM, 143)];
    for (signal, code) in signals {
        let sandbox = Sandbox::new();
        let mut running = Running::long(&sandbox);
        running.send(signal);
        let status = running.end();
        assert_eq!(status.code(), Some(code), "{status:?}");
        assert_eq!(check_left(&sandbox), "interrupted");
        let said = running.said();
        let hint = "to go on, repeat the command with --resume record in place of --record\n";
        assert!(said.ends_with(hint), "{said}");
    }
}

#[test]
fn a_run_that_is_killed_leaves_a_readable_record_and_no_file() {
    let sandbox = Sandbox::new();
    let mut running = Running::long(&sandbox);
    let workers = wait_for("a worker", || workers(&running));
    running.send(Signal::KILL);
    assert_eq!(running.end().signal(), Some(9));
    assert_eq!(check_left(&sandbox), "missing");
    // Otherwise, its trial would continue for an hour.
    wait_for("the end of its workers", || workers.iter().all(|id| !is_alive(id)).then_some(()));
}

/// The worker processes, if they have started.
fn workers(running: &Running) -> Option<Vec<String>> {
    let id = running.child.id();
    let all = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).ok()?;
    let all: Vec<String> = all.split_whitespace().map(str::to_string).collect();
    (!all.is_empty()).then_some(all)
}

/// Whether a process is alive: a zombie has an empty command line.
fn is_alive(id: &str) -> bool {
    std::fs::read(format!("/proc/{id}/cmdline")).is_ok_and(|command| !command.is_empty())
}

/// Whether the process holds an unnamed file of the sandbox's directory.
fn holds_a_file(running: &Running, sandbox: &Sandbox) -> Option<()> {
    let folder = format!("/proc/{}/fd", running.child.id());
    let mut links = std::fs::read_dir(folder).ok()?.flatten();
    links
        .any(|entry| {
            let target = std::fs::read_link(entry.path()).unwrap_or_default();
            target.starts_with(sandbox.directory())
                && target.to_string_lossy().contains("(deleted)")
        })
        .then_some(())
}

#[test]
fn a_run_that_is_stopped_while_its_file_is_written_leaves_nothing_of_it() {
    for keep in [&["--keep"][..], &[]] {
        let sandbox = Sandbox::new();
        let args = ["run", "page-latency", ".", "--size=256MiB", "--ops=0", "--time=1h"];
        let mut running = Running::start(&sandbox, &[&args[..], &["--cache=as-is"], keep].concat());
        wait_for("the test file", || holds_a_file(&running, &sandbox));
        running.send(Signal::INT);
        assert_eq!(running.end().code(), Some(130));
        // The file may already be complete and the run started: then there is a record, and the
        // file if it is kept.
        if !sandbox.things().is_empty() && keep.is_empty() {
            assert_eq!(check_left(&sandbox), "interrupted");
        }
    }
}

#[test]
fn a_second_signal_changes_nothing() {
    let sandbox = Sandbox::new();
    let mut running = Running::long(&sandbox);
    running.send(Signal::TERM);
    running.send(Signal::TERM);
    assert_eq!(running.end().code(), Some(143));
    assert_eq!(check_left(&sandbox), "interrupted");
}

#[test]
fn a_file_that_is_stopped_while_it_is_made_is_removed() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.start(PROGRAM);
    command.args(["data", "create", "new", "--size=256MiB"]).stdout(Stdio::null());
    let mut running = Running { child: command.stderr(Stdio::null()).spawn().unwrap() };
    wait_for("the file", || sandbox.path("new").exists().then_some(()));
    running.send(Signal::INT);
    match running.end().code() {
        Some(130) => assert_eq!(sandbox.things(), [""; 0]),
        // The file was complete before the signal.
        Some(0) => drop(sandbox.says(&["data", "verify", "new"])),
        other => panic!("{other:?}"),
    }
}

/// FUSE and NFS keep a file that is removed while it is open, under another name.
#[test]
fn a_run_on_a_file_system_that_keeps_open_files_leaves_no_folder() {
    let test = "a_run_on_a_file_system_that_keeps_open_files_leaves_no_folder";
    let below = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let Some(fuse) = Planted::new(test, || Mounted::pass_through(below, &[])) else { return };
    let sandbox = &fuse.sandbox;
    let folders = || -> Vec<String> {
        sandbox.things().into_iter().filter(|path| path.contains("ioassay-run-")).collect()
    };
    let names = ["run", "metadata", ".", "--call=create", "--entries=100", "--invocations=1"];
    let mut running = Running::start(sandbox, &[&names[..], &["--rounds=1000"]].concat());
    wait_for("the folder of the run", || (!folders().is_empty()).then_some(()));
    running.send(Signal::TERM);
    assert_eq!(running.end().code(), Some(143));
    assert_eq!(folders(), [""; 0]);
    let once = ["--rounds=1", "--time=10ms", "--record=other"];
    let output = sandbox.ioassay(&[&names[..], &once].concat());
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    assert_eq!(folders(), [""; 0]);
}
