//! Several hosts: namespaces of this machine, which a launcher enters.

use crate::mounts::is_root;
use crate::sandbox::{HANGS, PROGRAM, Sandbox, argument, check_refusal, skip, text, wait_for};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::{DirBuilder, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::time::{Duration, SystemTime};

/// A recipe with a short case in memory.
pub(crate) const READS: &str = "\
name = \"few\"
question = \"?\"
ceilings = false
[[cases]]
size = \"4MiB\"
engine = \"pread\"
cache = \"warm\"
block = \"64KiB\"
ops = 0
time = \"TIME\"
";

/// One more case, on the file.
const WRITES: &str = "\
[[cases]]
size = \"4MiB\"
op = \"write\"
engine = \"write\"
block = \"64KiB\"
sync = \"fdatasync\"
time = \"TIME\"
";

/// A sandbox with the recipe `few.toml`, whose trials last `time`, and a launcher.
pub(crate) struct Desk {
    pub(crate) sandbox: Sandbox,
    pub(crate) files: Sandbox,
    /// Variables for the coordinator.
    pub(crate) variables: Vec<(String, String)>,
    /// The options that name the launcher.
    pub(crate) ways: Vec<String>,
}

impl Desk {
    /// With another `recipe`.
    pub(crate) fn with(recipe: &str, prefix: &[&str]) -> Desk {
        let desk = Desk::new("100ms", prefix);
        desk.write("few.toml", recipe);
        desk
    }

    /// With a launcher that has this prefix.
    pub(crate) fn new(time: &str, prefix: &[&str]) -> Desk {
        let words: Vec<String> = prefix.iter().map(|word| format!("{word:?}")).collect();
        Desk::led(time, &format!("prefix = [{}]", words.join(", ")))
    }

    /// With a launcher that has this row.
    pub(crate) fn led(time: &str, row: &str) -> Desk {
        let mut desk = Desk::built_in(time, "enter");
        desk.write("launchers.toml", &format!("[[launcher]]\nname = \"enter\"\n{row}\n"));
        let launchers = desk.files.path("launchers.toml");
        desk.ways.push(format!("--launchers={}", launchers.display()));
        desk
    }

    /// With a built-in launcher.
    pub(crate) fn built_in(time: &str, launcher: &str) -> Desk {
        let (sandbox, files) = (Sandbox::new(), Sandbox::new());
        let ways = vec![format!("--launcher={launcher}")];
        let desk = Desk { sandbox, files, variables: Vec::new(), ways };
        desk.write("few.toml", &(READS.to_owned() + WRITES).replace("TIME", time));
        desk
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.files.path(name), text).unwrap();
    }

    /// The arguments of a run on these hosts, whose records go to `records`.
    pub(crate) fn args(&self, hosts: &str, rounds: u32) -> Vec<String> {
        let path = |name: &str| self.files.path(name).display().to_string();
        let mut args = vec!["run".to_owned(), path("few.toml"), ".".to_owned()];
        args.extend([format!("--rounds={rounds}"), "--invocations=1".to_owned()]);
        args.push(format!("--record={}", path("records")));
        args.extend(self.ways(hosts));
        args
    }

    /// The options that lead to these hosts.
    pub(crate) fn ways(&self, hosts: &str) -> Vec<String> {
        let ends = [format!("--hosts={hosts}"), format!("--program={PROGRAM}")];
        ends.into_iter().chain(self.ways.iter().cloned()).collect()
    }

    /// The program with `args`.
    pub(crate) fn command(&self, args: &[String]) -> Command {
        let mut command = self.sandbox.start(PROGRAM);
        let variables = self.variables.iter().map(|(name, value)| (name, value));
        command.args(args).envs(variables);
        command
    }

    pub(crate) fn run(&self, hosts: &str, rounds: u32) -> Output {
        output(self.command(&self.args(hosts, rounds)))
    }

    /// The same with `more` options, of which the last of a kind counts.
    pub(crate) fn run_with(&self, hosts: &str, rounds: u32, more: &[&str]) -> Output {
        let mut args = self.args(hosts, rounds);
        args.retain(|arg| !more.iter().any(|it| it.split('=').next() == arg.split('=').next()));
        args.extend(more.iter().map(|arg| (*arg).to_owned()));
        self.sandbox.plainly(&args.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Checks the hosts, in JSON.
    pub(crate) fn check(&self, hosts: &str) -> (Option<i32>, Value) {
        let mut args = vec!["hosts".to_owned(), "check".to_owned(), "--json".to_owned()];
        args.extend(self.ways(hosts));
        let output = output(self.command(&args));
        let found = serde_json::from_slice(&output.stdout);
        (output.status.code(), found.unwrap_or_else(|error| panic!("{error}: {output:?}")))
    }

    /// A run that goes on while the test does something to it.
    pub(crate) fn start(&self, hosts: &str, rounds: u32) -> Running {
        self.start_with(&self.args(hosts, rounds))
    }

    /// The same with any arguments.
    pub(crate) fn start_with(&self, args: &[String]) -> Running {
        let mut command = self.command(args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Running { child: Some(command.spawn().unwrap()) }
    }

    pub(crate) fn record(&self, name: &str) -> PathBuf {
        self.files.path("records").join(name)
    }

    /// Waits until a host's record has a trial.
    pub(crate) fn wait_for_trial(&self, record: &str) {
        let path = self.record(record);
        wait_for("a trial", || {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            text.contains("{\"trial\"").then_some(())
        });
    }

    /// Checks that nothing is left in the measured directory.
    pub(crate) fn check_empty(&self) {
        wait_for("the end of what the agents made", || {
            let left = self.sandbox.directory().read_dir().unwrap().count();
            (left == 0).then_some(())
        });
    }
}

fn output(command: Command) -> Output {
    assert_cmd::Command::from_std(command).timeout(HANGS).output().unwrap()
}

/// A run that is killed on drop.
pub(crate) struct Running {
    child: Option<Child>,
}

impl Running {
    pub(crate) fn id(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.as_mut().unwrap().try_wait().unwrap().is_some()
    }

    /// The agents that it started, in the order of the hosts.
    pub(crate) fn agents(&self) -> Vec<u32> {
        let id = self.id();
        let children = format!("/proc/{id}/task/{id}/children");
        wait_for("agents", || {
            let children = std::fs::read_to_string(&children).ok()?;
            let ids: Vec<u32> = children.split_whitespace().flat_map(str::parse).collect();
            (ids.len() >= 2).then_some(ids)
        })
    }

    /// What it says on stderr from now on.
    pub(crate) fn stderr(&mut self) -> BufReader<ChildStderr> {
        BufReader::new(self.child.as_mut().unwrap().stderr.take().unwrap())
    }

    pub(crate) fn output(mut self) -> Output {
        self.child.take().unwrap().wait_with_output().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Whether `unshare` makes namespaces with these arguments. If not, reports the skipped `test`.
pub(crate) fn is_possible(test: &str, unshare: &[&str]) -> bool {
    if !is_root(test) {
        return false;
    }
    match Command::new("unshare").args(unshare).output() {
        Ok(output) if output.status.success() => true,
        answer => {
            skip(test, &format!("unshare {unshare:?}: {answer:?}"));
            false
        }
    }
}

pub(crate) fn send(id: u32, signal: Signal) {
    kill_process(Pid::from_raw(i32::try_from(id).unwrap()).unwrap(), signal).unwrap();
}

pub(crate) fn is_alive(id: u32) -> bool {
    Path::new(&format!("/proc/{id}")).exists()
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn hosts_measure_in_lockstep_and_each_has_its_record() {
    let desk = Desk::new("100ms", &["env", "IOASSAY_TEST_HOST={host}"]);
    let output = desk.run("a,b,c", 3);
    let said = text(&output.stdout);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    assert!(said.contains("3 hosts in lockstep"), "{said}");
    let mut seeds = Vec::new();
    for record in ["1-a.jsonl", "2-b.jsonl", "3-c.jsonl"] {
        let report = desk.sandbox.json(&["report", "--json", argument(&desk.record(record))]);
        assert_eq!(
            (&report["end"], &report["damage"]),
            (&"complete".into(), &Value::Array(vec![]))
        );
        seeds.push(report["seed"].to_string());
        for case in report["cases"].as_array().unwrap() {
            assert_eq!(case["n"], 3, "{case:#}");
            let codes = case["findings"].to_string();
            assert!(!codes.contains("DigestMismatch"), "{codes}");
        }
        // All are on this machine, and on its disk if there is one.
        let header: Value = serde_json::from_str(lines_of(&desk, record).first().unwrap()).unwrap();
        let header = &header["header"];
        let has_disk = !header["storage"]["devices"].as_array().unwrap().is_empty();
        let first_other = u64::from(record == "1-a.jsonl");
        let expected = if has_disk { first_other.into() } else { Value::Null };
        assert_eq!(header["plan"]["rank"]["neighbor"], expected, "{header:#}");
        // Each has found its own fastest loop.
        assert_eq!(header["calibrated"][0]["kernel"], "read", "{header:#}");
        assert!(!report["cases"].to_string().contains("\"Foreign\""), "{report:#}");
        // Each trial knows its host's clock, which is this machine's.
        let lines = lines_of(&desk, record);
        let trials = lines.iter().filter(|line| line.starts_with("{\"trial\""));
        for line in trials {
            let trial: Value = serde_json::from_str(line).unwrap();
            let clock = &trial["trial"]["clock"];
            let ahead = clock["ahead_ns"].as_i64().unwrap().unsigned_abs();
            assert!(ahead <= clock["error_ns"].as_u64().unwrap(), "{clock}");
        }
    }
    seeds.dedup();
    assert_eq!(seeds.len(), 3, "each has data and orders of its own");
    desk.check_empty();
    check_again(&desk, &output);
    // The folder stands for its records.
    let folder = desk.files.path("records");
    let whole = desk.sandbox.ioassay(&["report", argument(&folder)]);
    assert!(text(&whole.stdout).contains("3 hosts in lockstep"), "{whole:?}");
    let list = desk.sandbox.says(&["runs", argument(desk.files.directory())]);
    assert!(list.contains("3 hosts: a, b and c"), "{list}");
}

fn lines_of(desk: &Desk, record: &str) -> Vec<String> {
    let text = std::fs::read_to_string(desk.record(record)).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// The records of a run give its report again, in every form and in any order.
fn check_again(desk: &Desk, run: &Output) {
    let records = ["3-c.jsonl", "1-a.jsonl", "2-b.jsonl"].map(|name| desk.record(name));
    let records = records.each_ref().map(|record| argument(record));
    let report = |more: &[&str]| {
        let args = ["report"].iter().chain(&records).chain(more).copied().collect::<Vec<_>>();
        desk.sandbox.ioassay(&args)
    };
    let again = report(&[]);
    assert_eq!(text(&again.stdout), text(&run.stdout));
    assert_eq!(again.status.code(), run.status.code());
    let json: Value = serde_json::from_slice(&report(&["--json"]).stdout).unwrap();
    let schema: Value = serde_json::from_str(&desk.sandbox.says(&["schema", "lockstep"])).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let problem = validator.validate(&json).map_err(|error| error.to_string());
    assert_eq!(problem, Ok(()), "{json:#}");
    let called: Vec<&str> =
        json["hosts"].as_array().unwrap().iter().flat_map(|it| it["called"].as_str()).collect();
    assert_eq!((called, &json["of"]), (vec!["a", "b", "c"], &3.into()));
    for case in json["cases"].as_array().unwrap() {
        assert_eq!((&case["n"], &case["case"]["block"]), (&3.into(), &65_536.into()), "{case:#}");
    }
    let markdown = report(&["--markdown"]);
    assert!(text(&markdown.stdout).contains("3 hosts in lockstep"), "{markdown:?}");
    let csv = report(&["--csv"]);
    assert_eq!(text(&csv.stdout).lines().count(), 1 + 3 * 2 * 3, "{csv:?}");
    // Some of them are judged as what they are; a copy makes them hosts to compare.
    let two = desk.sandbox.ioassay(&["report", records[0], records[2]]);
    let said = text(&two.stdout);
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("RecordMissing: without the record of a, cases in which it"), "{said}");
    let json: Value = serde_json::from_slice(
        &desk.sandbox.ioassay(&["report", "--json", records[0], records[2]]).stdout,
    )
    .unwrap();
    assert_eq!(json["missing"], serde_json::json!(["a"]));
    assert!(json["cases"].as_array().unwrap().iter().all(|case| case["throughput"].is_null()));
    let said = desk.sandbox.ioassay(&["report", records[0], records[1], records[0]]);
    assert!(text(&said.stdout).contains("is a copy of another record"), "{said:?}");
}

/// A clock that is far ahead is told apart from one that is wrong.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_clock_that_is_a_thousand_seconds_ahead_changes_nothing() {
    let test = "a_clock_that_is_a_thousand_seconds_ahead_changes_nothing";
    if !is_possible(test, &["-T", "--monotonic", "1000", "--fork", "true"]) {
        return;
    }
    let enter = "case {host} in b) exec unshare -T --monotonic 1000 --fork \"$0\" \"$@\";; \
                 *) exec \"$0\" \"$@\";; esac";
    let desk = Desk::new("100ms", &["sh", "-c", enter]);
    let output = desk.run("a,b", 2);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    let lines = std::fs::read_to_string(desk.record("2-b.jsonl")).unwrap();
    let mut seen = 0;
    for line in lines.lines().filter(|line| line.starts_with("{\"trial\"")) {
        let trial: Value = serde_json::from_str(line).unwrap();
        let clock = &trial["trial"]["clock"];
        let ahead = clock["ahead_ns"].as_i64().unwrap();
        let wrong = (ahead - 1_000_000_000_000).unsigned_abs();
        assert!(wrong <= clock["error_ns"].as_u64().unwrap(), "{clock}");
        seen += 1;
    }
    assert_eq!(seen, 4);
    let said = text(&output.stdout);
    assert!(!said.contains("HostLost"), "{said}");
    desk.check_empty();
}

#[test]
fn hosts_that_share_a_directory_see_each_others_marks() {
    let desk = Desk::new("100ms", &["env", "IOASSAY_TEST_HOST={host}"]);
    let (code, found) = desk.check("a,b,c");
    assert_eq!(code, Some(0));
    for (index, others) in [["b", "c"], ["a", "c"], ["a", "b"]].iter().enumerate() {
        assert_eq!(found[index]["found"]["shares_with"], serde_json::json!(others), "{found:#}");
    }
    desk.check_empty();
}

#[test]
fn a_host_with_a_directory_of_its_own_is_told() {
    if !is_possible("a_host_with_a_directory_of_its_own_is_told", &["-m", "true"]) {
        return;
    }
    let enter = "case {host} in own) exec unshare -m sh -c \
                 'mount -t tmpfs none \"$IOASSAY_TEST_DIR\" && exec \"$0\" \"$@\"' \"$0\" \"$@\";; \
                 *) exec \"$0\" \"$@\";; esac";
    let desk = Desk::new("100ms", &["sh", "-c", enter]);
    let directory = argument(desk.sandbox.directory()).to_owned();
    let prefix = ["env", &format!("IOASSAY_TEST_DIR={directory}"), "sh", "-c", enter];
    let words: Vec<String> = prefix.iter().map(|word| format!("{word:?}")).collect();
    desk.write(
        "launchers.toml",
        &format!("[[launcher]]\nname = \"enter\"\nprefix = [{}]\n", words.join(", ")),
    );
    let (code, found) = desk.check("a,own,b");
    assert_eq!(code, Some(0));
    assert_eq!(found[0]["found"]["shares_with"], serde_json::json!(["b"]), "{found:#}");
    assert_eq!(found[1]["found"]["shares_with"], serde_json::json!([]));
    assert_eq!(found[1]["found"]["storage"]["file_system"], "tmpfs");
}

/// What is wrong with one host is said of it, and the others are checked all the same.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_host_that_cannot_be_used_is_told_with_the_reason() {
    // Most end with their input, and one has to be killed.
    let other = r#"echo '{"hello":{"protocol":1,"version":"0.0.9"}}'; cat >/dev/null"#;
    let way = |lines: &str| format!("case {{host}} in b) {lines};; *) exec \"$0\" \"$@\";; esac");
    for (script, expected) in [
        ("echo 'no route' >&2; exit 255", "no route"),
        (other, "ioassay 0.0.9 is there"),
        ("head -c 80000000 /dev/zero; cat >/dev/null", "a line longer than"),
        ("echo dance; sleep 60", "'dance' is no line of the protocol"),
        ("echo dance; sleep 60", "a start-up file of the login shell there"),
        ("exec /nowhere/ioassay", "name it with --program"),
        (
            "echo \"error: unrecognized subcommand 'agent'\" >&2; exit 2",
            "the ioassay there is older",
        ),
        ("printf '\\033[2J\\n'; cat >/dev/null", "'\u{FFFD}[2J' is no line"),
    ] {
        let desk = Desk::new("100ms", &["sh", "-c", &way(script)]);
        let (code, found) = desk.check("a,b,c");
        assert_eq!(code, Some(1), "{script}");
        let reason = found[1]["reason"].as_str().unwrap();
        assert!(reason.contains(expected), "{script}: {reason}");
        assert_eq!(found[0]["found"]["shares_with"], serde_json::json!(["c"]), "{found:#}");
        // A run needs all of them.
        check_refusal(&desk.run("a,b", 1), &["b cannot take part", expected]);
        desk.check_empty();
    }
}

/// A host that is lost fails the trial by name. The others go on, and their records are complete.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_host_that_is_killed_is_lost_and_the_others_go_on() {
    let desk = Desk::new("300ms", &["env", "IOASSAY_TEST_HOST={host}"]);
    let running = desk.start("a,b,c", 5);
    desk.wait_for_trial("2-b.jsonl");
    send(running.agents()[1], Signal::KILL);
    let output = running.output();
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let unfolded = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(unfolded.contains("HostLost: b was lost "), "{said}");
    let told = text(&output.stderr);
    assert!(told.contains("b was lost: the agent on b died (signal: 9"), "{told}");
    let record =
        |name: &str| desk.sandbox.json(&["report", "--json", argument(&desk.record(name))]);
    assert_eq!(record("2-b.jsonl")["end"], "lost");
    for name in ["1-a.jsonl", "3-c.jsonl"] {
        let report = record(name);
        assert_eq!(report["end"], "complete");
        let n: u64 =
            report["cases"].as_array().unwrap().iter().map(|it| it["n"].as_u64().unwrap()).sum();
        assert!(n >= 8, "one trial of ten is lost: {n}");
    }
    // What a killed agent left is removed by the next run there.
    let next = ["run", "page-latency", ".", "--size=1MiB", "--rounds=1", "--time=5ms"];
    desk.sandbox.ioassay(&next);
    desk.check_empty();
}

/// The others do not wait for the end of a trial in which a host is lost.
#[test]
fn a_trial_ends_when_a_host_is_lost() {
    let desk = Desk::new("600s", &["env", "IOASSAY_TEST_HOST={host}"]);
    let running = desk.start("a,b,c", 1);
    let agents = running.agents();
    let worker = format!("/proc/{0}/task/{0}/children", agents[0]);
    // Records begin once the fastest loops are found.
    wait_for("a record", || desk.record("3-c.jsonl").exists().then_some(()));
    wait_for("a worker", || {
        let workers = std::fs::read_to_string(&worker).unwrap_or_default();
        (!workers.trim().is_empty()).then_some(())
    });
    send(agents[1], Signal::KILL);
    for name in ["1-a.jsonl", "3-c.jsonl"] {
        let path = desk.record(name);
        wait_for("a trial that failed", || {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            // The others were not stopped: they go on.
            assert!(!text.contains("the run was stopped"), "{text}");
            text.contains("\"reason\":\"b was lost: ").then_some(())
        });
    }
    send(running.id(), Signal::INT);
    assert_eq!(running.output().status.code(), Some(130));
    // What a killed agent left is removed by the next run there.
    let next = ["run", "page-latency", ".", "--size=1MiB", "--rounds=1", "--time=5ms"];
    desk.sandbox.ioassay(&next);
    desk.check_empty();
}

/// A worker that dies is no lost host. The others measured beside fewer than the case says, and the
/// host itself goes on.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_trial_that_fails_on_one_host_fails_on_all() {
    let desk = Desk::new("2s", &["env", "IOASSAY_TEST_HOST={host}"]);
    let running = desk.start("a,b", 1);
    let agents = running.agents();
    let workers = format!("/proc/{0}/task/{0}/children", agents[1]);
    // Records begin once the fastest loops are found.
    wait_for("a record", || desk.record("2-b.jsonl").exists().then_some(()));
    // One that measures: the first case only uses the processor.
    let worker = wait_for("a worker", || {
        let workers = std::fs::read_to_string(&workers).ok()?;
        let worker = workers.split_whitespace().next()?;
        let stat = std::fs::read_to_string(format!("/proc/{worker}/stat")).ok()?;
        let user: u64 = stat.rsplit(')').next()?.split_whitespace().nth(11)?.parse().ok()?;
        (user >= 5).then(|| worker.parse().ok())?
    });
    send(worker, Signal::KILL);
    let output = running.output();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(!text(&output.stderr).contains("was lost"), "{output:?}");
    for (name, expected) in [("1-a.jsonl", "it failed on b"), ("2-b.jsonl", "the worker died")] {
        let lines = std::fs::read_to_string(desk.record(name)).unwrap();
        let mut trials = lines.lines().filter(|line| line.starts_with("{\"trial\""));
        assert!(trials.any(|trial| trial.contains(expected)), "{name}: {lines}");
        assert!(lines.contains("{\"end\":\"complete\"}"), "{lines}");
    }
    desk.check_empty();
}

/// A worker that reports an error has ended its trial before the others end theirs.
#[test]
fn a_trial_that_reports_an_error_on_one_host_fails_on_all() {
    let recipe = "name = \"few\"\nquestion = \"?\"\nceilings = false\n".to_owned() + WRITES;
    // Its files may have 1.5 MiB, or 3 with a shell that counts KiB.
    let script = "[ \"$0\" = b ] && ulimit -f 3000; exec \"$@\"";
    let prefix = ["sh", "-c", script, "{host}"];
    let desk = Desk::with(&recipe.replace("TIME", "300ms"), &prefix);
    let output = desk.run("a,b", 1);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    for (name, expected) in [("1-a.jsonl", "it failed on b"), ("2-b.jsonl", "File too large")] {
        let lines = std::fs::read_to_string(desk.record(name)).unwrap();
        let mut trials = lines.lines().filter(|line| line.starts_with("{\"trial\""));
        assert!(trials.all(|trial| trial.contains(expected)), "{name}: {lines}");
        assert!(lines.contains("{\"end\":\"complete\"}"), "{lines}");
    }
    desk.check_empty();
}

/// A host that is stopped says nothing for longer than the others wait. Once it goes on, it finds
/// that its coordinator is gone, and removes its files.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_host_that_is_stopped_is_lost_and_leaves_nothing_once_it_goes_on() {
    let desk = Desk::new("300ms", &["env", "IOASSAY_TEST_HOST={host}"]);
    let running = desk.start("a,b,c", 4);
    desk.wait_for_trial("3-c.jsonl");
    let stopped = running.agents()[1];
    send(stopped, Signal::STOP);
    let path = desk.record("2-b.jsonl");
    wait_for("the loss of b", || {
        std::fs::read_to_string(&path).unwrap().contains("{\"end\"").then_some(())
    });
    send(stopped, Signal::CONT);
    let output = running.output();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let told = text(&output.stderr);
    assert!(told.contains("b was lost: the agent on b sent nothing for 5s"), "{told}");
    for name in ["1-a.jsonl", "3-c.jsonl"] {
        let report = desk.sandbox.json(&["report", "--json", argument(&desk.record(name))]);
        assert_eq!(report["end"], "complete");
    }
    desk.check_empty();
}

/// A worker whose disk hangs keeps its agent waiting, which is alive. The user is told who it is,
/// and need not wait.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_host_that_the_others_wait_for_is_named() {
    let desk = Desk::new("300ms", &["env", "IOASSAY_TEST_HOST={host}"]);
    let mut running = desk.start("a,b", 500);
    let stderr = running.stderr();
    desk.wait_for_trial("2-b.jsonl");
    let workers = format!("/proc/{0}/task/{0}/children", running.agents()[1]);
    wait_for("a worker that is stopped", || {
        let workers = std::fs::read_to_string(&workers).ok()?;
        let worker: i32 = workers.split_whitespace().next()?.parse().ok()?;
        kill_process(Pid::from_raw(worker)?, Signal::STOP).ok()?;
        let stat = std::fs::read_to_string(format!("/proc/{worker}/stat")).ok()?;
        stat.contains(") T ").then_some(())
    });
    let mut lines = stderr.lines().map_while(Result::ok);
    // Where a disk is busy, the other may be waited for before.
    assert!(lines.any(|line| line.contains("note: waiting for b to ")));
    send(running.id(), Signal::INT);
    assert_eq!(running.output().status.code(), Some(130));
    desk.check_empty();
}

/// A clock that is set anew between two trials: the host does not wait for years.
#[test]
fn a_host_whose_clock_jumps_is_told() {
    let jump = r#""$0" "$@" | sed -u '/"ready"/,/never/ s/"monotonic_ns":/"monotonic_ns":9/'"#;
    let enter = format!("case {{host}} in b) {jump};; *) exec \"$0\" \"$@\";; esac");
    let desk = Desk::new("100ms", &["sh", "-c", &enter]);
    let output = desk.run("a,b", 2);
    let said = text(&output.stdout);
    assert!(said.contains("ClockUncertain"), "{said}");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let lines = std::fs::read_to_string(desk.record("2-b.jsonl")).unwrap();
    let last = lines.lines().rfind(|line| line.starts_with("{\"trial\"")).unwrap();
    assert!(last.contains("it was told to begin in"), "{last}");
    desk.check_empty();
}

/// Nothing outlives a run that is interrupted, or whose coordinator is killed.
#[test]
fn agents_end_with_their_coordinator_and_leave_nothing() {
    for (signal, code) in [(Signal::INT, Some(130)), (Signal::KILL, None)] {
        let desk = Desk::new("60s", &["env", "IOASSAY_TEST_HOST={host}"]);
        let running = desk.start("a,b", 5);
        let agents = running.agents();
        let record = desk.record("2-b.jsonl");
        wait_for("a record", || record.exists().then_some(()));
        // Each agent has a worker by now, or soon.
        send(running.id(), signal);
        let output = running.output();
        assert_eq!(output.status.code(), code);
        let said = text(&output.stderr);
        assert_eq!(said.contains("to go on, repeat the command with --resume"), code.is_some());
        for agent in agents {
            wait_for("the end of an agent", || (!is_alive(agent)).then_some(()));
        }
        desk.check_empty();
        let report = desk.sandbox.ioassay(&["report", argument(&record)]);
        assert!(matches!(report.status.code(), Some(0 | 1)), "{report:?}");
    }
}

/// All hosts that cannot be used are named at once, and what a launcher says of all, once.
#[test]
fn all_bad_hosts_are_named_at_once() {
    let enter = "case {host} in a) exec \"$0\" \"$@\";; b) echo 'no route' >&2; exit 255;; \
                 *) echo 'no such host' >&2; exit 255;; esac";
    let desk = Desk::new("100ms", &["sh", "-c", enter]);
    let output = desk.run("a,b,c,d", 1);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("3 of them cannot take part"), "{said}");
    assert!(said.contains("no route") && said.contains("c, d: "), "{said}");
    assert_eq!(said.matches("no such host").count(), 1, "{said}");
    let one = desk.check("a,b").1;
    assert!(one[0]["found"].is_object() && one[1]["reason"].is_string(), "{one:#}");
}

/// A login that hangs has no files to remove: it is not waited for.
#[test]
fn a_login_that_hangs_ends_with_the_run() {
    let files = Sandbox::new();
    let late = files.path("late");
    // An agent with files gets five seconds after the end of its input.
    let login = format!("cat >/dev/null; sleep 2; touch '{}'", late.display());
    let desk = Desk::new("100ms", &["sh", "-c", &login]);
    let running = desk.start("a,b", 1);
    let logins = running.agents();
    send(running.id(), Signal::INT);
    assert_eq!(running.output().status.code(), Some(130));
    assert!(!logins.into_iter().any(is_alive));
    assert!(!late.exists(), "it was waited for");
}

/// What a run would measure, for how long, and where its records cannot be.
#[test]
fn a_run_on_hosts_is_planned_before_anything_is_measured() {
    let desk = Desk::new("100ms", &["env", "IOASSAY_TEST_HOST={host}"]);
    let output = desk.run_with("a,b", 3, &["--dry-run"]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(said.contains("\nhosts\n  a, b\n  time: about "), "{said}");
    let told = text(&output.stderr);
    assert!(told.contains("a, b are one machine (same name, same start)"), "{told}");
    assert!(!desk.files.path("records").exists());
    desk.check_empty();
}

/// As without hosts, what was measured is shown all the same.
#[test]
fn records_that_cannot_be_written_are_warned_of_before_the_first_trial() {
    let desk = Desk::new("100ms", &["env", "IOASSAY_TEST_HOST={host}"]);
    desk.write("file", "");
    let inside = format!("--record={}", desk.files.path("file/records").display());
    for more in [&[inside.as_str()][..], &[&inside, "--each"]] {
        check_unkept(&desk.run_with("a,b", 1, more));
    }
    desk.check_empty();
    if !is_root("records_that_cannot_be_written_are_warned_of") {
        return;
    }
    let full = desk.files.path("full");
    std::fs::create_dir(&full).unwrap();
    let script = "mount -t tmpfs -o size=16k none \"$0\" || exit 9; \
                  head -c 16384 /dev/zero >\"$0/filler\"; \"$@\"; status=$?; \
                  ls -A \"$0\"; exit $status";
    let mut args = desk.args("a,b", 1);
    args.push(format!("--record={}", full.join("new/records").display()));
    args.retain(|arg| *arg != format!("--record={}", desk.files.path("records").display()));
    let mut command = desk.sandbox.start("unshare");
    command.args(["-m", "sh", "-c", script]).arg(&full).arg(PROGRAM).args(&args);
    let output = output(command);
    check_unkept(&output);
    let listed = text(&output.stdout);
    assert_eq!(listed.lines().last(), Some("filler"), "{output:?}");
    assert_ne!(listed.lines().rev().nth(1), Some("new"), "{output:?}");
}

/// What is on a host is removed there, or named here.
#[test]
fn a_folder_that_stays_on_hosts_is_named() {
    let desk = Desk::new("100ms", &["env", "IOASSAY_TEST_HOST={host}"]);
    let folder = desk.sandbox.directory().join("ioassay-run-9-9");
    DirBuilder::new().mode(0o700).create(&folder).unwrap();
    std::fs::write(folder.join("lock"), "elsewhere\nboot\n").unwrap();
    let past = SystemTime::now() - Duration::from_secs(120);
    File::open(&folder).and_then(|file| file.set_modified(past)).unwrap();
    let told = text(&desk.run("a,b", 1).stderr);
    // The hosts have one directory here: what one is looking at, the other may leave to it.
    let stays = format!("'{}' stays: ", folder.display());
    let expected = ["a", "b", "a, b"].map(|on| format!("note: on {on}: {stays}"));
    assert!(expected.iter().any(|expected| told.contains(expected)), "{told}");
    assert_eq!(told.matches(&stays).count(), 1, "{told}");
    assert!(told.contains("its run on 'elsewhere' has ended"), "{told}");
    let elsewhere = format!("--record={}", desk.files.path("quiet").display());
    let quiet = desk.run_with("a,b", 1, &["--quiet", &elsewhere]);
    assert!(!text(&quiet.stderr).contains("stays"), "{quiet:?}");
    std::fs::remove_dir_all(folder).unwrap();
    desk.check_empty();
}

/// A bad file in the folder of a run is named, and its host is missing; the others are shown.
#[test]
fn a_bad_file_hides_no_other_record_of_its_run() {
    let desk = Desk::new("50ms", &["env", "IOASSAY_TEST_HOST={host}"]);
    let (folder, state) = (desk.files.path("records"), desk.files.directory());
    let report = |more: &[&str]| {
        let output = desk.sandbox.ioassay(&[&["report", argument(&folder)], more].concat());
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let whole = desk.run("a,b,c", 1);
    assert_eq!(report(&[]).1, text(&whole.stdout));
    std::fs::write(desk.record("2-b.jsonl"), "hello").unwrap();
    let (status, said, told) = report(&["--json"]);
    assert!(told.contains("2-b.jsonl' is not a record"), "{told}");
    let json: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((status, &json["missing"]), (Some(1), &serde_json::json!(["b"])));
    assert!(json["cases"].as_array().unwrap().iter().all(|case| case["throughput"].is_null()));
    let listed = || -> Value {
        serde_json::from_str(&desk.sandbox.says(&["runs", argument(state), "--json"])).unwrap()
    };
    let list = listed();
    assert_eq!(list["records"].as_array().unwrap().len(), 1, "{list:#}");
    assert!(list["unreadable"][0].as_str().unwrap().contains("2-b.jsonl"), "{list:#}");
    // One that is left does not look like a run on one host.
    std::fs::write(desk.record("3-c.jsonl"), "").unwrap();
    let (_, said, told) = report(&["--json"]);
    assert_eq!(told.matches("is not a record").count(), 2, "{told}");
    let json: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(json["missing"], serde_json::json!(["b", "c"]));
    assert_eq!(listed()["unreadable"].as_array().unwrap().len(), 2);
    std::fs::write(desk.record("1-a.jsonl"), "").unwrap();
    desk.sandbox.refuses(&["report", argument(&folder)], &["1-a.jsonl' is not a record"]);
    let list = listed();
    assert_eq!(list["unreadable"].as_array().unwrap().len(), 3);
    assert_eq!(list["records"], serde_json::json!([]));
}

/// Checks a run whose records could not be written.
fn check_unkept(output: &Output) {
    let told = text(&output.stderr);
    let warned = told.find("will not be kept: failed to create").expect(&told);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(!told.contains("records: "), "{told}");
    assert!(warned < told.find("in lockstep").unwrap_or(usize::MAX), "{told}");
    assert!(text(&output.stdout).contains("write"), "{output:?}");
}

#[test]
fn what_does_not_go_with_hosts_is_refused() {
    let desk = Desk::new("100ms", &["false"]);
    let refuse = |more: &[&str], expected: &str| {
        let mut args = desk.args("a,b", 1);
        args.extend(more.iter().map(|arg| (*arg).to_owned()));
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        check_refusal(&desk.sandbox.plainly(&args), &[expected]);
    };
    refuse(&["--control"], "--control does not go with --hosts yet");
    refuse(&["--openmetrics=x"], "--openmetrics is for one record");
    refuse(&[], "2 of them cannot take part:\n  a, b: its agent died");
    std::fs::create_dir(desk.files.path("records")).unwrap();
    refuse(&[], "exists: name a new folder");
    let unknown = ["hosts", "check", "--hosts=a", "--launcher=shh"];
    check_refusal(&desk.sandbox.plainly(&unknown), &["unknown launcher 'shh'", "'ssh'"]);
    check_refusal(&desk.sandbox.plainly(&["hosts", "check"]), &["no host is named"]);
}

/// `srun --ntasks-per-node=2 ioassay run … --hosts slurm` starts it on every node, twice.
#[test]
fn only_the_first_of_the_tasks_of_a_launcher_leads_hosts() {
    let mut desk = Desk::built_in("100ms", "here");
    desk.set("SLURM_PROCID", "3");
    check_refusal(&desk.run("a,b", 1), &["SLURM_PROCID=3", "start ioassay once, without srun"]);
    assert!(!desk.files.path("records").exists());
    desk.set("SLURM_PROCID", "0");
    let (status, found) = desk.check("n[1-2]");
    assert_eq!(status, Some(0), "{found:#}");
    let called: Vec<&Value> = found.as_array().unwrap().iter().map(|it| &it["called"]).collect();
    assert_eq!(called, ["n1", "n2"]);
}
