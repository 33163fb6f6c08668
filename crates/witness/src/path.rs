//! The path from a file down to its medium, from `/proc` and `/sys` alone: nothing is opened that
//! could wake a disk, and nothing needs privileges.

mod network;
mod ata;
pub(crate) mod links;
mod disk;
pub(crate) mod volumes;

use crate::device::{btrfs_of, stored_on};
use crate::error::Error;
use crate::host;
use crate::machine::{MEMINFO, parse_kilobytes};
use crate::mounts::{Mount, mount_of_path};
use crate::platform::platform;
use crate::root::Root;
use crate::setup;
use crate::sysfs::{self, entries, file_name, flag, text};
use model::path::{FileSystemHop, Hop, HopKind, MediumPath};
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Maximum nesting followed, for loop devices on overlays on loop devices.
pub(crate) const DEPTH_MOST: u32 = 12;

/// The path from the file, directory or device `asked` down to its medium.
///
/// # Errors
/// The OS's error if nothing is there, or if its mount cannot be found.
pub fn path(asked: &Path) -> Result<MediumPath, Error> {
    let root = Root::machine();
    Ok(told(&root, asked, top(&root, asked)?))
}

/// The same on the machine whose `/proc` and `/sys` are below `root`, such as one in a report of
/// `sosreport`. Its paths need not exist here.
///
/// # Errors
/// If no mount has `asked`.
pub fn path_of_machine(root: &Path, asked: &Path) -> Result<MediumPath, Error> {
    fs::read_dir(root).map_err(Error::refused("look into", root))?;
    let root = Root::of(root);
    Ok(told(&root, asked, top(&root, asked)?))
}

/// The first hop of a path on the machine of `root`.
pub(crate) fn top(root: &Root, asked: &Path) -> Result<Hop, Error> {
    if let Some(block) = block_of(root, asked)? {
        return Ok(volumes::of_block(root, &block, DEPTH_MOST));
    }
    let unlisted = || std::io::Error::other("/proc/self/mountinfo does not list it");
    let mount = mount_of_path(root, asked);
    let mount = mount.ok_or_else(|| Error::refused("find the mount of", asked)(unlisted()))?;
    Ok(of_mount(root, &mount, DEPTH_MOST))
}

/// The sysfs directory of `asked`, if it is a block device. Another machine's is known by its path.
fn block_of(root: &Root, asked: &Path) -> Result<Option<PathBuf>, Error> {
    if !root.is_machine() {
        let node = asked.strip_prefix("/dev").ok().and_then(|_| asked.file_name());
        let block = node.map(|name| root.at("/sys/class/block").join(name));
        if let Some(block) = &block {
            fs::metadata(block).map_err(Error::refused("look at", block))?;
        }
        return Ok(block);
    }
    let found = fs::metadata(asked).map_err(Error::refused("look at", asked))?;
    let kind = found.file_type();
    if kind.is_char_device() || kind.is_fifo() || kind.is_socket() {
        let other = std::io::Error::other("it is no file, directory or block device");
        return Err(Error::refused("look at", asked)(other));
    }
    let device = found.rdev();
    let number = || format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    Ok(kind.is_block_device().then(|| sysfs::block(root, &number())))
}

fn told(root: &Root, asked: &Path, top: Hop) -> MediumPath {
    let cpuinfo = text(&root.at("/proc/cpuinfo")).unwrap_or_default();
    let meminfo = text(&root.at(MEMINFO)).unwrap_or_default();
    let nodes = setup::nodes(root);
    MediumPath {
        asked: asked.to_string_lossy().into_owned(),
        top,
        hypervisor: host::hypervisor(root),
        cpu: host::cpu_model(&cpuinfo),
        memory: parse_kilobytes(&meminfo, "MemTotal").filter(|bytes| *bytes > 0),
        governor: setup::of_cpufreq(root, "scaling_governor"),
        platform: platform(root, &cpuinfo, &nodes),
        nodes,
    }
}

/// A file system, and what is below it.
pub(crate) fn of_mount(root: &Root, mount: &Mount, depth: u32) -> Hop {
    let name = mount.point.to_string_lossy().into_owned();
    let mut hop = FileSystemHop {
        file_system: mount.file_system.clone(),
        options: mount.options.clone(),
        source: mount.source.to_string_lossy().into_owned(),
        ..FileSystemHop::default()
    };
    let below = match mount.file_system.as_str() {
        _ if depth == 0 => vec![unseen("its layers are nested too deeply to follow")],
        "tmpfs" | "ramfs" | "devtmpfs" | "hugetlbfs" => vec![memory()],
        "overlay" => of_overlay(root, mount, depth),
        "btrfs" => of_btrfs(root, mount, &mut hop, depth),
        kind if kind.starts_with("fuse") => {
            vec![unseen("another process serves this file system")]
        }
        _ if mount.device.starts_with("0:") => network::below(root, mount),
        _ => vec![volumes::of_block(root, &sysfs::block(root, &mount.device), depth)],
    };
    Hop::new(name, HopKind::FileSystem(hop), below)
}

/// What is below an overlay: the file system of the layer that is written, or of the first one.
fn of_overlay(root: &Root, mount: &Mount, depth: u32) -> Vec<Hop> {
    match stored_on(root, mount) {
        Some(below) => vec![of_mount(root, &below, depth - 1)],
        None => vec![unseen("the layers of this overlay cannot be reached from here")],
    }
}

/// The members of a btrfs, of which its mount names only one.
fn of_btrfs(root: &Root, mount: &Mount, hop: &mut FileSystemHop, depth: u32) -> Vec<Hop> {
    let Some(file_system) = btrfs_of(root, &mount.source) else {
        return vec![unseen("its devices cannot be found in /sys")];
    };
    hop.operation = text(&file_system.join("exclusive_operation")).filter(|it| it != "none");
    let members: Vec<PathBuf> = entries(&file_system.join("devinfo")).collect();
    let missing = members.iter().map(|member| flag(&member.join("missing")).map(u64::from));
    hop.missing = missing.sum::<Option<u64>>().filter(|_| !members.is_empty());
    let devices = entries(&file_system.join("devices"));
    devices.map(|device| volumes::of_block(root, &device, depth - 1)).collect()
}

fn unseen(reason: &str) -> Hop {
    Hop::new("?", HopKind::Unseen { reason: reason.to_string() }, Vec::new())
}

fn memory() -> Hop {
    Hop::new("memory", HopKind::Memory, Vec::new())
}

/// The name of the directory that a link in sysfs leads to.
fn linked(link: &Path) -> Option<String> {
    fs::canonicalize(link).ok().map(|target| file_name(&target))
}
