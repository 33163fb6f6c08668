//! `ioassay path` on machines that are described as text (crates/witness/tests/trees).

use crate::machine_tree::unpack;
use crate::sandbox::{Sandbox, argument};
use std::fs;
use std::path::{Path, PathBuf};

fn trees() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../witness/tests/trees")
}

/// The text of a machine.
fn machine(name: &str) -> String {
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
const MACHINES: [(&str, &str); 25] = [
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
    ("two-sockets-all-channels", "/srv"),
    ("two-sockets-lost-module", "/srv"),
    ("workstation-dmi", "/"),
    ("cxl-hmat", "/srv"),
    ("arm-crypt-without-aes", "/"),
];

#[test]
fn the_path_of_each_machine_is_told() {
    for (name, asked) in MACHINES {
        insta::assert_snapshot!(name, printed(&machine(name), asked, &[]));
    }
}
