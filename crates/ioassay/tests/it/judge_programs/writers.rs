//! Programs that write files: what of it was on the device when they ended, and what they read.

use super::traced::{bytes_read, syncs, syncs_seen};
use super::{FILE_BYTES, Judged, PAGE_BYTES, are_there, check_device_reads, check_near, count};
use super::{fact, file, last_path, on_disk};
use crate::honesty::plant::tried;
use crate::mounts::{self, Mounted, PLAIN, Setup};
use crate::sandbox::{Sandbox, skip};
use serde_json::Value;
use std::fs::File;
use tempfile::TempDir;

/// Two states, each verified.
const STATES: &str = "--cache=warm,cold";

/// What the page cache had of the written files at the end of each trial: pages, those cached, and
/// those dirty.
fn left(judged: &Judged, cache: &str) -> Vec<[u64; 3]> {
    let left = |trial: &Value| {
        ["pages", "cached", "dirty"].map(|name| count(&trial["written_after"], name))
    };
    judged.evidence(cache).into_iter().map(left).collect()
}

/// Judges dd as it writes a new file with `options`.
fn dd(sandbox: &Sandbox, options: &[&str]) -> Judged {
    let command = ["dd", "if=/dev/zero", "of=out", "bs=1M", "count=32"];
    // A file that is emptied and written again is flushed by ext4 when it is closed.
    let judged =
        Judged::of(sandbox, &[&["--prepare=rm -f out", "--"], &command[..], options].concat());
    let seen = judged.file("out");
    assert!(seen["created"] == true && seen["bytes_after"] == FILE_BYTES, "{seen}");
    assert_eq!(fact(seen, "opens", "writing"), 1, "{seen}");
    for trial in judged.evidence("as-is") {
        check_near(count(trial, "task_write_bytes"), FILE_BYTES, "bytes made dirty or written");
        assert!(count(trial, "task_read_bytes") <= 64 << 10, "{trial}");
    }
    judged
}

#[test]
fn dd_without_a_sync_ends_before_its_bytes_are_on_the_device() {
    let test = "dd_without_a_sync_ends_before_its_bytes_are_on_the_device";
    let Some(sandbox) = on_disk(test, &["dd"]) else { return };
    let pages = FILE_BYTES / PAGE_BYTES;
    // The OS may write some pages at any time.
    tried(|| {
        let judged = dd(&sandbox, &[]);
        assert!(judged.facts()["syncs"].as_object().unwrap().is_empty(), "{}", judged.facts());
        assert_eq!(left(&judged, "as-is"), [[pages, pages, pages]; 2]);
    });
}

#[test]
fn dd_with_a_sync_leaves_nothing_dirty_and_its_device_flushes() {
    let test = "dd_with_a_sync_leaves_nothing_dirty_and_its_device_flushes";
    let Some(sandbox) = on_disk(test, &["dd", "strace"]) else { return };
    let pages = FILE_BYTES / PAGE_BYTES;
    for sync in ["fdatasync", "fsync"] {
        let option = format!("conv={sync}");
        let judged = dd(&sandbox, &[&option]);
        let seen = judged.file("out");
        assert_eq!(seen["syncs"], serde_json::json!({ sync: 1 }), "{seen}");
        let command = ["dd", "if=/dev/zero", "of=out", "bs=1M", "count=32", &option];
        assert_eq!(syncs_seen(&judged), syncs(&sandbox, &command));
        assert_eq!(left(&judged, "as-is"), [[pages, pages, 0]; 2]);
        for trial in judged.evidence("as-is") {
            assert!(count(trial, "device_write_bytes") >= FILE_BYTES, "{trial}");
            assert!(count(trial, "device_flushes") >= 1, "{trial}");
        }
    }
}

#[test]
fn dd_past_the_page_cache_leaves_nothing_in_it() {
    let test = "dd_past_the_page_cache_leaves_nothing_in_it";
    let Some(sandbox) = on_disk(test, &["dd"]) else { return };
    let judged = dd(&sandbox, &["oflag=direct"]);
    assert_eq!(fact(judged.file("out"), "opens", "direct"), 1);
    assert_eq!(left(&judged, "as-is"), [[FILE_BYTES / PAGE_BYTES, 0, 0]; 2]);
    for trial in judged.evidence("as-is") {
        assert!(count(trial, "device_write_bytes") >= FILE_BYTES, "{trial}");
    }
}

/// It copies within the OS, so that calls like `read` do not tell what was asked for.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn cp_reads_its_source_from_where_it_is_and_leaves_its_copy_dirty() {
    let test = "cp_reads_its_source_from_where_it_is_and_leaves_its_copy_dirty";
    let Some(sandbox) = on_disk(test, &["cp"]) else { return };
    file(&sandbox, "f", FILE_BYTES);
    let pages = FILE_BYTES / PAGE_BYTES;
    tried(|| {
        let args = ["--prepare=rm -f copy", STATES, "--", "cp", "--reflink=never", "f", "copy"];
        let judged = Judged::of(&sandbox, &args);
        check_device_reads(&judged, FILE_BYTES);
        assert_eq!(judged.served_by("warm"), "page-cache", "{}", judged.case("warm"));
        assert_eq!(judged.served_by("cold"), "device", "{}", judged.case("cold"));
        let (source, copy) = (judged.file("f"), judged.file("copy"));
        assert!(source["bytes_before"] == FILE_BYTES && copy["bytes_after"] == FILE_BYTES);
        assert_eq!(fact(source, "opens", "writing"), 0);
        assert_eq!(fact(copy, "copies", "cloned_target"), 0);
        assert_eq!(left(&judged, "warm"), [[pages, pages, pages]; 2]);
    });
}

/// 400 MiB, because a smaller xfs is refused.
const XFS: Setup = Setup { size: 400 << 20, ..PLAIN };

/// A clone shares blocks: nothing is read, whatever is cached.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_clone_reads_and_writes_no_data() {
    let test = "a_clone_reads_and_writes_no_data";
    if !mounts::is_root(test) || !are_there(test, &["cp", "mkfs.xfs"]) {
        return;
    }
    let place = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mounted = match Mounted::on_loop(place, "xfs", &XFS) {
        Ok(mounted) => mounted,
        Err(reason) => return skip(test, &reason),
    };
    let sandbox = Sandbox::on(&mounted.point);
    file(&sandbox, "f", FILE_BYTES);
    let args = ["--prepare=rm -f copy", STATES, "--", "cp", "--reflink=always", "f", "copy"];
    let judged = Judged::of(&sandbox, &args);
    assert_eq!(fact(judged.file("f"), "copies", "cloned_source"), 1);
    assert_eq!(fact(judged.file("copy"), "copies", "cloned_target"), 1);
    for cache in ["warm", "cold"] {
        assert_eq!(judged.served_by(cache), "no-io", "{}", judged.case(cache));
        for trial in judged.evidence(cache) {
            assert!(count(trial, "task_read_bytes") <= 64 << 10, "{trial}");
            assert!(count(trial, "task_write_bytes") <= 64 << 10, "{trial}");
        }
        assert_eq!(left(&judged, cache), [[FILE_BYTES / PAGE_BYTES, 0, 0]; 2]);
    }
}

/// A folder with four different files, as large together as others.
fn tree(sandbox: &Sandbox) {
    std::fs::create_dir(sandbox.path("tree")).unwrap();
    let content = mounts::content(FILE_BYTES);
    for (name, part) in NAMES.iter().zip(content.chunks(content.len() / NAMES.len())) {
        let path = sandbox.path(&format!("tree/{name}"));
        std::fs::write(&path, part).unwrap();
        File::open(path).unwrap().sync_all().unwrap();
    }
}

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// Checks what served the files of the tree, and that each was opened to be read.
#[track_caller]
fn check_tree(judged: &Judged) {
    check_device_reads(judged, FILE_BYTES);
    assert_eq!(judged.served_by("warm"), "page-cache", "{}", judged.case("warm"));
    assert_eq!(judged.served_by("cold"), "device", "{}", judged.case("cold"));
    for name in NAMES {
        let seen = judged.file(&format!("tree/{name}"));
        assert!(fact(seen, "opens", "reading") >= 1 && seen["bytes_before"] == FILE_BYTES / 4);
    }
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn tar_reads_a_tree_and_leaves_its_archive_dirty() {
    let test = "tar_reads_a_tree_and_leaves_its_archive_dirty";
    let Some(sandbox) = on_disk(test, &["tar", "strace"]) else { return };
    tree(&sandbox);
    let command = ["tar", "cf", "out.tar", "tree"];
    tried(|| {
        let judged = Judged::of(
            &sandbox,
            &[&["--prepare=rm -f out.tar", STATES, "--"], &command[..]].concat(),
        );
        check_tree(&judged);
        let archive = count(judged.file("out.tar"), "bytes_after");
        assert!(archive > FILE_BYTES, "{archive}");
        let pages = archive.div_ceil(PAGE_BYTES);
        assert_eq!(left(&judged, "warm"), [[pages, pages, pages]; 2]);
        super::traced::check_asked(&judged, "cold", bytes_read(&sandbox, &command), 0);
    });
}

/// Its processes pass the data through a socket, whose reads the OS counts as well.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn rsync_reads_from_the_device_what_was_cold_although_it_passes_it_on() {
    let test = "rsync_reads_from_the_device_what_was_cold_although_it_passes_it_on";
    let Some(sandbox) = on_disk(test, &["rsync"]) else { return };
    tree(&sandbox);
    tried(|| {
        let args = ["--prepare=rm -rf copy", STATES, "--", "rsync", "-a", "tree/", "copy/"];
        let judged = Judged::of(&sandbox, &args);
        check_tree(&judged);
        assert!(count(judged.facts(), "processes") >= 2, "{}", judged.facts());
        for trial in judged.evidence("cold") {
            assert!(count(trial, "task_rchar_bytes") >= 2 * FILE_BYTES, "{trial}");
        }
        for name in NAMES {
            let copy = judged.file(&format!("copy/{name}"));
            let is_renamed = copy["renamed"].is_object() && copy["created"] == true;
            assert!(is_renamed && fact(copy, "opens", "writing") >= 1, "{copy}");
        }
        let pages = FILE_BYTES / PAGE_BYTES;
        assert_eq!(left(&judged, "warm"), [[pages, pages, pages]; 2]);
    });
}

/// What its rehearsal copied is there already: the runs read nothing, so nothing served them.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn rsync_that_finds_its_copy_made_is_not_said_to_be_served_by_anything() {
    let test = "rsync_that_finds_its_copy_made_is_not_said_to_be_served_by_anything";
    let Some(sandbox) = on_disk(test, &["rsync"]) else { return };
    tree(&sandbox);
    let judged = Judged::of(&sandbox, &[STATES, "--", "rsync", "-a", "tree/", "copy/"]);
    for cache in ["warm", "cold"] {
        assert_eq!(judged.served_by(cache), "unverified", "{}", judged.case(cache));
        for trial in judged.evidence(cache) {
            assert!(count(trial, "task_rchar_bytes") < FILE_BYTES, "{trial}");
        }
    }
}

/// A checkout reads the pack, which git maps, and writes the files.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn git_reads_its_pack_from_where_it_is() {
    let test = "git_reads_its_pack_from_where_it_is";
    let Some(sandbox) = on_disk(test, &["git", "strace", "sync"]) else { return };
    tree(&sandbox);
    let git = |args: &[&str]| {
        let own = ["-c", "user.name=n", "-c", "user.email=e", "-C", "tree"];
        let output = sandbox.start("git").args(own).args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
    };
    git(&["init", "--quiet"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "--message=all"]);
    git(&["gc", "--quiet"]);
    let synced = sandbox.start("sync").args(["-f", "tree"]).status().unwrap();
    assert!(synced.success());
    let command = ["git", "-C", "tree", "checkout", "--quiet", "HEAD", "--", "."];
    tried(|| {
        let args = [&["--prepare=rm -f tree/a tree/b tree/c tree/d", STATES, "--"], &command[..]];
        let judged = Judged::of(&sandbox, &args.concat());
        check_device_reads(&judged, FILE_BYTES);
        assert_eq!(judged.served_by("warm"), "page-cache", "{}", judged.case("warm"));
        assert_eq!(judged.served_by("cold"), "device", "{}", judged.case("cold"));
        let is_pack = |file: &&Value| last_path(file).ends_with(".pack");
        let pack = judged.data_files().find(is_pack).expect("gc made one");
        assert!(
            count(pack, "bytes_before") >= FILE_BYTES && pack["mappings"].is_object(),
            "{pack}"
        );
        for name in NAMES {
            assert_eq!(judged.file(&format!("tree/{name}"))["created"], true);
        }
        for name in NAMES {
            std::fs::remove_file(sandbox.path(&format!("tree/{name}"))).unwrap();
        }
        assert_eq!(syncs_seen(&judged), syncs(&sandbox, &command));
    });
}
