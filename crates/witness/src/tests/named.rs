//! What is asked about on another machine, by its many names.

use super::tree::Tree;
use crate::path::path_of_machine;
use std::os::unix::fs::symlink;
use std::path::Path;

const MACHINE: &str = "
/proc/self/mountinfo:
  | 21 1 8:1 / / rw - ext4 /dev/sda1 rw
  | 22 21 0:5 / /dev rw - devtmpfs udev rw
  | 23 22 0:22 / /dev/shm rw - tmpfs tmpfs rw
  | 24 21 0:40 / /pool rw - btrfs /dev/mapper/vg--a-lv rw
/sys/devices/pci/sda/
  dev = 8:0
/sys/devices/pci/sda/sda1/
  dev = 8:1
  partition = 1
/sys/devices/pci/cciss!c0d0/
  dev = 104:0
/sys/devices/virtual/block/dm-0/
  dev = 253:0
  dm/name = vg--a-lv
  dm/uuid = LVM-aaaa
  slaves/sda1 -> /sys/devices/pci/sda/sda1
/sys/fs/btrfs/uuid/
  devices/dm-0 -> /sys/devices/virtual/block/dm-0
/dev/disk/by-id/
  disk -> ../../sda
  copied -> /dev/mapper/vg--a-lv
/
  srv -> /pool
";

/// The first two hops below what is asked for.
fn hops(tree: &Tree, asked: &str) -> Result<String, String> {
    let path = path_of_machine(tree.path(), Path::new(asked));
    let path = path.map_err(|error| format!("{error:?}"))?;
    let all = path.top.all();
    Ok(all.iter().take(2).map(|hop| hop.name.as_str()).collect::<Vec<_>>().join(" "))
}

#[test]
fn a_device_of_another_machine_is_known_by_each_of_its_names() {
    let tree = Tree::unpack(MACHINE);
    for (asked, expected) in [
        ("/dev/sda", "sda"),
        ("/dev/sda1", "sda1 sda"),
        ("/dev/cciss/c0d0", "cciss!c0d0"),
        ("/dev/dm-0", "dm-0 sda1"),
        ("/dev/mapper/vg--a-lv", "dm-0 sda1"),
        ("/dev/vg-a/lv", "dm-0 sda1"),
        ("/dev/disk/by-id/disk", "sda"),
        ("/dev/disk/by-id/copied", "dm-0 sda1"),
        ("/dev/shm/file", "/dev/shm memory"),
        ("/dev", "/dev memory"),
        ("/pool/file", "/pool dm-0"),
        ("/srv/file", "/pool dm-0"),
        ("/etc", "/ sda1"),
    ] {
        assert_eq!(hops(&tree, asked).as_deref(), Ok(expected), "{asked}");
    }
    for (asked, expected) in [
        ("/dev/sdb", "no block device in the copied /sys"),
        ("/dev/null", "no block device in the copied /sys"),
        ("/dev/mapper/other", "no block device in the copied /sys"),
        ("/dev/disk/by-id/none", "no block device in the copied /sys"),
        ("etc", "begins with '/'"),
    ] {
        let said = hops(&tree, asked).expect_err(asked);
        assert!(said.contains(expected), "{asked}: {said}");
    }
}

/// A root may be relative, or a link to another directory.
#[test]
fn the_root_of_another_machine_may_be_relative_or_a_link() {
    let tree = Tree::unpack(MACHINE);
    let elsewhere = tempfile::tempdir().unwrap();
    let link = elsewhere.path().join("link");
    symlink(tree.path(), &link).unwrap();
    let here = std::env::current_dir().unwrap();
    let up = "../".repeat(here.components().count());
    let relative = Path::new(&up).join(tree.path().strip_prefix("/").unwrap());
    let direct = path_of_machine(tree.path(), Path::new("/pool")).unwrap();
    for root in [&link, &relative] {
        assert_eq!(path_of_machine(root, Path::new("/pool")).unwrap(), direct, "{root:?}");
    }
}
