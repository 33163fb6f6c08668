//! Records that travel: to stdout, into folders, from a machine that cannot keep them, and several
//! in one file.

use crate::sandbox::{PROGRAM, Sandbox, argument, check_refusal, text};
use std::path::{Path, PathBuf};

/// A run of a few trials of a millisecond.
const SHORT: [&str; 7] =
    ["run", "page-latency", ".", "--size=64KiB", "--rounds=2", "--time=1ms", "--cache=as-is"];

/// The path of a kept record.
fn kept(name: &str) -> String {
    format!("{}/../../records/{name}.jsonl", env!("CARGO_MANIFEST_DIR"))
}

/// The files in a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.sort();
    all
}

#[test]
fn a_record_on_stdout_is_all_that_is_there() {
    let sandbox = Sandbox::new();
    let run = [&SHORT[..], &["--record=-"]].concat();
    let output = sandbox.ioassay(&[&run[..], &["--openmetrics=x.prom"]].concat());
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    assert!(!text(&output.stderr).contains("record:"), "{output:?}");
    std::fs::write(sandbox.path("kept"), &output.stdout).unwrap();
    let json = sandbox.json(&["report", "--json", "kept"]);
    assert_eq!((&json["end"], &json["damage"]), (&"complete".into(), &serde_json::json!([])));
    assert!(sandbox.path("x.prom").is_file(), "files are written all the same");
    assert!(files(sandbox.state()).is_empty(), "it is kept nowhere else");
    for form in ["--json", "--csv", "--markdown", "--svg=list"] {
        let name = form.split('=').next().unwrap();
        sandbox.refuses(&[&run[..], &[form]].concat(), &["--record - writes", name]);
    }
}

#[test]
fn a_folder_gets_a_record_of_each_run() {
    let sandbox = Sandbox::new();
    for _ in 0..2 {
        sandbox.json(&[&SHORT[..], &["--json", "--record=runs/"]].concat());
    }
    let watch = [&["watch"], &SHORT[1..], &["--every=1ms", "--count=2", "--record=runs"]].concat();
    assert!(matches!(sandbox.ioassay(&watch).status.code(), Some(0 | 1)));
    let all = files(&sandbox.path("runs"));
    assert_eq!(all.len(), 4, "{all:?}");
    for path in &all {
        sandbox.json(&["report", "--json", argument(path)]);
    }
    std::fs::write(sandbox.path("thesis"), "years of work").unwrap();
    sandbox.refuses(&[&SHORT[..], &["--record=thesis/"]].concat(), &["the folder 'thesis/'"]);
}

#[test]
fn a_run_whose_record_cannot_be_kept_says_so_and_goes_on() {
    let sandbox = Sandbox::new();
    // Root writes to folders that are read-only for others, but nobody does below a file.
    let home = sandbox.path("home");
    std::fs::write(&home, "").unwrap();
    let mut command = sandbox.start(PROGRAM);
    let more = ["--json", "--no-ceilings", "--invocations=1"];
    let command = command.args(SHORT).args(more).env("XDG_STATE_HOME", &home);
    let output = command.output().unwrap();
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["end"], "complete");
    let said = text(&output.stderr);
    for part in ["warning: the record of this run will not be kept: ", "home/ioassay", "--record"] {
        assert!(said.contains(part), "{said}");
    }
    assert!(!said.contains("record: /"), "{said}");
    // With one that can be written, nothing of that is said.
    let output = sandbox.ioassay(&[&SHORT[..], &["--json"]].concat());
    assert!(!text(&output.stderr).contains("warning"), "{output:?}");
}

#[test]
fn records_in_one_file_are_read_together_and_by_number() {
    let sandbox = Sandbox::new();
    let (one, other) = (kept("2026-11-21-survey"), kept("2026-11-22-survey"));
    sandbox.says(&["merge", &one, &other, "--record=all"]);
    let both = [&one, &other].map(|path| std::fs::read_to_string(path).unwrap()).concat();
    assert_eq!(std::fs::read_to_string(sandbox.path("all")).unwrap(), both, "as they are");
    assert_eq!(sandbox.says(&["merge", "all"]), both);

    for (number, path) in [("all#1", &one), ("all#2", &other)] {
        let [merged, alone] = [number, path].map(|it| sandbox.json(&["report", "--json", it]));
        assert_eq!(merged, alone);
    }
    // Runs of one host are told apart by when they began, and a copy is named.
    let table = |records: &[&str]| {
        let output = sandbox.ioassay(&[&["report", "--csv"], records].concat());
        (text(&output.stdout), text(&output.stderr))
    };
    let (apart, said) = table(&[&one, &other]);
    assert_eq!(apart.lines().filter(|line| line.starts_with("recipe,")).count(), 1);
    for day in ["2026-11-21T", "2026-11-22T"] {
        let is_of_day = |line: &str| line.starts_with(&format!("survey,{day}"));
        assert!(apart.lines().any(|line| is_of_day(line) && line.contains("Z,vm,,")), "{day}");
    }
    assert!(!said.contains("copy"), "{said}");
    assert!(table(&["all"]) == (apart.clone(), said), "the rows are the same");
    let (with_copy, said) = table(&["all", &one]);
    assert!(with_copy == apart && said.contains("is a copy of another record"), "{said}");
    sandbox.says(&["compare", "all#1", "all#2", "--anyway"]);

    sandbox.refuses(&["compare", "all", &one], &["has several records", "'all#1'"]);
    sandbox.refuses(&["report", "all#3"], &["it has 2 records, and number 3 was asked for"]);
    sandbox.refuses(&["report", "all#0"], &["all#0", "No such file"]);
    sandbox.refuses(&["merge", &one, "--record=all"], &["File exists"]);
}

#[test]
fn what_is_merged_is_a_record_and_is_there_once() {
    let sandbox = Sandbox::new();
    let whole = std::fs::read_to_string(kept("2026-11-22-quick")).unwrap();
    std::fs::write(sandbox.path("a"), &whole).unwrap();
    std::fs::write(sandbox.path("copy"), &whole).unwrap();
    // The last line has no end, and must not stick to the next record.
    std::fs::write(sandbox.path("cut"), &whole[..whole.len() - 40]).unwrap();
    std::fs::write(sandbox.path("thesis"), "years of work").unwrap();
    let output = sandbox.plainly(&["merge", "a", "copy"]);
    assert_eq!(text(&output.stdout), whole);
    assert_eq!(text(&output.stderr), "note: 'copy' is a copy of 'a' and is left out\n");
    sandbox.refuses(&["merge", "a", "cut"], &["'a' and 'cut' are the same run at different times"]);
    sandbox.refuses(&["merge", "a", "thesis"], &["'thesis' is not a record"]);
    sandbox.says(&["merge", "cut", &kept("2026-11-22-survey"), "--record=all"]);
    sandbox.json(&["report", "--json", "all#2"]);
}

#[test]
fn a_record_comes_from_stdin_and_several_come_from_a_file() {
    let sandbox = Sandbox::new();
    let (one, other) = (kept("2026-11-21-survey"), kept("2026-11-22-survey"));
    let pipe = |script: &str| {
        sandbox.start("sh").args(["-c", script, PROGRAM, &one, &other]).output().unwrap()
    };
    let output = pipe("cat \"$1\" | \"$0\" report -");
    assert_eq!(text(&output.stdout), sandbox.says(&["report", &one]));
    let output = pipe("cat \"$1\" \"$2\" | \"$0\" report -");
    check_refusal(&output, &["'-' is a pipe with several records", "save them in a file"]);
}
