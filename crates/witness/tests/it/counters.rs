use crate::actor::Actor;
use crate::fixture::{self, Mounted, PLAIN};
use model::evidence::Evidence;
use model::host::{Medium, Storage};
use model::path::WriteCache;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use witness::counters::{Witness, between};
use witness::page_cache;

/// The evidence collected while an actor performs `act` on `path`.
fn evidence(act: &str, path: &Path, file: Option<&File>, storage: Option<&Storage>) -> Evidence {
    let mut actor = Actor::start(act, path);
    let mut witness =
        Witness::new(actor.pid(), file.map(|file| (file, page_cache::WHOLE)), storage);
    let before = witness.before();
    actor.go();
    between(&before, &witness.after())
}

#[test]
fn a_cold_read_is_seen_by_the_task_the_device_and_the_page_cache() {
    let directory = fixture::directory();
    let storage = witness::storage(directory.path()).unwrap();
    if storage.medium != Medium::Block || !storage.evictable {
        return fixture::skip("a cold read", "temporary files are not on a block device");
    }
    let size = 8 << 20;
    let path = directory.path().join("file");
    let file = fixture::file(&path, size);
    page_cache::evict(&file, page_cache::WHOLE, storage.residency_probe.unwrap()).unwrap();
    let cold = evidence("read", &path, Some(&file), Some(&storage));
    let task = cold.task_read_bytes.unwrap();
    assert!(task >= size, "{cold:?}");
    assert!(cold.device_read_bytes.unwrap() >= task, "{cold:?}");
    assert!(cold.device_reads.unwrap() > 0, "{cold:?}");
    assert_eq!(cold.residency_before.unwrap().cached, 0);
    assert_eq!(cold.residency_after.unwrap().share(), 1.0);
    // Now the file is cached, unless the OS took a part back, and the task reads nothing. Other
    // processes may use the device.
    let mut again = (0..10).map(|_| evidence("read", &path, Some(&file), Some(&storage)));
    let warm = again.find(|warm| warm.residency_before.unwrap().share() == 1.0);
    assert_eq!(warm.expect("it is cached once").task_read_bytes, Some(0));
}

#[test]
fn writing_makes_pages_dirty_and_a_sync_brings_them_to_the_device_and_flushes_it() {
    let directory = fixture::directory();
    let storage = witness::storage(directory.path()).unwrap();
    if storage.medium != Medium::Block {
        return fixture::skip("a sync", "temporary files are not on a block device");
    }
    let path = directory.path().join("file");
    let written = evidence("write", &path, None, Some(&storage));
    assert!(written.task_write_bytes.unwrap() >= 4 << 20, "{written:?}");
    // Others may have written up to the limit, which gets lower if the machine loses memory.
    assert!(written.dirty_before.unwrap() < 8 * written.dirty_limit.unwrap(), "{written:?}");
    assert!(written.dirty_after.is_some(), "{written:?}");
    let synced = evidence("sync", &path, None, Some(&storage));
    // It reads none of the 4 MiB, at most metadata that the OS took back.
    assert!(synced.task_read_bytes.unwrap() < 1 << 20, "{synced:?}");
    let is_back = storage.devices.iter().all(|disk| disk.write_cache == Some(WriteCache::Back));
    if !is_back || synced.device_flushes.is_none() {
        return fixture::skip("a flush", "a device writes through, or does not count flushes");
    }
    assert!(synced.device_flushes.unwrap() > 0, "{synced:?}");
    assert!(synced.device_writes.is_some(), "{synced:?}");
}

/// Flushes completed by the disks under `storage`.
fn flushes(storage: &Storage) -> Vec<u64> {
    let of_disk = |name: &str| {
        let stat = std::fs::read_to_string(format!("/sys/block/{name}/stat")).unwrap();
        stat.split_ascii_whitespace().nth(15).map_or(0, |field| field.parse().unwrap())
    };
    storage.devices.iter().map(|disk| of_disk(&disk.name)).collect()
}

#[test]
fn a_sync_on_a_loop_device_flushes_it_and_what_is_below() {
    let name = "flushes of a loop device";
    if !fixture::is_root(name) {
        return;
    }
    let directory = fixture::directory();
    let below = witness::storage(directory.path()).unwrap();
    let is_back = below.devices.iter().all(|disk| disk.write_cache == Some(WriteCache::Back));
    if below.medium != Medium::Block || !is_back {
        return fixture::skip(name, "temporary files are on no disk that keeps a cache");
    }
    let mounted = match Mounted::on_loop(directory, "ext4", &PLAIN) {
        Ok(mounted) => mounted,
        Err(reason) => return fixture::skip(name, &reason),
    };
    let storage = witness::storage(&mounted.point).unwrap();
    assert_eq!(storage.devices[0].write_cache, Some(WriteCache::Back), "{storage:#?}");
    let path = mounted.point.join("file");
    let written = evidence("write", &path, None, Some(&storage));
    assert!(written.task_write_bytes.unwrap() >= 4 << 20, "{written:?}");
    let before = flushes(&below);
    let synced = evidence("sync", &path, None, Some(&storage));
    let Some(of_loop) = synced.device_flushes else {
        return fixture::skip(name, "this kernel does not count flushes");
    };
    assert!(of_loop > 0, "{synced:?}");
    assert!(flushes(&below) > before, "the disk below is flushed with the loop device");
    assert_eq!(storage.devices.len(), 1, "what is written is counted once: {storage:#?}");
}

#[test]
fn cpu_time_is_precise_and_split() {
    let burnt = evidence("burn", Path::new(""), None, None);
    let cpu_ns = burnt.cpu_ns.unwrap();
    assert!(cpu_ns >= 199_000_000, "{burnt:?}");
    // 200 ms is several ticks on every kernel, so the split is known. It must not lose any time.
    assert_eq!(burnt.cpu_user_ns.unwrap() + burnt.cpu_system_ns.unwrap(), cpu_ns);
    assert!(burnt.window_ns > 0, "{burnt:?}");
    assert!(burnt.machine_cpu_ns.unwrap() > 0, "{burnt:?}");
    assert!(burnt.steal_ns <= burnt.machine_cpu_ns, "{burnt:?}");
}

#[test]
fn a_thread_that_came_and_went_still_counts_as_cpu_time() {
    let joined = evidence("thread", Path::new(""), None, None);
    assert!(joined.cpu_ns.unwrap() >= 9_000_000, "{joined:?}");
    // The thread that waited switched voluntarily.
    assert!(joined.switches_voluntary.unwrap() > 0, "{joined:?}");
    assert!(joined.minor_faults.unwrap() > 0, "{joined:?}");
}

#[test]
fn a_counter_is_absent_exactly_where_the_machine_lacks_it() {
    let none = evidence("thread", Path::new(""), None, None);
    let check = |is_some: bool, path: &str| {
        assert_eq!(is_some, std::fs::read(path).is_ok(), "{path}: {none:?}");
    };
    check(none.pressure_cpu_ns.is_some(), "/proc/pressure/cpu");
    check(none.pressure_io_ns.is_some(), "/proc/pressure/io");
    check(none.pressure_memory_ns.is_some(), "/proc/pressure/memory");
    check(none.run_delay_ns.is_some(), "/proc/self/schedstat");
    check(none.task_read_bytes.is_some(), "/proc/self/io");
    check(none.task_write_bytes.is_some(), "/proc/self/io");
    check(none.dirty_before.is_some() && none.dirty_after.is_some(), "/proc/meminfo");
    check(none.dirty_limit.is_some(), "/proc/vmstat");
    // Without a file and its storage, their values are unknown.
    assert_eq!(
        (none.device_reads, none.device_read_bytes, none.residency_before),
        Default::default()
    );
    assert_eq!(
        (none.device_writes, none.device_write_bytes, none.device_flushes),
        (None, None, None)
    );
}

#[test]
fn nothing_is_known_of_a_process_that_is_gone() {
    let actor = Actor::start("thread", Path::new(""));
    let mut witness = Witness::new(actor.pid(), None, None);
    let before = witness.before();
    drop(actor);
    let gone = between(&before, &witness.after());
    assert_eq!(gone.cpu_ns, None);
    assert_eq!(gone.switches_voluntary, None);
    assert_eq!(gone.minor_faults, None);
    assert_eq!((gone.task_read_bytes, gone.task_write_bytes), (None, None));
}

/// A shell whose child does the work, once it is told to go: what the child does, and then the
/// shell. The evidence is from before that until `done` was read.
fn evidence_of_child(child: &str, then: &str) -> Evidence {
    let script = format!("(echo ready; read go; {child}); {then}");
    let mut command = Command::new("sh");
    command.args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut shell = command.spawn().unwrap();
    let mut output = BufReader::new(shell.stdout.take().unwrap());
    let mut line = || output.read_line(&mut String::new()).unwrap();
    line();
    let mut witness = Witness::new(shell.id(), None, None);
    let before = witness.before();
    let mut input = shell.stdin.take().unwrap();
    input.write_all(b"go\n").unwrap();
    line();
    let evidence = between(&before, &witness.after());
    drop(input);
    shell.wait().unwrap();
    evidence
}

#[test]
fn a_child_that_lives_is_counted() {
    let directory = fixture::directory();
    let path = directory.path().join("file");
    fixture::file(&path, 1 << 20);
    let read = format!("cat < {0} > /dev/null; echo done; read end", path.display());
    let evidence = evidence_of_child(&read, "true");
    let Some(rchar) = evidence.task_rchar_bytes else {
        return fixture::skip("a child that lives", "the OS does not list children or count reads");
    };
    assert!(rchar >= 1 << 20, "{evidence:?}");
    // The shell itself only waits.
    assert!(evidence.cpu_ns.unwrap() > 0, "{evidence:?}");
    assert!(evidence.minor_faults.unwrap() > 0, "{evidence:?}");
}

#[test]
fn what_a_child_did_that_is_gone_is_unknown() {
    let evidence = evidence_of_child("exit", "echo done; read end");
    if lists_children() {
        assert_eq!((evidence.cpu_ns, evidence.minor_faults), (None, None), "{evidence:?}");
        assert_eq!((evidence.task_rchar_bytes, evidence.task_read_bytes), (None, None));
        assert_eq!(evidence.switches_voluntary, None);
    }
}

fn lists_children() -> bool {
    Path::new("/proc/thread-self/children").exists()
}

#[test]
fn a_group_that_is_held_back_by_its_quota_is_told_of() {
    let name = "throttling";
    if !fixture::is_root(name) {
        return;
    }
    // A fifth of a CPU: 20 ms out of every 100 ms, so 200 ms of CPU time must be throttled.
    let group = match fixture::Group::new("cpu", ("cpu.cfs_quota_us", "20000")) {
        Ok(group) => group,
        Err(reason) => return fixture::skip(name, &reason),
    };
    let mut actor = Actor::start("burn", Path::new(""));
    group.add(actor.pid()).unwrap();
    let mut witness = Witness::new(actor.pid(), None, None);
    let before = witness.before();
    actor.go();
    let throttled = between(&before, &witness.after());
    assert!(throttled.throttled_ns.unwrap() > 0, "{throttled:?}");
}

#[test]
fn a_group_limits_the_memory_that_is_available() {
    let name = "memory of a group";
    if !fixture::is_root(name) {
        return;
    }
    let group = match fixture::Group::new("memory", ("memory.limit_in_bytes", "100663296")) {
        Ok(group) => group,
        Err(reason) => return fixture::skip(name, &reason),
    };
    let mut actor = Actor::start("memory", Path::new(""));
    group.add(actor.pid()).unwrap();
    let available: u64 = actor.go().parse().unwrap();
    assert!((1..=100_663_296).contains(&available), "{available}");
}
