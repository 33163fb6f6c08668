//! The tests that measure, again and again beside a neighbor: a compiler and a writer that never
//! pause. What fails then, the code did not cause.

use crate::options::at_least;
use crate::programs::Interrupt;
use crate::suite;
use crate::waiting::within;
use anyhow::{Context, Result, ensure};
use clap::Args;
use rustix::process::{Pid, Signal, kill_process_group};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The command's options.
#[derive(Debug, PartialEq, Args)]
pub(crate) struct Options {
    /// How often to run the tests
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = at_least::<1>)]
    rounds: usize,
    /// Run only tests with TEXT in their names
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
}

/// What the neighbor does, as shell commands that a loop repeats. `{}` is its folder.
const WORK: [&str; 2] = [
    "${CC:-cc} -std=gnu11 -O3 -march=native -pthread -o '{}/peer' peers/c/peer.c",
    "dd if=/dev/zero of='{}/written' bs=1M count=256 conv=fsync status=none",
];

/// How long the neighbor's files may be in use after its end.
const REMOVED_MOST: Duration = Duration::from_secs(60);

/// Runs the tests beside the neighbor, and counts what fails.
///
/// # Errors
/// If the tests do not compile, the neighbor cannot work, or a test failed.
pub(crate) fn run(options: &Options) -> Result<()> {
    let interrupt = Interrupt::watch()?;
    suite::build()?;
    let neighbor = Neighbor::new()?;
    let mut failed: BTreeMap<String, usize> = BTreeMap::new();
    for round in 1..=options.rounds {
        let began = Instant::now();
        let output = suite::measuring(options.only.as_deref()).output()?;
        interrupt.go_on()?;
        let said = String::from_utf8_lossy(&output.stdout);
        let ended =
            |end: &str| -> Vec<String> { said.lines().filter_map(|it| test(it, end)).collect() };
        let (passed, wrong) = (ended("ok"), ended("FAILED"));
        ensure!(!passed.is_empty(), "no test passed: {said}");
        ensure!(output.status.success() == wrong.is_empty(), "a test program died: {said}");
        let (count, seconds) = (wrong.len(), began.elapsed().as_secs());
        println!("round {round}: {} passed, {count} failed, {seconds} s", passed.len());
        if count > 0 {
            println!("{said}");
        }
        wrong.into_iter().for_each(|name| *failed.entry(name).or_default() += 1);
    }
    drop(neighbor);
    let failed: Vec<String> =
        failed.iter().map(|(name, count)| format!("{name} ({count})")).collect();
    ensure!(failed.is_empty(), "failed, of {} rounds: {}", options.rounds, failed.join(", "));
    Ok(())
}

/// The name of the test that a line says to have come to this `end`.
fn test(line: &str, end: &str) -> Option<String> {
    let (name, said) = line.strip_prefix("test ")?.split_once(" ... ")?;
    (said.split_whitespace().next()? == end).then(|| name.to_owned())
}

/// Processes that keep a processor and the disk busy until this is dropped.
struct Neighbor {
    loops: Vec<Child>,
    folder: TempDir,
}

impl Neighbor {
    fn new() -> Result<Neighbor> {
        let root = crate::root();
        let folder = TempDir::new_in(crate::target())?;
        let mut loops = Vec::new();
        for work in WORK {
            let work = work.replace("{}", &folder.path().display().to_string());
            let once = Command::new("sh").args(["-c", &work]).current_dir(root).status()?;
            ensure!(once.success(), "the neighbor cannot do its work: {work}");
            // When this process dies, the pipe closes, and the loop ends with the command.
            let forever = format!("exec 3<&0; (read end <&3; kill $$) & while :; do {work}; done");
            let mut shell = Command::new("sh");
            // What the shell has started ends with it: they are one group.
            shell.args(["-c", &forever]).current_dir(root).stdin(Stdio::piped()).process_group(0);
            loops.push(shell.spawn().context("starting the neighbor")?);
        }
        Ok(Neighbor { loops, folder })
    }
}

impl Drop for Neighbor {
    fn drop(&mut self) {
        for child in &mut self.loops {
            // It has ended only if it failed, and then there is nothing to kill.
            let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
            let _ = child.wait();
        }
        // What waits for the disk ends a moment later.
        let _ = within(REMOVED_MOST, || fs::remove_dir_all(self.folder.path()).ok());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options;

    #[test]
    fn options_are_read() {
        options::check("", &Options { rounds: 10, only: None });
        options::check("--rounds 2 --only a", &Options { rounds: 2, only: Some("a".to_owned()) });
        options::refused::<Options>(&["--rounds 0", "--only"]);
    }

    #[test]
    fn a_test_has_a_name_and_an_end() {
        let line = "test honesty::open::a_stop ... FAILED";
        assert_eq!(test(line, "FAILED").as_deref(), Some("honesty::open::a_stop"));
        assert_eq!(test(line, "ok"), None);
        assert_eq!(test("test a::b ... ok <0.1s>", "ok").as_deref(), Some("a::b"));
        assert_eq!(test("test result: ok. 1 passed; 0 failed", "ok"), None);
    }

    #[test]
    fn a_neighbor_works_until_it_is_dropped() {
        let neighbor = Neighbor::new().expect("there are a compiler and a disk");
        let folder = neighbor.folder.path().to_owned();
        assert!(folder.join("peer").is_file() && folder.join("written").is_file());
        drop(neighbor);
        assert!(!folder.exists());
    }
}
