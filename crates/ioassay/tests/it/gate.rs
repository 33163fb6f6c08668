//! `compare --fail-if` and `gate`: a planted loss fails, and nothing else does.

use crate::documents::root;
use crate::executables::install;
use crate::honesty::plant::tried;
use crate::sandbox::{Sandbox, is_judged, text};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// How a copy of a record differs from it, as factors.
#[derive(Clone, Copy)]
struct Planted {
    time: f64,
    latency: f64,
    cpu: f64,
}

const NOTHING: Planted = Planted { time: 1.0, latency: 1.0, cpu: 1.0 };

/// Multiplies a number.
fn scale(value: &mut Value, factor: f64) {
    if let Some(number) = value.as_u64() {
        *value = Value::from((number as f64 * factor).round() as u64);
    }
}

/// A copy of a kept record of a later moment, with a planted difference in each trial.
fn copy(planted: Planted) -> String {
    let kept = std::fs::read_to_string(root().join("records/2026-11-22-depth.jsonl")).unwrap();
    let line = |line: &str| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        if let Some(header) = line.get_mut("header") {
            header["began"] = "2026-11-23T00:00:00Z".into();
        }
        let done = line.pointer_mut("/trial/outcome/done");
        let Some(done) = done else { return format!("{line}\n") };
        for span in done["spans"].as_array_mut().unwrap() {
            let start = span["start_ns"].as_u64().unwrap();
            let took = span["end_ns"].as_u64().unwrap() - start;
            span["end_ns"] = (start + (took as f64 * planted.time) as u64).into();
            // Its steps would no longer fit its time.
            span["progress"] = Value::Array(Vec::new());
        }
        scale(&mut done["usage"]["cpu_ns"], planted.cpu);
        for count in done["latencies"]["counts"].as_array_mut().unwrap() {
            scale(&mut count[0], planted.latency);
        }
        format!("{line}\n")
    };
    kept.lines().map(line).collect()
}

/// Compares the record with a copy. The exit status must be `code`, and the output must have each
/// of `expected`.
#[track_caller]
fn check(planted: Planted, options: &[&str], code: i32, expected: &[&str]) {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("base"), copy(NOTHING)).unwrap();
    let new = copy(planted).replacen("2026-11-23", "2026-11-24", 1);
    std::fs::write(sandbox.path("new"), new).unwrap();
    let args = [&["compare", "base", "new", "--anyway"], options].concat();
    let output = sandbox.ioassay(&args);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(code), "{said}{}", text(&output.stderr));
    for part in expected {
        assert!(said.contains(part), "'{part}' is not in\n{said}");
    }
}

#[test]
fn a_loss_beyond_the_limit_fails_and_one_within_does_not() {
    let slower = Planted { time: 3.0, ..NOTHING };
    check(slower, &["--fail-if", "slower > 5%"], 1, &["The gate fails", "exceeded", "5 % less"]);
    check(slower, &["--fail-if", "slower > 95%", "--strict"], 0, &["The gate passes", "within"]);
    // Without a limit, the outcome changes no status.
    check(slower, &[], 0, &[]);
    let faster = Planted { time: 0.3, ..NOTHING };
    check(faster, &["--fail-if", "slower > 5%", "--strict"], 0, &["The gate passes"]);
}

#[test]
fn latency_and_cpu_are_watched_by_themselves() {
    let late = Planted { latency: 3.0, ..NOTHING };
    check(late, &["--fail-if", "p99 > 10%"], 1, &["The gate fails", "p99", "10 % more"]);
    check(late, &["--fail-if", "slower > 50%", "--strict"], 0, &["The gate passes"]);
    let busy = Planted { cpu: 3.0, ..NOTHING };
    check(busy, &["--fail-if", "cpu > 10%"], 1, &["The gate fails", "cpu"]);
    check(busy, &["--fail-if", "p99 > 10%, slower > 50%"], 0, &["p99", "throughput"]);
    // What nobody has measured cannot pass.
    let syncs = ["--fail-if", "slower > 5%, sync p99 > 10%"];
    let none = ["The gate cannot tell.", " No case has a sync p99."];
    check(late, &syncs, 0, &none);
    check(late, &[&syncs[..], &["--strict"]].concat(), 3, &none);
}

#[test]
fn what_is_too_close_to_the_limit_is_open_and_says_what_would_decide() {
    // The true loss is at the limit.
    let slower = Planted { time: 1.0 / 0.98, ..NOTHING };
    let open = ["The gate cannot tell", "cannot tell: needs", "use a quieter machine"];
    check(slower, &["--fail-if", "slower > 2%"], 0, &open);
    check(slower, &["--fail-if", "slower > 2%", "--strict"], 3, &open);
}

/// A change that no longer works is not a change whose speed nobody can tell.
#[test]
fn what_works_on_one_side_alone_fails_and_what_has_no_partner_is_refused() {
    let failed_from = |record: &str, round: u64| {
        let line = |line: &str| {
            let mut line: Value = serde_json::from_str(line).unwrap();
            let number = line.pointer("/trial/round").and_then(Value::as_u64);
            if number.is_some_and(|number| number >= round) {
                let failed = serde_json::json!({ "failed": { "reason": "it died" } });
                *line.pointer_mut("/trial/outcome").unwrap() = failed;
            }
            format!("{line}\n")
        };
        record.lines().map(line).collect::<String>()
    };
    let sandbox = Sandbox::new();
    let kept = copy(NOTHING);
    std::fs::write(sandbox.path("works"), &kept).unwrap();
    std::fs::write(sandbox.path("fails"), failed_from(&kept, 0)).unwrap();
    std::fs::write(sandbox.path("died"), failed_from(&kept, 2)).unwrap();
    let compare = |a, b| sandbox.ioassay(&["compare", a, b, "--fail-if", "slower > 5%"]);
    for broken in ["fails", "died"] {
        let output = compare("works", broken);
        let said = text(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{said}{}", text(&output.stderr));
        assert!(said.contains("The gate fails") && said.contains("in A and fail"), "{said}");
    }
    // Without a limit, there is nothing to say of it.
    sandbox.refuses(&["compare", "works", "fails"], &["nothing to compare", "it died"]);
    let other = ["compare", "fails", "works", "--fail-if", "slower > 5%"];
    sandbox.refuses(&other, &["nothing to compare", "it died"]);
    // What cannot be read of a record is not passed over in silence.
    std::fs::write(sandbox.path("cut"), &kept[..kept.len() * 2 / 3]).unwrap();
    let said = text(&compare("cut", "works").stdout);
    assert!(said.contains("! A: the record has no end") && said.contains("! A: line "), "{said}");
    // It is equal to itself, which says nothing.
    let itself = ["compare", "works", "works", "--fail-if", "slower > 5%"];
    sandbox.refuses(&itself, &["'works' (A) and 'works' (B) are one record"]);
}

#[test]
fn a_gate_is_markdown_for_a_pull_request() {
    let slower = Planted { time: 3.0, ..NOTHING };
    let limits = ["--fail-if", "slower > 5%, cpu > 5%", "--markdown"];
    check(slower, &limits, 1, &["## The gate fails\n", "| case | metric |", "exceeded |"]);
    let sandbox = Sandbox::new();
    let refused = ["compare", "a", "b", "--fail-if", "slow > 5%"];
    sandbox.refuses(&refused, &["'slow > 5%' is not a limit: write WHAT > N%"]);
    sandbox.refuses(&["compare", "a", "b", "--strict"], &["--fail-if"]);
}

/// A library that adds a millisecond to each pread, which takes a hundredth of that: no busy
/// machine can hide it.
const SLOW: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
#include <unistd.h>
ssize_t pread(int file, void *to, size_t bytes, off_t at) {
    static ssize_t (*real)(int, void *, size_t, off_t);
    if (!real) real = (ssize_t (*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread");
    nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    return real(file, to, bytes, at);
}
"#;

/// The options of a gate that takes seconds.
const SMALL: [&str; 9] = [
    "--size=1MiB",
    "--time=10ms",
    "--invocations=6",
    "--rounds=6",
    "--engine=pread",
    "--cache=warm",
    "--block=64KiB",
    "--threads=1",
    "--record=records/",
];

fn compile(folder: &Path, args: &[&str]) {
    let output = Command::new("gcc").args(args).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
}

/// A sandbox with two programs of the peer `reader`, one of them slow, each with a table of its
/// own.
fn readers() -> Sandbox {
    let sandbox = Sandbox::new();
    let folder = sandbox.path("");
    let source = root().join("peers/c/peer.c");
    let flags = ["-std=c11", "-O2", "-pthread", "-o", "fast"];
    compile(&folder, &[&flags[..], &[source.to_str().unwrap()]].concat());
    std::fs::write(folder.join("slow.c"), SLOW).unwrap();
    compile(&folder, &["-O2", "-shared", "-fPIC", "-o", "slow.so", "slow.c", "-ldl"]);
    let path = folder.display();
    let script = format!("#!/bin/sh\nLD_PRELOAD='{path}/slow.so' exec '{path}/fast'\n");
    install(script.as_bytes(), &folder.join("slow"));
    for name in ["fast", "slow"] {
        let row = format!(
            "[[peer]]\nname = 'reader'\nrun = ['{{folder}}/{name}']\nengines = ['pread']\n"
        );
        std::fs::write(folder.join(format!("{name}.toml")), row).unwrap();
    }
    std::fs::create_dir(folder.join("here")).unwrap();
    sandbox
}

/// The records of a gate, the reference first.
fn records(sandbox: &Sandbox) -> [Value; 2] {
    let entries = sandbox.path("records").read_dir().unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert_eq!(paths.len(), 2, "{paths:?}");
    let header = |path: &Path| {
        let lines = std::fs::read_to_string(path).unwrap();
        serde_json::from_str(lines.lines().next().unwrap()).unwrap()
    };
    [header(&paths[0]), header(&paths[1])]
}

// Where the OS takes back what is warm, gates have nothing to decide.

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_slower_program_of_a_peer_fails_and_the_same_one_passes() {
    tried(fail_and_pass);
}

fn fail_and_pass() {
    let sandbox = readers();
    let gate = ["gate", "read-methods", "here", "--against=fast", "--peer=reader", "--touch=none"];
    let run = |more: &[&str]| {
        let output = sandbox.ioassay(&[&gate[..], &SMALL, more].concat());
        (output.status.code(), text(&output.stdout) + &text(&output.stderr))
    };
    let (code, said) = run(&["--peers=slow.toml"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("The gate fails") && said.contains("exceeded"), "{said}");
    let [a, b] = records(&sandbox).map(|line| line["header"].clone());
    assert!(a["alternates"].is_string() && a["alternates"] == b["alternates"], "{a:#}");
    assert_eq!(
        (&a["plan"]["seed"], &a["plan"]["cases"]),
        (&b["plan"]["seed"], &b["plan"]["cases"])
    );
    let command = |header: &Value| header["tool"]["command"].to_string();
    assert_eq!(command(&a), command(&b));
    // The same records still know that their rounds alternated.
    let entries = sandbox.path("records").read_dir().unwrap();
    let mut paths: Vec<String> =
        entries.map(|entry| entry.unwrap().path().display().to_string()).collect();
    paths.sort();
    // A shell puts them in their order, and the reverse would be a gain.
    let sides = ["-a-", "-b-"].iter().zip(&paths).all(|(side, path)| path.contains(side));
    assert!(sides, "{paths:?}");
    let reverse = ["compare", &paths[1], &paths[0], "--fail-if=slower > 5%"];
    sandbox.refuses(&reverse, &["are of one gate", "name it first"]);
    let both = sandbox.ioassay(&["report", &paths[0], &paths[1], "--csv"]);
    let both = text(&both.stdout);
    for side in [",a,", ",b,"] {
        assert!(both.lines().any(|row| row.contains(side)), "{both}");
    }
    let again =
        sandbox.ioassay(&["compare", &paths[0], &paths[1], "--json", "--fail-if=slower > 5%"]);
    assert_eq!(again.status.code(), Some(1));
    let again: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(again["outcome"], "exceeded", "{again:#}");
    let ratio = again["checks"][0]["ratio"].as_f64().unwrap();
    let (_, printed) = said.split_once("throughput").unwrap();
    let (printed, _) = printed.split_once('×').unwrap();
    let printed: f64 = printed.trim().parse().unwrap();
    assert!((printed / ratio - 1.0).abs() < 0.02, "{ratio} is not in\n{said}");
    // Both are one run, and are not shown as two.
    let again = sandbox.ioassay(&["compare", &paths[0], &paths[1], "--fail-if=slower > 5%"]);
    let again = text(&again.stdout);
    assert!(again.contains("The gate fails") && !again.contains("between the two runs"), "{again}");
    let resumed = format!("--resume={}", paths[0]);
    let alone = ["run", "read-methods", "here", &resumed, "--peer=reader", "--peers=fast.toml"];
    sandbox.refuses(&alone, &["is one side of a gate"]);
    std::fs::remove_dir_all(sandbox.path("records")).unwrap();
    let (code, said) = run(&["--peers=fast.toml", "--fail-if=slower > 95%", "--strict"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("The gate passes"), "{said}");
    assert_eq!(sandbox.path("here").read_dir().unwrap().count(), 0, "it leaves no file");
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn two_directories_are_measured_in_turn_whatever_they_are_on() {
    tried(measure_two_directories);
}

fn measure_two_directories() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("here")).unwrap();
    let memory = tempfile::tempdir_in("/dev/shm").unwrap();
    let against = format!("--against={}", memory.path().display());
    let gate = ["gate", "read-methods", "here", &against, "--fail-if=slower > 99%", "--json"];
    let output = sandbox.ioassay(&[&gate[..], &SMALL].concat());
    assert!(is_judged(&output), "{}", text(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let has_pair = found["checks"].as_array().is_some_and(|checks| !checks.is_empty());
    assert!(has_pair, "{found:#}");
    let [a, b] = records(&sandbox).map(|line| line["header"].clone());
    // Both have the loops that were measured once.
    assert!(a["calibrated"].is_array() && a["calibrated"] == b["calibrated"], "{a:#}");
    // However its file is cached there, a case has the same number on both.
    let roles = |header: &Value| -> Vec<Value> {
        header["plan"]["cases"].as_array().unwrap().iter().map(|it| it["role"].clone()).collect()
    };
    assert_eq!((roles(&a), roles(&b)), (vec!["asked".into()], vec!["asked".into()]));
    let file_system = |header: &Value| header["storage"]["file_system"].to_string();
    assert_eq!(file_system(&a), "\"tmpfs\"");
    assert_ne!(file_system(&b), "\"tmpfs\"");
    for folder in [sandbox.path("here"), memory.path().to_path_buf()] {
        assert_eq!(folder.read_dir().unwrap().count(), 0, "it leaves no file");
    }
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_record_of_another_time_is_held_against_a_run_of_now() {
    tried(hold_against_a_record);
}

fn hold_against_a_record() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("here")).unwrap();
    let run = [&["run", "read-methods", "here"], &SMALL[..]].concat();
    let output = sandbox.ioassay(&run);
    assert!(is_judged(&output), "{}", text(&output.stderr));
    let entry = sandbox.path("records").read_dir().unwrap().next().unwrap().unwrap();
    let against = format!("--against={}", entry.path().display());
    let gate = ["gate", "read-methods", "here", &against, "--fail-if=slower > 99%"];
    let output = sandbox.ioassay(&[&gate[..], &SMALL].concat());
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}{}", text(&output.stderr));
    assert!(said.contains("throughput") && said.contains("99 % less"), "{said}");
    // Where everybody may execute everything, a record is still a record.
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(entry.path(), executable).unwrap();
    let memory = tempfile::tempdir_in("/dev/shm").unwrap();
    let elsewhere = ["gate", "read-methods", memory.path().to_str().unwrap(), &against];
    sandbox.refuses(&elsewhere, &["measure different things", "file system: ", "in A, tmpfs in B"]);
    let other = ["gate", "sync-latency", "here", &against];
    sandbox.refuses(&other, &["is a record of the recipe 'read-methods', not of 'sync-latency'"]);
    // Nothing is measured before it is known to be another question, or to decide nothing.
    let before = sandbox.things().len();
    let gate = ["gate", "read-methods", "here", &against];
    let larger = [&gate[..], &["--size=2MiB"], &SMALL[1..]].concat();
    sandbox.refuses(&larger, &["measure different things", "size (1 case): 1MiB in A, 2MiB in B"]);
    let mapped = [&gate[..], &SMALL[..4], &["--engine=mmap"], &SMALL[5..]].concat();
    sandbox.refuses(&mapped, &["has no case that this run would measure"]);
    let few = ["--invocations=1", "--rounds=1", "--size=1MiB"];
    let few = [&gate[..], &few, &SMALL[4..]].concat();
    sandbox
        .refuses(&few, &["1 in this run", "needs 3 or more in each, or of the throughput 4 kept"]);
    assert_eq!(sandbox.things().len(), before);
}

#[test]
fn what_a_gate_cannot_hold_against_each_other_is_refused() {
    let sandbox = Sandbox::new();
    let gate = |more: &[&'static str]| [&["gate", "read-methods", "."], more].concat();
    sandbox.refuses(&gate(&["--against=/bin/true"]), &["takes the place of a peer", "--peer"]);
    sandbox.refuses(
        &gate(&["--against=nowhere"]),
        &["--against names a directory, a program or a record", "nowhere"],
    );
    let few = gate(&["--against=.", "--rounds=9", "--invocations=2", "--size=1MiB"]);
    sandbox.refuses(&few, &["a gate needs 3 or more invocations of each side", "not 2"]);
    sandbox.refuses(&gate(&["--against=.", "--record=file"]), &["--record names a folder here"]);
    sandbox.refuses(&gate(&[]), &["--against"]);
    sandbox.refuses(&["gate", "load", ".", "--against=."], &["are found anew for each side"]);
    sandbox.refuses(&["gate", "memory", "--against=."], &["uses no files"]);
}
