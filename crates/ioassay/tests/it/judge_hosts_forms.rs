//! What else is made of runs of commands on hosts: gates, runs that go on, hosts one by one, and
//! files on several storages.

use crate::hosts::{Desk, send};
use crate::judge_hosts::{args, check_left, desk, write_data};
use crate::sandbox::{argument, check_refusal, skip, text, wait_for};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Output;
use std::time::{Duration, Instant};

/// Reads the file of a host, and tells that it ran.
const READ: &str = "exec cat data-$IOASSAY_TEST_HOST";
const SLOW: &str = "cat data-$IOASSAY_TEST_HOST; sleep 0.2";
const USUAL: [&str; 2] = ["--shell", "--cache=as-is"];

/// The output of a `judge` whose records go to `records`, a folder of the desk.
fn judged(desk: &Desk, records: &str, hosts: &str, more: &[&str]) -> Output {
    let mut all = args(desk, hosts, &[&USUAL[..], more].concat());
    let is_given = |name: &str| more.iter().any(|arg| arg.starts_with(name));
    all.retain(|arg| {
        let is_other = arg == "--invocations=1" && is_given("--invocations=");
        !(is_other || arg.starts_with("--record="))
    });
    if !is_given("--resume=") {
        all.push(format!("--record={}", desk.files.path(records).display()));
    }
    desk.sandbox.plainly(&all.iter().map(String::as_str).collect::<Vec<_>>())
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// A line of a record.
fn parsed(line: &str) -> Value {
    serde_json::from_str(line).unwrap()
}

/// The first line of a record.
fn header(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap();
    parsed(text.lines().next().unwrap())["header"].take()
}

/// The number of trials in a record.
fn trials(desk: &Desk, record: &str) -> usize {
    let text = std::fs::read_to_string(desk.files.path(record)).unwrap_or_default();
    text.lines().filter(|line| line.starts_with("{\"trial\"")).count()
}

/// A gate says what it should or, on a machine that is too busy, that it cannot tell.
fn check_outcome(output: &Output, found: &Value, expected: &str) {
    let outcome = found["outcome"].as_str().unwrap();
    assert!([expected, "cannot tell"].contains(&outcome), "{output:?}");
    assert_eq!(output.status.code(), Some(i32::from(outcome == "exceeded")), "{output:?}");
}

/// How many times as long B, the second command, took as A: the median of the rounds, each from
/// the first host's start to the last one's end.
fn by_all_hosts(desk: &Desk, records: &str) -> f64 {
    let mut times = BTreeMap::<_, [f64; 2]>::new();
    for name in ["1-a", "2-b"] {
        let text = std::fs::read_to_string(desk.files.path(&format!("{records}/{name}.jsonl")));
        let lines = text.unwrap().lines().map(parsed).collect::<Vec<_>>();
        let cases = lines[0]["header"]["plan"]["cases"].as_array().unwrap();
        for trial in lines.iter().map(|line| &line["trial"]).filter(|it| it.is_object()) {
            let number = trial["case"].as_u64().unwrap() as usize;
            let side = cases[number].to_string().contains("\"command\",\"y\"");
            let span = &trial["outcome"]["done"]["spans"][0];
            let ns = |value: &Value| value.as_f64().unwrap();
            let ahead = ns(&trial["clock"]["ahead_ns"]) + ns(&trial["clock"]["drift_ns"]) / 2.0;
            let [start, end] = ["start_ns", "end_ns"].map(|name| ns(&span[name]) - ahead);
            let key = (trial["round"].as_u64(), side);
            let of_all = times.entry(key).or_insert([start, end]);
            *of_all = [of_all[0].min(start), of_all[1].max(end)];
        }
    }
    let time = |round, side| times[&(round, side)][1] - times[&(round, side)][0];
    let rounds = times.keys().filter(|(_, side)| *side).map(|(round, _)| *round);
    let mut ratios: Vec<f64> = rounds.map(|it| time(it, true) / time(it, false)).collect();
    ratios.sort_by(f64::total_cmp);
    assert_eq!(ratios.len(), 3);
    ratios[1]
}

/// The time of all hosts decides, also if only one of them is slow.
#[test]
fn a_gate_of_commands_on_hosts_holds_the_time_of_all() {
    let desk = desk(&["a", "b"]);
    let only_b = "test $IOASSAY_TEST_HOST = a || sleep 0.2; cat data-$IOASSAY_TEST_HOST";
    let check = |commands: [&str; 2], limit: &str, outcome: &str| {
        let limit = format!("--fail-if={limit}");
        let more = ["-n=x", "-n=y", "--rounds=3", "--invocations=3", "--quiet", "--json", &limit];
        let output = judged(&desk, outcome, "a,b", &[&commands[..], &more].concat());
        let found = json(&output);
        assert_eq!((&found["a"], &found["b"]), (&"x".into(), &"y".into()));
        check_outcome(&output, &found, outcome);
        let ratio = by_all_hosts(&desk, outcome);
        let told = found["checks"][0]["ratio"].as_f64().unwrap();
        assert!((told / ratio - 1.0).abs() < 1e-3, "{told} is not {ratio}");
    };
    check([READ, only_b], "time > 50%", "exceeded");
    check([only_b, READ], "time > 50%, cpu > 10000%", "within");
    // What fails on one host fails the gate, which says where.
    let fails = "test $IOASSAY_TEST_HOST = a";
    let more = ["-n=x", "-n=y", "--rounds=3", "--invocations=3", "--no-rehearsal"];
    let more = [&[READ, fails], &more[..], &["--fail-if=time > 10000%"]].concat();
    let output = judged(&desk, "failed", "a,b", &more);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("it failed in B: ") && said.contains("on b: 'sh' ended with status 1"),
        "{said}"
    );
    let records = desk.files.path("within");
    assert!(desk.sandbox.says(&["report", argument(&records)]).contains("2 hosts in lockstep"));
    check_left(&desk);
}

#[test]
fn a_gate_on_hosts_that_could_not_decide_is_refused_before_any_run() {
    let desk = desk(&["a", "b"]);
    let gate = ["--fail-if=time > 5%", "--invocations=3", "--rounds=3"];
    let refused = |more: &[&str], expected: &[&str]| {
        let output = judged(&desk, "none", "a,b", &[&gate[..], more].concat());
        check_refusal(&output, expected);
        assert!(!desk.files.path("none").exists());
    };
    refused(&["touch ran"], &["there is only 'touch ran': give another command"]);
    refused(
        &["touch ran", "true", "--each"],
        &["--fail-if does not go with --each", "leave --each out"],
    );
    refused(&["touch ran", "true", "--against=data-a"], &["--against names the folder"]);
    assert!(!desk.sandbox.path("ran").exists());
    let output = judged(&desk, "none", "a,b", &["true", "--each", "--resume=x"]);
    check_refusal(&output, &["--resume does not go with --each", "judge the hosts"]);
}

/// Beyond the planned rounds, all hosts go on until the time is up.
#[test]
fn commands_on_hosts_may_be_given_a_time() {
    let desk = desk(&["a", "b"]);
    let more = [READ, "--rounds=3", "--invocations=3", "--for=6s"];
    let began = Instant::now();
    let output = judged(&desk, "records", "a,b", &more);
    // On a busy machine, the planned rounds alone may take as long, or leave too little time for
    // another.
    let is_up = began.elapsed() > Duration::from_secs(3);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    let [a, b] = ["1-a", "2-b"].map(|name| trials(&desk, &format!("records/{name}.jsonl")));
    assert!(a == b && a >= 1 && (a > 3 || is_up), "{a} {b}");
}

#[test]
fn commands_on_hosts_are_held_against_those_of_an_earlier_run() {
    let desk = desk(&["a", "b"]);
    let small = ["--rounds=3", "--invocations=3", "--quiet"];
    for (command, records) in [(READ, "fast"), (SLOW, "slow")] {
        let output = judged(&desk, records, "a,b", &[&[command, "-n=x"][..], &small].concat());
        assert!(output.status.success(), "{output:?}");
    }
    let against = |command: &str, base: &str, hosts: &str, number: usize, name: &str| {
        let base = format!("--against={}", desk.files.path(base).display());
        let more = [&[command, name, &base, "--fail-if=time > 50%"], &small[..]].concat();
        judged(&desk, &format!("now{number}"), hosts, &more)
    };
    for (number, (command, base, code, said)) in
        (0..).zip([(SLOW, "fast", 1, "The gate fails"), (READ, "slow", 0, "The gate passes")])
    {
        let output = against(command, base, "a,b", number, "-n=x");
        let found = text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
        // A machine that is too busy cannot tell.
        let is_decided = output.status.code() == Some(code) && found.contains(said);
        let is_open = output.status.code() == Some(0) && found.contains("The gate cannot tell");
        assert!(is_decided || is_open, "{output:?}");
        for expected in ["on a and b", "words of 'x': ", "words of 'x' on b: "] {
            assert!(found.contains(expected), "'{expected}' is not in {found}");
        }
        assert!(!found.contains("of a alone"), "{found}");
    }
    for (output, expected) in [
        (against(READ, "fast", "b,a", 2, "-n=x"), "is on the hosts a,b, and --hosts names b,a"),
        (against(READ, "fast", "a,b", 2, "-n=y"), "has no case that this run would measure"),
        (against(READ, "now0/1-a.jsonl", "a,b", 2, "-n=x"), "--against names the folder"),
    ] {
        check_refusal(&output, &[expected]);
    }
    std::fs::remove_file(desk.files.path("fast/2-b.jsonl")).unwrap();
    let output = against(READ, "fast", "a,b", 2, "-n=x");
    check_refusal(&output, &["has the records of 1 of 2 hosts"]);
    check_left(&desk);
}

/// A run of two hosts that is stopped once both have a trial.
fn stopped(desk: &Desk, more: &[&str]) {
    let running = desk.start_with(&args(desk, "a,b", &[&USUAL[..], more].concat()));
    desk.wait_for_trial("1-a.jsonl");
    desk.wait_for_trial("2-b.jsonl");
    send(running.id(), Signal::INT);
    let output = running.output();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let said = text(&output.stderr);
    assert!(said.contains("to go on, repeat the command with --resume"), "{said}");
}

#[test]
fn a_run_of_commands_on_hosts_goes_on_without_another_rehearsal() {
    let desk = desk(&["a", "b"]);
    let command = "echo >> ran-$IOASSAY_TEST_HOST; cat data-$IOASSAY_TEST_HOST; sleep 0.05";
    let more = [command, "--rounds=40", "--setup", "echo >> setup-$IOASSAY_TEST_HOST"];
    stopped(&desk, &more);
    let before = trials(&desk, "records/1-a.jsonl");
    assert!(before < 40);
    let resume = format!("--resume={}", desk.files.path("records").display());
    let again = |more: &[&str], hosts: &str| judged(&desk, "", hosts, &[more, &[&resume]].concat());
    let other = [&["true", "-n", command], &more[1..]].concat();
    let longer = [&[command, "--rounds=41"], &more[2..]].concat();
    for (output, expected) in [
        (again(&more, "b,a"), "name the same, in the same order"),
        (again(&["true"], "a,b"), "of them cannot take part: a, b: the record of --resume judges"),
        (again(&other, "a,b"), "words of "),
        (again(&longer, "a,b"), "rounds: 40 in the record, 41 now"),
    ] {
        let said = text(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(output.status.code() == Some(2) && said.contains(expected), "{expected}: {said}");
    }
    let alone = format!("--resume={}", desk.record("1-a.jsonl").display());
    let output = desk.sandbox.plainly(&[&["judge"], &USUAL[..], &more, &[&alone]].concat());
    check_refusal(&output, &["hosts: 2 in the record, one now"]);
    assert_eq!(trials(&desk, "records/1-a.jsonl"), before);
    let ran = |host: &str| {
        let path = desk.sandbox.path(&format!("ran-{host}"));
        std::fs::read_to_string(path).unwrap().lines().count()
    };
    let ran_before = ["a", "b"].map(ran);
    let output = again(&more, "a,b");
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    let said = text(&output.stderr);
    assert!(said.contains("resumed: trials that all have"), "{said}");
    assert!(!said.contains("rehearsing"), "{said}");
    for (number, host) in ["a", "b"].iter().enumerate() {
        let record = format!("records/{}-{host}.jsonl", number + 1);
        // Those of a turn that only one of them has are measured again.
        let extra = trials(&desk, &record) - 40;
        assert!(extra <= 1, "{extra}");
        assert!(ran(host) - ran_before[number] <= 40 - before + 1, "{host} was rehearsed again");
    }
    check_refusal(&again(&more, "a,b"), &["nothing is left to measure"]);
    check_left(&desk);
}

/// A file that is another one on one host is looked at again there, and one that has other data
/// ends it.
#[test]
fn a_run_of_commands_on_hosts_goes_on_only_with_the_same_data() {
    let test = "a_run_of_commands_on_hosts_goes_on_only_with_the_same_data";
    let desk = desk(&["a", "b"]);
    let more = ["cat data-$IOASSAY_TEST_HOST; sleep 0.05", "--rounds=20"];
    stopped(&desk, &more);
    if header(&desk.record("2-b.jsonl"))["rehearsals"].is_null() {
        return skip(test, "programs cannot be traced here");
    }
    let resume = format!("--resume={}", desk.files.path("records").display());
    let again = || judged(&desk, "", "a,b", &[&more[..], &[&resume]].concat());
    let path = desk.sandbox.path("data-b");
    std::fs::write(&path, [7; 4096]).unwrap();
    let output = again();
    check_refusal(&output, &["2-b.jsonl' cannot be resumed", "data files read by"]);
    write_data(&desk, "new");
    std::fs::rename(desk.sandbox.path("data-new"), &path).unwrap();
    let output = again();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    let said = text(&output.stderr);
    assert!(said.contains("on b: ") && said.contains("has changed since"), "{said}");
    assert!(!said.contains("on a: "), "{said}");
    assert!(trials(&desk, "records/2-b.jsonl") >= 20);
    check_left(&desk);
}

/// Hosts that judge one after another, each by itself. One that cannot does not keep the others
/// from it.
#[test]
fn hosts_judge_each_by_itself() {
    let desk = desk(&["a", "b"]);
    let around = [
        "--setup=echo >> setup-$IOASSAY_TEST_HOST",
        "--cleanup=echo >> cleanup-$IOASSAY_TEST_HOST",
    ];
    for (number, at_once) in [&[][..], &["--at-once"]].iter().enumerate() {
        let more = [&[READ, "--rounds=2", "--each"], &around[..], at_once].concat();
        let folder = format!("each{number}");
        // The file of c is missing.
        let output = judged(&desk, &folder, "a,c,b", &more);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let said = text(&output.stderr);
        assert!(
            said.contains("the host c was not measured: ") && said.contains("status 1"),
            "{said}"
        );
        let said = text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains("2 hosts") && said.contains("on all hosts (a and b)"), "{said}");
        for (record, host) in [("1-a.jsonl", "a"), ("3-b.jsonl", "b")] {
            let record = desk.files.path(&folder).join(record);
            let header = header(&record);
            assert_eq!((&header["called"], &header["plan"]["rank"]), (&host.into(), &Value::Null));
            let reads = &header["plan"]["commands"][0]["reads"][0];
            assert!(reads.as_str().is_some_and(|it| it.ends_with(&format!("/data-{host}"))));
        }
        for name in ["setup", "cleanup"]
            .iter()
            .flat_map(|what| ["a", "b", "c"].map(|host| format!("{what}-{host}")))
        {
            let path = desk.sandbox.path(&name);
            wait_for("what runs around the commands", || path.exists().then_some(()));
            assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 1, "{name}");
            std::fs::remove_file(path).unwrap();
        }
    }
    // What could not be cleaned up is told, and exits as what failed.
    let fails = "--cleanup=test $IOASSAY_TEST_HOST = a";
    let output = judged(&desk, "uncleaned", "a,b", &["true", "--rounds=2", "--each", fails]);
    let said = text(&output.stderr);
    assert!(said.contains("the run on b ended early: on the host b: --cleanup"), "{said}");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    check_left(&desk);
}

/// A host that takes long to clean up is named, as one that takes long for anything else is.
#[test]
fn a_host_that_takes_long_to_clean_up_is_named() {
    let desk = desk(&[]);
    let slow = "--cleanup=test $IOASSAY_TEST_HOST = a || sleep 7";
    let output = judged(&desk, "records", "a,b", &["true", "--rounds=2", slow]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    let said = text(&output.stderr);
    assert!(said.contains("note: waiting for b to clean up, for "), "{said}");
}

/// Ctrl-C while hosts judge each by itself: all that can clean up.
#[test]
fn hosts_that_judge_by_themselves_end_with_their_run() {
    for at_once in [&[][..], &["--at-once"]] {
        let desk = desk(&["a", "b"]);
        let around = ["--cleanup", "touch cleaned-$IOASSAY_TEST_HOST", "--no-rehearsal", "--each"];
        let command = "touch began-$IOASSAY_TEST_HOST; setsid sleep 7777 & sleep 7778";
        let more = [&USUAL[..], &[command, "--rounds=2"], &around, at_once].concat();
        let running = desk.start_with(&args(&desk, "a,b", &more));
        let begun = if at_once.is_empty() { &["a"][..] } else { &["a", "b"] };
        for host in begun {
            let path = desk.sandbox.path(&format!("began-{host}"));
            wait_for("a command", || path.exists().then_some(()));
        }
        send(running.id(), Signal::INT);
        let output = running.output();
        assert_eq!(output.status.code(), Some(130), "{output:?}");
        check_left(&desk);
        for host in begun {
            assert!(desk.sandbox.path(&format!("cleaned-{host}")).exists(), "{host}: {output:?}");
        }
    }
}

/// The files of a command on a host may be on several storages: each is watched, as in a run here.
#[test]
fn each_storage_of_a_command_on_a_host_is_watched() {
    let test = "each_storage_of_a_command_on_a_host_is_watched";
    let desk = desk(&["a", "b"]);
    let Ok(memory) = tempfile::tempdir_in("/dev/shm") else {
        return skip(test, "there is no /dev/shm");
    };
    let device = |path: &Path| path.metadata().unwrap().dev();
    let [disk, ram] = [desk.sandbox.directory(), memory.path()].map(device);
    if disk == ram {
        return skip(test, "the test's folder is in /dev/shm");
    }
    let out = memory.path().join("out-$IOASSAY_TEST_HOST");
    let command = format!("head -c 1000000 data-$IOASSAY_TEST_HOST > {}", argument(&out));
    let output = judged(&desk, "records", "a,b", &[&command, "--rounds=2"]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    for name in ["1-a.jsonl", "2-b.jsonl"] {
        let header = header(&desk.record(name));
        if header["rehearsals"].is_null() {
            return skip(test, "programs cannot be traced here");
        }
        let numbers = serde_json::json!({disk.to_string(): 0, ram.to_string(): 1});
        assert_eq!(header["storage_numbers"], numbers, "{header:#}");
        assert_eq!(header["further_storages"][0]["file_system"], "tmpfs", "{header:#}");
        assert_eq!(header["further_storages"].as_array().unwrap().len(), 1);
        let text = std::fs::read_to_string(desk.record(name)).unwrap();
        let trial = text.lines().find(|line| line.starts_with("{\"trial\"")).unwrap();
        let trial: Value = serde_json::from_str(trial).unwrap();
        let further = trial["trial"]["evidence"]["further"].as_array();
        assert_eq!(further.map(Vec::len), Some(1), "{trial:#}");
    }
    // The record of a host is judged as any other.
    let report = desk.sandbox.json(&["report", "--json", argument(&desk.record("1-a.jsonl"))]);
    assert_eq!(report["further_storages"].as_array().unwrap().len(), 1, "{report:#}");
}
