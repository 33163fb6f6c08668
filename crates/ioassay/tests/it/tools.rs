//! External tools as peers, through the adapter.

use crate::honesty::plant::tried;
use crate::sandbox::{PROGRAM, Sandbox, skip, text, wait_for};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::path::Path;
use std::process::{Child, Stdio};

/// Whether `tool` can be a peer here; if not, reports the skipped `test`.
fn is_there(test: &str, tool: &str) -> bool {
    let there = |name: &str| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
    };
    let missing = ["python3", tool].into_iter().find(|name| !there(name));
    missing.into_iter().for_each(|name| skip(test, &format!("{name} is not installed")));
    missing.is_none()
}

/// The cases of `peer` in a run with `args`.
fn cases_of(sandbox: &Sandbox, peer: &str, args: &[&str]) -> Vec<Value> {
    let assessment = sandbox.json(&[&["run"], args, &["--json", "--rounds", "2"]].concat());
    let cases = assessment["cases"].as_array().unwrap();
    cases.iter().filter(|case| case["case"]["peer"] == peer).cloned().collect()
}

fn has(case: &Value, code: &str) -> bool {
    let findings = case["findings"].as_array().unwrap();
    findings.iter().any(|finding| finding["code"] == code)
}

const READS: [&str; 3] = ["read-methods", "--touch=none", "--block=64KiB"];
const BOTH: [&str; 3] = ["--engine=pread,uring", "--threads=1,2", "--time=150ms"];

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn evidence_stands_beside_the_figures_of_fio() {
    let test = "evidence_stands_beside_the_figures_of_fio";
    let sandbox = Sandbox::new();
    if !is_there(test, "fio") || !sandbox.is_on_disk(test) {
        return;
    }
    let args = [&READS[..], &BOTH, &["--peer=fio", "--cache=warm,direct", "--size=64MiB", "."]];
    let args = args.concat();
    // The OS may take a part of a warm file back.
    tried(|| {
        let cases = cases_of(&sandbox, "fio", &args);
        assert_eq!(cases.len(), 8, "two engines, caches and numbers of threads");
        cases.iter().for_each(check_evidence);
    });
}

fn check_evidence(case: &Value) {
    assert_eq!(case["n"], 2, "{case}");
    let is_direct = case["case"]["cache"] == "direct";
    let served = if is_direct { "device" } else { "page-cache" };
    assert_eq!(case["served_by"], served, "{case}");
    assert!(case["latency_ns"]["p50"].as_f64().unwrap() > 0.0, "{case}");
    assert!(has(case, "BytesUnchecked") && case["digest_verified"].is_null(), "{case}");
    // The device reads for others, too, also while a warm file is read.
    let [bytes, read] =
        ["bytes_per_trial", "device_bytes"].map(|key| case[key].as_f64().unwrap_or(0.0));
    assert!(!is_direct || read >= 0.99 * bytes, "{case}");
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn what_fio_writes_is_read_back_where_it_can_be_known() {
    let test = "what_fio_writes_is_read_back_where_it_can_be_known";
    let sandbox = Sandbox::new();
    if !is_there(test, "fio") {
        return;
    }
    let recipe = "name = 'w'\nquestion = '?'\nsize = '8MiB'\ntime = '150ms'\nceilings = false\n\
                  [[cases]]\nop = 'write'\npeer = 'fio'\nengine = 'pwrite'\nblock = '64KiB'\n\
                  allocation = 'overwrite'\nfill = ['zero', 'constant', 'random']\n\
                  sync = ['fsync', 'fdatasync']\nevery = 1\n";
    std::fs::write(sandbox.path("w.toml"), recipe).unwrap();
    let cases = cases_of(&sandbox, "fio", &["w.toml", "."]);
    assert_eq!(cases.len(), 6);
    for case in cases {
        let is_known = case["case"]["fill"] != "random";
        let expected = if is_known { Value::Bool(true) } else { Value::Null };
        assert_eq!(case["digest_verified"], expected, "{case}");
        assert_eq!(has(&case, "BytesUnchecked"), !is_known, "{case}");
        assert!(!has(&case, "DigestMismatch") && case["n"] == 2, "{case}");
    }
}

/// fio has ended when the OS is asked what lay in huge pages: the adapter looks earlier.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn fio_has_its_buffers_in_huge_pages_or_says_that_it_cannot() {
    let test = "fio_has_its_buffers_in_huge_pages_or_says_that_it_cannot";
    let sandbox = Sandbox::new();
    if !is_there(test, "fio") || !sandbox.is_on_disk(test) {
        return;
    }
    let recipe = "name = 'h'\nquestion = '?'\nsize = '16MiB'\ntime = '150ms'\nceilings = false\n\
                  [[cases]]\npeer = 'fio'\nengine = 'uring'\ncache = 'direct'\ntouch = 'none'\n\
                  block = '1MiB'\npages = 'huge'\ndepth = [3, 8]\n";
    std::fs::write(sandbox.path("h.toml"), recipe).unwrap();
    let cases = cases_of(&sandbox, "fio", &["h.toml", "."]);
    assert_eq!(cases.len(), 2);
    for case in cases {
        assert!(!has(&case, "PageSize"), "{case}");
        let is_filled = case["case"]["depth"] == 8;
        let refused = |reason| case.to_string().contains(reason);
        let enabled = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
        if enabled.is_ok_and(|all| !all.contains("[never]")) && is_filled {
            assert!(case["n"] == 2 || refused("bytes in huge pages instead of"), "{case}");
        } else if !is_filled {
            assert!(refused("fill no whole pages of") || refused("has no huge pages"), "{case}");
        }
    }
}

#[test]
fn what_a_tool_cannot_do_is_refused_with_its_reason() {
    let test = "what_a_tool_cannot_do_is_refused_with_its_reason";
    let sandbox = Sandbox::new();
    if !is_there(test, "fio") {
        return;
    }
    let plan = |args: &[&str]| sandbox.says(&[&["plan"], args].concat());
    let read = ["read-methods", "--peer=rust,fio", "--size=1MiB", "--block=4KiB", "--threads=1"];
    let reasons = plan(&read);
    assert!(reasons.contains("the peer fio has only touch none, not sum"), "{reasons}");
    let grows = ["write-strategies", "--peer=rust,fio", "--engine=pwrite", "--allocation=none"];
    let reasons = plan(&grows);
    assert!(reasons.contains("only allocation fallocate and overwrite, not none"), "{reasons}");
}

#[test]
fn a_tool_that_is_not_installed_is_a_skip_that_says_what_to_install() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.start(PROGRAM);
    command.args(["plan", "read-methods", "--peer=rust,fio", "--touch=none", "--size=1MiB"]);
    let output = command.args(["--block=4KiB"]).env("PATH", sandbox.state()).output().unwrap();
    let said = text(&output.stdout);
    assert!(output.status.success() && said.contains("the peer fio: "), "{output:?}");
    assert!(said.contains("is not on the PATH: install "), "{said}");
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_name_that_means_something_to_fio_means_nothing() {
    let test = "a_name_that_means_something_to_fio_means_nothing";
    let sandbox = Sandbox::new();
    if !is_there(test, "fio") {
        return;
    }
    let name = "a:b $HOME,--rw=write";
    std::fs::write(sandbox.path(name), vec![7; 16 << 20]).unwrap();
    let before = sandbox.things().len();
    let file = format!("--file={name}");
    let args = [&READS[..], &BOTH, &["--peer=fio", "--cache=warm", &file]].concat();
    let cases = cases_of(&sandbox, "fio", &args);
    assert!(cases.len() == 4 && cases.iter().all(|case| case["n"] == 2), "{cases:?}");
    assert_eq!(sandbox.things().len(), before + 2, "the folder of the record and the record");
    assert_eq!(std::fs::read(sandbox.path(name)).unwrap(), vec![7; 16 << 20]);
}

/// The fio process below `child`.
fn fio_of(child: &Child) -> Option<Pid> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let parent = |id: i32| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse::<i32>().ok()
    };
    let is_fio = |id: &i32| {
        let words = std::fs::read(Path::new("/proc").join(id.to_string()).join("cmdline"));
        words.is_ok_and(|words| words.starts_with(b"fio\0--name=ioassay\0"))
    };
    let is_below = |id: &i32| parent(*id).and_then(parent) == i32::try_from(child.id()).ok();
    ids.filter(is_fio).find(is_below).and_then(Pid::from_raw)
}

#[test]
fn a_fio_that_is_killed_fails_its_trial_by_name_and_the_run_goes_on() {
    let test = "a_fio_that_is_killed_fails_its_trial_by_name_and_the_run_goes_on";
    let sandbox = Sandbox::new();
    if !is_there(test, "fio") {
        return;
    }
    let mut command = sandbox.start(PROGRAM);
    command.arg("run").args(READS).args(["--peer=rust,fio", "--engine=pread", "--cache=warm"]);
    command.args(["--threads=1", "--size=64MiB", "--time=2s", "--no-ceilings", "--json", "."]);
    command.args(["--invocations=1", "--rounds=1"]);
    let mut running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let fio = wait_for("fio", || {
        fio_of(&running).or_else(|| {
            let ended = running.try_wait().unwrap();
            assert!(ended.is_none(), "no fio was seen");
            None
        })
    });
    kill_process(fio, Signal::KILL).unwrap();
    let output = running.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let assessment: Value = serde_json::from_slice(&output.stdout).unwrap();
    for case in assessment["cases"].as_array().unwrap() {
        let is_fio = case["case"]["peer"] == "fio";
        assert_eq!(case["n"], u32::from(!is_fio), "{case}");
        let said = case["failures"].to_string();
        let expected = "failed: the peer fio: fio was killed by signal 9";
        assert_eq!(said.contains(expected), is_fio, "{said}");
    }
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn tools_of_memory_have_bytes_a_second_and_no_digest() {
    let test = "tools_of_memory_have_bytes_a_second_and_no_digest";
    let sandbox = Sandbox::new();
    for tool in ["likwid-bench", "sysbench"] {
        if !is_there(test, tool) {
            continue;
        }
        let peer = format!("--peer={tool}");
        let mut args = vec!["memory", &peer, "--kernel=read", "--working-set=8MiB"];
        args.extend(["--isa=auto", "--pages=base", "--threads=1,2", "--time=10ms"]);
        let cases = cases_of(&sandbox, tool, &args);
        assert_eq!(cases.len(), 2);
        for case in &cases {
            let is_right = case["n"] == 2 && case["throughput"]["median"].as_f64() > Some(1e8);
            assert!(is_right && has(case, "BytesUnchecked"), "{case}");
        }
    }
}

#[test]
fn dd_reads_and_tells_no_latency() {
    let sandbox = Sandbox::new();
    let mut args = vec!["read-methods", "--peer=dd", "--touch=none", "--engine=read"];
    args.extend(["--block=64KiB", "--threads=1", "--cache=warm", "--size=64MiB", "--time=50ms"]);
    // The OS may take a part of a warm file back.
    tried(|| {
        let cases = cases_of(&sandbox, "dd", &[&args[..], &["."]].concat());
        let [case] = &cases[..] else { panic!("{cases:?}") };
        assert_eq!((&case["n"], &case["served_by"]), (&2.into(), &"page-cache".into()), "{case}");
        assert!(has(case, "BytesUnchecked") && case["latency_ns"]["p50"].is_null(), "{case}");
    });
}
