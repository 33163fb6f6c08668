//! Benchmarks that people wrote to learn whether disks are fast, as small programs of our own that
//! fool themselves in the same ways, and what `judge` says of each.
//!
//! Their times are never asserted: only what was counted, and the sentences that follow from it.

use crate::honesty::plant::{Group, Io, Limit};
use crate::honesty::plant::{check_found, check_silent, check_told, plainly, tried};
use crate::mounts;
use crate::sandbox::{Sandbox, argument, is_judged, skip};
use serde_json::Value;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The sources of the programs.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/ancestors");
/// The size of the files that are read and written.
const MIB: u64 = 32;
/// The answer to commands that the page cache served.
const NO_DISK: &str = "no device read for any of them: these times compare copies from the page \
                       cache, not disks.";

/// Builds a program with `compiler` and `args` into `sandbox`. Without the compiler, or a library,
/// reports the skipped `test`.
fn build(test: &str, sandbox: &Sandbox, compiler: &str, args: &[&str]) -> Option<()> {
    let source = |name: &&str| Path::new(SOURCES).join(name);
    let is_source = |name: &&str| source(name).is_file();
    let args = args.iter().map(|arg| if is_source(arg) { source(arg) } else { PathBuf::from(arg) });
    let output = Command::new(compiler).args(args).current_dir(sandbox.directory()).output();
    let Ok(output) = output else {
        skip(test, &format!("{compiler} is not installed"));
        return None;
    };
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("liburing.h: No such file") {
        skip(test, "liburing is not installed");
        return None;
    }
    assert!(output.status.success(), "{compiler}: {said}");
    Some(())
}

fn c(test: &str, sandbox: &Sandbox, args: &[&str]) -> Option<()> {
    build(test, sandbox, "gcc", &[&["-Wall", "-Wextra", "-Werror", "-std=gnu11"], args].concat())
}

/// A sandbox on a disk; if the build directory is not on one, reports the skipped `test`.
fn on_disk(test: &str) -> Option<Sandbox> {
    let sandbox = Sandbox::new();
    sandbox.is_on_disk(test).then_some(sandbox)
}

/// Writes the integers 0 to 19 in turn to a new file, and says how many of them are 10.
fn tens(path: &Path, mib: u64) -> u64 {
    let count = (mib << 20) / 4;
    let bytes: Vec<u8> = (0..count).flat_map(|i| ((i % 20) as u32).to_le_bytes()).collect();
    std::fs::write(path, bytes).unwrap();
    std::fs::File::open(path).unwrap().sync_all().unwrap();
    (0..count).filter(|i| i % 20 == 10).count() as u64
}

/// What `judge` said.
struct Said {
    report: Value,
    /// The text of the report, with all findings.
    text: String,
    /// Its answer, unwrapped.
    answer: String,
}

/// Judges with `args` in the directory of `sandbox`: two rounds in one invocation.
#[track_caller]
fn judge(sandbox: &Sandbox, args: &[&str]) -> Said {
    judge_by(sandbox, plainly(sandbox), args)
}

/// The same by another start of the program.
#[track_caller]
fn judge_by(sandbox: &Sandbox, mut launch: Command, args: &[&str]) -> Said {
    let record = sandbox.state().join("judged.jsonl");
    if record.exists() {
        std::fs::remove_file(&record).unwrap();
    }
    let usual = ["--invocations=1", "--rounds=2", "--quiet", "--json", "--record"];
    let output = launch.arg("judge").args(usual).arg(&record).args(args).output().unwrap();
    assert!(is_judged(&output), "{args:?}: {output:?}");
    let report = serde_json::from_slice(&output.stdout).unwrap();
    let text = sandbox.judges(&["report", argument(&record), "--all"]);
    // The answer is the last paragraph; a line that is indented goes on with the one above.
    let answer = text.trim_end().rsplit("\n\n").next().unwrap().replace("\n  ", " ");
    Said { report, text, answer }
}

impl Said {
    /// Checks that a line of the answer contains all of `words`.
    #[track_caller]
    fn check_line(&self, words: &[&str]) {
        let has_all = |line: &str| words.iter().all(|word| line.contains(word));
        assert!(self.answer.lines().any(has_all), "no line has {words:?}:\n{}", self.text);
    }

    #[track_caller]
    fn check_without(&self, words: &str) {
        assert!(!self.answer.contains(words), "'{words}' is in:\n{}", self.text);
    }

    /// The cases of the command whose name contains `name`, in this cache state.
    #[track_caller]
    fn case(&self, name: &str, cache: &str) -> &Value {
        let cases = self.report["cases"].as_array().unwrap();
        let is_it = |case: &&Value| {
            let of = &case["case"];
            let is_named = ["command", "parameters"]
                .iter()
                .any(|axis| of[axis].as_str().is_some_and(|text| text.contains(name)));
            is_named && of["cache"] == cache
        };
        let found = cases.iter().find(is_it);
        found.unwrap_or_else(|| panic!("no case of {name} is {cache}: {cases:?}"))
    }
}

/// Checks that a count of a command is in `range`.
#[track_caller]
fn check_count(case: &Value, name: &str, range: Range<u64>) {
    let count = case["command"][name].as_u64();
    assert!(count.is_some_and(|count| range.contains(&count)), "{name} not in {range:?}: {case:#}");
}

/// "io_uring is faster than mmap": in three builds of two loops, no device takes part. Past the
/// page cache, the same count is of a device.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn counting_tens_in_a_warm_file_is_no_test_of_a_disk() {
    let test = "counting_tens_in_a_warm_file_is_no_test_of_a_disk";
    let Some(sandbox) = on_disk(test) else { return };
    let options: [&[&str]; 3] = [&["-O2"], &["-O3"], &["-O3", "-march=native"]];
    let names = ["O2", "O3", "native"];
    for (flags, name) in options.iter().zip(names) {
        let args = [flags, &["-o", name, "count_tens.c"][..]].concat();
        if c(test, &sandbox, &args).is_none() {
            return;
        }
    }
    let found = tens(&sandbox.path("f"), MIB);
    let commands: Vec<String> = (names.iter())
        .flat_map(|name| ["loop", "unrolled"].map(|way| format!("./{name} {way} f")))
        .collect();
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let figure = ["--cache=warm", "--figure", "found ([0-9]+) 10s"];
    tried(|| {
        let said = judge(&sandbox, &[&commands[..], &figure].concat());
        said.check_line(&["Warm", NO_DISK]);
        for name in &commands {
            said.check_line(&[name, "the page cache served all that it read"]);
            let case = said.case(name, "warm");
            check_count(case, "device_read_bytes", 0..64 << 10);
            assert_eq!(case["told"]["value"]["median"].as_f64(), Some(found as f64), "{case:#}");
        }
    });
    if c(test, &sandbox, &["-O2", "-o", "uring", "count_tens_uring.c", "-luring"]).is_none() {
        return;
    }
    tried(|| {
        let said = judge(&sandbox, &[&["./O2 loop f", "./uring f"], &figure[..]].concat());
        said.check_line(&["./uring f", "all its data came from devices, which read 32.0 MiB"]);
        said.check_without(NO_DISK);
        let case = said.case("uring", "warm");
        check_told(case, "NotWarm", &["warm means nothing to this command"]);
        assert_eq!(case["told"]["value"]["median"].as_f64(), Some(found as f64));
    });
}

/// A file with holes, which `ftruncate` makes: no device reads them.
#[test]
fn counting_tens_in_holes_is_told_from_reading_a_disk() {
    let test = "counting_tens_in_holes_is_told_from_reading_a_disk";
    let Some(sandbox) = on_disk(test) else { return };
    if c(test, &sandbox, &["-O2", "-o", "count", "count_tens.c"]).is_none() {
        return;
    }
    let sparse = std::fs::File::create(sandbox.path("f")).unwrap();
    sparse.set_len(MIB << 20).unwrap();
    sparse.sync_all().unwrap();
    tried(|| {
        let said = judge(&sandbox, &["./count loop f", "--cache=cold"]);
        said.check_line(&["./count loop f", "what served its reads is unseen"]);
        check_found(said.case("count", "cold"), "Unverified", "doubt", &["holes of a sparse file"]);
    });
    // Its twin has the same bytes.
    std::fs::write(sandbox.path("f"), vec![0; (MIB << 20) as usize]).unwrap();
    std::fs::File::open(sandbox.path("f")).unwrap().sync_all().unwrap();
    tried(|| {
        let said = judge(&sandbox, &["./count loop f", "--cache=cold"]);
        said.check_line(&["all its data came from devices, which read 32.0 MiB"]);
        check_silent(said.case("count", "cold"), &["Unverified"]);
    });
}

/// The flag is accepted in memory and means nothing there. No cold state is tried unasked.
#[test]
fn direct_reads_of_a_file_in_memory_are_no_test_of_a_disk() {
    let test = "direct_reads_of_a_file_in_memory_are_no_test_of_a_disk";
    let Some(sandbox) = Sandbox::in_memory() else { return skip(test, "there is no /dev/shm") };
    if c(test, &sandbox, &["-O2", "-o", "uring", "count_tens_uring.c", "-luring"]).is_none() {
        return;
    }
    tens(&sandbox.path("f"), MIB);
    if !sandbox.start("./uring").arg("f").output().unwrap().status.success() {
        return skip(test, "the OS refuses O_DIRECT on tmpfs, or io_uring");
    }
    let said = judge(&sandbox, &["./uring f"]);
    said.check_line(&["./uring f", "its files are in memory"]);
    let case = said.case("uring", "as-is");
    check_found(case, "DirectIgnored", "doubt", &["with O_DIRECT, but no device read anything"]);
    let cases = said.report["cases"].as_array().unwrap();
    let asked = cases.iter().filter(|case| case["role"] == "asked");
    assert_eq!(asked.count(), 1, "{}", said.text);
}

/// "Memory is 735 times faster": one byte of a file is a call for a whole buffer, and nothing of
/// what was written is on a device at the end.
#[test]
fn touching_pages_of_a_file_leaves_them_on_no_device() {
    let test = "touching_pages_of_a_file_leaves_them_on_no_device";
    let Some(sandbox) = on_disk(test) else { return };
    if c(test, &sandbox, &["-O0", "-o", "touch", "touch_pages.c"]).is_none() {
        return;
    }
    tried(|| {
        // ext4 writes a file back that is emptied and written again.
        let said = judge(&sandbox, &["./touch f 32", "--prepare=rm -f f"]);
        said.check_line(&["32.0 MiB that it wrote were on no device when it ended"]);
        let case = said.case("touch", "as-is");
        check_count(case, "dirtied_bytes", MIB << 20..(MIB << 20) + (1 << 20));
        check_count(case, "syncs", 0..1);
        check_told(case, "AcknowledgedOnly", &["32.0 MiB of the 32.0 MiB"]);
        check_silent(case, &["NotDurable"]);
    });
}

/// "How fast can you write to disk?": of six ways, the one without a sync writes to memory.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn of_six_ways_to_write_the_one_without_a_sync_is_not_durable() {
    let test = "of_six_ways_to_write_the_one_without_a_sync_is_not_durable";
    let Some(sandbox) = on_disk(test) else { return };
    let args = ["--edition=2024", "-O", "-o", "six", "write_six_ways.rs"];
    if build(test, &sandbox, "rustc", &args).is_none() {
        return;
    }
    drop(mounts::file(&sandbox.path("input"), MIB << 20));
    let ways = "way=no-sync,sync,buffered,chunks,copy,constant";
    tried(|| {
        let args = ["./six {way} 32 input", "-L", ways, "--prepare=rm -f out"];
        let said = judge(&sandbox, &args);
        for way in ["sync", "buffered", "chunks", "constant"] {
            let name = format!("./six {way} 32 input, as-is: ");
            said.check_line(&[
                &name,
                "it read no data file that was there before; what it wrote was durable",
            ]);
        }
        let dirty = "32.0 MiB that it wrote were on no device when it ended";
        said.check_line(&["./six no-sync 32 input, as-is: ", dirty]);
        // Where its source is decides what a copy is a test of.
        let served = |state: &str| format!("./six copy 32 input, {state}: ");
        said.check_line(&[&served("warm"), "the page cache served all 32.0 MiB"]);
        said.check_line(&[&served("cold"), "devices served all 32.0 MiB"]);
    });
}

/// Pages that are drawn with replacement are read again, and then from the page cache: a device
/// reads none of the 1024 pages twice.
#[test]
fn most_of_many_cold_random_reads_are_served_by_the_page_cache() {
    let test = "most_of_many_cold_random_reads_are_served_by_the_page_cache";
    let Some(sandbox) = on_disk(test) else { return };
    drop(mounts::file(&sandbox.path("f"), 4 << 20));
    let Some(reads) = page_reads(test, "random", 8192) else { return };
    tried(|| {
        let said = judge(&sandbox, &[&reads, "-n", "reads", "--cache=warm,cold"]);
        said.check_line(&["reads, warm", "the page cache served all 32."]);
        said.check_line(&["reads, cold", "devices read 4.", "MiB of the 32.", "that it asked for"]);
        let case = said.case("reads", "cold");
        check_count(case, "device_read_bytes", 4 << 20..5 << 20);
        check_told(case, "ReadAgain", &["times the bytes that its files have (4.00 MiB)"]);
    });
}

/// The command that reads pages of `f`; without its interpreter, reports the skipped `test`.
fn page_reads(test: &str, method: &str, reads: u32) -> Option<String> {
    let interpreter = Path::new("/usr/bin/python3");
    if !interpreter.exists() {
        skip(test, "there is no /usr/bin/python3");
        return None;
    }
    let source = Path::new(SOURCES).join("page_reads.py");
    Some(format!("{} -I -S {} {method} f {reads}", interpreter.display(), source.display()))
}

/// One page in eight of a mapping: readahead fetches the others. No call tells what was asked for,
/// so no share is claimed; the device's bytes are told.
#[test]
fn a_mapping_of_which_an_eighth_is_touched_is_read_whole() {
    let test = "a_mapping_of_which_an_eighth_is_touched_is_read_whole";
    let Some(sandbox) = on_disk(test) else { return };
    drop(mounts::file(&sandbox.path("f"), MIB << 20));
    let pages = (MIB << 20) / 4096 / 8;
    let Some(mapped) = page_reads(test, "mapped", pages as u32) else { return };
    let Some(strided) = page_reads(test, "strided", pages as u32) else { return };
    tried(|| {
        let args = [&mapped, &strided, "-n", "mapped", "-n", "calls", "--cache=cold"];
        let said = judge(&sandbox, &args);
        let case = said.case("mapped", "cold");
        check_count(case, "device_read_bytes", (MIB << 20) * 3 / 4..(MIB << 20) * 5 / 4);
        assert!(case["command"]["asked_bytes"].is_null(), "{case:#}");
        said.check_line(&["mapped, cold: ", "all its data came from devices, which read"]);
        // Calls that are far apart are not read ahead of.
        check_silent(said.case("calls", "cold"), &["OverRead"]);
    });
}

/// "mmap against pread": both are copies in memory when warm, and reads of the whole file when
/// cold.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn mapping_and_reading_by_threads_have_the_same_source() {
    let test = "mapping_and_reading_by_threads_have_the_same_source";
    let Some(sandbox) = on_disk(test) else { return };
    drop(mounts::file(&sandbox.path("f"), MIB << 20));
    let check = |program: &str| {
        let command = format!("{program} {{how}} 2 f");
        let args = [command.as_str(), "-L", "how=mmap,pread", "--cache=warm,cold"];
        tried(|| {
            let said = judge(&sandbox, &args);
            said.check_line(&["Warm", NO_DISK]);
            for how in ["mmap", "pread"] {
                let name = format!("{program} {how} 2 f");
                said.check_line(&[&format!("{name}, warm"), "the page cache served all"]);
                // Java has pipes of its own, so what its calls asked for is unknown.
                let cold = match how == "mmap" || program.starts_with("java") {
                    true => "all its data came from devices",
                    false => "devices served all",
                };
                said.check_line(&[&format!("{name}, cold"), cold]);
                let case = said.case(how, "cold");
                check_count(case, "device_read_bytes", MIB << 20..(MIB + 16) << 20);
            }
        });
    };
    if c(test, &sandbox, &["-O2", "-pthread", "-o", "threads", "read_threads.c"]).is_some() {
        check("./threads");
    }
    if build(test, &sandbox, "javac", &["-d", ".", "ReadThreads.java"]).is_some() {
        check("java ReadThreads");
    }
}

/// Two threads, of which the first has all the work: more threads could not have made it faster.
#[test]
fn of_two_threads_one_idles() {
    let test = "of_two_threads_one_idles";
    let Some(sandbox) = on_disk(test) else { return };
    if c(test, &sandbox, &["-O0", "-pthread", "-o", "threads", "read_threads.c"]).is_none() {
        return;
    }
    drop(mounts::file(&sandbox.path("f"), (4 * MIB) << 20));
    tried(|| {
        let commands = ["./threads pread 2 f", "./threads pread 2 f uneven"];
        let said = judge(
            &sandbox,
            &[&commands[..], &["-n", "even", "-n", "one", "--cache=warm"]].concat(),
        );
        check_silent(said.case("even", "warm"), &["Imbalanced"]);
        let message = "of its 3 threads, one used ";
        check_found(said.case("one", "warm"), "Imbalanced", "note", &[message]);
    });
}

/// A rented disk that a control group limits: the figure is the limit's, not the disk's.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_limit_of_a_control_group_is_not_taken_for_the_disk() {
    let test = "a_limit_of_a_control_group_is_not_taken_for_the_disk";
    let Some(sandbox) = on_disk(test) else { return };
    if c(test, &sandbox, &["-O2", "-o", "count", "count_tens.c"]).is_none() {
        return;
    }
    tens(&sandbox.path("f"), 8);
    let storage = sandbox.storage();
    let [device] = &storage.devices[..] else {
        return skip(test, "the directory is on several devices");
    };
    let limit = Limit::Device(Io::ReadBytes, &device.name, 8 << 20);
    let Some(group) = Group::new(test, limit) else { return };
    let args = ["./count loop f", "--cache=cold"];
    tried(|| {
        let said = judge_by(&sandbox, group.launch(&sandbox), &args);
        said.check_line(&["A limit of a control group holds back ./count loop f"]);
        let words = ["limits read bytes of", group.name()];
        check_found(said.case("count", "cold"), "Throttled", "doubt", &words);
    });
    tried(|| {
        let said = judge(&sandbox, &args);
        check_silent(said.case("count", "cold"), &["Throttled"]);
        said.check_without("A limit of a control group");
    });
}
