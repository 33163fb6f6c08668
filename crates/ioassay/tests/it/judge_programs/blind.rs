//! File systems where the counters do not show what served the bytes: nothing is claimed there.

use super::{FILE_BYTES, Judged, are_there, check_device_reads, count, file};
use crate::honesty::plant::tried;
use crate::mounts::{self, Mounted, PLAIN, Setup};
use crate::sandbox::{Sandbox, argument, skip};
use serde_json::Value;
use tempfile::TempDir;

/// The command of all of these.
const READS: [&str; 6] = ["--cache=warm,cold", "--", "dd", "if=f", "of=/dev/null", "bs=64k"];

/// The directory that mounts are made in.
fn place() -> TempDir {
    TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// What is mounted, if this is root and `programs` are there; if not, reports the skipped `test`.
fn mounted(
    test: &str,
    programs: &[&str],
    mount: impl FnOnce() -> Result<Mounted, String>,
) -> Option<Mounted> {
    if !mounts::is_root(test) || !are_there(test, programs) {
        return None;
    }
    mount().map_err(|reason| skip(test, &reason)).ok()
}

/// Checks that all trials asked for the whole file, and that no device is known to have read it.
#[track_caller]
fn check_unseen(judged: &Judged) {
    for cache in ["warm", "cold"] {
        assert_eq!(judged.served_by(cache), "unverified", "{}", judged.case(cache));
        for trial in judged.evidence(cache) {
            assert!(count(trial, "task_rchar_bytes") >= FILE_BYTES, "{trial}");
            assert_eq!(trial["device_read_bytes"], Value::Null, "{trial}");
        }
    }
}

#[test]
fn what_a_fuse_file_system_serves_is_unverified() {
    let test = "what_a_fuse_file_system_serves_is_unverified";
    let mount = || Mounted::pass_through(place(), &[]);
    let Some(mounted) = mounted(test, &["bindfs", "dd"], mount) else { return };
    let sandbox = Sandbox::on(&mounted.point);
    file(&sandbox, "f", FILE_BYTES);
    let judged = Judged::of(&sandbox, &READS);
    check_unseen(&judged);
    for trial in judged.evidence("cold") {
        assert_eq!(count(trial, "task_read_bytes"), 0, "the server reads it: {trial}");
    }
}

/// A device reads nothing of either, which says nothing of the one that a server reads.
#[test]
fn a_small_file_on_fuse_beside_a_large_one_on_a_disk_is_unverified() {
    let test = "a_small_file_on_fuse_beside_a_large_one_on_a_disk_is_unverified";
    let mount = || Mounted::pass_through(place(), &[]);
    let Some(mounted) = mounted(test, &["bindfs", "cat", "dd"], mount) else { return };
    let Some(sandbox) = super::on_disk(test, &[]) else { return };
    file(&sandbox, "f", FILE_BYTES);
    let small = mounted.point.join("f");
    drop(mounts::file(&small, FILE_BYTES / 4));
    // dd evicts a file if it is to read none of it.
    let evict = format!("--prepare=dd if={} iflag=nocache count=0 status=none", small.display());
    let warm = ["--cache=warm", "--", "cat", argument(&small), "f"];
    tried(|| {
        let judged = Judged::of(&sandbox, &warm);
        assert_eq!(judged.served_by("warm"), "page-cache", "{}", judged.case("warm"));
        let as_is = [&[evict.as_str(), "--cache=as-is"], &warm[1..]].concat();
        let judged = Judged::of(&sandbox, &as_is);
        assert_eq!(judged.served_by("as-is"), "unverified", "{}", judged.case("as-is"));
        for trial in judged.evidence("as-is") {
            assert!(count(trial, "task_read_bytes") <= 64 << 10, "{trial}");
        }
    });
}

/// Where its layers can be found, their device tells; where not, nothing is claimed.
#[test]
fn what_an_overlay_serves_is_told_by_the_device_of_its_layers_or_unverified() {
    let test = "what_an_overlay_serves_is_told_by_the_device_of_its_layers_or_unverified";
    let mount = || Mounted::overlay(place(), "rw");
    let Some(mounted) = mounted(test, &["dd"], mount) else { return };
    let sandbox = Sandbox::on(&mounted.point);
    file(&sandbox, "f", FILE_BYTES);
    tried(|| {
        let judged = Judged::of(&sandbox, &READS);
        let is_seen = judged.evidence("cold").iter().all(|it| it["device_read_bytes"].is_u64());
        match is_seen {
            true => {
                check_device_reads(&judged, FILE_BYTES);
                assert_eq!(judged.served_by("warm"), "page-cache", "{}", judged.case("warm"));
                assert_eq!(judged.served_by("cold"), "device", "{}", judged.case("cold"));
            }
            false => check_unseen(&judged),
        }
    });
}

/// 256 MiB, whose files are compressed.
const COMPRESSED: Setup = Setup { size: 256 << 20, mount: "compress-force=zstd", ..PLAIN };

/// The device reads a small part of what the program gets, and the page cache had nothing of it.
#[test]
fn what_a_compressed_file_is_served_by_when_cold_is_unverified() {
    let test = "what_a_compressed_file_is_served_by_when_cold_is_unverified";
    let mount = || Mounted::on_loop(place(), "btrfs", &COMPRESSED);
    let Some(mounted) = mounted(test, &["mkfs.btrfs", "dd"], mount) else { return };
    let sandbox = Sandbox::on(&mounted.point);
    let text = b"all lines are the same\n".repeat((FILE_BYTES / 23) as usize);
    std::fs::write(sandbox.path("f"), &text).unwrap();
    std::fs::File::open(sandbox.path("f")).unwrap().sync_all().unwrap();
    let bytes = text.len() as u64;
    let judged = Judged::of(&sandbox, &READS);
    assert_eq!(judged.served_by("cold"), "unverified", "{}", judged.case("cold"));
    assert_eq!(judged.served_by("warm"), "page-cache", "{}", judged.case("warm"));
    for trial in judged.evidence("cold") {
        let read = count(trial, "task_read_bytes");
        assert!(0 < read && read < bytes / 4, "{read} of {bytes}: {trial}");
    }
}

/// The twin: what cannot be compressed is read as it is.
#[test]
fn what_cannot_be_compressed_comes_from_the_device_when_cold() {
    let test = "what_cannot_be_compressed_comes_from_the_device_when_cold";
    let mount = || Mounted::on_loop(place(), "btrfs", &COMPRESSED);
    let Some(mounted) = mounted(test, &["mkfs.btrfs", "dd"], mount) else { return };
    let sandbox = Sandbox::on(&mounted.point);
    file(&sandbox, "f", FILE_BYTES);
    let judged = Judged::of(&sandbox, &READS);
    assert_eq!(judged.served_by("cold"), "device", "{}", judged.case("cold"));
    assert_eq!(judged.served_by("warm"), "page-cache", "{}", judged.case("warm"));
}

/// No device has holes, and a cold cache has nothing of them.
#[test]
fn what_serves_the_holes_of_a_cold_file_is_unverified() {
    let test = "what_serves_the_holes_of_a_cold_file_is_unverified";
    let Some(sandbox) = super::on_disk(test, &["dd"]) else { return };
    let sparse = std::fs::File::create(sandbox.path("f")).unwrap();
    sparse.set_len(FILE_BYTES).unwrap();
    sparse.sync_all().unwrap();
    let judged = Judged::of(&sandbox, &READS);
    assert_eq!(judged.served_by("cold"), "unverified", "{}", judged.case("cold"));
    assert_eq!(judged.served_by("warm"), "page-cache", "{}", judged.case("warm"));
}

#[test]
fn memory_serves_a_file_that_is_only_there() {
    let test = "memory_serves_a_file_that_is_only_there";
    let Some(sandbox) = Sandbox::in_memory() else {
        return skip(test, "there is no /dev/shm");
    };
    if !are_there(test, &["dd"]) {
        return;
    }
    file(&sandbox, "f", FILE_BYTES);
    let judged = Judged::of(&sandbox, &READS);
    assert_eq!(judged.served_by("warm"), "ram", "{}", judged.case("warm"));
    // It cannot be evicted, which is a failure and no figure.
    let cold = judged.case("cold");
    assert!(cold["served_by"].is_null() && cold["n"] == 0, "{cold}");
    let reason = cold["failures"].to_string();
    assert!(reason.contains("its file system keeps files only there"), "{reason}");
}
