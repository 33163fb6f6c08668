//! Comparisons of two records, runs with `--control`, and explanations of findings.

use crate::documents::root;
use crate::honesty::plant::tried;
use crate::sandbox::{PROGRAM, Sandbox, check_refusal, skip, text};
use assess::finding::Code;
use serde_json::{Value, json};

/// A small run that reads an as-is file and writes the record `name`. The options in `more` take
/// precedence over the usual ones. The page cache serves it, unless the OS takes memory back: then
/// two records say that something else served them, and are refused.
fn run(sandbox: &Sandbox, name: &str, more: &[&str]) -> Value {
    let usual = ["--cache=as-is", "--ops=0", "--size=256KiB", "--time=5ms"];
    let flag = |arg: &str| arg.split('=').next().unwrap().to_string();
    let is_given = |arg: &str| more.iter().any(|given| flag(given) == flag(arg));
    let usual = usual.into_iter().filter(|arg| !is_given(arg));
    let mut args = vec!["run", "page-latency", ".", "--rounds=7", "--json", "--record", name];
    args.extend(usual.chain(more.iter().copied()));
    sandbox.json(&args)
}

/// Checks JSON against the schema that `ioassay schema OF` prints.
fn check_form(sandbox: &Sandbox, of: &str, found: &Value) {
    let schema: Value = serde_json::from_str(&sandbox.says(&["schema", of])).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let wrong: Vec<String> = validator.iter_errors(found).map(|e| e.to_string()).collect();
    assert_eq!(wrong, [""; 0]);
}

/// The words of a text, with single spaces instead of line breaks.
fn unfolded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_record_does_not_differ_from_itself() {
    let sandbox = Sandbox::new();
    run(&sandbox, "a", &["--engine=pread,mmap"]);
    let found = sandbox.json(&["compare", "a", "a", "--json"]);
    check_form(&sandbox, "compare", &found);
    assert_eq!((&found["is_same"], &found["obstacles"]), (&json!(true), &json!([])));
    let pairs = found["pairs"].as_array().unwrap();
    assert!(!pairs.is_empty(), "{found:#}");
    for pair in pairs {
        assert_eq!(pair["comparison"]["difference"], "equivalent", "{pair:#}");
        assert_eq!((&pair["comparison"]["ratio"], &pair["p_holm"]), (&json!(1.0), &json!(1.0)));
    }
    let said = unfolded(&sandbox.says(&["compare", "a", "a"]));
    assert!(said.contains("A and B are one record: there is nothing to compare."), "{said}");
    assert!(!said.contains("between the two runs"), "{said}");
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn two_records_of_the_same_question_are_compared() {
    tried(compare_two_records);
}

fn compare_two_records() {
    let sandbox = Sandbox::new();
    run(&sandbox, "a", &["--invocations=3"]);
    run(&sandbox, "b", &["--invocations=3", "--time=4ms"]);
    let found = sandbox.json(&["compare", "a", "b", "--json"]);
    check_form(&sandbox, "compare", &found);
    assert_eq!((&found["is_same"], &found["obstacles"]), (&json!(false), &json!([])));
    let told: Vec<&Value> = found["others"].as_array().unwrap().iter().collect();
    assert!(told.iter().any(|apart| apart["what"] == "time"), "{told:?}");
    for pair in found["pairs"].as_array().unwrap() {
        assert_eq!(pair["comparison"]["invocations"], 3, "{pair:#}");
        assert_eq!(pair["basis"], "invocations", "{pair:#}");
        let is_open = pair["comparison"]["difference"] == "inconclusive";
        assert_eq!(pair["comparison"]["needs"].is_u64(), is_open, "{pair:#}");
    }
}

/// A kept record whose requested cases and first trials are repeated, each time with more threads,
/// up to `count` cases.
fn large(kept: &str, count: usize) -> String {
    let lines: Vec<Value> = kept.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut header = lines[0].clone();
    let cases = header["header"]["plan"]["cases"].take();
    let cases: Vec<&Value> =
        cases.as_array().unwrap().iter().filter(|case| case["role"] == "asked").collect();
    let mut many = Vec::new();
    let mut text = String::new();
    for index in 0..count {
        let mut case = cases[index % cases.len()].clone();
        for axis in case["case"].as_array_mut().unwrap() {
            match axis[0].as_str() {
                Some("threads") => axis[1] = (1 + index / cases.len() % 1000).to_string().into(),
                Some("time") => axis[1] = format!("{}ms", 100 + index / cases.len() / 1000).into(),
                _ => {}
            }
        }
        many.push(case);
        let is_of_case = |line: &&Value| line["trial"]["case"] == index % cases.len();
        let mut trial = lines.iter().find(is_of_case).expect("each case has a trial").clone();
        trial["trial"]["case"] = index.into();
        text.push_str(&format!("{trial}\n"));
    }
    header["header"]["plan"]["cases"] = many.into();
    format!("{header}\n{text}{}\n", lines.last().unwrap())
}

/// Checks that two records with `count` cases are compared in so much memory, in KiB.
pub(crate) fn check_large(count: usize, memory: u32) {
    let sandbox = Sandbox::new();
    let kept = include_str!("../../../../records/2026-11-22-depth.jsonl");
    let record = large(kept, count);
    std::fs::write(sandbox.path("a"), &record).unwrap();
    std::fs::write(sandbox.path("b"), record.replacen("2026", "2025", 1)).unwrap();
    // Of long tables, forms for people have the first rows.
    for (form, rows) in [("--json", count), ("--markdown", count.min(400))] {
        let limited = format!("ulimit -d {memory}; exec '{PROGRAM}' compare a b --anyway {form}");
        let output = sandbox.start("sh").args(["-c", &limited]).output().unwrap();
        assert!(output.status.success(), "{form}: {:?}", text(&output.stderr));
        assert!(output.stdout.len() > 65 * rows, "{form}: {} bytes", output.stdout.len());
    }
}

/// A tenth of the largest records, in a tenth of the memory that these may take.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn large_records_are_compared_in_little_memory() {
    check_large(1_550, 52_428);
}

#[test]
fn what_does_not_measure_the_same_is_refused_and_compared_anyway() {
    let sandbox = Sandbox::new();
    run(&sandbox, "a", &["--block=4KiB", "--threads=1"]);
    run(&sandbox, "b", &["--block=8KiB", "--threads=2", "--size=512KiB"]);
    let expected = [
        "'a' (A) and 'b' (B) measure different things",
        "--anyway",
        "): 4KiB in A, 8KiB in B",
        "): 1 in A, 2 in B",
        "): 256KiB in A, 512KiB in B",
    ];
    sandbox.refuses(&["compare", "a", "b"], &expected);
    sandbox.refuses(&["compare", "a", "b", "--json"], &expected);
    let found = sandbox.json(&["compare", "a", "b", "--anyway", "--json"]);
    check_form(&sandbox, "compare", &found);
    let pair = &found["pairs"][0];
    assert_eq!(
        (&pair["a"]["case"]["block"], &pair["b"]["case"]["block"]),
        (&json!(4096), &json!(8192))
    );
    let said = sandbox.says(&["compare", "a", "b", "--anyway"]);
    let (differences, table) = said.split_once("B/A").unwrap();
    assert!(differences.contains("4KiB in A, 8KiB in B"), "{said}");
    assert!(table.contains("→"), "{said}");
}

/// Cases of one block of two measure something else: the others are compared, and they are named.
#[test]
fn a_case_that_measures_something_else_is_named_and_the_others_are_compared() {
    let sandbox = Sandbox::new();
    run(&sandbox, "a", &["--block=4KiB,16KiB"]);
    run(&sandbox, "b", &["--block=4KiB,64KiB"]);
    let said = unfolded(&sandbox.says(&["compare", "a", "b"]));
    let left = "not compared, because A and B differ (block 16KiB in A, 64KiB in B): ";
    assert!(said.contains(left), "{said}");
    assert!(said.contains("With --anyway, it also compares cases that measure"), "{said}");
    let found = sandbox.json(&["compare", "a", "b", "--json"]);
    check_form(&sandbox, "compare", &found);
    assert_eq!(found["pairs"].as_array().unwrap().len(), 3, "{found:#}");
    assert_eq!(found["left_out"].as_array().unwrap().len(), 3, "{found:#}");
    let found = sandbox.json(&["compare", "a", "b", "--anyway", "--json"]);
    assert_eq!(found["pairs"].as_array().unwrap().len(), 6, "{found:#}");
}

#[test]
fn another_file_system_is_refused() {
    let sandbox = Sandbox::new();
    let is_memory = sandbox.storage().file_system == "tmpfs";
    let Some(shm) = Sandbox::in_memory().filter(|_| !is_memory) else {
        skip("another_file_system_is_refused", "there are no two file systems");
        return;
    };
    run(&sandbox, "a", &[]);
    run(&shm, "b", &[]);
    let b = shm.path("b");
    sandbox.refuses(
        &["compare", "a", b.to_str().unwrap()],
        &["file system: ", " in A, tmpfs in B", "medium: ", "served by ("],
    );
}

#[test]
fn what_cannot_be_compared_is_refused_with_the_reason() {
    let sandbox = Sandbox::new();
    run(&sandbox, "a", &[]);
    std::fs::write(sandbox.path("text"), "hello").unwrap();
    sandbox.refuses(
        &["compare", "a", "text"],
        &["'text' is not a record", "its first line is not the header"],
    );
    sandbox.refuses(&["compare", "nothing", "a"], &["the record 'nothing'", "No such file"]);
    sandbox.refuses(&["compare", "a"], &["<B>"]);
    // The two records have no case in common.
    let memory = ["run", "memory", "--kernel=read", "--working-set=1MiB", "--isa=auto"];
    let more = ["--threads=1", "--rounds=1", "--time=1ms", "--json", "--record=m"];
    sandbox.json(&[&memory[..], &more].concat());
    sandbox.refuses(
        &["compare", "a", "m"],
        &["have nothing to compare", "only A has it", "only B has it"],
    );
    // One record has only failed trials, or no trials.
    let whole = std::fs::read_to_string(sandbox.path("a")).unwrap();
    std::fs::write(sandbox.path("none"), format!("{}\n", whole.lines().next().unwrap())).unwrap();
    sandbox.refuses(&["compare", "a", "none", "--anyway"], &["it was not run in B"]);
    let failed: Vec<String> = whole.lines().map(with_failure).collect();
    std::fs::write(sandbox.path("failed"), failed.join("\n")).unwrap();
    sandbox.refuses(&["compare", "failed", "a"], &["it failed in A: it died"]);
}

/// A line of a record; a trial becomes a failed one.
fn with_failure(line: &str) -> String {
    let mut json: Value = serde_json::from_str(line).unwrap();
    if let Some(trial) = json.get_mut("trial") {
        trial["outcome"] = json!({ "failed": { "reason": "it died" } });
    }
    json.to_string()
}

#[test]
fn a_control_measures_twice_and_says_what_can_be_decided() {
    tried(measure_with_a_control);
}

fn measure_with_a_control() {
    let sandbox = Sandbox::new();
    let report = run(&sandbox, "a", &["--control"]);
    check_form(&sandbox, "run", &report);
    let cases = report["cases"].as_array().unwrap();
    let twins: Vec<&Value> = cases.iter().filter(|case| case["role"] == "twin").collect();
    assert_eq!(twins.len(), 1, "one kind of work in one cache state: {cases:#?}");
    let id = twins[0]["id"].as_str().unwrap();
    let first = cases.iter().find(|case| format!("{} again", case["id"].as_str().unwrap()) == id);
    let first = first.expect("the case that is repeated");
    assert_eq!((&first["role"], &first["n"]), (&json!("asked"), &twins[0]["n"]));
    let control = &report["control"];
    let found = &control["comparisons"][0];
    assert_eq!((&found["case"], &found["base"]), (&json!(id), &first["id"]));
    assert_eq!(found["pairs"], first["n"]);
    assert!(control["decides"].is_f64(), "{control:#}");
    let sentence = match found["difference"].as_str().unwrap() {
        "equivalent" => "reads are repeatable: ",
        "inconclusive" => "reads are repeatable to within ",
        "different" => "reads are not repeatable: ",
        other => panic!("a difference '{other}'"),
    };
    let said = unfolded(&text(&sandbox.ioassay(&["report", "a"]).stdout));
    let twice = ", measured twice in each round, gave ";
    assert!(said.to_lowercase().contains(sentence) && said.contains(twice), "{said}");
    // Two runs with controls show how repeatable the machine is.
    run(&sandbox, "again", &["--control"]);
    let said = unfolded(&sandbox.says(&["compare", "a", "again"]));
    assert!(said.contains("cannot be decided: a record has fewer than 3 invocations"), "{said}");
    assert!(said.contains("the same case measured twice was up to"), "{said}");
    let twice = sandbox.says(&["plan", "page-latency", ".", "--control"]);
    assert!(twice.contains("measured a second time"), "{twice}");
    let sustained = ["run", "page-latency", ".", "--control", "--sustain=10s"];
    sandbox.refuses(&sustained, &["--control", "--sustain"]);
    let without = run(&sandbox, "b", &[]);
    assert_eq!(without["control"], Value::Null);
}

#[test]
fn every_finding_is_explained_in_the_words_of_the_methodology() {
    let sandbox = Sandbox::new();
    let explain = |words: &[&str]| {
        let mut command = sandbox.start(PROGRAM);
        let output = command.arg("explain").args(words).env("COLUMNS", "500").output().unwrap();
        text(&output.stdout)
    };
    let list = explain(&[]);
    let pages = std::fs::read_dir(root().join("docs/method/findings")).unwrap();
    let pages = pages.map(|page| std::fs::read_to_string(page.unwrap().path()).unwrap());
    let methodology = pages.collect::<String>();
    for code in Code::ALL {
        let line = list.lines().find(|line| line.split_whitespace().next() == Some(code.name()));
        assert!(line.is_some_and(|line| line.ends_with('.')), "{code}: {list}");
        let said = explain(&[&code.name().to_uppercase()]);
        assert!(said.starts_with(&format!("{code}\n\n")), "{said}");
        assert!(said.contains("\n\nRemedy: "), "{code} does not say what to do: {said}");
        // Without the marks of Markdown, which a terminal would show.
        let marks = ["*", "`", "†", "](", "\\", "\n#"];
        assert!(!marks.iter().any(|mark| said.contains(mark)), "{said}");
        let (_, section) = methodology.split_once(&format!("## {code}\n")).unwrap();
        let section = section.split("\n#").next().unwrap();
        let plain = section.replace(['*', '†'], "").replace('`', "'");
        for line in plain.lines().filter(|line| !line.contains(['[', ']'])) {
            let mut words = line.split_whitespace();
            assert!(words.all(|word| said.contains(word)), "{code} lacks '{line}': {said}");
        }
    }
    check_refusal(
        &sandbox.ioassay(&["explain", "nowarm"]),
        &["'nowarm' (did you mean 'NotWarm'?)"],
    );
    sandbox.refuses(&["explain", "xyz"], &["unknown finding 'xyz'", "known are CacheLeak"]);
}
