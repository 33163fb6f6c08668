//! Descriptions of real servers.

use super::tree::Tree;
use crate::device::{Backing, Finder};
use crate::host::host_at;
use crate::limits;
use crate::mounts;
use model::layer::{Amplification, Layer};
use std::path::Path;

/// Checks the description of the storage of directory `path` on machine `name`.
#[track_caller]
fn check(name: &str, path: &str, expected: &[&str]) {
    let tree = Tree::of(name);
    let root = tree.root();
    let mount = mounts::mount_of_path(&root, Path::new(path)).expect("it is mounted");
    let backing = Finder::new(&root).backing(&mount);
    let limits = limits::limits(&root, backing.nodes());
    let Backing { medium, devices, layers, barriers_off, notes, .. } = backing;
    let mut told = vec![format!("{} on {medium}", mount.file_system)];
    told.extend(devices.iter().map(|device| {
        let model = device.model.as_deref().unwrap_or("no model");
        let is_virtual = if device.is_virtual { ", virtual" } else { "" };
        let cache = device.write_cache.map_or("unknown", |cache| cache.name());
        format!("{}: {model}, {cache}{is_virtual}", device.name)
    }));
    let times = |times: Amplification| match (times.least, times.most) {
        (least, Some(most)) if least == most => most.to_string(),
        (least, Some(most)) => format!("{least}-{most}"),
        (least, None) => format!("{least}-?"),
    };
    told.extend(layers.iter().map(|Layer { nodes, reads, writes, .. }| {
        format!("{}: reads {}, writes {}", nodes.join("+"), times(*reads), times(*writes))
    }));
    told.extend(barriers_off);
    told.extend(limits.iter().map(|limit| {
        format!("limit of {}: {} {} a second", limit.device, limit.a_second, limit.what)
    }));
    told.extend(notes);
    assert_eq!(told, expected, "{name}: {path}");
}

#[test]
fn md_raid10_on_eight_nvme_ssds() {
    let name = "epyc-md-raid10";
    let ssd = "SAMSUNG MZQL23T8HCLS-00A07, write through";
    let ssds: Vec<String> = (0..8).map(|n| format!("nvme{n}n1: {ssd}")).collect();
    let all = "nvme0n1+nvme1n1+nvme2n1+nvme3n1+nvme4n1+nvme5n1+nvme6n1+nvme7n1";
    let mut expected = vec!["xfs on block".to_string()];
    expected.extend(ssds.clone());
    expected.push(format!("{all}: reads 1, writes 2"));
    expected.push("md127: reads 1, writes 1".to_string());
    expected.push(format!("{}: together they write each byte 2 times", all.replace('+', ", ")));
    check(name, "/data", &expected.iter().map(String::as_str).collect::<Vec<_>>());
    check(name, "/", &["ext4 on block", &ssds[0], "nvme0n1: reads 1, writes 1"]);
    let host = host_at(&Tree::of("epyc-md-raid10").root(), Vec::new());
    assert_eq!(host.cpu, "AMD EPYC 7763 64-Core Processor");
    assert_eq!((host.hypervisor, host.last_level_cache), (None, Some(16 * (32 << 20))));
    assert_eq!(host.caches, [32 << 10, 512 << 10, 32 << 20]);
}

#[test]
fn an_nvme_disk_behind_a_network_with_two_ways_to_it() {
    let expected = [
        "xfs on block",
        "nvme0n1: Pure Storage FlashArray, write through",
        "nvme0c0n1+nvme0c1n1: reads 1, writes 1",
        "nvme0n1: reads 1, writes 1",
        "nvme0n1: this device is across a network (tcp)",
    ];
    check("nvme-multipath-fabrics", "/mnt/array", &expected);
}

#[test]
fn encryption_on_a_logical_volume_on_a_raid_card_and_a_thin_volume() {
    let name = "crypt-lvm-raid-card";
    let card = "sda: PERC H755 Front, write through";
    let expected = [
        "ext4 on block",
        card,
        "sda: reads 1, writes 1",
        "dm-6: reads 1, writes 1",
        "dm-5: reads 1, writes 1",
    ];
    check(name, "/secret", &expected);
    let expected = [
        "ext4 on block",
        card,
        "sda: reads 1-?, writes 1-?",
        "dm-1+dm-2: reads 1-?, writes 1-?",
        "dm-3: reads 1-?, writes 1-?",
        "dm-4: reads 1, writes 1",
        "how often each byte is written to sda is unknown: writes are counted at dm-4",
    ];
    check(name, "/thin", &expected);
}

#[test]
fn btrfs_that_keeps_each_byte_twice() {
    let expected = [
        "btrfs on block",
        "sda: TOSHIBA MG08ACA1, write back",
        "sdb: TOSHIBA MG08ACA1, write back",
        "sda+sdb: reads 1, writes 2",
        "sda, sdb: together they write each byte 2 times",
    ];
    check("btrfs-raid1", "/", &expected);
}

#[test]
fn a_volume_of_a_cloud_is_virtual() {
    let disk = "nvme1n1: Amazon Elastic Block Store, write through, virtual";
    check("cloud-gp3", "/data", &["ext4 on block", disk, "nvme1n1: reads 1, writes 1"]);
    let host = host_at(&Tree::of("cloud-gp3").root(), Vec::new());
    assert_eq!(host.hypervisor.as_deref(), Some("kvm"));
}

#[test]
fn an_arm_server_with_large_pages() {
    let disk = "nvme0n1: SAMSUNG MZ1LB960HAJQ-00007, write through";
    check("arm-64k-pages", "/", &["xfs on block", disk, "nvme0n1: reads 1, writes 1"]);
}

#[test]
fn a_laptop_whose_disk_is_encrypted() {
    let expected = [
        "ext4 on block",
        "nvme0n1: WD PC SN810 SDCPNRY-1T00-1006, write back",
        "nvme0n1: reads 1, writes 1",
        "dm-0: reads 1, writes 1",
    ];
    check("hybrid-laptop", "/home", &expected);
}

#[test]
fn a_pod_has_the_limits_of_its_group_and_an_image_on_layers_out_of_reach() {
    let name = "kubernetes-pod";
    let expected = [
        "ext4 on block",
        "sdb: PersistentDisk, write back, virtual",
        "sdb: reads 1, writes 1",
        "limit of sdb: 52428800 read bytes a second",
        "limit of sdb: 500 writes a second",
    ];
    check(name, "/data", &expected);
    let image = ["overlay on unseen", "overlay: ioassay cannot reach its layers"];
    check(name, "/tmp", &image);
    let host = host_at(&Tree::of(name).root(), Vec::new());
    assert_eq!((host.cpu_quota, host.hypervisor.as_deref()), (Some(1.5), Some("kvm")));
    assert_eq!(host.memory_available, Some((2 << 30) - (256 << 20)));
}
