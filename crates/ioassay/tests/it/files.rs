//! Files: creating and checking test files, a user's own file, and the page cache.

use crate::honesty::plant::tried;
use crate::sandbox::{PROGRAM, Sandbox, argument, skip, text};
use serde_json::Value;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::Path;

/// A user's own file, which a run may only read.
fn own_file(sandbox: &Sandbox) -> std::path::PathBuf {
    let path = sandbox.path("own");
    let bytes: Vec<u8> = (0..1_000_003_u32).map(|n| (n % 251) as u8).collect();
    std::fs::write(&path, bytes).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o444)).unwrap();
    path
}

/// Everything that changes when a file is modified.
fn state(path: &Path) -> (Vec<u8>, Vec<i64>) {
    let bytes = std::fs::read(path).unwrap();
    let meta = std::fs::metadata(path).unwrap();
    let numbers = vec![
        meta.ino() as i64,
        i64::from(meta.mode()),
        meta.mtime(),
        meta.mtime_nsec(),
        meta.ctime(),
        meta.ctime_nsec(),
        meta.blocks() as i64,
    ];
    (bytes, numbers)
}

const EVERY_ENGINE: [&str; 8] = [
    "run",
    "read-methods",
    "--json",
    "--threads=1,2",
    "--block=4KiB",
    "--rounds=1",
    "--time=2ms",
    "--record=record",
];

#[test]
fn a_users_own_file_is_read_by_every_engine_and_stays_as_it_was() {
    let sandbox = Sandbox::new();
    let path = own_file(&sandbox);
    let before = state(&path);
    let report = sandbox.json(&[&EVERY_ENGINE[..], &["--file", argument(&path)]].concat());
    assert!(state(&path) == before, "the file was changed");
    assert_eq!(report["fixtures"][0]["path"], argument(&path));
    assert_eq!(report["fixtures"][0]["seed"], serde_json::Value::Null);
    assert_eq!(report["fixtures"][0]["size"], 1_000_003);
    let cases = report["cases"].as_array().unwrap();
    assert!(cases.iter().any(|case| case["case"]["engine"] == "uring"));
    for case in cases.iter().filter(|case| !case["case"]["engine"].is_null()) {
        assert_eq!(case["failures"], serde_json::json!([]), "{case:#}");
        assert_eq!(case["digest_verified"], serde_json::Value::Null, "{case:#}");
    }
    assert_eq!(sandbox.things().len(), 2, "{:?}", sandbox.things());
}

#[test]
fn a_users_own_file_is_never_opened_for_writing() {
    let test = "a_users_own_file_is_never_opened_for_writing";
    let sandbox = Sandbox::new();
    let path = own_file(&sandbox);
    let traced = sandbox.start("strace").args(["-o", "/dev/null", "true"]).output();
    if !traced.is_ok_and(|output| output.status.success()) {
        return skip(test, "strace is missing or forbidden");
    }
    let calls =
        "trace=open,openat,openat2,creat,truncate,unlink,unlinkat,rename,renameat,renameat2";
    let output = sandbox
        .start("strace")
        .args(["-f", "-s", "4096", "-e", calls, "-o", "calls", PROGRAM])
        .args(EVERY_ENGINE)
        .args(["--no-ceilings", "--file", argument(&path)])
        .output()
        .unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    let calls = std::fs::read_to_string(sandbox.path("calls")).unwrap();
    let quoted = format!("\"{}\"", argument(&path));
    // A worker opens the coordinator's files through `/proc`; nothing else is opened that way.
    let is_held = |line: &str| line.contains("\"/proc/") && line.contains("/fd/");
    let is_of_file = |line: &&str| line.contains(&quoted) || is_held(line);
    let of_file: Vec<&str> = calls.lines().filter(is_of_file).collect();
    assert!(of_file.len() > 4, "coordinator and worker opened it: {of_file:#?}");
    for call in of_file {
        assert!(call.contains("open") && call.contains("O_RDONLY"), "{call}");
        for flag in ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"] {
            assert!(!call.contains(flag), "{call}");
        }
    }
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_users_own_file_stays_through_all_invocations() {
    let sandbox = Sandbox::new();
    let path = own_file(&sandbox);
    let before = state(&path);
    let each_once = ["run", "read-methods", "--json", "--rounds=2", "--invocations=2"];
    let fast = ["--block=4KiB", "--time=2ms", "--record=record", "--file", argument(&path)];
    sandbox.json(&[&each_once[..], &fast[..]].concat());
    assert!(state(&path) == before, "the file was changed");
    let record = ioassay::store::read(&sandbox.path("record")).unwrap();
    let anew: Vec<(u32, usize)> =
        record.invocations.iter().map(|i| (i.number, i.fixtures.len())).collect();
    assert_eq!(anew, [(1, 0)], "no file was made");
}

#[test]
fn each_invocation_has_test_files_of_its_own_and_the_last_is_kept() {
    let sandbox = Sandbox::new();
    let arguments = [
        "run",
        "read-methods",
        "--json",
        "--size=1MiB",
        "--block=4KiB",
        "--engine=pread",
        "--cache=warm",
        "--invocations=2",
        "--rounds=2",
        "--time=2ms",
        "--record=record",
        "--keep",
    ];
    let report = sandbox.json(&arguments);
    let record = ioassay::store::read(&sandbox.path("record")).unwrap();
    let path = &record.header.fixtures[0].path;
    assert_eq!(&record.invocations[0].fixtures[0].path, path);
    let name = path.file_name().unwrap().to_str().unwrap();
    assert!(sandbox.path(name).exists(), "{name}");
    assert_eq!(sandbox.things().len(), 2, "{:?}", sandbox.things());
    let cases = report["cases"].as_array().unwrap();
    let is_summed = |case: &&Value| {
        case["case"]["engine"] == "pread" && case["case"]["touch"] == "sum" && case["n"] == 2
    };
    let summed: Vec<&Value> = cases.iter().filter(is_summed).collect();
    assert!(!summed.is_empty(), "{cases:#?}");
    assert!(summed.iter().all(|case| case["digest_verified"] == true), "{summed:#?}");
}

#[test]
fn a_file_that_was_made_is_verified_and_a_damaged_byte_is_named() {
    let sandbox = Sandbox::new();
    let said = sandbox.says(&["data", "create", "new", "--size", "5000001B", "--seed", "9"]);
    assert_eq!(said.trim(), "new: 5000001B written, content random, seed 9");
    let path = sandbox.path("new");
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 5_000_001);
    assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    let said = sandbox.says(&["data", "verify", "new", "--seed", "9"]);
    assert_eq!(said.trim(), "new: all 5000001B are correct, content random, seed 9");
    sandbox.refuses(&["data", "verify", "new"], &["does not hold random data of seed 1: byte"]);

    let file = std::fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
    for place in [5_000_000, 4_194_304, 1_234_567, 0] {
        let mut byte = [0];
        file.read_exact_at(&mut byte, place).unwrap();
        let right = byte[0];
        file.write_all_at(&[!right], place).unwrap();
        let expected = format!("byte {place} is {:#04x} instead of {right:#04x}", !right);
        sandbox.refuses(&["data", "verify", "new", "--seed", "9"], &["'new'", &expected]);
    }
}

#[test]
fn ints_are_uniform_and_verified() {
    let sandbox = Sandbox::new();
    let create = ["data", "create", "ints", "--size", "400000B", "--content", "ints:20"];
    sandbox.says(&create);
    let bytes = std::fs::read(sandbox.path("ints")).unwrap();
    let ints = bytes.chunks_exact(4).map(|int| u32::from_le_bytes(int.try_into().unwrap()));
    let mut seen = [0; 20];
    ints.for_each(|int| seen[int as usize] += 1);
    // 5000 of each are expected; six standard deviations are 414.
    assert!(seen.iter().all(|count| (4586..5414).contains(count)), "{seen:?}");
    sandbox.says(&["data", "verify", "ints", "--content", "ints:20"]);
    sandbox.refuses(&["data", "verify", "ints"], &["does not hold random data"]);
    let zeros = ["data", "create", "zeros", "--content", "zeros"];
    sandbox.refuses(&zeros, &["'zeros' is not a kind of content: write random, or ints:20"]);
}

#[test]
fn what_is_cached_is_shown_and_changed() {
    tried(show_and_change);
}

fn show_and_change() {
    let sandbox = Sandbox::new();
    if !sandbox.is_on_disk("what_is_cached_is_shown_and_changed") {
        return;
    }
    sandbox.says(&["data", "create", "one", "--size", "1MiB"]);
    sandbox.says(&["data", "create", "two", "--size", "10001B"]);
    let check = |verb: &str, expected: [&str; 2]| {
        let said = sandbox.says(&["cache", verb, "one", "two"]);
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(lines.len(), 2, "{said}");
        for (line, expected) in lines.iter().zip(expected) {
            assert!(line.contains(expected), "cache {verb}: '{line}' is not '{expected}'");
        }
    };
    // No other process uses these files, so the state is still the same a moment later, unless the
    // OS takes memory back.
    check("evict", ["one: 0 of 256 pages", "two: 0 of 3 pages"]);
    check("show", ["one: 0 of 256 pages", "two: 0 of 3 pages"]);
    check("warm", ["one: 256 of 256 pages", "two: 3 of 3 pages"]);
    check("show", ["one: 256 of 256 pages", "two: 3 of 3 pages"]);
    check("evict", ["one: 0 of 256 pages", "two: 0 of 3 pages"]);
}

#[test]
fn in_memory_nothing_can_be_evicted_and_that_is_said() {
    let test = "in_memory_nothing_can_be_evicted";
    let Some(sandbox) = Sandbox::in_memory() else { return skip(test, "there is no /dev/shm") };
    sandbox.says(&["data", "create", "one", "--size", "1MiB"]);
    let output = sandbox.ioassay(&["cache", "evict", "one"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains("failed to evict 'one'"), "{output:?}");
    sandbox.says(&["data", "verify", "one"]);
}
