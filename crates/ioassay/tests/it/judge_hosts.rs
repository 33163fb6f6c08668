//! `judge` on several hosts: agents of this machine, each with files and a setup of its own.

use crate::hosts::{Desk, Running, send};
use crate::launchers::{agents, mark};
use crate::namespaces::is_there;
use crate::sandbox::{PROGRAM, argument, check_refusal, skip, text, wait_for};
use rustix::process::Signal;
use serde_json::Value;
use std::process::Output;
use std::time::Duration;

/// The size of the file that each host reads.
const SIZE: usize = 8 << 20;

/// Evicts the file of a host: nobody else has it open, and it is clean.
const EVICT: &str = "dd if=data-$IOASSAY_TEST_HOST iflag=nocache count=0 status=none";
/// Reads it.
const READ: &str = "exec cat data-$IOASSAY_TEST_HOST";

/// A desk whose hosts know their names, and have a file each.
pub(crate) fn desk(hosts: &[&str]) -> Desk {
    let mut desk = Desk::new("100ms", &["env", "IOASSAY_TEST_HOST={host}"]);
    mark(&mut desk);
    for host in hosts {
        write_data(&desk, host);
    }
    desk
}

/// Gives a host its file, which is on the disk afterwards.
pub(crate) fn write_data(desk: &Desk, host: &str) {
    let path = desk.sandbox.path(&format!("data-{host}"));
    std::fs::write(&path, vec![7; SIZE]).unwrap();
    std::fs::File::open(path).unwrap().sync_all().unwrap();
}

/// The arguments of a `judge` on these hosts.
pub(crate) fn args(desk: &Desk, hosts: &str, more: &[&str]) -> Vec<String> {
    let record = format!("--record={}", desk.files.path("records").display());
    let mut args = vec!["judge".to_owned(), record, "--invocations=1".to_owned()];
    args.extend(more.iter().map(|arg| (*arg).to_owned()));
    args.extend(desk.ways(hosts));
    args
}

/// One of them with the built-in launcher `here`, which tells no host its name.
#[test]
fn commands_run_in_the_directory_of_the_coordinator() {
    let desk = Desk::built_in("100ms", "here");
    std::fs::write(desk.sandbox.path("here"), "x").unwrap();
    let output = run(&desk, "a,b", &["test -e here", "--rounds=2"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

fn run(desk: &Desk, hosts: &str, more: &[&str]) -> Output {
    let args = args(desk, hosts, more);
    desk.sandbox.plainly(&args.iter().map(String::as_str).collect::<Vec<_>>())
}

/// What all records say of the cases.
pub(crate) fn reported(desk: &Desk) -> Value {
    let records = desk.files.path("records");
    let output = desk.sandbox.ioassay(&["report", "--json", argument(&records)]);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// Checks that each of these hosts has judged its own command, by what `output` and its record say.
pub(crate) fn check_judged(desk: &Desk, output: &Output, hosts: &[&str]) {
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    let said = text(&output.stdout);
    let expected = format!("{} hosts in lockstep: all start each run", hosts.len());
    assert!(said.contains(&expected) && !said.contains("HostLost"), "{said}");
    for (number, host) in (1..).zip(hosts) {
        let record = desk.record(&format!("{number}-{host}.jsonl"));
        let report = desk.sandbox.json(&["report", "--json", argument(&record)]);
        let case = &report["cases"][0];
        assert_eq!((&report["end"], &case["n"]), (&"complete".into(), &2.into()), "{report:#}");
        assert_eq!(case["command"]["asked_bytes"].as_u64().map(|it| it >= SIZE as u64), Some(true));
    }
    check_left(desk);
}

/// The options of a command that reads a file of each host.
pub(crate) const READS: [&str; 4] = [READ, "--shell", "--cache=as-is", "--rounds=2"];

/// What served a command on each host, and that its counters agree with that.
fn check_served(case: &Value, expected: &[(&str, &str)]) {
    let commands = case["commands"].as_array().unwrap();
    let found: Vec<(&str, &str)> = commands
        .iter()
        .map(|it| (it["host"].as_str().unwrap(), it["served_by"].as_str().unwrap()))
        .collect();
    assert_eq!(found, expected, "{case:#}");
    for command in commands {
        let is_cached = command["served_by"] == "page-cache";
        let read = command["device_read_bytes"].as_u64().unwrap();
        let share = command["cached_share"].as_f64().unwrap();
        assert_eq!((read == 0, share == 1.0), (is_cached, is_cached), "{command:#}");
        assert!(is_cached || read >= SIZE as u64, "{command:#}");
        assert_eq!(command["asked_bytes"].as_u64().map(|it| it >= SIZE as u64), Some(true));
        assert!(command["late_ns"].as_f64().is_some(), "{command:#}");
    }
}

fn has_doubt(case: &Value, code: &str) -> bool {
    case["doubts"].as_array().unwrap().iter().any(|doubt| doubt["code"] == code)
}

/// A host whose file is cached before each run reads nothing from its device, and the report names
/// it. Where all have evicted theirs, nothing is said.
#[test]
fn the_host_that_read_nothing_from_its_device_is_named() {
    let test = "the_host_that_read_nothing_from_its_device_is_named";
    let desk = desk(&["a", "b"]);
    if !desk.sandbox.is_on_disk(test) {
        return;
    }
    let uneven = format!("case $IOASSAY_TEST_HOST in a) {EVICT};; b) cat data-b >/dev/null;; esac");
    let phases = [READ, "test -s data-$IOASSAY_TEST_HOST"];
    let usual = ["--shell", "--cache=as-is", "--rounds=6", "-n=read", "-n=size"];
    let more = [phases.as_slice(), &usual, &["--prepare", &uneven]].concat();
    let output = run(&desk, "a,b", &more);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    let report = reported(&desk);
    let cases = report["cases"].as_array().unwrap();
    check_served(&cases[0], &[("a", "device"), ("b", "page-cache")]);
    assert!(has_doubt(&cases[0], "ServedDiffers"), "{cases:#?}");
    assert_eq!(cases[0]["verdict"], "doubtful");
    let said = text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in [
        "2 hosts in lockstep: all start each run at the same moment",
        "the page cache served it on b, where devices read 0 B; devices served it on a, where \
         devices read 8.00 MiB",
        "ServedDiffers: not the same served it on all hosts",
    ] {
        assert!(said.contains(expected), "no '{expected}': {said}");
    }
    // A phase that reads nothing is not mixed up with the other.
    assert!(!has_doubt(&cases[1], "ServedDiffers"), "{cases:#?}");
    // The records are the receipt: they give the same report again.
    let records = desk.files.path("records");
    let again = desk.sandbox.ioassay(&["report", argument(&records)]);
    assert_eq!(text(&again.stdout), text(&output.stdout));
    std::fs::remove_dir_all(&records).unwrap();
    let more = [&[READ][..], &usual[..3], &["--prepare", EVICT]].concat();
    let output = run(&desk, "a,b", &more);
    let report = reported(&desk);
    let cases = report["cases"].as_array().unwrap();
    check_served(&cases[0], &[("a", "device"), ("b", "device")]);
    assert!(!has_doubt(&cases[0], "ServedDiffers"), "{cases:#?}");
    assert!(text(&output.stdout).contains("devices served it on all hosts (a and b)"));
}

/// What runs around the commands runs on each host: once, or around each run there.
#[test]
fn each_host_sets_up_prepares_and_cleans_up_for_itself() {
    let desk = desk(&["a", "b"]);
    let to = |name: &str| format!("sh -c 'echo >> {name}-$IOASSAY_TEST_HOST'");
    let setup = "sh -c 'echo >> setup-$IOASSAY_TEST_HOST; sleep 7771 >/dev/null 2>&1 &'";
    let command =
        "sh -c 'test -e setup-$IOASSAY_TEST_HOST && ! test -e cleanup-$IOASSAY_TEST_HOST'";
    let [prepare, conclude, cleanup] = ["prepare", "conclude", "cleanup"].map(to);
    let mut more = vec![command, "--rounds=3", "--setup", setup, "--prepare", &prepare];
    more.extend(["--conclude", &conclude, "--cleanup", &cleanup]);
    let output = run(&desk, "a,b", &more);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    for host in ["a", "b"] {
        for (name, times) in [("setup", 1), ("prepare", 4), ("conclude", 4), ("cleanup", 1)] {
            let text = std::fs::read_to_string(desk.sandbox.path(&format!("{name}-{host}")));
            // The rehearsal has a run, too.
            assert_eq!(text.map(|text| text.lines().count()).ok(), Some(times), "{name}-{host}");
        }
        let record = desk.record(&format!("{}-{host}.jsonl", if host == "a" { 1 } else { 2 }));
        let header = std::fs::read_to_string(record).unwrap();
        let header: Value = serde_json::from_str(header.lines().next().unwrap()).unwrap();
        assert_eq!(header["header"]["rehearsals"].as_array().unwrap().len(), 1, "{header:#}");
    }
    check_left(&desk);
}

/// Checks that nothing of a desk goes on.
pub(crate) fn check_left(desk: &Desk) {
    wait_for("the end of all agents", || agents(desk).is_empty().then_some(()));
    wait_for("the end of all processes", || marked(desk).is_empty().then_some(()));
}

/// The processes that a desk started, however.
fn marked(desk: &Desk) -> Vec<u32> {
    let mark = format!("IOASSAY_TEST_MARK={}", argument(desk.files.directory()));
    let is_marked = |pid: &u32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes())
    };
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_marked).collect()
}

/// What cannot be done on one host is told with its name, and what was begun is cleaned up.
#[test]
fn a_command_that_fails_on_one_host_is_refused_with_its_name() {
    let desk = desk(&["a", "b"]);
    let on_b = |what: &str| format!("sh -c 'case $IOASSAY_TEST_HOST in b) {what};; esac'");
    let fails = on_b("echo bad >&2; exit 3");
    let cleanup = "sh -c 'touch cleaned-$IOASSAY_TEST_HOST'";
    for (more, expected) in [
        (vec![fails.as_str()], "it ended with status 3; its stderr: bad"),
        (vec!["true", "--setup", &fails], "--setup"),
        (vec!["true", "--prepare", &fails], "--prepare: it ended with exit status: 3"),
        (vec!["true", "--cache=cold", "--no-rehearsal", "--file=none"], "the host a: opening"),
    ] {
        let more = [more.as_slice(), &["--rounds=1", "--cleanup", cleanup, "--quiet"]].concat();
        let output = run(&desk, "a,b", &more);
        let host =
            if expected.contains("host a") { "nothing to measure" } else { "b cannot take part" };
        check_refusal(&output, &[host, expected]);
        for host in ["a", "b"] {
            let cleaned = desk.sandbox.path(&format!("cleaned-{host}"));
            wait_for("a host that is cleaned up", || cleaned.exists().then_some(()));
            std::fs::remove_file(cleaned).unwrap();
        }
        assert!(!desk.files.path("records").exists());
    }
    // The report is printed before what went wrong after it.
    let fails = on_b("exit 4");
    let output = run(&desk, "a,b", &["true", "--rounds=1", "--cleanup", &fails]);
    let told = text(&output.stderr);
    assert!(told.contains("on the host b: --cleanup") && told.contains("exit status: 4"), "{told}");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stdout).contains("2 hosts in lockstep"), "{output:?}");
    check_left(&desk);
}

#[test]
fn what_does_not_go_with_commands_on_hosts_is_refused() {
    let desk = desk(&[]);
    for (more, expected) in [
        (&["--output=inherit"][..], "--output 'inherit' does not go with --hosts"),
        (&["--output=out"], "--output 'out' does not go with --hosts"),
        (&["--export-json=x.json"], "--export-json does not go with --hosts"),
        (&["--openmetrics=x"], "--openmetrics is for one record"),
    ] {
        check_refusal(&run(&desk, "a,b", &[&["true"], more].concat()), &[expected]);
        assert!(!desk.sandbox.path("out").exists());
    }
    let output = desk.sandbox.plainly(&["judge", "--pid=1", "--hosts=a,b"]);
    check_refusal(&output, &["--hosts"]);
}

/// The options of tasks that judge a command each for itself, with a record in `folder`.
pub(crate) fn task_args(desk: &Desk) -> Vec<String> {
    let folder = desk.files.path("tasks");
    std::fs::create_dir(&folder).unwrap();
    let record = format!("--record={}/", folder.display());
    let words = ["judge", "--quiet", "--rounds=2", "--invocations=1", "--cache=warm", "cat data-a"];
    words.iter().map(|word| (*word).to_owned()).chain([record]).collect()
}

/// Checks that two tasks each have a record, and that the report of both says what served them.
pub(crate) fn check_tasks(desk: &Desk, output: &Output) {
    assert!(output.status.success(), "{output:?}");
    let folder = desk.files.path("tasks");
    assert_eq!(folder.read_dir().unwrap().count(), 2, "{output:?}");
    let said = text(&desk.sandbox.ioassay(&["report", argument(&folder)]).stdout);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = "the page cache served it on all hosts (";
    assert!(said.contains(expected) && said.contains("where devices read 0 B."), "{said}");
}

/// Without other hosts, a launcher only starts several runs.
#[test]
fn tasks_of_mpirun_judge_each_for_itself() {
    if !is_there("mpirun") {
        skip("tasks_of_mpirun_judge_each_for_itself", "mpirun is not installed");
        return;
    }
    let desk = desk(&["a"]);
    let mut command = desk.sandbox.start("mpirun");
    for name in ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] {
        command.env(name, "1");
    }
    command.args(["-n", "2", "--oversubscribe", PROGRAM]).args(task_args(&desk));
    check_tasks(&desk, &command.output().unwrap());
}

/// A run of a command that goes on for long, with everything around it.
fn endless(desk: &Desk) -> Running {
    let setup = "sh -c 'setsid sleep 7776 >/dev/null 2>&1 &'";
    let command = "sh -c 'setsid sleep 7777 & sleep 7778'";
    let cleanup = "sh -c 'sleep 0.3; touch cleaned-$IOASSAY_TEST_HOST'";
    let more = [command, "--no-rehearsal", "--rounds=2", "--setup", setup, "--cleanup", cleanup];
    let running = desk.start_with(&args(desk, "a,b", &more));
    wait_for("the command on both hosts", || {
        let is_it = |pid: &&u32| {
            let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            words == b"sleep\x007778\0"
        };
        (marked(desk).iter().filter(is_it).count() == 2).then_some(())
    });
    running
}

/// However the coordinator or an agent ends, nothing goes on, and each host that can is cleaned up.
#[test]
fn commands_on_hosts_end_with_their_run() {
    for signal in [Signal::INT, Signal::TERM, Signal::KILL] {
        let desk = desk(&[]);
        let running = endless(&desk);
        send(running.id(), signal);
        let output = running.output();
        let expected = [(Signal::INT, 130), (Signal::TERM, 143)];
        for (_, code) in expected.iter().filter(|(other, _)| *other == signal) {
            assert_eq!(output.status.code(), Some(*code), "{output:?}");
        }
        check_left(&desk);
        for host in ["a", "b"] {
            assert!(desk.sandbox.path(&format!("cleaned-{host}")).exists(), "{signal:?} {host}");
        }
    }
}

/// A host that is lost ends the run of a command on the others, which go on without it.
#[test]
fn a_host_that_is_lost_ends_the_command_on_the_others() {
    let desk = desk(&[]);
    let running = endless(&desk);
    let there = agents(&desk);
    send(there["b"], Signal::KILL);
    // The next round begins on the other.
    wait_for("a trial", || {
        let text = std::fs::read_to_string(desk.record("1-a.jsonl")).unwrap_or_default();
        text.contains("b was lost").then_some(())
    });
    std::thread::sleep(Duration::from_millis(100));
    send(running.id(), Signal::INT);
    let output = running.output();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    check_left(&desk);
    assert!(desk.sandbox.path("cleaned-a").exists());
}
