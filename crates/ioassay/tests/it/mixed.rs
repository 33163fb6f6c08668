//! Cases of which some operations read and the rest write, on the file system of the tests.

use crate::sandbox::{Sandbox, argument, text};

const MIX: &str = r#"
name = "mix"
question = "What do reads among writes cost?"
size = "1MiB"
rounds = 2
invocations = 2
time = "10min"
ceilings = false

[view]
columns = ["iops", "read_iops", "read_p50", "write_iops", "write_p50"]
answer = []

[[cases]]
op = "write"
engine = ["pwrite", "uring"]
cache = "direct"
pattern = "random"
block = "4KiB"
# Enough of both kinds, however slow the disk is.
ops = 100
allocation = "overwrite"
sync = ["none", "dsync"]
read_share = 70
"#;

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_mix_is_verified_and_each_kind_has_its_figures() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("mix.toml"), MIX).unwrap();
    let record = sandbox.path("mix.jsonl");
    let output = sandbox.ioassay(&["run", "mix.toml", ".", "--record", argument(&record)]);
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{said}");
    for word in ["reads", "read p50", "writes", "write p50", "70 % reads"] {
        assert!(said.contains(word), "no '{word}' in {said}");
    }
    let kept = ioassay::store::read(&record).expect("the run kept it");
    assert_eq!(kept.trials.len(), 4 * 2);
    for trial in &kept.trials {
        let sample = trial.sample().expect("it succeeded");
        assert!(sample.read_ops() > 0 && sample.written_ops() > 0, "{sample:?}");
        assert_eq!(sample.reads.count(), sample.read_ops());
        assert_eq!(sample.latencies.count(), sample.ops());
        assert!(trial.expected_digest.is_some(), "the reads are checked");
        assert_eq!(sample.digest(), trial.expected_digest);
        let read_back = trial.read_back.expect("the writes are read back");
        assert_eq!(read_back.digest, read_back.expected);
    }
    let judged = sandbox.json(&["report", argument(&record), "--json"]);
    for case in judged["cases"].as_array().unwrap() {
        assert_eq!(case["digest_verified"], true, "{}", case["id"]);
        let figure = |of: &str| case["mixed"][of]["median"].as_f64().expect("it has one");
        let all = case["iops"]["median"].as_f64().unwrap();
        let sum = figure("read_iops") + figure("write_iops");
        // Of 100 operations, as good as always 55 to 85 read in each round, whatever the rates are.
        assert!((sum / all - 1.0).abs() < 0.2, "{sum} of {all}: medians of two rounds");
    }
}

#[test]
fn a_share_that_cannot_be_is_refused() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("mix.toml"), MIX).unwrap();
    let refused = |args: &[&str], reason: &str| {
        sandbox.refuses(&[&["run", "mix.toml", "."], args].concat(), &[reason]);
    };
    refused(&["--read-share", "100"], "a percentage from 0 to 99");
    refused(&["--read-share=-1"], "read_share");
    refused(&["--cache", "as-is"], "use cache direct");
    refused(&["--allocation", "none"], "use allocation overwrite");
    refused(&["--rate", "1000"], "have no schedule");
    refused(&["--sync", "fdatasync", "--sync-every", "4"], "one sync at the end");
    refused(&["--engine", "write"], "use pwrite or uring");
}
