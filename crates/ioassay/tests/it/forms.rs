//! Machine-readable reports, read by the programs they are for, and reports of incomplete records.

use crate::documents::root;
use crate::sandbox::{PROGRAM, Sandbox, argument, skip, text};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// A run with a few read cases, and its record.
fn measured(sandbox: &Sandbox) -> Value {
    let args = ["run", "page-latency", ".", "--size", "64KiB", "--rounds", "3", "--time", "1ms"];
    let axes = ["--cache", "as-is", "--json", "--record", "record.jsonl"];
    sandbox.json(&[&args[..], &axes].concat())
}

/// A run with a few write cases.
fn written(sandbox: &Sandbox) -> Value {
    let args = ["run", "write-strategies", ".", "--size", "1MiB", "--rounds", "3", "--time", "5ms"];
    let axes = ["--block", "64KiB", "--json", "--record", "record.jsonl"];
    sandbox.json(&[&args[..], &axes].concat())
}

/// The median throughput of each recipe and case in a JSON report.
fn medians(json: &Value) -> BTreeMap<String, f64> {
    let of = |case: &Value| {
        let median = case["throughput"]["median"].as_f64()?;
        Some((format!("{}: {}", json["recipe"].as_str()?, case["id"].as_str()?), median))
    };
    json["cases"].as_array().unwrap().iter().filter_map(of).collect()
}

/// Runs a Python script with pandas; `None` where pandas is missing.
fn python(script: &str, arguments: &[&str]) -> Option<Output> {
    // Prefers Debian's Python, which has the installed pandas package.
    let mut pythons = ["/usr/bin/python3", "python3"].into_iter();
    let has_pandas = |python: &&str| {
        let output = Command::new(python).args(["-c", "import pandas"]).output();
        output.is_ok_and(|output| output.status.success())
    };
    let python = pythons.find(has_pandas)?;
    Some(Command::new(python).args(["-c", script]).args(arguments).output().unwrap())
}

const PANDAS: &str = r#"
import json, sys, pandas
table = pandas.concat([pandas.read_csv(path) for path in sys.argv[1:]])
texts = set("recipe began host directory file_system tool_version case role verdict served_by peer "
            "op engine kernel cache pattern share touch isa pages advice submission sync "
            "allocation fill atomic fate reason node_bytes".split())
numeric = pandas.api.types.is_numeric_dtype
wrong = [name for name in table.columns
         if name not in texts and not numeric(table[name]) or name in texts
         and numeric(table[name]) and table[name].notna().any()]
counted = table[table.fate == "counted"]
medians = counted.groupby(["recipe", "case"]).throughput_bytes_per_second.median().dropna()
medians = {": ".join(of): median for of, median in medians.items()}
print(json.dumps({"wrong": wrong, "medians": medians, "rows": len(table)}))
"#;

/// What docs/notebook.md shows is what its lines print.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn the_notebook_prints_what_it_shows() {
    if python("", &[]).is_none() {
        return skip("the_notebook_prints_what_it_shows", "python3-pandas is missing");
    }
    let page = std::fs::read_to_string(root().join("docs/notebook.md")).unwrap();
    let sandbox = Sandbox::new();
    let blocks = |start: &str| -> Vec<String> {
        let after = page.split(start).skip(1);
        after.map(|text| text.split("```").next().unwrap().to_owned()).collect()
    };
    let mut codes = blocks("```python\n").into_iter().zip(blocks("```text\n"));
    for command in blocks("```console\nioassay ") {
        let (words, file) = command.trim().split_once(" > ").expect("it makes a file");
        let words: Vec<&str> = words.split(' ').collect();
        let output = sandbox.start(PROGRAM).args(words).current_dir(root()).output().unwrap();
        std::fs::write(sandbox.path(file), output.stdout).unwrap();
        let (code, shown) = codes.next().expect("a command is followed by what reads its file");
        let start = format!("import os; os.chdir({:?})\n", sandbox.path(""));
        let output = python(&(start + &code), &[]).unwrap();
        assert!(output.status.success(), "{output:?}");
        let printed = text(&output.stdout);
        let printed: Vec<&str> = printed.lines().map(str::trim_end).collect();
        assert_eq!(printed, shown.lines().collect::<Vec<_>>(), "{code}");
    }
    assert!(codes.next().is_none());
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn pandas_reads_the_table_and_finds_the_medians_of_the_json() {
    if python("", &[]).is_none() {
        return skip("pandas reads --csv", "python3-pandas is missing");
    }
    let mut tables = Vec::new();
    let mut expected = BTreeMap::new();
    let mut trials = 0;
    let desks = [Sandbox::new(), Sandbox::new()];
    for (sandbox, json) in desks.iter().zip([measured(&desks[0]), written(&desks[1])]) {
        let output = sandbox.ioassay(&["report", "record.jsonl", "--csv"]);
        std::fs::write(sandbox.path("table.csv"), &output.stdout).unwrap();
        tables.push(sandbox.path("table.csv"));
        expected.extend(medians(&json));
        let cases = json["cases"].as_array().unwrap();
        trials += cases.iter().map(|case| case["trials"].as_array().unwrap().len()).sum::<usize>();
    }
    // Tables of several runs can be concatenated.
    let paths: Vec<&str> = tables.iter().map(|path| argument(path)).collect();
    let output = python(PANDAS, &paths).unwrap();
    assert!(output.status.success(), "{output:?}");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["wrong"], Value::Array(Vec::new()), "columns of the wrong kind");
    assert_eq!(found["rows"], trials);
    let medians = found["medians"].as_object().unwrap();
    assert!(!expected.is_empty());
    for (case, median) in expected {
        let of_pandas = medians[&case].as_f64().unwrap();
        assert!((of_pandas / median - 1.0).abs() < 1e-9, "{case}: {of_pandas} and {median}");
    }
}

/// Checks metrics with promtool; `None` where it is missing.
fn promtool(metrics: &[u8]) -> Option<Output> {
    let mut command = Command::new("promtool");
    command.args(["check", "metrics"]).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().ok()?;
    child.stdin.take().unwrap().write_all(metrics).unwrap();
    Some(child.wait_with_output().unwrap())
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn promtool_has_nothing_to_say_of_the_metrics() {
    if promtool(b"").is_none() {
        return skip("promtool checks --openmetrics", "prometheus (promtool) is missing");
    }
    for (run, sample) in [
        (measured as fn(&Sandbox) -> Value, "quantity=\"read\""),
        (written, "quantity=\"acknowledged\""),
    ] {
        let sandbox = Sandbox::new();
        run(&sandbox);
        sandbox.ioassay(&["report", "record.jsonl", "--openmetrics", "ioassay.prom"]);
        let metrics = std::fs::read(sandbox.path("ioassay.prom")).unwrap();
        let said = text(&metrics);
        assert!(said.starts_with("# made by ioassay ") && said.contains(sample), "{said}");
        let output = promtool(&metrics).unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_eq!((text(&output.stdout), text(&output.stderr)), (String::new(), String::new()));
    }
    let refused = promtool(b"Bad_name{a=\"b\"} zero\n").unwrap();
    assert!(!refused.status.success(), "a promtool that refuses nothing says nothing");
}

#[test]
fn forms_exclude_each_other_and_the_error_says_which() {
    let sandbox = Sandbox::new();
    for command in [&["report", "record.jsonl"][..], &["survey", "."], &["run", "memory"]] {
        for (one, other) in [("--json", "--csv"), ("--markdown", "--json"), ("--csv", "--markdown")]
        {
            sandbox
                .refuses(&[command, &[one, other]].concat(), &[one, other, "cannot be used with"]);
        }
    }
    let compare = ["compare", "a", "b", "--json", "--markdown"];
    sandbox.refuses(&compare, &["--json", "--markdown", "cannot be used with"]);
}

#[test]
fn a_file_that_cannot_be_written_is_refused_before_anything_is_measured() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("thesis"), "years of work").unwrap();
    for (file, expected) in [
        ("nowhere/ioassay.prom", "name a file in a folder that you can write to"),
        ("thesis", "is not a report of ioassay: name another file"),
        (".", "is not a report of ioassay: name another file"),
    ] {
        let run = ["run", "page-latency", ".", "--size", "64KiB", "--rounds", "1"];
        let what = format!("failed to write the report '{file}'");
        sandbox.refuses(&[&run[..], &["--openmetrics", file]].concat(), &[&what, expected]);
        sandbox.refuses(&["survey", ".", "--openmetrics", file], &[&what, expected]);
    }
    assert_eq!(std::fs::read_to_string(sandbox.path("thesis")).unwrap(), "years of work");
}

#[test]
fn the_record_is_kept_whatever_becomes_of_the_file() {
    let sandbox = Sandbox::new();
    let args = ["run", "page-latency", ".", "--size", "64KiB", "--rounds", "1", "--time", "1ms"];
    let form = ["--cache", "as-is", "--openmetrics", "ioassay.prom", "--record", "record.jsonl"];
    let output = sandbox.ioassay(&[&args[..], &form].concat());
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    assert!(text(&output.stdout).contains("page-latency"), "the table is printed beside it");
    let first = std::fs::read_to_string(sandbox.path("ioassay.prom")).unwrap();
    assert!(first.contains("recipe=\"page-latency\""), "{first}");
    // The program replaces its own file and leaves no temporary file.
    sandbox.ioassay(&["report", "record.jsonl", "--openmetrics", "ioassay.prom"]);
    assert_eq!(std::fs::read_to_string(sandbox.path("ioassay.prom")).unwrap(), first);
    assert_eq!(sandbox.things().iter().filter(|name| name.contains("ioassay.prom")).count(), 1);
    // It never replaces another file, but still prints the report to stdout.
    std::fs::write(sandbox.path("ioassay.prom"), "mine").unwrap();
    let output = sandbox.ioassay(&["report", "record.jsonl", "--openmetrics", "ioassay.prom"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains("name another file"), "{output:?}");
    assert!(text(&output.stdout).contains("page-latency"), "{output:?}");
    assert_eq!(std::fs::read_to_string(sandbox.path("ioassay.prom")).unwrap(), "mine");
}

/// A card has room in a post; with `--all` there is all of the report.
#[test]
fn a_kept_survey_has_a_card() {
    let sandbox = Sandbox::new();
    for name in ["2026-11-22-quick", "2026-11-21-survey", "2026-11-24-survey"] {
        let record = root().join(format!("records/{name}.jsonl"));
        let report = |form: &[&str]| {
            let words = [&["report", argument(&record), "--markdown"], form].concat();
            text(&sandbox.ioassay(&words).stdout)
        };
        let (card, whole) = (report(&[]), report(&["--all"]));
        assert!(card.lines().count() <= 35, "{card}");
        assert!(card.contains("`ioassay survey"), "{card}");
        assert!(whole.lines().count() > 40 && whole.contains("**Findings**"), "{whole}");
    }
}

#[test]
fn two_records_are_compared_in_markdown() {
    let sandbox = Sandbox::new();
    measured(&sandbox);
    let said = sandbox.says(&["compare", "record.jsonl", "record.jsonl", "--markdown"]);
    assert!(said.starts_with("## ioassay"), "{said}");
    assert!(said.contains("| case |") && said.contains("A and B are one record"), "{said}");
}

/// The arguments for each form of a report.
const FORMS: [&[&str]; 5] =
    [&[], &["--json"], &["--markdown"], &["--csv"], &["--openmetrics", "ioassay.prom"]];

/// A report in one form, from both streams and its file, and the exit status.
fn said(sandbox: &Sandbox, record: &str, form: &[&str]) -> (String, i32) {
    let output = sandbox.ioassay(&[&["report", record], form].concat());
    let mut said = text(&output.stdout) + &text(&output.stderr);
    if form.first() == Some(&"--openmetrics") {
        said = std::fs::read_to_string(sandbox.path("ioassay.prom")).unwrap_or(said);
    }
    assert!(!said.contains("panicked"), "{record} {form:?}: {said}");
    (said, output.status.code().unwrap())
}

/// Checks that each form describes `record` correctly: with the words `told`, a JSON `field` or a
/// `metric`. All forms have the same exit status.
fn check_forms(sandbox: &Sandbox, record: &str, [told, field, metric]: [&str; 3], status: i32) {
    for form in FORMS {
        let (said, code) = said(sandbox, record, form);
        let expected = match form {
            ["--json"] => field,
            ["--openmetrics", _] => metric,
            _ => told,
        };
        let flat = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(expected), "{record} {form:?} does not say '{expected}':\n{said}");
        assert_eq!(code, status, "{record} {form:?}: {said}");
    }
}

#[test]
fn what_is_not_whole_is_said_in_every_form() {
    let sandbox = Sandbox::new();
    measured(&sandbox);
    // A neighbor may have made a case void.
    let (_, sound) = said(&sandbox, "record.jsonl", &[]);
    let whole = std::fs::read_to_string(sandbox.path("record.jsonl")).unwrap();
    let write = |name: &str, text: &str| std::fs::write(sandbox.path(name), text).unwrap();
    let lines: Vec<&str> = whole.lines().collect();

    let newer = whole.replacen("\"version\":1,", "\"version\":9,\"mood\":\"good\",", 1);
    write("newer", &newer);
    let message = "format version 9, and this ioassay reads up to 1";
    check_forms(&sandbox, "newer", [message, message, "ioassay_run_damage{"], sound);
    let (json, _) = said(&sandbox, "newer", &["--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["cases"].as_array().unwrap().len(), case_count(&whole));
    assert!(json["cases"][0]["n"].as_u64().unwrap() > 0, "its trials are understood");

    let last = lines.iter().rposition(|line| line.starts_with("{\"trial\"")).unwrap();
    write("cut", &[&lines[..last].join("\n"), "\n", &lines[last][..40]].concat());
    let line = format!("line {} is broken", last + 1);
    check_forms(&sandbox, "cut", [&line, &line, "ioassay_run_complete{"], sound);

    write("head", lines[0]);
    let missing = ["the record has no end", "\"end\": \"missing\"", "verdict=\"not run\"} 1"];
    check_forms(&sandbox, "head", missing, 1);

    let failed: String = lines.iter().map(|line| failed(line) + "\n").collect();
    write("failed", &failed);
    check_forms(&sandbox, "failed", ["it died", "it died", "verdict=\"failed\"} 1"], 1);
}

fn case_count(record: &str) -> usize {
    let header: Value = serde_json::from_str(record.lines().next().unwrap()).unwrap();
    header["header"]["plan"]["cases"].as_array().unwrap().len()
}

/// A line of a record; a trial becomes a failed one.
fn failed(line: &str) -> String {
    let mut json: Value = serde_json::from_str(line).unwrap();
    if let Some(trial) = json.get_mut("trial") {
        trial["outcome"] = serde_json::json!({ "failed": { "reason": "it died" } });
    }
    json.to_string()
}

#[test]
fn what_is_no_record_is_refused_in_every_form() {
    let sandbox = Sandbox::new();
    for (name, content, expected) in [
        ("empty", &b""[..], "it is empty"),
        (
            "photo",
            &b"\xff\xd8\xff\xe0\x00\x10JFIF\n\x00"[..],
            "not the header of an ioassay record",
        ),
        ("newest", &b"{\"header\":{\"version\":99}}\n"[..], "format version 99"),
    ] {
        std::fs::write(sandbox.path(name), content).unwrap();
        for form in FORMS {
            let args = [&["report", name], form].concat();
            sandbox.refuses(&args, &[&format!("'{name}' is not a record"), expected]);
        }
    }
    assert!(!Path::new(&sandbox.path("ioassay.prom")).exists());
}
