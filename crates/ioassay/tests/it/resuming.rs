//! Runs on several hosts that are interrupted and resumed.

use crate::hosts::{Desk, Running, is_alive, send};
use crate::sandbox::{argument, check_refusal, text, wait_for};
use model::record::{End, Record};
use model::taking_part::TakingPart;
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::process::Output;

const NAMES: [&str; 3] = ["1-a.jsonl", "2-b.jsonl", "3-c.jsonl"];

const ROUNDS: u32 = 6;

fn desk() -> Desk {
    Desk::new("100ms", &["env", "IOASSAY_TEST_HOST={host}"])
}

/// Goes on with the run on `hosts`, with `more` options.
fn resume(desk: &Desk, hosts: &str, more: &[&str]) -> Output {
    let folder = format!("--resume={}", desk.files.path("records").display());
    let mut args = desk.args(hosts, ROUNDS);
    args.retain(|arg| !arg.starts_with("--record="));
    args.push(folder);
    args.extend(more.iter().map(|arg| (*arg).to_owned()));
    desk.sandbox.plainly(&args.iter().map(String::as_str).collect::<Vec<_>>())
}

fn records(desk: &Desk) -> [Record; 3] {
    NAMES.map(|name| {
        let text = std::fs::read_to_string(desk.record(name)).unwrap();
        Record::decode(&text).unwrap()
    })
}

/// Waits until the last host has so many trials, and kills the coordinator. Its agents end, too.
fn kill(desk: &Desk, mut running: Running, trials: usize) {
    let enough = wait_for("trials", || {
        let ended = running.has_ended();
        let text = std::fs::read_to_string(desk.record(NAMES[2])).unwrap_or_default();
        let enough = text.matches("{\"trial\"").count() >= trials;
        (enough || ended).then_some(enough)
    });
    if !enough {
        panic!("it ended before it had {trials} trials: {:?}", running.output());
    }
    let agents = running.agents();
    send(running.id(), Signal::KILL);
    running.output();
    for agent in agents {
        wait_for("the end of an agent", || (!is_alive(agent)).then_some(()));
    }
}

fn turns(record: &Record) -> BTreeSet<(usize, u32, u32)> {
    record.trials.iter().map(|trial| (trial.case, trial.invocation, trial.round)).collect()
}

/// Checks that the run is whole: all hosts measured every case in every round, at the same turns,
/// and the report leaves nothing out.
fn check_whole(desk: &Desk, output: &Output) {
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    let said = text(&output.stdout);
    assert!(said.contains("3 hosts in lockstep") && !said.contains("HostLost"), "{said}");
    let all = records(desk);
    for record in &all {
        assert_eq!((&record.end, &record.damage), (&End::Complete, &Vec::new()));
        assert_eq!(turns(record), turns(&all[0]));
        let rounds: BTreeSet<_> = record.trials.iter().map(|it| (it.case, it.round)).collect();
        assert_eq!((rounds.len(), record.trials.len()), (2 * ROUNDS as usize, 2 * ROUNDS as usize));
        let resumed = record.invocations.iter().filter(|it| it.resumed.is_some());
        assert_eq!(resumed.count(), 1);
    }
    desk.check_empty();
    let records = NAMES.map(|name| desk.record(name));
    let [a, b, c] = records.each_ref().map(|record| argument(record));
    assert_eq!(text(&desk.sandbox.ioassay(&["report", c, b, a]).stdout), said);
    assert!(said.contains("the run was interrupted, and resumed at "), "{said}");
}

/// What it did with its time is told, whatever fits into it on this machine.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn hosts_that_are_given_a_time_use_it_together_and_go_on_for_the_rest() {
    let desk = desk();
    let given = ["--for=12s", "--invocations=3", "--prune", "--block=4KiB,8KiB,16KiB,64KiB"];
    let with = |args: Vec<String>| -> Vec<String> {
        let args = args.into_iter().filter(|arg| !arg.starts_with("--invocations="));
        args.chain(given.iter().map(|arg| (*arg).to_owned())).collect()
    };
    let running = desk.start_with(&with(desk.args("a,b,c", ROUNDS)));
    // One trial is enough: on a busy machine few fit into the time.
    kill(&desk, running, 1);
    let mut args = with(desk.args("a,b,c", ROUNDS));
    args.retain(|arg| !arg.starts_with("--record="));
    args.push(format!("--resume={}", desk.files.path("records").display()));
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let output = desk.sandbox.plainly(&args);
    let said = text(&output.stdout);
    assert!(said.contains("note   12s was "), "{output:?}");
    let all = records(&desk);
    for record in &all {
        assert_eq!((&record.end, &record.damage), (&End::Complete, &Vec::new()));
        assert_eq!(turns(record), turns(&all[0]));
        assert_eq!(record.pruned, all[0].pruned);
        assert!(record.header.plan.prune && record.header.plan.budget.is_some());
        // Nothing begins once the time is over.
        assert!(record.trials.iter().all(|trial| trial.at_ms < 12_000));
    }
    desk.check_empty();
}

/// The trial that only some hosts have is measured again on all.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_run_whose_coordinator_was_killed_is_resumed_on_all_hosts() {
    let desk = desk();
    kill(&desk, desk.start("a,b,c", ROUNDS), 3);
    // As if it had been killed before it wrote the last trial of a host, and while it wrote that of
    // another.
    for (name, keep) in [(NAMES[1], 0), (NAMES[2], 80)] {
        let text = std::fs::read_to_string(desk.record(name)).unwrap();
        let last = text.trim_end().rfind('\n').unwrap() + 1;
        desk.write(&format!("records/{name}"), &text[..last + keep]);
    }
    let before = records(&desk);
    let output = resume(&desk, "a,b,c", &[]);
    let told = text(&output.stderr);
    assert!(told.contains("resumed: trials that all have: "), "{told}");
    assert!(told.contains("measured again, because not all have them: "), "{told}");
    check_whole(&desk, &output);
    let after = records(&desk);
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before.header, after.header);
        let kept = before.trials.iter().filter(|trial| after.trials.contains(trial)).count();
        assert!(kept >= 2, "what all had is kept: {kept}");
    }
    // There is nothing left to do.
    check_refusal(&resume(&desk, "a,b,c", &[]), &["nothing is left to measure", "is complete"]);
}

/// The rounds that a lost host missed are measured again on all once it is back.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_host_that_was_lost_takes_part_again() {
    let desk = desk();
    let running = desk.start("a,b,c", ROUNDS);
    desk.wait_for_trial(NAMES[1]);
    send(running.agents()[1], Signal::KILL);
    wait_for("the loss of b", || {
        let text = std::fs::read_to_string(desk.record(NAMES[1])).unwrap();
        text.contains("{\"end\"").then_some(())
    });
    let without = records(&desk)[2].trials.len();
    kill(&desk, running, without + 2);
    check_whole(&desk, &resume(&desk, "a,b,c", &[]));
}

/// Nobody is left for the cases of one host, and the others are measured to their end.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn cases_whose_hosts_are_all_lost_do_not_keep_the_others() {
    let desk = desk();
    let mut args = desk.args("a,b,c", ROUNDS);
    args.push("--host-count=1,3".to_owned());
    let running = desk.start_with(&args);
    desk.wait_for_trial(NAMES[0]);
    send(running.agents()[0], Signal::KILL);
    let output = running.output();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let [_, b, c] = records(&desk);
    for record in [b, c] {
        assert_eq!((&record.end, record.invocations.len()), (&End::Complete, 0));
        let cases = &record.header.plan.cases;
        let is_of_all =
            |case: usize| cases[case].case.io().is_some_and(|io| io.hosts != TakingPart::First(1));
        let of_all = (0..cases.len()).filter(|case| is_of_all(*case)).count();
        let rounds: BTreeSet<_> = record.trials.iter().map(|it| (it.case, it.round)).collect();
        assert_eq!(rounds.len(), of_all * ROUNDS as usize, "{rounds:?}");
    }
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn only_the_same_run_on_the_same_hosts_is_resumed() {
    let desk = desk();
    let running = desk.start("a,b,c", ROUNDS);
    desk.wait_for_trial(NAMES[2]);
    // It does not end meanwhile.
    send(running.id(), Signal::STOP);
    check_refusal(&resume(&desk, "a,b,c", &[]), &["a run is writing the record", NAMES[0]]);
    kill(&desk, running, 1);
    let refuse = |hosts: &str, more: &[&str], expected: &[&str]| {
        check_refusal(&resume(&desk, hosts, more), expected);
    };
    refuse("a,b", &[], &["is on a,b,c, and this one on a,b"]);
    refuse("a,c,b", &[], &["is on a,b,c, and this one on a,c,b"]);
    refuse("a,b,c", &["--seed=8"], &["seed: ", "8 now"]);
    refuse("a,b,c", &["--block=4KiB"], &["1-a.jsonl' cannot be resumed", "other cases: "]);
    refuse("a,b,c", &["--each"], &["--resume does not go with --hosts yet"]);
    let text = std::fs::read_to_string(desk.record(NAMES[1])).unwrap();
    let host = records(&desk)[1].header.host.name.clone();
    let other = text.replacen(&format!("\"name\":\"{host}\""), "\"name\":\"moved\"", 1);
    desk.write("records/2-b.jsonl", &other);
    let moved = format!("host: moved in the record, {host} now");
    refuse("a,b,c", &[], &["2-b.jsonl' cannot be resumed", &moved]);
    std::fs::remove_file(desk.record(NAMES[1])).unwrap();
    refuse("a,b,c", &[], &["has no record of no. 2 of 3"]);
    desk.write("records/2-b.jsonl", &text);
    // Nothing was changed by what was refused.
    check_whole(&desk, &resume(&desk, "a,b,c", &[]));
}
