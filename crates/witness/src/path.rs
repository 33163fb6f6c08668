//! The path from a file down to its medium, from `/proc` and `/sys` alone: nothing is opened that
//! could wake a disk, and nothing needs privileges.

mod walk;
mod network;
mod ata;
pub(crate) mod links;
mod disk;
mod volumes;

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
use walk::Walk;

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
/// If `asked` is not absolute, if no mount has it, or if it is below `/dev` and no block device.
pub fn path_of_machine(root: &Path, asked: &Path) -> Result<MediumPath, Error> {
    fs::read_dir(root).map_err(Error::refused("look into", root))?;
    let root = Root::of(root);
    if !asked.is_absolute() {
        let relative = std::io::Error::other("a path on another machine begins with '/'");
        return Err(Error::refused("look at", asked)(relative));
    }
    Ok(told(&root, asked, top(&root, &root.resolved(asked))?))
}

/// The first hop of a path on the machine of `root`.
pub(crate) fn top(root: &Root, asked: &Path) -> Result<Hop, Error> {
    if let Some(block) = block_of(root, asked)? {
        return Ok(of_device(root, &block));
    }
    let unlisted = || std::io::Error::other("/proc/self/mountinfo does not list it");
    let mount = mount_of_path(root, asked);
    let mount = mount.ok_or_else(|| Error::refused("find the mount of", asked)(unlisted()))?;
    Ok(of_mounted(root, &mount))
}

/// The first hop of the path from the block device at the sysfs directory `block`.
pub(crate) fn of_device(root: &Root, block: &Path) -> Hop {
    volumes::of_block(&mut Walk::new(root), block)
}

/// The first hop of the path from what is mounted.
pub(crate) fn of_mounted(root: &Root, mount: &Mount) -> Hop {
    of_mount(&mut Walk::new(root), mount)
}

/// The sysfs directory of `asked`, if it is a block device.
fn block_of(root: &Root, asked: &Path) -> Result<Option<PathBuf>, Error> {
    if !root.is_machine() {
        return copied_block(root, asked);
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

/// The same on another machine, of which nodes are not copied: a device is known by its name.
fn copied_block(root: &Root, asked: &Path) -> Result<Option<PathBuf>, Error> {
    let Ok(node) = asked.strip_prefix("/dev") else { return Ok(None) };
    let is_mounted = || mount_of_path(root, asked).is_some_and(|it| it.point.starts_with("/dev"));
    let is_file = node.as_os_str().is_empty() || node.starts_with("shm");
    if is_file && is_mounted() {
        return Ok(None);
    }
    let found = sysfs::block_of_node(root, asked);
    let unknown = || {
        std::io::Error::other(
            "no block device in the copied /sys has this name. Copy the links of /dev, too, or \
             name the device as lsblk does",
        )
    };
    found.map(Some).ok_or_else(|| Error::refused("find the block device", asked)(unknown()))
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
fn of_mount(walk: &mut Walk, mount: &Mount) -> Hop {
    let name = mount.point.to_string_lossy().into_owned();
    walk.hop(PathBuf::from(mount.id.to_string()), name, |walk| {
        let mut hop = FileSystemHop {
            file_system: mount.file_system.clone(),
            options: mount.options.clone(),
            source: mount.source.to_string_lossy().into_owned(),
            ..FileSystemHop::default()
        };
        let below = below_mount(walk, mount, &mut hop);
        (HopKind::FileSystem(hop), below)
    })
}

fn below_mount(walk: &mut Walk, mount: &Mount, hop: &mut FileSystemHop) -> Vec<Hop> {
    match mount.file_system.as_str() {
        "tmpfs" | "ramfs" | "devtmpfs" | "hugetlbfs" => vec![memory()],
        "overlay" => of_overlay(walk, mount),
        "btrfs" => of_btrfs(walk, mount, hop),
        kind if kind.starts_with("fuse") => {
            vec![unseen("another process serves this file system")]
        }
        _ if mount.device.starts_with("0:") => network::below(walk.root, mount),
        _ => vec![volumes::of_block(walk, &sysfs::block(walk.root, &mount.device))],
    }
}

/// What is below an overlay: the file system of the layer that is written, or of the first one.
fn of_overlay(walk: &mut Walk, mount: &Mount) -> Vec<Hop> {
    match stored_on(walk.root, mount) {
        Some(below) => vec![of_mount(walk, &below)],
        None => vec![unseen("the layers of this overlay cannot be reached from here")],
    }
}

/// The members of a btrfs, of which its mount names only one.
fn of_btrfs(walk: &mut Walk, mount: &Mount, hop: &mut FileSystemHop) -> Vec<Hop> {
    let Some(file_system) = btrfs_of(walk.root, &mount.source) else {
        return vec![unseen("its devices cannot be found in /sys")];
    };
    hop.operation = text(&file_system.join("exclusive_operation")).filter(|it| it != "none");
    let members: Vec<PathBuf> = entries(&file_system.join("devinfo")).collect();
    let missing = members.iter().map(|member| flag(&member.join("missing")).map(u64::from));
    hop.missing = missing.sum::<Option<u64>>().filter(|_| !members.is_empty());
    let devices = entries(&file_system.join("devices"));
    devices.map(|device| volumes::of_block(walk, &device)).collect()
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
