//! The pages of the buffers that blocks pass through, as the OS counts them.

use crate::sandbox::{Sandbox, argument, skip};
use model::case::{BufferPages, Case};
use model::record::Record;

/// Every kind of buffer: one block, several, data with and without a period, and those of copies
/// and mixes; small and large.
const BUFFERS: &str = r#"
name = "buffers"
question = "In which pages are buffers?"
size = "16MiB"
rounds = 1
invocations = 1
time = "20ms"
ceilings = false

[view]
columns = ["throughput"]
answer = []

[[cases]]
engine = ["pread", "read", "buffered", "uring"]
cache = "warm"
touch = "none"
block = ["64KiB", "4MiB"]
threads = 2
pages = ["base", "huge"]

[[cases]]
engine = "uring"
cache = "warm"
touch = "none"
block = ["64KiB", "1MiB"]
depth = 8
pages = ["base", "huge"]

[[cases]]
op = "write"
engine = ["pwrite", "uring"]
allocation = "overwrite"
sync = "none"
fill = ["random", "zero"]
block = ["64KiB", "4MiB"]
pages = ["base", "huge"]

[[cases]]
op = "write"
engine = "uring"
allocation = "overwrite"
sync = "none"
block = ["1KiB", "1MiB"]
depth = 3
pages = ["base", "huge"]

[[cases]]
op = "copy"
engine = ["write", "uring"]
sync = "none"
block = ["64KiB", "4MiB"]
pages = ["base", "huge"]
"#;

/// How much of the worker's memory was in huge pages in each trial that was done, by case.
fn seen(record: &Record) -> Vec<(&Case, u64)> {
    let case = |case: usize| &record.header.plan.cases[case].case;
    let done = record.trials.iter().filter(|trial| trial.sample().is_some());
    done.filter_map(|trial| Some((case(trial.case), trial.evidence.huge_bytes?))).collect()
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn buffers_are_in_the_pages_that_are_asked_for() {
    let test = "buffers_are_in_the_pages_that_are_asked_for";
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("buffers.toml"), BUFFERS).unwrap();
    let path = sandbox.path("record");
    let report = sandbox.json(&["run", "buffers.toml", "--json", "--record", argument(&path)]);
    let record = ioassay::store::read(&path).unwrap();
    let setup = &record.header.host.setup;
    let huge = record.header.host.huge_page_bytes();
    if setup.huge_pages.as_deref() != Some("madvise") || setup.huge_pages_allowed == Some(false) {
        return skip(test, "the OS gives huge pages to all, or to nobody");
    }
    let all = seen(&record);
    assert!(all.len() > 20, "{}", all.len());
    for (case, bytes) in all {
        let id = case.id();
        if case.io().is_some_and(|io| io.pages == BufferPages::Base) {
            assert_eq!(bytes, 0, "{id}");
            continue;
        }
        // The OS may have none left, and then the report says so.
        let is_short = bytes < case.buffer_bytes(huge);
        let row = report["cases"].as_array().unwrap().iter().find(|row| row["id"] == id.as_str());
        let findings = row.unwrap_or_else(|| panic!("no {id}"))["findings"].as_array().unwrap();
        let is_told = findings.iter().any(|found| found["code"] == "PageSize");
        assert!(!is_short || is_told, "{id}: {bytes} of {}", case.buffer_bytes(huge));
        assert!(!is_told || is_short, "{id}: {findings:?}");
    }
}
