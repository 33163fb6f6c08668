//! Kept runs: their list, and repeated runs with `watch`.

use crate::sandbox::{PROGRAM, Sandbox, argument, text, wait_for};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Child, Stdio};

/// A run of a few trials of a millisecond.
const SHORT: [&str; 6] =
    ["page-latency", ".", "--size=64KiB", "--rounds=1", "--time=1ms", "--cache=as-is"];

/// The records in the state folder.
fn records(sandbox: &Sandbox) -> Vec<PathBuf> {
    let Ok(folder) = std::fs::read_dir(sandbox.state().join("ioassay")) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = folder.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

#[test]
fn records_are_listed_the_newest_first_with_what_was_found() {
    let sandbox = Sandbox::new();
    let says = sandbox.says(&["runs"]);
    assert!(says.contains("no records in") && says.contains("'ioassay survey'"), "{says}");
    assert_eq!(sandbox.things(), [""; 0]);

    for _ in 0..2 {
        sandbox.ioassay(&[&["run"], &SHORT[..]].concat());
    }
    std::fs::create_dir(sandbox.path("more")).unwrap();
    let memory = ["run", "memory", "--kernel=read", "--working-set=1MiB", "--rounds=1"];
    let named = ["--time=1ms", "--threads=1", "--record=more/memory.jsonl"];
    sandbox.ioassay(&[&memory[..], &named].concat());
    let list: Value = serde_json::from_str(&sandbox.says(&["runs", "more", "--json"])).unwrap();
    let all = list["records"].as_array().unwrap();
    assert_eq!(all.len(), 3);
    let began = |record: &Value| record["began"].as_str().unwrap().to_string();
    assert!(all.windows(2).all(|pair| began(&pair[0]) >= began(&pair[1])));
    for record in all {
        let report = sandbox.json(&["report", "--json", record["path"].as_str().unwrap()]);
        assert_eq!(record["recipe"], report["recipe"]);
        let counted: u64 =
            record["cases"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
        assert_eq!(counted, report["cases"].as_array().unwrap().len() as u64);
        let found = report["findings"].as_array().unwrap().iter().map(|found| &found["code"]);
        // A code of two severities is listed once.
        let mut codes: Vec<&Value> = Vec::new();
        for code in found {
            if !codes.contains(&code) {
                codes.push(code);
            }
        }
        let listed = record["findings"].as_array().unwrap().iter();
        assert!(listed.eq(codes), "{record} {report}");
        assert_eq!(record["end"], "complete");
    }

    let text = sandbox.says(&["runs", "more"]);
    assert_eq!(text.lines().filter(|line| line.starts_with("20")).count(), 3, "{text}");
    assert!(text.contains("  more/memory.jsonl\n"), "{text}");
    let of_memory = sandbox.says(&["runs", "more", "--recipe", "memory"]);
    assert!(of_memory.contains("memory.jsonl") && !of_memory.contains("page-latency"));
    let none = sandbox.says(&["runs", "--host", "nobody's"]);
    assert!(none.starts_with("none of 2 records"), "{none}");
}

#[test]
fn what_is_cut_off_is_listed_and_what_cannot_be_read_is_told() {
    let sandbox = Sandbox::new();
    sandbox.ioassay(&[&["run"], &SHORT[..]].concat());
    let whole = std::fs::read(&records(&sandbox)[0]).unwrap();
    let header = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    std::fs::write(sandbox.path("cut.jsonl"), &whole[..header]).unwrap();
    std::fs::write(sandbox.path("none.jsonl"), "hello").unwrap();
    std::fs::write(sandbox.path("notes.txt"), "hello").unwrap();
    let text = sandbox.says(&["runs", "."]);
    assert!(text.contains("not run · cut off, or still going on"), "{text}");
    assert!(text.contains("1 file cannot be read:"), "{text}");
    assert!(text.contains("none.jsonl' is not a record") && !text.contains("notes.txt"), "{text}");
    sandbox.refuses(&["runs", "nowhere"], &["failed to read 'nowhere'", "No such file"]);
}

#[test]
fn a_watch_keeps_each_run_and_shows_the_trend() {
    let sandbox = Sandbox::new();
    let args = [&["watch"], &SHORT[..], &["--every=1ms", "--count=3"]].concat();
    let output = sandbox.ioassay(&args);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    assert_eq!(records(&sandbox).len(), 3);
    let (said, told) = (text(&output.stdout), text(&output.stderr));
    for number in 1..=3 {
        assert!(said.contains(&format!("run {number} · page-latency · ")), "{said}");
    }
    assert_eq!(told.matches("record: ").count(), 3, "{told}");
    assert_eq!(told.matches("longer than 1ms: the next one begins at once").count(), 2, "{told}");
    let trend = said.split("run 3 ·").nth(1).unwrap();
    let blocks = |line: &str| line.chars().filter(|c| ('▁'..='█').contains(c)).count();
    let rows: Vec<usize> = trend.lines().map(blocks).filter(|blocks| *blocks > 0).collect();
    assert!(!rows.is_empty() && rows.iter().all(|blocks| *blocks == 3), "{trend}");
}

#[test]
fn a_watch_in_json_is_a_judgement_for_each_run() {
    let sandbox = Sandbox::new();
    let args =
        [&["watch"], &SHORT[..], &["--every=1ms", "--count=2", "--json", "--quiet"]].concat();
    let output = sandbox.ioassay(&args);
    assert_eq!(text(&output.stderr), "");
    let all = serde_json::Deserializer::from_slice(&output.stdout).into_iter::<Value>();
    let all: Vec<Value> = all.map(|json| json.unwrap()).collect();
    assert_eq!(all.len(), 2);
    assert!(all.iter().all(|json| json["recipe"] == "page-latency"), "{all:?}");
}

#[test]
fn a_watch_refuses_what_each_run_cannot_have() {
    let sandbox = Sandbox::new();
    let watch = [&["watch"], &SHORT[..]].concat();
    sandbox.refuses(&watch, &["--every <TIME>"]);
    sandbox.refuses(&[&watch[..], &["--every=1s", "--record=x"]].concat(), &["--record"]);
    sandbox.refuses(&[&watch[..], &["--every=1s", "--keep"]].concat(), &["--keep"]);
    sandbox.refuses(&[&watch[..], &["--every=5"]].concat(), &["'5' is not a time"]);
    sandbox.refuses(&["watch", "page-latancy", "--every=1s"], &["did you mean 'page-latency'?"]);
    sandbox
        .refuses(&["watch", "page-latency", "nowhere", "--every=1s"], &["no directory 'nowhere'"]);
}

/// A running `watch`; killed on drop.
struct Watching(Child);

impl Watching {
    fn start(sandbox: &Sandbox, args: &[&str]) -> Watching {
        let mut command = sandbox.start(PROGRAM);
        command
            .args(["watch", "--no-ceilings"])
            .args(args)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Watching(command.spawn().unwrap())
    }

    fn stop(&mut self, signal: Signal) -> Option<i32> {
        kill_process(Pid::from_raw(self.0.id() as i32).unwrap(), signal).unwrap();
        wait_for("the end of the watch", || self.0.try_wait().unwrap()).code()
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        // The process is already gone if the test passed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The newest record and its current number of lines.
fn lines(sandbox: &Sandbox) -> Option<(PathBuf, usize)> {
    let path = records(sandbox).pop()?;
    let lines = std::fs::read_to_string(&path).ok()?.lines().count();
    Some((path, lines))
}

#[test]
fn a_watch_is_stopped_between_runs() {
    let sandbox = Sandbox::new();
    let mut watching = Watching::start(&sandbox, &[&SHORT[..], &["--every=1h"]].concat());
    let is_whole = |path: PathBuf| {
        sandbox.ioassay(&["report", "--json", argument(&path)]).stdout.ends_with(b"}\n")
            && std::fs::read_to_string(path).unwrap().ends_with("{\"end\":\"complete\"}\n")
    };
    wait_for("a whole run", || lines(&sandbox).filter(|(path, _)| is_whole(path.clone())));
    assert_eq!(watching.stop(Signal::TERM), Some(143));
    assert_eq!(records(&sandbox).len(), 1);
}

#[test]
fn a_watch_is_stopped_within_a_run() {
    let sandbox = Sandbox::new();
    // Its first trial outlasts this test.
    let args = ["page-latency", ".", "--size=1MiB", "--ops=0", "--cache=as-is", "--time=1h"];
    let mut watching = Watching::start(&sandbox, &[&args[..], &["--every=1s"]].concat());
    let (path, _) = wait_for("a run", || lines(&sandbox).filter(|(_, lines)| *lines >= 1));
    assert_eq!(watching.stop(Signal::INT), Some(130));
    assert_eq!(records(&sandbox), std::slice::from_ref(&path));
    assert_eq!(sandbox.json(&["report", "--json", argument(&path)])["end"], "interrupted");
}
