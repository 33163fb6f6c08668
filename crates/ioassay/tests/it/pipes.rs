//! Readers that close the pipe: the exit status is that of the command.

use crate::fleet::lines;
use crate::sandbox::{PROGRAM, Sandbox, text};
use model::record::{Record, RecordLine};
use model::trial::Outcome;
use std::io::{PipeWriter, Read};
use std::process::{Output, Stdio};

/// The end of a pipe that nobody reads.
fn unread() -> PipeWriter {
    std::io::pipe().unwrap().1
}

/// The outcome of the program with `args` when nobody reads its output.
fn run_unread(sandbox: &Sandbox, args: &[&str]) -> Output {
    sandbox.start(PROGRAM).args(args).stdout(unread()).stderr(Stdio::piped()).output().unwrap()
}

/// Checks that the program with `args` succeeds silently when nobody reads its output.
fn check(sandbox: &Sandbox, args: &[&str]) {
    let output = run_unread(sandbox, args);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {output:?}");
    assert!(output.stderr.is_empty(), "{args:?}: {output:?}");
}

/// A record whose trials take this many times as long; without a time, all fail.
fn record_of(times: Option<u64>) -> Record {
    let mut record = model::zoo::record_of_invocations(5, 2);
    for trial in &mut record.trials {
        match (&mut trial.outcome, times) {
            (Outcome::Done(sample), Some(times)) => {
                for span in &mut sample.spans {
                    span.end_ns = span.start_ns + (span.end_ns - span.start_ns) * times;
                }
            }
            (outcome, _) => *outcome = Outcome::Failed { reason: "the disk is on fire".into() },
        }
    }
    record
}

#[test]
fn a_failing_gate_fails_whoever_reads_it() {
    let sandbox = Sandbox::new();
    for (name, record) in
        [("a", record_of(Some(1))), ("b", record_of(Some(3))), ("failed", record_of(None))]
    {
        std::fs::write(sandbox.path(name), lines(record)).unwrap();
    }
    let gate = ["compare", "a", "b", "--fail-if", "slower > 5%"];
    for args in [
        &gate[..],
        &[&gate[..], &["--json"]].concat(),
        &[&gate[..], &["--markdown"]].concat(),
        &["report", "failed"],
        &["report", "failed", "--json"],
        &["report", "failed", "--csv"],
        &["report", "failed", "--openmetrics", "metrics"],
    ] {
        let read = sandbox.ioassay(args);
        assert_eq!(read.status.code(), Some(1), "{args:?}: {read:?}");
        let unread = run_unread(&sandbox, args);
        assert_eq!(unread.status.code(), Some(1), "{args:?}: {unread:?}");
        assert_eq!(text(&unread.stderr), text(&read.stderr), "{args:?}");
    }
    assert!(sandbox.path("metrics").exists(), "what follows the report is done, too");
}

const RUN: [&str; 8] = [
    "run",
    "page-latency",
    ".",
    "--size=64KiB",
    "--rounds=1",
    "--time=1ms",
    "--cache=as-is",
    "--no-ceilings",
];

#[test]
fn a_record_that_nobody_reads_is_lost() {
    let sandbox = Sandbox::new();
    let lost = run_unread(&sandbox, &[&RUN[..], &["--record=-"]].concat());
    assert_eq!(lost.status.code(), Some(2), "{lost:?}");
    let why = "failed to write the record to stdout: Broken pipe";
    assert!(text(&lost.stderr).contains(why), "{lost:?}");
    assert_eq!(sandbox.things(), [""; 0]);
}

/// What is said on the way is no result: its reader may leave.
#[test]
fn a_run_whose_messages_nobody_reads_goes_on() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.start(PROGRAM);
    let output = command.args(RUN).arg("--record=record").stderr(unread()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let record = std::fs::read_to_string(sandbox.path("record")).unwrap();
    let is_end = |line: &str| matches!(serde_json::from_str(line), Ok(RecordLine::End(_)));
    assert!(record.lines().last().is_some_and(is_end), "{record}");
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let sandbox = Sandbox::new();
    let run = ["run", "page-latency", ".", "--size=64KiB", "--rounds=1", "--time=1ms"];
    sandbox.ioassay(&[&run[..], &["--cache=as-is"]].concat());
    sandbox.ioassay(&[&run[..], &["--cache=as-is", "--record=record"]].concat());
    for args in [
        &["recipes"][..],
        &["recipes", "show", "memory"],
        &["report", "record"],
        &["report", "record", "--json"],
        &["compare", "record", "record", "--anyway"],
        &["runs"],
        &["runs", "--json"],
        &["plan", "page-latency"],
        &["survey", "--dry-run"],
        &["explain"],
        &["schema"],
        &["man"],
        &["completions", "bash"],
        &["--help"],
        &["run", "--help"],
        &["--version"],
    ] {
        check(&sandbox, args);
    }
    check(&sandbox, &[&run[..], &["--cache=as-is", "--quiet", "--no-ceilings"]].concat());
}

#[test]
fn the_first_line_can_be_taken_alone() {
    let sandbox = Sandbox::new();
    let (mut reader, writer) = std::io::pipe().unwrap();
    let mut command = sandbox.start(PROGRAM);
    let mut child = command.args(["schema"]).stdout(writer).spawn().unwrap();
    drop(command);
    let mut first = [0; 1];
    reader.read_exact(&mut first).unwrap();
    drop(reader);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
