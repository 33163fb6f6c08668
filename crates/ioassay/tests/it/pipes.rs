//! Readers that close the pipe: not an error.

use crate::sandbox::{PROGRAM, Sandbox};
use std::io::Read;
use std::process::Stdio;

/// Checks that the program with `args` succeeds silently when nobody reads its output.
fn check(sandbox: &Sandbox, args: &[&str]) {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = sandbox.start(PROGRAM);
    let output = command.args(args).stdout(writer).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{args:?}: {output:?}");
    assert!(output.stderr.is_empty(), "{args:?}: {output:?}");
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
