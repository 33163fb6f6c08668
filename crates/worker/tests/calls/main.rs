//! A job's system calls, traced with strace. The test runs itself again under strace, so this
//! program has only one test.

use model::case::{Allocation, Case, Io, Op, Sync, Work, WriteEngine, WriteWork};
use model::trial::{Job, Outcome};
use model::wire::Request;
use model::zoo;
use std::path::Path;
use std::process::Command;
use worker::perform::perform;
use worker::reporter::Client;

/// Holds the job for the traced process, as a line of the protocol.
const JOB: &str = "IOASSAY_TEST_JOB";

const NAME: &str = "jobs_make_the_calls_that_their_axes_say";

/// Agrees to begin, and panics if the job fails.
struct Listener;

impl Client for Listener {
    fn ready(&mut self) -> bool {
        true
    }

    fn outcome(&mut self, outcome: Outcome) {
        assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
    }
}

/// Runs `work` under strace. Returns the names and arguments of the calls that open or use the
/// file, in order; `None`, with a message, if strace does not work.
fn calls(work: &WriteWork) -> Option<Vec<String>> {
    let folder = tempfile::tempdir_in(".").expect("the crate's folder is writable");
    let [target, source, trace] =
        ["to-be-written", "source", "trace"].map(|name| folder.path().join(name));
    let bytes = vec![7; work.io.size as usize];
    let is_empty = matches!(work.allocation, Allocation::None | Allocation::Append);
    std::fs::write(&target, if is_empty { &[] } else { &bytes[..] }).expect("a small file fits");
    std::fs::write(&source, &bytes).expect("a small file fits");
    let case = Case::own(Work::Write(*work));
    let job = Job { file: Some(target), source: Some(source), ..Job::of(case, 1) };
    let mut strace = Command::new("strace");
    strace.args(["-f", "-y", "-qq", "-e", "trace=desc,file,msync", "-e", "signal=none", "-o"]);
    strace.arg(&trace).arg(std::env::current_exe().expect("this program has a path"));
    strace.args(["--exact", NAME]).env(JOB, Request::Job(job.clone()).encode());
    let done = match strace.output() {
        Ok(done) => done,
        Err(error) => return skip(&job, &error.to_string()),
    };
    let said = String::from_utf8_lossy(&done.stderr);
    if said.contains("ptrace") {
        return skip(&job, said.trim());
    }
    let output = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{}: {output}{said}", job.case.id());
    let trace = std::fs::read_to_string(&trace).expect("strace wrote it");
    let is_about_it = |line: &&str| line.contains("/to-be-written") || line.contains("msync(");
    let without_thread = |line: &str| line.split_once(' ').map(|(_, call)| call.trim().to_string());
    Some(trace.lines().filter(is_about_it).filter_map(without_thread).collect())
}

#[expect(clippy::print_stderr, reason = "a skipped test must say so")]
fn skip<T>(job: &Job, reason: &str) -> Option<T> {
    eprintln!("skipped the calls of {}: {reason}", job.case.id());
    None
}

/// Checks that a job makes the `expected` calls: names with repeat counts. The first call opens the
/// file with `flags`.
fn check(work: &WriteWork, flags: &str, expected: &[(&str, usize)]) {
    let Some(calls) = calls(work) else { return };
    let id = Case::own(Work::Write(*work)).id();
    let mut runs: Vec<(&str, usize)> = Vec::new();
    for call in &calls {
        let name = call.split('(').next().expect("a split has a first part");
        match runs.last_mut() {
            Some((last, count)) if *last == name => *count += 1,
            _ => runs.push((name, 1)),
        }
    }
    let is_preparation =
        |(name, _): &&(&str, usize)| ["openat", "statx", "mmap", "close", "fcntl"].contains(name);
    runs.retain(|run| !is_preparation(&run));
    assert_eq!(runs, expected, "{id}: {calls:#?}");
    let opened = calls.iter().find(|call| call.starts_with("openat")).expect("it is opened");
    assert!(opened.contains(&format!("\", {flags}|O_CLOEXEC)")), "{id}: {opened}");
}

/// Performs the job from the environment.
fn perform_named(line: &str) {
    let Ok(Request::Job(job)) = Request::decode(line) else { panic!("no job: {line}") };
    assert!(job.file.as_deref().is_some_and(Path::exists));
    perform(&job, &mut Listener);
}

#[test]
fn jobs_make_the_calls_that_their_axes_say() {
    if let Ok(line) = std::env::var(JOB) {
        return perform_named(&line);
    }
    let plain =
        WriteWork { io: Io { size: 10 * 4096 + 5, ..zoo::plain_write().io }, ..zoo::plain_write() };
    check(&plain, "O_WRONLY", &[("pwrite64", 11), ("fdatasync", 1)]);
    let synced = WriteWork { sync: Sync::Fsync, every: 4, ..plain };
    let four = [("pwrite64", 4), ("fsync", 1)];
    let last = [("pwrite64", 3), ("fsync", 1)];
    check(&synced, "O_WRONLY", &[four, four, last].concat());
    // The last block was just synced, so no second sync follows.
    let even = WriteWork { io: Io { size: 8 * 4096, ..synced.io }, ..synced };
    check(&even, "O_WRONLY", &[four, four].concat());
    let durable = WriteWork { sync: Sync::Dsync, ..plain };
    check(&durable, "O_WRONLY|O_DSYNC", &[("pwrite64", 11)]);
    let ranged = WriteWork { sync: Sync::FileRange, ..plain };
    check(&ranged, "O_WRONLY", &[("pwrite64", 11), ("sync_file_range", 1)]);

    let log = WriteWork {
        io: Io { size: 3 * 4096, ..plain.io },
        engine: WriteEngine::Write,
        allocation: Allocation::Append,
        every: 1,
        ..plain
    };
    let one = [("write", 1), ("fdatasync", 1)];
    check(&log, "O_WRONLY|O_APPEND", &[one, one, one].concat());
    let buffered = WriteWork { engine: WriteEngine::Buffered, ..plain };
    check(&buffered, "O_WRONLY", &[("write", 6), ("fdatasync", 1)]);

    let allocation = Allocation::Overwrite;
    let over = WriteWork { io: Io { ops: 11, ..plain.io }, allocation, ..plain };
    let mapped = WriteWork { engine: WriteEngine::Mmap, sync: Sync::Msync, ..over };
    check(&mapped, "O_RDWR", &[("msync", 1)]);
    let idle = WriteWork { io: Io { ops: 5, ..over.io }, op: Op::Sync, ..over };
    check(&idle, "O_WRONLY", &[("fdatasync", 5)]);

    let copy = |engine| WriteWork { op: Op::Copy, engine, sync: Sync::None, ..plain };
    for (engine, call) in [
        (WriteEngine::Write, "write"),
        (WriteEngine::CopyFileRange, "copy_file_range"),
        (WriteEngine::Sendfile, "sendfile"),
        (WriteEngine::Splice, "splice"),
    ] {
        check(&copy(engine), "O_WRONLY", &[(call, 11)]);
    }
}
