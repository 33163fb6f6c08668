//! Names of files: each call on real directories, and what is proved of it.

use crate::cluster::{self, APART, on_b, report};
use crate::honesty::plant::{
    Neighbour, Planted, alone_with_names, asked, check_found, check_served, check_silent, finish,
    measure, only, plainly, quiet, start, tried,
};
use crate::hosts::{Desk, is_possible};
use crate::mounts::{Mounted, PLAIN, Setup, is_root};
use crate::sandbox::{Sandbox, skip, text, wait_for};
use serde_json::Value;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Every call, in both kinds of directories.
const CALLS: &str = r#"
[axes]
directories = ["own", "shared"]
entries = 500
threads = 2
time = "100ms"
[[cases]]
call = ["create", "stat", "open", "readdir", "rename", "unlink"]
[[cases]]
call = ["create", "rename", "unlink"]
sync = "fsync"
"#;

/// What is wrong with names or the files of a run, whatever the machine does.
const FAULTS: &[&str] = &["DigestMismatch", "BytesUnchecked", "FailedTrials"];

/// The OS counts all names together, so a program that uses many disturbs single cases.
const ATTEMPTS: u32 = 10;

/// Measures until each requested case, which never has [`FAULTS`], has passed `check` once. A fault
/// fails it each time.
fn each_once(measure: impl Fn() -> Value, check: impl Fn(&Value)) {
    let mut passed = BTreeSet::new();
    for attempt in 1..=ATTEMPTS {
        let report = measure();
        let cases = asked(&report);
        for case in &cases {
            check_silent(case, FAULTS);
            let id = case["id"].to_string();
            if passed.contains(&id) {
                continue;
            }
            if attempt == ATTEMPTS {
                check(case);
            }
            if catch_unwind(AssertUnwindSafe(|| check(case))).is_ok() {
                passed.insert(id);
            }
        }
        if passed.len() == cases.len() {
            return;
        }
        eprintln!("{} of {} cases passed, and are not tried again", passed.len(), cases.len());
    }
}

/// The folders of runs, with what is in them.
fn folders(sandbox: &Sandbox) -> Vec<String> {
    let mut things = sandbox.things();
    things.retain(|name| name.contains("ioassay-run-"));
    things
}

fn check_empty(sandbox: &Sandbox) {
    assert_eq!(folders(sandbox), [""; 0]);
}

fn is_of(case: &Value, axis: &str, value: &str) -> bool {
    case["case"][axis] == value
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn each_call_is_proved_and_leaves_nothing() {
    let _alone = alone_with_names();
    let sandbox = Sandbox::new();
    let report = measure(&sandbox, plainly(&sandbox), CALLS, &["."]);
    let cases = asked(&report);
    assert_eq!(cases.len(), 18, "{:#}", report["skips"]);
    for case in cases {
        check_silent(case, FAULTS);
        assert_eq!(case["digest_verified"], true, "{case:#}");
        assert_eq!(case["throughput"], Value::Null, "it moves no bytes: {case:#}");
        assert!(case["iops"]["median"].as_f64().is_some_and(|rate| rate > 0.0), "{case:#}");
    }
    check_empty(&sandbox);
}

/// A file system of the test's own has a journal, so it uses inodes again; its devices are seen.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn what_served_names_on_a_disk() {
    let test = "what_served_names_on_a_disk";
    let Some(planted) = Planted::on_loop(test, "ext4", &PLAIN) else { return };
    let sandbox = &planted.sandbox;
    let measured = || {
        let _quiet = quiet();
        let _alone = alone_with_names();
        let report = measure(sandbox, plainly(sandbox), CALLS, &["."]);
        assert_eq!(report["storage"]["journal"], true, "{:#}", report["storage"]);
        report
    };
    each_once(measured, |case| {
        check_silent(case, &["InodesHeld", "NotDurable", "NotWarm"]);
        let changes = !["stat", "open", "readdir"].iter().any(|it| is_of(case, "call", it));
        match (changes, is_of(case, "sync", "fsync")) {
            (true, true) => check_served(case, "device"),
            (true, false) => check_served(case, "page-cache"),
            (false, _) if is_of(case, "call", "readdir") => check_served(case, "page-cache"),
            (false, _) => check_served(case, "name-cache"),
        }
    });
    let off = Setup { mount: "nobarrier", ..PLAIN };
    let Some(planted) = Planted::on_loop(test, "ext4", &off) else { return };
    let groups =
        "[[cases]]\ncall = \"unlink\"\nsync = \"fsync\"\nentries = 200\ntime = \"100ms\"\n";
    let report = measure(&planted.sandbox, plainly(&planted.sandbox), groups, &["."]);
    check_found(only(&report), "NotDurable", "void", &["flushes nothing"]);
}

/// Cold names need a control group of this machine, or other hosts.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn cold_names_were_in_no_cache() {
    let test = "cold_names_were_in_no_cache";
    if !is_root(test) {
        return;
    }
    let groups = "[[cases]]\ncall = [\"stat\", \"open\", \"rename\", \"unlink\"]\n\
                  cache = \"cold\"\n\
                  entries = 2000\n";
    let measured = || {
        let _alone = alone_with_names();
        let sandbox = Sandbox::new();
        let report = measure(&sandbox, plainly(&sandbox), groups, &["."]);
        check_empty(&sandbox);
        report
    };
    each_once(measured, |case| {
        check_silent(case, &["CacheLeak", "CountersUnseen"]);
        assert!(case["names"]["brought_share"].as_f64().unwrap() > 0.9, "{case:#}");
        assert_ne!(case["served_by"], "name-cache", "{case:#}");
    });
}

/// The OS's cache has two names there for each that is used.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn cold_names_of_an_overlay_were_in_no_cache() {
    let test = "cold_names_of_an_overlay_were_in_no_cache";
    let layers = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let Some(planted) = Planted::new(test, || Mounted::overlay(layers, "rw")) else { return };
    let groups = "[[cases]]\ncall = [\"stat\", \"open\"]\ncache = [\"warm\", \"cold\"]\n\
                  entries = 2000\n";
    let measured = || {
        let _alone = alone_with_names();
        measure(&planted.sandbox, plainly(&planted.sandbox), groups, &["."])
    };
    each_once(measured, |case| {
        check_silent(case, &["CacheLeak", "NotWarm", "CountersUnseen"]);
    });
}

/// There, the OS's cache of names is the only place where they are.
#[test]
fn names_in_memory_are_never_cold() {
    let Some(memory) = Sandbox::in_memory() else {
        return skip("names_in_memory_are_never_cold", "there is no /dev/shm");
    };
    let groups = "[[cases]]\ncall = \"stat\"\ncache = [\"warm\", \"cold\"]\nentries = 300\n\
                  time = \"50ms\"\n";
    let report = measure(&memory, plainly(&memory), groups, &["."]);
    assert_eq!(asked(&report).len(), 1, "{report:#}");
    let skips = report["skips"].to_string();
    assert!(skips.contains("keeps its names in the OS's cache of names"), "{skips}");
}

/// Looks up all names below `folder` again and again.
fn looking_up(folder: &Path) -> Neighbour {
    let folder = folder.to_path_buf();
    let names = move |path: &Path| -> Vec<_> {
        std::fs::read_dir(path).into_iter().flatten().flatten().map(|it| it.path()).collect()
    };
    Neighbour::new(move || {
        for run in names(&folder) {
            for directory in names(&run) {
                names(&directory).iter().for_each(|name| drop(name.symlink_metadata()));
            }
        }
    })
}

/// Another program that looks the same names up warms them.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn names_that_another_program_warms_are_not_cold() {
    let test = "names_that_another_program_warms_are_not_cold";
    if !is_root(test) {
        return;
    }
    let groups = "[[cases]]\ncall = \"stat\"\ncache = \"cold\"\nentries = 100000\n";
    tried(|| {
        let _alone = alone_with_names();
        let sandbox = Sandbox::new();
        let neighbour = looking_up(sandbox.directory());
        let report = measure(&sandbox, plainly(&sandbox), groups, &["."]);
        drop(neighbour);
        check_found(only(&report), "CacheLeak", "void", &["claimed cold", "cache of names"]);
    });
}

/// A run that is killed leaves names, which the next one removes.
#[test]
fn names_of_a_killed_run_are_removed_by_the_next() {
    let sandbox = Sandbox::new();
    let groups = "[[cases]]\ncall = \"stat\"\nentries = 300\ntime = \"1h\"\n";
    let mut killed = start(&sandbox, plainly(&sandbox), groups, &["."]);
    wait_for("names", || {
        let things = sandbox.things();
        things.iter().filter(|name| name.ends_with(".a")).nth(299).map(drop)
    });
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(!folders(&sandbox).is_empty());
    let groups = "[[cases]]\ncall = \"create\"\nentries = 10\n";
    finish(start(&sandbox, plainly(&sandbox), groups, &["."]));
    check_empty(&sandbox);
}

/// The recipe of several hosts: each uses cold names that the next one made.
const TOGETHER: &str = "name = \"few\"\nquestion = \"?\"\nceilings = false\ntime = \"100ms\"
[[cases]]
directories = [\"own\", \"shared\"]
entries = 300
threads = 2
call = [\"create\", \"stat\", \"readdir\", \"rename\", \"unlink\"]
[[cases]]
directories = [\"own\", \"shared\"]
hosts = \"doubling\"
entries = 300
call = [\"stat\", \"unlink\"]
cache = \"cold\"
";

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn hosts_work_on_names_together() {
    let _alone = alone_with_names();
    let desk = Desk::with(TOGETHER, &cluster::PLAIN);
    let output = desk.run_with("a,b,c", 2, &["--invocations=2"]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    let said = text(&output.stdout);
    assert!(said.contains("3 hosts in lockstep") && !said.contains("HostLost"), "{said}");
    for record in ["1-a.jsonl", "2-b.jsonl", "3-c.jsonl"] {
        for case in asked(&report(&desk, record)) {
            check_silent(case, FAULTS);
            assert_eq!(case["digest_verified"], true, "{case:#}");
        }
    }
    desk.check_empty();
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn hosts_that_share_no_directory_use_their_own_names() {
    let test = "hosts_that_share_no_directory_use_their_own_names";
    if !is_possible(test, &["-m", "true"]) {
        return;
    }
    let _alone = alone_with_names();
    // Its own directory hides those of the others, so what it would use is not there.
    let desk = Desk::with(TOGETHER, &["sh", "-c", &on_b(APART)]);
    let output = desk.run("a,b", 1);
    let said = text(&output.stdout);
    assert!(said.contains("the directory is not shared"), "{said}");
    for record in ["1-a.jsonl", "2-b.jsonl"] {
        asked(&report(&desk, record)).into_iter().for_each(|case| check_silent(case, FAULTS));
    }
    assert!(!said.contains("HostLost"), "{said}");
    desk.check_empty();
}
