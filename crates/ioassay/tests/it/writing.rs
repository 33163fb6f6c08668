//! Real runs that write: the file contents afterwards, durability, and errors.

use crate::mounts::{self, Mounted, PLAIN, Setup};
use crate::sandbox::{Sandbox, argument, skip, wait_for};
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Stdio};

/// The requested cases of a report that write.
fn writes(report: &Value) -> Vec<&Value> {
    let cases = report["cases"].as_array().unwrap().iter();
    cases.filter(|case| case["role"] == "asked" && case["case"]["op"].is_string()).collect()
}

/// The codes of the findings on a case.
fn codes(case: &Value) -> Vec<&str> {
    let findings = case["findings"].as_array().unwrap();
    findings.iter().map(|finding| finding["code"].as_str().unwrap()).collect()
}

/// Writes a recipe with `groups` and measures it with `args`.
fn measure(sandbox: &Sandbox, groups: &str, args: &[&str]) -> Value {
    let head = "name = \"mine\"\nquestion = \"?\"\nsize = \"4MiB\"\nrounds = 1\ntime = \"5s\"\n";
    std::fs::write(sandbox.path("mine.toml"), format!("{head}{groups}")).unwrap();
    let mut all = vec!["run", "mine.toml", "--json", "--record", "record"];
    all.extend(args);
    let report = sandbox.json(&all);
    std::fs::remove_file(sandbox.path("record")).unwrap();
    std::fs::remove_file(sandbox.path("mine.toml")).unwrap();
    report
}

/// Checks that the written data was read back correctly in every round.
fn check_read_back(report: &Value) {
    let schema = report["cases"].as_array().unwrap();
    assert!(!schema.is_empty() && report["end"] == "complete");
    for case in writes(report) {
        assert_eq!(case["failures"], json!([]), "{case:#}");
        if case["case"]["op"] != "sync" {
            assert_eq!(case["writing"]["read_back_verified"], true, "{case:#}");
        }
    }
}

/// The run has cached the file itself, in folios that slow small writes down.
#[test]
fn overwritten_files_are_evicted_unless_their_writes_would_read() {
    let sandbox = Sandbox::new();
    let group = |case: &str| {
        format!(
            "[[cases]]\nop = \"write\"\nallocation = \"overwrite\"\nsync = \"fdatasync\"\nops = 8\n\
             pattern = \"random\"\n{case}\n"
        )
    };
    let whole = "engine = [\"pwrite\", \"uring\"]\nblock = \"64KiB\"";
    let groups = [whole, "engine = \"mmap\"\nblock = \"64KiB\"", "block = 1000"].map(group);
    std::fs::write(
        sandbox.path("mine.toml"),
        format!("name = \"mine\"\nquestion = \"?\"\nsize = \"4MiB\"\n{}", groups.concat()),
    )
    .unwrap();
    sandbox.judges(&["run", "mine.toml", "--rounds=2", "--record", "record"]);
    let record = std::fs::read_to_string(sandbox.path("record")).unwrap();
    let lines = record.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let cached = lines.filter_map(|line| {
        let (trial, evidence) = (&line["trial"], &line["trial"]["evidence"]);
        Some((trial["case"].as_u64()?, evidence["residency_before"]["cached"].as_u64()?))
    });
    let cached: Vec<(u64, u64)> = cached.collect();
    assert_eq!(cached.len(), 8, "{cached:?}");
    for (case, cached) in cached {
        assert_eq!(cached == 0, case < 2, "case {case}: {cached} pages were cached");
    }
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn atomic_writes_are_measured_only_where_the_storage_promises_them() {
    let sandbox = Sandbox::new();
    let report = measure(
        &sandbox,
        r#"
        [[cases]]
        op = "write"
        engine = ["pwrite", "uring"]
        cache = "direct"
        block = "4KiB"
        ops = 16
        atomic = ["no", "yes"]
        "#,
        &[],
    );
    let told = &report["storage"]["atomic"];
    let offers = |size: &str| told[size].as_u64().unwrap_or(0);
    let is_offered = offers("most") >= 4096 && offers("least") <= 4096;
    let is_atomic = |case: &Value| case["case"]["atomic"] == "yes";
    let atomic: Vec<_> = writes(&report).into_iter().filter(|case| is_atomic(case)).collect();
    let skips: Vec<_> = report["skips"].as_array().unwrap().iter().collect();
    assert_eq!((atomic.len(), skips.len()), if is_offered { (2, 0) } else { (0, 2) }, "{told}");
    for skip in skips {
        assert!(is_atomic(skip), "{skip:#}");
        let reason = skip["reason"].as_str().unwrap();
        assert!(reason.contains("statx"), "{reason}");
    }
    check_read_back(&report);
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn every_way_to_write_leaves_the_right_bytes() {
    let sandbox = Sandbox::new();
    let report = measure(
        &sandbox,
        r#"
        [[cases]]
        op = "write"
        engine = ["write", "pwrite", "buffered", "mmap", "uring"]
        allocation = ["none", "fallocate", "overwrite", "append"]
        sync = ["none", "fdatasync", "fsync", "dsync", "msync", "sync-file-range"]
        block = "256KiB"
        ops = "all"
        [[cases]]
        op = "write"
        engine = ["write", "pwrite", "buffered", "mmap", "uring"]
        allocation = ["fallocate", "append"]
        sync = ["fdatasync", "msync"]
        every = 3
        block = "1MiB"
        ops = "all"
        [[cases]]
        op = "write"
        engine = ["pwrite", "uring"]
        cache = ["as-is", "direct"]
        pattern = ["random", "strided"]
        allocation = "fallocate"
        threads = 3
        depth = [1, 8]
        ops = "all"
        size = "1MiB"
        block = "4KiB"
        [[cases]]
        op = "write"
        allocation = "overwrite"
        fill = ["constant", "zero"]
        ops = "all"
        [[cases]]
        op = "copy"
        engine = ["write", "uring", "copy-file-range", "sendfile", "splice"]
        cache = ["warm", "cold", "direct"]
        block = "64KiB"
        [[cases]]
        op = "write"
        engine = ["pwrite", "mmap", "buffered"]
        block = "1B"
        pattern = "strided"
        stride = 4096
        ops = "lane"
        allocation = "overwrite"
        cache = ["warm", "cold"]
        [[cases]]
        op = "sync"
        allocation = "overwrite"
        sync = ["fsync", "fdatasync"]
        time = "20ms"
        "#,
        &["."],
    );
    check_read_back(&report);
    assert!(writes(&report).len() > 90, "{} cases", writes(&report).len());
    // Neither written nor copied files remain.
    assert_eq!(sandbox.things(), [""; 0]);
}

/// A sandbox on a new file system of this `kind`. Returns `None`, and reports the skipped test, if
/// that is impossible.
fn sandbox_on(kind: &str, test: &str, setup: &Setup) -> Option<(Mounted, Sandbox)> {
    if !mounts::is_root(test) {
        return None;
    }
    // Not on tmpfs, where the loop device would have no direct I/O.
    let image = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    match Mounted::on_loop(image, kind, setup) {
        Ok(mounted) => {
            let sandbox = Sandbox::on(&mounted.point);
            Some((mounted, sandbox))
        }
        Err(reason) => {
            skip(test, &format!("{kind}: {reason}"));
            None
        }
    }
}

/// Checks that a survey and each recipe that writes run on `kind`, and that every durable case
/// flushed.
fn check_recipes_on(kind: &str) {
    let test = format!("the_recipes_that_write_run_on {kind}");
    let setup = Setup { size: 512 << 20, ..PLAIN };
    let Some((_mounted, sandbox)) = sandbox_on(kind, &test, &setup) else { return };
    for (recipe, size) in
        [("write-strategies", "64MiB"), ("sync-latency", "8MiB"), ("touch-pages", "8MiB")]
    {
        let axes = ["--size", size, "--time", "50ms", "--rounds", "1"];
        let block = ["--block=4KiB"];
        let mut args = vec!["run", recipe, ".", "--json", "--record", "record"];
        args.extend(axes);
        if recipe == "sync-latency" {
            args.extend(block);
        }
        let report = sandbox.json(&args);
        std::fs::remove_file(sandbox.path("record")).unwrap();
        check_read_back(&report);
        check_durable_is_flushed(&report, kind);
    }
    assert_eq!(sandbox.things(), [""; 0]);
}

/// Checks each durability claim against the device counters.
fn check_durable_is_flushed(report: &Value, kind: &str) {
    let mut durable = 0;
    for case in writes(report) {
        let writing = &case["writing"];
        if writing["durable"].is_null() {
            continue;
        }
        durable += 1;
        let flushes = writing["flushes_per_trial"].as_u64().unwrap();
        assert!(flushes >= 1, "{kind}: {case:#}");
        let sync = case["case"]["sync"].as_str().unwrap();
        assert!(["fdatasync", "fsync", "dsync", "msync"].contains(&sync), "{kind}: {case:#}");
    }
    assert!(durable > 0, "{kind}: nothing was durable");
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn the_recipes_that_write_run_on_ext4() {
    check_recipes_on("ext4");
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn the_recipes_that_write_run_on_xfs() {
    check_recipes_on("xfs");
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn the_recipes_that_write_run_on_btrfs() {
    check_recipes_on("btrfs");
}

/// One case with a sync at its end.
const SYNCED: &str = "[[cases]]\nop = \"write\"\n";

#[test]
fn a_sync_that_flushes_nothing_is_not_durable() {
    let test = "a_sync_that_flushes_nothing_is_not_durable";
    for (options, is_durable) in [("barrier=0", false), ("barrier=1", true)] {
        let setup = Setup { mount: options, size: 128 << 20, ..PLAIN };
        let Some((_mounted, sandbox)) = sandbox_on("ext4", test, &setup) else { return };
        let groups = format!("{SYNCED}sync = [\"fdatasync\", \"fsync\", \"dsync\"]\n");
        let report = measure(&sandbox, &groups, &["."]);
        assert_eq!(writes(&report).len(), 3);
        for case in writes(&report) {
            assert_eq!(codes(case).contains(&"NotDurable"), !is_durable, "{options}: {case:#}");
            assert_eq!(case["writing"]["durable"].is_null(), !is_durable, "{options}: {case:#}");
        }
    }
}

/// What one sync at the end makes durable is written once.
#[test]
fn what_is_overwritten_before_its_sync_is_not_durable() {
    let sandbox = Sandbox::new();
    let groups = format!(
        "{SYNCED}allocation = \"overwrite\"\nblock = \"64KiB\"\nevery = [0, 16, 1000000]\n"
    );
    let report = measure(&sandbox, &groups, &[".", "--time", "1s", "--invocations", "1"]);
    check_read_back(&report);
    for case in writes(&report) {
        let is_durable = case["case"]["every"] != 1_000_000;
        assert_eq!(codes(case).contains(&"NotDurable"), !is_durable, "{case:#}");
        assert_eq!(case["writing"]["durable"].is_null(), !is_durable, "{case:#}");
        assert!(!case["writing"]["acknowledged"].is_null(), "{case:#}");
    }
}

/// A writer that sleeps until its next write is due is held back by nobody, and a commit takes its
/// response time, not the time between two.
#[test]
fn a_pause_is_no_throttle_and_a_rate_no_duration() {
    let sandbox = Sandbox::new();
    let line = "run sync-latency . --op write --engine pwrite --allocation overwrite --cache as-is \
                --pattern sequential --block 4KiB --sync fdatasync --sync-every 1 --rate 100 \
                --time 500ms --size 4MiB --invocations 1 --rounds 7";
    let words: Vec<&str> = line.split_whitespace().collect();
    let report = sandbox.json(&[&words[..], &["--json"]].concat());
    let case = writes(&report)[0];
    assert!(!codes(case).contains(&"ThrottledWriteback"), "{case:#}");
    assert!(case["ns_per_op"].is_null() && !case["open"]["response_ns"]["p50"].is_null());
    let said = sandbox.judges(&words);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("A commit, from when it was due until it was durable: "), "{said}");
    assert!(!said.contains("on average"), "{said}");
}

/// Consecutive trials in one file, with a read-back of the last one.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_sustained_run_goes_on_until_it_is_steady_or_its_time_is_over() {
    let sandbox = Sandbox::new();
    let groups = "[[cases]]\nop = \"write\"\nallocation = \"overwrite\"\nevery = 1\n";
    let report = measure(&sandbox, groups, &[".", "--sustain", "11s"]);
    check_read_back(&report);
    assert_eq!(report["sustain_s"], 11.0);
    let case = writes(&report)[0];
    // Only the case itself: no ceilings between its trials.
    assert_eq!(report["cases"].as_array().unwrap().len(), 1);
    assert!(matches!(case["n"].as_u64(), Some(1 | 2)), "{case:#}");
    assert!(!codes(case).contains(&"TooFew"), "{case:#}");
    assert!(case["course"]["rates"].as_array().unwrap().len() >= 10, "{case:#}");
    sandbox
        .refuses(&["run", "sync-latency", ".", "--sustain", "1s"], &["--sustain needs at least"]);
}

#[test]
fn zeros_that_are_compressed_are_told() {
    let test = "zeros_that_are_compressed_are_told";
    let setup = Setup { mount: "compress=zstd", size: 512 << 20, ..PLAIN };
    let Some((_mounted, sandbox)) = sandbox_on("btrfs", test, &setup) else { return };
    let groups = format!("{SYNCED}size = \"32MiB\"\nfill = [\"random\", \"zero\", \"constant\"]\n");
    let report = measure(&sandbox, &groups, &["."]);
    for case in writes(&report) {
        let is_random = case["case"]["fill"] == "random";
        assert_eq!(codes(case).contains(&"Compressed"), !is_random, "{case:#}");
    }
}

#[test]
fn a_disk_that_is_nearly_full_is_told() {
    let test = "a_disk_that_is_nearly_full_is_told";
    let setup = Setup { size: 128 << 20, ..PLAIN };
    let Some((_mounted, sandbox)) = sandbox_on("ext4", test, &setup) else { return };
    let is_found = |report: &Value| codes(writes(report)[0]).contains(&"NearlyFull");
    assert!(!is_found(&measure(&sandbox, SYNCED, &["."])));
    mounts::file(&sandbox.path("filler"), 90 << 20);
    assert!(is_found(&measure(&sandbox, SYNCED, &["."])));
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn no_space_in_the_middle_is_a_failed_trial_in_a_whole_record() {
    let test = "no_space_in_the_middle_is_a_failed_trial";
    let setup = Setup { size: 160 << 20, ..PLAIN };
    let Some((_mounted, sandbox)) = sandbox_on("ext4", test, &setup) else { return };
    std::fs::write(
        sandbox.path("mine.toml"),
        "name = \"mine\"\nquestion = \"?\"\nsize = \"64MiB\"\nrounds = 40\ntime = \"8s\"\n\
         precision = 0.0\n[[cases]]\nop = \"write\"\nblock = \"16KiB\"\nsync = \"dsync\"\n",
    )
    .unwrap();
    let before = used(sandbox.directory());
    // The record is on another file system, where the disk filler cannot take its space.
    let record = sandbox.state().join("record");
    let mut run = sandbox.start(crate::sandbox::PROGRAM);
    let args = ["run", "mine.toml", ".", "--json", "--rounds", "3", "--record", argument(&record)];
    let run = run.args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Fills the disk during a trial, which is slow because every block is synced.
    wait_for("a trial", || {
        let is_written = used(sandbox.directory()) > before + (4 << 20);
        is_written.then_some(())
    });
    let filled = fill(&sandbox.path("filler"));
    let output = run.wait_with_output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let failures = writes(&report)[0]["failures"].to_string();
    assert!(filled > 0 && failures.contains("No space left on device"), "{failures}");
    assert!(failures.contains("written"), "{failures}");
    assert_eq!((&report["end"], &report["damage"]), (&json!("complete"), &json!([])));
    std::fs::remove_file(sandbox.path("filler")).unwrap();
    let left: Vec<String> = sandbox.things();
    let recipe = sandbox.path("mine.toml");
    let mut expected = [argument(&recipe), argument(&record)];
    expected.sort_unstable();
    assert_eq!(left, expected);
}

/// The used bytes of the file system of `directory`.
fn used(directory: &Path) -> u64 {
    let space = rustix::fs::statvfs(directory).unwrap();
    (space.f_blocks - space.f_bfree) * space.f_frsize
}

/// Fills the file system of `path` at once and returns the number of bytes it took.
fn fill(path: &Path) -> u64 {
    use rustix::fs::{FallocateFlags, fallocate};
    let file = std::fs::File::create_new(path).unwrap();
    let mut size = 0;
    for chunk in [8 << 20, 64 << 10, 4 << 10] {
        while fallocate(&file, FallocateFlags::empty(), size, chunk).is_ok() {
            size += chunk;
        }
    }
    size
}

#[test]
fn a_file_system_that_is_read_only_is_refused() {
    let test = "a_file_system_that_is_read_only_is_refused";
    let Some((mounted, sandbox)) = sandbox_on("ext4", test, &PLAIN) else { return };
    let place = argument(&mounted.point);
    mounts::run("mount", &["-o", "remount,ro", place]).unwrap();
    let other = Sandbox::new();
    other.refuses(
        &["run", "write-strategies", place, "--size", "1MiB"],
        &["Read-only file system", place],
    );
    mounts::run("mount", &["-o", "remount,rw", place]).unwrap();
    drop(sandbox);
}

/// The program under strace, which injects `fault`. Returns `None`, and reports the skipped test,
/// without strace.
fn with_fault(sandbox: &Sandbox, test: &str, fault: &str) -> Option<Command> {
    let mut command = sandbox.start("strace");
    let inject = format!("inject={fault}");
    command.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=pwrite64,fdatasync", "-e"]);
    command.arg(inject).arg(crate::sandbox::PROGRAM);
    let works = Command::new("strace").arg("-V").output().is_ok();
    if !works {
        skip(test, "there is no strace");
    }
    works.then_some(command)
}

/// The result of writing 4 MiB in 64 KiB blocks with a `fault`.
fn case_with_fault(test: &str, fault: &str) -> Option<Value> {
    let sandbox = Sandbox::new();
    let mut command = with_fault(&sandbox, test, fault)?;
    std::fs::write(
        sandbox.path("mine.toml"),
        "name = \"mine\"\nquestion = \"?\"\nsize = \"4MiB\"\nrounds = 1\ntime = \"20s\"\n\
         [[cases]]\nop = \"write\"\nblock = \"64KiB\"\n",
    )
    .unwrap();
    let args = ["run", "mine.toml", ".", "--json", "--record", "record"];
    let output = command.args(args).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {output:?}"));
    Some(writes(&report)[0].clone())
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn an_error_of_the_os_is_a_failed_trial_that_names_it() {
    let test = "an_error_of_the_os_is_a_failed_trial_that_names_it";
    for (fault, expected) in [
        ("pwrite64:error=EIO:when=20", ["pwrite", "Input/output error"]),
        ("fdatasync:error=EIO:when=1", ["fdatasync", "Input/output error"]),
        ("pwrite64:error=EDQUOT:when=3", ["pwrite", "quota"]),
    ] {
        let Some(case) = case_with_fault(test, fault) else { return };
        let failures = case["failures"].to_string();
        for expected in expected {
            assert!(failures.contains(expected), "{fault}: {failures}");
        }
        assert_eq!(case["verdict"], "failed", "{fault}");
    }
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_write_that_was_interrupted_is_made_again() {
    let test = "a_write_that_was_interrupted_is_made_again";
    let fault = "pwrite64:error=EINTR:when=3";
    let Some(case) = case_with_fault(test, fault) else { return };
    assert_eq!((&case["failures"], &case["n"]), (&json!([]), &json!(1)), "{case:#}");
    assert_eq!(case["writing"]["read_back_verified"], true);
}

/// An OS that claims a write that did not happen.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_write_that_is_lost_is_found() {
    let test = "a_write_that_is_lost_is_found";
    let Some(case) = case_with_fault(test, "pwrite64:retval=65536:when=7") else { return };
    assert_eq!(case["writing"]["read_back_verified"], false, "{case:#}");
    assert_eq!((&case["verdict"], codes(&case)[0]), (&json!("void"), "DigestMismatch"));
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn dd_writes_beside_it() {
    let sandbox = Sandbox::new();
    let report = measure(
        &sandbox,
        "[[cases]]\nop = \"write\"\nengine = \"write\"\npeer = [\"rust\", \"dd\"]\n\
         fill = \"zero\"\nsync = [\"none\", \"fdatasync\", \"fsync\", \"dsync\"]\n",
        &["."],
    );
    check_read_back(&report);
    assert_eq!(writes(&report).len(), 8);
    for case in writes(&report).iter().filter(|case| case["case"]["peer"] == "dd") {
        let is_synced = case["case"]["sync"] != "none";
        assert_eq!(!case["writing"]["durable"].is_null(), is_synced, "{case:#}");
    }
}

/// The number of operations decides, not the time, so a slow disk has the same share.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_cache_serves_of_a_skewed_load_what_fits() {
    let test = "a_cache_serves_of_a_skewed_load_what_fits";
    let sandbox = Sandbox::new();
    if !mounts::is_root(test) || !sandbox.is_on_disk(test) {
        return;
    }
    let recipe = "name = \"skew\"\nquestion = \"q\"\nsize = \"128MiB\"\nrounds = 1\n\
                  ceilings = false\n[[cases]]\nengine = \"pread\"\ncache = \"as-is\"\n\
                  pattern = \"zipf\"\ntheta = [0.5, 1, 1.5]\nblock = \"8KiB\"\n\
                  advice = \"random\"\nops = 50000\ntime = \"10min\"\n";
    std::fs::write(sandbox.path("skew.toml"), recipe).unwrap();
    let report = sandbox.json(&["run", "skew.toml", ".", "--memory=32MiB", "--json"]);
    let cases = report["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 3);
    let mut before = 0.0;
    for case in cases {
        let share = |name: &str| case[name].as_f64().unwrap();
        let (hits, most) = (share("hit_share"), share("cacheable_share"));
        assert!(hits > most / 2.0 && hits < most, "{hits} of {most}");
        assert!(most > before && most < 1.0, "the more skewed, the more of it is cached: {most}");
        assert_eq!(case["digest_verified"], true);
        before = most;
    }
}

#[test]
fn a_file_larger_than_the_memory_given_is_not_cached() {
    let test = "a_file_larger_than_the_memory_given_is_not_cached";
    let sandbox = Sandbox::new();
    if !mounts::is_root(test) || !sandbox.is_on_disk(test) {
        return;
    }
    const FILE: u64 = 160 << 20;
    const GIVEN: u64 = 64 << 20;
    // Two equal runs, with and without the limit.
    for is_limited in [true, false] {
        let mut args = vec!["run", "page-latency", ".", "--size=160MiB", "--block=1MiB"];
        args.extend(["--cache=cold", "--pattern=sequential", "--rounds=1", "--record=record"]);
        args.extend(["--engine=pread", "--ops=0", "--json"]);
        args.extend(is_limited.then_some("--memory=64MiB"));
        let report = sandbox.json(&args);
        let limit = if is_limited { json!(GIVEN) } else { Value::Null };
        assert_eq!(report["memory_limit"], limit);
        let record = std::fs::read_to_string(sandbox.path("record")).unwrap();
        std::fs::remove_file(sandbox.path("record")).unwrap();
        let lines = record.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        // Only the cold trial reads the whole file into an empty page cache.
        let cached = lines.filter_map(|line| {
            let evidence = &line["trial"]["evidence"];
            let is_cold = evidence["residency_before"]["cached"] == 0;
            is_cold.then(|| evidence["residency_after"]["cached"].as_u64())?
        });
        let most = cached.max().unwrap() * 4096;
        assert_eq!(most > GIVEN, !is_limited, "{most} of {FILE} bytes were cached");
    }
}
