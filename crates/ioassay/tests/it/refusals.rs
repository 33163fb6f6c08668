//! Bad input: a clear error, exit status 2, and nothing left behind.

use crate::sandbox::{Sandbox, argument};
use model::case::Engine;

#[test]
fn a_directory_that_is_not_there_is_refused() {
    let sandbox = Sandbox::new();
    let expected = ["there is no directory 'nowhere'", "create it, or name another"];
    for command in ["run", "plan"] {
        sandbox.refuses(&[command, "page-latency", "nowhere"], &expected);
    }
    sandbox.refuses(&["survey", "nowhere"], &expected);
    sandbox.refuses(&["host", "nowhere"], &["'nowhere'", "No such file or directory"]);
}

#[test]
fn a_directory_without_files_of_its_own_is_refused() {
    let expected = ["failed to create a file in '/proc'", "name a directory that this user can"];
    Sandbox::new().refuses(&["survey", "/proc"], &expected);
}

#[test]
fn a_directory_that_is_a_file_is_refused() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("plain"), "text").unwrap();
    sandbox.refuses(&["run", "page-latency", "plain", "--size", "1MiB"], &["'plain'"]);
    assert_eq!(std::fs::read_to_string(sandbox.path("plain")).unwrap(), "text");
}

#[test]
fn a_size_that_is_none_is_refused() {
    let sandbox = Sandbox::new();
    for (size, expected) in [
        ("0", "'0' is not a size: write a number and a unit, such as 4KiB"),
        ("0KiB", "'0KiB' is not a size"),
        ("12XB", "'12XB' is not a size"),
        ("-1MiB", "-1MiB"),
        ("4X", "'4X' is not a size"),
        ("900TiB", "larger than the file system"),
        ("15EiB", "15EiB"),
        ("", "not a size"),
    ] {
        let size = format!("--size={size}");
        sandbox.refuses(&["run", "page-latency", ".", &size], &[expected]);
    }
    sandbox.refuses(&["data", "create", "new", "--size", "12XB"], &["'12XB' is not a size"]);
    sandbox
        .refuses(&["data", "create", "new", "--size", "900TiB"], &["larger than the file system"]);
}

#[test]
fn a_number_that_is_none_is_refused() {
    let sandbox = Sandbox::new();
    for (axis, value, expected) in [
        ("--block", "0", "'0' is not a size"),
        ("--threads", "0", "threads '0' is not a whole number of at least 1"),
        ("--depth", "many", "depth 'many' is not a whole number of at least 1"),
        ("--time", "5", "'5' is not a time: write a number and a unit"),
        ("--time", "0s", "'0s' is not a time"),
        ("--rounds", "0", "--rounds"),
        ("--rounds", "1001", "--rounds"),
        ("--threads", "99999999999", "too large"),
    ] {
        let args = ["run", "page-latency", ".", "--size", "1MiB", axis, value];
        sandbox.refuses(&args, &[expected]);
    }
}

#[test]
fn a_plan_has_no_results_to_write() {
    let sandbox = Sandbox::new();
    for flag in ["--markdown", "--csv", "--svg=ladder", "--html=page.html", "--openmetrics=x.prom"]
    {
        let name = flag.split('=').next().unwrap();
        sandbox.refuses(&["plan", "page-latency", ".", flag], &[name, "a plan has none"]);
        // A whole command may end with it.
        sandbox.says(&["run", "page-latency", ".", flag, "--dry-run"]);
        assert_eq!(sandbox.things().len(), 0, "{flag}");
    }
}

#[test]
fn an_unknown_name_is_refused_with_the_nearest() {
    let sandbox = Sandbox::new();
    for (args, expected) in [
        (["run", "page-latency", "--engine=preed"], "engine 'preed' (did you mean 'pread'?)"),
        (["run", "page-latency", "--cache=colt"], "cache 'colt' (did you mean 'cold'?)"),
        (["plan", "page-latency", "--touch=some"], "did you mean 'sum'?"),
        (["run", "page-latancy", "."], "recipe 'page-latancy' (did you mean 'page-latency'?)"),
        (["recipes", "show", "read-method"], "did you mean 'read-methods'?"),
        (["run", "page-latency", "--engin=pread"], "--engine"),
    ] {
        sandbox.refuses(&args, &[expected]);
    }
    // The survey has many groups of cases, but each known name is listed once.
    let known = [Engine::NAMES, &["write", "pwrite"]].concat().join(", ");
    let known = format!("known are {known}");
    sandbox.refuses(&["run", "survey", "--engine=foo"], &["unknown engine 'foo'", &known]);
    sandbox.refuses(&["run", "xyz"], &["unknown recipe 'xyz'", "known are survey", "TOML file"]);
    sandbox.refuses(&["rum"], &["rum", "run"]);
    sandbox.refuses(&["sruvey"], &["similar subcommand", "'survey'"]);
    sandbox.refuses(&["run", "page-latncy"], &["did you mean 'page-latency'?"]);
    // A recipe name in the position of a command.
    sandbox.refuses(&["page-latency", "."], &["is a recipe: ioassay run page-latency"]);
    sandbox.refuses(&["recipes", "memory"], &["is a recipe: ioassay recipes show memory"]);
    let directory = ["'.' is a directory, not a recipe", "'ioassay run page-latency .'"];
    sandbox.refuses(&["run", "."], &directory);
    sandbox.refuses(&["plan", "."], &directory);
    sandbox.refuses(&["run", "gone.toml"], &["the recipe 'gone.toml'", "No such file"]);
}

#[test]
fn a_file_that_is_no_recipe_is_refused() {
    let sandbox = Sandbox::new();
    let run = ["run", "page-latency", ".", "--size", "64KiB", "--rounds", "1", "--time", "1ms"];
    sandbox.json(&[&run[..], &["--json", "--cache", "as-is", "--record", "old.jsonl"]].concat());
    let record = ["'old.jsonl' is a record, not a recipe", "'ioassay report old.jsonl'"];
    sandbox.refuses(&["run", "old.jsonl"], &record);
    std::fs::write(sandbox.path("large.toml"), vec![b'#'; (1 << 20) + 1]).unwrap();
    sandbox
        .refuses(&["run", "large.toml"], &["'large.toml' is not a recipe: it is larger than 1MiB"]);
    std::fs::write(sandbox.path("odd.toml"), [0xff, 0xfe]).unwrap();
    sandbox.refuses(&["run", "odd.toml"], &["'odd.toml' is not a recipe: it is not text"]);
}

/// Checks that `run` and `plan` both reject a recipe with this text and print each of `expected`.
fn check_recipe(text: &str, expected: &[&str]) {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("mine.toml"), text).unwrap();
    let mut expected = expected.to_vec();
    expected.push("'mine.toml'");
    sandbox.refuses(&["run", "mine.toml", "."], &expected);
    sandbox.refuses(&["plan", "mine.toml", "."], &expected);
}

#[test]
fn a_broken_recipe_is_refused_with_line_and_column() {
    let head = "name = \"mine\"\nquestion = \"?\"\n";
    check_recipe(&format!("{head}size = \n"), &["line 3, column"]);
    check_recipe(&format!("{head}rounds = \"ten\"\n[[cases]]\n"), &["line 3, column 10"]);
    check_recipe(&format!("{head}tempo = \"1s\"\n[[cases]]\n"), &["line 3, column 1", "tempo"]);
    check_recipe(&format!("{head}[[cases]]\nblock = true\n"), &["line 4, column 9"]);
    check_recipe("", &["missing field `name`"]);
    check_recipe(head, &["missing field `cases`"]);
}

#[test]
fn an_axis_that_no_case_has_is_refused_with_the_nearest() {
    let head = "name = \"mine\"\nquestion = \"?\"\n";
    let groups = "[[cases]]\nengine = \"pread\"\n";
    let view = |view: &str| format!("{head}\n[view]\n{view}\n[[cases]]\n");
    check_recipe(&view("layout = 'tabel'"), &["unknown variant `tabel`", "`table`"]);
    check_recipe(&view("across = 'depht'"), &["unknown axis 'depht' (did you mean 'depth'?)"]);
    check_recipe(&view("group = ['depht']"), &["unknown axis 'depht' (did you mean 'depth'?)"]);
    check_recipe(&view("columns = ['p9']"), &["unknown column 'p9' (did you mean 'p99'?)"]);
    check_recipe(&view("more = [['p9']]"), &["unknown column 'p9' (did you mean 'p99'?)"]);
    check_recipe(&view("colour = 'red'"), &["unknown field `colour`"]);
    let nearest = ["unknown axis 'blok' (did you mean 'block'?)"];
    check_recipe(&format!("{head}{groups}blok = \"4KiB\"\n"), &nearest);
    check_recipe(&format!("{head}[axes]\nblok = \"4KiB\"\n{groups}"), &nearest);
    let memory = "[[cases]]\nkernel = \"read\"\nblock = \"4KiB\"\n";
    check_recipe(&format!("{head}{memory}"), &["unknown axis 'block'", "working_set"]);
}

#[test]
fn a_recipe_without_cases_or_rounds_is_refused() {
    let head = "name = \"mine\"\nquestion = \"?\"\n";
    check_recipe(&format!("{head}cases = []\n"), &["at least one [[cases]]"]);
    check_recipe(&format!("{head}rounds = 0\n[[cases]]\n"), &["one round"]);
}

#[test]
fn a_user_file_that_cannot_be_read_is_refused() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("empty"), "").unwrap();
    for (file, expected) in [
        ("nothing", ["'nothing'", "No such file"]),
        ("empty", ["'empty' has no bytes to read", "name a regular file"]),
        (".", ["'.' is a directory", "name a file"]),
        ("/dev/zero", ["'/dev/zero' has no bytes to read", "name a regular file"]),
    ] {
        sandbox.refuses(&["run", "page-latency", "--file", file], &expected);
    }
    sandbox.refuses(&["run", "page-latency", "--file", "x", "--size", "1MiB"], &["--size"]);
    sandbox.refuses(&["run", "page-latency", "--file", "x", "--keep"], &["--keep"]);
    sandbox.refuses(&["run", "page-latency", ".", "--file", "x"], &["--file"]);
}

#[test]
fn a_file_that_is_there_is_not_written_over() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("mine"), "precious").unwrap();
    sandbox.refuses(&["data", "create", "mine", "--size", "1MiB"], &["'mine'", "File exists"]);
    let run = ["run", "page-latency", ".", "--size", "1MiB", "--rounds", "1", "--time", "1ms"];
    let record = ["--record", "mine"];
    let expected = ["the record 'mine'", "File exists", "name another file with --record"];
    sandbox.refuses(&[&run[..], &record].concat(), &expected);
    sandbox.refuses(&[&run[..], &record, &["--keep"]].concat(), &expected);
    assert_eq!(std::fs::read_to_string(sandbox.path("mine")).unwrap(), "precious");
}

#[test]
fn a_link_that_leads_nowhere_is_not_written_through() {
    let sandbox = Sandbox::new();
    std::os::unix::fs::symlink("elsewhere", sandbox.path("link")).unwrap();
    sandbox.refuses(&["data", "create", "link", "--size", "1MiB"], &["'link'", "File exists"]);
}

#[test]
fn a_file_without_a_page_cache_to_show_is_refused() {
    let sandbox = Sandbox::new();
    for verb in ["show", "evict", "warm"] {
        sandbox.refuses(&["cache", verb, "nothing"], &[verb, "'nothing'", "No such file"]);
    }
    sandbox.refuses(&["cache", "show"], &["<FILES>"]);
}

#[test]
fn nothing_but_help_is_said_where_nothing_was_asked() {
    let sandbox = Sandbox::new();
    let first = sandbox.says(&[]);
    assert_eq!(first.lines().count(), 5, "{first}");
    for line in first.lines() {
        assert!(line.starts_with("ioassay "), "{line}");
        sandbox.says(&["help", line.split_whitespace().nth(1).unwrap()]);
    }
    let help = sandbox.says(&["--help"]);
    for command in ["survey", "run", "plan", "recipes", "report", "cache", "data", "host", "schema"]
    {
        assert!(help.lines().any(|line| line.trim_start().starts_with(command)), "{command}");
        assert!(sandbox.says(&[command, "--help"]).contains("Usage"));
    }
    assert!(!help.lines().any(|line| line.trim_start().starts_with("worker")), "{help}");
}

#[test]
fn the_version_names_its_source() {
    let sandbox = Sandbox::new();
    let short = concat!("ioassay ", env!("CARGO_PKG_VERSION"));
    assert_eq!(sandbox.says(&["-V"]).trim(), short);
    let build = sandbox.json(&["--version", "--json"]);
    assert_eq!(build, sandbox.json(&["--json", "--version"]));
    let source: Vec<&str> = ["commit", "date"].iter().filter_map(|it| build[it].as_str()).collect();
    let source = if source.is_empty() { String::new() } else { format!(" ({})", source.join(" ")) };
    assert_eq!(sandbox.says(&["--version"]).trim(), format!("{short}{source}"));
    assert_eq!(build["version"], env!("CARGO_PKG_VERSION"));
    assert!(build["target"].as_str().unwrap().contains("linux"), "{build}");
    assert!(build["rust"].as_str().is_some_and(|it| it.starts_with("1.")), "{build}");
    let host = &sandbox.json(&["host"])["host"];
    assert_eq!((&build["os"], &build["isas"]), (&host["os"], &host["isas"]));
    assert!(build["engines"].as_array().unwrap().contains(&"uring".into()), "{build}");
    sandbox.refuses(&["--json"], &["--version"]);
}

#[test]
fn a_record_is_made_with_the_folders_of_its_path() {
    let sandbox = Sandbox::new();
    let path = sandbox.path("a/b/record.jsonl");
    let run = ["run", "page-latency", ".", "--size", "64KiB", "--rounds", "1", "--time", "1ms"];
    sandbox
        .json(&[&run[..], &["--json", "--cache", "as-is", "--record", argument(&path)]].concat());
    sandbox.json(&["report", "--json", argument(&path)]);
}

#[test]
fn a_load_that_cannot_be_held_is_refused() {
    let sandbox = Sandbox::new();
    for (recipe, args, expected) in [
        ("load", &["--hold", "1ms"][..], "'1ms' is not a goal such as 'p99<1ms'"),
        ("load", &["--hold", "p99<1ms,p100<1s"], "'p100<1s' is not a goal"),
        ("load", &["--hold", "p99<soon"], "'soon' is not a time"),
        ("load", &["--hold", "p99<1ms", "--at-least", "closed"], "--at-least needs a rate"),
        ("load", &["--hold", "p99<1ms", "--at-least", "0"], "'0' is not a rate from 1"),
        ("load", &["--at-least", "5k"], "--hold <GOAL>"),
        ("load", &["--rate", "0%"], "'0%' is not a share of what a closed loop does"),
        ("load", &["--rate", "0"], "'0' is not a rate from 1"),
        ("load", &["--rate", "2000M"], "'2000M' is not a rate from 1"),
        (
            "page-latency",
            &["--hold", "p99<1ms"],
            "--hold is about rates, and 'page-latency' has none",
        ),
        (
            "page-latency",
            &["--rate", "1k", "--hold", "p99<1ms", "--at-least", "1k"],
            "--at-least needs rates that are shares",
        ),
    ] {
        for command in ["run", "plan"] {
            let args = [&[command, recipe, ".", "--size", "1MiB"], args].concat();
            sandbox.refuses(&args, &[expected]);
        }
    }
}

/// What follows one rate over time has no rounds, sides or hosts.
#[test]
fn a_recipe_that_takes_no_turns_refuses_what_needs_them() {
    let sandbox = Sandbox::new();
    for (flag, name) in [
        ("--rounds=7", "--rounds"),
        ("--invocations=3", "--invocations"),
        ("--goal=iops>1", "--goal"),
        ("--control", "--control"),
    ] {
        sandbox.refuses(&["run", "steady", ".", flag], &["follows one rate", name, "leave it out"]);
    }
    sandbox.refuses(&["run", "steady", ".", "--for=500ms"], &["--for needs at least 1s"]);
    sandbox.refuses(&["run", "steady", ".", "--for=3days"], &["--for takes at most"]);
    sandbox.refuses(&["gate", "steady", ".", "--against", "."], &["which gate cannot do yet"]);
    for each in [&["--each"][..], &[]] {
        let hosts = [&["run", "steady", ".", "--hosts=a,b"], each].concat();
        sandbox.refuses(&hosts, &["which a run on several hosts cannot do yet"]);
    }
    let plan = sandbox.says(&["plan", "steady", ".", "--size=1MiB"]);
    assert!(plan.contains("each case for 1m"), "{plan}");
    let plan = sandbox.says(&["plan", "steady", ".", "--size=1MiB", "--sustain=5min"]);
    assert!(plan.contains("each case until it is steady, or for 5m"), "{plan}");
}
