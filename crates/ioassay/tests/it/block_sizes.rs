//! Blocks of several sizes in one case, and several threads that append to one file.

use crate::sandbox::{PROGRAM, Sandbox, argument, skip};
use serde_json::Value;
use std::collections::BTreeMap;

/// 4 KiB are 60 of 100 blocks.
const SIZES: &str = "4KiB/60:64KiB/40";

/// The only case of a recipe with this `group`, measured once.
#[track_caller]
fn only(sandbox: &Sandbox, group: &str, args: &[&str]) -> Value {
    let recipe = sandbox.state().join("mine.toml");
    let head = "name = \"mine\"\nquestion = \"?\"\nsize = \"16MiB\"\nrounds = 1\ntime = \"30s\"\n";
    std::fs::write(&recipe, format!("{head}[[cases]]\n{group}")).unwrap();
    let mut all = vec!["run", argument(&recipe), ".", "--json"];
    all.extend(args);
    let report = sandbox.json(&all);
    let cases = report["cases"].as_array().unwrap().iter();
    let asked: Vec<&Value> = cases.filter(|case| case["role"] == "asked").collect();
    assert_eq!((asked.len(), &report["skips"]), (1, &serde_json::json!([])), "{report:#}");
    assert_eq!(asked[0]["failures"], serde_json::json!([]), "{:#}", asked[0]);
    asked[0].clone()
}

/// Every way to read and write blocks takes each at its own size, and all data is right.
#[test]
fn blocks_of_several_sizes_are_read_and_written_whole() {
    let sandbox = Sandbox::new();
    if !sandbox.is_on_disk("blocks_of_several_sizes_are_read_and_written_whole") {
        return;
    }
    let check = |group: &str, sum: &str| {
        let case = only(&sandbox, &format!("block = \"{SIZES}\"\n{group}"), &[]);
        assert_eq!(case["case"]["block"], SIZES, "{group}");
        assert_eq!(case[sum], true, "{group}: {case:#}");
        let figures = &case["trials"][0]["figures"];
        let [bytes, ops] = ["bytes", "ops"].map(|name| figures[name].as_u64().unwrap());
        // Each block once: decks of 100, of which the last is cut off.
        assert_eq!(bytes, 16 << 20, "{group}");
        assert!((570..610).contains(&ops), "{group}: {ops}");
    };
    let read = |engine: &str, more: &str| {
        check(
            &format!("engine = \"{engine}\"\ntouch = \"sum\"\nops = \"all\"\n{more}"),
            "digest_verified",
        );
    };
    read("pread", "cache = \"warm\"");
    read("mmap", "cache = \"warm\"\npattern = \"random\"");
    read("read", "cache = \"cold\"\npattern = \"random\"\nthreads = 2");
    read("pread", "cache = \"direct\"\npattern = \"random\"");
    read("uring", "cache = \"direct\"\npattern = \"random\"\ndepth = 8");
    let write = |group: &str| {
        let case = format!("op = \"write\"\n{group}");
        let case = only(&sandbox, &format!("block = \"{SIZES}\"\n{case}"), &[]);
        assert_eq!(case["writing"]["read_back_verified"], true, "{group}: {case:#}");
        assert_eq!(case["trials"][0]["figures"]["bytes"], 16 << 20, "{group}");
    };
    write("engine = \"pwrite\"\nthreads = 2");
    write("engine = \"uring\"\ncache = \"direct\"\ndepth = 8\npattern = \"random\"");
    write("engine = \"write\"\nallocation = \"append\"\nevery = 50");
    write("engine = \"mmap\"\nallocation = \"overwrite\"\nsync = \"msync\"\npattern = \"random\"");
}

/// What the OS was asked for: strace counts the calls of each size.
#[test]
fn the_os_sees_each_size_as_often_as_asked_for() {
    let test = "the_os_sees_each_size_as_often_as_asked_for";
    let sandbox = Sandbox::new();
    let trace = sandbox.state().join("trace");
    let mut strace = sandbox.start("strace");
    strace.args(["-f", "-y", "-qq", "-e", "trace=pread64", "-o"]).arg(&trace).arg(PROGRAM);
    strace.args(["run", "page-latency", "--engine=pread", "--cache=warm", "--pattern=random"]);
    strace.args(["--block", SIZES, "--size=32MiB", "--ops=1000", "--time=1m", "--rounds=1"]);
    strace.args(["--invocations=1", "--no-ceilings", "--quiet", "."]);
    let Ok(output) = strace.output() else { return skip(test, "strace is not installed") };
    let told = std::fs::read_to_string(&trace).unwrap();
    let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
    for line in told.lines() {
        let Some((_, size)) = line.rsplit_once(") = ") else { continue };
        *sizes.entry(size.trim()).or_default() += 1;
    }
    let of = |size: &str| sizes.get(size).copied().unwrap_or(0);
    let (small, large) = (of("4096"), of("65536"));
    assert!(small + large >= 1000, "{sizes:?}: {output:?}");
    assert!((550..650).contains(&(1000 * small / (small + large))), "{sizes:?}");
}

#[test]
fn sizes_that_mean_nothing_are_refused() {
    let sandbox = Sandbox::new();
    for (sizes, expected) in [
        ("4k/60:64k/30", "the percentages must add up to 100"),
        ("4k/60:6k/40", "each size must be a multiple of the smallest"),
        ("4k:8k", "write sizes and whole percentages"),
    ] {
        sandbox.refuses(&["run", "depth", "--block", sizes], &[sizes, expected]);
    }
}

/// Threads append in an order that only the OS knows: all of their blocks are there, once.
#[test]
fn several_threads_append_to_one_file() {
    let sandbox = Sandbox::new();
    for (block, every) in [("4KiB", 0), ("1000", 100), ("64KiB", 1)] {
        let group = format!(
            "op = \"write\"\nengine = \"write\"\nallocation = \"append\"\nthreads = 4\n\
             pattern = \"sequential\"\nblock = \"{block}\"\nsize = \"8000KiB\"\nevery = {every}\n"
        );
        let case = only(&sandbox, &group, &[]);
        assert_eq!(case["writing"]["read_back_verified"], true, "{group}: {case:#}");
        let figures = &case["trials"][0]["figures"];
        assert_eq!(figures["bytes"], 8000 << 10, "{group}");
    }
}
