//! The folder of a run: synced files have a name in it, and none of it remains.

use crate::mounts::{self, Mounted, PLAIN, Setup};
use crate::sandbox::{PROGRAM, Sandbox, skip, text, wait_for};
use std::fs::OpenOptions;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use tempfile::TempDir;

/// Syncs of one page, in an overwritten file and in a growing one.
const SYNCED: &str = r#"
name = "synced"
question = "?"
size = "1MiB"
invocations = 1
rounds = 2
time = "50ms"
ceilings = false

[[cases]]
op = "write"
block = "4KiB"
every = 1
sync = ["fdatasync", "fsync"]
allocation = ["overwrite", "none"]
"#;

/// Starts a run of that recipe in `directory`.
fn start(sandbox: &Sandbox, directory: &str, more: &[&str]) -> Child {
    std::fs::write(sandbox.path("synced.toml"), SYNCED).unwrap();
    let mut command = sandbox.start(PROGRAM);
    command.args(["run", "./synced.toml", directory]).args(more);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// The folders of runs in `directory`.
fn folders(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap().flatten();
    let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    entries
        .map(|entry| entry.path())
        .filter(|path| name(path).starts_with("ioassay-run-"))
        .collect()
}

/// Waits until a run in the sandbox's directory has its folder with a test file in it.
fn wait_for_folder(sandbox: &Sandbox) -> PathBuf {
    wait_for("a folder with a test file", || {
        let folder = folders(sandbox.directory()).pop()?;
        let mut entries = std::fs::read_dir(&folder).ok()?.flatten();
        entries
            .any(|entry| entry.path().extension().is_some_and(|end| end == "data"))
            .then_some(folder)
    })
}

#[test]
fn what_a_killed_run_left_is_removed_by_the_next() {
    let Some(sandbox) = Sandbox::in_memory() else {
        return skip("what_a_killed_run_left_is_removed_by_the_next", "there is no /dev/shm");
    };
    let mut killed = start(&sandbox, ".", &["--time=1h", "--ops=0"]);
    let folder = wait_for_folder(&sandbox);
    let mut living = start(&sandbox, ".", &["--time=1h", "--ops=0"]);
    wait_for("two folders", || (folders(sandbox.directory()).len() == 2).then_some(()));
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(folder.exists());

    let said = text(&sandbox.ioassay(&["run", "./synced.toml", ".", "--rounds=1"]).stderr);
    assert!(said.contains("removed './ioassay-run-") && said.contains("a killed run"), "{said}");
    assert!(!folder.exists(), "{said}");
    // The other run is alive and keeps its folder.
    assert_eq!(folders(sandbox.directory()).len(), 1);
    assert!(living.try_wait().unwrap().is_none());
    living.kill().unwrap();
    living.wait().unwrap();
}

/// The control groups of a run, anywhere in the hierarchies.
fn groups_of(pid: u32) -> Vec<PathBuf> {
    let (name, mut found) = (format!("ioassay-{pid}"), Vec::new());
    let mut groups = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(group) = groups.pop() {
        for entry in std::fs::read_dir(group).into_iter().flatten().flatten() {
            if entry.file_name() == name.as_str() {
                found.push(entry.path());
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                groups.push(entry.path());
            }
        }
    }
    found
}

/// Whatever the next run measures, and wherever: at once, while the killed run's worker is ending.
#[test]
fn the_control_group_of_a_killed_run_is_removed_by_the_next_run_anywhere() {
    let test = "the_control_group_of_a_killed_run_is_removed_by_the_next_run_anywhere";
    if !mounts::is_root(test) {
        return;
    }
    let elsewhere = Sandbox::new();
    std::fs::write(elsewhere.path("synced.toml"), SYNCED).unwrap();
    let in_memory = ["run", "memory", "--kernel=read", "--working-set=1MiB", "--threads=1"];
    let short = ["--rounds=1", "--time=10ms"];
    for next in [&in_memory[..], &["run", "./synced.toml", "."]] {
        let sandbox = Sandbox::new();
        let mut killed = start(&sandbox, ".", &["--time=1h", "--ops=0", "--memory=64MiB"]);
        let is_limited = |group: &PathBuf| {
            let members = std::fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
            !members.trim().is_empty()
        };
        let group = wait_for("a worker in a control group", || {
            if let Some(status) = killed.try_wait().unwrap() {
                assert_eq!(status.code(), Some(2), "only without a group that limits memory");
                return Some(None);
            }
            Some(Some(groups_of(killed.id()).into_iter().find(is_limited)?))
        });
        let Some(group) = group else { return skip(test, "no control group can limit memory") };
        let folder = wait_for_folder(&sandbox);
        killed.kill().unwrap();
        let said = text(&elsewhere.ioassay(&[next, &short].concat()).stderr);
        assert!(!group.exists(), "{next:?}: {said}");
        killed.wait().unwrap();
        // Its files are where only a run there looks.
        assert!(folder.exists());
        sandbox.ioassay(&["run", "./synced.toml", ".", "--rounds=1"]);
        assert!(!folder.exists());
    }
}

#[test]
fn a_directory_that_is_moved_keeps_its_run() {
    let Some(sandbox) = Sandbox::in_memory() else {
        return skip("a_directory_that_is_moved_keeps_its_run", "there is no /dev/shm");
    };
    let place = sandbox.path("place");
    std::fs::create_dir(&place).unwrap();
    let mut run = start(&sandbox, "place", &["--record", "record"]);
    wait_for("a trial", || {
        let record = std::fs::read_to_string(sandbox.path("record")).ok()?;
        record.contains("{\"trial\"").then_some(())
    });
    std::fs::rename(&place, sandbox.path("moved")).unwrap();
    std::fs::create_dir(&place).unwrap();
    let status = run.wait().unwrap();
    assert!(matches!(status.code(), Some(0 | 1)), "{status:?}");
    for name in ["place", "moved"] {
        assert_eq!(std::fs::read_dir(sandbox.path(name)).unwrap().count(), 0, "{name}");
    }
    let report = sandbox.json(&["report", "--json", "record"]);
    for case in report["cases"].as_array().unwrap() {
        assert_eq!(case["failures"], serde_json::json!([]), "{case:#}");
    }
}

/// How often a file is synced.
const SYNCS: u64 = 20;

/// The flushes that a device counts while a page of a new file is written and synced [`SYNCS`]
/// times.
fn flushes(mounted: &Mounted, has_name: bool) -> u64 {
    let path = mounted.point.join("synced");
    let mut open = OpenOptions::new();
    let file = open.write(true).create_new(true).mode(0o600).open(&path).unwrap();
    if !has_name {
        std::fs::remove_file(&path).unwrap();
    }
    let before = counted(mounted);
    for round in 0..SYNCS {
        file.write_all_at(&[round as u8; 4096], round * 4096).unwrap();
        file.sync_data().unwrap();
    }
    let flushes = counted(mounted) - before;
    if has_name {
        std::fs::remove_file(&path).unwrap();
    }
    flushes
}

/// The flushes that the loop device has counted.
fn counted(mounted: &Mounted) -> u64 {
    let path = format!("/sys/block/{}/stat", mounted.loop_name());
    let stat = std::fs::read_to_string(path).unwrap();
    stat.split_whitespace().nth(15).and_then(|count| count.parse().ok()).unwrap_or(0)
}

/// Named and unnamed files may be synced differently on some file systems, so the test files have
/// names. The laboratory checks f2fs the same way.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn what_is_synced_is_flushed_on_every_file_system() {
    let test = "what_is_synced_is_flushed_on_every_file_system";
    if !mounts::is_root(test) {
        return;
    }
    for kind in ["ext4", "xfs", "btrfs"] {
        let image = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let setup = Setup { size: 512 << 20, ..PLAIN };
        let mounted = match Mounted::on_loop(image, kind, &setup) {
            Ok(mounted) => mounted,
            Err(reason) => {
                skip(test, &reason);
                continue;
            }
        };
        let (named, nameless) = (flushes(&mounted, true), flushes(&mounted, false));
        eprintln!("{kind}: {named} flushes with a name, {nameless} without");
        // A journal also commits by itself, every few seconds.
        assert!(named >= SYNCS && 2 * named >= nameless, "{kind}: {named}, {nameless}");
        let sandbox = Sandbox::on(&mounted.point);
        std::fs::write(sandbox.path("synced.toml"), SYNCED).unwrap();
        let args = ["run", "./synced.toml", ".", "--rounds=1", "--sync=fdatasync", "--json"];
        let report = sandbox.json(&args);
        let cases = report["cases"].as_array().unwrap();
        let asked: Vec<_> = cases.iter().filter(|case| case["role"] == "asked").collect();
        assert_eq!(asked.len(), 2, "{kind}");
        for case in asked {
            let codes = case["findings"].to_string();
            assert!(!codes.contains("NotDurable"), "{kind}: {case:#}");
            assert_eq!(case["served_by"], "device", "{kind}: {case:#}");
        }
        drop(sandbox);
    }
}
