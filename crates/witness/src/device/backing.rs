//! What is found below a mount, and the block devices that it is looked for on.

use crate::mounts::Mount;
use crate::sysfs::file_name;
use crate::topology::Multiplier;
use model::host::{Device, HeldContent, Medium, WeakPart};
use model::layer::Layer;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The storage below a mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Backing {
    pub(crate) medium: Medium,
    /// Empty for memory and for storage that is not visible from here.
    pub(crate) devices: Vec<Device>,
    /// The layers down to the devices, the bottom first.
    pub(crate) layers: Vec<Layer>,
    /// The names of all block devices below the files of loop devices.
    pub(crate) below_files: BTreeSet<String>,
    /// Total size in bytes of the file system's block devices; 0 if unknown.
    pub(crate) size: u64,
    /// Mounts and devices that prevent a sync from flushing.
    pub(crate) barriers_off: Vec<String>,
    /// Parts that a power cut takes or that cannot be seen, though the rest is on disks.
    pub(crate) weak_parts: Vec<WeakPart>,
    /// The mount whose file system stores new files: below an overlay, another one. `None` without
    /// a file system.
    pub(crate) stored_on: Option<Mount>,
    /// Notes for the reader, one sentence each.
    pub(crate) notes: Vec<String>,
}

impl Backing {
    pub(super) fn of(medium: Medium, notes: Vec<String>) -> Backing {
        Backing {
            medium,
            devices: Vec::new(),
            layers: Vec::new(),
            below_files: BTreeSet::new(),
            size: 0,
            barriers_off: Vec::new(),
            weak_parts: Vec::new(),
            stored_on: None,
            notes,
        }
    }

    /// The parts of it that are weak, where `holds` is, if it is one disk.
    pub(super) fn weak_parts_of(&self, disk: &Path, holds: HeldContent) -> Vec<WeakPart> {
        match self.medium {
            Medium::Ram => {
                vec![WeakPart { device: Some(file_name(disk)), holds, is_copied: false }]
            }
            // A journal in a file that is on such a part is one.
            _ if holds == HeldContent::Journal => {
                let weak = self.weak_parts.iter().cloned();
                weak.map(|part| WeakPart { holds, ..part }).collect()
            }
            _ => self.weak_parts.clone(),
        }
    }

    /// The names of all block devices that the bytes pass, also through files, each once: any of
    /// them may have a limit.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = &str> {
        let of_layers = self.layers.iter().flat_map(|layer| &layer.nodes).chain(&self.below_files);
        let names = self.devices.iter().map(|device| &device.name).chain(of_layers);
        names.map(String::as_str).collect::<BTreeSet<&str>>().into_iter()
    }
}

/// The block devices of a file system, by their directories in sysfs.
pub(super) struct Blocks {
    /// Those that hold its data.
    pub(super) data: Vec<PathBuf>,
    /// Those that hold its journal alone.
    pub(super) journal: Vec<PathBuf>,
    /// How it spreads its bytes over those of data.
    pub(super) spread: Multiplier,
    /// On how many of them it has copies of all.
    pub(super) copies: Multiplier,
}

impl Blocks {
    /// Each byte is on one of `data`.
    pub(super) fn of(data: Vec<PathBuf>) -> Blocks {
        Blocks { data, journal: Vec::new(), spread: Multiplier::SPLIT, copies: Multiplier::SPLIT }
    }
}
