//! How warm files are cached: in one state, whatever ran before.

use crate::honesty::plant::tried;
use crate::sandbox::{Sandbox, argument, skip};
use model::case::{Cache, Populated};
use model::record::Record;
use std::collections::BTreeSet;
use std::fs::File;
use witness::page_cache;

const SIZE: u64 = 4 << 20;
const PAGE: u64 = 4096;
const RUN: [&str; 9] = [
    "run",
    "read-methods",
    "--engine=mmap,pread",
    "--threads=1",
    "--block=4KiB",
    "--rounds=3",
    "--time=10ms",
    "--json",
    "--record=record",
];

/// The sizes of the folios before the trials of the warm cases that are cached in this way.
fn folios(record: &Record, way: Populated) -> BTreeSet<Option<u64>> {
    let case = |case: usize| &record.header.plan.cases[case].case;
    let trials = record.trials.iter().filter(|trial| case(trial.case).populated() == Some(way));
    trials.map(|trial| trial.evidence.folio_bytes).collect()
}

/// The size of the folios of `file` after this process has read it in order; `None`, with a
/// message, if `test` cannot tell them from single pages.
fn read_ahead(sandbox: &Sandbox, file: &File, test: &str) -> Option<u64> {
    let probe = sandbox.storage().residency_probe?;
    page_cache::evict(file, page_cache::WHOLE, probe).unwrap();
    page_cache::warm(file, page_cache::WHOLE, probe).unwrap();
    let size = witness::folio_bytes(file).filter(|size| *size > PAGE);
    if size.is_none() {
        skip(test, "only root sees folios, and some file systems have only small ones");
    }
    size
}

/// A file of a user.
fn own_file(sandbox: &Sandbox) -> File {
    let path = sandbox.path("own");
    std::fs::write(&path, vec![7; SIZE as usize]).unwrap();
    File::open(path).unwrap()
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_warm_file_is_in_one_state_whatever_ran_before() {
    tried(check_one_state);
}

fn check_one_state() {
    let test = "a_warm_file_is_in_one_state_whatever_ran_before";
    let sandbox = Sandbox::new();
    if !sandbox.is_on_disk(test) {
        return;
    }
    let Some(expected) = read_ahead(&sandbox, &own_file(&sandbox), test) else { return };
    // The cold cases read the pages one by one and leave them so.
    let more = ["--size=4MiB", "--cache=warm,cold", "--pattern=random", "--advice=random"];
    let ways = ["--populated=readahead,random,written"];
    let report = sandbox.json(&[&RUN[..], &more, &ways].concat());
    let record = ioassay::store::read(&sandbox.path("record")).unwrap();
    assert_eq!(folios(&record, Populated::ReadAhead), [Some(expected)].into());
    assert_eq!(folios(&record, Populated::Random), [Some(PAGE)].into());
    let written = folios(&record, Populated::Written);
    assert!(written.len() == 1 && !written.contains(&None), "{written:?}");
    let is_cold = |case: usize| record.header.plan.cases[case].case.cache() == Some(Cache::Cold);
    let cold = record.trials.iter().filter(|trial| is_cold(trial.case));
    assert!(cold.clone().count() > 0 && cold.clone().all(|it| it.evidence.folio_bytes.is_none()));
    for case in report["cases"].as_array().unwrap() {
        let (way, size) = (&case["case"]["populated"], &case["folio_bytes"]);
        assert_eq!(way.is_null(), case["case"]["cache"] == "cold", "{case:#}");
        assert_eq!(size.is_null(), way.is_null(), "{case:#}");
    }
}

#[test]
fn a_users_own_file_stays_cached_by_others() {
    tried(check_own_file);
}

fn check_own_file() {
    let test = "a_users_own_file_stays_cached_by_others";
    let sandbox = Sandbox::new();
    if !sandbox.is_on_disk(test) {
        return;
    }
    let file = own_file(&sandbox);
    let path = sandbox.path("own");
    let named = ["--file", argument(&path)];
    let written = [&RUN[..], &named, &["--cache=warm", "--populated=written"]].concat();
    sandbox.refuses(&written, &["your own file is only read, never written"]);
    let Some(expected) = read_ahead(&sandbox, &file, test) else { return };
    let probe = sandbox.storage().residency_probe.unwrap();
    page_cache::evict(&file, page_cache::WHOLE, probe).unwrap();
    page_cache::warm_at_random(&file, page_cache::WHOLE, probe, &|| false).unwrap();
    let run = |more: &[&str], way: Populated, size: u64| {
        let report = sandbox.json(&[&RUN[..], &named, more].concat());
        let record = ioassay::store::read(&sandbox.path("record")).unwrap();
        std::fs::remove_file(sandbox.path("record")).unwrap();
        assert_eq!(folios(&record, way), [Some(size)].into(), "{more:?}");
        let ways = report["cases"].as_array().unwrap().iter();
        let ways: BTreeSet<_> = ways.filter_map(|it| it["case"]["populated"].as_str()).collect();
        assert_eq!(ways, [way.name()].into(), "{more:?}");
    };
    // Nobody asked for it to be evicted: its pages stay single.
    run(&["--cache=warm"], Populated::Others, PAGE);
    // Nor by a case that is refused: a mapping cannot be direct.
    let mapped = [&RUN[..2], &["--engine=mmap"], &RUN[3..], &named, &["--cache=direct,warm"]];
    sandbox.json(&mapped.concat());
    let record = ioassay::store::read(&sandbox.path("record")).unwrap();
    std::fs::remove_file(sandbox.path("record")).unwrap();
    assert_eq!(folios(&record, Populated::Others), [Some(PAGE)].into());
    let told = sandbox.judges(&[&RUN[..7], &named, &["--cache=warm", "--record=record"]].concat());
    assert!(told.contains("cached by others"), "{told}");
    std::fs::remove_file(sandbox.path("record")).unwrap();
    run(&["--cache=warm", "--populated=readahead"], Populated::ReadAhead, expected);
    run(&["--cache=warm,cold", "--populated=random"], Populated::Random, PAGE);
}

#[test]
fn in_memory_a_warm_file_stays_as_it_was_written() {
    let test = "in_memory_a_warm_file_stays_as_it_was_written";
    let Some(sandbox) = Sandbox::in_memory() else { return skip(test, "there is no /dev/shm") };
    let report = sandbox.json(&[&RUN[..], &["--size=1MiB", "--cache=warm"]].concat());
    for case in report["cases"].as_array().unwrap() {
        assert_eq!(case["case"]["populated"], "written", "{case:#}");
        assert_eq!(case["failures"], serde_json::json!([]), "{case:#}");
    }
}
