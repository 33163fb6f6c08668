//! `judge`: commands of every temper, and the options that users of hyperfine know.

use crate::sandbox::{PROGRAM, Sandbox, check_refusal, skip, text};
use rustix::process::geteuid;
use serde_json::Value;
use std::path::Path;
use std::process::Output;

/// A record of commands.
pub(crate) struct Judged {
    /// How the program ended.
    pub(crate) output: Output,
    /// The record's header.
    pub(crate) header: Value,
    /// The trials of commands.
    pub(crate) trials: Vec<Value>,
}

/// Whether a trial is of a command that was asked for, and not of what is measured beside them.
fn is_asked(header: &Value, trial: &Value) -> bool {
    let case = trial["case"].as_u64().unwrap() as usize;
    header["plan"]["cases"][case]["role"] == "asked"
}

/// The record at `path`.
pub(crate) fn read(path: &Path, output: Output) -> Judged {
    let lines = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let lines = lines.lines().filter(|line| !line.is_empty());
    let lines: Vec<Value> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    let header = lines[0]["header"].clone();
    let trials = lines.iter().filter_map(|line| line.get("trial"));
    let trials = trials.filter(|trial| is_asked(&header, trial)).cloned().collect();
    Judged { output, header, trials }
}

/// Two runs of each command in `args`, with one invocation.
pub(crate) fn judge(sandbox: &Sandbox, args: &[&str]) -> Judged {
    let usual = ["--rounds=2", "--invocations=1", "--record=record", "--quiet"];
    let output = sandbox.plainly(&[&["judge"], args, &usual].concat());
    assert!(matches!(output.status.code(), Some(0 | 1)), "{args:?}: {output:?}");
    let judged = read(&sandbox.path("record"), output);
    std::fs::remove_file(sandbox.path("record")).unwrap();
    judged
}

impl Judged {
    /// The samples of all its trials, which must have succeeded.
    pub(crate) fn samples(&self) -> Vec<&Value> {
        let sample = |trial: &'_ Value| -> Value { trial["outcome"]["done"].clone() };
        assert!(self.trials.iter().all(|trial| sample(trial).is_object()), "{:?}", self.trials);
        self.trials.iter().map(|trial| &trial["outcome"]["done"]).collect()
    }

    /// Checks that all trials failed for a reason that contains `expected`.
    fn check_failed(&self, expected: &str) {
        assert!(!self.trials.is_empty());
        for trial in &self.trials {
            let reason = trial["outcome"]["failed"]["reason"].as_str();
            let is_not_tried = reason.is_some_and(|reason| reason.starts_with("not tried"));
            let is_right = reason.is_some_and(|reason| reason.contains(expected));
            assert!(is_right || is_not_tried, "'{expected}' is not in {trial}");
        }
    }
}

fn write(sandbox: &Sandbox, name: &str, bytes: usize) {
    std::fs::write(sandbox.path(name), vec![7; bytes]).unwrap();
}

#[test]
fn a_command_inherits_the_variables_of_its_user_and_none_of_ours() {
    let sandbox = Sandbox::new();
    let command =
        "sh -c 'test \"$HOME\" && ! env | grep -q -e ^IOASSAY_WORKER -e ^IOASSAY_STREAMS'";
    // In its rehearsal, too, which would fail.
    judge(&sandbox, &[command, "--output=inherit"]).samples();
    judge(&sandbox, &[command]).samples();
}

#[test]
fn a_command_that_cannot_be_run_is_refused_in_one_line_with_what_to_do() {
    let sandbox = Sandbox::new();
    for (args, expected) in [
        (&["no-such-program x"][..], "there is no program 'no-such-program': give its path"),
        (&["/ x"], "'/' is a directory, or may not be executed"),
        (&["sh -c 'echo bad >&2; exit 3'"], "it ended with status 3; its stderr: bad"),
        (&["sh -c 'kill -SEGV $$'"], "it was ended by signal 11"),
        (&["sh -c 'kill -STOP $$'"], "the command was stopped by signal 19"),
        (&["true", "-N"], "no shell starts the commands unless --shell asks for one"),
        (&["true", "--shell=none"], "leave --shell=none out"),
        (&["true", "-L", "a=1,2"], "no command has {a}"),
        (&["true", "false", "-p", "true", "-p", "true", "-p", "true"], "3 times --prepare for 2"),
        (&["true", "--prepare", "false"], "--prepare: it ended with exit status: 1"),
        (&["true", "--conclude", "no-such"], "--conclude: there is no program 'no-such'"),
        (&["true", "--setup", "sh -c 'echo no >&2; exit 4'"], "exit status: 4; its stderr: no"),
        (&["true", "--cleanup", "false"], "--cleanup 'false': it ended with exit status: 1"),
        (&["true", "--ignore-exit=300"], "use exit statuses such as 1,2, or all"),
        (&["sh -c 'exit 3'", "--ignore-exit=4"], "it ended with status 3"),
        (&["echo 1", "--figure", "[0-9]"], "has no group"),
        (&["echo x", "--figure", "([0-9])"], "finds no number"),
        (&["echo 1", "--figure", "([0-9])", "--output=inherit"], "--output null or pipe"),
        (&["true", "--cache=cold"], "nothing to measure: all cases are skipped, the first because"),
        (&["true", "--until-durable", "--no-rehearsal"], "--until-durable needs the rehearsal"),
    ] {
        let output = sandbox.plainly(&[&["judge", "--quiet", "--rounds=1"], args].concat());
        let said = text(&output.stderr);
        if args.contains(&"--cleanup") {
            assert!(said.contains(expected), "{said}");
        } else {
            check_refusal(&output, &[expected]);
        }
        assert_eq!(said.trim_end().lines().count(), 1, "{args:?}: {said}");
    }
}

#[test]
fn what_a_command_does_to_itself_is_a_failed_trial_or_none() {
    let sandbox = Sandbox::new();
    let once = |command: &str| judge(&sandbox, &[command, "--no-rehearsal"]);
    once("no-such-program").check_failed("there is no program");
    once("sh -c 'kill -SEGV $$'").check_failed("was ended by signal 11");
    once("sh -c 'kill -9 $PPID; sleep 7777'").check_failed("the worker died (signal: 9");
    once("sh -c 'kill -STOP $$'").check_failed("the command was stopped by signal 19");
    // One that stops only its child goes on.
    judge(&sandbox, &["sh -c 'sleep 0.1 & kill -STOP $!; kill -CONT $!; wait'"]).samples();
    once("sh -c 'exit 9'").check_failed("ended with status 9; --ignore-exit");
    once("sh -c 'exec <&- >&- 2>&-; true'").samples();
    once("sh -c 'cd / && true'").samples();
    judge(&sandbox, &["sh -c 'exit 9'", "--no-rehearsal", "--ignore-exit=3,9"]).samples();
    let left = once("sh -c 'setsid sleep 7777 & exit 0'");
    for sample in left.samples() {
        assert!(sample["exit"]["left_running"].as_u64() >= Some(1), "{sample}");
    }
    let forks = once("sh -c 'for i in $(seq 300); do setsid sleep 7777 & done'");
    for sample in forks.samples() {
        assert!(sample["exit"]["left_running"].as_u64() >= Some(200), "{sample}");
    }
}

#[test]
fn a_command_that_prints_ten_gigabytes_takes_no_memory() {
    let sandbox = Sandbox::new();
    let args = "'head -c 10G /dev/zero' --no-rehearsal --output=pipe --rounds=1 --record=record -q";
    let script = format!("ulimit -v 4000000; exec {PROGRAM} judge {args}");
    let output = sandbox.start("sh").args(["-c", &script]).output().unwrap();
    let judged = read(&sandbox.path("record"), output);
    assert_eq!(judged.samples()[0]["exit"]["output_bytes"], 10u64 << 30);
}

/// A run that cannot begin, as its file is gone, is concluded like any other.
#[test]
fn what_was_prepared_is_undone_whatever_becomes_of_the_run() {
    let sandbox = Sandbox::new();
    write(&sandbox, "file", 1 << 20);
    let command = ["sh -c 'cat file; rm file'", "--no-rehearsal", "--file=file", "--cache=warm"];
    let around = ["--prepare=touch mark", "--conclude=rm mark"];
    let judged = judge(&sandbox, &[&command[..], &around].concat());
    if judged.trials.iter().all(|trial| trial["outcome"]["done"].is_null()) {
        return skip("what_was_prepared_is_undone…", "nothing shows what is cached here");
    }
    let gone = judged.trials.iter().filter(|trial| !trial["outcome"]["failed"].is_null());
    assert_eq!(gone.count(), 1, "{:?}", judged.trials);
    assert!(!sandbox.path("mark").exists());
}

/// The OS counts the reads of both together.
#[test]
fn what_reads_the_output_is_no_part_of_what_the_command_asked_for() {
    let sandbox = Sandbox::new();
    let size = 8 << 20;
    write(&sandbox, "file", size);
    let check = |bytes: &Value, of: &str| {
        let more = bytes.as_f64().unwrap() / size as f64 - 1.0;
        assert!((0.0..0.1).contains(&more), "{of}: {bytes} bytes were asked for");
    };
    for args in [&["--output=pipe"][..], &["--figure=([0-9])"], &["--output=null"]] {
        let judged = judge(&sandbox, &[&["sh -c 'cat file; echo 7'"], args].concat());
        check(&judged.header["rehearsals"][0]["totals"]["io"]["rchar"], "in the rehearsal");
        for trial in &judged.trials {
            check(&trial["evidence"]["task_rchar_bytes"], "in a run");
            let reading = &trial["outcome"]["done"]["exit"]["reading"];
            assert_eq!(reading.is_object(), args[0] != "--output=null", "{args:?}: {reading}");
        }
    }
}

#[test]
fn a_command_has_the_stdin_and_the_figure_that_are_asked_for() {
    let sandbox = Sandbox::new();
    write(&sandbox, "file", 12_345);
    let figures = |args: &[&str]| -> Vec<Value> {
        let judged = judge(&sandbox, &[&["--figure", "([0-9]+)"], args].concat());
        judged.samples().iter().map(|sample| sample["figure"].clone()).collect()
    };
    let number = |text: &str| serde_json::json!({ "number": text });
    assert_eq!(figures(&["wc -c"]), [number("0"), number("0")]);
    assert_eq!(figures(&["wc -c", "--input=file"]), [number("12345"), number("12345")]);
    let to_stderr = "sh -c 'echo took 1.5 ms >&2'";
    let judged = judge(&sandbox, &[to_stderr, "--figure", "took ([0-9.]+) (\\w+)"]);
    let expected = serde_json::json!({ "number": "1.5", "unit": "ms" });
    assert!(judged.samples().iter().all(|sample| sample["figure"] == expected));
}

/// Opening one would wait until somebody writes to it.
#[test]
fn an_input_that_gives_its_bytes_once_is_refused() {
    let sandbox = Sandbox::new();
    let mode = rustix::fs::Mode::RWXU;
    rustix::fs::mkfifoat(rustix::fs::CWD, sandbox.path("fifo"), mode).unwrap();
    for more in [&[][..], &["--no-rehearsal", "--cache=as-is"]] {
        let args = [&["judge", "--rounds=1", "wc -c", "--input=fifo"], more].concat();
        let output = sandbox.ioassay(&args);
        let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert!(said.contains("is a FIFO, which gives its bytes only once"), "{said}");
        assert!(!output.status.success(), "{output:?}");
    }
}

#[test]
fn stdout_goes_where_it_is_asked_to() {
    let sandbox = Sandbox::new();
    let said = |output: &str| {
        let judged = judge(&sandbox, &["echo marvel", "--output", output]);
        judged.samples();
        text(&judged.output.stdout).lines().filter(|line| *line == "marvel").count()
    };
    assert_eq!(said("null"), 0);
    assert_eq!(said("pipe"), 0);
    // The rehearsal, and two rounds.
    assert_eq!(said("inherit"), 3);
    assert_eq!(said("new"), 0);
    assert_eq!(std::fs::read_to_string(sandbox.path("new")).unwrap(), "marvel\n");
    let again = sandbox.plainly(&["judge", "true", "--output=new"]);
    check_refusal(&again, &["failed to create the output", "name a new file"]);
}

#[test]
fn a_server_lives_from_setup_to_cleanup_and_no_longer() {
    let sandbox = Sandbox::new();
    let start = "sh -c 'setsid sleep 7777 >/dev/null 2>&1 & echo $! > pid'";
    let sees = "sh -c 'kill -0 $(cat pid)'";
    let around = ["--setup", start, "--prepare", "touch a", "--conclude", "rm a"];
    let end = ["--cleanup", "sh -c 'kill -0 $(cat pid) && touch lived'"];
    judge(&sandbox, &[&[sees][..], &around, &end].concat()).samples();
    assert!(sandbox.path("lived").exists() && !sandbox.path("a").exists());
    let pid = std::fs::read_to_string(sandbox.path("pid")).unwrap();
    let process = Path::new("/proc").join(pid.trim());
    assert!(!process.exists(), "{} still runs", process.display());
}

#[test]
fn each_command_has_its_own_prepare_and_the_values_of_parameters() {
    let sandbox = Sandbox::new();
    let args = ["test -e a{x}", "test -e b", "-p", "touch a{x}", "-p", "touch b", "-L", "x=1,2"];
    let judged = judge(&sandbox, &[&args[..], &["--setup", "sh -c 'echo {x} >> set'"]].concat());
    // Two values for each: the setup makes a difference to both.
    assert_eq!(judged.samples().len(), 8);
    assert_eq!(std::fs::read_to_string(sandbox.path("set")).unwrap(), "1\n2\n");
}

#[test]
fn hyperfines_export_has_its_fields() {
    let sandbox = Sandbox::new();
    let args = ["sh -c 'exit {x}'", "-L", "x=0,3", "-L", "y=z", "-p", "true {y}", "-i"];
    judge(&sandbox, &[&args[..], &["--export-json=out.json"]].concat()).samples();
    let export: Value =
        serde_json::from_slice(&std::fs::read(sandbox.path("out.json")).unwrap()).unwrap();
    let results = export["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    let second = &results[1];
    for field in ["mean", "stddev", "median", "user", "system", "min", "max"] {
        assert!(second[field].is_number(), "{field}: {second}");
    }
    assert_eq!(second["times"].as_array().unwrap().len(), 2);
    assert_eq!(second["exit_codes"], serde_json::json!([3, 3]));
    assert_eq!(second["parameters"], serde_json::json!({ "x": "3", "y": "z" }));
    assert_eq!(second["command"], "sh -c 'exit 3'");
    // An earlier export is replaced, another file is not.
    judge(&sandbox, &["true", "--export-json=out.json"]).samples();
    std::fs::write(sandbox.path("mine"), "mine").unwrap();
    let refused = sandbox.plainly(&["judge", "true", "--export-json=mine"]);
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(std::fs::read_to_string(sandbox.path("mine")).unwrap(), "mine");
}

/// The type of each field of each result of an export.
fn fields(path: &Path) -> Vec<Vec<(String, &'static str)>> {
    let export: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let kind = |value: &Value| match value {
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
        Value::Bool(_) | Value::Null => "nothing",
    };
    let of = |result: &Value| -> Vec<(String, &'static str)> {
        let fields = result.as_object().unwrap().iter();
        // Older versions do not have it.
        let fields = fields.filter(|(name, _)| *name != "memory_usage_byte");
        fields.map(|(name, value)| (name.clone(), kind(value))).collect()
    };
    export["results"].as_array().unwrap().iter().map(of).collect()
}

#[test]
fn hyperfine_itself_exports_the_same_fields() {
    let test = "hyperfine_itself_exports_the_same_fields";
    let sandbox = Sandbox::new();
    if sandbox.start("hyperfine").arg("--version").output().is_err() {
        return skip(test, "there is no 'hyperfine'");
    }
    let theirs = ["-N", "--runs=2", "-i", "echo {x}", "-L", "x", "1,2"];
    let output = sandbox.start("hyperfine").args(theirs).arg("--export-json=theirs").output();
    assert!(output.as_ref().is_ok_and(|it| it.status.success()), "{output:?}");
    judge(&sandbox, &["echo {x}", "-L", "x=1,2", "--export-json=ours"]).samples();
    assert_eq!(fields(&sandbox.path("ours")), fields(&sandbox.path("theirs")));
    let commands = |name: &str| -> Vec<Value> {
        let export: Value =
            serde_json::from_slice(&std::fs::read(sandbox.path(name)).unwrap()).unwrap();
        let results = export["results"].as_array().unwrap().iter();
        results.map(|it| it["command"].clone()).collect()
    };
    assert_eq!(commands("ours"), commands("theirs"));
}

#[test]
fn a_write_that_is_made_durable_has_a_second_time_and_no_dirty_page() {
    let sandbox = Sandbox::new();
    let write = "dd if=/dev/zero of=written bs=1M count=8 status=none";
    let judged = judge(&sandbox, &[write, "--until-durable"]);
    for sample in judged.samples() {
        let span = &sample["spans"][0];
        assert!(span["synced_ns"].as_u64() > span["end_ns"].as_u64(), "{span}");
    }
    for trial in &judged.trials {
        let dirty = &trial["evidence"]["written_after"]["dirty"];
        assert!(dirty.is_null() || *dirty == 0, "{trial}");
    }
    let args = ["judge", write, "--until-durable", "--rounds=2", "--invocations=1", "--quiet"];
    let text = sandbox.judges(&args);
    assert!(text.contains("durable after"), "{text}");
    let plain = judge(&sandbox, &[write]);
    assert!(plain.samples().iter().all(|sample| sample["spans"][0]["synced_ns"].is_null()));
}

#[test]
fn a_command_may_change_what_it_reads() {
    let sandbox = Sandbox::new();
    write(&sandbox, "file", 2 << 20);
    let judged = judge(&sandbox, &["sh -c 'cat file > new; echo x >> new; mv new file'"]);
    judged.samples();
    // It writes into our record, too, whose own lines remain.
    write(&sandbox, "file", 2 << 20);
    let adds = "sh -c 'cat file >/dev/null; [ ! -e record ] || echo >> record'";
    assert_eq!(judge(&sandbox, &[adds, "--cache=as-is"]).samples().len(), 2);
}

/// Children of a program that ignores SIGCHLD leave no counters. Its wait ends after the last of
/// them, with an error: however slow the machine is, none is left running.
const IGNORES: &str = "
import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if os.fork() == 0:
    open('file', 'rb').read()
    os._exit(0)
try:
    os.wait()
except ChildProcessError:
    pass
";

#[test]
fn bytes_of_children_that_nobody_waits_for_are_unseen() {
    let test = "bytes_of_children_that_nobody_waits_for_are_unseen";
    let sandbox = Sandbox::new();
    if !sandbox.is_on_disk(test) {
        return;
    }
    if sandbox.start("python3").arg("--version").output().is_err() {
        return skip(test, "there is no 'python3'");
    }
    write(&sandbox, "file", 8 << 20);
    std::fs::write(sandbox.path("ignores.py"), IGNORES).unwrap();
    let served_by = |command: &str| {
        let args = ["judge", command, "--cache=warm", "--rounds=2", "--invocations=1", "--json"];
        sandbox.json(&[&args[..], &["--quiet"]].concat())["cases"][0]["served_by"].clone()
    };
    assert_eq!(served_by("python3 ignores.py"), "unverified");
    // That ioassay reads what it prints does not hide it.
    let prints = IGNORES.replace("try:", "sys.stderr.write('x' * (32 << 20))\ntry:");
    std::fs::write(sandbox.path("prints.py"), prints).unwrap();
    assert_eq!(served_by("python3 prints.py"), "unverified");
    // Its twin waits for its child.
    std::fs::write(sandbox.path("waits.py"), IGNORES.replace("SIG_IGN", "SIG_DFL")).unwrap();
    assert_eq!(served_by("python3 waits.py"), "page-cache");
}

#[test]
fn bytes_are_seen_even_if_the_parent_ignores_sigchld() {
    let sandbox = Sandbox::new();
    if !sandbox.is_on_disk("bytes_are_seen_even_if_the_parent_ignores_sigchld") {
        return;
    }
    write(&sandbox, "file", 8 << 20);
    let mut command = sandbox.start("env");
    command.args(["--ignore-signal=CHLD", PROGRAM, "judge", "cat file", "--cache=warm"]);
    command.args(["--rounds=1", "--record=record", "--quiet"]);
    let judged = read(&sandbox.path("record"), command.output().unwrap());
    judged.samples();
    let asked = judged.trials[0]["evidence"]["task_rchar_bytes"].as_u64();
    assert!(asked >= Some(8 << 20), "{:?}", judged.trials[0]);
}

#[test]
fn a_file_of_another_user_is_evicted_only_if_asked_to() {
    let test = "a_file_of_another_user_is_evicted_only_if_asked_to";
    let sandbox = Sandbox::new();
    if !geteuid().is_root() {
        return skip(test, "only root can give files to another user");
    }
    if !sandbox.is_on_disk(test) {
        return;
    }
    write(&sandbox, "file", 2 << 20);
    std::os::unix::fs::chown(sandbox.path("file"), Some(65534), None).unwrap();
    let skips = |args: &[&str]| {
        let judged = judge(&sandbox, &[&["cat file", "--cache=as-is,warm,cold"], args].concat());
        judged.samples();
        judged.header["plan"]["skips"].clone()
    };
    let skipped = skips(&[]).to_string();
    assert!(skipped.contains("belongs to another user") && skipped.contains("cold"), "{skipped}");
    assert!(!skipped.contains("warm"), "{skipped}");
    assert_eq!(skips(&["--evict-others"]), serde_json::json!([]));
}

#[test]
fn a_command_that_wants_the_terminal_fails_and_says_so() {
    let test = "a_command_that_wants_the_terminal_fails_and_says_so";
    let sandbox = Sandbox::new();
    let wants = "'sh -c \"read line < /dev/tty\"' --no-rehearsal --rounds=1 --record=record -q";
    let line = format!("{PROGRAM} judge {wants}");
    let mut command = sandbox.start("script");
    // Its terminal's input never ends.
    command.args(["-qec", &line, "/dev/null"]).stdin(std::process::Stdio::piped());
    let Ok(child) = command.stdout(std::process::Stdio::piped()).spawn() else {
        return skip(test, "there is no 'script'");
    };
    let output = child.wait_with_output().unwrap();
    read(&sandbox.path("record"), output).check_failed("because it wants the terminal");
}

#[test]
fn each_parameter_and_the_figure_have_columns_of_their_own() {
    let sandbox = Sandbox::new();
    let args = ["judge", "echo took {x} ms", "true", "-L", "x=1.5,2", "-L", "y-z=a", "-p"];
    let more = ["true {y-z}", "-p", "echo", "--rounds=3", "--invocations=1", "--quiet"];
    let figure = ["--figure", "(took) ?"];
    let output = sandbox.plainly(&[&args[..], &more, &figure].concat());
    check_refusal(&output, &["finds no number"]);
    let figure = ["--no-rehearsal", "--figure", "took ([0-9.]+) (\\w+)", "--record=record"];
    let table = sandbox.judges(&[&args[..], &more, &figure, &["--csv"]].concat());
    let rows: Vec<Vec<&str>> = table.lines().map(|row| row.split(',').collect()).collect();
    // From the end: a field before has a comma.
    let column = |name: &str| rows[0].iter().rev().position(|column| *column == name).unwrap();
    let field = |row: &Vec<&str>, name: &str| row[row.len() - 1 - column(name)].to_string();
    let of = |name: &str| rows[1..].iter().map(|row| field(row, name)).collect::<Vec<_>>();
    let sorted = |name: &str| {
        let mut all = of(name);
        all.sort_unstable();
        all.dedup();
        all.join(" ")
    };
    // Three rounds of each, and of the program that does nothing.
    assert_eq!(rows.len(), 1 + 3 * 4);
    assert_eq!(sorted("parameter_x"), " 1.5 2");
    assert_eq!(sorted("parameter_y-z"), " a");
    assert_eq!(sorted("figure"), " 1.5 2");
    assert_eq!(sorted("figure_unit"), " ms");
    let report = sandbox.json(&["report", "record", "--json"]);
    let told = &report["cases"][0]["told"];
    assert_eq!((told["value"]["median"].as_f64(), &told["unit"]), (Some(1.5), &"ms".into()));
    assert_eq!((told["rounds"].as_array().map(Vec::len), &told["without"]), (Some(3), &0.into()));
    assert!(report["cases"][2]["told"].is_null(), "{report}");
    let text = sandbox.judges(&["report", "record"]);
    assert!(text.contains("it says") && text.contains("1.50 ms"), "{text}");
    // Two records of the same commands are compared command by command.
    std::fs::copy(sandbox.path("record"), sandbox.path("again")).unwrap();
    let compared = sandbox.judges(&["compare", "record", "again"]);
    assert!(compared.contains("x=1.5") && compared.contains("x=2"), "{compared}");
}
