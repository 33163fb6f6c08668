//! A device that becomes slow after so many bytes, as one with a full cache or without credits.

use super::plant::{Group, Io, Limit, PAST_CACHE, Planted, check_near, only, tried};
use crate::sandbox::{argument, wait_for};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

const MIB: u64 = 1 << 20;
/// The rate before the cliff, in bytes per second.
const FAST: u64 = 40_000_000;
/// After it.
const SLOW: u64 = 4_000_000;
/// The device becomes slow after so many bytes, of which the file's creation is none.
const AFTER: u64 = 120 * MIB;

/// Bytes that a device has written.
fn written(device: &str) -> u64 {
    let stat = std::fs::read_to_string(Path::new("/sys/block").join(device).join("stat")).unwrap();
    stat.split_whitespace().nth(6).unwrap().parse::<u64>().unwrap() * 512
}

/// A file system on a loop device with the limit, its device, and the group that has the limit.
fn limited(test: &str) -> Option<(Planted, String, Group)> {
    let planted = Planted::on_loop(test, "ext4", &PAST_CACHE)?;
    let device = planted.mounted.loop_name().to_string();
    let group = Group::new(test, Limit::Device(Io::WriteBytes, &device, FAST))?;
    Some((planted, device, group))
}

/// The recipe on `planted` in a group with the limit, for eight seconds.
fn start(planted: &Planted, group: &Group) -> Child {
    let mut launch = group.launch(&planted.sandbox);
    let record = record_of(planted);
    launch.args(["run", "steady", ".", "--for=8s", "--size=4MiB", "--block=64KiB", "--json"]);
    launch.args(["--record", argument(&record)]);
    launch.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn record_of(planted: &Planted) -> PathBuf {
    planted.sandbox.state().join("steady.jsonl")
}

/// What a report says of the record, in one line.
fn said(planted: &Planted) -> String {
    let said = planted.sandbox.judges(&["report", argument(&record_of(planted))]);
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The report, and the state of its only case.
fn finish(running: Child) -> (Value, Value) {
    let output = running.wait_with_output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let state = report["steady"][0].clone();
    assert!(state.is_object(), "{report:#}");
    (report, state)
}

/// Two at the same time, each on a device of its own: only one becomes slow.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_device_that_becomes_slow_has_a_cliff_and_its_twin_has_none() {
    tried(|| {
        let test = "a_device_that_becomes_slow_has_a_cliff_and_its_twin_has_none";
        let Some((planted, device, group)) = limited(test) else { return };
        let Some((twin, _, of_twin)) = limited(test) else { return };
        let before = written(&device);
        let [running, even] = [start(&planted, &group), start(&twin, &of_twin)];
        wait_for("the fast part", || {
            (written(&device).saturating_sub(before) >= AFTER).then_some(())
        });
        group.set(Limit::Device(Io::WriteBytes, &device, SLOW));
        let (report, state) = finish(running);
        let cliff = &state["cliff"];
        check_near(&cliff["before"], FAST as f64, 0.2);
        check_near(&cliff["after"], SLOW as f64, 0.2);
        check_near(&cliff["at_bytes"], AFTER as f64, 0.25);
        // What was written above the later rate until then: nine tenths.
        check_near(&cliff["saved_bytes"], 0.9 * AFTER as f64, 0.25);
        assert_eq!(only(&report)["course"]["change"]["at_bytes"], cliff["at_bytes"]);
        let said = said(&planted);
        assert!(said.contains("then it fell to") && said.contains("had saved up"), "{said}");

        // A busy disk below may keep it from being steady, but makes no cliff.
        let (_, state) = finish(even);
        assert_eq!(state["cliff"], Value::Null, "{state:#}");
        let said = self::said(&twin);
        assert!(!said.contains("then it fell to"), "{said}");
    });
}
