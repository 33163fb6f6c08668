//! What devices consist of, and how many times the bottom ones read and write a byte.

use super::tree::Tree;
use crate::device::{Backing, Finder};
use crate::mounts;
use model::host::Medium;
use model::layer::Amplification;
use std::path::Path;

/// The storage on three disks, the last with a partition, plus the files in `more`.
fn grounded(options: &str, more: &str) -> Backing {
    let disks: String = [("sda", 0), ("sdb", 16), ("sdc", 32)]
        .map(|(name, minor)| {
            format!("/sys/devices/pci/{name}/\n  dev = 8:{minor}\n  size = 2048\n")
        })
        .concat();
    let mounted = format!("/proc/self/mountinfo:\n  | 24 1 {options}\n");
    let tree = Tree::unpack(&format!("{disks}{mounted}{more}"));
    let mount = mounts::mount_of_path(&tree.root(), Path::new("/mnt/x")).expect("it is mounted");
    Finder::new(&tree.root()).backing(&mount)
}

/// Checks how many times the bottom devices read and write each byte.
#[track_caller]
fn check(more: &str, nodes: &[&str], reads: Amplification, writes: Amplification) {
    let backing = grounded("9:0 / /mnt rw - ext4 /dev/md0 rw", more);
    let bottom = &backing.layers[0];
    assert_eq!(bottom.nodes, nodes, "{backing:#?}");
    assert_eq!((bottom.reads, bottom.writes), (reads, writes), "{backing:#?}");
    let top = backing.layers.last().expect("there is one");
    assert_eq!((top.nodes[0].as_str(), top.writes), ("md0", Amplification::ONE), "{backing:#?}");
}

/// An array of `disks` with the md attributes in `files`.
fn array(files: &str, disks: &[&str]) -> String {
    let members = disks.iter().map(|disk| format!("  slaves/{disk} -> /sys/class/block/{disk}\n"));
    let members: String = members.collect();
    format!("/sys/devices/virtual/block/md0/\n  dev = 9:0\n{files}{members}")
}

const ONE: Amplification = Amplification::ONE;
const SOME: Amplification = Amplification::SOME;
const UNKNOWN: Amplification = Amplification::UNKNOWN;

#[test]
fn an_array_multiplies_by_its_level_its_copies_and_what_is_missing() {
    let two = ["sda", "sdb"];
    let of = Amplification::of;
    let range = |least, most| Amplification { least, most: Some(most) };
    for (files, writes) in [
        ("  md/level = raid0\n", ONE),
        ("  md/level = linear\n", ONE),
        ("  md/level = raid1\n  md/raid_disks = 2\n  md/degraded = 0\n", of(2)),
        ("  md/level = raid1\n  md/raid_disks = 2\n  md/degraded = 1\n", range(1, 2)),
        ("  md/level = raid10\n  md/layout = 258\n", of(2)),
        // Three near copies, and two far copies.
        ("  md/level = raid10\n  md/layout = 259\n", of(3)),
        ("  md/level = raid10\n  md/layout = 513\n", of(2)),
        // An array that is being reshaped.
        ("  md/level = raid1\n  md/raid_disks = 3 (2)\n", SOME),
    ] {
        let reads = if writes == SOME { SOME } else { ONE };
        check(&array(files, &two), &two, reads, writes);
    }
    for level in ["raid4", "raid5", "raid6"] {
        let files = format!("  md/level = {level}\n  md/degraded = 0\n");
        check(&array(&files, &["sda", "sdb", "sdc"]), &["sda", "sdb", "sdc"], SOME, SOME);
    }
    check(&array("  md/level = new\n", &two), &two, UNKNOWN, UNKNOWN);
}

#[test]
fn mirrors_of_volumes_multiply_by_both() {
    let volume = |minor: u32, uuid: &str, name: &str, disks: &[&str]| {
        let slaves = disks.iter().map(|d| format!("  slaves/{d} -> /sys/class/block/{d}\n"));
        let slaves: String = slaves.collect();
        format!(
            "/sys/devices/virtual/block/dm-{minor}/\n  dev = 253:{minor}\n  dm/name = {name}\n  \
             dm/uuid = {uuid}\n{slaves}"
        )
    };
    let on = |volumes: &str| {
        let array = array("  md/level = raid0\n", &["dm-9"]);
        format!("{volumes}{array}")
    };
    let hidden = |kind: &str| {
        volume(1, "LVM-aaaa", &format!("vg-lv_{kind}_0"), &["sda"])
            + &volume(2, "LVM-bbbb", &format!("vg-lv_{kind}_1"), &["sdb"])
            + &volume(9, "LVM-cccc", "vg-lv", &["dm-1", "dm-2"])
    };
    let both = ["sda", "sdb"];
    let striped = volume(9, "LVM-cccc", "vg-lv", &both);
    check(&on(&striped), &both, ONE, ONE);
    check(&on(&hidden("mimage")), &both, ONE, Amplification::of(2));
    // Only root can see its level.
    check(&on(&hidden("rimage")), &both, SOME, SOME);
    check(&on(&hidden("vdata")), &both, UNKNOWN, UNKNOWN);
    for (uuid, expected) in [
        ("CRYPT-LUKS1-x", ONE),
        ("CRYPT-PLAIN-x", ONE),
        ("mpath-3600508b", ONE),
        ("part1-mpath-3600508b", ONE),
        ("DMRAID-isw_x", UNKNOWN),
        ("LVM-dddd-cow", SOME),
        ("", UNKNOWN),
    ] {
        check(&on(&volume(9, uuid, "x", &both)), &both, expected, expected);
    }
}

#[test]
fn the_log_and_the_realtime_device_of_xfs_are_its_own() {
    let options = "8:0 / /mnt rw - xfs /dev/sda rw,logdev=/dev/sdb,rtdev=/dev/sdc";
    let backing = grounded(options, "/dev/\n  sdb =\n  sdc =\n");
    let names: Vec<&str> = backing.devices.iter().map(|device| device.name.as_str()).collect();
    assert_eq!((backing.medium, names), (Medium::Block, vec!["sda", "sdb", "sdc"]), "{backing:#?}");
    assert_eq!(backing.size, 3 << 20);
    assert_eq!(grounded("8:0 / /mnt rw - xfs /dev/sda rw", "").size, 1 << 20);
}

#[test]
fn what_is_mounted_without_barriers_is_told_at_any_depth() {
    let off = |options: &str| grounded(options, "").barriers_off;
    assert_eq!(off("8:0 / /mnt rw - ext4 /dev/sda rw"), [""; 0]);
    let expected = ["ext4 at '/mnt' (nobarrier)"];
    assert_eq!(off("8:0 / /mnt rw - ext4 /dev/sda rw,nobarrier"), expected);
    // The backing file of a loop device is on such a file system.
    let lower = "8:0 / /mnt rw - ext4 /dev/sda rw,nobarrier\n  | 25 24 7:0 / /mnt/x rw - xfs \
                 /dev/loop0 rw";
    let image = "/sys/devices/virtual/block/loop0/\n  dev = 7:0\n  loop/backing_file = /mnt/i\n";
    let backing = grounded(lower, image);
    assert_eq!(backing.barriers_off, expected, "{backing:#?}");
    assert_eq!(backing.devices[0].name, "loop0");
}

/// A loop device is a layer: its file is followed to the disks, and to counters that count.
#[test]
fn a_loop_device_is_what_its_file_is_on() {
    let mounts = "8:0 / /mnt rw - ext4 /dev/sda rw\n  | 25 24 7:0 / /mnt/x rw - xfs /dev/loop0 rw";
    let on = |file: &str, stat: &str| {
        let image = format!(
            "/sys/devices/virtual/block/loop0/\n  dev = 7:0\n  loop/dio = 0\n  \
             loop/backing_file = {file}\n/mnt/\n  i =\n/sys/devices/pci/sda/\n  stat = {stat}\n"
        );
        let backing = grounded(mounts, &image);
        assert_eq!(backing.devices.len(), 1, "{backing:#?}");
        assert_eq!((backing.devices[0].name.as_str(), backing.medium), ("loop0", Medium::Block));
        backing.devices[0].file.clone().expect("it is a file")
    };
    let busy = "9 0 72 1 9 0 72 1 0 1 1 0 0 0 0 0 0";
    let file = on("/mnt/i", busy);
    assert_eq!((file.file_system.as_str(), &file.devices[0].name[..]), ("ext4", "sda"));
    assert_eq!(file.disks, ["sda"]);
    // A counter that never moved proves nothing.
    let idle = "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0";
    assert_eq!(on("/mnt/i", idle).disks, [""; 0]);
}

/// No kernel says so, but a copy of its tree may: an array of two arrays of which one is itself.
#[test]
fn a_device_that_leads_back_to_itself_ends_there() {
    let more = "/sys/devices/virtual/block/md0/\n  dev = 9:0\n  md/level = raid0\n  \
                slaves/md0 -> /sys/class/block/md0\n  slaves/sda -> /sys/class/block/sda\n";
    let backing = grounded("9:0 / /mnt rw - ext4 /dev/md0 rw", more);
    let nodes: Vec<&[String]> = backing.layers.iter().map(|it| &it.nodes[..]).collect();
    assert_eq!(nodes, [["sda"], ["md0"]]);
}
