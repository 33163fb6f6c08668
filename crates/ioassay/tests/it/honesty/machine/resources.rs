//! Too little memory or CPU time.

use super::super::plant::{
    Group, Limit, ahead, asked, check_found, check_served, check_silent, check_told, finish,
    measure, only, plainly, quiet, start, tried,
};
use crate::mounts;
use crate::sandbox::{Sandbox, skip, wait_for};
use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command};

/// The group's memory, for a file of 256 MiB.
const GIVEN: u64 = 96 << 20;

/// More than the file and the program need.
const PLENTY: u64 = 4 << 30;

/// Passes over a warm file for a fixed time.
const WARM: &str = "[[cases]]\nsize = \"256MiB\"\nengine = \"pread\"\ncache = \"warm\"\n\
                    block = \"1MiB\"\nops = 0\ntime = \"4s\"\n";

/// A sandbox on a disk and a group with `given` bytes of memory. Returns `None`, and reports the
/// skipped test, where they are impossible.
fn desk_and_memory(test: &str, given: u64) -> Option<(Sandbox, Group)> {
    let sandbox = Sandbox::new();
    if !sandbox.is_on_disk(test) {
        return None;
    }
    let group = Group::new(test, Limit::Memory(given))?;
    Some((sandbox, group))
}

/// Waits until `is_ready` accepts the process id of a worker of `program`.
fn wait_for_worker(program: &Child, what: &str, is_ready: fn(&str) -> bool) {
    let children = format!("/proc/{0}/task/{0}/children", program.id());
    // Before exec, a child still has its parent's name and files.
    let is_worker = |child: &&str| {
        let command = std::fs::read_to_string(format!("/proc/{child}/cmdline"));
        command.is_ok_and(|command| command.contains("\0worker\0"))
    };
    wait_for(what, || {
        let children = std::fs::read_to_string(&children).ok()?;
        children.split_whitespace().filter(is_worker).any(is_ready).then_some(())
    });
}

/// Whether the worker has the test file open, which is unnamed or named `*.data`.
fn has_file(worker: &str) -> bool {
    let Ok(entries) = std::fs::read_dir(format!("/proc/{worker}/fd")) else { return false };
    let mut targets = entries.flatten().filter_map(|entry| std::fs::read_link(entry.path()).ok());
    let is_test_file = |path: &str| path.contains("/#") || path.contains(".data");
    targets.any(|path| is_test_file(&path.display().to_string()))
}

/// Whether the worker has filled its arrays of 128 MiB.
fn has_arrays(worker: &str) -> bool {
    let statm = std::fs::read_to_string(format!("/proc/{worker}/statm")).unwrap_or_default();
    let pages = statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.is_some_and(|pages| pages * 4096 > 128 << 20)
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_file_that_is_evicted_while_it_is_read_warm_is_not_warm() {
    tried(|| {
        let test = "a_file_that_is_evicted_while_it_is_read_warm";
        let _quiet = quiet();
        for is_taken in [true, false] {
            let Some((sandbox, group)) = desk_and_memory(test, PLENTY) else { return };
            let running = start(&sandbox, group.launch(&sandbox), WARM, &["."]);
            if is_taken {
                wait_for_worker(&running, "a worker with the file", has_file);
                group.set(Limit::Memory(GIVEN));
            }
            let report = finish(running);
            let case = only(&report);
            let hit = case["hit_share"].as_f64().unwrap_or_else(|| panic!("{case:#}"));
            if is_taken {
                check_found(case, "NotWarm", "void", &["claimed warm", "memory is short"]);
                assert_eq!(case["verdict"], "void");
                assert!(hit < 0.99, "{case:#}");
                assert_ne!(case["served_by"], "page-cache", "{case:#}");
            } else {
                check_silent(case, &["NotWarm", "CacheLeak", "Swapped"]);
                check_served(case, "page-cache");
                // Other processes may read from the same device meanwhile.
                assert!(hit > 0.99, "{hit}");
            }
        }
    });
}

#[test]
fn a_file_that_never_fits_is_not_measured_as_warm() {
    tried(|| {
        let test = "a_file_that_never_fits_is_not_measured_as_warm";
        let Some((sandbox, group)) = desk_and_memory(test, GIVEN) else { return };
        // The other case is measured all the same.
        let groups = format!("{WARM}{LOOP}");
        let report = measure(&sandbox, group.launch(&sandbox), &groups, &["."]);
        let skips = report["skips"].as_array().unwrap();
        assert_eq!(skips.len(), 1, "{skips:?}");
        let said = skips[0]["reason"].as_str().unwrap();
        assert!(said.contains("a file of 256MiB cannot be warm: this control group has"), "{said}");
        assert_eq!(asked(&report).len(), 2);
    });
}

/// Cases that only need one processor.
const LOOP: &str = "[[cases]]\nkernel = \"read\"\nworking_set = \"64KiB\"\nthreads = 1\n\
                    time = \"500ms\"\n[[cases]]\nengine = \"pread\"\ncache = \"warm\"\n\
                    block = \"64KiB\"\nops = 0\ntime = \"500ms\"\n";

/// The best round of each case: disturbances only make rounds slower.
fn best(report: &Value) -> Vec<f64> {
    asked(report).iter().map(|case| case["throughput"]["max"].as_f64().unwrap()).collect()
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_quota_of_processor_time_is_named() {
    tried(|| {
        let test = "a_quota_of_processor_time_is_named";
        let _quiet = quiet();
        let sandbox = Sandbox::new();
        // So little that others leave it, however many there are.
        let Some(group) = Group::new(test, Limit::Cpu(10)) else { return };
        let held = measure(&sandbox, group.launch(&sandbox), LOOP, &[".", "--rounds=3"]);
        drop(group);
        let Some(launch) = ahead(&sandbox, test, &[]) else { return };
        let free = measure(&sandbox, launch, LOOP, &[".", "--rounds=3"]);
        let (held_rates, free_rates) = (best(&held), best(&free));
        assert_eq!((held_rates.len(), free_rates.len()), (2, 2));
        for (held, free) in held_rates.iter().zip(&free_rates) {
            let share = held / free;
            assert!((0.01..0.3).contains(&share), "{held} of {free} bytes a second: {share}");
        }
        for case in asked(&held) {
            check_found(case, "Throttled", "doubt", &["CPU quota", "0.10 processors"]);
        }
        for case in asked(&free) {
            check_silent(case, &["Throttled"]);
        }
    });
}

/// Processes that use all CPUs; killed on drop.
struct Neighbours(Vec<Child>);

impl Neighbours {
    /// Two processes per CPU.
    fn busy() -> Neighbours {
        let cores = std::thread::available_parallelism().unwrap().get();
        let spin = || Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        Neighbours((0..2 * cores).map(|_| spin()).collect())
    }
}

impl Drop for Neighbours {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_busy_neighbour_is_told() {
    tried(|| {
        let test = "a_busy_neighbour_is_told";
        let _quiet = quiet();
        if !mounts::is_root(test) {
            return;
        }
        let sandbox = Sandbox::new();
        let neighbours = Neighbours::busy();
        let busy = measure(&sandbox, plainly(&sandbox), LOOP, &[".", "--rounds=3"]);
        drop(neighbours);
        let Some(launch) = ahead(&sandbox, test, &[]) else { return };
        let quiet = measure(&sandbox, launch, LOOP, &[".", "--rounds=3"]);
        for (busy, quiet) in best(&busy).iter().zip(best(&quiet)) {
            assert!(*busy < quiet, "{busy} with neighbours, {quiet} without");
        }
        for case in asked(&busy) {
            check_found(case, "Contended", "doubt", &[]);
        }
        for case in asked(&quiet) {
            check_silent(case, &["Contended"]);
        }
    });
}

/// Swap space on compressed memory; removed on drop.
struct SwapSpace {
    name: String,
    is_on: bool,
}

impl SwapSpace {
    /// 256 MiB of swap, unless this machine already swaps.
    fn new() -> Result<SwapSpace, String> {
        let control = Path::new("/sys/class/zram-control/hot_add");
        let swaps = std::fs::read_to_string("/proc/swaps").map_err(|error| error.to_string())?;
        if swaps.lines().count() > 1 {
            return Err("this machine swaps already".to_string());
        }
        // Reading the file creates a device.
        let number = std::fs::read_to_string(control).map_err(|error| format!("zram: {error}"))?;
        let mut space = SwapSpace { name: format!("zram{}", number.trim()), is_on: false };
        let size = format!("/sys/block/{}/disksize", space.name);
        std::fs::write(size, "256M").map_err(|error| format!("zram: {error}"))?;
        let node = format!("/dev/{}", space.name);
        mounts::run("mkswap", &[&node])?;
        mounts::run("swapon", &[&node])?;
        space.is_on = true;
        Ok(space)
    }
}

impl Drop for SwapSpace {
    fn drop(&mut self) {
        if self.is_on
            && let Err(error) = mounts::run("swapoff", &[&format!("/dev/{}", self.name)])
        {
            eprintln!("'{}' stays swap space: {error}", self.name);
            return;
        }
        let number = self.name.trim_start_matches("zram");
        if let Err(error) = std::fs::write("/sys/class/zram-control/hot_remove", number) {
            eprintln!("'{}' stays: {error}", self.name);
        }
    }
}

/// A loop over more memory than remains available, but less than that plus the swap space.
const LARGE: &str = "[[cases]]\nkernel = \"read\"\nworking_set = \"128MiB\"\nthreads = 1\n\
                     time = \"1s\"\n";

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn memory_that_is_swapped_is_told() {
    tried(|| {
        let test = "memory_that_is_swapped_is_told";
        let _quiet = quiet();
        for is_short in [true, false] {
            let Some(group) = Group::new(test, Limit::Memory(PLENTY)) else { return };
            let space = match SwapSpace::new() {
                Ok(space) => space,
                Err(reason) => return skip(test, &reason),
            };
            let sandbox = Sandbox::new();
            let running = start(&sandbox, group.launch(&sandbox), LARGE, &[]);
            if is_short {
                wait_for_worker(&running, "a worker with its arrays", has_arrays);
                group.set(Limit::Memory(GIVEN));
            }
            let report = finish(running);
            drop(space);
            let case = only(&report);
            if is_short {
                check_told(case, "Swapped", &["swap"]);
            } else {
                check_silent(case, &["Swapped"]);
            }
        }
    });
}
