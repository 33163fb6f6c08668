//! A user's own block device: it is read, and nothing else.

use crate::mounts::{self, LoopDevice, Mounted, PLAIN};
use crate::places::as_nobody;
use crate::sandbox::{PROGRAM, Sandbox, argument, check_refusal, skip, text};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::PathBuf;

/// Bytes of the device.
const SIZE: u64 = 16 << 20;

/// A loop device of random bytes, beside a directory to measure in.
struct ReadDevice {
    device: LoopDevice,
    image: PathBuf,
    // Dropped last, because it contains the image.
    sandbox: Sandbox,
}

impl ReadDevice {
    /// `None`, with a message, where `test` cannot have one.
    fn new(test: &str) -> Option<ReadDevice> {
        if !mounts::is_root(test) {
            return None;
        }
        let sandbox = Sandbox::new();
        let image = sandbox.path("image");
        drop(mounts::file(&image, SIZE));
        match LoopDevice::new(&image, PLAIN.losetup) {
            Ok(device) => Some(ReadDevice { device, image, sandbox }),
            Err(reason) => {
                skip(test, &reason);
                None
            }
        }
    }

    fn node(&self) -> &str {
        &self.device.node
    }

    fn is_as_it_was(&self) -> bool {
        std::fs::read(&self.image).unwrap() == mounts::content(SIZE)
    }
}

/// Each engine in each cache state, once.
const EACH_ONCE: [&str; 9] = [
    "run",
    "read-methods",
    "--engine=read,pread,mmap,load,uring",
    "--json",
    "--threads=2",
    "--block=64KiB",
    "--cache=cold,warm,direct,as-is",
    "--rounds=1",
    "--time=2ms",
];

#[test]
fn a_device_is_read_by_every_engine_and_never_opened_for_writing() {
    let test = "a_device_is_read_by_every_engine_and_never_opened_for_writing";
    let Some(device) = ReadDevice::new(test) else { return };
    let sandbox = &device.sandbox;
    let traced = sandbox.start("strace").args(["-o", "/dev/null", "true"]).output();
    if !traced.is_ok_and(|output| output.status.success()) {
        return skip(test, "strace is missing or forbidden");
    }
    let calls = "trace=open,openat,openat2,creat,ioctl,write,pwrite64,writev,pwritev,pwritev2,\
                 fsync,fdatasync,sync_file_range,syncfs,fallocate,ftruncate,fadvise64";
    let output = sandbox
        .start("strace")
        .args(["-f", "-y", "-s", "4096", "-e", calls, "-o", "calls", PROGRAM])
        .args(EACH_ONCE)
        .args(["--no-ceilings", "--file", device.node()])
        .output()
        .unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    let calls = std::fs::read_to_string(sandbox.path("calls")).unwrap();
    let (named, opened) = (format!("\"{}\"", device.node()), format!("<{}>", device.node()));
    let calls = whole_calls(&calls);
    let is_of_it = |call: &&str| call.contains(&named) || call.contains(&opened);
    let of_it: Vec<&str> = calls.iter().map(String::as_str).filter(is_of_it).collect();
    let count = |word: &str| of_it.iter().filter(|line| line.contains(word)).count();
    assert!(count("openat(") > 8 && count("ioctl(") > 0, "{of_it:#?}");
    assert!(count("POSIX_FADV_DONTNEED") > 0, "cold cases evict it: {of_it:#?}");
    for call in &of_it {
        if call.contains("openat(") {
            assert!(call.contains("O_RDONLY"), "{call}");
            for flag in ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_EXCL"] {
                assert!(!call.contains(flag), "{call}");
            }
        } else if call.contains("ioctl(") {
            let asks = ["BLKGETSIZE64", "BLKSSZGET", "LOOP_GET_STATUS64"];
            assert!(asks.iter().any(|ask| call.contains(ask)), "{call}");
        } else {
            assert!(call.contains("fadvise64("), "{call}");
        }
    }
    assert!(device.is_as_it_was(), "it was written");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let cases = report["cases"].as_array().unwrap();
    for engine in ["read", "pread", "mmap", "load", "uring"] {
        assert!(cases.iter().any(|case| case["case"]["engine"] == engine && case["n"] == 1));
    }
    for case in cases {
        assert_eq!(case["failures"], json!([]), "{case:#}");
        assert_eq!(case["digest_verified"], Value::Null, "{case:#}");
    }
}

#[test]
fn a_report_says_what_a_device_is_and_who_uses_it() {
    let test = "a_report_says_what_a_device_is_and_who_uses_it";
    let Some(device) = ReadDevice::new(test) else { return };
    let sandbox = &device.sandbox;
    let name = device.node().strip_prefix("/dev/").unwrap();
    let direct = ["--engine=pread", "--cache=direct", "--rounds=1", "--time=5ms"];
    let args = [&["run", "read-methods", "--file", device.node()][..], &direct].concat();
    let report = sandbox.json(&[&args[..], &["--json", "--record=alone"]].concat());
    let storage = &report["storage"];
    assert_eq!(storage["directory"], device.node(), "{storage:#}");
    assert_eq!(storage["file_system"], "none (block device)", "{storage:#}");
    assert_eq!(storage["devices"][0]["name"], name, "{storage:#}");
    let fixture = &report["fixtures"][0];
    assert_eq!((&fixture["size"], &fixture["seed"]), (&json!(SIZE), &Value::Null));
    let number = std::fs::read_to_string(format!("/sys/block/{name}/dev")).unwrap();
    assert_eq!(fixture["identity"], format!("block device {}", number.trim()));
    let cases = report["cases"].as_array().unwrap();
    assert!(cases.iter().all(|case| case["served_by"] == "device"), "{cases:#?}");
    let said = sandbox.judges(&["report", "alone"]);
    assert!(said.contains("only read") && !said.contains("is mounted"), "{said}");
}

#[test]
fn a_device_that_is_mounted_is_read_beside_its_users() {
    let test = "a_device_that_is_mounted_is_read_beside_its_users";
    if !mounts::is_root(test) {
        return;
    }
    let mounted = match Mounted::on_loop(mounts::directory(), "ext4", &PLAIN) {
        Ok(mounted) => mounted,
        Err(reason) => return skip(test, &reason),
    };
    // Otherwise nearly all of the image is holes, which no device serves.
    drop(mounts::file(&mounted.point.join("filling"), 36 << 20));
    let (sandbox, node) = (Sandbox::new(), format!("/dev/{}", mounted.loop_name()));
    let states = "--cache=direct,cold";
    let args = ["run", "read-methods", "--file", &node, "--engine=pread", states, "--json"];
    let report = sandbox.json(&[&args[..], &["--rounds=1", "--time=5ms"]].concat());
    let notes = report["storage"]["notes"].to_string();
    let used = format!("{} is mounted at '{}'", mounted.loop_name(), mounted.point.display());
    assert!(notes.contains(&used) && notes.contains("share the device's page cache"), "{notes}");
    for case in report["cases"].as_array().unwrap() {
        match case["case"]["cache"].as_str() {
            // What the file system did not write is still a hole.
            Some("direct") => {
                let by = case["served_by"].as_str().unwrap();
                assert!(["device", "mixed"].contains(&by), "{case:#}");
            }
            // The file system holds its superblock, so not all of the device can be cold.
            _ => {
                let said = case["failures"].to_string();
                assert!(said.contains("stayed in the page cache"), "{case:#}");
                assert!(said.contains("use cache 'direct'"), "{case:#}");
            }
        }
    }
}

#[test]
fn what_a_device_cannot_do_is_refused_with_the_reason() {
    let test = "what_a_device_cannot_do_is_refused_with_the_reason";
    let Some(device) = ReadDevice::new(test) else { return };
    let sandbox = &device.sandbox;
    let writes = ["run", "write-strategies", "--block=4KiB", "--file", device.node()];
    sandbox.refuses(&writes, &["nothing to measure", "only read here, never written", "--device"]);
    let peer = ["run", "read-methods", "--engine=pread", "--cache=as-is", "--peer=c", "--file"];
    let peer = [&peer[..], &[device.node()]].concat();
    sandbox.refuses(&peer, &["nothing to measure", "leave the peer out"]);
    assert!(device.is_as_it_was(), "it was written");
    let written = ["--cache=warm", "--populated=written"];
    let written = [&["run", "read-methods", "--file", device.node()][..], &written].concat();
    sandbox.refuses(&written, &["never written"]);
    // A device without bytes, as an empty drive may be.
    let nothing = sandbox.path("nothing");
    std::fs::write(&nothing, "").unwrap();
    match LoopDevice::new(&nothing, &[]) {
        Ok(empty) => {
            let args = ["run", "read-methods", "--file", &empty.node];
            sandbox.refuses(&args, &[&empty.node, "has no bytes", "nothing is attached"]);
        }
        Err(reason) => skip(test, &reason),
    }
    let Some(mut command) = as_nobody(sandbox, test) else { return };
    let output = command.args(["run", "read-methods", "--file", device.node()]).output().unwrap();
    check_refusal(&output, &[device.node(), "Permission denied", "'disk'"]);
    assert_eq!(text(&output.stdout), "");
    assert!(argument(&device.image).ends_with("image"));
}

/// The calls that strace saw, each in a line. It writes one that another thread's call interrupts
/// in two parts.
fn whole_calls(calls: &str) -> Vec<String> {
    let mut begun = HashMap::new();
    let mut whole = Vec::new();
    for line in calls.lines() {
        let (process, call) = line.split_once(' ').unwrap();
        if let Some((begin, _)) = call.split_once(" <unfinished") {
            begun.insert(process, begin);
        } else if let Some((_, end)) = call.split_once(" resumed>") {
            whole.push(format!("{process} {}{end}", begun.remove(process).unwrap_or_default()));
        } else {
            whole.push(line.to_string());
        }
    }
    // The end of a killed process's last call is never seen.
    whole.extend(begun.into_iter().map(|(process, begin)| format!("{process} {begin}")));
    whole
}

/// The offset and length of each call that strace saw read the file or device at `path`.
fn reads_of(calls: &str, path: &str) -> Vec<(u64, u64)> {
    let opened = format!("<{path}>");
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let ends = |line: &String| {
        // `pread64(5</dev/loop0>, "..."..., 65536, 1048576) = 65536`
        let (_, call) = line.split_once("pread64(")?;
        let call = call.split_once(&opened)?.1.rsplit_once(") = ")?.0;
        let mut words = call.rsplit(", ");
        let (offset, length) = (number(words.next()?)?, number(words.next()?)?);
        Some((offset, length))
    };
    whole_calls(calls).iter().filter_map(ends).collect()
}

#[test]
fn only_the_part_of_a_file_or_device_that_is_asked_for_is_read() {
    let test = "only_the_part_of_a_file_or_device_that_is_asked_for_is_read";
    let sandbox = Sandbox::new();
    let file = sandbox.path("file");
    drop(mounts::file(&file, SIZE));
    let device = ReadDevice::new(test);
    let traced = sandbox.start("strace").args(["-o", "/dev/null", "true"]).output();
    if !traced.is_ok_and(|output| output.status.success()) {
        return skip(test, "strace is missing or forbidden");
    }
    let node = device.iter().map(ReadDevice::node);
    for path in node.chain([argument(&file)]) {
        let output = sandbox
            .start("strace")
            .args(["-f", "-y", "-s", "0", "-e", "trace=pread64", "-o", "calls", PROGRAM])
            .args(["run", "read-methods", "--json", "--engine=pread", "--pattern=random"])
            .args(["--cache=warm,cold,as-is", "--block=64KiB", "--threads=2", "--rounds=1"])
            .args(["--time=5ms", "--no-ceilings", "--invocations=1", "--file", path])
            .args(["--offset=1MiB,8MiB", "--length=2MiB"])
            .output()
            .unwrap();
        assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
        let calls = std::fs::read_to_string(sandbox.path("calls")).unwrap();
        let reads = reads_of(&calls, path);
        // Before the run, bytes in pieces of 4 KiB and 64 KiB show what works.
        let parts = [1u64 << 20, 8 << 20].map(|start| start..start + (2 << 20));
        let is_inside = |(offset, length): &&(u64, u64)| {
            parts.iter().any(|part| part.start <= *offset && offset + length <= part.end)
        };
        let by_worker: Vec<&(u64, u64)> = reads.iter().filter(|(_, l)| *l == 64 << 10).collect();
        let outside = by_worker.iter().filter(|read| !is_inside(read)).count();
        let inside = by_worker.len() - outside;
        // Each thread of each case reads a block or more.
        assert!(inside >= 12, "{inside} of {} reads", reads.len());
        // Those that test a device are at its start, and few.
        assert!(outside <= 64, "{outside} reads are outside: {by_worker:?}");
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let parts: Vec<&Value> =
            report["fixtures"].as_array().unwrap().iter().map(|file| &file["part"]).collect();
        let part = |offset: u64| json!({ "offset": offset, "length": 2 << 20 });
        assert_eq!(parts, [&part(1 << 20), &part(8 << 20)]);
        for case in report["cases"].as_array().unwrap() {
            assert_eq!(case["failures"], json!([]), "{case:#}");
            assert!([1 << 20, 8 << 20].map(Value::from).contains(&case["case"]["offset"]));
        }
    }
}

#[test]
fn parts_of_a_file_are_refused_and_resumed_and_compared_as_what_they_are() {
    let sandbox = Sandbox::new();
    drop(mounts::file(&sandbox.path("mine"), SIZE));
    let run = ["run", "read-methods", "--engine=pread", "--cache=as-is", "--block=64KiB"];
    let run = [&run[..], &["--threads=1", "--rounds=1", "--time=2ms"]].concat();
    let mine = [&run[..], &["--file", "mine"]].concat();
    let refused = |more: &[&str], expected: &[&str]| {
        sandbox.refuses(&[&mine[..], more].concat(), expected);
    };
    refused(&["--offset=16MiB"], &["nothing of", "follows --offset 16MiB", "it has 16MiB"]);
    refused(&["--offset=8MiB", "--length=16MiB"], &["no 16MiB follow the offset 8MiB"]);
    refused(&["--offset=0,1MiB", "--length=2MiB"], &["overlap", "--length"]);
    refused(&["--offset=0,1MiB"], &["overlap", "--length"]);
    refused(&["--offset=1000"], &["the offset 1000B is not a multiple of a page"]);
    refused(&["--length=96KiB"], &["ends within 64KiB", "a multiple of 64KiB"]);
    refused(&["--offset=x"], &["'x'"]);
    refused(&["--offset=1MiB", "--peer=c"], &["from their start"]);
    sandbox.refuses(&[&run[..], &[".", "--offset=1MiB"]].concat(), &["name it with --file"]);
    sandbox.refuses(&[&run[..], &[".", "--length=1MiB"]].concat(), &["--length reads a part"]);
    let part = |offset: &str, record: &str| {
        let (offset, record) = (format!("--offset={offset}"), format!("--record={record}"));
        sandbox.judges(&[&mine[..], &["--length=1MiB", &offset, &record]].concat())
    };
    let said = part("4MiB", "a");
    assert!(said.contains("1MiB are read from 4MiB on"), "{said}");
    part("8MiB", "b");
    // Another part is another question.
    let output = sandbox.ioassay(&["compare", "a", "b"]);
    assert_ne!(output.status.code(), Some(0), "{output:?}");
    let anyway = sandbox.ioassay(&["compare", "a", "b", "--anyway"]);
    assert!(text(&anyway.stdout).contains("offset"), "{anyway:?}");
}

/// Two devices are read, as much of each as the smaller one has.
#[test]
fn several_devices_are_read_each_alone_and_all_at_once() {
    let test = "several_devices_are_read_each_alone_and_all_at_once";
    let Some(first) = ReadDevice::new(test) else { return };
    let Some(second) = ReadDevice::new(test) else { return };
    let (sandbox, nodes) = (&first.sandbox, [first.node(), second.node()]);
    let part = format!("--length={}", SIZE / 2);
    let run = ["run", "depth", nodes[0], nodes[1], "--depth=2", "--rounds=3", "--time=5ms"];
    let report = sandbox.json(&[&run[..], &["--json", &part, "--record=kept/"]].concat());
    let cases = report["cases"].as_array().unwrap();
    let whose: Vec<&Value> = cases.iter().map(|case| &case["hosts"]).collect();
    assert_eq!(whose, [&json!([nodes[0]]), &json!([nodes[1]]), &json!(nodes)], "{report:#}");
    for case in cases {
        assert_eq!((&case["n"], &case["case"]["size"]), (&json!(3), &json!(SIZE / 2)));
    }
    let said = text(&sandbox.ioassay(&["report", "kept"]).stdout);
    for words in ["2 devices in lockstep", "all at once", nodes[0], nodes[1]] {
        assert!(said.contains(words), "no '{words}': {said}");
    }
    assert!(!said.contains("director"), "{said}");
    // What is larger than the smaller one, writes, or is no device, is not measured.
    let none = ["nothing to measure", "a device is only read here, never written"];
    sandbox.refuses(&["run", "sync-latency", nodes[0], nodes[1]], &none);
    let mixed = ["is a block device, which is only read, and '.' is not"];
    sandbox.refuses(&["run", "depth", nodes[0], "."], &mixed);
    assert!(first.is_as_it_was() && second.is_as_it_was(), "one was written");
}

/// A device needs no option.
#[test]
fn a_device_is_read_in_place_of_a_directory() {
    let Some(device) = ReadDevice::new("a_device_is_read_in_place_of_a_directory") else { return };
    let run = ["run", "read-methods", device.node(), "--engine=pread", "--cache=direct"];
    let quick = ["--rounds=1", "--time=2ms", "--json", "--length=4MiB"];
    let report = device.sandbox.json(&[&run[..], &quick].concat());
    assert_eq!(report["cases"][0]["case"]["size"], 4 << 20, "{report:#}");
    assert_eq!(report["cases"][0]["served_by"], "device", "{report:#}");
    assert!(device.is_as_it_was(), "it was written");
}
