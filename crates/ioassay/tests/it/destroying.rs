//! Writes to a block device: only to an unused one whose name is repeated in `--destroy`.

use crate::mounts;
use crate::sandbox::{Sandbox, argument, skip};
use std::fs::File;
use std::io::Read;

/// A loop device of 16 MiB of zeros; detached on drop.
struct Device {
    node: String,
    _folder: tempfile::TempDir,
}

impl Device {
    /// Returns `None`, and reports the skipped test, where loop devices are impossible.
    fn new(test: &str) -> Option<Device> {
        if !mounts::is_root(test) {
            return None;
        }
        let folder = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let image = folder.path().join("image");
        File::create(&image).unwrap().set_len(16 << 20).unwrap();
        match mounts::run("losetup", &["--find", "--show", argument(&image)]) {
            Ok(node) => Some(Device { node, _folder: folder }),
            Err(reason) => {
                skip(test, &reason);
                None
            }
        }
    }

    fn name(&self) -> &str {
        self.node.strip_prefix("/dev/").unwrap()
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        File::open(&self.node).unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        mounts::run("losetup", &["--detach", &self.node]).unwrap();
    }
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_device_is_written_only_if_its_name_is_repeated() {
    let test = "a_device_is_written_only_if_its_name_is_repeated";
    let Some(device) = Device::new(test) else { return };
    let sandbox = Sandbox::new();
    let run = ["run", "write-strategies", "--device", &device.node];
    sandbox.refuses(&run, &["--destroy"]);
    for name in ["", "sda", "/dev/loop0", "loop"] {
        let args = [&run[..], &["--destroy", name]].concat();
        let expected = format!("--destroy {}", device.name());
        sandbox.refuses(&args, &["would destroy all data", &expected]);
    }
    assert!(device.bytes().iter().all(|byte| *byte == 0), "it was written");
    let args = [&run[..], &["--destroy", device.name(), "--rounds=1", "--json"]].concat();
    // The last case writes over all others, and it could write zeros.
    let small = ["--size=8MiB", "--time=50ms", "--fill=random"];
    let report = sandbox.json(&[&args[..], &small].concat());
    let cases = report["cases"].as_array().unwrap();
    let written = cases.iter().filter(|case| case["case"]["op"] == "write" && case["n"] == 1);
    let verified = written.filter(|case| case["writing"]["read_back_verified"] == true).count();
    assert!(verified > 3, "{report:#}");
    let bytes = device.bytes();
    assert!(bytes[..8 << 20].iter().any(|byte| *byte != 0), "it was not written");
    assert!(bytes[8 << 20..].iter().all(|byte| *byte == 0), "more was written than --size");
}

#[test]
fn a_device_in_use_is_not_written() {
    let test = "a_device_in_use_is_not_written";
    let Some(device) = Device::new(test) else { return };
    let sandbox = Sandbox::new();
    let args = ["run", "sync-latency", "--device", &device.node, "--destroy", device.name()];
    let point = tempfile::TempDir::new().unwrap();
    let place = argument(point.path());
    mounts::run("mkfs.ext4", &["-q", &device.node]).unwrap();
    // Otherwise, the OS itself goes on writing to it.
    mounts::run("mount", &["--read-only", &device.node, place]).unwrap();
    let before = device.bytes();
    sandbox.refuses(&args, &["is in use, so ioassay does not write it", "mounted"]);
    assert!(device.bytes() == before, "it was written");
    mounts::run("umount", &[place]).unwrap();
}

#[test]
fn what_is_no_device_is_not_written() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("plain"), "text").unwrap();
    std::os::unix::fs::symlink("plain", sandbox.path("link")).unwrap();
    for (path, expected) in [("plain", "plain"), ("link", "link"), (".", "."), ("gone", "gone")] {
        let args = ["run", "sync-latency", "--device", path, "--destroy", "plain"];
        sandbox.refuses(&args, &[expected]);
    }
    assert_eq!(std::fs::read_to_string(sandbox.path("plain")).unwrap(), "text");
    // A file that was given for reading is not written either.
    let output = sandbox.ioassay(&["run", "sync-latency", "--file", "plain"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert_eq!(std::fs::read_to_string(sandbox.path("plain")).unwrap(), "text");
}
