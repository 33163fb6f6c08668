//! The live view of several hosts on a terminal, and what remains after it.

use crate::hosts::{Desk, READS, send};
use crate::sandbox::{text, wait_for};
use crate::terminal::{Terminal, check_gone, check_rests};
use rustix::process::{Pid, Signal, kill_process};

/// Two hosts that are agents on this machine, whose trials last `time`.
fn desk(time: &str) -> Desk {
    Desk::built_in(time, "here")
}

/// A run on them in a terminal, with `more` options.
fn start(desk: &Desk, rounds: u32, more: &[&str]) -> Terminal {
    let args = desk.args("a,b", rounds);
    let args: Vec<&str> = args.iter().map(String::as_str).chain(more.iter().copied()).collect();
    Terminal::start(&desk.sandbox, 120, &args, &[])
}

/// The agent of the second host, once both have a record.
fn agent_of_b(desk: &Desk, terminal: &Terminal) -> u32 {
    let record = desk.record("2-b.jsonl");
    wait_for("a record", || record.exists().then_some(()));
    let id = terminal.id();
    let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
    children.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// A worker of an agent, once there is one.
fn worker_of(agent: u32) -> i32 {
    let workers = format!("/proc/{agent}/task/{agent}/children");
    wait_for("a worker", || {
        let workers = std::fs::read_to_string(&workers).ok()?;
        workers.split_whitespace().next()?.parse().ok()
    })
}

/// Checks that the report is there, and nothing of the view is left.
fn check_clean(terminal: &Terminal) {
    let text = terminal.text();
    assert!(text.contains("ioassay "), "{text}");
    check_gone(&text);
    assert!(!text.contains("making test files"), "{text}");
}

#[test]
fn hosts_in_lockstep_are_one_view_and_nothing_of_it_is_left() {
    let desk = desk("50ms");
    let mut terminal = start(&desk, 3, &[]);
    terminal.end();
    check_clean(&terminal);
    let drawn = terminal.drawn();
    for expected in [
        "2 hosts: making test files",
        "round 1 of 3, trial 1 of 6",
        "round 3 of 3, trial 6 of 6, about ",
        " on 2 hosts",
        "no figure yet",
        "together so far ",
        " in 2 trials, latest ",
    ] {
        assert!(drawn.contains(expected), "'{expected}' was never shown: {drawn}");
    }
    assert!(terminal.text().contains("2 hosts in lockstep: a, b\n"), "{}", terminal.text());
    assert!(!drawn.contains("lost: "), "{drawn}");
    desk.check_empty();
}

#[test]
fn hosts_by_themselves_are_one_view_and_nothing_of_it_is_left() {
    for (at_once, shown) in [(&[][..], "another host so far "), (&["--at-once"], "no figure yet")] {
        let desk = desk("50ms");
        let mut terminal = start(&desk, 2, &[&["--each"], at_once].concat());
        terminal.end();
        check_clean(&terminal);
        let drawn = terminal.drawn();
        let hosts = ["host a (1 of 2)", "host b (2 of 2)"];
        let rounds = hosts.map(|host| format!("{host}, round 1 of 2, trial 1 of 4"));
        for expected in rounds.iter().map(String::as_str).chain([shown, ", roughly "]) {
            assert!(drawn.contains(expected), "'{expected}' was never shown: {drawn}");
        }
        desk.check_empty();
    }
}

#[test]
fn hosts_show_no_view_without_a_terminal_or_if_it_is_not_wanted() {
    for more in [&[][..], &["--each"]] {
        let desk = desk("50ms");
        let output = desk.run_with("a,b", 1, more);
        for said in [&output.stdout, &output.stderr] {
            check_gone(&text(said));
            assert!(!text(said).contains('\u{1b}'), "{output:?}");
        }
        std::fs::remove_dir_all(desk.files.path("records")).unwrap();
        let mut terminal = start(&desk, 1, &[more, &["--quiet"]].concat());
        terminal.end();
        check_clean(&terminal);
        check_gone(&terminal.drawn());
    }
}

/// Its trial ends on the other host, which goes on.
#[test]
fn a_host_that_is_lost_is_named_in_the_view() {
    let desk = desk("600s");
    // Two cases that end with their time only.
    let recipe = READS.replace("TIME", "600s").replace("\"64KiB\"", "[\"32KiB\", \"64KiB\"]");
    desk.write("few.toml", &recipe);
    let mut terminal = start(&desk, 1, &[]);
    terminal.wait_until_it_shows("trial 1 of 2");
    assert!(!terminal.text().contains("lost: "), "{}", terminal.text());
    check_rests(&mut terminal);
    let agent = agent_of_b(&desk, &terminal);
    // It is measuring: nothing is lost before.
    worker_of(agent);
    send(agent, Signal::KILL);
    for expected in ["lost: b", "trial 2 of 2", " on 1 host ", "1 trial failed"] {
        terminal.wait_until_it_shows(expected);
    }
    terminal.press_control_c();
    terminal.send(Signal::INT);
    assert_eq!(terminal.end().code(), Some(130));
    check_clean(&terminal);
    assert!(terminal.text().contains("note: b was lost: "), "{}", terminal.text());
    // What a killed agent left is removed by the next run there.
    let next = ["run", "page-latency", ".", "--size=1MiB", "--rounds=1", "--time=5ms"];
    desk.sandbox.ioassay(&next);
    desk.check_empty();
}

/// A note stays above the lines, which are drawn again.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_note_does_not_disturb_the_view() {
    let desk = desk("300ms");
    let mut terminal = start(&desk, 500, &[]);
    desk.wait_for_trial("2-b.jsonl");
    let agent = agent_of_b(&desk, &terminal);
    wait_for("a worker that is stopped", || {
        let worker = worker_of(agent);
        kill_process(Pid::from_raw(worker)?, Signal::STOP).ok()?;
        let stat = std::fs::read_to_string(format!("/proc/{worker}/stat")).ok()?;
        stat.contains(") T ").then_some(())
    });
    let is_whole = || {
        let text = terminal.text();
        let (above, below) = text.split_once("note: waiting for b to ")?;
        let is_shown = below.contains("round ") && below.contains(" on 2 hosts");
        (is_shown && !above.contains("round ")).then_some(())
    };
    wait_for("a note above the view", is_whole);
    terminal.send(Signal::INT);
    assert_eq!(terminal.end().code(), Some(130));
    let text = terminal.text();
    assert!(text.contains("note: waiting for b to "), "{text}");
    for left in ["^C", "░", "round 1 of ", "together so far"] {
        assert!(!text.contains(left), "'{left}' is left in:\n{text}");
    }
    desk.check_empty();
}
