//! What is counted of each run: bytes that were asked for, calls, waits, and several storages.

use super::traced::calls;
use super::{FILE_BYTES, Judged, count, file, on_disk};
use crate::sandbox::skip;
use serde_json::Value;
use std::path::Path;

/// What is said of the one command.
fn figures(judged: &Judged) -> &Value {
    &judged.case("as-is")["command"]
}

const AS_IS: &str = "--cache=as-is";

#[test]
fn what_several_processes_ask_for_is_known_without_a_pipe_between_them() {
    let test = "what_several_processes_ask_for_is_known_without_a_pipe_between_them";
    let Some(sandbox) = on_disk(test, &["sh", "cat"]) else { return };
    file(&sandbox, "f", FILE_BYTES);
    let judged = Judged::of(&sandbox, &[AS_IS, "sh -c 'cat f; cat f; true'"]);
    assert!(count(judged.facts(), "processes") > 1, "{}", judged.facts());
    let asked = count(figures(&judged), "asked_bytes");
    assert!((2 * FILE_BYTES..2 * FILE_BYTES + (1 << 20)).contains(&asked), "{asked}");
    let judged = Judged::of(&sandbox, &[AS_IS, "sh -c 'cat f | cat'"]);
    assert!(figures(&judged)["asked_bytes"].is_null(), "{}", figures(&judged));
    assert!(count(&judged.facts()["other_sources"], "pipes") >= 1, "{}", judged.facts());
}

#[test]
fn calls_are_those_of_the_command() {
    let test = "calls_are_those_of_the_command";
    let Some(sandbox) = on_disk(test, &["dd"]) else { return };
    file(&sandbox, "f", FILE_BYTES);
    let command = "dd if=f of=/dev/null bs=4k";
    let calls = FILE_BYTES / 4096;
    let judged = Judged::of(&sandbox, &[AS_IS, command]);
    for trial in judged.evidence("as-is") {
        let [read, written] = ["task_read_calls", "task_write_calls"].map(|it| count(trial, it));
        assert!((calls..calls + 200).contains(&read), "{trial}");
        assert!((calls..calls + 200).contains(&written), "{trial}");
        let bytes = count(trial, "task_wchar_bytes");
        assert!((FILE_BYTES..FILE_BYTES + (64 << 10)).contains(&bytes), "{trial}");
    }
    let each = count(figures(&judged), "read_call_bytes");
    assert!((4000..=4096).contains(&each), "{each}");
}

/// The OS reads the heads of a program and of its loader with calls that it counts, at most.
const HEADS_MOST: u64 = 6;

/// What its worker reads and writes beside it is not in the counts.
#[test]
fn calls_are_as_many_as_strace_counts() {
    let test = "calls_are_as_many_as_strace_counts";
    let Some(sandbox) = on_disk(test, &["sh", "dd", "sha1sum", "strace"]) else { return };
    file(&sandbox, "f", FILE_BYTES);
    let both = "sha1sum f; dd if=f of=/dev/null bs=4k status=none; true";
    for command in [
        &["dd", "if=f", "of=/dev/null", "bs=64k", "status=none"][..],
        &["sha1sum", "f"],
        &["sh", "-c", both],
    ] {
        let [reads, writes] = calls(&sandbox, command);
        for output in ["--output=null", "--output=pipe"] {
            let judged = Judged::of(&sandbox, &[&[AS_IS, output, "--"], command].concat());
            let programs = judged.facts()["programs"].as_array().unwrap().len() as u64;
            for trial in judged.evidence("as-is") {
                assert_eq!(count(trial, "task_write_calls"), writes, "{command:?}: {trial}");
                let read = count(trial, "task_read_calls");
                let all = reads..=reads + HEADS_MOST * programs;
                assert!(all.contains(&read), "{command:?}: {read} and {reads}: {trial}");
            }
        }
    }
}

/// ioassay reads the output, which is no read of the command.
#[test]
fn what_is_read_of_the_output_is_not_the_commands() {
    let test = "what_is_read_of_the_output_is_not_the_commands";
    let Some(sandbox) = on_disk(test, &["cat"]) else { return };
    file(&sandbox, "f", FILE_BYTES);
    let judged = Judged::of(&sandbox, &[AS_IS, "--output=pipe", "cat f"]);
    for trial in judged.evidence("as-is") {
        let bytes = count(trial, "task_rchar_bytes");
        assert!((FILE_BYTES..FILE_BYTES + (64 << 10)).contains(&bytes), "{trial}");
    }
}

#[test]
fn a_wait_for_a_processor_is_known_of_one_thread_and_unseen_of_children() {
    let test = "a_wait_for_a_processor_is_known_of_one_thread_and_unseen_of_children";
    let Some(sandbox) = on_disk(test, &["sh", "sha1sum"]) else { return };
    file(&sandbox, "f", FILE_BYTES);
    let judged = Judged::of(&sandbox, &[AS_IS, "sha1sum f"]);
    let waits = |trial: &&Value| trial["run_delay_ns"].is_u64();
    assert!(judged.evidence("as-is").iter().all(waits), "{:?}", judged.evidence("as-is"));
    let judged = Judged::of(&sandbox, &[AS_IS, "sh -c 'sha1sum f; true'"]);
    assert!(!judged.evidence("as-is").iter().any(waits), "{:?}", judged.evidence("as-is"));
}

#[test]
fn a_number_that_is_printed_is_held_against_what_calls_moved() {
    let test = "a_number_that_is_printed_is_held_against_what_calls_moved";
    let Some(sandbox) = on_disk(test, &["sh", "cat"]) else { return };
    file(&sandbox, "f", FILE_BYTES);
    let says = |number: &str| {
        let script = format!("sh -c 'cat f >/dev/null; echo moved {number} MiB'");
        let judged = Judged::of(&sandbox, &[AS_IS, "--figure=moved ([0-9]+) (MiB)", &script]);
        let case = judged.case("as-is");
        let findings = case["findings"].as_array().unwrap().iter();
        let differs = findings.filter(|it| it["code"] == "FigureDiffers").count();
        (case["told"]["counted"]["verdict"].clone(), differs)
    };
    assert_eq!(says("32"), (Value::from("agrees"), 0));
    assert_eq!(says("320"), (Value::from("too high"), 1));
}

#[test]
fn files_on_two_storages_are_watched_on_both() {
    let test = "files_on_two_storages_are_watched_on_both";
    let Some(sandbox) = on_disk(test, &["cp"]) else { return };
    let Ok(memory) = tempfile::tempdir_in(Path::new("/dev/shm")) else {
        return skip(test, "/dev/shm is no directory that can be written to");
    };
    file(&sandbox, "f", FILE_BYTES);
    let copy = memory.path().join("copy");
    let judged = Judged::of(&sandbox, &["--cache=warm", "--", "cp", "f", copy.to_str().unwrap()]);
    let numbers = judged.header["storage_numbers"].as_object().unwrap();
    assert_eq!(
        (numbers.len(), judged.header["further_storages"].as_array().unwrap().len()),
        (2, 1)
    );
    assert_eq!(judged.served_by("warm"), "page-cache", "{}", judged.case("warm"));
    let storages = judged.case("warm")["command"]["storages"].as_array().unwrap();
    assert_eq!(storages.len(), 2, "{storages:?}");
    // The other way round, its input is in memory.
    let args = [AS_IS, "--", "cp", copy.to_str().unwrap(), "g"];
    let judged = Judged::of(&sandbox, &args);
    assert_eq!(judged.served_by("as-is"), "ram", "{}", judged.case("as-is"));
}
