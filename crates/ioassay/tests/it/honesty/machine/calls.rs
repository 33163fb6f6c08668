//! Calls that fail, return short, are late or are forbidden, and files of other users.

use super::super::plant::{
    ahead, asked, check_found, check_served, check_silent, cold_file, measure, only, quiet, tried,
};
use crate::mounts;
use crate::places::as_nobody;
use crate::sandbox::{PROGRAM, Sandbox, argument, skip};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

/// Passes over a small file, one call per page. One worker thread makes more such calls than the
/// rest of the program together, so a late fault only hits the worker.
fn calls(cache: &str) -> String {
    format!(
        "[[cases]]\nsize = \"4MiB\"\nengine = \"pread\"\ncache = \"{cache}\"\nblock = \"4KiB\"\n\
         ops = 0\ntime = \"1s\"\n"
    )
}

/// The number of calls of a kind that only a worker thread reaches.
const LATE: u32 = 600;

/// The program under strace, with a `fault` of pread and real-time priority. Returns `None`, and
/// reports the skipped test, where that is impossible.
pub(in super::super) fn traced(
    sandbox: &Sandbox,
    test: &str,
    fault: Option<&str>,
) -> Option<Command> {
    let works = Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).status();
    if !works.is_ok_and(|status| status.success()) {
        skip(test, "strace is missing or forbidden");
        return None;
    }
    let trace = ["strace", "-f", "-qq", "-o", "/dev/null", "--seccomp-bpf", "-e", "trace=pread64"];
    let inject = fault.map(|fault| format!("inject=pread64:{fault}"));
    let inject = inject.iter().flat_map(|inject| ["-e", inject]);
    ahead(sandbox, test, &trace.into_iter().chain(inject).collect::<Vec<&str>>())
}

/// The only case of a run with this fault.
fn case_with_fault(test: &str, fault: Option<&str>) -> Option<Value> {
    let sandbox = Sandbox::new();
    let launch = traced(&sandbox, test, fault)?;
    let report = measure(&sandbox, launch, &calls("as-is"), &["."]);
    Some(only(&report).clone())
}

#[test]
fn a_read_that_fails_is_a_failed_trial_that_says_where() {
    tried(|| {
        let test = "a_read_that_fails_is_a_failed_trial_that_says_where";
        let fault = format!("error=EIO:when={LATE}");
        let Some(case) = case_with_fault(test, Some(&fault)) else { return };
        let said = case["failures"].to_string();
        for expected in ["pread", "4096 bytes", "Input/output error"] {
            assert!(said.contains(expected), "no '{expected}': {said}");
        }
        assert_eq!((&case["verdict"], &case["n"]), (&json!("failed"), &json!(0)), "{case:#}");
        assert_eq!(case["throughput"], Value::Null, "{case:#}");
    });
}

/// An OS that claims reads that did not happen.
#[test]
fn a_read_that_brings_nothing_is_found() {
    tried(|| {
        let test = "a_read_that_brings_nothing_is_found";
        for answer in ["4096", "100"] {
            let fault = format!("retval={answer}:when={LATE}");
            let Some(case) = case_with_fault(test, Some(&fault)) else { return };
            check_found(&case, "DigestMismatch", "void", &[]);
            assert_eq!(case["digest_verified"], false, "{case:#}");
        }
    });
}

#[test]
fn calls_that_come_late_are_told() {
    tried(|| {
        let test = "calls_that_come_late_are_told";
        let _quiet = quiet();
        let fault = format!("delay_enter=200000:when={LATE}+{LATE}");
        let Some(late) = case_with_fault(test, Some(&fault)) else { return };
        check_found(&late, "Stalled", "doubt", &[]);
        let most = late["latency_ns"]["max"].as_f64().unwrap();
        assert!(most >= 200e6, "{late:#}");
        let Some(twin) = case_with_fault(test, None) else { return };
        check_silent(&twin, &[]);
        // A real stall of the machine would be shorter.
        let is_doubt = |found: &Value| found["code"] == "Stalled" && found["severity"] == "doubt";
        assert!(!twin["findings"].as_array().unwrap().iter().any(is_doubt), "{twin:#}");
    });
}

/// A test program compiled from C.
pub(crate) struct Built {
    directory: tempfile::TempDir,
}

impl Built {
    /// Returns `None`, and reports the skipped test, without a compiler.
    pub(crate) fn new(test: &str, source: &str, options: &[&str]) -> Option<Built> {
        let directory = tempfile::TempDir::new().unwrap();
        std::fs::write(directory.path().join("source.c"), source).unwrap();
        // Another user may run it.
        std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let built = Built { directory };
        let mut gcc = Command::new("gcc");
        gcc.args(options).arg("-o").arg(built.path()).arg(built.directory.path().join("source.c"));
        match gcc.output() {
            Ok(output) => assert!(output.status.success(), "{output:?}"),
            Err(error) => {
                skip(test, &format!("gcc cannot be run: {error}"));
                return None;
            }
        }
        Some(built)
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("built")
    }
}

/// Wraps the library's pread: it requests only half of the bytes.
const SHORT_READS: &str = r"
#include <sys/syscall.h>
#include <unistd.h>

ssize_t pread64(int file, void *buffer, size_t length, off_t offset) {
    size_t half = length > 1 ? length / 2 : length;
    return syscall(SYS_pread64, file, buffer, half, offset);
}
";

#[test]
fn a_short_read_goes_on_where_it_ended() {
    tried(|| {
        let test = "a_short_read_goes_on_where_it_ended";
        let Some(library) = Built::new(test, SHORT_READS, &["-shared", "-fPIC"]) else { return };
        let _quiet = quiet();
        let sandbox = Sandbox::new();
        for is_short in [true, false] {
            let Some(mut launch) = ahead(&sandbox, test, &[]) else { return };
            if is_short {
                launch.env("LD_PRELOAD", library.path());
            }
            let report = measure(&sandbox, launch, &calls("warm"), &["."]);
            let case = only(&report);
            check_silent(case, &["DigestMismatch", "NoIo", "Unverified"]);
            assert_eq!(
                (&case["n"], &case["digest_verified"]),
                (&json!(1), &json!(true)),
                "{case:#}"
            );
            check_served(case, "page-cache");
        }
    });
}

/// What eatmydata does to the library's calls.
const NO_SYNCS: &str = r"
int fsync(int file) { return 0; }
int fdatasync(int file) { return 0; }
";

/// Writes once through the page cache, and syncs.
const SYNCED: &str = "[[cases]]\nop = \"write\"\nallocation = \"overwrite\"\nops = \"all\"\n\
                      sync = \"fdatasync\"\n";

#[test]
fn a_library_that_swallows_syncs_voids_what_claims_them_and_is_named() {
    tried(|| {
        let test = "a_library_that_swallows_syncs_voids_what_claims_them_and_is_named";
        let sandbox = Sandbox::new();
        if !sandbox.is_on_disk(test) {
            return;
        }
        let Some(library) = Built::new(test, NO_SYNCS, &["-shared", "-fPIC"]) else { return };
        for is_swallowed in [true, false] {
            let Some(mut launch) = ahead(&sandbox, test, &[]) else { return };
            if is_swallowed {
                launch.env("LD_PRELOAD", library.path());
            }
            let report = measure(&sandbox, launch, SYNCED, &["."]);
            let case = only(&report);
            if is_swallowed {
                check_found(case, "NotDurable", "void", &["built is preloaded"]);
                assert_eq!(case["writing"]["durable"], Value::Null, "{case:#}");
            } else {
                check_silent(case, &["NotDurable"]);
            }
        }
    });
}

/// Forbids calls to a program with a system call filter. The arguments are pairs of call number and
/// error, then `--` and the command.
pub(crate) const REFUSE: &str = r#"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int count, char **words) {
    struct sock_filter filter[64] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    };
    unsigned short length = 1;
    int at = 1;
    for (; at + 1 < count && strcmp(words[at], "--") != 0; at += 2) {
        filter[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                                                        atoi(words[at]), 0, 1);
        filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
                                                        SECCOMP_RET_ERRNO | atoi(words[at + 1]));
    }
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {.len = length, .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return perror("no new privileges"), 1;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) return perror("filter"), 1;
    execv(words[at + 1], words + at + 1);
    return perror(words[at + 1]), 1;
}
"#;

/// cachestat(2), which has the same number on all architectures, and the error of a kernel without
/// it.
const NO_CACHESTAT: [&str; 2] = ["451", "38"];

/// io_uring_setup(2), and "not permitted", as in container runtimes.
const NO_URING: [&str; 2] = ["425", "1"];

/// mincore(2) on this architecture, and "not permitted".
const NO_MINCORE: [&str; 2] = [if cfg!(target_arch = "x86_64") { "27" } else { "232" }, "1"];

/// fsync(2) and fdatasync(2) on this architecture, which seem to succeed, as with
/// `systemd-nspawn --suppress-sync`.
const SUPPRESSED: [[&str; 2]; 2] = match cfg!(target_arch = "x86_64") {
    true => [["74", "0"], ["75", "0"]],
    false => [["82", "0"], ["83", "0"]],
};

/// Nothing but the counters shows it: a direct write moves them, and a sync does not.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_filter_that_suppresses_syncs_is_seen_and_counters_are_believed() {
    tried(|| {
        let test = "a_filter_that_suppresses_syncs_is_seen_and_counters_are_believed";
        let sandbox = Sandbox::new();
        if !sandbox.is_on_disk(test) {
            return;
        }
        let Some(refuse) = Built::new(test, REFUSE, &[]) else { return };
        for suppressed in [&SUPPRESSED[..], &[]] {
            let launch = refused(&sandbox, &refuse, suppressed);
            let report = measure(&sandbox, launch, SYNCED, &["."]);
            let case = only(&report);
            check_silent(case, &["CountersUnseen", "Unverified"]);
            if suppressed.is_empty() {
                check_silent(case, &["NotDurable"]);
            } else {
                check_found(case, "NotDurable", "void", &["(a sync there writes nothing) ignores"]);
            }
        }
    });
}

/// The program, with some calls forbidden.
pub(crate) fn refused(sandbox: &Sandbox, refuse: &Built, calls: &[[&str; 2]]) -> Command {
    let mut command = sandbox.start(argument(&refuse.path()));
    command.args(calls.concat()).args(["--", PROGRAM]);
    command
}

/// Reads from the page cache, and reads from a device.
const BOTH: &str = "[[cases]]\nengine = [\"pread\", \"uring\"]\ncache = [\"warm\", \"cold\"]\n\
                    block = \"64KiB\"\ntime = \"300ms\"\n[[cases]]\nengine = \"pread\"\n\
                    cache = \"as-is\"\nblock = \"64KiB\"\nops = \"all\"\n";

/// Checks the cases of [`BOTH`]: the source of the bytes is the same with every probe.
fn check_both(report: &Value, probe: &str, has_uring: bool) {
    assert_eq!(report["storage"]["residency_probe"], probe);
    assert_eq!(asked(report).len(), 5, "{report:#}");
    for case in asked(report) {
        if case["case"]["engine"] == "uring" && !has_uring {
            let said = case["failures"].to_string();
            assert!(said.contains("unavailable") && said.contains("not permitted"), "{said}");
            assert_eq!((&case["verdict"], &case["n"]), (&json!("unavailable"), &json!(0)));
            assert_eq!(case["served_by"], Value::Null);
            continue;
        }
        check_silent(case, &["NotWarm", "CacheLeak", "CacheUnseen", "DigestMismatch"]);
        let is_known = !report["fixtures"][0]["seed"].is_null();
        let expected = if is_known { json!(true) } else { Value::Null };
        assert_eq!((&case["n"], &case["digest_verified"]), (&json!(1), &expected), "{case:#}");
        match case["case"]["cache"].as_str() {
            Some("warm") => check_served(case, "page-cache"),
            Some("cold") => check_served(case, "device"),
            // As-is cases depend on the previous trial.
            _ => {}
        }
    }
}

#[test]
fn what_the_os_refuses_is_done_otherwise_or_not_at_all() {
    tried(|| {
        let test = "what_the_os_refuses_is_done_otherwise_or_not_at_all";
        let sandbox = Sandbox::new();
        if !sandbox.is_on_disk(test) {
            return;
        }
        let Some(refuse) = Built::new(test, REFUSE, &[]) else { return };
        let report = |calls| measure(&sandbox, refused(&sandbox, &refuse, calls), BOTH, &["."]);
        check_both(&report(&[]), "cachestat", true);
        check_both(&report(&[NO_CACHESTAT]), "mincore", true);
        check_both(&report(&[NO_URING]), "cachestat", false);
        check_both(&report(&[NO_CACHESTAT, NO_URING]), "mincore", false);
    });
}

#[test]
fn a_plan_leaves_out_what_the_os_refuses() {
    let test = "a_plan_leaves_out_what_the_os_refuses";
    let sandbox = Sandbox::new();
    let Some(refuse) = Built::new(test, REFUSE, &[]) else { return };
    let asked = ["plan", "read-methods", ".", "--engine=pread,uring", "--json"];
    for (calls, is_refused) in [(&[][..], false), (&[NO_URING][..], true)] {
        let output = refused(&sandbox, &refuse, calls).args(asked).output().unwrap();
        let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
        let by_uring = |list: &Value| {
            let list = list.as_array().unwrap();
            let engine = serde_json::json!(["engine", "uring"]);
            list.iter().filter(|it| it["case"].as_array().unwrap().contains(&engine)).count()
        };
        let planned = &plan["plan"];
        assert_eq!(by_uring(&planned["cases"]) == 0, is_refused, "{plan:#}");
        assert_eq!(by_uring(&planned["skips"]) > 0, is_refused, "{plan:#}");
    }
}

/// fadvise64(2) on this architecture, which then does nothing.
const NO_FADVISE: [&str; 2] = [if cfg!(target_arch = "x86_64") { "221" } else { "223" }, "1"];

#[test]
fn where_advice_is_refused_the_probes_are_not_blamed() {
    let test = "where_advice_is_refused_the_probes_are_not_blamed";
    let sandbox = Sandbox::new();
    if !sandbox.is_on_disk(test) {
        return;
    }
    let Some(refuse) = Built::new(test, REFUSE, &[]) else { return };
    let warm = "[[cases]]\nengine = \"pread\"\ncache = \"warm\"\nblock = \"64KiB\"\n";
    let report = measure(&sandbox, refused(&sandbox, &refuse, &[NO_FADVISE]), warm, &["."]);
    let storage = &report["storage"];
    assert_eq!(storage["residency_probe"], "cachestat", "{storage:#}");
    let notes = storage["notes"].to_string();
    assert!(notes.contains("cannot evict a file here") && !notes.contains("mincore"), "{notes}");
    check_served(only(&report), "page-cache");
}

/// Reads of a device with several in flight, which threads can measure too.
const DEEP: &str = "fallback = true\n[[cases]]\nengine = \"uring\"\ncache = \"direct\"\n\
                    block = \"64KiB\"\npattern = [\"sequential\", \"random\"]\ndepth = 8\n\
                    time = \"300ms\"\n";

#[test]
fn threads_measure_the_device_where_io_uring_is_refused() {
    tried(|| {
        let test = "threads_measure_the_device_where_io_uring_is_refused";
        let sandbox = Sandbox::new();
        if !sandbox.is_on_disk(test) {
            return;
        }
        let Some(refuse) = Built::new(test, REFUSE, &[]) else { return };
        for (calls, engine) in [(&[][..], "uring"), (&[NO_URING][..], "pread")] {
            let report = measure(&sandbox, refused(&sandbox, &refuse, calls), DEEP, &["."]);
            let is_refused = engine == "pread";
            assert_eq!(asked(&report).len(), 2);
            for case in asked(&report) {
                check_served(case, "device");
                check_silent(case, &["CacheLeak", "DigestMismatch"]);
                let (depth, threads) = if is_refused { (1, 8) } else { (8, 1) };
                let axes = &case["case"];
                assert_eq!((&axes["engine"], &axes["depth"]), (&json!(engine), &json!(depth)));
                assert_eq!(axes["threads"], threads, "{case:#}");
            }
            let skips = report["skips"].as_array().unwrap();
            assert_eq!(skips.len(), if is_refused { 2 } else { 0 });
            for skip in skips {
                let reason = skip["reason"].as_str().unwrap();
                assert!(reason.contains("Operation not permitted"), "{reason}");
                assert!(reason.contains("threads of pread measure the device"), "{reason}");
            }
        }
    });
}

/// Checks that a report makes no claim about the page cache without a probe.
fn check_unseen(report: &Value) {
    assert_eq!(report["storage"]["residency_probe"], Value::Null);
    let skips = report["skips"].as_array().unwrap();
    for skip in skips {
        assert!(
            skip["reason"].as_str().unwrap().contains("page cache")
                || skip["reason"].as_str().unwrap().contains("cannot be proved"),
            "{skip:#}"
        );
    }
    for case in asked(report) {
        assert_eq!(case["case"]["cache"], "as-is", "{case:#}");
        check_found(case, "CacheUnseen", "note", &[]);
    }
}

#[test]
fn where_nobody_tells_what_is_cached_nothing_is_called_warm_or_cold() {
    tried(|| {
        let test = "where_nobody_tells_what_is_cached_nothing_is_called_warm_or_cold";
        let sandbox = Sandbox::new();
        if !sandbox.is_on_disk(test) {
            return;
        }
        let Some(refuse) = Built::new(test, REFUSE, &[]) else { return };
        let launch = refused(&sandbox, &refuse, &[NO_CACHESTAT, NO_MINCORE]);
        let report = measure(&sandbox, launch, BOTH, &["."]);
        check_unseen(&report);
        assert_eq!(report["skips"].as_array().unwrap().len(), 4, "{:#}", report["skips"]);
        // Only the lack of device reads is known, and a hole looks the same.
        let case = only(&report);
        assert!(
            ["page-cache", "unverified"].map(Value::from).contains(&case["served_by"]),
            "{case:#}"
        );
        assert_eq!(case["digest_verified"], true);
    });
}

/// For a file that the caller may not write, mincore reports every page as cached.
#[test]
fn what_is_cached_of_another_users_file_is_not_believed() {
    tried(|| {
        let test = "what_is_cached_of_another_users_file_is_not_believed";
        let sandbox = Sandbox::new();
        if !mounts::is_root(test) || !sandbox.is_on_disk(test) {
            return;
        }
        for folder in [sandbox.directory(), sandbox.state()] {
            std::fs::set_permissions(folder, PermissionsExt::from_mode(0o777)).unwrap();
        }
        for is_own in [false, true] {
            let name = if is_own { "own" } else { "theirs" };
            let path = cold_file(&sandbox, name, 16 << 20);
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
            if is_own {
                std::os::unix::fs::chown(&path, Some(65534), Some(65534)).unwrap();
            }
            let Some(launch) = as_nobody(&sandbox, test) else { return };
            let report = measure(&sandbox, launch, BOTH, &["--file", argument(&path)]);
            if is_own {
                check_both(&report, "cachestat", true);
            } else {
                check_unseen(&report);
                check_served(only(&report), "device");
            }
        }
    });
}
