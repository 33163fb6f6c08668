//! Paths that branch, come together and lead back.

use super::tree::Tree;
use crate::path::path_of_machine;
use model::path::{Hop, HopKind};
use std::fmt::Write;
use std::path::Path;

/// The path from `/data`, where the device `dm-0` is mounted, on a machine with these devices, each
/// with what it is made of.
fn path(devices: &[(String, Vec<String>)], more: &str) -> Hop {
    let mut text =
        "/proc/self/mountinfo:\n  | 24 1 253:0 / /data rw - ext4 /dev/dm-0 rw\n  | 25 24 \
                    7:0 / /data/x rw - xfs /dev/loop0 rw\n"
            .to_string();
    for (minor, (name, slaves)) in devices.iter().enumerate() {
        let directory = format!("/sys/devices/virtual/block/{name}");
        writeln!(text, "{directory}/\n  dev = 253:{minor}\n  dm/name = {name}").unwrap();
        for slave in slaves {
            writeln!(text, "  slaves/{slave} -> /sys/devices/virtual/block/{slave}").unwrap();
        }
    }
    let tree = Tree::unpack(&(text + more));
    path_of_machine(tree.path(), Path::new("/data")).expect("it is mounted").top
}

fn names(numbers: &[usize]) -> Vec<String> {
    numbers.iter().map(|number| format!("dm-{number}")).collect()
}

fn words(top: &Hop) -> Vec<String> {
    let word = |hop: &Hop| match &hop.kind {
        HopKind::Again => format!("{} again", hop.name),
        HopKind::Unseen { reason } => reason.clone(),
        _ => hop.name.clone(),
    };
    top.all().into_iter().map(word).collect()
}

#[test]
fn a_way_that_leads_back_ends_and_says_so() {
    let devices = [("dm-0".to_string(), names(&[1])), ("dm-1".to_string(), names(&[0, 1]))];
    let back = |name: &str| format!("its layers lead back to {name}, which is above");
    let expected = ["/data", "dm-0", "dm-1", &back("dm-0"), &back("dm-1")];
    assert_eq!(words(&path(&devices, "")), expected);
    // A loop device whose file is on the file system that it holds.
    let of_loop = "/sys/devices/virtual/block/loop0/\n  dev = 7:0\n  loop/backing_file = \
                   /data/x/image\n";
    let devices = [("dm-0".to_string(), vec!["loop0".to_string()])];
    let expected = ["/data", "dm-0", "loop0", "/data/x", &back("loop0")];
    assert_eq!(words(&path(&devices, of_loop)), expected);
}

/// Each of 20 layers of two devices is on both devices of the next one: 2^20 ways lead down.
#[test]
fn each_device_is_told_once_however_many_ways_lead_to_it() {
    let layer = |depth: usize| match depth {
        0 => names(&[1, 2]),
        20 => Vec::new(),
        _ => names(&[2 * depth + 1, 2 * depth + 2]),
    };
    let mut devices = vec![("dm-0".to_string(), layer(0))];
    for depth in 1..=20 {
        devices.extend(names(&[2 * depth - 1, 2 * depth]).into_iter().map(|it| (it, layer(depth))));
    }
    let top = path(&devices, "");
    let again = |hop: &&&Hop| hop.kind == HopKind::Again;
    let all = top.all();
    assert_eq!(all.iter().filter(again).count(), 38, "two for each layer but the first");
    assert_eq!(all.len() - 38, 1 + 41);
}

#[test]
fn layers_without_end_end() {
    let devices: Vec<(String, Vec<String>)> =
        (0..100).map(|number| (format!("dm-{number}"), names(&[number + 1]))).collect();
    let words = words(&path(&devices, ""));
    assert_eq!(words.last().unwrap(), "its layers are nested too deeply to follow");
    assert_eq!(words.len(), 65);
}
