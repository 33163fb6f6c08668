//! Block devices between a file system and its disks.

use super::walk::Walk;
use super::{disk, links, memory, of_mount, unseen};
use crate::device::is_memory;
use crate::mounts::mount_of_path;
use crate::sysfs::{chosen, entries, file_name, flag, is_numbered, number, text};
use model::path::{
    ArrayHop, BcacheHop, Hop, HopKind, LoopHop, MappedHop, MappedMaker, PartitionHop,
};
use std::fs;
use std::path::Path;

/// Bytes of a sector, the unit of sysfs whatever the device's own is.
const SECTOR: u64 = 512;

/// The block device at the sysfs directory `block`, or where a link there leads.
pub(super) fn of_block(walk: &mut Walk, block: &Path) -> Hop {
    let Ok(path) = fs::canonicalize(block) else {
        return unseen("its device cannot be found in /sys");
    };
    let mut hop = walk.hop(path.clone(), file_name(&path), |walk| told(walk, &path));
    if !matches!(hop.kind, HopKind::Again | HopKind::Unseen { .. }) {
        hop.limits = walk.limits(&hop.name, &path);
    }
    hop
}

/// What the block device at `path` is, and what is below it.
fn told(walk: &mut Walk, path: &Path) -> (HopKind, Vec<Hop>) {
    let name = file_name(path);
    if path.join("partition").exists() {
        let start = number(&path.join("start")).and_then(|start| start.checked_mul(SECTOR));
        let disk = path.parent().map(|disk| of_block(walk, disk));
        return (HopKind::Partition(PartitionHop { start }), disk.into_iter().collect());
    }
    if let Some(file) = text(&path.join("loop/backing_file")).filter(|file| !file.is_empty()) {
        let below = below_loop(walk, &file);
        let direct = flag(&path.join("loop/dio"));
        return (HopKind::Loop(LoopHop { file, direct }), vec![below]);
    }
    let below: Vec<Hop> =
        entries(&path.join("slaves")).map(|slave| of_block(walk, &slave)).collect();
    if path.join("md").is_dir() {
        return (HopKind::Array(array(path)), below);
    }
    if path.join("dm").is_dir() {
        return (HopKind::Mapped(mapped(&path.join("dm"), path)), below);
    }
    // What it caches has such a directory, too: that of the device is a link to it.
    if is_numbered(&name, "bcache") {
        let of = |file: &str| text(&path.join("bcache").join(file));
        let bcache =
            BcacheHop { mode: of("cache_mode").and_then(|told| chosen(&told)), state: of("state") };
        return (HopKind::Bcache(bcache), below);
    }
    let below = match is_memory(&name) && below.is_empty() {
        true => vec![memory()],
        false if is_over_network(&name) => vec![unseen("it is across a network")],
        false => [below, links::from_disk(walk.root, path)].concat(),
    };
    (HopKind::Disk(Box::new(disk::disk(walk.root, path))), below)
}

/// What the file of a loop device is on. The kernel names a deleted one so (`d_path`); another file
/// may have its name now.
fn below_loop(walk: &mut Walk, file: &str) -> Hop {
    if file.ends_with(" (deleted)") {
        return unseen("its file is deleted, so what that is on is unknown");
    }
    match mount_of_path(walk.root, Path::new(file)) {
        Some(mount) => of_mount(walk, &mount),
        None => unseen("its file cannot be reached from here"),
    }
}

/// Whether the disk of this name is elsewhere, as a driver of this OS reaches it.
fn is_over_network(name: &str) -> bool {
    ["nbd", "rbd"].iter().any(|kind| is_numbered(name, kind))
}

fn array(path: &Path) -> ArrayHop {
    let md = path.join("md");
    let of = |name: &str| text(&md.join(name)).filter(|text| !text.is_empty());
    let disks = number(&md.join("raid_disks")).filter(|disks| *disks > 0);
    let level = of("level").filter(|_| of("sync_action").as_deref() != Some("reshape"));
    let parity = match level.as_deref() {
        Some("raid4" | "raid5") => Some(1),
        Some("raid6") => Some(2),
        _ => None,
    };
    let data_disks = disks.zip(parity).and_then(|(disks, parity)| disks.checked_sub(parity));
    let chunk = number(&md.join("chunk_size")).filter(|chunk| *chunk > 0);
    let stripe = chunk.zip(data_disks).and_then(|(chunk, disks)| chunk.checked_mul(disks));
    ArrayHop {
        level: of("level"),
        disks,
        degraded: number(&md.join("degraded"))
            .filter(|missing| disks.is_none_or(|disks| *missing <= disks)),
        action: of("sync_action"),
        done: of("sync_completed").and_then(|told| thousandths(&told)),
        policy: of("consistency_policy"),
        stripe_cache: number(&md.join("stripe_cache_size")),
        stripe: stripe.filter(|bytes| *bytes > 0 && bytes % SECTOR == 0),
        spares: spares(&md),
    }
}

/// The members that are out of sync, by the driver's word for each (Documentation/admin-guide/md).
fn spares(md: &Path) -> Vec<String> {
    let is_out = |member: &Path| {
        let state = text(&member.join("state")).unwrap_or_default();
        state.split(',').any(|word| ["spare", "faulty"].contains(&word))
    };
    let out = entries(md).filter(|member| is_out(member));
    out.filter_map(|member| Some(file_name(&member).strip_prefix("dev-")?.to_string())).collect()
}

/// The thousandths in `1234 / 5678`; none of `none` or `delayed`.
fn thousandths(told: &str) -> Option<u64> {
    let (done, all) = told.split_once('/')?;
    let [done, all]: [u64; 2] = [done.trim().parse().ok()?, all.trim().parse().ok()?];
    (all > 0 && done <= all).then(|| (done as f64 / all as f64 * 1000.0) as u64)
}

/// Only root may read the table of a mapped device, so its maker is known from its UUID, and what
/// LVM makes of it from the names of the hidden volumes below.
fn mapped(dm: &Path, path: &Path) -> MappedHop {
    let uuid = text(&dm.join("uuid")).unwrap_or_default();
    let hidden = entries(&path.join("slaves"));
    let hidden: Vec<String> = hidden.filter_map(|slave| text(&slave.join("dm/name"))).collect();
    let has = |part: &str| {
        hidden.iter().any(|name| name.ends_with(part) || name.contains(&format!("{part}_")))
    };
    let maker = match uuid.split('-').next().unwrap_or_default() {
        "CRYPT" if uuid.starts_with("CRYPT-VERITY-") => MappedMaker::Verity,
        "CRYPT" if uuid.starts_with("CRYPT-INTEGRITY-") => MappedMaker::Integrity,
        // What an encrypted device with checksums is on.
        "CRYPT" if uuid.starts_with("CRYPT-SUBDEV-") => MappedMaker::Integrity,
        "CRYPT" => MappedMaker::Crypt,
        "VDO" => MappedMaker::Vdo,
        "mpath" => MappedMaker::Multipath,
        part if part.starts_with("part") && uuid.contains("-mpath-") => MappedMaker::Multipath,
        "LVM" if uuid.ends_with("-cow") || has("-cow") => MappedMaker::Snapshot,
        "LVM" if has("-tpool") || has("_tdata") || uuid.ends_with("-tpool") => MappedMaker::Thin,
        "LVM" if has("_vdata") || uuid.ends_with("-vpool") || has("-vpool") => MappedMaker::Vdo,
        "LVM" if has("_wcorig") => MappedMaker::Writecache,
        "LVM" if has("_cdata") || has("_cvol") || has("_corig") => MappedMaker::Cache,
        "LVM" if has("_rimage") || has("_mimage") => MappedMaker::Raid,
        "LVM" => MappedMaker::Lvm,
        _ => MappedMaker::Other,
    };
    MappedHop { mapped: text(&dm.join("name")), maker }
}

#[cfg(test)]
mod tests {
    use super::thousandths;

    #[test]
    fn what_is_done_is_a_number_or_unknown() {
        assert_eq!(thousandths("50 / 200"), Some(250));
        for told in ["none", "delayed", "1 / 0", "5 / 4", "/", "-1 / 3", ""] {
            assert_eq!(thousandths(told), None, "{told}");
        }
    }
}
