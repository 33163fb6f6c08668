//! `ioassay path` on machines that are described as text (crates/witness/tests/trees).

use crate::honesty::plant::{Group, Io, Limit};
use crate::machine_tree::unpack;
use crate::sandbox::{Sandbox, argument, skip};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn trees() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../witness/tests/trees")
}

/// The text of a machine.
pub(crate) fn machine(name: &str) -> String {
    let path = trees().join(name).with_extension("txt");
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What is printed of the path of `asked` on a machine.
fn printed(text: &str, asked: &str, form: &[&str]) -> String {
    let sandbox = Sandbox::new();
    let root = sandbox.path("machine");
    unpack(text, &root);
    sandbox.says(&[&["path", "--root", argument(&root), asked][..], form].concat())
}

/// Each machine with what is asked of it. Each was read as somebody who looks after such machines
/// would.
pub(crate) const MACHINES: [(&str, &str); 46] = [
    ("nvme-full-link", "/srv"),
    ("nvme-behind-switch", "/srv"),
    ("nvme-downgraded", "/srv"),
    ("raspberry-pi-nvme", "/"),
    ("sata-full-speed", "/"),
    ("sata-half-speed", "/"),
    ("sata-old-port", "/"),
    ("usb3-uas", "/media/t7"),
    ("usb3-on-usb2", "/media/t7"),
    ("sas-expander", "/bulk"),
    ("md-degraded", "/srv/db"),
    ("nfs-over-bond", "/home"),
    ("fibre-channel", "/san"),
    ("epyc-md-raid10", "/data"),
    ("crypt-lvm-raid-card", "/"),
    ("btrfs-raid1", "/"),
    ("nvme-multipath-fabrics", "/mnt/array"),
    ("cloud-gp3", "/"),
    ("kubernetes-pod", "/"),
    ("hybrid-laptop", "/"),
    ("nfs-over-ipv6", "/home"),
    ("emmc-laptop", "/"),
    ("sd-card", "/"),
    ("ufs-board", "/"),
    ("iscsi-path-down", "/vm"),
    ("hdd-cache-off", "/bulk"),
    ("bcache-writeback", "/data"),
    ("md-raid5-partition", "/srv"),
    ("luks-integrity-writecache", "/safe"),
    ("loop-on-sshfs", "/image"),
    ("loop-on-sshfs", "/remote"),
    ("two-sockets-all-channels", "/srv"),
    ("two-sockets-lost-module", "/srv"),
    ("workstation-dmi", "/"),
    ("cxl-hmat", "/srv"),
    ("arm-crypt-without-aes", "/"),
    ("two-functions", "/one"),
    ("limited-group", "/"),
    ("hpsa", "/"),
    ("hpsa", "/passed"),
    ("smartpqi-lvm-raid", "/db"),
    ("verity-vdo", "/"),
    ("verity-vdo", "/backup"),
    ("rbd-nvme-tcp", "/ceph"),
    ("rbd-nvme-tcp", "/array"),
    ("rbd-nvme-tcp", "/routed"),
];

#[test]
fn the_path_of_each_machine_is_told() {
    for (name, asked) in MACHINES {
        let of_path = match asked {
            "/remote" | "/passed" | "/backup" | "/array" | "/routed" => {
                format!("{name}-{}", asked.trim_start_matches('/'))
            }
            _ => name.to_string(),
        };
        insta::assert_snapshot!(of_path, printed(&machine(name), asked, &[]));
    }
}

/// Two paths of a call that have a disk in common say so, and those that have none do not.
#[test]
fn paths_with_a_disk_in_common_say_so() {
    let root_and = |name: &str, other: &str| printed(&machine(name), "/", &[other]);
    let both = root_and("hybrid-laptop", "/boot");
    assert!(both.contains("/ and /boot both use the disk nvme0n1"), "{both}");
    let apart = root_and("nvme-multipath-fabrics", "/mnt/array");
    assert!(!apart.contains("both use"), "{apart}");
    let card = printed(&machine("two-functions"), "/one", &["/other"]);
    let shared = "/one and /other both use a link: at most 7.88 GB/s: PCIe 3.0 x8 of 0000:01:00.0, \
                  which is that of 0000:01:00.1, too";
    assert!(card.replace('\n', " ").contains(shared), "{card}");
}

/// What the OS holds a process to is told to that process, and to no other.
#[test]
fn a_limit_of_a_control_group_is_told_to_those_in_it() {
    let test = "a_limit_of_a_control_group_is_told_to_those_in_it";
    let disks = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let mut disks = disks.filter_map(|disk| disk.file_name().into_string().ok());
    let Some(disk) = disks.find(|disk| Path::new("/dev").join(disk).exists()) else {
        return skip(test, "there is no node of a block device");
    };
    let limit = Limit::Device(Io::ReadBytes, &disk, 1 << 20);
    let Some(group) = Group::new(test, limit) else { return };
    let sandbox = Sandbox::new();
    let node = format!("/dev/{disk}");
    let inside = group.launch(&sandbox).args(["path", "--json", &node]).output().unwrap();
    assert!(inside.status.success(), "{inside:?}");
    let inside: Value = serde_json::from_slice(&inside.stdout).unwrap();
    let limits = &inside["paths"][0]["top"]["limits"];
    assert_eq!(limits[0]["a_second"], 1 << 20, "{inside:#}");
    assert!(limits[0]["group"].as_str().unwrap().ends_with(group.name()), "{limits:#}");
    let allows = &inside["paths"][0]["judged"]["allows"];
    assert_eq!(allows["bytes_per_second"], (1 << 20) as f64, "{inside:#}");
    let outside = sandbox.says(&["path", "--json", &node]);
    assert!(!outside.contains(group.name()), "{outside}");
}

/// What is odd about a link that two paths pass is told once, and what only one of them has is that
/// one's. Programs get it at each hop.
#[test]
fn what_is_odd_on_two_paths_is_told_once() {
    let mount = "  | 24 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n";
    let whole = "  | 25 24 8:0 / /whole rw,relatime - ext4 /dev/sda rw\n";
    let old_port = machine("sata-old-port").replace(mount, &format!("{mount}{whole}"));
    let both = |form: &[&str]| printed(&old_port, "/", &[&["/whole"], form].concat());
    insta::assert_snapshot!("two-paths-of-an-old-port", both(&[]));
    let port = "the link of the device can do SATA 6 Gb/s";
    let told = |form: &[&str]| both(form).matches(port).count();
    assert_eq!([told(&["--markdown"]), told(&["--json"])], [1, 2]);
}

/// The chain is a picture where the narrowest link is known.
#[test]
fn a_path_has_a_picture() {
    let draw = |name: &str| printed(&machine("sata-half-speed"), "/", &["--svg", name]);
    assert!(draw("list").contains("path"), "{}", draw("list"));
    assert!(draw("path").contains("<svg") && draw("path").contains("sda"), "{}", draw("path"));
}
