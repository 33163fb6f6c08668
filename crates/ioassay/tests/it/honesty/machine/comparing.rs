//! Equal cases, which seldom differ, and a difference of a tenth, which is found.

use super::super::plant::{
    Group, Io, Limit, PAST_CACHE, Planted, check_near, check_served, measure, only, plainly, quiet,
    tried,
};
use crate::sandbox::{Sandbox, argument, skip};
use serde_json::Value;
use std::path::PathBuf;

/// A loop over memory that needs no ceilings: a run takes a second.
const LOOP: &str = "[[cases]]\nkernel = \"read\"\nworking_set = \"64KiB\"\ntime = \"20ms\"\n";

/// Reads of a file in memory, in every cache state.
const READS: &str = "[[cases]]\nsize = \"1MiB\"\nengine = \"pread\"\nblock = \"64KiB\"\nops = 0\n\
                     cache = [\"as-is\", \"warm\", \"direct\"]\ntime = \"20ms\"\n";

/// More than 2 of 8 equal cases wrongly differ with a probability of 0.05 %.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn the_same_twice_seldom_differs() {
    check_twins("the_same_twice_seldom_differs", 5, 2);
}

/// Checks that at most `most` of the pairs of some runs with controls differ, and that these are
/// told: `loops` of memory, and one of files, which takes ten times as long because it measures
/// ceilings, too, but has three controls.
pub(crate) fn check_twins(test: &str, loops: usize, most: usize) {
    let runs: [(usize, &str, &[&str]); 2] = [(loops, LOOP, &[]), (1, READS, &["."])];
    tried(|| {
        let Some(sandbox) = Sandbox::in_memory() else { return skip(test, "there is no /dev/shm") };
        let _quiet = quiet();
        let (mut pairs, mut differ) = (0, 0);
        for (count, groups, place) in runs {
            for _ in 0..count {
                let args = [place, &["--control", "--rounds=10"]].concat();
                let report = measure(&sandbox, plainly(&sandbox), groups, &args);
                let (twins, different) = twins(&report);
                pairs += twins;
                differ += different;
            }
        }
        assert_eq!(pairs, loops + 3);
        assert!(differ <= most, "{differ} of {pairs} differ");
        eprintln!("{test}: {differ} of {pairs}");
    });
}

/// The number of cases measured twice, and of those that differ, which must be told.
fn twins(report: &Value) -> (usize, usize) {
    let twins = report["control"]["comparisons"].as_array().unwrap();
    let different = twins.iter().filter(|twin| twin["difference"] == "different").count();
    let mut findings = report["findings"].as_array().unwrap().iter();
    let is_told = findings.any(|found| found["code"] == "ControlDiffers");
    assert_eq!(is_told, different > 0, "{:#}", report["control"]);
    (twins.len(), different)
}

/// Direct reads, whose rate is the limit. Enough are in flight, and for long enough, to hide slow
/// moments: beside a dozen compilers, the rates of trials of 1 s varied by a tenth.
const DIRECT: &str = "[[cases]]\nengine = \"uring\"\ndepth = 8\ncache = \"direct\"\n\
                      block = \"64KiB\"\nops = 0\ntime = \"2s\"\n";

const MIB: u64 = 1 << 20;

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_tenth_less_is_found() {
    tried(|| {
        let test = "a_tenth_less_is_found";
        let Some(planted) = Planted::on_loop(test, "ext4", &PAST_CACHE) else { return };
        let (sandbox, device) = (&planted.sandbox, planted.mounted.loop_name());
        let limit = |mib: u64| Limit::Device(Io::ReadBytes, device, mib * MIB);
        let Some(group) = Group::new(test, limit(20)) else { return };
        let record = |name: &str, mib: u64| -> PathBuf {
            group.set(limit(mib));
            // The invocations decide whether two records differ.
            let args = [".", "--rounds=6", "--invocations=6"];
            let report = measure(sandbox, group.launch(sandbox), DIRECT, &args);
            check_served(only(&report), "device");
            // In such a short trial, the throttle's saved budget and its time slices matter.
            check_near(&only(&report)["throughput"]["median"], (mib * MIB) as f64, 0.15);
            let path = sandbox.state().join(name);
            std::fs::rename(sandbox.state().join("record"), &path).unwrap();
            path
        };
        let (a, b, again) = (record("a", 20), record("b", 18), record("again", 20));
        let compared = |other: &PathBuf| -> Value {
            let said = sandbox.says(&["compare", argument(&a), argument(other), "--json"]);
            let versus: Value = serde_json::from_str(&said).unwrap();
            assert_eq!(versus["pairs"].as_array().unwrap().len(), 1, "{versus:#}");
            versus["pairs"][0]["comparison"].clone()
        };
        let less = compared(&b);
        // The limit is a doubt about both figures, which decides nothing; but it is seen.
        assert_eq!(less["difference"], "in doubt", "{less:#}");
        assert!(less["high"].as_f64().unwrap() < 1.0, "{less:#}");
        let ratio = less["ratio"].as_f64().unwrap();
        assert!((0.85..0.95).contains(&ratio), "{less:#}");
        let same = compared(&again);
        let ratio = same["ratio"].as_f64().unwrap();
        assert!((0.95..1.05).contains(&ratio), "{same:#}");
    });
}
