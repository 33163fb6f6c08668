//! Whether storage is good enough: a slow one is not fit, its twin is, and what is not durable
//! never is.

use crate::honesty::plant::{Group, Io, Limit, PAST_CACHE, Planted, quiet, tried};
use crate::mounts::Setup;
use crate::sandbox::{PROGRAM, Sandbox, argument, check_reason, text};
use serde_json::Value;
use std::process::{Command, Output};

/// A commit: a page that is made durable.
const COMMITS: &str = r#"
name = "commits"
question = "?"
size = "16MiB"
rounds = 7
invocations = 1
ceilings = false

[[cases]]
op = "write"
block = "4KiB"
pattern = "random"
allocation = "overwrite"
every = 1
"#;

/// What a run of commits with `launch` says of a goal, and how it ends.
fn commits(sandbox: &Sandbox, launch: Command, args: &[&str]) -> (Value, Output) {
    // Off the measured file system.
    let recipe = sandbox.state().join("commits.toml");
    std::fs::write(&recipe, COMMITS).unwrap();
    fit_of(launch, argument(&recipe), args)
}

/// What a run of `recipe` with `launch` says of its goals, and how it ends.
fn fit_of(mut launch: Command, recipe: &str, args: &[&str]) -> (Value, Output) {
    let output = launch.args(["run", recipe]).args(args).args([".", "--json"]).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    (report["fit"].clone(), output)
}

/// Checks that it is fit, or that others left it open, which a busy machine may do.
fn check_fit(fit: &Value) {
    let case = &fit["goals"][0]["cases"][0];
    let by_others =
        ["Steal", "Contended", "DirtyStart", "Foreign", "Stalled", "Drifting", "WideInterval"];
    let is_open = case["finding"].as_str().is_some_and(|code| by_others.contains(&code));
    assert!(fit["fit"] == "yes" || fit["fit"] == "undecided" && is_open, "{fit:#}");
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_throttled_device_is_not_fit_and_its_twin_is() {
    tried(|| {
        let test = "a_throttled_device_is_not_fit_and_its_twin_is";
        let Some(planted) = Planted::on_loop(test, "ext4", &PAST_CACHE) else { return };
        let limit = Limit::Device(Io::Writes, planted.mounted.loop_name(), 20);
        let Some(group) = Group::new(test, limit) else { return };
        let sandbox = &planted.sandbox;
        let goal = "--goal=iops>60";
        let (fit, output) = commits(sandbox, group.launch(sandbox), &[goal, "--time=1s"]);
        assert_eq!(fit["fit"], "no", "{fit:#}");
        assert!(fit["goals"][0]["cases"][0]["high"].as_f64() <= Some(60.0), "{fit:#}");
        check_reason(&output, 1, "not fit: iops>60/s is missed");
        let (fit, output) = commits(sandbox, sandbox.start(PROGRAM), &[goal, "--time=300ms"]);
        check_fit(&fit);
        assert!(output.status.success(), "{output:?}");
    });
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn what_swallows_flushes_is_not_fit_however_fast() {
    tried(|| {
        let test = "what_swallows_flushes_is_not_fit_however_fast";
        for (mount, is_swallowed) in [("barrier=0", true), ("barrier=1", false)] {
            let setup = Setup { mount, size: 128 << 20, ..PAST_CACHE };
            let Some(planted) = Planted::on_loop(test, "ext4", &setup) else { return };
            let args = ["--goal=sync p50<10s", "--time=300ms"];
            let sandbox = &planted.sandbox;
            let (found, output) = commits(sandbox, sandbox.start(PROGRAM), &args);
            if is_swallowed {
                assert_eq!(found["fit"], "no", "{found:#}");
                assert_eq!(found["goals"][0]["cases"][0]["finding"], "NotDurable", "{found:#}");
            } else {
                check_fit(&found);
            }
            assert_eq!(output.status.code(), Some(i32::from(is_swallowed)), "{output:?}");
        }
    });
}

/// What a run of an application's recipe, cut short, says of whether it is fit.
fn application(launch: Command, name: &str) -> Value {
    let short = ["--size=16MiB", "--time=300ms", "--rounds=7", "--invocations=1"];
    fit_of(launch, name, &[&["--beside=none", "--depth=1"][..], &short].concat()).0
}

/// Flushes that are far fewer than a virtual machine needs, and its twin.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn an_application_is_not_fit_on_a_throttled_device_and_is_on_its_twin() {
    tried(|| {
        let test = "an_application_is_not_fit_on_a_throttled_device_and_is_on_its_twin";
        let Some(planted) = Planted::on_loop(test, "ext4", &PAST_CACHE) else { return };
        let limit = Limit::Device(Io::Writes, planted.mounted.loop_name(), 20);
        let Some(group) = Group::new(test, limit) else { return };
        let _quiet = quiet();
        let sandbox = &planted.sandbox;
        let fit = application(group.launch(sandbox), "vm-image");
        assert_eq!(fit["fit"], "no", "{fit:#}");
        check_fit(&application(sandbox.start(PROGRAM), "vm-image"));
    });
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn no_application_is_fit_where_flushes_are_swallowed() {
    tried(|| {
        let test = "no_application_is_fit_where_flushes_are_swallowed";
        let setup = Setup { mount: "barrier=0", size: 128 << 20, ..PAST_CACHE };
        let Some(planted) = Planted::on_loop(test, "ext4", &setup) else { return };
        for name in ["etcd", "vm-image"] {
            let fit = application(planted.sandbox.start(PROGRAM), name);
            assert_eq!(fit["fit"], "no", "{name}: {fit:#}");
            let cases = fit["goals"].as_array().unwrap().iter().map(|goal| &goal["cases"][0]);
            let why: Vec<&Value> = cases.map(|case| &case["finding"]).collect();
            assert!(why.iter().all(|finding| **finding == "NotDurable"), "{name}: {fit:#}");
        }
    });
}

/// A recipe of reads of memory's page cache, which every machine has, with goals.
const RECIPE: &str = r#"
name = "mine"
question = "?"
size = "1MiB"
rounds = 7
invocations = 1
time = "20ms"
ceilings = false

[[goals]]
says = "a goal of mine"
must = "iops>1"
source = "nobody"

[[goals]]
must = "p50<10s"
of = { block = "4k" }

[[cases]]
engine = "pread"
cache = "warm"
block = ["4KiB", "64KiB"]
"#;

#[test]
fn a_goal_is_in_every_form() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("mine.toml"), RECIPE).unwrap();
    let run = ["run", "mine.toml", "--record", "a.jsonl", "--openmetrics", "m.prom"];
    let said = sandbox.judges(&run);
    let goals = said.split("\n\n").find(|part| part.contains("a goal of mine")).unwrap();
    for words in ["iops>1/s", "nobody", "p50<10s", "typed"] {
        assert!(goals.contains(words), "{words}: {said}");
    }
    let report = |form: &str| sandbox.judges(&["report", "a.jsonl", form]);
    let json: Value = serde_json::from_str(&report("--json")).unwrap();
    let goals = json["fit"]["goals"].as_array().unwrap();
    let cases = |goal: &Value| goal["cases"].as_array().unwrap().len();
    assert_eq!((cases(&goals[0]), cases(&goals[1])), (2, 1), "{json:#}");
    assert_eq!(goals[0]["must"], "iops>1/s");
    assert!(report("--markdown").contains("a goal of mine"));
    assert!(report("--csv").lines().next().unwrap().contains(",fit,"));
    let metrics = std::fs::read_to_string(sandbox.path("m.prom")).unwrap();
    let sample = |outcome: &str| {
        let is_one = |line: &&str| {
            line.starts_with("ioassay_goal_outcome{")
                && line.contains("says=\"a goal of mine\"")
                && line.contains(&format!("outcome=\"{outcome}\""))
        };
        let line = metrics.lines().find(is_one).unwrap();
        line.rsplit(' ').next().unwrap().parse::<u32>().unwrap()
    };
    assert_eq!(["fit", "not fit", "cannot tell"].map(sample).iter().sum::<u32>(), 1);
}

#[test]
fn a_kept_record_is_held_against_another_goal() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("mine.toml"), RECIPE).unwrap();
    sandbox.judges(&["run", "mine.toml", "--record", "a.jsonl"]);
    let before = std::fs::read(sandbox.path("a.jsonl")).unwrap();
    let report = ["report", "a.jsonl", "--strict", "--goal"];
    // No machine is as fast. A busy one makes the figure doubtful, which leaves it open.
    let output = sandbox.ioassay(&[&report[..], &["p50<1ns"]].concat());
    assert!(matches!(output.status.code(), Some(1 | 3)), "{output:?}");
    let said = text(&output.stdout);
    for words in ["a goal of mine", "p50<1ns", "typed"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    sandbox.refuses(&[&report[..], &["sync p99<1s"]].concat(), &["is about no case of 'mine'"]);
    let both = ["report", "a.jsonl", "a.jsonl", "--goal", "iops>1"];
    sandbox.refuses(&both, &["is about one record of a run", "name one of them"]);
    let strict = ["report", "a.jsonl", "a.jsonl", "--strict"];
    sandbox.refuses(&strict, &["--strict is about one record of a run"]);
    assert_eq!(std::fs::read(sandbox.path("a.jsonl")).unwrap(), before);
}

#[test]
fn an_open_goal_fails_only_if_it_is_strict() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("mine.toml"), RECIPE.replace("rounds = 7", "rounds = 2")).unwrap();
    let goal = ["run", "mine.toml", "--goal", "p99.99<10s"];
    let output = sandbox.ioassay(&goal);
    assert!(output.status.success(), "{output:?}");
    assert!(text(&output.stdout).contains("It cannot tell whether this is fit: "), "{output:?}");
    let output = sandbox.ioassay(&[&goal[..], &["--strict"]].concat());
    check_reason(&output, 3, "cannot tell whether ");
}

#[test]
fn commands_have_goals_too() {
    let sandbox = Sandbox::new();
    let judged = |goal: &str, more: &[&str]| {
        let run = ["judge", "--cache=as-is", "--rounds=8", "--goal", goal, "sleep 0.02"];
        sandbox.ioassay(&[&run[..], more].concat())
    };
    // No machine sleeps for less; a busy one leaves it open.
    let output = judged("time<10ms", &[]);
    if output.status.success() {
        let said = text(&output.stdout);
        assert!(said.contains("It cannot tell whether this is fit: "), "{output:?}");
        assert!(said.contains("which is doubtful ("), "{output:?}");
    } else {
        check_reason(&output, 1, "not fit: time<10ms is missed");
        assert!(text(&output.stdout).contains("Not fit: time is "), "{output:?}");
    }
    let output = judged("time<1h", &["--strict"]);
    let said = text(&output.stdout);
    let is_open = said.contains("It cannot tell whether this is fit: ");
    assert!(said.contains("Fit: time is ") || is_open, "{output:?}");
    assert_eq!(output.status.code(), Some(if is_open { 3 } else { 0 }), "{output:?}");
    let refused = "a command has a time, a CPU time and runs a second";
    sandbox.refuses(&["judge", "true", "--goal", "sync p99<1ms"], &[refused]);
    sandbox.refuses(&["judge", "true", "--strict"], &["--strict"]);
}

#[test]
fn a_plan_names_its_goals() {
    let sandbox = Sandbox::new();
    let said = sandbox.says(&["run", "etcd", "--goal", "iops>50", "--dry-run"]);
    for words in ["goals\n", "  etcd's log: sync p99<10ms, set by etcd's FAQ: ", "  iops>50/s\n"] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn goals_that_nothing_can_meet_are_refused() {
    let sandbox = Sandbox::new();
    let about = "the goal 'sync p99<1ms' is about no case of 'memory'";
    sandbox.refuses(&["run", "memory", "--goal", "sync p99<1ms"], &[about]);
    let hold = "'sync p99<1ms' is not about response times: use --goal 'sync p99<1ms'";
    sandbox.refuses(&["run", "load", "--hold", "sync p99<1ms"], &[hold]);
    sandbox.refuses(&["run", "load", "--goal", "fast"], &["'fast' is not a goal such as"]);
    let of_nothing = RECIPE.replace("of = { block", "of = { brick");
    std::fs::write(sandbox.path("mine.toml"), of_nothing).unwrap();
    sandbox.refuses(&["run", "mine.toml"], &["unknown axis of a goal 'brick'", "'block'"]);
}
