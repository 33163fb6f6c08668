//! Hosts that measure each by itself, and reports of many records.

use crate::hosts::{Desk, send};
use crate::sandbox::{argument, check_refusal, text, wait_for};
use model::record::{Record, RecordLine, VERSION};
use model::trial::Outcome;
use model::zoo;
use rustix::process::Signal;
use serde_json::Value;
use std::path::PathBuf;
use std::process::Output;

fn desk(prefix: &[&str]) -> Desk {
    Desk::new("50ms", prefix)
}

/// The arguments of a run on each of these hosts by itself.
fn each(desk: &Desk, hosts: &str, more: &[&str]) -> Vec<String> {
    let mut args = desk.args(hosts, 3);
    args.push("--each".to_owned());
    args.extend(more.iter().map(|arg| (*arg).to_owned()));
    args
}

fn run(desk: &Desk, hosts: &str, more: &[&str]) -> Output {
    let args = each(desk, hosts, more);
    desk.sandbox.plainly(&args.iter().map(String::as_str).collect::<Vec<_>>())
}

fn parsed(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// The same report comes from the records.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn each_host_is_measured_by_itself_and_all_are_one_report() {
    for more in [&["--json"][..], &["--json", "--at-once"]] {
        let desk = desk(&["env", "IOASSAY_TEST_HOST={host}"]);
        let output = run(&desk, "a,b,c", more);
        // Other programs may read the same disk, which makes a case void.
        assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
        let report = parsed(&output);
        let called: Vec<&str> = report["hosts"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|it| it["called"].as_str())
            .collect();
        assert_eq!(called, ["a", "b", "c"]);
        for case in report["cases"].as_array().unwrap() {
            assert_eq!(case["is_told"], false, "{case:#}");
            for figure in case["figures"].as_array().unwrap() {
                assert_eq!(figure["n"], 3, "{figure:#}");
            }
        }
        let records = ["1-a.jsonl", "2-b.jsonl", "3-c.jsonl"].map(|name| desk.record(name));
        let [a, b, c] = records.each_ref().map(|record| argument(record));
        let again = desk.sandbox.json(&["report", "--json", a, b, c]);
        assert_eq!(again["cases"], report["cases"]);
        assert_eq!(again["hosts"][1]["called"], "b");
        let compared = desk.sandbox.json(&["compare", "--json", a, b, c]);
        assert_eq!(compared, again);
        let seeds: Vec<String> = records
            .iter()
            .map(|it| desk.sandbox.json(&["report", "--json", argument(it)])["seed"].to_string())
            .collect();
        assert!(seeds[0] != seeds[1] && seeds[1] != seeds[2], "{seeds:?}");
        desk.check_empty();
    }
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_host_that_cannot_be_measured_is_told_and_the_others_are() {
    let script = "case {host} in b) echo no route >&2; exit 255;; *) exec \"$0\" \"$@\";; esac";
    for more in [&[][..], &["--at-once"]] {
        let desk = desk(&["sh", "-c", script]);
        let output = run(&desk, "a,b,c", more);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let (said, told) = (text(&output.stdout), text(&output.stderr));
        assert!(told.contains("note: the host b was not measured") && told.contains("no route"));
        assert!(said.contains("2 hosts") && said.contains("No host can be called odd"), "{said}");
        assert!(desk.record("3-c.jsonl").exists() && !desk.record("2-b.jsonl").exists());
        desk.check_empty();
    }
    let desk = desk(&["false"]);
    check_refusal(&run(&desk, "a,b", &[]), &["no host was measured", "the host a", "the host b"]);
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_host_that_is_lost_ends_no_other_run() {
    let desk = Desk::new("300ms", &["env", "IOASSAY_TEST_HOST={host}"]);
    let running = desk.start_with(&each(&desk, "a,b,c", &["--at-once"]));
    desk.wait_for_trial("2-b.jsonl");
    send(agent_of(running.id(), "b"), Signal::KILL);
    let output = running.output();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let (said, told) = (text(&output.stdout), text(&output.stderr));
    assert!(told.contains("the run on b ended early: b was lost"), "{told}");
    assert!(said.contains("3 hosts") && said.contains("b was lost "), "{said}");
    for name in ["1-a.jsonl", "3-c.jsonl"] {
        let report = desk.sandbox.json(&["report", "--json", argument(&desk.record(name))]);
        assert_eq!(report["end"], "complete");
    }
}

/// The agent of a host, which one of the threads of the coordinator has started.
fn agent_of(coordinator: u32, host: &str) -> u32 {
    let mark = format!("IOASSAY_TEST_HOST={host}");
    let is_it = |id: &u32| {
        let environment = std::fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|word| word == mark.as_bytes())
    };
    wait_for("an agent", || {
        let threads = std::fs::read_dir(format!("/proc/{coordinator}/task")).ok()?;
        let children = threads.flatten().map(|thread| thread.path().join("children"));
        let ids = children.flat_map(std::fs::read_to_string).collect::<Vec<_>>().join(" ");
        ids.split_whitespace().flat_map(str::parse).find(is_it)
    })
}

/// Nobody waits for hosts that are not begun.
#[test]
fn a_signal_ends_the_way_through_all_hosts() {
    let desk = Desk::new("60s", &["env", "IOASSAY_TEST_HOST={host}"]);
    let running = desk.start_with(&each(&desk, "a,b", &[]));
    let record = desk.record("1-a.jsonl");
    wait_for("a record", || record.exists().then_some(()));
    send(running.id(), Signal::INT);
    let output = running.output();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    assert!(!desk.record("2-b.jsonl").exists());
    desk.check_empty();
}

#[test]
fn what_does_not_go_with_each_is_refused() {
    let desk = desk(&["false"]);
    check_refusal(&run(&desk, "a,b", &["--control"]), &["--control does not go with --hosts"]);
    check_refusal(&run(&desk, "a,b", &["--openmetrics=x"]), &["--openmetrics is for one record"]);
    check_refusal(&run(&desk, "a,b", &["--dry-run"]), &["--dry-run does not go with hosts"]);
    let refuse = |args: &[&str], expected: &str| {
        check_refusal(&desk.sandbox.plainly(args), &[expected]);
    };
    refuse(&["survey", "--at-once"], "--hosts");
    refuse(&["run", "page-latency", "--hosts=a", "--at-once"], "--each");
    refuse(&["survey", "--hosts=a", "--pin=0"], "--pin does not go with --hosts");
    refuse(&["survey", "--hosts=a", "--launcher=shh"], "unknown launcher 'shh'");
}

/// Records of hosts, of which the fifth is slower.
fn made(desk: &Desk) -> Vec<String> {
    let write = |(number, percent): (u64, u64)| {
        let mut record = zoo::record_of_invocations(5, 2);
        record.header.host.name = format!("node{number}");
        record.header.plan.seed = number;
        for trial in &mut record.trials {
            let Outcome::Done(sample) = &mut trial.outcome else { continue };
            for span in &mut sample.spans {
                span.end_ns = span.start_ns + (span.end_ns - span.start_ns) * percent / 100;
            }
        }
        let name = format!("{number}.jsonl");
        desk.write(&name, &lines(record));
        argument(&desk.files.path(&name)).to_owned()
    };
    (0..).zip([100, 101, 99, 100, 300, 98]).map(write).collect()
}

/// The text of a record.
pub(crate) fn lines(record: Record) -> String {
    let Record { header, invocations, trials, end, .. } = record;
    let mut lines = vec![RecordLine::Header { version: VERSION, header }.encode()];
    lines.extend(invocations.into_iter().map(|it| RecordLine::Invocation(it).encode()));
    lines.extend(trials.into_iter().map(|trial| RecordLine::Trial(trial).encode()));
    lines.push(RecordLine::End(end).encode());
    lines.join("\n") + "\n"
}

#[test]
fn records_made_apart_are_one_report_in_every_form() {
    let desk = desk(&["false"]);
    let records = made(&desk);
    let say = |more: &[&str]| {
        let records = records.iter().map(String::as_str);
        desk.sandbox.says(&[&["report"], &records.collect::<Vec<_>>()[..], more].concat())
    };
    let said = say(&[]);
    assert!(said.contains("node4 is the odd one out in 1 case"), "{said}");
    let said = say(&["--markdown"]);
    assert!(said.contains("node4 is the odd one out") && said.contains("| node5 |"), "{said}");
    let report: Value = serde_json::from_str(&say(&["--json"])).unwrap();
    assert_eq!(report["hosts"][4]["odd_in"].as_array().map(Vec::len), Some(1));
    let csv = say(&["--csv"]);
    assert_eq!(csv.lines().count(), 1 + 6 * 10, "a head, and a row for each trial");
    assert!(csv.lines().nth(60).unwrap().contains("node5"));
    let page = desk.files.path("fleet.html");
    say(&["--html", argument(&page)]);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("node4 is the odd one out") && page.contains("node5"), "{page}");
}

/// One that is damaged is judged as far as it goes; one that is no record is named.
#[test]
fn whatever_is_among_the_records_is_told() {
    let desk = desk(&["false"]);
    let mut records = made(&desk);
    let cut = |name: &str, text: &str| -> PathBuf {
        desk.write(name, text);
        desk.files.path(name)
    };
    let whole = std::fs::read_to_string(&records[5]).unwrap();
    let mut record = zoo::record();
    record.header.host.name = "node9".to_string();
    record.trials.clear();
    records.push(argument(&cut("empty.jsonl", &lines(record))).to_owned());
    records[5] = argument(&cut("cut.jsonl", &whole[..whole.len() * 2 / 3])).to_owned();
    records.push(records[0].clone());
    let args: Vec<&str> =
        ["report"].into_iter().chain(records.iter().map(String::as_str)).collect();
    let output = desk.sandbox.plainly(&args);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    for expected in [
        "node4 is the odd one out in 1 case",
        "node5: its record has no end",
        "0.jsonl is a copy of another record",
        "not run",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    let thesis = cut("thesis", "years of work\n");
    let args = ["report", &records[0], argument(&thesis), &records[1]];
    check_refusal(&desk.sandbox.plainly(&args), &["thesis' is not a record"]);
    let args = ["report", &records[0], "nowhere.jsonl"];
    check_refusal(&desk.sandbox.plainly(&args), &["nowhere.jsonl"]);
}
