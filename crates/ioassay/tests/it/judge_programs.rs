//! `judge` of programs that nobody here wrote: what they did with files, and what served their
//! bytes.
//!
//! All is counted: by strace, by the programs themselves, or by the sizes of files.

mod blind;
mod bounds;
mod counted;
mod databases;
mod engines;
mod readers;
mod traced;
mod unprivileged;
mod writers;

use crate::mounts;
use crate::sandbox::{Sandbox, argument, skip};
use serde_json::{Value, json};
use std::path::Path;

/// The size of the files that are read, unless a test says otherwise.
const FILE_BYTES: u64 = 32 << 20;
/// The size of the pages in which residency is counted.
const PAGE_BYTES: u64 = 4096;
/// Runs of each command in each state.
const ROUNDS: &str = "--rounds=2";

/// Whether all `programs` are installed; if not, reports the skipped `test`.
fn are_there(test: &str, programs: &[&str]) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |name: &&str| {
        let folders = std::env::split_paths(&path);
        folders.map(|folder| folder.join(name)).any(|file| file.is_file())
    };
    let missing = programs.iter().find(|name| !is_there(name));
    missing.into_iter().for_each(|name| skip(test, &format!("{name} is not installed")));
    missing.is_none()
}

/// A sandbox on a disk, if all `programs` are installed; if not, reports the skipped `test`.
pub(crate) fn on_disk(test: &str, programs: &[&str]) -> Option<Sandbox> {
    let sandbox = Sandbox::new();
    (are_there(test, programs) && sandbox.is_on_disk(test)).then_some(sandbox)
}

/// A new file of incompressible bytes in `sandbox`.
fn file(sandbox: &Sandbox, name: &str, bytes: u64) {
    drop(mounts::file(&sandbox.path(name), bytes));
}

/// What `judge` said of one command, and the record that it kept.
struct Judged {
    assessment: Value,
    header: Value,
    trials: Vec<Value>,
}

impl Judged {
    /// Judges with `args`, in the directory of `sandbox`.
    #[track_caller]
    fn of(sandbox: &Sandbox, args: &[&str]) -> Judged {
        let record = sandbox.state().join("judged.jsonl");
        if record.exists() {
            std::fs::remove_file(&record).unwrap();
        }
        let form = ["--json", "--record", argument(&record)];
        let own = ["--invocations=1", ROUNDS];
        let assessment = sandbox.json(&[&["judge"], &own[..], &form, args].concat());
        Judged::read(&record, assessment)
    }

    /// With the record at this path.
    fn read(record: &Path, assessment: Value) -> Judged {
        let lines = std::fs::read_to_string(record).unwrap();
        let lines: Vec<Value> =
            lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let header = lines[0]["header"].clone();
        let trials = lines.iter().map(|line| line["trial"].clone());
        let trials = trials.filter(|trial| trial.is_object()).collect();
        Judged { assessment, header, trials }
    }

    /// What the rehearsal saw.
    fn facts(&self) -> &Value {
        let rehearsals = self.header["rehearsals"].as_array().expect("there was a rehearsal");
        assert_eq!(rehearsals.len(), 1, "{rehearsals:?}");
        &rehearsals[0]
    }

    /// The data files that the rehearsal saw.
    fn data_files(&self) -> impl Iterator<Item = &Value> {
        let files = self.facts()["files"].as_array().unwrap();
        files.iter().filter(|file| file["role"] == "data")
    }

    /// What the rehearsal saw of the data file that ended as `name`.
    #[track_caller]
    fn file(&self, name: &str) -> &Value {
        let is_it = |file: &&Value| Path::new(last_path(file)).ends_with(name);
        let mut found = self.data_files().filter(is_it);
        let first = found.next().unwrap_or_else(|| panic!("no {name} in {}", self.facts()));
        assert!(found.next().is_none(), "{name} is there twice in {}", self.facts());
        first
    }

    /// The case whose files had this cache state.
    #[track_caller]
    fn case(&self, cache: &str) -> &Value {
        let cases = self.assessment["cases"].as_array().unwrap();
        let found = cases.iter().find(|case| case["case"]["cache"] == cache);
        found.unwrap_or_else(|| panic!("no case is {cache}: {cases:?}"))
    }

    /// What served the bytes in this cache state. No share of hits is said beside it.
    #[track_caller]
    fn served_by(&self, cache: &str) -> &str {
        let case = self.case(cache);
        for share in ["hit_share", "hit_share_most", "cacheable_share"] {
            assert!(case[share].is_null(), "{share} in {case}");
        }
        case["served_by"].as_str().unwrap_or_else(|| panic!("nothing served {case}"))
    }

    /// The evidence of the trials in this cache state, all of which must have been done.
    #[track_caller]
    fn evidence(&self, cache: &str) -> Vec<&Value> {
        let cases = self.header["plan"]["cases"].as_array().unwrap();
        let is_it = |case: &Value| {
            let axes = case["case"].as_array().unwrap();
            axes.contains(&json!(["cache", cache]))
        };
        let number = cases.iter().position(is_it);
        let number = number.unwrap_or_else(|| panic!("no case is {cache}: {cases:?}"));
        let trials = self.trials.iter().filter(|trial| trial["case"] == number);
        let is_done = |trial: &&Value| trial["outcome"]["done"].is_object();
        let (done, others): (Vec<&Value>, Vec<&Value>) = trials.partition(is_done);
        assert!(done.len() == 2 && others.is_empty(), "{done:?} {others:?}");
        done.into_iter().map(|trial| &trial["evidence"]).collect()
    }
}

/// The path of a file of a rehearsal at its end.
fn last_path(file: &Value) -> &str {
    let renamed = file["renamed"]["text"].as_str();
    renamed.or_else(|| file["path"]["text"].as_str()).unwrap()
}

/// A count of evidence or of facts; one of facts is absent if it is 0.
#[track_caller]
fn count(of: &Value, name: &str) -> u64 {
    of[name].as_u64().unwrap_or_else(|| panic!("no {name} in {of}"))
}

/// A count of facts, which is absent if it is 0.
fn fact(of: &Value, group: &str, name: &str) -> u64 {
    of[group][name].as_u64().unwrap_or(0)
}

/// Checks that `actual` is `expected` but for a hundredth.
#[track_caller]
fn check_near(actual: u64, expected: u64, what: &str) {
    let most = expected / 100;
    assert!(actual.abs_diff(expected) <= most, "{what}: {actual} instead of {expected}");
}

/// Checks that devices read `bytes` when the files were cold, and nothing of them when they were
/// warm, for the command and at all.
#[track_caller]
fn check_device_reads(judged: &Judged, bytes: u64) {
    for trial in judged.evidence("cold") {
        let [own, all] = ["task_read_bytes", "device_read_bytes"].map(|name| count(trial, name));
        assert!(own >= bytes - bytes / 100, "cold: {own} of {bytes} for the command: {trial}");
        assert!(all >= bytes - bytes / 100, "cold: {all} of {bytes} from the device: {trial}");
        assert_eq!(trial["residency_before"]["cached"], 0, "{trial}");
    }
    for trial in judged.evidence("warm") {
        let own = count(trial, "task_read_bytes");
        assert!(own <= bytes / 100, "warm: {own} of {bytes}: {trial}");
        let before = &trial["residency_before"];
        assert_eq!(before["cached"], before["pages"], "{trial}");
    }
}
