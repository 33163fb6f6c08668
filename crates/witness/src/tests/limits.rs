//! The limits of control groups on the devices of a machine.

use super::tree::Tree;
use crate::device::Finder;
use crate::limits;
use crate::mounts;
use crate::path::path_of_machine;
use model::evidence::Limit;
use std::path::Path;

/// An xfs on a loop device, whose file is on a partition of a disk.
const MACHINE: &str = "
/proc/self/mountinfo:
  | 21 1 8:1 / / rw - ext4 /dev/sda1 rw
  | 30 21 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw
  | 31 21 0:27 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio
  | 40 21 7:0 / /data rw - xfs /dev/loop0 rw
/sys/devices/pci/sda/
  dev = 8:0
  size = 4096
/sys/devices/pci/sda/sda1/
  dev = 8:1
  partition = 1
  size = 2048
/sys/devices/virtual/loop0/
  dev = 7:0
  size = 1024
  loop/backing_file = /images/xfs
  loop/dio = 1
";

/// The limits on the way to the disk: the device, what is limited to how much, and the group.
#[track_caller]
fn check(groups: &str, expected: &[&str]) {
    let tree = Tree::unpack(&format!("{MACHINE}{groups}"));
    let root = tree.root();
    let mount = mounts::mount_of_path(&root, Path::new("/data")).expect("it is mounted");
    let backing = Finder::new(&root).backing(&mount);
    let found = limits::limits(&root, backing.nodes());
    let told: Vec<String> = found
        .iter()
        .map(|limit| {
            let group = Path::new(&limit.group).file_name().unwrap().to_string_lossy();
            format!("{}: {} {} in {group}", limit.device, limit.a_second, limit.what)
        })
        .collect();
    assert_eq!(told, expected, "{backing:#?}");
}

/// A case may be held back by any of the groups above it: others may use most of what one allows.
#[test]
fn of_version_2_each_group_above_limits_the_disk_below_a_file() {
    let groups = "
/proc/self/cgroup:
  | 0::/outer/inner
/sys/fs/cgroup/outer/
  cgroup.procs =
  io.max = 8:0 rbps=1000 wbps=max riops=max wiops=max
/sys/fs/cgroup/outer/inner/
  cgroup.procs = 1
  io.max:
    | 7:0 rbps=max wbps=max riops=max wiops=50
    | 8:0 rbps=2000 wbps=max riops=max wiops=max
";
    let expected = [
        "loop0: 50 writes in inner",
        "sda: 2000 read bytes in inner",
        "sda: 1000 read bytes in outer",
    ];
    check(groups, &expected);
}

/// There, the OS holds a process to the limits of its own group only.
#[test]
fn of_version_1_only_the_own_group_limits() {
    let groups = "
/proc/self/cgroup:
  | 3:blkio:/outer/inner
  | 0::/
/sys/fs/cgroup/blkio/outer/
  cgroup.procs =
  blkio.throttle.read_bps_device = 8:0 1000
/sys/fs/cgroup/blkio/outer/inner/
  cgroup.procs = 1
  blkio.throttle.read_bps_device = 8:0 2000
";
    check(groups, &["sda: 2000 read bytes in inner"]);
}

/// What `path` tells: the group by its place on that machine, at the device that it limits.
#[test]
fn a_path_has_the_limits_of_each_of_its_devices() {
    let groups = "
/proc/self/cgroup:
  | 0::/outer
/sys/fs/cgroup/outer/
  cgroup.procs = 1
  io.max = 8:0 rbps=1000 wbps=500 riops=max wiops=9
";
    let tree = Tree::unpack(&format!("{MACHINE}{groups}"));
    let top = path_of_machine(tree.path(), Path::new("/data")).unwrap().top;
    let limited: Vec<(&str, Vec<String>)> = top
        .all()
        .into_iter()
        .filter(|hop| !hop.limits.is_empty())
        .map(|hop| {
            let told = |it: &Limit| format!("{} {} {}", it.a_second, it.what, it.group);
            (hop.name.as_str(), hop.limits.iter().map(told).collect())
        })
        .collect();
    let group = "/sys/fs/cgroup/outer";
    let expected = ["1000 read bytes", "500 written bytes", "9 writes"];
    let expected = expected.map(|limit| format!("{limit} {group}")).to_vec();
    assert_eq!(limited, [("sda", expected)]);
    // Not known: a copy without the name of its group.
    let tree = Tree::unpack(MACHINE);
    let top = path_of_machine(tree.path(), Path::new("/data")).unwrap().top;
    assert!(top.all().iter().all(|hop| hop.limits.is_empty()));
}
