//! The layers of an overlay, and which of them has a file.

use super::{Backing, DEPTH, Finder, unseen};
use crate::mounts::{Mount, mount_of_path};
use crate::root::Root;
use model::host::Medium;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

impl Finder {
    /// The storage below the file at `path` on `mount`, and where the file is: on an overlay, in
    /// the first of its layers that has it.
    pub(crate) fn backing_of_file(&self, mount: &Mount, path: &Path) -> (Backing, PathBuf) {
        if mount.file_system != "overlay" {
            return (self.backing(mount), path.to_path_buf());
        }
        let of_new = self.backing(mount);
        if of_new.medium == Medium::Unseen {
            return (of_new, path.to_path_buf());
        }
        let Some((below, at)) = self.layer_of_file(mount, path) else {
            let note = "overlay: ioassay can't see which of its layers has this file";
            return (unseen(note.to_string()), path.to_path_buf());
        };
        let mut backing = self.ground_at(&below, DEPTH - 1);
        backing.notes.push(format!("overlay: this file is on a layer on {}", below.file_system));
        (backing, at)
    }

    /// Whether new files on `mount` are on the same file system as a file of it on `backing`.
    pub(crate) fn has_new_files_at(&self, mount: &Mount, backing: &Backing) -> bool {
        let device = |it: &Backing| it.stored_on.as_ref().map(|mount| mount.device.clone());
        mount.file_system != "overlay" || device(backing) == device(&self.backing(mount))
    }

    /// The layer's mount that has the file, and its path there. `None` if a layer above it cannot
    /// be reached, or if no layer has it under its name, as after a renaming of directories.
    fn layer_of_file(&self, mount: &Mount, path: &Path) -> Option<(Mount, PathBuf)> {
        let of_overlay = std::fs::metadata(self.root.at(path)).ok()?;
        let inside = path.strip_prefix(&mount.point).ok()?;
        let from_root = mount.root.components().chain(inside.components());
        let inside: PathBuf = from_root.filter(|it| *it != Component::RootDir).collect();
        for layer in layers_of(mount) {
            let of_layer = mount_of_path(&self.root, layer).filter(|it| it.id != mount.id)?;
            let at = layer.join(&inside);
            let is_it = std::fs::symlink_metadata(self.root.at(&at)).is_ok_and(|found| {
                // An upper layer may have only the attributes of a file, and no blocks (metacopy).
                let content = |it: &Metadata| (it.len(), it.blocks(), it.mtime(), it.mtime_nsec());
                found.is_file() && content(&found) == content(&of_overlay)
            });
            if is_it {
                return Some((mount_of_path(&self.root, &at).unwrap_or(of_layer), at));
            }
        }
        None
    }

    /// New files go to the upper layer. Without one, the first reachable lower layer represents all
    /// of them.
    pub(super) fn ground_of_overlay(&self, mount: &Mount, depth: u32) -> Backing {
        let Some(below) = stored_on(&self.root, mount) else {
            return unseen("overlay: ioassay cannot reach its layers".to_string());
        };
        let mut backing = self.ground_at(&below, depth - 1);
        backing.notes.push(format!(
            "overlay: new and changed files are on {}; others are on lower layers, which may be \
             on other devices",
            below.file_system
        ));
        backing
    }
}

/// The mount that the first layer which can be reached is on.
pub(crate) fn stored_on(root: &Root, mount: &Mount) -> Option<Mount> {
    let mut reached = layers_of(mount).filter_map(|layer| mount_of_path(root, layer));
    // A path that means something else in this container may lead back to this mount.
    reached.find(|below| below.id != mount.id)
}

/// The directories of an overlay's layers, the upper one first.
fn layers_of(mount: &Mount) -> impl Iterator<Item = &Path> {
    let lower = mount.values("lowerdir").flat_map(|list| list.split(':'));
    let layers = mount.values("upperdir").chain(lower).chain(mount.values("lowerdir+"));
    layers.filter(|layer| !layer.is_empty()).map(Path::new)
}
