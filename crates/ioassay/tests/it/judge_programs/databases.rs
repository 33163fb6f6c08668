//! SQLite, whose setting `synchronous` decides how often it syncs.

use super::traced::{syncs, syncs_seen};
use super::{Judged, count, on_disk};
use crate::honesty::plant::tried;
use serde_json::Value;
use std::collections::HashMap;

/// Ten transactions.
fn script() -> String {
    let insert = "insert into t values (hex(randomblob(2000)));\n";
    "create table t (a);\n".to_string() + &insert.repeat(9)
}

#[test]
fn sqlite_syncs_as_often_as_strace_counts_and_as_its_setting_says() {
    let test = "sqlite_syncs_as_often_as_strace_counts_and_as_its_setting_says";
    let Some(sandbox) = on_disk(test, &["sqlite3", "strace"]) else { return };
    std::fs::write(sandbox.path("insert.sql"), script()).unwrap();
    let sum = |syncs: &HashMap<String, u64>| syncs.values().sum::<u64>();
    let mut sums = Vec::new();
    for setting in ["OFF", "NORMAL", "FULL"] {
        let pragma = format!("pragma synchronous={setting}");
        let command = ["sqlite3", "-batch", "a.db", &pragma, ".read insert.sql"];
        let judged =
            Judged::of(&sandbox, &[&["--prepare=rm -f a.db", "--"], &command[..]].concat());
        std::fs::remove_file(sandbox.path("a.db")).unwrap();
        let expected = syncs(&sandbox, &command);
        assert_eq!(syncs_seen(&judged), expected, "{setting}");
        let seen = judged.file("a.db");
        assert_eq!((&seen["created"], &seen["role"]), (&true.into(), &"data".into()), "{seen}");
        // A file that is created again under its name is one entry.
        let made = |file: &Value| 1 + file["replacements"].as_u64().unwrap_or(0);
        let journals = judged.data_files().filter(|file| {
            super::last_path(file).ends_with("/a.db-journal") && file["removed"] == true
        });
        let journals: u64 = journals.map(made).sum();
        assert_eq!(journals, 10, "one for each transaction: {}", judged.facts());
        for trial in judged.evidence("as-is") {
            let flushes = count(trial, "device_flushes");
            assert!(sum(&expected) == 0 || flushes >= 1, "{setting}: {trial}");
        }
        sums.push(sum(&expected));
    }
    let [off, normal, full] = sums[..] else { panic!("{sums:?}") };
    assert!(off == 0 && 0 < normal && normal < full, "{sums:?}");
}

#[test]
fn sqlite_that_does_not_sync_leaves_its_database_dirty() {
    let test = "sqlite_that_does_not_sync_leaves_its_database_dirty";
    let Some(sandbox) = on_disk(test, &["sqlite3"]) else { return };
    std::fs::write(sandbox.path("insert.sql"), script()).unwrap();
    tried(|| {
        for (setting, is_dirty) in [("OFF", true), ("FULL", false)] {
            let pragma = format!("pragma synchronous={setting}");
            let command = ["sqlite3", "-batch", "a.db", &pragma, ".read insert.sql"];
            let args = [&["--prepare=rm -f a.db", "--"], &command[..]].concat();
            for trial in Judged::of(&sandbox, &args).evidence("as-is") {
                let left = &trial["written_after"];
                let expected = if is_dirty { count(left, "pages") } else { 0 };
                assert_eq!(count(left, "dirty"), expected, "{setting}: {trial}");
            }
        }
    });
}
