//! Layers of block devices, and how many times each moves a byte (docs/method).
//!
//! Everything comes from sysfs, which needs no privileges. Nothing is guessed: if sysfs does not
//! say how many times a byte is moved, bytes are counted in a higher layer.

use crate::root::Root;
use crate::sysfs::{entries, file_name, number, text};
use model::layer::{Amplification, Counts, Layer};
use std::path::{Path, PathBuf};

/// A block device and its components.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeviceTree {
    /// Its sysfs directory.
    pub(crate) path: PathBuf,
    spread: Multiplier,
    below: Vec<DeviceTree>,
    /// Whether the nodes below are paths to it rather than separate devices.
    is_reached_by_paths: bool,
}

/// How many times the components move each byte that the device moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Multiplier {
    reads: Amplification,
    writes: Amplification,
}

impl Multiplier {
    /// Each byte is on one of them.
    pub(crate) const SPLIT: Multiplier =
        Multiplier { reads: Amplification::ONE, writes: Amplification::ONE };
    /// Each byte causes extra reads and writes: parity, copies of old blocks.
    pub(crate) const MORE: Multiplier =
        Multiplier { reads: Amplification::SOME, writes: Amplification::SOME };
    const UNKNOWN: Multiplier =
        Multiplier { reads: Amplification::UNKNOWN, writes: Amplification::UNKNOWN };

    /// Each byte is on `count` of them; a read uses one.
    const fn copies(count: Amplification) -> Multiplier {
        Multiplier { reads: Amplification::ONE, writes: count }
    }

    fn or(self, other: Multiplier) -> Multiplier {
        Multiplier { reads: self.reads.or(other.reads), writes: self.writes.or(other.writes) }
    }

    fn on(self, below: Multiplier) -> Multiplier {
        Multiplier { reads: self.reads.on(below.reads), writes: self.writes.on(below.writes) }
    }

    /// For the data profile of a btrfs; there may be several after a change.
    pub(crate) fn of_btrfs(file_system: &Path) -> Multiplier {
        Multiplier::of_profiles(file_system, &["data", "mixed"], 2)
    }

    /// For the members of a btrfs that have copies of its data and of all else: `dup` has both on
    /// one member.
    pub(crate) fn of_members(file_system: &Path) -> Multiplier {
        Multiplier::of_profiles(file_system, &["data", "mixed", "metadata", "system"], 1)
    }

    fn of_profiles(file_system: &Path, kinds: &[&str], dup: u32) -> Multiplier {
        let allocation = file_system.join("allocation");
        let profiles = kinds.iter().map(|kind| allocation.join(kind));
        let is_used = |path: &PathBuf| number(&path.join("total_bytes")).is_some_and(|n| n > 0);
        let spreads = profiles.flat_map(|kind| entries(&kind)).filter(is_used).map(|path| {
            let copies = |count| Multiplier::copies(Amplification::of(count));
            match file_name(&path).as_str() {
                "single" | "raid0" => copies(1),
                "dup" => copies(dup),
                "raid1" | "raid10" => copies(2),
                "raid1c3" => copies(3),
                "raid1c4" => copies(4),
                _ => Multiplier::MORE,
            }
        });
        let is_missing = |member: PathBuf| number(&member.join("missing")) == Some(1);
        match spreads.reduce(Multiplier::or) {
            Some(spread) if entries(&file_system.join("devinfo")).any(is_missing) => {
                spread.or(Multiplier::SPLIT)
            }
            Some(spread) => spread,
            None => Multiplier::UNKNOWN,
        }
    }

    /// For the level of a software RAID.
    fn of_md(md: &Path) -> Multiplier {
        let of = |name: &str| number(&md.join(name));
        let missing = of("degraded").unwrap_or(0);
        let copies = match text(&md.join("level")).as_deref() {
            Some("linear" | "raid0") => Some(1),
            Some("raid1") => of("raid_disks"),
            // The lowest byte is the number of near copies, the next that of far copies.
            Some("raid10") => of("layout").map(|layout| (layout & 0xff) * (layout >> 8 & 0xff)),
            Some("raid4" | "raid5" | "raid6") => return Multiplier::MORE,
            _ => return Multiplier::UNKNOWN,
        };
        let Some(most) = copies.and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0) else {
            return Multiplier::MORE;
        };
        let missing = u32::try_from(missing).unwrap_or(u32::MAX);
        let least = most.saturating_sub(missing).max(1);
        Multiplier::copies(Amplification { least, most: Some(most) })
    }

    /// For a mapped device. Only root may read its table, so this uses its creator, which the UUID
    /// names, and LVM's names for the hidden volumes below it.
    fn of_mapped(dm: &Path, below: &[DeviceTree]) -> Multiplier {
        let uuid = text(&dm.join("uuid")).unwrap_or_default();
        let is_made_by = |prefix: &str| uuid.starts_with(prefix);
        if is_made_by("CRYPT-LUKS1-") || is_made_by("CRYPT-PLAIN-") || is_made_by("mpath-") {
            return Multiplier::SPLIT;
        }
        if is_made_by("CRYPT-LUKS2-") {
            // With integrity, there is another mapped device below, which keeps a journal.
            let has_integrity = below.iter().any(|node| node.uuid().contains("CRYPT-SUBDEV"));
            return if has_integrity { Multiplier::MORE } else { Multiplier::SPLIT };
        }
        // A mapped partition: `part1-mpath-…`.
        if is_made_by("part") && uuid.contains("-mpath-") {
            return Multiplier::SPLIT;
        }
        if !is_made_by("LVM-") {
            return Multiplier::UNKNOWN;
        }
        let is_hidden = |node: &&DeviceTree| node.uuid().starts_with("LVM-");
        let hidden: Vec<String> =
            below.iter().filter(is_hidden).map(DeviceTree::mapped_name).collect();
        let images = hidden.iter().filter(|name| name.contains("_mimage_")).count();
        match (hidden.len(), images) {
            // Linear or striped.
            (0, _) if !uuid.ends_with("-cow") => Multiplier::SPLIT,
            (_, 1..) => Multiplier::copies(Amplification::of(images as u32)),
            // VDO deduplicates and compresses, so nothing is known.
            _ if hidden.iter().any(|name| name.contains("vdata") || name.contains("vpool")) => {
                Multiplier::UNKNOWN
            }
            // A RAID of unknown level, a thin volume, a snapshot or a cache.
            _ => Multiplier::MORE,
        }
    }
}

impl DeviceTree {
    /// The block device at the sysfs directory `block`, or where a link there leads. A partition
    /// gives its disk.
    pub(crate) fn of(root: &Root, block: &Path) -> Option<DeviceTree> {
        DeviceTree::beneath(root, block, &mut Vec::new())
    }

    /// The same below the devices at the paths `above`. In a tree that was copied by hand, one may
    /// lead back to itself: then it ends there.
    fn beneath(root: &Root, block: &Path, above: &mut Vec<PathBuf>) -> Option<DeviceTree> {
        let mut path = std::fs::canonicalize(block).ok()?;
        if path.join("partition").exists() {
            path = path.parent()?.to_path_buf();
        }
        if above.contains(&path) {
            return None;
        }
        above.push(path.clone());
        let slaves = entries(&path.join("slaves"));
        let mut below: Vec<DeviceTree> =
            slaves.filter_map(|slave| DeviceTree::beneath(root, &slave, above)).collect();
        above.pop();
        below.sort_by_key(DeviceTree::name);
        let is_reached_by_paths = below.is_empty();
        if is_reached_by_paths {
            below = paths_of_nvme(root, &file_name(&path));
        }
        let spread = match () {
            () if is_reached_by_paths => Multiplier::SPLIT,
            () if path.join("md").is_dir() => Multiplier::of_md(&path.join("md")),
            () if path.join("dm").is_dir() => Multiplier::of_mapped(&path.join("dm"), &below),
            // bcache and other stacked devices.
            () => Multiplier::MORE,
        };
        Some(DeviceTree { path, spread, below, is_reached_by_paths })
    }

    fn leaf(path: PathBuf) -> DeviceTree {
        DeviceTree {
            path,
            spread: Multiplier::SPLIT,
            below: Vec::new(),
            is_reached_by_paths: false,
        }
    }

    fn name(&self) -> String {
        file_name(&self.path)
    }

    /// LVM's name for a mapped device; empty for others.
    fn mapped_name(&self) -> String {
        text(&self.path.join("dm/name")).unwrap_or_default()
    }

    /// The UUID of a mapped device; empty for others.
    fn uuid(&self) -> String {
        text(&self.path.join("dm/uuid")).unwrap_or_default()
    }

    /// The sysfs directories of the disks at the bottom.
    pub(crate) fn disks(&self) -> Vec<PathBuf> {
        match self.below.is_empty() || self.is_reached_by_paths {
            true => vec![self.path.clone()],
            false => self.below.iter().flat_map(DeviceTree::disks).collect(),
        }
    }

    /// The names of devices made of others that say they have no cache, though one below has: the
    /// OS sends them no flush that they could pass on.
    pub(crate) fn stopping(&self) -> Vec<String> {
        let says = |path: &Path, cache: &str| {
            text(&path.join("queue/write_cache")).is_some_and(|told| told == cache)
        };
        if self.below.is_empty() || self.is_reached_by_paths {
            return Vec::new();
        }
        let stops = says(&self.path, "write through")
            && self.disks().iter().any(|disk| says(disk, "write back"));
        let own = stops.then(|| self.name()).into_iter();
        own.chain(self.below.iter().flat_map(DeviceTree::stopping)).collect()
    }

    fn height(&self) -> usize {
        self.below.iter().map(|node| 1 + node.height()).max().unwrap_or(0)
    }

    /// The devices `depth` levels below (or at the bottom, if that is nearer), and how many times
    /// they move each byte.
    fn cut(&self, depth: usize) -> (Vec<String>, Multiplier) {
        if depth == 0 || self.below.is_empty() {
            return (vec![self.name()], Multiplier::SPLIT);
        }
        let (names, below) = cut(&self.below, depth - 1);
        (names, self.spread.on(below))
    }
}

/// The same for several devices, any of which may hold a byte.
fn cut(nodes: &[DeviceTree], depth: usize) -> (Vec<String>, Multiplier) {
    let cuts: Vec<(Vec<String>, Multiplier)> = nodes.iter().map(|node| node.cut(depth)).collect();
    let spread = cuts.iter().map(|(_, spread)| *spread).reduce(Multiplier::or);
    let mut names: Vec<String> = cuts.into_iter().flat_map(|(names, _)| names).collect();
    names.sort();
    names.dedup();
    (names, spread.unwrap_or(Multiplier::SPLIT))
}

/// The disks below `tops`, each once.
pub(crate) fn disks(tops: &[DeviceTree]) -> Vec<PathBuf> {
    let mut disks: Vec<PathBuf> = tops.iter().flat_map(DeviceTree::disks).collect();
    disks.sort_by_key(|disk| file_name(disk));
    disks.dedup();
    disks
}

/// All layers from the bottom to `tops`, over which a file system distributes its bytes as in
/// `spread`.
pub(crate) fn layers(tops: &[DeviceTree], spread: Multiplier) -> Vec<Layer> {
    let height = tops.iter().map(DeviceTree::height).max().unwrap_or(0);
    let layer = |depth| {
        let (nodes, below) = cut(tops, depth);
        let Multiplier { reads, writes } = spread.on(below);
        Layer { nodes, reads, writes, counts: Counts::default() }
    };
    (0..=height).rev().map(layer).collect()
}

/// Whether each disk below `tops` has a copy of all, if a file system spreads its bytes over them
/// as in `spread`.
pub(crate) fn are_mirrors(tops: &[DeviceTree], spread: Multiplier) -> bool {
    let bottom = layers(tops, spread).into_iter().next();
    bottom.is_some_and(|layer| {
        layer.nodes.len() > 1
            && layer.writes.exact().is_some_and(|copies| copies as usize == layer.nodes.len())
    })
}

/// The paths to a multipath NVMe disk: `nvme0c1n1` is a path to `nvme0n1`.
fn paths_of_nvme(root: &Root, name: &str) -> Vec<DeviceTree> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let parts = name.strip_prefix("nvme").and_then(|rest| rest.split_once('n'));
    let Some((subsystem, namespace)) = parts else { return Vec::new() };
    let is_path = |path: &PathBuf| {
        let other = file_name(path);
        let controller = other
            .strip_prefix(&format!("nvme{subsystem}c"))
            .and_then(|rest| rest.strip_suffix(&format!("n{namespace}")));
        controller.is_some_and(is_number)
    };
    let paths = entries(&root.at("/sys/block")).filter(is_path);
    paths.filter_map(|path| std::fs::canonicalize(path).ok()).map(DeviceTree::leaf).collect()
}
