//! What `ioassay path` makes of machines whose files are broken, and what it touches on this one.
//!
//! The law of a broken file: the path has no finding that the sound machine lacks, no hop carries
//! another number than there, and the whole path is not said to carry less. A number that could be
//! in such a file is not broken, so only those are tried that no such file can have.

use crate::machine_tree::unpack;
use crate::paths::{MACHINES, machine};
use crate::sandbox::{PROGRAM, Sandbox, argument, skip, text};
use assess::path::{JudgedPath, judge_path};
use model::path::{Hop, HopKind};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What is in a file instead of its content: bytes, nothing at all, or a directory.
enum Broken {
    Missing,
    Directory,
    Bytes(&'static [u8]),
}

const BROKEN: [Broken; 13] = [
    Broken::Missing,
    Broken::Directory,
    Broken::Bytes(b"255\n"),
    Broken::Bytes(b""),
    Broken::Bytes(b"Unknown\n"),
    Broken::Bytes(b"0\n"),
    Broken::Bytes(b"-1\n"),
    Broken::Bytes(b"18446744073709551615\n"),
    Broken::Bytes(b"999999999999999999999999999999999999999999\n"),
    Broken::Bytes(b"NaN GT/s inf Gbit 1e9 / 0\n"),
    Broken::Bytes(b"[\0\x10\x03 ]\n"),
    Broken::Bytes(b"\xff\xfe\x10\x03\x0a\x10\x03\xff\0\0\x80\n"),
    Broken::Bytes(&[0x10; 5_000]),
];

impl Broken {
    fn put(&self, path: &Path) {
        match self {
            Broken::Missing => {}
            Broken::Directory => fs::create_dir(path).unwrap(),
            Broken::Bytes(bytes) => fs::write(path, bytes).unwrap(),
        }
    }

    fn take_away(&self, path: &Path) {
        match self {
            Broken::Missing => {}
            Broken::Directory => fs::remove_dir(path).unwrap(),
            Broken::Bytes(_) => fs::remove_file(path).unwrap(),
        }
    }

    /// Whether a file of this name may have it.
    fn is_valid(&self, file: &str) -> bool {
        let Broken::Bytes(bytes) = self else { return false };
        match file {
            // Any number of sectors, and any speed of a virtual interface.
            "start" | "speed" => bytes.iter().all(|byte| byte.is_ascii_digit() || *byte == b'\n'),
            _ => false,
        }
    }
}

/// The files below a directory; links are no files.
fn files(directory: &Path, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            files(&entry.path(), all);
        } else if kind.is_file() {
            all.push(entry.path());
        }
    }
}

/// The path, and what is judged of it; `None` if it is refused.
fn judged(root: &Path, asked: &str) -> Option<(Hop, JudgedPath)> {
    let path = witness::path_of_machine(root, Path::new(asked)).ok()?;
    let judged = judge_path(&path.top, path.hypervisor.is_some());
    Some((path.top, judged))
}

/// How many of the first of `BROKEN` change nothing if nobody reads a file.
const FIRST: usize = 3;

/// The numbers of each hop, by its name and kind, and theirs.
fn numbers(top: &Hop) -> BTreeMap<String, f64> {
    let mut all = BTreeMap::new();
    for hop in top.all() {
        let kind = serde_json::to_value(&hop.kind).unwrap();
        let name = format!("{} {}", hop.name, kind["kind"].as_str().unwrap());
        all.insert(name.clone(), 0.0);
        collect(&name, &kind, &mut all);
    }
    all
}

fn collect(name: &str, value: &Value, all: &mut BTreeMap<String, f64>) {
    match value {
        Value::Number(number) => drop(all.insert(name.to_string(), number.as_f64().unwrap())),
        Value::Object(fields) => {
            fields
                .iter()
                .for_each(|(field, value)| collect(&format!("{name} {field}"), value, all));
        }
        _ => {}
    }
}

/// Checks the law; returns what breaks it.
fn wrong(sound: &(Hop, JudgedPath), broken: &(Hop, JudgedPath), broke: &Broken) -> Vec<String> {
    let mut wrong = Vec::new();
    let limits = |it: &JudgedPath| -> BTreeMap<String, Option<f64>> {
        it.hops.iter().map(|hop| (hop.name.clone(), hop.allows)).collect()
    };
    let known = limits(&sound.1);
    for (name, limit) in limits(&broken.1) {
        let before = known.get(&name).copied().flatten();
        if limit.is_some() && limit != before {
            wrong.push(format!("{name} carries {limit:?}, not {before:?}"));
        }
    }
    let codes = |it: &JudgedPath| -> Vec<String> {
        let each = it.hops.iter().flat_map(|hop| {
            hop.findings.iter().map(|found| format!("{} {}", hop.name, found.code))
        });
        each.collect()
    };
    let before = codes(&sound.1);
    let new = codes(&broken.1).into_iter().filter(|code| !before.contains(code));
    wrong.extend(new.map(|code| format!("it finds {code}")));
    let total = |it: &JudgedPath| it.allows.as_ref().map(|most| most.bytes_per_second);
    if let Some(less) =
        total(&broken.1).filter(|most| total(&sound.1).is_none_or(|was| *most < was))
    {
        wrong.push(format!("the path carries {less}, not {:?}", total(&sound.1)));
    }
    // What is no number becomes none.
    let is_number =
        matches!(broke, Broken::Bytes(bytes) if matches!(bytes, [b'-' | b'0'..=b'9', ..]));
    if !is_number {
        let known = numbers(&sound.0);
        let changed = numbers(&broken.0).into_iter();
        // A partition that is none any longer is told as a disk, with numbers of its own.
        let is_known = |name: &str| known.keys().any(|it| name.starts_with(&format!("{it} ")));
        let changed =
            changed.filter(|(name, number)| known.get(name) != Some(number) && is_known(name));
        wrong.extend(changed.map(|(name, number)| format!("{name} is {number}")));
    }
    wrong
}

#[test]
fn a_broken_file_never_becomes_a_number_a_limit_or_a_finding() {
    let mut all = Vec::new();
    let mut tried = 0;
    for (name, asked) in MACHINES {
        // In memory, as there are tens of thousands.
        let sandbox = Sandbox::in_memory().unwrap_or_else(Sandbox::new);
        let root = sandbox.path("machine");
        unpack(&machine(name), &root);
        let sound = judged(&root, asked).expect("it is there");
        let mut paths = Vec::new();
        files(&root, &mut paths);
        // Hundreds of processors have as many files, and are on no path.
        paths.retain(|path| !path.starts_with(root.join("sys/devices/system/cpu")));
        for path in paths {
            let content = fs::read(&path).unwrap();
            fs::remove_file(&path).unwrap();
            let file = path.file_name().unwrap().to_string_lossy().into_owned();
            let mut is_read = false;
            for (index, broke) in BROKEN.iter().enumerate() {
                if broke.is_valid(&file) || (index >= FIRST && !is_read) {
                    continue;
                }
                broke.put(&path);
                let broken = judged(&root, asked);
                is_read |= broken.as_ref() != Some(&sound);
                if let Some(broken) = broken {
                    let place = path.strip_prefix(&root).unwrap().display();
                    let said = wrong(&sound, &broken, broke).into_iter();
                    all.extend(said.map(|said| format!("{name}, {place}, {index}: {said}")));
                }
                tried += 1;
                broke.take_away(&path);
            }
            fs::write(&path, content).unwrap();
        }
        assert_eq!(judged(&root, asked), Some(sound), "{name} is whole again");
    }
    assert!(tried > 4_000, "{tried}");
    assert!(all.is_empty(), "{} of {tried}:\n{}", all.len(), all.join("\n"));
}

/// Which calls of a traced program write, or ask a device.
const CALLS: &str = "trace=open,openat,openat2,creat,ioctl,write,pwrite64,writev,pwritev,pwritev2,\
                     truncate,ftruncate,unlink,unlinkat,rename,renameat,renameat2,mkdir,mkdirat,\
                     symlink,symlinkat,link,linkat,mknod,mknodat,fallocate,fsync,fdatasync,sync,\
                     syncfs,mount,chmod,fchmod,fchmodat,utimensat,setxattr,io_uring_setup";

#[test]
fn nothing_is_written_and_no_device_is_asked() {
    let test = "nothing_is_written_and_no_device_is_asked";
    let sandbox = Sandbox::new();
    let traced = sandbox.start("strace").args(["-o", "/dev/null", "true"]).output();
    if !traced.is_ok_and(|output| output.status.success()) {
        return skip(test, "strace is missing or forbidden");
    }
    fs::write(sandbox.path("file"), "x").unwrap();
    let nodes = fs::read_dir("/sys/class/block").into_iter().flatten().flatten();
    let nodes = nodes.map(|entry| Path::new("/dev").join(entry.file_name()));
    let nodes: Vec<PathBuf> = nodes.filter(|node| node.exists()).take(3).collect();
    if nodes.is_empty() {
        skip(test, "of block devices: there are no nodes here");
    }
    let mut asked = vec![sandbox.directory().to_path_buf(), sandbox.path("file")];
    asked.extend(nodes);
    for asked in asked {
        let log = sandbox.state().join("calls");
        let output = sandbox
            .start("strace")
            .args(["-f", "-s", "4096", "-e", CALLS, "-o", argument(&log), PROGRAM, "path"])
            .arg(&asked)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let calls = fs::read_to_string(&log).unwrap();
        let quoted = format!("\"{}\"", argument(&asked));
        assert!(calls.lines().count() > 20, "{calls}");
        for call in calls.lines().filter(|line| !line.contains("+++")) {
            check_call(call, &quoted);
        }
        assert!(text(&output.stdout).contains("The path of"), "{output:?}");
    }
    assert_eq!(sandbox.things().len(), 2, "the file and the log: {:?}", sandbox.things());
}

/// Checks that a call changes nothing and asks no device. `asked` is the path that was asked for,
/// in quotes.
fn check_call(call: &str, asked: &str) {
    let (_, call) = call.trim_start().split_once(' ').expect(call);
    let call = call.trim_start();
    let begins = |names: &[&str]| names.iter().any(|name| call.starts_with(name));
    if begins(&["open(", "openat("]) {
        assert!(call.contains("O_RDONLY"), "{call}");
        for flag in ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"] {
            assert!(!call.contains(flag), "{call}");
        }
        // A path is opened without access (O_PATH) to find its mount, but not that of a device.
        let is_device = call.contains("\"/dev/");
        assert!(!is_device, "{call}");
        assert!(!call.contains(asked) || call.contains("O_PATH"), "{call}");
        assert!(!call.contains("drivetemp"), "{call}");
        return;
    }
    // The terminal is asked for its width, and the result is printed.
    let is_of_output = begins(&["write(1, ", "write(2, ", "ioctl(0, ", "ioctl(1, ", "ioctl(2, "]);
    assert!(is_of_output, "{call}");
}

#[test]
fn a_sensor_that_may_end_a_disks_rest_is_not_read() {
    let test = "a_sensor_that_may_end_a_disks_rest_is_not_read";
    let sandbox = Sandbox::new();
    let traced = sandbox.start("strace").args(["-o", "/dev/null", "true"]).output();
    if !traced.is_ok_and(|output| output.status.success()) {
        return skip(test, "strace is missing or forbidden");
    }
    let root = sandbox.path("machine");
    unpack(&machine("sata-full-speed"), &root);
    let disk = fs::canonicalize(root.join("sys/class/block/sda/device")).unwrap();
    let sensor = disk.join("hwmon/hwmon2");
    fs::create_dir_all(&sensor).unwrap();
    fs::write(sensor.join("name"), "drivetemp\n").unwrap();
    fs::write(sensor.join("temp1_input"), "41000\n").unwrap();
    let log = sandbox.state().join("calls");
    let output = sandbox
        .start("strace")
        .args(["-f", "-s", "4096", "-e", "trace=open,openat", "-o", argument(&log), PROGRAM])
        .args(["path", "--json", "--root", argument(&root), "/"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let calls = fs::read_to_string(&log).unwrap();
    assert!(calls.contains("sata_spd"), "{calls}");
    assert!(!calls.contains("temp1_input"), "{calls}");
    let (top, _) = judged(&root, "/").unwrap();
    let disks = top.all().into_iter().filter_map(|hop| match &hop.kind {
        HopKind::Disk(disk) => Some(disk.temperature),
        _ => None,
    });
    assert_eq!(disks.collect::<Vec<_>>(), [None]);
}
