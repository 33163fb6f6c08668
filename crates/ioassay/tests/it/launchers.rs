//! Launchers in which one command starts all agents, which connect back: here a shell, which starts
//! them on this machine and names each.

use crate::honesty::plant::alone_with_names;
use crate::hosts::{Desk, Running, is_alive, send};
use crate::sandbox::{argument, check_refusal, text, wait_for};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Output;

/// The environment variable that marks the agents of a test.
const MARK: &str = "IOASSAY_TEST_MARK";

/// A shell that starts each agent by `start`, with its name in `$h`.
fn desk(time: &str, start: &str) -> Desk {
    row(time, start, "")
}

fn row(time: &str, start: &str, more: &str) -> Desk {
    let script = format!("for h in $(echo {{hosts}} | tr , ' '); do {start} & done; wait");
    let mut desk = Desk::led(time, &format!("all = ['sh', '-c', '''{script}''', 'x']\n{more}"));
    desk.ways.push("--listen=127.0.0.1".to_owned());
    mark(&mut desk);
    desk
}

/// Marks the agents of this desk, so that they are found.
pub(crate) fn mark(desk: &mut Desk) {
    let own = argument(desk.files.directory()).to_owned();
    desk.set(MARK, &own);
}

/// How a shell starts the agent `$h`.
const START: &str = "SLURMD_NODENAME=$h \"$@\"";

/// The agents of a desk by the names of their hosts, with their process IDs.
pub(crate) fn agents(desk: &Desk) -> BTreeMap<String, u32> {
    let own = format!("{MARK}={}", argument(desk.files.directory()));
    let mut agents = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let read = |name: &str| {
            let text = std::fs::read(entry.path().join(name)).unwrap_or_default();
            let text = String::from_utf8_lossy(&text).into_owned();
            text.split('\0').map(str::to_owned).collect::<Vec<_>>()
        };
        let words = read("cmdline");
        let is_agent = words.get(1).is_some_and(|word| word == "agent");
        let variables = read("environ");
        if is_agent && variables.contains(&own) {
            let value =
                |name: &str| variables.iter().find_map(|it| it.strip_prefix(&format!("{name}=")));
            let name = value("SLURMD_NODENAME").or(value("IOASSAY_TEST_HOST"));
            agents.insert(name.unwrap_or_default().to_owned(), id);
        }
    }
    agents
}

/// The agents of a run of which `record` is one, all of which have joined: most of its time is yet
/// to come.
pub(crate) fn joined(desk: &Desk, record: &str) -> BTreeMap<String, u32> {
    let record = desk.record(record);
    wait_for("a record", || record.exists().then_some(()));
    agents(desk)
}

/// Checks that no agent of a desk is left.
pub(crate) fn check_ended(desk: &Desk) {
    wait_for("the end of all agents", || agents(desk).is_empty().then_some(()));
    desk.check_empty();
}

/// Checks a run in which no host was lost.
pub(crate) fn check_whole(desk: &Desk, output: &Output, records: &[&str]) {
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    let said = text(&output.stdout);
    assert!(said.contains(&format!("{} hosts in lockstep", records.len())), "{said}");
    assert!(!said.contains("HostLost"), "{said}");
    for record in records {
        let report = desk.sandbox.json(&["report", "--json", argument(&desk.record(record))]);
        assert_eq!(report["end"], "complete");
        assert!(!report.to_string().contains("DigestMismatch"), "{report:#}");
    }
    check_ended(desk);
}

/// What an HPC site asks first: the recipes for several hosts, and the survey of each.
const QUESTIONS: [(&str, &[&str]); 3] = [
    ("cluster", &["run", "cluster", ".", "--size=1MiB", "--rounds=1", "--invocations=1"]),
    ("metadata", &["run", "metadata", ".", "--entries=100", "--rounds=1", "--invocations=1"]),
    ("survey", &["run", "survey", ".", "--each", "--size=4MiB", "--rounds=1", "--invocations=1"]),
];

/// All questions, by name.
pub(crate) const ALL_QUESTIONS: [&str; 3] = ["cluster", "metadata", "survey"];

/// Checks that these hosts, which `run` reaches, answer the questions of [`QUESTIONS`] that are
/// `asked` for. With `IOASSAY_TEST_REPORTS`, the reports are kept in that folder.
pub(crate) fn check_questions(
    desk: &Desk,
    hosts: &str,
    (way, asked): (&str, &[&str]),
    run: impl Fn(&[String]) -> Output,
) {
    assert!(asked.iter().all(|name| ALL_QUESTIONS.contains(name)), "{asked:?}");
    let count = if hosts == "slurm" { 4 } else { hosts.split(',').count() };
    for (name, words) in QUESTIONS.into_iter().filter(|(name, _)| asked.contains(name)) {
        let _alone = (name == "metadata").then(alone_with_names);
        let records = desk.files.path(name);
        let mut args: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        args.extend(["--time=50ms".to_owned(), format!("--record={}", records.display())]);
        args.extend(desk.ways(hosts));
        let output = run(&args);
        let said = text(&output.stdout);
        if let Some(folder) = std::env::var_os("IOASSAY_TEST_REPORTS") {
            std::fs::write(Path::new(&folder).join(format!("{name}-{way}.txt")), &said).unwrap();
        }
        assert!(matches!(output.status.code(), Some(0 | 1)), "{name}: {output:?}");
        for fault in ["HostLost", "FailedTrials", "DigestMismatch"] {
            assert!(!said.contains(fault), "{name}: {said}");
        }
        assert_eq!(records.read_dir().unwrap().count(), count, "{name}: {said}");
        check_ended(desk);
    }
}

/// Whether a process listens on a port.
fn listens(id: u32) -> bool {
    let sockets: Vec<String> = std::fs::read_dir(format!("/proc/{id}/fd"))
        .unwrap()
        .flatten()
        .flat_map(|entry| std::fs::read_link(entry.path()))
        .filter_map(|path| Some(path.to_str()?.strip_prefix("socket:[")?.replace(']', "")))
        .collect();
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    table.lines().skip(1).any(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        fields[3] == "0A" && sockets.iter().any(|socket| socket == fields[9])
    })
}

/// The secret is in no process's arguments.
pub(crate) fn check_secret(agent: u32) {
    let variables = std::fs::read(format!("/proc/{agent}/environ")).unwrap();
    let variables = String::from_utf8_lossy(&variables).into_owned();
    let token = variables.split('\0').find_map(|it| it.strip_prefix("IOASSAY_TOKEN="));
    let token = &token.expect("the agent has a token")[..32];
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let words = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let words = String::from_utf8_lossy(&words).into_owned();
        assert!(!words.contains(token), "{words}");
    }
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn one_command_starts_all_agents_and_the_port_is_closed_then() {
    let desk = desk("200ms", START);
    let running = desk.start("a,b,c", 3);
    let agents = joined(&desk, "3-c.jsonl");
    assert!(!listens(running.id()));
    assert_eq!(agents.len(), 3, "{agents:?}");
    check_secret(agents["b"]);
    check_whole(&desk, &running.output(), &["1-a.jsonl", "2-b.jsonl", "3-c.jsonl"]);
}

#[test]
fn a_token_may_come_in_a_file_which_is_removed() {
    let start = "env -i IOASSAY_TEST_HOST=$h SLURMD_NODENAME=$h \"$@\"";
    let desk = row("100ms", start, "token = 'file'");
    let output = desk.run("a,b", 1);
    check_whole(&desk, &output, &["1-a.jsonl", "2-b.jsonl"]);
    let left: Vec<_> = desk.sandbox.things();
    assert!(!left.iter().any(|name| name.contains("agents-")), "{left:?}");
}

/// Who else connects is refused, is told of, and changes nothing.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn strangers_at_the_port_are_refused_and_the_run_goes_on() {
    let to = "a=${2#--connect=}; exec 3<>/dev/tcp/${a%:*}/${a#*:}";
    let first =
        |script: &str| format!("case $h in b) bash -c '{to}; {script}' \"$@\" 2>&1; esac; {START}");
    for (script, expected) in [
        ("head -c 10000000 /dev/zero >&3", "its first line is longer than 1024 bytes"),
        ("echo ioassay-agent 00 b >&3; cat <&3", "its token is wrong"),
        (
            "echo ioassay-agent ${IOASSAY_TOKEN:0:64} d >&3; cat <&3",
            "it runs on 'd', which is none of the hosts",
        ),
    ] {
        let desk = desk("100ms", &first(script));
        let output = desk.run("a,b", 1);
        let told = text(&output.stderr);
        let expected = format!("note: a connection from 127.0.0.1 was refused: {expected}");
        assert!(told.contains(&expected), "{told}");
        check_whole(&desk, &output, &["1-a.jsonl", "2-b.jsonl"]);
    }
    // The port is open until the second agent on a was refused, because b waits for that.
    let refused = format!("\"${MARK}/refused\"");
    let try_once = format!("{{ {START} || touch {refused}; }}");
    let wait = format!("until [ -e {refused} ]; do sleep 0.02; done");
    let start = format!("case $h in a) {try_once} & {try_once};; *) {wait}; {START};; esac");
    let twice = desk("100ms", &start);
    let output = twice.run("a,b", 1);
    let told = text(&output.stderr);
    assert!(told.contains("the agent on a joined already"), "{told}");
    check_whole(&twice, &output, &["1-a.jsonl", "2-b.jsonl"]);
}

#[test]
fn an_agent_that_cannot_take_part_is_named() {
    let other = "bash -c 'a=${1#--connect=}; exec 3<>/dev/tcp/${a%:*}/${a#*:}; \
                 echo ioassay-agent ${IOASSAY_TOKEN:0:64} b >&3; read -u 3 line; \
                 echo \"{\\\"hello\\\":{\\\"protocol\\\":3,\\\"version\\\":\\\"0.0.9\\\"}}\" >&3; \
                 cat <&3 > /dev/null' \"$2\" \"$3\"";
    for (start, expected) in [
        ("IOASSAY_TOKEN=00 \"$@\"", "its agent did not connect to 127.0.0.1:"),
        ("IOASSAY_TOKEN=00 \"$@\"", "it is no token of ioassay"),
        ("echo no route >&2", "no route"),
        (other, "ioassay 0.0.9 is there"),
    ] {
        let desk = desk("100ms", &format!("case $h in b) {start};; *) {START};; esac"));
        if start != other {
            // The others would wait for the coordinator, and it for this one.
            let alone = desk.run("b", 1);
            check_refusal(&alone, &["b cannot take part", expected]);
        } else {
            let (code, found) = desk.check("a,b");
            assert_eq!(code, Some(1));
            assert!(found[1]["reason"].as_str().unwrap().contains(expected), "{found:#}");
            assert_eq!(found[0]["reason"], Value::Null, "{found:#}");
        }
        check_ended(&desk);
    }
}

#[test]
fn a_launcher_that_is_missing_is_named() {
    let desk = Desk::led("100ms", "all = ['no-such-launcher']");
    let mut args = desk.args("127.0.0.1", 1);
    let output = desk.run("127.0.0.1", 1);
    check_refusal(&output, &["failed to start the launcher enter [\"no-such-launcher\""]);
    assert!(!text(&output.stderr).contains("IOASSAY_TOKEN"), "{output:?}");
    args.push("--listen=0.0.0.0".to_owned());
    let output = desk.command(&args).output().unwrap();
    check_refusal(&output, &["stands for all addresses of this host"]);
    let each = Desk::new("100ms", &["false"]);
    let mut args = each.args("a", 1);
    args.push("--listen=127.0.0.1".to_owned());
    let output = each.command(&args).output().unwrap();
    check_refusal(&output, &["--listen does not go with the launcher 'enter'"]);
}

/// The end of a connection is the end of its host, which fails the trial by name.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn an_agent_that_connected_and_is_killed_is_lost_and_the_others_go_on() {
    let desk = desk("300ms", START);
    let running = desk.start("a,b,c", 3);
    let started = joined(&desk, "2-b.jsonl");
    desk.wait_for_trial("2-b.jsonl");
    send(started["b"], Signal::KILL);
    check_lost(&desk, running, "b", "the agent on b closed its connection");
}

/// Checks that `host` was lost, and that the others went on.
pub(crate) fn check_lost(desk: &Desk, running: Running, host: &str, expected: &str) {
    let output = running.output();
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(told.contains(&format!("{host} was lost: ")), "{told}");
    assert!(told.contains(expected), "{told}");
    assert!(text(&output.stdout).contains("HostLost"), "{output:?}");
    let end = |path: &Path| desk.sandbox.json(&["report", "--json", argument(path)])["end"].clone();
    for entry in desk.files.path("records").read_dir().unwrap() {
        let path = entry.unwrap().path();
        let is_lost = argument(&path).ends_with(&format!("-{host}.jsonl"));
        let expected = if is_lost { "lost" } else { "complete" };
        assert_eq!(end(&path), expected, "{}", path.display());
    }
    wait_for("the end of all agents", || agents(desk).is_empty().then_some(()));
}

/// Nothing outlives a coordinator, neither the launcher nor what it started.
#[test]
fn agents_that_connected_end_with_their_coordinator() {
    for (signal, code) in
        [(Signal::INT, Some(130)), (Signal::USR1, Some(138)), (Signal::KILL, None)]
    {
        let desk = desk("60s", START);
        let running = desk.start("a,b", 5);
        let record = desk.record("2-b.jsonl");
        let started = joined(&desk, "2-b.jsonl");
        assert_eq!(started.len(), 2);
        send(running.id(), signal);
        assert_eq!(running.output().status.code(), code);
        for id in started.into_values() {
            wait_for("the end of an agent", || (!is_alive(id)).then_some(()));
        }
        check_ended(&desk);
        let report = desk.sandbox.ioassay(&["report", argument(&record)]);
        assert!(matches!(report.status.code(), Some(0 | 1)), "{report:?}");
    }
}

/// A coordinator that is stopped or cut off looks the same to its agents: they end.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn agents_end_when_their_coordinator_is_silent() {
    for desk in [desk("60s", START), Desk::new("60s", &["env", "IOASSAY_TEST_HOST={host}"])] {
        let mut desk = desk;
        mark(&mut desk);
        let running = desk.start("a,b", 5);
        assert_eq!(joined(&desk, "2-b.jsonl").len(), 2);
        send(running.id(), Signal::STOP);
        check_ended(&desk);
        send(running.id(), Signal::CONT);
        let output = running.output();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(text(&output.stderr).contains("no host is left"), "{output:?}");
    }
}
