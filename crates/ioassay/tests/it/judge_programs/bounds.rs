//! What bounds programs: memory and durable writes, which are measured beside them.

use super::{FILE_BYTES, file, on_disk};
use crate::sandbox::{Sandbox, argument};
use serde_json::{Value, json};
use std::path::Path;

/// Rounds for an interval.
const OWN: [&str; 5] = ["--rounds=7", "--invocations=1", "--cache=as-is", "--quiet", "--json"];

/// The assessment of a command, what is measured beside it, and the report in words.
fn judged(sandbox: &Sandbox, command: &str) -> (Value, Vec<Value>, String) {
    let record = sandbox.state().join("record");
    let args = [&["judge", command], &OWN[..], &["--record", argument(&record)]];
    let assessment = sandbox.json(&args.concat());
    let text = sandbox.judges(&["report", argument(&record)]);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let cases = beside(&record);
    std::fs::remove_file(&record).unwrap();
    (assessment["commands"][0].clone(), cases, words)
}

/// The axes of what is measured beside the commands of a record, and is none.
fn beside(record: &Path) -> Vec<Value> {
    let lines = std::fs::read_to_string(record).unwrap();
    let header: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    let cases = header["header"]["plan"]["cases"].as_array().unwrap().clone();
    let is_beside = |case: &Value| {
        let is_command = case["case"].as_array().unwrap().iter().any(|axis| axis[0] == "command");
        case["role"] == "baseline" && !is_command
    };
    cases.into_iter().filter(is_beside).map(|case| case["case"].clone()).collect()
}

fn has(case: &Value, axis: &str, value: &str) -> bool {
    case.as_array().unwrap().contains(&json!([axis, value]))
}

/// A command that copies a large file from the page cache is held against memory, one that copies
/// a small one is not.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_copy_from_the_page_cache_is_held_against_what_memory_gives() {
    let test = "a_copy_from_the_page_cache_is_held_against_what_memory_gives";
    let Some(sandbox) = on_disk(test, &["dd"]) else { return };
    file(&sandbox, "f", FILE_BYTES);
    file(&sandbox, "small", 4096);
    let dd = |name: &str| format!("dd if={name} of=/dev/null bs=64k");
    let (_, cases, text) = judged(&sandbox, &dd("small"));
    assert!(cases.iter().all(|case| !has(case, "kernel", "read")), "{cases:?}");
    assert!(!text.contains("of what memory gives"), "{text}");
    let (found, cases, text) = judged(&sandbox, &dd("f"));
    let loops: Vec<&Value> = cases.iter().filter(|case| has(case, "kernel", "read")).collect();
    // Where the sizes of caches are unknown, nothing is known to exceed them.
    let [one] = loops[..] else { return assert!(found["memory"].is_null(), "{found}") };
    assert!(has(one, "threads", "1") && has(one, "time", "110ms"), "{one}");
    assert!(text.contains("memory, one thread "), "{text}");
    let memory = &found["memory"];
    assert_eq!(memory["threads"], 1, "{found}");
    let (low, high) = (memory["of_ceiling"]["low"].as_f64(), memory["of_ceiling"]["high"].as_f64());
    assert!(low > Some(0.0) && low <= high, "{memory}");
    let is_computing = ["one processor", "memory"].iter().any(|bound| found["bound"] == *bound);
    assert_eq!(is_computing, text.contains("of what memory gives one thread"), "{found}: {text}");
    // What it read fits into the caches of many machines, and then memory is not what bounds it.
    let may_bound = memory["is_beyond_caches"] == true;
    assert!(may_bound || found["bound"] != "memory", "{found}");
}

/// Writes a program that writes 4 KiB often, and calls `sync` after each.
fn write_log(sandbox: &Sandbox, name: &str, sync: &str) -> String {
    let program = format!(
        "import os\n\
         f = os.open('log', os.O_WRONLY | os.O_CREAT, 0o644)\n\
         for i in range(200):\n\
         \x20   os.pwrite(f, bytes(4096), 4096 * i)\n\
         \x20   {sync}\n"
    );
    std::fs::write(sandbox.path(name), program).unwrap();
    format!("/usr/bin/python3 -I -S {name}")
}

/// A stream of commits is held against lone ones. For what syncs nothing, ioassay writes nothing.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_stream_of_commits_is_held_against_lone_ones_and_leaves_no_file() {
    let test = "a_stream_of_commits_is_held_against_lone_ones_and_leaves_no_file";
    let Some(sandbox) = on_disk(test, &["python3"]) else { return };
    let unsynced = write_log(&sandbox, "unsynced.py", "pass");
    let (found, cases, text) = judged(&sandbox, &unsynced);
    assert!(cases.iter().all(|case| !has(case, "op", "write")), "{cases:?}");
    assert!(found["syncs"].is_null() && !text.contains("with a sync each"), "{found}");
    let synced = write_log(&sandbox, "synced.py", "os.fdatasync(f)");
    let (found, cases, text) = judged(&sandbox, &synced);
    let writes: Vec<&Value> = cases.iter().filter(|case| has(case, "op", "write")).collect();
    let [one] = writes[..] else { panic!("{cases:?}") };
    assert!(has(one, "block", "4KiB") && has(one, "every", "1"), "{one}");
    assert!(text.contains("writes of 4 KiB with a sync each "), "{text}");
    let syncs = &found["syncs"];
    assert_eq!((&syncs["syncs"], &syncs["commit_bytes"]), (&json!(200), &json!(4096)), "{found}");
    let decides = (syncs["decision"].as_str(), syncs["of_time"]["low"].as_f64());
    assert!(decides.0 != Some("yes") || decides.1 >= Some(0.8), "{syncs}");
    let bounds = found["bound"] == "syncs";
    assert_eq!(bounds, text.contains("Syncs bound /usr/bin/python3"), "{found}: {text}");
    assert!(!bounds || text.contains("200 a run, each like a lone commit of 4 KiB here"), "{text}");
    let left = std::fs::read_dir(sandbox.path(".")).unwrap();
    let left = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let left: Vec<String> = left.filter(|name| name.contains("ioassay")).collect();
    assert!(left.is_empty(), "{left:?}");
}
