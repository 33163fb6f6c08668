//! Places that cannot be measured, and output that cannot be written.

use crate::sandbox::{PROGRAM, Sandbox, check_refusal, skip};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// The user `nobody` on most systems.
const NOBODY: &str = "65534";

/// The program as an unprivileged user. Returns `None`, and reports the skipped test, if that is
/// impossible.
pub(crate) fn as_nobody(sandbox: &Sandbox, test: &str) -> Option<Command> {
    if !rustix::process::geteuid().is_root() {
        return Some(sandbox.start(PROGRAM));
    }
    let start = || {
        let mut command = sandbox.start("setpriv");
        command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", PROGRAM]);
        command
    };
    let works = start().arg("--version").output().is_ok_and(|output| output.status.success());
    if !works {
        skip(test, "setpriv cannot start the program as another user");
    }
    works.then(start)
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_directory_that_may_not_be_written_is_refused() {
    let sandbox = Sandbox::new();
    set_mode(sandbox.directory(), 0o555);
    set_mode(sandbox.state(), 0o777);
    let Some(mut command) = as_nobody(&sandbox, "a_directory_that_may_not_be_written") else {
        return;
    };
    let before = sandbox.things();
    let output = command.args(["run", "page-latency", ".", "--size", "1MiB"]).output().unwrap();
    check_refusal(&output, &["'.'", "Permission denied"]);
    assert_eq!(sandbox.things(), before);
}

#[test]
fn a_record_that_may_not_be_written_is_refused() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("locked")).unwrap();
    set_mode(&sandbox.path("locked"), 0o555);
    set_mode(sandbox.directory(), 0o777);
    let Some(mut command) = as_nobody(&sandbox, "a_record_that_may_not_be_written") else {
        return;
    };
    let before = sandbox.things();
    let args = ["run", "page-latency", ".", "--size", "1MiB", "--record", "locked/record"];
    let output = command.args(args).output().unwrap();
    check_refusal(&output, &["'locked/record'", "Permission denied", "--record FILE"]);
    assert_eq!(sandbox.things(), before);
}

#[test]
fn a_file_that_may_not_be_read_is_refused() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("secret"), "text").unwrap();
    set_mode(&sandbox.path("secret"), 0o000);
    set_mode(sandbox.directory(), 0o777);
    set_mode(sandbox.state(), 0o777);
    let Some(mut command) = as_nobody(&sandbox, "a_file_that_may_not_be_read") else {
        return;
    };
    let output = command.args(["run", "page-latency", "--file", "secret"]).output().unwrap();
    check_refusal(&output, &["secret'", "Permission denied"]);
}

#[test]
fn only_root_may_drop_the_page_cache() {
    let sandbox = Sandbox::new();
    set_mode(sandbox.directory(), 0o777);
    if let Some(mut command) = as_nobody(&sandbox, "only_root_may_drop_the_page_cache") {
        check_refusal(&command.args(["cache", "drop"]).output().unwrap(), &["root"]);
    }
}

#[test]
fn all_but_dropping_works_without_root() {
    let sandbox = Sandbox::new();
    set_mode(sandbox.directory(), 0o777);
    set_mode(sandbox.state(), 0o777);
    let Some(mut command) = as_nobody(&sandbox, "all_but_dropping_works_without_root") else {
        return;
    };
    let args = ["run", "read-methods", ".", "--size", "1MiB", "--rounds", "1", "--time", "1ms"];
    let output =
        command.args(args).args(["--threads", "1", "--json", "--no-ceilings"]).output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    for case in report["cases"].as_array().unwrap() {
        assert_eq!(case["failures"], serde_json::json!([]), "{case:#}");
        assert_eq!(case["n"], 1, "{case:#}");
    }
}

/// A tmpfs of 8 MiB; unmounted on drop.
struct Small {
    sandbox: Sandbox,
}

impl Small {
    fn new(test: &str) -> Option<Small> {
        let sandbox = Sandbox::new();
        if !rustix::process::geteuid().is_root() {
            skip(test, "only root can mount a small file system");
            return None;
        }
        std::fs::create_dir(sandbox.path("small")).unwrap();
        let args = ["-t", "tmpfs", "-o", "size=8m", "tmpfs"];
        let mount = Command::new("mount").args(args).arg(sandbox.path("small")).status();
        if !mount.is_ok_and(|status| status.success()) {
            skip(test, "a small tmpfs cannot be mounted here");
            return None;
        }
        Some(Small { sandbox })
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let point = self.sandbox.path("small");
        if !Command::new("umount").arg(&point).status().is_ok_and(|status| status.success()) {
            eprintln!("'{}' stays mounted", point.display());
        }
    }
}

#[test]
fn a_directory_without_space_is_refused_before_anything_is_written() {
    let Some(small) = Small::new("a_directory_without_space") else { return };
    let sandbox = &small.sandbox;
    let larger = ["larger than the file system of", "small'", "choose a smaller --size"];
    sandbox.refuses(&["run", "page-latency", "small", "--size", "64MiB"], &larger);
    sandbox.refuses(&["data", "create", "small/new", "--size", "64MiB"], &larger);
    let full = ["do not fit into", "small'", "free", "or another directory"];
    sandbox.refuses(&["run", "page-latency", "small", "--size", "8MiB"], &full);
    sandbox.refuses(&["data", "create", "small/new", "--size", "8MiB"], &full);
    sandbox.says(&["data", "create", "small/new", "--size", "1MiB"]);
}

#[test]
fn the_files_of_both_sides_of_a_gate_must_fit_at_the_same_time() {
    let Some(small) = Small::new("the_files_of_both_sides_of_a_gate") else { return };
    let sandbox = &small.sandbox;
    for name in ["small/a", "small/b"] {
        std::fs::create_dir(sandbox.path(name)).unwrap();
    }
    // Those of one side do.
    sandbox.says(&["run", "page-latency", "small/a", "--size=4MiB", "--dry-run"]);
    let both = ["gate", "page-latency", "small/b", "--against=small/a", "--size=4MiB"];
    sandbox.refuses(&both, &["8.00 MiB do not fit into", "small/b'"]);
}

#[test]
fn a_disk_that_fills_up_meanwhile_leaves_nothing() {
    let Some(small) = Small::new("a_disk_that_fills_up_meanwhile") else { return };
    let sandbox = &small.sandbox;
    // The record is on the full disk, but the test file is not: the header does not fit.
    std::fs::write(sandbox.path("small/filler"), vec![1; 8 << 20]).unwrap();
    let args = ["run", "page-latency", ".", "--size", "64KiB", "--record", "small/record"];
    let output = sandbox.ioassay(&args);
    check_refusal(&output, &["small/record'", "No space left on device"]);
}

#[test]
fn a_reader_that_has_had_enough_is_no_failure() {
    let sandbox = Sandbox::new();
    // The reader exits before the first byte is written.
    let script = "(sleep 0.2; \"$0\" recipes show memory; echo $? >status) | true; cat status";
    let output = sandbox.start("sh").args(["-c", script, PROGRAM]).output().unwrap();
    assert_eq!((output.stdout.as_slice(), output.stderr.as_slice()), (&b"0\n"[..], &b""[..]));
}

#[test]
fn output_that_cannot_be_written_is_a_failure() {
    let sandbox = Sandbox::new();
    for words in [
        "",
        "recipes",
        "recipes show memory",
        "explain",
        "peers list",
        "schema",
        "man",
        "completions bash",
        "help",
        "help run",
        "--help",
        "run --help",
        "run -h",
        "--version",
        "--version --json",
        "plan page-latency",
        "host .",
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = sandbox.start(PROGRAM);
        let output = command.args(words.split_whitespace()).stdout(full).output().unwrap();
        let expected = "failed to write to stdout: No space left on device";
        check_refusal(&output, &[expected]);
    }
}

#[test]
fn a_path_that_is_no_unicode_is_measured() {
    use std::os::unix::ffi::OsStrExt;
    let sandbox = Sandbox::new();
    let directory = sandbox.directory().join(std::ffi::OsStr::from_bytes(b"b\xffd name"));
    std::fs::create_dir(&directory).unwrap();
    let args = ["--size", "64KiB", "--rounds", "1", "--time", "1ms", "--ops", "10"];
    let output = sandbox
        .start(PROGRAM)
        .args(["run", "page-latency", "--json", "--cache", "as-is", "--no-ceilings", "--record"])
        .arg(directory.join("record"))
        .arg(&directory)
        .args(args)
        .output()
        .unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    let report =
        sandbox.start(PROGRAM).arg("report").arg(directory.join("record")).output().unwrap();
    assert_eq!(report.status.code(), output.status.code(), "{report:?}");
}
