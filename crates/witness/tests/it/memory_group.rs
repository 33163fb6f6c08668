use crate::actor::Actor;
use crate::fixture;
use std::path::Path;
use std::sync::Mutex;
use witness::{MemoryGroup, page_cache, storage};

const LIMIT: u64 = 32 << 20;

/// A process can have only one group at a time.
static ONE: Mutex<()> = Mutex::new(());

/// A group; `None`, with a message, if it cannot be created for `test`.
fn group(test: &str) -> Option<MemoryGroup> {
    if !fixture::is_root(test) {
        return None;
    }
    MemoryGroup::create(LIMIT).map_err(|error| fixture::skip(test, &error.to_string())).ok()
}

#[test]
fn what_a_member_reads_stays_cached_only_up_to_the_limit() {
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let name = "reading in a memory group";
    let Some(group) = group(name) else { return };
    let directory = fixture::directory();
    let storage = storage(directory.path()).unwrap();
    let Some(probe) = storage.residency_probe.filter(|_| storage.evictable) else {
        return fixture::skip(name, "temporary files cannot be evicted");
    };
    let path = directory.path().join("file");
    let file = fixture::file(&path, 2 * LIMIT);
    let cached_after = |group: Option<&MemoryGroup>| {
        page_cache::evict(&file, page_cache::WHOLE, probe).unwrap();
        let mut actor = Actor::start("scan", &path);
        if let Some(group) = group {
            group.add(actor.pid()).unwrap();
        }
        assert_eq!(actor.go(), format!("scanned {}", 2 * LIMIT));
        page_cache::residency(&file, probe).unwrap().cached * rustix::param::page_size() as u64
    };
    assert_eq!(group.limit(), LIMIT);
    let inside = cached_after(Some(&group));
    assert!(inside > 0 && inside <= LIMIT, "{inside}");
    let outside = cached_after(None);
    assert!(outside > LIMIT, "{outside}");
    let directory = group.directory().to_path_buf();
    assert!(directory.exists());
    drop(group);
    assert!(!directory.exists(), "'{}' stays", directory.display());
}

#[test]
fn a_group_that_a_dead_process_left_is_removed() {
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let Some(first) = group("groups left behind") else { return };
    // No process has such a high PID.
    let left = first.directory().parent().unwrap().join("ioassay-4194305");
    drop(first);
    std::fs::create_dir(&left).unwrap();
    // It has the limits that such a group gets: another one may be somebody else's.
    for (name, limit) in [
        ("memory.limit_in_bytes", LIMIT),
        ("memory.memsw.limit_in_bytes", LIMIT),
        ("memory.max", LIMIT),
        ("memory.swap.max", 0),
    ] {
        let path = left.join(name);
        if path.exists() {
            std::fs::write(path, limit.to_string()).unwrap();
        }
    }
    witness::remove_left_groups();
    let is_gone = !left.exists();
    let _ = std::fs::remove_dir(&left);
    assert!(is_gone, "{left:?}");
}

#[test]
fn a_process_that_is_gone_cannot_be_added() {
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let Some(group) = group("adding nobody") else { return };
    let error = group.add(4_194_305).unwrap_err().to_string();
    assert!(error.contains("add a process to") && error.contains("os error 3"), "{error}");
}

#[test]
fn who_has_no_right_to_is_told_what_it_needs() {
    let name = "a memory group of a stranger";
    if !fixture::is_root(name) {
        return;
    }
    let directory = fixture::directory();
    let error = Actor::start_stranger("group", Path::new(""), directory.path()).go();
    assert!(error.contains("needs root, or a group delegated"), "{error}");
    // A machine without such groups fails before permissions matter.
    let is_denied = error.contains("make the control group") && error.contains("os error");
    assert!(is_denied || error.contains("no control group can limit memory"), "{error}");
}
