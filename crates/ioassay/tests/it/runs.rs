//! Real runs: every engine in every cache state, and their reports.

use crate::honesty::plant::tried;
use crate::sandbox::{PROGRAM, Sandbox, argument, check_refusal, skip, text};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::process::Stdio;

/// The requested cases of a report.
fn asked(report: &Value) -> Vec<&Value> {
    let cases = report["cases"].as_array().unwrap().iter();
    cases.filter(|case| case["role"] == "asked").collect()
}

/// Checks the report against the schema that `ioassay schema` prints.
fn check_form(sandbox: &Sandbox, report: &Value) {
    let schema: Value = serde_json::from_str(&sandbox.says(&["schema"])).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let wrong: Vec<String> = validator.iter_errors(report).map(|e| e.to_string()).collect();
    assert_eq!(wrong, [""; 0]);
}

/// Checks that every case was measured in every round with correct bytes.
fn check_measured(report: &Value, rounds: u64) {
    assert_eq!((&report["end"], &report["damage"]), (&json!("complete"), &json!([])));
    for case in report["cases"].as_array().unwrap() {
        assert_eq!(case["failures"], json!([]), "{case:#}");
        assert_eq!(case["n"], rounds, "{case:#}");
        if case["case"]["touch"] == "sum" {
            assert_eq!(case["digest_verified"], true, "{case:#}");
        }
    }
}

/// The first line on stderr of a run that is then stopped.
fn first_said(sandbox: &Sandbox, args: &[&str]) -> String {
    let small = ["run", args[0], ".", "--size=1MiB", "--no-ceilings"];
    first_line(sandbox, &[&small[..], &args[1..]].concat())
}

/// The same for a whole command.
fn first_line(sandbox: &Sandbox, args: &[&str]) -> String {
    let mut command = sandbox.start(PROGRAM);
    command.args(args).args(["--record=record"]).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut running = command.spawn().unwrap();
    let mut said = String::new();
    BufReader::new(running.stderr.take().unwrap()).read_line(&mut said).unwrap();
    kill_process(Pid::from_child(&running), Signal::TERM).unwrap();
    running.wait().unwrap();
    drop(std::fs::remove_file(sandbox.path("record")));
    said
}

#[test]
fn a_long_run_says_before_how_long_it_takes() {
    let sandbox = Sandbox::new();
    let said = first_said(&sandbox, &["load", "--cache=as-is", "--depth=1", "--hold=p99<1ms"]);
    assert!(
        said.starts_with("time: about ") && said.contains(" to find the rates, then "),
        "{said}"
    );
    let long = ["read-methods", "--engine=pread", "--block=4KiB", "--time=1h"];
    let said = first_said(&sandbox, &long);
    assert!(said.starts_with("time: about ") && said.contains(" on a typical machine"), "{said}");
    let short = ["read-methods", "--engine=pread", "--block=4KiB", "--time=5ms", "--rounds=1"];
    let said = first_said(&sandbox, &short);
    assert!(!said.contains("time: "), "{said}");
}

/// Also where there is no disk, so that a survey is short.
#[test]
fn a_survey_says_before_how_long_it_takes() {
    let places = [Some(Sandbox::new()), Sandbox::in_memory()];
    for sandbox in places.into_iter().flatten() {
        let said = first_line(&sandbox, &["survey", ".", "--quick"]);
        let is_told = said.starts_with("time: about ") && said.contains(" on a typical machine");
        assert!(is_told, "{}: {said}", sandbox.directory().display());
    }
}

/// A survey takes the largest files that fit, and refuses only where next to nothing is free.
#[test]
fn a_survey_where_little_is_free_has_smaller_files() {
    let test = "a_survey_where_little_is_free_has_smaller_files";
    let sandbox = Sandbox::new();
    let survey = |free: &str| {
        let script = format!(
            "mount -t tmpfs -o size={free} none . && cd \"$PWD\" && \
             exec \"$0\" survey . --quick --dry-run"
        );
        let mut command = sandbox.start("unshare");
        command.args(["-m", "sh", "-c", &script, PROGRAM]).output().unwrap()
    };
    let plenty = survey("2g");
    if text(&plenty.stderr).contains("unshare") || text(&plenty.stderr).contains("mount:") {
        return skip(test, "only root can mount a file system in a namespace");
    }
    // Its silent twin.
    assert!(plenty.stderr.is_empty(), "{plenty:?}");
    assert!(text(&plenty.stdout).contains("disk: 896 MiB"), "{plenty:?}");
    let little = survey("64m");
    let said = text(&little.stderr);
    assert!(said.starts_with("test files: 32MiB or less instead of 512MiB"), "{said}");
    assert!(text(&little.stdout).contains("disk: 56.0 MiB"), "{little:?}");
    let none = ["a survey needs 14.7 MiB of free space", "name another directory"];
    check_refusal(&survey("14m"), &none);
}

/// What one trial leaves in the device must not delay the next.
#[test]
fn trials_with_a_rate_have_a_gap_before_them() {
    let sandbox = Sandbox::new();
    let args = ["run", "read-methods", ".", "--engine=pread", "--cache=as-is", "--size=1MiB"];
    let few = ["--block=4KiB", "--threads=1", "--time=5ms", "--rounds=4", "--rate=100k"];
    sandbox.json(&[&args[..], &few, &["--record=record", "--json"]].concat());
    let record = ioassay::store::read(&sandbox.path("record")).unwrap();
    let began: Vec<u64> = record.trials.iter().map(|trial| trial.at_ms).collect();
    assert!(began.len() == 4 && began.windows(2).all(|two| two[1] - two[0] >= 105), "{began:?}");
}

#[test]
fn every_engine_reads_the_right_bytes_in_every_cache_state() {
    // The OS may take a part of a warm file back.
    tried(check_every_engine);
}

fn check_every_engine() {
    let sandbox = Sandbox::new();
    let report = sandbox.json(&[
        "run",
        "read-methods",
        ".",
        "--cache=warm,cold,direct,as-is",
        "--block=4KiB,1MiB",
        "--threads=1,3",
        "--size=4MiB",
        "--rounds=1",
        "--time=5ms",
        "--json",
        "--record=record",
    ]);
    check_form(&sandbox, &report);
    check_measured(&report, 1);
    let all = asked(&report).len() + report["skips"].as_array().unwrap().len();
    assert_eq!(all, 4 * 4 * 2 * 2);
    // A later judgement of the same record gives the same report.
    assert_eq!(sandbox.json(&["report", "--json", "record"]), report);
    // The test file is gone, the record is here, and the state folder is empty.
    assert_eq!(sandbox.things(), [argument(&sandbox.path("record"))]);

    if !sandbox.is_on_disk("every_engine_reads_the_right_bytes (what served them)") {
        return;
    }
    for engine in ["read", "pread", "mmap", "uring"] {
        for cache in ["warm", "cold", "direct"] {
            let is_this =
                |case: &&Value| case["case"]["engine"] == engine && case["case"]["cache"] == cache;
            let cases: Vec<&Value> = asked(&report).into_iter().filter(is_this).collect();
            let expected = if (engine, cache) == ("mmap", "direct") { 0 } else { 4 };
            assert_eq!(cases.len(), expected, "{engine} {cache}");
            let server = if cache == "warm" { "page-cache" } else { "device" };
            for case in cases {
                assert_eq!(case["served_by"], server, "{case:#}");
            }
        }
    }
}

#[test]
fn every_order_and_every_way_of_reading_has_the_right_bytes() {
    let sandbox = Sandbox::new();
    let common =
        ["--size=1000000B", "--rounds=1", "--time=3ms", "--json", "--record", "record", "."];
    for axes in [
        &[
            "--engine=uring",
            "--depth=1,7,32",
            "--pattern=random,sequential",
            "--threads=2",
            "--block=4KiB",
        ][..],
        &[
            "--engine=uring",
            "--submission=enter,sqpoll",
            "--depth=4",
            "--threads=1",
            "--block=4KiB",
        ],
        &[
            "--engine=pread,mmap,uring",
            "--pattern=strided",
            "--stride=3,5",
            "--threads=3",
            "--block=4KiB",
        ],
        &["--engine=pread", "--share=interleaved,contiguous", "--block=1000B", "--threads=3"],
        &["--engine=mmap", "--advice=populate,hugepage,random,sequential,willneed", "--block=4KiB"],
        &[
            "--engine=read,pread",
            "--advice=random,sequential,willneed",
            "--ops=5",
            "--threads=1",
            "--block=4KiB",
        ],
    ] {
        let axes = [&["run", "read-methods", "--cache=as-is"][..], axes].concat();
        let report = sandbox.json(&[&axes[..], &common].concat());
        check_measured(&report, 1);
        assert!(asked(&report).len() >= 2, "{axes:?}: {:#}", report["skips"]);
        std::fs::remove_file(sandbox.path("record")).unwrap();
    }
}

#[test]
fn what_did_not_look_at_the_bytes_says_so() {
    let sandbox = Sandbox::new();
    let args = ["--touch=none,page", "--size=1MiB", "--rounds=1", "--time=1ms", "--cache=as-is"];
    let run = ["run", "read-methods", ".", "--engine=pread", "--threads=1", "--json"];
    let report = sandbox.json(&[&run[..], &args].concat());
    for case in asked(&report) {
        assert_eq!(case["digest_verified"], Value::Null, "{case:#}");
    }
    let args = ["--engine=null", "--touch=none", "--cache=as-is", "--threads=1", "--block=4KiB"];
    let run = ["run", "read-methods", ".", "--size=1MiB", "--rounds=1", "--time=1ms", "--json"];
    let report = sandbox.json(&[&run[..], &args].concat());
    check_measured(&report, 1);
    check_form(&sandbox, &report);
}

#[test]
fn seven_rounds_have_an_interval_and_fewer_have_none() {
    let sandbox = Sandbox::new();
    for (rounds, has_interval) in [("7", true), ("3", false)] {
        let args = ["run", "page-latency", ".", "--size=1MiB", "--time=2ms", "--ops=50", "--json"];
        let more = ["--cache=as-is", "--pattern=random", "--rounds", rounds];
        let report = sandbox.json(&[&args[..], &more].concat());
        check_form(&sandbox, &report);
        for case in asked(&report) {
            assert_eq!(case["n"].to_string(), rounds, "{case:#}");
            assert_eq!(case["throughput"]["low"].is_null(), !has_interval, "{case:#}");
            let codes = case["findings"].as_array().unwrap().iter();
            let is_few = codes.map(|finding| &finding["code"]).any(|code| code == "TooFew");
            assert_eq!(is_few, !has_interval, "{case:#}");
        }
    }
}

#[test]
fn in_memory_every_row_says_ram() {
    let test = "in_memory_every_row_says_ram";
    let Some(sandbox) = Sandbox::in_memory() else { return skip(test, "there is no /dev/shm") };
    let args = ["--size=2MiB", "--rounds=1", "--time=2ms", "--threads=1,2", "--json"];
    let run = ["run", "read-methods", ".", "--block=4KiB,1MiB"];
    let report = sandbox.json(&[&run[..], &args].concat());
    check_form(&sandbox, &report);
    check_measured(&report, 1);
    for case in report["cases"].as_array().unwrap() {
        let axes = &case["case"];
        let moves_no_file = axes["engine"].is_null() || axes["engine"] == "null";
        if !moves_no_file {
            assert_eq!(case["served_by"], "ram", "{case:#}");
        }
    }
    let skips = report["skips"].as_array().unwrap();
    let cold: Vec<&Value> = skips.iter().filter(|skip| skip["case"]["cache"] == "cold").collect();
    assert_eq!(cold.len(), 4 * 2 * 2);
    for skip in cold {
        let reason = skip["reason"].as_str().unwrap();
        assert!(reason.contains("tmpfs keeps its files in memory"), "{reason}");
    }
    assert_eq!(sandbox.things().len(), 2, "the record and its folder: {:?}", sandbox.things());
}

/// The cache state of a copy is that of its source, wherever it is copied to.
#[test]
fn a_copy_from_a_disk_into_memory_is_measured() {
    let test = "a_copy_from_a_disk_into_memory_is_measured";
    let Some(memory) = Sandbox::in_memory() else { return skip(test, "there is no /dev/shm") };
    let recipe = "name = 'copies'\nquestion = '?'\nsize = '1MiB'\nrounds = 1\ninvocations = 1\n\
                  ceilings = false\n[[cases]]\nop = 'copy'\nengine = 'sendfile'\n\
                  block = '64KiB'\nallocation = 'none'\nsync = 'none'\ncache = ['cold', 'warm']\n";
    let disk = Sandbox::new();
    std::fs::write(disk.path("copies.toml"), recipe).unwrap();
    let (recipe, source) = (disk.path("copies.toml"), disk.path("."));
    let args = ["run", argument(&recipe), ".", "--source", argument(&source), "--json"];
    let report = memory.json(&args);
    if report["source_storage"]["medium"] != "block" {
        return skip(test, "the sandbox is not on a disk");
    }
    assert_eq!(report["skips"], serde_json::json!([]));
    for case in report["cases"].as_array().unwrap() {
        assert_eq!(case["served_by"], "ram", "{case:#}");
        let ram = case["findings"].as_array().unwrap().iter().find(|it| it["code"] == "Ram");
        assert_eq!(ram.expect("its target is in memory")["severity"], "note", "{case:#}");
        assert!(!case["findings"].to_string().contains("CacheLeak"), "{case:#}");
    }
}

#[test]
fn a_file_that_is_to_be_kept_is_kept_and_holds_the_data_of_the_seed() {
    for sandbox in [Some(Sandbox::new()), Sandbox::in_memory()].into_iter().flatten() {
        let args = ["--size=1MiB", "--rounds=1", "--time=1ms", "--cache=as-is", "--record=record"];
        let run = ["run", "page-latency", ".", "--keep", "--json"];
        let output = sandbox.ioassay(&[&run[..], &args].concat());
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(matches!(output.status.code(), Some(0 | 1)), "{said}");
        let kept = said.lines().find_map(|line| line.strip_prefix("kept: ")).unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let seed = report["seed"].to_string();
        sandbox.says(&["data", "verify", kept, "--seed", &seed]);
        assert_eq!(sandbox.things().len(), 2, "{:?}", sandbox.things());
        std::fs::remove_file(sandbox.path(kept)).unwrap();
        assert_eq!(sandbox.things(), [argument(&sandbox.path("record"))]);
    }
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn every_recipe_of_the_program_runs_and_is_told_as_text() {
    let sandbox = Sandbox::new();
    let args = [".", "--size=1MiB", "--rounds=1", "--time=1ms", "--threads=1", "--color=never"];
    for (recipe, words) in
        [("survey", "memory"), ("page-latency", "p50"), ("read-methods", "pread")]
    {
        let output = sandbox.ioassay(&[&["run", recipe][..], &args].concat());
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(matches!(output.status.code(), Some(0 | 1)), "{recipe}: {said}");
        assert!(said.contains(words), "{said}");
        assert!(!said.contains('\u{1b}'), "there is colour in a pipe");
        // A command is on one line, however long, so that it can be copied.
        for line in said.lines().filter(|line| !line.starts_with("again ")) {
            assert!(line.chars().count() <= 120, "a line is too long for a pipe: {line}");
        }
    }
}

#[test]
fn colour_is_used_where_it_is_asked_for() {
    let sandbox = Sandbox::new();
    let run = ["run", "read-methods", ".", "--size=1MiB", "--rounds=1", "--time=1ms"];
    let axes = ["--threads=1", "--engine=pread", "--cache=as-is", "--color=always"];
    let output = sandbox.ioassay(&[&run[..], &axes].concat());
    assert!(output.stdout.contains(&0x1b), "{output:?}");
}

/// Each thread has its own files, and the reported times fit into the elapsed time.
#[test]
fn many_threads_have_their_files_and_no_more_time_than_there_was() {
    let sandbox = Sandbox::new();
    std::fs::write(
        sandbox.path("many.toml"),
        "name = \"many\"\nquestion = \"How are many?\"\n\
         [[cases]]\nengine = \"pread\"\ncache = \"as-is\"\n\
         threads = [1, 60]\nblock = \"4KiB\"\ntime = \"60ms\"\n[[cases]]\nengine = \"null\"\n",
    )
    .unwrap();
    let mut limited = sandbox.start("sh");
    limited.args(["-c", "ulimit -Sn 64 && exec \"$0\" \"$@\"", PROGRAM, "run", "many.toml", "."]);
    limited.arg("--no-ceilings");
    limited.args(["--size=1MiB", "--rounds=1", "--json", "--quiet"]);
    let output = limited.output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {output:?}"));
    check_measured(&report, 1);
    for case in asked(&report) {
        let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{case:#}"));
        let threads = number(&case["case"]["threads"]);
        let spent = &case["spent"];
        // The worker's coordinating thread runs for a moment, which is long on a busy machine. Time
        // that is counted twice would be 2 processors for one thread.
        assert!(number(&spent["processors"]) <= threads * 1.05 + 0.5, "{case:#}");
        assert!((0.0..=1.0).contains(&number(&spent["blocked_share"])), "{case:#}");
        assert_eq!(case["start_skew_ns"].is_null(), threads == 1.0, "{case:#}");
    }
}
