//! Links and interfaces: which of them are known, and which a connection uses.

use super::tree::Tree;
use crate::path::path_of_machine;
use model::path::{Hop, HopKind};
use std::path::Path;

/// The path from `/data` on a machine with these files, where `device` is mounted.
fn path(device: &str, files: &str) -> Hop {
    let mount = format!("24 1 {device} / /data rw - xfs /dev/x rw");
    let mounts = format!("/proc/self/mountinfo:\n  | {mount}\n");
    let tree = Tree::unpack(&format!("{mounts}{files}"));
    path_of_machine(tree.path(), Path::new("/data")).expect("it is mounted").top
}

/// The rates of its links, in megatransfers a second.
fn rates(top: &Hop) -> Vec<Option<u64>> {
    let rate = |hop: &&Hop| match &hop.kind {
        HopKind::Link(link) => Some(link.now.rate),
        _ => None,
    };
    top.all().iter().filter_map(rate).collect()
}

/// The interface that it ends at, and its speed in megabits a second.
fn interface(top: &Hop) -> Option<(String, Option<u64>)> {
    top.all().into_iter().find_map(|hop| match &hop.kind {
        HopKind::Interface(interface) => Some((hop.name.clone(), interface.speed)),
        _ => None,
    })
}

/// An NVMe drive in a box. Through a tunnel of Thunderbolt or USB4, each link says 2.5 GT/s.
#[test]
fn the_rate_of_a_tunnel_is_unknown() {
    let rates = |rate: &str, removable: &str| {
        let drive = "/sys/devices/pci0000:00/0000:00:07.0/0000:2c:00.0";
        rates(&path(
            "259:0",
            &format!(
                "
/sys/devices/pci0000:00/0000:00:07.0/
  class = 0x060400
  removable = {removable}
  max_link_speed = {rate} GT/s PCIe
  max_link_width = 4
{drive}/
  class = 0x010802
  current_link_speed = {rate} GT/s PCIe
  current_link_width = 4
{drive}/nvme/nvme0/
  transport = pcie
{drive}/nvme/nvme0/nvme0n1/
  dev = 259:0
  device -> ../../nvme0
"
            ),
        ))
    };
    assert_eq!(rates("2.5", "removable"), [None]);
    assert_eq!(rates("2.5", "fixed"), [Some(2_500)]);
    assert_eq!(rates("2.5", "unknown"), [Some(2_500)]);
    // A slot that is outside, but no tunnel.
    assert_eq!(rates("8.0", "removable"), [Some(8_000)]);
}

const ARRAY: &str = "
/proc/net/route:
  | Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT
  | eth0 00000000 010010AC 0003 0 0 100 00000000 0 0 0
/sys/devices/pci/eth0/
  speed = 1000
/sys/devices/pci/eth1/
  speed = 25000
/sys/class/net/
  eth0 -> /sys/devices/pci/eth0
  eth1 -> /sys/devices/pci/eth1
/sys/devices/virtual/nvme-fabrics/ctl/nvme0/nvme0n1/
  dev = 259:0
  device -> ../../nvme0
";

#[test]
fn a_connection_over_nvme_uses_the_interface_that_it_is_bound_to() {
    let check = |transport: &str, more: &str, expected: Option<(&str, u64)>| {
        let controller = format!(
            "
/sys/devices/virtual/nvme-fabrics/ctl/nvme0/
  transport = {transport}
  address = traddr=10.1.1.1,trsvcid=4420{more}
"
        );
        let found = interface(&path("259:0", &format!("{ARRAY}{controller}")));
        let expected = expected.map(|(name, speed)| (name.to_string(), Some(speed)));
        assert_eq!(found, expected, "{transport} {more}");
    };
    check("tcp", "", Some(("eth0", 1000)));
    check("tcp", ",host_iface=eth1", Some(("eth1", 25000)));
    check("tcp", ",host_iface=eth1,src_addr=10.1.1.2", Some(("eth1", 25000)));
    // What there is not, and what is no name.
    check("tcp", ",host_iface=eth9", Some(("eth0", 1000)));
    check("tcp", ",host_iface=../net/eth1", Some(("eth0", 1000)));
    check("tcp", ",host_iface=", Some(("eth0", 1000)));
}

#[test]
fn an_iscsi_session_uses_the_interface_that_its_host_is_bound_to() {
    let check = |netdev: &str, expected: &str| {
        let host = "/sys/devices/platform/host4";
        let session = format!(
            "
{host}/iscsi_host/host4/
  netdev = {netdev}
{host}/session1/iscsi_session/session1/
  state = LOGGED_IN
{host}/session1/connection1:0/iscsi_connection/connection1:0/
  address = 10.1.1.1
{host}/session1/target4:0:0/4:0:0:0/block/sda/
  dev = 8:0
  device -> ../../../4:0:0:0
"
        );
        let found = interface(&path("8:0", &format!("{ARRAY}{session}")));
        assert_eq!(found.expect("there is one").0, expected, "{netdev}");
    };
    check("eth1", "eth1");
    // Hosts that are bound to none.
    for netdev in ["default", "<NULL>", "(null)", "", "."] {
        check(netdev, "eth0");
    }
}

/// A tunnel, a bridge of containers and a bond are all of software; only the bond says what is
/// below it.
#[test]
fn an_interface_of_software_alone_has_no_known_speed() {
    let speed = |files: &str| {
        let machine = format!(
            "
/proc/net/route:
  | Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT
  | x0 00000000 010010AC 0003 0 0 100 00000000 0 0 0
/sys/class/net/
  x0 -> /sys/devices/virtual/net/x0
/sys/devices/virtual/net/x0/
  speed = 10000
{files}
/sys/devices/virtual/nvme-fabrics/ctl/nvme0/
  transport = tcp
  address = traddr=10.1.1.1
/sys/devices/virtual/nvme-fabrics/ctl/nvme0/nvme0n1/
  dev = 259:0
  device -> ../../nvme0
"
        );
        interface(&path("259:0", &machine)).expect("there is one").1
    };
    assert_eq!(speed(""), None);
    assert_eq!(speed("  lower_eth0 -> /sys/class/net\n"), Some(10_000));
    assert_eq!(speed("  bonding/slaves = eth0 eth1\n"), Some(10_000));
}

/// The kernel names a deleted file so. What has its name now is another.
#[test]
fn a_deleted_file_of_a_loop_device_is_on_something_unknown() {
    let below = |file: &str| {
        let files = format!(
            "/sys/devices/virtual/block/loop0/\n  dev = 7:0\n  loop/backing_file = {file}\n"
        );
        let top = path("7:0", &files);
        top.all().last().expect("there is one").kind.clone()
    };
    let reason = |file: &str| match below(file) {
        HopKind::Unseen { reason } => reason,
        other => panic!("{file}: {other:?}"),
    };
    assert!(reason("/data/image (deleted)").contains("is deleted"));
    assert!(reason("/data/image").contains("lead back to /data"));
    assert!(reason("/nowhere/image").contains("cannot be reached"));
}
