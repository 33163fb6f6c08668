//! Faults of storage: bytes that come from an unexpected source.

use super::plant::{
    BELOW, CACHED, Group, Io, Limit, Neighbour, PAST_CACHE, Planted, ahead, asked, check_found,
    check_near, check_served, check_silent, cold_file, finish, measure, only, plainly, quiet,
    start, trials, tried,
};
use crate::mounts::{self, JOURNALED, Mounted, PLAIN, Setup, Zram};
use crate::sandbox::{Sandbox, argument, skip, wait_for};
use model::evidence::Probe;
use rustix::fs::{Advice, FallocateFlags, OFlags, fadvise, fallocate};
use rustix::io::ReadWriteFlags;
use serde_json::Value;
use std::fs::File;
use std::io::IoSlice;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

const MIB: u64 = 1 << 20;

/// Space for a few files.
const ROOMY: Setup = Setup { size: 256 << 20, ..PLAIN };

/// An xfs, which needs 300 MiB.
const XFS: Setup = Setup { size: 320 << 20, ..PAST_CACHE };

/// Direct reads with enough I/Os in flight to hide a slow moment.
const DIRECT: &str = "[[cases]]\nengine = \"uring\"\ncache = \"direct\"\ndepth = 8\n";

/// Reads a file once in the as-is state.
const ONCE: &str = "[[cases]]\nengine = \"pread\"\ncache = \"as-is\"\nops = \"all\"\n";

// Limits of control groups.

/// Checks that `groups` reaches the rate of the limit in `figure`, and that the limit is reported.
/// A distant limit must not be reported.
fn check_limited(test: &str, groups: &str, figure: &str, (io, a_second): (Io, u64)) {
    let Some(planted) = Planted::on_loop(test, "ext4", &CACHED) else { return };
    let sandbox = &planted.sandbox;
    let device = planted.mounted.loop_name();
    let limit = |times| Limit::Device(io, device, times * a_second);
    let Some(group) = Group::new(test, limit(1)) else { return };
    let report = measure(sandbox, group.launch(sandbox), groups, &[".", "--time=3s"]);
    let case = only(&report);
    check_near(&case[figure]["median"], a_second as f64, 0.15);
    check_found(case, "Throttled", "doubt", &[device, group.name()]);
    check_silent(case, &["Foreign"]);

    group.set(limit(10_000));
    let report = measure(sandbox, group.launch(sandbox), groups, &[".", "--time=300ms"]);
    check_silent(only(&report), &["Throttled"]);
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_limit_on_bytes_read_is_the_figure_and_is_named() {
    tried(|| {
        let test = "a_limit_on_bytes_read_is_the_figure_and_is_named";
        let groups = format!("{DIRECT}block = \"128KiB\"\n");
        check_limited(test, &groups, "throughput", (Io::ReadBytes, 20 * MIB));
    });
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_limit_on_reads_is_the_figure_and_is_named() {
    tried(|| {
        let test = "a_limit_on_reads_is_the_figure_and_is_named";
        let groups = format!("{DIRECT}block = \"4KiB\"\npattern = \"random\"\n");
        check_limited(test, &groups, "iops", (Io::Reads, 200));
    });
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_limit_on_bytes_written_is_the_figure_and_is_named() {
    tried(|| {
        let test = "a_limit_on_bytes_written_is_the_figure_and_is_named";
        let groups = "[[cases]]\nop = \"write\"\nengine = \"uring\"\ncache = \"direct\"\n\
                      depth = 8\n\
                  block = \"128KiB\"\nallocation = \"overwrite\"\nsync = \"none\"\n";
        check_limited(test, groups, "throughput", (Io::WriteBytes, 20 * MIB));
    });
}

/// The disk that `directory` is on, if its name is known.
fn disk_of(directory: &Path) -> Option<String> {
    let device = directory.metadata().unwrap().dev();
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let block = std::fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    let is_partition = block.join("partition").exists();
    let disk = if is_partition { block.parent()? } else { &block };
    Some(disk.file_name()?.to_str()?.to_string())
}

/// A file system on a loop device, which reads and writes its file directly on a disk that a
/// control group limits. `groups` reaches the limit, which is reported; a distant one is not.
fn check_limited_below(test: &str, groups: &str, (io, a_second): (Io, u64)) {
    let Some(planted) = Planted::on_loop(test, "xfs", &XFS) else { return };
    let sandbox = &planted.sandbox;
    let Some(disk) = disk_of(Path::new(env!("CARGO_TARGET_TMPDIR"))) else {
        return skip(test, "the image is on no block device");
    };
    let limit = |times| Limit::Device(io, &disk, times * a_second);
    let Some(group) = Group::new(test, limit(1)) else { return };
    let report = measure(sandbox, group.launch(sandbox), groups, &[".", "--time=2s"]);
    for case in asked(&report) {
        check_found(case, "Throttled", "doubt", &[&disk, group.name(), "its processes"]);
    }
    group.set(limit(10_000));
    let report = measure(sandbox, group.launch(sandbox), groups, &[".", "--time=300ms"]);
    asked(&report).iter().for_each(|case| check_silent(case, &["Throttled"]));
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_limit_of_the_disk_below_a_file_is_named() {
    tried(|| {
        let test = "a_limit_of_the_disk_below_a_file_is_named";
        let reads = format!("{DIRECT}block = \"64KiB\"\n");
        check_limited_below(test, &reads, (Io::ReadBytes, 10 * MIB));
        let names = "[[cases]]\ncall = \"create\"\nsync = \"fsync\"\n";
        check_limited_below(test, names, (Io::Writes, 100));
    });
}

/// Of the operations, 70 of 100 read: their limit sets the rate of all.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_limit_on_reads_is_the_figure_of_a_mix() {
    tried(|| {
        let test = "a_limit_on_reads_is_the_figure_of_a_mix";
        let groups = "[[cases]]\nop = \"write\"\nengine = \"uring\"\ncache = \"direct\"\n\
                      depth = 8\npattern = \"random\"\nblock = \"4KiB\"\nread_share = 70\n\
                      allocation = \"overwrite\"\nsync = \"none\"\n";
        check_limited_below(test, groups, (Io::Reads, 200));
    });
}

/// A reader beside the case takes nearly all of the limit of both.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_limit_is_shared_by_a_case_and_what_runs_beside_it() {
    tried(|| {
        let test = "a_limit_is_shared_by_a_case_and_what_runs_beside_it";
        let Some(planted) = Planted::on_loop(test, "ext4", &PAST_CACHE) else { return };
        let sandbox = &planted.sandbox;
        let device = planted.mounted.loop_name();
        let limit = Limit::Device(Io::ReadBytes, device, 20 * MIB);
        let Some(group) = Group::new(test, limit) else { return };
        let groups = "[actors.reader]\nengine = \"uring\"\ncache = \"direct\"\n\
                      block = \"256KiB\"\ndepth = 4\ntouch = \"none\"\n\
                      [[cases]]\nengine = \"uring\"\ncache = \"direct\"\nblock = \"4KiB\"\n\
                      depth = 32\npattern = \"random\"\nrate = 50\n\
                      beside = [\"none\", \"reader\"]\n";
        let report = measure(sandbox, group.launch(sandbox), groups, &[".", "--time=2s"]);
        for case in asked(&report) {
            if case["beside"].as_array().is_some_and(|beside| !beside.is_empty()) {
                let words = [device, group.name(), "those beside this case"];
                check_found(case, "Throttled", "doubt", &words);
            } else {
                check_silent(case, &["Throttled"]);
            }
        }
    });
}

/// A run that began without a limit on reads gets one during its first round.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_limit_that_is_set_during_a_run_is_named() {
    tried(|| {
        let test = "a_limit_that_is_set_during_a_run_is_named";
        let Some(planted) = Planted::on_loop(test, "ext4", &CACHED) else { return };
        let sandbox = &planted.sandbox;
        let device = planted.mounted.loop_name();
        let far = Limit::Device(Io::Writes, device, 1_000_000);
        let Some(group) = Group::new(test, far) else { return };
        let groups = format!("{DIRECT}block = \"128KiB\"\n");
        let first = read_of(device);
        let args = [".", "--time=1s", "--rounds=3"];
        let running = start(sandbox, group.launch(sandbox), &groups, &args);
        wait_for("the first trial", || (read_of(device) > first + 200 * MIB).then_some(()));
        group.set(Limit::Device(Io::ReadBytes, device, 20 * MIB));
        let report = finish(running);
        let words = [device, group.name(), "first seen ", " after the start of the run"];
        check_found(only(&report), "Throttled", "doubt", &words);

        group.set(Limit::Device(Io::ReadBytes, device, 200_000 * MIB));
        let report = measure(sandbox, group.launch(sandbox), &groups, &[".", "--time=300ms"]);
        check_silent(only(&report), &["Throttled"]);
    });
}

/// The bytes read from a block device.
pub(crate) fn read_of(device: &str) -> u64 {
    let stat = std::fs::read_to_string(format!("/sys/block/{device}/stat")).unwrap();
    stat.split_whitespace().nth(2).unwrap().parse::<u64>().unwrap() * 512
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_limit_that_changes_is_a_step_between_two_levels() {
    tried(|| {
        let test = "a_limit_that_changes_is_a_step_between_two_levels";
        let Some(planted) = Planted::on_loop(test, "ext4", &CACHED) else { return };
        let sandbox = &planted.sandbox;
        let device = planted.mounted.loop_name();
        let (before, after) = (20 * MIB, 6 * MIB);
        let limit = |a_second| Limit::Device(Io::ReadBytes, device, a_second);
        let Some(group) = Group::new(test, limit(before)) else { return };
        let groups = format!("{DIRECT}block = \"64KiB\"\ntime = \"9s\"\n");
        let first = read_of(device);
        let running = start(sandbox, group.launch(sandbox), &groups, &["."]);
        // The reads for the ceiling are less than a third of that.
        wait_for("the trial", || (read_of(device) > first + 80 * MIB).then_some(()));
        group.set(limit(after));
        let report = finish(running);
        let case = only(&report);
        check_found(case, "StepChange", "doubt", &[]);
        check_near(&case["course"]["change"]["before"], before as f64, 0.2);
        check_near(&case["course"]["change"]["after"], after as f64, 0.2);

        group.set(limit(before));
        let report = measure(sandbox, group.launch(sandbox), &groups, &[".", "--time=6s"]);
        check_near(&only(&report)["throughput"]["median"], before as f64, 0.1);
        check_silent(only(&report), &["StepChange"]);
    });
}

// Counters that do not count.

#[test]
fn a_device_that_is_told_not_to_count_is_named_and_denies_nothing() {
    tried(|| {
        let test = "a_device_that_is_told_not_to_count_is_named_and_denies_nothing";
        let Some(planted) = Planted::on_loop(test, "ext4", &ROOMY) else { return };
        let (sandbox, device) = (&planted.sandbox, planted.mounted.loop_name());
        let groups = "[[cases]]\nengine = \"pread\"\ncache = \"direct\"\ntime = \"100ms\"\n\
                  [[cases]]\nop = \"write\"\ncache = \"direct\"\nallocation = \"overwrite\"\n\
                  ops = \"all\"\nsync = [\"none\", \"fdatasync\"]\n";
        let denials = ["DirectIgnored", "Compressed", "NotDurable", "NoIo", "CacheLeak"];
        planted.mounted.queue("iostats", "0").unwrap();
        let report = measure(sandbox, plainly(sandbox), groups, &["."]);
        for case in asked(&report) {
            let is_read = case["writing"].is_null();
            check_served(case, if is_read { "device" } else { "unverified" });
            check_found(case, "CountersUnseen", "note", &[device, "stand still"]);
            check_silent(case, &denials);
        }

        planted.mounted.queue("iostats", "1").unwrap();
        let report = measure(sandbox, plainly(sandbox), groups, &["."]);
        for case in asked(&report) {
            check_served(case, "device");
            check_silent(case, &["CountersUnseen"]);
            check_silent(case, &denials);
        }
    });
}

// Memory instead of the requested disk.

#[test]
fn direct_io_in_memory_is_memory() {
    tried(|| {
        let test = "direct_io_in_memory_is_memory";
        let groups = "[[cases]]\nengine = \"pread\"\ncache = \"direct\"\ntime = \"100ms\"\n\
                  [[cases]]\nop = \"write\"\ncache = \"direct\"\nallocation = \"overwrite\"\n\
                  ops = \"all\"\n";
        let Some(memory) = Sandbox::in_memory() else { return skip(test, "there is no /dev/shm") };
        let report = measure(&memory, plainly(&memory), groups, &["."]);
        for case in asked(&report) {
            check_served(case, "ram");
            check_found(case, "Ram", "doubt", &["tmpfs", "no device took part"]);
        }
        let Some(planted) = Planted::on_loop(test, "ext4", &ROOMY) else { return };
        let sandbox = &planted.sandbox;
        let report = measure(sandbox, plainly(sandbox), groups, &["."]);
        for case in asked(&report) {
            check_served(case, "device");
            check_silent(case, &["Ram"]);
        }
    });
}

#[test]
fn a_disk_in_compressed_memory_is_memory() {
    tried(|| {
        let test = "a_disk_in_compressed_memory_is_memory";
        if !mounts::is_root(test) {
            return;
        }
        let zram = match Zram::new(128 << 20) {
            Ok(zram) => zram,
            Err(reason) => return skip(test, &reason),
        };
        let image = tempfile::TempDir::new().unwrap();
        let make = || Mounted::new(image, "ext4", &zram.node(), "rw", None);
        let Some(planted) = Planted::new(test, make) else { return };
        let sandbox = &planted.sandbox;
        let groups = "[[cases]]\nengine = \"pread\"\ncache = [\"direct\", \"cold\"]\n\
                      time = \"100ms\"\n\
                  [[cases]]\nop = \"write\"\n";
        let report = measure(sandbox, plainly(sandbox), groups, &["."]);
        assert_eq!(asked(&report).len(), 3, "{report:#}");
        for case in asked(&report) {
            check_served(case, "ram");
            check_found(case, "Ram", "doubt", &["no device took part"]);
        }
    });
}

/// What a sync makes durable there, and what is read directly.
const SYNCED: &str = "[[cases]]\nop = \"write\"\nallocation = \"overwrite\"\nops = \"all\"\n\
    sync = \"fdatasync\"\n\
    [[cases]]\ncall = \"create\"\nentries = 50\nsync = \"fsync\"\n\
    [[cases]]\nengine = \"pread\"\ncache = \"direct\"\nops = \"all\"\n";

/// Measures a file system on two loop devices, the second of them in memory or not, and checks what
/// served the synced write, the synced names and the direct read, and which of them have `found`.
fn check_two(
    test: &str,
    is_in_memory: bool,
    make: fn(&str, &str) -> Result<String, String>,
    expected: [(&str, &[&str]); 3],
) {
    if !mounts::is_root(test) {
        return;
    }
    let other = match is_in_memory {
        true => mounts::directory_in_memory(),
        false => TempDir::new().ok(),
    };
    let Some(other) = other else { return skip(test, "there is no /dev/shm") };
    let make = || Mounted::on_two([TempDir::new().unwrap(), other], 160 << 20, make);
    let Some(planted) = Planted::new(test, make) else { return };
    let sandbox = &planted.sandbox;
    let report = measure(sandbox, plainly(sandbox), SYNCED, &["."]);
    let cases = asked(&report);
    assert_eq!(cases.len(), 3, "{report:#}");
    for (case, (served_by, found)) in cases.into_iter().zip(expected) {
        check_served(case, served_by);
        for code in ["NotDurable", "Ram"] {
            match found.contains(&code) {
                true => check_found(case, code, "doubt", &["in memory (loop", "on tmpfs"]),
                false => check_silent(case, &[code]),
            }
        }
    }
}

#[test]
fn a_journal_in_memory_takes_what_is_durable() {
    tried(|| {
        let test = "a_journal_in_memory_takes_what_is_durable";
        let make = mounts::ext4_with_journal_on;
        let lost: [(&str, &[&str]); 3] =
            [("mixed", &["NotDurable"]), ("mixed", &["NotDurable"]), ("device", &[])];
        check_two(test, true, make, lost);
        check_two(test, false, make, [("device", &[]); 3]);
    });
}

/// A btrfs whose data and metadata have this profile.
fn btrfs_of(profile: &str, one: &str, other: &str) -> Result<String, String> {
    mounts::run("mkfs.btrfs", &["-q", "-d", profile, "-m", profile, one, other])?;
    // It may not have seen the second one yet.
    Ok(format!("device={one},device={other}"))
}

#[test]
fn a_device_in_memory_serves_reads_and_loses_what_no_other_has() {
    tried(|| {
        let test = "a_device_in_memory_serves_reads_and_loses_what_no_other_has";
        let split = |one: &str, other: &str| btrfs_of("raid0", one, other);
        let lost = ["NotDurable", "Ram"];
        let all: [(&str, &[&str]); 3] = [("mixed", &lost), ("mixed", &lost), ("mixed", &["Ram"])];
        check_two(test, true, split, all);
        check_two(test, false, split, [("device", &[]); 3]);
        // What is written is on a disk as well, and what is read may be from there or not.
        let copied = |one: &str, other: &str| btrfs_of("raid1", one, other);
        check_two(test, true, copied, [("device", &[]), ("device", &[]), ("mixed", &["Ram"])]);
    });
}

#[test]
fn a_device_that_says_it_has_no_cache_flushes_none_below() {
    tried(|| {
        let test = "a_device_that_says_it_has_no_cache_flushes_none_below";
        let Some(planted) = Planted::on_loop(test, "ext4", &PAST_CACHE) else { return };
        let sandbox = &planted.sandbox;
        let groups = "[[cases]]\nop = \"write\"\nallocation = \"overwrite\"\nops = \"all\"\n\
            sync = \"fdatasync\"\n\
            [[cases]]\ncall = \"create\"\nentries = 50\nsync = \"fsync\"\n";
        planted.mounted.write_cache("write back").unwrap();
        let report = measure(sandbox, plainly(sandbox), groups, &["."]);
        asked(&report).iter().for_each(|case| check_silent(case, &["NotDurable"]));
        let below = report["storage"]["devices"][0]["file"]["devices"].as_array().unwrap();
        let has_cache = |name: &Value| {
            let path = format!("/sys/block/{}/queue/write_cache", name.as_str().unwrap());
            std::fs::read_to_string(path).is_ok_and(|told| told.trim() == "write back")
        };
        if !below.iter().any(has_cache) {
            return skip(test, "the disk of temporary files has no write cache");
        }
        planted.mounted.write_cache("write through").unwrap();
        let report = measure(sandbox, plainly(sandbox), groups, &["."]);
        for case in asked(&report) {
            let said = format!("{} (write through) flushes nothing", planted.mounted.loop_name());
            check_found(case, "NotDurable", "void", &[&said]);
        }
    });
}

/// New files of an overlay are in memory, and the file that is read is on a disk.
#[test]
fn a_file_on_a_lower_layer_is_where_that_layer_is() {
    tried(|| {
        let test = "a_file_on_a_lower_layer_is_where_that_layer_is";
        if !mounts::is_root(test) {
            return;
        }
        let Some(memory) = mounts::directory_in_memory() else {
            return skip(test, "there is no /dev/shm");
        };
        let sandbox = Sandbox::new();
        let lower = sandbox.path("lower");
        std::fs::create_dir(&lower).unwrap();
        drop(mounts::file(&lower.join("file"), 8 << 20));
        let overlay = match Mounted::overlay_above(memory, &lower) {
            Ok(overlay) => overlay,
            Err(reason) => return skip(test, &reason),
        };
        let below = read_own(&sandbox, &lower.join("file"));
        let above = read_own(&sandbox, &overlay.point.join("file"));
        for name in ["medium", "devices"] {
            assert_eq!(above["storage"][name], below["storage"][name], "{above:#}");
        }
        asked(&above).iter().for_each(|case| check_silent(case, &["Ram"]));
    });
}

// Buffered I/O whose pages stay.

const SPARING: &str =
    "size = \"64MiB\"\ncache = \"dontcache\"\nblock = \"256KiB\"\ntime = \"1s\"\n";

/// Whether pages that are written again with `RWF_DONTCACHE` stay in the page cache. `None` if
/// this OS has no such calls.
fn is_kept(sandbox: &Sandbox) -> Option<bool> {
    let path = cold_file(sandbox, "kept", MIB);
    let file = File::options().read(true).write(true).open(path).unwrap();
    let flag = ReadWriteFlags::from_bits_retain(0x80);
    rustix::io::pwritev2(&file, &[IoSlice::new(&vec![1; MIB as usize])], 0, flag).ok()?;
    file.sync_data().unwrap();
    let seen = witness::page_cache::residency(&file, Probe::Cachestat).ok()?;
    Some(2 * seen.cached > seen.pages)
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn what_stays_in_the_page_cache_is_no_dontcache() {
    tried(|| {
        let test = "what_stays_in_the_page_cache_is_no_dontcache";
        let sandbox = Sandbox::new();
        if !sandbox.is_on_disk(test) {
            return;
        }
        let Some(is_kept) = is_kept(&sandbox) else {
            return skip(test, "this OS or its file system has no RWF_DONTCACHE");
        };
        let groups = format!(
            "[[cases]]\nengine = [\"pread\", \"uring\"]\n{SPARING}\
             [[cases]]\nop = \"write\"\nengine = [\"pwrite\", \"uring\"]\n\
             allocation = [\"none\", \"overwrite\"]\n{SPARING}"
        );
        let report = measure(&sandbox, plainly(&sandbox), &groups, &["."]);
        assert_eq!(asked(&report).len(), 6, "{report:#}");
        for case in asked(&report) {
            if case["verdict"] == "unavailable" {
                assert!(case["failures"].to_string().contains("io_uring"), "{case:#}");
            } else if case["case"]["allocation"] == "overwrite" && is_kept {
                check_found(case, "CacheKept", "void", &["RWF_DONTCACHE and ignores it"]);
            } else {
                check_silent(case, &["CacheKept", "CacheLeak", "DigestMismatch"]);
            }
        }
    });
}

// Direct I/O that is not direct.

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn direct_io_that_a_journal_of_data_ignores_is_void() {
    tried(|| {
        let test = "direct_io_that_a_journal_of_data_ignores_is_void";
        // Long enough for several passes over such a small file.
        let groups = "[[cases]]\nengine = \"pread\"\ncache = \"direct\"\nsize = \"4MiB\"\n\
                  time = \"1s\"\n\
                  [[cases]]\nop = \"write\"\ncache = \"direct\"\nallocation = \"overwrite\"\n\
                  ops = \"all\"\n";
        for (mount, is_direct) in [("data=journal", false), ("data=ordered", true)] {
            let setup = Setup { mount, ..ROOMY };
            let Some(planted) = Planted::on_loop(test, "ext4", &setup) else { return };
            let sandbox = &planted.sandbox;
            let report = measure(sandbox, plainly(sandbox), groups, &["."]);
            let cases = asked(&report);
            assert_eq!(cases.len(), 2, "{report:#}");
            for case in &cases {
                if is_direct {
                    check_served(case, "device");
                    check_silent(case, &["DirectIgnored"]);
                } else {
                    check_found(case, "DirectIgnored", "void", &["ext4"]);
                    assert_eq!(case["verdict"], "void", "{case:#}");
                }
            }
            let is_read = |case: &&&Value| case["case"]["op"].is_null();
            let read = cases.iter().find(is_read).unwrap();
            assert_eq!(read["served_by"] == "device", is_direct, "{read:#}");
        }
    });
}

#[test]
fn direct_writes_that_are_checksummed_are_doubted() {
    tried(|| {
        let test = "direct_writes_that_are_checksummed_are_doubted";
        let groups = "[[cases]]\nop = \"write\"\ncache = \"direct\"\nallocation = \"overwrite\"\n\
                  ops = \"all\"\n";
        for (mount, is_copied) in [("rw", true), ("nodatasum", false)] {
            let setup = Setup { mount, ..ROOMY };
            let Some(planted) = Planted::on_loop(test, "btrfs", &setup) else { return };
            let sandbox = &planted.sandbox;
            let report = measure(sandbox, plainly(sandbox), groups, &["."]);
            let case = only(&report);
            check_served(case, "device");
            if is_copied {
                check_found(case, "DirectIgnored", "doubt", &["btrfs"]);
            } else {
                check_silent(case, &["DirectIgnored"]);
            }
        }
    });
}

/// A queue of four requests, the shortest there is, and one of 128.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_short_queue_does_not_reach_the_depth() {
    tried(|| {
        let test = "a_short_queue_does_not_reach_the_depth";
        let _quiet = quiet();
        let Some(planted) = Planted::on_loop(test, "ext4", &ROOMY) else { return };
        let sandbox = &planted.sandbox;
        let case = "[[cases]]\nengine = \"uring\"\ncache = \"direct\"\npattern = \"random\"\n\
                    block = \"64KiB\"\ntouch = \"none\"\ndepth = 64\n";
        for (requests, is_short) in [("4", true), ("128", false)] {
            planted.mounted.queue("nr_requests", requests).unwrap();
            // A worker that waits for a processor leaves a queue empty, too.
            let Some(launch) = ahead(sandbox, test, &[]) else { return };
            let report = measure(sandbox, launch, case, &[".", "--time=1s"]);
            check_served(only(&report), "device");
            if is_short {
                check_found(only(&report), "DepthNotReached", "note", &["of the 64"]);
            } else {
                check_silent(only(&report), &["DepthNotReached"]);
            }
        }
    });
}

#[test]
fn a_loop_device_without_direct_io_is_the_page_cache_outside() {
    tried(|| {
        let test = "a_loop_device_without_direct_io_is_the_page_cache_outside";
        // Who reads the disk below hides what the page cache serves.
        let _quiet = quiet();
        let groups = "[[cases]]\nengine = \"pread\"\ncache = [\"direct\", \"cold\"]\n\
                      time = \"100ms\"\n\
                  [[cases]]\nop = \"write\"\nsync = \"fdatasync\"\n";
        for (option, is_cached) in [("--direct-io=off", true), ("--direct-io=on", false)] {
            let setup = Setup { losetup: &[option], ..ROOMY };
            let Some(planted) = Planted::on_loop(test, "ext4", &setup) else { return };
            let sandbox = &planted.sandbox;
            let report = measure(sandbox, plainly(sandbox), groups, &["."]);
            assert_eq!(asked(&report).len(), 3, "{report:#}");
            for case in asked(&report) {
                let is_read = case["writing"].is_null();
                if is_cached && is_read {
                    // The image was just written. Others may read from the disk meanwhile.
                    assert_ne!(case["served_by"], "device", "{case:#}");
                } else {
                    check_served(case, "device");
                }
                if is_cached && (is_read || !is_stored_below(sandbox, case)) {
                    let severity = if is_read { "void" } else { "doubt" };
                    check_found(case, "LoopCached", severity, &[planted.mounted.loop_name()]);
                } else {
                    check_silent(case, &["LoopCached"]);
                }
                check_silent(case, &["DirectIgnored", "CacheLeak", "NotDurable"]);
            }
            let file = &report["storage"]["devices"][0]["file"];
            assert!(file["file_system"].is_string(), "{file:#}");
        }
    });
}

/// Whether the disk below the loop device wrote what a case did, and completed its flushes, in each
/// of the trials: on most machines, it does.
fn is_stored_below(sandbox: &Sandbox, case: &Value) -> bool {
    let size = case["case"]["size"].as_u64().unwrap();
    let all = trials(sandbox);
    let told = |trial: &Value, name: &str| trial["evidence"][name].as_u64().unwrap_or(0);
    let mut wrote = all.iter().filter(|trial| told(trial, "device_write_bytes") >= size);
    wrote.all(|trial| {
        told(trial, "disk_write_bytes") * 100 >= 99 * size
            && told(trial, "device_flushes") > 0
            && told(trial, "disk_flushes") * 10 >= 9 * told(trial, "device_flushes")
    })
}

/// Many passes, and one sync at the end: only the last version of each block had to last.
#[test]
fn what_a_rate_writes_again_before_its_sync_is_not_durable_on_a_loop_device() {
    tried(|| {
        let test = "what_a_rate_writes_again_before_its_sync_is_not_durable_on_a_loop_device";
        let groups = "[[cases]]\nop = \"write\"\nallocation = \"overwrite\"\nsize = \"4MiB\"\n\
                      block = \"64KiB\"\nsync = \"fdatasync\"\nrate = 2000\ntime = \"500ms\"\n";
        let setup = Setup { losetup: &["--direct-io=off"], ..ROOMY };
        let Some(planted) = Planted::on_loop(test, "ext4", &setup) else { return };
        let sandbox = &planted.sandbox;
        let report = measure(sandbox, plainly(sandbox), groups, &["."]);
        let case = only(&report);
        check_found(case, "NotDurable", "doubt", &["times between syncs"]);
        assert_eq!(case["writing"]["durable"], Value::Null, "{case:#}");
    });
}

/// xfs can share blocks between files, and says which it does.
#[test]
fn a_copy_that_shares_blocks_copies_nothing() {
    tried(|| {
        let test = "a_copy_that_shares_blocks_copies_nothing";
        let groups = "[[cases]]\nop = \"copy\"\nengine = [\"copy-file-range\", \"write\"]\n\
                      sync = \"none\"\ncache = \"warm\"\ntime = \"200ms\"\n";
        let setup = Setup { size: 512 << 20, ..PLAIN };
        let Some(planted) = Planted::on_loop(test, "xfs", &setup) else { return };
        let sandbox = &planted.sandbox;
        let report = measure(sandbox, plainly(sandbox), groups, &["."]);
        for case in asked(&report) {
            if case["case"]["engine"] == "copy-file-range" {
                check_served(case, "no-io");
                check_found(case, "NoIo", "void", &["shares 100 % of the bytes"]);
            } else {
                check_silent(case, &["NoIo"]);
            }
        }
    });
}

// Files with unexpected layouts on the disk.

/// Reads a user's own file at `path`, direct and cold.
fn read_own(sandbox: &Sandbox, path: &Path) -> Value {
    let groups =
        "[[cases]]\nengine = \"pread\"\ncache = [\"direct\", \"cold\"]\ntime = \"100ms\"\n";
    let report = measure(sandbox, plainly(sandbox), groups, &["--file", argument(path)]);
    assert_eq!(asked(&report).len(), 2, "{report:#}");
    report
}

#[test]
fn files_that_were_never_written_are_read_from_nothing() {
    tried(|| {
        let test = "files_that_were_never_written_are_read_from_nothing";
        let Some(planted) = Planted::on_loop(test, "ext4", &ROOMY) else { return };
        let sandbox = &planted.sandbox;
        let (sparse, fallocated) = (sandbox.path("sparse"), sandbox.path("fallocated"));
        let file = File::create_new(&sparse).unwrap();
        file.set_len(16 * MIB).unwrap();
        file.sync_all().unwrap();
        let file = File::create_new(&fallocated).unwrap();
        fallocate(&file, FallocateFlags::empty(), 0, 16 * MIB).unwrap();
        file.sync_all().unwrap();
        for path in [sparse, fallocated] {
            for case in asked(&read_own(sandbox, &path)) {
                check_served(case, "no-io");
                check_found(case, "NoIo", "void", &["100 %", "never written"]);
            }
        }
        for case in asked(&read_own(sandbox, &cold_file(sandbox, "written", 16 * MIB))) {
            check_served(case, "device");
            check_silent(case, &["NoIo"]);
        }
        // Every third chunk was written: the holes explain what no device read.
        let chunks = sandbox.path("chunks");
        let file = File::create_new(&chunks).unwrap();
        file.set_len(12 * MIB).unwrap();
        for chunk in (0..192).step_by(3) {
            file.write_all_at(&[7; 64 << 10], chunk * (64 << 10)).unwrap();
        }
        file.sync_all().unwrap();
        for case in asked(&read_own(sandbox, &chunks)) {
            check_served(case, "mixed");
            check_found(case, "NoIo", "void", &["66.7 %", "never written"]);
            check_silent(case, &["DirectIgnored", "CacheLeak"]);
        }
    });
}

/// A writer that waits for the journal, or on a mount with `sync`, is far below the limit of dirty
/// pages, and what the file system writes twice is its own.
#[test]
fn writers_that_wait_for_something_else_are_not_held_back_by_the_limit_of_dirty_pages() {
    tried(|| {
        let test =
            "writers_that_wait_for_something_else_are_not_held_back_by_the_limit_of_dirty_pages";
        let groups = "[[cases]]\nop = \"write\"\ncache = \"as-is\"\nallocation = \"overwrite\"\n\
                      size = \"64MiB\"\nblock = \"64KiB\"\nsync = [\"none\", \"fdatasync\"]\n\
                      ops = \"all\"\n";
        let by_option = ["data=journal", "sync"].map(|mount| (mount, None));
        let others = JOURNALED.map(|(_, mount, change)| (mount, Some(change)));
        for (mount, change) in by_option.into_iter().chain(others) {
            let planted = Planted::new(test, || {
                let image = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
                let mounted = Mounted::on_loop(image, "ext4", &Setup { mount, ..ROOMY })?;
                change.map_or(Ok(()), |change| mounted.again(mount, change))?;
                Ok(mounted)
            });
            let Some(planted) = planted else { return };
            let sandbox = &planted.sandbox;
            let report = measure(sandbox, plainly(sandbox), groups, &["."]);
            let cases = asked(&report);
            assert_eq!(cases.len(), 2, "{report:#}");
            for case in &cases {
                check_silent(case, &["ThrottledWriteback", "Foreign"]);
            }
            let unsynced = cases.iter().find(|case| case["case"]["sync"] == "none").unwrap();
            let said = if mount == "sync" { "mounted with 'sync'" } else { "nothing was synced" };
            check_found(unsynced, "AcknowledgedOnly", "note", &[said]);
        }
    });
}

#[test]
fn zeros_that_are_stored_in_another_form_are_told() {
    tried(|| {
        let test = "zeros_that_are_stored_in_another_form_are_told";
        let writes =
            "[[cases]]\nop = \"write\"\nsync = \"fdatasync\"\nfill = [\"random\", \"zero\"]\n";
        for (mount, compresses) in [("compress=zstd", true), ("rw", false)] {
            let setup = Setup { mount, ..ROOMY };
            let Some(planted) = Planted::on_loop(test, "btrfs", &setup) else { return };
            let sandbox = &planted.sandbox;
            let report = measure(sandbox, plainly(sandbox), writes, &["."]);
            for case in asked(&report) {
                if compresses && case["case"]["fill"] == "zero" {
                    check_found(case, "Compressed", "note", &["compresses"]);
                    assert_ne!(case["served_by"], "device", "{case:#}");
                } else {
                    check_served(case, "device");
                    check_silent(case, &["Compressed"]);
                }
            }
            let zeros = sandbox.path("zeros");
            std::fs::write(&zeros, vec![0; 16 << 20]).unwrap();
            File::open(&zeros).unwrap().sync_all().unwrap();
            let report = read_own(sandbox, &zeros);
            let is_cold = |case: &&Value| case["case"]["cache"] == "cold";
            let cold = asked(&report).into_iter().find(is_cold).unwrap();
            if compresses {
                check_found(cold, "CacheLeak", "void", &["is compressed"]);
            } else {
                check_served(cold, "device");
                check_silent(cold, &["CacheLeak"]);
            }
        }
    });
}

// The probes of the page cache.

#[test]
fn a_cached_file_of_an_overlay_is_seen_though_cachestat_does_not() {
    tried(|| {
        let test = "a_cached_file_of_an_overlay_is_seen_though_cachestat_does_not";
        let groups = "[[cases]]\nengine = \"pread\"\ncache = \"warm\"\ntime = \"100ms\"\n";
        let layers = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let Some(overlay) = Planted::new(test, || Mounted::overlay(layers, "rw")) else { return };
        let Some(plain) = Planted::on_loop(test, "ext4", &ROOMY) else { return };
        let blind = "cachestat does not see a file that was just read";
        for (planted, is_blind) in [(overlay, true), (plain, false)] {
            let sandbox = &planted.sandbox;
            let report = measure(sandbox, plainly(sandbox), groups, &["."]);
            let storage = &report["storage"];
            let notes = storage["notes"].to_string();
            // An old kernel has no cachestat, so it cannot be blind.
            if !notes.contains("cachestat is refused") {
                assert_eq!(notes.contains(blind), is_blind, "{storage:#}");
                let probe = if is_blind { "mincore" } else { "cachestat" };
                assert_eq!(storage["residency_probe"], probe, "{storage:#}");
            }
            let case = only(&report);
            check_served(case, "page-cache");
            check_near(&case["hit_share"], 1.0, 0.01);
            assert_ne!(case["verdict"], "void", "{case:#}");
            check_silent(case, &["NotWarm", "NoIo", "Unverified"]);
        }
    });
}

/// An overlay that is mounted `volatile` ignores syncs, as containers' own often do.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn what_a_volatile_overlay_syncs_is_not_durable() {
    tried(|| {
        let test = "what_a_volatile_overlay_syncs_is_not_durable";
        let groups = "[[cases]]\nop = \"write\"\nallocation = \"overwrite\"\nops = \"all\"\n\
                      sync = \"fdatasync\"\n\
                      [[cases]]\nengine = \"pread\"\ncache = \"direct\"\ntime = \"100ms\"\n";
        for (options, is_ignored) in [("volatile", true), ("rw", false)] {
            let layers = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
            let mount = || Mounted::overlay(layers, options);
            let Some(planted) = Planted::new(test, mount) else { return };
            let sandbox = &planted.sandbox;
            if !sandbox.is_on_disk(test) {
                return;
            }
            let report = measure(sandbox, plainly(sandbox), groups, &["."]);
            for case in asked(&report) {
                check_silent(case, &["CountersUnseen", "Unverified"]);
                if is_ignored && !case["writing"].is_null() {
                    check_found(case, "NotDurable", "void", &["volatile) ignores every sync"]);
                    assert_eq!(case["writing"]["durable"], Value::Null, "{case:#}");
                } else {
                    check_silent(case, &["NotDurable"]);
                }
            }
        }
    });
}

#[test]
fn what_another_process_serves_is_unverified() {
    tried(|| {
        let test = "what_another_process_serves_is_unverified";
        let groups =
            "[[cases]]\nengine = \"pread\"\ncache = [\"direct\", \"cold\"]\ntime = \"100ms\"\n";
        let below = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let Some(fuse) = Planted::new(test, || Mounted::pass_through(below, &[])) else { return };
        let report = measure(&fuse.sandbox, plainly(&fuse.sandbox), groups, &["."]);
        assert!(!asked(&report).is_empty(), "{report:#}");
        for case in asked(&report) {
            check_served(case, "unverified");
            check_found(case, "Unverified", "doubt", &["fuse"]);
        }
        let Some(planted) = Planted::on_loop(test, "ext4", &ROOMY) else { return };
        let sandbox = &planted.sandbox;
        for case in asked(&measure(sandbox, plainly(sandbox), groups, &["."])) {
            check_served(case, "device");
            check_silent(case, &["Unverified"]);
        }
    });
}

/// The page cache holds the file, so the server is not asked, and the row is proved.
#[test]
fn what_the_page_cache_holds_is_proved_whoever_serves_it() {
    tried(|| {
        let test = "what_the_page_cache_holds_is_proved_whoever_serves_it";
        let groups = "[[cases]]\nengine = \"pread\"\ncache = \"warm\"\ntime = \"100ms\"\n";
        let below = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let make = || Mounted::pass_through(below, &["-o", "kernel_cache"]);
        let Some(fuse) = Planted::new(test, make) else { return };
        let report = measure(&fuse.sandbox, plainly(&fuse.sandbox), groups, &["."]);
        check_served(only(&report), "page-cache");
        check_silent(only(&report), &["Unverified"]);
    });
}

/// Reads the first half of a file page by page, after advice that prevents readahead.
fn warm_half(path: &Path) {
    let file = File::open(path).unwrap();
    fadvise(&file, 0, None, Advice::Random).unwrap();
    let half = file.metadata().unwrap().len() / 2;
    let mut page = [0; 4096];
    for place in (0..half).step_by(page.len()) {
        file.read_exact_at(&mut page, place).unwrap();
    }
}

/// The output of `cache show` for a file.
fn shown(sandbox: &Sandbox, path: &Path) -> String {
    sandbox.says(&["cache", "show", argument(path)])
}

#[test]
fn a_file_that_is_half_cached_is_neither_cached_nor_not() {
    tried(|| {
        let test = "a_file_that_is_half_cached_is_neither_cached_nor_not";
        let Some(planted) = Planted::on_loop(test, "ext4", &ROOMY) else { return };
        let sandbox = &planted.sandbox;
        let path = cold_file(sandbox, "own", 16 * MIB);
        let read = || measure(sandbox, plainly(sandbox), ONCE, &["--file", argument(&path)]);

        let report = read();
        check_served(only(&report), "device");
        assert!(only(&report)["hit_share"].as_f64().unwrap() <= 0.01, "{report:#}");
        check_silent(only(&report), &["PartlyCached"]);

        sandbox.says(&["cache", "evict", argument(&path)]);
        // The OS may reclaim some pages at once.
        for _ in 0..10 {
            warm_half(&path);
            if shown(sandbox, &path).contains("2048 of 4096 pages") {
                break;
            }
        }
        let report = read();
        check_served(only(&report), "mixed");
        check_near(&only(&report)["hit_share"], 0.5, 0.02);
        check_found(only(&report), "PartlyCached", "doubt", &["the page cache served"]);

        sandbox.says(&["cache", "warm", argument(&path)]);
        let report = read();
        check_served(only(&report), "page-cache");
        check_near(&only(&report)["hit_share"], 1.0, 0.01);
        check_silent(only(&report), &["PartlyCached"]);
    });
}

#[test]
fn a_file_that_readahead_brought_whole_is_cached_though_half_was_read() {
    tried(|| {
        let test = "a_file_that_readahead_brought_whole_is_cached_though_half_was_read";
        let Some(planted) = Planted::on_loop(test, "ext4", &ROOMY) else { return };
        let sandbox = &planted.sandbox;
        let path = cold_file(sandbox, "own", 4 * MIB);
        let ahead = format!("/sys/block/{}/queue/read_ahead_kb", planted.mounted.loop_name());
        std::fs::write(ahead, "8192").unwrap();
        let mut half = vec![0; 2 << 20];
        File::open(&path).unwrap().read_exact_at(&mut half, 0).unwrap();
        if !shown(sandbox, &path).contains("1024 of 1024 pages") {
            return skip(test, "readahead did not bring the whole file");
        }
        let report = measure(sandbox, plainly(sandbox), ONCE, &["--file", argument(&path)]);
        check_served(only(&report), "page-cache");
        check_near(&only(&report)["hit_share"], 1.0, 0.01);
        check_silent(only(&report), &["PartlyCached", "NoIo"]);
    });
}

// Foreign I/O during the run.

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn another_who_reads_the_device_is_seen() {
    tried(|| {
        let test = "another_who_reads_the_device_is_seen";
        let _quiet = quiet();
        let Some(planted) = Planted::on_loop(test, "ext4", &ROOMY) else { return };
        let sandbox = &planted.sandbox;
        let groups = "[[cases]]\nengine = \"pread\"\ncache = \"direct\"\ntime = \"300ms\"\n\
                  block = \"64KiB\"\n";
        let theirs = cold_file(sandbox, "theirs", 64 * MIB);
        let neighbour = reader(&theirs);
        let report = measure(sandbox, plainly(sandbox), groups, &["."]);
        drop(neighbour);
        check_served(only(&report), "device");
        check_found(only(&report), "Foreign", "void", &["other processes read"]);
        let report = measure(sandbox, plainly(sandbox), groups, &["."]);
        check_served(only(&report), "device");
        check_silent(only(&report), &["Foreign"]);
    });
}

/// The loop device's own counters do not see it. Others use that disk at any time, so only tests of
/// records show that there is no finding without them.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn another_who_reads_the_disk_below_a_loop_device_is_seen() {
    tried(|| {
        let test = "another_who_reads_the_disk_below_a_loop_device_is_seen";
        let _quiet = quiet();
        let setup = Setup { losetup: &["--direct-io=on"], ..ROOMY };
        let Some(planted) = Planted::on_loop(test, "ext4", &setup) else { return };
        let sandbox = &planted.sandbox;
        let groups = "[[cases]]\nengine = \"pread\"\ncache = \"direct\"\ntime = \"1s\"\n\
                  block = \"64KiB\"\n";
        let outside = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let theirs = outside.path().join("theirs");
        mounts::file(&theirs, 64 * MIB);
        let neighbour = reader(&theirs);
        let report = measure(sandbox, plainly(sandbox), groups, &["."]);
        drop(neighbour);
        let disks = &report["storage"]["devices"][0]["file"]["disks"];
        if disks.as_array().is_none_or(|disks| disks.len() != 1) {
            return skip(test, "no single disk below the loop device counts");
        }
        check_served(only(&report), "device");
        check_found(only(&report), "Foreign", "doubt", &[BELOW]);
    });
}

/// A neighbor that reads a file repeatedly with direct I/O.
fn reader(path: &PathBuf) -> Neighbour {
    let direct = OFlags::DIRECT.bits() as i32;
    let file = File::options().read(true).custom_flags(direct).open(path).unwrap();
    let size = file.metadata().unwrap().len();
    let mut memory = vec![0; 4096 + (1 << 20)];
    let aligned = memory.as_ptr().align_offset(4096);
    let mut place = 0;
    Neighbour::new(move || {
        file.read_exact_at(&mut memory[aligned..][..1 << 20], place).unwrap();
        place = (place + MIB) % size;
    })
}

/// The largest amount of dirty memory on the machine at the start of a write trial.
fn dirty_at_start(sandbox: &Sandbox) -> u64 {
    let of_trial = |trial: &Value| trial["evidence"]["dirty_before"].as_u64();
    trials(sandbox).iter().filter_map(of_trial).max().unwrap_or(0)
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn pages_that_others_leave_dirty_are_seen() {
    tried(|| {
        let test = "pages_that_others_leave_dirty_are_seen";
        let _quiet = quiet();
        let Some(planted) = Planted::on_loop(test, "ext4", &ROOMY) else { return };
        let sandbox = &planted.sandbox;
        let Some(elsewhere) = Planted::on_loop(test, "ext4", &ROOMY) else { return };
        let groups = "[[cases]]\nop = \"write\"\nallocation = \"overwrite\"\nops = \"all\"\n";
        let data = mounts::content(48 * MIB);
        let file = File::create_new(elsewhere.sandbox.path("dirty")).unwrap();
        let neighbour = Neighbour::new(move || {
            file.write_all_at(&data, 0).unwrap();
            std::thread::sleep(Duration::from_millis(100));
        });
        let report = measure(sandbox, plainly(sandbox), groups, &["."]);
        drop(neighbour);
        check_served(only(&report), "device");
        check_found(only(&report), "DirtyStart", "doubt", &["still dirty"]);
        drop(elsewhere);

        // Other tests write at the same time, and their dirty pages cause true findings.
        for _ in 0..20 {
            let report = measure(sandbox, plainly(sandbox), groups, &["."]);
            check_served(only(&report), "device");
            if dirty_at_start(sandbox) < 16 * MIB {
                return check_silent(only(&report), &["DirtyStart"]);
            }
        }
        skip(test, "others write all the time, so that it was never without dirty pages");
    });
}

#[test]
fn a_file_that_is_dirty_is_written_before_it_is_read_cold() {
    tried(|| {
        let test = "a_file_that_is_dirty_is_written_before_it_is_read_cold";
        let Some(planted) = Planted::on_loop(test, "ext4", &ROOMY) else { return };
        let sandbox = &planted.sandbox;
        let path = sandbox.path("dirty");
        std::fs::write(&path, mounts::content(16 * MIB)).unwrap();
        assert!(!shown(sandbox, &path).contains(" 0 dirty"), "{}", shown(sandbox, &path));
        for case in asked(&read_own(sandbox, &path)) {
            check_served(case, "device");
            assert!(case["hit_share"].as_f64().unwrap() <= 0.01, "{case:#}");
            check_silent(case, &["CacheLeak", "DirectIgnored", "NoIo"]);
        }
        // The requested cases are first in the plan.
        for trial in trials(sandbox).iter().filter(|trial| trial["case"].as_u64().unwrap() < 2) {
            let before = &trial["evidence"]["residency_before"];
            assert_eq!((&before["cached"], &before["dirty"]), (&0.into(), &0.into()), "{before}");
        }
    });
}
