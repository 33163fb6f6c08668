//! Several directories in one run: each alone, and all at once.

use crate::honesty::plant::{Group, Io, Limit, PAST_CACHE, Planted, tried};
use crate::sandbox::{PROGRAM, Sandbox, check_refusal, text};
use serde_json::Value;
use std::process::Command;

/// Direct reads of a small file.
const READS: &str = r#"
name = "reads"
question = "?"
size = "4MiB"
rounds = 7
invocations = 1

[[cases]]
cache = "as-is"
block = "64KiB"
time = "20ms"
"#;

/// The same past the page cache, for as long as a limit takes to show.
const DIRECT: &str = r#"
name = "direct"
question = "?"
size = "16MiB"
rounds = 7
invocations = 1

[[cases]]
engine = "pread"
cache = "direct"
block = "64KiB"
pattern = "random"
time = "400ms"
"#;

/// A sandbox with a recipe beside two empty directories.
fn two(sandbox: &Sandbox, recipe: &str) -> String {
    for name in ["a", "b"] {
        std::fs::create_dir(sandbox.path(name)).unwrap();
    }
    let path = sandbox.state().join("recipe.toml");
    std::fs::write(&path, recipe).unwrap();
    path.display().to_string()
}

/// Checks that the sandbox holds these and the recipe.
fn check_left(sandbox: &Sandbox, names: &[&str]) {
    let recipe = sandbox.state().join("recipe.toml").display().to_string();
    let own = names.iter().map(|name| sandbox.path(name).display().to_string());
    let mut expected: Vec<String> = own.chain([recipe]).collect();
    expected.sort();
    let mut left = sandbox.things();
    left.sort();
    assert_eq!(left, expected);
}

fn json(mut command: Command, args: &[&str]) -> Value {
    let output = command.args(args).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// Whose figures each case has, by its value of the axis.
fn cases(report: &Value) -> Vec<(Option<&str>, Vec<&str>)> {
    let all = report["cases"].as_array().unwrap().iter();
    all.map(|case| {
        let hosts = case["hosts"].as_array().unwrap().iter();
        (case["case"]["hosts"].as_str(), hosts.map(|host| host.as_str().unwrap()).collect())
    })
    .collect()
}

#[test]
fn each_directory_is_measured_alone_and_all_at_once() {
    let sandbox = Sandbox::new();
    let recipe = two(&sandbox, READS);
    let report = sandbox.json(&["run", &recipe, "a", "b", "--json", "--record=kept/"]);
    let expected =
        [(Some("only-1"), vec!["a"]), (Some("only-2"), vec!["b"]), (None, vec!["a", "b"])];
    assert_eq!(cases(&report), expected, "{report:#}");
    for case in report["cases"].as_array().unwrap() {
        assert_eq!(case["n"], 7, "{case:#}");
    }
    let scaling = &report["cases"][2]["scaling"];
    assert_eq!((&scaling["of_each"], &scaling["hosts"]), (&true.into(), &2.into()));
    assert_eq!(scaling["each"].as_array().map(Vec::len), Some(2), "{scaling:#}");
    let said = text(&sandbox.ioassay(&["report", "kept"]).stdout);
    for expected in
        ["2 directories in lockstep", "a alone", "b alone", "all at once", "directories"]
    {
        assert!(said.contains(expected), "no '{expected}': {said}");
    }
    assert!(!said.contains(" hosts"), "{said}");
    // The files of both are gone.
    check_left(&sandbox, &["a", "b", "kept", "kept/1-a.jsonl", "kept/2-b.jsonl"]);
    // The record of one says that it is one of two.
    let one = text(&sandbox.ioassay(&["report", "kept/2-b.jsonl"]).stdout);
    assert!(one.contains("this is the record of b alone, directory 2 of 2"), "{one}");
    assert!(one.contains("b alone") && !one.contains("hosts"), "{one}");
}

#[test]
fn a_plan_names_the_directories() {
    let sandbox = Sandbox::new();
    let recipe = two(&sandbox, READS);
    let said = sandbox.says(&["run", &recipe, "a", "b", "--dry-run"]);
    for expected in ["a alone", "b alone", "all at once", "directories", "a, b"] {
        assert!(said.contains(expected), "no '{expected}': {said}");
    }
    assert!(!said.contains("host"), "{said}");
    check_left(&sandbox, &["a", "b"]);
}

#[test]
fn what_directories_cannot_do_is_refused() {
    let sandbox = Sandbox::new();
    let recipe = &two(&sandbox, READS);
    let refuse = |args: &[&str], expected: &[&str]| {
        sandbox.refuses(&[&["run"], args].concat(), expected);
    };
    refuse(&[recipe, "a", "./a"], &["'a' and './a' are one: name each once"]);
    refuse(&[recipe, "a", "c"], &["failed to find 'c'"]);
    refuse(&["memory", "a", "b"], &["'memory' uses no files"]);
    refuse(&["steady", "a", "b"], &["'steady' follows one rate over time"]);
    refuse(&[recipe, "a", "b", "--keep"], &["--keep does not go with several directories"]);
    refuse(&[recipe, "a", "b", "--hosts=x"], &["'b' is one directory too many"]);
    refuse(&[recipe, "a", "b", "--files=shared"], &["several directories have no file in common"]);
    std::fs::write(sandbox.path("file"), "").unwrap();
    refuse(&[recipe, "a", "file"], &["file cannot take part", "is a file: name a directory"]);
    refuse(
        &[recipe, "a", "b", "--length=1MiB"],
        &["--length does not go with several directories"],
    );
    check_left(&sandbox, &["a", "b", "file"]);
}

/// A goal is for each of them: all must meet it. A busy machine may leave it open.
#[test]
fn each_directory_must_meet_a_goal() {
    let sandbox = Sandbox::new();
    let recipe = two(&sandbox, READS);
    let run = ["run", &recipe, "a", "b", "--record=kept/", "--goal"];
    let output = sandbox.ioassay(&[&run[..], &["p50<1ns"]].concat());
    let said = text(&output.stdout);
    // No machine is as fast.
    match output.status.code() {
        Some(1) => assert!(said.contains("Not fit: "), "{said}"),
        Some(0) => assert!(said.contains("It cannot tell whether this is fit: "), "{said}"),
        code => panic!("{code:?}: {output:?}"),
    }
    for words in ["a alone", "b alone", "all at once", "p50<1ns", "typed"] {
        assert!(said.contains(words), "no '{words}': {said}");
    }
    let report = json(sandbox.start(PROGRAM), &["report", "kept", "--json"]);
    let fits = &report["fits"];
    let hosts: Vec<&Value> = fits.as_array().unwrap().iter().map(|fit| &fit["host"]).collect();
    assert_eq!(hosts, ["a", "b"]);
    for fit in fits.as_array().unwrap() {
        // Each is held against its own cases.
        assert_eq!(fit["goals"][0]["cases"].as_array().map(Vec::len), Some(2), "{fit:#}");
    }
    // The kept records are held against another goal.
    let report = ["report", "kept", "--strict", "--goal", "iops>1"];
    let output = sandbox.ioassay(&report);
    assert!(matches!(output.status.code(), Some(1 | 3)), "the first is not met: {output:?}");
    assert!(text(&output.stdout).contains("iops>1/s"), "{output:?}");
    sandbox.refuses(&["report", "kept", "--goal", "sync p99<1s"], &["is about no case of 'reads'"]);
}

/// Reads of a device are limited to so much in all: two directories on it get half of that each.
/// Without the limit nothing says so.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn directories_that_share_a_throttled_disk_take_from_each_other() {
    tried(|| {
        let test = "directories_that_share_a_throttled_disk_take_from_each_other";
        let Some(planted) = Planted::on_loop(test, "ext4", &PAST_CACHE) else { return };
        let device = planted.mounted.loop_name();
        let Some(group) = Group::new(test, Limit::Device(Io::ReadBytes, device, 8 << 20)) else {
            return;
        };
        let sandbox = &planted.sandbox;
        let recipe = two(sandbox, DIRECT);
        let args = ["run", &recipe, "a", "b", "--json"];
        let report = json(group.launch(sandbox), &args);
        let all = &report["cases"][2];
        let kept = all["scaling"]["efficiency"]["median"].as_f64().expect("it is known");
        assert!((0.4..0.65).contains(&kept), "{all:#}");
        for each in all["scaling"]["each"].as_array().unwrap() {
            let kept = each["median"].as_f64().unwrap();
            assert!((0.3..0.75).contains(&kept), "{all:#}");
        }
        let said = text(&sandbox.start(PROGRAM).args(&args[..4]).output().unwrap().stdout);
        let shares = format!("a and b both use the disk {device}");
        assert!(said.contains(&shares) || said.contains("a and b both use the disk"), "{said}");
        std::fs::remove_dir(sandbox.path("a")).unwrap();
        std::fs::remove_dir(sandbox.path("b")).unwrap();
    });
}

/// A run in several directories that was stopped goes on in the same ones.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_run_in_several_directories_is_resumed() {
    let sandbox = Sandbox::new();
    let recipe = two(&sandbox, READS);
    let began = ["run", &recipe, "a", "b", "--time=300ms", "--record=kept/"];
    let child = sandbox.start(PROGRAM).args(began).spawn().unwrap();
    let records = || ["1-a", "2-b"].map(|name| sandbox.path(&format!("kept/{name}.jsonl")));
    crate::sandbox::wait_for("two trials of each", || {
        let read = records().map(|path| std::fs::read_to_string(path).unwrap_or_default());
        read.iter().all(|it| it.matches("{\"trial\"").count() >= 2).then_some(())
    });
    rustix::process::kill_process(
        rustix::process::Pid::from_child(&child),
        rustix::process::Signal::INT,
    )
    .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(!output.status.success(), "{output:?}");
    let again = ["run", &recipe, "a", "b", "--time=300ms", "--resume=kept"];
    check_refusal(
        &sandbox.ioassay(&["run", &recipe, "b", "a", "--time=300ms", "--resume=kept"]),
        &["is on a,b, and this one on b,a"],
    );
    let output = sandbox.ioassay(&again);
    assert!(text(&output.stderr).contains("resumed: trials that all have: "), "{output:?}");
    let report = sandbox.json(&["report", "kept", "--json"]);
    for case in report["cases"].as_array().unwrap() {
        assert_eq!((&case["n"], &case["left_out"]), (&7.into(), &0.into()), "{case:#}");
    }
    sandbox.refuses(&again, &["nothing is left to measure"]);
}
