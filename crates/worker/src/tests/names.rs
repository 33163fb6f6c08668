//! Each call on real directories.

use super::{SEED, outcome_in, sample_of};
use model::case::{Cache, Call, Directories, MetadataWork, NameSync, Work};
use model::metadata::Letter;
use model::sample::Sample;
use model::trial::{Job, Outcome};
use model::zoo;
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The names in the directory of `thread`.
fn names(work: &MetadataWork, folder: &Path, thread: u32) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder.join(work.directory(thread))).expect("it is there");
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.expect("it is readable").file_name().into_string().expect("names are digits")
    };
    entries.map(name).collect()
}

fn text(thread: u32, (index, letter): (u64, Letter)) -> String {
    String::from_utf8(MetadataWork::name(thread, index, letter, SEED).to_vec()).expect("digits")
}

/// Runs `work` in new directories, with the names that it needs, and checks what it reports and
/// leaves.
fn check(work: MetadataWork) -> Sample {
    let folder = tempfile::tempdir_in(".").expect("the crate's folder is writable");
    for thread in 0..work.threads {
        let path = folder.path().join(work.directory(thread));
        if !path.exists() {
            std::fs::create_dir(&path).expect("there is room");
        }
        let before = if work.call == Call::Create { 0 } else { work.entries };
        for index in 0..before {
            let name = path.join(text(thread, (index, Letter::A)));
            std::fs::write(name, []).expect("there is room");
        }
    }
    let inode = |thread: u32, index: u64| {
        let path = folder.path().join(work.directory(thread));
        std::fs::metadata(path.join(text(thread, (index, Letter::A)))).ok().map(|it| it.ino())
    };
    let (job, outcome) = outcome_in(Work::Metadata(work), folder.path());
    let sample = sample_of(&job, outcome).expect("every machine has names");
    let id = job.case.id();
    let mut left = BTreeSet::new();
    for span in &sample.spans {
        assert_eq!(job.expected_bytes(span), Some(span.bytes), "{id}");
        assert!(span.ops > 0, "{id}");
        assert_eq!(span.synced_ns.is_some(), work.sync == NameSync::Fsync, "{id}");
        let of_thread = work.left(span.thread, SEED, span.ops);
        left.extend(of_thread.into_iter().map(|name| text(span.thread, name)));
        if work.call == Call::Stat {
            let expected = work.expected_digest(SEED, span, |index| inode(span.thread, index));
            assert_eq!(span.digest, expected, "{id}");
        }
    }
    let there: BTreeSet<String> =
        (0..work.threads).flat_map(|thread| names(&work, folder.path(), thread)).collect();
    assert_eq!(there, left, "{id}");
    if work.call == Call::Readdir {
        let digest = |names: &BTreeSet<String>| {
            names.iter().fold(0u64, |sum, name| {
                sum.wrapping_add(MetadataWork::name_digest(name.as_bytes()))
            })
        };
        for span in &sample.spans {
            let listed = names(&work, folder.path(), span.thread);
            assert_eq!(span.digest, Some(digest(&listed).wrapping_mul(span.ops)), "{id}");
        }
    }
    assert_eq!(sample.latencies.count(), sample.ops(), "{id}");
    sample
}

#[test]
fn each_call_leaves_what_it_says() {
    for call in Call::ALL.iter().copied() {
        for place in Directories::ALL.iter().copied() {
            let work =
                MetadataWork { call, place, entries: 300, threads: 2, ..zoo::plain_metadata() };
            let sample = check(work);
            if !work.repeats() {
                assert!(sample.ops() <= 600, "{call}");
            }
        }
    }
}

#[test]
fn a_change_is_made_durable_by_each_call() {
    for call in Call::ALL.iter().copied().filter(|call| call.changes()) {
        let sync = NameSync::Fsync;
        check(MetadataWork { call, sync, entries: 40, ..zoo::plain_metadata() });
    }
}

#[test]
fn cold_names_are_used_once() {
    let (call, cache) = (Call::Stat, Cache::Cold);
    let sample = check(MetadataWork { call, cache, entries: 50, ..zoo::plain_metadata() });
    assert_eq!(sample.ops(), 50);
}

#[test]
fn a_missing_name_or_folder_is_a_failure_that_names_the_call() {
    let folder = tempfile::tempdir_in(".").expect("the crate's folder is writable");
    let work = MetadataWork { entries: 3, ..zoo::plain_metadata() };
    let reason = |(_, outcome): (Job, Outcome)| match outcome {
        Outcome::Failed { reason } => reason,
        other => panic!("{other:?}"),
    };
    let none = reason(outcome_in(Work::Metadata(work), folder.path()));
    assert!(none.contains("own-0.names failed: No such file"), "{none}");
    std::fs::create_dir(folder.path().join(work.directory(0))).expect("there is room");
    let missing = reason(outcome_in(Work::Metadata(work), folder.path()));
    assert!(missing.starts_with("stat: No such file"), "{missing}");
    let listing = MetadataWork { call: Call::Readdir, ..work };
    let short = reason(outcome_in(Work::Metadata(listing), folder.path()));
    assert!(short.contains("listed 0 names in place of 3"), "{short}");
}
