//! A user's own file that other programs use meanwhile: it grows, or is rewritten in place.

use super::plant::{
    Neighbour, Planted, check_found, check_served, check_silent, cold_file, finish, measure, only,
    plainly, start, tried,
};
use super::storage::read_of;
use crate::mounts::{PLAIN, Setup};
use crate::sandbox::{argument, wait_for};
use rustix::fs::{FallocateFlags, fallocate};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

const MIB: u64 = 1 << 20;
const PAGE: u64 = 4096;

/// Space for a few files.
const ROOMY: Setup = Setup { size: 256 << 20, ..PLAIN };

/// A log is appended to while it is measured: what it was at the start is read.
#[test]
fn a_file_that_grows_is_read_as_far_as_it_went_at_the_start() {
    tried(|| {
        let test = "a_file_that_grows_is_read_as_far_as_it_went_at_the_start";
        let Some(planted) = Planted::on_loop(test, "ext4", &ROOMY) else { return };
        let sandbox = &planted.sandbox;
        let path = cold_file(sandbox, "log", 4 * MIB);
        let log = File::options().write(true).open(&path).unwrap();
        let mut end = 4 * MIB;
        let grower = Neighbour::new(move || {
            log.write_all_at(&[7; 1000], end).unwrap();
            end += 1000;
            std::thread::sleep(Duration::from_micros(500));
        });
        let groups = "[[cases]]\nengine = [\"pread\", \"mmap\"]\ncache = \"warm\"\n";
        let report = measure(sandbox, plainly(sandbox), groups, &["--file", argument(&path)]);
        drop(grower);
        let read = report["fixtures"][0]["size"].as_u64().unwrap();
        let now = path.metadata().unwrap().len();
        assert!((4 * MIB..now).contains(&read), "{read} of {now}");
        let cases = report["cases"].as_array().unwrap();
        let asked: Vec<_> = cases.iter().filter(|case| case["role"] == "asked").collect();
        assert_eq!(asked.len(), 2, "{report:#}");
        for case in asked {
            assert_eq!(case["failures"], serde_json::json!([]), "{case:#}");
            assert_eq!(case["case"]["size"], read, "{case:#}");
            check_served(case, "page-cache");
        }
    });
}

/// A live database writes to pages of a file in place: they are in the page cache again, though
/// direct reads go past it.
#[test]
fn a_file_that_others_write_to_is_in_use_and_not_proof_against_direct_reads() {
    tried(|| {
        let test = "a_file_that_others_write_to_is_in_use_and_not_proof_against_direct_reads";
        let Some(planted) = Planted::on_loop(test, "ext4", &ROOMY) else { return };
        let sandbox = &planted.sandbox;
        let path = cold_file(sandbox, "database", 64 * MIB);
        let groups = "[[cases]]\nengine = \"pread\"\ncache = \"direct\"\ntime = \"300ms\"\n";
        let read = || measure(sandbox, plainly(sandbox), groups, &["--file", argument(&path)]);
        let database = File::options().write(true).open(&path).unwrap();
        let mut page = 0;
        let writer = Neighbour::new(move || {
            database.write_all_at(&[9; PAGE as usize], page * PAGE).unwrap();
            page = (page + 17) % (64 * MIB / PAGE);
            std::thread::sleep(Duration::from_micros(100));
        });
        let report = read();
        drop(writer);
        let case = only(&report);
        check_served(case, "device");
        check_found(case, "FileInUse", "note", &["another program uses this file"]);
        check_silent(case, &["DirectIgnored", "CacheLeak"]);
        let report = read();
        check_served(only(&report), "device");
        check_silent(only(&report), &["FileInUse", "DirectIgnored"]);
    });
}

/// Holes that are punched during a run are no fault of the file system or of the page cache.
#[test]
fn a_file_that_gets_holes_during_a_run_is_told_as_the_cause() {
    tried(|| {
        let test = "a_file_that_gets_holes_during_a_run_is_told_as_the_cause";
        let Some(planted) = Planted::on_loop(test, "ext4", &ROOMY) else { return };
        let sandbox = &planted.sandbox;
        let path = cold_file(sandbox, "image", 64 * MIB);
        let groups = "[[cases]]\nengine = \"pread\"\ncache = [\"direct\", \"cold\"]\n\
                      time = \"300ms\"\n";
        let args = ["--file", argument(&path), "--rounds=4"];
        let device = planted.mounted.loop_name();
        let first = read_of(device);
        let running = start(sandbox, plainly(sandbox), groups, &args);
        wait_for("a trial", || (read_of(device) > first + 12 * MIB).then_some(()));
        let image = File::options().write(true).open(&path).unwrap();
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        fallocate(&image, flags, 0, 32 * MIB).unwrap();
        let report = finish(running);
        let cases = report["cases"].as_array().unwrap();
        for case in cases.iter().filter(|case| case["role"] == "asked") {
            let (found, failures) = (case["findings"].to_string(), case["failures"].to_string());
            assert!(!["DirectIgnored", "CacheLeak"].iter().any(|it| found.contains(it)), "{found}");
            let expected = "image' got holes of 32MiB more, which no device reads, since this run";
            assert!(failures.contains(expected), "{case:#}");
        }
    });
}
