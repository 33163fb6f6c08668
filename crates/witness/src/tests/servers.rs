//! What is said of real servers.

use super::tree::Tree;
use crate::cgroup;
use crate::device::{Finder, Ground};
use crate::host::host_at;
use crate::mounts;
use std::path::Path;

/// Checks what is said of the storage of the directory `path` on the machine `name`.
#[track_caller]
fn check(name: &str, path: &str, expected: &[&str]) {
    let tree = Tree::of(name);
    let root = tree.root();
    let mount = mounts::mount_of_path(&root, Path::new(path)).expect("it is mounted");
    let Ground { medium, devices, notes } = Finder::new(&root).ground(&mount);
    let mut told = vec![format!("{} on {medium}", mount.file_system)];
    told.extend(devices.iter().map(|device| {
        let model = device.model.as_deref().unwrap_or("no model");
        let is_virtual = if device.is_virtual { ", virtual" } else { "" };
        let cache = device.write_cache.map_or("unknown", |cache| cache.name());
        format!("{}: {model}, {cache}{is_virtual}", device.name)
    }));
    told.extend(cgroup::limits(&root, &devices).iter().map(|limit| {
        format!("limit of {}: {} {} a second", limit.device, limit.a_second, limit.what)
    }));
    told.extend(notes);
    assert_eq!(told, expected, "{name}: {path}");
}

#[test]
fn md_raid10_on_eight_nvme_ssds() {
    let ssds: Vec<String> =
        (0..8).map(|n| format!("nvme{n}n1: SAMSUNG MZQL23T8HCLS-00A07, write through")).collect();
    let ssds: Vec<&str> = ssds.iter().map(String::as_str).collect();
    check("epyc-md-raid10", "/data", &[&["xfs on block"], &ssds[..]].concat());
    check("epyc-md-raid10", "/", &["ext4 on block", ssds[0]]);
    let host = host_at(&Tree::of("epyc-md-raid10").root(), Vec::new());
    assert_eq!(host.cpu, "AMD EPYC 7763 64-Core Processor");
    assert_eq!((host.hypervisor, host.last_level_cache), (None, Some(16 * (32 << 20))));
    assert_eq!(host.caches, [32 << 10, 512 << 10, 32 << 20]);
}
