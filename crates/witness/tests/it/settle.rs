use crate::fixture::{self, Mounted, PLAIN};
use model::host::{Medium, Storage};
use std::fs::File;
use std::time::Duration;
use witness::{page_cache, settle, storage};

/// Longer than any wait that ends by itself, also on a disk that others write to.
const LIMIT: Duration = Duration::from_secs(600);

/// A file system on a device that nobody else writes to.
fn mounted(test: &str) -> Option<(Mounted, Storage)> {
    if !fixture::is_root(test) {
        return None;
    }
    match Mounted::on_loop(fixture::directory(), "ext4", &PLAIN) {
        Ok(mounted) => {
            let storage = storage(&mounted.point).unwrap();
            Some((mounted, storage))
        }
        Err(reason) => {
            fixture::skip(test, &reason);
            None
        }
    }
}

#[test]
fn a_device_is_quiet_once_what_was_written_is_on_it() {
    let Some((mounted, storage)) = mounted("settling") else { return };
    let path = mounted.point.join("file");
    std::fs::write(&path, fixture::content(8 << 20)).unwrap();
    let file = File::open(&path).unwrap();
    let settled = settle(&storage, Some(&file), LIMIT);
    assert!(settled.quiet, "{settled:?}");
    assert_eq!(settled.in_flight, Some(0), "{settled:?}");
    assert!(settled.waited >= Duration::from_millis(100), "{settled:?}");
    if let Some(probe) = storage.residency_probe {
        let dirty = page_cache::residency(&file, probe).unwrap().dirty;
        assert!(dirty.is_none_or(|pages| pages == 0), "{dirty:?}");
    }
    drop(file);
    std::fs::remove_file(&path).unwrap();
    let directory = File::open(&mounted.point).unwrap();
    assert!(settle(&storage, Some(&directory), LIMIT).quiet);
}

#[test]
fn at_the_limit_it_is_told_that_nothing_is_proved() {
    let directory = fixture::directory();
    let storage = storage(directory.path()).unwrap();
    if storage.medium != Medium::Block {
        return fixture::skip("a short limit", "temporary files are not on a block device");
    }
    let file = fixture::file(&directory.path().join("file"), 1 << 20);
    // Proving calm takes 100 ms, in which a busy machine may not let this run.
    for limit in [Duration::ZERO, Duration::from_millis(50)] {
        for file in [None, Some(&file)] {
            let settled = settle(&storage, file, limit);
            let is_late = !limit.is_zero() && settled.waited >= Duration::from_millis(100);
            assert!(settled.waited >= limit, "{limit:?}: {settled:?}");
            assert!(!settled.quiet || is_late, "{limit:?}: {settled:?}");
            assert!(settled.in_flight.is_some() && settled.dirty.is_some(), "{settled:?}");
        }
    }
}

#[test]
fn in_memory_there_is_nothing_to_wait_for() {
    let Some(directory) = fixture::directory_in_memory() else {
        return fixture::skip("settling in memory", "there is no /dev/shm");
    };
    let storage = storage(directory.path()).unwrap();
    assert_eq!(storage.medium, Medium::Ram);
    let settled = settle(&storage, None, Duration::ZERO);
    assert!(settled.quiet && settled.in_flight.is_none(), "{settled:?}");
}
