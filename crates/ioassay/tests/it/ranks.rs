//! Peers whose threads are processes: the ranks of MPI.

use crate::sandbox::{HANGS, PROGRAM, Sandbox, argument, skip, text, wait_for};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The peers of the built-in table that are ranks.
pub(crate) const RANKS: [&str; 3] = ["mpi-posix", "mpi-io", "mpi-io-all"];

/// Whether ranks can be built and started here. If not, reports the skipped `test`.
fn is_possible(test: &str, sandbox: &Sandbox) -> bool {
    let output = sandbox.ioassay(&["peers", "build", "mpi-io"]);
    let said = text(&output.stdout);
    if said.contains(" is on the PATH") || said.contains(" is not on the PATH") {
        skip(test, said.trim());
        return false;
    }
    assert_eq!(output.status.code(), Some(0), "{said}");
    true
}

/// The children of a process.
fn children(pid: u32) -> Vec<u32> {
    let listed = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    listed.unwrap_or_default().split_whitespace().flat_map(str::parse).collect()
}

/// A process that is killed on drop.
struct Running(Child);

impl Running {
    /// The ranks below it, once they run the peer: the children of the process that launches them.
    fn ranks(&self) -> Vec<u32> {
        let is_peer = |pid: &u32| {
            let name = std::fs::read_link(format!("/proc/{pid}/exe"));
            name.is_ok_and(|name| name.ends_with("peer"))
        };
        wait_for("ranks", || {
            let own = [self.0.id()].into_iter().chain(children(self.0.id()));
            let all: Vec<u32> = own.flat_map(children).filter(is_peer).collect();
            (all.len() > 1).then_some(all)
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn is_gone(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").map(|(_, rest)| rest.as_bytes()[0]);
    matches!(state, None | Some(b'Z' | b'X'))
}

/// The most bytes that the device read for a trial of this peer, by the record in `text`.
fn most_read(text: &str, peer: &str) -> u64 {
    let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let header = lines.next().unwrap();
    let is_its = |trial: &Value| {
        let case = trial["case"].as_u64().unwrap() as usize;
        let case = &header["header"]["plan"]["cases"][case]["case"];
        case.to_string().contains(&format!("[\"peer\",\"{peer}\"]"))
    };
    let trials = lines.map(|mut line| line["trial"].take()).filter(|trial| !trial.is_null());
    let read = |trial: Value| trial["evidence"]["task_read_bytes"].as_u64().unwrap();
    trials.filter(is_its).map(read).max().unwrap()
}

#[test]
fn ranks_are_judged_by_the_evidence_of_all_of_them() {
    let test = "ranks_are_judged_by_the_evidence_of_all_of_them";
    let sandbox = Sandbox::new();
    if !is_possible(test, &sandbox) || !sandbox.is_on_disk(test) {
        return;
    }
    let peers = ["rust"].iter().chain(&RANKS).copied().collect::<Vec<_>>().join(",");
    let mut args = vec!["run", "read-methods", ".", "--json", "--rounds", "2", "--size", "8MiB"];
    // A cold file is read once, however slow the disk is.
    args.extend(["--time", "10min", "--engine", "pread", "--cache", "cold", "--threads", "2"]);
    args.extend(["--block", "128KiB", "--touch", "sum", "--peer", &peers]);
    let record = sandbox.state().join("record");
    args.extend(["--record", argument(&record)]);
    let assessment = sandbox.json(&args);
    let text = std::fs::read_to_string(&record).unwrap();
    let cases = assessment["cases"].as_array().unwrap();
    for peer in ["rust"].iter().chain(&RANKS) {
        let is_asked = |case: &&Value| case["role"] == "asked" && case["case"]["peer"] == **peer;
        let case = cases.iter().find(is_asked).unwrap();
        assert_eq!(case["n"], 2, "{case:#}");
        assert_eq!(case["digest_verified"], true, "{case:#}");
        assert!(case["cpu_ns_per_op"].as_f64().unwrap() > 0.0, "{case:#}");
        // The launcher itself reads nothing: what its children read is theirs, not a stranger's.
        let read = most_read(&text, peer);
        assert!(read > 1 << 20, "{peer}: {read}");
    }
}

#[test]
fn ranks_end_when_their_coordinator_is_killed() {
    let sandbox = Sandbox::new();
    if !is_possible("ranks_end_when_their_coordinator_is_killed", &sandbox) {
        return;
    }
    let mut command = sandbox.start(PROGRAM);
    command.args(["run", "read-methods", ".", "--no-ceilings", "--size", "1MiB"]);
    command.args(["--time", "300ms", "--engine", "pread", "--cache", "warm", "--threads", "2"]);
    command.args(["--peer", "mpi-io-all", "--rounds", "1000"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let running = Running(command.spawn().unwrap());
    let ranks = running.ranks();
    kill_process(Pid::from_child(&running.0), Signal::KILL).unwrap();
    wait_for("the end of all ranks", || ranks.iter().all(|rank| is_gone(*rank)).then_some(()));
}

/// The program that was built for a peer, in the cache that all tests share.
fn built(peer: &str) -> PathBuf {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache/ioassay/peers");
    let entries = cache.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let is_it = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.rsplit_once('-').is_some_and(|(name, hash)| name == peer && hash.len() == 16)
    };
    entries.filter(is_it).map(|path| path.join("peer")).next().unwrap()
}

/// Ranks that wait for a job sleep: otherwise they would take processors from other trials.
#[test]
fn ranks_that_wait_use_hardly_any_processor() {
    let sandbox = Sandbox::new();
    if !is_possible("ranks_that_wait_use_hardly_any_processor", &sandbox) {
        return;
    }
    let mut command = Command::new("mpirun");
    command.args(["-n", "4", argument(&built("mpi-io")), "read-at"]);
    for name in ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] {
        command.env(name, "1");
    }
    command.env("OMPI_MCA_rmaps_base_oversubscribe", "1");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let input = child.stdin.take();
    let running = Running(child);
    let all = wait_for("four ranks", || {
        let all = children(running.0.id());
        (all.len() == 4).then_some(all)
    });
    let ticks = |pid: &u32| -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let (_, rest) = stat.rsplit_once(") ").unwrap();
        rest.split(' ').skip(11).take(2).map(|word| word.parse::<u64>().unwrap()).sum()
    };
    // They start, which takes CPU time, and then wait. A second of spinning is 100 ticks.
    let began = std::time::Instant::now();
    loop {
        let before: u64 = all.iter().map(ticks).sum();
        std::thread::sleep(Duration::from_secs(1));
        let used = all.iter().map(ticks).sum::<u64>() - before;
        if used <= 10 {
            break;
        }
        assert!(began.elapsed() < HANGS / 10, "{used} ticks in a second");
    }
    drop(input);
    wait_for("their end", || all.iter().all(|rank| is_gone(*rank)).then_some(()));
}
