//! What else is made of runs of commands: gates, comparisons, series, and runs that go on.

use crate::sandbox::{PROGRAM, Sandbox, check_refusal, skip, text, wait_for};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::process::{Output, Stdio};

/// A file, and the words of a command that reads it once, and 64 times.
fn sandbox() -> (Sandbox, String, String) {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("file"), vec![7; 4 << 20]).unwrap();
    (sandbox, "cat file".to_string(), format!("cat{}", " file".repeat(64)))
}

/// The output of `judge` without a rehearsal, in the cache state as it is.
fn judged(sandbox: &Sandbox, args: &[&str]) -> Output {
    let usual = ["--cache=as-is", "--no-rehearsal", "--quiet"];
    sandbox.plainly(&[&["judge"], args, &usual].concat())
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

#[test]
fn a_gate_of_two_commands_fails_passes_and_cannot_tell() {
    let (sandbox, once, often) = sandbox();
    let [once, often] = [once.as_str(), often.as_str()];
    let check = |commands: [&str; 2], limits: &str, more: &[&str], code: i32, outcome: &str| {
        let limit = format!("--fail-if={limits}");
        let args = [&commands[..], &["-n=a", "-n=b", &limit, "--json"], more].concat();
        let output = judged(&sandbox, &args);
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        let found = json(&output);
        assert_eq!(found["outcome"], outcome, "{found}");
        assert_eq!([&found["a"], &found["b"]], ["a", "b"]);
        found
    };
    let fails = check([once, often], "time > 50%,cpu > 50%", &[], 1, "exceeded");
    assert_eq!(fails["checks"][0]["metric"], "time");
    assert!(fails["checks"][0]["ratio"].as_f64() > Some(1.5), "{fails}");
    check([often, once], "time > 50%, slower > 50%", &[], 0, "within");
    check([once, once], "time > 10000%", &["--strict"], 0, "within");
    // A run is one operation.
    check([once, once], "p99 > 5%", &["--invocations=3"], 0, "cannot tell");
    check([once, once], "p99 > 5%", &["--invocations=3", "--strict"], 3, "cannot tell");
}

#[test]
fn each_further_command_is_held_against_the_first_and_a_failing_one_fails_the_gate() {
    let (sandbox, once, often) = sandbox();
    std::fs::write(sandbox.path("once"), "").unwrap();
    let fails = "sh -c 'test -e once && rm once'";
    let args = [&once, &often, fails, "-n=a", "-n=b", "-n=c", "--fail-if=time > 10000%"];
    let output = judged(&sandbox, &[&args[..], &["--invocations=3"]].concat());
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = text(&output.stdout);
    for expected in ["The gate fails", "A: a · judge", "B: b and c · judge", "a → b", "in B"] {
        assert!(said.contains(expected), "'{expected}' is not in {said}");
    }
}

#[test]
fn a_gate_that_could_not_decide_is_refused_before_any_run() {
    let (sandbox, once, _) = sandbox();
    let gate = ["judge", &once, "--fail-if=time > 5%"];
    sandbox.refuses(&gate, &["there is only 'cat file': give another command"]);
    let two = ["judge", &once, "true", "--fail-if=time > 5%"];
    let with = |more: &[&'static str]| [&two[..], more].concat();
    sandbox.refuses(&with(&["--invocations=2"]), &["a gate needs 3 or more invocations"]);
    sandbox.refuses(&with(&["--record=-"]), &["--record - writes the record to stdout"]);
    sandbox.refuses(&with(&["--csv"]), &["cannot be used with '--csv'"]);
    sandbox.refuses(&["judge", "true", "--strict"], &["--fail-if"]);
    sandbox.refuses(&["judge", "true", "--fail-if=time > 5"], &["WHAT > N%"]);
    sandbox.refuses(&["judge", "true", "--against=file"], &["--fail-if"]);
    let against = [&gate[..], &["--against=file"]].concat();
    sandbox.refuses(&against, &["--against names a record of judge", "is not a record"]);
    sandbox.refuses(&["judge", "true", "--for=1s", "--rounds=2"], &["--for needs at least 3"]);
    sandbox.refuses(&["watch", "judge", "--every=1s"], &["'ioassay judge COMMAND --every TIME'"]);
}

#[test]
fn commands_are_held_against_those_of_a_kept_record_and_two_records_are_compared() {
    let (sandbox, once, often) = sandbox();
    let small = ["--rounds=5", "--invocations=5"];
    let record = |command: &str, name: &str| {
        let place = format!("--record={name}");
        let output = judged(&sandbox, &[&[command, "-n=x", &place], &small[..]].concat());
        assert!(output.status.success(), "{output:?}");
    };
    record(&once, "once.jsonl");
    record(&often, "often.jsonl");
    let check = |command: &str, base: &str, code: i32, said: &str| {
        let base = format!("--against={base}");
        // Time on processors is what other programs disturb least.
        let args = [command, "-n=x", &base, "--fail-if=cpu > 50%"];
        let output = judged(&sandbox, &[&args[..], &small].concat());
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        let found = text(&output.stdout);
        assert!(found.contains(said) && found.contains("words of 'x': cat file"), "{found}");
    };
    check(&often, "once.jsonl", 1, "The gate fails");
    check(&once, "often.jsonl", 0, "The gate passes");
    let args = ["judge", &once, "-n=y", "--against=once.jsonl", "--fail-if=time > 5%"];
    let other = [&args[..], &["--no-rehearsal", "--cache=as-is", "-q"]].concat();
    check_refusal(&sandbox.plainly(&other), &["has no case that this run would measure"]);
    let gate = sandbox.plainly(&["gate", "memory", "--against=once.jsonl"]);
    check_refusal(&gate, &["a record of the recipe 'judge'", "'ioassay judge COMMANDS --against'"]);
    let compared = sandbox.says(&["compare", "once.jsonl", "often.jsonl"]);
    for expected in ["speed", "median time of a run", "words of 'x'"] {
        assert!(compared.contains(expected), "'{expected}' is not in {compared}");
    }
    assert!(!compared.contains("--control"), "{compared}");
}

#[test]
fn a_table_of_several_records_has_a_column_for_each_parameter() {
    let (sandbox, ..) = sandbox();
    for (value, name) in [("a=1,2", "1.jsonl"), ("b=3", "2.jsonl")] {
        let parameter = &value[..1];
        let command = format!("echo {{{parameter}}}");
        let place = format!("--record={name}");
        let args = [&command, "-L", value, &place, "--figure=([0-9]+)", "--rounds=2"];
        let output = judged(&sandbox, &[&args[..], &["--invocations=1"]].concat());
        assert!(output.status.success(), "{output:?}");
    }
    let table = sandbox.says(&["report", "1.jsonl", "2.jsonl", "--csv"]);
    let last = |line: &str| line.rsplit(',').take(4).map(str::to_string).collect::<Vec<_>>();
    let lines: Vec<Vec<String>> = table.lines().map(last).collect();
    // In each record, the program that does nothing has two runs as well.
    assert_eq!(lines.len(), 11, "{table}");
    assert_eq!(lines[0], ["figure_unit", "figure", "parameter_b", "parameter_a"]);
    let with = |a: &str, b: &str| lines.iter().filter(|it| it[3] == a && it[2] == b).count();
    assert_eq!([with("1", ""), with("2", ""), with("", "3")], [2, 2, 2], "{table}");
}

#[test]
fn commands_are_judged_again_and_again() {
    let (sandbox, once, _) = sandbox();
    let every = ["--every=1ms", "--count=2", "--record=records/", "--rounds=2", "--invocations=1"];
    let output = judged(&sandbox, &[&[once.as_str(), "--output=inherit"], &every[..]].concat());
    assert!(output.status.success(), "{:?}", output.status);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("run 1 · judge") && said.contains("run 2 · judge"), "no runs");
    assert_eq!(sandbox.path("records").read_dir().unwrap().count(), 2);
    let one_file = ["judge", &once, "--every=1s", "--record=one.jsonl"];
    sandbox.refuses(&one_file, &["--record names a folder"]);
    sandbox.refuses(&["judge", &once, "--count=2"], &["--every"]);
}

/// A record that was stopped after some trials, with its name.
fn stopped(sandbox: &Sandbox, args: &[&str]) -> &'static str {
    let mut command = sandbox.start("env");
    command.args(["--default-signal=INT", PROGRAM, "judge"]).args(args).arg("--record=record");
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_for("trials", || (trials(sandbox, "record") >= 3).then_some(()));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(wait_for("the end", || child.try_wait().unwrap()).code(), Some(128 + 2));
    "record"
}

fn trials(sandbox: &Sandbox, name: &str) -> usize {
    let text = std::fs::read_to_string(sandbox.path(name)).unwrap_or_default();
    text.matches("{\"trial\"").count()
}

/// Figures of two programs are not mixed, whatever their names.
#[test]
fn an_interrupted_run_does_not_go_on_with_another_program() {
    let (sandbox, ..) = sandbox();
    let program = |path: &str| {
        let own = sandbox.path("program");
        let _ = std::fs::remove_file(&own);
        std::fs::copy(path, own).unwrap();
    };
    program("/bin/cat");
    let args = ["./program file", "--cache=as-is", "--rounds=60", "--invocations=3"];
    let record = stopped(&sandbox, &args);
    let resume = || sandbox.plainly(&[&["judge"], &args[..], &["--resume", record]].concat());
    program("/bin/cp");
    check_refusal(&resume(), &["program' is not as it was in the record", "begin a new run"]);
}

#[test]
fn an_interrupted_run_of_commands_goes_on_without_another_rehearsal() {
    let (sandbox, once, often) = sandbox();
    let args = [&once, &often, "--cache=as-is", "--rounds=30", "--invocations=3"];
    let record = stopped(&sandbox, &args);
    let before = trials(&sandbox, record);
    // With what is measured beside them: a program that does nothing, and perhaps memory.
    let header = std::fs::read_to_string(sandbox.path(record)).unwrap();
    let header: Value = serde_json::from_str(header.lines().next().unwrap()).unwrap();
    let all = 30 * header["header"]["plan"]["cases"].as_array().unwrap().len();
    assert!(all >= 90 && before < all, "{before} of {all}");
    std::fs::copy(sandbox.path(record), sandbox.path("copy")).unwrap();
    let resume = |args: &[&str]| sandbox.plainly(&[&["judge"], args].concat());
    let again = |record: &'static str| [&args[..], &[record]].concat();
    for (others, expected) in [
        (vec![once.as_str()], "and this run 'cat file': repeat its command"),
        (vec![&once, "cat"], "and this run 'cat file', 'cat'"),
        (vec![&once, &often, "--file=other"], "is not among the files of the record"),
        (vec![&once, &often, "--setup=true"], "setup: none in the record, true now"),
        (vec![&once, &often, "--cleanup=cat file"], "cleanup: none in the record, cat file now"),
        (vec![&once, &often, "--prepare=true"], "runs before 'cat file': none in the record, true"),
        (vec![&once, &often, "--conclude=true"], "runs after 'cat file': none in the record, true"),
        (
            vec![&once, &often, "--figure=a(.)"],
            "figure of 'cat file': none in the record, a(.) now",
        ),
        (vec!["true", &often, "-n=cat file"], "words of 'cat file': cat file in the record, true"),
    ] {
        let args = [&others[..], &args[2..], &["--resume=copy", "-q"]].concat();
        check_refusal(&resume(&args), &[expected]);
    }
    assert_eq!(trials(&sandbox, "copy"), before);
    let output = resume(&again("--resume=record"));
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    assert!(!text(&output.stderr).contains("rehearsing"), "{output:?}");
    assert_eq!(trials(&sandbox, record), all);
    check_refusal(&resume(&again("--resume=record")), &["nothing is left to measure"]);
    let lines = std::fs::read_to_string(sandbox.path("copy")).unwrap();
    if !lines.contains("\"rehearsals\":[{") {
        let test = "an_interrupted_run_of_commands_goes_on_without_another_rehearsal";
        return skip(test, "programs cannot be traced here");
    }
    // The same file anew is rehearsed again, and a shorter one would be other work.
    std::fs::copy(sandbox.path("file"), sandbox.path("new")).unwrap();
    std::fs::rename(sandbox.path("new"), sandbox.path("file")).unwrap();
    std::fs::copy(sandbox.path("copy"), sandbox.path("shorter")).unwrap();
    let gate = [&again("--resume=copy")[..], &["--fail-if=time > 10000%"]].concat();
    let output = resume(&gate);
    assert!(output.status.success(), "{output:?}");
    assert!(text(&output.stdout).contains("The gate"), "{output:?}");
    let said = text(&output.stderr);
    assert!(said.contains("has changed since") && said.contains("rehearsing"), "{said}");
    assert_eq!(trials(&sandbox, "copy"), all);
    std::fs::write(sandbox.path("file"), [7; 4096]).unwrap();
    let output = resume(&again("--resume=shorter"));
    check_refusal(&output, &["data files read by 'cat file': 1 with 4MiB in the record, 1 with"]);
}
