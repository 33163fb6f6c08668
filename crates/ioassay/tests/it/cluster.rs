//! Hosts that share files, and read what others wrote.

use crate::honesty::plant::{CACHED, Group, Limit, Neighbour, Planted, tried};
use crate::hosts::{Desk, is_possible};
use crate::sandbox::{argument, check_refusal, skip, text, wait_for};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

const HEAD: &str = "name = \"few\"\nquestion = \"?\"\nceilings = false\nsize = \"4MiB\"\n";

/// Every way to share a file, and to read and write one of its own. A cold trial ends once its file
/// was read, which may take long where others use the disk.
const ALL: &str = "
[[cases]]
files = [\"own\", \"shared\"]
hosts = \"doubling\"
cache = \"cold\"
block = \"64KiB\"
time = \"60s\"
[[cases]]
files = \"shared\"
pattern = \"random\"
cache = \"as-is\"
block = 47008
threads = 2
time = \"100ms\"
[[cases]]
files = \"shared\"
share = \"interleaved\"
cache = \"cold\"
block = 47008
time = \"60s\"
[[cases]]
op = \"write\"
files = [\"own\", \"shared\"]
hosts = \"doubling\"
share = \"interleaved\"
block = 47008
allocation = [\"none\", \"fallocate\", \"overwrite\"]
time = \"100ms\"
";

/// A host that starts as usual.
pub(crate) const PLAIN: [&str; 2] = ["env", "IOASSAY_TEST_HOST={host}"];

/// How a host starts that has a directory of its own at the place of the others'.
pub(crate) const APART: &str = "exec unshare -m sh -c 'mount -t tmpfs none . && cd \"$PWD\" && \
                                exec \"$0\" \"$@\"' \"$0\" \"$@\"";

/// A launcher that does `deed` before it starts the agent on the host `b`.
pub(crate) fn on_b(deed: &str) -> String {
    format!("case {{host}} in b) {deed};; *) exec \"$0\" \"$@\";; esac")
}

/// The report of a host's record.
pub(crate) fn report(desk: &Desk, record: &str) -> Value {
    desk.sandbox.json(&["report", "--json", argument(&desk.record(record))])
}

/// The codes of the findings of each case whose id contains `part`.
fn codes(report: &Value, part: &str) -> Vec<Vec<String>> {
    let cases = report["cases"].as_array().unwrap().iter();
    let own = cases.filter(|case| case["id"].as_str().unwrap().contains(part));
    let codes = |case: &Value| {
        let findings = case["findings"].as_array().unwrap().iter();
        findings.map(|it| it["code"].as_str().unwrap().to_owned()).collect()
    };
    own.map(codes).collect()
}

fn lines(path: &Path, kind: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter_map(|line| line.get(kind).cloned()).collect()
}

/// The value of an axis of a case in a plan.
fn axis_of<'a>(case: &'a Value, axis: &str) -> Option<&'a str> {
    let pairs = case.as_array().unwrap().iter();
    let mut values = pairs.filter(|pair| pair[0] == axis).map(|pair| pair[1].as_str().unwrap());
    values.next()
}

/// The bytes that each trial moved on all hosts together, by the number of its case.
fn moved(desk: &Desk, records: &[&str]) -> BTreeMap<(u64, u64), u64> {
    let mut moved = BTreeMap::new();
    for record in records {
        for trial in lines(&desk.record(record), "trial") {
            let turn = (trial["case"].as_u64().unwrap(), trial["round"].as_u64().unwrap());
            let spans = &trial["outcome"]["done"]["spans"];
            let spans = spans.as_array().unwrap_or_else(|| panic!("{trial:#}")).iter();
            let bytes = spans.map(|span| span["bytes"].as_u64().unwrap()).sum::<u64>();
            *moved.entry(turn).or_default() += bytes;
        }
    }
    moved
}

/// What hosts read and write together is right to the last byte, whoever made it.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn hosts_divide_a_file_and_read_what_the_next_one_wrote() {
    let desk = Desk::with(&format!("{HEAD}{ALL}"), &PLAIN);
    let output = desk.run("a,b,c", 2);
    let said = text(&output.stdout);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    assert!(said.contains("each host reads what the next one wrote"), "{said}");
    assert!(said.contains("efficiency") && !said.contains("HostLost"), "{said}");
    let records = ["1-a.jsonl", "2-b.jsonl", "3-c.jsonl"];
    let reports = records.map(|record| report(&desk, record));
    for report in &reports {
        let text = report.to_string();
        assert!(!text.contains("DigestMismatch") && !text.contains("FailedTrials"), "{report:#}");
        // The read-back is the proof of what was written.
        assert!(!text.contains("BytesUnchecked"), "{report:#}");
    }
    // A cold pass reads the whole of the shared file once, however many hosts share it.
    let cases = reports[0]["cases"].as_array().unwrap();
    let header = |record: &str| {
        let text = std::fs::read_to_string(desk.record(record)).unwrap();
        serde_json::from_str::<Value>(text.lines().next().unwrap()).unwrap()
    };
    let plans = records.map(|record| header(record)["header"].clone());
    let planned = plans[0]["plan"]["cases"].as_array().unwrap();
    assert_eq!(planned.len(), cases.len());
    let moved = moved(&desk, &records);
    let mut passes = 0;
    for (index, planned) in planned.iter().enumerate() {
        let case = &planned["case"];
        let is = |axis: &str, value: &str| axis_of(case, axis) == Some(value);
        if is("files", "shared") && is("cache", "cold") {
            for round in 0..2 {
                assert_eq!(moved[&(index as u64, round)], 4 << 20, "{case}");
                passes += 1;
            }
        }
    }
    assert_eq!(passes, 8, "1, 2 and 3 hosts, and the strided one");
    // Each reads the file of the next host, with that one's data.
    for (number, plan) in plans.iter().enumerate() {
        let next = &plans[(number + 1) % 3];
        let fixtures = plan["fixtures"].as_array().unwrap();
        let read = fixtures.iter().filter(|it| it["seed"] == next["plan"]["seed"]);
        let read: Vec<&Value> = read.collect();
        assert!(!read.is_empty(), "{fixtures:#?}");
        assert!(read.iter().all(|it| it["path"].as_str().unwrap().contains("/read-4MiB")));
    }
    // What one or two hosts measured is neither missing nor failed on the third.
    let skips = reports[2]["skips"].as_array().unwrap();
    assert!(!skips.is_empty());
    for skip in skips {
        assert_eq!(skip["reason"], "others of the run measured it", "{skip}");
    }
    assert!(reports[0]["skips"].as_array().unwrap().is_empty(), "{:#}", reports[0]["skips"]);
    desk.check_empty();
}

/// Files are made and met anew in each invocation.
#[test]
fn an_invocation_shares_new_files() {
    let recipe = format!(
        "{HEAD}[[cases]]\nfiles = [\"own\", \"shared\"]\ncache = \"cold\"\nblock = \"64KiB\"\n\
         time = \"60s\"\n"
    );
    let desk = Desk::with(&recipe, &PLAIN);
    let output = desk.run_with("a,b", 2, &["--invocations=2"]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    for record in ["1-a.jsonl", "2-b.jsonl"] {
        let report = report(&desk, record);
        assert!(!report.to_string().contains("DigestMismatch"), "{report:#}");
        assert_eq!(lines(&desk.record(record), "invocation").len(), 1);
    }
    assert!(moved(&desk, &["1-a.jsonl", "2-b.jsonl"]).values().all(|bytes| bytes % (4 << 20) == 0));
    desk.check_empty();
}

/// A file that is shared needs a directory that is.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_directory_that_is_not_shared_is_told() {
    let test = "a_directory_that_is_not_shared_is_told";
    if !is_possible(test, &["-m", "true"]) {
        return;
    }
    let warm = "[[cases]]\ncache = \"warm\"\npopulated = \"others\"\ntime = \"100ms\"\n";
    let desk = Desk::with(&format!("{HEAD}{ALL}{warm}"), &["sh", "-c", &on_b(APART)]);
    let output = desk.run("a,b", 1);
    let said = text(&output.stdout);
    assert!(said.contains("the directory is not shared: each host reads what it wrote"), "{said}");
    let unfolded = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(unfolded.contains("and b did not see there what the first host created"), "{said}");
    desk.check_empty();
    let only = "[[cases]]\nfiles = \"shared\"\npopulated = \"others\"\n";
    let desk = Desk::with(&format!("{HEAD}{only}"), &["sh", "-c", &on_b(APART)]);
    check_refusal(&desk.run("a,b", 1), &["nothing to measure", "b did not see there"]);
    desk.check_empty();
}

/// An overlay lets a host see what others create, and keeps what it writes for itself. So each mark
/// is there, and yet the file is another one once it was written: the digest finds it.
#[test]
fn a_host_whose_writes_no_other_sees_is_found() {
    let test = "a_host_whose_writes_no_other_sees_is_found";
    let probe = "mkdir -p /tmp/o && mount -t tmpfs none /tmp/o && mkdir /tmp/o/u /tmp/o/w && \
                 mount -t overlay -o lowerdir=/tmp,upperdir=/tmp/o/u,workdir=/tmp/o/w none /mnt";
    if !is_possible(test, &["-m", "sh", "-c", probe]) {
        return;
    }
    let over = "exec unshare -m sh -c 'here=$PWD; mount -t tmpfs none /mnt && mkdir /mnt/u /mnt/w \
                && mount -t overlay -o lowerdir=\"$here\",upperdir=/mnt/u,workdir=/mnt/w none \
                \"$here\" && cd \"$here\" && exec \"$0\" \"$@\"' \"$0\" \"$@\"";
    let recipe = format!("{HEAD}[[cases]]\nfiles = \"shared\"\ncache = \"as-is\"\nops = \"all\"\n");
    let desk = Desk::with(&recipe, &["sh", "-c", &on_b(over)]);
    let output = desk.run("a,b", 1);
    let said = text(&output.stdout);
    // What an overlay shows of files that appear below it is not defined: it may also miss one.
    let is_refused = text(&output.stderr).contains("which another host created");
    assert_eq!(output.status.code(), Some(if is_refused { 2 } else { 1 }), "{output:?}");
    assert!(is_refused || said.contains("DigestMismatch"), "{output:?}");
    // Without it, there is none.
    let desk = Desk::with(&recipe, &PLAIN);
    let said = text(&desk.run("a,b", 1).stdout);
    assert!(!said.contains("DigestMismatch"), "{said}");
}

/// The file that the agent `id` has for others to read.
fn file_to_read(desk: &Desk, id: u32) -> PathBuf {
    desk.sandbox.directory().join(format!("ioassay-run-{id}-0/read-4MiB.data"))
}

/// A host that has what it is to read in its cache: the shift of ranks does not help, and its own
/// counters tell. The file is evicted between two reads of what caches it, so these must be short.
#[test]
fn a_host_with_a_stale_cache_leaks() {
    let test = "a_host_with_a_stale_cache_leaks";
    let recipe = format!(
        "{HEAD}[[cases]]\nfiles = \"own\"\ncache = \"cold\"\nblock = \"64KiB\"\ntime = \"10s\"\n"
    );
    tried(|| {
        let Some(mut planted) = Planted::on_loop(test, "ext4", &CACHED) else { return };
        let mut desk = Desk::with(&recipe, &PLAIN);
        std::mem::swap(&mut desk.sandbox, &mut planted.sandbox);
        let running = desk.start("a,b,c", 3);
        // b reads what c wrote.
        let last = wait_for("the agent of c", || running.agents().get(2).copied());
        let file = file_to_read(&desk, last);
        wait_for("the file of c", || file.exists().then_some(()));
        let warmer = Neighbour::new(move || {
            // It is gone at the end of the run.
            let _ = std::fs::read(&file);
            std::thread::sleep(Duration::from_millis(15));
        });
        let output = running.output();
        drop(warmer);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let leaks = |record: &str| codes(&report(&desk, record), "cold").concat();
        let has = |record: &str| leaks(record).iter().any(|code| code == "CacheLeak");
        assert!(has("2-b.jsonl"), "{:?}", leaks("2-b.jsonl"));
        assert!(!has("1-a.jsonl") && !has("3-c.jsonl"), "{:?}", text(&output.stdout));
    });
}

/// The output of two hosts that read a warm file, of which `b` starts with `deed`.
fn warm(deed: &str) -> Output {
    let recipe = format!(
        "{HEAD}[[cases]]\ncache = \"warm\"\nblock = \"64KiB\"\nsize = \"1MiB\"\ntime = \"300ms\"\n"
    );
    let desk = Desk::with(&recipe, &["sh", "-c", &on_b(deed)]);
    desk.run("a,b", 7)
}

/// A host that is throttled is named, with what its own counters say.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_throttled_host_is_the_straggler() {
    let test = "a_throttled_host_is_the_straggler";
    let Some(group) = Group::new(test, Limit::Cpu(5)) else { return };
    let enter = format!("echo $$ > '{}'; exec \"$0\" \"$@\"", group.procs().display());
    tried(|| {
        let output = warm(&enter);
        let said = text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains("b is a straggler in"), "{said}");
        assert!(said.contains("throttled by its control group's CPU quota for"), "{said}");
    });
    tried(|| {
        let said = text(&warm("exec \"$0\" \"$@\"").stdout);
        assert!(!said.contains("quota"), "{said}");
    });
}

/// One machine has one host.
#[test]
fn what_needs_several_hosts_is_skipped_on_one() {
    let desk = Desk::with(&format!("{HEAD}{ALL}"), &PLAIN);
    let recipe = desk.files.path("few.toml");
    let report = desk.sandbox.json(&["run", argument(&recipe), ".", "--rounds=1", "--json"]);
    let skips = report["skips"].as_array().unwrap();
    assert!(!skips.is_empty());
    for skip in skips {
        assert_eq!(skip["reason"], "several hosts share a file: name them with --hosts");
    }
    let cases = report["cases"].as_array().unwrap();
    assert!(cases.iter().all(|case| case["case"]["hosts"] == 1), "{cases:#?}");
    let more = ["plan", argument(&recipe), ".", "--host-count=2", "--files=own"];
    let said = desk.sandbox.says(&more);
    assert!(said.contains("it needs 2 hosts: name them with --hosts"), "{said}");
    if cases.is_empty() {
        skip("what_needs_several_hosts_is_skipped_on_one", "there is no cold file here");
    }
}
