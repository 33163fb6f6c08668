//! fio with each of its ways to read, held against what fio says of itself.

use super::{FILE_BYTES, Judged, check_device_reads, check_near, count, fact, file, on_disk};
use crate::honesty::plant::tried;
use crate::sandbox::Sandbox;
use serde_json::Value;

/// fio's arguments to read the whole file `f` once with `engine`.
fn fio<'a>(engine: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let plain = [
        "fio",
        "--name=a",
        "--filename=f",
        "--readonly",
        "--rw=read",
        "--bs=64k",
        "--output-format=json",
        "--output=fio.json",
        engine,
    ];
    [&plain[..], more].concat()
}

/// What fio said in its last run of the bytes that it read, and of the time that it took.
fn said_by_fio(sandbox: &Sandbox) -> (u64, u64) {
    let text = std::fs::read_to_string(sandbox.path("fio.json")).unwrap();
    let said: Value = serde_json::from_str(&text).unwrap();
    let read = &said["jobs"][0]["read"];
    (count(read, "io_bytes"), count(read, "runtime"))
}

/// Engines, and how the rehearsal shows them.
type Shown = fn(&Judged) -> bool;
const ENGINES: [(&str, Shown); 4] = [
    ("--ioengine=psync", |judged| judged.facts()["queues"] == serde_json::json!({})),
    ("--ioengine=libaio", |judged| fact(judged.facts(), "queues", "aio") == 1),
    ("--ioengine=io_uring", |judged| fact(judged.facts(), "queues", "uring") == 1),
    ("--ioengine=mmap", |judged| fact(judged.file("f"), "mappings", "shared") >= 1),
];

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn fio_reads_what_it_says_whichever_way_it_reads() {
    let test = "fio_reads_what_it_says_whichever_way_it_reads";
    let Some(sandbox) = on_disk(test, &["fio"]) else { return };
    file(&sandbox, "f", FILE_BYTES);
    for (engine, is_shown) in ENGINES {
        tried(|| {
            // Without this, fio evicts the file before it reads it.
            let command = fio(engine, &["--invalidate=0"]);
            let judged =
                Judged::of(&sandbox, &[&["--cache=warm,cold", "--"], &command[..]].concat());
            assert!(is_shown(&judged), "{engine}: {}", judged.facts());
            check_device_reads(&judged, FILE_BYTES);
            assert_eq!(judged.served_by("warm"), "page-cache", "{engine}: {}", judged.case("warm"));
            assert_eq!(judged.served_by("cold"), "device", "{engine}: {}", judged.case("cold"));
            let (said, took_ms) = said_by_fio(&sandbox);
            assert_eq!(said, FILE_BYTES);
            for trial in judged.evidence("cold") {
                check_near(count(trial, "task_read_bytes"), said, engine);
                // What fio wrote about its last run is a file that it uses, too.
                let pages = count(&trial["residency_before"], "pages");
                check_near(pages * super::PAGE_BYTES, said, engine);
            }
            check_time(&judged, took_ms);
            let is_counted = engine == "--ioengine=psync";
            for trial in judged.evidence("warm") {
                let asked = count(trial, "task_rchar_bytes");
                assert_eq!(asked >= FILE_BYTES, is_counted, "{engine}: {asked}");
            }
        });
    }
}

/// The last run took at least as long as fio says that it read, so its rate is no more than fio's.
#[track_caller]
fn check_time(judged: &Judged, took_ms: u64) {
    let last = judged.trials.last().unwrap();
    let span = &last["outcome"]["done"]["spans"][0];
    let wall_ns = count(span, "end_ns") - count(span, "start_ns");
    assert!(wall_ns >= took_ms.saturating_sub(1) * 1_000_000, "{wall_ns} ns, not {took_ms} ms");
}

/// What was warm is evicted by fio itself: the figure is the device's, and the page cache is not
/// said to have served anything.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn fio_that_evicts_its_file_is_not_called_warm() {
    let test = "fio_that_evicts_its_file_is_not_called_warm";
    let Some(sandbox) = on_disk(test, &["fio"]) else { return };
    file(&sandbox, "f", FILE_BYTES);
    for (engine, _) in ENGINES {
        let command = fio(engine, &["--invalidate=1"]);
        let judged = Judged::of(&sandbox, &[&["--cache=warm", "--"], &command[..]].concat());
        assert!(fact(judged.file("f"), "hints", "dont_need") >= 1, "{}", judged.file("f"));
        for trial in judged.evidence("warm") {
            assert_eq!(trial["residency_before"]["cached"], trial["residency_before"]["pages"]);
            assert!(count(trial, "task_read_bytes") >= FILE_BYTES - FILE_BYTES / 100, "{trial}");
        }
        let served = judged.served_by("warm");
        assert!(["device", "mixed"].contains(&served), "{engine}: {served}");
    }
}

/// Past the page cache, what is cached does not matter.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn fio_past_the_page_cache_reads_from_the_device_in_each_state() {
    let test = "fio_past_the_page_cache_reads_from_the_device_in_each_state";
    let Some(sandbox) = on_disk(test, &["fio"]) else { return };
    file(&sandbox, "f", FILE_BYTES);
    for engine in ["--ioengine=psync", "--ioengine=libaio", "--ioengine=io_uring"] {
        tried(|| {
            let command = fio(engine, &["--direct=1", "--invalidate=0", "--iodepth=8"]);
            let judged =
                Judged::of(&sandbox, &[&["--cache=warm,cold", "--"], &command[..]].concat());
            assert_eq!(fact(judged.file("f"), "opens", "direct"), 1, "{}", judged.file("f"));
            for cache in ["warm", "cold"] {
                assert_eq!(judged.served_by(cache), "device", "{engine}: {}", judged.case(cache));
                for trial in judged.evidence(cache) {
                    check_near(count(trial, "task_read_bytes"), FILE_BYTES, engine);
                }
            }
        });
    }
}
