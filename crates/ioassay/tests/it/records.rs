//! Complete, truncated and invalid records.

use crate::sandbox::{Sandbox, argument};
use std::path::PathBuf;

/// The record of a real run with two trials of each case.
fn record(sandbox: &Sandbox) -> PathBuf {
    let path = sandbox.path("record.jsonl");
    let args = ["run", "page-latency", ".", "--size", "64KiB", "--rounds", "2", "--time", "1ms"];
    let axes = ["--ops", "10", "--cache", "as-is", "--json", "--record", argument(&path)];
    sandbox.json(&[&args[..], &axes].concat());
    path
}

#[test]
fn what_is_no_record_is_refused_with_the_reason() {
    let sandbox = Sandbox::new();
    for (text, expected) in [
        ("", "it is empty"),
        ("\n\n", "not the header"),
        ("hello, world", "its first line is not the header of an ioassay record"),
        ("{\"end\":\"complete\"}\n", "it is another line of a record"),
        ("{\"header\":{\"version\":99}}\n", "format version 99, and this ioassay reads up to 1"),
        ("\u{fffd}\u{0}\u{0}", "not the header"),
    ] {
        std::fs::write(sandbox.path("text"), text).unwrap();
        sandbox.refuses(&["report", "text"], &["'text' is not a record", expected]);
        sandbox.refuses(&["report", "text", "--json"], &["'text' is not a record", expected]);
    }
    sandbox.refuses(&["report", "nothing"], &["the record 'nothing'", "No such file"]);
    sandbox.refuses(&["report", "."], &["the folder '.' has no records"]);
    sandbox.refuses(&["report"], &["<RECORD>"]);
}

#[test]
fn of_a_record_that_is_cut_off_what_is_whole_is_read() {
    let sandbox = Sandbox::new();
    let path = record(&sandbox);
    let whole = std::fs::read(&path).unwrap();
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    let header = lines[0].len();
    // Cuts in the middle of the third line, so one trial is complete.
    let cut = header + lines[1].len() + lines[2].len() / 2;
    std::fs::write(sandbox.path("cut"), &whole[..cut]).unwrap();
    let report = sandbox.json(&["report", "--json", "cut"]);
    assert_eq!(report["end"], "missing");
    let damage = report["damage"].as_array().unwrap();
    assert_eq!(damage.len(), 1);
    assert!(damage[0].as_str().unwrap().starts_with("line 3 is broken"), "{damage:?}");
    let trials = report["cases"].as_array().unwrap().iter();
    assert_eq!(trials.map(|case| case["n"].as_u64().unwrap()).sum::<u64>(), 1);

    let said = sandbox.ioassay(&["report", "cut"]);
    let said = String::from_utf8(said.stdout).unwrap();
    assert!(said.contains("line 3 is broken"), "{said}");
    assert!(said.contains("the record has no end"), "{said}");

    std::fs::write(sandbox.path("cut"), &whole[..header / 2]).unwrap();
    sandbox.refuses(&["report", "cut"], &["'cut' is not a record"]);
}

#[test]
fn a_record_of_a_header_alone_is_read() {
    let sandbox = Sandbox::new();
    let whole = std::fs::read(record(&sandbox)).unwrap();
    let header = whole.iter().position(|byte| *byte == b'\n').unwrap();
    for end in [header, header + 1] {
        std::fs::write(sandbox.path("head"), &whole[..end]).unwrap();
        let report = sandbox.json(&["report", "--json", "head"]);
        assert_eq!((&report["end"], &report["damage"]), (&"missing".into(), &[(); 0][..].into()));
        assert!(report["cases"].as_array().unwrap().iter().all(|case| case["n"] == 0));
        sandbox.ioassay(&["report", "head"]);
    }
}

#[test]
fn lines_that_make_no_sense_are_told_and_the_others_read() {
    let sandbox = Sandbox::new();
    let whole = std::fs::read_to_string(record(&sandbox)).unwrap();
    let mut lines: Vec<&str> = whole.lines().collect();
    lines.insert(1, "{\"trial\":{\"case\":0}}");
    lines.insert(1, "one more thing");
    lines.insert(1, lines[0]);
    std::fs::write(sandbox.path("odd"), lines.join("\n")).unwrap();
    let report = sandbox.json(&["report", "--json", "odd"]);
    assert_eq!(report["end"], "complete");
    let damage: Vec<&str> =
        report["damage"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
    assert_eq!(damage.len(), 3, "{damage:?}");
    for (text, start) in damage.iter().zip(["line 2 is a second header", "line 3", "line 4"]) {
        assert!(text.starts_with(start), "{damage:?}");
    }
    let trials = |report: &serde_json::Value| -> Vec<u64> {
        let cases = report["cases"].as_array().unwrap().iter();
        cases.map(|case| case["n"].as_u64().unwrap()).collect()
    };
    let plain = sandbox.json(&["report", "--json", "record.jsonl"]);
    assert_eq!(trials(&report), trials(&plain));
}

#[test]
fn a_record_that_nobody_named_is_dated_in_the_state_folder_and_its_path_told() {
    let sandbox = Sandbox::new();
    let args = ["run", "page-latency", ".", "--size", "64KiB", "--rounds", "1", "--time", "1ms"];
    let output = sandbox.ioassay(&[&args[..], &["--cache", "as-is"]].concat());
    let things = sandbox.things();
    let [folder, path] = things.as_slice() else { panic!("{things:?}") };
    assert_eq!(folder, argument(&sandbox.state().join("ioassay")));
    assert!(path.contains("-page-latency-") && path.ends_with(".jsonl"), "{path}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said.trim(), format!("record: {path}"), "in a pipe no progress is shown");
    sandbox.json(&["report", "--json", path]);
}
